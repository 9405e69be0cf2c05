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

/// May the operation, or one inside of it, touch the word of that access?
static bool mayTouch(Operation *op, const ByteAccess &word, bool mayAlias) {
  return op
      ->walk([&](Operation *inner) {
        std::optional<ByteAccess> access = ByteAccess::of(inner);
        if (!access)
          return isMemoryEffectFree(inner) || inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>()
                     ? WalkResult::advance()
                     : WalkResult::interrupt();
        if (isMutant(Mutant::MergesJoinedAcross) && isa<ReadOp>(inner))
          return WalkResult::advance();
        bool meets = mayAlias && access->block != word.block;
        return meets || access->mayOverlap(word) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The operation of the same kind before this one that it can be joined with, if nothing between them touches the word.
template <typename Op> static Op sameBefore(Op op, bool mayAlias) {
  ByteAccess word = *ByteAccess::of(op);
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
    if (auto other = dyn_cast<Op>(before); other &&
                                           other.getBits().getType() == op.getBits().getType() &&
                                           ByteAccess::of(other)->isSameAs(word))
      return other;
    if (mayTouch(before, word, mayAlias))
      return {};
  }
  return {};
}

static Value allOnes(OpBuilder &builder, Location loc, Type type) {
  return arith::ConstantOp::create(builder, loc, IntegerAttr::get(type, -1));
}

static void join(MergeOp first, MergeOp second) {
  OpBuilder builder(second);
  Location loc = second.getLoc();
  Value all = allOnes(builder, loc, second.getBits().getType());
  Value others = builder.createOrFold<arith::XOrIOp>(loc, second.getMask(), all);
  Value kept = builder.createOrFold<arith::AndIOp>(loc, first.getBits(), others);
  Value bits = builder.createOrFold<arith::OrIOp>(loc, kept, second.getBits());
  Value mask = builder.createOrFold<arith::OrIOp>(loc, first.getMask(), second.getMask());
  second.getBitsMutable().assign(bits);
  second.getMaskMutable().assign(mask);
  first.erase();
}

/// The sum of the members of two words: carries end at their highest bits.
static Value sumOfMembers(OpBuilder &builder, Location loc, Value a, Value b, Value top) {
  Value low = builder.createOrFold<arith::XOrIOp>(loc, top, allOnes(builder, loc, a.getType()));
  Value sum =
      builder.createOrFold<arith::AddIOp>(loc, builder.createOrFold<arith::AndIOp>(loc, a, low),
                                          builder.createOrFold<arith::AndIOp>(loc, b, low));
  Value highest =
      builder.createOrFold<arith::AndIOp>(loc, builder.createOrFold<arith::XOrIOp>(loc, a, b), top);
  return builder.createOrFold<arith::XOrIOp>(loc, sum, highest);
}

/// Two that add to members of which nobody knows whether they are the same: a member may be in both.
static void join(AddBitsOp first, AddBitsOp second) {
  OpBuilder builder(second);
  Location loc = second.getLoc();
  Value top = builder.createOrFold<arith::OrIOp>(loc, first.getTop(), second.getTop());
  second.getBitsMutable().assign(
      sumOfMembers(builder, loc, first.getBits(), second.getBits(), top));
  second.getTopMutable().assign(top);
  first.erase();
}

/// A loop that tries until nobody came between; `changed` makes the new word of the one that was seen.
static void tryUntilDone(OpBuilder &builder, Location loc, Value block, Value offset,
                         uint64_t scope, Type type, llvm::function_ref<Value(Value)> changed) {
  Value first = ReadOp::create(builder, loc, type, block, offset, scope, false, false);
  auto loop = scf::WhileOp::create(builder, loc, type, first);
  Block *before = builder.createBlock(&loop.getBefore(), {}, type, loc);
  Value seen = before->getArgument(0), next = changed(seen);
  Value found = CasOp::create(builder, loc, type, seen, next, block, offset, scope);
  Value lost = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, found, seen);
  scf::ConditionOp::create(builder, loc, lost, found);
  Block *after = builder.createBlock(&loop.getAfter(), {}, type, loc);
  scf::YieldOp::create(builder, loc, after->getArgument(0));
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
  tryUntilDone(builder, loc, merge.getBlock(), offset, scope, type, [&](Value seen) {
    Value kept = arith::AndIOp::create(builder, loc, seen, others);
    return arith::OrIOp::create(builder, loc, kept, word).getResult();
  });
  merge.erase();
}

/// One atomic addition where the only member ends where the word does.
static void expand(AddBitsOp add) {
  OpBuilder builder(add);
  Location loc = add.getLoc();
  Value bits = add.getBits(), top = add.getTop(), block = add.getBlock(), offset = add.getOffset();
  Type type = bits.getType();
  APInt constant;
  if (matchPattern(top, m_ConstantInt(&constant)) && constant.isSignMask())
    RmwOp::create(builder, loc, type, arith::AtomicRMWKind::addi, bits, block, offset,
                  add.getScope());
  else
    tryUntilDone(builder, loc, block, offset, add.getScope(), type,
                 [&](Value seen) { return sumOfMembers(builder, loc, seen, bits, top); });
  add.erase();
}

namespace {
struct JoinMerges : metate::impl::JoinMergesBase<JoinMerges> {
  void runOnOperation() override {
    joinAll<MergeOp>();
    joinAll<AddBitsOp>();
  }

private:
  template <typename Op> void joinAll() {
    SmallVector<Op> all;
    getOperation().walk([&](Op op) { all.push_back(op); });
    SmallPtrSet<Operation *, 8> joined;
    for (Op op : all)
      while (Op before = sameBefore(op, getOperation().getMayAlias())) {
        joined.insert(before);
        join(before, op);
      }
    for (Op op : all)
      if (!joined.contains(op))
        expand(op);
  }
};
} // namespace
