//===- Control.cpp - loops and branches -------------------------*- C++ -*-===//
//
// Loops and branches are regions with no results: what outlives them goes
// through locals, which a later pass turns into values. A loop that may end
// early asks a u1 local before each iteration.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Speculation.h"
#include "metate/Frontend/KernelBuilder.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

Value KernelBuilder::indexConstant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc(), value);
}

bool KernelBuilder::sees(Value value) const {
  Block *block = builder.getInsertionBlock(), *home = value.getParentBlock();
  while (block && block != home)
    block = block->getParentOp() ? block->getParentOp()->getBlock() : nullptr;
  return block;
}

/// A loop variable is at least as wide as default_ip.
Scalar KernelBuilder::loopType(const Bounds &bounds) {
  Scalar type = promote(bounds.lower.type.scalar, bounds.upper.type.scalar);
  return bitWidth(type) < bitWidth(settings.defaultInteger) ? settings.defaultInteger : type;
}

bool KernelBuilder::checkBounds(const Bounds &bounds) {
  for (const KernelValue *bound : {&bounds.lower, &bounds.upper, &bounds.step}) {
    bool isOptional = bound == &bounds.step;
    if (!*bound && isOptional)
      continue;
    if (!*bound)
      return false;
    if (!bound->type.isScalar() || bound->type.isFloat()) {
      fail("range: expected integers, got " + bound->type.name(), "cast the bound: ti.i32(...)");
      return false;
    }
  }
  return true;
}

/// ceil((upper - lower) / step), not below zero; zero for a step of zero.
Value KernelBuilder::iterationCount(Value lower, Value upper, Value step) {
  auto make = [&](auto op, Value a, Value b) {
    return builder.createOrFold<decltype(op)>(loc(), a, b);
  };
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) {
    return builder.createOrFold<arith::CmpIOp>(loc(), predicate, a, b);
  };
  auto select = [&](Value c, Value a, Value b) {
    return builder.createOrFold<arith::SelectOp>(loc(), c, a, b);
  };
  Value zero = indexConstant(0), one = indexConstant(1);
  Value isDown = compare(arith::CmpIPredicate::slt, step, zero);
  Value span =
      select(isDown, make(arith::SubIOp(), lower, upper), make(arith::SubIOp(), upper, lower));
  Value size = select(isDown, make(arith::SubIOp(), zero, step), step);
  Value isNone = make(arith::OrIOp(), compare(arith::CmpIPredicate::sle, span, zero),
                      compare(arith::CmpIPredicate::eq, size, zero));
  Value divisor = select(compare(arith::CmpIPredicate::eq, size, zero), one, size);
  Value filled = make(arith::AddIOp(), span, make(arith::SubIOp(), divisor, one));
  Value count =
      make(arith::DivUIOp(), isMutant(Mutant::LoopCountRoundsDown) ? span : filled, divisor);
  return select(isNone, zero, count);
}

void KernelBuilder::enterLoop(Operation *op, Block *body) {
  builder.setInsertionPointToStart(body);
  scopes.push_back(body);
}

std::vector<KernelValue> KernelBuilder::beginParallel(ArrayRef<Bounds> bounds) {
  if (!llvm::all_of(bounds, [&](const Bounds &b) { return checkBounds(b); }))
    return {};
  SmallVector<Value> lower, upper, steps, origins;
  for (const Bounds &b : bounds) {
    Value first = toIndex(b.lower), last = toIndex(b.upper);
    std::optional<int64_t> step = b.step ? knownInteger(b.step) : 1;
    origins.push_back(step == 1 ? Value() : first);
    steps.push_back(step == 1 ? Value() : toIndex(b.step));
    lower.push_back(step == 1 ? first : indexConstant(0));
    upper.push_back(step == 1 ? last : iterationCount(first, last, steps.back()));
  }
  auto loop = RangeOp::create(builder, loc(), lower, upper);
  frames.push_back({loop, builder.saveInsertionPoint()});
  parallelOp = loop;
  enterLoop(loop, &loop.getBody().front());
  std::vector<KernelValue> variables;
  for (auto [k, b] : llvm::enumerate(bounds)) {
    Value index = loop.getBody().front().getArgument(k);
    if (steps[k]) {
      Value offset = builder.createOrFold<arith::MulIOp>(loc(), index, steps[k]);
      index = builder.createOrFold<arith::AddIOp>(loc(), origins[k], offset);
    }
    variables.push_back(fromIndex(index, loopType(b)));
  }
  return variables;
}

std::vector<KernelValue> KernelBuilder::beginForEach(const KernelTree &tree, StringRef path) {
  auto loop = ForEachOp::create(builder, loc(), tree.ir, path);
  frames.push_back({loop, builder.saveInsertionPoint()});
  parallelOp = loop;
  enterLoop(loop, &loop.getBody().front());
  std::vector<KernelValue> variables;
  for (Value index : loop.getBody().front().getArguments())
    variables.push_back(fromIndex(index, METATE_I32));
  return variables;
}

KernelValue KernelBuilder::beginSerial(const Bounds &bounds, const Reference *keepGoing) {
  if (!checkBounds(bounds))
    return {};
  Value lower = toIndex(bounds.lower), upper = toIndex(bounds.upper);
  std::optional<int64_t> known = bounds.step ? knownInteger(bounds.step) : 1;
  Value step = bounds.step ? toIndex(bounds.step) : indexConstant(1), origin;
  Scalar type = loopType(bounds);
  if (!known || *known <= 0) { // scf.for wants a positive step: count instead
    upper = iterationCount(lower, upper, step);
    origin = lower;
    lower = indexConstant(0);
  }
  Value stride = origin ? indexConstant(1) : step, index;
  if (!keepGoing) {
    auto loop = scf::ForOp::create(builder, loc(), lower, upper, stride);
    frames.push_back({loop, builder.saveInsertionPoint()});
    enterLoop(loop, loop.getBody());
    index = loop.getInductionVar();
  } else {
    Reference counter = declareLocal(DataType(METATE_I64));
    Value first = builder.createOrFold<arith::IndexCastOp>(loc(), builder.getI64Type(), lower);
    memref::StoreOp::create(builder, loc(), first, counter.base, ValueRange{});
    beginWhile();
    Value current = memref::LoadOp::create(builder, loc(), counter.base, ValueRange{});
    Value last = builder.createOrFold<arith::IndexCastOp>(loc(), builder.getI64Type(), upper);
    Value isMore =
        builder.createOrFold<arith::CmpIOp>(loc(), arith::CmpIPredicate::slt, current, last);
    beginWhileBody({isMore, DataType(METATE_U1)}, keepGoing);
    frames.back().counter = counter.base.getDefiningOp();
    frames.back().step =
        builder.createOrFold<arith::IndexCastOp>(loc(), builder.getI64Type(), stride);
    Value here = memref::LoadOp::create(builder, loc(), counter.base, ValueRange{});
    index = builder.createOrFold<arith::IndexCastOp>(loc(), builder.getIndexType(), here);
  }
  if (origin) {
    Value offset = builder.createOrFold<arith::MulIOp>(loc(), index, step);
    index = builder.createOrFold<arith::AddIOp>(loc(), origin, offset);
  }
  return fromIndex(index, type);
}

void KernelBuilder::beginWhile() {
  auto loop = scf::WhileOp::create(builder, loc(), TypeRange(), ValueRange());
  frames.push_back({loop, builder.saveInsertionPoint()});
  builder.createBlock(&loop.getBefore());
}

void KernelBuilder::beginWhileBody(const KernelValue &condition, const Reference *keepGoing) {
  if (!condition)
    return;
  auto loop = llvm::cast<scf::WhileOp>(frames.back().op);
  Value isTrue = condition.ir;
  if (keepGoing) {
    Value isOn = memref::LoadOp::create(builder, loc(), keepGoing->base, ValueRange{});
    isTrue = builder.createOrFold<arith::AndIOp>(loc(), isTrue, isOn);
  }
  scf::ConditionOp::create(builder, loc(), isTrue, ValueRange());
  Block *body = builder.createBlock(&loop.getAfter());
  scf::YieldOp::create(builder, loc());
  enterLoop(loop, body);
}

void KernelBuilder::endLoop() {
  Frame frame = frames.pop_back_val();
  if (frame.counter) {
    Value counter = frame.counter->getResult(0);
    Value current = memref::LoadOp::create(builder, loc(), counter, ValueRange{});
    Value next = builder.createOrFold<arith::AddIOp>(loc(), current, frame.step);
    memref::StoreOp::create(builder, loc(), next, counter, ValueRange{});
  }
  scopes.pop_back();
  if (frame.op == parallelOp)
    parallelOp = nullptr;
  builder.restoreInsertionPoint(frame.after);
}

void KernelBuilder::beginIf(const KernelValue &condition) {
  if (!condition)
    return;
  auto branch = scf::IfOp::create(builder, loc(), TypeRange(), condition.ir,
                                  /*withElseRegion=*/false);
  frames.push_back({branch, builder.saveInsertionPoint()});
  builder.setInsertionPointToStart(branch.thenBlock());
}

void KernelBuilder::beginElse() {
  auto branch = llvm::cast<scf::IfOp>(frames.back().op);
  Block *block = builder.createBlock(&branch.getElseRegion());
  scf::YieldOp::create(builder, loc());
  builder.setInsertionPointToStart(block);
}

void KernelBuilder::endIf() { builder.restoreInsertionPoint(frames.pop_back_val().after); }

/// Operations that are computed for nothing rather than branched around.
static constexpr unsigned mostOfTruth = 12;

/// A few operations that may run where the program would not have run them: comparisons, and what variables hold.
static bool isCheap(Block &block) {
  unsigned count = 0;
  return llvm::all_of(block.without_terminator(), [&](Operation &op) {
    auto load = dyn_cast<memref::LoadOp>(op);
    bool isVariable =
        load && load.getIndices().empty() && load.getMemRef().getDefiningOp<memref::AllocaOp>();
    count += !op.hasTrait<OpTrait::ConstantLike>();
    return count <= mostOfTruth && (isVariable || (op.getNumRegions() == 0 && mayRunAnywhere(&op)));
  });
}

/// `a and b`, `a or b` of conditions that are cheap: without a branch. Null: there stays one.
static Value truthOf(OpBuilder &builder, scf::IfOp branch) {
  if (!branch.getResult(0).getType().isInteger(1) || !isCheap(*branch.thenBlock()) ||
      !isCheap(*branch.elseBlock()))
    return {};
  Value yes = branch.thenYield().getOperand(0), no = branch.elseYield().getOperand(0);
  for (Block *block : {branch.thenBlock(), branch.elseBlock()})
    for (Operation &op : llvm::make_early_inc_range(block->without_terminator()))
      op.moveBefore(branch);
  Location loc = branch.getLoc();
  Value condition = branch.getCondition();
  if (matchPattern(no, m_Zero()))
    return builder.createOrFold<arith::AndIOp>(loc, condition, yes);
  if (matchPattern(no, m_One())) {
    Value on = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    Value isNot = builder.createOrFold<arith::XOrIOp>(loc, condition, on);
    return builder.createOrFold<arith::OrIOp>(loc, isNot, yes);
  }
  return builder.createOrFold<arith::SelectOp>(loc, condition, yes, no);
}

KernelValue KernelBuilder::endIfWith(const KernelValue &yes, const KernelValue &no) {
  if (!yes || !no)
    return {};
  auto branch = llvm::cast<scf::IfOp>(frames.back().op);
  DataType type(promote(yes.type.scalar, no.type.scalar),
                yes.type.isScalar() ? no.type.shape : yes.type.shape);
  if (yes.type.shape != no.type.shape && !yes.type.isScalar() && !no.type.isScalar()) {
    fail("conditional expression: expected equal shapes, got " + yes.type.name() + " and " +
         no.type.name());
    return {};
  }
  for (auto [region, value] :
       {std::pair(&branch.getThenRegion(), yes), std::pair(&branch.getElseRegion(), no)}) {
    Operation *yield = region->front().getTerminator();
    builder.setInsertionPoint(yield);
    KernelValue converted = convert(value, type, "conditional expression");
    scf::YieldOp::create(builder, loc(), converted.ir);
    yield->erase();
  }
  builder.restoreInsertionPoint(frames.pop_back_val().after);
  auto whole =
      scf::IfOp::create(builder, branch.getLoc(), TypeRange{ir(type)}, branch.getCondition(), true);
  whole.getThenRegion().takeBody(branch.getThenRegion());
  whole.getElseRegion().takeBody(branch.getElseRegion());
  branch.erase();
  if (Value truth = truthOf(builder, whole)) {
    whole.erase();
    return {truth, type};
  }
  return {whole.getResult(0), type};
}
