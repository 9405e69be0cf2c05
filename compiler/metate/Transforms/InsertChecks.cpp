//===- InsertChecks.cpp - debug mode: checks before accesses ----*- C++ -*-===//
//
// First pass of a debug compilation, on what the front end wrote: an access that nothing uses is
// checked too. A check is left out only where the index cannot be wrong: a constant, or the very
// variable of a loop whose bounds say so.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/PlainAtomics.h"
#include "metate/Transforms/QuantArith.h"

#include "metate/abi/base.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

namespace metate {
#define GEN_PASS_DEF_INSERTCHECKS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

ShownMember metate::accessName(Value argument, StringRef path) {
  if (auto block = dyn_cast<BlockArgument>(argument))
    if (auto kernel = dyn_cast<KernelOp>(block.getOwner()->getParentOp()))
      return shownMember(kernel, block.getArgNumber(), path);
  return {path.empty() ? "argument" : "argument." + path.str(), {}};
}

SmallVector<Value> metate::shownIndices(OpBuilder &builder, Location loc, const ShownMember &member,
                                        ValueRange at) {
  SmallVector<Value> indices(at);
  for (auto [index, offset] : llvm::zip(indices, member.offset))
    if (offset)
      index = arith::AddIOp::create(builder, loc, index,
                                    arith::ConstantIndexOp::create(builder, loc, offset));
  return indices;
}

void metate::checkActivation(ActivateOp activate) {
  OpBuilder builder(activate->getContext());
  builder.setInsertionPointAfter(activate);
  activate.setStrict(true);
  ShownMember member = accessName(activate.getTree(), activate.getPath());
  SmallVector<Value> indices =
      shownIndices(builder, activate.getLoc(), member, activate.getCoordinates());
  CheckOp::create(builder, activate.getLoc(), CheckKind::Capacity, activate.getActive(),
                  member.name, indices, ValueRange());
}

bool metate::mayStop(Operation *op) {
  if (!isa<CallOp>(op))
    return op->hasTrait<MayStop>();
  return llvm::any_of(functionsCalledIn(op), [](FunctionOp function) {
    return function
        .walk([](Operation *inner) {
          return inner->hasTrait<MayStop>() ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  });
}

namespace {
/// One index with its bound: a constant, or a dimension of an array.
struct Bounded {
  Value index;
  int64_t extent = ShapedType::kDynamic;
  Value array = {};
  int64_t axis = 0;

  /// Along an axis of a hash level any i32 is inside.
  bool isUnbounded() const { return extent == unboundedExtent; }
  int64_t least() const { return isUnbounded() ? INT32_MIN : 0; }
  int64_t end() const { return isUnbounded() ? INT32_MAX + int64_t(1) : extent; }
};

/// Is every value below `upper` below the bound?
bool isWithin(Value upper, const Bounded &bounded) {
  if (std::optional<int64_t> constant = getConstantIntValue(upper))
    return !ShapedType::isDynamic(bounded.extent) && *constant <= bounded.end();
  auto dim = upper.getDefiningOp<memref::DimOp>();
  return dim && bounded.array && dim.getSource() == bounded.array &&
         dim.getConstantIndex() == bounded.axis;
}

bool isKnownInside(const Bounded &bounded) {
  if (std::optional<int64_t> constant = getConstantIntValue(bounded.index))
    return *constant >= bounded.least() && !ShapedType::isDynamic(bounded.extent) &&
           *constant < bounded.end();
  auto variable = dyn_cast<BlockArgument>(bounded.index);
  if (!variable)
    return false;
  Operation *parent = variable.getOwner()->getParentOp();
  unsigned number = variable.getArgNumber();
  auto isFromZero = [](Value lower) { return getConstantIntValue(lower).value_or(-1) >= 0; };
  if (auto loop = dyn_cast<ForEachOp>(parent)) {
    auto path = findPath(cast<TreeType>(loop.getTree().getType()), loop.getPath());
    int64_t walked = path->extents[number];
    return walked == unboundedExtent ? bounded.isUnbounded() : walked <= bounded.end();
  }
  if (auto loop = dyn_cast<RangeOp>(parent))
    return isFromZero(loop.getLower()[number]) && isWithin(loop.getUpper()[number], bounded);
  if (auto loop = dyn_cast<scf::ForOp>(parent))
    return loop.getInductionVar() == variable && isFromZero(loop.getLowerBound()) &&
           isWithin(loop.getUpperBound(), bounded);
  return false;
}

struct InsertChecks : metate::impl::InsertChecksBase<InsertChecks> {
  void runOnOperation() override {
    getOperation()->removeAttr(mark::checked);
    if (getOperation().getDebug())
      return;
    getOperation().setDebug(true);
    SmallVector<Operation *> work;
    getOperation().walk([&](Operation *op) { work.push_back(op); });
    for (Operation *op : work)
      visit(op);
  }

private:
  void visit(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<memref::LoadOp, memref::StoreOp>(
            [&](auto access) { checkArray(op, access.getMemRef(), access.getIndices()); })
        .Case<memref::AtomicRMWOp>(
            [&](auto access) { checkArray(op, access.getMemref(), access.getIndices()); })
        .Case<CellOpInterface>([&](CellOpInterface cell) {
          checkCell(cell);
          checkQuantised(cell);
          if (auto activate = dyn_cast<ActivateOp>(op))
            checkActivation(activate);
        })
        .Case<arith::CmpIOp>([&](arith::CmpIOp compare) {
          checkDivision(compare);
          checkComponent(compare);
        })
        .Case<FunctionOp>([&](FunctionOp function) {
          OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
          if (!mayCallItself(function))
            return;
          EnterOp::create(builder, function.getLoc(), function.getName());
          PollOp::create(builder, function.getLoc());
        })
        .Case<scf::ForOp>([&](scf::ForOp loop) { poll(loop.getBody()); })
        .Case<scf::WhileOp>([&](scf::WhileOp loop) { poll(loop.getAfterBody()); });
  }

  void checkArray(Operation *op, Value array, ValueRange indices) {
    if (!isa<BlockArgument>(array)) // a local variable
      return;
    auto type = cast<MemRefType>(array.getType());
    SmallVector<Bounded> bounds;
    for (auto [axis, index] : llvm::enumerate(indices))
      bounds.push_back({index, type.getDimSize(axis), array, int64_t(axis)});
    // An element is named by its own indices where its component is in order.
    unsigned inner = elementRank(array);
    if (inner && llvm::all_of(ArrayRef(bounds).take_back(inner), isKnownInside))
      bounds.resize(bounds.size() - inner);
    checkBounds(op, accessName(array), bounds);
  }

  /// Dimensions of an array argument's elements.
  unsigned elementRank(Value array) {
    auto element = getOperation().getArgAttrOfType<DenseI64ArrayAttr>(
        cast<BlockArgument>(array).getArgNumber(), mark::element);
    return element ? element.size() : 0;
  }

  void checkCell(CellOpInterface op) {
    CellAccess access = CellAccess::from(op);
    TreePath path = access.resolve();
    if (access.coordinates.size() < path.rank()) // of a list its parent cell, or of all cells none
      return access.coordinates.empty() ? void() : checkParent(op, access);
    SmallVector<Bounded> bounds;
    for (auto [index, extent] : llvm::zip_equal(access.coordinates, path.extents))
      bounds.push_back({index, extent});
    ShownMember name = accessName(access.tree, access.path);
    SmallVector<Bounded> parts;
    for (auto [axis, index] : llvm::enumerate(op.getCellComponents()))
      parts.push_back({index, cast<VectorType>(path.place.getType()).getDimSize(axis)});
    if (llvm::all_of(parts, isKnownInside))
      parts.clear();
    if (bounds.size() + parts.size() > METATE_MAX_RANK)
      checkBounds(op, {name.name + " component", {}}, std::exchange(parts, {}));
    llvm::append_range(bounds, parts);
    checkBounds(op, name, bounds);
  }

  /// What a quantised member cannot say as it is, but for rounding: of a store before it, of a change of what is stored behind it.
  void checkQuantised(CellOpInterface op) {
    if (!op.writesMember())
      return;
    CellAccess access = CellAccess::from(op);
    Type type = access.resolve().place.getType();
    bool isShared = sharesExponent(cast<TreeType>(access.tree.getType()), access.path);
    std::optional<QuantFormat> format = QuantFormat::of(type, isShared);
    if (!format)
      return;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value value;
    // What is stored, if it is.
    auto desired = [](Value given) -> Value {
      auto exchange = given.getDefiningOp<ExchangeIfOp>();
      return exchange ? exchange.getDesired() : given;
    };
    auto encoded = [&](Value bits) -> Value {
      auto encode = desired(bits).getDefiningOp<EncodeOp>();
      return encode ? encode.getValue() : Value();
    };
    auto changed = [&](arith::AtomicRMWKind kind, Value old, Value by) {
      return combinePlain(builder, loc, kind, old, by, arith::FastMathFlags::none);
    };
    if (auto store = dyn_cast<StoreOp>(*op)) {
      value = encoded(store.getValue());
    } else if (auto update = dyn_cast<UpdateOp>(*op)) {
      bool isStore = update.getKind() == arith::AtomicRMWKind::assign;
      if (!isStore)
        builder.setInsertionPointAfter(op);
      value = isStore ? desired(update.getValue())
                      : changed(update.getKind(), update.getOld(), update.getValue());
    } else if (auto atomic = dyn_cast<AtomicOp>(*op)) {
      builder.setInsertionPointAfter(op);
      Value old = DecodeOp::create(builder, loc, atomic.getOld(), type);
      Value by = encoded(atomic.getValue());
      if (by && atomic.getKind() == arith::AtomicRMWKind::assign)
        value = by; // whether it is stored or not
      else if (by)
        value = changed(kindOfNumbers(atomic.getKind(), by.getType()), old, by);
    }
    if (auto together = dyn_cast<StoreSharedOp>(*op))
      for (auto [member, one] : llvm::zip(together.getMembers(), together.getValues()))
        checkStored(op, cast<StringAttr>(member).getValue(), one, builder);
    if (value)
      checkStored(op, access.path, value, builder);
  }

  /// What is stored in the member of this name, by an operation on its cell.
  void checkStored(CellOpInterface op, StringRef path, Value value, OpBuilder &builder) {
    CellAccess access = CellAccess::from(op);
    Location loc = op.getLoc();
    auto tree = cast<TreeType>(access.tree.getType());
    Type type = findPath(tree, path)->place.getType();
    std::optional<QuantFormat> format = QuantFormat::of(type, sharesExponent(tree, path));
    auto [least, most] = shownRange(*format);
    ShownMember name = accessName(access.tree, path);
    SmallVector<Value> shown = shownIndices(builder, loc, name, access.coordinates);
    std::string holes;
    for (size_t k = 0; k < shown.size(); ++k)
      holes += k ? ", {}" : "{}";
    for (Value &index : shown)
      index = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
    std::string text =
        name.name + "[" + holes + "] = {}: " + shownQuant(type) + " holds " + least + " to " + most;
    shown.push_back(value);
    SmallVector<bool> isUnsigned(shown.size(), false);
    isUnsigned.back() = format->compute.isUnsignedInteger();
    auto check = AssertOp::create(builder, loc, isInRange(builder, loc, value, *format), text);
    check.setUnsigned_(isUnsigned);
    check.getValuesMutable().assign(shown);
    ++inserted;
  }

  /// The cell that holds a list, by coordinates along the axes of the levels above the list.
  void checkParent(Operation *op, const CellAccess &list) {
    TreePath path = list.resolve();
    SmallVector<Bounded> bounds;
    for (unsigned axis : path.axes) {
      int64_t extent = 0;
      for (LevelInterface level : ArrayRef(path.levels).drop_back())
        for (auto [number, cells] : llvm::zip(levelAxes(level), level.getLevelExtents()))
          if (number == axis && extent != unboundedExtent)
            extent = cells == unboundedExtent ? cells : std::max<int64_t>(extent, 1) * cells;
      if (extent != 0)
        bounds.push_back({list.coordinates[bounds.size()], extent});
    }
    checkBounds(op, accessName(list.tree, list.path), bounds);
  }

  /// A negative index is a very large one. An axis without bounds is shown as -1, which messages write as *.
  void checkBounds(Operation *op, const ShownMember &name, ArrayRef<Bounded> bounds) {
    if (llvm::all_of(bounds, isKnownInside))
      return;
    OpBuilder builder(op);
    Location loc = op->getLoc();
    SmallVector<Value> indices, extents;
    Value inside;
    for (const Bounded &bounded : bounds) {
      indices.push_back(bounded.index);
      extents.push_back(
          ShapedType::isDynamic(bounded.extent)
              ? memref::DimOp::create(builder, loc, bounded.array, bounded.axis).getResult()
              : arith::ConstantIndexOp::create(builder, loc,
                                               bounded.isUnbounded() ? -1 : bounded.extent)
                    .getResult());
      if (isKnownInside(bounded))
        continue;
      Value distance = bounded.index, end = extents.back();
      if (bounded.isUnbounded()) {
        end = arith::ConstantIndexOp::create(builder, loc, unboundedExtent);
        Value least = arith::ConstantIndexOp::create(builder, loc, bounded.least());
        distance = arith::SubIOp::create(builder, loc, bounded.index, least);
      }
      Value one = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, distance, end);
      inside = inside ? arith::AndIOp::create(builder, loc, inside, one).getResult() : one;
    }
    indices = shownIndices(builder, loc, name, indices);
    CheckOp::create(builder, loc, CheckKind::OutOfRange, inside, name.name, indices, extents);
    ++inserted;
  }

  /// The front end marks the comparison of a divisor with zero.
  void checkDivision(arith::CmpIOp compare) {
    if (!compare->hasAttr(mark::divisor))
      return;
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(compare);
    Location loc = compare.getLoc();
    Value isZero = compare.getResult();
    if (isa<VectorType>(isZero.getType())) {
      auto elements = vector::ToElementsOp::create(builder, loc, isZero).getElements();
      isZero = elements.front();
      for (Value element : elements.drop_front())
        isZero = arith::OrIOp::create(builder, loc, isZero, element);
    }
    Value isOther = arith::XOrIOp::create(
        builder, loc, isZero, arith::ConstantIntOp::create(builder, loc, /*value=*/1, /*width=*/1));
    CheckOp::create(builder, loc, CheckKind::DivisionByZero, isOther, "", ValueRange(),
                    ValueRange());
    ++inserted;
  }

  /// The front end marks an index of a local vector or matrix, where it compares it, with the extent.
  void checkComponent(arith::CmpIOp compare) {
    auto extent = compare->getAttrOfType<IntegerAttr>(mark::component);
    auto ofUnsigned = compare->getAttrOfType<IntegerAttr>(mark::unsignedComponent);
    if (!extent && !ofUnsigned)
      return;
    OpBuilder builder(compare);
    Location loc = compare.getLoc();
    Value index = compare.getLhs();
    Type type = builder.getIndexType();
    index = extent ? arith::IndexCastOp::create(builder, loc, type, index).getResult()
                   : arith::IndexCastUIOp::create(builder, loc, type, index).getResult();
    checkBounds(compare, {"component", {}}, {{index, (extent ? extent : ofUnsigned).getInt()}});
  }

  /// A long loop notices that its host has asked it to stop.
  void poll(Block *body) {
    OpBuilder builder = OpBuilder::atBlockBegin(body);
    PollOp::create(builder, body->getParentOp()->getLoc());
  }
};
} // namespace
