//===- Cpu.cpp - CPUs as a family of targets --------------------*- C++ -*-===//
#include "metate/Target/Cpu/Cpu.h"

#include "metate/Dialect/Derivative.h"
#include "metate/Emit/Disassembly.h"
#include "metate/Emit/Emit.h"
#include "metate/Emit/Externals.h"
#include "metate/Emit/Link.h"
#include "metate/Emit/Sanitize.h"
#include "metate/Target/Common/Passes.h"
#include "metate/Target/Cpu/Passes.h"
#include "metate/Target/Cpu/TreeBitcode.h"
#include "metate/Target/Cpu/Variant.h"
#include "metate/Transforms/Passes.h"
#include "metate/abi/module.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;
using llvm::Error;
using llvm::Expected;

static constexpr llvm::StringLiteral familyName = "cpu";

StringRef CpuTarget::family() const { return familyName; }

LayoutTuning CpuTarget::layoutTuning(const Options &options) const {
  LayoutTuning tuning;
  // A tile beyond this does not stay in the first-level cache beside the rest.
  tuning.tileBytes = 64 * 1024;
  // A row beyond this would fill the vector registers.
  tuning.rowBytes = 128;
  // As many neighbours are filled by code of their own, others by loops over all of them.
  tuning.unrolledParts = 9;
  // Leaves of more cells would need too much of the stack.
  tuning.notedCells = 1 << 14;
  // Copies beyond this would only move the wait from the lock to memory.
  tuning.copiesBytes = 32 << 20;
  tuning.orderBytes = mostOrderBytes;
  // Records go to places all over: a quarter of what rows that are written one after the other want.
  if (writesAround(options) && options.nontemporalBytes <= uint64_t(INT64_MAX))
    tuning.streamedOrder = int64_t(options.nontemporalBytes / 4);
  // A piece is a chunk's work; for tests (0) any loop has pieces that adds to each number.
  bool isForTests = options.chunkNs == 0;
  tuning.addsPerCell = isForTests ? 1 : 8;
  tuning.addsToOrder = isForTests ? 1 : 16;
  tuning.leastAdds = isForTests ? 0 : 1 << 14;
  tuning.leastPlaces = isForTests ? 0 : 1 << 12;
  // Beyond this a row of lanes leaves the first-level cache; without lanes a row is as good where it is.
  tuning.ownRowBytes = options.optLevel > 0 && architecture().hasLanes ? 1024 : 0;
  tuning.usesOfOwnRow = isForTests ? 1 : 4;
  // AddressSanitizer and ThreadSanitizer follow accesses of at most 16 bytes.
  tuning.rows = options.sanitizer == Sanitizer::None && architecture().hasLanes;
  tuning.ownWrites = options.sanitizer != Sanitizer::Thread;
  // Where memory is counted in kibibytes and there is one worker, nothing is copied to be out of each other's way.
  if (architecture().isBare())
    tuning.tileBytes = tuning.copiesBytes = tuning.orderBytes = tuning.notedCells = 0;
  return tuning;
}

void CpuTarget::buildMap(OpPassManager &passes, const Options &options) const {
  bool isPlain = options.sanitizer == Sanitizer::None;
  // Vectors that no register holds are only more code.
  bool hasLanes = architecture().hasLanes;
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  if (options.optLevel > 0)
    passes.addNestedPass<KernelOp>(createJoinQuotients());
  // Before anything makes lanes, whose reads would wait for what was just stored.
  if (options.optLevel > 0 && isPlain)
    passes.addNestedPass<KernelOp>(createForwardStores());
  // Where conditions are equal that were written twice; before anything looks at what differs from turn to turn.
  if (options.optLevel > 0)
    passes.addPass(createFoldLoopFlags());
  // Once arithmetic that is the same is one value: what is read twice is read once. Of small blocks tests have several.
  if (options.optLevel > 0)
    passes.addNestedPass<KernelOp>(createGatherAppends({options.chunkNs == 0 ? 16 : 256}));
  if (options.optLevel > 0 && isPlain && !architecture().isBare())
    passes.addPass(createPrefetchScatters());
  // Once what guards a leaf is known to be one value; before loops become branches.
  passes.addPass(createUnswitchNests());
  // What guards whole rows has left them: what is left varies from cell to cell.
  // What is read or written for nothing is a race to the thread sanitizer.
  passes.addPass(createFlattenRows({/*blend=*/options.sanitizer != Sanitizer::Thread}));
  // Once what stands under a leaf's bits is stores alone. Sanitizers follow accesses of at most 16 bytes.
  if (options.optLevel > 0 && isPlain && hasLanes)
    passes.addNestedPass<KernelOp>(createWholeRows());
  passes.addPass(createCanonicalizerPass());
  passes.addNestedPass<KernelOp>(createAliasScopes());
  if (options.optLevel > 0 && isPlain)
    passes.addNestedPass<KernelOp>(createParallelAccesses({hasMaskedStores(machine)}));
  // What pieces keep is on the stack.
  if (options.optLevel > 0 && !architecture().isBare())
    passes.addNestedPass<KernelOp>(createSkipPieces());
  passes.addPass(createOutlineTasks());
  MapTasksCpuOptions tasks;
  // Instrumented code is to run in as many chunks as it can.
  tasks.chunkNs = isPlain ? options.chunkNs : 0;
  // Without an optimiser, vectors of sixteen would only be in the way.
  tasks.acrossIterations = options.acrossIterations && options.optLevel > 0 && isPlain && hasLanes;
  tasks.splitBorders = options.splitBorders && options.optLevel > 0;
  tasks.nontemporalBytes = writesAround(options) ? int64_t(options.nontemporalBytes) : -1;
  // A program without a system has its loops where they are called, with their constants.
  tasks.sharesChunks = !architecture().isBare();
  tasks.profile = options.profile;
  passes.addPass(createMapTasksCpu(tasks));
  if (options.optLevel > 0 && isPlain) {
    passes.addPass(createCutAtReads());
    if (hasLanes) {
      passes.addPass(createSplitScatters({/*always=*/options.chunkNs == 0}));
      passes.addPass(createVectorSums());
    }
  }
  // What is left of loops in order: iterations that are lanes have theirs in vectors.
  if (tasks.acrossIterations) {
    passes.addPass(createExtremesInLanes({/*always=*/options.chunkNs == 0}));
    passes.addPass(createTestBlocks({/*always=*/options.chunkNs == 0}));
  }
  // Once the loops are there that LLVM will vectorise, and lanes.
  passes.addPass(createExpandElementary());
  passes.addPass(createSCFToControlFlowPass());
  // What may stop a kernel ends its block, so it waits for blocks.
  passes.addPass(createLowerChecks());
  passes.addPass(createConvertToLLVM());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

std::string CpuTarget::problemAfterMap(Operation *op) const {
  if (isa<LLVM::LLVMDialect>(op->getDialect()) ||
      isa<InterfaceOp, NamedTypeOp, TextOp, DerivedOp>(op))
    return "";
  return "expected LLVM operations, interfaces, named types and texts";
}

Error CpuTarget::emit(ModuleOp module, const Options &options) const {
  Machine wanted = machine;
  wanted.optLevel = options.optLevel;
  EmitOptions code;
  code.treeProtocol = treeBitcode(machine);
  // A sanitizer sees what it has instrumented.
  if (options.sanitizer == Sanitizer::None)
    code.treeObject = treeObject(machine);
  code.contract = options.contract;
  code.sanitizer = options.sanitizer;
  code.family = familyName;
  return metate::emit(module, wanted, code);
}

bool CpuTarget::isExternal(StringRef symbol, Sanitizer sanitizer) const {
  return findExternal(symbol) || isCompilersOwn(symbol, architecture()) ||
         isSanitizerSymbol(symbol, sanitizer);
}

Error CpuTarget::verifyPayload(PayloadOp payload, ArrayRef<StringRef> entries) const {
  return verifyObjects(payload, entries, [&](StringRef symbol, Sanitizer sanitizer) {
    return isExternal(symbol, sanitizer);
  });
}

Expected<std::vector<CodeFunction>> CpuTarget::codeOf(PayloadOp payload) const {
  return disassemble(payload);
}

Expected<Variant> CpuTarget::variantOf(PayloadOp payload) const { return cpu::variantOf(payload); }

Expected<std::string> CpuTarget::makeSection(PayloadOp payload,
                                             const SectionRequest &request) const {
  SmallVector<StringRef> objects = payload.getObjectFiles();
  PayloadParts parts = {};
  parts.triple = payload.getTriple();
  parts.objects = objects;
  parts.entries = request.entries;
  llvm::copy(request.descriptorHash, parts.descriptorHash);
  parts.sanitizer = *parseSanitizer(payload.getSanitizer().value_or(""));
  parts.strip = request.strip;
  return linkPayload(parts);
}

namespace {
struct CpuFamily : TargetFamily {
  StringRef name() const override { return familyName; }

  StringRef expectedNames() const override {
    return "native, x86-64, x86-64-v2, x86-64-v3, x86-64-v4, aarch64, riscv64, "
           "thumbv7em-none-eabi, thumbv7em-none-eabihf, thumbv8m.main-none-eabi, "
           "thumbv8m.main-none-eabihf, wasm32, a CPU's name or ARCHITECTURE:CPU";
  }

  std::vector<ListedTarget> list() const override {
    std::vector<ListedTarget> rows = {{"native", "this machine's CPU", "metate, so, o, a"}};
    for (const Architecture &entry : architectures()) {
      const char *carriers = entry.code == METATE_ARCH_WASM32 ? "o, a, wasm"
                             : entry.isBare()                 ? "o, a"
                                                              : "metate, so, o, a";
      rows.push_back({entry.name.str(), entry.what.str(), carriers});
      if (entry.code == METATE_ARCH_X86_64)
        for (const char *level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"})
          rows.push_back({level, "the level of the psABI", carriers});
    }
    return rows;
  }

  Expected<TargetPtr> parse(StringRef name) const override {
    Expected<Machine> machine = parseMachine(name);
    if (machine)
      return std::make_shared<CpuTarget>(name.empty() ? "native" : name, *machine);
    // An architecture of this family's with a CPU that it does not have is a mistake; any other name may be another
    // family's.
    if (!findArchitecture(name)) {
      llvm::consumeError(machine.takeError());
      return TargetPtr();
    }
    return llvm::joinErrors(
        llvm::createStringError("unknown target '" + name + "'; expected " + expectedNames()),
        machine.takeError());
  }

  Expected<TargetPtr> targetOf(PayloadOp payload) const override {
    Machine machine;
    machine.triple = payload.getTriple().str();
    machine.cpu = payload.getCpu().str();
    machine.features = payload.getFeatures().str();
    return std::make_shared<CpuTarget>(payload.getCpu(), machine);
  }

  void registerDialects(DialectRegistry &registry) const override { registerEmit(registry); }

  void registerPasses() const override {
    registerMetateCommonPasses();
    registerMetateCpuPasses();
    registerSCFToControlFlowPass();
    registerReconcileUnrealizedCastsPass();
  }
};
} // namespace

std::unique_ptr<TargetFamily> metate::createCpuFamily() { return std::make_unique<CpuFamily>(); }
