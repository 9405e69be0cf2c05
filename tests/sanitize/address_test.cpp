// Instrumented kernels under AddressSanitizer: sound ones run, an access outside the host's memory is
// reported where the kernel makes it.
#include "host.h"

#include <memory>

using namespace metate::test;
using metate::ArrayView;
using metate::Tree;

namespace {

class AddressTest : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    METATE_NEED_MODULES();
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  }
  std::string path() const { return modulePath(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Modules, AddressTest,
                         ::testing::Values("address", "address0", "address-debug"),
                         [](const auto &info) { return variantName(info.param); });

} // namespace

TEST_P(AddressTest, soundKernelsRun) {
  Context context(path());
  Tree tree = context.tree("sparse"), other = context.tree("sparse"), deep = context.tree("deep");
  std::vector<float> sums(3), x(1000, 1.0f), y(1000), seen(1024);
  std::vector<int32_t> counts(4);
  context.run("fill", tree);
  context.run("count", tree, 2000);
  context.run("scale", tree, 2.0f);
  context.run(context.laplace, tree, other);
  context.run("grow", other);
  context.run("open_deep", deep, 512);
  context.run("read_deep", deep, seen);
  context.run("reduce", tree, sums, counts);
  context.run("axpy", 0.5f, x, y);
  EXPECT_EQ(y[999], 0.5f);
  EXPECT_EQ(uint64_t(counts[0]), tree.stats()[0].used * 64);
  for (int at : {0, 999})
    context.run("store_at", x, at);
}

TEST_P(AddressTest, accessesOutsideAreReported) {
  Context context(path(), 1);
  // The array claims one element more than its memory has: nothing but the sanitizer can know.
  auto data = std::make_unique<float[]>(100);
  ArrayView<float> x{data.get(), {101}};
  context.run("store_at", x, 99);
  EXPECT_DEATH(context.run("store_at", x, 100),
               "heap-buffer-overflow.*\n.*WRITE of size 4.*\n.*kernels.py:");
  if (variantName(GetParam()) != "debug") // which stops at it
    EXPECT_DEATH(context.run("store_at", x, -1), "heap-buffer-overflow.*\n.*WRITE of size 4");
  float loaded = 0;
  ArrayView<float> result{&loaded, {}};
  context.run("load_at", x, 99, result);
  EXPECT_DEATH(context.run("load_at", x, 100, result), "heap-buffer-overflow.*\n.*READ of size 4");
  data.reset();
  EXPECT_DEATH(context.run("store_at", x, 0), "heap-use-after-free");
}

TEST_P(AddressTest, accessesOutsideAVectorisedLoopAreReported) {
  Context context(path(), 1);
  std::vector<float> x(1000, 1.0f);
  auto data = std::make_unique<float[]>(999);
  ArrayView<float> y{data.get(), {1000}};
  EXPECT_DEATH(context.run("axpy", 1.0f, x, y), "heap-buffer-overflow");
}

TEST_P(AddressTest, accessesOutsideATreesMemoryAreReported) {
  Context context(path(), 1);
  metate::TreeType type = context.type("sparse");
  std::vector<uint64_t> memory(type.size() / 8 + 8);
  auto *aligned = reinterpret_cast<std::byte *>((uintptr_t(memory.data()) + 63) / 64 * 64);
  Tree tree = type.bind(aligned, type.size());
  context.run("fill", tree);
  tree.write("n", {0, 0}, 1);
  // A link that leaves its pool, as a program that scribbles over a tree leaves it.
  auto *header = reinterpret_cast<metate_tree_header *>(aligned);
  auto *links = reinterpret_cast<uint32_t *>(aligned + header->root_offset);
  links[0] = 1u << 20;
  EXPECT_DEATH(context.run("scale_at", tree, 0), "AddressSanitizer");
}
