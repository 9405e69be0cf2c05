//===- ByteBuilder.h - byte-addressed code for one block --------*- C++ -*-===//
//
// Small helpers with which the level lowerings write reads and writes of the block of one tree. Knows offsets of abi/metate/abi/tree.h through Layout only.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_LEVEL_BYTEBUILDER_H
#define METATE_LEVEL_BYTEBUILDER_H

#include "metate/Layout/TreeLayout.h"
#include "metate/Level/IndexBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace metate {

class ByteBuilder : public IndexBuilder {
public:
  ByteBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value block, int64_t scope)
      : IndexBuilder(builder, loc), block(block), scope(scope) {}

  mlir::Value block;
  /// Number of the kernel argument the block belongs to; -1 = unknown.
  int64_t scope;
  /// The tree whose block it is; null of an array's.
  TreeType tree;
  const layout::TreeLayout *layout = nullptr;
  /// Activations give false also for a slot beyond the capacity, which they have linked.
  bool strict = false;
  /// Where the byte offset of a pool's slot 0 is already known; unset: read from the header.
  std::function<mlir::Value(unsigned pool)> knownSlotsBase;

  mlir::Value readInteger(mlir::Value offset, unsigned width, bool acquire = false,
                          bool invariant = false);
  void write(mlir::Value value, mlir::Value offset, bool release = false);
  mlir::Value compareExchange(mlir::Value offset, mlir::Value expected, mlir::Value desired);
  mlir::Value atomic(mlir::arith::AtomicRMWKind kind, mlir::Value offset, mlir::Value value);
  /// Calls metate_rt_<callee> (Emit/Support/Tree.c): numbers and coordinates are of type index, the
  /// result of an integer type or none; `number` is that of a level's record, mostly.
  mlir::Value call(llvm::StringRef callee, uint64_t number, mlir::ValueRange numbers,
                   mlir::ValueRange coordinates, std::optional<bool> flag, mlir::Type result = {});
  mlir::Value call(llvm::StringRef callee, const layout::Node &node, mlir::ValueRange numbers,
                   mlir::ValueRange coordinates, std::optional<bool> flag, mlir::Type result = {}) {
    return call(callee, uint64_t(&node - layout->nodes.data()), numbers, coordinates, flag, result);
  }
  /// Atomics only accumulate (metate-private-reductions): the target may combine them.
  bool reduction = false;
  /// Where the target of an atomic begins and how long it is, for a workgroup's bins; null: nothing is known.
  mlir::Attribute bins;

  /// Writes are of cells that no other iteration of the task writes.
  bool onlyWriter = false;
  /// Reads and writes are of a member of a cell that holds nothing but members.
  struct Member {
    int64_t node;   ///< of the cell's level, in the layout
    int64_t offset; ///< in the cell
    int64_t bytes;  ///< of the cell
  };
  std::optional<Member> member;
  /// The same of a part of it, which begins so many bytes later.
  template <typename Access> void ofMemberFrom(int64_t begin, Access access) {
    std::optional<Member> whole = member;
    if (member)
      member->offset += begin;
    access();
    member = whole;
  }
  /// Reads are of a slot that is known: they may run whether or not the program would have read.
  bool knownSlot = false;
  /// Reads and writes one value of a place: scalars, vectors component by component, i1 as a byte.
  mlir::Value readValue(mlir::Type type, mlir::Value offset);
  void writeValue(mlir::Value value, mlir::Value offset);

  /// Byte offset of slot 0 of a pool (fixed while the kernel runs).
  mlir::Value slotsBase(unsigned pool);
  /// Byte offset of a slot; its number is an `index` or an integer.
  mlir::Value slotAt(const layout::Node &node, mlir::Value slot);
  /// Notes in the block that the set of active cells has changed.
  void markChanged();

private:
  void markMember(mlir::Operation *access);
};

} // namespace metate

#endif
