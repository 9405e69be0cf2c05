//===- WidenedArrays.cpp - arrays of an iteration's own, in lanes -----------*- C++ -*-===//
//
// A local vector that loops index at run time is an array in the iteration's own memory (IndexLocals.cpp). Lanes have a row of vectors in its place:
// an element that is one for all lanes, as the variables of their common loops name it, is a vector; others are read and written one by one.
// The memory is the function's own, so that what lanes that are not alive compute may be read from it, and is blended out where they would write.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Target/Cpu/Host.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// Of a vector, or of a number.
static unsigned bytesOfRow(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? unsigned(vector.getNumElements()) * bytesOfRow(vector.getElementType())
                : type.getIntOrFloatBitWidth() / 8;
}

void Widening::widenArray(memref::AllocaOp array) {
  auto function = loop->getParentOfType<LLVM::LLVMFuncOp>();
  OpBuilder atStart = OpBuilder::atBlockBegin(&function.getBody().front());
  Code code(atStart, loc);
  Type row = wideType(array.getType().getElementType());
  rows[array] = LLVM::AllocaOp::create(atStart, loc, code.pointer(), row,
                                       code.constant(array.getType().getNumElements(), 64),
                                       /*alignment=*/bytesOfRow(row));
}

/// Of an index that is one for all lanes a number, else of each lane.
static Value asInteger(OpBuilder &builder, Location loc, Value index) {
  auto vector = dyn_cast<VectorType>(index.getType());
  Type i64 = builder.getI64Type();
  Type type = vector ? Type(VectorType::get(vector.getShape(), i64)) : i64;
  return UnrealizedConversionCastOp::create(builder, loc, type, index).getResult(0);
}

Value Widening::rowOf(Value array, ValueRange indices) {
  if (indices.empty())
    return rows.lookup(array);
  auto type = cast<MemRefType>(array.getType());
  Type row = wideType(type.getElementType());
  Value index = same.lookupOrDefault(indices[0]);
  if (isFlattened) { // what the condition says of the index need not hold
    Value last = arith::ConstantIndexOp::create(builder, loc, type.getNumElements() - 1);
    index = arith::MinUIOp::create(builder, loc, index, last);
  }
  index = asInteger(builder, loc, index);
  return LLVM::GEPOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), row,
                             rows.lookup(array), ArrayRef<LLVM::GEPArg>{index},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value Widening::elementsOf(Value array, ValueRange indices) {
  Value index = asInteger(builder, loc, lanesOf(indices[0])[0]);
  SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  auto type = cast<VectorType>(index.getType());
  auto constant = [&](ArrayRef<int64_t> values) -> Value {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, values));
  };
  Value at = arith::MulIOp::create(builder, loc, index, constant(lanes));
  at = arith::AddIOp::create(builder, loc, at, constant(numbers));
  Type pointers = wideType(LLVM::LLVMPointerType::get(builder.getContext()));
  return LLVM::GEPOp::create(builder, loc, pointers,
                             cast<MemRefType>(array.getType()).getElementType(), rows.lookup(array),
                             ArrayRef<LLVM::GEPArg>{at});
}

void Widening::widenLoad(memref::LoadOp load) {
  Location where = load.getLoc();
  Type type = load.getType(), row = wideType(type);
  if (analysis.isOwnRow(load.getIndices())) {
    Value place = rowOf(load.getMemRef(), load.getIndices());
    parts[load.getResult()] = {LLVM::LoadOp::create(builder, where, row, place, bytesOfRow(row))};
    return;
  }
  Value pointers = elementsOf(load.getMemRef(), load.getIndices());
  if (mask)
    pointers = underMask(pointers);
  auto values = llvm::map_to_vector(llvm::seq<int64_t>(0, lanes), [&](int64_t lane) -> Value {
    Value number = LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(lane));
    Value pointer = LLVM::ExtractElementOp::create(builder, loc, pointers, number);
    return LLVM::LoadOp::create(builder, where, type, pointer, bytesOfRow(type));
  });
  parts[load.getResult()] = {vector::FromElementsOp::create(builder, loc, row, values)};
}

void Widening::widenStore(memref::StoreOp store) {
  Location where = store.getLoc();
  Value value = lanesOf(store.getValue())[0];
  Type row = value.getType();
  bool isMasked = mask && !isMutant(Mutant::LanesLeftStore);
  if (analysis.isOwnRow(store.getIndices())) {
    Value place = rowOf(store.getMemRef(), store.getIndices());
    if (isMasked) {
      Value before = LLVM::LoadOp::create(builder, where, row, place, bytesOfRow(row));
      value = choose(mask, value, before);
    }
    LLVM::StoreOp::create(builder, where, value, place, bytesOfRow(row));
    return;
  }
  Value pointers = elementsOf(store.getMemRef(), store.getIndices());
  if (mask)
    pointers = underMask(pointers);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value number = LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(lane));
    Value pointer = LLVM::ExtractElementOp::create(builder, loc, pointers, number);
    Value one = laneOf(value, lane);
    LLVM::StoreOp::create(builder, where, one, pointer, bytesOfRow(one.getType()));
  }
}
