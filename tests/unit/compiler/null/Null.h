// The smallest family of targets: it fulfils the interface, has the half of stage map that is shared and refuses to emit. It stands outside of the
// compiler, so that what the interface asks of a new target is what stands here and nothing else.
#ifndef METATE_TESTS_COMPILER_NULL_H
#define METATE_TESTS_COMPILER_NULL_H

#include "metate/Target/Target.h"

namespace metate::test {

std::unique_ptr<TargetFamily> createNullFamily();

} // namespace metate::test

#endif
