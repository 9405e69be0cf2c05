// Fuzz target: the bytes of a shared object with a module in it. As they are, and once more with the size and the hashes made
// right, so that the checks behind the hash are reached. No code is mapped: the system's loader trusts what it loads.
#include "carriers.h"

#include "support/library.h"

#include "metate/abi/library.h"

using namespace metate::fuzz;
using metate::test::Bytes;

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so.
extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  silence();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static const Host device;
  static Tally tally;
  ++tally.inputs;
  uint64_t seed = seedOf(data, bytes);
  Bytes file;
  file.append(data, bytes);
  describe(device, file, seed);
  size_t record = metate::test::findLibrary(file.data(), bytes);
  if (record == bytes)
    return 0;
  auto *own = file.at<metate_library>(record);
  if (seed % 16)
    own->abi_version = METATE_ABI_VERSION;
  size_t start = record + sizeof(metate_library);
  if (fits(start, own->descriptor_bytes, bytes))
    sealDescriptorAt(file.data() + start, own->descriptor_bytes);
  metate::test::sealLibrary(file.data(), bytes, record);
  tally.accepted += describe(device, file, seed);
  device.requireNoLeftovers();
  return 0;
}
