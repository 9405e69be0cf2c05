//===- ReverseMode.cpp - a kernel that runs backwards -----------*- C++ -*-===//
#include "metate/Transforms/ReverseMode.h"
#include "metate/Dialect/Call.h"
#include "metate/Dialect/Quant.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/SameCell.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;

/// Where the components of a vector are; of a scalar, where it is.
static SmallVector<int64_t> positionIn(Type type, int64_t number) {
  auto vector = dyn_cast<VectorType>(type);
  SmallVector<int64_t> position(vector ? vector.getRank() : 0);
  for (int64_t axis = int64_t(position.size()) - 1; axis >= 0; --axis) {
    position[axis] = number % vector.getDimSize(axis);
    number /= vector.getDimSize(axis);
  }
  return position;
}

static SmallVector<Value> indicesIn(OpBuilder &builder, Location loc, Type type, int64_t number) {
  return llvm::map_to_vector(positionIn(type, number), [&](int64_t k) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, k);
  });
}

static int64_t scalarsOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

ReverseMode::ReverseMode(KernelOp kernel, const DerivativePlaces &places,
                         const DerivativeActivity &activity, const CombinedPlaces &combined,
                         const NeededValues &needed, const WriteNumbers &numbers)
    : kernel(kernel), places(places), activity(activity), combined(combined), needed(needed),
      numbers(numbers), partial(kernel), builder(kernel.getContext()) {}

LogicalResult ReverseMode::run() {
  Block &body = kernel.getBody().front();
  SmallVector<Operation *> old;
  for (Operation &op : body.without_terminator())
    if (!isa<FunctionOp>(op) && !op.hasTrait<OpTrait::ConstantLike>())
      old.push_back(&op); // functions are called by what is written, and use constants
  kernel.walk([&](Operation *op) {
    if (!op->hasTrait<OpTrait::IsTerminator>())
      ofPrimal.insert(op);
  });
  builder.setInsertionPoint(body.getTerminator());
  for (Value array : places.ofLaunch())
    clear(builder, kernel.getLoc(), array);
  scopes.push_back({&body, &body});
  again = Again::Writes;
  LogicalResult swept = sweep(body, /*keeps=*/false);
  again = Again::Nothing;
  if (failed(swept) || failed(reverse(old)))
    return failure();
  again = Again::Products;
  for (Operation *op : old)
    if (runsAgain(op) && !isMutant(Mutant::FactorNotPassedOn) && failed(sweep(op, /*keeps=*/false)))
      return failure();
  for (Operation *op : llvm::reverse(old))
    op->erase();
  return success();
}

LogicalResult ReverseMode::fail(Operation *op, const Twine &why) {
  return op->emitError("gradient of kernel '" + kernel.getSymName() + "': ") << why;
}

Value ReverseMode::at(Value value) {
  if (Value known = primal.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (op && op->hasTrait<OpTrait::ConstantLike>())
    return builder.clone(*op)->getResult(0);
  assert(isa<BlockArgument>(value) && "a value of the primal that nobody asked for");
  return value; // an argument of the kernel
}

SmallVector<Value> ReverseMode::atAll(ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) { return at(value); });
}

Value ReverseMode::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, kernel.getLoc(), value);
}

DerivativeRules ReverseMode::rules(Location loc) {
  return DerivativeRules(builder, loc, [](Value value) { return value; });
}

//===-- forward: values that are needed ------------------------------------------------------------------------===//

/// `keeps`: loops whose reverse follows keep what they carry.
LogicalResult ReverseMode::sweep(Block &block, bool keeps) {
  SmallVector<Operation *> old;
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>())
      old.push_back(&op);
    else
      break; // what is written stands behind it, in the kernel's own block before it
  for (Operation *op : old)
    if (failed(sweep(op, keeps)))
      return failure();
  return success();
}

LogicalResult ReverseMode::sweep(Operation *op, bool keeps) {
  bool isAgain = runsAgain(op);
  if (op->hasTrait<OpTrait::ConstantLike>())
    return success();
  if (isa<RangeOp, ForEachOp>(op))
    return isAgain ? writeParallel(op, /*isForward=*/true) : success();
  if (isa<scf::ForOp, scf::WhileOp>(op))
    return sweepLoop(op, keeps && activity.takesPart(op), isAgain);
  if (!isAgain && !needed.isAnyNeeded(op->getResults()))
    return success();
  return isa<scf::IfOp>(op) ? sweepIf(cast<scf::IfOp>(op)) : copy(op, isAgain);
}

bool ReverseMode::runsAgain(Operation *op) const {
  switch (again) {
  case Again::Nothing:
    return false;
  case Again::Writes:
    return needed.isReplayed(op);
  case Again::Products:
    return combined.isPassedOn(op);
  }
  llvm_unreachable("what a sweep does besides");
}

LogicalResult ReverseMode::copy(Operation *op, bool isAgain) {
  if (isAgain && again == Again::Products) {
    MemoryAccess access = *MemoryAccess::of(op);
    places.scale(builder, access, at(access.written), [&](Value value) { return at(value); });
    return success();
  }
  if (isAgain) {
    cloneHere(op);
    return success();
  }
  if (isa<CallOp>(op)) { // of a function that touches no memory (checkCalls)
    cloneHere(op);
    if (activity.takesPart(op)) {
      auto made = cast<CallOp>(at(op->getResult(0)).getDefiningOp());
      made.setCallee(calledAgain(functionOf(made)).getName());
    }
    return success();
  }
  if (op->getNumRegions() || hasEffect<MemoryEffects::Write>(op) ||
      (!isMemoryEffectFree(op) && !hasEffect<MemoryEffects::Read>(op)))
    return fail(op, "what this gives is needed once more, and cannot be had again: it also changes "
                    "memory; keep it in a field, and read it there in another kernel");
  cloneHere(op);
  return success();
}

void ReverseMode::cloneHere(Operation *op) {
  for (Value operand : op->getOperands())
    if (!primal.contains(operand))
      if (Operation *constant = operand.getDefiningOp();
          constant && constant->hasTrait<OpTrait::ConstantLike>())
        primal.map(operand, at(operand));
  Operation *made = builder.clone(*op, primal);
  primal.map(op->getResults(), made->getResults());
  if (std::optional<MemoryAccess> read = MemoryAccess::of(made);
      read && !read->writes() && numbers.has(read->base))
    numbers.check(builder, kernel, *read);
  // A constant belongs to the block where it was cloned.
  for (Value operand : op->getOperands())
    if (Operation *constant = operand.getDefiningOp();
        constant && constant->hasTrait<OpTrait::ConstantLike>())
      primal.erase(operand);
}

LogicalResult ReverseMode::sweepIf(scf::IfOp branch) {
  SmallVector<unsigned> kept;
  SmallVector<Type> types;
  for (OpResult result : branch->getResults())
    if (needed.isNeeded(result)) {
      kept.push_back(result.getResultNumber());
      types.push_back(result.getType());
    }
  auto made = scf::IfOp::create(builder, branch.getLoc(), types, at(branch.getCondition()),
                                /*withElse=*/true);
  for (auto [from, to] : llvm::zip(branch->getRegions(), made->getRegions())) {
    OpBuilder::InsertionGuard guard(builder);
    if (!to.front().empty()) // of a branch that gives nothing the terminator is there
      to.front().getTerminator()->erase();
    builder.setInsertionPointToEnd(&to.front());
    if (failed(sweep(from.front(), /*keeps=*/false)))
      return failure();
    SmallVector<Value> yielded;
    for (unsigned k : kept)
      yielded.push_back(at(from.front().getTerminator()->getOperand(k)));
    scf::YieldOp::create(builder, branch.getLoc(), yielded);
  }
  for (auto [k, result] : llvm::zip(kept, made.getResults()))
    primal.map(branch.getResult(k), result);
  return success();
}

//===-- reverse ------------------------------------------------------------------------------------------------===//

LogicalResult ReverseMode::reverse(Block &block) {
  return reverse(
      llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; }));
}

LogicalResult ReverseMode::reverse(ArrayRef<Operation *> statements) {
  for (Operation *op : llvm::reverse(statements))
    if (ofPrimal.contains(op) && activity.takesPart(op) && failed(reverse(op)))
      return failure();
  return success();
}

LogicalResult ReverseMode::reverse(Operation *op) {
  if (std::optional<MemoryAccess> access = MemoryAccess::of(op))
    return reverseAccess(*access);
  if (isa<DecodeOp>(op)) // of what an atomic operation gives, which passes it on
    return success();
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return reverseIf(branch);
  if (isa<scf::ForOp, scf::WhileOp>(op))
    return reverseLoop(op);
  if (isa<RangeOp, ForEachOp>(op))
    return writeParallel(op, /*isForward=*/false);
  if (!DerivativeRules::knows(op))
    return fail(op, "no derivative of '" + op->getName().getStringRef() + "' is known");
  SmallVector<Value> given =
      llvm::map_to_vector(op->getResults(), [&](Value result) { return gradientOf(result); });
  if (llvm::none_of(given, [](Value gradient) { return bool(gradient); }))
    return success();
  DerivativeRules rules(builder, op->getLoc(), [&](Value value) { return at(value); });
  auto isActive = [&](Value value) { return activity.isActive(value); };
  bool isPartial = op->getNumResults() == 1 && partial.contains(op->getResult(0));
  SmallVector<Value> passed = rules.reverse(op, given, isActive, isPartial);
  for (auto [operand, gradient] : llvm::zip(op->getOperands(), passed))
    addGradient(operand, gradient);
  return success();
}

LogicalResult ReverseMode::reverseAccess(const MemoryAccess &access) {
  auto find = [&](Value value) { return at(value); };
  Value ofResult =
      access.result && activity.isActive(access.result) ? gradientOf(access.result) : Value();
  if (access.writes()) {
    if (access.isExtreme()) {
      reverseExtreme(access);
      return success();
    }
    if (combined.has(access)) {
      reverseProduct(access);
      return success();
    }
    if (access.isProduct() && !ofResult) { // with a constant: it scales what was there
      places.scale(builder, access, at(access.written), find);
      return success();
    }
    if (access.combined && !access.isSum())
      return fail(access.op, "an atomic operation (" +
                                 arith::stringifyAtomicRMWKind(*access.combined) +
                                 ") has no derivative here");
    Value gradient = places.load(builder, access, find);
    addGradient(access.written, gradient);
    // What was there before has no influence.
    if (!access.combined && !isMutant(Mutant::StoreKeepsGradient))
      places.store(builder, access, rules(access.op->getLoc()).zero(gradient.getType()), find);
  }
  if (ofResult)
    addToPlace(access, ofResult);
  return success();
}

/// May what is read be of a cell that is not there? Its own cell is, in a loop over cells, and one that is written.
static bool mayBeInactive(const MemoryAccess &access) {
  auto load = dyn_cast<CellOpInterface>(access.inMemory());
  return load && isa<LoadOp, LoadSharedOp>(*load) &&
         CellAccess::from(load).resolve().lastActivity() >= 0 && !isAtOwnCell(load);
}

/// To what was read. A cell that is not there is a constant, and must not come into being: loops over cells would visit it.
void ReverseMode::addToPlace(const MemoryAccess &access, Value gradient) {
  auto find = [&](Value value) { return at(value); };
  OpBuilder::InsertionGuard guard(builder);
  if (mayBeInactive(access) && !isMutant(Mutant::GradientActivates)) {
    Location loc = access.op->getLoc();
    Value isActive =
        IsActiveOp::create(builder, loc, builder.getI1Type(), access.base,
                           builder.getStringAttr(access.path), atAll(access.coordinates));
    auto branch = scf::IfOp::create(builder, loc, isActive, /*withElse=*/false);
    builder.setInsertionPoint(branch.thenYield());
  }
  places.add(builder, access, gradient, find);
}

/// The first of those that equal the result takes its gradient; what was there before keeps it where none does.
void ReverseMode::reverseExtreme(const MemoryAccess &access) {
  auto find = [&](Value value) { return at(value); };
  Location loc = access.op->getLoc();
  Value given = at(access.written), result = places.loadPrimal(builder, access, find);
  auto vector = dyn_cast<VectorType>(given.getType());
  SmallVector<Value> taken;
  for (int64_t k = 0; k < scalarsOf(given.getType()); ++k) {
    SmallVector<int64_t> position = positionIn(given.getType(), k);
    auto one = [&](Value value) -> Value {
      return vector ? vector::ExtractOp::create(builder, loc, value, position).getResult() : value;
    };
    Value isEqual =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, one(given), one(result));
    Value nothing = rules(loc).zero(getElementTypeOrSelf(given.getType()));
    auto branch = scf::IfOp::create(builder, loc, nothing.getType(), isEqual, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&branch.getThenRegion().front());
    Value gradient = isMutant(Mutant::EqualsTakeAll) ? one(places.load(builder, access, find))
                                                     : places.take(builder, access, position, find);
    scf::YieldOp::create(builder, loc, gradient);
    builder.setInsertionPointToEnd(&branch.getElseRegion().front());
    scf::YieldOp::create(builder, loc, nothing);
    taken.push_back(branch.getResult(0));
  }
  if (activity.isActive(access.written))
    addGradient(access.written,
                vector ? vector::FromElementsOp::create(builder, loc, vector, taken).getResult()
                       : taken.front());
}

/// Each factor gets the product of the others. The gradient of what was there before is scaled when all are done.
void ReverseMode::reverseProduct(const MemoryAccess &access) {
  if (!activity.isActive(access.written))
    return;
  auto find = [&](Value value) { return at(value); };
  Location loc = access.op->getLoc();
  Value gradient = places.load(builder, access, find);
  Value result = places.loadPrimal(builder, access, find);
  Value others = arith::DivFOp::create(builder, loc, result, at(access.written));
  addGradient(access.written, arith::MulFOp::create(builder, loc, gradient, others));
}

LogicalResult ReverseMode::reverseIf(scf::IfOp branch) {
  SmallVector<Value> given = llvm::map_to_vector(branch.getResults(), [&](Value result) {
    return activity.isActive(result) ? gradientOf(result) : Value();
  });
  auto made = scf::IfOp::create(builder, branch.getLoc(), TypeRange(), at(branch.getCondition()),
                                /*withElse=*/!branch.getElseRegion().empty());
  for (auto [from, to] : llvm::zip(branch->getRegions(), made->getRegions())) {
    if (from.empty())
      continue;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(to.front().getTerminator());
    scopes.push_back({&from.front(), &to.front()});
    if (failed(sweep(from.front(), /*keeps=*/true)))
      return failure();
    for (auto [gradient, value] : llvm::zip(given, from.front().getTerminator()->getOperands()))
      addGradient(value, gradient);
    if (failed(reverse(from.front())))
      return failure();
    scopes.pop_back();
  }
  return success();
}

LogicalResult ReverseMode::writeParallel(Operation *loop, bool isForward) {
  Operation *made;
  if (auto range = dyn_cast<RangeOp>(loop))
    made =
        RangeOp::create(builder, loop->getLoc(), atAll(range.getLower()), atAll(range.getUpper()));
  else
    made = ForEachOp::create(builder, loop->getLoc(), cast<ForEachOp>(loop).getTree(),
                             cast<ForEachOp>(loop).getPath());
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block &from = loop->getRegion(0).front(), &to = made->getRegion(0).front();
  primal.map(from.getArguments(), to.getArguments());
  OpBuilder::InsertionGuard guard(builder);
  if (to.empty()) {
    builder.setInsertionPointToEnd(&to);
    YieldOp::create(builder, loop->getLoc());
  }
  builder.setInsertionPoint(to.getTerminator());
  if (isForward)
    return sweep(from, /*keeps=*/false);
  scopes.push_back({&from, &to});
  if (failed(sweep(from, /*keeps=*/true)) || failed(reverse(from)))
    return failure();
  scopes.pop_back();
  return success();
}

//===-- gradients of values ------------------------------------------------------------------------------------===//

ReverseMode::Scope *ReverseMode::scopeOf(Value value) {
  for (Scope &scope : llvm::reverse(scopes))
    if (scope.block == value.getParentBlock())
      return &scope;
  llvm_unreachable("a gradient outside of its value's block");
}

Value ReverseMode::variable(Type type, Block *written) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(written);
  return memref::AllocaOp::create(builder, kernel.getLoc(), MemRefType::get({}, type));
}

/// Does another worker than the one that computed it add to its gradient?
bool ReverseMode::isShared(Value value) {
  if (value.getParentBlock() != &kernel.getBody().front())
    return false;
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *top = kernel.getBody().front().findAncestorOpInBlock(*user);
    return isa<RangeOp, ForEachOp>(top);
  });
}

/// Memory that all iterations add to; zero before the first loop does.
Value ReverseMode::sharedArray(Value value) {
  Value &array = shared[value];
  if (array)
    return array;
  auto vector = dyn_cast<VectorType>(value.getType());
  array = addLocalArray(kernel, vector ? vector.getShape() : ArrayRef<int64_t>(),
                        getElementTypeOrSelf(value.getType()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  clear(builder, value.getLoc(), array);
  return array;
}

void ReverseMode::addGradient(Value value, Value gradient) {
  if (!gradient || !activity.isActive(value))
    return;
  Location loc = gradient.getLoc();
  if (isShared(value)) {
    Value array = sharedArray(value);
    auto vector = dyn_cast<VectorType>(value.getType());
    for (int64_t k = 0; k < scalarsOf(value.getType()); ++k) {
      Value one =
          vector
              ? vector::ExtractOp::create(builder, loc, gradient, positionIn(vector, k)).getResult()
              : gradient;
      memref::AtomicRMWOp::create(builder, loc, arith::AtomicRMWKind::addf, one, array,
                                  indicesIn(builder, value.getLoc(), value.getType(), k));
    }
    return;
  }
  Scope *scope = scopeOf(value);
  Value &place = gradients[value];
  bool isFirst = !place && scope->written == builder.getInsertionBlock();
  if (!place)
    place = variable(value.getType(), scope->written);
  if (!isFirst && !isMutant(Mutant::SecondUseForgotten))
    gradient = rules(loc).add(memref::LoadOp::create(builder, loc, place), gradient);
  memref::StoreOp::create(builder, loc, gradient, place);
}

Value ReverseMode::gradientOf(Value value) {
  Location loc = value.getLoc();
  if (isShared(value)) {
    Value array = shared.lookup(value);
    if (!array)
      return {};
    auto vector = dyn_cast<VectorType>(value.getType());
    SmallVector<Value> elements;
    for (int64_t k = 0; k < scalarsOf(value.getType()); ++k)
      elements.push_back(memref::LoadOp::create(
          builder, loc, array, indicesIn(builder, value.getLoc(), value.getType(), k)));
    return vector ? vector::FromElementsOp::create(builder, loc, vector, elements).getResult()
                  : elements.front();
  }
  Value place = gradients.lookup(value);
  return place ? memref::LoadOp::create(builder, loc, place).getResult() : Value();
}

/// Before the reverse of a block is written once more.
void ReverseMode::forgetGradientsIn(Block &block) {
  for (BlockArgument argument : block.getArguments())
    gradients.erase(argument);
  block.walk([&](Operation *op) {
    for (Value result : op->getResults())
      gradients.erase(result);
    for (Region &region : op->getRegions())
      for (Block &inner : region)
        for (BlockArgument argument : inner.getArguments())
          gradients.erase(argument);
  });
}
