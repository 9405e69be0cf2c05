// The driver "vulkan" against a loader that lies: what a machine lacks is said by its name, and a device that is lost takes nothing along.
#include "fake_vulkan.h"
#include "grid_device.h"
#include "metate/metate_vulkan.h"

#include <dlfcn.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

using namespace metate::test;
using metate::sized;

namespace {

class VulkanLiar : public GridDevice {
protected:
  fake_vulkan_control *fake = nullptr;

  void SetUp() override {
    if (!hasGridWords()) // nor is Vulkan started: sanitizers find what its drivers leave
      GTEST_SKIP() << "the tests were built without Metate's compiler, which writes SPIR-V";
    useMesasCpu();
    void *library = dlopen(METATE_FAKE_VULKAN, RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    fake = static_cast<fake_vulkan_control *>(dlsym(library, "fake_vulkan"));
    ASSERT_TRUE(fake);
    setenv("METATE_VULKAN_LIBRARY", METATE_FAKE_VULKAN, 1);
    metate_status status = open();
    if (status == METATE_E_UNSUPPORTED)
      GTEST_SKIP() << metate_last_error();
    ASSERT_OK(status);
    drop();
  }
  void TearDown() override {
    drop();
    if (fake)
      *fake = {};
    unsetenv("METATE_VULKAN_LIBRARY");
  }
  metate_status open() {
    auto wanted = hooks();
    return metate_vulkan_device_open(nullptr, &wanted, &device);
  }
  static Bytes file() { return gridFile(METATE_ARCH_VULKAN, 0, gridWords()); }
};

} // namespace

TEST_F(VulkanLiar, noDevice) {
  fake->hasNoDevices = 1;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(), "this machine has no device of Vulkan's");
}

TEST_F(VulkanLiar, oldVersions) {
  fake->loaderVersion = VK_API_VERSION_1_1;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(), "the loader is of Vulkan 1.1: expected at least 1.2");
  fake->loaderVersion = 0;
  fake->deviceVersion = VK_API_VERSION_1_1;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(), "has no Vulkan 1.2, which all kernels need");
}

TEST_F(VulkanLiar, noQueue) {
  fake->hasNoQueues = 1;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(), "has no queue that computes");
}

TEST_F(VulkanLiar, whatAllKernelsNeed) {
  for (const char *feature : {"bufferDeviceAddress", "shaderInt64", "vulkanMemoryModel",
                              "vulkanMemoryModelDeviceScope"}) {
    fake->feature = feature;
    EXPECT_FAILS(METATE_E_UNSUPPORTED, open(), feature, "which all kernels need");
  }
}

TEST_F(VulkanLiar, whatOneModuleNeeds) {
  fake->feature = "shaderBufferInt64Atomics";
  ASSERT_OK(open());
  auto info = sized<metate_device_info>();
  ASSERT_OK(metate_device_describe(device, &info));
  EXPECT_EQ(info.level & METATE_FEATURE_I64_ATOMICS, 0u);
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openModule(file()),
               "module 'grid' needs 64-bit atomics (shaderBufferInt64Atomics), which '",
               "does not have");
}

// Mesa's CPU runs what was made for it, GPUs what was made for GPUs.
TEST_F(VulkanLiar, codeForMesasCpuAndForGpus) {
  const Bytes ofGpus = gridFile(METATE_ARCH_VULKAN, 0, gridWords(), "any");
  auto both = [](const char *right) { // the other one has no code
    ModuleSpec module = gridModuleSpec(METATE_ARCH_VULKAN, 0);
    module.variants.push_back(module.variants[0]);
    module.variants[1].cpu = "any";
    Bytes head = descriptor(module);
    std::vector<Bytes> payloads;
    for (const VariantSpec &variant : module.variants)
      payloads.push_back(gridPayload(variant.cpu == right ? gridWords() : gridSpec({}), head));
    return carrier(head, payloads);
  };
  ASSERT_OK(open());
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openModule(ofGpus), "module 'grid'",
               "variant 0 (any): it is for GPUs", "build it with --target vulkan:lavapipe");
  ASSERT_OK(openModule(both("lavapipe")));
  drop();
  fake->driver = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
  ASSERT_OK(open());
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openModule(file()),
               "variant 0 (lavapipe): it is for Mesa's lavapipe", "build it with --target vulkan");
  ASSERT_OK(openModule(ofGpus));
  ASSERT_OK(metate_module_close(std::exchange(module, nullptr)));
  ASSERT_OK(openModule(both("any")));
}

TEST_F(VulkanLiar, missingFunctions) {
  for (const char *function :
       {"vkCreateInstance", "vkCreateDevice", "vkGetBufferDeviceAddress", "vkCmdDispatch"}) {
    fake->function = function;
    EXPECT_FAILS(METATE_E_UNSUPPORTED, open(), "the driver has no function ", function,
                 "install a newer one");
  }
}

TEST_F(VulkanLiar, buffersWithoutAddresses) {
  ASSERT_OK(open());
  fake->hasNoAddresses = 1;
  metate_memory *memory = nullptr;
  EXPECT_FAILS(METATE_E_INTERNAL, metate_memory_create(device, 64, 0, &memory),
               "vkGetBufferDeviceAddress gave no address");
  fake->hasNoAddresses = 0;
  ASSERT_OK(metate_memory_create(device, 64, 0, &memory));
  ASSERT_OK(metate_memory_destroy(memory));
}

// Lost while a launch is waited for: that launch says so, and another device and the CPU go on.
TEST_F(VulkanLiar, aLostDeviceTakesNothingAlong) {
  ASSERT_OK(open());
  ASSERT_OK(openModule(file()));
  auto x = make(std::vector<int32_t>(100, 1)), y = make(std::vector<int32_t>(100));
  fake->isLost = 1;
  EXPECT_FAILS(METATE_E_INTERNAL, launch("check", Arguments().add(x).add(y)), "kernel 'check'",
               "the device is lost", "VK_ERROR_DEVICE_LOST");
  fake->isLost = 0; // it stays lost
  EXPECT_FAILS(METATE_E_INTERNAL, launch("check", Arguments().add(x).add(y)), "the device is lost");
  metate_device *cpu = nullptr, *other = nullptr;
  ASSERT_OK(metate_device_open(nullptr, &cpu));
  ASSERT_OK(metate_vulkan_device_open(nullptr, nullptr, &other));
  for (metate_device *alive : {cpu, other}) {
    metate_memory *memory = nullptr;
    int32_t value = 7, got = 0;
    ASSERT_OK(metate_memory_create(alive, 64, 0, &memory));
    EXPECT_OK(metate_memory_write(memory, 0, &value, 4));
    EXPECT_OK(metate_memory_read(memory, 0, &got, 4));
    EXPECT_EQ(got, 7);
    EXPECT_OK(metate_memory_destroy(memory));
    EXPECT_OK(metate_device_close(alive));
  }
}
