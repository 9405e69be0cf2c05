// The probing kernel and the arguments made from descriptions.
#include "probe.h"

#include <algorithm>
#include <utility>

namespace metate::fuzz {

Probe *Probe::current = nullptr;

static int32_t enter(const metate_slot *slots, void *const *pools, const metate_host *host) {
  if (!Probe::current)
    finding("a kernel ran that nobody launched");
  return Probe::current->run(slots, pools, host);
}

#define ENTER8 enter, enter, enter, enter, enter, enter, enter, enter
const metate_entry probeEntry[probeEntries] = {ENTER8, ENTER8, ENTER8, ENTER8,
                                               ENTER8, ENTER8, ENTER8, ENTER8};

void touchText(const char *text) {
  if (!text)
    finding("a text is NULL");
  volatile size_t length = std::strlen(text);
  (void)length;
}

std::vector<metate_planned_pool> planOf(const metate_kernel *kernel,
                                        const std::vector<metate_argument> &arguments) {
  auto plan = metate::sized<metate_plan>();
  plan.pool_size = sizeof(metate_planned_pool);
  uint32_t count = uint32_t(arguments.size());
  require(metate_kernel_plan(kernel, arguments.data(), count, &plan), "plan");
  std::vector<metate_planned_pool> pools(plan.pool_count);
  plan.pools = pools.data();
  require(metate_kernel_plan(kernel, arguments.data(), count, &plan), "plan");
  return pools;
}

bool asksForMuch(const std::vector<metate_planned_pool> &pools) {
  return std::any_of(pools.begin(), pools.end(), [](const metate_planned_pool &pool) {
    return pool.bytes > Host::mostBytes || pool.align > Host::mostAlign;
  });
}

void touch(void *memory, uint64_t bytes, bool write) {
  auto *at = static_cast<volatile uint8_t *>(memory);
  for (uint64_t i = 0; i < bytes; ++i) {
    uint8_t value = at[i];
    if (write)
      at[i] = value;
  }
}

bool reachOf(const metate_array &array, uint64_t *elements, int64_t *lowest, int64_t *highest) {
  int64_t bytes = metate_dtype_bytes(array.dtype), low = 0, high = bytes, dense = 1;
  *elements = 1;
  for (uint32_t k = array.rank; k-- > 0;) {
    if (array.shape[k] < 0)
      return false;
    if (__builtin_mul_overflow(*elements, uint64_t(array.shape[k]), elements))
      return false;
    int64_t step = array.strides ? array.strides[k] : dense, reach = 0;
    if (array.shape[k] &&
        (__builtin_mul_overflow(array.shape[k] - 1, step, &reach) ||
         __builtin_mul_overflow(reach, bytes, &reach) ||
         __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)))
      return false;
    if (__builtin_mul_overflow(dense, array.shape[k], &dense))
      return false;
  }
  *lowest = low;
  *highest = high;
  return true;
}

GivenTree::~GivenTree() {
  if (tree)
    require(metate_tree_unbind(tree), "unbind");
}

bool Arguments::fill(const metate_kernel *kernel, const metate_kernel_description &about,
                     test::Random &random) {
  for (uint32_t i = 0; i < about.argument_count; ++i) {
    auto info = metate::sized<metate_argument_description>();
    require(metate_kernel_argument_info(kernel, i, &info), "argument");
    touchText(info.name);
    metate_argument argument{};
    argument.kind = info.kind;
    argument.dtype = info.dtype;
    argument.rows = info.rows;
    argument.columns = info.columns;
    list.push_back(argument);
    if (info.kind == METATE_ARGUMENT_SCALAR) {
      list.back().value.bits = random.bits();
    } else if (info.kind == METATE_ARGUMENT_VECTOR) {
      uint64_t bytes = uint64_t(info.slot_count) * metate_dtype_bytes(info.dtype);
      values.push_back(std::make_unique<test::Exact>(bytes));
      std::memset(values.back()->data, int(random.below(256)), bytes);
      list.back().value.elements = values.back()->data;
    } else if (info.kind == METATE_ARGUMENT_NDARRAY) {
      if (!fillArray(kernel, info, random))
        return false;
    } else if (!fillTree(info)) {
      return false;
    }
  }
  return true;
}

metate_dim_description dimOf(const metate_kernel *kernel, int64_t fixed) {
  auto dim = metate::sized<metate_dim_description>();
  require(metate_kernel_dim_info(kernel, uint32_t(METATE_EXTENT_OF_DIM(fixed)), &dim), "dim");
  touchText(dim.name);
  return dim;
}

bool Arguments::fillArray(const metate_kernel *kernel, const metate_argument_description &info,
                          test::Random &random) {
  auto made = std::make_unique<GivenArray>();
  metate_array &array = made->array;
  array.dtype = info.dtype;
  array.rank = info.rank;
  array.shape = made->shape;
  uint64_t elements = 1;
  for (uint32_t k = 0; k < info.rank; ++k) {
    made->shape[k] = info.fixed[k] >= 0 ? info.fixed[k] : int64_t(random.below(4));
    if (info.fixed[k] < -1) { // the least extent, in all places
      metate_dim_description dim = dimOf(kernel, info.fixed[k]);
      made->shape[k] = (dim.min + dim.multiple - 1) / dim.multiple * dim.multiple;
    }
    if (made->shape[k] > (1 << 20) || (elements *= uint64_t(made->shape[k])) > (1 << 20))
      return false;
  }
  int64_t dense = 1;
  for (uint32_t k = info.rank; k-- > 0; dense *= made->shape[k])
    made->strides[k] = dense;
  if (random.below(2))
    array.strides = made->strides;
  uint64_t bytes = elements * metate_dtype_bytes(info.dtype);
  made->memory = std::make_unique<test::Exact>(bytes);
  std::memset(made->memory->data, 0, bytes);
  array.data = made->memory->data;
  list.back().value.array = &array;
  arrays.push_back(std::move(made));
  return true;
}

bool Arguments::fillTree(const metate_argument_description &info) {
  auto made = std::make_unique<GivenTree>();
  made->memory = std::make_unique<test::Exact>(size_t(1) << 18);
  metate_status status =
      metate_tree_bind(info.type, made->memory->data, made->memory->bytes, nullptr,
                       METATE_BIND_RESET | METATE_BIND_FIT, &made->tree);
  if (status != METATE_OK && status != METATE_E_TOO_SMALL && status != METATE_E_OUT_OF_RANGE)
    requireReason(status, "bind");
  if (status != METATE_OK)
    return false;
  list.back().value.tree = made->tree;
  trees.push_back(std::move(made));
  return true;
}

bool Arguments::isInside(const metate_array &array) const {
  uint64_t elements = 0;
  int64_t low = 0, high = 0;
  if (!reachOf(array, &elements, &low, &high))
    return false;
  auto at = reinterpret_cast<intptr_t>(array.data);
  bool inside = regions.empty() || elements == 0;
  for (const test::Exact *region : regions) {
    auto begin = reinterpret_cast<intptr_t>(region->data), end = begin + intptr_t(region->bytes);
    inside = inside || (at >= begin && at <= end && low >= begin - at && high <= end - at);
  }
  return inside;
}

void Arguments::spoil(uint32_t index, test::Random &random) {
  metate_argument &argument = list[index];
  switch (random.below(4)) {
  case 0:
    argument.kind = argument.kind % 4 + 1;
    argument.value.bits = 0; // what it points to is of the old kind
    return;
  case 1:
    if (argument.kind != METATE_ARGUMENT_SCALAR) {
      argument.value.bits = 0;
      return;
    }
    [[fallthrough]];
  case 2:
    if (argument.kind == METATE_ARGUMENT_SCALAR || argument.kind == METATE_ARGUMENT_VECTOR) {
      argument.dtype = argument.dtype % 13 + 1;
      return;
    }
    [[fallthrough]];
  default:
    argument.kind = 0;
  }
}

Probe::Probe(const metate_kernel *kernel, const metate_kernel_description &about,
             const Arguments &arguments)
    : kernel(kernel), about(about), arguments(arguments) {
  current = this;
  auto plan = metate::sized<metate_plan>();
  isPlanned = metate_kernel_plan(kernel, arguments.list.data(), uint32_t(arguments.list.size()),
                                 &plan) == METATE_OK;
  if (isPlanned)
    planned = planOf(kernel, arguments.list);
}

Probe::~Probe() { current = nullptr; }

void Probe::requireRan() const {
  if (runs != 1)
    finding("an accepted launch ran its kernel %u times", runs);
}

void Probe::failNext(test::Random &random) {
  dice = &random;
  failure.code = uint32_t(1 + random.below(METATE_STATUS_LAST + 2));
  failure.text = random.below(8) ? uint32_t(random.below(4)) : METATE_NONE;
  failure.detail = random.below(8) ? nullptr : "a message of %s %n the kernel's own";
  failure.rank = uint32_t(random.below(METATE_MAX_RANK + 1));
  for (uint32_t k = 0; k < METATE_MAX_RANK; ++k) {
    failure.index[k] = int64_t(random.nasty(k));
    failure.shape[k] = int64_t(random.nasty(k));
  }
}

void Probe::requireFailure(metate_status status) const {
  if (status == METATE_OK || !*metate_last_error())
    finding("a kernel recorded status %u, its launch says %s '%s'", failure.code,
            metate_status_name(status), metate_last_error());
  if (failure.code > METATE_STATUS_LAST && status != METATE_E_INTERNAL)
    finding("a kernel recorded status %u, its launch says %s", failure.code,
            metate_status_name(status));
}

// A print statement with an item of each kind, in any order.
static void print(const metate_host *host, test::Random &random) {
  metate_print_item items[6] = {};
  uint32_t count = uint32_t(random.below(7));
  for (uint32_t k = 0; k < count; ++k) {
    items[k].kind = uint32_t(random.below(6));
    items[k].value.u = random.nasty(k);
    if (items[k].kind == METATE_PRINT_TEXT)
      items[k].value.text = random.below(2) ? "%s %n\n" : "";
  }
  host->print(host->print_self, items, count);
}

int32_t Probe::run(const metate_slot *slots, void *const *pools, const metate_host *host) {
  ++runs;
  if (!host || host->struct_size != sizeof *host || !host->failure)
    finding("a kernel without its host's hooks");
  if (!isPlanned)
    finding("a kernel ran whose plan was refused");
  if (!planned.empty() && !pools)
    finding("a kernel with %zu pools got none", planned.size());
  for (size_t i = 0; i < planned.size(); ++i) {
    if (reinterpret_cast<uintptr_t>(pools[i]) % planned[i].align)
      finding("pool %zu is not aligned as the plan says", i);
    touch(pools[i], std::min<uint64_t>(planned[i].bytes, 1 << 20), true);
  }
  for (uint32_t i = 0; i < about.argument_count; ++i) {
    auto info = metate::sized<metate_argument_description>();
    require(metate_kernel_argument_info(kernel, i, &info), "argument");
    look(info, arguments.list[i], slots + info.first_slot);
  }
  if (!dice)
    return METATE_OK;
  for (uint64_t n = dice->below(4); n && host->print; --n)
    print(host, *dice);
  *host->failure = failure;
  return int32_t(failure.code);
}

// Every element of an array by its own indices, as a kernel reaches it. Strides of zero make large
// arrays of little memory: of those, the first elements.
static void touchElements(const metate_slot *slots, uint32_t rank, uint32_t bytes, bool write) {
  const metate_slot *shape = slots + 1, *strides = shape + rank;
  int64_t index[METATE_MAX_RANK] = {};
  for (uint32_t k = 0; k < rank; ++k)
    if (shape[k].i == 0)
      return;
  for (int left = 1 << 14; left > 0; --left) {
    int64_t offset = 0;
    for (uint32_t k = 0; k < rank; ++k)
      offset += index[k] * strides[k].i;
    touch(static_cast<uint8_t *>(slots[0].p) + offset * int64_t(bytes), bytes, write);
    uint32_t k = rank;
    while (k > 0 && ++index[k - 1] == shape[k - 1].i)
      index[--k] = 0;
    if (k == 0)
      return;
  }
}

void Probe::look(const metate_argument_description &info, const metate_argument &argument,
                 const metate_slot *slots) const {
  bool write = info.access & METATE_ACCESS_WRITE;
  uint32_t bytes = metate_dtype_bytes(info.dtype);
  if (argument.kind != info.kind)
    finding("an argument of kind %u was taken for one of kind %u", argument.kind, info.kind);
  if (info.kind == METATE_ARGUMENT_TREE) {
    auto about = metate::sized<metate_tree_description>();
    require(metate_tree_describe(argument.value.tree, &about), "describe");
    if (slots[0].p != about.block)
      finding("a tree's slot is not its block");
    if (!about.ready || (write && (about.flags & METATE_BIND_READ_ONLY)))
      finding("a kernel got a tree that was not reset, or writes one that is read-only");
    touch(slots[0].p, about.bytes, write);
  } else if (info.kind == METATE_ARGUMENT_NDARRAY) {
    const metate_array &array = *argument.value.array;
    if (slots[0].p != array.data || array.rank != info.rank || array.dtype != info.dtype)
      finding("an array's slots are not its own");
    int64_t dense = 1;
    for (uint32_t k = array.rank; k-- > 0; dense *= array.shape[k]) {
      int64_t stride = array.strides ? array.strides[k] : dense;
      if (slots[1 + k].i != array.shape[k] || slots[1 + array.rank + k].i != stride)
        finding("dimension %u of an array's slots is not its own", k);
      if (info.fixed[k] >= 0 && info.fixed[k] != array.shape[k])
        finding("dimension %u is fixed at %lld", k, static_cast<long long>(info.fixed[k]));
      if (info.fixed[k] >= -1)
        continue;
      metate_dim_description dim = dimOf(kernel, info.fixed[k]);
      if (array.shape[k] < dim.min || array.shape[k] > dim.max || array.shape[k] % dim.multiple ||
          (slots - info.first_slot)[dim.slot].i != array.shape[k])
        finding("dimension %u is not what '%s' may be", k, dim.name);
    }
    if (write && (array.flags & METATE_ARRAY_READ_ONLY))
      finding("a read-only array is written");
    if (arguments.isInside(array))
      touchElements(slots, array.rank, bytes, write);
  } else {
    uint32_t count = info.kind == METATE_ARGUMENT_SCALAR ? 1 : info.slot_count;
    for (uint32_t n = 0; n < count; ++n) {
      uint64_t given = argument.value.bits;
      if (info.kind == METATE_ARGUMENT_VECTOR) {
        given = 0;
        std::memcpy(&given, static_cast<const uint8_t *>(argument.value.elements) + n * bytes,
                    bytes);
      }
      bool same = info.dtype == METATE_U1 ? slots[n].u == ((given & 0xff) != 0)
                                          : std::memcmp(&slots[n].u, &given, bytes) == 0;
      if (!same)
        finding("slot %u holds 0x%llx, given was 0x%llx", n,
                static_cast<unsigned long long>(slots[n].u),
                static_cast<unsigned long long>(given));
    }
  }
}

} // namespace metate::fuzz
