// A walk over instructions: each says how many words it has.
#include "driver/vulkan/words.h"

#include <cstring>

namespace metate::vulkan {

namespace {

constexpr uint32_t magicNumber = 0x07230203;
constexpr uint32_t newest = 0x00010500; // SPIR-V 1.5, of Vulkan 1.2
constexpr uint32_t headWords = 5;
enum : uint32_t {
  entryPoint = 15, // Op*
  executionMode = 16,
  function = 54,
  modelGLCompute = 5,
  modeLocalSize = 17
};

uint32_t opcodeOf(const uint32_t *instruction) { return *instruction & 0xffff; }
uint32_t wordsOf(const uint32_t *instruction) { return *instruction >> 16; }

// Is the instruction's text, from a word on, this one?
bool hasText(const uint32_t *instruction, uint32_t from, const char *text) {
  uint64_t most = (wordsOf(instruction) - from) * sizeof(uint32_t);
  uint64_t bytes = strlen(text) + 1;
  return bytes <= most && memcmp(instruction + from, text, bytes) == 0;
}

} // namespace

const char *Words::problem() const {
  if (count < headWords || words[0] != magicNumber)
    return "its image is no SPIR-V";
  if (words[1] > newest)
    return "its image is of a newer SPIR-V than 1.5";
  for (uint64_t at = headWords; at < count; at += wordsOf(words + at))
    if (wordsOf(words + at) == 0 || wordsOf(words + at) > count - at)
      return "an instruction of its image has no end";
  return nullptr;
}

uint32_t Words::entryOf(const char *name) const {
  for (uint64_t at = headWords; at < count; at += wordsOf(words + at)) {
    const uint32_t *one = words + at;
    if (opcodeOf(one) == function)
      break;
    if (opcodeOf(one) == entryPoint && wordsOf(one) > 3 && one[1] == modelGLCompute &&
        hasText(one, 3, name))
      return one[2];
  }
  return 0;
}

uint32_t Words::groupOf(const char *name) const {
  uint32_t entry = entryOf(name);
  for (uint64_t at = headWords; entry && at < count; at += wordsOf(words + at)) {
    const uint32_t *one = words + at;
    if (opcodeOf(one) == function)
      break;
    if (opcodeOf(one) == executionMode && wordsOf(one) == 6 && one[1] == entry &&
        one[2] == modeLocalSize)
      return one[4] == 1 && one[5] == 1 ? one[3] : 0;
  }
  return 0;
}

} // namespace metate::vulkan
