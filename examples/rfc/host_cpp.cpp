// The RFC's program with metate.hpp: rfc_cpp MODULE.metate. With --errors it makes every mistake that the
// library must catch and prints status and text of each. Links libmetate only.
#include "metate/metate.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace {

struct Free {
  void operator()(void *pointer) const { std::free(pointer); }
};

// Aligned memory of the host's own.
struct Memory {
  std::unique_ptr<void, Free> start;
  std::size_t bytes;

  Memory(std::size_t bytes, std::size_t align)
      : start(std::aligned_alloc(align, (bytes + align - 1) / align * align)), bytes(bytes) {}
  std::byte *data() const { return static_cast<std::byte *>(start.get()); }
  std::size_t size() const { return bytes; }
};

void runType(const metate::Module &module, const char *typeName, const char *fill,
             const char *run) {
  auto type = module.tree_type(typeName);
  Memory memories[2] = {{type.size(), type.align()}, {type.size(), type.align()}};
  metate::Tree trees[2] = {type.bind(memories[0]), type.bind(memories[1])};
  module.kernel(fill)(trees[0], 1.0f);
  module.kernel(fill)(trees[1], 10.0f);
  auto kernel = module.kernel(run);
  for (int n = 0; n < 2; ++n) {
    std::printf("== %s %s %d\n", typeName, run, n);
    kernel(trees[n]);
  }
}

void expect(const char *what, const metate::Status &status) {
  std::printf("%s: %s: %s\n", what, status.name(), status.text.c_str());
}

void makeMistakes(const metate::Module &module) {
  auto aos = module.tree_type("ab_aos"), soa = module.tree_type("ab_soa");
  auto run1 = module.kernel("run1");
  Memory memory(aos.size(), aos.align()), otherMemory(soa.size(), soa.align());
  metate::Tree other = soa.bind(otherMemory);
  expect("wrong type", run1.try_launch(other));
  expect("wrong kind", run1.try_launch(1.0f));
  expect("too few arguments", run1.try_launch());
  {
    metate::Tree bound = aos.bind(memory);
    expect("double bind", aos.try_bind(memory).status());
  }
  expect("too small", aos.try_bind(memory.data(), 64).status());
  expect("misaligned", aos.try_bind(memory.data() + 8, memory.size() - 8).status());
  expect("null memory", aos.try_bind(nullptr, memory.size()).status());
  expect("unknown type", module.try_tree_type("ab_aso").status());
  expect("unknown kernel", module.try_kernel("run3").status());
  try {
    module.kernel("run3");
  } catch (const metate::Exception &error) {
    expect("exception", error.status());
  }
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: rfc_cpp MODULE.metate [--errors]\n");
    return 2;
  }
  metate_print_sink sink{nullptr, [](void *, const char *text, std::size_t bytes) {
                           std::fwrite(text, 1, bytes, stdout);
                         }};
  auto hooks = metate::sized<metate_device_hooks>();
  hooks.print = &sink;
  try {
    auto device = metate::Device::open(&hooks);
    auto module = metate::Module::open(argv[1], device);
    if (argc > 2 && std::string_view(argv[2]) == "--errors") {
      makeMistakes(module);
    } else {
      runType(module, "ab_aos", "fill1", "run1");
      runType(module, "ab_soa", "fill2", "run2");
    }
  } catch (const metate::Exception &error) {
    std::fprintf(stderr, "rfc_cpp: %s\n", error.what());
    return 1;
  }
  return 0;
}
