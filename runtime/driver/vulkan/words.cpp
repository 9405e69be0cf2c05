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
  capability = 17,
  function = 54,
  modelGLCompute = 5,
  modeLocalSize = 17,
  modeDenormPreserve = 4459,
  modeSignedZeroInfNanPreserve = 4461,
  modeRoundingModeRTE = 4462,
  // Modes' capabilities
  denormPreserve = 4464,
  signedZeroInfNanPreserve = 4466,
  roundingModeRTE = 4467
};

uint32_t opcodeOf(const uint32_t *instruction) { return *instruction & 0xffff; }
uint32_t wordsOf(const uint32_t *instruction) { return *instruction >> 16; }

// Is the instruction's text, from a word on, this one?
bool hasText(const uint32_t *instruction, uint32_t from, const char *text) {
  uint64_t most = (wordsOf(instruction) - from) * sizeof(uint32_t);
  uint64_t bytes = strlen(text) + 1;
  return bytes <= most && memcmp(instruction + from, text, bytes) == 0;
}

// Is it a promise about floats that the device does not make?
bool isTooMuch(const uint32_t *instruction, const FloatModes &modes) {
  const struct {
    uint32_t capability, mode, widths;
  } promises[] = {{denormPreserve, modeDenormPreserve, modes.keepsSubnormals},
                  {signedZeroInfNanPreserve, modeSignedZeroInfNanPreserve, modes.keepsSpecial},
                  {roundingModeRTE, modeRoundingModeRTE, modes.roundsToNearest}};
  for (auto [needed, mode, widths] : promises) {
    if (opcodeOf(instruction) == capability && wordsOf(instruction) == 2 &&
        instruction[1] == needed)
      return widths == 0;
    if (opcodeOf(instruction) == executionMode && wordsOf(instruction) == 4 &&
        instruction[2] == mode)
      return !(widths & instruction[3]);
  }
  return false;
}

} // namespace

uint64_t Words::copyFor(const FloatModes &modes, uint32_t *to) const {
  uint64_t made = headWords;
  memcpy(to, words, headWords * sizeof(uint32_t));
  for (uint64_t at = headWords; at < count; at += wordsOf(words + at)) {
    const uint32_t *one = words + at;
    if (isTooMuch(one, modes))
      continue;
    memcpy(to + made, one, wordsOf(one) * sizeof(uint32_t));
    made += wordsOf(one);
  }
  return made;
}

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
