//===- Bitcode.cpp - what payloads of C hold --------------------*- C++ -*-===//
#include "metate/Target/C/Bitcode.h"

#include "metate/Emit/BareMachine.h"
#include "metate/Emit/Emit.h"
#include "metate/Emit/Externals.h"
#include "metate/Emit/SourceType.h"
#include "metate/Emit/TreeProtocol.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Target/C/Print/Print.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace metate;

// Emit/Support/Tree.c (TreeCode.S).
extern "C" const char metate_c_bitcode_Tree_c_begin[], metate_c_bitcode_Tree_c_end[],
    metate_c_bitcode_Tree_c_bare_begin[], metate_c_bitcode_Tree_c_bare_end[];

static Expected<std::unique_ptr<Module>> read(StringRef bitcode, LLVMContext &context) {
  return parseBitcodeFile(MemoryBufferRef(bitcode, "payload"), context);
}

/// What nobody calls from outside is the file's own; of the machine that support code was compiled for nothing is left.
static void unify(Module &module, const StringSet<> &visible) {
  for (GlobalValue &value : module.global_values()) {
    if (value.isDeclaration() || visible.contains(value.getName()))
      continue;
    value.setVisibility(GlobalValue::DefaultVisibility);
    value.setLinkage(GlobalValue::InternalLinkage);
  }
  for (Function &function : module)
    for (StringRef name : {"target-cpu", "target-features", "tune-cpu", "no-builtins"})
      function.removeFnAttr(name);
  if (NamedMDNode *flags = module.getModuleFlagsMetadata())
    flags->eraseFromParent();
}

/// Only where a type and a level are constants does it pay that the protocol's functions are their callers': not in those that all share.
static void keepCalls(Module &module, const StringSet<> &kernels) {
  for (Function &function : module) {
    if (kernels.contains(function.getName()) || function.hasFnAttribute(Attribute::AlwaysInline))
      continue;
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction))
        if (Function *callee = call->getCalledFunction(); callee && !callee->isIntrinsic())
          call->setIsNoInline();
  }
}

/// Products and sums are rounded apart: C says nothing else.
static void keepApart(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (isa<FPMathOperator>(instruction))
        instruction.setHasAllowContract(false);
}

/// An entry's pools are an array of the machine's own pointers, however large they are: the second argument.
static void makePoolsOfMachine(Function &entry) {
  for (User *user : make_early_inc_range(entry.getArg(1)->users())) {
    auto *place = dyn_cast<GetElementPtrInst>(user);
    if (!place || !place->getSourceElementType()->isPointerTy())
      continue;
    uint64_t number = cast<ConstantInt>(place->getOperand(1))->getZExtValue();
    number = isMutant(Mutant::CPoolsExchanged) ? 0 : number;
    for (User *reader : make_early_inc_range(place->users())) {
      auto *load = cast<LoadInst>(reader);
      load->replaceAllUsesWith(c::callPointerAt(*load, *entry.getArg(1), number));
      load->eraseFromParent();
    }
    place->eraseFromParent();
  }
}

static StringRef treeBitcode(bool isBare) {
  const char *begin = isBare ? metate_c_bitcode_Tree_c_bare_begin : metate_c_bitcode_Tree_c_begin;
  const char *end = isBare ? metate_c_bitcode_Tree_c_bare_end : metate_c_bitcode_Tree_c_end;
  return {begin, size_t(end - begin)};
}

Expected<std::string> c::makeBitcode(mlir::ModuleOp code, ArrayRef<StringRef> entries,
                                     bool isBare) {
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module =
      translate(code, context, Triple(), DataLayout(sourceDataLayout));
  if (!module)
    return module.takeError();
  for (StringRef entry : entries)
    if (Function *function = (*module)->getFunction(entry))
      makePoolsOfMachine(*function);
  StringSet<> kernels;
  for (const Function &function : **module)
    if (!function.isDeclaration())
      kernels.insert(function.getName());
  if (Error error = linkTreeProtocol(**module, treeBitcode(isBare), {}))
    return std::move(error);
  StringSet<> visible;
  visible.insert_range(entries);
  unify(**module, visible);
  keepCalls(**module, kernels);
  keepApart(**module);
  std::string bytes;
  raw_string_ostream stream(bytes);
  WriteBitcodeToFile(**module, stream);
  return bytes;
}

Error c::verifyBitcode(StringRef bitcode, ArrayRef<StringRef> entries,
                       function_ref<bool(StringRef)> isExternal) {
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module = read(bitcode, context);
  if (!module)
    return module.takeError();
  for (const Function &function : **module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty() &&
        function.getName() != c::pointerAt && !isExternal(function.getName()))
      return undefinedSymbolError(function.getName());
  for (StringRef entry : entries) {
    const Function *function = (*module)->getFunction(entry);
    if (!function || function->isDeclaration())
      return createStringError("entry '" + entry + "' is not defined in the code");
  }
  return Error::success();
}

Expected<std::string> c::makeSource(StringRef bitcode, const SourceParts &parts, bool isBare) {
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module = read(parts.entries, context);
  if (!module)
    return module.takeError();
  Expected<std::unique_ptr<Module>> kernels = read(bitcode, context);
  if (!kernels)
    return kernels.takeError();
  // Who is called from outside: whatever a header declares.
  StringSet<> visible;
  for (const GlobalValue &value : (*module)->global_values()) {
    auto *function = dyn_cast<Function>(&value);
    auto *data = dyn_cast<GlobalVariable>(&value);
    if ((function && function->hasFnAttribute(sourceTypeAttribute)) ||
        (data && data->hasAttribute(sourceTypeAttribute) && !data->hasLocalLinkage()))
      visible.insert(value.getName());
  }
  for (Module *one : {module->get(), kernels->get()}) {
    one->setDataLayout(sourceDataLayout);
    one->setTargetTriple(Triple());
  }
  if (Linker::linkModules(**module, std::move(*kernels)))
    return createStringError("the kernels and their entries do not link");
  unify(**module, visible);
  if (isBare)
    makePlain(**module);
  if (Error error = prepare(**module, /*widens=*/!isBare))
    return std::move(error);
  PrintOptions options;
  options.comment =
      "The code of " + parts.name.str() +
      ".h. Generated: do not edit.\n *\n"
      " * C99 for any machine with two's complement, little-endian, whose addresses have 32 or 64 "
      "bits, with or without a C library's\n * headers. ";
  options.comment +=
      isBare ? "For one thread: functions that share memory do not interrupt one another."
             : "METATE_SINGLE_THREAD, if defined, says that no two threads run kernels at once: "
               "atomic operations are\n * then none.";
  if (!parts.support.empty())
    options.comment += "\n * METATE_NO_PACKED, if defined, leaves out the entries by tvm-ffi's "
                       "calling convention: direct ones stay.";
  options.header = parts.name.str() + ".h";
  options.text = parts.support;
  return print(**module, options);
}
