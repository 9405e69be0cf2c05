//===- SlicedBody.cpp - a loop's body for all elements of a word -*- C++ -*-===//
//
// Values are of three kinds: the same for all elements, which stay as they are; the loop's variable and what is added to it, of which
// only comparisons are asked; and small integers, which are planes of bits. A condition of the first kind stays a branch, one of the
// others is a mask: both sides are computed, and reads in them are held inside of the member, for nobody has asked whether they
// are.
//
//===----------------------------------------------------------------------===//
#include "metate/Transforms/SlicedBody.h"

#include "metate/Dialect/Quant.h"
#include "metate/Level/IndexBuilder.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;

std::optional<ElementAccess> ElementAccess::of(Operation *op, Value variable) {
  std::optional<CellAccess> cell = CellAccess::of(op);
  if (!cell || cell->coordinates.empty())
    return std::nullopt;
  ElementAccess access;
  access.path = cell->resolve();
  if (!access.path.place || access.path.levels.empty())
    return std::nullopt;
  LevelInterface level = access.path.levels.back();
  if (!level.hasWords())
    return std::nullopt;
  access.bits = QuantFormat::of(access.path.place.getType())->bits;
  unsigned axis = levelAxes(level).back();
  access.position = llvm::find(access.path.axes, axis) - access.path.axes.begin();
  int64_t elements = access.elements();
  if (level.getLevelExtents().back() % elements != 0)
    return std::nullopt; // a word has elements of two rows
  for (auto [k, coordinate] : llvm::enumerate(cell->coordinates))
    if (k != access.position && LinearForm::of(coordinate).coefficient(variable) != 0)
      return std::nullopt;
  LinearForm form = LinearForm::of(cell->coordinates[access.position]);
  if (form.coefficient(variable) != 1)
    return std::nullopt;
  access.shift = form.constant;
  access.rest = form.without(variable).plus(-form.constant);
  for (auto &[term, coefficient] : access.rest.terms)
    if (coefficient % elements != 0)
      return std::nullopt;
  return access;
}

bool SlicedBody::write(Block &body) {
  numbers[variable] = {Number::Place, first};
  numbers[variable].offset = 0;
  for (Operation &op : body)
    if (!writeOp(&op))
      return false;
  return true;
}

void SlicedBody::limit(Value lower, Value upper) {
  Value from = at.before(word, lower), to = at.before(word, upper);
  mask = at.logic("and", to, at.inverted(from));
}

SlicedBody::Number SlicedBody::numberOf(Value value) {
  auto known = numbers.find(value);
  if (known != numbers.end())
    return known->second;
  return {Number::Same, mapping.lookupOrDefault(value), {}};
}

/// What is the same for all is a constant or a bit.
std::optional<Planes> SlicedBody::planesOf(const Number &number) {
  if (number.kind == Number::Small)
    return number.planes;
  if (number.kind == Number::Sum)
    return at.addedUp(number.sum);
  if (number.kind == Number::Place)
    return std::nullopt;
  APInt constant;
  if (matchPattern(number.value, m_ConstantInt(&constant)) && constant.isSignedIntN(32))
    return at.constant(constant.getBitWidth() == 1 ? int64_t(constant.getZExtValue())
                                                   : constant.getSExtValue());
  if (number.value.getType().isInteger(1))
    return at.spread(number.value);
  if (auto wide = number.value.getDefiningOp<arith::ExtUIOp>();
      wide && wide.getIn().getType().isInteger(1))
    return at.spread(wide.getIn());
  return std::nullopt;
}

bool SlicedBody::setPlanes(Value result, std::optional<Planes> planes) {
  if (!planes)
    return fail("a value in it has too many bits");
  if (planes->bits.size() > PlaneBuilder::mostPlanes)
    return fail("a value in it has too many bits");
  // What leaves a narrow type wraps there; bits of i32 and wider are far away.
  unsigned width = result.getType().getIntOrFloatBitWidth();
  if (width <= PlaneBuilder::mostPlanes)
    *planes = at.wrapped(*planes, width, /*isSigned=*/false);
  numbers[result] = {Number::Small, {}, std::move(*planes)};
  return true;
}

Value SlicedBody::toIndex(Value integer) {
  if (integer.getType().isIndex())
    return integer;
  return arith::IndexCastOp::create(builder, at.loc, builder.getIndexType(), integer);
}

bool SlicedBody::writeOp(Operation *op) {
  at.loc = op->getLoc();
  if (auto load = dyn_cast<LoadOp>(op); load && ElementAccess::of(op, variable))
    return writeLoad(load);
  if (auto store = dyn_cast<StoreOp>(op))
    return writeStore(store);
  if (isa<AtomicOp, memref::AtomicRMWOp>(op))
    return writeSum(op);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return writeIf(branch);
  bool isSame = llvm::all_of(op->getOperands(),
                             [&](Value operand) { return numberOf(operand).kind == Number::Same; });
  if (isSame && op->getNumRegions() == 0 && isMemoryEffectFree(op)) {
    if (mask && !isSpeculatable(op))
      return fail("an operation under a condition may not run for all");
    builder.clone(*op, mapping);
    return true;
  }
  if (isSame && !mask && isa<LoadOp, memref::LoadOp>(op)) {
    builder.clone(*op, mapping);
    return true;
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return writeCompare(compare);
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return writeChoice(*choiceOf(select->getOpOperand(1)));
  if (isa<arith::AddIOp>(op) && countingOf(op->getResult(0)))
    return true; // its choice adds the condition
  return writeArith(op);
}

bool SlicedBody::writeArith(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() || !op->getResult(0).getType().isIntOrIndex())
    return fail("an operation in it is none on integers");
  Value result = op->getResult(0);
  Number a = numberOf(op->getOperand(0)),
         b = op->getNumOperands() > 1 ? numberOf(op->getOperand(1)) : Number();
  // Numbers of elements: what is added to one, and other widths.
  if (a.kind == Number::Place || (b.kind == Number::Place && op->getNumOperands() > 1)) {
    bool isMoved = isa<arith::AddIOp>(op) && (a.kind == Number::Same || b.kind == Number::Same);
    isMoved |= isa<arith::SubIOp>(op) && b.kind == Number::Same;
    if (!isMoved && !isa<arith::IndexCastOp>(op))
      return fail("an operation in it is on the element's number");
    IRMapping own = mapping;
    for (Value operand : op->getOperands())
      own.map(operand, numberOf(operand).value);
    std::optional<int64_t> offset = a.kind == Number::Place ? a.offset : b.offset;
    if (isMoved && offset) {
      auto by = getConstantIntValue(a.kind == Number::Place ? b.value : a.value);
      offset = by ? std::optional(*offset + (isa<arith::SubIOp>(op) ? -*by : *by)) : std::nullopt;
    }
    numbers[result] = {Number::Place, builder.clone(*op, own)->getResult(0)};
    numbers[result].offset = offset;
    return true;
  }
  if (isa<arith::AddIOp, arith::SubIOp>(op) && writeTerm(op, a, b))
    return true;
  std::optional<Planes> x = planesOf(a), y = op->getNumOperands() > 1 ? planesOf(b) : Planes();
  if (!x || !y)
    return fail("a value in it is neither a small integer nor a constant");
  unsigned width = op->getOperand(0).getType().getIntOrFloatBitWidth();
  bool isNarrow = width <= PlaneBuilder::mostPlanes;
  auto asSigned = [&](const Planes &value) {
    return isNarrow ? at.wrapped(value, width, true) : value;
  };
  auto isNatural = [&] { return !x->isSigned() && !y->isSigned(); };
  if (isa<arith::ExtUIOp>(op))
    return isNatural() ? setPlanes(result, x)
                       : fail("a negative value is taken as one without a sign");
  if (isa<arith::ExtSIOp>(op))
    return setPlanes(result, asSigned(*x));
  if (isa<arith::TruncIOp>(op)) {
    unsigned to = result.getType().getIntOrFloatBitWidth();
    if (to > PlaneBuilder::mostPlanes && x->isSigned())
      return setPlanes(result, x);
    return setPlanes(result, to > PlaneBuilder::mostPlanes ? x : at.wrapped(*x, to, false));
  }
  if (isa<arith::AddIOp>(op))
    return setPlanes(result, at.add(*x, *y));
  if (isa<arith::SubIOp>(op))
    return setPlanes(result, at.subtract(*x, *y));
  if (isa<arith::MulIOp>(op))
    return setPlanes(result, at.multiply(*x, *y));
  if (isa<arith::AndIOp>(op))
    return setPlanes(result, at.bitwise("and", *x, *y));
  if (isa<arith::OrIOp>(op))
    return setPlanes(result, at.bitwise("or", *x, *y));
  if (isa<arith::XOrIOp>(op))
    return setPlanes(result, at.bitwise("xor", *x, *y));
  bool isSignedExtreme = isa<arith::MinSIOp, arith::MaxSIOp>(op);
  if (isSignedExtreme || isa<arith::MinUIOp, arith::MaxUIOp>(op)) {
    if (!isSignedExtreme && !isNatural())
      return fail("a negative value is taken as one without a sign");
    Planes left = isSignedExtreme ? asSigned(*x) : *x, right = isSignedExtreme ? asSigned(*y) : *y;
    Value less = at.less(left, right);
    Planes chosen = isa<arith::MinSIOp, arith::MinUIOp>(op) ? at.select(less, left, right)
                                                            : at.select(less, right, left);
    // The range of an extreme is narrower than that of a choice.
    bool isMin = isa<arith::MinSIOp, arith::MinUIOp>(op);
    int64_t least = isMin ? std::min(left.least, right.least) : std::max(left.least, right.least);
    int64_t greatest =
        isMin ? std::min(left.greatest, right.greatest) : std::max(left.greatest, right.greatest);
    return setPlanes(result, at.narrowed(chosen, least, greatest));
  }
  bool isLeft = isa<arith::ShLIOp>(op);
  if (isLeft || isa<arith::ShRUIOp, arith::ShRSIOp>(op)) {
    APInt by;
    if (b.kind != Number::Same || !matchPattern(b.value, m_ConstantInt(&by)) || by.uge(width))
      return fail("a shift in it is not by a constant");
    if (isa<arith::ShRUIOp>(op) && !isNatural())
      return fail("a negative value is taken as one without a sign");
    Planes from = isa<arith::ShRSIOp>(op) ? asSigned(*x) : *x;
    return setPlanes(result, at.shift(from, by.getZExtValue(), isLeft));
  }
  return fail("an operation in it has no form on planes of bits");
}

bool SlicedBody::writePlaceCompare(arith::CmpIOp op) {
  using Predicate = arith::CmpIPredicate;
  Number a = numberOf(op.getLhs()), b = numberOf(op.getRhs());
  Predicate predicate = op.getPredicate();
  if (b.kind == Number::Place && a.kind == Number::Same) {
    std::swap(a, b);
    switch (predicate) {
    case Predicate::slt:
      predicate = Predicate::sgt;
      break;
    case Predicate::sle:
      predicate = Predicate::sge;
      break;
    case Predicate::sgt:
      predicate = Predicate::slt;
      break;
    case Predicate::sge:
      predicate = Predicate::sle;
      break;
    default:
      break;
    }
  }
  if (a.kind != Number::Place || b.kind != Number::Same)
    return fail("the element's number is compared with something else than a number that all have");
  // a.value + e compared with b.value: the element's number with what is left of b.value, which no word changes where it can be told.
  IndexBuilder index(builder, at.loc);
  Value limit = toIndex(b.value);
  constexpr int64_t far = std::numeric_limits<int32_t>::max();
  if (a.offset == 0 || (a.offset && end && *end + *a.offset <= far && *a.offset >= -far))
    limit = index.add(limit, -*a.offset);
  else
    limit = index.add(index.subtract(limit, toIndex(a.value)), first);
  Value next = index.add(limit, 1);
  auto before = [&](Value number) { return at.before(word, number); };
  Value plane;
  switch (predicate) {
  case Predicate::slt:
    plane = before(limit);
    break;
  case Predicate::sle:
    plane = before(next);
    break;
  case Predicate::sge:
    plane = at.inverted(before(limit));
    break;
  case Predicate::sgt:
    plane = at.inverted(before(next));
    break;
  case Predicate::eq:
    plane = at.logic("xor", before(next), before(limit));
    break;
  case Predicate::ne:
    plane = at.inverted(at.logic("xor", before(next), before(limit)));
    break;
  default:
    return fail("the element's number is compared as one without a sign");
  }
  return setPlanes(op, Planes{{plane}, 0, 1});
}

bool SlicedBody::writeCompare(arith::CmpIOp op) {
  using Predicate = arith::CmpIPredicate;
  if (numberOf(op.getLhs()).kind == Number::Place || numberOf(op.getRhs()).kind == Number::Place)
    return writePlaceCompare(op);
  std::optional<Planes> x = planesOf(op.getLhs()), y = planesOf(op.getRhs());
  if (!x || !y)
    return fail("a value in it is neither a small integer nor a constant");
  Predicate predicate = op.getPredicate();
  unsigned width = op.getLhs().getType().getIntOrFloatBitWidth();
  bool isEquality = predicate == Predicate::eq || predicate == Predicate::ne;
  bool isSigned = llvm::is_contained(
      {Predicate::slt, Predicate::sle, Predicate::sgt, Predicate::sge}, predicate);
  if (width <= PlaneBuilder::mostPlanes) {
    x = at.wrapped(*x, width, isSigned);
    y = at.wrapped(*y, width, isSigned);
  } else if (!isSigned && !isEquality && (x->isSigned() || y->isSigned())) {
    return fail("a negative value is taken as one without a sign");
  }
  Value plane;
  switch (predicate) {
  case Predicate::eq:
    plane = at.equal(*x, *y);
    break;
  case Predicate::ne:
    plane = at.inverted(at.equal(*x, *y));
    break;
  case Predicate::slt:
  case Predicate::ult:
    plane = at.less(*x, *y);
    break;
  case Predicate::sgt:
  case Predicate::ugt:
    plane = at.less(*y, *x);
    break;
  case Predicate::sle:
  case Predicate::ule:
    plane = at.inverted(at.less(*y, *x));
    break;
  case Predicate::sge:
  case Predicate::uge:
    plane = at.inverted(at.less(*x, *y));
    break;
  }
  return setPlanes(op, Planes{{plane}, 0, 1});
}

/// An integer that no number of as many planes as there may be wraps in.
static bool isWide(Value value) {
  auto type = dyn_cast<IntegerType>(value.getType());
  return type && type.getWidth() > PlaneBuilder::mostPlanes;
}

std::optional<SlicedBody::Choice> SlicedBody::choiceOf(OpOperand &use) {
  if (auto select = dyn_cast<arith::SelectOp>(use.getOwner()); select && use.getOperandNumber() > 0)
    return Choice{select.getCondition(), select.getTrueValue(), select.getFalseValue(),
                  select.getResult()};
  auto branch = isa<scf::YieldOp>(use.getOwner())
                    ? dyn_cast<scf::IfOp>(use.getOwner()->getParentOp())
                    : scf::IfOp();
  if (!branch)
    return std::nullopt;
  unsigned k = use.getOperandNumber();
  return Choice{branch.getCondition(), branch.thenYield().getOperand(k),
                branch.elseYield().getOperand(k), branch.getResult(k)};
}

std::optional<SlicedBody::Counting> SlicedBody::countingOf(Value value) {
  auto add = value.getDefiningOp<arith::AddIOp>();
  if (!add || !value.hasOneUse() || !isWide(value))
    return std::nullopt;
  std::optional<Choice> choice = choiceOf(*value.use_begin());
  auto step = getConstantIntValue(add.getRhs());
  if (!choice || !step || std::abs(*step) > 15)
    return std::nullopt;
  bool isYes = choice->yes == value;
  if ((isYes ? choice->no : choice->yes) != add.getLhs())
    return std::nullopt;
  bool isBranch = choice->result.getDefiningOp<scf::IfOp>() != nullptr;
  if (isBranch && numberOf(choice->condition).kind == Number::Same)
    return std::nullopt; // which stays a branch
  return Counting{*choice, add.getLhs(), *step, isYes};
}

/// Whatever uses it adds it to something else.
bool SlicedBody::isLeftAsSum(Value value) {
  if (value.hasOneUse())
    return isa<arith::AddIOp, arith::SubIOp>(*value.user_begin());
  std::optional<Counting> counting;
  for (Operation *user : value.getUsers())
    if (auto add = dyn_cast<arith::AddIOp>(user))
      counting = countingOf(add);
  return counting && counting->base == value && llvm::all_of(value.getUses(), [&](OpOperand &use) {
           if (isa<arith::AddIOp>(use.getOwner()))
             return countingOf(use.getOwner()->getResult(0)).has_value();
           std::optional<Choice> choice = choiceOf(use);
           return choice && choice->result == counting->choice.result;
         });
}

std::optional<PlaneSum> SlicedBody::sumOf(const Number &number) {
  if (number.kind == Number::Sum)
    return number.sum;
  std::optional<Planes> planes = planesOf(number);
  return planes ? at.toSum(*planes) : std::nullopt;
}

bool SlicedBody::setSum(Value result, PlaneSum sum) {
  if (!isLeftAsSum(result))
    return setPlanes(result, at.addedUp(std::move(sum)));
  numbers[result] = {Number::Sum, {}, {}, std::move(sum)};
  return true;
}

/// A sum or a difference of numbers without a sign, or with a constant. False: it is none, and nothing is written.
bool SlicedBody::writeTerm(Operation *op, const Number &a, const Number &b) {
  Value result = op->getResult(0);
  if (!isWide(result))
    return false;
  std::optional<PlaneSum> x = sumOf(a), y = sumOf(b);
  if (x && y && isa<arith::SubIOp>(op))
    y = at.negated(*y);
  if (!x || !y)
    return false;
  PlaneSum sum = at.joined(std::move(*x), *y);
  return at.fits(sum) && setSum(result, std::move(sum));
}

/// What the number is less than where the condition holds: `x < 15 and ...`; nullopt: it does not say.
static std::optional<int64_t> boundOf(Value condition, Value number) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    std::optional<int64_t> bound = boundOf(both.getLhs(), number);
    return bound ? bound : boundOf(both.getRhs(), number);
  }
  auto isNever = [](Value value) { return getConstantIntValue(value) == 0; };
  if (auto select = condition.getDefiningOp<arith::SelectOp>();
      select && isNever(select.getFalseValue())) {
    std::optional<int64_t> bound = boundOf(select.getCondition(), number);
    return bound ? bound : boundOf(select.getTrueValue(), number);
  }
  if (auto branch = condition.getDefiningOp<scf::IfOp>()) {
    unsigned k = cast<OpResult>(condition).getResultNumber();
    if (!isNever(branch.elseYield().getOperand(k)))
      return std::nullopt;
    std::optional<int64_t> bound = boundOf(branch.getCondition(), number);
    return bound ? bound : boundOf(branch.thenYield().getOperand(k), number);
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  auto limit = compare ? getConstantIntValue(compare.getRhs()) : std::nullopt;
  if (!limit || compare.getLhs() != number)
    return std::nullopt;
  if (compare.getPredicate() == arith::CmpIPredicate::slt)
    return limit;
  return compare.getPredicate() == arith::CmpIPredicate::sle ? std::optional(*limit + 1)
                                                             : std::nullopt;
}

bool SlicedBody::writeChoice(const Choice &choice) {
  std::optional<Planes> condition = planesOf(choice.condition);
  if (!condition)
    return fail("a value in it is neither a small integer nor a constant");
  Value holds = condition->bits.empty() ? at.zeros() : condition->bits[0];
  std::optional<Counting> counting;
  for (Value one : {choice.yes, choice.no})
    if (!counting)
      counting = countingOf(one);
  if (!counting || counting->choice.result != choice.result) {
    std::optional<Planes> x = planesOf(choice.yes), y = planesOf(choice.no);
    if (!x || !y)
      return fail("a value in it is neither a small integer nor a constant");
    return setPlanes(choice.result, at.select(holds, *x, *y));
  }
  // The step where it holds: of one that is less than nothing, the step, less it where it does not hold.
  bool isAdded = counting->isYes == (counting->step > 0);
  Planes times{{isAdded ? holds : at.inverted(holds)}, 0, 1};
  std::optional<PlaneSum> sum = sumOf(numberOf(counting->base));
  std::optional<Planes> steps = at.multiply(*at.constant(std::abs(counting->step)), times);
  if (sum && steps) {
    PlaneSum joined = at.joined(*sum, *at.toSum(*steps));
    // Counting ends at a bound.
    std::optional<int64_t> bound = boundOf(choice.condition, counting->base);
    if (bound && counting->isYes && counting->step > 0)
      joined.greatest =
          std::max(sum->greatest, std::min(sum->greatest, *bound - 1) + counting->step);
    if (counting->step < 0)
      joined = at.joined(std::move(joined), *at.toSum(*at.constant(counting->step)));
    if (at.fits(joined))
      return setSum(choice.result, std::move(joined));
  }
  std::optional<Planes> base = planesOf(counting->base);
  std::optional<Planes> stepped = base ? at.add(*base, *at.constant(counting->step)) : base;
  if (!stepped)
    return fail("a value in it has too many bits");
  return setPlanes(choice.result, counting->isYes ? at.select(holds, *stepped, *base)
                                                  : at.select(holds, *base, *stepped));
}

bool SlicedBody::writeIf(scf::IfOp op) {
  Number condition = numberOf(op.getCondition());
  Block *sides[] = {op.thenBlock(), op.elseBlock()};
  Location loc = op.getLoc();
  if (condition.kind != Number::Same) {
    Value holds = condition.planes.bits.empty() ? at.zeros() : condition.planes.bits[0],
          before = mask;
    bool wasConditional = std::exchange(isConditional, true);
    for (int side : {0, 1}) {
      if (!sides[side])
        continue;
      Value own = at.cleared(side ? at.inverted(holds) : holds);
      mask = before ? at.logic("and", before, own) : own;
      for (Operation &inner : sides[side]->without_terminator())
        if (!writeOp(&inner))
          return false;
    }
    mask = before;
    isConditional = wasConditional;
    for (OpOperand &yielded :
         op.getNumResults() ? op.thenYield()->getOpOperands() : MutableArrayRef<OpOperand>())
      if (!writeChoice(*choiceOf(yielded)))
        return false;
    return true;
  }
  // Both sides run somewhere: what they give has the planes of the one with more, and a range that holds both.
  auto branch = scf::IfOp::create(builder, loc, TypeRange(), condition.value, /*withElse=*/true);
  SmallVector<SmallVector<Planes>> results(2);
  for (int side : {0, 1}) {
    OpBuilder::InsertionGuard guard(builder);
    Block &block = side ? *branch.elseBlock() : *branch.thenBlock();
    builder.setInsertionPoint(block.getTerminator());
    if (!sides[side])
      continue;
    for (Operation &inner : sides[side]->without_terminator())
      if (!writeOp(&inner))
        return false;
    for (Value yielded : sides[side]->getTerminator()->getOperands()) {
      std::optional<Planes> value = planesOf(yielded);
      if (!value)
        return fail("a value in it is neither a small integer nor a constant");
      results[side].push_back(*value);
    }
  }
  if (op.getNumResults() == 0)
    return true;
  SmallVector<Planes> joined;
  SmallVector<Value> yielded[2];
  for (unsigned k = 0; k < op.getNumResults(); ++k) {
    int64_t least = std::min(results[0][k].least, results[1][k].least);
    int64_t greatest = std::max(results[0][k].greatest, results[1][k].greatest);
    Planes both = at.ofBounds(least, greatest);
    for (int side : {0, 1}) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint((side ? branch.elseBlock() : branch.thenBlock())->getTerminator());
      for (unsigned bit = 0; bit < both.bits.size(); ++bit)
        yielded[side].push_back(at.bitOf(results[side][k], bit));
    }
    joined.push_back(both);
  }
  Type type = builder.getIntegerType(at.width);
  SmallVector<Type> types(yielded[0].size(), type);
  auto whole = scf::IfOp::create(builder, loc, types, condition.value, /*withElse=*/true);
  for (int side : {0, 1}) {
    Block &from = side ? *branch.elseBlock() : *branch.thenBlock();
    Block &to = side ? *whole.elseBlock() : *whole.thenBlock();
    from.getTerminator()->erase();
    to.getOperations().splice(to.begin(), from.getOperations());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&to);
    scf::YieldOp::create(builder, loc, yielded[side]);
  }
  branch.erase();
  unsigned next = 0;
  for (auto [result, planes] : llvm::zip(op.getResults(), joined)) {
    for (Value &bit : planes.bits)
      bit = whole.getResult(next++);
    if (!setPlanes(result, planes))
      return false;
  }
  return true;
}

/// Coordinates of the first element of a word, so many words behind the one at the variable.
SmallVector<Value> SlicedBody::coordinatesOf(CellOpInterface op, const ElementAccess &access,
                                             int64_t words) {
  IndexBuilder index(builder, at.loc);
  SmallVector<Value> coordinates;
  for (auto [k, given] : llvm::enumerate(op.getCellCoordinates())) {
    int64_t extent = access.path.extents[k];
    // Under a condition nobody knows whether it is inside. Sparse trees read the background there.
    bool isHeld = mask && access.path.lastActivity() < 0;
    auto held = [&](Value number, int64_t last) {
      return isHeld ? index.greatest(index.least(number, index.index(last)), index.index(0))
                    : number;
    };
    Value coordinate;
    if (k == access.position) {
      int64_t elements = access.elements();
      coordinate = index.add(word, words);
      for (auto &[term, coefficient] : access.rest.terms)
        coordinate = index.add(
            coordinate, index.multiply(mapping.lookupOrDefault(term), coefficient / elements));
      coordinate = index.multiply(held(coordinate, extent / elements - 1), elements);
    } else {
      coordinate = held(mapping.lookupOrDefault(given), extent - 1);
    }
    coordinates.push_back(coordinate);
  }
  return coordinates;
}

Value SlicedBody::wordAt(LoadOp op, const ElementAccess &access, int64_t words) {
  return LoadWordOp::create(builder, at.loc, builder.getIntegerType(at.width),
                            mapping.lookupOrDefault(op.getTree()), op.getPath(),
                            coordinatesOf(op, access, words));
}

bool SlicedBody::writeLoad(LoadOp op) {
  ElementAccess access = *ElementAccess::of(op, variable);
  if (access.word() != at.width || access.bits != at.stride)
    return fail("it reads words of another kind than it writes");
  if (access.bits > 4)
    return fail("its elements have more than 4 bits");
  for (auto [k, coordinate] : llvm::enumerate(op.getCoordinates()))
    if (k != access.position && numberOf(coordinate).kind != Number::Same)
      return fail("a coordinate in it differs from element to element");
  int64_t elements = at.elements;
  int64_t words =
      access.shift >= 0 ? access.shift / elements : -((-access.shift + elements - 1) / elements);
  unsigned by = access.shift - words * elements;
  Value word = wordAt(op, access, words);
  if (by) {
    word = at.shifted(word, by * at.stride, /*left=*/false);
    if (!isMutant(Mutant::WordNeighbourForgotten)) {
      Value next = wordAt(op, access, words + 1);
      word = at.wordLogic("or", word, at.shifted(next, (elements - by) * at.stride, /*left=*/true));
    }
  }
  return setPlanes(op.getValue(), at.fromWord(word, access.bits));
}

/// What all elements add to one place: as often each plane's weight as it has bits.
bool SlicedBody::writeSum(Operation *op) {
  auto cell = dyn_cast<AtomicOp>(op);
  Value value = cell ? cell.getValue() : cast<memref::AtomicRMWOp>(op).getValue();
  auto kind = cell ? cell.getKind() : cast<memref::AtomicRMWOp>(op).getKind();
  if (kind != arith::AtomicRMWKind::addi || !op->use_empty() ||
      !isa<IntegerType>(value.getType()) || value.getType().getIntOrFloatBitWidth() < 32)
    return fail("an atomic operation in it is no sum of integers");
  for (Value operand : op->getOperands())
    if (operand != value && numberOf(operand).kind != Number::Same)
      return fail("it adds to other places for other elements");
  std::optional<Planes> planes = planesOf(value);
  if (!planes)
    return fail("a value in it is neither a small integer nor a constant");
  Type type = value.getType();
  Value sum;
  for (auto [k, plane] : llvm::enumerate(planes->bits)) {
    Value counted = mask ? at.wordLogic("and", plane, mask) : at.cleared(plane);
    Value count = math::CtPopOp::create(builder, at.loc, counted);
    if (at.width < type.getIntOrFloatBitWidth())
      count = arith::ExtUIOp::create(builder, at.loc, type, count);
    else if (at.width > type.getIntOrFloatBitWidth())
      count = arith::TruncIOp::create(builder, at.loc, type, count);
    bool isSign = planes->isSigned() && k + 1 == planes->bits.size();
    int64_t weight = (isSign ? -1 : 1) * (int64_t(1) << k);
    Value factor = arith::ConstantOp::create(builder, at.loc, builder.getIntegerAttr(type, weight));
    Value part =
        weight == 1 ? count : arith::MulIOp::create(builder, at.loc, count, factor).getResult();
    sum = sum ? arith::AddIOp::create(builder, at.loc, sum, part).getResult() : part;
  }
  if (!sum)
    return true; // it adds nothing
  IRMapping own = mapping;
  own.map(value, sum);
  bool isSafe = op->hasAttr(mark::reduction); // a variable of the task
  if (cell) {
    TreePath path = CellAccess::of(op)->resolve();
    isSafe |= llvm::all_of(llvm::zip(cell.getCoordinates(), path.extents), [&](auto pair) {
      return isWithin(std::get<0>(pair), std::get<1>(pair));
    });
  }
  whereAny(isSafe, [&] { builder.clone(*op, own); });
  return true;
}

bool SlicedBody::isWithin(Value coordinate, int64_t extent) const {
  LinearForm form = LinearForm::of(coordinate);
  if (form.coefficient(variable) == 0)
    return form.isWithin(extent);
  LinearForm rest = form.without(variable);
  return begin && end && form.coefficient(variable) == 1 && rest.plus(*begin).isWithin(extent) &&
         rest.plus(*end - 1).isWithin(extent);
}

/// A place of which no element asks may be nowhere: nothing touches it then. `isSafe`: it is there.
void SlicedBody::whereAny(bool isSafe, llvm::function_ref<void()> write) {
  if (isSafe || !isConditional)
    return write();
  Value isAny = arith::CmpIOp::create(builder, at.loc, arith::CmpIPredicate::ne, mask, at.zeros());
  auto branch = scf::IfOp::create(builder, at.loc, isAny, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenYield());
  write();
}

bool SlicedBody::writeStore(StoreOp op) {
  std::optional<ElementAccess> access = ElementAccess::of(op, variable);
  if (!access)
    return fail("it stores something else");
  if (access->word() != at.width || access->bits != at.stride || access->shift != 0)
    return fail("it writes words of several kinds, or not its own");
  for (auto [k, coordinate] : llvm::enumerate(op.getCoordinates()))
    if (k != access->position && numberOf(coordinate).kind != Number::Same)
      return fail("a coordinate in it differs from element to element");
  std::optional<Planes> value = planesOf(op.getValue());
  if (!value)
    return fail("a value in it is neither a small integer nor a constant");
  Value word = at.toWord(*value, access->bits), where = mask;
  mask = {}; // the word is the iteration's own
  SmallVector<Value> coordinates = coordinatesOf(op, *access, 0);
  mask = where;
  Value tree = mapping.lookupOrDefault(op.getTree());
  bool isSafe = llvm::all_of(llvm::zip(op.getCoordinates(), access->path.extents), [&](auto pair) {
    return isWithin(std::get<0>(pair), std::get<1>(pair));
  });
  whereAny(isSafe, [&] {
    if (where) {
      Value kept = where;
      for (unsigned k = 1; k < access->bits; ++k)
        kept = at.wordLogic("or", kept, at.shifted(where, k, /*left=*/true));
      Value old =
          LoadWordOp::create(builder, at.loc, word.getType(), tree, op.getPath(), coordinates);
      Value changed = arith::XOrIOp::create(builder, at.loc, old, word);
      changed = arith::AndIOp::create(builder, at.loc, changed, kept);
      word = arith::XOrIOp::create(builder, at.loc, old, changed);
    }
    StoreWordOp::create(builder, at.loc, word, tree, op.getPath(), coordinates, op.getActive());
  });
  return true;
}
