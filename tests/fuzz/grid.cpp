// Fuzz target: the payload of a module for grids of invocations. The descriptor that it belongs to is made from what it says of its
// kernels, or now and then from something else. What is accepted is read as drivers read it: names, runs of graphs and iterations of tasks
// with any slots, images, constants, and print statements from a ring of any words.
#include "harness.h"
#include "probe.h"

#include "driver/grid/expression.h"
#include "driver/grid/prints.h"
#include "driver/grid/runs.h"
#include "driver/grid/shape.h"
#include "graph_walk.h"

#include <cstddef>
#include <vector>

using namespace metate;
using namespace metate::fuzz;
using test::Bytes;

namespace {

constexpr uint32_t mostKernels = 16, mostSlots = 16;

metate_allocator heap() {
  return {nullptr,
          [](void *, size_t bytes, size_t align) -> void * {
            void *place = nullptr;
            align = align < sizeof(void *) ? sizeof(void *) : align;
            return posix_memalign(&place, align, bytes ? bytes : 1) == 0 ? place : nullptr;
          },
          [](void *, void *place, size_t, size_t) { std::free(place); }};
}

// As many kernels as the payload has, with as many slots each, where it can be asked; now and then one has another number.
Bytes descriptorFor(const Bytes &payload, test::Random &random) {
  metate_grid head;
  std::memcpy(&head, payload.data(), sizeof head);
  test::ModuleSpec spec;
  spec.name = "fuzz";
  spec.variants = {{METATE_ARCH_SIMT, 0, METATE_FORMAT_GRID, "simt", ""}};
  const uint32_t other = random.below(32) ? mostKernels : random.below(mostKernels);
  for (uint32_t i = 0; i < head.kernels.count && i < mostKernels; ++i) {
    uint64_t at = head.kernels.offset + uint64_t(i) * sizeof(metate_grid_kernel);
    metate_grid_kernel kernel{};
    if (at + sizeof kernel <= payload.size())
      std::memcpy(&kernel, payload.data() + at, sizeof kernel);
    uint32_t slots = i != other ? kernel.slot_count % (mostSlots + 1) : 1;
    test::KernelSpec one{"k" + std::to_string(i), {}};
    for (uint32_t k = 0; k < slots; ++k)
      one.arguments.push_back({"a" + std::to_string(k), METATE_ARGUMENT_SCALAR, METATE_I64});
    spec.kernels.push_back(one);
  }
  return test::descriptor(spec);
}

void seal(Bytes &payload, const Bytes &descriptor) {
  auto *head = payload.at<metate_grid>(0);
  head->magic = METATE_GRID_MAGIC;
  head->abi_version = METATE_ABI_VERSION;
  head->bytes = uint32_t(payload.size());
  std::memcpy(head->descriptor_hash,
              descriptor.data() + offsetof(metate_descriptor, signature_hash),
              sizeof head->descriptor_hash);
}

// Every byte is read, so that a sanitizer sees those outside.
uint64_t sumOf(const uint8_t *data, uint64_t bytes) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < bytes; ++i)
    sum = sum * 31 + data[i];
  return sum;
}

void readTasks(const grid::Section &section, const metate_grid_kernel &kernel,
               const metate_slot *slots) {
  const grid::Bounds bounds = {4096, 640};
  for (uint32_t i = 0; i < kernel.task_count && i < 64; ++i) {
    const metate_grid_task &task = section.tasks()[kernel.first_task + i];
    touchText(section.name(task));
    grid::Shape shape = grid::shapeOf(section, task, slots, bounds);
    if (shape.groups == 0 || shape.group == 0)
      finding("task %u has no invocations", kernel.first_task + i);
    if (shape.invocations() > uint64_t(bounds.most) + shape.group)
      finding("task %u has %llu invocations", kernel.first_task + i,
              static_cast<unsigned long long>(shape.invocations()));
  }
}

// The runs of a kernel are those that another walk found, whenever the host wants an end.
void readRuns(const grid::Section &section, const metate_grid_kernel &kernel,
              test::Random &random) {
  metate_slot slots[mostSlots];
  for (metate_slot &slot : slots)
    slot.u = random.below(2) ? random.below(4) : random.nasty(random.below(1000));
  const uint64_t frame = random.nasty(4096);
  const uint32_t stopsAfter = random.below(4) ? ~0u : random.below(6);
  GraphWalk walk(section, kernel, slots, frame, stopsAfter);
  uint32_t interrupt = stopsAfter == 0, found = 0;
  grid::Runs runs(section, kernel, slots, frame, &interrupt);
  grid::Run run;
  for (const GraphWalk::Run &expected : walk.runs()) {
    if (!runs.next(&run))
      finding("there are %u runs instead of %zu", found, walk.runs().size());
    if (run.kernel != expected.kernel)
      finding("run %u is of kernel %zd", found, run.kernel - section.kernels());
    for (uint32_t i = 0; i < run.kernel->slot_count; ++i)
      if (run.slots[i].u != expected.slots[i].u)
        finding("run %u has another slot %u", found, i);
    if (run.kernel->node_count)
      finding("run %u is of a graph", found);
    if (run.kernel->frame_bytes > kernel.frame_bytes || (run.kernel->flags & ~kernel.flags))
      finding("run %u needs more than its graph", found);
    readTasks(section, *run.kernel, run.slots);
    interrupt = ++found >= stopsAfter;
  }
  if (!walk.isComplete())
    return;
  if (runs.next(&run) || runs.next(&run))
    finding("there are more than %u runs", found);
  if (runs.wereInterrupted() != walk.wasInterrupted())
    finding("the walk ended %s an interrupt", runs.wereInterrupted() ? "by" : "without");
}

// Those that hosts launch; the others run in graphs.
void readKernels(const grid::Section &section, uint32_t count, test::Random &random) {
  for (uint32_t k = 0; k < count; ++k)
    readRuns(section, section.kernels()[k], random);
}

void readImages(const grid::Section &section) {
  const metate_table &constants = section.header().constants;
  uint64_t sum = constants.count ? sumOf(section.at(constants.offset), constants.count) : 0;
  for (uint32_t i = 0; i < section.header().images.count && i < 64; ++i) {
    const metate_grid_image &image = section.images()[i];
    sum += sumOf(section.at(image.offset), image.bytes);
    if (image.format == METATE_GRID_PTX)
      touchText(section.text(image.offset));
  }
  volatile uint64_t kept = sum;
  (void)kept;
}

// Words as a device may have left them: some are statements.
void print(const grid::Payload &payload, test::Random &random) {
  grid::Prints prints(heap());
  require(prints.allocate(64), "prints");
  for (uint64_t i = 0; i < prints.bytes() / 4; ++i)
    prints.data()[i] = uint32_t(random.below(2) ? random.below(4) : random.nasty(i));
  metate_host host{};
  host.print = [](void *, const metate_print_item *items, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
      if (items[i].kind == METATE_PRINT_TEXT || items[i].kind == METATE_PRINT_FORMAT)
        touchText(items[i].value.text);
  };
  prints.deliver(payload, host);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static Tally tally;
  ++tally.inputs;
  if (bytes < sizeof(metate_grid))
    return 0;
  test::Random random(seedOf(data, bytes));
  Bytes sealed;
  sealed.append(data, bytes);
  Bytes descriptor = descriptorFor(sealed, random);
  seal(sealed, descriptor);
  test::Exact exact(sealed.data(), sealed.size());
  grid::Payload payload(heap());
  metate_status status = payload.open(Descriptor(descriptor.data()), 0, {exact.data, exact.bytes});
  requireReason(status, "open");
  if (status != METATE_OK)
    return 0;
  ++tally.accepted;
  readKernels(payload.section(), Descriptor(descriptor.data()).header().kernels.count, random);
  readImages(payload.section());
  print(payload, random);
  return 0;
}
