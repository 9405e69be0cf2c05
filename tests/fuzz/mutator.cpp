// The custom mutator of the targets whose inputs are records of aligned fields. Only libFuzzer's
// builds have it.
#include "harness.h"

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned seed) {
  return metate::fuzz::mutateFields(data, bytes, most, seed);
}
