// Fuzz target: packed arguments. Bytes become arrays, values and trees, right and wrong ones, for
// the kernels of a module; a launch must be refused with a reason, or give the kernel what it was
// given. What a kernel relies on is checked against a model that looks at every element: arrays it
// writes have each element once, and share none with another argument unless it allows that.
#include "probe.h"
#include "seeds.h"

#include <algorithm>
#include <memory>
#include <vector>

using namespace metate;
using namespace metate::fuzz;
using test::Bytes;

namespace {

constexpr size_t arenaBytes = 1024;

// A module and the trees that arguments may name: sound, not reset, read-only, of another device.
struct World {
  Host device, other;
  Bytes description = test::descriptor(seedModule());
  metate_module *module = nullptr;
  std::vector<std::unique_ptr<GivenTree>> trees;
  std::unique_ptr<test::Exact> arenas[2];
  uint32_t kernels = 0;
  const metate_kernel *kernel = nullptr; // of the launch at hand

  World() {
    kernels = description.at<metate_descriptor>(0)->kernels.count;
    require(metate_module_open_static(device.get(), description.data(), description.size(),
                                      probeEntry, kernels, &module),
            "open_static");
    for (auto &arena : arenas) {
      arena = std::make_unique<test::Exact>(arenaBytes);
      std::memset(arena->data, 0, arenaBytes);
    }
    for (uint32_t type = 0; type < 2; ++type) {
      const metate_type *found = nullptr;
      require(metate_module_type_at(module, type, &found), "type_at");
      addTree(found, METATE_BIND_RESET);
      addTree(found, METATE_BIND_RESET);
      addTree(found, 0);
      addTree(found, METATE_BIND_ADOPT | METATE_BIND_READ_ONLY);
      auto about = sized<metate_type_description>();
      require(metate_type_describe(found, &about), "describe");
      metate_type *foreign = nullptr;
      require(metate_type_open_blob(other.get(), about.blob, about.blob_bytes, "t", &foreign),
              "open_blob");
      addTree(foreign, METATE_BIND_RESET);
      require(metate_type_close(foreign), "close");
    }
  }

  void addTree(const metate_type *type, uint32_t flags) {
    auto wanted = sized<metate_capacities>();
    wanted.workers = 2;
    uint64_t bytes = 0, align = 0;
    require(metate_type_size(type, &wanted, &bytes, &align), "size");
    auto made = std::make_unique<GivenTree>();
    made->memory = std::make_unique<test::Exact>(bytes);
    void *memory = made->memory->data;
    if (flags & METATE_BIND_ADOPT) {
      require(metate_tree_bind(type, memory, bytes, &wanted, METATE_BIND_RESET, &made->tree),
              "bind");
      require(metate_tree_unbind(made->tree), "unbind");
    }
    require(metate_tree_bind(type, memory, bytes, flags & METATE_BIND_ADOPT ? nullptr : &wanted,
                             flags, &made->tree),
            "bind");
    trees.push_back(std::move(made));
  }
};

int64_t extent(Choices &choices) {
  uint8_t code = choices.take<uint8_t>();
  if (code < 200)
    return code % 8;
  if (code < 240)
    return int64_t(choices.take<int8_t>());
  return code < 248 ? int64_t(choices.take<int32_t>()) : choices.take<int64_t>();
}

// Mostly row-major; else permuted, stretched, negative or arbitrary.
void strides(GivenArray &array, Choices &choices) {
  int64_t dense = 1;
  uint8_t order = choices.take<uint8_t>();
  const uint32_t rank = std::min<uint32_t>(array.array.rank, METATE_MAX_RANK);
  for (uint32_t n = 0; n < rank; ++n) {
    uint32_t k = order & 1 ? n : rank - 1 - n;
    uint8_t code = choices.take<uint8_t>();
    array.strides[k] = dense;
    if (code >= 128)
      array.strides[k] = code < 160   ? int64_t(uint64_t(dense) * 2)
                         : code < 192 ? -dense
                         : code < 240 ? int64_t(choices.take<int8_t>())
                                      : choices.take<int64_t>();
    dense = int64_t(uint64_t(dense) * uint64_t(std::max<int64_t>(array.shape[k], 1)));
  }
}

void makeArray(World &world, const metate_argument_description &info, Choices &choices,
               Arguments &arguments) {
  auto made = std::make_unique<GivenArray>();
  metate_array &array = made->array;
  uint8_t odd = choices.take<uint8_t>();
  array.dtype = odd < 240 ? info.dtype : choices.below(16);
  array.rank = odd < 230 ? info.rank : choices.take<uint8_t>();
  array.flags = odd % 16 == 3 ? METATE_ARRAY_READ_ONLY : 0;
  array.shape = odd % 32 == 5 ? nullptr : made->shape;
  for (uint32_t k = 0; k < array.rank && k < METATE_MAX_RANK; ++k) {
    made->shape[k] = extent(choices);
    if (k < info.rank && info.fixed[k] >= 0 && odd < 220)
      made->shape[k] = info.fixed[k];
    if (k < info.rank && info.fixed[k] < -1 && odd < 200) { // mostly within the dim's bounds
      metate_dim_description dim = dimOf(world.kernel, info.fixed[k]);
      made->shape[k] = (dim.min + dim.multiple - 1) / dim.multiple * dim.multiple;
    }
  }
  if (choices.take<uint8_t>() % 2) {
    strides(*made, choices);
    array.strides = made->strides;
  }
  test::Exact &arena = *world.arenas[choices.below(2)];
  uint32_t bytes = std::max(metate_dtype_bytes(array.dtype), 1u);
  size_t offset = choices.take<uint16_t>() % arenaBytes;
  array.data = arena.data + (odd % 32 == 7 ? offset : offset / bytes * bytes);
  if (odd % 32 == 9)
    array.data = nullptr;
  arguments.list.back().value.array = odd % 64 == 11 ? nullptr : &array;
  arguments.arrays.push_back(std::move(made));
}

void makeArgument(World &world, const metate_argument_description &info, Choices &choices,
                  Arguments &arguments) {
  uint8_t odd = choices.take<uint8_t>();
  metate_argument argument{};
  argument.kind = odd < 245 ? info.kind : choices.below(7);
  argument.dtype = odd < 240 ? info.dtype : choices.below(16);
  argument.rows = odd < 235 ? info.rows : choices.below(5);
  argument.columns = odd < 230 ? info.columns : choices.below(5);
  arguments.list.push_back(argument);
  switch (argument.kind) {
  case METATE_ARGUMENT_VECTOR: {
    size_t bytes = size_t(argument.rows) * argument.columns * metate_dtype_bytes(argument.dtype);
    arguments.values.push_back(std::make_unique<test::Exact>(bytes));
    for (size_t i = 0; i < bytes; ++i)
      arguments.values.back()->data[i] = choices.take<uint8_t>();
    arguments.list.back().value.elements = odd % 32 == 9 ? nullptr : arguments.values.back()->data;
    break;
  }
  case METATE_ARGUMENT_NDARRAY:
    makeArray(world, info, choices, arguments);
    break;
  case METATE_ARGUMENT_TREE: {
    uint32_t index = choices.below(uint32_t(world.trees.size()) + 1);
    if (index < world.trees.size())
      arguments.list.back().value.tree = world.trees[index]->tree;
    break;
  }
  default:
    arguments.list.back().value.bits = choices.take<uint64_t>();
  }
}

// The addresses of an array's elements; empty when they are not all in the arenas.
std::vector<uintptr_t> elementsOf(const Arguments &arguments, const metate_array &array) {
  uint64_t count = 0;
  int64_t low = 0, high = 0;
  std::vector<uintptr_t> found;
  if (!arguments.isInside(array) || !reachOf(array, &count, &low, &high) || count == 0 ||
      count > arenaBytes * 4)
    return found;
  int64_t bytes = metate_dtype_bytes(array.dtype);
  for (uint64_t n = 0; n < count; ++n) {
    uint64_t rest = n;
    int64_t offset = 0, dense = 1;
    for (uint32_t k = array.rank; k-- > 0;) {
      int64_t index = int64_t(rest % uint64_t(array.shape[k]));
      rest /= uint64_t(array.shape[k]);
      offset += index * (array.strides ? array.strides[k] : dense);
      dense *= array.shape[k];
    }
    found.push_back(reinterpret_cast<uintptr_t>(array.data) + uintptr_t(offset * bytes));
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Do the two sets of elements, of so many bytes each, share a byte?
bool overlap(const std::vector<uintptr_t> &a, uint32_t aBytes, const std::vector<uintptr_t> &b,
             uint32_t bBytes) {
  for (uintptr_t at : a) {
    auto next = std::upper_bound(b.begin(), b.end(), at);
    if ((next != b.end() && *next < at + aBytes) || (next != b.begin() && next[-1] + bBytes > at))
      return true;
  }
  return false;
}

void requireModel(const metate_kernel *kernel, const metate_kernel_description &about,
                  const Arguments &arguments) {
  struct Seen {
    std::vector<uintptr_t> elements;
    uint32_t bytes;
    bool written;
  };
  std::vector<Seen> arrays;
  for (uint32_t i = 0; i < about.argument_count; ++i) {
    auto info = sized<metate_argument_description>();
    require(metate_kernel_argument_info(kernel, i, &info), "argument");
    bool written = info.access & (METATE_ACCESS_WRITE | METATE_ACCESS_ACTIVATE);
    if (info.kind == METATE_ARGUMENT_TREE && (about.flags & METATE_KERNEL_NO_ALIAS) && written)
      for (uint32_t j = 0; j < about.argument_count; ++j)
        if (j != i && arguments.list[j].kind == METATE_ARGUMENT_TREE &&
            arguments.list[j].value.tree == arguments.list[i].value.tree)
          finding("a written tree is passed twice");
    if (info.kind != METATE_ARGUMENT_NDARRAY)
      continue;
    const metate_array &array = *arguments.list[i].value.array;
    Seen seen{elementsOf(arguments, array), metate_dtype_bytes(info.dtype), written};
    for (size_t n = 1; written && n < seen.elements.size(); ++n)
      if (seen.elements[n] - seen.elements[n - 1] < seen.bytes)
        finding("argument %u is written and has an element twice", i);
    for (const Seen &other : arrays)
      if ((about.flags & METATE_KERNEL_NO_ALIAS) && (written || other.written) &&
          overlap(seen.elements, seen.bytes, other.elements, other.bytes))
        finding("argument %u overlaps another one, and one of them is written", i);
    arrays.push_back(std::move(seen));
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static World &world = *new World; // never freed: its trees must outlive nothing
  static Tally tally;
  ++tally.inputs;
  Choices choices(data, bytes);
  const metate_kernel *kernel = nullptr;
  require(metate_module_kernel_at(world.module, choices.below(world.kernels), &kernel),
          "kernel_at");
  world.kernel = kernel;
  auto about = sized<metate_kernel_description>();
  require(metate_kernel_describe(kernel, &about), "kernel");
  Arguments arguments;
  arguments.regions = {world.arenas[0].get(), world.arenas[1].get()};
  for (uint32_t i = 0; i < about.argument_count; ++i) {
    auto info = sized<metate_argument_description>();
    require(metate_kernel_argument_info(kernel, i, &info), "argument");
    makeArgument(world, info, choices, arguments);
  }
  uint8_t odd = choices.take<uint8_t>();
  uint32_t count = odd == 1 ? choices.below(12) : about.argument_count;
  const metate_argument *list = odd == 2 ? nullptr : arguments.list.data();
  if (count > about.argument_count)
    arguments.list.resize(count), list = arguments.list.data();
  Probe probe(kernel, about, arguments);
  auto plan = sized<metate_plan>();
  metate_status planned = metate_kernel_plan(kernel, list, count, &plan);
  metate_status status = metate_kernel_launch(kernel, list, count);
  requireReason(status, "launch");
  if (status == METATE_E_OUT_OF_MEMORY && planned == METATE_OK &&
      asksForMuch(planOf(kernel, arguments.list)))
    return 0;
  if (status != planned)
    finding("plan says %s, launch %s", metate_status_name(planned), metate_status_name(status));
  if (status != METATE_OK)
    return 0;
  ++tally.accepted;
  probe.requireRan();
  requireModel(kernel, about, arguments);
  return 0;
}
