// A client of calls over a stream of bytes (metate/rpc.h) in C++: kernels of a board or of another process, run by steps. Header-only,
// C++20; of libmetate it takes names of statuses and types.
//
//   metate::rpc::Client board = metate::rpc::Client::connect({read_from_line, write_to_line});
//   metate::rpc::Session session = board.session("axpy");
//   session.set_input("a", 2.0f);
//   session.set_input<float>("x", x, {100});          // copied there; a shape, row-major
//   session.set_input<float>("y", y, {100});
//   session.run();
//   std::vector<float> result = session.get_output<float>("y");
//
// What kernels print there goes to the function `printed` of the stream, by default to the standard output.
//
// For one thread at a time. A session lives as long as its client, at the same place.
#ifndef METATE_RPC_HPP
#define METATE_RPC_HPP

#include "metate/result.hpp"
#include "metate/rpc.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace metate::rpc {

/// What goes between the two sides. `read` gives up to so many bytes that have come, and 0 when none came for as long as it waits: then
/// a request is sent again. `write` takes all of the bytes; false: the stream has failed.
struct Stream {
  std::function<size_t(void *to, size_t bytes)> read;
  std::function<bool(const void *from, size_t bytes)> write;
  /// What a kernel prints, a text for each print, once its call has returned or failed (metate_rpc_options.print_bytes).
  std::function<void(const std::string &text)> printed = [](const std::string &text) {
    std::fputs(text.c_str(), stdout);
  };
};

using Bytes = std::vector<uint8_t>;

/// A kernel's argument or result.
struct Parameter {
  std::string name;
  uint32_t kind, dtype, rank; // metate_argument_kind; the elements' dimensions included
  uint32_t elements;          // of a vector
  uint32_t flags;             // METATE_ARGUMENT_*
};

struct Kernel {
  std::string name;
  uint32_t number;
  std::vector<Parameter> parameters;
};

namespace detail {

inline uint32_t crc(const uint8_t *bytes, size_t count) {
  uint32_t crc = 0xffffffffu;
  for (size_t k = 0; k < count; ++k) {
    crc ^= bytes[k];
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

inline void put(Bytes &to, uint64_t value, size_t bytes) {
  for (size_t k = 0; k < bytes; ++k)
    to.push_back(uint8_t(value >> 8 * k));
}

// Reads an answer from its front; behind its end all is zero.
class Reader {
public:
  explicit Reader(std::span<const uint8_t> bytes) : left(bytes) {}
  uint64_t number(size_t bytes) {
    uint64_t value = 0;
    for (size_t k = 0; k < bytes && k < left.size() && k < sizeof value; ++k)
      value |= uint64_t(left[k]) << 8 * k;
    left = left.subspan(std::min(bytes, left.size()));
    return value;
  }
  size_t count() const { return left.size(); }
  bool hasText() const { return std::find(left.begin(), left.end(), 0) != left.end(); }
  uint32_t word() { return uint32_t(number(4)); }
  std::string text() {
    std::string found;
    while (!left.empty() && left[0])
      found += char(left[0]), left = left.subspan(1);
    number(1);
    return found;
  }

private:
  std::span<const uint8_t> left;
};

inline Bytes encoded(const Bytes &body) {
  Bytes out{0};
  for (size_t from = 0;;) {
    size_t count = 0;
    while (from + count < body.size() && body[from + count] && count < 254)
      ++count;
    out.push_back(uint8_t(count + 1));
    out.insert(out.end(), body.begin() + long(from), body.begin() + long(from + count));
    from += count;
    if (from == body.size())
      break;
    from += count < 254;
  }
  out.push_back(0);
  return out;
}

// Empty where the frame is damaged.
inline Bytes decoded(const Bytes &raw) {
  Bytes body;
  for (size_t at = 0; at < raw.size();) {
    size_t code = raw[at];
    if (at + code > raw.size())
      return {};
    body.insert(body.end(), raw.begin() + long(at) + 1, raw.begin() + long(at + code));
    at += code;
    if (code < 255 && at < raw.size())
      body.push_back(0);
  }
  if (body.size() < 8 ||
      Reader({body.end() - 4, body.end()}).word() != crc(body.data(), body.size() - 4))
    return {};
  return body;
}

// A value of an assert's message, without its format.
inline std::string shown(uint64_t kind, int64_t bits) {
  double number;
  std::memcpy(&number, &bits, sizeof number);
  char text[32];
  if (kind == METATE_PRINT_F32 || kind == METATE_PRINT_F64)
    return snprintf(text, sizeof text, "%g", number), text;
  if (kind == METATE_PRINT_BOOL)
    return bits ? "True" : "False";
  return kind == METATE_PRINT_U64 ? std::to_string(uint64_t(bits)) : std::to_string(bits);
}

// The text of the first print of those bytes, and how many it takes; 0: it is not complete. Formats of numbers are passed over.
inline size_t firstPrint(const Bytes &bytes, std::string *text) {
  Reader from(bytes);
  if (bytes.size() < 2)
    return 0;
  text->clear();
  for (uint64_t items = from.number(2); items > 0; --items) {
    uint64_t kind = from.count() ? from.number(1) : 0;
    bool isText = kind == METATE_PRINT_TEXT || kind == METATE_PRINT_FORMAT;
    if (isText ? !from.hasText() : from.count() < 8)
      return 0;
    std::string piece = isText ? from.text() : shown(kind, int64_t(from.number(8)));
    *text += kind == METATE_PRINT_FORMAT ? "" : piece;
  }
  return bytes.size() - from.count();
}

// Its values in the place of "{KIND:FORMAT}", braces for two braces.
inline std::string message(const std::string &text, const std::vector<int64_t> &values) {
  std::string out;
  size_t next = 0;
  for (size_t k = 0; k < text.size(); ++k) {
    bool isTwice = k + 1 < text.size() && text[k] == text[k + 1];
    size_t end = text.find('}', k);
    if (text[k] == '{' && !isTwice && next < values.size() && end != std::string::npos) {
      out += shown(uint64_t(text[k + 1] - '0'), values[next++]);
      k = end;
      continue;
    }
    k += isTwice && (text[k] == '{' || text[k] == '}');
    out += text[k];
  }
  return out;
}

} // namespace detail

class Session;

/// The other side of a stream.
class Client {
public:
  /// Says hello, which begins anew there, and reads what kernels there are. METATE_E_IO: nobody answers.
  static Result<Client> try_connect(Stream stream, int attempts = 5) {
    Client made(std::move(stream), attempts);
    Status status = made.greet();
    if (!status)
      return status;
    return made;
  }
  const std::vector<Kernel> &kernels() const { return all; }
  Result<Session> try_session(const char *name);
#if METATE_EXCEPTIONS
  static Client connect(Stream stream, int attempts = 5) {
    return unwrap(try_connect(std::move(stream), attempts));
  }
  Session session(const char *name);
#endif

private:
  friend class Session;
  Stream stream;
  int attempts;
  uint16_t sequence = 0;
  Bytes raw;    // of the frame that comes
  Bytes prints; // that are not complete
  uint32_t keptPrints = 0;
  size_t room = METATE_RPC_LEAST_FRAME - 8;
  std::vector<Kernel> all;

  Client(Stream stream, int attempts) : stream(std::move(stream)), attempts(attempts) {}

  Status greet() {
    Bytes request;
    detail::put(request, METATE_RPC_MAGIC, 4);
    detail::put(request, METATE_RPC_VERSION, 4);
    detail::put(request, METATE_RPC_WANTS_PRINTS, 4);
    Result<Bytes> hello = ask(METATE_RPC_HELLO, request);
    if (!hello)
      return hello.status();
    detail::Reader from(*hello);
    from.number(8);
    room = from.word() - 8;
    uint32_t count = from.word();
    from.number(36); // types, named values, values, bytes for them, hash
    from.text();
    keptPrints = from.word();
    for (uint32_t k = 0; k < count; ++k)
      if (Status status = describe(k); !status)
        return status;
    return {};
  }

  Status describe(uint32_t number) {
    Bytes request;
    detail::put(request, number, 4);
    Result<Bytes> about = ask(METATE_RPC_KERNEL, request);
    if (!about)
      return about.status();
    detail::Reader from(*about);
    uint32_t flags = from.word(), arguments = from.word();
    Kernel kernel{from.text(), number, {}};
    for (uint32_t k = 0; k < arguments; ++k) {
      Bytes which = request;
      detail::put(which, k, 4);
      Result<Bytes> answer = ask(METATE_RPC_ARGUMENT, which);
      if (!answer)
        return answer.status();
      detail::Reader of(*answer);
      Parameter one{};
      one.kind = of.word(), one.dtype = of.word();
      uint32_t rows = of.word(), columns = of.word();
      one.elements = rows * columns;
      of.word();
      one.rank = of.word();
      of.word();
      one.flags = of.word();
      of.number(4 + 8 * size_t(one.rank));
      one.name = of.text();
      kernel.parameters.push_back(one);
    }
    if (!(flags & METATE_KERNEL_SLICE))
      all.push_back(kernel);
    return {};
  }

  Result<Bytes> ask(uint32_t kind, const Bytes &payload, const Kernel *called = nullptr) {
    Bytes body;
    detail::put(body, ++sequence, 2);
    detail::put(body, kind, 2);
    body.insert(body.end(), payload.begin(), payload.end());
    detail::put(body, detail::crc(body.data(), body.size()), 4);
    Bytes frame = detail::encoded(body);
    for (int attempt = 0; attempt < attempts; ++attempt) {
      if (!stream.write(frame.data(), frame.size()))
        return Status{METATE_E_IO, "rpc: the stream takes no bytes"};
      Bytes answer = receive(kind | METATE_RPC_ANSWER);
      if (answer.empty())
        continue;
      Bytes found(answer.begin() + 4, answer.end() - 4);
      if (!answer[3])
        return found;
      return failure(metate_status(answer[3]), found, called);
    }
    return Status{METATE_E_IO, "rpc: no answer after " + std::to_string(attempts) + " attempts"};
  }

  // The answer to a call, whose prints have been told of.
  Result<Bytes> call(const Bytes &request, const Kernel *called) {
    Result<Bytes> answer = ask(METATE_RPC_CALL, request, called);
    if (!keptPrints)
      return answer;
    bool waits = !answer;
    if (answer && answer->size() >= 4) {
      waits = detail::Reader({answer->end() - 4, answer->end()}).word();
      answer->resize(answer->size() - 4);
    }
    while (waits) {
      Result<Bytes> some = ask(METATE_RPC_PRINTS, {});
      if (!some)
        return answer ? Result<Bytes>(some.status()) : std::move(answer);
      waits = takePrints(*some);
    }
    return answer;
  }

  // Are there more?
  bool takePrints(const Bytes &answer) {
    detail::Reader from(answer);
    uint32_t dropped = from.word(), left = from.word();
    prints.insert(prints.end(), answer.begin() + long(std::min<size_t>(8, answer.size())),
                  answer.end());
    std::string text;
    while (size_t size = detail::firstPrint(prints, &text)) {
      stream.printed(text);
      prints.erase(prints.begin(), prints.begin() + long(size));
    }
    if (dropped)
      stream.printed("[rpc: prints dropped: " + std::to_string(dropped) + "; the server keeps " +
                     std::to_string(keptPrints) + " bytes of them]\n");
    return left;
  }

  // The answer to the last request; empty: it is to be sent again.
  Bytes receive(uint32_t kind) {
    uint8_t piece[256];
    bool isDamaged = false;
    for (size_t total = 0, count;
         !isDamaged && total < 1u << 20 && (count = stream.read(piece, sizeof piece));
         total += count) {
      for (size_t k = 0; k < count; ++k) {
        if (piece[k]) {
          raw.push_back(piece[k]);
          continue;
        }
        Bytes frame = detail::decoded(raw);
        bool isFrame = !raw.empty();
        raw.clear();
        if (isFrame && (frame.empty() || frame[2] == (METATE_RPC_DAMAGED | METATE_RPC_ANSWER)))
          isDamaged = true; // the answer may stand behind it
        else if (isFrame && frame[2] == kind && (frame[0] | frame[1] << 8) == sequence)
          return frame;
      }
    }
    return {};
  }

  // What libmetate says of a failure, but for the formats of numbers.
  static Status failure(metate_status code, const Bytes &payload, const Kernel *called) {
    detail::Reader from(payload);
    uint32_t argument = from.word(), line = from.word(), column = from.word(), rank = from.word();
    std::vector<int64_t> index, shape, pairs;
    for (std::vector<int64_t> *to : {&index, &shape})
      for (uint32_t k = 0; k < rank && k < METATE_MAX_RANK; ++k)
        to->push_back(int64_t(from.number(8)));
    for (size_t k = 0; k < index.size(); ++k)
      pairs.insert(pairs.end(), {index[k], shape[k]});
    std::string file = from.text(), text = from.text();
    std::string who = called ? "kernel '" + called->name + "'" : "";
    if (size_t end = text.find(METATE_TEXT_KERNEL_END); end != std::string::npos) {
      who = "kernel '" + text.substr(0, end) + "'";
      text = text.substr(end + 1);
    }
    if (called && argument < called->parameters.size())
      who +=
          " argument " + std::to_string(argument) + " '" + called->parameters[argument].name + "'";
    if (line && code == METATE_E_ASSERT)
      text = "assertion failed" +
             (text.empty() ? "" : ": " + (rank ? detail::message(text, pairs) : text));
    if (line && code == METATE_E_OUT_OF_RANGE) {
      text = "index out of range: " + text + "[";
      for (size_t k = 0; k < index.size(); ++k)
        text += (k ? ", " : "") + std::to_string(index[k]);
      text += "]";
    }
    if (text.empty())
      text = metate_status_name(code);
    std::string where =
        line ? file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " : "";
    return {code, where + who + (who.empty() ? "" : ": ") + text};
  }
};

/// A kernel's arguments, kept on the other side.
class Session {
public:
  /// A scalar; of f16 and bf16 its bits are given, as a uint16_t.
  template <typename T> Status try_set_input(const char *name, T value) {
    static_assert(std::is_arithmetic_v<T>);
    const Parameter *one = find(name);
    if (!one || one->kind != METATE_ARGUMENT_SCALAR)
      return refuse(name, "a scalar");
    Bytes &set = inputs[name];
    set = {METATE_RPC_SCALAR, uint8_t(one->dtype)};
    switch (one->dtype) {
    case METATE_F32:
      return keep(set, float(value));
    case METATE_F64:
      return keep(set, double(value));
    case METATE_F16:
    case METATE_BF16:
      return keep(set, uint16_t(value));
    default:
      detail::put(set, uint64_t(int64_t(value)), metate_dtype_bytes(one->dtype));
      return {};
    }
  }
  /// An array of this shape, row-major, the elements' dimensions included; or a vector, without a shape. They are copied.
  template <typename T>
  Status try_set_input(const char *name, std::span<const T> data,
                       const std::vector<int64_t> &shape = {}) {
    const Parameter *one = find(name);
    if (!one || one->dtype != dtype_of<T>() || one->kind == METATE_ARGUMENT_SCALAR ||
        one->kind == METATE_ARGUMENT_TREE)
      return refuse(
          name, (std::string("an array or vector of ") + metate_dtype_name(dtype_of<T>())).c_str());
    std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(data.data()),
                                   data.size_bytes());
    if (one->kind == METATE_ARGUMENT_VECTOR) {
      if (data.size() != one->elements)
        return refuse(name, "that many elements");
      Bytes &set = inputs[name];
      set = {METATE_RPC_VECTOR, uint8_t(one->dtype), uint8_t(data.size()),
             uint8_t(data.size() >> 8)};
      set.insert(set.end(), bytes.begin(), bytes.end());
      return {};
    }
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    if (shape.size() != one->rank || count != int64_t(data.size()))
      return refuse(name, "an array of that shape");
    return setArray(name, *one, shape, bytes);
  }
  Status try_run() {
    Bytes request;
    detail::put(request, kernel->number, 4);
    for (const Parameter &one : kernel->parameters) {
      if (one.flags & METATE_ARGUMENT_RESULT)
        continue;
      auto set = inputs.find(one.name);
      if (set == inputs.end())
        return {METATE_E_INVALID_ARGUMENT,
                "kernel '" + kernel->name + "': argument '" + one.name + "' is not set"};
      request.insert(request.end(), set->second.begin(), set->second.end());
    }
    Result<Bytes> answer = client->call(request, kernel);
    if (answer)
      result = *answer;
    return answer.status();
  }
  /// An array as it is there now.
  template <typename T> Result<std::vector<T>> try_get_output(const char *name) {
    const Parameter *one = find(name);
    auto found = arrays.find(name);
    if (!one || found == arrays.end() || one->dtype != dtype_of<T>())
      return refuse(name, "an array that was set");
    std::vector<T> out(found->second.bytes / sizeof(T));
    auto *to = reinterpret_cast<uint8_t *>(out.data());
    for (uint64_t at = 0; at < found->second.bytes;) {
      uint64_t count = std::min<uint64_t>(client->room, found->second.bytes - at);
      Bytes request = part(found->second.handle, at);
      detail::put(request, count, 4);
      Result<Bytes> answer = client->ask(METATE_RPC_READ, request);
      if (!answer)
        return answer.status();
      if (answer->size() != count)
        return Status{METATE_E_CORRUPT, "rpc: another number of bytes than asked for"};
      std::memcpy(to + at, answer->data(), count);
      at += count;
    }
    return out;
  }
  /// What the kernel returned in the last run: `count` scalars.
  template <typename T> Result<std::vector<T>> try_results(size_t count = 1) const {
    if (result.size() != count * sizeof(T))
      return Status{METATE_E_TYPE_MISMATCH, "kernel '" + kernel->name + "': its result has " +
                                                std::to_string(result.size()) + " bytes"};
    std::vector<T> out(count);
    std::memcpy(out.data(), result.data(), result.size());
    return out;
  }
#if METATE_EXCEPTIONS
  template <typename T> void set_input(const char *name, T value) {
    unwrap(try_set_input(name, value));
  }
  template <typename T>
  void set_input(const char *name, std::span<const T> data,
                 const std::vector<int64_t> &shape = {}) {
    unwrap(try_set_input<T>(name, data, shape));
  }
  void run() { unwrap(try_run()); }
  template <typename T> std::vector<T> get_output(const char *name) {
    return unwrap(try_get_output<T>(name));
  }
  template <typename T> T get_result() const { return unwrap(try_results<T>(1))[0]; }
#endif

private:
  friend class Client;
  struct Array {
    uint32_t handle;
    uint64_t bytes;
    std::vector<int64_t> shape;
  };
  Client *client;
  const Kernel *kernel;
  std::map<std::string, Bytes> inputs; // as a call has them
  std::map<std::string, Array> arrays; // that were made there
  Bytes result;

  Session(Client *client, const Kernel *kernel) : client(client), kernel(kernel) {}

  const Parameter *find(const std::string &name) const {
    for (const Parameter &one : kernel->parameters)
      if (one.name == name && !(one.flags & METATE_ARGUMENT_RESULT))
        return &one;
    return nullptr;
  }
  Status refuse(const char *name, const char *expected) const {
    return {METATE_E_TYPE_MISMATCH, "kernel '" + kernel->name + "' argument '" + name +
                                        "': it is none, or not " + expected};
  }
  template <typename T> static Status keep(Bytes &set, T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    detail::put(set, bits, sizeof value);
    return {};
  }
  static Bytes part(uint32_t handle, uint64_t at) {
    Bytes request;
    detail::put(request, handle, 4);
    detail::put(request, at, 8);
    return request;
  }
  Status setArray(const char *name, const Parameter &one, const std::vector<int64_t> &shape,
                  std::span<const uint8_t> bytes) {
    auto found = arrays.find(name);
    if (found != arrays.end() && found->second.shape != shape) {
      Bytes request;
      detail::put(request, found->second.handle, 4);
      Result<Bytes> freed = client->ask(METATE_RPC_FREE, request);
      arrays.erase(found), inputs.erase(name);
      if (!freed)
        return freed.status();
      found = arrays.end();
    }
    if (found == arrays.end()) {
      Bytes request;
      detail::put(request, METATE_ARGUMENT_NDARRAY, 4);
      detail::put(request, one.dtype, 4);
      detail::put(request, shape.size(), 4);
      for (int64_t extent : shape)
        detail::put(request, uint64_t(extent), 8);
      Result<Bytes> made = client->ask(METATE_RPC_MAKE, request);
      if (!made)
        return made.status();
      found = arrays.emplace(name, Array{detail::Reader(*made).word(), bytes.size(), shape}).first;
      inputs[name] = {METATE_RPC_VALUE};
      detail::put(inputs[name], found->second.handle, 4);
    }
    size_t step = client->room - 12;
    for (size_t at = 0; at < bytes.size(); at += step) {
      Bytes request = part(found->second.handle, at);
      auto piece = bytes.subspan(at, std::min(step, bytes.size() - at));
      request.insert(request.end(), piece.begin(), piece.end());
      if (Result<Bytes> written = client->ask(METATE_RPC_WRITE, request); !written)
        return written.status();
    }
    return {};
  }
};

inline Result<Session> Client::try_session(const char *name) {
  for (const Kernel &kernel : all)
    if (kernel.name == name)
      return Session(this, &kernel);
  return Status{METATE_E_NOT_FOUND, std::string("rpc: there is no kernel '") + name + "'"};
}
#if METATE_EXCEPTIONS
inline Session Client::session(const char *name) { return unwrap(try_session(name)); }
#endif

} // namespace metate::rpc

#endif
