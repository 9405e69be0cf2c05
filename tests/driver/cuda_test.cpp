// The driver "cuda" against a libcuda that a test can make lie (fake_cuda.cpp): what is missing, what fails, what is lost, and what a
// launch costs in calls.
#include "fake_cuda.h"
#include "grid_device.h"
#include "metate/metate_cuda.h"

#include <dlfcn.h>

using namespace metate::test;
using metate::sized;

namespace {

class CudaTest : public GridDevice {
protected:
  fake_cuda_control *fake = nullptr;
  int ownContext = 0, ownStream = 0;

  void SetUp() override {
    setenv("METATE_CUDA_LIBRARY", METATE_FAKE_CUDA, 1);
    void *handle = dlopen(METATE_FAKE_CUDA, RTLD_NOW);
    ASSERT_TRUE(handle) << dlerror();
    fake = static_cast<fake_cuda_control *>(dlsym(handle, "fake_cuda"));
    ASSERT_TRUE(fake);
    fake->reset();
  }
  void TearDown() override {
    fake->failing = nullptr;
    drop();
    EXPECT_EQ(fake->livePinned, 0);
    EXPECT_EQ(fake->liveEvents, 0);
    EXPECT_EQ(fake->liveGraphs, 0);
    EXPECT_EQ(fake->liveStreams, 0);
    EXPECT_EQ(fake->liveContexts, 0);
    EXPECT_EQ(fake->pushed, 0);
    if (!fake->isLost) {
      EXPECT_EQ(fake->liveAllocations, 0);
      EXPECT_EQ(fake->liveModules, 0);
    }
    fake->liveAllocations = fake->liveModules = 0;
  }
  metate_status open(const metate_cuda_options *options = nullptr) {
    auto wanted = hooks();
    return metate_cuda_device_open(options, &wanted, &device);
  }
  // With a context and a stream of the application's.
  metate_status openOnStream() {
    auto options = sized<metate_cuda_options>();
    options.context = &ownContext;
    options.stream = &ownStream;
    return open(&options);
  }
  static Bytes file(uint32_t level = 86) {
    return gridFile(METATE_ARCH_CUDA, level, gridSpec({{METATE_GRID_CUBIN, level, gridObject()}}));
  }
  void openAll() {
    ASSERT_OK(open());
    ASSERT_OK(openModule(file()));
  }
  metate_status openImages(std::vector<ImageSpec> images) {
    if (module)
      EXPECT_OK(metate_module_close(module));
    module = nullptr;
    return openModule(gridFile(METATE_ARCH_CUDA, 70, gridSpec(std::move(images))));
  }
  ImageSpec binary(uint32_t level) { return {METATE_GRID_CUBIN, level, gridObject()}; }
  ImageSpec text(uint32_t level) { return gridText("object " METATE_GRID_KERNELS, level); }
};

} // namespace

TEST_F(CudaTest, noLibrary) {
  setenv("METATE_CUDA_LIBRARY", "/nowhere/libcuda.so", 1);
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(), "no driver of NVIDIA's", "/nowhere/libcuda.so");
}

TEST_F(CudaTest, missingFunction) {
  setenv("METATE_CUDA_LIBRARY", METATE_FAKE_CUDA_INCOMPLETE, 1);
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(), "has no function cuLaunchKernel", "newer driver");
}

TEST_F(CudaTest, noDevice) {
  fake->initResult = 100;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(), "this machine has no GPU", "CUDA_ERROR_NO_DEVICE");
  fake->initResult = 999;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(), "the driver does not start", "an unknown error");
  fake->initResult = 0;
  fake->devices = 0;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(), "this machine has no GPU");
  fake->devices = 2;
  auto options = sized<metate_cuda_options>();
  options.ordinal = 2;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(&options), "ordinal: expected less than 2, got 2");
}

TEST_F(CudaTest, oldDriver) {
  fake->version = 10020;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(), "a driver of CUDA 10.2: expected at least 11.4");
}

TEST_F(CudaTest, optionsAreChecked) {
  metate_cuda_options options{};
  EXPECT_FAILS(METATE_E_VERSION, open(&options), "struct_size");
  EXPECT_FAILS(METATE_E_NULL, metate_cuda_device_open(nullptr, nullptr, nullptr));
}

// Whatever function fails: a text, and nothing is left behind.
TEST_F(CudaTest, anyCallMayFail) {
  const char *names[] = {"cuDeviceGetCount",         "cuDeviceGet",
                         "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2",
                         "cuCtxGetDevice",           "cuDeviceGetAttribute",
                         "cuDeviceGetName",          "cuStreamCreate",
                         "cuMemHostAlloc",           "cuMemHostGetDevicePointer_v2"};
  for (const char *name : names) {
    SCOPED_TRACE(name);
    fake->reset();
    fake->failing = name;
    fake->failResult = 801;
    EXPECT_FAILS(METATE_E_INTERNAL, open(), "cuda: ", "CUDA_ERROR_NOT_SUPPORTED");
    device = nullptr;
    EXPECT_EQ(fake->livePinned + fake->liveStreams + fake->liveContexts + fake->pushed, 0);
  }
}

TEST_F(CudaTest, launchesMayFail) {
  openAll();
  auto x = make(std::vector<int32_t>(100, 1));
  auto y = make(std::vector<int32_t>(100, -1));
  auto out = make(std::vector<uint64_t>(2));
  auto both = [&] { return Arguments().add(x).add(y); };
  const char *names[] = {"cuMemAlloc_v2",        "cuMemcpyHtoDAsync_v2", "cuLaunchKernel",
                         "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize",  "cuMemsetD32Async",
                         "cuCtxPushCurrent_v2"};
  for (const char *name : names)
    for (int after : {0, 1}) {
      SCOPED_TRACE(name);
      fake->failing = name;
      fake->failAfter = after;
      fake->failResult = 801;
      metate_status first = launch("check", both());
      metate_status second = launch("say", Arguments().add(x));
      fake->failing = nullptr;
      EXPECT_TRUE(first == METATE_OK || first == METATE_E_INTERNAL);
      EXPECT_TRUE(second == METATE_OK || second == METATE_E_INTERNAL);
      EXPECT_OK(launch("check", both())); // nothing remains of it
      EXPECT_EQ(read(y), std::vector<int32_t>(100, 1));
      printed.clear();
      EXPECT_OK(launch("say", Arguments().add(x)));
      EXPECT_NE(printed.find("100 in all\n"), std::string::npos);
      EXPECT_OK(launch("pooled", Arguments().add(out)));
      EXPECT_EQ(read(out), (std::vector<uint64_t>{40, 41}));
    }
}

TEST_F(CudaTest, aLostDeviceSaysSo) {
  openAll();
  auto x = make(std::vector<int32_t>(100, 1));
  EXPECT_OK(launch("crash")); // it is in the stream
  EXPECT_FAILS(METATE_E_INTERNAL, metate_device_wait(device), "the device is lost",
               "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_FAILS(METATE_E_INTERNAL, metate_device_wait(device), "the device is lost");
  int32_t value = 0;
  EXPECT_FAILS(METATE_E_INTERNAL, metate_memory_read(x.memory, 0, &value, 4), "the device is lost");
  EXPECT_FAILS(METATE_E_INTERNAL, metate_memory_write(x.memory, 0, &value, 4),
               "the device is lost");
  EXPECT_EQ(METATE_E_INTERNAL, launch("fill", Arguments().add(x).add(5, METATE_I32)));
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

// The launch says so, and the CPU goes on.
TEST_F(CudaTest, aLaunchThatFailsTakesNothingAlong) {
  openAll();
  auto x = make(std::vector<int32_t>(100, 1)), y = make(std::vector<int32_t>(100));
  fake->crash = 719;
  EXPECT_OK(launch("crash")); // it is in the stream
  for (int round = 0; round < 2; ++round)
    EXPECT_FAILS(METATE_E_INTERNAL, launch("check", Arguments().add(x).add(y)), "kernel 'check'",
                 "the device is lost", "CUDA_ERROR_LAUNCH_FAILED");
  metate_device *cpu = nullptr;
  metate_memory *memory = nullptr;
  int32_t value = 7, got = 0;
  ASSERT_OK(metate_device_open(nullptr, &cpu));
  ASSERT_OK(metate_memory_create(cpu, 64, 0, &memory));
  EXPECT_OK(metate_memory_write(memory, 0, &value, 4));
  EXPECT_OK(metate_memory_read(memory, 0, &got, 4));
  EXPECT_EQ(got, 7);
  EXPECT_OK(metate_memory_destroy(memory));
  EXPECT_OK(metate_device_close(cpu));
}

TEST_F(CudaTest, memoryOfOthersIsTold) {
  ASSERT_OK(open());
  const struct {
    int kind;
    bool isSound;
  } cases[] = {
      {FAKE_OWN, true}, {FAKE_OTHER_CONTEXT, false}, {FAKE_MANAGED, true}, {FAKE_POOL, true}};
  for (auto [kind, isSound] : cases) {
    uint64_t address = fake->allocate(1000, kind);
    void *data = reinterpret_cast<void *>(uintptr_t(address));
    metate_memory *memory = nullptr;
    if (isSound) {
      ASSERT_OK(metate_memory_wrap(device, data, 1000, &memory));
      int value = 7, got = 0;
      EXPECT_OK(metate_memory_write(memory, 996, &value, 4));
      EXPECT_OK(metate_memory_read(memory, 996, &got, 4));
      EXPECT_EQ(got, 7);
      EXPECT_OK(metate_memory_destroy(memory));
    } else {
      EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_memory_wrap(device, data, 1000, &memory),
                   "device or managed memory");
    }
    EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_memory_wrap(device, data, 1001, &memory),
                 "expected 1001 bytes");
    fake->release(address);
  }
}

TEST_F(CudaTest, theApplicationsStreamIsUsed) {
  ASSERT_OK(openOnStream());
  EXPECT_EQ(fake->liveContexts, 0);
  EXPECT_EQ(fake->liveStreams, 0);
  ASSERT_OK(openModule(file()));
  auto x = make(std::vector<int32_t>(10));
  ASSERT_OK(launch("fill", Arguments().add(x).add(3, METATE_I32)));
  EXPECT_EQ(fake->lastStream, &ownStream);
  EXPECT_EQ(read(x), std::vector<int32_t>(10, 3));
}

// A kernel that neither fails nor prints: one call for each task.
TEST_F(CudaTest, aPlainLaunchIsOneCall) {
  openAll();
  auto x = make(std::vector<int32_t>(100));
  auto out = make(std::vector<int64_t>(1));
  auto count = [&] {
    fake->launches = fake->submissions = fake->updates = fake->waits = fake->allocations =
        fake->uploads = fake->questions = 0;
  };
  auto fill = [&](uint64_t value) {
    return launch("fill", Arguments().add(x).add(value, METATE_I32));
  };
  count();
  for (uint64_t i = 0; i < 50; ++i)
    ASSERT_OK(fill(i));
  EXPECT_EQ(fake->launches, 50);
  EXPECT_EQ(fake->waits + fake->allocations + fake->uploads + fake->questions, 0);
  EXPECT_EQ(fake->grid, 2u);
  EXPECT_EQ(fake->block, 64u);
  EXPECT_EQ(read(x)[99], 49);
  // A frame is written where it is another one.
  auto total = [&] { return launch("total", Arguments().add(x).add(out)); };
  ASSERT_OK(total());
  count();
  for (int i = 0; i < 50; ++i)
    ASSERT_OK(total());
  EXPECT_EQ(fake->launches, 100);
  EXPECT_EQ(fake->waits + fake->allocations + fake->uploads + fake->questions, 0);
  EXPECT_EQ(read(out)[0], 4900);
  // One that may fail waits once.
  auto y = make(std::vector<int32_t>(100));
  auto check = [&] { return launch("check", Arguments().add(x).add(y)); };
  ASSERT_OK(check());
  count();
  ASSERT_OK(check());
  EXPECT_EQ(fake->waits, 1);
  EXPECT_EQ(fake->allocations + fake->uploads + fake->questions, 0);
}

// A kernel that is launched again and again is a graph: one call for all of its tasks, and one for each that is given something else.
TEST_F(CudaTest, repeatedLaunchesAreOneSubmission) {
  openAll();
  auto x = make(std::vector<int32_t>(100, 2)), other = make(std::vector<int32_t>(300, 3));
  auto out = make(std::vector<int64_t>(1));
  auto count = [&] { fake->launches = fake->submissions = fake->updates = 0; };
  auto total = [&](auto &array) { return launch("total", Arguments().add(array).add(out)); };
  for (int i = 0; i < 20; ++i)
    ASSERT_OK(total(x));
  EXPECT_EQ(read(out)[0], 200);
  count();
  ASSERT_OK(total(x));
  EXPECT_EQ(fake->submissions, 1);
  EXPECT_EQ(fake->launches, 2);
  EXPECT_EQ(fake->updates, 0);
  ASSERT_OK(total(other)); // other slots, another grid
  EXPECT_EQ(fake->submissions, 2);
  EXPECT_EQ(fake->updates, 2);
  EXPECT_EQ(read(out)[0], 900);
  ASSERT_OK(total(x));
  EXPECT_EQ(read(out)[0], 200);
  // Slots of a launch that waits in the stream are not those of the next one.
  auto y = make(std::vector<int32_t>(100));
  for (uint64_t i = 0; i < 20; ++i)
    ASSERT_OK(launch("fill", Arguments().add(i % 2 ? x : y).add(i, METATE_I32)));
  EXPECT_EQ(read(x), std::vector<int32_t>(100, 19));
  EXPECT_EQ(read(y), std::vector<int32_t>(100, 18));
  // Whoever asks for times gets them, task by task.
  Told told;
  ASSERT_OK(told.listen(device));
  count();
  ASSERT_OK(total(x));
  EXPECT_EQ(fake->submissions, 0);
  EXPECT_EQ(told.tasks.size(), 2u);
}

// One that runs kernels is one too, as long as it runs the same ones, and not very many.
TEST_F(CudaTest, graphsAreSubmissions) {
  openAll();
  auto x = make(std::vector<int32_t>(100));
  auto out = make(std::vector<int64_t>(1));
  auto relay = [&](int64_t turns) {
    ASSERT_OK(launch("relay", Arguments().add(x).add(uint64_t(turns), METATE_I64).add(out)));
    EXPECT_EQ(read(out)[0], (turns * 10 - 9) * 100);
  };
  auto repeat = [&](int64_t turns) {
    fake->submissions = 0;
    for (int i = 0; i < 20; ++i)
      relay(turns);
    return fake->submissions;
  };
  EXPECT_GT(repeat(3), 10);
  EXPECT_GT(repeat(5), 5); // made again
  for (int64_t turns = 6; turns < 9; ++turns)
    repeat(turns);
  EXPECT_EQ(repeat(3), 0); // and not for ever
  EXPECT_EQ(repeat(200), 0);
}

// Not into a graph that the application makes of its stream.
TEST_F(CudaTest, aStreamThatIsCapturedGetsTheTasks) {
  ASSERT_OK(openOnStream());
  ASSERT_OK(openModule(file()));
  auto x = make(std::vector<int32_t>(100));
  auto fill = [&] { return launch("fill", Arguments().add(x).add(4, METATE_I32)); };
  for (int i = 0; i < 20; ++i)
    ASSERT_OK(fill());
  EXPECT_GT(fake->submissions, 0);
  fake->submissions = 0;
  fake->isCapturing = 1;
  ASSERT_OK(fill());
  EXPECT_EQ(fake->submissions, 0);
  fake->isCapturing = 0;
  ASSERT_OK(fill());
  EXPECT_EQ(fake->submissions, 1);
  fake->priority = -1; // which nodes would not have
  ASSERT_OK(fill());
  EXPECT_EQ(fake->submissions, 1);
}

// What the driver refuses is launched task by task.
TEST_F(CudaTest, graphsMayFail) {
  const char *names[] = {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags",
                         "cuGraphExecKernelNodeSetParams", "cuGraphLaunch"};
  for (const char *name : names)
    for (int after : {0, 1}) {
      SCOPED_TRACE(name);
      openAll();
      auto x = make(std::vector<int32_t>(100, 2)), y = make(std::vector<int32_t>(100, 3));
      auto out = make(std::vector<int64_t>(1));
      fake->failing = name;
      fake->failAfter = after;
      fake->failResult = 801;
      for (int i = 0; i < 20; ++i) {
        ASSERT_OK(launch("total", Arguments().add(i % 2 ? x : y).add(out)));
        EXPECT_EQ(read(out)[0], i % 2 ? 200 : 300);
      }
      fake->failing = nullptr;
      drop();
      EXPECT_EQ(fake->liveGraphs, 0);
    }
}

TEST_F(CudaTest, theGpuIsInspected) {
  ASSERT_OK(open());
  auto machine = sized<metate_machine_info>();
  ASSERT_OK(metate_device_inspect(device, &machine));
  EXPECT_EQ(machine.memory_bytes, uint64_t(2) << 30);
  EXPECT_EQ(machine.version[0], 12u);
  EXPECT_EQ(machine.version[1], 4u);
  EXPECT_EQ(machine.features, 63u);
  fake->failing = "cuMemGetInfo_v2";
  fake->failAfter = 0;
  fake->failResult = 801;
  EXPECT_FAILS(METATE_E_INTERNAL, metate_device_inspect(device, &machine), "cuMemGetInfo");
  EXPECT_EQ(machine.memory_bytes, uint64_t(2) << 30); // it is left as it was
}

// Times of tasks: events around each, for whoever asks; a launch waits for them.
TEST_F(CudaTest, tasksAreTimedByEvents) {
  openAll();
  auto x = make(std::vector<int32_t>(100));
  auto out = make(std::vector<int64_t>(1));
  Told told;
  ASSERT_OK(told.listen(device));
  ASSERT_OK(launch("total", Arguments().add(x).add(out)));
  ASSERT_OK(launch("fill", Arguments().add(x).add(5, METATE_I32)));
  ASSERT_EQ(told.tasks.size(), 3u);
  // Lines as grid_module.cpp writes them; an invocation takes 0.25 ms, a launch 1 ms.
  EXPECT_EQ(told.tasks[0], (Told::Task{0, 4, 1, 1250000}));
  EXPECT_EQ(told.tasks[1], (Told::Task{1, 5, 1, 1250000}));
  EXPECT_EQ(told.tasks[2], (Told::Task{0, 3, 100, 1000000 + 128 * 250000}));
  EXPECT_EQ(told.launches, 2u);
  EXPECT_EQ(fake->liveEvents, 0);
  // Any call may fail.
  fake->failResult = 801;
  for (const char *call : {"cuEventCreate", "cuEventRecord", "cuEventElapsedTime"})
    for (int after : {0, 1}) {
      fake->failing = call;
      fake->failAfter = after;
      EXPECT_FAILS(METATE_E_INTERNAL, launch("total", Arguments().add(x).add(out)), call);
      fake->failing = nullptr;
      EXPECT_EQ(fake->liveEvents, 0);
    }
  EXPECT_EQ(told.tasks.size(), 3u); // of a launch that failed nothing
  // Nobody asks: nothing is measured.
  ASSERT_OK(metate_device_profile(device, nullptr));
  fake->failing = "cuEventCreate";
  fake->failAfter = 0;
  EXPECT_OK(launch("total", Arguments().add(x).add(out)));
}

// More heads than wait in the stream: pools lie elsewhere each time.
TEST_F(CudaTest, headsWaitForTheirCopies) {
  openAll();
  const metate_kernel *kernel = nullptr;
  ASSERT_OK(metate_module_find_kernel(module, "pooled", &kernel));
  std::vector<DeviceArray<uint64_t>> outs;
  std::vector<DeviceArray<uint8_t>> pools;
  for (size_t i = 0; i < 80; ++i) {
    if (i % 2 == 0)
      outs.push_back(make(std::vector<uint64_t>(2)));
    pools.push_back(make(std::vector<uint8_t>(4096)));
  }
  for (size_t i = 0; i < outs.size(); ++i) {
    metate_pool_memory given[2] = {{pools[2 * i].data, 4096}, {pools[2 * i + 1].data, 4096}};
    auto options = sized<metate_launch_options>();
    options.pool_count = 2;
    options.pools = given;
    Arguments arguments;
    arguments.add(outs[i]);
    ASSERT_OK(metate_kernel_launch_with(kernel, arguments.list.data(), 1, &options));
  }
  for (size_t i = 0; i < pools.size(); ++i) {
    uint64_t got = 0;
    ASSERT_OK(metate_memory_read(pools[i].memory, 0, &got, 8));
    EXPECT_EQ(got, 40 + i % 2) << i;
  }
}

TEST_F(CudaTest, theBestImageIsTaken) {
  ASSERT_OK(open());
  EXPECT_OK(openImages({text(70), binary(86)}));
  EXPECT_EQ(fake->lastImage, 2);
  EXPECT_OK(openImages({text(70), binary(80)})); // of an older one of its generation
  EXPECT_EQ(fake->lastImage, 2);
  EXPECT_OK(openImages({binary(90), text(70), binary(75)})); // newer; of another generation
  EXPECT_EQ(fake->lastImage, 1);
  EXPECT_OK(openImages({text(70), gridText("damaged", 80)})); // the next one does
  EXPECT_EQ(fake->lastImage, 1);
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openImages({binary(90), binary(75), text(87)}),
               "no image for a GPU of compute capability 8.6");
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openImages({gridText("damaged", 80)}), "module 'grid'",
               "CUDA_ERROR_INVALID_PTX", "line 1: no such instruction");
  fake->threadsPerBlock = 63;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openImages({text(70)}), "task 'fill' is for 64",
               "room for 63");
}

TEST_F(CudaTest, sharedMemoryIsAskedFor) {
  ASSERT_OK(open());
  GridSpec spec = gridSpec({text(70)});
  auto openWith = [&](uint32_t bytes) {
    spec.kernels[GRID_SAY].tasks[0].shared = bytes;
    return openModule(gridFile(METATE_ARCH_CUDA, 70, spec));
  };
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openWith(1u << 31), "task 'say' needs 2147483648 bytes",
               "shared memory", "this GPU does not have");
  fake->failing = "cuFuncSetAttribute";
  fake->failAfter = 0;
  fake->failResult = 1;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openWith(100000), "task 'say' needs 100000 bytes",
               "this GPU does not have");
  fake->failing = nullptr;
  EXPECT_OK(openWith(100000)); // more than is free without asking
}

TEST_F(CudaTest, variantsAreJudged) {
  ASSERT_OK(open());
  metate_module *opened = nullptr;
  Bytes newer = file(90);
  EXPECT_FAILS(METATE_E_UNSUPPORTED,
               metate_module_open_bytes(device, newer.data(), newer.size(), 0, &opened),
               "needs compute capability 9.0, this GPU has 8.6");
  ModuleSpec spec = gridModuleSpec(METATE_ARCH_CUDA, 70);
  spec.variants.push_back(spec.variants[0]);
  spec.variants[1].level = 80;
  Bytes head = descriptor(spec);
  Bytes both = carrier(
      head, {gridPayload(gridSpec({text(70)}), head), gridPayload(gridSpec({binary(80)}), head)});
  ASSERT_OK(openModule(both));
  auto info = sized<metate_module_info>();
  ASSERT_OK(metate_module_describe(module, &info));
  EXPECT_EQ(info.variant, 1u);
}

// A device can be opened again and again, beside another one.
TEST_F(CudaTest, devicesShareNothing) {
  ASSERT_OK(open());
  metate_device *first = device;
  auto options = sized<metate_cuda_options>();
  options.ordinal = 1;
  ASSERT_OK(open(&options));
  EXPECT_EQ(fake->liveContexts, 2);
  EXPECT_OK(metate_device_close(first));
  ASSERT_OK(openModule(file()));
  auto x = make(std::vector<int32_t>(10));
  ASSERT_OK(launch("fill", Arguments().add(x).add(3, METATE_I32)));
  EXPECT_EQ(read(x), std::vector<int32_t>(10, 3));
}

// Devices beside one another have one context; the last one closes it.
TEST_F(CudaTest, devicesBesideShareAContext) {
  ASSERT_OK(open());
  metate_device *first = device;
  ASSERT_OK(metate_device_open_beside(first, nullptr, &device));
  EXPECT_EQ(fake->liveContexts, 1);
  EXPECT_OK(metate_device_close(first));
  EXPECT_EQ(fake->liveContexts, 1);
  ASSERT_OK(openModule(file()));
  auto x = make(std::vector<int32_t>(10));
  ASSERT_OK(launch("fill", Arguments().add(x).add(3, METATE_I32)));
  EXPECT_EQ(read(x), std::vector<int32_t>(10, 3));
  drop();
  EXPECT_EQ(fake->liveContexts, 0);
}
