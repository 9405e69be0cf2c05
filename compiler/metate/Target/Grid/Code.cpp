//===- Code.cpp - LLVM IR of a grid's functions -----------------*- C++ -*-===//
#include "metate/Target/Grid/Code.h"

#include "metate/Emit/Analyses.h"
#include "metate/Emit/Emit.h"
#include "metate/Emit/TreeProtocol.h"
#include "metate/Mutants/Mutants.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

/// What a remainder of floats calls: LLVM has no instruction for it that is exact.
static void callRemainders(Module &module) {
  SmallVector<BinaryOperator *> remainders;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *op = dyn_cast<BinaryOperator>(&instruction))
        if (op->getOpcode() == Instruction::FRem)
          remainders.push_back(op);
  for (BinaryOperator *op : remainders) {
    IRBuilder<> builder(op);
    Type *type = op->getType(), *scalar = type->getScalarType();
    Type *wide = scalar->isDoubleTy() ? scalar : builder.getFloatTy();
    FunctionCallee callee = module.getOrInsertFunction(
        scalar->isDoubleTy() ? "metate_grid_fmod_f64" : "metate_grid_fmod_f32", wide, wide, wide);
    auto one = [&](Value *a, Value *b) -> Value * {
      Value *rest = builder.CreateCall(
          callee, {builder.CreateFPCast(a, wide), builder.CreateFPCast(b, wide)});
      return builder.CreateFPCast(rest, scalar);
    };
    Value *result = nullptr;
    if (auto *vector = dyn_cast<FixedVectorType>(type)) {
      result = PoisonValue::get(type);
      for (unsigned k = 0; k < vector->getNumElements(); ++k)
        result =
            builder.CreateInsertElement(result,
                                        one(builder.CreateExtractElement(op->getOperand(0), k),
                                            builder.CreateExtractElement(op->getOperand(1), k)),
                                        k);
    } else {
      result = one(op->getOperand(0), op->getOperand(1));
    }
    op->replaceAllUsesWith(result);
    op->eraseFromParent();
  }
}

static Error linkGrid(Module &module, StringRef bitcode) {
  Expected<std::unique_ptr<Module>> other =
      getLazyBitcodeModule(MemoryBufferRef(bitcode, "grid"), module.getContext());
  if (!other)
    return other.takeError();
  (*other)->setDataLayout(module.getDataLayout());
  (*other)->setTargetTriple(module.getTargetTriple());
  if (NamedMDNode *flags = (*other)->getModuleFlagsMetadata())
    flags->eraseFromParent();
  if (Linker::linkModules(module, std::move(*other), Linker::LinkOnlyNeeded))
    return createStringError("the support code of grids does not link");
  return Error::success();
}

/// C of devices takes blocks in the address space of global memory, kernels have them as any pointer.
static void matchCalls(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto *call = dyn_cast<CallInst>(&instruction);
      auto *callee = call ? dyn_cast<Function>(call->getCalledOperand()) : nullptr;
      if (!callee || callee->isIntrinsic() || call->getFunctionType() == callee->getFunctionType())
        continue;
      FunctionType *type = callee->getFunctionType();
      IRBuilder<> builder(call);
      for (unsigned k = 0; k < call->arg_size(); ++k)
        if (call->getArgOperand(k)->getType() != type->getParamType(k))
          call->setArgOperand(
              k, builder.CreateAddrSpaceCast(call->getArgOperand(k), type->getParamType(k)));
      call->setCalledFunction(type, callee);
    }
}

/// Of whatever the linked code was compiled for, nothing is left but what its functions do.
static void unify(Module &module, const StringSet<> &exported) {
  for (Function &function : module) {
    AttributeMask strings;
    for (Attribute attribute : function.getAttributes().getFnAttrs())
      if (attribute.isStringAttribute())
        strings.addAttribute(attribute.getKindAsString());
    function.removeFnAttrs(strings);
    function.setCallingConv(CallingConv::C);
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallBase>(&instruction);
          call && call->getCalledFunction() && !call->getCalledFunction()->isIntrinsic())
        call->setCallingConv(CallingConv::C);
  }
  for (GlobalValue &value : module.global_values())
    if (!value.isDeclaration() && !exported.contains(value.getName())) {
      value.setVisibility(GlobalValue::DefaultVisibility);
      value.setLinkage(GlobalValue::InternalLinkage);
    }
}

Expected<std::unique_ptr<Module>>
metate::grid::makeCode(mlir::ModuleOp code, const Table &table, LLVMContext &context,
                       TargetMachine &machine, const SupportCode &support, bool contract) {
  context.setDiscardValueNames(true);
  Expected<std::unique_ptr<Module>> module = translate(code, context, machine);
  if (!module)
    return module;
  callRemainders(**module);
  if (Error error = linkTreeProtocol(**module, support.treeProtocol, {}))
    return error;
  for (StringRef bitcode : {support.grid, support.invocation})
    if (Error error = bitcode.empty() ? Error::success() : linkGrid(**module, bitcode))
      return error;
  matchCalls(**module);
  StringSet<> exported;
  for (const std::string &name : table.functions())
    exported.insert(name);
  unify(**module, exported);
  if (!contract)
    forbidContraction(**module, machine);
  return module;
}

namespace {
/// Short loops without branches are written out, the shorter the more often: an invocation has nothing else to do while a turn waits for its reads and
/// quotients, and a device of few invocations has nothing else to run. Turns stay in order, so results are the same.
struct RepeatShortLoops : PassInfoMixin<RepeatShortLoops> {
  static constexpr unsigned mostInstructions = 64;

  PreservedAnalyses run(Function &function, FunctionAnalysisManager &analyses) {
    for (Loop *loop : analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder())
      if (isShort(*loop))
        addStringMetadataToLoop(loop, "llvm.loop.unroll.count", turnsOf(*loop->getHeader()));
    return PreservedAnalyses::all();
  }

private:
  /// As many reads in flight as there are registers for: a turn that adds up what it reads is little else.
  static unsigned turnsOf(const BasicBlock &block) {
    size_t size = block.sizeWithoutDebug();
    return size <= 12 ? 16 : size <= 24 ? 8 : 4;
  }

  static bool isShort(const Loop &loop) {
    const BasicBlock *block = loop.getNumBlocks() == 1 ? loop.getHeader() : nullptr;
    if (!block || block->sizeWithoutDebug() > mostInstructions ||
        getBooleanLoopAttribute(&loop, "llvm.loop.unroll.disable"))
      return false;
    // A loop whose step is the number of invocations has to divide by it first, which is worth it where it adds up and stores nothing.
    bool isSum = llvm::none_of(
        *block, [](const Instruction &instruction) { return instruction.mayWriteToMemory(); });
    bool isCounted = llvm::any_of(block->phis(), [&](const PHINode &phi) {
      auto *next = dyn_cast<BinaryOperator>(phi.getIncomingValueForBlock(block));
      return next && next->getOpcode() == Instruction::Add && next->getOperand(0) == &phi &&
             isa<ConstantInt>(next->getOperand(1));
    });
    return (isCounted || isSum) && llvm::none_of(*block, [](const Instruction &instruction) {
             auto *call = dyn_cast<CallBase>(&instruction);
             return instruction.isAtomic() || (call && !isa<IntrinsicInst>(call));
           });
  }
};
} // namespace

void metate::grid::optimise(Module &module, TargetMachine &machine, unsigned level) {
  static const OptimizationLevel levels[] = {OptimizationLevel::O0, OptimizationLevel::O1,
                                             OptimizationLevel::O2, OptimizationLevel::O3};
  metate::Analyses analyses;
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = false;
  PassBuilder builder(&machine, tuning);
  TargetLibraryInfoImpl none(module.getTargetTriple());
  none.disableAllFunctions(); // a device has no library
  analyses.functions.registerPass([&] { return TargetLibraryAnalysis(none); });
  analyses.add(builder);
  // The language's vectors are numbers of one invocation.
  builder.registerPipelineStartEPCallback([](ModulePassManager &manager, OptimizationLevel at) {
    if (at != OptimizationLevel::O0)
      manager.addPass(createModuleToFunctionPassAdaptor(ScalarizerPass()));
  });
  if (machine.getTargetTriple().isNVPTX())
    builder.registerVectorizerStartEPCallback([](FunctionPassManager &manager, OptimizationLevel) {
      manager.addPass(RepeatShortLoops());
    });
  ModulePassManager manager = level == 0 ? builder.buildO0DefaultPipeline(levels[0])
                                         : builder.buildPerModuleDefaultPipeline(levels[level]);
  manager.addPass(GlobalDCEPass());
  manager.run(module, analyses.modules);
}

void metate::grid::scopeToDevice(Module &module) {
  SyncScope::ID device = module.getContext().getOrInsertSyncScopeID(
      isMutant(Mutant::GridScopeBlock) ? "block" : "device");
  SyncScope::ID block = module.getContext().getOrInsertSyncScopeID("block");
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      if (!instruction.isAtomic())
        continue;
      const Value *place = getLoadStorePointerOperand(&instruction);
      if (auto *rmw = dyn_cast<AtomicRMWInst>(&instruction))
        place = rmw->getPointerOperand();
      bool isOfBlock = place && place->getType()->getPointerAddressSpace() == grid::sharedSpace;
      setAtomicSyncScopeID(&instruction, isOfBlock ? block : device);
    }
}
