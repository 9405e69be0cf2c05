// The test module: two tree types and the hand-written kernels, as a descriptor and as a file.
#ifndef METATE_TESTS_MODULE_H
#define METATE_TESTS_MODULE_H

#include "builder.h"

namespace metate::test {

Bytes abAos(); // pointer(ij, 3) -> dense(ij, 5) -> a: f32, b: vec3 f32
Bytes abSoa(); // the same with a branch for each member
ModuleSpec testModuleSpec();
// The .metate file, from the shared object at `payloadPath`.
Bytes testModuleFile(const std::string &payloadPath);

} // namespace metate::test

#endif
