//===- Objects.h - what a kernel's values refer to --------------*- C++ -*-===//
//
// Arrays and trees as the language means them. An array is elements in the caller's memory or in a
// local variable; a tree is maps from coordinates to values, with the set of active cells, the
// background and the capacity of each of its levels. Nothing here knows bytes of a block: TreeBlock.h
// carries a tree in and out.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_OBJECTS_H
#define METATE_INTERP_OBJECTS_H

#include "metate/Dialect/Quant.h"
#include "metate/Interp/Numbers.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace metate::interp {

using Coordinates = llvm::SmallVector<int64_t, 4>;
/// Scalars of one value, a vector's or matrix' in row-major order.
using Components = llvm::SmallVector<uint64_t, 1>;

/// The scalars of a constant; nothing is uniqued in the context, which other threads read.
Components componentsOf(mlir::TypedAttr value);

struct HashCoordinates {
  size_t operator()(const Coordinates &key) const {
    return llvm::hash_combine_range(key.begin(), key.end());
  }
};

/// Calls `visit` with every coordinate of the box from `low`, `size` wide, the last axis first; sizes
/// are not zero.
void visitBox(const Coordinates &low, const Coordinates &size,
              llvm::function_ref<void(const Coordinates &)> visit);

/// A memref: strided elements of the caller's, or a local variable's.
struct Array {
  std::string name;
  mlir::Type element;         ///< of the memref; a local's may be a vector
  mlir::Type shown;           ///< the same with its sign, for messages
  unsigned componentRank = 0; ///< how many of the last indices name a component of an element
  llvm::SmallVector<int64_t> extents, strides;
  uint8_t *memory = nullptr; ///< the caller's; null for a local
  bool isWritten = false;    ///< by this kernel; not said of a local
  bool isResult = false;     ///< what the launch gives back, or keeps for itself
  std::vector<std::optional<Components>>
      locals; ///< of a local; an element without value: unwritten

  bool contains(llvm::ArrayRef<int64_t> indices) const;
  int64_t offset(llvm::ArrayRef<int64_t> indices) const; ///< in elements
  uint8_t *address(llvm::ArrayRef<int64_t> indices) const;
};

/// One level, member or word of members of a tree type. Nodes stand in preorder, the root is left out.
struct TreeNode {
  int parent = -1;      ///< a node's number; -1: the root
  LevelInterface level; ///< null for a member or a word
  PlaceAttr place;      ///< null for a level or a word
  /// Of a quantised member, whose values here are its stored bits.
  std::optional<QuantFormat> format;
  int group = -1; ///< of one that shares its exponent: the node of the first of those that do
  uint64_t background =
      0; ///< of a quantised member: the stored bits of what an inactive cell reads as
  /// Axes on the path from the root to here, ascending, and how many cells of this level lie along
  /// each of them: of an axis without bounds, as many as there are below 2^32 of the hash level's.
  llvm::SmallVector<unsigned> axes;
  Coordinates extents;
  unsigned unbounded = 0; ///< a bit for each axis without bounds
  /// Nodes whose cells can be inactive, from the root down to here, itself included.
  llvm::SmallVector<int> sparse;

  /// Of a list: cells in a chunk.
  int64_t chunk() const { return level.getSlotCells(); }
  /// A bit_struct, which is between its members and the cell that they are in, and no level.
  bool isWord() const { return !level && !place; }
  bool hasActivity() const { return level && level.hasActivity(); }
  bool isList() const { return level && level.isList(); }
  bool hasMask() const { return level && level.hasMask(); }
  bool hasPool() const { return level && level.hasPool(); }
  /// Its cells are found through a table.
  bool isUnbounded() const { return level && level.isUnbounded(); }
};

/// The nodes of a tree type, and how paths name them.
struct TreeShape {
  explicit TreeShape(TreeType type);
  TreeType type;
  std::vector<TreeNode> nodes;

  /// The node of a path as operations spell it (`a`, `pointer0`, `a@1`).
  int find(llvm::StringRef path) const;
  /// Where a cell of `node` at `coordinates` lies in its ancestor: in that one's own units. Of the
  /// root (-1): no coordinates.
  Coordinates ancestor(int node, int above, const Coordinates &coordinates) const;
  bool isBelow(int node, int above) const;
  /// Of a list: the position of its own axis among its coordinates.
  unsigned listAxis(int list) const;
  /// The members that share an exponent with this one, in order; of others the member alone.
  llvm::SmallVector<int> sharers(int member) const;
  /// The elements of a quant_array that are in one word with this one, from the lowest bits on.
  std::vector<Coordinates> elementsOfWord(int member, const Coordinates &coordinates) const;
  /// The scalar type in which kernels see a member, with its sign, and a scalar of its value in that type: of a quantised
  /// member what its bits mean.
  mlir::Type shownType(int member) const;
  uint64_t shownBits(int member, uint64_t bits) const;

private:
  TreeNode childOf(int parent) const;
  void add(mlir::Attribute attribute, int parent);
  void addPlace(PlaceAttr place, int parent, int group = -1);
  void addWord(BitStructAttr word, int parent);
  void addBackgrounds();
};

/// An instance of a tree type.
class Tree {
public:
  explicit Tree(TreeType type);

  using Cells = std::unordered_set<Coordinates, HashCoordinates>;
  using Lengths = std::unordered_map<Coordinates, int64_t, HashCoordinates>;

  /// A level whose cells can be inactive.
  struct Level {
    Cells active;    ///< in the level's own units; not of a dynamic level
    Lengths lengths; ///< of a dynamic level: by the parent's cell, where not zero
    /// Of a level with a pool, in slots (of a dynamic level: chunks):
    uint64_t capacity = 0;
    uint64_t limit = 0;   ///< with slack: an activation beyond fails
    uint64_t used = 0;    ///< those of active cells, and the retired ones
    uint64_t retired = 0; ///< given up in this task
    uint64_t needed = 0;  ///< most that were wanted, where that is more than the capacity
    bool isListFull = false;
    /// Cells that became active or inactive since this was last emptied; not of a dynamic level.
    std::vector<Coordinates> changes;
    /// As they were at metate.snapshot.
    std::optional<std::pair<Cells, Lengths>> entry;
  };

  TreeShape shape;
  std::string name;
  llvm::StringMap<ShownMember> shown; ///< members, by their names
  std::map<int, Level> levels;        ///< by node
  /// Values of cells, by the member's node; a cell that is not there holds the background.
  std::map<int, std::unordered_map<Coordinates, Components, HashCoordinates>> values;
  /// Values written, and lost with their cells, since the tree was read from its block.
  std::map<int, Cells> written, lost;
  /// What a slice has counted (metate.reserve): slots that are not there, of a list its chunks; appends by
  /// the parent's cell, and the chunks that they begin.
  std::map<int, Cells> wanted;
  std::map<int, Lengths> appends;
  std::map<int, uint64_t> appendedChunks;
  bool isChanged = false; ///< a cell became active or inactive since then

  bool contains(int node, const Coordinates &coordinates) const;
  /// The cell itself, and every level on the way to it.
  bool isActive(int node, const Coordinates &coordinates) const;
  /// As the snapshots have it; nullopt: there is none of a level below the last pool.
  std::optional<bool> wasActive(int node, const Coordinates &coordinates) const;
  /// False if it is outside, or if a pool is full.
  bool activate(int node, const Coordinates &coordinates);
  /// The cell of the last sparse level on the way to the node, with all below it.
  void deactivate(int node, const Coordinates &coordinates);
  /// Lists are named by their parent's cell. Length of one that is not there: 0.
  int64_t length(int list, const Coordinates &parent) const;
  /// The index, or -1.
  int64_t append(int list, const Coordinates &parent);
  void clear(int list, const Coordinates &parent);
  /// The end of a task: slots that were given up can be had again.
  void collect();
  void snapshot(int level);
  /// Of a parallel one: that, and what was noted for it is forgotten.
  void endTask();

  Components background(int node) const;
  /// The background where the cell is not active.
  Components read(int node, const Coordinates &coordinates) const;
  /// The cell is active.
  void write(int node, const Coordinates &coordinates, Components value);
  /// Of a quantised member: the bits of this value, and with them those of the members that share its exponent.
  void assign(int node, const Coordinates &coordinates, uint64_t value) {
    std::pair<int, uint64_t> one(node, value);
    assign(llvm::ArrayRef<std::pair<int, uint64_t>>(one), coordinates);
  }
  /// The same of several members of one group.
  void assign(llvm::ArrayRef<std::pair<int, uint64_t>> given, const Coordinates &coordinates);
  /// Cells of a member or level that are active now, in ascending order; -1: the root's.
  std::vector<Coordinates> cells(int node) const;
  /// First cells of the slots of a level with a pool, in ascending order.
  std::vector<Coordinates> slots(int level) const;
  /// The first level that was asked for more than it has room for; -1: none.
  int exhausted() const;

private:
  bool claim(Level &level);
  bool grow(int list, const Coordinates &parent, int64_t length);
  void drop(int top, int anchor, const Coordinates &cell);
};

} // namespace metate::interp

#endif
