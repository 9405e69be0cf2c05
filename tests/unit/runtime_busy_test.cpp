// Closing what a running launch uses: refused with METATE_E_BUSY from any thread, possible again
// when the launch has returned, however it ended.
#include "fixture.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

using namespace metate::test;
using metate::sized;

namespace {

metate_argument treeArgument(metate_tree *tree) {
  metate_argument argument{};
  argument.kind = METATE_ARGUMENT_TREE;
  argument.value.tree = tree;
  return argument;
}
metate_argument scalarArgument(uint32_t dtype, uint64_t bits) {
  metate_argument argument{};
  argument.kind = METATE_ARGUMENT_SCALAR;
  argument.dtype = dtype;
  argument.rows = argument.columns = 1;
  argument.value.bits = bits;
  return argument;
}

/// An executor that holds its launches in parallel_for until they are let go.
class Gate {
public:
  metate_executor hook() { return {this, &Gate::parallelFor, 0, 0}; }
  void close() { open = false; }
  void waitFor(int launches) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return inside >= launches; });
  }
  void letGo() {
    std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }

private:
  static int32_t parallelFor(void *self, int64_t count, int64_t, uint32_t, metate_task_body body,
                             void *context) {
    auto *gate = static_cast<Gate *>(self);
    std::unique_lock lock(gate->mutex);
    ++gate->inside;
    gate->changed.notify_all();
    gate->changed.wait(lock, [&] { return gate->open; });
    --gate->inside;
    return body(context, 0, count, 0); // locked: the launches write the same cells
  }
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  bool open = true;
};

class BusyTest : public Runtime {
protected:
  Gate gate;
  Bytes head = descriptor(testModuleSpec());
  metate_module *module = nullptr;
  metate_tree *tree = nullptr;

  void SetUp() override {
    metate_executor executor = gate.hook();
    auto hooks = sized<metate_device_hooks>();
    hooks.executor = &executor;
    ASSERT_OK(metate_device_open(&hooks, &device));
    ASSERT_OK(metate_module_open_static(device, head.data(), head.size(), metate_test_entries,
                                        TEST_KERNELS, &module));
    const metate_type *type = nullptr;
    ASSERT_OK(metate_module_find_type(module, "ab_aos", &type));
    ASSERT_OK(metate_tree_new(type, nullptr, &tree));
  }
  void TearDown() override {
    EXPECT_OK(metate_tree_unbind(tree));
    EXPECT_OK(metate_module_close(module));
    Runtime::TearDown();
  }
  metate_status launch(const char *name, std::vector<metate_argument> arguments) {
    const metate_kernel *kernel = nullptr;
    EXPECT_OK(metate_module_find_kernel(module, name, &kernel));
    return metate_kernel_launch(kernel, arguments.data(), uint32_t(arguments.size()));
  }
  metate_status fill() {
    return launch("fill", {treeArgument(tree), scalarArgument(METATE_F32, 0)});
  }
  void expectBusy(const char *launches) {
    EXPECT_FAILS(METATE_E_BUSY, metate_tree_unbind(tree), "metate_tree_unbind", launches, "wait");
    EXPECT_FAILS(METATE_E_BUSY, metate_tree_reset(tree), "metate_tree_reset", launches);
    EXPECT_FAILS(METATE_E_BUSY, metate_tree_sort(tree), "metate_tree_sort", launches);
    EXPECT_FAILS(METATE_E_BUSY, metate_module_close(module), "metate_module_close", launches);
    EXPECT_FAILS(METATE_E_BUSY, metate_device_close(device), "2 objects");
  }
};

} // namespace

TEST_F(BusyTest, nothingIsClosedUnderARunningLaunch) {
  gate.close();
  std::thread launcher([&] { EXPECT_OK(fill()); });
  gate.waitFor(1);
  expectBusy("1 launches");
  gate.letGo();
  launcher.join();
  EXPECT_OK(metate_tree_reset(tree));
}

// The first thread that launches counts in a way of its own: it must not be the one that is missed.
TEST_F(BusyTest, launchesOfSeveralThreadsAreCounted) {
  EXPECT_OK(fill()); // this thread is the first
  gate.close();
  std::vector<std::thread> launchers;
  for (int n = 0; n < 3; ++n)
    launchers.emplace_back([&] { EXPECT_OK(fill()); });
  gate.waitFor(3);
  expectBusy("3 launches");
  gate.letGo();
  for (std::thread &launcher : launchers)
    launcher.join();
  EXPECT_OK(metate_tree_reset(tree));

  gate.close();
  std::thread other([&] {
    gate.waitFor(1);
    expectBusy("1 launches"); // of the thread that was first
    gate.letGo();
  });
  EXPECT_OK(fill());
  other.join();
  EXPECT_OK(metate_tree_reset(tree));
}

TEST_F(BusyTest, aLaunchThatFailsLeavesNothingBusy) {
  EXPECT_NE(launch("fill", {treeArgument(tree), scalarArgument(METATE_F64, 0)}), METATE_OK);
  EXPECT_EQ(launch("fail_with", {scalarArgument(METATE_I32, METATE_E_UNSUPPORTED)}),
            METATE_E_UNSUPPORTED);
  EXPECT_OK(metate_tree_reset(tree));
}

// Launches from many threads on one tree: the counts return to zero however they meet.
TEST_F(BusyTest, countsReturnToZero) {
  std::atomic<int> failed{0};
  std::vector<std::thread> launchers;
  for (int n = 0; n < 4; ++n)
    launchers.emplace_back([&] {
      for (int k = 0; k < 2000; ++k)
        failed += launch("run1", {treeArgument(tree)}) != METATE_OK;
    });
  for (std::thread &launcher : launchers)
    launcher.join();
  EXPECT_EQ(failed.load(), 0);
  EXPECT_OK(metate_tree_reset(tree));
}
