// What each device of grids must do alike: on this machine's CPU (simt), and on a GPU whose driver is a
// fake (cuda), and on a GPU where there is one (gpu); on what Vulkan has (vulkan), by copies alone as well (staged).
#include "grid_device.h"
#include "metate/metate_cuda.h"
#include "metate/metate_simt.h"
#ifdef METATE_GRID_WORDS
#include "metate/metate_vulkan.h"
#endif

#include <chrono>
#include <cstdio>
#include <dlfcn.h>
#include <numeric>
#include <random>
#include <thread>
#include <unistd.h>

using namespace metate::test;
using metate::sized;

namespace {

enum class Kind { simt, threads, cuda, gpu, vulkan, staged };

class Grid : public GridDevice, public ::testing::WithParamInterface<Kind> {
protected:
  bool isCuda = GetParam() == Kind::cuda || GetParam() == Kind::gpu;
  bool isVulkan = GetParam() == Kind::vulkan || GetParam() == Kind::staged;
  uint32_t arch = isCuda ? METATE_ARCH_CUDA : isVulkan ? METATE_ARCH_VULKAN : METATE_ARCH_SIMT;
  uint32_t level = isCuda ? 70 : 0; // of the variant

  void SetUp() override {
    if (isVulkan && !hasWords()) // nor is Vulkan started: sanitizers find what its drivers leave
      GTEST_SKIP() << "the tests were built without Metate's compiler, which writes SPIR-V";
    setenv("METATE_CUDA_LIBRARY", GetParam() == Kind::cuda ? METATE_FAKE_CUDA : "", 1);
    if (GetParam() == Kind::threads)
      setenv("METATE_SIMT_THREADS", "4", 1);
    auto wanted = hooks();
    metate_status status = isCuda     ? metate_cuda_device_open(nullptr, &wanted, &device)
                           : isVulkan ? openVulkan(wanted)
                                      : metate_simt_device_open(&wanted, &device);
    unsetenv("METATE_SIMT_THREADS");
    bool isReal = GetParam() == Kind::gpu || isVulkan;
    if (isReal && status == METATE_E_UNSUPPORTED)
      GTEST_SKIP() << metate_last_error();
    ASSERT_OK(status);
    if (GetParam() == Kind::gpu && access(METATE_GRID_TEXT, R_OK) != 0)
      GTEST_SKIP() << "the tests were built by a compiler that knows no GPU";
    ASSERT_OK(openModule(file()));
  }
#ifdef METATE_GRID_WORDS
  metate_status openVulkan(const metate_device_hooks &hooks) {
    useMesasCpu();
    setenv("METATE_VULKAN_STAGED", GetParam() == Kind::staged ? "1" : "0", 1);
    metate_status status = metate_vulkan_device_open(nullptr, &hooks, &device);
    unsetenv("METATE_VULKAN_STAGED");
    return status;
  }
  static bool hasWords() { return hasGridWords(); }
  static GridSpec words() { return gridWords(); }
#else
  metate_status openVulkan(const metate_device_hooks &) { return METATE_E_UNSUPPORTED; }
  static bool hasWords() { return false; }
  static GridSpec words() { return {}; }
#endif
  GridSpec spec() {
    if (GetParam() == Kind::gpu) {
      Bytes text = readWhole(METATE_GRID_TEXT);
      text.append("", 1);
      return gridSpec({{METATE_GRID_PTX, level, text}});
    }
    if (isVulkan)
      return words();
    // The GPU of the fake has the level 86.
    if (isCuda)
      return gridSpec({{METATE_GRID_CUBIN, 86, gridObject()}});
    return gridSpec({{METATE_GRID_OBJECT, 0, gridObject()}});
  }
  Bytes file() { return gridFile(arch, level, spec()); }
};

std::vector<int32_t> numbers(int32_t count) {
  std::vector<int32_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

// A GPU where there is a driver of one; Vulkan where its driver was built.
std::vector<Kind> kinds() {
  std::vector<Kind> found = {Kind::simt, Kind::threads, Kind::cuda};
#ifdef METATE_GRID_WORDS
  found.insert(found.end(), {Kind::vulkan, Kind::staged});
#endif
  if (dlopen("libcuda.so.1", RTLD_NOW))
    found.push_back(Kind::gpu);
  return found;
}

std::string nameOf(const ::testing::TestParamInfo<Kind> &info) {
  const char *names[] = {"simt", "threads", "cuda", "gpu", "vulkan", "staged"};
  return names[int(info.param)];
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Devices, Grid, ::testing::ValuesIn(kinds()), nameOf);

TEST_P(Grid, describesItself) {
  auto info = sized<metate_device_info>();
  ASSERT_OK(metate_device_describe(device, &info));
  EXPECT_EQ(info.arch, arch);
  EXPECT_GE(info.level, level);
  EXPECT_GT(strlen(info.name), 3u);
  auto machine = sized<metate_machine_info>();
  ASSERT_OK(metate_device_inspect(device, &machine));
  EXPECT_GT(machine.memory_bytes, uint64_t(1) << 28);
  EXPECT_NE(machine.features & METATE_FEATURE_I64_ATOMICS, 0u); // the tests' kernels need them
  EXPECT_EQ(machine.version[0] != 0, isCuda || isVulkan);
  machine.struct_size = 8;
  EXPECT_FAILS(METATE_E_VERSION, metate_device_inspect(device, &machine), "struct_size");
  EXPECT_OK(metate_device_wait(device));
}

TEST_P(Grid, memoryIsReadAndWritten) {
  for (size_t bytes : {1, 100, 65536, 65537, 300000}) {
    std::vector<uint8_t> values(bytes), got(bytes);
    for (size_t i = 0; i < bytes; ++i)
      values[i] = uint8_t(i * 7 + bytes);
    auto array = make(values);
    EXPECT_EQ(read(array), values);
  }
  metate_memory *memory = nullptr;
  for (uint64_t align : {64, 4096, 65536}) {
    ASSERT_OK(metate_memory_create(device, 100, align, &memory));
    auto info = sized<metate_memory_info>();
    ASSERT_OK(metate_memory_describe(memory, &info));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(info.data) % align, 0u);
    uint64_t value = 5, got = 0;
    ASSERT_OK(metate_memory_write(memory, 92, &value, 8));
    ASSERT_OK(metate_memory_read(memory, 92, &got, 8));
    EXPECT_EQ(got, value);
    ASSERT_OK(metate_memory_destroy(memory));
  }
  ASSERT_OK(metate_memory_reserve(device, 200000, &memory));
  std::vector<uint8_t> got(200000, 1);
  ASSERT_OK(metate_memory_read(memory, 0, got.data(), got.size()));
  EXPECT_EQ(got, std::vector<uint8_t>(200000));
  ASSERT_OK(metate_memory_destroy(memory));
  EXPECT_FAILS(METATE_E_OUT_OF_MEMORY, metate_memory_create(device, uint64_t(1) << 60, 0, &memory),
               "refused");
}

TEST_P(Grid, onlyItsOwnMemoryIsWrapped) {
  std::vector<int32_t> host(64);
  metate_memory *memory = nullptr;
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_memory_wrap(device, host.data(), 256, &memory),
               "expected 256 bytes of the device's");
  auto array = make(numbers(64));
  ASSERT_OK(metate_memory_wrap(device, array.data + 1, 252, &memory));
  int32_t got = 0;
  ASSERT_OK(metate_memory_read(memory, 4, &got, 4));
  EXPECT_EQ(got, 2);
  ASSERT_OK(metate_memory_destroy(memory));
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_memory_wrap(device, array.data, 1 << 20, &memory),
               "of the device's");
}

TEST_P(Grid, hostsCrashOnItsMemory) {
  if (isVulkan)
    GTEST_SKIP() << "Mesa's CPU takes it from the host's";
  auto array = make(numbers(4));
  EXPECT_DEATH(array.data[0] = 1, "");
}

TEST_P(Grid, tasksRunForEveryIteration) {
  for (int32_t count : {1, 63, 64, 65, 5000, 20000}) {
    auto x = make(std::vector<int32_t>(size_t(count), -1));
    ASSERT_OK(launch("fill", Arguments().add(x).add(uint64_t(count), METATE_I32)));
    EXPECT_EQ(read(x), std::vector<int32_t>(size_t(count), count));
  }
}

TEST_P(Grid, arraysOfTheHostAreCopied) {
  std::vector<int32_t> values(1000, 3);
  int64_t count = 1000;
  metate_array array{values.data(), METATE_I32, 1, 0, 0, &count, nullptr};
  ASSERT_OK(launch("fill", Arguments().add(array).add(8, METATE_I32)));
  EXPECT_EQ(values, std::vector<int32_t>(1000, 8));
}

TEST_P(Grid, failuresAreReported) {
  for (int round = 0; round < 3; ++round) {
    auto x = make(numbers(200)), y = make(std::vector<int32_t>(200, -1));
    ASSERT_OK(launch("check", Arguments().add(x).add(y)));
    EXPECT_EQ(read(y), numbers(200));
    auto wrong = numbers(200);
    wrong[size_t(150 + round)] = -5;
    x = make(wrong);
    y = make(std::vector<int32_t>(200, -1));
    EXPECT_FAILS(METATE_E_ASSERT, launch("check", Arguments().add(x).add(y)), "grid.py:7:3",
                 "kernel 'check'", "x must not be negative");
    EXPECT_EQ(read(y), std::vector<int32_t>(200, -1)); // later tasks do nothing
  }
}

TEST_P(Grid, printsArrive) {
  auto x = make(std::vector<int32_t>{7, -3});
  for (int round = 0; round < 3; ++round) {
    printed.clear();
    ASSERT_OK(launch("say", Arguments().add(x)));
    EXPECT_EQ(printed, "x[0] = +0007\nx[1] = -0003\n2 in all\n");
  }
}

TEST_P(Grid, tooManyPrintsAreCut) {
  ASSERT_OK(launch("flood", Arguments().add(20000, METATE_I32)));
  EXPECT_EQ(printed.substr(0, 20), "0 in all\n1 in all\n2 ");
  EXPECT_NE(printed.find("\n16383 in all\n"), std::string::npos);
  EXPECT_EQ(printed.find("\n16384 in all\n"), std::string::npos);
  EXPECT_NE(printed.find("(57856 bytes of what the kernel printed did not fit)\n"),
            std::string::npos);
  printed.clear(); // the ring is fresh
  ASSERT_OK(launch("flood", Arguments().add(1, METATE_I32)));
  EXPECT_EQ(printed, "0 in all\n");
}

TEST_P(Grid, tasksLeaveValues) {
  for (int32_t count : {10, 100, 1000}) {
    auto x = make(numbers(count));
    auto out = make(std::vector<int64_t>{-1});
    ASSERT_OK(launch("total", Arguments().add(x).add(out)));
    EXPECT_EQ(read(out)[0], int64_t(count) * (count - 1) / 2);
  }
}

TEST_P(Grid, poolsAreThere) {
  for (int round = 0; round < 40; ++round) {
    auto out = make(std::vector<uint64_t>(2));
    ASSERT_OK(launch("pooled", Arguments().add(out)));
    EXPECT_EQ(read(out), (std::vector<uint64_t>{40, 41}));
  }
}

TEST_P(Grid, constantsAreThere) {
  auto out = make(std::vector<uint64_t>(16));
  ASSERT_OK(launch("look", Arguments().add(out)));
  const std::vector<uint64_t> expected = {3, 6, 9, 9, 9, 1, 5, 1, 5, uint64_t(1) << 40,
                                          2, 7, 5, 8, 4, 3};
  EXPECT_EQ(read(out), expected);
}

TEST_P(Grid, invocationsAreBounded) {
  auto out = make(std::vector<uint64_t>(2));
  ASSERT_OK(launch("count", Arguments().add(out)));
  EXPECT_EQ(read(out), (std::vector<uint64_t>{96, 96})); // at most 100, in groups of 32
}

TEST_P(Grid, launchesAreInterrupted) {
  if (GetParam() == Kind::gpu || isVulkan)
    GTEST_SKIP() << "its kernels cannot write the host's word";
  uint32_t word = 0;
  auto address = uint64_t(reinterpret_cast<uintptr_t>(&word));
  EXPECT_FAILS(METATE_E_INTERRUPTED, launch("stop", Arguments().add(address, METATE_U64), &word),
               "interrupted");
  EXPECT_EQ(word, 1u);
  auto x = make(numbers(10));
  EXPECT_FAILS(METATE_E_INTERRUPTED, launch("fill", Arguments().add(x).add(5, METATE_I32), &word));
  EXPECT_EQ(read(x), numbers(10)); // it did not begin
  uint32_t other = 0;
  EXPECT_OK(launch("stop", Arguments().add(address, METATE_U64), &other));
  EXPECT_OK(launch("stop", Arguments().add(address, METATE_U64)));
}

TEST_P(Grid, tasksAreTimed) {
  auto x = make(numbers(20000)), y = make(std::vector<int32_t>(20000, -1));
  auto out = make(std::vector<int64_t>(1));
  Told told;
  ASSERT_OK(told.listen(device));
  ASSERT_OK(launch("fill", Arguments().add(x).add(5, METATE_I32)));
  ASSERT_OK(launch("total", Arguments().add(x).add(out)));
  ASSERT_OK(launch("check", Arguments().add(x).add(y)));
  ASSERT_EQ(told.tasks.size(), 5u);
  const uint32_t tasks[] = {0, 0, 1, 0, 1}, lines[] = {3, 4, 5, 0, 0};
  const int64_t iterations[] = {20000, 1, 1, 20000, 20000};
  uint64_t took = 0;
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(told.tasks[i].task, tasks[i]);
    EXPECT_EQ(told.tasks[i].line, lines[i]);
    EXPECT_EQ(told.tasks[i].iterations, iterations[i]);
    took += told.tasks[i].took;
  }
  EXPECT_EQ(told.launches, 3u);
  EXPECT_GT(took, 0u);
  if (GetParam() != Kind::cuda) // whose clock is a fake
    EXPECT_LE(took, told.took);
  // Of a launch that fails there are no tasks.
  auto wrong = make(std::vector<int32_t>(20000, -1));
  EXPECT_FAILS(METATE_E_ASSERT, launch("check", Arguments().add(wrong).add(y)), "negative");
  EXPECT_EQ(told.tasks.size(), 5u);
  EXPECT_EQ(told.launches, 4u);
}

TEST_P(Grid, threadsLaunchAtOnce) {
  std::vector<DeviceArray<int32_t>> arrays;
  for (int i = 0; i < 4; ++i)
    arrays.push_back(make(std::vector<int32_t>(500)));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round)
        EXPECT_OK(launch("fill", Arguments().add(arrays[size_t(i)]).add(uint64_t(i), METATE_I32)));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(read(arrays[size_t(i)]), std::vector<int32_t>(500, i));
}

TEST_P(Grid, plainLaunchesReturnSoon) {
  auto x = make(numbers(64));
  Arguments arguments;
  arguments.add(x).add(5, METATE_I32);
  const int count = 1000;
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i)
    ASSERT_OK(launch("fill", arguments));
  auto took = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin);
  ASSERT_OK(metate_device_wait(device));
  std::printf("a launch took %.2f us\n", took.count() / count);
}

TEST_P(Grid, treesLiveThere) {
  Bytes blob = abAos();
  metate_type *type = nullptr;
  metate_tree *tree = nullptr;
  ASSERT_OK(metate_type_open_blob(device, blob.data(), blob.size(), "t", &type));
  ASSERT_OK(metate_tree_new(type, nullptr, &tree));
  uint32_t a = member(type, "a");
  EXPECT_OK(write(tree, a, {3, 4}, 2.5f));
  EXPECT_EQ(metate::test::read<float>(tree, a, {3, 4}), 2.5f);
  EXPECT_OK(check(tree));
  EXPECT_OK(metate_tree_unbind(tree));
  EXPECT_OK(metate_type_close(type));
}

// More runs than go into one submission.
TEST_P(Grid, graphsRunKernels) {
  for (int64_t turns : {0, 1, 3, 700}) {
    auto x = make(numbers(100));
    auto out = make(std::vector<int64_t>{-1});
    ASSERT_OK(launch("relay", Arguments().add(x).add(uint64_t(turns), METATE_I64).add(out)));
    const int32_t last = int32_t(turns) * 10 - 9;
    EXPECT_EQ(read(out)[0], turns ? int64_t(last) * 100 : -1);
    EXPECT_EQ(read(x), turns ? std::vector<int32_t>(100, last) : numbers(100));
  }
}

TEST_P(Grid, graphsAreInterrupted) {
  auto x = make(numbers(100));
  auto out = make(std::vector<int64_t>{-1});
  uint32_t stop = 0;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    __atomic_store_n(&stop, 1u, __ATOMIC_RELAXED);
  });
  auto arguments = Arguments().add(x).add(uint64_t(1) << 60, METATE_I64).add(out);
  EXPECT_FAILS(METATE_E_INTERRUPTED, launch("relay", arguments, &stop), "interrupted");
  other.join();
  // Between two runs, but for simt, which stops within one; and the device goes on.
  if (arch != METATE_ARCH_SIMT)
    EXPECT_EQ(read(out)[0], int64_t(read(x)[0]) * 100);
  ASSERT_OK(launch("relay", Arguments().add(x).add(2, METATE_I64).add(out)));
  EXPECT_EQ(read(out)[0], 1100);
}

TEST_P(Grid, damagedPayloadsAreRefused) {
  Bytes head = descriptor(gridModuleSpec(arch, level));
  Bytes sound = gridPayload(spec(), head);
  metate_module *opened = nullptr;
  auto open = [&](const Bytes &payload) {
    Bytes damaged = carrier(head, {payload});
    return metate_module_open_bytes(device, damaged.data(), damaged.size(), 0, &opened);
  };
  std::mt19937 random(5);
  size_t tables = sound.at<metate_grid>(0)->images.offset;
  for (int round = 0; round < 200; ++round) {
    Bytes damaged = sound;
    damaged.data()[random() % tables] ^= uint8_t(1 + random() % 255);
    metate_status status = open(damaged);
    if (status == METATE_OK)
      EXPECT_OK(metate_module_close(opened));
    else
      EXPECT_TRUE(status == METATE_E_CORRUPT || status == METATE_E_UNSUPPORTED) << status;
  }
  Bytes short_ = sound;
  short_.resize(80);
  EXPECT_FAILS(METATE_E_CORRUPT, open(short_), "module 'grid'", "shorter");
}

TEST_P(Grid, missingTasksAreNamed) {
  Bytes head = descriptor(gridModuleSpec(arch, level));
  GridSpec other = spec();
  other.kernels[GRID_SAY].tasks[0].name = "sing";
  Bytes damaged = carrier(head, {gridPayload(other, head)});
  metate_module *opened = nullptr;
  EXPECT_FAILS(METATE_E_CORRUPT,
               metate_module_open_bytes(device, damaged.data(), damaged.size(), 0, &opened),
               "module 'grid'", "'sing'");
}

TEST_P(Grid, imagesOfOthersAreRefused) {
  Bytes head = descriptor(gridModuleSpec(arch, level));
  Bytes file = carrier(head, {gridPayload(gridSpec({}), head)});
  metate_module *opened = nullptr;
  EXPECT_FAILS(METATE_E_UNSUPPORTED,
               metate_module_open_bytes(device, file.data(), file.size(), 0, &opened), "'grid'");
  file = gridFile(arch == METATE_ARCH_CUDA ? METATE_ARCH_SIMT : METATE_ARCH_CUDA, level, spec());
  EXPECT_FAILS(METATE_E_UNSUPPORTED,
               metate_module_open_bytes(device, file.data(), file.size(), 0, &opened),
               "another architecture");
  metate_entry entries[11] = {};
  EXPECT_FAILS(METATE_E_UNSUPPORTED,
               metate_module_open_static(device, head.data(), head.size(), entries, 11, &opened),
               "functions of the host");
}
