//===- JoinMerges.cpp - writes of bits of one word --------------*- C++ -*-===//
//
// Stores of members of one word, one behind the other in a block, are one: only what touches the word in between keeps them apart. If
// all bits are written, whatever the word was, it is an ordinary write: a write of another iteration that comes between two of
// these may come before or behind all of them as well.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Level/IndexBuilder.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/ByteAccess.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace metate {
#define GEN_PASS_DEF_JOINMERGES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

/// May the operation, or one inside of it, touch the word that the merge writes?
static bool mayTouch(Operation *op, MergeOp merge, bool mayAlias) {
  return op
      ->walk([&](Operation *inner) {
        std::optional<ByteAccess> access = ByteAccess::of(inner);
        if (!access)
          return isMemoryEffectFree(inner) || inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>()
                     ? WalkResult::advance()
                     : WalkResult::interrupt();
        if (isMutant(Mutant::MergesJoinedAcross) && isa<ReadOp>(inner))
          return WalkResult::advance();
        bool meets = mayAlias && access->block != merge.getBlock();
        return meets || access->mayOverlap(*ByteAccess::of(merge)) ? WalkResult::interrupt()
                                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The merge before this one that it can be joined with, if nothing between them touches the word.
static MergeOp mergeBefore(MergeOp merge, bool mayAlias) {
  for (Operation *op = merge->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto other = dyn_cast<MergeOp>(op);
        other && other.getBits().getType() == merge.getBits().getType() &&
        ByteAccess::of(other)->isSameAs(*ByteAccess::of(merge)))
      return other;
    if (mayTouch(op, merge, mayAlias))
      return {};
  }
  return {};
}

static void join(MergeOp first, MergeOp second) {
  OpBuilder builder(second);
  Location loc = second.getLoc();
  Type type = second.getBits().getType();
  Value all = arith::ConstantOp::create(builder, loc, IntegerAttr::get(type, -1));
  Value others = builder.createOrFold<arith::XOrIOp>(loc, second.getMask(), all);
  Value kept = builder.createOrFold<arith::AndIOp>(loc, first.getBits(), others);
  Value bits = builder.createOrFold<arith::OrIOp>(loc, kept, second.getBits());
  Value mask = builder.createOrFold<arith::OrIOp>(loc, first.getMask(), second.getMask());
  second.getBitsMutable().assign(bits);
  second.getMaskMutable().assign(mask);
  first.erase();
}

/// An ordinary write, a single atomic operation, or a loop that tries.
static void expand(MergeOp merge) {
  OpBuilder builder(merge);
  IndexBuilder at(builder, merge.getLoc());
  Location loc = merge.getLoc();
  Value word = merge.getBits(), mask = merge.getMask(), offset = merge.getOffset();
  uint64_t scope = merge.getScope();
  APInt constant;
  bool isKnown = matchPattern(mask, m_ConstantInt(&constant));
  if (isKnown && constant.isAllOnes()) {
    WriteOp::create(builder, loc, word, merge.getBlock(), offset, scope, false);
    return merge.erase();
  }
  Type type = word.getType();
  Value all = arith::ConstantOp::create(builder, loc, IntegerAttr::get(type, -1));
  Value others = builder.createOrFold<arith::XOrIOp>(loc, mask, all);
  APInt value;
  if (isKnown && matchPattern(word, m_ConstantInt(&value)) &&
      (value.isZero() || value == constant)) {
    auto kind = value.isZero() ? arith::AtomicRMWKind::andi : arith::AtomicRMWKind::ori;
    RmwOp::create(builder, loc, type, kind, value.isZero() ? others : word, merge.getBlock(),
                  offset, scope);
    return merge.erase();
  }
  Value first = ReadOp::create(builder, loc, type, merge.getBlock(), offset, scope, false, false);
  auto loop = scf::WhileOp::create(builder, loc, type, first);
  Block *before = builder.createBlock(&loop.getBefore(), {}, type, loc);
  Value seen = before->getArgument(0);
  Value kept = arith::AndIOp::create(builder, loc, seen, others);
  Value next = arith::OrIOp::create(builder, loc, kept, word);
  Value found = CasOp::create(builder, loc, type, seen, next, merge.getBlock(), offset, scope);
  Value lost = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, found, seen);
  scf::ConditionOp::create(builder, loc, lost, found);
  Block *after = builder.createBlock(&loop.getAfter(), {}, type, loc);
  scf::YieldOp::create(builder, loc, after->getArgument(0));
  merge.erase();
}

namespace {
struct JoinMerges : metate::impl::JoinMergesBase<JoinMerges> {
  void runOnOperation() override {
    SmallVector<MergeOp> merges;
    getOperation().walk([&](MergeOp merge) { merges.push_back(merge); });
    SmallPtrSet<Operation *, 8> joined;
    for (MergeOp merge : merges)
      while (MergeOp before = mergeBefore(merge, getOperation().getMayAlias())) {
        joined.insert(before);
        join(before, merge);
      }
    for (MergeOp merge : merges)
      if (!joined.contains(merge))
        expand(merge);
  }
};
} // namespace
