//===- PrepareCalls.cpp - one function a task -------------------*- C++ -*-===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "metate/Emit/Analyses.h"

#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"

using namespace llvm;
using namespace metate;

static Error checkTasks(Module &module, ArrayRef<SpirvTask> tasks) {
  StringSet<> seen;
  for (const SpirvTask &task : tasks) {
    Function *function = module.getFunction(task.name);
    if (!function || function->isDeclaration())
      return createStringError("no function " + task.name);
    if (!seen.insert(task.name).second)
      return createStringError("two tasks " + task.name);
    if (!task.group)
      return createStringError(task.name + ": a group of 0 invocations");
    FunctionType *type = function->getFunctionType();
    bool isPlain = type->getNumParams() == 2 && type->getParamType(0)->isPointerTy() &&
                   type->getParamType(1)->isPointerTy();
    if (!isPlain || !type->getReturnType()->isVoidTy() || type->isVarArg())
      return createStringError(task.name + ": a task is void(ptr, ptr)");
  }
  return Error::success();
}

/// Calls that lead back to where they come from can not be inlined away.
static Error checkRecursion(Module &module) {
  CallGraph graph(module);
  for (scc_iterator<CallGraph *> it = scc_begin(&graph); !it.isAtEnd(); ++it)
    if (it.hasCycle())
      for (CallGraphNode *node : *it)
        if (Function *function = node->getFunction())
          return createStringError(function->getName() + ": calls itself");
  return Error::success();
}

/// What other machines' compilers say of a function, and what would keep it from being inlined. clang's spir_func is not the tasks' own
/// convention: such a call would be undefined.
void spirv::forgetMachine(Function &function, bool isTask) {
  AttributeMask dropped;
  for (Attribute attribute : function.getAttributes().getFnAttrs())
    if (attribute.isStringAttribute())
      dropped.addAttribute(attribute.getKindAsString());
  for (Attribute::AttrKind kind :
       {Attribute::NoInline, Attribute::OptimizeNone, Attribute::AlwaysInline,
        Attribute::OptimizeForSize, Attribute::MinSize, Attribute::StackProtect, Attribute::UWTable,
        Attribute::StrictFP})
    dropped.addAttribute(kind);
  function.removeFnAttrs(dropped);
  function.setCallingConv(CallingConv::C);
  function.setComdat(nullptr);
  if (!function.isDeclaration()) {
    function.setLinkage(isTask ? GlobalValue::ExternalLinkage : GlobalValue::InternalLinkage);
    function.setVisibility(GlobalValue::DefaultVisibility);
    if (!isTask)
      function.addFnAttr(Attribute::AlwaysInline);
  }
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<CallBase>(&instruction); call && !isa<IntrinsicInst>(call)) {
      call->setCallingConv(CallingConv::C);
      call->removeFnAttr(Attribute::NoInline);
    }
}

void spirv::placeBarriers(Module &module) {
  Function *phase = module.getFunction("metate_grid_phase");
  if (!phase)
    return;
  auto *type = FunctionType::get(Type::getVoidTy(module.getContext()), false);
  auto *barrier = Function::Create(type, GlobalValue::ExternalLinkage, barrierName, module);
  barrier->addFnAttr(Attribute::Convergent);
  for (User *user : make_early_inc_range(phase->users())) {
    auto *call = cast<CallInst>(user);
    if (!cast<ConstantInt>(call->getArgOperand(0))->isZero())
      IRBuilder<>(call).CreateCall(barrier);
    call->replaceAllUsesWith(ConstantInt::get(call->getType(), 1));
    call->eraseFromParent();
  }
}

static void optimise(Module &module) {
  metate::Analyses analyses;
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = false;
  PassBuilder builder(nullptr, tuning);
  TargetLibraryInfoImpl none(module.getTargetTriple());
  none.disableAllFunctions(); // no loop becomes the memset of a library
  analyses.functions.registerPass([&] { return TargetLibraryAnalysis(none); });
  analyses.add(builder);
  ScalarizerPassOptions scalars;
  scalars.ScalarizeLoadStore = true;
  auto scalarise = [&](ModulePassManager &passes) {
    FunctionPassManager manager;
    manager.addPass(InstSimplifyPass()); // the scalarizer fails at elements that do not exist
    manager.addPass(ScalarizerPass(scalars));
    passes.addPass(createModuleToFunctionPassAdaptor(std::move(manager)));
  };
  builder.registerPipelineStartEPCallback(
      [&](ModulePassManager &passes, OptimizationLevel) { scalarise(passes); });
  builder.registerOptimizerLastEPCallback(
      [&](ModulePassManager &passes, OptimizationLevel, ThinOrFullLTOPhase) { scalarise(passes); });
  ModulePassManager passes = builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2);
  passes.addPass(GlobalDCEPass());
  passes.run(module, analyses.modules);
}

static Error checkCalls(Function &function) {
  for (Instruction &instruction : instructions(function)) {
    auto *call = dyn_cast<CallBase>(&instruction);
    if (!call || isa<IntrinsicInst>(call))
      continue;
    if (!isa<CallInst>(call) || !call->getCalledFunction())
      return spirv::problemAt(instruction, "a call of what is not known");
    if (!spirv::isKept(*cast<CallInst>(call)))
      return spirv::problemAt(instruction, "a call of what a device does not have");
  }
  return Error::success();
}

Error spirv::inlineTasks(Module &module, ArrayRef<SpirvTask> tasks) {
  if (Error error = checkTasks(module, tasks))
    return error;
  StringSet<> names;
  for (const SpirvTask &task : tasks)
    names.insert(task.name);
  StripDebugInfo(module);
  for (StringRef list : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *used = module.getNamedGlobal(list))
      used->eraseFromParent();
  for (Function &function : module)
    forgetMachine(function, names.contains(function.getName()));
  for (GlobalVariable &global : module.globals())
    if (global.hasInitializer()) {
      global.setLinkage(GlobalValue::InternalLinkage);
      global.setVisibility(GlobalValue::DefaultVisibility);
      global.setComdat(nullptr);
    }
  if (Error error = metate::runPasses(module, "globaldce"))
    return error;
  if (Error error = checkRecursion(module))
    return error;
  optimise(module);
  for (const SpirvTask &task : tasks)
    if (Error error = checkCalls(*module.getFunction(task.name)))
      return error;
  return Error::success();
}
