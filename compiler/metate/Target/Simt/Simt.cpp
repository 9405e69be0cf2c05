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

/// A task's function takes its invocation's number, and how many there are, behind the slots and the frame.
static void addInvocation(llvm::Module &module, llvm::Function *function) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::get(context, 0), *i64 = llvm::Type::getInt64Ty(context);
  auto *type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, i64, i64}, false);
  auto *made = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "", module);
  made->takeName(function);
  made->splice(made->begin(), function);
  for (unsigned k = 0; k < 2; ++k)
    function->getArg(k)->replaceAllUsesWith(made->getArg(k));
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(*made))) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    llvm::StringRef name =
        call && call->getCalledFunction() ? call->getCalledFunction()->getName() : "";
    if (name != "metate_grid_invocation" && name != "metate_grid_invocations")
      continue;
    call->replaceAllUsesWith(made->getArg(name == "metate_grid_invocation" ? 2 : 3));
    call->eraseFromParent();
  }
  function->eraseFromParent();
}

namespace {
struct SimtTarget : GridTarget {
  using GridTarget::GridTarget;
  llvm::StringRef family() const override { return familyName; }
  Named machine() const override { return {"x86_64-unknown-linux-gnu", "native", ""}; }
  int64_t group() const override { return 32; }

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
    for (const std::string &name : table.functions())
      addInvocation(**code, (*code)->getFunction(name));
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
