//===- Mutants.h - deliberate faults of a test-only build -------*- C++ -*-===//
//
// Asks whether this process runs one of the faults of Mutants.def. Only a build with
// METATE_MUTANTS has any; in all others the question is answered while compiling and leaves no code.
// Must not include anything of Metate: every folder of the compiler may ask.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_MUTANTS_MUTANTS_H
#define METATE_MUTANTS_MUTANTS_H

namespace metate {

enum class Mutant {
#define METATE_MUTANT(name, file, seenBy, wrong) name,
#include "metate/Mutants/Mutants.def"
};

#ifdef METATE_MUTANTS
struct MutantInfo {
  const char *name, *file, *seenBy, *wrong;
};

/// Every fault of Mutants.def, and how many there are; indexed by Mutant.
const MutantInfo *mutants(unsigned &count);

/// Is this the fault that the environment variable METATE_MUTANT names? It is read once in a
/// process; a name that no fault has ends the process.
bool isMutant(Mutant mutant);
#else
consteval bool isMutant(Mutant) { return false; }
#endif

} // namespace metate

#endif
