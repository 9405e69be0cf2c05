//===- Strides.cpp - loops that walk memory in strides ----------*- C++ -*-===//
#include "metate/Emit/Strides.h"

#include "metate/Emit/Emit.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace {
/// Operations on numbers for each access in a stride: with more, how fast they are decides.
constexpr unsigned mostOperations = 3;

/// Arithmetic of the program's, not of addresses.
bool isOfNumbers(Instruction &instruction) {
  if (!isa<BinaryOperator, UnaryOperator, CmpInst, SelectInst, CallInst>(instruction) ||
      instruction.getNumOperands() == 0)
    return false;
  Type *type = instruction.getOperand(instruction.getNumOperands() > 1 ? 1 : 0)->getType();
  return type->isFPOrFPVectorTy() ||
         (type->isIntOrIntVectorTy() && type->getScalarSizeInBits() <= 32);
}

/// Whether the loop reads in memory what the value is made of.
bool isRead(Value *value, Loop &loop) {
  SmallSetVector<Value *, 16> values;
  values.insert(value);
  for (size_t k = 0; k < values.size(); ++k) {
    auto *instruction = dyn_cast<Instruction>(values[k]);
    if (!instruction || !loop.contains(instruction))
      continue;
    if (isa<LoadInst, CallInst>(instruction))
      return true;
    values.insert(instruction->op_begin(), instruction->op_end());
  }
  return false;
}

/// What an innermost loop does.
struct Walk {
  unsigned rows = 0, strides = 0, operations = 0;
  bool isTold = false; ///< memory tells a place that is read

  Walk(Loop &loop, ScalarEvolution &scalars) {
    for (BasicBlock *block : loop.blocks())
      for (Instruction &instruction : *block)
        add(instruction, loop, scalars);
  }

  bool isOfStrides() const {
    return strides != 0 && !isTold && operations <= mostOperations * strides;
  }
  bool isOther() const { return isTold || (rows != 0 && !isOfStrides()); }

private:
  void add(Instruction &instruction, Loop &loop, ScalarEvolution &scalars) {
    operations += isOfNumbers(instruction);
    if (auto *call = dyn_cast<IntrinsicInst>(&instruction))
      isTold |= call->getIntrinsicID() == Intrinsic::masked_gather; // of lanes
    Value *pointer = getLoadStorePointerOperand(&instruction);
    const SCEV *place = pointer ? scalars.getSCEV(pointer) : nullptr;
    if (!place || scalars.isLoopInvariant(place, &loop))
      return;
    if (isRead(pointer, loop)) {
      isTold |= isa<LoadInst>(instruction);
      return;
    }
    Type *type = getLoadStoreType(&instruction)->getScalarType();
    uint64_t bytes = type->isPointerTy() ? 8 : divideCeil(type->getScalarSizeInBits(), 8);
    auto *walk = dyn_cast<SCEVAddRecExpr>(place);
    auto *step = walk && walk->getLoop() == &loop
                     ? dyn_cast<SCEVConstant>(walk->getStepRecurrence(scalars))
                     : nullptr;
    ++(step && step->getAPInt().abs() == bytes ? rows : strides);
  }
};
} // namespace

/// Whether there are loops of strides, and none that loses.
static bool isOfStrides(Function &function, FunctionAnalysisManager &analyses) {
  auto &scalars = analyses.getResult<ScalarEvolutionAnalysis>(function);
  bool isFound = false;
  for (Loop *loop : analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder()) {
    if (!loop->isInnermost())
      continue;
    Walk walk(*loop, scalars);
    if (walk.isOther())
      return false;
    isFound |= walk.isOfStrides();
  }
  return isFound;
}

static bool isWide(Type *type) {
  if (auto *vector = dyn_cast<FixedVectorType>(type))
    return vector->getPrimitiveSizeInBits() > 256;
  return any_of(type->subtypes(), isWide);
}

/// Vectors of 512 bits go from function to function in one register with AVX-512, in two without.
static bool passesWide(FunctionType &type) {
  return isWide(type.getReturnType()) || any_of(type.params(), isWide);
}

/// A function with what it calls, for only functions of no more features are inlined; empty: wide vectors go in or out.
static SetVector<Function *> withCallees(Function &function) {
  SetVector<Function *> found;
  found.insert(&function);
  for (size_t k = 0; k < found.size(); ++k) {
    if (passesWide(*found[k]->getFunctionType()))
      return {};
    for (Instruction &instruction : instructions(*found[k]))
      if (auto *call = dyn_cast<CallBase>(&instruction); call && !isa<IntrinsicInst>(call)) {
        if (passesWide(*call->getFunctionType()))
          return {};
        if (Function *callee = call->getCalledFunction(); callee && !callee->isDeclaration())
          found.insert(callee);
      }
  }
  return found;
}

PreservedAnalyses metate::TuneStrides::run(Module &module, ModuleAnalysisManager &analyses) {
  StringRef cpu = machine.getTargetCPU();
  if (cpu != "znver4" && cpu != "znver5")
    return PreservedAnalyses::all();
  auto &functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
  SetVector<Function *> tuned;
  for (Function &function : module) {
    // What is lanes of vectors already says itself how it reads.
    if (!function.isDeclaration() && !function.hasFnAttribute(lanesAttribute) &&
        isOfStrides(function, functions))
      if (SetVector<Function *> found = withCallees(function); !found.empty()) {
        function.addFnAttr(
            Attribute::NoInline); // its code would be the caller's, with the caller's features
        tuned.insert(found.begin(), found.end());
      }
    functions.clear(function, function.getName()); // the costs that analyses ask for are kept there
  }
  std::string features = machine.getTargetFeatureString().str();
  features += features.empty() ? "-avx512f" : ",-avx512f";
  for (Function *function : tuned) {
    function->addFnAttr("target-cpu", cpu);
    function->addFnAttr("target-features", features);
  }
  return PreservedAnalyses::all();
}
