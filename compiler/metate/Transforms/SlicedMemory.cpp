//===- SlicedMemory.cpp - words that a loop's body reads and writes -*- C++ -*-===//
//
// A read of elements is one of the words that they lie in, a store of all that a word has. Under a condition nobody has asked whether a place is
// there: reads are held inside of the member, stores and sums ask whether any element does.
//
//===----------------------------------------------------------------------===//
#include "metate/Transforms/SlicedBody.h"

#include "metate/Dialect/Quant.h"
#include "metate/Level/IndexBuilder.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

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
  std::optional<int64_t> begin = getConstantIntValue(limits.lower),
                         end = getConstantIntValue(limits.upper);
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
