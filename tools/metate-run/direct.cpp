// --level=direct: kernels by their bare entries, as firmware and generated code call them (metate/abi/kernel.h). Arguments are
// checked once, when their memory is planned; nothing is checked at a call.
#include "session.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace metate::tool {

namespace {

// A launch's state: its slots, the memory of its pools.
struct DirectCall {
  metate_entry entry = nullptr;
  std::vector<metate_slot> slots;
  std::vector<std::unique_ptr<GuardedMemory>> memory;
  std::vector<void *> pools;
  metate_host host{};
  metate_failure failure{};
};

metate_slot scalarSlot(uint32_t dtype, const void *from) {
  metate_slot slot{};
  uint32_t bytes = metate_dtype_bytes(dtype);
  std::memcpy(&slot.u, from, bytes);
  if (dtype >= METATE_I8 && dtype <= METATE_I32) // sign-extended
    slot.i = int64_t(slot.u << (64 - 8 * bytes)) >> (64 - 8 * bytes);
  return slot;
}

void addSlots(const metate_argument &argument, std::vector<metate_slot> &slots) {
  if (argument.kind == METATE_ARGUMENT_TREE) {
    metate_slot slot{};
    auto tree = sized<metate_tree_description>();
    check(metate_tree_describe(argument.value.tree, &tree));
    slot.p = tree.block;
    slots.push_back(slot);
  } else if (argument.kind == METATE_ARGUMENT_NDARRAY) {
    const metate_array &array = *argument.value.array;
    metate_slot data{};
    data.p = array.data;
    slots.push_back(data);
    std::vector<int64_t> strides(array.rank, 1);
    for (uint32_t k = array.rank; k-- > 1;)
      strides[k - 1] = strides[k] * array.shape[k];
    for (const int64_t *list : {array.shape, const_cast<const int64_t *>(strides.data())})
      for (uint32_t k = 0; k < array.rank; ++k) {
        metate_slot slot{};
        slot.i = list[k];
        slots.push_back(slot);
      }
  } else if (argument.kind == METATE_ARGUMENT_VECTOR) {
    const auto *from = static_cast<const uint8_t *>(argument.value.elements);
    for (uint32_t k = 0; k < argument.rows * argument.columns; ++k)
      slots.push_back(scalarSlot(argument.dtype, from + k * metate_dtype_bytes(argument.dtype)));
  } else {
    slots.push_back(scalarSlot(argument.dtype, &argument.value.bits));
  }
}

// Values as they are: formats of print statements are libmetate's business.
void printItems(void *self, const metate_print_item *items, uint32_t count) {
  auto *to = static_cast<FILE *>(self);
  for (const metate_print_item *item = items; item != items + count; ++item)
    switch (item->kind) {
    case METATE_PRINT_TEXT:
      std::fputs(item->value.text, to);
      break;
    case METATE_PRINT_I64:
      std::fprintf(to, "%lld", static_cast<long long>(item->value.i));
      break;
    case METATE_PRINT_U64:
      std::fprintf(to, "%llu", static_cast<unsigned long long>(item->value.u));
      break;
    case METATE_PRINT_F32:
    case METATE_PRINT_F64:
      std::fprintf(to, item->kind == METATE_PRINT_F32 ? "%.9g" : "%.17g", item->value.d);
      break;
    case METATE_PRINT_BOOL:
      std::fputs(item->value.u ? "True" : "False", to);
      break;
    default:
      break;
    }
}

} // namespace

std::function<void()> Session::directLauncher(const Kernel &kernel,
                                              std::vector<metate_argument> arguments) {
  auto call = std::make_shared<DirectCall>();
  auto info = kernel.describe();
  check(metate_kernel_direct(kernel.get(), info.signature, &call->entry));
  auto plan = sized<metate_plan>();
  check(metate_kernel_plan(kernel.get(), arguments.data(), uint32_t(arguments.size()), &plan));
  std::vector<metate_planned_pool> planned(plan.pool_count);
  plan.pools = planned.data();
  plan.pool_size = sizeof(metate_planned_pool);
  check(metate_kernel_plan(kernel.get(), arguments.data(), uint32_t(arguments.size()), &plan));
  for (const metate_planned_pool &pool : planned) {
    call->memory.push_back(std::make_unique<GuardedMemory>("pool '" + std::string(pool.name) + "'",
                                                           pool.bytes, pool.align));
    call->pools.push_back(call->memory.back()->data());
  }
  for (const metate_argument &argument : arguments)
    addSlots(argument, call->slots);
  call->host.struct_size = sizeof call->host;
  call->host.max_workers =
      plan.max_workers ? std::min(plan.max_workers, options.threads) : options.threads;
  call->host.executor_self = executor().self;
  call->host.parallel_for = executor().parallel_for;
  call->host.print_self = options.json ? stderr : stdout;
  call->host.print = printItems;
  call->host.failure = &call->failure;
  std::string name = info.name;
  return [call, name] {
    call->failure.code = METATE_OK;
    int32_t status = call->entry(call->slots.data(), call->pools.data(), &call->host);
    if (status != METATE_OK)
      throw Error("kernel '" + name + "': its entry returned " +
                  metate_status_name(metate_status(status)));
  };
}

} // namespace metate::tool
