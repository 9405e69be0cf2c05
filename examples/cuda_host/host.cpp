// The RFC's program in an application that has its own context, stream and memory of CUDA's:
//   cuda_host MODULE.metate
// Kernels, clearing and fetching are all in the application's stream, which it waits for once. Ends with 77 where there is no driver
// or no GPU. The environment variable METATE_CUDA_LIBRARY names another file than libcuda.so.1.
#include "driver.hpp"
#include "rfc/device_program.hpp"

#include "metate/metate_cuda.h"

#include <cstdlib>

namespace {

using host::check;

constexpr int noDevice = 77;

void checkMetate(metate_status status, const char *function) {
  if (status != METATE_OK)
    throw std::runtime_error(std::string(function) + ": " + metate_status_name(status) + ": " +
                             metate_last_error());
}

// A context and a stream, as an application has them.
struct Application {
  const host::Driver &cuda;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  std::string name;

  explicit Application(const host::Driver &cuda) : cuda(cuda) {
    CUdevice device = 0;
    char text[128] = "";
    check(cuda.deviceGet(&device, 0), "cuDeviceGet");
    check(cuda.deviceName(text, sizeof text, device), "cuDeviceGetName");
    name = text;
    check(cuda.contextCreate(&context, 0, device), "cuCtxCreate");
    check(cuda.streamCreate(&stream, 0), "cuStreamCreate");
  }
  ~Application() {
    cuda.streamDestroy(stream);
    cuda.contextDestroy(context);
  }
  Application(const Application &) = delete;
  Application &operator=(const Application &) = delete;
};

// Memory of the application's.
struct Memory {
  const Application &application;
  CUdeviceptr address = 0;

  Memory(const Application &application, size_t bytes) : application(application) {
    check(application.cuda.allocate(&address, bytes), "cuMemAlloc");
  }
  ~Memory() { application.cuda.release(address); }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
};

metate::Device openDevice(const Application &application) {
  auto options = metate::sized<metate_cuda_options>();
  options.context = application.context;
  options.stream = application.stream;
  auto hooks = rfc::printing();
  metate_device *device = nullptr;
  checkMetate(metate_cuda_device_open(&options, &hooks, &device), "metate_cuda_device_open");
  return metate::Device::adopt(device);
}

void run(const Application &application, const char *path) {
  const host::Driver &cuda = application.cuda;
  metate::Device device = openDevice(application);
  rfc::Program program(path, device);
  std::vector<int32_t> pixels(rfc::side * rfc::side);
  const size_t bytes = pixels.size() * sizeof(int32_t);
  Memory block(application, program.bytes()), picture(application, bytes);
  metate::Tree tree = program.bind(block.address);

  program.fill(tree, 1.0f);
  std::printf("== ab_aos run1 0\n");
  program.run(tree);
  check(cuda.clear(picture.address, 0, bytes, application.stream), "cuMemsetD8Async");
  program.draw(tree, metate::ArrayView<int32_t>(reinterpret_cast<int32_t *>(picture.address),
                                                {rfc::side, rfc::side}));
  check(cuda.fetch(pixels.data(), picture.address, bytes, application.stream), "cuMemcpyDtoHAsync");
  check(cuda.streamSynchronize(application.stream), "cuStreamSynchronize");
  std::printf("== picture\n");
  rfc::printPicture(pixels);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: cuda_host MODULE.metate\n");
    return 2;
  }
  try {
    const char *named = std::getenv("METATE_CUDA_LIBRARY");
    host::Driver cuda;
    std::string problem = cuda.open(named && *named ? named : "libcuda.so.1");
    if (!problem.empty()) {
      std::fprintf(stderr, "cuda_host: no CUDA driver here: %s\n", problem.c_str());
      return noDevice;
    }
    Application application(cuda);
    std::printf("-- device %s\n", application.name.c_str());
    run(application, argv[1]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "cuda_host: %s\n", error.what());
    return 1;
  }
  return 0;
}
