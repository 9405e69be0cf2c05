//===- Reductions.cpp - a task's atomics made cheaper -----------*- C++ -*-===//
//
// Partial results, and plain accesses for a worker that is alone.
//
// What metate-private-reductions has marked: a task's body starts with the neutral value in a local
// variable, accumulates there, and adds it to the place when its chunk ends. Sums of floats may then
// be taken in any order, which is what lets them be computed as vectors.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Cpu/Reductions.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Common/TreeCalls.h"
#include "metate/Target/Common/ValuesBefore.h"
#include "metate/Target/Cpu/MapTasks.h"
#include "metate/Transforms/PlainAtomics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <deque>

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// Of extremes, the intrinsic that is associative: LLVM vectorises any number of them in a loop, of
/// minnum only one. They differ in the sign of a zero, which is free.
Value cpu::combined(OpBuilder &builder, Location loc, arith::AtomicRMWKind kind, Value old,
                    Value value) {
  if (kind == arith::AtomicRMWKind::minnumf || kind == arith::AtomicRMWKind::maxnumf) {
    bool least = kind == arith::AtomicRMWKind::minnumf;
    StringRef name = least ? "llvm.minimumnum" : "llvm.maximumnum";
    return LLVM::CallIntrinsicOp::create(
               builder, loc, old.getType(), builder.getStringAttr(name), ValueRange{old, value},
               LLVM::FastmathFlagsAttr::get(builder.getContext(), LLVM::FastmathFlags::nsz))
        .getResult(0);
  }
  Value next = arith::getReductionOp(kind, builder, loc, old, value);
  if (auto floats = dyn_cast<arith::ArithFastMathInterface>(next.getDefiningOp())) {
    auto flags = floats.getFastMathFlagsAttr().getValue() | arith::FastMathFlags::reassoc |
                 arith::FastMathFlags::contract;
    next.getDefiningOp()->setAttr(floats.getFastMathAttrName(),
                                  arith::FastMathFlagsAttr::get(builder.getContext(), flags));
  }
  return next;
}

namespace {
/// One place and its partial result.
struct Partial {
  arith::AtomicRMWKind kind;
  Type type;
  Value block, offset;
  Value variable;
  Value unwanted = {}; ///< what a condition that is false accumulates

  bool isOf(RmwOp rmw, Value place) const {
    APInt a, b;
    bool same = place == offset || (matchPattern(place, m_ConstantInt(&a)) &&
                                    matchPattern(offset, m_ConstantInt(&b)) && a == b);
    return same && rmw.getKind() == kind && rmw.getValue().getType() == type &&
           rmw.getBlock() == block;
  }
};

class Reductions {
public:
  Reductions(LLVM::LLVMFuncOp body, Operation *loops, Operation *pieces)
      : loops(loops), before(pieces), atStart(OpBuilder::atBlockBegin(&body.getBody().front())) {}

  /// The atomics that add the partial results to their places.
  SmallVector<RmwOp> run() {
    SmallVector<RmwOp> work, merges;
    loops->walk([&](RmwOp rmw) {
      if (rmw->hasAttr(mark::reduction) && rmw.getOld().use_empty())
        work.push_back(rmw);
    });
    llvm::SetVector<RmwOp> steps;
    for (RmwOp rmw : work) {
      Value block = before.of(rmw.getBlock()), place = before.of(rmw.getOffset());
      if (!block || !place)
        continue;
      rmw.getBlockMutable().assign(block);
      rmw.getOffsetMutable().assign(partialOf(rmw, place).offset);
      steps.insert(rmw);
    }
    leaveConditionals(loops, steps, [&](RmwOp step) { return unwanted(step); });
    for (RmwOp rmw : steps)
      accumulate(rmw, partialOf(rmw, rmw.getOffset()));
    OpBuilder after(loops->getContext());
    after.setInsertionPointAfter(loops);
    for (auto &[partial, scope] : partials) {
      Location loc = loops->getLoc();
      Value result = LLVM::LoadOp::create(after, loc, partial.type, partial.variable);
      auto merged = RmwOp::create(after, loc, partial.type, partial.kind, result, partial.block,
                                  partial.offset, scope);
      for (StringRef name : {"alias_scopes", "noalias_scopes"})
        if (Attribute scopes = annotations.lookup(partial.variable).get(name))
          merged->setAttr(name, scopes);
      merges.push_back(merged);
    }
    return merges;
  }

private:
  Partial &partialOf(RmwOp rmw, Value place) {
    for (auto &[partial, scope] : partials)
      if (partial.isOf(rmw, place))
        return partial;
    Location loc = rmw.getLoc();
    Type type = rmw.getValue().getType();
    OpBuilder builder(loops);
    Value variable = variableOf(type, loc);
    Value start =
        arith::ConstantOp::create(builder, loc, neutralOf(builder, loc, rmw.getKind(), type));
    if (rmw.getKind() == arith::AtomicRMWKind::addi && isMutant(Mutant::PartialStartsAtOne))
      start = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, 1));
    LLVM::StoreOp::create(builder, loc, start, variable);
    partials.push_back({{rmw.getKind(), type, rmw.getBlock(), place, variable}, rmw.getScope()});
    annotations[variable] = rmw->getDiscardableAttrDictionary();
    return partials.back().first;
  }

  /// The neutral value. LLVM makes min(a, c ? b : neutral) a branch again, c ? min(a, b) : a, which it
  /// vectorises for sums and products only: of other kinds it must not know the value.
  Value unwanted(RmwOp step) {
    Partial &partial = partialOf(step, step.getOffset());
    if (partial.unwanted)
      return partial.unwanted;
    using Kind = arith::AtomicRMWKind;
    OpBuilder builder(loops);
    Location loc = step.getLoc();
    partial.unwanted = arith::ConstantOp::create(
        builder, loc, neutralOf(builder, loc, partial.kind, partial.type));
    if (llvm::is_contained({Kind::addi, Kind::addf, Kind::muli, Kind::mulf}, partial.kind))
      return partial.unwanted;
    Value hidden = variableOf(partial.type, loc);
    LLVM::StoreOp::create(builder, loc, partial.unwanted, hidden);
    return partial.unwanted = LLVM::LoadOp::create(builder, loc, partial.type, hidden,
                                                   /*alignment=*/0, /*isVolatile=*/true);
  }

  Value variableOf(Type type, Location loc) {
    Code atEntry(atStart, loc);
    return LLVM::AllocaOp::create(atStart, loc, atEntry.pointer(), type, atEntry.constant(1, 64));
  }

  void accumulate(RmwOp rmw, Partial &partial) {
    OpBuilder builder(rmw);
    Location loc = rmw.getLoc();
    Value old = LLVM::LoadOp::create(builder, loc, partial.type, partial.variable);
    Value next = combined(builder, loc, rmw.getKind(), old, rmw.getValue());
    LLVM::StoreOp::create(builder, loc, next, partial.variable);
    rmw.erase();
  }

  Operation *loops;
  target::ValuesBefore before;
  OpBuilder atStart;                                 ///< where variables are declared
  std::deque<std::pair<Partial, uint64_t>> partials; // references stay valid
  llvm::DenseMap<Value, DictionaryAttr> annotations;
};
} // namespace

SmallVector<RmwOp> cpu::gatherReductions(LLVM::LLVMFuncOp body, Operation *loops,
                                         Operation *pieces) {
  return Reductions(body, loops, pieces).run();
}

void cpu::makePlain(RmwOp rmw) {
  OpBuilder builder(rmw);
  Location loc = rmw.getLoc();
  auto annotate = [&](Operation *op) {
    for (StringRef name : {"alias_scopes", "noalias_scopes"})
      if (Attribute scopes = rmw->getAttr(name))
        op->setAttr(name, scopes);
  };
  auto read = ReadOp::create(builder, loc, rmw.getOld().getType(), rmw.getBlock(), rmw.getOffset(),
                             rmw.getScope(), false, false);
  annotate(read);
  Value next = rmw.getValue();
  if (rmw.getKind() != arith::AtomicRMWKind::assign)
    next = arith::getReductionOp(rmw.getKind(), builder, loc, read, next);
  annotate(
      WriteOp::create(builder, loc, next, rmw.getBlock(), rmw.getOffset(), rmw.getScope(), false));
  rmw.replaceAllUsesWith(isMutant(Mutant::AloneReturnsNew) ? next : read.getValue());
  rmw.erase();
}

void cpu::makeAlone(Region &code) {
  SmallVector<RmwOp> work;
  code.walk([&](Operation *op) {
    if (auto rmw = dyn_cast<RmwOp>(op))
      work.push_back(rmw);
    else if (auto call = dyn_cast<TreeCallOp>(op))
      target::makeAlone(call);
  });
  llvm::for_each(work, makePlain);
}

/// What a worker that is alone does with less.
static bool hasAtomics(Operation *loops) {
  return loops
      ->walk([](Operation *op) {
        auto call = dyn_cast<TreeCallOp>(op);
        bool isOne = isa<RmwOp>(op) || (call && call.getCallee() == "append");
        return isOne ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

std::optional<cpu::AloneVersion> cpu::splitOffAlone(LLVM::LLVMFuncOp body, Operation *loops,
                                                    scf::ForOp innermost) {
  if (!hasAtomics(loops))
    return std::nullopt;
  OpBuilder builder(loops);
  Location loc = loops->getLoc();
  remarkDone(loops, "map-tasks-cpu", "atomics")
      << "a second version of the loop, with plain accesses, is for launches that one worker runs "
         "alone";
  Code code(builder, loc);
  Value flag = code.load(builder.getI64Type(), body.getArgument(0), aloneOffset);
  Value alone =
      LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, flag, code.constant(0, 64));
  auto branch = scf::IfOp::create(builder, loc, alone, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  IRMapping mapping;
  builder.clone(*loops, mapping);
  loops->moveBefore(branch.elseBlock(), branch.elseBlock()->begin());
  Operation *inside = mapping.lookupOrNull(innermost.getOperation());
  return AloneVersion{cast_or_null<scf::ForOp>(inside), &branch.getThenRegion()};
}
