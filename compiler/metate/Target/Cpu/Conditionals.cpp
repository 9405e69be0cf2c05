//===- Conditionals.cpp - reductions under conditions -----------*- C++ -*-===//
//
// `if c: place = min(place, v)` is a branch around a partial result, which LLVM vectorises for sums only.
// `place = min(place, v if c else neutral)` is a reduction like any other, with a value that LLVM computes
// for the lanes that want it: what the branch guards (a load, a division) it guards still.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/Reductions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

namespace {
/// Of a loop that guards more operations than this, computing them for nothing may cost more than lanes
/// save.
constexpr unsigned mostGuarded = 48;

/// The steps of one reduction on the two sides of a conditional.
struct Accumulation {
  SmallVector<RmwOp> sides[2];
  RmwOp first() const { return sides[sides[0].empty()].front(); }

  bool isOf(RmwOp step) {
    RmwOp mine = first();
    return step.getKind() == mine.getKind() && step.getBlock() == mine.getBlock() &&
           step.getOffset() == mine.getOffset() &&
           step.getValue().getType() == mine.getValue().getType();
  }
};

class Conditionals {
public:
  Conditionals(llvm::SetVector<RmwOp> &steps, llvm::function_ref<Value(RmwOp)> unwanted)
      : steps(steps), unwanted(unwanted) {}

  void run(Operation *loops) {
    loops->walk([&](scf::ForOp loop) {
      SmallVector<scf::IfOp> branches; // inner ones first
      loop.walk([&](scf::IfOp branch) { branches.push_back(branch); });
      if (branches.empty())
        return;
      bool may = mayBecomeVectors(loop);
      for (scf::IfOp branch : branches) {
        if (wantsRemarks(branch->getContext()) && !accumulations(branch).empty())
          remark(branch, may);
        if (may)
          leave(branch);
      }
    });
  }

private:
  static void remark(scf::IfOp branch, bool may) {
    if (may)
      remarkDone(branch, "map-tasks-cpu", "conditionals")
          << "the condition chooses what is accumulated, so that the loop may become vectors";
    else
      remarkDeclined(branch, "map-tasks-cpu", "conditionals")
          << "the loop branches around what it accumulates: it is long, or does what vectors can "
             "not";
  }

  /// Straight code and short conditionals, of operations that vectors have.
  bool mayBecomeVectors(scf::ForOp loop) {
    unsigned guarded = 0;
    return !loop.getBody()
                ->walk([&](Operation *op) {
                  guarded += op->getParentOp() != loop && !op->hasTrait<OpTrait::ConstantLike>();
                  return mayBeVector(op) && guarded <= mostGuarded ? WalkResult::advance()
                                                                   : WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  bool mayBeVector(Operation *op) {
    if (auto step = dyn_cast<RmwOp>(op))
      return steps.contains(step);
    if (auto read = dyn_cast<ReadOp>(op))
      return !read.getAcquire();
    if (auto write = dyn_cast<WriteOp>(op))
      return !write.getRelease();
    if (isa<math::MathDialect>(op->getDialect())) // the others call the C library
      return isa<math::SqrtOp, math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::FmaOp,
                 math::CopySignOp>(op);
    if (isa<arith::RemFOp>(op))
      return false;
    return isa<arith::ArithDialect, vector::VectorDialect>(op->getDialect()) ||
           isa<ElementaryOp, memref::LoadOp, memref::StoreOp, scf::IfOp, scf::YieldOp, YieldOp>(op);
  }

  /// What goes into each reduction on either side becomes a result, accumulated after the conditional.
  void leave(scf::IfOp branch) {
    SmallVector<Accumulation> found = accumulations(branch);
    if (found.empty())
      return;
    for (Accumulation &accumulation : found) {
      RmwOp first = accumulation.first();
      OpBuilder after(branch.getContext());
      after.setInsertionPointAfter(branch);
      Value operand;
      branch = withResult(branch, accumulation, operand);
      auto step = RmwOp::create(after, first.getLoc(), operand.getType(), first.getKind(), operand,
                                first.getBlock(), first.getOffset(), first.getScope());
      step->setDiscardableAttrs(first->getDiscardableAttrDictionary());
      steps.insert(step);
      for (RmwOp old : llvm::concat<RmwOp>(accumulation.sides[0], accumulation.sides[1])) {
        steps.remove(old);
        old.erase();
      }
    }
    choose(branch);
  }

  SmallVector<Accumulation> accumulations(scf::IfOp branch) {
    SmallVector<Accumulation> found;
    for (auto [side, region] : llvm::enumerate(branch->getRegions()))
      for (Block &block : region)
        for (RmwOp step : block.getOps<RmwOp>()) {
          auto known = llvm::find_if(found, [&](Accumulation &a) { return a.isOf(step); });
          if (known == found.end())
            known = &found.emplace_back();
          known->sides[side].push_back(step);
        }
    return found;
  }

  /// The conditional with one more result: of each side the operands, combined, or the neutral value.
  scf::IfOp withResult(scf::IfOp branch, const Accumulation &accumulation, Value &operand) {
    RmwOp first = accumulation.first();
    SmallVector<Type> types(branch.getResultTypes());
    types.push_back(first.getValue().getType());
    OpBuilder builder(branch);
    Location loc = branch.getLoc();
    auto longer = scf::IfOp::create(builder, loc, types, branch.getCondition(),
                                    /*addThenBlock=*/false, /*addElseBlock=*/false);
    for (unsigned side : {0u, 1u}) {
      Region &region = longer->getRegion(side);
      region.takeBody(branch->getRegion(side));
      if (region.empty())
        OpBuilder::atBlockEnd(&region.emplaceBlock()).create<scf::YieldOp>(loc);
      Operation *yield = region.front().getTerminator();
      builder.setInsertionPoint(yield);
      Value value;
      for (RmwOp step : accumulation.sides[side])
        value = value ? combined(builder, step.getLoc(), step.getKind(), value, step.getValue())
                      : step.getValue();
      bool isLost = isMutant(Mutant::ConditionalSideLost) && side && !accumulation.sides[0].empty();
      if (!value || isLost)
        value = unwanted(first);
      yield->insertOperands(yield->getNumOperands(), value);
    }
    branch.replaceAllUsesWith(longer.getResults().drop_back());
    operand = longer.getResults().back();
    branch.erase();
    return longer;
  }

  /// A conditional that computes nothing is a choice of values.
  static void choose(scf::IfOp branch) {
    for (Block *side : {branch.thenBlock(), branch.elseBlock()})
      for (Operation &op : llvm::make_early_inc_range(side->without_terminator())) {
        if (!op.hasTrait<OpTrait::ConstantLike>())
          return;
        op.moveBefore(branch);
      }
    OpBuilder builder(branch);
    for (OpResult result : branch.getResults()) {
      unsigned k = result.getResultNumber();
      Value then = branch.thenYield().getOperand(k), otherwise = branch.elseYield().getOperand(k);
      result.replaceAllUsesWith(arith::SelectOp::create(builder, branch.getLoc(),
                                                        branch.getCondition(), then, otherwise));
    }
    branch.erase();
  }

  llvm::SetVector<RmwOp> &steps;
  llvm::function_ref<Value(RmwOp)> unwanted;
};
} // namespace

void cpu::leaveConditionals(Operation *loops, llvm::SetVector<RmwOp> &steps,
                            llvm::function_ref<Value(RmwOp)> unwanted) {
  Conditionals(steps, unwanted).run(loops);
}
