// The test builder. It lays trees out as the tests need them (children in order, each at its
// alignment), which need not be how the compiler does it.
#include "builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace metate::test {

void Bytes::resize(size_t bytes) {
  words.resize((bytes + 7) / 8);
  count = bytes;
}

size_t Bytes::append(const void *from, size_t bytes, size_t align) {
  size_t offset = (count + align - 1) / align * align;
  resize(offset + bytes);
  if (bytes)
    std::memcpy(data() + offset, from, bytes);
  return offset;
}

static Node split(uint32_t kind, std::string name, const std::string &axes,
                  std::vector<uint32_t> extents, std::vector<Node> children) {
  Node node{kind, std::move(name), {}, std::move(extents), std::move(children)};
  for (char axis : axes)
    node.axes.push_back(uint8_t(axis - 'i'));
  return node;
}

Node pointer(std::string name, std::string axes, std::vector<uint32_t> extents,
             std::vector<Node> children) {
  return split(METATE_LEVEL_POINTER, std::move(name), axes, std::move(extents),
               std::move(children));
}

Node dense(std::string name, std::string axes, std::vector<uint32_t> extents,
           std::vector<Node> children) {
  return split(METATE_LEVEL_DENSE, std::move(name), axes, std::move(extents), std::move(children));
}

Node bitmasked(std::string name, std::string axes, std::vector<uint32_t> extents,
               std::vector<Node> children) {
  return split(METATE_LEVEL_BITMASKED, std::move(name), axes, std::move(extents),
               std::move(children));
}

Node dynamic(std::string name, std::string axis, uint32_t extent, uint32_t chunk,
             std::vector<Node> children) {
  Node node = split(METATE_LEVEL_DYNAMIC, std::move(name), axis, {extent}, std::move(children));
  node.chunk = chunk;
  return node;
}

Node hash(std::string name, std::string axes, std::vector<Node> children) {
  return split(METATE_LEVEL_HASH, std::move(name), axes, std::vector<uint32_t>(axes.size(), 0),
               std::move(children));
}

Node place(std::string name, uint32_t dtype, uint32_t rows, uint32_t columns) {
  Node node{METATE_LEVEL_PLACE, std::move(name), {}, {}, {}};
  node.dtype = dtype;
  node.rank = columns ? 2 : rows ? 1 : 0;
  node.rows = rows ? rows : 1;
  node.columns = columns ? columns : 1;
  return node;
}

static Node quantised(std::string name, Quant quant, uint32_t dtype) {
  Node node = place(std::move(name), dtype);
  node.quant = quant;
  return node;
}

Node quantInt(std::string name, uint32_t bits, bool isSigned, uint32_t dtype) {
  return quantised(std::move(name), {METATE_QUANT_INT, bits, isSigned}, dtype);
}

Node quantFixed(std::string name, uint32_t bits, bool isSigned, double scale, uint32_t dtype) {
  return quantised(std::move(name), {METATE_QUANT_FIXED, bits, isSigned, 0, scale}, dtype);
}

Node quantFloat(std::string name, uint32_t exponent, uint32_t fraction, bool isSigned,
                uint32_t dtype) {
  return quantised(std::move(name), {METATE_QUANT_FLOAT, exponent + fraction, isSigned, exponent},
                   dtype);
}

Node shared(std::vector<Node> places) {
  Node node{0, "", {}, {}, std::move(places)};
  for (Node &place : node.children)
    place.quant.bits -= place.quant.exponentBits;
  return node;
}

static Node words(Node node, uint32_t word, uint64_t background) {
  node.wordBytes = word / 8;
  const auto *bytes = reinterpret_cast<const uint8_t *>(&background);
  node.background.assign(bytes, bytes + node.wordBytes);
  return node;
}

Node bitStruct(uint32_t word, std::vector<Node> members, uint64_t background) {
  Node node{METATE_LEVEL_BIT_STRUCT, "bit_struct", {}, {}, {}};
  int groups = 0;
  for (Node &member : members) {
    for (Node &place : member.children) {
      place.quant.group = groups;
      node.children.push_back(place);
    }
    if (member.children.empty())
      node.children.push_back(member);
    else
      ++groups;
  }
  return words(node, word, background);
}

Node quantArray(std::string name, std::string axes, std::vector<uint32_t> extents, uint32_t word,
                Node member, uint64_t background) {
  return words(split(METATE_LEVEL_QUANT_ARRAY, std::move(name), axes, std::move(extents),
                     {std::move(member)}),
               word, background);
}

namespace {

struct TypeWriter {
  std::vector<metate_level> levels;
  std::vector<const Node *> nodes;
  std::vector<metate_quant> quants;
  uint32_t pools = 0, members = 0;

  static bool hasPool(const metate_level &level) {
    return level.kind == METATE_LEVEL_POINTER || level.kind == METATE_LEVEL_DYNAMIC ||
           level.kind == METATE_LEVEL_HASH;
  }
  static uint64_t containerBytes(const metate_level &level) {
    switch (level.kind) {
    case METATE_LEVEL_POINTER:
      return level.cells * 4;
    case METATE_LEVEL_BITMASKED:
      return level.mask + 8 * ((level.cells + 31) / 32);
    case METATE_LEVEL_DYNAMIC:
      return 8 + 4 * ((level.cells + level.slot_cells - 1) / level.slot_cells);
    case METATE_LEVEL_HASH:
      return 4;
    case METATE_LEVEL_QUANT_ARRAY:
      return (level.cells + level.slot_cells - 1) / level.slot_cells * level.cell_bytes;
    default:
      return level.cells * level.cell_bytes;
    }
  }
  static uint32_t containerAlign(const metate_level &level) {
    if (hasPool(level))
      return 4;
    return level.kind == METATE_LEVEL_BITMASKED ? std::max(level.cell_align, 4u) : level.cell_align;
  }

  // Appends the node and what is below it; the cell is laid out after its children.
  uint32_t add(const Node &node, uint32_t parent, std::vector<uint8_t> path) {
    uint32_t index = uint32_t(levels.size());
    levels.emplace_back();
    quants.emplace_back();
    nodes.push_back(&node);
    metate_level level{};
    level.kind = node.kind;
    level.parent = parent;
    level.pool = hasPool(level) ? pools++ : METATE_NONE;
    level.axis_count = uint32_t(node.axes.size());
    level.cells = 1;
    for (size_t k = 0; k < node.axes.size(); ++k) {
      level.axes[k] = node.axes[k];
      level.extents[k] = node.extents[k];
      level.cells *= node.extents[k];
      path.push_back(node.axes[k]);
    }
    std::sort(path.begin(), path.end());
    path.erase(std::unique(path.begin(), path.end()), path.end());
    bool isPlace = node.kind == METATE_LEVEL_PLACE;
    if (isPlace || hasPool(level)) {
      (isPlace ? level.path_rank : level.coordinate_count) = uint32_t(path.size());
      std::copy(path.begin(), path.end(), level.path_axes);
    }
    if (isPlace) {
      ++members;
      level.dtype = node.dtype;
      level.rows = node.rows;
      level.columns = node.columns;
      level.element_rank = node.rank;
      level.cell_align = metate_dtype_bytes(node.dtype);
      level.cell_bytes = uint64_t(node.rows) * node.columns * level.cell_align;
    } else if (node.wordBytes) {
      level.cell_bytes = level.cell_align = node.wordBytes;
      pack(node, index, path);
      if (node.kind == METATE_LEVEL_QUANT_ARRAY)
        level.slot_cells = 8 * node.wordBytes / node.children[0].quant.bits;
    } else {
      layOut(node, index, path, level);
    }
    if ((isPlace || node.wordBytes) && std::all_of(node.background.begin(), node.background.end(),
                                                   [](uint8_t byte) { return byte == 0; }))
      level.flags = METATE_LEVEL_ZERO;
    levels[index] = level;
    return index;
  }

  // The members of a word, in their order from its lowest bit on; a shared exponent is below the first that shares it.
  void pack(const Node &node, uint32_t index, const std::vector<uint8_t> &path) {
    uint32_t shift = 0, first = 0, exponent = 0;
    for (size_t k = 0; k < node.children.size(); ++k) {
      const Quant &from = node.children[k].quant;
      uint32_t place = add(node.children[k], index, path);
      metate_quant &quant = quants[place];
      quant = {from.kind, from.isSigned, from.bits,      shift,      from.exponentBits,
               0,         METATE_NONE,   node.wordBytes, from.scale, 0};
      if (from.group >= 0) {
        quant.flags |= METATE_QUANT_SHARED;
        if (k == 0 || node.children[k - 1].quant.group != from.group) {
          first = place;
          exponent = shift;
          quant.shift = shift += from.exponentBits;
        }
        quant.group = first;
        quant.exponent_shift = exponent;
      } else if (from.kind == METATE_QUANT_FLOAT) {
        quant.exponent_shift = shift + from.bits - from.exponentBits - from.isSigned;
      }
      shift += from.bits;
    }
  }

  void layOut(const Node &node, uint32_t index, const std::vector<uint8_t> &path,
              metate_level &level) {
    uint64_t end = 0;
    level.cell_align = 1;
    for (const Node &childNode : node.children) {
      metate_level &child = levels[add(childNode, index, path)];
      uint32_t align = containerAlign(child);
      child.offset = (end + align - 1) / align * align;
      end = child.offset + containerBytes(child);
      level.cell_align = std::max(level.cell_align, align);
    }
    level.cell_bytes = (end + level.cell_align - 1) / level.cell_align * level.cell_align;
    bool zero = true; // all of the members below have been added
    for (uint32_t at = index + 1; at < levels.size(); ++at)
      if ((levels[at].kind == METATE_LEVEL_PLACE && !nodes[at]->quant.kind) || nodes[at]->wordBytes)
        zero = zero && (levels[at].flags & METATE_LEVEL_ZERO);
    if (zero)
      level.flags = METATE_LEVEL_ZERO;
    if (level.kind == METATE_LEVEL_BITMASKED)
      level.mask = (level.cells * level.cell_bytes + 3) / 4 * 4;
    if (!hasPool(level))
      return;
    level.slot_cells = level.kind == METATE_LEVEL_DYNAMIC ? node.chunk : 1;
    level.slot_bytes = level.cell_bytes * level.slot_cells;
    uint64_t align = level.slot_bytes >= 64 ? 64 : level.cell_align;
    if (level.kind == METATE_LEVEL_DYNAMIC)
      level.slot_bytes = (level.slot_bytes + align - 1) / align * align;
    if (level.slot_bytes <= METATE_AMBIENT_LIMIT)
      level.flags |= METATE_LEVEL_AMBIENT;
  }
};

void seal(uint8_t *data, size_t bytes, size_t hole) {
  std::memset(data + hole, 0, 16);
  XXH128_hash_t hash = XXH3_128bits(data, bytes);
  std::memcpy(data + hole, &hash.low64, 8);
  std::memcpy(data + hole + 8, &hash.high64, 8);
}

} // namespace

void sealType(uint8_t *blob, size_t bytes) { seal(blob, bytes, offsetof(metate_tree_type, hash)); }
void sealDescriptor(uint8_t *descriptor, size_t bytes) {
  seal(descriptor, bytes, offsetof(metate_descriptor, signature_hash));
}
void sealCarrier(uint8_t *carrier, size_t bytes) {
  seal(carrier, bytes, offsetof(metate_carrier, hash));
}

Bytes typeBlob(const std::vector<Node> &branches, const std::string &text) {
  TypeWriter writer;
  Node root{METATE_LEVEL_ROOT, "root", {}, {}, branches};
  writer.add(root, METATE_NONE, {});
  metate_tree_type head{};
  head.magic = METATE_TREE_TYPE_MAGIC;
  head.abi_version = METATE_ABI_VERSION;
  head.level_count = uint32_t(writer.levels.size());
  head.pool_count = writer.pools;
  head.member_count = writer.members;
  head.root_bytes = writer.levels[0].cell_bytes;
  head.root_align = writer.levels[0].cell_align;
  Bytes blob;
  blob.append(&head, sizeof head);
  blob.append(writer.levels.data(), writer.levels.size() * sizeof(metate_level));
  head.text = uint32_t(blob.append(text));
  for (size_t i = 0; i < writer.levels.size(); ++i)
    writer.levels[i].name = uint32_t(blob.append(writer.nodes[i]->name));
  for (size_t i = 0; i < writer.levels.size(); ++i) {
    if (writer.levels[i].kind != METATE_LEVEL_PLACE && !writer.nodes[i]->wordBytes)
      continue;
    std::vector<uint8_t> background = writer.nodes[i]->background;
    background.resize(writer.levels[i].cell_bytes);
    writer.levels[i].background = uint32_t(blob.append(background.data(), background.size(), 8));
  }
  for (size_t i = 0; i < writer.levels.size(); ++i)
    if (writer.quants[i].kind)
      writer.levels[i].quant = uint32_t(blob.append(&writer.quants[i], sizeof writer.quants[i], 8));
  blob.resize((blob.size() + 7) / 8 * 8);
  head.bytes = uint32_t(blob.size());
  std::memcpy(blob.data(), &head, sizeof head);
  std::memcpy(blob.data() + sizeof head, writer.levels.data(),
              writer.levels.size() * sizeof(metate_level));
  sealType(blob.data(), blob.size());
  return blob;
}

namespace {

// Tables are reserved first and filled when the offsets of what they name are known.
struct DescriptorWriter {
  Bytes out;

  template <typename T> metate_table table(const std::vector<T> &records) {
    return {uint32_t(out.append(records.data(), records.size() * sizeof(T), 8)),
            uint32_t(records.size())};
  }
  uint32_t text(const std::string &value) {
    return value.empty() ? 0 : uint32_t(out.append(value));
  }
};

metate_argument_info argumentInfo(const ArgumentSpec &spec, uint32_t slot) {
  metate_argument_info info{};
  info.kind = spec.kind;
  info.dtype = spec.dtype;
  info.rows = spec.rows;
  info.columns = spec.columns;
  info.element_rank = spec.elementRank;
  info.rank = spec.rank;
  info.access = spec.access;
  info.flags = spec.flags;
  info.type = spec.type;
  info.first_slot = slot;
  info.slot_count = spec.kind == METATE_ARGUMENT_VECTOR    ? spec.rows * spec.columns
                    : spec.kind == METATE_ARGUMENT_NDARRAY ? 1 + 2 * spec.rank
                                                           : 1;
  for (uint32_t k = 0; k < METATE_MAX_RANK; ++k)
    info.fixed[k] = k < spec.fixed.size() ? spec.fixed[k] : -1;
  return info;
}

metate_pool_info poolInfo(const PoolSpec &spec) {
  metate_pool_info info{0, spec.kind, spec.variant, spec.align, spec.bytes, spec.scale, {}};
  for (uint32_t k = 0; k < METATE_POOL_FACTORS; ++k)
    info.factors[k] = k < spec.factors.size() ? spec.factors[k] : METATE_NONE;
  return info;
}

} // namespace

Bytes descriptor(const ModuleSpec &module) {
  std::vector<metate_type_info> types(module.types.size());
  std::vector<metate_kernel_info> kernels(module.kernels.size());
  std::vector<metate_argument_info> arguments;
  std::vector<metate_variant_info> variants(module.variants.size());
  std::vector<metate_text> texts(module.texts.size());
  std::vector<metate_pool_info> pools;
  std::vector<metate_dim_info> dims;
  std::vector<metate_place_info> places;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const KernelSpec &spec = module.kernels[i];
    kernels[i].flags = spec.flags;
    kernels[i].first_argument = uint32_t(arguments.size());
    kernels[i].argument_count = uint32_t(spec.arguments.size());
    kernels[i].task_count = 1;
    kernels[i].source = spec.source;
    kernels[i].first_pool = uint32_t(pools.size());
    kernels[i].pool_count = uint32_t(spec.pools.size());
    for (const PoolSpec &pool : spec.pools) {
      if (!pool.memory.empty())
        places.push_back({uint32_t(pools.size()), 0});
      pools.push_back(poolInfo(pool));
    }
    kernels[i].first_dim = spec.dims.empty() ? 0 : uint32_t(dims.size());
    for (const DimSpec &dim : spec.dims)
      dims.push_back({0, uint32_t(i), dim.slot, 0, dim.min, dim.max, dim.multiple});
    kernels[i].signature = XXH3_64bits(spec.name.data(), spec.name.size());
    for (const ArgumentSpec &argument : spec.arguments) {
      arguments.push_back(argumentInfo(argument, kernels[i].slot_count));
      kernels[i].slot_count += arguments.back().slot_count;
    }
  }
  DescriptorWriter writer;
  metate_descriptor head{};
  head.magic = METATE_DESCRIPTOR_MAGIC;
  head.abi_version = METATE_ABI_VERSION;
  writer.out.append(&head, sizeof head);
  head.types = writer.table(types);
  head.kernels = writer.table(kernels);
  head.arguments = writer.table(arguments);
  head.variants = writer.table(variants);
  head.texts = writer.table(texts);
  head.pools = writer.table(pools);
  if (!dims.empty())
    head.dims = writer.table(dims);
  if (!places.empty())
    head.places = writer.table(places);
  if (!module.derivatives.empty())
    head.derivatives = writer.table(module.derivatives);
  for (size_t i = 0; i < types.size(); ++i) {
    const Bytes &blob = module.types[i].second;
    types[i].kind = 1;
    types[i].offset = uint32_t(writer.out.append(blob.data(), blob.size(), 8));
    types[i].bytes = uint32_t(blob.size());
  }
  head.name = writer.text(module.name);
  head.producer = writer.text("test builder");
  for (size_t i = 0; i < types.size(); ++i)
    types[i].name = writer.text(module.types[i].first);
  size_t next = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    kernels[i].name = writer.text(module.kernels[i].name);
    for (const ArgumentSpec &argument : module.kernels[i].arguments)
      arguments[next++].name = writer.text(argument.name);
    for (size_t k = 0; k < module.kernels[i].pools.size(); ++k)
      pools[kernels[i].first_pool + k].name = writer.text(module.kernels[i].pools[k].name);
    for (size_t k = 0; k < module.kernels[i].dims.size(); ++k)
      dims[kernels[i].first_dim + k].name = writer.text(module.kernels[i].dims[k].name);
    for (metate_place_info &place : places)
      if (place.pool - kernels[i].first_pool < module.kernels[i].pools.size())
        place.memory =
            writer.text(module.kernels[i].pools[place.pool - kernels[i].first_pool].memory);
  }
  for (size_t i = 0; i < texts.size(); ++i)
    texts[i] = {writer.text(module.texts[i].file), module.texts[i].line, module.texts[i].column,
                writer.text(module.texts[i].text)};
  for (size_t i = 0; i < variants.size(); ++i) {
    const VariantSpec &spec = module.variants[i];
    variants[i] = {spec.arch,
                   spec.level,
                   spec.format,
                   writer.text(spec.cpu),
                   writer.text(spec.features),
                   writer.text("test-triple"),
                   {0, 0}};
  }
  Bytes out = writer.out;
  out.append("", 1);
  out.resize((out.size() + 7) / 8 * 8);
  head.bytes = uint32_t(out.size());
  std::memcpy(out.data(), &head, sizeof head);
  auto store = [&](const metate_table &table, const auto &records) {
    if (!records.empty())
      std::memcpy(out.data() + table.offset, records.data(), records.size() * sizeof(records[0]));
  };
  store(head.types, types);
  store(head.kernels, kernels);
  store(head.arguments, arguments);
  store(head.variants, variants);
  store(head.texts, texts);
  store(head.pools, pools);
  store(head.dims, dims);
  store(head.places, places);
  sealDescriptor(out.data(), out.size());
  return out;
}

Bytes carrier(const Bytes &descriptor, const std::vector<Bytes> &payloads) {
  std::vector<metate_section> sections(1 + payloads.size());
  metate_carrier head{};
  Bytes out;
  out.append(&head, sizeof head);
  out.append(sections.data(), sections.size() * sizeof(metate_section));
  for (size_t i = 0; i < sections.size(); ++i) {
    const Bytes &content = i ? payloads[i - 1] : descriptor;
    sections[i].kind = i ? METATE_SECTION_PAYLOAD : METATE_SECTION_DESCRIPTOR;
    sections[i].index = i ? uint32_t(i - 1) : 0;
    sections[i].offset = out.append(content.data(), content.size(), 64);
    sections[i].bytes = content.size();
  }
  head.magic = METATE_CARRIER_MAGIC;
  head.abi_version = METATE_ABI_VERSION;
  head.section_count = uint32_t(sections.size());
  head.bytes = out.size();
  head.section_offset = sizeof head;
  head.section_bytes = sizeof(metate_section);
  std::memcpy(out.data(), &head, sizeof head);
  std::memcpy(out.data() + sizeof head, sections.data(), sections.size() * sizeof(metate_section));
  sealCarrier(out.data(), out.size());
  return out;
}

Bytes readWhole(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file) {
    std::fprintf(stderr, "cannot open %s\n", path.c_str());
    std::abort();
  }
  Bytes bytes;
  uint8_t chunk[65536];
  while (size_t got = std::fread(chunk, 1, sizeof chunk, file))
    bytes.append(chunk, got);
  std::fclose(file);
  return bytes;
}

} // namespace metate::test
