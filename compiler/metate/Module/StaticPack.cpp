//===- StaticPack.cpp - stage pack for static carriers ----------*- C++ -*-===//
//
// Payload objects become objects that a C program links: each joined with its entries, with nothing
// visible but what the header names.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Metate.h"
#include "metate/Emit/Externals.h"
#include "metate/Emit/Link.h"
#include "metate/Emit/Machine.h"
#include "metate/Emit/Sanitize.h"
#include "metate/Module/Module.h"
#include "metate/Module/Static.h"

#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <cstring>

using namespace mlir;
using namespace metate;
using llvm::Expected;

/// A machine for code without kernels: any CPU of the payload's architecture runs it.
static Expected<std::unique_ptr<llvm::TargetMachine>> plainMachine(PayloadOp payload) {
  llvm::Triple triple(payload.getTriple());
  metate::Machine options;
  options.triple = triple.str();
  options.cpu = triple.getArch() == llvm::Triple::x86_64 ? "x86-64" : "generic";
  return createTargetMachine(options);
}

static Expected<bool> usesMath(ArrayRef<StringRef> objects, Sanitizer sanitizer) {
  Expected<Symbols> symbols = symbolsOf(objects);
  if (!symbols)
    return symbols.takeError();
  Expected<std::vector<std::string>> names = undefinedSymbols(*symbols, sanitizer);
  if (!names)
    return names.takeError();
  return llvm::any_of(*names, [](const std::string &name) {
    return StringRef(findExternal(name)->library).starts_with("libm");
  });
}

/// What the descriptor in the object says of it: code that is there already.
static Expected<Variant> linkedVariant(const TargetRegistry &targets, PayloadOp payload) {
  Expected<TargetPtr> target = targets.targetOf(payload);
  if (!target)
    return target.takeError();
  if (!(*target)->hasObjects())
    return llvm::createStringError("a linker takes objects of CPUs, and payload '" +
                                   payload.getSymName() + "' is for '" + payload.getFamily() +
                                   "': make a .metate file");
  Expected<Variant> variant = (*target)->variantOf(payload);
  if (variant)
    variant->format = METATE_FORMAT_IN_MEMORY;
  return variant;
}

Expected<StaticCarrier> metate::packStatic(ModuleOp module, const TargetRegistry &targets,
                                           const PackOptions &options) {
  if (module.getOps<PayloadOp>().empty())
    return llvm::createStringError(
        "the module holds no payload: it has not been through stage emit");
  SmallVector<StringRef> entries = entryNames(module);
  StaticCarrier carrier;
  for (auto [number, payload] : llvm::enumerate(module.getOps<PayloadOp>())) {
    Expected<Variant> variant = linkedVariant(targets, payload);
    if (!variant)
      return variant.takeError();
    Expected<std::string> descriptor = buildDescriptor(module, *variant, number);
    if (!descriptor)
      return descriptor.takeError();
    std::vector<uint64_t> aligned((descriptor->size() + 7) / 8);
    std::memcpy(aligned.data(), descriptor->data(), descriptor->size());
    Expected<StaticModule> description = StaticModule::get(
        StringRef(reinterpret_cast<const char *>(aligned.data()), descriptor->size()));
    if (!description)
      return description.takeError();
    Expected<std::unique_ptr<llvm::TargetMachine>> machine = plainMachine(payload);
    if (!machine)
      return machine.takeError();
    Expected<std::string> code = staticCode(*description, entries, **machine);
    if (!code)
      return code.takeError();
    SmallVector<StringRef> objects = payload.getObjectFiles();
    Expected<bool> math = usesMath(objects, *parseSanitizer(payload.getSanitizer().value_or("")));
    if (!math)
      return math.takeError();
    objects.push_back(*code);
    Expected<std::string> linked = linkRelocatable(objects, options.strip);
    if (!linked)
      return linked.takeError();
    carrier.objects.push_back(std::move(*linked));
    carrier.header = staticHeader(*description, *math);
  }
  return carrier;
}

Expected<std::string> metate::makeArchive(StringRef object, StringRef member) {
  llvm::NewArchiveMember content(llvm::MemoryBufferRef(object, member));
  Expected<std::unique_ptr<llvm::MemoryBuffer>> archive = llvm::writeArchiveToBuffer(
      content, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU,
      /*Deterministic=*/true, /*Thin=*/false);
  if (!archive)
    return archive.takeError();
  return (*archive)->getBuffer().str();
}
