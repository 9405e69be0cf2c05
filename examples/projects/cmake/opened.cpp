// The kernels in a file, for several CPUs: libmetate opens it and takes the best code for this one.
#include "metate/metate.hpp"

#include <cstdio>
#include <vector>

int main(int count, char **words) {
  constexpr int64_t side = 64, steps = 100;
  try {
    auto device = metate::Device::open();
    auto module = metate::Module::open(count > 1 ? words[1] : HEAT_MODULE, device);
    auto diffuse = module.kernel("diffuse"), warmth = module.kernel("warmth");
    std::vector<float> plates[2] = {std::vector<float>(side * side),
                                    std::vector<float>(side * side)};
    auto plate = [&](int64_t k) { return metate::ArrayView(plates[k % 2].data(), {side, side}); };
    for (int64_t j = 0; j < side; ++j)
      plates[0][size_t(j)] = 100.0f; // one border is hot
    for (int64_t step = 0; step < steps; ++step)
      diffuse(plate(step), plate(step + 1));
    double total = 0;
    warmth(plate(steps), metate::ArrayView<double>(&total, {}));
    std::printf("warmth %.3f\n", total);
  } catch (const metate::Exception &error) {
    std::fprintf(stderr, "opened: %s\n", error.what());
    return 1;
  }
}
