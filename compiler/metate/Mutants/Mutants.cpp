//===- Mutants.cpp - which deliberate fault runs ----------------*- C++ -*-===//
#include "metate/Mutants/Mutants.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"

#include <cstdlib>
#include <iterator>

using namespace metate;

static const MutantInfo table[] = {
#define METATE_MUTANT(name, file, seenBy, wrong) {#name, file, #seenBy, wrong},
#include "metate/Mutants/Mutants.def"
};

const MutantInfo *metate::mutants(unsigned &count) {
  count = std::size(table);
  return table;
}

/// The index of the chosen fault, or -1.
static int chosen() {
  const char *name = std::getenv("METATE_MUTANT");
  if (!name || !*name)
    return -1;
  for (int k = 0; k < int(std::size(table)); ++k)
    if (llvm::StringRef(name) == table[k].name)
      return k;
  llvm::report_fatal_error(llvm::Twine("METATE_MUTANT: no mutant '") + name +
                           "'; Mutants.def lists them");
}

bool metate::isMutant(Mutant mutant) {
  static const int own = chosen();
  return int(mutant) == own;
}
