// A C++20 host over metate.hpp, with or without exceptions: the same program in both spellings.
#include "metate/metate.hpp"

#include <cstdio>
#include <cstdlib>

static int failures = 0;
#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "line %d: expected %s (last error: %s)\n", __LINE__, #condition,        \
                   metate_last_error());                                                           \
      ++failures;                                                                                  \
    }                                                                                              \
  } while (0)

// The host's own memory: anything with data() and size() will do.
struct Memory {
  void *start;
  size_t bytes;
  Memory(size_t bytes, size_t align)
      : start(std::aligned_alloc(align, (bytes + align - 1) / align * align)), bytes(bytes) {}
  ~Memory() { std::free(start); }
  Memory(const Memory &) = delete;
  std::byte *data() { return static_cast<std::byte *>(start); }
  size_t size() const { return bytes; }
};

static void withResults(const char *path) {
  auto device = metate::Device::try_open();
  EXPECT(device.ok());
  auto missing = metate::Module::try_open("/no/such/file", *device);
  EXPECT(!missing && missing.status().code == METATE_E_IO);
  auto module = metate::Module::try_open(path, *device);
  EXPECT(module.ok());
  if (!module)
    return;
  auto ab = module->try_tree_type("ab_aos");
  auto fill = module->try_kernel("fill");
  EXPECT(ab.ok() && fill.ok());
  EXPECT(module->try_kernel("nope").status().code == METATE_E_NOT_FOUND);
  Memory memory(*ab->try_size(), ab->align());
  auto tree = ab->try_bind(memory);
  EXPECT(tree.ok());
  EXPECT(ab->try_bind(memory).status().code == METATE_E_ALREADY_BOUND);
  EXPECT(fill->try_launch(*tree, 3.0f).ok());
  EXPECT(fill->try_launch(*tree, 3).code == METATE_E_TYPE_MISMATCH);
  EXPECT(*tree->try_read<float>("a", {7, 7}) == 336.0f);
  EXPECT(tree->try_write("a", {0, 3}, 5.0f).ok());
  EXPECT(*tree->try_read<float>("a", {0, 3}) == 5.0f);
  EXPECT(tree->try_read<double>("a", {0, 3}).status().code == METATE_E_INVALID_ARGUMENT);
  EXPECT(tree->try_read<float>("z", {0, 3}).status().code == METATE_E_NOT_FOUND);
  EXPECT(tree->check().ok());
}

#if METATE_EXCEPTIONS
static void withExceptions(const char *path) {
  auto device = metate::Device::open();
  auto module = metate::Module::open(path, device);
  auto ab = module.tree_type("ab_aos");
  Memory memory(ab.size(), ab.align());
  auto tree = ab.bind(memory);
  module.kernel("fill")(tree, 3.0f);
  EXPECT(tree.read<float>("a", {7, 7}) == 336.0f);
  try {
    module.kernel("fill")(tree);
    EXPECT(!"an exception");
  } catch (const metate::Exception &error) {
    EXPECT(error.status().code == METATE_E_INVALID_ARGUMENT);
  }
}
#endif

int main(int count, char **words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: cpp_host FILE.metate\n");
    return 2;
  }
  withResults(words[1]);
#if METATE_EXCEPTIONS
  withExceptions(words[1]);
#endif
  return failures ? 1 : 0;
}
