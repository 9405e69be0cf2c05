//===- TreeLayout.h - a tree type in bytes ----------------------*- C++ -*-===//
//
// Pure functions from a tree type to sizes, offsets, strides and pools. Every offset in generated
// code and in the level table comes from here and from nowhere else; nothing here touches IR.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_LAYOUT_TREELAYOUT_H
#define METATE_LAYOUT_TREELAYOUT_H

#include "metate/Dialect/Quant.h"
#include "metate/abi/tree.h"

#include "llvm/Support/Error.h"

namespace metate::layout {

/// Where a quantised member's bits are in their word.
struct PackedBits {
  QuantFormat format;
  unsigned shift = 0;         ///< its lowest bit; of a quant_array's member 0
  unsigned exponentShift = 0; ///< of a float: its exponent's lowest bit, own or shared
  int group = -1;             ///< node of the first of those that share the exponent, or -1
  uint64_t wordBytes = 0;

  unsigned bits() const { return format.isShared ? format.fractionBits() : format.bits; }
  metate_quant record() const;
};

/// One record of the level table, as a value.
struct Node {
  uint32_t kind = 0; ///< metate_level_kind
  int parent = -1;   ///< index of the parent node
  int pool = -1;     ///< pool number, or -1
  std::string name;
  LevelInterface level;             ///< null for the root and for places
  PlaceAttr place;                  ///< set for places
  std::optional<PackedBits> packed; ///< set for quantised places
  llvm::SmallVector<unsigned> axes; ///< that this level splits
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<unsigned> pathAxes; ///< axes from the root down to here, ascending
  uint64_t offset = 0;                  ///< of the container in the parent's cell
  uint64_t cells = 1;
  uint64_t cellBytes = 0; ///< from one cell to the next
  uint64_t cellAlign = 1;
  uint64_t slotBytes = 0; ///< a level with a pool: from one slot to the next
  uint64_t slotCells =
      0; ///< a level with a pool: cells in a slot, of a dynamic its chunk; a quant_array: elements in a word
  uint64_t maskOffset = 0; ///< bitmasked: of the live mask in the container; the entry mask follows
  bool ambient = false;    ///< the pool has an ambient slot 0
  bool zero = false;       ///< the background of a cell is all zero bytes

  uint64_t word = 0; ///< bit_struct, quant_array: the word that holds background
  /// A bit_struct or quant_array, whose cells are words.
  bool isWords() const {
    return kind == METATE_LEVEL_BIT_STRUCT || kind == METATE_LEVEL_QUANT_ARRAY;
  }

  /// Numbers of so many bytes that a cell is; 0: it is no few of them, so that they are not read together for the sake of one.
  int64_t numbersAside(int64_t bytes) const {
    constexpr uint64_t most = 4;
    bool isFew = cellBytes % bytes == 0 && cellBytes / bytes <= most;
    return isFew ? int64_t(cellBytes) / bytes : 0;
  }

  /// The record, without its name and background, which lie behind all records.
  metate_level record() const;
  /// Bytes of slot metadata: state, next, then one coordinate per path axis.
  uint64_t metaBytes() const;
  /// Of a dynamic level: where metadata has the slot's number of cells when a task began.
  uint64_t metaEntry() const { return 4 * (2 + pathAxes.size()); }
  /// Bitmasked: bytes of one of its two masks.
  uint64_t maskBytes() const { return 4 * ((cells + 31) / 32); }
  /// Bytes and alignment of the container in the parent's cell.
  uint64_t containerBytes() const;
  uint64_t containerAlign() const;
};

/// The layout of one tree type: nodes in preorder, node 0 the root.
struct TreeLayout {
  llvm::SmallVector<Node, 0> nodes;
  unsigned poolCount = 0;
  unsigned memberCount = 0;

  /// Computes the layout; an error if a size does not fit 63 bits.
  static llvm::Expected<TreeLayout> get(TreeType type);

  /// Node indices along a path, root excluded: one per level, then the place if it is a member's.
  llvm::SmallVector<unsigned> nodesOf(const TreePath &path) const;
  /// Where a member is, or the word that it is in, from the beginning of the last level's cell on.
  uint64_t offsetInCell(const Node &place) const;
  /// The bits of a word that its members use, or that lie between two of them and above: all of these are the lower neighbour's,
  /// so that writing all members writes the whole word.
  uint64_t maskOf(const Node &place) const;
};

/// The type in which hosts and kernels see a member: of a quantised one what it is decoded to.
mlir::Type shownType(PlaceAttr place);
/// The value that an inactive cell's member reads as, in that type; of a quantised one what its bits say.
mlir::TypedAttr shownBackground(const Node &place);

/// Bytes of a scalar in memory (i1: one byte).
uint64_t scalarBytes(mlir::Type type);
/// Scalar type of a scalar, vector or matrix.
mlir::Type scalarType(mlir::Type type);
/// metate_dtype of a scalar type with its sign.
uint32_t dtypeOf(mlir::Type scalar);

/// Byte offsets of fields in abi/metate/abi/tree.h that generated code reads and writes.
namespace header {
uint64_t epoch();
uint64_t changed();
uint64_t status();
uint64_t statusLevel();
uint64_t statusNeeded();
uint64_t workers();
uint64_t rootOffset(unsigned poolCount);
uint64_t poolMeta(unsigned pool);
uint64_t poolSlots(unsigned pool);
uint64_t poolCapacity(unsigned pool);
uint64_t poolPhysical(unsigned pool);
uint64_t poolFreeHead(unsigned pool);
uint64_t poolHighWater(unsigned pool);
uint64_t poolUsed(unsigned pool);
uint64_t poolPending(unsigned pool);
/// In a slot's metadata record.
uint64_t slotState();
uint64_t slotNext();
uint64_t slotCoordinate(unsigned k);
/// In a dynamic level's container.
uint64_t listLength();
uint64_t listEntryLength();
uint64_t listLink(unsigned chunk);
} // namespace header

} // namespace metate::layout

#endif
