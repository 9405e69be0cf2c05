//===- PrepareNumbers.cpp - arithmetic by Support/Numbers.c -----*- C++ -*-===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Linker/Linker.h"

using namespace llvm;
using namespace metate;

extern "C" const char metate_bitcode_Numbers_spirv64_begin[],
    metate_bitcode_Numbers_spirv64_end[]; // NumbersCode.S

static constexpr StringRef numberPrefix = "metate_number_";

static bool isSmall(Type *type) { return type->isHalfTy() || type->isBFloatTy(); }

/// The function of Numbers.c that makes whole numbers as the intrinsic does; empty: there is none.
static StringRef wholeOf(const IntrinsicInst &intrinsic) {
  switch (intrinsic.getIntrinsicID()) {
  case Intrinsic::trunc:
    return "trunc_f64";
  case Intrinsic::round:
    return "round_f64";
  case Intrinsic::roundeven:
  case Intrinsic::rint:
  case Intrinsic::nearbyint:
    return "roundeven_f64";
  default:
    return "";
  }
}

namespace {
/// Replaces one instruction after the other; what that makes may be replaced in turn.
class NumberCalls {
public:
  NumberCalls(Function &function, const SpirvOptions &options)
      : function(function), options(options) {}
  void run();

private:
  Value *replaced(Instruction &instruction);
  Value *ofBinary(BinaryOperator &operation);
  Value *ofCast(CastInst &conversion);
  Value *ofCall(IntrinsicInst &call);
  Value *byFloat(Instruction &instruction);
  Value *ofSign(unsigned keep, Value *value, Value *sign);
  Value *narrow(Value *value, Type *to);
  Value *widen(Value *value, Type *to);
  Value *call(StringRef name, Type *result, ArrayRef<Value *> arguments);
  Value *operated(StringRef operation, Type *type, ArrayRef<Value *> operands);

  Function &function;
  const SpirvOptions &options;
  IRBuilder<> builder{function.getContext()};
};
} // namespace

Value *NumberCalls::call(StringRef name, Type *result, ArrayRef<Value *> arguments) {
  SmallVector<Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  FunctionCallee callee = function.getParent()->getOrInsertFunction(
      (numberPrefix + name).str(), FunctionType::get(result, types, /*isVarArg=*/false));
  return builder.CreateCall(callee, arguments);
}

/// A quotient, remainder or root of f32 or f64 as it is; of f16 by f32, whose 24 bits are enough that rounding twice is rounding once.
Value *NumberCalls::operated(StringRef operation, Type *type, ArrayRef<Value *> operands) {
  if (!type->isHalfTy())
    return call((operation + (type->isFloatTy() ? "_f32" : "_f64")).str(), type, operands);
  SmallVector<Value *> wide;
  for (Value *operand : operands)
    wide.push_back(widen(operand, builder.getFloatTy()));
  return narrow(call((operation + "_f32").str(), builder.getFloatTy(), wide), type);
}

Value *NumberCalls::widen(Value *value, Type *to) {
  if (!value->getType()->isBFloatTy())
    return builder.CreateFPExt(value, to);
  Value *bits = builder.CreateBitCast(value, builder.getInt16Ty());
  bits = builder.CreateShl(builder.CreateZExt(bits, builder.getInt32Ty()), 16);
  return builder.CreateFPExt(builder.CreateBitCast(bits, builder.getFloatTy()), to);
}

Value *NumberCalls::narrow(Value *value, Type *to) {
  StringRef name = to->isHalfTy() ? "f16_of_" : "bf16_of_";
  StringRef from = value->getType()->isDoubleTy() ? "f64" : "f32";
  return builder.CreateBitCast(call((name + from).str(), builder.getInt16Ty(), value), to);
}

/// An operation of bf16 numbers on f32.
Value *NumberCalls::byFloat(Instruction &instruction) {
  Instruction *wide = instruction.clone();
  for (Use &use : wide->operands())
    if (use->getType()->isBFloatTy())
      use.set(widen(use, builder.getFloatTy()));
  if (wide->getType()->isBFloatTy())
    wide->mutateType(builder.getFloatTy());
  builder.Insert(wide);
  Value *result = wide;
  if (Value *other = replaced(*wide)) {
    wide->eraseFromParent();
    result = other;
  }
  return instruction.getType()->isBFloatTy() ? narrow(result, instruction.getType()) : result;
}

/// The bits `keep` of a bf16, with others of `sign`.
Value *NumberCalls::ofSign(unsigned keep, Value *value, Value *sign) {
  Type *i16 = builder.getInt16Ty();
  Value *own = builder.CreateAnd(builder.CreateBitCast(value, i16), keep);
  return builder.CreateBitCast(builder.CreateOr(own, sign), value->getType());
}

Value *NumberCalls::ofBinary(BinaryOperator &operation) {
  Type *type = operation.getType();
  if (type->isBFloatTy())
    return byFloat(operation);
  if (!type->isHalfTy() && !type->isFloatTy() && !type->isDoubleTy())
    return nullptr;
  if (operation.getOpcode() == Instruction::FRem)
    return operated("remainder", type, {operation.getOperand(0), operation.getOperand(1)});
  bool isEstimate = operation.getOpcode() != Instruction::FDiv || operation.hasApproxFunc() ||
                    operation.hasAllowReciprocal();
  return isEstimate ? nullptr
                    : operated("divide", type, {operation.getOperand(0), operation.getOperand(1)});
}

Value *NumberCalls::ofCast(CastInst &conversion) {
  Value *from = conversion.getOperand(0);
  Type *to = conversion.getType();
  switch (conversion.getOpcode()) {
  case Instruction::FPExt:
    return from->getType()->isBFloatTy() ? widen(from, to) : nullptr;
  case Instruction::FPTrunc:
    return isSmall(to) ? narrow(from, to) : nullptr;
  case Instruction::UIToFP: // what f32 rounds is more than f16 can hold
  case Instruction::SIToFP:
    if (!isSmall(to))
      return nullptr;
    return narrow(builder.CreateCast(conversion.getOpcode(), from, builder.getFloatTy()), to);
  case Instruction::FPToUI:
  case Instruction::FPToSI:
    return from->getType()->isBFloatTy()
               ? builder.CreateCast(conversion.getOpcode(), widen(from, builder.getFloatTy()), to)
               : nullptr;
  default:
    return nullptr;
  }
}

Value *NumberCalls::ofCall(IntrinsicInst &intrinsic) {
  Type *type = intrinsic.getType();
  if (intrinsic.getIntrinsicID() == Intrinsic::is_fpclass)
    return nullptr; // a question of bits
  bool takesBFloat = type->isBFloatTy() || any_of(intrinsic.args(), [](const Use &argument) {
                       return argument->getType()->isBFloatTy();
                     });
  if (takesBFloat) {
    Type *i16 = builder.getInt16Ty();
    if (intrinsic.getIntrinsicID() == Intrinsic::fabs)
      return ofSign(0x7fff, intrinsic.getArgOperand(0), ConstantInt::get(i16, 0));
    if (intrinsic.getIntrinsicID() == Intrinsic::copysign)
      return ofSign(
          0x7fff, intrinsic.getArgOperand(0),
          builder.CreateAnd(builder.CreateBitCast(intrinsic.getArgOperand(1), i16), 0x8000));
    SmallVector<Type *> types;
    if (!Intrinsic::isOverloaded(intrinsic.getIntrinsicID()))
      return nullptr;
    if (!type->isBFloatTy())
      types.push_back(type); // fptosi.sat and the like
    types.push_back(builder.getFloatTy());
    SmallVector<Value *> arguments;
    for (Value *argument : intrinsic.args())
      arguments.push_back(argument->getType()->isBFloatTy() ? widen(argument, builder.getFloatTy())
                                                            : argument);
    auto *wide =
        cast<CallInst>(builder.CreateIntrinsic(intrinsic.getIntrinsicID(), types, arguments));
    Value *result = wide;
    if (Value *other = replaced(*wide)) {
      wide->eraseFromParent();
      result = other;
    }
    return type->isBFloatTy() ? narrow(result, type) : result;
  }
  if (StringRef whole = wholeOf(intrinsic);
      options.lavapipe && type->isDoubleTy() && !whole.empty())
    return call(whole, type, intrinsic.getArgOperand(0));
  if (intrinsic.getIntrinsicID() != Intrinsic::sqrt || intrinsic.hasApproxFunc())
    return nullptr;
  return type->isHalfTy() || type->isFloatTy() || type->isDoubleTy()
             ? operated("sqrt", type, intrinsic.getArgOperand(0))
             : nullptr;
}

Value *NumberCalls::replaced(Instruction &instruction) {
  if (auto *operation = dyn_cast<BinaryOperator>(&instruction))
    return ofBinary(*operation);
  if (auto *conversion = dyn_cast<CastInst>(&instruction))
    return ofCast(*conversion);
  if (auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction))
    return ofCall(*intrinsic);
  bool isNegation = instruction.getOpcode() == Instruction::FNeg;
  if ((!isNegation && !isa<FCmpInst>(instruction)) ||
      !instruction.getOperand(0)->getType()->isBFloatTy())
    return nullptr;
  if (!isNegation)
    return byFloat(instruction);
  Value *bits = builder.CreateBitCast(instruction.getOperand(0), builder.getInt16Ty());
  return builder.CreateBitCast(builder.CreateXor(bits, 0x8000), instruction.getType());
}

void NumberCalls::run() {
  SmallVector<Instruction *> work;
  for (Instruction &instruction : instructions(function))
    work.push_back(&instruction);
  for (Instruction *instruction : work) {
    builder.SetInsertPoint(instruction);
    builder.setFastMathFlags(isa<FPMathOperator>(instruction) ? instruction->getFastMathFlags()
                                                              : FastMathFlags());
    if (Value *value = replaced(*instruction)) {
      instruction->replaceAllUsesWith(value);
      instruction->eraseFromParent();
    }
  }
}

void spirv::callNumbers(Function &function, const SpirvOptions &options) {
  NumberCalls(function, options).run();
}

Error spirv::linkNumbers(Module &module) {
  bool isUsed = any_of(module, [](const Function &function) {
    return function.getName().starts_with(numberPrefix);
  });
  if (!isUsed)
    return Error::success();
  StringRef bytes(
      metate_bitcode_Numbers_spirv64_begin,
      size_t(metate_bitcode_Numbers_spirv64_end - metate_bitcode_Numbers_spirv64_begin));
  Expected<std::unique_ptr<Module>> library =
      parseBitcodeFile(MemoryBufferRef(bytes, "Numbers.c"), module.getContext());
  if (!library)
    return library.takeError();
  (*library)->setDataLayout(module.getDataLayout());
  (*library)->setTargetTriple(module.getTargetTriple());
  if (NamedMDNode *flags = (*library)->getModuleFlagsMetadata())
    flags->eraseFromParent();
  if (Linker::linkModules(module, std::move(*library), Linker::LinkOnlyNeeded))
    return createStringError("the exact arithmetic could not be linked");
  for (Function &function : module)
    if (function.getName().starts_with(numberPrefix)) {
      if (function.isDeclaration())
        return createStringError("no exact arithmetic " + function.getName());
      forgetMachine(function, /*isTask=*/false);
    }
  return Error::success();
}
