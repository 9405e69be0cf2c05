// What the hosts of devices have in common: the RFC's program on a tree in memory that the host brings, and a picture of it as text.
// It knows no driver.
#ifndef METATE_EXAMPLES_DEVICE_PROGRAM_HPP
#define METATE_EXAMPLES_DEVICE_PROGRAM_HPP

#include "metate/metate.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace rfc {

constexpr int64_t side = 15; // cells along each axis

// Prints of kernels, on the host's own output.
inline metate_device_hooks printing() {
  static const metate_print_sink sink{
      nullptr, [](void *, const char *text, size_t bytes) { std::fwrite(text, 1, bytes, stdout); }};
  auto hooks = metate::sized<metate_device_hooks>();
  hooks.print = &sink;
  return hooks;
}

// The module, opened on a device of the host's.
struct Program {
  metate::Module module;
  metate::TreeType type;
  metate::Kernel fill, run, draw;

  Program(const char *path, const metate::Device &device)
      : module(metate::Module::open(path, device)), type(module.tree_type("ab_aos")),
        fill(module.kernel("fill1")), run(module.kernel("run1")), draw(module.kernel("draw")) {}

  // Of a block with room to be aligned, wherever memory begins.
  uint64_t bytes() const { return type.size() + type.align(); }
  metate::Tree bind(uint64_t address) const {
    uint64_t begin = (address + type.align() - 1) / type.align() * type.align();
    return type.bind(reinterpret_cast<void *>(uintptr_t(begin)), type.size());
  }
};

inline void printPicture(const std::vector<int32_t> &picture) {
  for (int64_t i = 0; i < side; ++i) {
    std::string line;
    for (int64_t j = 0; j < side; ++j)
      line += " .:-=+*#%@"[picture[size_t(i * side + j)] % 10];
    std::printf("|%s|\n", line.c_str());
  }
}

} // namespace rfc

#endif
