// metate-run merge: modules of the same interfaces for several machines become one file, the one that the compiler would have made of
// all targets at once: descriptor and payloads are written in its order (compiler/metate/Module/Descriptor.cpp).
//
// Payloads name the descriptor that they belong to by its hash, which the merged one changes: it is put into each.
#include "common.h"

#include "format/descriptor.h"
#include "support/hash.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

namespace metate::tool {

namespace {

// A module file that was verified, and its parts.
struct Part {
  std::string path;
  File file;
  const metate_carrier *carrier() const {
    return reinterpret_cast<const metate_carrier *>(file.data());
  }
  const metate_section *sections() const {
    return reinterpret_cast<const metate_section *>(file.data() + carrier()->section_offset);
  }
  Descriptor descriptor() const { return Descriptor(file.data() + sections()[0].offset); }
  std::string payload(uint32_t variant) const {
    for (uint32_t i = 1; i < carrier()->section_count; ++i)
      if (sections()[i].index == variant)
        return {reinterpret_cast<const char *>(file.data()) + sections()[i].offset,
                sections()[i].bytes};
    return "";
  }
};

std::string quoted(const char *text) { return std::string("'") + text + "'"; }

// ---- what must be the same -----------------------------------------------------------------------

class Comparison {
public:
  Comparison(const Part &first, const Part &second)
      : a(first.descriptor()), b(second.descriptor()), paths{first.path, second.path} {}

  void run() {
    if (textOf(a.header().name, b.header().name))
      refuse("the module is called " + quoted(a.text(a.header().name)) + ", and " +
             quoted(b.text(b.header().name)));
    compareTypes();
    compareKernels();
    compareTexts();
    if (a.header().derivatives.count != b.header().derivatives.count ||
        std::memcmp(a.derivatives(), b.derivatives(),
                    a.header().derivatives.count * sizeof(metate_derivative_info)))
      refuse("their kernels are not derivatives of the same ones");
    for (uint32_t i = 0; i < a.header().variants.count; ++i)
      for (uint32_t k = 0; k < b.header().variants.count; ++k)
        if (isSameMachine(a.variants()[i], b.variants()[k]))
          refuse("both have code for " + quoted(a.text(a.variants()[i].cpu)) + " (" +
                 a.text(a.variants()[i].triple) + ")");
  }

private:
  Descriptor a, b;
  std::string paths[2];

  [[noreturn]] void refuse(const std::string &what) const {
    throw Error("merge: " + paths[0] + " and " + paths[1] + ": " + what +
                ": expected modules of the same source, each for other machines");
  }
  bool textOf(uint32_t left, uint32_t right) const {
    return std::strcmp(a.text(left), b.text(right)) != 0;
  }

  bool isSameMachine(const metate_variant_info &left, const metate_variant_info &right) const {
    return left.arch == right.arch && left.level == right.level && left.format == right.format &&
           !textOf(left.cpu, right.cpu) && !textOf(left.features, right.features) &&
           !textOf(left.triple, right.triple);
  }

  void compareTypes() const {
    std::map<std::string, const metate_type_info *> others;
    for (uint32_t i = 0; i < b.header().types.count; ++i)
      others[b.text(b.types()[i].name)] = &b.types()[i];
    for (uint32_t i = 0; i < a.header().types.count; ++i) {
      const metate_type_info &type = a.types()[i];
      auto other = others.find(a.text(type.name));
      if (other == others.end())
        refuse("only the first one has the tree type " + quoted(a.text(type.name)));
      if (type.bytes != other->second->bytes ||
          std::memcmp(a.at(type.offset), b.at(other->second->offset), type.bytes))
        refuse("the tree type " + quoted(a.text(type.name)) + " differs");
    }
    if (a.header().types.count != b.header().types.count)
      refuse("the second one has more tree types");
    for (uint32_t i = 0; i < a.header().types.count; ++i)
      if (textOf(a.types()[i].name, b.types()[i].name))
        refuse("their tree types stand in another order, from " +
               quoted(a.text(a.types()[i].name)) + " on");
  }

  // Signatures say names, arguments and what extents with names may be; flags are the code's.
  void compareKernels() const {
    std::map<std::string, const metate_kernel_info *> others;
    for (uint32_t i = 0; i < b.header().kernels.count; ++i)
      others[b.text(b.kernels()[i].name)] = &b.kernels()[i];
    for (uint32_t i = 0; i < a.header().kernels.count; ++i) {
      const metate_kernel_info &kernel = a.kernels()[i];
      const char *name = a.text(kernel.name);
      auto other = others.find(name);
      if (other == others.end())
        refuse("only the first one has the kernel " + quoted(name));
      if (kernel.signature != other->second->signature)
        refuse("the arguments of the kernel " + quoted(name) + " differ");
      if (kernel.flags != other->second->flags || kernel.source != other->second->source)
        refuse("the kernel " + quoted(name) +
               " was compiled with other options, or of another source");
    }
    if (a.header().kernels.count != b.header().kernels.count)
      refuse("the second one has more kernels");
    for (uint32_t i = 0; i < a.header().kernels.count; ++i)
      if (textOf(a.kernels()[i].name, b.kernels()[i].name))
        refuse("their kernels stand in another order, from " + quoted(a.text(a.kernels()[i].name)) +
               " on");
  }

  // Code names texts by their numbers.
  void compareTexts() const {
    bool same = a.header().texts.count == b.header().texts.count;
    for (uint32_t i = 0; same && i < a.header().texts.count; ++i) {
      const metate_text &left = a.texts()[i], &right = b.texts()[i];
      same = left.line == right.line && left.column == right.column &&
             !textOf(left.file, right.file) && !textOf(left.text, right.text);
    }
    if (!same)
      refuse("their kernels are of other files or lines");
  }
};

// ---- the merged descriptor -----------------------------------------------------------------------

class Writer {
public:
  explicit Writer(const std::vector<Part> &parts) : parts(parts), first(parts[0].descriptor()) {}

  std::string run() {
    addTypes();
    const metate_descriptor &head = first.header();
    std::vector<metate_text> texts(first.texts(), first.texts() + head.texts.count);
    uint32_t own = head.texts.count; // texts of checks stand before those of kernels
    for (uint32_t i = 0; i < head.kernels.count; ++i)
      own = std::min(own, first.kernels()[i].source);
    for (uint32_t i = 0; i < own; ++i)
      addText(texts[i], i);
    for (uint32_t i = 0; i < head.kernels.count; ++i) {
      metate_kernel_info kernel = first.kernels()[i];
      kernel.name = add(first.text(kernel.name));
      for (const Part &part : parts)
        kernel.task_count = std::max(kernel.task_count, part.descriptor().kernels()[i].task_count);
      addPools(i, kernel);
      const metate_argument_info *given = first.arguments() + kernel.first_argument;
      kernel.first_argument = uint32_t(arguments.size());
      for (uint32_t k = 0; k < kernel.argument_count; ++k) {
        metate_argument_info argument = given[k];
        argument.name = add(first.text(argument.name));
        arguments.push_back(argument);
      }
      addDims(i);
      if (kernel.source != METATE_NONE)
        addText(texts[kernel.source], kernel.source);
      kernels.push_back(kernel);
    }
    for (uint32_t i = 0; i < head.texts.count; ++i) // none is left of what the compiler wrote
      addText(texts[i], i);
    for (const Part &part : parts) {
      Descriptor descriptor = part.descriptor();
      for (uint32_t i = 0; i < descriptor.header().variants.count; ++i) {
        metate_variant_info variant = descriptor.variants()[i];
        for (uint32_t *text : {&variant.cpu, &variant.features, &variant.triple})
          *text = add(descriptor.text(*text));
        variants.push_back(variant);
      }
    }
    return assemble(texts);
  }

private:
  const std::vector<Part> &parts;
  Descriptor first;
  std::string strings, blobs;
  std::map<std::string, uint32_t> known;
  std::set<uint32_t> added; // texts
  std::vector<metate_type_info> types;
  std::vector<metate_kernel_info> kernels;
  std::vector<metate_argument_info> arguments;
  std::vector<metate_variant_info> variants;
  std::vector<metate_pool_info> pools;
  std::vector<metate_dim_info> dims;
  std::vector<metate_place_info> places;

  // One more than the string's place among the strings; 0: none.
  uint32_t add(const std::string &text) {
    if (text.empty())
      return 0;
    auto [entry, isNew] = known.try_emplace(text, uint32_t(strings.size()) + 1);
    if (isNew)
      strings.append(text).push_back('\0');
    return entry->second;
  }
  void addText(metate_text &text, uint32_t index) {
    if (!added.insert(index).second)
      return;
    text.file = add(first.text(text.file));
    text.text = add(first.text(text.text));
  }

  void addTypes() {
    for (uint32_t i = 0; i < first.header().types.count; ++i) {
      metate_type_info type = first.types()[i];
      blobs.resize((blobs.size() + 7) / 8 * 8);
      const char *blob = static_cast<const char *>(first.at(type.offset));
      type.name = add(first.text(type.name));
      type.offset = uint32_t(blobs.size());
      blobs.append(blob, type.bytes);
      types.push_back(type);
    }
  }

  static bool isSamePool(const Descriptor &a, const metate_pool_info &left, const Descriptor &b,
                         const metate_pool_info &right) {
    return !std::strcmp(a.text(left.name), b.text(right.name)) && left.kind == right.kind &&
           left.align == right.align && left.bytes == right.bytes && left.scale == right.scale &&
           !std::memcmp(left.factors, right.factors, sizeof left.factors) &&
           !std::strcmp(memoryOf(a, left), memoryOf(b, right));
  }

  /// Where a pool is to lie; "": anywhere.
  static const char *memoryOf(const Descriptor &descriptor, const metate_pool_info &pool) {
    for (uint32_t i = 0; i < descriptor.header().places.count; ++i)
      if (descriptor.pools() + descriptor.places()[i].pool == &pool)
        return descriptor.text(descriptor.places()[i].memory);
    return "";
  }

  void addPool(const Descriptor &descriptor, const metate_pool_info &given, uint32_t variant) {
    metate_pool_info pool = given;
    pool.name = add(descriptor.text(pool.name));
    pool.variant = variant;
    const char *memory = memoryOf(descriptor, given);
    if (*memory)
      places.push_back({uint32_t(pools.size()), add(memory)});
    pools.push_back(pool);
  }

  /// They are the same in all parts: signatures hold them.
  void addDims(uint32_t number) {
    for (uint32_t i = 0; i < first.header().dims.count; ++i)
      if (first.dims()[i].kernel == number) {
        dims.push_back(first.dims()[i]);
        dims.back().name = add(first.text(dims.back().name));
      }
  }

  /// Of all variants where all plan the same; else each variant's own, one behind the other.
  void addPools(uint32_t number, metate_kernel_info &kernel) {
    kernel.first_pool = uint32_t(pools.size());
    kernel.pool_count = 0;
    bool isOfAll = true;
    const metate_kernel_info &one = first.kernels()[number];
    for (const Part &part : parts) {
      Descriptor descriptor = part.descriptor();
      const metate_kernel_info &other = descriptor.kernels()[number];
      isOfAll &= one.pool_count == other.pool_count;
      for (uint32_t k = 0; isOfAll && k < one.pool_count; ++k) {
        const metate_pool_info &pool = descriptor.pools()[other.first_pool + k];
        isOfAll = pool.variant == METATE_NONE &&
                  isSamePool(first, first.pools()[one.first_pool + k], descriptor, pool);
      }
    }
    uint32_t variant = 0;
    for (const Part &part : parts) {
      Descriptor descriptor = part.descriptor();
      const metate_kernel_info &other = descriptor.kernels()[number];
      uint32_t count = descriptor.header().variants.count;
      bool shared = other.pool_count && descriptor.pools()[other.first_pool].variant == METATE_NONE;
      for (uint32_t v = 0; v < (shared && !isOfAll ? count : 1); ++v)
        for (uint32_t k = 0; k < other.pool_count; ++k) {
          const metate_pool_info &pool = descriptor.pools()[other.first_pool + k];
          uint32_t own = variant + (shared ? v : pool.variant);
          addPool(descriptor, pool, isOfAll ? METATE_NONE : own);
          ++kernel.pool_count;
        }
      variant += count;
      if (isOfAll)
        break;
    }
    if (!kernel.pool_count)
      kernel.first_pool = 0;
  }

  template <typename Record>
  static metate_table append(std::string &bytes, const std::vector<Record> &records) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    metate_table table = {uint32_t(bytes.size()), uint32_t(records.size())};
    bytes.append(reinterpret_cast<const char *>(records.data()), records.size() * sizeof(Record));
    return records.empty() ? metate_table{0, 0} : table;
  }

  std::string assemble(std::vector<metate_text> &texts) {
    metate_descriptor head = first.header();
    head.name = add(first.text(head.name));
    head.producer = add(first.text(head.producer));
    std::vector<metate_derivative_info> derivatives(first.derivatives(),
                                                    first.derivatives() + head.derivatives.count);
    size_t tables = sizeof head + types.size() * sizeof types[0] +
                    kernels.size() * sizeof kernels[0] + arguments.size() * sizeof arguments[0] +
                    variants.size() * sizeof variants[0] + texts.size() * sizeof texts[0] +
                    pools.size() * sizeof pools[0] + derivatives.size() * sizeof derivatives[0] +
                    dims.size() * sizeof dims[0] + places.size() * sizeof places[0];
    uint32_t blobBase = uint32_t((tables + 7) / 8 * 8),
             stringBase = uint32_t(blobBase + blobs.size());
    auto resolve = [&](auto &...numbers) {
      ((numbers = numbers ? stringBase + numbers - 1 : 0), ...);
    };
    resolve(head.name, head.producer);
    for (metate_type_info &type : types) {
      resolve(type.name);
      type.offset += blobBase;
    }
    for (metate_kernel_info &kernel : kernels)
      resolve(kernel.name);
    for (metate_argument_info &argument : arguments)
      resolve(argument.name);
    for (metate_variant_info &variant : variants)
      resolve(variant.cpu, variant.features, variant.triple);
    for (metate_text &text : texts)
      resolve(text.file, text.text);
    for (metate_pool_info &pool : pools)
      resolve(pool.name);
    for (metate_dim_info &dim : dims)
      resolve(dim.name);
    for (metate_place_info &place : places)
      resolve(place.memory);
    std::string bytes(sizeof head, '\0');
    head.types = append(bytes, types);
    head.kernels = append(bytes, kernels);
    head.arguments = append(bytes, arguments);
    head.variants = append(bytes, variants);
    head.texts = append(bytes, texts);
    head.pools = append(bytes, pools);
    head.derivatives = append(bytes, derivatives);
    head.dims = append(bytes, dims);
    head.places = append(bytes, places);
    bytes.resize(blobBase);
    bytes += blobs;
    bytes += strings;
    head.bytes = uint32_t(bytes.size());
    std::memcpy(bytes.data(), &head, sizeof head);
    return bytes;
  }
};

void seal(std::string &bytes, size_t at) {
  Hash hash = hashWithHole(bytes.data(), bytes.size(), at);
  std::memcpy(bytes.data() + at, hash.half, sizeof hash.half);
}

/// The payload with another descriptor's hash where it names its own.
std::string renamed(std::string payload, const Part &part, const uint64_t (&hash)[2]) {
  std::string old(reinterpret_cast<const char *>(part.descriptor().header().signature_hash),
                  sizeof hash);
  size_t at = payload.find(old);
  if (at == std::string::npos || payload.find(old, at + 1) != std::string::npos)
    throw Error("merge: " + part.path +
                ": a payload does not say once whose it is: build the module again");
  std::memcpy(payload.data() + at, hash, sizeof hash);
  return payload;
}

std::string carrierOf(const std::vector<std::string> &contents) {
  metate_carrier head = {};
  head.magic = METATE_CARRIER_MAGIC;
  head.abi_version = METATE_ABI_VERSION;
  head.section_count = uint32_t(contents.size());
  head.section_offset = sizeof head;
  head.section_bytes = sizeof(metate_section);
  std::string bytes(sizeof head + contents.size() * sizeof(metate_section), '\0');
  for (size_t k = 0; k < contents.size(); ++k) {
    bytes.resize((bytes.size() + 63) / 64 * 64);
    metate_section section = {};
    section.kind = k ? METATE_SECTION_PAYLOAD : METATE_SECTION_DESCRIPTOR;
    section.index = k ? uint32_t(k - 1) : 0;
    section.offset = bytes.size();
    section.bytes = contents[k].size();
    bytes += contents[k];
    std::memcpy(bytes.data() + sizeof head + k * sizeof section, &section, sizeof section);
  }
  head.bytes = bytes.size();
  std::memcpy(bytes.data(), &head, sizeof head);
  seal(bytes, offsetof(metate_carrier, hash));
  return bytes;
}

std::string merged(const std::vector<Part> &parts) {
  for (size_t i = 0; i < parts.size(); ++i)
    for (size_t k = i + 1; k < parts.size(); ++k)
      Comparison(parts[i], parts[k]).run();
  std::vector<std::string> contents = {Writer(parts).run()};
  seal(contents[0], offsetof(metate_descriptor, signature_hash));
  uint64_t hash[2];
  std::memcpy(hash, contents[0].data() + offsetof(metate_descriptor, signature_hash), sizeof hash);
  for (const Part &part : parts)
    for (uint32_t v = 0; v < part.descriptor().header().variants.count; ++v)
      contents.push_back(renamed(part.payload(v), part, hash));
  return carrierOf(contents);
}

/// What a file is that a module was saved as for one machine; "": no such file.
const char *machineFileIn(const File &file) {
  std::string_view bytes(reinterpret_cast<const char *>(file.data()), file.bytes);
  auto begins = [&](std::string_view with) { return bytes.substr(0, with.size()) == with; };
  if (begins("\x7f"
             "ELF") &&
      bytes.size() > 16)
    return bytes[16] == 1 ? "an object for a linker" : "a shared object";
  if (begins("!<arch>\n"))
    return "a static library";
  if (begins({"\0asm", 4}))
    return "a WebAssembly module";
  return begins("/*") || begins("#include") ? "C source" : "";
}

} // namespace

int merge(const std::vector<std::string> &words) {
  std::vector<Part> parts;
  std::string output;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "-o" && i + 1 < words.size())
      output = words[++i];
    else if (!words[i].empty() && words[i][0] == '-')
      throw Error("merge: unknown option '" + words[i] + "': see metate-run --help");
    else
      parts.push_back({words[i], readFile(words[i])});
  }
  if (parts.size() < 2 || output.empty())
    throw Error("merge: expected at least two files, and -o OUT.metate: see metate-run --help");
  for (const Part &part : parts) {
    if (const char *kind = machineFileIn(part.file); *kind)
      throw Error("merge: " + part.path + ": expected .metate files, got " + kind +
                  ", which has the code of one machine: save the module as .metate for each, or "
                  "ship the files beside each other");
    if (metate_status status = metate_module_verify(part.file.data(), part.file.bytes))
      throw Error("merge: " + part.path + ": " + metate_status_name(status) + ": " +
                  metate_last_error());
  }
  std::string bytes = merged(parts);
  std::vector<uint64_t> aligned(bytes.size() / 8 + 1);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  check(metate_module_verify(aligned.data(), bytes.size()));
  std::ofstream stream(output, std::ios::binary);
  stream.write(bytes.data(), std::streamsize(bytes.size()));
  if (!stream.flush())
    throw Error("cannot write '" + output + "'");
  std::printf("%s: %zu bytes, %u variants\n", output.c_str(), bytes.size(),
              reinterpret_cast<const metate_carrier *>(aligned.data())->section_count - 1);
  return 0;
}

} // namespace metate::tool
