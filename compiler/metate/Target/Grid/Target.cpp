//===- Target.cpp - what targets that run grids answer alike ----*- C++ -*-===//
#include "metate/Target/Grid/Target.h"

#include "metate/Dialect/Derivative.h"
#include "metate/Emit/Disassembly.h"
#include "metate/Emit/Emit.h"
#include "metate/Target/Common/Passes.h"
#include "metate/Target/Grid/Passes.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace mlir;
using namespace metate;
using namespace metate::grid;
using llvm::Error;
using llvm::Expected;

LayoutTuning GridTarget::layoutTuning(const Options &options) const {
  LayoutTuning tuning;
  // An invocation reads what it needs; rows and copies for each worker are for CPUs.
  tuning.rows = tuning.fullLeaves = false;
  // Local arrays of invocations side by side lie interleaved, which rows of memory do not.
  tuning.ownRowBytes = options.optLevel > 0 ? 1024 : 0;
  tuning.leastAdds = tuning.leastPlaces = INT64_MAX;
  return tuning;
}

void GridTarget::buildLayout(OpPassManager &passes, const Options &options) const {
  if (options.privateReductions && options.optLevel > 0 && sharedBytes())
    passes.addNestedPass<KernelOp>(createMarkBins({sharedBytes(), sharesWideNumbers()}));
}

void GridTarget::buildMap(OpPassManager &passes, const Options &options) const {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addNestedPass<KernelOp>(createSpreadNests());
  if (options.optLevel > 0)
    passes.addNestedPass<KernelOp>(createGridBricks({brick(), /*cells=*/8, many()}));
  if (options.optLevel > 0 && exchangesNumbers())
    passes.addNestedPass<KernelOp>(createShareSums());
  passes.addNestedPass<KernelOp>(createAliasScopes());
  passes.addPass(createOutlineTasks());
  passes.addPass(createMapGrid({group(), endsLoops()}));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createExpandElementary());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createLowerChecks());
  passes.addPass(createConvertToLLVM());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

std::string GridTarget::problemAfterMap(Operation *op) const {
  if (isa<LLVM::LLVMDialect>(op->getDialect()) ||
      isa<InterfaceOp, NamedTypeOp, TextOp, DerivedOp>(op))
    return "";
  return "expected LLVM operations, interfaces, named types and texts";
}

/// A copy of what is to become code.
static OwningOpRef<ModuleOp> onlyCode(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  for (Operation &op : llvm::make_early_inc_range(*copy->getBody()))
    if (!isa<LLVM::LLVMDialect>(op.getDialect()))
      op.erase();
  Table::removeFrom(*copy);
  return copy;
}

Error GridTarget::emit(ModuleOp module, const Options &options) const {
  if (!module.getOps<PayloadOp>().empty())
    return llvm::createStringError(
        "the module holds payloads already: it has been through stage emit");
  Table table = Table::of(module);
  Expected<Code> code = compile(*onlyCode(module), table, options);
  if (!code)
    return code.takeError();
  std::string section = sectionOf(table, entryNames(module), code->images, code->constants);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*module.getBody())))
    if (isa<LLVM::LLVMDialect>(op.getDialect()))
      op.erase();
  Table::removeFrom(module);
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Attribute bytes = builder.getDenseI8ArrayAttr(
      ArrayRef(reinterpret_cast<const int8_t *>(section.data()), section.size()));
  Named named = machine();
  PayloadOp::create(builder, module.getLoc(), "payload0", family(), named.triple, named.cpu,
                    named.features, builder.getArrayAttr(bytes), StringAttr());
  return Error::success();
}

Error GridTarget::verifyPayload(PayloadOp payload, ArrayRef<StringRef> entries) const {
  return checkSection(payload.getObjectFiles().front(), entries.size());
}

Expected<std::string> GridTarget::makeSection(PayloadOp payload,
                                              const SectionRequest &request) const {
  return withHash(payload.getObjectFiles().front(), request.descriptorHash);
}

Expected<std::vector<CodeFunction>> GridTarget::codeOf(PayloadOp payload) const {
  return describe(contentsOf(payload.getObjectFiles().front()));
}

Expected<std::vector<CodeFunction>> metate::grid::sizesOf(const Contents &contents,
                                                          const Image &image) {
  auto file =
      llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(image.bytes, "an image"));
  if (!file)
    return file.takeError();
  const auto *elf = llvm::cast<llvm::object::ELFObjectFileBase>(file->get());
  llvm::StringMap<uint64_t> sizes;
  auto note = [&](auto symbols) {
    for (const llvm::object::ELFSymbolRef symbol : symbols)
      if (Expected<StringRef> name = symbol.getName())
        sizes[*name] = symbol.getSize();
      else
        llvm::consumeError(name.takeError());
  };
  note(elf->symbols());
  note(elf->getDynamicSymbolIterators());
  std::vector<CodeFunction> found;
  for (const std::string &name : contents.functions)
    found.push_back({name, sizes.lookup(name), {}, {}});
  return found;
}

void GridFamily::registerDialects(DialectRegistry &registry) const { registerEmit(registry); }

void GridFamily::registerPasses() const { registerMetateGridPasses(); }
