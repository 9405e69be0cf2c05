// A graph of a .metate file in a C++ host: usage: graph_host graph.metate. Prints its numbers.
#include <metate/metate.hpp>

#include <cstdio>

int main(int, char **arguments) {
  metate::Device device = metate::Device::open();
  metate::Module module = metate::Module::open(arguments[1], device);
  metate::Tree weights = module.tree_type("weights").make();
  std::vector<float> x(8);
  module.kernel("steps")(x, 0.5f, int32_t(3), weights);
  for (float number : x)
    std::printf(" %a", double(number));
  std::printf("\n");
}
