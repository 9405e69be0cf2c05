//===- Sizes.cpp - how large functions of SPIR-V are ------------*- C++ -*-===//
#include "metate/Target/Vulkan/Sizes.h"

#include "metate/Target/Vulkan/Spirv/Opcodes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <cstring>

using namespace llvm;
using namespace metate;

static constexpr size_t headWords = 5;

namespace {
struct Size {
  uint64_t words = 0, instructions = 0;
};

/// A walk over the instructions of a module.
struct Walk {
  StringMap<uint32_t> entryPoints; ///< names -> functions
  DenseMap<uint32_t, Size> sizes;  ///< of functions

  void see(ArrayRef<uint32_t> instruction) {
    auto op = spirv::Op(instruction[0] & 0xffff);
    if (op == spirv::Op::EntryPoint && instruction.size() > 3)
      entryPoints[reinterpret_cast<const char *>(&instruction[3])] = instruction[2];
    if (op == spirv::Op::Function && instruction.size() > 2)
      current = &sizes[instruction[2]];
    if (!current)
      return;
    current->words += instruction.size();
    ++current->instructions;
    if (op == spirv::Op::FunctionEnd)
      current = nullptr;
  }

private:
  Size *current = nullptr;
};
} // namespace

Expected<std::vector<CodeFunction>> metate::spirvSizes(ArrayRef<std::string> entryPoints,
                                                       StringRef module) {
  std::vector<uint32_t> words(module.size() / 4);
  std::memcpy(words.data(), module.data(), words.size() * 4);
  if (words.size() < headWords || words[0] != spirv::magic)
    return createStringError("the image is no SPIR-V");
  Walk walk;
  for (size_t at = headWords; at < words.size();) {
    size_t count = words[at] >> 16;
    if (count == 0 || count > words.size() - at)
      return createStringError("the image has an instruction that does not end");
    walk.see(ArrayRef(words).slice(at, count));
    at += count;
  }
  std::vector<CodeFunction> found;
  for (const std::string &name : entryPoints) {
    auto function = walk.entryPoints.find(name);
    if (function == walk.entryPoints.end())
      return createStringError("the image has no entry point '" + name + "'");
    Size size = walk.sizes.lookup(function->second);
    found.push_back(
        {name, size.words * 4, {}, {{"words", size.words}, {"instructions", size.instructions}}});
  }
  return found;
}
