//===- StaticPack.cpp - stage pack for static carriers ----------*- C++ -*-===//
//
// Payload objects become objects that a C program links, or shared objects that it loads: each joined with its entries, with
// nothing visible but what the header names.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Metate.h"
#include "metate/Emit/Architecture.h"
#include "metate/Emit/Externals.h"
#include "metate/Emit/Link.h"
#include "metate/Emit/Machine.h"
#include "metate/Emit/Sanitize.h"
#include "metate/Module/Hash.h"
#include "metate/Module/Module.h"
#include "metate/Module/Static.h"
#include "metate/Mutants/Mutants.h"
#include "metate/abi/library.h"

#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <cstring>
#include <set>

using namespace mlir;
using namespace metate;
using llvm::Expected;

/// Weak symbols of the support code: where nobody has them it goes without.
static constexpr StringRef optional[] = {"TVMFFIErrorSetRaisedFromCStr", "TVMFFIObjectIncRef",
                                         "TVMFFIObjectDecRef", "TVMFFIStringFromByteArray",
                                         "dlsym"};

static bool isOfBareMachine(PayloadOp payload) {
  const Architecture *architecture = architectureOf(llvm::Triple(payload.getTriple()));
  return architecture && architecture->isBare(); // none: another family's
}

/// A machine for code without kernels: any CPU of the payload's architecture runs it; without a system it is the payload's.
static Expected<std::unique_ptr<llvm::TargetMachine>> machineFor(PayloadOp payload) {
  Expected<Machine> machine = plainMachine(payload.getTriple());
  if (!machine)
    return machine.takeError();
  if (isOfBareMachine(payload)) {
    machine->cpu = payload.getCpu().str();
    machine->features = payload.getFeatures().str();
  }
  return createTargetMachine(*machine);
}

/// What the object takes from others. Programs without a system bring what the entries use, too.
static Expected<std::vector<std::string>> needsOf(PayloadOp payload, SmallVector<StringRef> objects,
                                                  StringRef code) {
  if (isOfBareMachine(payload))
    objects.push_back(code);
  Expected<Symbols> symbols = symbolsOf(objects);
  if (!symbols)
    return symbols.takeError();
  for (StringRef name : optional)
    symbols->undefined.erase(name.str());
  return undefinedSymbols(*symbols, *architectureOf(llvm::Triple(payload.getTriple())),
                          *parseSanitizer(payload.getSanitizer().value_or("")));
}

/// What the descriptor beside the code says of it: in an object, code that is there already. Nothing of source, whose machine its
/// compiler decides.
static Expected<std::vector<Variant>> linkedVariants(const metate::Target &target,
                                                     PayloadOp payload, StaticForm form) {
  if (target.hasSource() && form == StaticForm::Library)
    return llvm::createStringError("payload '" + payload.getSymName() +
                                   "' is C source: make a .c file, and a shared object of it");
  if (target.hasSource())
    return std::vector<Variant>();
  if (!target.hasObjects())
    return llvm::createStringError("a linker takes objects of CPUs, and payload '" +
                                   payload.getSymName() + "' is for '" + payload.getFamily() +
                                   "': make a .metate file");
  Expected<Variant> variant = target.variantOf(payload);
  if (!variant)
    return variant.takeError();
  if (form == StaticForm::Object)
    variant->format = METATE_FORMAT_IN_MEMORY;
  return std::vector{*variant};
}

/// Says in a linked file how long it is, and its hash.
static Expected<std::string> sealLibrary(std::string bytes, const StaticModule &description) {
  Expected<std::unique_ptr<llvm::object::ObjectFile>> file =
      llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "library"));
  if (!file)
    return file.takeError();
  for (llvm::object::ELFSectionRef section : (*file)->sections()) {
    Expected<StringRef> name = section.getName();
    if (!name)
      return name.takeError();
    if (*name != METATE_LIBRARY_SECTION)
      continue;
    uint64_t offset = section.getOffset();
    metate_library record = {};
    record.magic = METATE_LIBRARY_MAGIC;
    record.abi_version = METATE_ABI_VERSION;
    record.bytes = bytes.size() - (isMutant(Mutant::LibraryOneByteShort) ? 1 : 0);
    record.descriptor_bytes = description.descriptor.size();
    std::memcpy(bytes.data() + offset, &record, sizeof record);
    sealWithHash(bytes, offset + offsetof(metate_library, hash));
    return bytes;
  }
  return llvm::createStringError("the linker left section " METATE_LIBRARY_SECTION " away");
}

/// The payload and its entries as one file.
static Expected<std::string> joined(const StaticModule &description, PayloadOp payload,
                                    ArrayRef<StringRef> objects, const PackOptions &options) {
  if (description.form == StaticForm::Object)
    return linkRelocatable(objects, options.strip);
  std::string soname = description.name + ".so";
  SharedParts parts = {payload.getTriple(), objects, soname};
  parts.sanitizer = *parseSanitizer(payload.getSanitizer().value_or(""));
  parts.strip = options.strip;
  parts.optional = optional;
  Expected<std::string> linked = linkShared(parts);
  return linked ? sealLibrary(std::move(*linked), description) : std::move(linked);
}

/// The payload's objects and their entries as one file; what it takes from others goes to `needs`.
static Expected<std::string> makeFile(PayloadOp payload, const StaticModule &description,
                                      ArrayRef<StringRef> entries, const PackOptions &options,
                                      std::set<std::string> &needs) {
  Expected<std::unique_ptr<llvm::TargetMachine>> machine = machineFor(payload);
  if (!machine)
    return machine.takeError();
  Expected<std::string> code = staticCode(description, entries, **machine);
  if (!code)
    return code.takeError();
  SmallVector<StringRef> objects = payload.getObjectFiles();
  Expected<std::vector<std::string>> own = needsOf(payload, objects, *code);
  if (!own)
    return own.takeError();
  needs.insert(own->begin(), own->end());
  objects.push_back(*code);
  return joined(description, payload, objects, options);
}

static Expected<std::string> makeSource(const metate::Target &target, PayloadOp payload,
                                        const StaticModule &description,
                                        ArrayRef<StringRef> entries, std::set<std::string> &needs) {
  Expected<std::string> code = staticBitcode(description, entries, target.isBare());
  if (!code)
    return code.takeError();
  // Whatever its compiler makes a call of.
  needs.insert({"memcmp", "memcpy", "memmove", "memset", "fmod"});
  std::string support = staticSupport(description);
  return target.makeSource(payload, {*code, support, description.name});
}

static Expected<StaticCarrier> packForm(ModuleOp module, const TargetRegistry &targets,
                                        const PackOptions &options, StaticForm form) {
  if (module.getOps<PayloadOp>().empty())
    return llvm::createStringError(
        "the module holds no payload: it has not been through stage emit");
  SmallVector<StringRef> entries = entryNames(module);
  StaticCarrier carrier;
  // One header for all targets: what any of them needs, and memory that is enough for each.
  bool isBare = true;
  for (PayloadOp payload : module.getOps<PayloadOp>()) {
    Expected<TargetPtr> target = targets.targetOf(payload);
    if (!target)
      return target.takeError();
    isBare &= (*target)->isBare();
  }
  uint32_t workers =
      isBare && !isMutant(Mutant::BareTreesOfManyWorkers) ? 1 : METATE_DEFAULT_WORKERS;
  std::set<std::string> needs;
  for (auto [number, payload] : llvm::enumerate(module.getOps<PayloadOp>())) {
    Expected<TargetPtr> target = targets.targetOf(payload);
    if (!target)
      return target.takeError();
    Expected<std::vector<Variant>> variants = linkedVariants(**target, payload, form);
    if (!variants)
      return variants.takeError();
    Expected<std::string> descriptor = buildDescriptor(module, *variants, number);
    if (!descriptor)
      return descriptor.takeError();
    std::vector<uint64_t> aligned((descriptor->size() + 7) / 8);
    std::memcpy(aligned.data(), descriptor->data(), descriptor->size());
    Expected<StaticModule> description = StaticModule::get(
        StringRef(reinterpret_cast<const char *>(aligned.data()), descriptor->size()), form,
        workers);
    if (!description)
      return description.takeError();
    if (number && carrier.isSource != (*target)->hasSource())
      return llvm::createStringError("objects and C source have one header each: save them apart");
    carrier.isSource = (*target)->hasSource();
    Expected<std::string> file = carrier.isSource
                                     ? makeSource(**target, payload, *description, entries, needs)
                                     : makeFile(payload, *description, entries, options, needs);
    if (!file)
      return file.takeError();
    carrier.files.push_back(std::move(*file));
    carrier.header =
        staticHeader(*description, std::vector<std::string>(needs.begin(), needs.end()), isBare);
  }
  return carrier;
}

Expected<StaticCarrier> metate::packStatic(ModuleOp module, const TargetRegistry &targets,
                                           const PackOptions &options) {
  return packForm(module, targets, options, StaticForm::Object);
}

Expected<StaticCarrier> metate::packLibrary(ModuleOp module, const TargetRegistry &targets,
                                            const PackOptions &options) {
  return packForm(module, targets, options, StaticForm::Library);
}

Expected<std::string> metate::makeWasm(StringRef object, bool strip) {
  return linkWasm(object, strip);
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
