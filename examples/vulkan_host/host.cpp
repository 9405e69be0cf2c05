// The RFC's program in an application that has its own instance, device, queue, memory and command buffer, as an engine has:
//   vulkan_host MODULE.metate
// The tree and the picture are VkBuffers of the application's. Kernels run at once, and in the application's command buffer between
// its own commands. Ends with 77 where there is no device.
#include "application.hpp"
#include "rfc/device_program.hpp"

#include "metate/metate_vulkan.h"

#include <cstring>

namespace {

using host::Application;
using host::Buffer;

constexpr int noDevice = 77;
constexpr VkDeviceSize pictureBytes = rfc::side * rfc::side * sizeof(int32_t);

metate::Device openDevice(const Application &application) {
  auto options = metate::sized<metate_vulkan_options>();
  options.instance = application.instance;
  options.physical_device = application.physical;
  options.device = application.device;
  options.queue = application.queue;
  options.queue_family = application.family;
  options.features = application.features;
  auto hooks = rfc::printing();
  metate_device *device = nullptr;
  host::check(metate_vulkan_device_open(&options, &hooks, &device), "metate_vulkan_device_open");
  return metate::Device::adopt(device);
}

// A buffer's address, as kernels get it.
uint64_t addressOf(const metate::Device &device, const Buffer &buffer) {
  uint64_t address = 0;
  host::check(metate_vulkan_address(device.get(), buffer.handle, buffer.bytes, &address),
              "metate_vulkan_address");
  return address;
}

// draw(tree, picture), between a command that clears the picture and one that fetches it.
std::vector<int32_t> drawInCommands(Application &application, const metate::Device &device,
                                    const rfc::Program &program, const metate::Tree &tree,
                                    const Buffer &picture, uint64_t address) {
  Buffer fetched(application, pictureBytes, host::Reach::host);
  const int64_t shape[2] = {rfc::side, rfc::side};
  metate_array array{
      reinterpret_cast<void *>(uintptr_t(address)), METATE_I32, 2, 0, 0, shape, nullptr};
  metate_argument arguments[2] = {};
  arguments[0].kind = METATE_ARGUMENT_TREE;
  arguments[0].value.tree = tree.get();
  arguments[1].kind = METATE_ARGUMENT_NDARRAY;
  arguments[1].value.array = &array;

  VkCommandBuffer commands = application.begin();
  vkCmdFillBuffer(commands, picture.handle, 0, pictureBytes, 0);
  metate_vulkan_recording *recording = nullptr;
  host::check(metate_vulkan_recording_open(device.get(), commands, &recording),
              "metate_vulkan_recording_open");
  host::check(metate_vulkan_record(recording, program.draw.get(), arguments, 2, nullptr),
              "metate_vulkan_record");
  VkBufferCopy all{0, 0, pictureBytes};
  vkCmdCopyBuffer(commands, picture.handle, fetched.handle, 1, &all);
  application.submit(commands); // and waits
  host::check(metate_vulkan_recording_finish(recording), "metate_vulkan_recording_finish");
  host::check(metate_vulkan_recording_close(recording), "metate_vulkan_recording_close");

  std::vector<int32_t> pixels(rfc::side * rfc::side);
  std::memcpy(pixels.data(), fetched.mapped, pictureBytes);
  return pixels;
}

void run(Application &application, const char *path) {
  metate::Device device = openDevice(application);
  rfc::Program program(path, device);
  Buffer block(application, program.bytes(), host::Reach::device);
  Buffer picture(application, pictureBytes, host::Reach::device);
  {
    metate::Tree tree = program.bind(addressOf(device, block));
    uint64_t pixels = addressOf(device, picture);
    program.fill(tree, 1.0f);
    std::printf("== ab_aos run1 0\n");
    program.run(tree);
    std::printf("== picture\n");
    rfc::printPicture(drawInCommands(application, device, program, tree, picture, pixels));
    host::check(metate_vulkan_forget(device.get(), pixels), "metate_vulkan_forget");
  }
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: vulkan_host MODULE.metate\n");
    return 2;
  }
  try {
    Application application;
    if (!application.device) {
      std::fprintf(stderr, "vulkan_host: no device here that runs kernels: %s\n",
                   application.problem.c_str());
      return noDevice;
    }
    std::printf("-- device %s\n", application.name.c_str());
    run(application, argv[1]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "vulkan_host: %s\n", error.what());
    return 1;
  }
  return 0;
}
