// The runtime's own activation under ThreadSanitizer. Compiled twice: against libmetate, where
// nothing may be reported, and with METATE_TEST_WEAK into a program whose activate.cpp has relaxed
// orders only, where it must be.
#include "builder.h"
#include "metate/metate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

using namespace metate::test;
using metate::sized;

namespace {

// Two threads write different cells of one leaf: the first opens it, the second finds its link. The
// turn is passed on without an order, as to the memory model the two are concurrent.
void writeInTurns() {
  metate_device *device = nullptr;
  metate_type *type = nullptr;
  metate_tree *tree = nullptr;
  Bytes blob =
      typeBlob({pointer("p", "i", {8}, {dense("d", "i", {8}, {place("x", METATE_F32)})})}, "t");
  uint32_t member = 0;
  if (metate_device_open(nullptr, &device) ||
      metate_type_open_blob(device, blob.data(), blob.size(), "t", &type) ||
      metate_tree_new(type, nullptr, &tree) || metate_type_find_member(type, "x", &member))
    std::abort();
  std::atomic<int> turn{0};
  auto task = [&](int mine) {
    while (turn.load(std::memory_order_relaxed) != mine)
      std::this_thread::yield();
    for (int64_t leaf = 0; leaf < 8; ++leaf) {
      int64_t at = leaf * 8 + mine;
      float value = 1.0f, got = 0;
      if (metate_tree_write(tree, member, &at, 1, &value, sizeof value) ||
          metate_tree_read(tree, member, &at, 1, &got, sizeof got) || got != value)
        std::abort();
    }
    turn.store(mine + 1, std::memory_order_relaxed);
  };
  std::thread first(task, 0), second(task, 1);
  first.join();
  second.join();
  if (metate_tree_unbind(tree) || metate_type_close(type) || metate_device_close(device))
    std::abort();
  std::exit(0);
}

} // namespace

TEST(Orders, ofAnActivation) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
#if METATE_TEST_WEAK
  EXPECT_EXIT(writeInTurns(), ::testing::ExitedWithCode(66), "ThreadSanitizer: data race");
#else
  EXPECT_EXIT(writeInTurns(), ::testing::ExitedWithCode(0), "");
#endif
}
