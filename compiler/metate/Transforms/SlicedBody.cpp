//===- SlicedBody.cpp - a loop's body for all elements of a word -*- C++ -*-===//
//
// Values are of three kinds: the same for all elements, which stay as they are; the loop's variable and what is added to it, of which
// only comparisons are asked; and small integers, which are planes of bits. A condition of the first kind stays a branch, one of the
// others is a mask: both sides are computed.
//
//===----------------------------------------------------------------------===//
#include "metate/Transforms/SlicedBody.h"

#include "metate/Level/IndexBuilder.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;

bool SlicedBody::write(Block &body) {
  numbers[variable] = {Number::Place, first};
  numbers[variable].offset = 0;
  for (Operation &op : body)
    if (!writeOp(&op))
      return false;
  return true;
}

void SlicedBody::keepLimits() {
  Value from = at.before(word, limits.lower), to = at.before(word, limits.upper);
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
  std::optional<int64_t> end = getConstantIntValue(limits.upper);
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
