//===- SplitRows.cpp - nests out of numbers, by extents of a launch -*- C++ -*-===//
//
// DelinearizeRanges for `i, j = c // m, c % m` where m, or how far c goes, is known when the kernel is launched: full rows are a nest,
// what is left of the last one is a range of its own, which computes as the user wrote. Where a launch's extents are no extents
// (zero, negative, a product that wraps), or rows are short, all iterations are that range's.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Speculation.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Monomial.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/RowLimits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace metate {
#define GEN_PASS_DEF_SPLITROWS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Numbers of iterations are of 32 bits.
constexpr int64_t mostIterations = std::numeric_limits<int32_t>::max();

/// (variable / place) % (end / place); no end: all that is left.
struct NumberPart {
  Monomial place;
  std::optional<Monomial> end;
  /// Values that were taken for monomials, and these.
  SmallVector<std::pair<Value, Monomial>, 2> assumed;
};

/// `value == 0` and the like.
bool isNeverPositive(arith::CmpIOp compare) {
  APInt constant;
  return compare.getPredicate() == arith::CmpIPredicate::eq &&
         matchPattern(compare.getRhs(), m_ConstantInt(&constant)) && constant.isNonPositive();
}

/// How operations take the variable of a range apart.
class NumberParts {
public:
  explicit NumberParts(RangeOp range) : range(range) {
    add(range.getBody().getArgument(0), NumberPart());
    for (size_t known = 0; known != values.size();) { // `c - i * m` has two numbers
      known = values.size();
      for (size_t k = 0; k < values.size(); ++k)
        follow(values.begin()[k].first);
    }
  }

  /// Values of the variable, in the order in which they are computed.
  llvm::MapVector<Value, NumberPart> values;

  /// The numbers of iterations that rows of one, two, ... dimensions have; the first is 1.
  SmallVector<Monomial> places() const {
    SmallVector<Monomial> all;
    for (auto &[value, part] : values)
      for (const Monomial &one : {part.place, part.end.value_or(Monomial())})
        if ((!one.factors.empty() || one.constant >= leastRow) && !llvm::is_contained(all, one))
          all.push_back(one);
    llvm::stable_sort(all, [](const Monomial &a, const Monomial &b) {
      return std::pair(a.factors.size(), a.constant) < std::pair(b.factors.size(), b.constant);
    });
    SmallVector<Monomial> chain{Monomial()};
    for (const Monomial &one : all)
      if (chain.back().isBelow(one))
        chain.push_back(one);
    return chain;
  }

  /// Computed of nothing that the range makes.
  bool isFixed(Value value) const {
    Operation *op = value.getDefiningOp();
    if (!op)
      return value.getParentBlock()->getParentOp() != range;
    if (!range->isAncestor(op))
      return true;
    if (auto known = fixed.find(value); known != fixed.end())
      return known->second;
    bool isMade = op->getParentOp() == range && op->getNumRegions() == 0 && isPure(op) &&
                  llvm::all_of(op->getOperands(), [&](Value operand) { return isFixed(operand); });
    return fixed[value] = isMade;
  }

private:
  void add(Value value, NumberPart part) { values.try_emplace(value, std::move(part)); }

  void follow(Value value) {
    NumberPart part = values.find(value)->second;
    for (Operation *user : value.getUsers())
      if (user->getNumResults() == 1 && !values.contains(user->getResult(0)))
        if (std::optional<NumberPart> next = partOf(user, value, part))
          add(user->getResult(0), std::move(*next));
  }

  std::optional<NumberPart> partOf(Operation *op, Value value, const NumberPart &part) const {
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp>(op)) {
      Type type = op->getResult(0).getType();
      return type.isIndex() || type.getIntOrFloatBitWidth() >= 32 ? std::optional(part)
                                                                  : std::nullopt;
    }
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return select.getFalseValue() == value ? otherwise(select.getCondition(), part)
                                             : std::nullopt;
    if (op->getNumOperands() != 2 || op->getOperand(0) != value)
      return std::nullopt;
    Value by = op->getOperand(1);
    if (isa<arith::DivSIOp, arith::DivUIOp>(op))
      return divided(part, by);
    if (isa<arith::RemSIOp, arith::RemUIOp>(op))
      return remainder(part, by);
    APInt constant;
    bool isNumber = matchPattern(by, m_ConstantInt(&constant)) && constant.isStrictlyPositive();
    if (isa<arith::ShRSIOp, arith::ShRUIOp>(op))
      return isNumber && constant.ult(31)
                 ? divided(part, Monomial{int64_t(1) << constant.getZExtValue(), {}})
                 : std::nullopt;
    if (isa<arith::AndIOp>(op))
      return isNumber && constant.isMask() && constant.ult(mostIterations)
                 ? remainder(part, Monomial{int64_t(constant.getZExtValue()) + 1, {}})
                 : std::nullopt;
    auto product = isa<arith::SubIOp>(op) ? by.getDefiningOp<arith::MulIOp>() : arith::MulIOp();
    return product ? whatIsLeft(part, product) : std::nullopt;
  }

  /// What guards a division chooses if the divisor is positive: of 0 and -1, and where signs differ.
  std::optional<NumberPart> otherwise(Value condition, NumberPart part) const {
    Value divisor;
    if (auto compare = condition.getDefiningOp<arith::CmpIOp>();
        compare && isNeverPositive(compare))
      divisor = compare.getLhs();
    else if (auto both = condition.getDefiningOp<arith::AndIOp>())
      for (Value side : both->getOperands())
        if (Value found = divisorOfSigns(side))
          divisor = found;
    std::optional<Monomial> monomial =
        divisor && isFixed(divisor) ? Monomial::of(divisor, range) : std::nullopt;
    if (!monomial)
      return std::nullopt;
    if (!monomial->factors.empty())
      part.assumed.emplace_back(divisor, *monomial);
    return part;
  }

  /// `remainder ^ divisor < 0`, of a part.
  Value divisorOfSigns(Value condition) const {
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    auto signs = compare ? compare.getLhs().getDefiningOp<arith::XOrIOp>() : arith::XOrIOp();
    if (!signs || compare.getPredicate() != arith::CmpIPredicate::slt ||
        !matchPattern(compare.getRhs(), m_Zero()))
      return Value();
    for (auto [rest, divisor] :
         {std::pair(signs.getLhs(), signs.getRhs()), std::pair(signs.getRhs(), signs.getLhs())})
      if (auto op = rest.getDefiningOp<arith::RemSIOp>();
          op && op.getRhs() == divisor && values.contains(op.getLhs()))
        return divisor;
    return Value();
  }

  /// `c - i * m`, with `i = c // m`.
  std::optional<NumberPart> whatIsLeft(const NumberPart &part, arith::MulIOp product) const {
    for (auto [quotient, by] : {std::pair(product.getLhs(), product.getRhs()),
                                std::pair(product.getRhs(), product.getLhs())}) {
      auto found = values.find(quotient);
      std::optional<NumberPart> rest = found == values.end() ? std::nullopt : remainder(part, by);
      if (!rest || !(found->second.place == *rest->end) || found->second.end != part.end)
        continue;
      rest->assumed.append(found->second.assumed);
      return rest;
    }
    return std::nullopt;
  }

  std::optional<NumberPart> divided(const NumberPart &part, const Monomial &by) const {
    std::optional<Monomial> place = part.place * by;
    if (!place || (part.end && !place->isBelow(*part.end)))
      return std::nullopt;
    return NumberPart{*place, part.end, part.assumed};
  }

  std::optional<NumberPart> remainder(const NumberPart &part, const Monomial &by) const {
    std::optional<Monomial> end = part.place * by;
    if (!end || (part.end && !end->isBelow(*part.end)))
      return std::nullopt;
    return NumberPart{part.place, *end, part.assumed};
  }

  template <typename Function>
  std::optional<NumberPart> assuming(Value by, Function function) const {
    std::optional<Monomial> monomial = isFixed(by) ? Monomial::of(by, range) : std::nullopt;
    std::optional<NumberPart> part = monomial ? function(*monomial) : std::nullopt;
    if (part && !monomial->factors.empty())
      part->assumed.emplace_back(by, *monomial);
    return part;
  }
  std::optional<NumberPart> divided(const NumberPart &part, Value by) const {
    return assuming(by, [&](const Monomial &monomial) { return divided(part, monomial); });
  }
  std::optional<NumberPart> remainder(const NumberPart &part, Value by) const {
    return assuming(by, [&](const Monomial &monomial) { return remainder(part, monomial); });
  }

  RangeOp range;
  mutable llvm::DenseMap<Value, bool> fixed; ///< of what the range computes
};

/// Values before a range, and whether they are what they were taken for.
class LaunchValues {
public:
  explicit LaunchValues(RangeOp range)
      : builder(range), loc(range.getLoc()), count(range.getUpper()[0]), range(range) {
    auto cast = count.getDefiningOp<arith::IndexCastOp>();
    APInt constant;
    if (matchPattern(count, m_ConstantInt(&constant)) ||
        (cast && cast.getIn().getType().getIntOrFloatBitWidth() <= 32))
      return;
    require(compare(arith::CmpIPredicate::sle, count, index(mostIterations)));
  }

  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  void require(Value condition) {
    holds = holds ? builder.createOrFold<arith::AndIOp>(loc, holds, condition) : condition;
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return builder.createOrFold<arith::CmpIOp>(loc, predicate, a, b);
  }
  /// May wrap, where what is required does not hold.
  Value times(Value a, Value b) { return builder.createOrFold<arith::MulIOp>(loc, a, b); }

  /// The product, and that it and each of its factors are in [1, count]: nothing overflows.
  Value product(const Monomial &monomial) {
    Value result = index(monomial.constant);
    require(compare(arith::CmpIPredicate::sle, result, count));
    for (Value factor : monomial.factors) {
      Value value = toIndex(factor);
      if (known.insert(value).second) {
        require(compare(arith::CmpIPredicate::sgt, value, index(0)));
        require(compare(arith::CmpIPredicate::sle, value, count));
      }
      result = times(result, value);
      if (known.insert(result).second)
        require(compare(arith::CmpIPredicate::sle, result, count));
    }
    return result;
  }

  void assume(Value value, const Monomial &monomial) {
    hoist(value);
    if (assumed.insert(value).second)
      require(compare(arith::CmpIPredicate::eq, toIndex(value), product(monomial)));
  }

  OpBuilder builder;
  Location loc;
  Value count, holds; ///< null: always

private:
  Value toIndex(Value value) {
    if (value.getType().isIndex())
      return value;
    Value &cast = casts[value];
    if (!cast)
      cast = builder.createOrFold<arith::IndexCastOp>(loc, builder.getIndexType(), value);
    return cast;
  }

  void hoist(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !range->isAncestor(op))
      return;
    for (Value operand : op->getOperands())
      hoist(operand);
    op->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
  }

  RangeOp range;
  llvm::DenseSet<Value> known, assumed;
  llvm::DenseMap<Value, Value> casts;
};

/// Writes the nest of the full rows; the range keeps what is left.
class RowSplit {
public:
  RowSplit(RangeOp range, const NumberParts &parts, ArrayRef<Monomial> places)
      : range(range), parts(parts), places(places), entry(range) {}

  void run() {
    for (auto &[value, part] : parts.values)
      if (isWhole(part))
        for (auto &[assumed, monomial] : part.assumed) {
          entry.assume(assumed, monomial);
          (void)Monomial::of(assumed, range, &positive);
        }
    Value all = entry.product(places.back());
    for (size_t k = 1; k < places.size(); ++k)
      extents.push_back(entry.product(*(places[k] / places[k - 1])));
    requireRows();
    Value rows = rowsOf(all);
    auto rest = cast<RangeOp>(entry.builder.clone(*range));
    makeNest(rows);
    Value done = entry.times(rows, all);
    rest->moveBefore(range);
    rest.getLowerMutable()[0].set(isMutant(Mutant::LastRowLost) ? entry.count : done);
    setMark(rest, mark::rest);
    range.erase();
  }

private:
  /// Is it made of whole digits?
  bool isWhole(const NumberPart &part) const {
    return llvm::is_contained(places, part.place) &&
           (!part.end || llvm::is_contained(places, *part.end));
  }

  void requireRows() {
    Value row = extents.front();
    Value isLong = entry.compare(arith::CmpIPredicate::sge, row, entry.index(leastRow));
    Value areMany = entry.compare(arith::CmpIPredicate::sle,
                                  entry.times(row, entry.index(leastRows)), entry.count);
    Value areFew =
        entry.compare(arith::CmpIPredicate::sle, entry.count, entry.index(fewIterations));
    entry.require(isLong);
    entry.require(entry.builder.createOrFold<arith::OrIOp>(entry.loc, areMany, areFew));
  }

  /// How many full rows of all dimensions there are: as the user wrote it, if the number of iterations is a product of them.
  Value rowsOf(Value all) {
    auto count = Monomial::of(entry.count, range, &positive);
    auto ratio = count && !count->factors.empty() ? *count / places.back() : std::nullopt;
    Value rows;
    if (ratio) {
      rows = entry.product(*ratio);
      entry.require(entry.compare(arith::CmpIPredicate::eq, entry.times(rows, all), entry.count));
    } else {
      Value by =
          entry.builder.createOrFold<arith::SelectOp>(entry.loc, entry.holds, all, entry.index(1));
      rows = entry.builder.createOrFold<arith::DivSIOp>(entry.loc, entry.count, by);
    }
    return entry.builder.createOrFold<arith::SelectOp>(entry.loc, entry.holds, rows,
                                                       entry.index(0));
  }

  void makeNest(Value rows) {
    SmallVector<Value> upper{rows};
    llvm::append_range(upper, llvm::reverse(extents));
    SmallVector<Value> lower(upper.size(), range.getLower()[0]);
    nest = RangeOp::create(entry.builder, entry.loc, lower, upper);
    nest->setDiscardableAttrs(range->getDiscardableAttrDictionary());
    Block &from = range.getBody().front(), &to = nest.getBody().front();
    to.getOperations().clear();
    to.getOperations().splice(to.begin(), from.getOperations());
    OpBuilder builder = OpBuilder::atBlockBegin(&to);
    for (auto &[value, part] : parts.values)
      if (isWhole(part))
        replace(builder, value, part);
    foldGuards(builder);
    (void)applyPatternsGreedily(nest.getBody(), FrozenRewritePatternSet());
  }

  void replace(OpBuilder &builder, Value value, const NumberPart &part) {
    dropCorrections(builder, value);
    if (value.use_empty())
      return;
    Value made = valueOf(builder, part);
    if (!value.getType().isIndex())
      made = arith::IndexCastOp::create(builder, value.getLoc(), value.getType(), made);
    value.replaceAllUsesWith(made);
  }

  Value valueOf(OpBuilder &builder, const NumberPart &part) {
    auto nsw = arith::IntegerOverflowFlags::nsw;
    size_t first = llvm::find(places, part.place) - places.begin();
    size_t end = part.end ? llvm::find(places, *part.end) - places.begin() : places.size();
    Value sum;
    for (size_t k = end; k-- > first;) {
      Value digit = nest.getBody().getArgument(places.size() - 1 - k);
      sum = sum ? arith::AddIOp::create(
                      builder, entry.loc,
                      arith::MulIOp::create(builder, entry.loc, sum, extents[k], nsw), digit, nsw)
                      .getResult()
                : digit;
    }
    if (auto add = first == 0 && !part.end ? sum.getDefiningOp<arith::AddIOp>() : arith::AddIOp())
      setMark(add, mark::number);
    return sum;
  }

  /// `//` and `%` round towards minus infinity: where the signs of a remainder and its divisor differ, which these never do.
  void dropCorrections(OpBuilder &builder, Value value) {
    if (!value.getDefiningOp<arith::RemSIOp>())
      return;
    Value divisor = value.getDefiningOp()->getOperand(1);
    for (Operation *user : value.getUsers())
      if (auto signs = dyn_cast<arith::XOrIOp>(user);
          signs && llvm::is_contained(signs->getOperands(), divisor))
        for (Operation *test : signs->getUsers())
          if (auto compare = dyn_cast<arith::CmpIOp>(test);
              compare && compare.getPredicate() == arith::CmpIPredicate::slt &&
              matchPattern(compare.getRhs(), m_Zero()))
            replaceInside(builder, compare);
  }

  /// What is an extent is neither 0 nor -1.
  void foldGuards(OpBuilder &builder) {
    for (Value value : positive)
      for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
        auto compare = dyn_cast<arith::CmpIOp>(user);
        if (compare && isNeverPositive(compare))
          replaceInside(builder, compare);
      }
  }

  void replaceInside(OpBuilder &builder, arith::CmpIOp compare) {
    Value never = arith::ConstantIntOp::create(builder, compare.getLoc(), false, 1);
    compare.getResult().replaceUsesWithIf(
        never, [&](OpOperand &use) { return nest->isAncestor(use.getOwner()); });
  }

  RangeOp range, nest;
  const NumberParts &parts;
  ArrayRef<Monomial> places;
  LaunchValues entry;
  SmallVector<Value> extents; ///< of the digits, innermost first, but of the first one
  llvm::SetVector<Value> positive;
};

struct SplitRows : metate::impl::SplitRowsBase<SplitRows> {
  void runOnOperation() override {
    if (getOperation().getDebug()) // one check, one place
      return;
    SmallVector<RangeOp> ranges;
    for (RangeOp range : getOperation().getOps<RangeOp>())
      if (isCandidate(range))
        ranges.push_back(range);
    if (ranges.empty())
      return;
    // Divisors of `//` and `%` are one value then.
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
    for (RangeOp range : ranges)
      visit(range);
  }

private:
  /// One loop from 0 over a number that something is divided by.
  static bool isCandidate(RangeOp range) {
    return range.getLower().size() == 1 && matchPattern(range.getLower()[0], m_Zero()) &&
           range
               .walk([](Operation *op) {
                 return isa<arith::DivSIOp, arith::DivUIOp, arith::ShRSIOp, arith::ShRUIOp,
                            arith::RemSIOp, arith::RemUIOp, arith::AndIOp>(op)
                            ? WalkResult::interrupt()
                            : WalkResult::advance();
               })
               .wasInterrupted();
  }

  /// What all iterations compute alike stands before them: a divisor `m // 2`.
  static void hoistFixed(RangeOp range) {
    moveLoopInvariantCode(
        {&range.getBody()},
        [](Value value, Region *body) { return !body->isAncestor(value.getParentRegion()); },
        [](Operation *op, Region *) { return mayRunAnywhere(op); },
        [&](Operation *op, Region *) { op->moveBefore(range); });
  }

  void visit(RangeOp range) {
    hoistFixed(range);
    NumberParts parts(range);
    SmallVector<Monomial> places = parts.places();
    if (places.size() == 1)
      return;
    APInt count;
    if (matchPattern(range.getUpper()[0], m_ConstantInt(&count)) &&
        (count.getSExtValue() > mostIterations || count.getSExtValue() < leastRow))
      return;
    remarkDone(range, "split-rows", "nests")
        << "a number that is taken apart is a nest of " << Number("dimensions", places.size())
        << " dimensions where a launch's extents are positive and rows not short; the rest of the "
           "last row is a loop of its own";
    RowSplit(range, parts, places).run();
    ++split;
  }
};
} // namespace
