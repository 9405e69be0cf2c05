// Fuzz target: named extents, long extents and strides. Bytes become a module whose dims have any bounds, and arrays with extents at
// and beside these, up to 2^62. Two ways in (libmetate's launch, a packed call of Module/Support/Packed.c) must give one answer, which
// is that of a model in 128 bits. No element is touched: where arrays lie is only a number.
#include "harness.h"
#include "seeds.h"

#include "metate/Module/Support/Support.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

using namespace metate;
using namespace metate::fuzz;
using test::ArgumentSpec;
using test::Bytes;

namespace {

using Wide = __int128;
constexpr uint32_t mostRank = 3, launches = 4;
constexpr int64_t largest = METATE_LARGEST_EXTENT;

constexpr uint32_t mostSlots = 3 * (1 + 2 * mostRank);

char packedError[256];
bool entered = false; // by the launch at hand
uint32_t slotCount = 0;
metate_slot seen[mostSlots]; // what the kernel got

int32_t enter(const metate_slot *slots, void *const *, const metate_host *) {
  entered = true;
  std::copy_n(slots, slotCount, seen);
  return METATE_OK;
}

int64_t number(Choices &choices) {
  static constexpr int64_t edges[] = {0,
                                      1,
                                      INT32_MAX - 1,
                                      INT32_MAX,
                                      int64_t(INT32_MAX) + 1,
                                      UINT32_MAX,
                                      int64_t(UINT32_MAX) + 1,
                                      int64_t(1) << 40,
                                      largest,
                                      largest + 1,
                                      std::numeric_limits<int64_t>::max(),
                                      std::numeric_limits<int64_t>::min(),
                                      -1};
  uint8_t code = choices.take<uint8_t>();
  if (code < 128)
    return code % 24;
  if (code < 224)
    return edges[code % std::size(edges)];
  return code < 240 ? int64_t(choices.take<int32_t>()) : choices.take<int64_t>();
}

bool isSound(const test::DimSpec &dim) {
  if (dim.min < 0 || dim.max < dim.min || dim.max > largest || dim.multiple < 1 ||
      dim.multiple > INT32_MAX)
    return false;
  return (Wide(dim.min) + dim.multiple - 1) / dim.multiple * dim.multiple <= dim.max;
}

// One kernel of one to three arrays; dims stand in the order of their first uses.
struct Case {
  std::vector<ArgumentSpec> arrays;
  std::vector<test::DimSpec> dims;
  uint32_t flags = 0;

  explicit Case(Choices &choices) {
    test::DimSpec drawn[3];
    for (auto &dim : drawn) {
      dim = {"n", number(choices), number(choices), 1, 0};
      if (choices.below(3) == 0)
        dim.multiple = number(choices);
      if (dim.max < dim.min && choices.below(8))
        std::swap(dim.min, dim.max);
      dim.min = choices.below(8) ? std::max<int64_t>(dim.min, 0) : dim.min;
    }
    int known[3] = {-1, -1, -1};
    uint32_t slot = 0, count = 1 + choices.below(3);
    for (uint32_t i = 0; i < count; ++i) {
      static constexpr uint32_t types[] = {METATE_U8, METATE_F32, METATE_I64};
      ArgumentSpec array{"x", METATE_ARGUMENT_NDARRAY, types[choices.below(3)]};
      array.rank = choices.below(mostRank + 1);
      array.access = METATE_ACCESS_READ | (choices.below(3) ? 0 : METATE_ACCESS_WRITE);
      array.flags = (choices.below(4) ? 0 : METATE_ARGUMENT_LONG) |
                    (choices.below(6) ? 0 : METATE_ARGUMENT_CONTIGUOUS);
      for (uint32_t k = 0; k < array.rank; ++k) {
        uint32_t which = choices.below(6);
        int64_t fixed = which == 3 ? number(choices) : -1;
        if (which < 3) {
          if (known[which] < 0) {
            known[which] = int(dims.size());
            dims.push_back(drawn[which]);
            dims.back().slot = slot + 1 + k;
          }
          fixed = METATE_EXTENT_OF_DIM(known[which]);
        }
        array.fixed.push_back(which < 3 ? fixed : std::max<int64_t>(fixed, -1));
      }
      slot += 1 + 2 * array.rank;
      slotCount = slot;
      arrays.push_back(array);
    }
    flags = choices.below(2) ? METATE_KERNEL_NO_ALIAS : 0;
  }

  bool isSound() const {
    return std::all_of(dims.begin(), dims.end(),
                       [](const test::DimSpec &dim) { return ::isSound(dim); });
  }

  Bytes bytes() const {
    test::ModuleSpec spec;
    spec.name = "dims";
    test::PoolSpec pool{"all", METATE_POOL_LAUNCH, 8, 64, 2};
    if (!dims.empty())
      pool.factors = {dims[0].slot};
    spec.kernels = {{"plain", arrays, flags, METATE_NONE, {}, dims},
                    {"planned", arrays, flags, METATE_NONE, {pool}, dims}};
    return test::descriptor(spec);
  }
};

// An array of a launch, for both ways in.
struct Given {
  metate_array array{};
  metate_dl_tensor tensor{};
  int64_t shape[mostRank] = {}, strides[mostRank] = {};
};

// An extent in, at and beside what the dimension may be.
int64_t extentFor(const Case &one, int64_t fixed, const std::vector<int64_t> &found,
                  Choices &choices) {
  uint8_t code = choices.take<uint8_t>();
  if (code < 24)
    return number(choices);
  if (fixed >= -1)
    return fixed >= 0 ? fixed : code < 128 ? code % 5 : number(choices);
  auto which = size_t(METATE_EXTENT_OF_DIM(fixed));
  if (found[which] >= 0 && code < 240)
    return found[which];
  const test::DimSpec &dim = one.dims[which];
  int64_t least = int64_t((Wide(dim.min) + dim.multiple - 1) / dim.multiple * dim.multiple);
  switch (code % 8) {
  case 0:
    return dim.min - 1;
  case 1:
    return dim.max + 1;
  case 2:
    return dim.max / dim.multiple * dim.multiple;
  case 3:
    return least + 1;
  default:
    return least;
  }
}

void make(Given &given, const Case &one, const ArgumentSpec &spec, std::vector<int64_t> &found,
          Choices &choices) {
  int64_t dense = 1;
  for (uint32_t k = 0; k < spec.rank; ++k) {
    given.shape[k] = extentFor(one, spec.fixed[k], found, choices);
    if (spec.fixed[k] < -1 && found[size_t(METATE_EXTENT_OF_DIM(spec.fixed[k]))] < 0)
      found[size_t(METATE_EXTENT_OF_DIM(spec.fixed[k]))] = given.shape[k];
  }
  bool turned = choices.below(3) == 0;
  for (uint32_t n = 0; n < spec.rank; ++n) {
    uint32_t k = turned ? n : spec.rank - 1 - n;
    uint8_t code = choices.take<uint8_t>();
    given.strides[k] = code < 128   ? dense
                       : code < 160 ? 0
                       : code < 192 ? int64_t(0 - uint64_t(dense))
                       : code < 224 ? int64_t(uint64_t(dense) * 3)
                                    : number(choices);
    dense = int64_t(uint64_t(dense) * uint64_t(std::max<int64_t>(given.shape[k], 1)));
  }
  metate_array &array = given.array;
  array.dtype = spec.dtype;
  array.rank = spec.rank;
  array.shape = given.shape;
  array.strides = choices.below(3) ? given.strides : nullptr;
  // In the middle of the address space: large arrays lead out of it either way.
  array.data = reinterpret_cast<void *>((uintptr_t(1) << 62) + choices.take<uint8_t>() * 64u);
  metate_dl_tensor &tensor = given.tensor;
  tensor.data = array.data;
  tensor.device_type = METATE_DL_CPU;
  tensor.ndim = int32_t(spec.rank);
  tensor.bits = uint8_t(8 * metate_dtype_bytes(spec.dtype));
  tensor.code = spec.dtype == METATE_F32  ? METATE_DL_FLOAT
                : spec.dtype == METATE_U8 ? METATE_DL_UINT
                                          : METATE_DL_INT;
  tensor.lanes = 1;
  tensor.shape = array.shape;
  tensor.strides = array.strides;
}

// What one array asks for; false where a launch must refuse it. `decided`: no more is asked for than this.
bool holds(const Case &one, const ArgumentSpec &spec, const Given &given,
           std::vector<int64_t> &first, bool &decided) {
  Wide bytes = metate_dtype_bytes(spec.dtype), below = 0, above = bytes, dense = 1, all = bytes;
  bool good = true, empty = false, gaps = false;
  for (uint32_t k = spec.rank; k-- > 0;) {
    int64_t extent = given.shape[k];
    good &= extent >= 0;
    if (spec.fixed[k] >= 0)
      good &= extent == spec.fixed[k];
    if (spec.fixed[k] == -1)
      good &= extent <= (spec.flags & METATE_ARGUMENT_LONG ? largest : INT32_MAX);
    empty |= extent == 0;
    Wide stride = given.array.strides ? Wide(given.strides[k]) : dense;
    Wide reach = extent > 0 ? (extent - 1) * stride : 0;
    constexpr Wide far = Wide(1) << 100; // beyond all addresses, and no product with it wraps
    reach = std::clamp(reach, -far, far) * bytes;
    (reach < 0 ? below : above) += reach;
    gaps |= extent > 1 && stride != dense;
    if (good) // extents are below 2^62, and the product below 2^63
      good &= (all *= std::max<int64_t>(extent, 1)) <= INT64_MAX;
    dense = good ? dense * extent : dense;
  }
  for (uint32_t k = 0; k < spec.rank; ++k)
    if (spec.fixed[k] < -1) {
      auto number = size_t(METATE_EXTENT_OF_DIM(spec.fixed[k]));
      const test::DimSpec &dim = one.dims[number];
      if (first[number] < 0)
        first[number] = given.shape[k];
      good &= given.shape[k] >= dim.min && given.shape[k] <= dim.max &&
              given.shape[k] % dim.multiple == 0 && given.shape[k] == first[number];
    }
  auto start = Wide(reinterpret_cast<uintptr_t>(given.array.data));
  if (given.array.strides)
    good &= below >= INT64_MIN && above <= INT64_MAX &&
            (empty || (start + below >= 0 && start + above <= Wide(UINT64_MAX)));
  good &= !gaps || !(spec.flags & METATE_ARGUMENT_CONTIGUOUS);
  decided &= !(spec.access & METATE_ACCESS_WRITE) || !gaps;
  return good;
}

// Which kind of memory is written twice, by brute force, where that is possible.
bool repeats(const ArgumentSpec &spec, const Given &given) {
  uint64_t count = 1;
  for (uint32_t k = 0; k < spec.rank; ++k)
    if (__builtin_mul_overflow(count, uint64_t(given.shape[k]), &count) || count > 4096)
      return false;
  std::vector<int64_t> offsets;
  for (uint64_t n = 0; n < count; ++n) {
    uint64_t rest = n;
    int64_t offset = 0, dense = 1;
    for (uint32_t k = spec.rank; k-- > 0;) {
      auto index = int64_t(rest % uint64_t(given.shape[k]));
      rest /= uint64_t(given.shape[k]);
      offset += index * (given.array.strides ? given.strides[k] : dense);
      dense *= given.shape[k];
    }
    offsets.push_back(offset);
  }
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

void requireSlots(const Case &one, const std::array<Given, 3> &given, const char *way) {
  if (!entered)
    finding("%s: the kernel did not run", way);
  const metate_slot *slots = seen;
  for (size_t i = 0; i < one.arrays.size(); ++i) {
    int64_t dense = 1;
    uint32_t rank = one.arrays[i].rank;
    if (slots[0].p != given[i].array.data)
      finding("%s: argument %zu lies elsewhere", way, i);
    for (uint32_t k = rank; k-- > 0; dense *= given[i].shape[k])
      if (slots[1 + k].i != given[i].shape[k] ||
          slots[1 + rank + k].i != (given[i].array.strides ? given[i].strides[k] : dense))
        finding("%s: dimension %u of argument %zu is not its own", way, k, i);
    slots += 1 + 2 * rank;
  }
}

// What it says of its pool is what the extent asks for, and no more than the largest extent would.
void requirePlan(const Case &one, const metate_module *module,
                 const std::vector<metate_argument> &arguments) {
  const metate_kernel *planned = nullptr;
  require(metate_module_kernel_at(module, 1, &planned), "kernel_at");
  metate_planned_pool pool{};
  auto plan = sized<metate_plan>();
  plan.pool_size = sizeof pool;
  plan.pools = &pool;
  plan.pool_count = 1;
  metate_status status =
      metate_kernel_plan(planned, arguments.data(), uint32_t(arguments.size()), &plan);
  if (status == METATE_E_OUT_OF_RANGE && !one.dims.empty() && one.dims[0].max > (1 << 30))
    return; // more bytes than there are
  require(status, "plan");
  Wide extent = 1; // a pool without factors: its scale once
  for (size_t i = 0, slot = 0; !one.dims.empty() && i < one.arrays.size(); ++i) {
    for (uint32_t k = 0; k < one.arrays[i].rank; ++k)
      if (slot + 1 + k == one.dims[0].slot)
        extent = arguments[i].value.array->shape[k];
    slot += 1 + 2 * one.arrays[i].rank;
  }
  Wide wanted = 8 + 2 * extent + 63;
  wanted = wanted > INT64_MAX ? Wide(UINT64_MAX) : wanted / 64 * 64; // more than there is
  if (Wide(pool.bytes) != wanted)
    finding("the pool has %llu bytes, expected %llu", (unsigned long long)pool.bytes,
            (unsigned long long)wanted);
  if (pool.maximum < pool.bytes)
    finding("the pool's maximum is %llu bytes, it has %llu", (unsigned long long)pool.maximum,
            (unsigned long long)pool.bytes);
}

bool launch(const Case &one, const metate_module *module, const Bytes &bytes, Choices &choices) {
  std::array<Given, 3> given;
  std::vector<int64_t> found(one.dims.size(), -1), first(one.dims.size(), -1);
  std::vector<metate_argument> arguments;
  std::vector<metate_ffi_any> packed;
  bool good = true, decided = !(one.flags & METATE_KERNEL_NO_ALIAS);
  for (size_t i = 0; i < one.arrays.size(); ++i) {
    make(given[i], one, one.arrays[i], found, choices);
    good &= holds(one, one.arrays[i], given[i], first, decided);
    metate_argument argument{};
    argument.kind = METATE_ARGUMENT_NDARRAY;
    argument.dtype = one.arrays[i].dtype;
    argument.rows = argument.columns = 1;
    argument.value.array = &given[i].array;
    arguments.push_back(argument);
    metate_ffi_any any{};
    any.type_index = METATE_FFI_DLTENSOR;
    any.value.p = &given[i].tensor;
    packed.push_back(any);
  }
  const metate_kernel *kernel = nullptr;
  require(metate_module_kernel_at(module, 0, &kernel), "kernel_at");
  auto count = uint32_t(arguments.size());
  entered = false;
  metate_status status = metate_kernel_launch(kernel, arguments.data(), count);
  requireReason(status, "launch");
  if (status == METATE_OK)
    requireSlots(one, given, "launch");
  if (status == METATE_OK && !good)
    finding("the launch takes what the model refuses");
  if (status != METATE_OK && good && decided)
    finding("the launch refuses what the model takes: %s", metate_last_error());
  for (size_t i = 0; status == METATE_OK && i < one.arrays.size(); ++i)
    if ((one.arrays[i].access & METATE_ACCESS_WRITE) && repeats(one.arrays[i], given[i]))
      finding("argument %zu is written and has an element twice", i);
  entered = false;
  metate_slot slots[mostSlots];
  metate_ffi_any result{};
  const auto *head = reinterpret_cast<const metate_descriptor *>(bytes.data());
  packedError[0] = 0;
  int32_t code = metate_support_call_packed(head, 0, enter, slots, nullptr, packed.data(),
                                            int32_t(count), &result);
  if ((code == 0) != (status == METATE_OK))
    finding("the launch says '%s', the packed call '%s'",
            status == METATE_OK ? "ok" : metate_last_error(), code ? packedError : "ok");
  if (code == 0)
    requireSlots(one, given, "packed");
  else if (!packedError[0])
    finding("a packed call is refused without a text");
  if (status == METATE_OK)
    requirePlan(one, module, arguments);
  return status == METATE_OK;
}

} // namespace

// tvm-ffi's: what a packed call raises.
extern "C" void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
  std::snprintf(packedError, sizeof packedError, "%s: %s", kind, message);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static const Host device;
  static Tally tally;
  ++tally.inputs;
  Choices choices(data, bytes);
  Case one(choices);
  Bytes description = one.bytes();
  static constexpr metate_entry entries[2] = {enter, enter};
  metate_module *module = nullptr;
  metate_status status = metate_module_open_static(device.get(), description.data(),
                                                   description.size(), entries, 2, &module);
  requireReason(status, "open_static");
  if ((status == METATE_OK) != one.isSound())
    finding("dims that are %ssound: %s", one.isSound() ? "" : "not ", metate_last_error());
  if (status != METATE_OK)
    return 0;
  bool any = false;
  for (uint32_t n = 0; n < launches; ++n)
    any |= launch(one, module, description, choices);
  tally.accepted += any;
  require(metate_module_close(module), "close");
  device.requireNoLeftovers();
  return 0;
}
