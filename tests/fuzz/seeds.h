// What the seed corpora are made of: types, modules and blocks of every shape that the builder knows.
#ifndef METATE_TESTS_FUZZ_SEEDS_H
#define METATE_TESTS_FUZZ_SEEDS_H

#include "support/module.h"

#include <string>
#include <utility>
#include <vector>

namespace metate::fuzz {

// Small types with one feature or two each; blocks of them are small as well.
std::vector<std::pair<std::string, test::Bytes>> seedTypes();
// A descriptor's specification with every kind of argument, two of the types above, and texts.
test::ModuleSpec seedModule();

} // namespace metate::fuzz

#endif
