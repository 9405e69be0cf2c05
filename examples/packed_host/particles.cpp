// Packed particles in a C++ program: opens the module that `packed.py --save` wrote, brings the memory of the particles, writes
// and reads whole members as arrays of float, runs, and saves the tree, which a later run may go on from.
//
//   packed_particles FOLDER [--steps N] [--threads N] [--from FILE]     reads FOLDER/packed.metate, writes FOLDER/particles.tree
#include "../demo/host_hooks.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

constexpr float dt = 1e-3f;

// How a member is stored, as a host asks for it.
void describe(const metate::TreeType &type, const char *name) {
  metate_level_description member = type.member(name);
  const char *kinds[] = {"", "integer", "fixed-point number", "float"};
  std::printf("  %-4s %s of %u bits in a word of %u%s\n", name, kinds[member.quant.kind],
              member.quant.bits, 8 * member.quant.word_bytes,
              member.quant.flags & METATE_QUANT_SHARED ? ", its exponent shared" : "");
}

// Particles spread evenly by the golden ratio of the plane, each thrown in a direction of its own.
void fill(metate::Tree &tree, size_t count) {
  std::vector<float> where(2 * count), speed(2 * count);
  std::vector<uint32_t> kinds(count);
  for (size_t i = 0; i < count; ++i) {
    double a = 0.5 + double(i) * 0.7548776662466927, b = 0.5 + double(i) * 0.5698402909980532;
    where[2 * i] = float(0.1 + 0.8 * (a - std::floor(a)));
    where[2 * i + 1] = float(0.1 + 0.8 * (b - std::floor(b)));
    speed[2 * i] = float(2 * std::sin(double(i)));
    speed[2 * i + 1] = float(2 * std::cos(double(i)));
    kinds[i] = uint32_t(i % 16);
  }
  tree.write_members({"x", "y"}, where);
  tree.write_members({"vx", "vy"}, speed); // the pair, with the exponent that both need
  tree.write_dense("kind", kinds);
}

double energyOf(const metate::Kernel &kernel, const metate::Tree &tree) {
  double energy = 0;
  kernel(tree, metate::ArrayView<double>{&energy, {}});
  return energy;
}

void run(const std::filesystem::path &folder, int steps, uint32_t threads, const char *from) {
  demo::CountingAllocator allocator;
  metate_executor executor{nullptr, demo::parallelFor, threads, 0};
  metate_device_hooks hooks{sizeof hooks, 0, nullptr, threads > 1 ? &executor : nullptr, nullptr};
  auto device = metate::Device::open(&hooks);
  auto module = metate::Module::open((folder / "packed.metate").c_str(), device);
  auto type = module.tree_type("particles");
  auto advance = module.kernel("advance"), energy = module.kernel("energy");
  const auto count = size_t(type.member("x").shape[0]);
  std::printf("%zu particles in %llu bytes, %zu as floats and ints\n", count,
              static_cast<unsigned long long>(type.size()), count * 20);
  for (const char *name : {"x", "y", "kind", "vx", "vy"})
    describe(type, name);

  demo::TreeMemory memory(allocator, type.size(), type.align());
  metate::Tree tree = from ? type.load(from) : type.bind(memory);
  if (!from)
    fill(tree, count);
  const double before = energyOf(energy, tree);
  for (int step = 0; step < steps; ++step)
    advance(tree, dt);
  const double after = energyOf(energy, tree);

  std::vector<double> heights(16);
  std::vector<int64_t> counts(16);
  module.kernel("heights")(tree, heights, counts);
  std::vector<float> where(2 * count);
  tree.read_members({"x", "y"}, where);
  for (float coordinate : where)
    if (!(coordinate > 0.0099f && coordinate < 0.9901f))
      throw std::runtime_error("a particle has left the box");
  std::printf("energy %.6f, after %d steps %.6f\n", before, steps, after);
  for (size_t kind = 0; kind < heights.size(); kind += 5)
    std::printf("kind %zu: %lld particles, mean height %.6f\n", kind,
                static_cast<long long>(counts[kind]), heights[kind] / double(counts[kind]));
  tree.save((folder / "particles.tree").c_str());
}

} // namespace

int main(int argc, char **argv) {
  long long steps = 1000, threads = 1;
  const char *from = nullptr;
  bool understood = argc >= 2 && argc % 2 == 0;
  for (int k = 2; k + 1 < argc; k += 2) {
    std::string option = argv[k];
    long long *chosen = option == "--steps" ? &steps : option == "--threads" ? &threads : nullptr;
    if (chosen)
      *chosen = std::atoll(argv[k + 1]);
    else if (option == "--from")
      from = argv[k + 1];
    understood = understood && (option == "--from" || (chosen && *chosen > 0));
  }
  if (!understood) {
    std::fprintf(stderr,
                 "usage: packed_particles FOLDER [--steps N] [--threads N] [--from FILE]\n");
    return 2;
  }
  try {
    run(argv[1], int(steps), uint32_t(threads), from);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "packed_particles: %s\n", error.what());
    return 1;
  }
  return 0;
}
