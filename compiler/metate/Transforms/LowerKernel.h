//===- LowerKernel.h - one kernel's trees and arrays to bytes ---*- C++ -*-===//
//
// The state that lowering one kernel needs: its flattened arguments, layouts, and caches of what is
// fixed while it runs. lower-layout drives it.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_LOWERKERNEL_H
#define METATE_TRANSFORMS_LOWERKERNEL_H

#include "metate/Transforms/FixedSlot.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/TreeAddress.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace metate {

/// Node of the pool that a path's cells live in.
unsigned poolNode(const layout::TreeLayout &layout, const TreePath &path);

class KernelLowering {
public:
  explicit KernelLowering(KernelOp kernel) : kernel(kernel) {}

  /// Lowers the kernel in place and writes its `metate.interface` after it.
  mlir::LogicalResult run();

private:
  /// A tree or array argument after flattening.
  struct Argument {
    mlir::Value block;
    TreeType type; ///< a tree
    int64_t scope = 0;
    bool concurrent = false; ///< the kernel may change which of its cells are active
    bool unlinked = false;   ///< the kernel may deactivate some
    bool changes = false;    ///< the kernel changes them through this argument
    std::unique_ptr<layout::TreeLayout> layout; ///< a tree
    llvm::DenseMap<unsigned, mlir::Value> slotsBase;
    llvm::SmallVector<mlir::Value> extents, strides; ///< an array
  };

  mlir::LogicalResult flattenArguments();
  void addInterface();
  mlir::Attribute interfaceOf(unsigned number);
  void eraseOldArguments();
  void settle();
  void returnStatus();

  ByteBuilder bytesFor(Argument &argument, mlir::OpBuilder &builder, mlir::Location loc);

  void lower(mlir::Operation *op);
  void lowerLoad(LoadOp op);
  void lowerStore(StoreOp op);
  void lowerAtomic(AtomicOp op);
  void lowerIsActive(IsActiveOp op);
  void lowerActivate(ActivateOp op);
  /// Deactivate, append, length.
  template <typename Op> void lowerListOrCell(Op op);
  void lowerUsed(UsedOp op);
  void lowerReserve(ReserveOp op);
  void lowerTaskEdge(mlir::Operation *op);
  void lowerStageLeaf(StageLeafOp op);
  void lowerStageRow(StageRowOp op);
  void lowerActivateLeaf(ActivateLeafOp op);
  void lowerIsLeafFull(IsLeafFullOp op);
  /// The same, of cells that are known beforehand.
  void lowerActivateCells(ActivateLeafOp op);
  /// Deactivate_leaf, deactivate_word.
  template <typename Op> void lowerDeactivateLeaf(Op op);
  void lowerCells(CellsOp op);
  void lowerArrayAccess(mlir::Operation *op, mlir::Value array, mlir::ValueRange indices);

  mlir::Value arrayOffset(ByteBuilder &bytes, Argument &argument, mlir::MemRefType type,
                          mlir::ValueRange indices);
  mlir::Value componentOffset(ByteBuilder &bytes, mlir::Value offset, mlir::Type member,
                              mlir::ValueRange components);
  mlir::Value atomicAt(ByteBuilder &bytes, mlir::arith::AtomicRMWKind kind, mlir::Value offset,
                       mlir::Value value);

  /// The member's byte offset where the slot is known once per leaf; null if the access has another
  /// form.
  mlir::Value leafOffset(mlir::Operation *op, const CellAccess &access, const TreePath &path,
                         Argument &argument);
  /// i1: whether the cell is active, of a level below a slot that is known once per leaf; null as of leafOffset.
  mlir::Value activeInLeaf(IsActiveOp op, const CellAccess &access, const TreePath &path,
                           Argument &argument);
  /// i1: whether a list's cell at the slot that the task is at was active when the task began.
  mlir::Value activeAtEntry(IsActiveOp op, const TreePath &path, Argument &argument);
  /// i1: whether a list's cell at the slot that the task is at is active, by a length that is looked up once per slot; null
  /// where the task itself changes lists.
  mlir::Value activeInList(IsActiveOp op, const TreePath &path, Argument &argument);
  /// i1: the same as activeInLeaf, where the bits of a row are read before it (metate-scan-masks).
  mlir::Value activeInRow(IsActiveOp op, const CellAccess &access, const TreePath &path,
                          Argument &argument);
  /// The slot of the access's leaf, with the coordinates inside of it; nullopt as of leafOffset.
  /// `isOwn`: it is the slot that the task is at, whether or not something unlinks it meanwhile.
  std::optional<std::pair<mlir::Value, llvm::SmallVector<mlir::Value>>>
  leafOf(mlir::Operation *op, const CellAccess &access, const TreePath &path, Argument &argument,
         bool isOwn);
  /// The same in a nest of metate-hoist-slots.
  std::optional<std::pair<mlir::Value, llvm::SmallVector<mlir::Value>>>
  fixedSlotOf(mlir::Operation *op, const CellAccess &access, const TreePath &path,
              Argument &argument);
  /// i1: activates the cell below such a slot, which is active; null as of leafOffset.
  mlir::Value activateInSlot(ActivateOp op, const CellAccess &access, const TreePath &path,
                             Argument &argument);
  bool isOwnSlot(CellsOp cells, const LeafForm &form, const CellAccess &access,
                 const TreePath &path, Argument &argument);
  void noteInnerChanges();
  void noteOnlyWriters();
  /// Coordinates of a list's parent cell, with 0 along the list.
  static llvm::SmallVector<mlir::Value> parentCoordinates(ByteBuilder &bytes, const TreePath &path,
                                                          mlir::ValueRange coordinates);
  mlir::Value leafSlot(CellsOp cells, const LeafForm &form, const CellAccess &access,
                       const TreePath &path, Argument &argument);
  /// The slot of the own leaf's neighbour in a direction (-1, 0 or 1 along each axis), looked up once per leaf; null as of
  /// leafSlot.
  mlir::Value neighbourSlot(CellsOp cells, const LeafForm &form, const CellAccess &access,
                            const TreePath &path, llvm::ArrayRef<int64_t> direction,
                            Argument &argument);

  KernelOp kernel;
  llvm::DenseMap<mlir::Value, Argument> arguments;
  unsigned oldCount = 0;
  /// Slots looked up before a nest of metate-hoist-slots: (nest, tree, pool).
  llvm::DenseMap<std::tuple<mlir::Operation *, mlir::Value, unsigned>,
                 llvm::SmallVector<std::pair<FixedSlot, mlir::Value>>>
      fixedSlots;
  /// Trees whose active cells a cells task (or such a nest) still changes inside its nest, one cell at a time; and those
  /// of them from which it may take slots.
  llvm::DenseSet<std::pair<mlir::Operation *, mlir::Value>> hasInnerChange, hasInnerUnlink;
  /// Stores into cells that no other iteration writes.
  llvm::DenseSet<mlir::Operation *> onlyWriters;
  /// Slots looked up once per leaf: (cells, tree, pool) with the slot coordinates used.
  llvm::DenseMap<std::tuple<mlir::Operation *, mlir::Value, unsigned>,
                 llvm::SmallVector<std::pair<llvm::SmallVector<mlir::Value>, mlir::Value>>>
      leafSlots;
  /// The same of their neighbours: (cells, tree, pool) with the slot coordinates used and the direction.
  llvm::DenseMap<std::tuple<mlir::Operation *, mlir::Value, unsigned>,
                 llvm::SmallVector<std::tuple<llvm::SmallVector<mlir::Value>,
                                              llvm::SmallVector<int64_t>, mlir::Value>>>
      neighbourSlots;
};

} // namespace metate

#endif
