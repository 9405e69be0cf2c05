//===- Sanitize.cpp - LLVM's sanitizer passes over a kernel -----*- C++ -*-===//
//
// LLVM's passes do the work. Three things they leave to us: constructors (none is made: the host's
// sanitizer runs long before a kernel), and for ThreadSanitizer the atomic operations and the wide
// accesses that its runtime has no function for, which it would pass over in silence.
//
//===----------------------------------------------------------------------===//
#include "metate/Emit/Sanitize.h"

#include "metate/Emit/Analyses.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"
#include "llvm/Transforms/Instrumentation/ThreadSanitizer.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LowerAtomic.h"

using namespace llvm;
using metate::Sanitizer;

static StringRef symbolPrefix(Sanitizer sanitizer) {
  return sanitizer == Sanitizer::Thread ? "__tsan_" : "__asan_";
}

bool metate::isSanitizerSymbol(StringRef name, Sanitizer sanitizer) {
  return sanitizer != Sanitizer::None && name.starts_with(symbolPrefix(sanitizer));
}

StringRef metate::sanitizerHostSymbol(Sanitizer sanitizer) {
  return sanitizer == Sanitizer::None     ? ""
         : sanitizer == Sanitizer::Thread ? "__tsan_init"
                                          : "__asan_init";
}

void metate::markForSanitizer(Module &module, Sanitizer sanitizer) {
  if (sanitizer == Sanitizer::None)
    return;
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr(sanitizer == Sanitizer::Thread ? Attribute::SanitizeThread
                                                      : Attribute::SanitizeAddress);
    // No exception crosses the C ABI of entries and hooks; without this, leaving by one would be
    // watched as well, by code that needs an unwinder.
    function.setDoesNotThrow();
  }
  // A payload's globals are its own constants; watching them would need a constructor.
  GlobalValue::SanitizerMetadata unwatched;
  unwatched.NoAddress = true;
  for (GlobalVariable &global : module.globals())
    global.setSanitizerMetadata(unwatched);
}

/// Whether ThreadSanitizer's runtime has a function for it.
static bool isKnownAtomic(const AtomicRMWInst &rmw) {
  switch (rmw.getOperation()) {
  case AtomicRMWInst::Xchg:
  case AtomicRMWInst::Add:
  case AtomicRMWInst::Sub:
  case AtomicRMWInst::And:
  case AtomicRMWInst::Nand:
  case AtomicRMWInst::Or:
  case AtomicRMWInst::Xor:
    return true;
  default:
    return false;
  }
}

/// old = load; until exchanged: compare-exchange(old -> operation(old, value)), on the bits.
static void expandToExchange(AtomicRMWInst &rmw) {
  BasicBlock *before = rmw.getParent();
  BasicBlock *after = before->splitBasicBlock(&rmw, "after");
  BasicBlock *loop = BasicBlock::Create(rmw.getContext(), "loop", before->getParent(), after);
  Type *type = rmw.getType();
  Type *bits = IntegerType::get(rmw.getContext(), type->getPrimitiveSizeInBits());
  before->getTerminator()->eraseFromParent();
  IRBuilder<> builder(before);
  builder.SetCurrentDebugLocation(rmw.getDebugLoc());
  LoadInst *first = builder.CreateAlignedLoad(bits, rmw.getPointerOperand(), rmw.getAlign());
  first->setAtomic(AtomicOrdering::Monotonic, rmw.getSyncScopeID());
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  PHINode *old = builder.CreatePHI(bits, 2);
  old->addIncoming(first, before);
  Value *number = builder.CreateBitCast(old, type);
  Value *desired = buildAtomicRMWValue(rmw.getOperation(), builder, number, rmw.getValOperand());
  AtomicCmpXchgInst *exchange = builder.CreateAtomicCmpXchg(
      rmw.getPointerOperand(), old, builder.CreateBitCast(desired, bits), rmw.getAlign(),
      rmw.getOrdering(), AtomicCmpXchgInst::getStrongestFailureOrdering(rmw.getOrdering()),
      rmw.getSyncScopeID());
  old->addIncoming(builder.CreateExtractValue(exchange, 0), builder.GetInsertBlock());
  builder.CreateCondBr(builder.CreateExtractValue(exchange, 1), after, loop);
  rmw.replaceAllUsesWith(number);
  rmw.eraseFromParent();
}

/// Tells the runtime of an access wider than its largest function, as of a range of bytes.
static void announceWide(Instruction &access, Module &module) {
  Value *pointer = getLoadStorePointerOperand(&access);
  uint64_t bytes = module.getDataLayout().getTypeStoreSize(getLoadStoreType(&access));
  if (bytes <= 16 || pointer->getType()->getPointerAddressSpace() != 0)
    return;
  LLVMContext &context = module.getContext();
  Type *word = module.getDataLayout().getIntPtrType(context);
  FunctionCallee function =
      module.getOrInsertFunction(isa<LoadInst>(access) ? "__tsan_read_range" : "__tsan_write_range",
                                 Type::getVoidTy(context), pointer->getType(), word);
  IRBuilder<>(&access).CreateCall(function, {pointer, ConstantInt::get(word, bytes)});
}

static void prepareForThreads(Module &module) {
  SmallVector<AtomicRMWInst *> unknown;
  SmallVector<Instruction *> accesses;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      if (auto *rmw = dyn_cast<AtomicRMWInst>(&instruction); rmw && !isKnownAtomic(*rmw))
        unknown.push_back(rmw);
      if (isa<LoadInst, StoreInst>(instruction))
        accesses.push_back(&instruction);
    }
  for (AtomicRMWInst *rmw : unknown)
    expandToExchange(*rmw);
  for (Instruction *access : accesses)
    announceWide(*access, module);
}

void metate::instrument(Module &module, Sanitizer sanitizer, TargetMachine &machine) {
  if (sanitizer == Sanitizer::None)
    return;
  metate::Analyses analyses;
  PassBuilder builder(&machine);
  analyses.add(builder);
  ModulePassManager manager;
  if (sanitizer == Sanitizer::Thread) {
    prepareForThreads(module);
    // Without ModuleThreadSanitizerPass, which only adds a constructor.
    manager.addPass(createModuleToFunctionPassAdaptor(ThreadSanitizerPass()));
  } else {
    manager.addPass(AddressSanitizerPass(AddressSanitizerOptions(), /*UseGlobalGC=*/true,
                                         /*UseOdrIndicator=*/true, AsanDtorKind::None,
                                         AsanCtorKind::None));
  }
  manager.run(module, analyses.modules);
  // The address pass declares where its table of globals would be, also when it has none.
  for (GlobalVariable &global : make_early_inc_range(module.globals()))
    if (global.use_empty() && global.getName().contains("asan_globals"))
      global.eraseFromParent();
}
