//===- WidenedMemory.cpp - what lanes read and write -----------------------*- C++ -*-===//
//
// Lanes that lie one after the other are read and written as vectors, others one by one. A lane that is not alive touches
// no memory but a place of the function's own: its offset may lead anywhere.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Target/Cpu/Host.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

static unsigned bytesOf(Type type) { return std::max(1u, type.getIntOrFloatBitWidth() / 8); }

/// Machines have masked accesses of numbers of these bits.
static bool isMaskable(Type type) {
  return type.isF32() || type.isF64() || type.isInteger(32) || type.isInteger(64);
}

static void copyScopes(Operation *from, Operation *to) {
  for (StringRef name : {"alias_scopes", "noalias_scopes", "access_groups"})
    if (Attribute scopes = from->getAttr(name))
      to->setAttr(name, scopes);
}

Value Widening::pointerTo(Value block, Value offset) {
  auto cast = [&](Type type, Value value) {
    return UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
  };
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext()), i64 = builder.getI64Type();
  if (auto vector = dyn_cast<VectorType>(offset.getType())) {
    pointer = wideType(pointer);
    i64 = wideType(i64);
  }
  Value base = cast(LLVM::LLVMPointerType::get(builder.getContext()), block);
  return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{cast(i64, offset)});
}

Value Widening::pointersUnderMask(Value block, Value offsets) {
  if (!spare) {
    auto function = loop->getParentOfType<LLVM::LLVMFuncOp>();
    OpBuilder atStart = OpBuilder::atBlockBegin(&function.getBody().front());
    Code code(atStart, loc);
    spare = LLVM::AllocaOp::create(atStart, loc, code.pointer(), builder.getI64Type(),
                                   code.constant(1, 64), /*alignment=*/8);
  }
  return LLVM::SelectOp::create(builder, loc, mask, pointerTo(block, offsets), splat(spare));
}

Value Widening::readRow(ReadOp read) {
  Value block = same.lookupOrDefault(read.getBlock()), offset = same.lookup(read.getOffset());
  Type type = wideType(read.getType());
  if (!mask) {
    auto made = ReadOp::create(builder, read.getLoc(), type, block, offset, read.getScope(), false,
                               read.getInvariant());
    made->setDiscardableAttrs(read->getDiscardableAttrDictionary());
    return made.getValue();
  }
  Value nothing = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return LLVM::MaskedLoadOp::create(builder, read.getLoc(), type, pointerTo(block, offset), mask,
                                    nothing, builder.getI32IntegerAttr(bytesOf(read.getType())),
                                    UnitAttr());
}

/// Lane by lane.
Value Widening::gather(ReadOp read) {
  Value block = same.lookupOrDefault(read.getBlock()), offsets = lanesOf(read.getOffset())[0];
  SmallVector<Value> values;
  Value pointers = mask ? pointersUnderMask(block, offsets) : Value();
  for (int64_t lane = 0; lane < lanes; ++lane) {
    if (!pointers) {
      auto made =
          ReadOp::create(builder, read.getLoc(), read.getType(), block, laneOf(offsets, lane),
                         read.getScope(), false, read.getInvariant());
      made->setDiscardableAttrs(read->getDiscardableAttrDictionary());
      values.push_back(made.getValue());
      continue;
    }
    Value number = LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(lane));
    Value pointer = LLVM::ExtractElementOp::create(builder, loc, pointers, number);
    auto made = LLVM::LoadOp::create(builder, read.getLoc(), read.getType(), pointer,
                                     bytesOf(read.getType()));
    copyScopes(read, made);
    values.push_back(made);
  }
  return vector::FromElementsOp::create(builder, loc, wideType(read.getType()), values);
}

void Widening::widenRead(ReadOp read) {
  Type type = read.getType();
  bool isRow = analysis.isRow(read.getOffset(), type) && same.contains(read.getOffset()) &&
               (!mask || isMaskable(type));
  parts[read.getValue()] = {isRow ? readRow(read) : gather(read)};
}

void Widening::scatter(WriteOp write, Value value) {
  Value block = same.lookupOrDefault(write.getBlock()), offsets = lanesOf(write.getOffset())[0];
  Value pointers = mask ? pointersUnderMask(block, offsets) : Value();
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value number = laneOf(value, lane);
    if (!pointers) {
      auto made = WriteOp::create(builder, write.getLoc(), number, block, laneOf(offsets, lane),
                                  write.getScope(), false);
      made->setDiscardableAttrs(write->getDiscardableAttrDictionary());
      continue;
    }
    Value at = LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(lane));
    Value pointer = LLVM::ExtractElementOp::create(builder, loc, pointers, at);
    copyScopes(write, LLVM::StoreOp::create(builder, write.getLoc(), number, pointer,
                                            bytesOf(number.getType())));
  }
}

void Widening::widenWrite(WriteOp write) {
  Value value = lanesOf(write.getValue())[0];
  Type type = write.getValue().getType();
  if (!analysis.isRow(write.getOffset(), type) || !same.contains(write.getOffset()) ||
      (mask && !isMaskable(type)))
    return scatter(write, value);
  Value block = same.lookupOrDefault(write.getBlock()), offset = same.lookup(write.getOffset());
  if (!mask) {
    auto made =
        WriteOp::create(builder, write.getLoc(), value, block, offset, write.getScope(), false);
    made->setDiscardableAttrs(write->getDiscardableAttrDictionary());
    return;
  }
  LLVM::MaskedStoreOp::create(builder, write.getLoc(), value, pointerTo(block, offset), mask,
                              builder.getI32IntegerAttr(bytesOf(type)));
}
