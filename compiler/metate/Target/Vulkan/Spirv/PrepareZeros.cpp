//===- PrepareZeros.cpp - zeros that a device does not see ------*- C++ -*-===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;
using namespace metate;

Value *spirv::unknownZero(Function &function) {
  IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
  return builder.CreateLShr(function.getArg(0), 63); // no address has its highest bit set
}

static bool isSumOrProduct(const Instruction &instruction) {
  unsigned opcode = instruction.getOpcode();
  return opcode == Instruction::FAdd || opcode == Instruction::FSub || opcode == Instruction::FMul;
}

void spirv::hideZeros(Function &function) {
  MapVector<Constant *, SmallVector<Use *>> zeros;
  for (Instruction &instruction : instructions(function))
    if (isSumOrProduct(instruction))
      for (Use &use : instruction.operands())
        if (auto *zero = dyn_cast<ConstantFP>(use); zero && zero->isZero())
          zeros[zero].push_back(&use);
  if (zeros.empty())
    return;
  auto *unknown = cast<Instruction>(unknownZero(function));
  IRBuilder<> builder(unknown->getNextNode());
  for (auto &[zero, uses] : zeros) {
    APInt bits = cast<ConstantFP>(zero)->getValueAPF().bitcastToAPInt();
    Type *word = builder.getIntNTy(bits.getBitWidth());
    Value *hidden =
        builder.CreateOr(builder.CreateZExtOrTrunc(unknown, word), ConstantInt::get(word, bits));
    hidden = builder.CreateBitCast(hidden, zero->getType());
    for (Use *use : uses)
      use->set(hidden);
  }
}
