// Fuzz target: the stream that a server for calls reads (runtime/rpc). Bytes become noise, requests with a right checksum and any
// payload, requests that fit, and requests that come twice. Nothing may leave the server's memory; a request gets one answer, the
// same one if it comes again, and runs no kernel then; after all of it a hello is answered.
#include "harness.h"
#include "seeds.h"

extern "C" {
#include "rpc/rpc.h"
}

#include <algorithm>
#include <memory>
#include <vector>

using namespace metate;
using namespace metate::fuzz;
using test::Bytes;

namespace {

// The core takes no named extents.
test::ModuleSpec coreModule() {
  test::ModuleSpec spec = seedModule();
  spec.kernels.pop_back();
  return spec;
}

Bytes &description() {
  static Bytes &bytes = *new Bytes(test::descriptor(coreModule()));
  return bytes;
}

uint64_t runs = 0;
uint32_t failWith = 0; // what the next kernel records

const metate_argument_info *argumentsOf(uint32_t kernel, const metate_kernel_info **info) {
  const auto *head = description().at<metate_descriptor>(0);
  *info = description().at<metate_kernel_info>(head->kernels.offset) + kernel;
  return description().at<metate_argument_info>(head->arguments.offset) + (*info)->first_argument;
}

// Reads, and where it may writes, every byte that a kernel of that description may.
template <uint32_t kernel>
int32_t enter(const metate_slot *slots, void *const *pools, const metate_host *host) {
  const metate_kernel_info *info;
  const metate_argument_info *arguments = argumentsOf(kernel, &info);
  ++runs;
  for (uint32_t k = 0; k < info->argument_count; ++k) {
    const metate_slot *at = slots + arguments[k].first_slot;
    uint64_t bytes = 0;
    if (arguments[k].kind == METATE_ARGUMENT_NDARRAY) {
      bytes = metate_dtype_bytes(arguments[k].dtype);
      for (uint32_t axis = 0; axis < arguments[k].rank; ++axis)
        bytes *= at[1 + axis].u;
    } else if (arguments[k].kind == METATE_ARGUMENT_TREE) {
      bytes = static_cast<metate_tree_header *>(at->p)->bytes;
    }
    auto *data = static_cast<volatile uint8_t *>(at->p);
    for (uint64_t n = 0; n < bytes; ++n) {
      uint8_t value = data[n];
      if (arguments[k].access & METATE_ACCESS_WRITE)
        data[n] = value;
    }
  }
  for (uint32_t k = 0; k < info->pool_count; ++k)
    std::memset(pools[k], 0xa5, k ? 40 : 100);
  if (host && host->print) {
    metate_print_item items[3] = {
        {METATE_PRINT_TEXT, 0, {}}, {METATE_PRINT_FORMAT, 0, {}}, {METATE_PRINT_I64, 0, {}}};
    items[0].value.text = "k ";
    items[1].value.text = ">3";
    items[2].value.i = failWith;
    host->print(host->print_self, items, 3);
  }
  if (failWith && host && host->failure) {
    host->failure->code = failWith;
    host->failure->text = failWith % 3;
    host->failure->rank = failWith;
    return int32_t(failWith);
  }
  return METATE_OK;
}

const metate_entry entries[] = {enter<0>, enter<1>, enter<2>, enter<3>, enter<4>,
                                enter<5>, enter<6>, enter<7>, enter<8>, enter<9>};

constexpr uint64_t bytesOfPrint = 2 + 4 + 4 + 9; // what each launch prints

struct Answer {
  uint32_t sequence = 0, kind = 0, status = 0;
  Bytes payload;
};

class Session {
public:
  Session(uint32_t frame, uint32_t bytes, uint32_t values)
      : memory(static_cast<uint8_t *>(aligned_alloc(64, bytes)), std::free), size(bytes) {
    std::memset(memory.get(), 0xcd, bytes);
    metate_static_module module{description().data(), description().size(), entries,
                                description().at<metate_descriptor>(0)->kernels.count, 0};
    named[0].value.data = numbers;
    named[0].value.shape = &three;
    metate_rpc_options options{};
    options.module = &module;
    options.memory = memory.get();
    options.bytes = bytes;
    options.frame_bytes = frame;
    options.most_values = values;
    options.write = [](void *self, const void *data, size_t count) {
      static_cast<Session *>(self)->answered.append(data, count);
    };
    options.write_self = this;
    options.named = named;
    options.named_count = 1;
    options.print_bytes = frame % 64;
    isOpen = metate_rpc_open(&server, &options) == METATE_OK;
  }

  void feed(const uint8_t *data, size_t count) {
    metate_rpc_receive(&server, data, count);
    requireSound();
  }

  // A request, which gets one answer.
  Answer ask(uint32_t kind, const Bytes &payload) {
    Bytes body;
    ++sequence;
    const uint8_t head[4] = {uint8_t(sequence), uint8_t(sequence >> 8), uint8_t(kind), 0};
    body.append(head, 4);
    body.append(payload.data(), payload.size());
    uint32_t crc = metate_rpc_crc(body.data(), uint32_t(body.size()));
    body.append(&crc, 4);
    last = Bytes();
    encode(body);
    Answer found = send(body.size());
    before = answered;
    seenCrc = server.seen_crc;
    return found;
  }

  // The last one again: the same answer, and no kernel runs.
  void again() {
    if (last.size() == 0 || seenCrc != server.seen_crc) // noise that was a request
      return;
    uint64_t ran = runs;
    uint32_t values = server.value_count;
    bool isHello = lastKind == METATE_RPC_HELLO;
    send(0);
    if (runs != ran || (!isHello && server.value_count != values))
      finding("a request that came twice was performed twice");
    if (before.size() != answered.size() ||
        std::memcmp(before.data(), answered.data(), before.size()) != 0)
      finding("a request that came twice got two answers");
  }

  metate_rpc server{};
  bool isOpen = false;

private:
  std::unique_ptr<uint8_t, decltype(&std::free)> memory;
  uint64_t size;
  Bytes answered, last, before; // what the server writes; the last request and its answer
  uint32_t seenCrc = 0;
  uint16_t sequence = 0;
  uint32_t lastKind = 0;
  float numbers[3] = {1, 2, 3};
  int64_t three = 3;
  metate_rpc_named named[1] = {
      {"numbers",
       {METATE_ARGUMENT_NDARRAY, METATE_F32, 1, 0, 0, nullptr, nullptr, nullptr},
       0,
       METATE_RPC_READ_ONLY,
       0}};

  void encode(const Bytes &body) {
    std::vector<uint8_t> out{0};
    size_t from = 0;
    lastKind = body.data()[2];
    for (;;) {
      size_t count = 0;
      while (from + count < body.size() && body.data()[from + count] && count < 254)
        ++count;
      out.push_back(uint8_t(count + 1));
      out.insert(out.end(), body.data() + from, body.data() + from + count);
      from += count;
      if (from == body.size())
        break;
      from += count < 254;
    }
    out.push_back(0);
    last.append(out.data(), out.size());
  }

  Answer send(size_t bytes) {
    static const uint8_t zero = 0;
    feed(&zero, 1); // what noise has begun ends
    answered = Bytes();
    feed(last.data(), last.size());
    Answer found = decode();
    if (bytes > server.options.frame_bytes) {
      if (found.kind != (METATE_RPC_DAMAGED | METATE_RPC_ANSWER))
        finding("a frame that is too long was taken");
    } else if (found.sequence != sequence || found.kind != (lastKind | METATE_RPC_ANSWER)) {
      if (bytes)
        finding("another answer than to that request");
    }
    if (found.status > METATE_STATUS_LAST || found.status == METATE_E_INTERNAL)
      finding("status %u", found.status);
    return found;
  }

  Answer decode() {
    std::vector<uint8_t> body;
    const uint8_t *at = answered.data(), *end = at + answered.size();
    if (answered.size() < 10 || *at || end[-1])
      finding("no answer, or none that is a frame");
    for (++at, --end; at < end;) {
      uint8_t code = *at++;
      if (!code || code - 1 > end - at)
        finding("the answer is no COBS, or there are several");
      body.insert(body.end(), at, at + code - 1);
      at += code - 1;
      if (code < 255 && at < end)
        body.push_back(0);
    }
    uint32_t bytes = uint32_t(body.size()), crc;
    std::memcpy(&crc, body.data() + bytes - 4, 4);
    if (bytes > server.options.frame_bytes || crc != metate_rpc_crc(body.data(), bytes - 4))
      finding("an answer of %u bytes, or with a wrong checksum", bytes);
    Answer found{body[0] | uint32_t(body[1]) << 8, body[2], body[3], {}};
    found.payload.append(body.data() + 4, bytes - 8);
    return found;
  }

  // Values lie in order and apart, inside of the heap.
  void requireSound() const {
    const uint8_t *at = server.heap;
    if (server.heap_end != memory.get() + size || server.value_count > server.options.most_values)
      finding("the server's memory has changed");
    for (uint32_t k = 0; k < server.value_count; ++k) {
      const metate_rpc_value &value = server.values[k];
      const auto *data = static_cast<const uint8_t *>(value.argument.data);
      const auto *start =
          value.argument.shape ? reinterpret_cast<const uint8_t *>(value.argument.shape) : data;
      if (start < at || data + value.bytes > server.heap_end || data < start)
        finding("value %u lies in another one, or outside", k);
      at = data + value.bytes;
    }
  }
};

void put(Bytes &to, uint64_t value, size_t bytes) { to.append(&value, bytes); }

uint32_t handleIn(const Answer &answer) {
  uint32_t handle;
  std::memcpy(&handle, answer.payload.data(), 4);
  return handle;
}

Answer makeArray(Session &session, uint32_t dtype, const std::vector<int64_t> &shape) {
  Bytes request;
  put(request, METATE_ARGUMENT_NDARRAY, 4);
  put(request, dtype, 4);
  put(request, shape.size(), 4);
  for (int64_t extent : shape)
    put(request, uint64_t(extent), 8);
  return session.ask(METATE_RPC_MAKE, request);
}

void freeValue(Session &session, uint32_t handle) {
  Bytes request;
  put(request, handle, 4);
  if (session.ask(METATE_RPC_FREE, request).status != METATE_OK)
    finding("a value cannot be freed");
}

// More than a frame holds cannot be read at once.
void readLarge(Session &session) {
  Answer made = makeArray(session, METATE_U8, {int64_t(session.server.options.frame_bytes)});
  if (made.status != METATE_OK)
    return;
  Bytes range;
  put(range, handleIn(made), 4);
  put(range, 0, 8);
  put(range, session.server.options.frame_bytes, 4);
  if (session.ask(METATE_RPC_READ, range).status != METATE_E_TOO_SMALL)
    finding("an answer holds more than a frame");
  freeValue(session, handleIn(made));
}

// Two values, of which the second one keeps what is written when the first one goes.
void keepBytes(Session &session, Choices &choices) {
  Answer one = makeArray(session, METATE_U8, {choices.below(100)});
  Answer two = makeArray(session, METATE_U8, {int64_t(choices.below(60))});
  if (one.status == METATE_OK && two.status == METATE_OK) {
    uint64_t bytes;
    std::memcpy(&bytes, two.payload.data() + 4, 8);
    Bytes written, wanted, range;
    for (uint64_t n = 0; n < bytes; ++n)
      put(wanted, choices.take<uint8_t>(), 1);
    put(range, handleIn(two), 4);
    put(range, 0, 8);
    written = range;
    written.append(wanted.data(), wanted.size());
    put(range, bytes, 4);
    if (session.ask(METATE_RPC_WRITE, written).status != METATE_OK)
      finding("%llu bytes cannot be written", static_cast<unsigned long long>(bytes));
    freeValue(session, handleIn(one));
    Answer read = session.ask(METATE_RPC_READ, range);
    if (read.status != METATE_OK || read.payload.size() != bytes ||
        (bytes && std::memcmp(read.payload.data(), wanted.data(), bytes) != 0))
      finding("a value does not hold what was written");
    Bytes beyond;
    put(beyond, handleIn(two), 4);
    put(beyond, choices.below(uint32_t(bytes) + 2), 8);
    put(beyond, bytes + 1, 4);
    if (session.ask(METATE_RPC_READ, beyond).status != METATE_E_OUT_OF_RANGE)
      finding("bytes behind a value are read");
    put(written, 0, 1);
    if (session.ask(METATE_RPC_WRITE, written).status != METATE_E_OUT_OF_RANGE)
      finding("bytes behind a value are written");
    one.status = METATE_E_NOT_FOUND;
  }
  if (one.status == METATE_OK)
    freeValue(session, handleIn(one));
  if (two.status == METATE_OK)
    freeValue(session, handleIn(two));
}

// A byte of a tree's header or pools is another one.
void damageTree(Session &session, uint32_t handle, Choices &choices) {
  Bytes request;
  put(request, handle, 4);
  put(request, choices.take<uint8_t>(), 8);
  put(request, choices.take<uint8_t>(), 1);
  session.ask(METATE_RPC_WRITE, request);
}

// What is wrong with a call, if anything is.
enum Wrong { Nothing, OneByteLess, OneByteMore, OneElementMore, DamagedTree, WrongCount };

// All that waits, in frames; of one launch with an empty buffer what that has printed, or the word that it found no room.
void drainPrints(Session &session, bool isFirst, bool hasRun) {
  uint64_t bytes = 0, dropped = 0, most = session.server.options.print_bytes;
  for (uint32_t left = 1; left;) {
    Answer answer = session.ask(METATE_RPC_PRINTS, Bytes());
    if (answer.status != METATE_OK || answer.payload.size() < 8)
      finding("prints are answered by status %u", answer.status);
    uint32_t words[2];
    std::memcpy(words, answer.payload.data(), sizeof words);
    bytes += answer.payload.size() - 8;
    dropped += words[0];
    left = words[1];
    session.again();
  }
  bool fits = bytesOfPrint <= most;
  if (bytes > most ||
      (isFirst && (bytes != (hasRun && fits ? bytesOfPrint : 0) || dropped != (hasRun && !fits))))
    finding("%llu bytes of prints, %llu dropped", static_cast<unsigned long long>(bytes),
            static_cast<unsigned long long>(dropped));
}

// A call whose arguments fit, but for what is wrong.
void call(Session &session, Choices &choices) {
  uint32_t dice = choices.take<uint8_t>() % 10;
  Wrong wrong = dice < WrongCount ? Wrong(dice) : Nothing;
  bool isDamaged = false, isWrong = wrong == OneByteLess || wrong == OneByteMore;
  uint32_t kernel = choices.below(uint32_t(std::size(entries)));
  failWith = choices.take<uint8_t>() % 64;
  failWith = failWith > METATE_STATUS_LAST || failWith == METATE_E_INTERNAL ? 0 : failWith;
  const metate_kernel_info *info;
  const metate_argument_info *arguments = argumentsOf(kernel, &info);
  Bytes request;
  put(request, kernel, 4);
  std::vector<uint32_t> made;
  bool hasRoom = true;
  for (uint32_t k = 0; k < info->argument_count && hasRoom; ++k) {
    const metate_argument_info &argument = arguments[k];
    if (argument.flags & METATE_ARGUMENT_RESULT)
      continue;
    uint32_t width = metate_dtype_bytes(argument.dtype);
    if (argument.kind == METATE_ARGUMENT_SCALAR) {
      put(request, METATE_RPC_SCALAR | argument.dtype << 8, 2);
      put(request, choices.take<uint64_t>(), width);
      continue;
    }
    if (argument.kind == METATE_ARGUMENT_VECTOR) {
      uint32_t count = argument.slot_count + (wrong == OneElementMore);
      isWrong |= wrong == OneElementMore;
      put(request, METATE_RPC_VECTOR | argument.dtype << 8 | count << 16, 4);
      for (uint32_t n = 0; n < count; ++n)
        put(request, choices.take<uint64_t>(), width);
      continue;
    }
    Answer value;
    if (argument.kind == METATE_ARGUMENT_TREE) {
      Bytes tree;
      put(tree, METATE_ARGUMENT_TREE, 4);
      put(tree, argument.type, 4);
      put(tree, 0, 8);
      value = session.ask(METATE_RPC_MAKE, tree);
    } else {
      std::vector<int64_t> shape(argument.fixed, argument.fixed + argument.rank);
      for (int64_t &extent : shape)
        extent = extent < 0 ? 1 + choices.take<uint8_t>() % 2 : extent;
      value = makeArray(session, argument.dtype, shape);
    }
    hasRoom = value.status == METATE_OK;
    if (!hasRoom)
      break;
    made.push_back(handleIn(value));
    if (argument.kind == METATE_ARGUMENT_TREE && wrong == DamagedTree) {
      damageTree(session, made.back(), choices);
      isDamaged = true;
    }
    put(request, METATE_RPC_VALUE, 1);
    put(request, made.back(), 4);
  }
  if (hasRoom && request.size() + 8 <= session.server.options.frame_bytes) {
    uint64_t before = runs;
    bool isFirst = !session.server.print_used && !session.server.prints_dropped;
    if (wrong == OneByteMore)
      put(request, 0, 1);
    Bytes sent;
    sent.append(request.data(), request.size() - (wrong == OneByteLess));
    Answer answer = session.ask(METATE_RPC_CALL, sent);
    bool hasRun = runs == before + 1;
    if (isWrong
            ? hasRun || answer.status == METATE_OK
            : !isDamaged && answer.status != (hasRun ? failWith : uint32_t(METATE_E_OUT_OF_MEMORY)))
      finding("a call of '%u' with %d wrong: status %u", kernel, int(wrong), answer.status);
    session.again();
    if (session.server.keeps_prints)
      drainPrints(session, isFirst, hasRun);
  }
  failWith = 0;
  for (uint32_t handle : made)
    freeValue(session, handle);
}

Bytes hello() {
  Bytes request;
  put(request, METATE_RPC_MAGIC, 4);
  put(request, METATE_RPC_VERSION, 4);
  put(request, METATE_RPC_WANTS_PRINTS, 4);
  return request;
}

void step(Session &session, Choices &choices) {
  uint8_t what = choices.take<uint8_t>() % 8;
  if (what < 2) { // noise
    uint8_t piece[64];
    uint32_t count = choices.below(sizeof piece);
    for (uint32_t n = 0; n < count; ++n)
      piece[n] = choices.take<uint8_t>();
    session.feed(piece, count);
  } else if (what < 5) { // any payload
    uint8_t kind = choices.take<uint8_t>();
    kind = kind < 200 ? kind % 13 : kind;
    Bytes payload;
    for (uint32_t n = 0, count = choices.below(160); n < count; ++n)
      put(payload, choices.take<uint8_t>(), 1);
    session.ask(kind, payload);
  } else if (what == 5) {
    readLarge(session);
    keepBytes(session, choices);
  } else if (what == 6) {
    call(session, choices);
  } else {
    session.again();
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static Tally tally;
  ++tally.inputs;
  Choices choices(data, bytes);
  uint32_t frame = METATE_RPC_LEAST_FRAME + choices.take<uint8_t>();
  uint32_t memory = 1024u * (1 + choices.below(24)), values = 1 + choices.below(12);
  Session session(frame, memory, values);
  if (!session.isOpen)
    return 0;
  ++tally.accepted;
  uint32_t greeting = choices.take<uint8_t>();
  if (greeting % 8)
    session.ask(METATE_RPC_HELLO, hello());
  for (uint32_t n = 0; choices.remaining() && n < 64; ++n) {
    bool isGreeted = session.server.is_greeted;
    uint8_t what = *choices.data() % 8;
    if (!isGreeted && (what == 5 || what == 6)) // only for who has said hello
      session.ask(METATE_RPC_HELLO, hello());
    step(session, choices);
  }
  if (session.ask(METATE_RPC_HELLO, hello()).status != METATE_OK || session.server.value_count)
    finding("the server does not begin anew");
  return 0;
}
