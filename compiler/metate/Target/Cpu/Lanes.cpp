//===- Lanes.cpp - iterations side by side in vectors -----------*- C++ -*-===//
//
// A task whose iterations each run a long loop in order (n-body, a matrix product): LLVM may not
// reorder the inner loop's sums, but the iterations have no order. Sixteen of them become the lanes of
// vectors; what is one for all of them stays a scalar. Each lane computes what its iteration did, bit
// for bit.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Cpu/MapTasks.h"
#include "metate/Transforms/LeafForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

namespace {
constexpr int64_t lanes = 16;

/// A loop of fewer turns is unrolled, and what is around it is vectorised by LLVM.
constexpr int64_t leastTurns = 17;

bool hasManyTurns(scf::ForOp loop) {
  APInt lower, upper;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)))
    return true;
  return upper.getSExtValue() - lower.getSExtValue() >= leastTurns;
}

/// Finds out whether a loop can run in lanes, and what differs from lane to lane.
class Analysis {
public:
  explicit Analysis(scf::ForOp loop) : loop(loop) { differs.insert(loop.getInductionVar()); }

  bool run() {
    auto inner = loop.getBody()->getOps<scf::ForOp>();
    bool pays = llvm::any_of(inner, hasManyTurns);
    return pays && loop.getNumResults() == 0 && isPossible(*loop.getBody(), /*isInner=*/false);
  }

  bool isSame(Value value) const { return !differs.contains(value); }

  /// Do the lanes of an access lie one after the other?
  bool isRow(Value offset, Type type) const {
    LinearForm form = LinearForm::of(offset);
    Value variable = const_cast<scf::ForOp &>(loop).getInductionVar();
    return form.coefficient(variable) == int64_t(type.getIntOrFloatBitWidth() / 8) &&
           llvm::all_of(form.terms,
                        [&](auto &term) { return term.first == variable || isSame(term.first); });
  }

private:
  static bool isNumber(Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.getRank() == 1 && isNumber(vector.getElementType());
    return type.isIndex() || type.isF32() || type.isF64() || type.isInteger(1) ||
           type.isInteger(32) || type.isInteger(64);
  }

  static bool isStored(Type type) { return !isa<VectorType, IndexType>(type) && isNumber(type); }

  bool isPossible(Block &block, bool isInner) {
    for (Operation &op : block.without_terminator())
      if (!isPossible(op, isInner))
        return false;
    return true;
  }

  bool isPossible(Operation &op, bool isInner) {
    bool same = llvm::all_of(op.getOperands(), [&](Value value) { return isSame(value); });
    if (auto inner = dyn_cast<scf::ForOp>(op)) {
      if (!isSame(inner.getLowerBound()) || !isSame(inner.getUpperBound()) ||
          !isSame(inner.getStep()) || !llvm::all_of(inner.getResultTypes(), isNumber))
        return false;
      for (Value carried : llvm::concat<Value>(llvm::to_vector_of<Value>(inner.getRegionIterArgs()),
                                               llvm::to_vector_of<Value>(inner.getResults())))
        differs.insert(carried);
      return isPossible(*inner.getBody(), true);
    }
    if (auto read = dyn_cast<ReadOp>(op)) {
      if (read.getAcquire() || !isStored(read.getType()) || !isSame(read.getBlock()))
        return false;
      if (same)
        return true;
      differs.insert(read.getValue());
      return !isInner || isRow(read.getOffset(), read.getType());
    }
    if (auto write = dyn_cast<WriteOp>(op)) {
      Type type = write.getValue().getType();
      return !write.getRelease() && isStored(type) && isSame(write.getBlock()) &&
             !isSame(write.getOffset()) && (!isInner || isRow(write.getOffset(), type));
    }
    if (op.getNumRegions() || !isMemoryEffectFree(&op))
      return false;
    if (same)
      return true;
    for (Value result : op.getResults())
      differs.insert(result);
    return llvm::all_of(op.getResultTypes(), isNumber) &&
           llvm::all_of(op.getOperandTypes(), isNumber) && isWidened(op);
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
        !isa<math::SqrtOp, math::RsqrtOp, math::AbsFOp, math::FmaOp, math::FloorOp, math::CeilOp>(
            op))
      return false;
    return op.hasTrait<OpTrait::Elementwise>() && !isa<arith::ConstantOp>(op);
  }

  scf::ForOp loop;
  llvm::DenseSet<Value> differs;
};

/// Writes the loop over sixteen iterations at a time. A value that differs is as many vectors of
/// lanes as it has components.
class Widening {
public:
  Widening(scf::ForOp loop, const Analysis &analysis)
      : loop(loop), analysis(analysis), builder(loop), loc(loop.getLoc()) {}

  void run() {
    Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
    Value width = arith::ConstantIndexOp::create(builder, loc, lanes);
    Value span =
        arith::MaxSIOp::create(builder, loc, arith::SubIOp::create(builder, loc, upper, lower),
                               arith::ConstantIndexOp::create(builder, loc, 0));
    Value rest = arith::RemUIOp::create(builder, loc, span, width);
    Value middle =
        arith::AddIOp::create(builder, loc, lower, arith::SubIOp::create(builder, loc, span, rest));
    auto wide = scf::ForOp::create(builder, loc, lower, middle, width);
    loop.getLowerBoundMutable().assign(isMutant(Mutant::LanesTwice) ? lower : middle);
    builder.setInsertionPointToStart(wide.getBody());
    Value first = wide.getInductionVar();
    same.map(loop.getInductionVar(), first); // of offsets: the first lane's
    auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
    auto type = VectorType::get(lanes, builder.getIndexType());
    Value steps = arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
    Value all = vector::BroadcastOp::create(builder, loc, type, first);
    parts[loop.getInductionVar()] = {arith::AddIOp::create(builder, loc, all, steps)};
    widen(*loop.getBody());
  }

private:
  static Type wideType(Type type) { return VectorType::get(lanes, type); }
  static Type scalarOf(Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? vector.getElementType() : type;
  }
  static int64_t countOf(Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? vector.getNumElements() : 1;
  }

  /// The vectors of lanes of any value.
  SmallVector<Value> lanesOf(Value value) {
    if (auto known = parts.find(value); known != parts.end())
      return known->second;
    Value scalar = same.lookupOrDefault(value);
    SmallVector<Value> elements{scalar};
    if (isa<VectorType>(scalar.getType()))
      elements = llvm::to_vector_of<Value>(
          vector::ToElementsOp::create(builder, loc, scalar).getElements());
    for (Value &element : elements)
      element = vector::BroadcastOp::create(builder, loc, wideType(element.getType()), element);
    return elements;
  }

  void widen(Block &block) {
    for (Operation &op : block.without_terminator())
      widen(op);
  }

  void widen(Operation &op) {
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

  void widenElementwise(Operation &op) {
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

  void widenLoop(scf::ForOp inner) {
    SmallVector<Value> initial;
    for (Value value : inner.getInitArgs())
      llvm::append_range(initial, lanesOf(value));
    auto wide =
        scf::ForOp::create(builder, inner.getLoc(), same.lookupOrDefault(inner.getLowerBound()),
                           same.lookupOrDefault(inner.getUpperBound()),
                           same.lookupOrDefault(inner.getStep()), initial);
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

  Value laneOf(Value vector, int64_t lane) {
    return vector::ExtractOp::create(builder, loc, vector, lane);
  }

  void widenRead(ReadOp read) {
    Value block = same.lookupOrDefault(read.getBlock());
    auto make = [&](Value offset, Type type) {
      auto made = ReadOp::create(builder, read.getLoc(), type, block, offset, read.getScope(),
                                 false, read.getInvariant());
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

  void widenWrite(WriteOp write) {
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

  scf::ForOp loop;
  const Analysis &analysis;
  OpBuilder builder;
  Location loc;
  IRMapping same; ///< what is one for all lanes, and of what differs but for reads, the first lane
  llvm::DenseMap<Value, SmallVector<Value>> parts;
};
} // namespace

void cpu::runInLanes(scf::ForOp loop) {
  Analysis analysis(loop);
  if (analysis.run())
    Widening(loop, analysis).run();
}
