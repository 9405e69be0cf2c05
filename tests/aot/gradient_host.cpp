// A C++ host with a tree and its gradient in memory of its own: finds the derivative by its kernel, and the types of both by the
// names of the arguments. Prints the loss, and the gradient's active cells. gradient_host FILE
#include <metate/metate.hpp>

#include <cstdio>

namespace {

struct Memory {
  std::vector<std::byte> bytes;
  std::byte *data() { return bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64); }
  size_t size() const { return bytes.size() - 64; }
  explicit Memory(uint64_t count) : bytes(count + 64, std::byte{0x5a}) {}
};

void run(const char *path) {
  auto device = metate::Device::open();
  auto module = metate::Module::open(path, device);
  metate::Kernel energy = module.kernel("energy"), backward = energy.grad();
  const metate::Capacities few{{"pointer0", 3}};
  metate::TreeType type = energy.tree_type("t"), ofGradient = backward.tree_type("t.grad");
  if (std::string(ofGradient.describe().name) != "grid_grad")
    throw std::runtime_error("the gradient's type has another name");
  Memory memory(type.size(few)), gradientMemory(ofGradient.size(few));
  metate::Tree tree = type.bind(memory, few), gradient = ofGradient.bind(gradientMemory, few);

  float loss = 0, lossGradient = 1;
  module.kernel("fill")(tree);
  energy(tree, 3.0f, metate::ArrayView<float>{&loss, {}});
  backward(tree, 3.0f, metate::ArrayView<float>{&loss, {}}, gradient,
           metate::ArrayView<float>{&lossGradient, {}});
  std::printf("loss %g\n", double(loss));
  auto cells = gradient.cells<float>("h");
  for (size_t n = 0; n < cells.size(); ++n)
    if (cells.values[n] != 0)
      std::printf("%d %d %g\n", int(cells.at(n)[0]), int(cells.at(n)[1]), double(cells.values[n]));
}

} // namespace

int main(int, char **argv) {
  try {
    run(argv[1]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
