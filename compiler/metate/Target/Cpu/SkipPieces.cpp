//===- SkipPieces.cpp - one look for a value and its place ------*- C++ -*-===//
//
// A loop finds the least value, the one behind it where it is: `for i in x: atomic_min(low, x[i])`, `for i in x: if x[i] == low: at = i`.
// The first one keeps the least value of each piece of it, which the second one asks before it goes through a piece: memory is read once.
//
// What the second loop compares must be what the first one took the extreme of, number by number; arithmetic that may be
// fused in one loop alone is not. A piece whose extreme fails the comparison has no value that passes it.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/Passes.h"
#include "metate/Transforms/ByteAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_SKIPPIECES
#include "metate/Target/Cpu/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

/// Gives the operation the same number in two loops, whatever is done with its result?
static bool isExact(Operation *op) {
  if (!isMemoryEffectFree(op) || op->getNumRegions() || op->getNumResults() != 1)
    return false;
  if (isa<arith::NegFOp, arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
          arith::FPToSIOp, arith::FPToUIOp, arith::BitcastOp, arith::SelectOp, arith::CmpFOp,
          arith::ConstantOp, math::AbsFOp>(op))
    return true;
  auto isWhole = [](Type type) { return type.isIntOrIndex(); };
  return isa<arith::ArithDialect>(op->getDialect()) &&
         llvm::all_of(op->getOperandTypes(), isWhole) && isWhole(op->getResult(0).getType());
}

/// Of any two iterations: only places that constants name are known to be apart.
static bool mayOverlap(const ByteAccess &a, const ByteAccess &b) {
  if (a.form.terms.empty() && b.form.terms.empty())
    return a.mayOverlap(b);
  return a.scope == b.scope || a.scope < 0 || b.scope < 0;
}

/// Anything that is no plain access, may.
static bool mayWrite(Operation *root, const ByteAccess &place) {
  auto writes = [&](Operation *op) {
    if (isa<ReadOp>(op) || op->getNumRegions() || op->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    std::optional<ByteAccess> access = ByteAccess::of(op);
    bool may = access ? mayOverlap(*access, place) : !isMemoryEffectFree(op);
    return may ? WalkResult::interrupt() : WalkResult::advance();
  };
  return root->walk(writes).wasInterrupted();
}

namespace {
/// What two ranges compute alike, as far as it was asked for, and what they read for it.
class Alike {
public:
  Alike(RangeOp first, RangeOp second) : first(first), second(second) {}

  bool areBounds() {
    return first.getLower().size() == second.getLower().size() &&
           llvm::all_of(llvm::zip(first.getLower(), second.getLower()), isPair) &&
           llvm::all_of(llvm::zip(first.getUpper(), second.getUpper()), isPair);
  }

  bool are(Value a, Value b) {
    if (auto known = answers.find({a, b}); known != answers.end())
      return known->second;
    return answers[{a, b}] = compare(a, b);
  }

  ArrayRef<ReadOp> reads() const { return read; }

private:
  static bool isPair(const std::tuple<Value, Value> &pair) {
    auto [a, b] = pair;
    APInt x, y;
    return a == b || (matchPattern(a, m_ConstantInt(&x)) && matchPattern(b, m_ConstantInt(&y)) &&
                      a.getType() == b.getType() && x == y);
  }

  bool compare(Value a, Value b) {
    if (a == b)
      return true; // of both loops' surroundings
    auto x = dyn_cast<BlockArgument>(a), y = dyn_cast<BlockArgument>(b);
    if (x || y)
      return x && y && x.getOwner() == &first.getBody().front() &&
             y.getOwner() == &second.getBody().front() && x.getArgNumber() == y.getArgNumber();
    Operation *p = a.getDefiningOp(), *q = b.getDefiningOp();
    auto access = dyn_cast<ReadOp>(p);
    if (p->getName() != q->getName() || a.getType() != b.getType() ||
        p->getPropertiesAsAttribute() != q->getPropertiesAsAttribute() ||
        (access ? access.getAcquire() || !first->isAncestor(p) || !second->isAncestor(q)
                : !isExact(p)))
      return false;
    if (access)
      read.push_back(access);
    return p->getNumOperands() == q->getNumOperands() &&
           llvm::all_of(llvm::zip(p->getOperands(), q->getOperands()),
                        [&](auto pair) { return are(std::get<0>(pair), std::get<1>(pair)); });
  }

  RangeOp first, second;
  DenseMap<std::pair<Value, Value>, bool> answers;
  SmallVector<ReadOp> read;
};

/// The loop for a value's place, and what it asks.
class Seeker {
public:
  explicit Seeker(RangeOp range) : range(range) {}

  /// All that it does stands under one condition.
  bool isOne() {
    for (Operation &op : range.getBody().front().without_terminator()) {
      if (auto conditional = dyn_cast<scf::IfOp>(op);
          conditional && !found && !conditional.elseBlock() && conditional.getNumResults() == 0)
        found = conditional;
      else if (op.getNumRegions() || (!isa<ReadOp>(op) && !isMemoryEffectFree(&op)))
        return false;
    }
    return found != nullptr;
  }

  /// Comparisons of which each must hold.
  void conditions(Value condition, SmallVectorImpl<Operation *> &all) {
    Operation *op = condition.getDefiningOp();
    if (!op || !range->isAncestor(op))
      return;
    if (isa<arith::CmpFOp, arith::CmpIOp>(op))
      all.push_back(op);
    else if (auto both = dyn_cast<arith::AndIOp>(op); both && both.getType().isInteger(1))
      for (Value one : both.getOperands())
        conditions(one, all);
  }
  SmallVector<Operation *> conditions() {
    SmallVector<Operation *> all;
    conditions(found.getCondition(), all);
    return all;
  }

private:
  RangeOp range;
  scf::IfOp found;
};

/// Does `value <op> extreme` hold for no value of a piece whose own extreme it does not hold for?
bool holdsForTheExtreme(Operation *comparison, unsigned operand, arith::AtomicRMWKind kind) {
  using Kind = arith::AtomicRMWKind;
  bool isLeast = llvm::is_contained({Kind::minnumf, Kind::minimumf, Kind::mins, Kind::minu}, kind);
  bool isGreatest =
      llvm::is_contained({Kind::maxnumf, Kind::maximumf, Kind::maxs, Kind::maxu}, kind);
  if (!isLeast && !isGreatest)
    return false;
  bool isBelow = isLeast == (operand == 0); // value <= extreme, or extreme >= value
  if (auto floats = dyn_cast<arith::CmpFOp>(comparison)) {
    using Predicate = arith::CmpFPredicate;
    return floats.getPredicate() == Predicate::OEQ ||
           floats.getPredicate() == (isBelow ? Predicate::OLE : Predicate::OGE);
  }
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = cast<arith::CmpIOp>(comparison).getPredicate();
  bool isUnsigned = kind == Kind::minu || kind == Kind::maxu;
  Predicate below = isUnsigned ? Predicate::ule : Predicate::sle,
            above = isUnsigned ? Predicate::uge : Predicate::sge;
  return predicate == Predicate::eq || predicate == (isBelow ? below : above);
}

struct SkipPieces : metate::impl::SkipPiecesBase<SkipPieces> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getMayAlias() || kernel->hasAttr(mark::deterministic))
      return;
    pairs = 0;
    SmallVector<RangeOp> ranges;
    kernel.walk([&](RangeOp range) { ranges.push_back(range); });
    for (RangeOp range : ranges)
      if (Seeker seeker(range); seeker.isOne())
        for (Operation *comparison : seeker.conditions())
          if (pairUp(range, comparison))
            break;
  }

private:
  /// Finds the loop of which `comparison`, in `range`, asks for the extreme.
  bool pairUp(RangeOp range, Operation *comparison) {
    for (unsigned operand : {0u, 1u}) {
      auto asked = comparison->getOperand(1 - operand).getDefiningOp<ReadOp>();
      if (!asked || !range->isAncestor(asked) || asked.getAcquire())
        continue;
      ByteAccess place = *ByteAccess::of(asked);
      if (!place.form.terms.empty() || mayWrite(range, place))
        continue;
      // Back to whoever wrote it last.
      SmallVector<Operation *> between;
      for (Operation *op = range->getPrevNode(); op; op = op->getPrevNode()) {
        if (!mayWrite(op, place)) {
          between.push_back(op);
          continue;
        }
        between.push_back(range);
        auto first = dyn_cast<RangeOp>(op);
        if (first && pairUp(first, range, comparison, operand, place, between))
          return true;
        break;
      }
    }
    return false;
  }

  bool pairUp(RangeOp first, RangeOp second, Operation *comparison, unsigned operand,
              const ByteAccess &place, ArrayRef<Operation *> between) {
    if (first->hasAttr(mark::skipsPieces))
      return false;
    // Its partial results, of which there is one for each.
    SmallVector<RmwOp> partials;
    first.walk([&](RmwOp rmw) {
      if (rmw->hasAttr(mark::reduction))
        partials.push_back(rmw);
    });
    SmallVector<ByteAccess> places;
    for (RmwOp rmw : partials)
      places.push_back(*ByteAccess::of(rmw));
    for (auto [k, one] : llvm::enumerate(places))
      for (const ByteAccess &other : ArrayRef(places).drop_front(k + 1))
        if (mayOverlap(one, other))
          return false;
    auto here = llvm::find_if(places, [&](const ByteAccess &one) { return one.isSameAs(place); });
    if (here == places.end())
      return false;
    int64_t number = here - places.begin();
    RmwOp extreme = partials[number];
    Alike alike(first, second);
    if (extreme->getBlock() != &first.getBody().front() || !extreme.getOld().use_empty() ||
        !llvm::all_of(partials, [](RmwOp rmw) { return rmw.getOld().use_empty(); }) ||
        !holdsForTheExtreme(comparison, operand, extreme.getKind()) || !alike.areBounds() ||
        !alike.are(extreme.getValue(), comparison->getOperand(operand)))
      return false;
    // What is compared is what the extreme was taken of.
    for (ReadOp read : alike.reads()) {
      ByteAccess value = *ByteAccess::of(read);
      if (mayWrite(first, value) ||
          (!isMutant(Mutant::WrittenValueSkipped) &&
           llvm::any_of(between, [&](Operation *op) { return mayWrite(op, value); })))
        return false;
    }
    auto known = first->getAttrOfType<IntegerAttr>(mark::keepsPieces);
    Builder builder(&getContext());
    IntegerAttr pair = known ? known : builder.getI64IntegerAttr(pairs++);
    if (isMutant(Mutant::OtherExtremeAsked))
      number = 0;
    first->setAttr(mark::keepsPieces, pair);
    second->setAttr(mark::skipsPieces, pair);
    comparison->setAttr(mark::withExtreme,
                        builder.getDenseI64ArrayAttr({number, int64_t(operand)}));
    remarkAt(second.getLoc(), Outcome::Done, "skip-pieces", "reductions")
        << "the loop before keeps the extreme of each of its pieces: those that do not hold the "
           "one that is asked for are skipped";
    ++skipped;
    return true;
  }

  int64_t pairs = 0;
};
} // namespace
