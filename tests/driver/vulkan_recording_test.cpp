// Launches in a command buffer of the application's, between its own commands: they run when it submits, as often as it does, and say
// afterwards what they printed and what went wrong.
#include "grid_device.h"
#include "vulkan_application.h"

#include <dlfcn.h>
#include <memory>

using namespace metate::test;
using metate::sized;

namespace {

constexpr uint32_t count = 1000;

class VulkanRecording : public GridDevice {
protected:
  std::unique_ptr<Application> application;
  metate_vulkan_recording *recording = nullptr;
  DeviceArray<int32_t> own{}; // the application's buffer

  void SetUp() override {
    if (!hasGridWords()) // nor is Vulkan started: sanitizers find what its drivers leave
      GTEST_SKIP() << "the tests were built without Metate's compiler, which writes SPIR-V";
    useMesasCpu();
    unsetenv("METATE_VULKAN_LIBRARY");
    auto wanted = hooks();
    metate_status status = metate_vulkan_device_open(nullptr, &wanted, &device);
    if (status == METATE_E_UNSUPPORTED)
      GTEST_SKIP() << metate_last_error();
    ASSERT_OK(status);
    drop();
    void *loader = dlopen("libvulkan.so.1", RTLD_NOW);
    ASSERT_TRUE(loader) << dlerror();
    application = std::make_unique<Application>(
        reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(loader, "vkGetInstanceProcAddr")),
        count * 4);
    if (!application->hasAtomics)
      GTEST_SKIP() << "the device has no 64-bit atomics";
    auto options = application->options();
    ASSERT_OK(metate_vulkan_device_open(&options, &wanted, &device));
    Bytes file = gridFile(METATE_ARCH_VULKAN, 0, gridWords());
    ASSERT_OK(openModule(file));
    uint64_t address = 0;
    ASSERT_OK(metate_vulkan_address(device, application->buffer, count * 4, &address));
    own.data = reinterpret_cast<int32_t *>(uintptr_t(address));
    own.count = count;
    ASSERT_OK(metate_memory_wrap(device, own.data, count * 4, &own.memory));
    memories.push_back(own.memory);
    ASSERT_OK(metate_vulkan_recording_open(device, application->commands, &recording));
    application->begin();
  }
  void TearDown() override {
    if (recording)
      EXPECT_OK(metate_vulkan_recording_close(recording));
    drop();
    application.reset();
  }
  metate_status record(const char *name, const Arguments &arguments,
                       const metate_launch_options *options = nullptr) {
    const metate_kernel *kernel = nullptr;
    EXPECT_OK(metate_module_find_kernel(module, name, &kernel));
    return metate_vulkan_record(recording, kernel, arguments.list.data(),
                                uint32_t(arguments.list.size()), options);
  }
};

} // namespace

TEST_F(VulkanRecording, kernelsStandBetweenOtherCommands) {
  auto copy = make(std::vector<int32_t>(count, -1));
  ASSERT_OK(record("fill", Arguments().add(own).add(7, METATE_I32)));
  application->fill(0, 40, 3); // the first ten
  ASSERT_OK(record("check", Arguments().add(own).add(copy)));
  application->fill(40, 4, 9);
  application->end();
  EXPECT_EQ(read(copy), std::vector<int32_t>(count, -1)); // nothing has run
  for (int run = 0; run < 2; ++run) {
    ASSERT_EQ(application->submit(), VK_SUCCESS);
    ASSERT_OK(metate_vulkan_recording_finish(recording));
    std::vector<int32_t> expected(count, 7);
    std::fill(expected.begin(), expected.begin() + 10, 3);
    EXPECT_EQ(read(copy), expected);
    expected[10] = 9;
    EXPECT_EQ(read(own), expected);
    ASSERT_OK(launch("fill", Arguments().add(own).add(1, METATE_I32))); // a launch of now
    EXPECT_EQ(read(own), std::vector<int32_t>(count, 1));
  }
}

TEST_F(VulkanRecording, manyLaunchesHaveMemoryOfTheirOwn) {
  std::vector<DeviceArray<int64_t>> sums;
  for (int i = 0; i < 200; ++i) {
    sums.push_back(make(std::vector<int64_t>{-1}));
    ASSERT_OK(record("fill", Arguments().add(own).add(uint64_t(i), METATE_I32)));
    ASSERT_OK(record("total", Arguments().add(own).add(sums.back())));
  }
  application->end();
  ASSERT_EQ(application->submit(), VK_SUCCESS);
  ASSERT_OK(metate_vulkan_recording_finish(recording));
  for (int64_t i = 0; i < 200; ++i)
    EXPECT_EQ(read(sums[size_t(i)])[0], i * count);
}

TEST_F(VulkanRecording, failuresAndPrintsComeAfterwards) {
  auto x = make(std::vector<int32_t>{7, -3}), y = make(std::vector<int32_t>(2));
  ASSERT_OK(record("say", Arguments().add(x)));
  ASSERT_OK(record("check", Arguments().add(x).add(y)));
  ASSERT_OK(record("say", Arguments().add(x)));
  application->end();
  ASSERT_OK(metate_vulkan_recording_finish(recording)); // nothing has run
  EXPECT_EQ(printed, "");
  const std::string said = "x[0] = +0007\nx[1] = -0003\n2 in all\n";
  for (int run = 0; run < 2; ++run) {
    printed.clear();
    ASSERT_EQ(application->submit(), VK_SUCCESS);
    EXPECT_FAILS(METATE_E_ASSERT, metate_vulkan_recording_finish(recording), "grid.py:7:3",
                 "kernel 'check'", "x must not be negative");
    EXPECT_EQ(printed, said + said);
    EXPECT_OK(metate_vulkan_recording_finish(recording)); // it was told
    EXPECT_EQ(printed, said + said);
  }
  const int32_t sound[] = {7, 3};
  ASSERT_OK(metate_memory_write(x.memory, 0, sound, sizeof sound));
  ASSERT_EQ(application->submit(), VK_SUCCESS);
  EXPECT_OK(metate_vulkan_recording_finish(recording));
}

TEST_F(VulkanRecording, poolsAreTheCallers) {
  auto out = make(std::vector<uint64_t>(2));
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, record("pooled", Arguments().add(out)),
               "kernel 'pooled' plans", "until it is closed");
  const metate_kernel *kernel = nullptr;
  ASSERT_OK(metate_module_find_kernel(module, "pooled", &kernel));
  auto plan = sized<metate_plan>();
  plan.pool_size = sizeof(metate_planned_pool);
  metate_planned_pool planned[8] = {};
  plan.pools = planned;
  plan.pool_count = 8;
  Arguments arguments;
  arguments.add(out);
  ASSERT_OK(metate_kernel_plan(kernel, arguments.list.data(), 1, &plan));
  ASSERT_LE(plan.pool_count, 8u);
  std::vector<metate_pool_memory> pools;
  for (uint32_t i = 0; i < plan.pool_count; ++i) {
    auto memory = make(std::vector<uint64_t>(planned[i].bytes / 8 + 1));
    pools.push_back({memory.data, planned[i].bytes});
  }
  auto options = sized<metate_launch_options>();
  options.pool_count = plan.pool_count;
  options.pools = pools.data();
  ASSERT_OK(record("pooled", arguments, &options));
  application->end();
  ASSERT_EQ(application->submit(), VK_SUCCESS);
  ASSERT_OK(metate_vulkan_recording_finish(recording));
  EXPECT_EQ(read(out), (std::vector<uint64_t>{40, 41}));
}

TEST_F(VulkanRecording, whatCannotBeRecordedIsRefused) {
  std::vector<int32_t> values(10);
  int64_t extent = 10;
  metate_array array{values.data(), METATE_I32, 1, 0, 0, &extent, nullptr};
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, record("fill", Arguments().add(array).add(1, METATE_I32)),
               "kernel 'fill' argument 0", "memory of the device's", "copies nothing");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, record("fill", Arguments().add(own)),
               "expected 2 arguments, got 1");
  EXPECT_FAILS(METATE_E_NULL, metate_vulkan_record(recording, nullptr, nullptr, 0, nullptr));
  EXPECT_FAILS(METATE_E_NULL, metate_vulkan_recording_open(device, nullptr, &recording));
  application->end();
  metate_device *cpu = nullptr;
  ASSERT_OK(metate_device_open(nullptr, &cpu));
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT,
               metate_vulkan_recording_open(cpu, application->commands, &recording),
               "metate_vulkan_device_open");
  EXPECT_OK(metate_device_close(cpu));
}

TEST_F(VulkanRecording, kernelsOfOtherDevicesAreRefused) {
  metate_device *other = nullptr;
  ASSERT_OK(metate_vulkan_device_open(nullptr, nullptr, &other));
  metate_module *foreign = nullptr;
  Bytes file = gridFile(METATE_ARCH_VULKAN, 0, gridWords());
  ASSERT_OK(metate_module_open_bytes(other, file.data(), file.size(), 0, &foreign));
  const metate_kernel *kernel = nullptr;
  ASSERT_OK(metate_module_find_kernel(foreign, "fill", &kernel));
  Arguments arguments;
  arguments.add(own).add(1, METATE_I32);
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT,
               metate_vulkan_record(recording, kernel, arguments.list.data(), 2, nullptr),
               "kernel 'fill'", "on the recording's device");
  application->end();
  EXPECT_OK(metate_module_close(foreign));
  EXPECT_OK(metate_device_close(other));
}

TEST_F(VulkanRecording, whatIsRecordedIsBusy) {
  ASSERT_OK(record("fill", Arguments().add(own).add(7, METATE_I32)));
  application->end();
  EXPECT_FAILS(METATE_E_BUSY, metate_module_close(module), "are running");
  ASSERT_OK(metate_vulkan_recording_close(recording));
  recording = nullptr;
  EXPECT_OK(metate_module_close(module));
  module = nullptr;
}
