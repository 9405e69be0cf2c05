//===- AcrossIterations.cpp - iterations side by side in vectors -----------*- C++ -*-===//
//
// A task whose iterations each run a long loop in order (n-body, a matrix product): LLVM may not
// reorder the inner loop's sums, but the iterations have no order. Sixteen of them become the lanes of
// vectors; what is one for all of them stays a scalar. Each lane computes what its iteration did, bit
// for bit.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Emit/Emit.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/MapTasks.h"
#include "metate/Transforms/LeafForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// A loop of fewer turns is unrolled, and what is around it is vectorised by LLVM.
static constexpr int64_t leastTurns = 17;

static bool hasManyTurns(scf::ForOp loop) {
  if (loop->hasAttr(mark::nest)) // cells of a slot, which are vectors themselves
    return false;
  APInt lower, upper;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)))
    return true;
  return upper.getSExtValue() - lower.getSExtValue() >= leastTurns;
}

bool LaneAnalysis::isRow(Value offset, Type type) const {
  LinearForm form = LinearForm::of(offset);
  return form.coefficient(variable) == int64_t(type.getIntOrFloatBitWidth() / 8) &&
         llvm::all_of(form.terms,
                      [&](auto &term) { return term.first == variable || isSame(term.first); });
}

bool LaneAnalysis::isNumber(Type type) const {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getRank() == 1 && isNumber(vector.getElementType());
  if (auto integer = dyn_cast<IntegerType>(type); integer && integer.getWidth() <= 64)
    return integer.getWidth() == 1 || integer.getWidth() >= least;
  return type.isIndex() || type.isF32() || type.isF64();
}

bool LaneAnalysis::isStored(Type type) const {
  return !isa<VectorType, IndexType>(type) && isNumber(type);
}

bool LaneAnalysis::isPossible(Block &block, bool isInner) {
  auto found = llvm::find_if(block.without_terminator(),
                             [&](Operation &op) { return !isPossible(op, isInner); });
  if (found == block.without_terminator().end())
    return true;
  if (!blocking)
    blocking = &*found;
  return false;
}

llvm::StringRef cpu::obstacleName(Operation *op) {
  if (isa<RmwOp, CasOp>(op))
    return "an atomic operation";
  if (isa<scf::IfOp>(op))
    return "a branch";
  if (isa<scf::WhileOp>(op))
    return "a loop that ends on a condition";
  if (isa<scf::ForOp>(op))
    return "a loop of another number of turns in each iteration";
  if (isa<ReadOp>(op))
    return "a read of elements that do not lie one after the other";
  if (isa<WriteOp>(op))
    return "a write of elements that do not lie one after the other, or of one place";
  if (isa<math::MathDialect>(op->getDialect()))
    return "a function of the C library";
  if (op->hasTrait<OpTrait::Elementwise>())
    return "arithmetic in a type that is not computed in lanes";
  return "a call, or an operation with effects of its own";
}

bool LaneAnalysis::isPossible(scf::ForOp inner) {
  if (!isSame(inner.getLowerBound()) || !isSame(inner.getUpperBound()) ||
      !isSame(inner.getStep()) ||
      !llvm::all_of(inner.getResultTypes(), [&](Type type) { return isNumber(type); }))
    return false;
  for (Value carried : llvm::concat<Value>(llvm::to_vector_of<Value>(inner.getRegionIterArgs()),
                                           llvm::to_vector_of<Value>(inner.getResults())))
    differs.insert(carried);
  return isPossible(*inner.getBody(), true);
}

bool LaneAnalysis::isPossible(ReadOp read, bool isInner) {
  if (read.getAcquire() || !isStored(read.getType()) || !isSame(read.getBlock()))
    return false;
  if (isSame(read.getOffset()))
    return true;
  differs.insert(read.getValue());
  return !isInner || isRow(read.getOffset(), read.getType());
}

static bool isWidened(Operation &op) {
  if (auto extract = dyn_cast<vector::ExtractOp>(op))
    return !extract.hasDynamicPosition() && extract.getNumIndices() == 1;
  if (isa<vector::FromElementsOp, vector::ToElementsOp>(op))
    return true;
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
    return !isa<VectorType>(broadcast.getSourceType());
  // Functions of the C library take one number at a time.
  if (isa<math::MathDialect>(op.getDialect()) &&
      !isa<math::SqrtOp, math::RsqrtOp, math::AbsFOp, math::FmaOp, math::FloorOp, math::CeilOp>(op))
    return false;
  return op.hasTrait<OpTrait::Elementwise>() && !isa<arith::ConstantOp>(op);
}

bool LaneAnalysis::isPossible(Operation &op, bool isInner) {
  if (auto inner = dyn_cast<scf::ForOp>(op))
    return isPossible(inner);
  if (auto read = dyn_cast<ReadOp>(op))
    return isPossible(read, isInner);
  if (auto write = dyn_cast<WriteOp>(op)) {
    Type type = write.getValue().getType();
    return !write.getRelease() && isStored(type) && isSame(write.getBlock()) &&
           !isSame(write.getOffset()) && (!isInner || isRow(write.getOffset(), type));
  }
  if (op.getNumRegions() || !isMemoryEffectFree(&op))
    return false;
  if (llvm::all_of(op.getOperands(), [&](Value value) { return isSame(value); }))
    return true;
  for (Value result : op.getResults())
    differs.insert(result);
  auto isHeld = [&](Type type) { return isNumber(type); };
  return llvm::all_of(op.getResultTypes(), isHeld) && llvm::all_of(op.getOperandTypes(), isHeld) &&
         isWidened(op);
}

static Type scalarOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getElementType() : type;
}

static int64_t countOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

scf::ForOp Widening::run(Value lower, Value upper) {
  Value width = arith::ConstantIndexOp::create(builder, loc, lanes);
  auto wide = scf::ForOp::create(builder, loc, lower, upper, width);
  builder.setInsertionPointToStart(wide.getBody());
  Value first = wide.getInductionVar();
  same.map(loop.getInductionVar(), first); // of offsets: the first lane's
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  auto type = VectorType::get(lanes, builder.getIndexType());
  Value steps = arith::ConstantOp::create(builder, loc,
                                          DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
  Value all = vector::BroadcastOp::create(builder, loc, type, first);
  parts[loop.getInductionVar()] = {arith::AddIOp::create(builder, loc, all, steps)};
  widen(*loop.getBody());
  return wide;
}

/// The vectors of lanes of any value.
SmallVector<Value> Widening::lanesOf(Value value) {
  if (auto known = parts.find(value); known != parts.end())
    return known->second;
  Value scalar = same.lookupOrDefault(value);
  SmallVector<Value> elements{scalar};
  if (isa<VectorType>(scalar.getType()))
    elements =
        llvm::to_vector_of<Value>(vector::ToElementsOp::create(builder, loc, scalar).getElements());
  for (Value &element : elements)
    element = vector::BroadcastOp::create(builder, loc, wideType(element.getType()), element);
  return elements;
}

void Widening::widen(Block &block) {
  for (Operation &op : block.without_terminator())
    widen(op);
}

void Widening::widen(Operation &op) {
  if (auto inner = dyn_cast<scf::ForOp>(op))
    return widenLoop(inner);
  if (auto write = dyn_cast<WriteOp>(op))
    return widenWrite(write);
  bool isFirstLanes = llvm::all_of(op.getOperands(), [&](Value value) {
    return same.contains(value) || analysis.isSame(value);
  });
  if (isFirstLanes && (isMemoryEffectFree(&op) || analysis.isSame(op.getResult(0))))
    builder.clone(op, same);
  if (llvm::all_of(op.getResults(), [&](Value value) { return analysis.isSame(value); }))
    return;
  if (auto read = dyn_cast<ReadOp>(op))
    return widenRead(read);
  if (isa<vector::FromElementsOp>(op)) {
    SmallVector<Value> all;
    for (Value element : op.getOperands())
      llvm::append_range(all, lanesOf(element));
    parts[op.getResult(0)] = all;
  } else if (isa<vector::ToElementsOp>(op)) {
    for (auto [result, part] : llvm::zip(op.getResults(), lanesOf(op.getOperand(0))))
      parts[result] = {part};
  } else if (auto extract = dyn_cast<vector::ExtractOp>(op)) {
    parts[extract.getResult()] = {lanesOf(extract.getOperand(0))[extract.getStaticPosition()[0]]};
  } else if (isa<vector::BroadcastOp>(op)) {
    parts[op.getResult(0)] =
        SmallVector<Value>(countOf(op.getResult(0).getType()), lanesOf(op.getOperand(0))[0]);
  } else {
    widenElementwise(op);
  }
}

void Widening::widenElementwise(Operation &op) {
  Type type = op.getResult(0).getType();
  SmallVector<SmallVector<Value>> operands;
  for (Value operand : op.getOperands())
    operands.push_back(lanesOf(operand));
  SmallVector<Value> results;
  for (int64_t k = 0; k < countOf(type); ++k) {
    OperationState state(op.getLoc(), op.getName());
    for (auto &operand : operands)
      state.operands.push_back(operand.size() == 1 ? operand[0] : operand[k]);
    state.addTypes(wideType(scalarOf(type)));
    state.addAttributes(op.getAttrs());
    results.push_back(builder.create(state)->getResult(0));
  }
  parts[op.getResult(0)] = results;
}

void Widening::widenLoop(scf::ForOp inner) {
  SmallVector<Value> initial;
  for (Value value : inner.getInitArgs())
    llvm::append_range(initial, lanesOf(value));
  auto wide = scf::ForOp::create(
      builder, inner.getLoc(), same.lookupOrDefault(inner.getLowerBound()),
      same.lookupOrDefault(inner.getUpperBound()), same.lookupOrDefault(inner.getStep()), initial);
  same.map(inner.getInductionVar(), wide.getInductionVar());
  auto share = [&](ValueRange values, ValueRange vectors) {
    for (Value value : values) {
      int64_t count = countOf(value.getType());
      parts[value] = llvm::to_vector(vectors.take_front(count));
      vectors = vectors.drop_front(count);
    }
  };
  share(inner.getRegionIterArgs(), wide.getRegionIterArgs());
  share(inner.getResults(), wide.getResults());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(wide.getBody());
  widen(*inner.getBody());
  SmallVector<Value> next;
  for (Value value : inner.getBody()->getTerminator()->getOperands())
    llvm::append_range(next, lanesOf(value));
  if (!next.empty())
    scf::YieldOp::create(builder, inner.getLoc(), next);
}

Value Widening::laneOf(Value vector, int64_t lane) {
  return vector::ExtractOp::create(builder, loc, vector, lane);
}

void Widening::widenRead(ReadOp read) {
  Value block = same.lookupOrDefault(read.getBlock());
  auto make = [&](Value offset, Type type) {
    auto made = ReadOp::create(builder, read.getLoc(), type, block, offset, read.getScope(), false,
                               read.getInvariant());
    made->setDiscardableAttrs(read->getDiscardableAttrDictionary());
    return made.getValue();
  };
  if (analysis.isRow(read.getOffset(), read.getType()) && same.contains(read.getOffset())) {
    parts[read.getValue()] = {make(same.lookup(read.getOffset()), wideType(read.getType()))};
    return;
  }
  Value offsets = lanesOf(read.getOffset())[0];
  SmallVector<Value> values;
  for (int64_t lane = 0; lane < lanes; ++lane)
    values.push_back(make(laneOf(offsets, lane), read.getType()));
  parts[read.getValue()] = {
      vector::FromElementsOp::create(builder, loc, wideType(read.getType()), values)};
}

void Widening::widenWrite(WriteOp write) {
  Value block = same.lookupOrDefault(write.getBlock()), value = lanesOf(write.getValue())[0];
  auto make = [&](Value what, Value offset) {
    auto made =
        WriteOp::create(builder, write.getLoc(), what, block, offset, write.getScope(), false);
    made->setDiscardableAttrs(write->getDiscardableAttrDictionary());
  };
  if (analysis.isRow(write.getOffset(), write.getValue().getType()) &&
      same.contains(write.getOffset()))
    return make(value, same.lookup(write.getOffset()));
  Value offsets = lanesOf(write.getOffset())[0];
  for (int64_t lane = 0; lane < lanes; ++lane)
    make(laneOf(value, lane), laneOf(offsets, lane));
}

void cpu::markLanes(LLVM::LLVMFuncOp function) {
  SmallVector<Attribute> names;
  if (ArrayAttr given = function.getPassthroughAttr())
    llvm::append_range(names, given);
  names.push_back(StringAttr::get(function.getContext(), lanesAttribute));
  function.setPassthroughAttr(ArrayAttr::get(function.getContext(), names));
}

void cpu::runAcrossIterations(scf::ForOp loop) {
  constexpr int64_t lanes = 16;
  LaneAnalysis analysis(*loop.getBody(), loop.getInductionVar());
  bool pays = llvm::any_of(loop.getBody()->getOps<scf::ForOp>(), hasManyTurns);
  if (!pays || loop.getNumResults() != 0)
    return;
  if (!analysis.run()) {
    if (auto remark = remarkDeclined(loop, "across-iterations", "lanes")) {
      Operation *obstacle = analysis.obstacle();
      remark << "iterations do not run their inner loops side by side, for "
             << (obstacle ? obstacleName(obstacle) : "what they carry from turn to turn")
             << atLine(obstacle);
    }
    return;
  }
  remarkDone(loop, "across-iterations", "lanes")
      << Number("lanes", lanes)
      << " iterations run their inner loops side by side, as lanes of vectors";
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Value width = arith::ConstantIndexOp::create(builder, loc, lanes);
  Value span =
      arith::MaxSIOp::create(builder, loc, arith::SubIOp::create(builder, loc, upper, lower),
                             arith::ConstantIndexOp::create(builder, loc, 0));
  Value rest = arith::RemUIOp::create(builder, loc, span, width);
  Value middle =
      arith::AddIOp::create(builder, loc, lower, arith::SubIOp::create(builder, loc, span, rest));
  Widening(loop, analysis, lanes).run(lower, middle);
  loop.getLowerBoundMutable().assign(isMutant(Mutant::LanesTwice) ? lower : middle);
  markLanes(loop->getParentOfType<LLVM::LLVMFuncOp>());
}
