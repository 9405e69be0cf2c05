//===- PerfMap.cpp - names of JIT code for Linux's perf ---------*- C++ -*-===//
//
// The format is that of perf (jit-interface.txt in its documentation): lines of START SIZE NAME, the numbers in hexadecimal.
//
//===----------------------------------------------------------------------===//
#include "metate/Jit/PerfMap.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace metate;
namespace jitlink = llvm::jitlink;

static llvm::Error append(jitlink::LinkGraph &graph) {
  std::string lines;
  llvm::raw_string_ostream text(lines);
  for (jitlink::Symbol *symbol : graph.defined_symbols()) {
    if (!symbol->hasName() || !symbol->isCallable() || !symbol->getSize())
      continue;
    llvm::StringRef name = *symbol->getName();
    name.consume_front("metate_entry_");
    text << llvm::format_hex_no_prefix(symbol->getAddress().getValue(), 1) << ' '
         << llvm::format_hex_no_prefix(symbol->getSize(), 1) << " metate::" << name << '\n';
  }
  std::error_code failed;
  auto path = "/tmp/perf-" + std::to_string(llvm::sys::Process::getProcessId()) + ".map";
  llvm::raw_fd_ostream file(path, failed, llvm::sys::fs::OF_Append);
  if (!failed)
    file << lines;
  file.clear_error();
  return llvm::Error::success();
}

llvm::Error metate::keepFunctions(jitlink::LinkGraph &graph) {
  for (jitlink::Symbol *symbol : graph.defined_symbols())
    if (symbol->hasName() && symbol->isCallable())
      symbol->setLive(true);
  return llvm::Error::success();
}

void PerfMap::modifyPassConfig(llvm::orc::MaterializationResponsibility &, jitlink::LinkGraph &,
                               jitlink::PassConfiguration &config) {
  config.PrePrunePasses.push_back(keepFunctions);
  config.PostFixupPasses.push_back(append);
}
