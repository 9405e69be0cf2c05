// The driver "vulkan" against Vulkan's loader, between which and the driver stands what makes calls fail: what is missing, what fails, what
// is lost; and an application that brings its own device.
#include "grid_device.h"
#include "vulkan_application.h"

#include <cstring>
#include <dlfcn.h>
#include <set>

using namespace metate::test;
using metate::sized;

namespace {

// ---- calls that fail when a test says so

const char *failing = nullptr;
int failAfter = 0;
VkResult failResult = VK_SUCCESS;
int calls = 0; // of vkQueueSubmit and vkWaitForFences

template <int, typename> struct Hook;
template <int number, typename... Parameters>
struct Hook<number, VkResult(VKAPI_PTR *)(Parameters...)> {
  static inline VkResult(VKAPI_PTR *real)(Parameters...) = nullptr;
  static inline const char *name = nullptr;
  static VKAPI_ATTR VkResult VKAPI_CALL call(Parameters... parameters) {
    calls += !strcmp(name, "vkQueueSubmit") || !strcmp(name, "vkWaitForFences");
    if (failing && !strcmp(failing, name) && failAfter-- <= 0)
      return failResult;
    return real(parameters...);
  }
};

// ---- what the device says of floats instead of its own, and what code it is given

const VkPhysicalDeviceVulkan12Properties *claimed = nullptr;
std::vector<uint32_t> given;

PFN_vkGetPhysicalDeviceProperties2 realProperties = nullptr;
VKAPI_ATTR void VKAPI_CALL claimedProperties(VkPhysicalDevice device,
                                             VkPhysicalDeviceProperties2 *properties) {
  realProperties(device, properties);
  for (auto *next = static_cast<VkBaseOutStructure *>(properties->pNext); next; next = next->pNext)
    if (claimed && next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES) {
      auto *properties = reinterpret_cast<VkPhysicalDeviceVulkan12Properties *>(next);
      VkBaseOutStructure *behind = next->pNext;
      VkDriverId driver = properties->driverID;
      *properties = *claimed;
      properties->driverID = driver;
      next->pNext = behind;
    }
}

PFN_vkCreateShaderModule realCreateModule = nullptr;
VKAPI_ATTR VkResult VKAPI_CALL seenModule(VkDevice device, const VkShaderModuleCreateInfo *info,
                                          const VkAllocationCallbacks *callbacks,
                                          VkShaderModule *module) {
  given.assign(info->pCode, info->pCode + info->codeSize / 4);
  return realCreateModule(device, info, callbacks, module);
}

// ---- the commands of launches, in their order: a dispatch, and what orders memory

std::string commands;

PFN_vkCmdDispatch realDispatch = nullptr;
VKAPI_ATTR void VKAPI_CALL seenDispatch(VkCommandBuffer buffer, uint32_t x, uint32_t y,
                                        uint32_t z) {
  commands += 'D';
  realDispatch(buffer, x, y, z);
}

PFN_vkCmdPipelineBarrier realBarrier = nullptr;
VKAPI_ATTR void VKAPI_CALL seenBarrier(VkCommandBuffer buffer, VkPipelineStageFlags from,
                                       VkPipelineStageFlags to, VkDependencyFlags flags,
                                       uint32_t count, const VkMemoryBarrier *barriers,
                                       uint32_t bufferCount, const VkBufferMemoryBarrier *buffers,
                                       uint32_t imageCount, const VkImageMemoryBarrier *images) {
  bool isOfKernels = count == 1 && (from & VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT) &&
                     (to & VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT) &&
                     (barriers->srcAccessMask & VK_ACCESS_SHADER_WRITE_BIT) &&
                     (barriers->dstAccessMask & VK_ACCESS_SHADER_READ_BIT) &&
                     (barriers->dstAccessMask & VK_ACCESS_SHADER_WRITE_BIT);
  if (isOfKernels)
    commands += '|';
  realBarrier(buffer, from, to, flags, count, barriers, bufferCount, buffers, imageCount, images);
}

#define HOOKED(F)                                                                                  \
  F(vkCreateInstance)                                                                              \
  F(vkEnumeratePhysicalDevices)                                                                    \
  F(vkCreateDevice)                                                                                \
  F(vkQueueSubmit)                                                                                 \
  F(vkWaitForFences)                                                                               \
  F(vkResetFences)                                                                                 \
  F(vkAllocateMemory)                                                                              \
  F(vkMapMemory)                                                                                   \
  F(vkBindBufferMemory)                                                                            \
  F(vkCreateBuffer)                                                                                \
  F(vkCreateCommandPool)                                                                           \
  F(vkAllocateCommandBuffers)                                                                      \
  F(vkCreateFence)                                                                                 \
  F(vkBeginCommandBuffer)                                                                          \
  F(vkEndCommandBuffer)                                                                            \
  F(vkCreateQueryPool)                                                                             \
  F(vkGetQueryPoolResults)                                                                         \
  F(vkCreateShaderModule)                                                                          \
  F(vkCreatePipelineLayout)                                                                        \
  F(vkCreateComputePipelines)

PFN_vkGetInstanceProcAddr realInstanceFunction = nullptr;
PFN_vkGetDeviceProcAddr realDeviceFunction = nullptr;

PFN_vkVoidFunction hook(const char *asked, PFN_vkVoidFunction found) {
#define HOOK(function)                                                                             \
  if (!strcmp(asked, #function)) {                                                                 \
    using One = Hook<__LINE__ * 100 + __COUNTER__, PFN_##function>;                                \
    One::name = #function;                                                                         \
    One::real = reinterpret_cast<PFN_##function>(found);                                           \
    return reinterpret_cast<PFN_vkVoidFunction>(One::call);                                        \
  }
  HOOKED(HOOK)
#undef HOOK
  if (!strcmp(asked, "vkGetPhysicalDeviceProperties2")) {
    realProperties = reinterpret_cast<PFN_vkGetPhysicalDeviceProperties2>(found);
    return reinterpret_cast<PFN_vkVoidFunction>(claimedProperties);
  }
  return found;
}
PFN_vkVoidFunction deviceFunction(VkDevice device, const char *name) {
  PFN_vkVoidFunction found = hook(name, realDeviceFunction(device, name));
  if (!strcmp(name, "vkCmdDispatch")) {
    realDispatch = reinterpret_cast<PFN_vkCmdDispatch>(found);
    return reinterpret_cast<PFN_vkVoidFunction>(seenDispatch);
  }
  if (!strcmp(name, "vkCmdPipelineBarrier")) {
    realBarrier = reinterpret_cast<PFN_vkCmdPipelineBarrier>(found);
    return reinterpret_cast<PFN_vkVoidFunction>(seenBarrier);
  }
  if (strcmp(name, "vkCreateShaderModule") != 0)
    return found;
  realCreateModule = reinterpret_cast<PFN_vkCreateShaderModule>(found);
  return reinterpret_cast<PFN_vkVoidFunction>(seenModule);
}
PFN_vkVoidFunction instanceFunction(VkInstance instance, const char *name) {
  PFN_vkVoidFunction found = realInstanceFunction(instance, name);
  if (strcmp(name, "vkGetDeviceProcAddr") != 0)
    return hook(name, found);
  realDeviceFunction = reinterpret_cast<PFN_vkGetDeviceProcAddr>(found);
  return reinterpret_cast<PFN_vkVoidFunction>(deviceFunction);
}

class VulkanTest : public GridDevice {
protected:
  void SetUp() override {
    if (!hasGridWords()) // nor is Vulkan started: sanitizers find what its drivers leave
      GTEST_SKIP() << "the tests were built without Metate's compiler, which writes SPIR-V";
    useMesasCpu();
    unsetenv("METATE_VULKAN_LIBRARY");
    metate_status status = open();
    if (status == METATE_E_UNSUPPORTED)
      GTEST_SKIP() << metate_last_error();
    ASSERT_OK(status);
    drop();
    void *loader = dlopen("libvulkan.so.1", RTLD_NOW);
    ASSERT_TRUE(loader) << dlerror();
    realInstanceFunction =
        reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(loader, "vkGetInstanceProcAddr"));
    failing = nullptr;
    claimed = nullptr;
    calls = 0;
  }
  void TearDown() override {
    failing = nullptr;
    claimed = nullptr;
    drop();
  }
  metate_status open(const metate_vulkan_options *options = nullptr) {
    auto wanted = hooks();
    return metate_vulkan_device_open(options, &wanted, &device);
  }
  metate_status openHooked() {
    auto options = sized<metate_vulkan_options>();
    options.get_instance_proc_addr = reinterpret_cast<void *>(instanceFunction);
    return open(&options);
  }
  static Bytes file(const GridSpec &spec = gridWords()) {
    return gridFile(METATE_ARCH_VULKAN, 0, spec);
  }
  metate_status openImages(std::vector<ImageSpec> images) {
    if (module)
      EXPECT_OK(metate_module_close(module));
    module = nullptr;
    GridSpec spec = gridWords();
    spec.images = std::move(images);
    return openModule(file(spec));
  }
  // The sound image with one word another one.
  static ImageSpec image(uint32_t level, size_t index = 0, uint32_t word = 0) {
    Bytes bytes = readWhole(METATE_GRID_WORDS);
    if (index)
      bytes.at<uint32_t>(0)[index] = word;
    return {METATE_GRID_SPIRV, level, bytes};
  }
};

} // namespace

TEST_F(VulkanTest, noLoader) {
  setenv("METATE_VULKAN_LIBRARY", "/nowhere/libvulkan.so", 1);
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(), "no loader of Vulkan's", "/nowhere/libvulkan.so");
  setenv("METATE_VULKAN_LIBRARY", METATE_FAKE_CUDA, 1);
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(), "is no loader", "vkGetInstanceProcAddr");
}

TEST_F(VulkanTest, optionsAreChecked) {
  metate_vulkan_options wrong{};
  EXPECT_FAILS(METATE_E_VERSION, open(&wrong), "struct_size");
  EXPECT_FAILS(METATE_E_NULL, metate_vulkan_device_open(nullptr, nullptr, nullptr));
  auto options = sized<metate_vulkan_options>();
  options.ordinal = 1000;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(&options), "ordinal: expected less than", "got 1000");
  options.device = &options;
  EXPECT_FAILS(METATE_E_NULL, open(&options), "expected its instance");
}

// Whatever function fails: a text, and the next try works.
TEST_F(VulkanTest, anyCallMayFail) {
  const char *names[] = {"vkEnumeratePhysicalDevices",
                         "vkCreateDevice",
                         "vkCreateCommandPool",
                         "vkAllocateCommandBuffers",
                         "vkCreateFence",
                         "vkCreatePipelineLayout",
                         "vkCreateBuffer",
                         "vkAllocateMemory",
                         "vkBindBufferMemory",
                         "vkMapMemory"};
  for (const char *name : names)
    for (auto [result, text, status] :
         {std::tuple(VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY",
                     METATE_E_OUT_OF_MEMORY),
          std::tuple(VK_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN", METATE_E_INTERNAL)}) {
      SCOPED_TRACE(name);
      failing = name;
      failAfter = 0;
      failResult = result;
      EXPECT_FAILS(status, openHooked(), "vulkan: ", text);
      device = nullptr;
    }
  failing = "vkCreateInstance";
  failResult = VK_ERROR_INCOMPATIBLE_DRIVER;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openHooked(), "no driver of Vulkan's");
  failing = nullptr;
  ASSERT_OK(openHooked());
}

TEST_F(VulkanTest, loadingMayFail) {
  ASSERT_OK(openHooked());
  failing = "vkCreateShaderModule";
  failAfter = 0;
  failResult = VK_ERROR_OUT_OF_HOST_MEMORY;
  EXPECT_FAILS(METATE_E_OUT_OF_MEMORY, openModule(file()), "vkCreateShaderModule",
               "VK_ERROR_OUT_OF_HOST_MEMORY");
  failing = "vkCreateComputePipelines";
  failAfter = 3;
  failResult = VK_ERROR_UNKNOWN;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openModule(file()), "the driver refused task 'say'",
               "module 'grid'", "VK_ERROR_UNKNOWN");
  failing = nullptr;
  ASSERT_OK(openModule(file()));
}

TEST_F(VulkanTest, launchesMayFail) {
  for (const char *staged : {"0", "1"}) {
    setenv("METATE_VULKAN_STAGED", staged, 1);
    ASSERT_OK(openHooked());
    unsetenv("METATE_VULKAN_STAGED");
    ASSERT_OK(openModule(file()));
    auto x = make(std::vector<int32_t>(100, 1));
    auto y = make(std::vector<int32_t>(100, -1));
    auto both = [&] { return Arguments().add(x).add(y); };
    const char *names[] = {"vkBeginCommandBuffer", "vkEndCommandBuffer", "vkQueueSubmit",
                           "vkResetFences",        "vkCreateBuffer",     "vkAllocateMemory",
                           "vkWaitForFences"};
    for (const char *name : names)
      for (int after : {0, 1}) {
        SCOPED_TRACE(name);
        failing = name;
        failAfter = after;
        failResult = VK_ERROR_UNKNOWN;
        metate_status first = launch("check", both());
        metate_status second = launch("say", Arguments().add(x));
        failing = nullptr;
        EXPECT_TRUE(first == METATE_OK || first == METATE_E_INTERNAL) << first;
        EXPECT_TRUE(second == METATE_OK || second == METATE_E_INTERNAL) << second;
        EXPECT_OK(launch("check", both())); // nothing remains of it
        EXPECT_EQ(read(y), std::vector<int32_t>(100, 1));
        printed.clear();
        EXPECT_OK(launch("say", Arguments().add(x)));
        EXPECT_NE(printed.find("100 in all\n"), std::string::npos);
      }
    drop();
  }
}

TEST_F(VulkanTest, aLostDeviceSaysSo) {
  ASSERT_OK(openHooked());
  ASSERT_OK(openModule(file()));
  auto x = make(std::vector<int32_t>(100, 1));
  failing = "vkQueueSubmit";
  failAfter = 0;
  failResult = VK_ERROR_DEVICE_LOST;
  EXPECT_EQ(METATE_E_INTERNAL, launch("fill", Arguments().add(x).add(5, METATE_I32)));
  failing = nullptr;
  EXPECT_FAILS(METATE_E_INTERNAL, metate_device_wait(device), "the device is lost",
               "VK_ERROR_DEVICE_LOST");
  int32_t value = 0;
  EXPECT_FAILS(METATE_E_INTERNAL, metate_memory_read(x.memory, 0, &value, 4), "the device is lost");
  EXPECT_FAILS(METATE_E_INTERNAL, metate_memory_write(x.memory, 0, &value, 4),
               "the device is lost");
  metate_memory *memory = nullptr;
  EXPECT_FAILS(METATE_E_INTERNAL, metate_memory_create(device, 64, 0, &memory),
               "the device is lost");
  EXPECT_FAILS(METATE_E_INTERNAL, metate_memory_wrap(device, x.data, 4, &memory),
               "the device is lost");
  metate_module *other = nullptr;
  Bytes bytes = file();
  EXPECT_FAILS(METATE_E_INTERNAL,
               metate_module_open_bytes(device, bytes.data(), bytes.size(), 0, &other),
               "the device is lost");
}

// Timestamps may not be had: the launch says so, and the next one works.
TEST_F(VulkanTest, timesMayFail) {
  ASSERT_OK(openHooked());
  ASSERT_OK(openModule(file()));
  auto x = make(std::vector<int32_t>(100));
  auto fill = [&] { return launch("fill", Arguments().add(x).add(5, METATE_I32)); };
  Told told;
  ASSERT_OK(told.listen(device));
  for (const char *call : {"vkCreateQueryPool", "vkGetQueryPoolResults"}) {
    failing = call;
    failAfter = 0;
    failResult = VK_ERROR_UNKNOWN;
    EXPECT_FAILS(METATE_E_INTERNAL, fill(), call);
    EXPECT_EQ(told.tasks.size(), 0u);
  }
  ASSERT_OK(metate_device_profile(device, nullptr)); // nobody asks: nothing is measured
  failing = "vkCreateQueryPool";
  failAfter = 0;
  EXPECT_OK(fill());
  failing = nullptr;
  ASSERT_OK(told.listen(device));
  EXPECT_OK(fill());
  EXPECT_EQ(told.tasks.size(), 1u);
}

// A kernel that neither fails nor prints: one call, until the ring of command buffers is full.
TEST_F(VulkanTest, aPlainLaunchIsOneCall) {
  ASSERT_OK(openHooked());
  ASSERT_OK(openModule(file()));
  auto x = make(std::vector<int32_t>(100));
  auto fill = [&](uint64_t value) {
    return launch("fill", Arguments().add(x).add(value, METATE_I32));
  };
  for (uint64_t i = 0; i < 100; ++i) // each command buffer has its slots
    ASSERT_OK(fill(i));
  ASSERT_OK(metate_device_wait(device));
  failing = "vkAllocateMemory";
  failAfter = 0;
  failResult = VK_ERROR_UNKNOWN;
  calls = 0;
  for (uint64_t i = 0; i < 30; ++i)
    ASSERT_OK(fill(i));
  EXPECT_EQ(calls, 30);
  EXPECT_EQ(read(x)[99], 29);
  for (uint64_t i = 0; i < 1000; ++i)
    ASSERT_OK(fill(i));
  EXPECT_EQ(read(x)[99], 999);
}

// What a task reads, the one before it has written: of one launch and of two.
TEST_F(VulkanTest, tasksAreOrdered) {
  ASSERT_OK(openHooked());
  ASSERT_OK(openModule(file()));
  auto x = make(std::vector<int32_t>(100, 1));
  auto y = make(std::vector<int32_t>(100, -1));
  commands.clear();
  ASSERT_OK(launch("check", Arguments().add(x).add(y))); // two tasks
  ASSERT_OK(launch("fill", Arguments().add(x).add(3, METATE_I32)));
  ASSERT_OK(metate_device_wait(device));
  size_t dispatches = 0;
  bool isOrdered = true;
  for (char command : commands) {
    if (command == 'D') {
      EXPECT_TRUE(isOrdered || dispatches == 0) << commands;
      ++dispatches;
    }
    isOrdered = command == '|';
  }
  EXPECT_EQ(dispatches, 3u) << commands;
}

// Copies and zeros of any size, where the host works by copies alone.
TEST_F(VulkanTest, copiesHaveAnySize) {
  setenv("METATE_VULKAN_STAGED", "1", 1);
  ASSERT_OK(openHooked());
  unsetenv("METATE_VULKAN_STAGED");
  metate_memory *memory = nullptr;
  for (uint64_t bytes : {1, 2, 3, 5, 4099, 9000000}) { // the last one in several pieces
    ASSERT_OK(metate_memory_reserve(device, bytes, &memory));
    std::vector<uint8_t> got(bytes, 1), values(bytes);
    ASSERT_OK(metate_memory_read(memory, 0, got.data(), bytes));
    EXPECT_EQ(got, values);
    for (size_t i = 0; i < bytes; ++i)
      values[i] = uint8_t(i * 7 + i / 251);
    ASSERT_OK(metate_memory_write(memory, 0, values.data(), bytes));
    ASSERT_OK(metate_memory_read(memory, 0, got.data(), bytes));
    EXPECT_EQ(got, values);
    ASSERT_OK(metate_memory_destroy(memory));
  }
}

TEST_F(VulkanTest, theBestImageIsTaken) {
  const uint32_t atomics = METATE_FEATURE_I64_ATOMICS, strange = 1u << 20;
  ASSERT_OK(open());
  auto info = sized<metate_device_info>();
  ASSERT_OK(metate_device_describe(device, &info));
  EXPECT_OK(openImages({{METATE_GRID_PTX, 0, Bytes(16)}, image(atomics)}));
  EXPECT_OK(openImages({image(atomics | strange, 1, 0), image(atomics)}));
  // What needs more is preferred: here it is the damaged one.
  if (info.level & METATE_FEATURE_F32_ATOMIC_ADD)
    EXPECT_FAILS(
        METATE_E_CORRUPT,
        openImages({image(atomics), image(atomics | METATE_FEATURE_F32_ATOMIC_ADD, 1, 0x00010600)}),
        "newer SPIR-V");
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openImages({image(strange)}), "module 'grid' needs a feature");
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openImages({{METATE_GRID_PTX, 0, Bytes(16)}}), "no SPIR-V");
}

TEST_F(VulkanTest, damagedImagesAreRefused) {
  const uint32_t level = METATE_FEATURE_I64_ATOMICS;
  ASSERT_OK(open());
  EXPECT_FAILS(METATE_E_CORRUPT, openImages({{METATE_GRID_SPIRV, level, Bytes(64)}}), "no SPIR-V");
  EXPECT_FAILS(METATE_E_CORRUPT, openImages({image(level, 1, 0x00010600)}), "newer SPIR-V");
  EXPECT_FAILS(METATE_E_CORRUPT, openImages({image(level, 5, 0)}), "has no end");
  EXPECT_FAILS(METATE_E_CORRUPT, openImages({image(level, 5, 0xffff0011)}), "has no end");
  GridSpec spec = gridWords();
  spec.kernels[GRID_FILL].tasks[0].group = 32;
  EXPECT_FAILS(METATE_E_CORRUPT, openModule(file(spec)), "'fill' is for 32");
  spec = gridWords();
  spec.kernels[GRID_SAY].tasks[0].shared = 1u << 30;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openModule(file(spec)), "'say' needs", "shared memory");
}

namespace {

// The sound image as one that promises all of all widths; its kernels have f32 alone.
Bytes promisingImage() {
  Bytes bytes = readWhole(METATE_GRID_WORDS);
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  size_t entry = 0, behind = 0;
  for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
    uint32_t opcode = words[at] & 0xffff;
    if (opcode == 15)
      entry = words[at + 2];
    if (opcode == 16)
      behind = at + (words[at] >> 16);
  }
  std::vector<uint32_t> modes;
  for (uint32_t mode : {4459u, 4461u, 4462u})
    for (uint32_t width : {16u, 32u, 64u})
      modes.insert(modes.end(), {4u << 16 | 16, uint32_t(entry), mode, width});
  words.insert(words.begin() + ptrdiff_t(behind), modes.begin(), modes.end());
  for (uint32_t capability : {4464u, 4466u, 4467u})
    words.insert(words.begin() + 5, {2u << 16 | 17, capability});
  Bytes made(words.size() * 4);
  std::memcpy(made.data(), words.data(), made.size());
  return made;
}

// The modes of floats and their capabilities that the device was given, as "mode:width" and "capability".
std::set<std::string> givenPromises() {
  std::set<std::string> found;
  for (size_t at = 5; at < given.size(); at += given[at] >> 16) {
    uint32_t opcode = given[at] & 0xffff;
    if (opcode == 16 && given[at + 2] >= 4459 && given[at + 2] <= 4463)
      found.insert(std::to_string(given[at + 2]) + ":" + std::to_string(given[at + 3]));
    if (opcode == 17 && given[at + 1] >= 4464 && given[at + 1] <= 4468)
      found.insert(std::to_string(given[at + 1]));
  }
  return found;
}

} // namespace

// What code asks of floats is what the device can promise, and where it promises widths together, all of them or none.
TEST_F(VulkanTest, onlyPromisesOfTheDeviceAreAsked) {
  using Promises = std::set<std::string>;
  VkPhysicalDeviceVulkan12Properties has{};
  has.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  claimed = &has;
  auto asked = [&] {
    drop();
    EXPECT_OK(openHooked());
    EXPECT_OK(openImages({{METATE_GRID_SPIRV, METATE_FEATURE_I64_ATOMICS, promisingImage()}}));
    return givenPromises();
  };
  EXPECT_EQ(asked(), Promises{});
  has.denormBehaviorIndependence = has.roundingModeIndependence =
      VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL;
  has.shaderSignedZeroInfNanPreserveFloat32 = VK_TRUE;
  EXPECT_EQ(asked(), (Promises{"4461:32", "4466"}));
  has.shaderDenormPreserveFloat32 = has.shaderDenormPreserveFloat64 = VK_TRUE;
  has.shaderRoundingModeRTEFloat64 = has.shaderRoundingModeRTEFloat16 = VK_TRUE;
  EXPECT_EQ(asked(), (Promises{"4459:32", "4459:64", "4461:32", "4462:16", "4462:64", "4464",
                               "4466", "4467"}));
  has.denormBehaviorIndependence = has.roundingModeIndependence =
      VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY;
  EXPECT_EQ(asked(),
            (Promises{"4459:32", "4461:32", "4462:16", "4462:64", "4464", "4466", "4467"}));
  has.denormBehaviorIndependence = has.roundingModeIndependence =
      VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
  EXPECT_EQ(asked(), (Promises{"4461:32", "4466"}));
}

// ---- an application with a device of its own

TEST_F(VulkanTest, theApplicationsDeviceIsUsed) {
  Application application(realInstanceFunction, 4000);
  ASSERT_TRUE(application.buffer && application.memory);
  auto options = application.options();
  ASSERT_OK(open(&options));
  if (!application.hasAtomics)
    GTEST_SKIP() << "the device has no 64-bit atomics";
  ASSERT_OK(openModule(file()));
  uint64_t address = 0;
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT,
               metate_vulkan_address(device, application.buffer, 1 << 20, &address), "bytes");
  ASSERT_OK(metate_vulkan_address(device, application.buffer, 4000, &address));
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT,
               metate_vulkan_address(device, application.buffer, 4000, &address), "already");
  DeviceArray<int32_t> x{};
  x.data = reinterpret_cast<int32_t *>(uintptr_t(address));
  x.count = 1000;
  ASSERT_OK(metate_memory_wrap(device, x.data, 4000, &x.memory));
  ASSERT_OK(launch("fill", Arguments().add(x).add(7, METATE_I32)));
  EXPECT_EQ(read(x), std::vector<int32_t>(1000, 7));
  ASSERT_OK(metate_memory_destroy(x.memory));
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_vulkan_forget(device, address + 4),
               "address: expected one of");
  ASSERT_OK(metate_vulkan_forget(device, address));
  metate_memory *memory = nullptr;
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_memory_wrap(device, x.data, 4000, &memory),
               "of the device's");
  auto own = make(std::vector<int32_t>(4));
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT,
               metate_vulkan_forget(device, reinterpret_cast<uintptr_t>(own.data)),
               "metate_vulkan_address");
  ASSERT_OK(metate_vulkan_address(device, application.buffer, 4000, &address)); // until it closes
  drop();
}

TEST_F(VulkanTest, devicesOfOthersAreTold) {
  metate_device *other = nullptr;
  ASSERT_OK(metate_device_open(nullptr, &other));
  uint64_t address = 0;
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_vulkan_address(other, &address, 4, &address),
               "metate_vulkan_device_open");
  EXPECT_OK(metate_device_close(other));
}
