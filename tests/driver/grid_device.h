// What tests of devices of grids share: a device's arrays, launches on them, and what was printed.
#ifndef METATE_TESTS_GRID_DEVICE_H
#define METATE_TESTS_GRID_DEVICE_H

#include "fixture.h"
#include "grid_module.h"

#include <unistd.h>

namespace metate::test {

class GridDevice : public ::testing::Test {
protected:
  metate_device *device = nullptr;
  metate_module *module = nullptr;
  std::vector<metate_memory *> memories;
  std::string printed;
  metate_print_sink sink{this, [](void *self, const char *text, size_t bytes) {
                           static_cast<GridDevice *>(self)->printed.append(text, bytes);
                         }};

  metate_device_hooks hooks() {
    auto hooks = sized<metate_device_hooks>();
    hooks.print = &sink;
    return hooks;
  }
  void TearDown() override { drop(); }
  void drop() {
    for (metate_memory *memory : memories)
      EXPECT_OK(metate_memory_destroy(memory));
    memories.clear();
    if (module)
      EXPECT_OK(metate_module_close(module));
    if (device)
      EXPECT_OK(metate_device_close(device));
    module = nullptr;
    device = nullptr;
  }
  metate_status openModule(const Bytes &file) {
    return metate_module_open_bytes(device, file.data(), file.size(), 0, &module);
  }

  // An array of the device's.
  template <typename T> struct DeviceArray {
    metate_memory *memory;
    T *data; // not for the host
    int64_t count;
    metate_array array;
  };
  template <typename T> DeviceArray<T> make(const std::vector<T> &values) {
    DeviceArray<T> made{};
    EXPECT_OK(metate_memory_create(device, values.size() * sizeof(T), 0, &made.memory));
    memories.push_back(made.memory);
    auto info = sized<metate_memory_info>();
    EXPECT_OK(metate_memory_describe(made.memory, &info));
    EXPECT_NE(info.elsewhere, 0u);
    EXPECT_OK(metate_memory_write(made.memory, 0, values.data(), values.size() * sizeof(T)));
    made.data = static_cast<T *>(info.data);
    made.count = int64_t(values.size());
    return made;
  }
  template <typename T> std::vector<T> read(const DeviceArray<T> &array) {
    std::vector<T> values(size_t(array.count));
    EXPECT_OK(metate_memory_read(array.memory, 0, values.data(), values.size() * sizeof(T)));
    return values;
  }

  template <typename T> static constexpr uint32_t dtypeOf() {
    if constexpr (std::is_signed_v<T>)
      return sizeof(T) == 4 ? METATE_I32 : METATE_I64;
    return sizeof(T) == 1 ? METATE_U8 : METATE_U64;
  }

  // Arguments of a launch.
  class Arguments {
  public:
    template <typename T> Arguments &add(DeviceArray<T> &array) {
      array.array = {array.data, dtypeOf<T>(), 1, 0, 0, &array.count, nullptr};
      return add(array.array);
    }
    Arguments &add(const metate_array &array) {
      metate_argument argument{};
      argument.kind = METATE_ARGUMENT_NDARRAY;
      argument.value.array = &array;
      list.push_back(argument);
      return *this;
    }
    Arguments &add(uint64_t bits, uint32_t dtype) {
      metate_argument argument{};
      argument.kind = METATE_ARGUMENT_SCALAR;
      argument.dtype = dtype;
      argument.rows = argument.columns = 1;
      argument.value.bits = bits;
      list.push_back(argument);
      return *this;
    }
    std::vector<metate_argument> list;
  };
  metate_status launch(const char *name, const Arguments &arguments = {},
                       const uint32_t *interrupt = nullptr) {
    const metate_kernel *kernel = nullptr;
    EXPECT_OK(metate_module_find_kernel(module, name, &kernel));
    return metate_kernel_launch_interruptible(kernel, arguments.list.data(),
                                              uint32_t(arguments.list.size()), interrupt);
  }
};

// What a device tells of its launches and tasks.
struct Told {
  struct Task {
    uint32_t task, line;
    int64_t iterations;
    uint64_t took;
    bool operator==(const Task &) const = default;
  };
  std::vector<Task> tasks;
  uint64_t launches = 0, took = 0; // of the launches together

  metate_status listen(metate_device *device) {
    metate_profiler profiler{};
    profiler.self = this;
    profiler.launch = [](void *self, const metate_kernel *, uint64_t begin, uint64_t end,
                         uint64_t) {
      auto &told = *static_cast<Told *>(self);
      ++told.launches;
      told.took += end - begin;
    };
    profiler.task = [](void *self, const metate_kernel *, uint32_t task, uint32_t line,
                       int64_t iterations, uint64_t begin, uint64_t end) {
      static_cast<Told *>(self)->tasks.push_back({task, line, iterations, end - begin});
    };
    return metate_device_profile(device, &profiler);
  }
};

// The shared object of grid_kernels.c.
inline Bytes gridObject() { return readWhole(METATE_GRID_KERNELS); }

#ifdef METATE_GRID_WORDS
// Its SPIR-V, which needs 64-bit atomics.
inline bool hasGridWords() { return access(METATE_GRID_WORDS, R_OK) == 0; }
inline GridSpec gridWords() {
  GridSpec spec =
      gridSpec({{METATE_GRID_SPIRV, METATE_FEATURE_I64_ATOMICS, readWhole(METATE_GRID_WORDS)}});
  spec.constants = readWhole(METATE_GRID_WORDS ".constants");
  return spec;
}
// Without a GPU, Mesa's CPU, where it is installed.
inline void useMesasCpu() {
  const char *file = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
  if (access(file, R_OK) == 0)
    setenv("VK_ICD_FILENAMES", file, /*overwrite=*/0);
}
#endif

} // namespace metate::test

#endif
