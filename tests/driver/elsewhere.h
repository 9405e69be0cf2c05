// What tests ask of the driver `elsewhere`.
#ifndef METATE_TESTS_DRIVER_ELSEWHERE_H
#define METATE_TESTS_DRIVER_ELSEWHERE_H

#include <cstdint>

namespace metate {

// How often memory of its devices was asked for.
uint64_t elsewhereCreated();

} // namespace metate

#endif
