//===- Ptx.cpp - functions of grids as PTX ----------------------*- C++ -*-===//
#include "metate/Target/Cuda/Ptx.h"

#include "metate/Target/Cuda/Interleave.h"
#include "metate/Target/Cuda/Roots.h"
#include "metate/Target/Grid/Code.h"

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace llvm;
using namespace metate;

#define METATE_EMBEDDED(function, name)                                                            \
  extern "C" const char metate_cuda_bitcode_##name##_begin[], metate_cuda_bitcode_##name##_end[];  \
  static StringRef function() {                                                                    \
    return {metate_cuda_bitcode_##name##_begin,                                                    \
            size_t(metate_cuda_bitcode_##name##_end - metate_cuda_bitcode_##name##_begin)};        \
  }
METATE_EMBEDDED(treeCode, Tree_nvptx64)
METATE_EMBEDDED(gridCode, Grid_nvptx64)
METATE_EMBEDDED(cudaCode, Cuda_nvptx64)

static Expected<std::unique_ptr<TargetMachine>> makeMachine(unsigned capability, unsigned level) {
  static std::once_flag once; // LLVM's registry is one per process
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  Triple triple("nvptx64-nvidia-cuda");
  std::string text;
  const llvm::Target *target = TargetRegistry::lookupTarget(triple, text);
  if (!target)
    return createStringError(text);
  static const CodeGenOptLevel levels[] = {CodeGenOptLevel::None, CodeGenOptLevel::Less,
                                           CodeGenOptLevel::Default, CodeGenOptLevel::Aggressive};
  TargetOptions options;
  // The language's `contract` is said operation by operation.
  options.AllowFPOpFusion = FPOpFusion::Standard;
  std::unique_ptr<TargetMachine> machine(
      target->createTargetMachine(triple, "sm_" + std::to_string(capability), "+ptx80", options,
                                  Reloc::PIC_, std::nullopt, levels[level]));
  if (!machine)
    return createStringError("LLVM has no code generator for sm_" + Twine(capability));
  return machine;
}

/// LLVM 22 emits every read-modify-write relaxed, whatever its order says: the order is in fences around it.
static void splitOrders(Module &module) {
  SyncScope::ID device = module.getContext().getOrInsertSyncScopeID("device");
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      auto *rmw = dyn_cast<AtomicRMWInst>(&instruction);
      if (!rmw || rmw->getOrdering() == AtomicOrdering::Monotonic)
        continue;
      AtomicOrdering order = rmw->getOrdering();
      IRBuilder<> builder(rmw);
      if (isReleaseOrStronger(order))
        builder.CreateFence(
            order == AtomicOrdering::SequentiallyConsistent ? order : AtomicOrdering::Release,
            device);
      builder.SetInsertPoint(rmw->getNextNode());
      if (isAcquireOrStronger(order))
        builder.CreateFence(AtomicOrdering::Acquire, device);
      rmw->setOrdering(AtomicOrdering::Monotonic);
    }
}

/// The two halves of a double or a float, each in a register of its own.
static std::pair<Value *, Value *> halvesOf(IRBuilder<> &builder, Value *number) {
  bool isDouble = number->getType()->isDoubleTy();
  Type *half = builder.getIntNTy(isDouble ? 32 : 16);
  auto *type = FunctionType::get(StructType::get(half, half), {number->getType()}, false);
  InlineAsm *move =
      InlineAsm::get(type, isDouble ? "mov.b64 {$0, $1}, $2;" : "mov.b32 {$0, $1}, $2;",
                     isDouble ? "=r,=r,d" : "=h,=h,f", /*hasSideEffects=*/false);
  Value *halves = builder.CreateCall(move, {number});
  return {builder.CreateExtractValue(halves, 0), builder.CreateExtractValue(halves, 1)};
}

/// The double or float that a value is, or has the bits of; null: none.
static Value *numberIn(Value *value) {
  if (auto *cast = dyn_cast<BitCastInst>(value))
    value = cast->getOperand(0);
  Type *type = value->getType();
  return type->isDoubleTy() || type->isFloatTy() ? value : nullptr;
}

/// LLVM stores the low half of a double as `st.b32` of the register that holds the double, for which ptxas 13.0 stores the number as an
/// integer (seen on an H100). Here numbers of which a part is stored are taken apart first.
static void takeNumbersApart(Module &module) {
  SmallVector<TruncInst *> parts;
  SmallVector<StoreInst *> stores; // in parts, since they are not aligned
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      if (auto *trunc = dyn_cast<TruncInst>(&instruction);
          trunc && trunc->getType()->isIntegerTy() && numberIn(trunc->getOperand(0)))
        parts.push_back(trunc);
      if (auto *store = dyn_cast<StoreInst>(&instruction); store && store->isSimple())
        if (Value *number = numberIn(store->getValueOperand());
            number &&
            store->getAlign() < module.getDataLayout().getTypeStoreSize(number->getType()))
          stores.push_back(store);
    }
  for (TruncInst *trunc : parts) {
    IRBuilder<> builder(trunc);
    Value *low = halvesOf(builder, numberIn(trunc->getOperand(0))).first;
    if (trunc->getType()->getIntegerBitWidth() > low->getType()->getIntegerBitWidth())
      continue;
    trunc->replaceAllUsesWith(builder.CreateTrunc(low, trunc->getType()));
    trunc->eraseFromParent();
  }
  for (StoreInst *store : stores) {
    IRBuilder<> builder(store);
    auto [low, high] = halvesOf(builder, numberIn(store->getValueOperand()));
    uint64_t bytes = low->getType()->getIntegerBitWidth() / 8;
    Value *behind = builder.CreatePtrAdd(store->getPointerOperand(), builder.getInt64(bytes));
    builder.CreateAlignedStore(low, store->getPointerOperand(), store->getAlign());
    builder.CreateAlignedStore(high, behind, commonAlignment(store->getAlign(), bytes));
    store->eraseFromParent();
  }
}

/// A kernel (slots by value, frame) that does what the function does, whose name it takes.
static void makeKernel(Module &module, Function *function, uint32_t slots) {
  LLVMContext &context = module.getContext();
  Type *i64 = Type::getInt64Ty(context);
  Type *pointer = PointerType::get(context, 0);
  auto *type = FunctionType::get(Type::getVoidTy(context), {pointer, i64}, false);
  auto *kernel = Function::Create(type, GlobalValue::ExternalLinkage, "", module);
  kernel->takeName(function);
  kernel->setCallingConv(CallingConv::PTX_Kernel);
  auto *array = ArrayType::get(i64, std::max<uint32_t>(slots, 1));
  kernel->addParamAttr(0, Attribute::getWithByValType(context, array));
  kernel->addParamAttr(0, Attribute::getWithAlignment(context, Align(8)));
  kernel->addParamAttr(0, Attribute::ReadOnly);
  kernel->addParamAttr(0, Attribute::NoAlias);
  kernel->addParamAttr(0, Attribute::get(context, "nvvm.grid_constant"));
  IRBuilder<> builder(BasicBlock::Create(context, "", kernel));
  // Memory of a launch is global.
  Value *frame = builder.CreateAddrSpaceCast(
      builder.CreateIntToPtr(kernel->getArg(1), PointerType::get(context, 1)), pointer);
  builder.CreateCall(function, {kernel->getArg(0), frame});
  builder.CreateRetVoid();
  function->setLinkage(GlobalValue::InternalLinkage);
  function->addFnAttr(Attribute::AlwaysInline);
  // What slots point to is global memory too.
  for (Instruction &instruction : make_early_inc_range(instructions(*function))) {
    auto *load = dyn_cast<LoadInst>(&instruction);
    if (!load || load->getType() != pointer ||
        load->getPointerOperand()->stripInBoundsConstantOffsets() != function->getArg(0))
      continue;
    builder.SetInsertPoint(load->getNextNode());
    Value *global = builder.CreateAddrSpaceCast(load, PointerType::get(context, 1));
    Value *any = builder.CreateAddrSpaceCast(global, pointer);
    load->replaceUsesWithIf(any, [&](Use &use) { return use.getUser() != global; });
  }
}

/// The memory of a workgroup is asked for at launch: one name is that of all tasks.
static void placeShared(Module &module) {
  Function *asked = module.getFunction("metate_grid_shared");
  if (!asked)
    return;
  auto *memory = new GlobalVariable(module, ArrayType::get(Type::getInt8Ty(module.getContext()), 0),
                                    /*isConstant=*/false, GlobalValue::ExternalLinkage, nullptr,
                                    "metate_grid_memory", nullptr, GlobalValue::NotThreadLocal,
                                    asked->getReturnType()->getPointerAddressSpace());
  memory->setAlignment(Align(16));
  for (User *call : make_early_inc_range(asked->users())) {
    call->replaceAllUsesWith(memory);
    cast<CallInst>(call)->eraseFromParent();
  }
  asked->eraseFromParent();
}

static Expected<std::string> print(Module &module, TargetMachine &machine) {
  SmallVector<char, 0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager manager;
  if (machine.addPassesToEmitFile(manager, stream, nullptr, CodeGenFileType::AssemblyFile))
    return createStringError("LLVM cannot write PTX");
  manager.run(module);
  return std::string(text.data(), text.size());
}

Expected<std::string> cuda::makePtx(mlir::ModuleOp code, const grid::Table &table,
                                    unsigned capability, const Options &options) {
  Expected<std::unique_ptr<TargetMachine>> machine = makeMachine(capability, options.optLevel);
  if (!machine)
    return machine.takeError();
  LLVMContext context;
  std::string errors;
  context.setDiagnosticHandlerCallBack(
      [](const DiagnosticInfo *info, void *into) {
        if (info->getSeverity() != DS_Error)
          return;
        raw_string_ostream stream(*static_cast<std::string *>(into));
        DiagnosticPrinterRawOStream printer(stream);
        info->print(printer);
      },
      &errors);
  auto module = grid::makeCode(code, table, context, **machine,
                               {treeCode(), gridCode(), cudaCode()}, options.contract);
  if (!module)
    return module.takeError();
  placeShared(**module);
  for (const grid::Kernel &kernel : table.kernels)
    for (const grid::Task &task : kernel.tasks)
      makeKernel(**module, (*module)->getFunction(task.name), kernel.slots);
  grid::optimise(**module, **machine, std::max(1u, unsigned(options.optLevel)));
  if (options.optLevel > 0) {
    writeOutRoots(**module);
    interleaveTurns(**module);
  }
  grid::scopeToDevice(**module);
  splitOrders(**module);
  takeNumbersApart(**module);
  Expected<std::string> text = print(**module, **machine);
  if (text && !errors.empty())
    return createStringError("PTX: " + errors);
  return text;
}
