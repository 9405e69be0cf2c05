//===- PerfDump.h - names and lines of JIT code for Linux's perf -*- C++ -*-===//
#ifndef METATE_JIT_PERFDUMP_H
#define METATE_JIT_PERFDUMP_H

#include "llvm/ExecutionEngine/Orc/LinkGraphLinkingLayer.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace metate {

/// Writes the code, names and source lines of every function that is linked to a file of perf's jitdump format,
/// .debug/jit/*/jit-PID.dump in $JITDUMPDIR or in the home folder; `perf inject --jit` reads it. LLVM's own plugin: it
/// keeps one file for the process, so that all who ask while one of them lives share it. Fails where no such file can be
/// made.
llvm::Expected<std::shared_ptr<llvm::orc::LinkGraphLinkingLayer::Plugin>> perfDump();

} // namespace metate

#endif
