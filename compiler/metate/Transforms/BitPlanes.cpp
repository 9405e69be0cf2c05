//===- BitPlanes.cpp - arithmetic of many small integers at once -*- C++ -*-===//
#include "metate/Transforms/BitPlanes.h"

#include "metate/Level/IndexBuilder.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;

/// Planes that numbers between the bounds need.
static unsigned planesOf(int64_t least, int64_t greatest) {
  unsigned bits = 0;
  if (least >= 0)
    return 64 - llvm::countl_zero(uint64_t(greatest));
  while (-(int64_t(1) << bits) > least || (int64_t(1) << bits) - 1 < greatest)
    ++bits;
  return bits + 1;
}

uint64_t PlaneBuilder::lanes() const {
  uint64_t mask = 0;
  for (unsigned k = 0; k < elements; ++k)
    mask |= uint64_t(1) << (k * stride);
  return mask;
}

Value PlaneBuilder::word(uint64_t value) {
  Type type = builder.getIntegerType(width);
  return arith::ConstantOp::create(builder, loc,
                                   IntegerAttr::get(type, APInt(64, value).zextOrTrunc(width)));
}

Value PlaneBuilder::ones() { return word(lanes()); }

Value PlaneBuilder::combined(StringRef kind, Value a, Value b, uint64_t all) {
  APInt left, right;
  bool isLeft = matchPattern(a, m_ConstantInt(&left)),
       isRight = matchPattern(b, m_ConstantInt(&right));
  if (isLeft && isRight)
    return word((kind == "and"  ? left & right
                 : kind == "or" ? left | right
                                : left ^ right)
                    .getZExtValue());
  if (isLeft || isRight) {
    uint64_t known = (isLeft ? left : right).getZExtValue();
    Value other = isLeft ? b : a;
    if (known == 0)
      return kind == "and" ? word(0) : other;
    if (known == all && kind == "and")
      return other;
    if (known == all && kind == "or")
      return word(known);
  }
  if (a == b)
    return kind == "xor" ? word(0) : a;
  if (kind == "and")
    return arith::AndIOp::create(builder, loc, a, b);
  if (kind == "or")
    return arith::OrIOp::create(builder, loc, a, b);
  return arith::XOrIOp::create(builder, loc, a, b);
}

Value PlaneBuilder::shifted(Value value, unsigned by, bool left) {
  if (by == 0)
    return value;
  if (by >= width)
    return word(0);
  Value amount = word(by);
  if (left)
    return arith::ShLIOp::create(builder, loc, value, amount);
  return arith::ShRUIOp::create(builder, loc, value, amount);
}

std::optional<Planes> PlaneBuilder::constant(int64_t value) {
  Planes result{{}, value, value};
  unsigned count = planesOf(value, value);
  if (count > mostPlanes)
    return std::nullopt;
  for (unsigned k = 0; k < count; ++k)
    result.bits.push_back(value >> k & 1 ? ones() : zeros());
  return result;
}

Planes PlaneBuilder::spread(Value bit) {
  return {{arith::ExtSIOp::create(builder, loc, builder.getIntegerType(width), bit)}, 0, 1};
}

Planes PlaneBuilder::fromWord(Value packed, unsigned bits) {
  Planes result{{}, 0, (int64_t(1) << bits) - 1};
  for (unsigned k = 0; k < bits; ++k)
    result.bits.push_back(shifted(packed, k, /*left=*/false));
  return result;
}

Value PlaneBuilder::cleared(Value plane) {
  return stride == 1 ? plane : wordLogic("and", plane, ones());
}

Value PlaneBuilder::toWord(const Planes &value, unsigned bits) {
  Value packed = zeros();
  for (unsigned k = 0; k < bits; ++k)
    packed = wordLogic("or", packed, shifted(cleared(bitOf(value, k)), k, /*left=*/true));
  return packed;
}

Value PlaneBuilder::before(Value wordNumber, Value end) {
  // Of all words one has some of them.
  IndexBuilder index(builder, loc);
  Value last, some;
  if (std::optional<int64_t> known = getConstantIntValue(end)) {
    int64_t whole = llvm::divideFloorSigned(*known, int64_t(elements));
    last = index.index(whole);
    some = word(lanes() & ((uint64_t(1) << (*known - whole * elements) * stride) - 1));
  } else {
    last = index.divideFloor(end, elements);
    Value rest = index.subtract(end, index.multiply(last, elements));
    Value count = index.toInteger(index.multiply(rest, stride), width);
    Value bit = arith::ShLIOp::create(builder, loc, word(1), count);
    some = arith::SubIOp::create(builder, loc, bit, word(1));
    some = arith::AndIOp::create(builder, loc, some, ones());
  }
  Value isBefore = index.compare(arith::CmpIPredicate::slt, wordNumber, last);
  Value isIt = index.compare(arith::CmpIPredicate::eq, wordNumber, last);
  some = arith::SelectOp::create(builder, loc, isIt, some, zeros());
  return arith::SelectOp::create(builder, loc, isBefore, ones(), some);
}

Value PlaneBuilder::bitOf(const Planes &a, unsigned k) {
  if (k < a.bits.size())
    return a.bits[k];
  return a.isSigned() && !a.bits.empty() ? a.bits.back() : zeros();
}

Planes PlaneBuilder::ofRange(SmallVector<Value> bits, int64_t least, int64_t greatest) {
  bits.truncate(std::min<size_t>(bits.size(), planesOf(least, greatest)));
  return {std::move(bits), least, greatest};
}

std::optional<Planes> PlaneBuilder::sum(const Planes &a, const Planes &b, bool subtracts) {
  int64_t least = subtracts ? a.least - b.greatest : a.least + b.least;
  int64_t greatest = subtracts ? a.greatest - b.least : a.greatest + b.greatest;
  unsigned count = planesOf(least, greatest);
  if (count > mostPlanes)
    return std::nullopt;
  SmallVector<Value> bits;
  Value carry = subtracts ? ones() : zeros();
  for (unsigned k = 0; k < count; ++k) {
    Value x = bitOf(a, k), y = bitOf(b, k);
    if (subtracts)
      y = inverted(y);
    Value differ = logic("xor", x, y);
    bits.push_back(logic("xor", differ, carry));
    if (isMutant(Mutant::PlaneCarryLost) && k + 2 == count)
      carry = zeros();
    else if (k + 1 < count)
      carry = majority(y, x, carry);
  }
  return ofRange(std::move(bits), least, greatest);
}

/// Where two of them agree it is what they have, else the third.
Value PlaneBuilder::majority(Value a, Value b, Value c) {
  for (int turn = 0; turn < 3; ++turn) {
    APInt known;
    if (matchPattern(c, m_ConstantInt(&known)))
      return logic(known.isZero() ? "and" : "or", a, b);
    std::swap(a, b);
    std::swap(b, c);
  }
  return logic("xor", a, logic("and", logic("xor", a, b), logic("xor", a, c)));
}

std::optional<PlaneSum> PlaneBuilder::toSum(const Planes &a) {
  if (a.least == a.greatest)
    return PlaneSum{{}, a.least, a.least, a.least};
  if (a.isSigned())
    return std::nullopt;
  PlaneSum sum{{}, 0, a.least, a.greatest};
  for (Value bit : a.bits) {
    sum.columns.emplace_back();
    if (!matchPattern(bit, m_Zero()))
      sum.columns.back().push_back(bit);
  }
  return sum;
}

PlaneSum PlaneBuilder::joined(PlaneSum a, const PlaneSum &b) {
  a.columns.resize(std::max(a.columns.size(), b.columns.size()));
  for (auto [k, column] : llvm::enumerate(b.columns))
    llvm::append_range(a.columns[k], column);
  a.constant += b.constant;
  a.least += b.least;
  a.greatest += b.greatest;
  return a;
}

/// -x of n planes is ~x - (2^n - 1).
std::optional<PlaneSum> PlaneBuilder::negated(const PlaneSum &sum) {
  PlaneSum result{{}, -sum.constant, -sum.greatest, -sum.least};
  std::optional<Planes> planes =
      addedUp({sum.columns, 0, sum.least - sum.constant, sum.greatest - sum.constant});
  if (!planes)
    return std::nullopt;
  for (Value bit : planes->bits)
    result.columns.push_back({inverted(bit)});
  result.constant -= (int64_t(1) << planes->bits.size()) - 1;
  return result;
}

bool PlaneBuilder::fits(const PlaneSum &sum) {
  return ::planesOf(sum.least, sum.greatest) <= mostPlanes &&
         ::planesOf(sum.least - sum.constant, sum.greatest - sum.constant) <= mostPlanes;
}

std::optional<Planes> PlaneBuilder::addedUp(PlaneSum sum) {
  int64_t least = sum.least - sum.constant, greatest = sum.greatest - sum.constant;
  unsigned count = planesOf(least, greatest);
  if (count > mostPlanes)
    return std::nullopt;
  SmallVector<Value> bits;
  sum.columns.resize(count);
  for (unsigned k = 0; k < count; ++k) {
    SmallVector<Value> column = sum.columns[k], none,
                       &carries = k + 1 < count ? sum.columns[k + 1] : none;
    size_t next = 0;
    while (column.size() - next >= 3) {
      Value x = column[next], y = column[next + 1], z = column[next + 2];
      next += 3;
      column.push_back(logic("xor", logic("xor", x, y), z));
      carries.push_back(majority(y, x, z));
    }
    if (column.size() - next == 2) {
      Value x = column[next], y = column[next + 1];
      next += 2;
      column.push_back(logic("xor", x, y));
      bool isLost = isMutant(Mutant::PlaneCarryLost) && k + 2 == count;
      carries.push_back(isLost ? zeros() : logic("and", x, y));
    }
    bits.push_back(column.size() > next ? column[next] : zeros());
  }
  Planes result = ofRange(std::move(bits), least, greatest);
  if (sum.constant == 0)
    return result;
  std::optional<Planes> constant = this->constant(std::abs(sum.constant));
  if (!constant)
    return std::nullopt;
  return sum.constant > 0 ? add(result, *constant) : subtract(result, *constant);
}

std::optional<Planes> PlaneBuilder::add(const Planes &a, const Planes &b) {
  return sum(a, b, /*subtracts=*/false);
}

std::optional<Planes> PlaneBuilder::subtract(const Planes &a, const Planes &b) {
  return sum(a, b, /*subtracts=*/true);
}

std::optional<Planes> PlaneBuilder::multiply(const Planes &a, const Planes &b) {
  if (a.isSigned() || b.isSigned() || planesOf(0, a.greatest * b.greatest) > mostPlanes)
    return std::nullopt;
  std::optional<Planes> result = constant(0);
  for (auto [k, bit] : llvm::enumerate(b.bits)) {
    if (matchPattern(bit, m_Zero()))
      continue;
    Planes part{{}, 0, a.greatest << k};
    for (unsigned below = 0; below < k; ++below)
      part.bits.push_back(zeros());
    for (Value own : a.bits)
      part.bits.push_back(logic("and", own, bit));
    result = add(*result, part);
    if (!result)
      return std::nullopt;
  }
  return ofRange(std::move(result->bits), a.least * b.least, a.greatest * b.greatest);
}

std::optional<Planes> PlaneBuilder::bitwise(StringRef kind, const Planes &a, const Planes &b) {
  bool isSigned = kind == "and" ? a.isSigned() && b.isSigned() : a.isSigned() || b.isSigned();
  // Beside a sign, a number without one has a zero above its planes.
  auto planes = [&](const Planes &x) { return x.bits.size() + (isSigned && !x.isSigned()); };
  unsigned count = std::max(planes(a), planes(b));
  SmallVector<Value> bits;
  for (unsigned k = 0; k < count; ++k)
    bits.push_back(logic(kind, bitOf(a, k), bitOf(b, k)));
  if (isSigned)
    return Planes{std::move(bits), -(int64_t(1) << (count - 1)), (int64_t(1) << (count - 1)) - 1};
  if (kind == "and") // no greater than the one without a sign
    count = std::min(a.isSigned() ? count : a.bits.size(), b.isSigned() ? count : b.bits.size());
  bits.truncate(count);
  return Planes{std::move(bits), 0, (int64_t(1) << count) - 1};
}

std::optional<Planes> PlaneBuilder::shift(const Planes &a, unsigned by, bool left) {
  if (left) {
    if (a.bits.size() + by > mostPlanes)
      return std::nullopt;
    Planes result{{}, a.least * (int64_t(1) << by), a.greatest * (int64_t(1) << by)};
    result.bits.append(by, zeros());
    llvm::append_range(result.bits, a.bits);
    return result;
  }
  // Towards the less one, of negative numbers too.
  Planes result{{}, a.least >> by, a.greatest >> by};
  for (unsigned k = by; k < std::max<size_t>(a.bits.size(), by + 1); ++k)
    result.bits.push_back(bitOf(a, k));
  return ofRange(std::move(result.bits), result.least, result.greatest);
}

Planes PlaneBuilder::select(Value condition, const Planes &a, const Planes &b) {
  int64_t least = std::min(a.least, b.least), greatest = std::max(a.greatest, b.greatest);
  SmallVector<Value> bits;
  for (unsigned k = 0; k < planesOf(least, greatest); ++k) {
    Value x = bitOf(a, k), y = bitOf(b, k);
    // y where the condition does not hold, changed to x where it does.
    bits.push_back(logic("xor", y, logic("and", condition, logic("xor", x, y))));
  }
  return {std::move(bits), least, greatest};
}

Value PlaneBuilder::less(const Planes &a, const Planes &b) {
  if (a.greatest < b.least)
    return ones();
  if (a.least >= b.greatest)
    return zeros();
  // The borrow of the difference; signs count the other way.
  bool isSigned = a.isSigned() || b.isSigned();
  unsigned count = std::max(a.bits.size(), b.bits.size()) + isSigned;
  Value borrow = zeros();
  for (unsigned k = 0; k < count; ++k) {
    Value x = bitOf(a, k), y = bitOf(b, k);
    if (isSigned && k + 1 == count)
      std::swap(x, y);
    borrow = majority(y, inverted(x), borrow);
  }
  return borrow;
}

Value PlaneBuilder::equal(const Planes &a, const Planes &b) {
  if (a.greatest < b.least || b.greatest < a.least)
    return zeros();
  Value differs = zeros();
  for (unsigned k = 0; k < std::max(a.bits.size(), b.bits.size()); ++k)
    differs = logic("or", differs, logic("xor", bitOf(a, k), bitOf(b, k)));
  if (a.isSigned() != b.isSigned()) // the same bits, and a sign that one has alone
    differs = logic("or", differs, a.isSigned() ? a.bits.back() : b.bits.back());
  return inverted(differs);
}

Planes PlaneBuilder::ofBounds(int64_t least, int64_t greatest) {
  return {SmallVector<Value>(planesOf(least, greatest)), least, greatest};
}

Planes PlaneBuilder::narrowed(const Planes &a, int64_t least, int64_t greatest) {
  SmallVector<Value> bits;
  for (unsigned k = 0; k < planesOf(least, greatest); ++k)
    bits.push_back(bitOf(a, k));
  return {std::move(bits), least, greatest};
}

Planes PlaneBuilder::wrapped(const Planes &a, unsigned bits, bool isSigned) {
  int64_t least = isSigned ? -(int64_t(1) << (bits - 1)) : 0;
  int64_t greatest = (int64_t(1) << (bits - isSigned)) - 1;
  if (a.least >= least && a.greatest <= greatest)
    return a;
  SmallVector<Value> kept;
  for (unsigned k = 0; k < bits; ++k)
    kept.push_back(bitOf(a, k));
  return {std::move(kept), least, greatest};
}
