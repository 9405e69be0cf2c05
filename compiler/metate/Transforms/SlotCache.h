//===- SlotCache.h - slots that are looked up once --------------*- C++ -*-===//
//
// Where many accesses of a nest are in one slot, the slot is looked up before the nest: of a cells task its own slot, the
// same slot of other trees and their neighbours (LeafForm); of a nest of metate-hoist-slots a slot that stays the same
// (FixedSlot). Not where the nest itself, or others meanwhile, may link or unlink that slot.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_SLOTCACHE_H
#define METATE_TRANSFORMS_SLOTCACHE_H

#include "metate/Transforms/FixedSlot.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/LoweredArguments.h"

namespace metate {

/// A place inside a slot that is known.
struct SlotPlace {
  mlir::Value slot; ///< byte offset of the slot
  /// Coordinates inside of it, one for each axis of the path.
  llvm::SmallVector<mlir::Value> local;
};

class SlotCache {
public:
  SlotCache(KernelOp kernel, LoweredArguments &arguments) : kernel(kernel), arguments(arguments) {}

  /// Notes which nests change active cells; before any operation is lowered.
  void noteInnerChanges();

  /// Where the access is, as far as its slot is looked up once; nullopt if it has another form. `isOwn`: it is the slot that
  /// the task is at, whether or not something unlinks it meanwhile.
  std::optional<SlotPlace> find(mlir::OpBuilder &builder, mlir::Operation *op,
                                const CellAccess &access, const TreePath &path, bool isOwn);

  /// Byte offset of the slot of an access with such a form; null where it has to be looked up each time.
  mlir::Value slotOf(mlir::OpBuilder &builder, CellsOp cells, const LeafForm &form,
                     const CellAccess &access, const TreePath &path);
  /// The same of its neighbour in a direction (-1, 0 or 1 along each axis).
  mlir::Value neighbourOf(mlir::OpBuilder &builder, CellsOp cells, const LeafForm &form,
                          const CellAccess &access, const TreePath &path,
                          llvm::ArrayRef<int64_t> direction);

  /// Is it the slot that the task is at?
  bool isOwnSlot(CellsOp cells, const LeafForm &form, const CellAccess &access,
                 const TreePath &path);

  /// May the nest of the task, or of metate-hoist-slots, change which cells of the tree are active, one at a time?
  bool hasInnerChange(mlir::Operation *scope, mlir::Value tree) const {
    return innerChanges.contains({scope, tree});
  }

private:
  void noteCalls();
  /// What tells slots of one pool of one tree apart: values that they are computed from, with numbers.
  struct Key {
    llvm::SmallVector<mlir::Value> values;
    llvm::SmallVector<int64_t> numbers;
    bool operator==(const Key &other) const = default;
  };
  static Key keyOf(const FixedSlot &slot);
  /// What is known of the key, or what `lookUp` gives, which may be null.
  mlir::Value once(mlir::Operation *scope, mlir::Value tree, unsigned pool, Key key,
                   llvm::function_ref<mlir::Value()> lookUp);
  std::optional<SlotPlace> findFixed(mlir::OpBuilder &builder, mlir::Operation *op,
                                     const CellAccess &access, const TreePath &path);

  KernelOp kernel;
  LoweredArguments &arguments;
  llvm::DenseMap<std::tuple<mlir::Operation *, mlir::Value, unsigned>,
                 llvm::SmallVector<std::pair<Key, mlir::Value>>>
      known;
  /// Trees whose active cells a nest still changes inside, one cell at a time; those from which it may take slots.
  llvm::DenseSet<std::pair<mlir::Operation *, mlir::Value>> innerChanges, innerUnlinks;
};

} // namespace metate

#endif
