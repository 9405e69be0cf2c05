//===- C.cpp - C compilers as a family of targets ---------------*- C++ -*-===//
//
// Kernels are mapped as a CPU's are, to bodies that the host's executor calls in chunks, without what makes vectors: a C
// compiler does that for its machine, which nobody knows here.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/C/C.h"

#include "metate/Dialect/Derivative.h"
#include "metate/Emit/Emit.h"
#include "metate/Emit/Externals.h"
#include "metate/Emit/SourceType.h"
#include "metate/Target/C/Bitcode.h"
#include "metate/Target/Common/Passes.h"
#include "metate/Target/Cpu/Passes.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace metate;
using llvm::Error;
using llvm::Expected;

// One target is for any machine, the other one for those without a system: names, and as a payload's CPU.
static constexpr llvm::StringLiteral familyName = "c", bareName = "c:bare", anyMachine = "any",
                                     bareMachine = "bare";

namespace {
struct CTarget : metate::Target {
  using Target::Target;

  StringRef family() const override { return familyName; }
  bool isBare() const override { return name() == bareName; }

  LayoutTuning layoutTuning(const Options &options) const override {
    LayoutTuning tuning;
    tuning.tileBytes = 16 * 1024; // of a stack that may be small
    tuning.unrolledParts = 1;
    tuning.notedCells = 1 << 10;
    tuning.rows = false;
    // What a caller brings memory for is as with a CPU's objects (Target/Cpu/Cpu.cpp), so that hosts of these can take this.
    bool isForTests = options.chunkNs == 0;
    tuning.copiesBytes = 32 << 20;
    tuning.orderBytes = mostOrderBytes;
    tuning.addsPerCell = isForTests ? 1 : 8;
    tuning.addsToOrder = isForTests ? 1 : 16;
    tuning.leastAdds = isForTests ? 0 : 1 << 14;
    tuning.leastPlaces = isForTests ? 0 : 1 << 12;
    if (isBare()) // as with its objects
      tuning.tileBytes = tuning.copiesBytes = tuning.orderBytes = tuning.notedCells = 0;
    return tuning;
  }

  void buildMap(OpPassManager &passes, const Options &options) const override {
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    if (options.optLevel > 0) {
      passes.addNestedPass<KernelOp>(createJoinQuotients());
      passes.addNestedPass<KernelOp>(createForwardStores());
      passes.addPass(createFoldLoopFlags());
    }
    passes.addPass(createUnswitchNests());
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createOutlineTasks());
    MapTasksCpuOptions tasks;
    tasks.chunkNs = options.chunkNs;
    tasks.profile = options.profile;
    // Machines without a system have no vectors of floats, and little room for code.
    tasks.acrossIterations = options.acrossIterations && options.optLevel > 0 && !isBare();
    passes.addPass(createMapTasksCpu(tasks));
    passes.addPass(createExpandElementary());
    passes.addPass(createSCFToControlFlowPass());
    passes.addPass(createLowerChecks());
    passes.addPass(createConvertToLLVM());
    passes.addPass(createReconcileUnrealizedCastsPass());
  }

  std::string problemAfterMap(Operation *op) const override {
    if (isa<LLVM::LLVMDialect>(op->getDialect()) ||
        isa<InterfaceOp, NamedTypeOp, TextOp, DerivedOp>(op))
      return "";
    return "expected LLVM operations, interfaces, named types and texts";
  }

  Error emit(ModuleOp module, const Options &options) const override {
    if (options.sanitizer != Sanitizer::None)
      return llvm::createStringError("sanitizer: code of target '" + name() +
                                     "' is instrumented by its own compiler: leave the option out, "
                                     "and compile the file with -fsanitize=...");
    if (!module.getOps<PayloadOp>().empty())
      return llvm::createStringError(
          "the module holds payloads already: it has been through stage emit");
    SmallVector<StringRef> entries = entryNames(module);
    OwningOpRef<ModuleOp> code(module.clone());
    for (Operation &op : llvm::make_early_inc_range(*code->getBody()))
      if (!isa<LLVM::LLVMDialect>(op.getDialect()))
        op.erase(); // what describes the module
    // What is aligned to what.
    (*code)->setAttr(LLVM::LLVMDialect::getDataLayoutAttrName(),
                     StringAttr::get(module.getContext(), sourceDataLayout));
    Expected<std::string> bitcode = c::makeBitcode(*code, entries, isBare());
    if (!bitcode)
      return bitcode.takeError();
    OpBuilder builder(module.getContext());
    Attribute bytes = builder.getDenseI8ArrayAttr(
        ArrayRef(reinterpret_cast<const int8_t *>(bitcode->data()), bitcode->size()));
    OwningOpRef<PayloadOp> payload = PayloadOp::create(
        builder, module.getLoc(), "payload0", familyName, "", isBare() ? bareMachine : anyMachine,
        "", builder.getArrayAttr({bytes}), StringAttr());
    if (Error error = verifyPayload(*payload, entries))
      return error;
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*module.getBody())))
      if (isa<LLVM::LLVMDialect>(op.getDialect()))
        op.erase();
    module.push_back(payload.release());
    return Error::success();
  }

  bool isExternal(StringRef symbol, Sanitizer) const override { return findExternal(symbol); }

  Error verifyPayload(PayloadOp payload, ArrayRef<StringRef> entries) const override {
    return c::verifyBitcode(payload.getObjectFiles().front(), entries,
                            [](StringRef symbol) { return findExternal(symbol) != nullptr; });
  }

  Expected<Variant> variantOf(PayloadOp) const override { return Variant(); }

  Expected<std::string> makeSection(PayloadOp, const SectionRequest &) const override {
    return llvm::createStringError("code of target '" + name() +
                                   "' is C, which no .metate file holds: save it as a .c file");
  }

  bool hasSource() const override { return true; }
  Expected<std::string> makeSource(PayloadOp payload, const SourceParts &parts) const override {
    return c::makeSource(payload.getObjectFiles().front(), parts, isBare());
  }
};

struct CFamily : TargetFamily {
  StringRef name() const override { return familyName; }
  StringRef expectedNames() const override { return "c, c:bare"; }
  std::vector<ListedTarget> list() const override {
    return {{familyName.str(), "C99 for a C compiler of any machine", "c"},
            {bareName.str(), "C99 for machines without a system, of one thread", "c"}};
  }
  Expected<TargetPtr> parse(StringRef name) const override {
    bool isOwn = name == familyName || name == bareName;
    return isOwn ? std::make_shared<CTarget>(name) : TargetPtr();
  }
  Expected<TargetPtr> targetOf(PayloadOp payload) const override {
    return parse(payload.getCpu() == bareMachine ? bareName : familyName);
  }
  void registerDialects(DialectRegistry &registry) const override { registerEmit(registry); }
  void registerPasses() const override {} // those of CPUs
};
} // namespace

std::unique_ptr<TargetFamily> metate::createCFamily() { return std::make_unique<CFamily>(); }
