//===- DelinearizeRanges.cpp - nests out of numbers -------------*- C++ -*-===//
//
// `for c in range(n * m): i, j = c // m, c % m` is a nest of n and m: what recognises rows, neighbours and own cells looks at loop
// variables. A loop variable from 0 that is taken apart by constants, with //, %, shifts or masks, becomes a variable for
// each digit, of parallel loops and of those that run in order. The order is the same, so is the iteration's number.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Metate.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/LoopBox.h"
#include "metate/Transforms/OwnPlaces.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/RowLimits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <set>

namespace metate {
#define GEN_PASS_DEF_DELINEARIZERANGES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Of sums along one variable, so many are to be beside each other.
constexpr int64_t leastKept = 16;

/// (variable / divisor) % modulus; a modulus of 0: all that is left.
struct Part {
  int64_t divisor = 1, modulus = 0;
};

std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)) || !constant.isSignedIntN(63))
    return std::nullopt;
  return constant.getSExtValue();
}

/// How operations take the numbers 0, ..., extent - 1 of a variable apart.
class Parts {
public:
  Parts(BlockArgument variable, int64_t extent) : extent(extent) { follow(variable, {}); }

  /// Values of the variable, in the order in which they are computed.
  llvm::MapVector<Value, Part> values;

  /// Extents of the variables that make all of it, outermost first; empty: it is not taken apart, or not evenly. `isSummed`:
  /// short rows are summed (see summedVariables).
  SmallVector<int64_t> digits(bool isSummed) const {
    std::set<int64_t> bounds{1, extent};
    for (auto &[value, part] : values)
      for (int64_t bound : {part.divisor, part.divisor * std::max<int64_t>(part.modulus, 1)})
        if (bound > 1 && bound < extent)
          bounds.insert(bound);
    // The parity of a number and the like are computed.
    if (!isSummed)
      bounds.erase(std::next(bounds.begin()), bounds.lower_bound(leastRow));
    SmallVector<int64_t> digits;
    for (auto bound = bounds.begin(), next = std::next(bound); next != bounds.end();
         ++bound, ++next) {
      if (*next % *bound)
        return {};
      digits.insert(digits.begin(), *next / *bound);
    }
    bool isWorthwhile = digits.size() > 1 && (isSummed || extent <= fewIterations ||
                                              extent / digits.back() >= leastRows);
    return isWorthwhile ? digits : SmallVector<int64_t>();
  }

private:
  void follow(Value value, Part part) {
    if (!values.insert({value, part}).second)
      return;
    for (Operation *user : value.getUsers())
      if (std::optional<Part> next = partOf(user, value, part))
        follow(user->getResult(0), *next);
  }

  std::optional<Part> partOf(Operation *op, Value value, Part part) const {
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp>(op))
      return op->getResult(0).getType().isIndex() ||
                     op->getResult(0).getType().getIntOrFloatBitWidth() >= 32
                 ? std::optional(part)
                 : std::nullopt;
    if (op->getNumOperands() != 2 || op->getOperand(0) != value)
      return std::nullopt;
    std::optional<int64_t> constant = constantOf(op->getOperand(1));
    if (!constant || *constant <= 0 || *constant > extent)
      return std::nullopt;
    if (isa<arith::DivSIOp, arith::DivUIOp>(op))
      return divided(part, *constant);
    if (isa<arith::ShRSIOp, arith::ShRUIOp>(op))
      return *constant < 31 ? divided(part, int64_t(1) << *constant) : std::nullopt;
    if (isa<arith::RemSIOp, arith::RemUIOp>(op))
      return remainder(part, *constant);
    if (isa<arith::AndIOp>(op) && llvm::isPowerOf2_64(*constant + 1))
      return remainder(part, *constant + 1);
    return std::nullopt;
  }

  std::optional<Part> divided(Part part, int64_t by) const {
    if (part.modulus % by || part.divisor > extent / by)
      return std::nullopt;
    return Part{part.divisor * by, part.modulus / by};
  }

  std::optional<Part> remainder(Part part, int64_t by) const {
    if (part.modulus % by || part.divisor > extent / by)
      return std::nullopt;
    return Part{part.divisor, part.divisor * by >= extent ? 0 : by};
  }

  int64_t extent;
};

/// Of a quotient that is corrected to be rounded down, the quotient.
Value uncorrected(Value value) {
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  auto select = value.getDefiningOp<arith::SelectOp>();
  auto less = select ? select.getTrueValue().getDefiningOp<arith::SubIOp>() : nullptr;
  return less && less.getLhs() == select.getFalseValue() ? select.getFalseValue() : value;
}

/// `mean[i // 2, j // 2] += x[i, j]`: by what the variable is divided where several iterations add to one place along it; 1: they do not.
int64_t summedRow(Block &body, const Parts &parts) {
  int64_t row = 1;
  for (Operation &op : body) {
    auto cell = CellAccess::of(&op);
    if (!isa<AtomicOp, memref::AtomicRMWOp>(op) || !op.use_empty() ||
        (cell && (cell->resolve().lastActivity() >= 0 || cell->resolve().lastPool() >= 0)))
      continue;
    for (Value coordinate : writeOf(&op)->second)
      if (auto part = parts.values.find(uncorrected(coordinate));
          part != parts.values.end() && part->second.divisor < leastRow && !part->second.modulus)
        row = std::max(row, part->second.divisor);
  }
  return row;
}

/// How many of the last variables have such short rows. As variables of their own, what tells the iterations of one place apart can
/// be summed in order (metate-serialize-reductions), which asks for the same of the atomic operation. `extents`: 0, not known.
unsigned summedVariables(Block &body, ArrayRef<int64_t> extents) {
  unsigned count = 0;
  int64_t kept = 0;
  for (unsigned axis = extents.size(); axis-- > 0 && extents[axis] >= 2 * leastRow; ++count) {
    int64_t row = summedRow(body, Parts(body.getArgument(axis), extents[axis]));
    if (row == 1)
      break;
    if (count == 0)
      kept = extents[axis] / row;
  }
  // Sums in one direction alone gain less than rows that are too short for vectors lose.
  return count == 1 && kept < leastKept ? 0 : count;
}

/// Writes a loop with the digits of one of its variables for it.
class Split {
public:
  Split(Operation *loop, ArrayRef<int64_t> digits)
      : loc(loop->getLoc()), digits(digits), builder(loop) {}

  scf::ForOp run(scf::ForOp loop, const Parts &parts) {
    SmallVector<Value> lower(digits.size(), number(0)), step(digits.size(), number(1));
    auto upper = llvm::map_to_vector(digits, [&](int64_t digit) { return number(digit); });
    auto body = [&](OpBuilder &inside, Location, ValueRange named, ValueRange carried) {
      llvm::append_range(variables, named);
      for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), carried))
        from.replaceAllUsesWith(to);
      Operation *end = loop.getBody()->getTerminator();
      scf::ValueVector results(end->operand_begin(), end->operand_end());
      end->erase();
      Block &made = *inside.getInsertionBlock();
      made.getOperations().splice(made.end(), loop.getBody()->getOperations());
      return results;
    };
    scf::LoopNest nest =
        scf::buildLoopNest(builder, loc, lower, upper, step, loop.getInitArgs(), body);
    builder.setInsertionPointToStart(nest.loops.back().getBody());
    for (auto &[value, part] : parts.values)
      replace(value, part);
    loop.replaceAllUsesWith(nest.results);
    loop.erase();
    return nest.loops.front();
  }

  RangeOp run(RangeOp range, unsigned axis, const Parts &parts) {
    SmallVector<Value> lower(range.getLower()), upper(range.getUpper());
    lower.erase(lower.begin() + axis);
    upper.erase(upper.begin() + axis);
    lower.insert(lower.begin() + axis, digits.size(), number(0));
    upper.insert(upper.begin() + axis, digits.size(), Value());
    for (auto [k, digit] : llvm::enumerate(digits))
      upper[axis + k] = number(digit);
    auto nest = RangeOp::create(builder, loc, lower, upper);
    nest->setDiscardableAttrs(range->getDiscardableAttrDictionary());
    Block &from = range.getBody().front(), &to = nest.getBody().front();
    for (auto [k, old] : llvm::enumerate(from.getArguments()))
      if (k != axis)
        old.replaceAllUsesWith(to.getArgument(k < axis ? k : k + digits.size() - 1));
    to.getOperations().clear();
    to.getOperations().splice(to.begin(), from.getOperations());
    llvm::append_range(variables, to.getArguments().slice(axis, digits.size()));
    builder.setInsertionPointToStart(&to);
    for (auto &[value, part] : parts.values)
      replace(value, part);
    range.erase();
    return nest;
  }

private:
  Value number(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  /// Users that are parts themselves have a replacement of their own.
  void replace(Value value, Part part) {
    if (value.use_empty())
      return;
    Value made = isEven(part) ? sumOf(part) : Value();
    if (!made)
      return;
    dropCorrections(value);
    if (!value.getType().isIndex())
      made = arith::IndexCastOp::create(builder, value.getLoc(), value.getType(), made);
    value.replaceAllUsesWith(made);
  }

  /// Is it made of whole digits?
  bool isEven(Part part) const {
    int64_t place = 1;
    bool begins = part.divisor == 1, ends = !part.modulus;
    for (int64_t digit : llvm::reverse(digits)) {
      place *= digit;
      begins |= place == part.divisor;
      ends |= place == part.divisor * part.modulus;
    }
    return begins && ends;
  }

  Value sumOf(Part part) {
    Value sum;
    int64_t place = 1;
    for (size_t k = digits.size(); k-- > 0; place *= digits[k]) {
      if (place < part.divisor || (part.modulus && place >= part.divisor * part.modulus))
        continue;
      Value digit = variables[k];
      if (sum && isMutant(Mutant::UpperDigitsForgotten))
        break;
      if (place > part.divisor)
        digit = arith::MulIOp::create(
            builder, loc, digit, arith::ConstantIndexOp::create(builder, loc, place / part.divisor),
            arith::IntegerOverflowFlags::nsw);
      sum = sum ? arith::AddIOp::create(builder, loc, digit, sum, arith::IntegerOverflowFlags::nsw)
                      .getResult()
                : digit;
    }
    return sum ? sum : arith::ConstantIndexOp::create(builder, loc, 0).getResult();
  }

  /// `//` and `%` round towards minus infinity: where the signs of a remainder and its divisor differ, which these never do.
  void dropCorrections(Value remainder) {
    for (Operation *user : llvm::make_early_inc_range(remainder.getUsers())) {
      auto signs = dyn_cast<arith::XOrIOp>(user);
      if (!signs || constantOf(signs.getRhs()).value_or(-1) < 0)
        continue;
      for (Operation *test : llvm::make_early_inc_range(signs->getUsers())) {
        auto compare = dyn_cast<arith::CmpIOp>(test);
        if (!compare || compare.getPredicate() != arith::CmpIPredicate::slt ||
            constantOf(compare.getRhs()) != 0)
          continue;
        Value never = arith::ConstantIntOp::create(builder, compare.getLoc(), false, 1);
        compare.replaceAllUsesWith(never);
      }
    }
  }

  Location loc;
  ArrayRef<int64_t> digits;
  OpBuilder builder;
  SmallVector<Value> variables;
};

struct DelinearizeRanges : metate::impl::DelinearizeRangesBase<DelinearizeRanges> {
  void runOnOperation() override {
    SmallVector<ForEachOp> cells;
    getOperation().walk([&](ForEachOp each) { cells.push_back(each); });
    for (ForEachOp each : cells)
      if (LoopBox::is(each) && isTakenApart(each))
        makeRange(each);
    SmallVector<RangeOp> ranges;
    getOperation().walk([&](RangeOp range) { ranges.push_back(range); });
    for (RangeOp range : ranges)
      visit(range);
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      visit(loop);
  }

private:
  bool maySum() { return !getOperation().getDebug() && !getOperation().getMayAlias(); }

  /// Is one of the variables, which walk the cells of a dense level?
  bool isTakenApart(ForEachOp each) {
    Block &body = each.getBody().front();
    SmallVector<int64_t> extents =
        findPath(cast<TreeType>(each.getTree().getType()), each.getPath())->extents;
    unsigned summed = maySum() ? summedVariables(body, extents) : 0;
    for (auto [axis, extent] : llvm::enumerate(extents))
      if (isInReach(extent) && !Parts(body.getArgument(axis), extent)
                                    .digits(/*isSummed=*/axis + summed >= extents.size())
                                    .empty())
        return true;
    return false;
  }

  /// Does 32-bit arithmetic take it apart, into more than one row?
  static bool isInReach(int64_t extent) {
    return extent >= 2 * leastRow && extent <= std::numeric_limits<int32_t>::max();
  }

  static void makeRange(ForEachOp each) {
    OpBuilder builder(each);
    LoopBox box = LoopBox::of(each, builder);
    auto range = RangeOp::create(builder, each.getLoc(), box.lower, box.upper);
    range->setDiscardableAttrs(each->getDiscardableAttrDictionary());
    Block &from = each.getBody().front(), &to = range.getBody().front();
    for (auto [old, variable] : llvm::zip(from.getArguments(), to.getArguments()))
      old.replaceAllUsesWith(variable);
    to.getOperations().clear();
    to.getOperations().splice(to.begin(), from.getOperations());
    each.erase();
  }

  void visit(scf::ForOp loop) {
    auto lower = constantOf(loop.getLowerBound()), upper = constantOf(loop.getUpperBound());
    if (lower != 0 || constantOf(loop.getStep()) != 1 || !upper || *upper < 2 * leastRow ||
        *upper > std::numeric_limits<int32_t>::max() || !loop->getDiscardableAttrs().empty())
      return;
    Parts parts(cast<BlockArgument>(loop.getInductionVar()), *upper);
    SmallVector<int64_t> digits = parts.digits(/*isSummed=*/false);
    if (digits.empty())
      return;
    loop = Split(loop, digits).run(loop, parts);
    ++split;
    (void)applyPatternsGreedily(loop.getRegion(), FrozenRewritePatternSet());
  }

  void visit(RangeOp range) {
    SmallVector<int64_t> extents; // 0: not from 0, or not known
    for (auto [lower, upper] : llvm::zip(range.getLower(), range.getUpper()))
      extents.push_back(constantOf(lower) == 0 ? constantOf(upper).value_or(0) : 0);
    unsigned summed = maySum() ? summedVariables(range.getBody().front(), extents) : 0;
    bool hasChanged = false;
    for (unsigned axis = extents.size(); axis-- > 0;) {
      if (!isInReach(extents[axis]))
        continue;
      Parts parts(range.getBody().front().getArgument(axis), extents[axis]);
      SmallVector<int64_t> digits = parts.digits(/*isSummed=*/axis + summed >= extents.size());
      if (digits.empty())
        continue;
      range = Split(range, digits).run(range, axis, parts);
      hasChanged = true;
      ++split;
    }
    if (hasChanged) // what corrected signs chooses between one thing
      (void)applyPatternsGreedily(range.getBody(), FrozenRewritePatternSet());
  }
};
} // namespace
