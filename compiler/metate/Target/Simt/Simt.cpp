//===- Simt.cpp - a device that is this machine's CPU -----------*- C++ -*-===//
//
// The code that GPUs run, compiled for x86-64 and called for one invocation after the other: whoever has no GPU sees what the mapping to
// grids, the tree protocol of devices and the drivers' table do.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Simt/Simt.h"

#include "metate/Emit/Disassembly.h"
#include "metate/Emit/HalfConversions.h"
#include "metate/Emit/Link.h"
#include "metate/Emit/Machine.h"
#include "metate/Target/Grid/Code.h"
#include "metate/Target/Grid/Target.h"
#include "metate/abi/module.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Target/TargetMachine.h"

using namespace metate;
using namespace metate::grid;
using llvm::Expected;

static constexpr llvm::StringLiteral familyName = "simt";

#define METATE_EMBEDDED(name)                                                                      \
  extern "C" const char metate_simt_bitcode_##name##_begin[], metate_simt_bitcode_##name##_end[];  \
  static llvm::StringRef name() {                                                                  \
    return {metate_simt_bitcode_##name##_begin,                                                    \
            size_t(metate_simt_bitcode_##name##_end - metate_simt_bitcode_##name##_begin)};        \
  }
METATE_EMBEDDED(Tree_x86_64)
METATE_EMBEDDED(Grid_x86_64)

/// What a task's function takes behind the slots and the frame: its invocation's number, and how many there are; where the invocations of a
/// workgroup share memory, this too, and which phase it is.
enum : unsigned { invocationArgument = 2, invocationsArgument, sharedArgument, phaseArgument };

static llvm::Function *addArguments(llvm::Module &module, llvm::Function *function,
                                    llvm::ArrayRef<llvm::Type *> arguments) {
  auto *type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), arguments, false);
  auto *made = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "", module);
  made->takeName(function);
  made->splice(made->begin(), function);
  for (unsigned k = 0; k < 2; ++k)
    function->getArg(k)->replaceAllUsesWith(made->getArg(k));
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(*made))) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    llvm::StringRef name =
        call && call->getCalledFunction() ? call->getCalledFunction()->getName() : "";
    llvm::Value *value = nullptr;
    if (name == "metate_grid_invocation")
      value = made->getArg(invocationArgument);
    else if (name == "metate_grid_invocations")
      value = made->getArg(invocationsArgument);
    else if (name == "metate_grid_shared")
      value = made->getArg(sharedArgument);
    else if (name == "metate_grid_phase") {
      llvm::IRBuilder<> builder(call);
      value = builder.CreateZExt(
          builder.CreateICmpEQ(call->getArgOperand(0), made->getArg(phaseArgument)),
          call->getType());
    }
    if (!value)
      continue;
    call->replaceAllUsesWith(value);
    call->eraseFromParent();
  }
  function->eraseFromParent();
  return made;
}

static void addInvocation(llvm::Module &module, llvm::Function *function) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::get(context, 0), *i64 = llvm::Type::getInt64Ty(context);
  addArguments(module, function, {pointer, pointer, i64, i64});
}

/// Calls `fill` with numbers from 0 to `end` in a loop of the builder's function.
static void repeat(llvm::IRBuilder<> &builder, uint64_t end,
                   llvm::function_ref<void(llvm::Value *)> fill) {
  llvm::LLVMContext &context = builder.getContext();
  llvm::BasicBlock *before = builder.GetInsertBlock();
  auto *loop = llvm::BasicBlock::Create(context, "", before->getParent());
  auto *behind = llvm::BasicBlock::Create(context, "", before->getParent());
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  llvm::PHINode *number = builder.CreatePHI(builder.getInt64Ty(), 2);
  number->addIncoming(builder.getInt64(0), before);
  fill(number);
  llvm::Value *next = builder.CreateAdd(number, builder.getInt64(1));
  number->addIncoming(next, builder.GetInsertBlock());
  builder.CreateCondBr(builder.CreateICmpULT(next, builder.getInt64(end)), loop, behind);
  builder.SetInsertPoint(behind);
}

/// One invocation does what those of its workgroup do, phase by phase, with their memory; to the others nothing is left. It is another one in each
/// workgroup, so that threads share them out.
static void addWorkgroup(llvm::Module &module, llvm::Function *function, const Task &task) {
  constexpr uint64_t phases = 3;
  constexpr uint8_t unwritten = 0xdb; // as all memory that nobody has written
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::get(context, 0), *i64 = llvm::Type::getInt64Ty(context);
  llvm::Type *shared = module.getFunction("metate_grid_shared")->getReturnType();
  llvm::Function *inner = addArguments(
      module, function, {pointer, pointer, i64, i64, shared, llvm::Type::getInt32Ty(context)});
  auto *type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, i64, i64}, false);
  auto *outer = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "", module);
  outer->takeName(inner);
  inner->setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", outer));
  auto *work = llvm::BasicBlock::Create(context, "", outer);
  auto *end = llvm::BasicBlock::Create(context, "", outer);
  llvm::Value *group = builder.getInt64(task.group);
  llvm::Value *memory =
      builder.CreateAlloca(llvm::ArrayType::get(builder.getInt8Ty(), task.sharedBytes));
  llvm::cast<llvm::AllocaInst>(memory)->setAlignment(llvm::Align(16));
  llvm::Value *own = outer->getArg(invocationArgument);
  llvm::Value *member = builder.CreateURem(own, group);
  llvm::Value *chosen = builder.CreateURem(builder.CreateUDiv(own, group), group);
  builder.CreateCondBr(builder.CreateICmpEQ(member, chosen), work, end);
  builder.SetInsertPoint(work);
  builder.CreateMemSet(memory, builder.getInt8(unwritten), task.sharedBytes, llvm::Align(16));
  llvm::Value *first = builder.CreateSub(own, member);
  llvm::Value *asShared = builder.CreateAddrSpaceCast(memory, shared);
  repeat(builder, phases, [&](llvm::Value *phase) {
    repeat(builder, task.group, [&](llvm::Value *number) {
      builder.CreateCall(inner,
                         {outer->getArg(0), outer->getArg(1), builder.CreateAdd(first, number),
                          outer->getArg(invocationsArgument), asShared,
                          builder.CreateTrunc(phase, builder.getInt32Ty())});
    });
  });
  builder.CreateBr(end);
  builder.SetInsertPoint(end);
  builder.CreateRetVoid();
}

namespace {
struct SimtTarget : GridTarget {
  using GridTarget::GridTarget;
  llvm::StringRef family() const override { return familyName; }
  Named machine() const override { return {"x86_64-unknown-linux-gnu", "native", ""}; }
  int64_t group() const override { return 32; }
  int64_t sharedBytes() const override { return 8 << 10; }
  int64_t brick() const override { return 128; } // as on a GPU
  int64_t many() const override { return 1024; }

  Expected<Code> compile(mlir::ModuleOp module, const Table &table,
                         const Options &options) const override {
    Expected<Machine> named =
        resolveMachine({"x86_64-unknown-linux-gnu", "native", "", options.optLevel});
    if (!named)
      return named.takeError();
    Expected<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine(*named);
    if (!machine)
      return machine.takeError();
    llvm::LLVMContext context;
    auto code = makeCode(module, table, context, **machine, {Tree_x86_64(), Grid_x86_64(), ""},
                         options.contract);
    if (!code)
      return code.takeError();
    for (const Kernel &kernel : table.kernels)
      for (const Task &task : kernel.tasks) {
        llvm::Function *function = (*code)->getFunction(task.name);
        if (task.sharedBytes)
          addWorkgroup(**code, function, task);
        else
          addInvocation(**code, function);
      }
    grid::optimise(**code, **machine, options.optLevel);
    if (llvm::Error error = addHalfConversions(**code))
      return error;
    Expected<std::string> object = objectOf(**code, **machine);
    if (!object)
      return object.takeError();
    PayloadParts parts = {};
    llvm::StringRef objects[] = {*object};
    parts.triple = named->triple;
    parts.objects = objects;
    Expected<std::string> linked = linkPayload(parts);
    if (!linked)
      return linked.takeError();
    Code made;
    made.images.push_back({METATE_GRID_OBJECT, 0, std::move(*linked)});
    return made;
  }

  Expected<std::vector<CodeFunction>> describe(const Contents &contents) const override {
    return sizesOf(contents, contents.images.front());
  }

  Expected<Variant> variantOf(PayloadOp payload) const override {
    Variant variant;
    variant.arch = METATE_ARCH_SIMT;
    variant.format = METATE_FORMAT_GRID;
    variant.cpu = "simt";
    variant.triple = payload.getTriple().str();
    return variant;
  }
};

struct SimtFamily : GridFamily {
  llvm::StringRef name() const override { return familyName; }
  llvm::StringRef expectedNames() const override { return familyName; }
  std::vector<ListedTarget> list() const override {
    return {{familyName.str(), "a GPU's code on this machine's CPU, for tests", "metate"}};
  }
  Expected<TargetPtr> parse(llvm::StringRef name) const override {
    return name == familyName ? std::make_shared<SimtTarget>(name) : TargetPtr();
  }
  Expected<TargetPtr> targetOf(PayloadOp) const override { return parse(familyName); }
};
} // namespace

std::unique_ptr<TargetFamily> metate::createSimtFamily() { return std::make_unique<SimtFamily>(); }
