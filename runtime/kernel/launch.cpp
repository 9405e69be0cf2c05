// Launching kernels. The usual launch touches the kernel, the arguments and the stack: no search,
// no lock, no allocation.
#include "kernel/pools.h"
#include "kernel/profile.h"
#include "kernel/staging.h"

#include <cstdio>

using namespace metate;

// A worker may hold one unlinked slot of each pool, so a tree's slack bounds the workers.
uint32_t metate::workerBound(const metate_kernel &kernel, const metate_argument *arguments) {
  uint32_t bound = 0;
  for (uint32_t i = 0; kernel.activates && i < kernel.info->argument_count; ++i) {
    if (!activates(kernel, i))
      continue;
    uint32_t workers = arguments[i].value.tree->layout.workers;
    bound = bound && bound < workers ? bound : workers;
  }
  return bound;
}

metate_status metate::clearSticky(const metate_kernel &kernel, const metate_argument *arguments) {
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    if (!activates(kernel, i))
      continue;
    const metate_tree &tree = *arguments[i].value.tree;
    if (tree.isElsewhere()) {
      Sticky sticky;
      METATE_TRY(readSticky(tree, &sticky));
      if (sticky.status == METATE_OK)
        continue;
    }
    METATE_TRY(storeWord(tree, METATE_HEADER_WORD(status_needed), uint64_t(0)));
    METATE_TRY(storeWord(tree, METATE_HEADER_WORD(status_level), uint32_t(METATE_NONE)));
    METATE_TRY(storeWord(tree, METATE_HEADER_WORD(status), uint32_t(METATE_OK)));
  }
  return METATE_OK;
}

// What a driver has said of a launch that it could not do; of a kernel that it cannot run, where that stands.
static metate_status failAsSaid(const metate_kernel &kernel, metate_status code) {
  char place[256] = "", text[512];
  snprintf(text, sizeof text, "%s", metate_last_error());
  Descriptor descriptor = kernel.description();
  if (code == METATE_E_UNSUPPORTED && kernel.info->source < descriptor.header().texts.count) {
    const metate_text &at = descriptor.texts()[kernel.info->source];
    snprintf(place, sizeof place, "%s:%u:%u: ", descriptor.text(at.file), at.line, at.column);
  }
  return fail(code, "%skernel '%s': %s", place, kernel.name, text);
}

metate_status metate::report(const metate_kernel &kernel, const metate_argument *arguments,
                             int32_t code, const metate_failure &failure) {
  if (failure.code != METATE_OK)
    return reportFailure(kernel, arguments, failure);
  if (kernel.activates)
    METATE_TRY(reportCapacity(kernel, arguments));
  if (code == METATE_OK)
    return METATE_OK;
  if (code == METATE_E_INTERRUPTED)
    return fail(METATE_E_INTERRUPTED, "kernel '%s': interrupted", kernel.name);
  if (code < 0 || code > METATE_STATUS_LAST)
    return fail(METATE_E_INTERNAL, "kernel '%s': its entry returned %d", kernel.name, code);
  if (!kernel.entry &&
      (code == METATE_E_INTERNAL || code == METATE_E_UNSUPPORTED)) // the driver has said why
    return failAsSaid(kernel, metate_status(code));
  return fail(metate_status(code), "kernel '%s': its entry returned %s", kernel.name,
              metate_status_name(code));
}

namespace {

// Slots that a launch keeps on the stack: sixteen three-dimensional arrays. More are allocated.
constexpr uint32_t stackSlots = 112;

// Has an entry left something to settle in a tree that lies elsewhere?
metate_status isUnsettled(const metate_tree &tree, bool *unsettled) {
  uint32_t changed = 0;
  METATE_TRY(loadWord(tree, METATE_HEADER_WORD(changed), &changed));
  for (uint32_t number = 0; !changed && number < tree.type->poolCount(); ++number)
    METATE_TRY(loadWord(tree, poolWord(number, offsetof(metate_pool, loaded)), &changed));
  *unsettled = changed;
  return METATE_OK;
}

__attribute__((noinline)) metate_status settleElsewhere(const metate_tree &tree) {
  bool unsettled = false;
  METATE_TRY(isUnsettled(tree, &unsettled));
  if (!unsettled)
    return METATE_OK;
  return onHost(tree, Use::changes, [](const Block &block) {
    metate_view view = block.view();
    metate_view_settle(&view);
    return METATE_OK;
  });
}

// Trees whose set of active cells has changed get another topology version.
metate_status settle(const metate_kernel &kernel, const metate_argument *arguments) {
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    if (kernel.arguments[i].kind != METATE_ARGUMENT_TREE ||
        !(kernel.arguments[i].access & METATE_ACCESS_WRITE))
      continue;
    const metate_tree &tree = *arguments[i].value.tree;
    if (tree.isElsewhere()) {
      METATE_TRY(settleElsewhere(tree));
      continue;
    }
    metate_view view = blockOf(tree).view();
    metate_view_settle(&view);
  }
  return METATE_OK;
}

metate_status run(const metate_kernel &kernel, const metate_argument *arguments,
                  const metate_slot *slots, void *const *pools, const metate_host &host) {
  if (kernel.activates)
    METATE_TRY(clearSticky(kernel, arguments));
  int32_t code = enter(kernel, slots, pools, host);
  if (kernel.trees && (kernel.entry || !kernel.device->driver->settles))
    METATE_TRY(settle(kernel, arguments));
  const metate_failure &failure = *host.failure;
  if (code == METATE_OK && failure.code == METATE_OK && !kernel.activates)
    return METATE_OK;
  return report(kernel, arguments, code, failure);
}

// Out of the fast path: few kernels plan memory.
__attribute__((noinline)) metate_status runWithPools(const metate_kernel &kernel,
                                                     const metate_argument *arguments,
                                                     const metate_slot *slots,
                                                     const metate_host &host,
                                                     const metate_launch_options *options) {
  Pools pools(kernel);
  METATE_TRY(pools.take(arguments, slots, host.max_workers, options));
  return run(kernel, arguments, slots, pools.addresses(), host);
}

metate_status runWith(const metate_kernel &kernel, const metate_argument *arguments,
                      const metate_slot *slots, const metate_host &host,
                      const metate_launch_options *options) {
  if (kernel.poolCount || (options && options->pool_count))
    return runWithPools(kernel, arguments, slots, host, options);
  return run(kernel, arguments, slots, nullptr, host);
}

// Out of the fast path: a driver launches the kernel, which may not reach the host's arrays.
__attribute__((noinline)) metate_status runByDriver(const metate_kernel &kernel,
                                                    const metate_argument *arguments,
                                                    metate_slot *slots, const metate_host &host,
                                                    const metate_launch_options *options) {
  Staging staging(kernel, arguments);
  METATE_TRY(staging.begin(slots));
  metate_status status = runWith(kernel, arguments, slots, host, options);
  if (status == METATE_OK)
    return staging.end(/*hasFailed=*/false);
  char text[1024]; // what went wrong first is what is told
  __builtin_snprintf(text, sizeof text, "%s", metate_last_error());
  staging.end(/*hasFailed=*/true);
  return fail(status, "%s", text);
}

metate_status runTold(const metate_kernel &kernel, const metate_argument *arguments,
                      metate_slot *slots, const metate_launch_options *options,
                      const metate_task_hooks *tasks) {
  Running counted(kernel, arguments);
  metate_failure failure; // only its code is read before it is filled
  metate_host host = hostOf(kernel, workerBound(kernel, arguments), failure,
                            options ? options->interrupt : nullptr);
  host.tasks = tasks;
  if (!kernel.entry)
    return runByDriver(kernel, arguments, slots, host, options);
  return runWith(kernel, arguments, slots, host, options);
}

// Out of the fast path: somebody asks what it took, all of it.
__attribute__((noinline)) metate_status runProfiled(const metate_kernel &kernel,
                                                    const metate_argument *arguments,
                                                    metate_slot *slots,
                                                    const metate_launch_options *options) {
  Profile profile(kernel);
  metate_status status = runTold(kernel, arguments, slots, options, profile.tasks());
  if (status == METATE_OK)
    status = metate_device_wait(kernel.device);
  profile.end(arguments);
  return status;
}

metate_status runPacked(const metate_kernel &kernel, const metate_argument *arguments,
                        metate_slot *slots, const metate_launch_options *options) {
  if (kernel.device->profiler.launch)
    return runProfiled(kernel, arguments, slots, options);
  return runTold(kernel, arguments, slots, options, nullptr);
}

// The largest arguments, out of the fast path.
__attribute__((noinline)) metate_status launchLarge(const metate_kernel &kernel,
                                                    const metate_argument *arguments,
                                                    const metate_launch_options *options) {
  Array<metate_slot> slots(*kernel.device);
  METATE_TRY(slots.allocate(kernel.info->slot_count));
  METATE_TRY(pack(kernel, arguments, slots.data()));
  return runPacked(kernel, arguments, slots.data(), options);
}

metate_status launch(const metate_kernel &kernel, const metate_argument *arguments, uint32_t count,
                     const metate_launch_options *options) {
  METATE_TRY(checkCount(kernel, arguments, count));
  METATE_TRY(checkCode(kernel));
  if (kernel.info->slot_count > stackSlots)
    return launchLarge(kernel, arguments, options);
  metate_slot slots[stackSlots]; // written before it is read: pack fills what the kernel reads
  METATE_TRY(pack(kernel, arguments, slots));
  return runPacked(kernel, arguments, slots, options);
}

} // namespace

metate_status metate::checkCode(const metate_kernel &kernel) {
  if (kernel.code)
    return METATE_OK;
  return fail(METATE_E_UNSUPPORTED,
              "kernel '%s': its module was opened with METATE_MODULE_QUERY_ONLY: no code is mapped",
              kernel.name);
}

metate_status metate_kernel_launch(const metate_kernel *kernel, const metate_argument *arguments,
                                   uint32_t count) {
  METATE_REQUIRE(kernel);
  return launch(*kernel, arguments, count, nullptr);
}

metate_status metate_kernel_launch_interruptible(const metate_kernel *kernel,
                                                 const metate_argument *arguments, uint32_t count,
                                                 const uint32_t *interrupt) {
  METATE_REQUIRE(kernel);
  metate_launch_options options{};
  options.interrupt = interrupt;
  return launch(*kernel, arguments, count, &options);
}

metate_status metate_kernel_launch_with(const metate_kernel *kernel,
                                        const metate_argument *arguments, uint32_t count,
                                        const metate_launch_options *options) {
  METATE_REQUIRE(kernel);
  METATE_REQUIRE_STRUCT(options);
  return launch(*kernel, arguments, count, options);
}

metate_status metate_kernel_plan(const metate_kernel *kernel, const metate_argument *arguments,
                                 uint32_t count, metate_plan *plan) {
  METATE_REQUIRE(kernel);
  METATE_REQUIRE_STRUCT(plan);
  if (plan->pool_count) {
    METATE_REQUIRE(plan->pools);
    if (plan->pool_size != sizeof(metate_planned_pool))
      return fail(METATE_E_VERSION, "metate_kernel_plan: plan->pool_size: expected %zu, got %u",
                  sizeof(metate_planned_pool), plan->pool_size);
  }
  bool isLargest =
      !arguments && !count && kernel->info->argument_count; // whatever the arguments are
  if (!isLargest)
    METATE_TRY(checkCount(*kernel, arguments, count));
  Array<metate_slot> slots(*kernel->device), largest(*kernel->device);
  METATE_TRY(slots.allocate(kernel->info->slot_count));
  METATE_TRY(largest.allocate(kernel->info->slot_count));
  metate_largest_slots(kernel->info, kernel->arguments, kernel->description().dims(),
                       largest.data());
  if (!isLargest)
    METATE_TRY(pack(*kernel, arguments, slots.data()));
  uint32_t bound = isLargest ? 0 : workerBound(*kernel, arguments);
  metate_failure failure;
  uint32_t workers = hostOf(*kernel, bound, failure, nullptr).max_workers;
  for (uint32_t i = 0; i < kernel->poolCount && i < plan->pool_count; ++i) {
    const metate_pool_info &pool = kernel->pools[i];
    uint64_t most = metate_pool_total(&pool, largest.data(), workers);
    plan->pools[i] = {kernel->description().text(pool.name),
                      isLargest ? most : metate_pool_total(&pool, slots.data(), workers),
                      most,
                      pool.align,
                      kernel->memoryOf(pool),
                      pool.kind,
                      0};
  }
  plan->max_workers = kernel->perWorker ? workers : bound;
  plan->pool_count = kernel->poolCount;
  return METATE_OK;
}

metate_status metate_kernel_direct(const metate_kernel *kernel, uint64_t signature,
                                   metate_entry *entry) {
  METATE_REQUIRE(kernel);
  METATE_REQUIRE(entry);
  METATE_TRY(checkCode(*kernel));
  if (signature != kernel->info->signature)
    return fail(METATE_E_TYPE_MISMATCH,
                "kernel '%s': expected the signature 0x%016llx, got 0x%016llx: the caller was "
                "written for other arguments",
                kernel->name, show(kernel->info->signature), show(signature));
  if (!kernel->entry)
    return fail(
        METATE_E_UNSUPPORTED,
        "kernel '%s': its code runs on a device: it has no entry in this process: launch it",
        kernel->name);
  *entry = kernel->entry;
  return METATE_OK;
}

const char *metate_kernel::memoryOf(const metate_pool_info &pool) const {
  Descriptor all = description();
  for (uint32_t i = 0; i < all.header().places.count; ++i)
    if (&all.pools()[all.places()[i].pool] == &pool)
      return all.text(all.places()[i].memory);
  return "";
}

metate_status metate_kernel_describe(const metate_kernel *kernel, metate_kernel_description *info) {
  METATE_REQUIRE(kernel);
  METATE_REQUIRE_STRUCT(info);
  Descriptor descriptor = kernel->description();
  metate_kernel_description filled{};
  filled.struct_size = sizeof filled;
  filled.argument_count = kernel->info->argument_count;
  filled.slot_count = kernel->info->slot_count;
  filled.flags = kernel->info->flags;
  filled.task_count = kernel->info->task_count;
  filled.dim_count = kernel->dimCount;
  filled.signature = kernel->info->signature;
  filled.name = kernel->name;
  filled.file = "";
  if (kernel->info->source != METATE_NONE) {
    filled.line = descriptor.texts()[kernel->info->source].line;
    filled.file = descriptor.text(descriptor.texts()[kernel->info->source].file);
  }
  *info = filled;
  return METATE_OK;
}

metate_status metate_kernel_derivative(const metate_kernel *kernel, uint32_t mode,
                                       const metate_kernel **derivative) {
  METATE_REQUIRE(kernel);
  METATE_REQUIRE(derivative);
  if (mode != METATE_DERIVATIVE_REVERSE && mode != METATE_DERIVATIVE_FORWARD)
    return fail(METATE_E_INVALID_ARGUMENT,
                "metate_kernel_derivative: mode: expected 1 (reverse) or 2 (forward), got %u",
                mode);
  const metate_kernel *found = kernel->derivatives[mode - 1];
  if (!found)
    return fail(METATE_E_NOT_FOUND,
                "kernel '%s' has no derivative in %s mode in its module: add it with "
                "add_kernel(..., %s=True)",
                kernel->name, mode == METATE_DERIVATIVE_REVERSE ? "reverse" : "forward",
                mode == METATE_DERIVATIVE_REVERSE ? "grad" : "fwd");
  *derivative = found;
  return METATE_OK;
}

metate_status metate_kernel_dim_info(const metate_kernel *kernel, uint32_t index,
                                     metate_dim_description *info) {
  METATE_REQUIRE(kernel);
  METATE_REQUIRE_STRUCT(info);
  if (index >= kernel->dimCount)
    return fail(METATE_E_OUT_OF_RANGE, "kernel '%s': index: expected less than %u dims, got %u",
                kernel->name, kernel->dimCount, index);
  const metate_dim_info &dim = kernel->dims[index];
  *info = {sizeof *info, dim.slot, kernel->description().text(dim.name),
           dim.min,      dim.max,  dim.multiple};
  return METATE_OK;
}

metate_status metate_kernel_argument_info(const metate_kernel *kernel, uint32_t index,
                                          metate_argument_description *info) {
  METATE_REQUIRE(kernel);
  METATE_REQUIRE_STRUCT(info);
  if (index >= kernel->info->argument_count)
    return fail(METATE_E_OUT_OF_RANGE, "kernel '%s': index: expected less than %u, got %u",
                kernel->name, kernel->info->argument_count, index);
  const metate_argument_info &argument = kernel->arguments[index];
  metate_argument_description filled{};
  filled.struct_size = sizeof filled;
  filled.kind = argument.kind;
  filled.dtype = argument.dtype;
  filled.rows = argument.rows;
  filled.columns = argument.columns;
  filled.element_rank = argument.element_rank;
  filled.rank = argument.rank;
  filled.access = argument.access;
  filled.flags = argument.flags;
  filled.first_slot = argument.first_slot;
  filled.slot_count = argument.slot_count;
  filled.name = kernel->argumentName(index);
  filled.type = argument.kind == METATE_ARGUMENT_TREE ? kernel->types[argument.type] : nullptr;
  __builtin_memcpy(filled.fixed, argument.fixed, sizeof filled.fixed);
  *info = filled;
  return METATE_OK;
}
