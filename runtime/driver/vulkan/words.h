// The words of a SPIR-V module, as far as a driver must know them: a pipeline of an entry point that is not there is undefined. It must
// not know a device.
#ifndef METATE_RUNTIME_DRIVER_VULKAN_WORDS_H
#define METATE_RUNTIME_DRIVER_VULKAN_WORDS_H

#include <cstdint>

namespace metate::vulkan {

// What a device promises of floats, by their widths: a sum of 16, 32 and 64.
struct FloatModes {
  uint32_t keepsSubnormals = 0;
  uint32_t keepsSpecial = 0; // infinities, NaNs, signs of zeros
  uint32_t roundsToNearest = 0;
};

class Words {
public:
  // Bytes that are 4-byte aligned.
  Words(const void *bytes, uint64_t count)
      : words(static_cast<const uint32_t *>(bytes)), count(count / 4) {}

  // What is wrong with them as a whole, or NULL.
  const char *problem() const;
  // Of a sound module: invocations in a workgroup of the entry point of that name; 0: there is none, or it is not one-dimensional.
  uint32_t groupOf(const char *name) const;
  // Of a sound module: without the promises about floats that the device does not make. `to` has room for as many words; returns how many
  // there are.
  uint64_t copyFor(const FloatModes &modes, uint32_t *to) const;
  bool hasEntry(const char *name) const { return entryOf(name) != 0; }

private:
  uint32_t entryOf(const char *name) const; // its number; 0: none

  const uint32_t *words;
  uint64_t count;
};

} // namespace metate::vulkan

#endif
