// mpm88 in a C++ program: opens the module that `mpm88.py --save` wrote, brings the memory of every field,
// runs, writes a picture and the positions, and checks that no mass was lost and no particle left.
//
//   mpm88_host FOLDER [--steps N] [--threads N]    reads FOLDER/mpm88.metate
//
// The kernels' arguments are found by name: a field is a tree argument that bears the name of its variable.
#include "../demo/host_hooks.hpp"
#include "../demo/png.hpp"

#include "picture.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace {

// The memory and the trees of all fields, by their names.
class Fields {
public:
  explicit Fields(demo::CountingAllocator &allocator) : allocator(allocator) {}

  // Makes what the kernel's tree arguments need and is not there yet; gives the kernel with all of them bound.
  metate::BoundKernel bind(const metate::Kernel &kernel) {
    auto bound = kernel.bind({});
    for (const metate_argument_description &argument : kernel.arguments()) {
      if (argument.kind != METATE_ARGUMENT_TREE)
        continue;
      auto found = trees.find(argument.name);
      if (found == trees.end())
        found = trees.emplace(argument.name, make(metate::TreeType(argument.type))).first;
      bound.set(argument.name, found->second);
    }
    return bound;
  }
  std::size_t count() const { return trees.size(); }

private:
  metate::Tree make(metate::TreeType type) {
    memories.emplace_back(allocator, type.size(), type.align());
    return type.bind(memories.back().data(), memories.back().size());
  }

  demo::CountingAllocator &allocator;
  std::vector<demo::TreeMemory> memories; // outlive the trees below
  std::map<std::string, metate::Tree> trees;
};

// How many elements a field of one dimension has: the module knows.
int64_t countOf(const metate::TreeType &type) {
  uint32_t member = 0;
  auto level = metate::sized<metate_level_description>();
  if (metate_status code = metate_type_find_member(type.get(), "v0", &member))
    throw metate::Exception(metate::Status::of(code));
  if (metate_status code = metate_type_level(type.get(), member, &level))
    throw metate::Exception(metate::Status::of(code));
  return level.shape[0];
}

void run(const std::filesystem::path &folder, int steps, uint32_t threads) {
  demo::CountingAllocator allocator;
  metate_executor executor{nullptr, demo::parallelFor, threads, 0};
  metate_device_hooks hooks{sizeof hooks, 0, nullptr, threads > 1 ? &executor : nullptr, nullptr};
  auto device = metate::Device::open(&hooks);
  auto module = metate::Module::open((folder / "mpm88.metate").c_str(), device);
  Fields fields(allocator);
  auto fill = fields.bind(module.kernel("fill"));
  auto substep = fields.bind(module.kernel("substep"));
  auto positions = fields.bind(module.kernel("positions"));
  auto massOnGrid = fields.bind(module.kernel("mass_on_grid"));

  fill();
  for (int step = 0; step < steps; ++step)
    substep();

  const int64_t particles = countOf(module.kernel("positions").tree_type("x"));
  std::vector<float> points(std::size_t(2 * particles));
  positions(metate::ArrayView<float>{points.data(), {particles, 2}});
  double mass = 0;
  massOnGrid(metate::ArrayView<double>{&mass, {}});
  if (const char *problem = mpm88_check(points.data(), particles, mass))
    throw std::runtime_error(problem);

  std::ofstream(folder / "host_positions.f32", std::ios::binary)
      .write(reinterpret_cast<const char *>(points.data()), std::streamsize(points.size() * 4));
  demo::Array<std::uint8_t> image;
  image.shape = {MPM88_PIXELS, MPM88_PIXELS, 3};
  image.data.resize(MPM88_PIXELS * MPM88_PIXELS * 3);
  mpm88_draw(points.data(), particles, image.data.data());
  demo::writePng(folder / "host.png", image);
  std::printf("%d steps of %lld particles: %zu fields in %zu bytes of the host's, mass %.6g\n",
              steps, static_cast<long long>(particles), fields.count(), allocator.bytes(), mass);
}

} // namespace

int main(int argc, char **argv) {
  long long steps = 2000, threads = 1;
  bool understood = argc >= 2 && argc % 2 == 0;
  for (int k = 2; k + 1 < argc; k += 2) {
    std::string option = argv[k];
    long long *chosen = option == "--steps" ? &steps : option == "--threads" ? &threads : nullptr;
    if (chosen)
      *chosen = std::atoll(argv[k + 1]);
    understood = understood && chosen && *chosen > 0;
  }
  if (!understood) {
    std::fprintf(stderr, "usage: mpm88_host FOLDER [--steps N] [--threads N]\n");
    return 2;
  }
  try {
    run(argv[1], int(steps), uint32_t(threads));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "mpm88_host: %s\n", error.what());
    return 1;
  }
  return 0;
}
