//===- PrepareWidths.cpp - integers of 32 and 64 bits -----------*- C++ -*-===//
//
// LLVM narrows integers to any width. Here each lies, zero-extended, in the next of i32 and i64; a bf16 too, which nothing computes with
// any more. An i1 stays what it is. An i8 or i16 is left only where memory or an f16 is made of it.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace metate;

/// 0: as it is.
static unsigned oddWidth(Type *type) {
  if (type->isBFloatTy())
    return 16;
  if (!type->isIntegerTy() || type->isIntegerTy(1) || type->isIntegerTy(32) ||
      type->isIntegerTy(64))
    return 0;
  return type->getIntegerBitWidth();
}

namespace {
class Widening {
public:
  explicit Widening(Function &function) : function(function), builder(function.getContext()) {}
  Error run();

private:
  Type *wideType(Type *type) {
    unsigned width = oddWidth(type);
    return !width ? type : width <= 32 ? builder.getInt32Ty() : builder.getInt64Ty();
  }
  Value *wide(Value *value);
  Value *masked(Value *value, unsigned width);
  Value *extended(Value *value); ///< by its sign, to all of the wider type

  bool concerns(Instruction &instruction) const;
  Value *made(Instruction &instruction);
  Value *binary(BinaryOperator &operation);
  Value *conversion(CastInst &cast);
  Value *toInteger(Value *number, unsigned width, Type *to);
  Value *bits(CastInst &cast);
  Value *comparison(ICmpInst &comparison);
  Value *load(LoadInst &load);
  void store(StoreInst &store);

  Function &function;
  IRBuilder<> builder;
  DenseMap<Value *, Value *> values;
};
} // namespace

Value *Widening::wide(Value *value) {
  unsigned width = oddWidth(value->getType());
  if (!width)
    return value;
  Type *type = wideType(value->getType());
  if (auto *integer = dyn_cast<ConstantInt>(value))
    return ConstantInt::get(type, integer->getValue().zext(type->getIntegerBitWidth()));
  if (auto *number = dyn_cast<ConstantFP>(value))
    return ConstantInt::get(
        type, number->getValueAPF().bitcastToAPInt().zext(type->getIntegerBitWidth()));
  if (isa<Constant>(value)) // undefined, and then any number of its width
    return ConstantInt::get(type, 0);
  return values.lookup(value);
}

Value *Widening::masked(Value *value, unsigned width) {
  return builder.CreateAnd(value,
                           ConstantInt::get(value->getType(), maskTrailingOnes<uint64_t>(width)));
}

Value *Widening::extended(Value *value) {
  unsigned width = oddWidth(value->getType());
  Value *number = wide(value);
  if (!width)
    return number;
  unsigned above = number->getType()->getIntegerBitWidth() - width;
  return builder.CreateAShr(builder.CreateShl(number, above), above);
}

Value *Widening::binary(BinaryOperator &operation) {
  unsigned width = oddWidth(operation.getType());
  Value *a = operation.getOperand(0), *b = operation.getOperand(1);
  switch (operation.getOpcode()) {
  case Instruction::AShr:
    return masked(builder.CreateAShr(extended(a), wide(b)), width);
  case Instruction::SDiv:
  case Instruction::SRem:
    return masked(builder.CreateBinOp(operation.getOpcode(), extended(a), extended(b)), width);
  case Instruction::Add:
  case Instruction::Sub:
  case Instruction::Mul:
  case Instruction::Shl:
    return masked(builder.CreateBinOp(operation.getOpcode(), wide(a), wide(b)), width);
  default: // cannot become wider
    return builder.CreateBinOp(operation.getOpcode(), wide(a), wide(b));
  }
}

/// The lowest `width` bits.
Value *Widening::toInteger(Value *number, unsigned width, Type *to) {
  Value *result = builder.CreateZExtOrTrunc(number, wideType(to));
  return width < result->getType()->getIntegerBitWidth() ? masked(result, width) : result;
}

/// The same bits as another type. What is no number of 32 or 64 bits is one for an f16 alone.
Value *Widening::bits(CastInst &cast) {
  Value *from = cast.getOperand(0);
  bool isNumber = oddWidth(from->getType()), isResult = oddWidth(cast.getType());
  if (isNumber && isResult)
    return wide(from);
  Type *i16 = builder.getInt16Ty();
  if (isNumber)
    return builder.CreateBitCast(builder.CreateTrunc(wide(from), i16), cast.getType());
  return builder.CreateZExt(builder.CreateBitCast(from, i16), builder.getInt32Ty());
}

Value *Widening::conversion(CastInst &cast) {
  Value *from = cast.getOperand(0);
  Type *to = cast.getType();
  unsigned width = to->isIntegerTy() ? to->getIntegerBitWidth() : 0;
  switch (cast.getOpcode()) {
  case Instruction::ZExt:
    return builder.CreateZExt(wide(from), wideType(to));
  case Instruction::SExt: {
    Value *number = from->getType()->isIntegerTy(1) ? from : extended(from);
    Value *result = builder.CreateSExt(number, wideType(to));
    return oddWidth(to) ? masked(result, width) : result;
  }
  case Instruction::Trunc:
    return to->isIntegerTy(1) ? builder.CreateTrunc(wide(from), to)
                              : toInteger(wide(from), width, to);
  case Instruction::FPToUI:
  case Instruction::FPToSI:
    return masked(builder.CreateCast(cast.getOpcode(), from, wideType(to)), width);
  case Instruction::UIToFP:
    return builder.CreateUIToFP(wide(from), to);
  case Instruction::SIToFP:
    return builder.CreateSIToFP(extended(from), to);
  case Instruction::BitCast:
    return bits(cast);
  case Instruction::IntToPtr:
  case Instruction::PtrToInt:
  default:
    return nullptr;
  }
}

Value *Widening::comparison(ICmpInst &comparison) {
  Value *a = comparison.getOperand(0), *b = comparison.getOperand(1);
  if (comparison.isSigned())
    return builder.CreateICmp(comparison.getPredicate(), extended(a), extended(b));
  return builder.CreateICmp(comparison.getPredicate(), wide(a), wide(b));
}

/// Of global memory: i8, i16 or bf16. Local memory has elements that are wide already.
Value *Widening::load(LoadInst &load) {
  Type *narrow = builder.getIntNTy(oddWidth(load.getType()));
  LoadInst *bytes = builder.CreateAlignedLoad(narrow, load.getPointerOperand(), load.getAlign(),
                                              load.isVolatile());
  return builder.CreateZExt(bytes, wideType(load.getType()));
}

void Widening::store(StoreInst &store) {
  Value *value = store.getValueOperand();
  Type *narrow = builder.getIntNTy(oddWidth(value->getType()));
  builder.CreateAlignedStore(builder.CreateTrunc(wide(value), narrow), store.getPointerOperand(),
                             store.getAlign(), store.isVolatile());
}

bool Widening::concerns(Instruction &instruction) const {
  return oddWidth(instruction.getType()) || any_of(instruction.operands(), [](const Use &use) {
           return oddWidth(use->getType()) != 0;
         });
}

/// Null: nothing that can be done with such an integer.
Value *Widening::made(Instruction &instruction) {
  if (auto *operation = dyn_cast<BinaryOperator>(&instruction))
    return operation->getType()->isIntegerTy() ? binary(*operation) : nullptr;
  if (auto *cast = dyn_cast<CastInst>(&instruction))
    return conversion(*cast);
  if (auto *comparison = dyn_cast<ICmpInst>(&instruction))
    return this->comparison(*comparison);
  if (auto *select = dyn_cast<SelectInst>(&instruction))
    return builder.CreateSelect(select->getCondition(), wide(select->getTrueValue()),
                                wide(select->getFalseValue()));
  if (auto *load = dyn_cast<LoadInst>(&instruction); load && !load->isAtomic())
    return this->load(*load);
  if (isa<FreezeInst>(instruction))
    return builder.CreateFreeze(wide(instruction.getOperand(0)));
  return nullptr;
}

Error Widening::run() {
  SmallVector<Instruction *> work;
  SmallVector<PHINode *> phis;
  for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&function))
    for (Instruction &instruction : *block) {
      unsigned width = oddWidth(instruction.getType());
      if (width > 64)
        return spirv::problemAt(instruction, "an integer of more than 64 bits");
      if (auto *phi = dyn_cast<PHINode>(&instruction)) {
        if (!width)
          continue;
        builder.SetInsertPoint(phi);
        values[phi] = builder.CreatePHI(wideType(phi->getType()), phi->getNumIncomingValues());
        phis.push_back(phi);
      } else if (concerns(instruction)) {
        work.push_back(&instruction);
      }
    }
  for (Instruction *instruction : work) {
    builder.SetInsertPoint(instruction);
    if (auto *store = dyn_cast<StoreInst>(instruction); store && !store->isAtomic()) {
      this->store(*store);
      continue;
    }
    Value *value = made(*instruction);
    if (!value)
      return spirv::problemAt(*instruction, "nothing that can be done with such a number");
    values[instruction] = value;
    if (!oddWidth(instruction->getType()))
      instruction->replaceAllUsesWith(value);
  }
  for (PHINode *phi : phis) {
    auto *number = cast<PHINode>(values[phi]);
    for (unsigned k = 0; k < phi->getNumIncomingValues(); ++k)
      number->addIncoming(wide(phi->getIncomingValue(k)), phi->getIncomingBlock(k));
  }
  append_range(work, phis);
  for (Instruction *instruction : reverse(work)) {
    instruction->replaceAllUsesWith(PoisonValue::get(instruction->getType()));
    instruction->eraseFromParent();
  }
  return Error::success();
}

Error spirv::widenIntegers(Function &function) { return Widening(function).run(); }
