//===- Widening.cpp - operations of lanes ----------------------------------*- C++ -*-===//
#include "metate/Emit/Emit.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Cpu/AcrossIterations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

static int64_t countOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

scf::ForOp Widening::run(Value lower, Value upper, bool masked) {
  Value width = arith::ConstantIndexOp::create(builder, loc, lanes);
  auto wide = scf::ForOp::create(builder, loc, lower, upper, width);
  builder.setInsertionPointToStart(wide.getBody());
  Value iterations = begin(wide.getInductionVar());
  if (masked)
    mask = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, iterations, splat(upper));
  findDeferred();
  widen(*loop.getBody());
  changeDeferred(wide.getInductionVar(), upper);
  return wide;
}

SmallVector<Value> Widening::from(OpBuilder &at, Value first, ValueRange values) {
  builder = at;
  begin(first);
  widen(*loop.getBody());
  return llvm::map_to_vector(values, [&](Value value) { return lanesOf(value).front(); });
}

/// The numbers of the iterations.
Value Widening::begin(Value first) {
  same.map(loop.getInductionVar(), first); // of offsets: the first lane's
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  auto type = VectorType::get(lanes, builder.getIndexType());
  Value steps = arith::ConstantOp::create(builder, loc,
                                          DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
  Value iterations = arith::AddIOp::create(builder, loc, splat(first), steps);
  parts[loop.getInductionVar()] = {iterations};
  return iterations;
}

Value Widening::splat(Value scalar) {
  return vector::BroadcastOp::create(builder, loc, wideType(scalar.getType()), scalar);
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
    element = splat(element);
  return elements;
}

void Widening::widen(Block &block) {
  for (Operation &op : block.without_terminator())
    widen(op);
}

void Widening::widen(Operation &op) {
  if (auto inner = dyn_cast<scf::ForOp>(op))
    return widenLoop(inner);
  if (auto inner = dyn_cast<scf::WhileOp>(op))
    return widenLoop(inner);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return widenBranch(branch);
  if (auto write = dyn_cast<WriteOp>(op))
    return widenWrite(write);
  if (auto atomic = dyn_cast<RmwOp>(op))
    return widenAtomic(atomic);
  if (auto array = dyn_cast<memref::AllocaOp>(op))
    return widenArray(array);
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return widenLoad(load);
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return widenStore(store);
  if (auto accumulation = Accumulation::of(op)) {
    if (&op == accumulation->store)
      widenAccumulation(*accumulation);
    return;
  }
  bool isOne = llvm::all_of(op.getResults(), [&](Value value) { return analysis.isSame(value); });
  bool isFirstLanes = llvm::all_of(op.getOperands(), [&](Value value) {
    return same.contains(value) || analysis.isSame(value);
  });
  if (isOne || (isFirstLanes && isMemoryEffectFree(&op) && isSpeculatable(&op)))
    builder.clone(op, same);
  if (isOne)
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
    parts[extract.getResult()] = componentsOf(extract);
  } else if (isa<vector::ShapeCastOp>(op)) {
    parts[op.getResult(0)] = lanesOf(op.getOperand(0));
  } else if (isa<vector::BroadcastOp>(op)) {
    parts[op.getResult(0)] =
        SmallVector<Value>(countOf(op.getResult(0).getType()), lanesOf(op.getOperand(0))[0]);
  } else {
    widenElementwise(op);
  }
}

/// Of a vector of vectors: those of one of them.
SmallVector<Value> Widening::componentsOf(vector::ExtractOp extract) {
  SmallVector<Value> all = lanesOf(extract.getSource());
  ArrayRef<Value> chosen = all;
  ArrayRef<int64_t> shape = extract.getSourceVectorType().getShape();
  for (auto [position, size] : llvm::zip(extract.getStaticPosition(), shape)) {
    size_t each = chosen.size() / size_t(size);
    chosen = chosen.slice(size_t(position) * each, each);
  }
  return llvm::to_vector(chosen);
}

/// One lane after the other, in the order of the iterations.
void Widening::widenAccumulation(Accumulation accumulation) {
  Value values = lanesOf(accumulation.value())[0];
  Value sum = builder.clone(*accumulation.load)->getResult(0);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    IRMapping mapping;
    mapping.map(accumulation.load.getResult(), sum);
    mapping.map(accumulation.value(), laneOf(values, lane));
    Value next = builder.clone(*accumulation.step, mapping)->getResult(0);
    sum = mask ? choose(laneOf(mask, lane), next, sum) : next;
  }
  IRMapping mapping;
  mapping.map(accumulation.store.getValue(), sum);
  builder.clone(*accumulation.store, mapping);
}

void Widening::widenElementwise(Operation &op) {
  SmallVector<SmallVector<Value>> operands;
  for (Value operand : op.getOperands())
    operands.push_back(lanesOf(operand));
  SmallVector<SmallVector<Value>> results(op.getNumResults()); // a product's halves are two
  for (int64_t k = 0; k < countOf(op.getResult(0).getType()); ++k) {
    SmallVector<Value> parts =
        widenComponent(op, llvm::map_to_vector(operands, [&](auto &operand) {
                         return operand.size() == 1 ? operand[0] : operand[k];
                       }));
    for (auto [part, all] : llvm::zip(parts, results))
      all.push_back(part);
  }
  for (auto [result, all] : llvm::zip(op.getResults(), results))
    parts[result] = all;
}

SmallVector<Value> Widening::widenComponent(Operation &op, ValueRange operands) {
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return {widenDivision(op, operands[0], operands[1])};
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    types.push_back(wideType(getElementTypeOrSelf(type)));
  OperationState state(op.getLoc(), op.getName(), operands, types, op.getAttrs());
  return llvm::to_vector_of<Value>(builder.create(state)->getResults());
}

/// Machines divide integers one by one. A quotient of numbers of 32 bits, rounded to f64, is on the right side of every
/// whole number: those next to it are at least 2^-32 away.
bool cpu::isDividedAsFloats(Operation &op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op) &&
         getElementTypeOrSelf(op.getResult(0).getType()).isInteger(32) &&
         !matchPattern(op.getOperand(1), m_Constant());
}

Value Widening::widenDivision(Operation &op, Value a, Value b) {
  Location where = op.getLoc();
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(op);
  bool isQuotient = isa<arith::DivSIOp, arith::DivUIOp>(op);
  if (!isDividedAsFloats(op)) {
    if (mask && !matchPattern(op.getOperand(1), m_Constant())) {
      Value one = arith::ConstantOp::create(builder, where, builder.getOneAttr(b.getType()));
      b = arith::SelectOp::create(builder, where, mask, b, one);
    }
    OperationState state(where, op.getName(), ValueRange{a, b}, a.getType(), op.getAttrs());
    return builder.create(state)->getResult(0);
  }
  Type integers = a.getType(), floats = wideType(builder.getF64Type());
  if (isMutant(Mutant::LanesDivideInSingle))
    floats = wideType(builder.getF32Type());
  auto convert = [&](Value value) -> Value {
    if (isSigned)
      return arith::SIToFPOp::create(builder, where, floats, value);
    return arith::UIToFPOp::create(builder, where, floats, value);
  };
  Value ratio = arith::DivFOp::create(builder, where, convert(a), convert(b)), quotient;
  if (isSigned)
    quotient = arith::FPToSIOp::create(builder, where, integers, ratio);
  else
    quotient = arith::FPToUIOp::create(builder, where, integers, ratio);
  if (isQuotient)
    return quotient;
  return arith::SubIOp::create(builder, where, a,
                               arith::MulIOp::create(builder, where, quotient, b));
}

Value Widening::laneOf(Value vector, int64_t lane) {
  return vector::ExtractOp::create(builder, loc, vector, lane);
}

void Widening::give(Values &to, ValueRange values, ValueRange receivers) {
  for (auto [value, receiver] : llvm::zip(values, receivers))
    if (analysis.isSame(receiver))
      to.push_back(same.lookupOrDefault(value));
    else
      llvm::append_range(to, lanesOf(value));
}

void Widening::take(ValueRange receivers, ValueRange &from) {
  for (Value receiver : receivers) {
    int64_t count = analysis.isSame(receiver) ? 1 : countOf(receiver.getType());
    if (analysis.isSame(receiver))
      same.map(receiver, from.front());
    else
      parts[receiver] = llvm::to_vector(from.take_front(count));
    from = from.drop_front(count);
  }
}

Value cpu::repeated(Value value, scf::ForOp loop, IRMapping &mapping, OpBuilder &builder) {
  Operation *op = value.getDefiningOp();
  if (mapping.contains(value) || !op || op->getBlock() != loop.getBody())
    return mapping.lookupOrDefault(value);
  for (Value operand : op->getOperands())
    repeated(operand, loop, mapping, builder);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

bool cpu::hasLanes(LLVM::LLVMFuncOp function) {
  ArrayAttr given = function.getPassthroughAttr();
  return given && llvm::is_contained(given, StringAttr::get(function.getContext(), lanesAttribute));
}

void cpu::markLanes(LLVM::LLVMFuncOp function) {
  if (hasLanes(function))
    return;
  SmallVector<Attribute> names;
  if (ArrayAttr given = function.getPassthroughAttr())
    llvm::append_range(names, given);
  auto name = StringAttr::get(function.getContext(), lanesAttribute);
  if (!llvm::is_contained(names, name))
    names.push_back(name);
  function.setPassthroughAttr(ArrayAttr::get(function.getContext(), names));
}
