//===- CarriedExtremes.cpp - which of what a loop carries are extremes -----*- C++ -*-===//
#include "metate/Target/Cpu/CarriedExtremes.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

using arith::CmpFPredicate;
using arith::CmpIPredicate;

std::optional<Order> Order::of(Operation *test, bool exchanged) {
  if (auto floats = dyn_cast<arith::CmpFOp>(test)) {
    CmpFPredicate predicate = floats.getPredicate();
    if (exchanged)
      predicate = predicate == CmpFPredicate::OLT   ? CmpFPredicate::OGT
                  : predicate == CmpFPredicate::OGT ? CmpFPredicate::OLT
                  : predicate == CmpFPredicate::OLE ? CmpFPredicate::OGE
                  : predicate == CmpFPredicate::OGE ? CmpFPredicate::OLE
                                                    : predicate;
    if (predicate == CmpFPredicate::OLT || predicate == CmpFPredicate::OGT)
      return Order{predicate, {}, true};
    if (predicate == CmpFPredicate::OLE || predicate == CmpFPredicate::OGE)
      return Order{predicate, {}, false};
    return std::nullopt;
  }
  auto integers = dyn_cast<arith::CmpIOp>(test);
  if (!integers)
    return std::nullopt;
  CmpIPredicate predicate = integers.getPredicate();
  auto flipped = [](CmpIPredicate from) {
    switch (from) {
    case CmpIPredicate::slt:
      return CmpIPredicate::sgt;
    case CmpIPredicate::sgt:
      return CmpIPredicate::slt;
    case CmpIPredicate::sle:
      return CmpIPredicate::sge;
    case CmpIPredicate::sge:
      return CmpIPredicate::sle;
    case CmpIPredicate::ult:
      return CmpIPredicate::ugt;
    case CmpIPredicate::ugt:
      return CmpIPredicate::ult;
    case CmpIPredicate::ule:
      return CmpIPredicate::uge;
    case CmpIPredicate::uge:
      return CmpIPredicate::ule;
    default:
      return from;
    }
  };
  if (predicate == CmpIPredicate::eq || predicate == CmpIPredicate::ne)
    return std::nullopt;
  if (exchanged)
    predicate = flipped(predicate);
  Order order{{}, predicate, false};
  order.isStrict = order.strict() == Order{{}, predicate, true};
  return order;
}

Order Order::strict() const {
  if (floats) {
    bool isLess = *floats == CmpFPredicate::OLT || *floats == CmpFPredicate::OLE;
    return {isLess ? CmpFPredicate::OLT : CmpFPredicate::OGT, {}, true};
  }
  switch (*integers) {
  case CmpIPredicate::slt:
  case CmpIPredicate::sle:
    return {{}, CmpIPredicate::slt, true};
  case CmpIPredicate::ult:
  case CmpIPredicate::ule:
    return {{}, CmpIPredicate::ult, true};
  case CmpIPredicate::ugt:
  case CmpIPredicate::uge:
    return {{}, CmpIPredicate::ugt, true};
  default:
    return {{}, CmpIPredicate::sgt, true};
  }
}

Value Order::compare(OpBuilder &builder, Location loc, Value value, Value than) const {
  if (floats)
    return arith::CmpFOp::create(builder, loc, *floats, value, than);
  return arith::CmpIOp::create(builder, loc, *integers, value, than);
}

namespace {
/// The order of `min` and `max`; of ones that take NaN for a value none.
std::optional<Order> orderOf(Operation *op) {
  if (isa<arith::MinNumFOp>(op))
    return Order{CmpFPredicate::OLT, {}, true};
  if (isa<arith::MaxNumFOp>(op))
    return Order{CmpFPredicate::OGT, {}, true};
  if (isa<arith::MinSIOp>(op))
    return Order{{}, CmpIPredicate::slt, true};
  if (isa<arith::MaxSIOp>(op))
    return Order{{}, CmpIPredicate::sgt, true};
  if (isa<arith::MinUIOp>(op))
    return Order{{}, CmpIPredicate::ult, true};
  if (isa<arith::MaxUIOp>(op))
    return Order{{}, CmpIPredicate::ugt, true};
  return std::nullopt;
}

bool isTotal(Operation *op) {
  if (isa<arith::AddIOp, arith::MulIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return true;
  auto floats = dyn_cast<arith::ArithFastMathInterface>(op);
  return isa<arith::AddFOp, arith::MulFOp>(op) &&
         arith::bitEnumContainsAny(floats.getFastMathFlagsAttr().getValue(),
                                   arith::FastMathFlags::reassoc);
}

/// Can lanes of vectors hold it and be compared?
bool isNumber(Type type) {
  return type.isF32() || type.isF64() || type.isInteger(32) || type.isInteger(64);
}

class Recognition {
public:
  explicit Recognition(const StraightLoop &straight) : straight(straight) {
    scf::ForOp loop = straight.loop;
    for (auto [carried, next] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
      updates.push_back(updateOf(carried, next));
  }

  std::optional<CarriedExtremes> run() {
    for (unsigned number = 0; number < updates.size(); ++number)
      if (!takeExtreme(number) && !takeTotal(number) && !takeLatest(number))
        left.push_back(number);
    for (unsigned number : left)
      if (!takeChosen(number))
        return std::nullopt;
    bool isWorthIt = llvm::any_of(found.extremes, [](const Extreme &extreme) {
      return !extreme.chosen.empty() || isa<FloatType>(extreme.value.getType());
    });
    return isWorthIt ? std::optional(std::move(found)) : std::nullopt;
  }

private:
  /// What a carried value is in the next turn: `next` where all conditions hold, else what it was.
  struct Update {
    Value carried, next;
    StraightLoop::Values conditions;
  };

  static Update updateOf(Value carried, Value next) {
    Update update{carried, next, {}};
    while (auto select = update.next.getDefiningOp<arith::SelectOp>()) {
      if (select.getFalseValue() != carried || !select.getCondition().getType().isInteger(1))
        break;
      addConditions(select.getCondition(), update.conditions);
      update.next = select.getTrueValue();
    }
    return update;
  }

  /// A comparison of a carried value with one that is not; which one is that?
  struct Test {
    Value value, carried;
    Order order;
  };

  std::optional<Test> testOf(Value condition) const {
    Operation *op = condition.getDefiningOp();
    if (!op || !isa<arith::CmpFOp, arith::CmpIOp>(op))
      return std::nullopt;
    bool exchanged = straight.isFree(op->getOperand(1));
    Value carried = op->getOperand(exchanged ? 0 : 1), value = op->getOperand(exchanged ? 1 : 0);
    std::optional<Order> order = Order::of(op, exchanged);
    if (!order || !straight.isFree(value) || !isNumber(value.getType()))
      return std::nullopt;
    return Test{value, carried, *order};
  }

  /// Of several conditions the one that is no mask.
  static Value onlyOne(const StraightLoop::Values &conditions,
                       llvm::function_ref<bool(Value)> isMask) {
    Value one;
    for (Value condition : conditions)
      if (!isMask(condition)) {
        if (one)
          return {};
        one = condition;
      }
    return one;
  }

  bool takeExtreme(unsigned number) {
    const Update &update = updates[number];
    if (!isNumber(update.next.getType()))
      return false;
    if (straight.isFree(update.next)) {
      Value condition =
          onlyOne(update.conditions, [&](Value value) { return straight.isFree(value); });
      std::optional<Test> test = condition ? testOf(condition) : std::nullopt;
      if (!test || test->carried != update.carried || test->value != update.next)
        return false;
      Extreme extreme{number, test->value, test->order, /*isNamed=*/false};
      for (Value mask : update.conditions)
        if (mask != condition)
          extreme.masks.insert(mask);
      extreme.test = condition;
      found.extremes.push_back(extreme);
      return true;
    }
    Operation *op = update.next.getDefiningOp();
    std::optional<Order> order = op ? orderOf(op) : std::nullopt;
    if (!order || !straight.areFree(update.conditions))
      return false;
    bool exchanged = op->getOperand(1) == update.carried;
    Value value = op->getOperand(exchanged ? 0 : 1);
    if (op->getOperand(exchanged ? 1 : 0) != update.carried || !straight.isFree(value))
      return false;
    found.extremes.push_back({number, value, *order, /*isNamed=*/true, update.conditions});
    return true;
  }

  bool takeTotal(unsigned number) {
    const Update &update = updates[number];
    Operation *op = update.next.getDefiningOp();
    if (straight.isFree(update.next) || !op || !isTotal(op) || !isNumber(update.next.getType()) ||
        !straight.areFree(update.conditions))
      return false;
    bool exchanged = op->getOperand(1) == update.carried;
    Value value = op->getOperand(exchanged ? 0 : 1);
    if (op->getOperand(exchanged ? 1 : 0) != update.carried || !straight.isFree(value))
      return false;
    found.totals.push_back({number, value, op, update.conditions});
    return true;
  }

  bool takeLatest(unsigned number) {
    const Update &update = updates[number];
    if (!straight.isFree(update.next) || !update.conditions.empty())
      return false;
    found.latest.push_back(number);
    return addValue(number);
  }

  /// What is taken in the turns in which an extreme is.
  bool takeChosen(unsigned number) {
    const Update &update = updates[number];
    if (!straight.isFree(update.next))
      return false;
    for (Extreme &extreme : found.extremes)
      if (isTakenWith(update, extreme)) {
        extreme.chosen.push_back(number);
        return addValue(number);
      }
    return false;
  }

  bool isTakenWith(const Update &update, Extreme &extreme) const {
    const Update &own = updates[extreme.number];
    if (!extreme.isNamed)
      return update.conditions.size() == own.conditions.size() &&
             llvm::all_of(own.conditions,
                          [&](Value value) { return update.conditions.contains(value); });
    // A min has no condition to share: one that says the same.
    Value condition = onlyOne(update.conditions, [&](Value value) {
      return straight.isFree(value) && extreme.masks.contains(value);
    });
    std::optional<Test> test = condition ? testOf(condition) : std::nullopt;
    if (!test || test->carried != own.carried || test->value != extreme.value ||
        update.conditions.size() != extreme.masks.size() + 1 ||
        test->order.strict() != extreme.order.strict() ||
        (extreme.test && test->order != extreme.order))
      return false;
    extreme.test = condition;
    extreme.order = test->order;
    return true;
  }

  /// It is computed anew of the turn.
  bool addValue(unsigned number) {
    llvm::SetVector<Operation *> ops;
    found.values[number] = updates[number].next;
    straight.collect(updates[number].next, ops);
    return straight.runWhere(ops, updates[number].conditions);
  }

  const StraightLoop &straight;
  SmallVector<Update> updates;
  SmallVector<unsigned> left;
  CarriedExtremes found;
};
} // namespace

std::optional<CarriedExtremes> CarriedExtremes::of(const StraightLoop &straight) {
  if (!straight.isStraight)
    return std::nullopt;
  return Recognition(straight).run();
}
