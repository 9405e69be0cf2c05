//===- TreeLayout.cpp - a tree type in bytes --------------------*- C++ -*-===//
#include "metate/Layout/TreeLayout.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace metate;
using namespace metate::layout;

Type layout::scalarType(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getElementType() : type;
}

uint64_t layout::scalarBytes(Type type) {
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

/// The kind of a scalar type as dtypes.h has it; signless integers are signed ones of memory.
static bool isOfKind(Type scalar, StringRef kind) {
  if (auto integer = dyn_cast<IntegerType>(scalar))
    return kind == (integer.getWidth() == 1 ? "BOOL" : integer.isUnsigned() ? "UINT" : "INT");
  return kind == (isa<BFloat16Type>(scalar) ? "BFLOAT" : "FLOAT");
}

uint32_t layout::dtypeOf(Type scalar) {
#define METATE_DTYPE(NAME, code, name, bits, KIND, type)                                           \
  if (scalar.getIntOrFloatBitWidth() == bits && isOfKind(scalar, #KIND))                           \
    return METATE_##NAME;
  METATE_DTYPES(METATE_DTYPE)
#undef METATE_DTYPE
  llvm_unreachable("the dialect has no other scalar types");
}

static void fillAxes(uint8_t *to, ArrayRef<unsigned> axes) {
  for (auto [k, axis] : llvm::enumerate(axes))
    to[k] = uint8_t(axis);
}

metate_level Node::record() const {
  metate_level record = {};
  record.kind = kind;
  record.flags = (ambient ? METATE_LEVEL_AMBIENT : 0) | (zero ? METATE_LEVEL_ZERO : 0);
  record.parent = parent < 0 ? METATE_NONE : parent;
  record.pool = pool < 0 ? METATE_NONE : pool;
  record.axis_count = axes.size();
  fillAxes(record.axes, axes);
  for (auto [k, extent] : llvm::enumerate(extents))
    record.extents[k] = level.isUnbounded() ? 0 : uint32_t(extent);
  record.offset = offset;
  record.cells = cells;
  record.cell_bytes = cellBytes;
  record.cell_align = cellAlign;
  record.slot_bytes = slotBytes;
  record.slot_cells = slotCells;
  record.mask = maskOffset;
  if (pool >= 0)
    record.coordinate_count = pathAxes.size();
  if (pool >= 0 || place) {
    if (place)
      record.path_rank = pathAxes.size();
    fillAxes(record.path_axes, pathAxes);
  }
  if (!place)
    return record;
  record.dtype = dtypeOf(scalarType(shownType(place)));
  record.rows = record.columns = 1;
  if (auto vector = dyn_cast<VectorType>(place.getType())) {
    record.element_rank = vector.getRank();
    record.rows = vector.getDimSize(0);
    record.columns = vector.getRank() == 2 ? vector.getDimSize(1) : 1;
  }
  return record;
}

uint64_t Node::containerBytes() const {
  metate_level own = record();
  return metate_level_container_bytes(&own);
}

uint64_t Node::containerAlign() const {
  if (pool >= 0)
    return 4;
  return level && level.hasMask() ? std::max<uint64_t>(cellAlign, 4) : cellAlign;
}

Type layout::shownType(PlaceAttr place) {
  std::optional<QuantFormat> format = QuantFormat::of(place.getType());
  return format ? format->compute : place.getType();
}

/// The stored bits of a quantised member's background.
static APInt backgroundBits(const QuantFormat &format, PlaceAttr place) {
  TypedAttr given = place.getBackground();
  if (!given)
    return APInt(format.bits, 0);
  if (auto number = dyn_cast<FloatAttr>(given))
    return encodeQuant(format, number.getValue());
  return encodeQuant(format, cast<IntegerAttr>(given).getValue());
}

TypedAttr layout::shownBackground(const Node &node) {
  if (!node.packed || !node.place.getBackground())
    return node.place.getBackground();
  const QuantFormat &format = node.packed->format;
  APInt bits = backgroundBits(format, node.place);
  if (format.kind != QuantFormat::Int)
    return FloatAttr::get(format.compute, decodeQuant(format, bits));
  unsigned width = format.compute.getIntOrFloatBitWidth();
  return IntegerAttr::get(format.compute,
                          format.isSigned ? bits.sextOrTrunc(width) : bits.zextOrTrunc(width));
}

metate_quant PackedBits::record() const {
  metate_quant record = {};
  record.kind = format.kind == QuantFormat::Int     ? METATE_QUANT_INT
                : format.kind == QuantFormat::Fixed ? METATE_QUANT_FIXED
                                                    : METATE_QUANT_FLOAT;
  record.flags =
      (format.isSigned ? METATE_QUANT_SIGNED : 0) | (format.isShared ? METATE_QUANT_SHARED : 0);
  record.bits = bits();
  record.shift = shift;
  record.exponent_bits = format.exponentBits;
  record.exponent_shift = exponentShift;
  record.group = group < 0 ? METATE_NONE : group;
  record.word_bytes = wordBytes;
  record.scale = format.scale;
  return record;
}

uint64_t TreeLayout::offsetInCell(const Node &place) const {
  const Node &parent = nodes[place.parent];
  return place.offset + (parent.kind == METATE_LEVEL_BIT_STRUCT ? parent.offset : 0);
}

uint64_t TreeLayout::maskOf(const Node &place) const {
  uint64_t end = place.packed->wordBytes * 8;
  if (nodes[place.parent].kind == METATE_LEVEL_QUANT_ARRAY)
    end = place.packed->bits();
  else
    for (const Node &other : nodes)
      if (other.parent == place.parent && other.packed->shift > place.packed->shift)
        end = std::min<uint64_t>(end,
                                 other.packed->group < 0
                                     ? other.packed->shift
                                     : std::min(other.packed->shift, other.packed->exponentShift));
  uint64_t above = end == 64 ? ~uint64_t(0) : (uint64_t(1) << end) - 1;
  return above & ~((uint64_t(1) << place.packed->shift) - 1);
}

/// Is this background all zero bytes? -0.0 is not.
static bool isZero(TypedAttr background) {
  auto zero = [](Attribute value) {
    if (auto number = dyn_cast<FloatAttr>(value))
      return number.getValue().bitcastToAPInt().isZero();
    return cast<IntegerAttr>(value).getValue().isZero();
  };
  if (!background)
    return true;
  if (auto elements = dyn_cast<DenseElementsAttr>(background))
    return llvm::all_of(elements.getValues<Attribute>(), zero);
  return zero(background);
}

namespace {
/// Lays out one type; sizes are checked against 2^62 as they grow.
class LayoutBuilder {
public:
  TreeLayout result;
  bool overflow = false;

  void run(TreeType type) {
    Node &root = result.nodes.emplace_back();
    root.kind = METATE_LEVEL_ROOT;
    root.name = "root";
    placeChildren(0, type.getBranches(), /*depth=*/0);
  }

private:
  unsigned exponentAt = 0; ///< of the group whose members are being placed

  uint64_t multiply(uint64_t a, uint64_t b) {
    bool wrapped = false;
    uint64_t product = llvm::SaturatingMultiply(a, b, &wrapped);
    overflow |= wrapped || product > (uint64_t(1) << 62);
    return overflow ? 1 : product;
  }

  /// Adds the children of a node, gives them offsets and the node its cell size.
  /// The members of a word, from its lowest bit on.
  void placePacked(unsigned word, BitStructAttr attribute) {
    unsigned shift = 0;
    int last = -1, first = -1;
    for (auto [place, group] : packedPlaces(attribute)) {
      PackedBits packed{*QuantFormat::of(place.getType(), group >= 0)};
      packed.wordBytes = attribute.getWord() / 8;
      if (group >= 0 && group != last) { // a new exponent
        first = result.nodes.size();
        exponentAt = shift;
        shift += packed.format.exponentBits;
      }
      last = group;
      packed.shift = shift;
      packed.exponentShift = group >= 0 ? exponentAt : shift + packed.format.digits();
      packed.group = group >= 0 ? first : -1;
      if (packed.format.kind != QuantFormat::Float)
        packed.exponentShift = 0;
      shift += packed.bits();
      addQuantised(word, place, packed);
    }
    result.nodes[word].word = backgroundWord(word);
    result.nodes[word].zero = !result.nodes[word].word;
  }

  void addQuantised(unsigned word, PlaceAttr place, const PackedBits &packed) {
    Node node;
    node.parent = word;
    node.pathAxes = result.nodes[word].pathAxes;
    node.kind = METATE_LEVEL_PLACE;
    node.name = place.getName().str();
    node.place = place;
    node.packed = packed;
    node.cellAlign = node.cellBytes = scalarBytes(packed.format.compute);
    node.zero = isZero(shownBackground(node));
    ++result.memberCount;
    result.nodes.push_back(node);
  }

  /// The word in which all members are background.
  uint64_t backgroundWord(unsigned word) {
    uint64_t bits = 0;
    for (unsigned k = word + 1; k < result.nodes.size(); ++k) {
      const PackedBits &packed = *result.nodes[k].packed;
      if (packed.group == int(k))
        bits |= sharedBackground(k);
      if (packed.group < 0)
        bits |= backgroundBits(packed.format, result.nodes[k].place).getZExtValue() << packed.shift;
    }
    return bits;
  }

  uint64_t sharedBackground(unsigned first) {
    SmallVector<QuantFormat> formats;
    SmallVector<APFloat> values;
    for (unsigned k = first; k < result.nodes.size() && result.nodes[k].packed->group == int(first);
         ++k) {
      formats.push_back(result.nodes[k].packed->format);
      auto given = cast_if_present<FloatAttr>(result.nodes[k].place.getBackground());
      values.push_back(given
                           ? given.getValue()
                           : APFloat(cast<FloatType>(formats.back().compute).getFloatSemantics()));
    }
    auto [exponent, digits] = encodeShared(formats, values);
    uint64_t bits = exponent << result.nodes[first].packed->exponentShift;
    for (auto [k, own] : llvm::enumerate(digits))
      bits |= own << result.nodes[first + k].packed->shift;
    return bits;
  }

  void placeChildren(unsigned parent, ArrayRef<Attribute> children, unsigned depth) {
    uint64_t bytes = 0, align = 1;
    for (Attribute child : children) {
      auto [childBytes, childAlign, index] = addNode(parent, child, depth);
      bytes = llvm::alignTo(bytes, childAlign);
      result.nodes[index].offset = bytes;
      bytes += childBytes;
      align = std::max(align, childAlign);
    }
    Node &node = result.nodes[parent];
    // Slots of a cache line or more start on one, so that rows in them can be loaded as vectors.
    if (node.pool >= 0 && node.slotCells == 1 && bytes >= METATE_BLOCK_ALIGN)
      align = METATE_BLOCK_ALIGN;
    node.cellAlign = align;
    node.cellBytes = llvm::alignTo(std::max<uint64_t>(bytes, 1), align);
    node.zero = llvm::all_of(llvm::drop_begin(result.nodes, parent + 1), [](const Node &below) {
      return (!below.place && !below.isWords()) || below.zero;
    });
    if (node.pool < 0)
      return;
    uint64_t cells = multiply(node.slotCells, node.cellBytes);
    node.slotBytes = llvm::alignTo(cells, cells >= METATE_BLOCK_ALIGN ? METATE_BLOCK_ALIGN : align);
    node.ambient = node.slotBytes <= METATE_AMBIENT_LIMIT;
  }

  /// The one member of a quant_array, as often in a word as it fits.
  std::tuple<uint64_t, uint64_t, unsigned> placeElements(unsigned index, LevelInterface level) {
    auto place = cast<PlaceAttr>(level.getLevelChildren()[0]);
    PackedBits packed{*QuantFormat::of(place.getType())};
    packed.wordBytes = level.getWordBits() / 8;
    if (packed.format.kind == QuantFormat::Float)
      packed.exponentShift = packed.format.digits();
    addQuantised(index, place, packed);
    Node &node = result.nodes[index];
    node.cellBytes = node.cellAlign = packed.wordBytes;
    node.slotCells = level.getWordBits() / packed.bits();
    uint64_t bits = backgroundBits(packed.format, place).getZExtValue();
    for (uint64_t k = 0; k < node.slotCells; ++k)
      node.word |= bits << (k * packed.bits());
    node.zero = !bits;
    multiply(node.cells, node.cellBytes); // whether it is too large
    return {overflow ? 1 : node.containerBytes(), node.containerAlign(), index};
  }

  /// Adds one node with its subtree; returns the container's bytes and alignment and the node's
  /// index.
  std::tuple<uint64_t, uint64_t, unsigned> addNode(unsigned parent, Attribute attribute,
                                                   unsigned depth) {
    unsigned index = result.nodes.size();
    result.nodes.emplace_back();
    Node node;
    node.parent = parent;
    node.pathAxes = result.nodes[parent].pathAxes;
    if (auto word = dyn_cast<BitStructAttr>(attribute)) {
      node.kind = METATE_LEVEL_BIT_STRUCT;
      node.name = "bit_struct" + std::to_string(depth);
      node.cellAlign = node.cellBytes = word.getWord() / 8;
      result.nodes[index] = node;
      placePacked(index, word);
      return {node.cellBytes, node.cellAlign, index};
    }
    if (auto place = dyn_cast<PlaceAttr>(attribute)) {
      node.kind = METATE_LEVEL_PLACE;
      node.name = place.getName().str();
      node.place = place;
      Type scalar = scalarType(place.getType());
      uint64_t count = 1;
      if (auto vector = dyn_cast<VectorType>(place.getType()))
        count = vector.getNumElements();
      node.cellAlign = scalarBytes(scalar);
      node.cellBytes = multiply(count, node.cellAlign);
      node.zero = isZero(place.getBackground());
      ++result.memberCount;
      result.nodes[index] = node;
      return {node.cellBytes, node.cellAlign, index};
    }
    auto level = cast<LevelInterface>(attribute);
    node.kind = level.getKindCode();
    node.name = levelName(level, depth);
    node.level = level;
    node.axes = levelAxes(level);
    node.extents.assign(level.getLevelExtents().begin(), level.getLevelExtents().end());
    for (int64_t extent : node.extents)
      node.cells = level.isUnbounded() ? 0 : multiply(node.cells, extent);
    node.pathAxes.append(node.axes.begin(), node.axes.end());
    llvm::sort(node.pathAxes);
    node.pathAxes.erase(llvm::unique(node.pathAxes), node.pathAxes.end());
    if (level.hasPool()) {
      node.pool = result.poolCount++;
      node.slotCells = level.getSlotCells();
    }
    result.nodes[index] = node;
    if (level.hasWords())
      return placeElements(index, level);
    placeChildren(index, level.getLevelChildren(), depth + 1);
    Node &done = result.nodes[index];
    uint64_t bytes = multiply(done.cells, done.pool < 0 ? done.cellBytes : 4);
    if (level.hasMask())
      done.maskOffset = llvm::alignTo(bytes, 4);
    return {overflow ? 1 : done.containerBytes(), done.containerAlign(), index};
  }
};
} // namespace

llvm::Expected<TreeLayout> TreeLayout::get(TreeType type) {
  LayoutBuilder builder;
  builder.run(type);
  if (builder.overflow)
    return llvm::createStringError(
        "the tree type is too large: a level needs more than 2^62 bytes");
  return std::move(builder.result);
}

SmallVector<unsigned> TreeLayout::nodesOf(const TreePath &path) const {
  SmallVector<unsigned> indices;
  unsigned parent = 0;
  auto step = [&](Attribute wanted) {
    for (unsigned k = parent + 1; k < nodes.size(); ++k) {
      Attribute own = nodes[k].place ? Attribute(nodes[k].place) : Attribute(nodes[k].level);
      int above = nodes[k].parent;
      if (nodes[above].kind == METATE_LEVEL_BIT_STRUCT)
        above = nodes[above].parent;
      if (above == int(parent) && own == wanted) {
        indices.push_back(k);
        parent = k;
        return;
      }
    }
    llvm_unreachable("path of another tree type");
  };
  for (LevelInterface level : path.levels)
    step(level);
  if (path.place)
    step(path.place);
  return indices;
}

uint64_t header::epoch() { return offsetof(metate_tree_header, epoch); }
uint64_t header::changed() { return offsetof(metate_tree_header, changed); }
uint64_t header::status() { return offsetof(metate_tree_header, status); }
uint64_t header::statusLevel() { return offsetof(metate_tree_header, status_level); }
uint64_t header::statusNeeded() { return offsetof(metate_tree_header, status_needed); }
uint64_t header::workers() { return offsetof(metate_tree_header, workers); }

static uint64_t poolAt(unsigned pool, uint64_t field) {
  return sizeof(metate_tree_header) + pool * sizeof(metate_pool) + field;
}
uint64_t header::rootOffset(unsigned poolCount) { return poolAt(poolCount, 0); }
uint64_t header::poolMeta(unsigned pool) {
  return poolAt(pool, offsetof(metate_pool, meta_offset));
}
uint64_t header::poolSlots(unsigned pool) {
  return poolAt(pool, offsetof(metate_pool, slots_offset));
}
uint64_t header::poolCapacity(unsigned pool) {
  return poolAt(pool, offsetof(metate_pool, capacity));
}
uint64_t header::poolPhysical(unsigned pool) {
  return poolAt(pool, offsetof(metate_pool, physical));
}
uint64_t header::poolFreeHead(unsigned pool) {
  return poolAt(pool, offsetof(metate_pool, free_head));
}
uint64_t header::poolHighWater(unsigned pool) {
  return poolAt(pool, offsetof(metate_pool, high_water));
}
uint64_t header::poolUsed(unsigned pool) { return poolAt(pool, offsetof(metate_pool, used)); }
uint64_t header::poolPending(unsigned pool) { return poolAt(pool, offsetof(metate_pool, pending)); }

uint64_t header::slotState() { return 0; }
uint64_t header::slotNext() { return 4; }
uint64_t Node::metaBytes() const { return metaEntry() + (level.isList() ? sizeof(uint32_t) : 0); }
uint64_t header::slotCoordinate(unsigned k) { return 8 + 4 * uint64_t(k); }

uint64_t header::listLength() { return 0; }
uint64_t header::listEntryLength() { return 4; }
uint64_t header::listLink(unsigned chunk) { return 8 + 4 * uint64_t(chunk); }
