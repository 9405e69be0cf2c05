//===- Link.cpp - payload objects to shared objects -------------*- C++ -*-===//
//
// LLD reads files, so everything passes through a private folder that is gone afterwards; no path
// gets into the bytes. The C library is not linked against: stand-ins with its name, symbols and
// versions are made from the allow-list, so that linking needs no system of the target and gives
// the same bytes everywhere.
//
//===----------------------------------------------------------------------===//
#include "metate/Emit/Link.h"

#include "metate/Emit/Externals.h"
#include "metate/Emit/Machine.h"
#include "metate/abi/kernel.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"

#include <map>
#include <mutex>
#include <set>

LLD_HAS_DRIVER(elf)
LLD_HAS_DRIVER(wasm)

using namespace llvm;
using namespace metate;

namespace {
/// A private folder, removed with its files.
class Folder {
public:
  static Expected<std::unique_ptr<Folder>> create() {
    SmallString<128> path;
    if (std::error_code code = sys::fs::createUniqueDirectory("metate-link", path))
      return llvm::createStringError("cannot make a temporary folder: " + code.message());
    return std::make_unique<Folder>(path.str().str());
  }
  explicit Folder(std::string path) : path(std::move(path)) {}
  ~Folder() { (void)sys::fs::remove_directories(path); }

  std::string at(StringRef name) const { return path + "/" + name.str(); }
  Expected<std::string> write(StringRef name, StringRef bytes) const {
    std::error_code code;
    raw_fd_ostream stream(at(name), code);
    if (!code) {
      stream << bytes;
      stream.close();
      code = stream.error();
      stream.clear_error();
    }
    if (code)
      return llvm::createStringError("cannot write a temporary file: " + code.message());
    return at(name);
  }
  /// Their paths, in the order given.
  Expected<std::vector<std::string>> writeParts(ArrayRef<StringRef> objects) const {
    std::vector<std::string> paths;
    for (auto [number, object] : enumerate(objects)) {
      Expected<std::string> path = write("part" + std::to_string(number) + ".o", object);
      if (!path)
        return path.takeError();
      paths.push_back(*path);
    }
    return paths;
  }

private:
  std::string path;
};
} // namespace

/// One run of LLD. Its state is one per process, so is the lock; after a crash inside it may not
/// run again.
static Error runLld(ArrayRef<std::string> arguments, bool isWasm = false) {
  static std::mutex mutex;
  static bool broken = false;
  std::lock_guard lock(mutex);
  if (broken)
    return llvm::createStringError(
        "the linker failed earlier in this process and cannot run again");
  SmallVector<const char *> pointers = {isWasm ? "wasm-ld" : "ld.lld"};
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  std::string text;
  raw_string_ostream output(text);
  CrashRecoveryContext::Enable(); // LLD leaves by it where it gives up; without it the process
                                  // would exit
  lld::Result result = lld::lldMain(pointers, output, output,
                                    {{lld::Gnu, &lld::elf::link}, {lld::Wasm, &lld::wasm::link}});
  CrashRecoveryContext::Disable();
  broken = !result.canRunAgain;
  if (result.retCode || broken)
    return llvm::createStringError("linking the payload failed: " + StringRef(text).trim());
  return Error::success();
}

Expected<std::string> metate::objectOf(Module &module, TargetMachine &machine) {
  module.setDataLayout(machine.createDataLayout());
  module.setTargetTriple(machine.getTargetTriple());
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager manager;
  if (machine.addPassesToEmitFile(manager, stream, nullptr, CodeGenFileType::ObjectFile))
    return llvm::createStringError("target '" + module.getTargetTriple().str() +
                                   "' cannot write object files");
  manager.run(module);
  return std::string(object.data(), object.size());
}

/// The object that defines metate_payload, with the entries by name.
static Expected<std::string> payloadTable(const PayloadParts &parts, TargetMachine &machine) {
  LLVMContext context;
  Module module("metate_payload", context);
  IntegerType *i32 = Type::getInt32Ty(context), *i64 = Type::getInt64Ty(context);
  PointerType *pointer = PointerType::get(context, 0);
  SmallVector<Constant *> entries;
  for (StringRef name : parts.entries) {
    auto *entry = Function::Create(FunctionType::get(i32, {pointer, pointer, pointer}, false),
                                   GlobalValue::ExternalLinkage, name, module);
    entry->setVisibility(GlobalValue::HiddenVisibility);
    entry->setDSOLocal(true);
    entries.push_back(entry);
  }
  ArrayType *tableType = ArrayType::get(pointer, entries.size());
  Constant *table = ConstantPointerNull::get(pointer);
  if (!entries.empty())
    table = new GlobalVariable(module, tableType, true, GlobalValue::InternalLinkage,
                               ConstantArray::get(tableType, entries), "entries");
  ArrayType *hashType = ArrayType::get(i64, 2);
  // metate_payload of abi/metate/abi/kernel.h, field by field.
  Constant *fields[] = {
      ConstantInt::get(i32, METATE_PAYLOAD_MAGIC),
      ConstantInt::get(i32, METATE_ABI_VERSION),
      ConstantArray::get(hashType, {ConstantInt::get(i64, parts.descriptorHash[0]),
                                    ConstantInt::get(i64, parts.descriptorHash[1])}),
      ConstantInt::get(i32, entries.size()),
      ConstantInt::get(i32, 0),
      table};
  Constant *payload = ConstantStruct::getAnon(fields);
  new GlobalVariable(module, payload->getType(), true, GlobalValue::ExternalLinkage, payload,
                     METATE_PAYLOAD_SYMBOL);
  return objectOf(module, machine);
}

/// A shared object that stands in for one of the C library's: the same name, the used functions,
/// their versions.
static Expected<std::string> standIn(StringRef library, ArrayRef<const External *> used,
                                     const Folder &folder, TargetMachine &machine) {
  LLVMContext context;
  Module module(library, context);
  std::map<std::string, std::string> versions;
  const Architecture &architecture = *architectureOf(machine.getTargetTriple());
  for (const External *external : used) {
    auto *function = Function::Create(FunctionType::get(Type::getVoidTy(context), false),
                                      GlobalValue::ExternalLinkage, external->name, module);
    IRBuilder<>(BasicBlock::Create(context, "", function)).CreateRetVoid();
    versions[externalVersion(*external, architecture)] += std::string(external->name) + "; ";
  }
  std::string script;
  for (const auto &[version, names] : versions)
    script += version + " { global: " + names + "};\n";
  Expected<std::string> object = objectOf(module, machine);
  if (!object)
    return object;
  Expected<std::string> objectPath = folder.write((library + ".o").str(), *object);
  Expected<std::string> scriptPath = folder.write((library + ".map").str(), script);
  if (!objectPath || !scriptPath)
    return joinErrors(objectPath.takeError(), scriptPath.takeError());
  std::string path = folder.at(library);
  if (Error error = runLld({"-shared", "--threads=1", "-soname", library.str(), "--version-script",
                            *scriptPath, "--build-id=none", "-o", path, *objectPath}))
    return error;
  return path;
}

/// Paths of the stand-ins for what the objects leave undefined.
static Expected<std::vector<std::string>> standIns(const SharedParts &parts, const Folder &folder,
                                                   TargetMachine &machine) {
  Expected<Symbols> symbols = symbolsOf(parts.objects);
  if (!symbols)
    return symbols.takeError();
  for (StringRef name : parts.optional)
    symbols->undefined.erase(name.str());
  Expected<std::vector<std::string>> names =
      undefinedSymbols(*symbols, *architectureOf(machine.getTargetTriple()), parts.sanitizer);
  if (!names)
    return names.takeError();
  std::map<std::string, SmallVector<const External *>> libraries;
  for (const std::string &name : *names)
    libraries[findExternal(name)->library].push_back(findExternal(name));
  std::vector<std::string> paths;
  for (const auto &[library, used] : libraries) {
    Expected<std::string> path = standIn(library, used, folder, machine);
    if (!path)
      return path.takeError();
    paths.push_back(*path);
  }
  return paths;
}

/// A machine for data and empty functions.
static Expected<std::unique_ptr<TargetMachine>> emptyMachine(StringRef name) {
  Triple triple(name);
  if (!triple.isOSLinux() || !triple.isGNUEnvironment())
    return llvm::createStringError(
        "a shared object needs a Linux target with the GNU C library, got '" + name +
        "': save an object file (.o or .a), which a program is linked of");
  Expected<Machine> options = metate::plainMachine(name);
  if (!options)
    return options.takeError();
  options->optLevel = 0;
  return createTargetMachine(*options);
}

Expected<std::string> metate::linkShared(const SharedParts &parts) {
  Expected<std::unique_ptr<TargetMachine>> machine = emptyMachine(parts.triple);
  if (!machine)
    return machine.takeError();
  Expected<std::unique_ptr<Folder>> folder = Folder::create();
  if (!folder)
    return folder.takeError();
  Expected<std::vector<std::string>> inputs = (*folder)->writeParts(parts.objects);
  if (!inputs)
    return inputs.takeError();
  if (!parts.table.empty()) {
    Expected<std::string> data = (*folder)->write("table.o", parts.table);
    if (!data)
      return data.takeError();
    inputs->push_back(*data);
  }
  Expected<std::vector<std::string>> libraries = standIns(parts, **folder, **machine);
  if (!libraries)
    return libraries.takeError();
  std::string output = (*folder)->at("shared.so");
  std::vector<std::string> arguments = {"-shared",
                                        "--threads=1",
                                        "-soname",
                                        parts.soname.str(),
                                        "--build-id=none",
                                        "--gc-sections",
                                        "--hash-style=gnu",
                                        "--eh-frame-hdr",
                                        "-z",
                                        "now",
                                        "-z",
                                        "noexecstack",
                                        "-z",
                                        parts.sanitizer == Sanitizer::None ? "defs" : "undefs",
                                        "-o",
                                        output};
  llvm::append_range(arguments, *inputs);
  if (parts.strip)
    arguments.push_back("--strip-all");
  arguments.insert(arguments.end(), libraries->begin(), libraries->end());
  if (Error error = runLld(arguments))
    return error;
  ErrorOr<std::unique_ptr<MemoryBuffer>> bytes = MemoryBuffer::getFile(output, false, false);
  if (!bytes)
    return llvm::createStringError("cannot read the linked file: " + bytes.getError().message());
  return (*bytes)->getBuffer().str();
}

Expected<std::string> metate::linkPayload(const PayloadParts &parts) {
  Expected<std::unique_ptr<TargetMachine>> machine = emptyMachine(parts.triple);
  if (!machine)
    return machine.takeError();
  Expected<std::string> table = payloadTable(parts, **machine);
  if (!table)
    return table;
  return linkShared(
      {parts.triple, parts.objects, METATE_PAYLOAD_SYMBOL, parts.sanitizer, parts.strip, *table});
}

static Expected<std::string> localise(StringRef bytes, bool strip) {
  Expected<std::unique_ptr<object::ObjectFile>> file =
      object::ObjectFile::createObjectFile(MemoryBufferRef(bytes, "object"));
  if (!file)
    return file.takeError();
  objcopy::ConfigManager config;
  config.ELF.LocalizeHidden = true;
  config.Common.DiscardMode = objcopy::DiscardType::Locals; // the assembler's own labels
  config.Common.StripDebug = strip;
  SmallVector<char, 0> output;
  raw_svector_ostream stream(output);
  if (Error error = objcopy::executeObjcopyOnBinary(config, **file, stream))
    return error;
  return std::string(output.data(), output.size());
}

static bool isWasmObject(StringRef bytes) {
  return identify_magic(bytes) == file_magic::wasm_object;
}

/// One run of LLD over objects, and what it has written.
static Expected<std::string> linked(ArrayRef<StringRef> objects, std::vector<std::string> arguments,
                                    bool isWasm) {
  Expected<std::unique_ptr<Folder>> folder = Folder::create();
  if (!folder)
    return folder.takeError();
  std::string output = (*folder)->at("linked.o");
  arguments.insert(arguments.end(), {"--threads=1", "-o", output});
  Expected<std::vector<std::string>> inputs = (*folder)->writeParts(objects);
  if (!inputs)
    return inputs.takeError();
  llvm::append_range(arguments, *inputs);
  if (Error error = runLld(arguments, isWasm))
    return error;
  ErrorOr<std::unique_ptr<MemoryBuffer>> bytes = MemoryBuffer::getFile(output, false, false);
  if (!bytes)
    return llvm::createStringError("cannot read the linked object: " + bytes.getError().message());
  return (*bytes)->getBuffer().str();
}

Expected<std::string> metate::linkRelocatable(ArrayRef<StringRef> objects, bool strip) {
  if (!objects.empty() && isWasmObject(objects.front())) {
    std::vector<std::string> arguments = {"-r"};
    if (strip)
      arguments.push_back("--strip-debug");
    Expected<std::string> object = linked(objects, arguments, /*isWasm=*/true);
    if (!object)
      return object;
    if (Error error = localiseWasm(*object))
      return error;
    return object;
  }
  Expected<std::string> object = linked(objects, {"-r", "--build-id=none"}, /*isWasm=*/false);
  if (!object)
    return object;
  return localise(*object, strip);
}

Expected<std::string> metate::linkWasm(StringRef object, bool strip) {
  if (!isWasmObject(object))
    return llvm::createStringError(
        "a .wasm file is linked of an object for WebAssembly: expected the target wasm32");
  Expected<Symbols> symbols = symbolsOf(object);
  if (!symbols)
    return symbols.takeError();
  std::vector<std::string> arguments = {
      "--no-entry", "--import-memory",  "--import-undefined",  "--stack-first",
      "-z",         "stack-size=65536", "--export=__heap_base"};
  std::set<std::string> exported; // sorted
  for (const auto &symbol : symbols->defined)
    exported.insert(symbol.first().str());
  for (const std::string &name : exported)
    arguments.push_back("--export=" + name);
  if (strip)
    arguments.push_back("--strip-all");
  return linked(object, arguments, /*isWasm=*/true);
}
