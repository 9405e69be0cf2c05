// Binds what comes after the import stage: layouts, stages, code in memory, module files. The lock is
// released while the compiler works.
#include "Compiler.h"

namespace metate::python {

void bindStages(nb::module_ &) {}

} // namespace metate::python
