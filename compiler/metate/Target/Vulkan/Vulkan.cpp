//===- Vulkan.cpp - Vulkan's devices as a family of targets -----*- C++ -*-===//
#include "metate/Target/Vulkan/Vulkan.h"

#include "metate/Target/Grid/Code.h"
#include "metate/Target/Grid/Target.h"
#include "metate/Target/Vulkan/Sizes.h"
#include "metate/Target/Vulkan/Spirv/Spirv.h"
#include "metate/abi/module.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace metate;
using namespace metate::grid;
using llvm::Expected;

static constexpr llvm::StringLiteral familyName = "vulkan", lavapipe = "lavapipe", any = "any";

#define METATE_EMBEDDED(function, name)                                                            \
  extern "C" const char metate_vulkan_bitcode_##name##_begin[],                                    \
      metate_vulkan_bitcode_##name##_end[];                                                        \
  static llvm::StringRef function() {                                                              \
    return {metate_vulkan_bitcode_##name##_begin,                                                  \
            size_t(metate_vulkan_bitcode_##name##_end - metate_vulkan_bitcode_##name##_begin)};    \
  }
METATE_EMBEDDED(treeCode, Tree_spirv64)
METATE_EMBEDDED(gridCode, Grid_spirv64)

/// For what LLVM's middle end wants to know of a machine; its code generator is not used.
static Expected<std::unique_ptr<llvm::TargetMachine>> makeMachine() {
  static std::once_flag once; // LLVM's registry is one per process
  std::call_once(once, [] {
    LLVMInitializeSPIRVTargetInfo();
    LLVMInitializeSPIRVTarget();
    LLVMInitializeSPIRVTargetMC();
  });
  llvm::Triple triple("spirv64");
  std::string text;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, text);
  if (!target)
    return llvm::createStringError(text);
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, "", "", {}, std::nullopt));
  if (!machine)
    return llvm::createStringError("LLVM has no SPIR-V target");
  return machine;
}

namespace {
struct VulkanTarget : GridTarget {
  VulkanTarget(llvm::StringRef name, bool isLavapipe) : GridTarget(name), isLavapipe(isLavapipe) {}

  llvm::StringRef family() const override { return familyName; }
  Named machine() const override { return {"spirv64", (isLavapipe ? lavapipe : any).str(), ""}; }
  int64_t group() const override { return 64; }
  // Every device has 16 KiB: so two workgroups, of which most take less, run beside each other.
  int64_t sharedBytes() const override { return 8 << 10; }
  bool sharesWideNumbers() const override { return false; }
  bool endsLoops() const override { return isLavapipe; }

  Expected<Code> compile(mlir::ModuleOp module, const Table &table,
                         const Options &options) const override {
    llvm::SmallVector<SpirvTask> tasks;
    for (const Kernel &kernel : table.kernels)
      for (const Task &task : kernel.tasks)
        tasks.push_back({task.name, task.group, endedOf(task), task.sharedBytes});
    if (tasks.empty()) // Vulkan has no module without an entry point
      return Code();
    Expected<std::unique_ptr<llvm::TargetMachine>> machine = makeMachine();
    if (!machine)
      return machine.takeError();
    llvm::LLVMContext context;
    auto code =
        makeCode(module, table, context, **machine, {treeCode(), gridCode(), ""}, options.contract);
    if (!code)
      return code.takeError();
    SpirvOptions spirv;
    spirv.lavapipe = isLavapipe;
    Expected<SpirvModule> emitted = emitSpirv(**code, tasks, spirv);
    if (!emitted)
      return emitted.takeError();
    Code made;
    made.images.push_back({METATE_GRID_SPIRV, emitted->needs,
                           std::string(reinterpret_cast<const char *>(emitted->words.data()),
                                       emitted->words.size() * 4)});
    made.constants.assign(emitted->constants.begin(), emitted->constants.end());
    return made;
  }

  Expected<std::vector<CodeFunction>> describe(const Contents &contents) const override {
    if (contents.images.empty())
      return std::vector<CodeFunction>();
    return spirvSizes(contents.functions, contents.images.front().bytes);
  }

  Expected<Variant> variantOf(PayloadOp payload) const override {
    Variant variant;
    variant.arch = METATE_ARCH_VULKAN;
    variant.format = METATE_FORMAT_GRID;
    variant.cpu = payload.getCpu().str();
    variant.triple = payload.getTriple().str();
    return variant;
  }

private:
  SpirvNote endedOf(const Task &task) const {
    if (!endsLoops())
      return {};
    return {uint32_t(offsetof(metate_grid_frame, status)), METATE_GRID_LOOP_ENDED | task.line};
  }

  bool isLavapipe;
};

struct VulkanFamily : GridFamily {
  llvm::StringRef name() const override { return familyName; }
  llvm::StringRef expectedNames() const override { return "vulkan, vulkan:lavapipe"; }

  std::vector<ListedTarget> list() const override {
    return {{"vulkan", "GPUs with Vulkan 1.3", "metate"},
            {"vulkan:lavapipe", "Mesa's Vulkan for CPUs", "metate"}};
  }

  Expected<TargetPtr> parse(llvm::StringRef name) const override {
    auto [family, device] = name.split(':');
    if (family != familyName)
      return TargetPtr();
    if (!device.empty() && device != any && device != lavapipe)
      return llvm::createStringError("unknown target '" + name + "'; expected " + expectedNames());
    return std::make_shared<VulkanTarget>(name, device == lavapipe);
  }

  Expected<TargetPtr> targetOf(PayloadOp payload) const override {
    return parse((familyName + ":" + payload.getCpu()).str());
  }
};
} // namespace

std::unique_ptr<TargetFamily> metate::createVulkanFamily() {
  return std::make_unique<VulkanFamily>();
}
