//===- Machine.h - what machine code is made for ----------------*- C++ -*-===//
//
// A machine as a value (triple, CPU, features, optimisation level) and the LLVM TargetMachine of it.
// Only the LLVM targets that are asked for are initialised: initialising all of them costs more
// than a kernel.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_MACHINE_H
#define METATE_EMIT_MACHINE_H

#include "metate/Options/Options.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
}

namespace metate {

struct Architecture;

/// The machine that code is made for. Empty triple: this process's. CPU "native" or "host": this
/// machine's CPU with all its features.
struct Machine {
  std::string triple;
  std::string cpu = "native";
  /// LLVM features on top of the CPU's: "+avx512f,-fma".
  std::string features;
  /// 0 to 3, as the -O levels of a C compiler.
  unsigned optLevel = 2;

  bool operator==(const Machine &) const = default;
};

/// Reads a machine's name as users write it: `native` (or `host`), an architecture (`x86-64`,
/// `aarch64`, ...: Architectures.def), an x86-64 level (`x86-64-v3`), a CPU of this machine's architecture (`znver4`), or
/// `ARCHITECTURE:CPU`
/// (`aarch64:cortex-a72`).
llvm::Expected<Machine> parseMachine(llvm::StringRef name, unsigned optLevel = 2);

/// The same target with nothing left to this machine: triple, CPU name and features are spelled
/// out. Fails on an unknown architecture, CPU or level.
llvm::Expected<Machine> resolveMachine(const Machine &options);

/// Of a machine that was read or resolved; null: of none that is known.
const Architecture *architectureOf(const Machine &machine);

/// The machine, resolved, whose code any CPU of the triple's architecture runs.
llvm::Expected<Machine> plainMachine(llvm::StringRef triple);

/// A machine for position-independent code; without a system, for code that a program is linked of, which runs on one thread.
/// `options` must be resolved.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const Machine &options);

/// The names of all LLVM features that code for the target may use, sorted. `options` must be
/// resolved.
llvm::Expected<std::vector<std::string>> machineFeatures(const Machine &options);

/// Has it instructions that store vectors of 32 and 64 bits under a mask for the price of a store? That is AVX-512; those of AVX2 are slow.
bool hasMaskedStores(const Machine &options);

} // namespace metate

#endif
