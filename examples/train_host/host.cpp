// A C++ program that trains: opens the module that `network.py --save` wrote, brings the memory of the network and of its
// gradients, and descends. No Python, no compiler: the derivatives are kernels of the module, found by the kernels that they are of.
//
//   train_host FOLDER [--steps N] [--threads N]    reads FOLDER/network.metate, writes FOLDER/learned.txt: x, wanted, learned
#include "../demo/host_hooks.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

constexpr int64_t neuronCount = 24, pointCount = 200;
constexpr float rate = 0.05f;

// An array of the host's, and its gradient.
struct Variable {
  std::vector<int64_t> shape;
  std::vector<float> values, gradients;

  explicit Variable(std::vector<int64_t> extents) : shape(std::move(extents)) {
    size_t count = 1;
    for (int64_t extent : shape)
      count *= size_t(extent);
    values.resize(count);
    gradients.resize(count);
  }
  metate::ArrayView<float> value() { return {values.data(), shape}; }
  metate::ArrayView<float> gradient() { return {gradients.data(), shape}; }
  void forget(float gradient = 0) { std::fill(gradients.begin(), gradients.end(), gradient); }
};

struct Points {
  std::vector<float> x = std::vector<float>(pointCount), wanted = x;

  Points() {
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = float(-1 + 2.0 * double(i) / double(pointCount - 1));
      wanted[i] = std::sin(5 * x[i]) * std::exp(-x[i]);
    }
  }
};

// Neurons that bend at different places, and add nothing yet.
Variable beginning() {
  Variable neurons({neuronCount, 3});
  for (int64_t k = 0; k < neuronCount; ++k) {
    neurons.values[size_t(3 * k)] = 6;
    neurons.values[size_t(3 * k + 1)] = float(-6 * (2.0 * double(k) / double(neuronCount - 1) - 1));
  }
  return neurons;
}

void run(const std::filesystem::path &folder, int steps, uint32_t threads) {
  metate_executor executor{nullptr, demo::parallelFor, threads, 0};
  metate_device_hooks hooks{sizeof hooks, 0, nullptr, threads > 1 ? &executor : nullptr, nullptr};
  auto device = metate::Device::open(&hooks);
  auto module = metate::Module::open((folder / "network.metate").c_str(), device);
  metate::Kernel predict = module.kernel("predict"), measure = module.kernel("measure"),
                 descend = module.kernel("descend");
  metate::Kernel predictBackward = predict.grad(), measureBackward = measure.grad();

  Points points;
  Variable neurons = beginning(), learned({pointCount}), loss({}), momentum({neuronCount, 3});
  for (int step = 0; step < steps; ++step) {
    loss.values[0] = 0;
    predict(points.x, neurons.value(), learned.value());
    measure(learned.value(), points.wanted, loss.value());
    std::printf("step %4d loss %.6f\n", step, double(loss.values[0]));

    // Backwards: each takes its kernel's arguments, then the gradients of those that have one.
    neurons.forget();
    learned.forget();
    loss.forget(1);
    measureBackward(learned.value(), points.wanted, loss.value(), learned.gradient(),
                    loss.gradient());
    predictBackward(points.x, neurons.value(), learned.value(), neurons.gradient(),
                    learned.gradient());
    descend(rate, neurons.value(), neurons.gradient(), momentum.value());
  }

  std::FILE *file = std::fopen((folder / "learned.txt").c_str(), "w");
  for (size_t i = 0; file && i < points.x.size(); ++i)
    std::fprintf(file, "%.6f %.6f %.6f\n", double(points.x[i]), double(points.wanted[i]),
                 double(learned.values[i]));
  if (!file || std::fclose(file))
    throw std::runtime_error("cannot write learned.txt");
}

} // namespace

int main(int argc, char **argv) {
  long long steps = 400, threads = 1;
  bool understood = argc >= 2 && argc % 2 == 0;
  for (int k = 2; k + 1 < argc; k += 2) {
    std::string option = argv[k];
    long long *chosen = option == "--steps" ? &steps : option == "--threads" ? &threads : nullptr;
    if (chosen)
      *chosen = std::atoll(argv[k + 1]);
    understood = understood && chosen && *chosen > 0;
  }
  if (!understood) {
    std::fprintf(stderr, "usage: train_host FOLDER [--steps N] [--threads N]\n");
    return 2;
  }
  try {
    run(argv[1], int(steps), uint32_t(threads));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "train_host: %s\n", error.what());
    return 1;
  }
  return 0;
}
