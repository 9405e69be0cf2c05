// The story of sparse_host.c through metate.hpp: instances of three sparse tree types in this program's own
// memory, kernels of a module's file; what is measured by the kernels of another module that has the
// same types. Prints a line for each `measure`: the kernel's numbers, and those of a walk over the active
// cells from here. sparse_host MODULE.metate OTHER.metate POINTS
#include <metate/metate.hpp>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>

namespace {

void expect(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "failed: %s (%s)\n", what, metate_last_error());
  std::exit(1);
}

/// Memory of the host's own; what it was before is nobody's business.
struct Memory {
  std::vector<std::byte> bytes;
  std::byte *data() { return bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64); }
  size_t size() const { return bytes.size() - 64; }
  explicit Memory(uint64_t count) : bytes(count + 64, std::byte{0x5a}) {}
};

struct Instance {
  Memory memory[3];
  metate::Tree cells, lists, bins;

  explicit Instance(const metate::Module &module) : Instance(module, {{"hash0", 500}}) {}
  Instance(const metate::Module &module, const metate::Capacities &few)
      : memory{Memory(module.tree_type("cells").size()), Memory(module.tree_type("lists").size()),
               Memory(module.tree_type("bins").size(few))},
        cells(module.tree_type("cells").bind(memory[0])),
        lists(module.tree_type("lists").bind(memory[1])),
        bins(module.tree_type("bins").bind(memory[2], few)) {}
};

/// What the kernel `measure` adds up, from here.
std::array<int64_t, 6> walked(const Instance &of) {
  std::array<int64_t, 6> sums{};
  for (int32_t value : of.cells.cells<int32_t>("a").values) {
    ++sums[0];
    sums[1] += value;
  }
  for (int64_t i = 0; i < 8; ++i)
    sums[2] += int64_t(of.lists.length("dynamic1", {i}));
  for (int32_t value : of.lists.cells<int32_t>("item").values)
    sums[3] += value;
  auto bins = of.bins.cells<int32_t>("count");
  for (size_t n = 0; n < bins.size(); ++n)
    if (bins.values[n] > 0) {
      ++sums[4];
      sums[5] += bins.values[n] * (3 * bins.at(n)[0] + 5 * bins.at(n)[1]);
    }
  return sums;
}

void measure(const metate::Module &module, const Instance &of) {
  std::vector<int64_t> out(7);
  module.kernel("measure")(of.cells, of.lists, of.bins, out);
  for (const metate::Tree *tree : {&of.cells, &of.lists, &of.bins})
    expect(tree->check().ok(), "a sound block");
  auto again = walked(of);
  for (size_t k = 0; k < again.size(); ++k)
    expect(again[k] == out[k], "the host finds what the kernel finds");
  for (size_t k = 0; k < out.size(); ++k)
    std::printf("%" PRId64 "%c", out[k], k + 1 < out.size() ? ' ' : '\n');
}

} // namespace

int main(int count, char **words) {
  expect(count == 4, "usage: sparse_host MODULE.metate OTHER.metate POINTS");
  std::ifstream file(words[3], std::ios::binary);
  std::vector<int32_t> points(400);
  file.read(reinterpret_cast<char *>(points.data()), std::streamsize(points.size() * 4));
  int64_t rows = file.gcount() / 8, half = rows / 2;
  auto device = metate::Device::open();
  auto module = metate::Module::open(words[1], device);
  auto other = metate::Module::open(words[2], device);
  Instance a(module), b(module);
  auto scatter = [&](int64_t from, int64_t to, const Instance &into) {
    metate::ArrayView<int32_t> rowsOf{points.data() + 2 * from, {to - from, 2}};
    module.kernel("scatter")(rowsOf, into.cells, into.lists, into.bins);
  };
  scatter(0, half, a);
  scatter(half, rows, b);
  measure(module, a);
  measure(other, b);
  auto version = a.cells.topology_version();
  module.kernel("thin")(a.cells, a.lists);
  expect(a.cells.topology_version() == version + 1, "another topology");
  measure(other, a);
  expect(a.cells.topology_version() == version + 1, "the same topology");
  scatter(half, rows, a);
  measure(module, a);
  measure(module, b);
  a.cells.deactivate_all();
  a.cells.activate("a", {3, 4});
  expect(a.cells.cells("a").size() == 1 && a.cells.read<int32_t>("a", {3, 4}) == 7, "one cell");
  return 0;
}
