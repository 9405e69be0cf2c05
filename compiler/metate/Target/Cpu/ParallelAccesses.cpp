//===- ParallelAccesses.cpp - iterations that are independent ---*- C++ -*-===//
//
// Iterations of a parallel loop run in no order (semantics 5.1), so no access depends on another iteration's. LLVM can not
// know it: members of one tree are one block, and places that memory says could be any. It is told by access groups.
// Where a store stands beside no neighbour's it is not told: vectors of such stores are taken apart, which pays where much is computed (the sine and cosine of a
// Fourier transform); so they are under a condition, but for machines that store vectors under a mask. `if (i + j) % 2 == colour: x[i, j] = ...` of its neighbours is a vector there.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Target/Cpu/Passes.h"
#include "metate/Transforms/LeafForm.h"

namespace metate {
#define GEN_PASS_DEF_PARALLELACCESSES
#include "metate/Target/Cpu/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Whether a value may be another one in the range's next iteration of the last variable.
bool mayDiffer(Value value, RangeOp range, DenseSet<Value> &same) {
  if (value == range.getBody().front().getArguments().back())
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !range->isAncestor(op) ||
      same.contains(value)) // not of the iteration, or another loop's variable
    return false;
  if (op->getNumRegions() || llvm::any_of(op->getOperands(), [&](Value operand) {
        return mayDiffer(operand, range, same);
      }))
    return true;
  same.insert(value);
  return false;
}

/// Operations of a body whose vectors compute for nothing what its conditions leave out.
constexpr size_t mostMasked = 48;

/// A short body without inner loops.
bool isShort(RangeOp range) {
  size_t operations = 0;
  range.walk(
      [&](Operation *op) { operations += isa<scf::ForOp, scf::WhileOp>(op) ? mostMasked : 1; });
  return operations <= mostMasked;
}

/// Does an iteration, without inner loops, compute so much that vectors pay although each of their stores is taken apart? Functions that have no instruction
/// are some twenty operations.
bool isHeavy(RangeOp range) {
  constexpr size_t ofFunction = 20, ofStore = 12;
  size_t work = 0, stores = 0;
  bool isStraight = llvm::all_of(range.getBody().front(), [&](Operation &op) {
    work += isa<ElementaryOp>(op) ? ofFunction : 1;
    stores += isa<WriteOp>(op);
    return op.getNumRegions() == 0;
  });
  return isStraight && work >= ofStore * stores + ofFunction;
}

/// A condition that gives nothing, around a store of a number that has masks.
bool isMaskable(WriteOp write, Operation *condition) {
  Type type = write.getValue().getType();
  return isa<scf::IfOp>(condition) && condition->getNumResults() == 0 && type.isIntOrFloat() &&
         type.getIntOrFloatBitWidth() >= 32;
}

/// Whether every iteration stores beside its neighbour, or all that do if there are masks.
bool isRow(WriteOp write, RangeOp range, bool masked) {
  for (Operation *parent = write->getParentOp(); parent != range; parent = parent->getParentOp())
    if (!isa<scf::ForOp>(parent) && !(masked && isMaskable(write, parent)))
      return false;
  Value variable = range.getBody().front().getArguments().back();
  Type type = write.getValue().getType();
  LinearForm form = LinearForm::of(write.getOffset());
  DenseSet<Value> same;
  return type.isIntOrFloat() &&
         form.coefficient(variable) == int64_t(type.getIntOrFloatBitWidth() / 8) &&
         llvm::all_of(form.terms, [&](auto &term) {
           return term.first == variable || !mayDiffer(term.first, range, same);
         });
}

struct ParallelAccesses : metate::impl::ParallelAccessesBase<ParallelAccesses> {
  using ParallelAccessesBase::ParallelAccessesBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getMayAlias()) // and then reads and writes keep their order
      return;
    kernel.walk([&](RangeOp range) {
      if (isWorthwhile(range, masked && isShort(range)))
        annotate(range);
    });
  }

private:
  static bool isWorthwhile(RangeOp range, bool masked) {
    auto isNoRow = [&](WriteOp write) {
      return isRow(write, range, masked) ? WalkResult::advance() : WalkResult::interrupt();
    };
    return (isHeavy(range) || !range.walk(isNoRow).wasInterrupted()) && !readsAfterWrite(range);
  }

  /// LLVM takes accesses of the groups for independent within an iteration as well: no block is read after it was written.
  static bool readsAfterWrite(RangeOp range) {
    DenseSet<Value> written;
    return range
        .walk<WalkOrder::PreOrder>([&](Operation *op) {
          if (isa<scf::ForOp>(op)) // whose first operations follow its last ones
            op->walk([&](WriteOp write) { written.insert(write.getBlock()); });
          if (auto write = dyn_cast<WriteOp>(op))
            written.insert(write.getBlock());
          auto read = dyn_cast<ReadOp>(op);
          return read && written.contains(read.getBlock()) ? WalkResult::interrupt()
                                                           : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// The loop that is made of the range takes the group from what it does.
  void annotate(RangeOp range) {
    auto group = LLVM::AccessGroupAttr::get(&getContext());
    auto groups = ArrayAttr::get(&getContext(), {group});
    range.walk([&](Operation *op) {
      if (isa<ReadOp, WriteOp>(op))
        op->setAttr("access_groups", groups);
    });
    ++annotated;
  }
};
} // namespace
