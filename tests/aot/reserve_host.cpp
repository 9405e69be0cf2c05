// A kernel that accumulates, in caller memory that is too small at first: C's API (with -DPLAIN_C) and
// C++'s. What the tree needs is counted, the tree moves into memory of that size, and the launch finds
// room. Arguments: the module (linked in: "-"), a file of i32. Prints slots needed and the sum of all cells.
#include <metate/metate.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#ifdef LINKED
#include "scatter.h"
#endif

static void expect(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "failed: %s: %s\n", what, metate_last_error());
  std::exit(1);
}

struct Free {
  void operator()(void *memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

static Memory allocate(uint64_t bytes) {
  return Memory(std::aligned_alloc(METATE_BLOCK_ALIGN, (bytes + 63) / 64 * 64));
}

static metate::Module open(const metate::Device &device, const char *path) {
#ifdef LINKED
  (void)path;
  return metate::Module::open_static(scatter_module, device);
#else
  return metate::Module::open(path, device);
#endif
}

int main(int, char **arguments) {
  metate::Device device = metate::Device::open();
  metate::Module module = open(device, arguments[1]);
  metate::TreeType type = module.tree_type("cells");
  metate::Kernel scatter = module.kernel("scatter");

  std::ifstream file(arguments[2], std::ios::binary | std::ios::ate);
  std::vector<int32_t> places(size_t(file.tellg()) / 4);
  file.seekg(0);
  file.read(reinterpret_cast<char *>(places.data()), std::streamsize(places.size() * 4));

  metate::Capacities few{{{"blocks", 1}, {"cells", 1}}};
  Memory first = allocate(type.size(few)), second;
  metate::Tree tree = type.bind(first.get(), type.size(few), few);
  metate::Reservation need = scatter.reserve_for(tree, tree, places);
  expect(!need.fits && tree.describe().status == METATE_OK, "the first memory is too small");

#ifdef PLAIN_C
  const metate_type *raw = type.get();
  int64_t count = int64_t(places.size());
  metate_array array{};
  array.data = places.data();
  array.dtype = METATE_I32;
  array.rank = 1;
  array.shape = &count;
  metate_argument list[2]{};
  list[0].kind = METATE_ARGUMENT_TREE;
  list[0].value.tree = tree.get();
  list[1].kind = METATE_ARGUMENT_NDARRAY;
  list[1].value.array = &array;
  uint32_t slots[2] = {};
  auto reserve = [&] {
    return metate_tree_reserve_for(tree.get(), scatter.get(), list, 2, 2, slots);
  };
  expect(reserve() == METATE_E_CAPACITY, "the first memory is too small, in C");
  metate_capacity entries[] = {{"blocks", slots[0]}, {"cells", slots[1]}};
  metate_capacities capacities{sizeof capacities, 0, 2, 0, entries};
  uint64_t bytes = 0, align = 0;
  expect(metate_type_size(raw, &capacities, &bytes, &align) == METATE_OK, "size");
  second = allocate(bytes);
  expect(metate_tree_migrate(tree.get(), second.get(), bytes, &capacities, 0) == METATE_OK,
         "migrate");
  expect(reserve() == METATE_OK, "now there is room");
  expect(metate_tree_reserve_for(tree.get(), scatter.get(), list, 2, 1, slots) ==
             METATE_E_INVALID_ARGUMENT,
         "a wrong pool_count");
  expect(metate_tree_reserve_for(tree.get(), scatter.get(), list, 2, 0, nullptr) == METATE_OK,
         "the status alone");
  expect(metate_kernel_launch(scatter.get(), list, 2) == METATE_OK, "launch");
#else
  metate::Capacities room = need.capacities();
  metate_capacities capacities = room.get();
  second = allocate(type.size(room));
  tree.migrate(second.get(), type.size(room), &capacities);
  expect(scatter.reserve_for(tree, tree, places).fits, "now there is room");
  scatter(tree, places);
#endif
  uint64_t sum = 0;
  metate::Cells<int32_t> cells = tree.cells<int32_t>("a");
  for (int32_t value : cells.values)
    sum += uint64_t(value);
  std::vector<metate_pool_stats> stats = tree.stats();
  expect(stats[0].used == need.needs[0].slots && stats[1].used == need.needs[1].slots,
         "what was counted is what was taken");
  std::printf("%llu %llu %llu\n", (unsigned long long)need.needs[0].slots,
              (unsigned long long)need.needs[1].slots, (unsigned long long)sum);
}
