//===- Tree.h - paths through a tree type -----------------------*- C++ -*-===//
//
// Questions about a tree type that need no bytes: which levels lead to a member, what is a level
// called, how many coordinates address it. Bytes and offsets are Layout's.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_TREE_H
#define METATE_DIALECT_TREE_H

#include "metate/Dialect/Metate.h"

#include <optional>

namespace metate {

/// The way from the root to a level or a member.
struct TreePath {
  /// Levels from the root's child down; for a level's path, that level is the last.
  llvm::SmallVector<LevelInterface> levels;
  /// The member, or null for a level's path.
  PlaceAttr place;
  /// Axes on the path, ascending (i = 0), and the cells along each of them over all levels:
  /// unboundedExtent where one of the levels is unbounded (then coordinates may be negative).
  llvm::SmallVector<unsigned> axes;
  llvm::SmallVector<int64_t> extents;

  unsigned rank() const { return axes.size(); }
  /// Index of the last level with a pool, or -1.
  int lastPool() const;
  /// Index of the last level whose cells can be inactive, or -1.
  int lastActivity() const;
  /// Coordinates of the parent cell of the last level: the axes of the levels above it.
  unsigned parentRank() const;
  /// Cells along `axes[k]` inside one cell of levels[depth].
  int64_t extentBelow(unsigned depth, unsigned k) const;
};

/// Name of a level: the given one, or kind and depth ("pointer0").
std::string levelName(LevelInterface level, unsigned depth);

/// Axis numbers of a level's letters.
llvm::SmallVector<unsigned> levelAxes(LevelInterface level);
/// Does this level, or one below it, have slots of its own? A member has none.
bool hasPools(mlir::Attribute node);

/// Path of a member or, failing that, of the first level of that name; nullopt if there is none.
/// `name@depth` is the level at that depth on the way to `name`: it tells apart levels of one name
/// in several branches.
std::optional<TreePath> findPath(TreeType type, llvm::StringRef name);

/// What the user calls a member of a kernel's tree argument, and what is added to its coordinates to
/// get the user's indices: `metate.members` of the argument, else "f.a" and nothing.
struct ShownMember {
  std::string name;
  llvm::SmallVector<int64_t> offset;
};
ShownMember shownMember(KernelOp kernel, unsigned argument, llvm::StringRef path);

/// The members' names, in the order in which they were placed.
llvm::SmallVector<std::string> memberNames(TreeType type);

/// All member and level names, for error texts.
std::string knownNames(TreeType type);

/// The members that a node which is no level holds: a place, or those of a bit_struct. None of a level.
llvm::SmallVector<PlaceAttr> placesAt(mlir::Attribute node);

/// The type in registers of a value of this type: integers lose their sign, a quantised one is its stored bits.
mlir::Type signlessType(mlir::Type type);

} // namespace metate

#endif
