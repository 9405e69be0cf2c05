//===- TreeProtocol.cpp - the tree protocol in a payload --------*- C++ -*-===//
//
// Support/Tree.c is compiled to bitcode with the compiler, by each family of targets for its machines. It is read lazily:
// only bodies of the functions that a payload calls are parsed. Must not know architectures.
//
//===----------------------------------------------------------------------===//
#include "metate/Emit/TreeProtocol.h"

#include "metate/Mutants/Mutants.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

static bool isOfProtocol(const Function &function) {
  return function.getName().starts_with("metate_rt_");
}

// A fault (Mutants.def): what sorts slots leaves the links as they were.
static void keepLinks(Module &module) {
  Function *relink = module.getFunction("metate_view_relink");
  if (!relink || relink->isDeclaration())
    return;
  relink->deleteBody();
  relink->setLinkage(GlobalValue::InternalLinkage);
  ReturnInst::Create(module.getContext(), BasicBlock::Create(module.getContext(), "", relink));
}

/// The function is another object's of the payload.
static void leaveOutside(Function &function) {
  function.deleteBody();
  function.setLinkage(GlobalValue::ExternalLinkage);
  function.setVisibility(GlobalValue::HiddenVisibility);
  function.setDSOLocal(true);
}

Error metate::linkTreeProtocol(Module &module, StringRef bitcode, const StringSet<> &given) {
  if (none_of(module, isOfProtocol))
    return Error::success();
  if (bitcode.empty())
    return createStringError("the target brings no bitcode of the tree protocol for '" +
                             module.getTargetTriple().str() + "'");
  Expected<std::unique_ptr<Module>> protocol =
      getLazyBitcodeModule(MemoryBufferRef(bitcode, "tree protocol"), module.getContext());
  if (!protocol)
    return protocol.takeError();
  (*protocol)->setDataLayout(module.getDataLayout());
  (*protocol)->setTargetTriple(module.getTargetTriple());
  if (NamedMDNode *flags = (*protocol)->getModuleFlagsMetadata()) // the kernels' decide
    flags->eraseFromParent();
  // The fault is of what another object has otherwise.
  for (const auto &name : isMutant(Mutant::LinksOutliveSort) ? StringSet<>() : given)
    if (Function *function = (*protocol)->getFunction(name.first()))
      leaveOutside(*function);
  SmallPtrSet<const Function *, 16> own;
  for (const Function &function : module)
    if (!function.isDeclaration())
      own.insert(&function);
  if (Linker::linkModules(module, std::move(*protocol), Linker::LinkOnlyNeeded))
    return createStringError("the tree protocol does not link");
  for (Function &function : module) {
    if (own.contains(&function))
      continue;
    if (isOfProtocol(function) && function.isDeclaration() && !given.contains(function.getName()))
      return createStringError("the tree protocol has no function '" + function.getName() + "'");
    // The CPU is the target machine's, as of the kernels; with attributes of another one it would not
    // be inlined.
    AttributeMask strings;
    for (Attribute attribute : function.getAttributes().getFnAttrs())
      if (attribute.isStringAttribute())
        strings.addAttribute(attribute.getKindAsString());
    function.removeFnAttrs(strings);
  }
  if (isMutant(Mutant::LinksOutliveSort))
    keepLinks(module);
  return Error::success();
}
