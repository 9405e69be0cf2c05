// The list of deliberate faults, for tests/mutants. Only the twin of _compiler that can be wrong has this file.
#include "Compiler.h"

#include "metate/Mutants/Mutants.h"

namespace metate::python {

void bindMutants(nb::module_ &module) {
  module.def(
      "mutants",
      [] {
        nb::list rows;
        unsigned count = 0;
        const MutantInfo *infos = mutants(count);
        for (unsigned k = 0; k < count; ++k)
          rows.append(
              nb::make_tuple(infos[k].name, infos[k].file, infos[k].seenBy, infos[k].wrong));
        return rows;
      },
      "(name, file, seen by, what is wrong) of each deliberate fault; METATE_MUTANT chooses one.");
}

} // namespace metate::python
