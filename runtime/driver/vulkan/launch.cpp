// Launches. Each is one command buffer, of a graph with many runs several: what the frame begins with, the tasks one behind the other,
// what the host wants to know. Of a kernel that neither fails nor prints it returns when that is in the queue, unless somebody asks for times.
#include "driver/vulkan/code.h"
#include "driver/vulkan/timestamps.h"

#include "driver/grid/prints.h"
#include "driver/grid/runs.h"

#include <cstddef>
#include <cstring>

namespace metate::vulkan {

namespace {

// While the host's word is watched: questions without a pause, then one each so often.
constexpr uint32_t busyWaits = 64;
constexpr uint64_t pauseNanoseconds = 50000;
constexpr uint64_t slotsStep = 4096;
// Of a graph, in a command buffer: bytes of slots, and runs.
constexpr uint64_t graphSlotsBytes = 64 << 10;
constexpr uint32_t mostRuns = 256;

// One launch, within a session.
class Launcher {
public:
  Launcher(Vulkan &vulkan, const Loaded &loaded, const Launch &launch, grid::Times &times)
      : vulkan(vulkan), library(vulkan.api), loaded(loaded), section(loaded.payload.section()),
        kernel(section.kernels()[launch.kernel]), launch(launch),
        prints(grid::isPrinting(kernel, launch.host)),
        waits(prints || kernel.flags & METATE_GRID_MAY_FAIL), timestamps(vulkan, times),
        times(times), commands(vulkan) {}

  int32_t run(grid::Prints *out) {
    uint32_t pools = loaded.payload.poolCount(launch.kernel);
    bool hasFrame = kernel.flags || pools;
    if (hasFrame)
      METATE_TRY(growFrame());
    if (prints)
      METATE_TRY(makeRing());
    METATE_TRY(timestamps.create(times.tasks(section, kernel)));
    METATE_TRY(begin());
    if (hasFrame)
      writeFrame(pools);
    isBehind = hasFrame;
    timestamps.begin(commands);
    grid::Runs runs(section, kernel, launch.slots, frame(), grid::interruptOf(launch.host));
    for (grid::Run run; runs.next(&run);) {
      METATE_TRY(writeSlots(run));
      for (uint32_t i = 0; i < run.kernel->task_count; ++i) {
        dispatch(run, run.kernel->first_task + i);
        timestamps.write(commands);
      }
    }
    if (waits)
      askResults();
    METATE_TRY(commands.submit());
    int32_t status =
        grid::outcomeOf(waits ? finish(out) : int32_t(METATE_OK), runs.wereInterrupted());
    if (!times.areWanted() || status != METATE_OK)
      return status;
    METATE_TRY(synchronize(vulkan));
    return timestamps.read();
  }

private:
  Vulkan &vulkan;
  const Library &library;
  const Loaded &loaded;
  const grid::Section &section;
  const metate_grid_kernel &kernel;
  const Launch &launch;
  const bool prints, waits;
  Timestamps timestamps;
  grid::Times &times;
  Commands commands;
  uint64_t slotsUsed = 0; // bytes of the command buffer's
  uint32_t runCount = 0;  // in the command buffer
  Flight *partBefore = nullptr;
  bool isBehind = false; // does something stand in it that the next task has to see?

  uint64_t frame() const { return vulkan.frame.address + grid::frameOffset; }

  // ---- before

  metate_status begin() {
    METATE_TRY(commands.begin());
    slotsUsed = runCount = 0;
    isBehind = false;
    Buffer &slots = commands.flight().slots;
    uint64_t bytes = kernel.node_count ? graphSlotsBytes : kernel.slot_count * sizeof(metate_slot);
    if (bytes <= slots.bytes && slots.handle)
      return METATE_OK;
    dropBuffer(vulkan, &slots);
    return makeBuffer(vulkan, (bytes / slotsStep + 1) * slotsStep, Use::slots, &slots);
  }

  metate_status growFrame() {
    uint64_t bytes = grid::launchBytes(kernel);
    if (bytes <= vulkan.frame.bytes)
      return METATE_OK;
    METATE_TRY(synchronize(vulkan));
    dropBuffer(vulkan, &vulkan.frame);
    return makeBuffer(vulkan, bytes, Use::kernels, &vulkan.frame);
  }

  metate_status makeRing() {
    if (vulkan.ring.handle)
      return METATE_OK;
    vulkan.ringUsed = grid::ringWords;
    return makeBuffer(vulkan, grid::ringBytes, Use::kernels, &vulkan.ring);
  }

  // Two parts of a graph are in the queue at most, so that its host can stop it.
  metate_status submitPart() {
    METATE_TRY(commands.submit());
    Flight *before = partBefore;
    partBefore = &commands.flight();
    if (before && before->isFlying)
      METATE_TRY(check(vulkan,
                       library.waitFences(vulkan.device, 1, &before->fence, VK_TRUE, UINT64_MAX),
                       "vkWaitForFences"));
    return begin();
  }

  // To memory that stays as it is until the launch has ended.
  metate_status writeSlots(const grid::Run &run) {
    uint64_t bytes = run.kernel->slot_count * sizeof(metate_slot);
    if (runCount == mostRuns || slotsUsed + bytes > commands.flight().slots.bytes)
      METATE_TRY(submitPart());
    const Buffer &slots = commands.flight().slots;
    if (bytes)
      memcpy(slots.mapped + slotsUsed, run.slots, bytes);
    const Addresses told{slots.address + slotsUsed, frame(), loaded.constants.address};
    slotsUsed += bytes;
    ++runCount;
    library.pushConstants(commands.handle(), vulkan.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          sizeof told, &told);
    return METATE_OK;
  }

  Results &results() { return *reinterpret_cast<Results *>(vulkan.results.mapped); }

  void writeFrame(uint32_t pools) {
    grid::Places places{vulkan.frame.address};
    if (waits && launch.host && launch.host->interrupt) {
      places.interrupt = vulkan.results.address + offsetof(Results, interrupt);
      results().interrupt = 0;
    }
    if (prints)
      writeRing(&places);
    grid::Head head;
    uint64_t from = grid::writeHead(&head, places, launch.pools, pools);
    library.updateBuffer(commands.handle(), vulkan.frame.handle, from, sizeof head - from,
                         reinterpret_cast<const uint8_t *>(&head) + from);
  }

  // Statements' numbers that nobody wrote are none.
  void writeRing(grid::Places *places) {
    places->ring = vulkan.ring.address;
    const uint32_t head[] = {grid::ringWords, 0};
    library.updateBuffer(commands.handle(), vulkan.ring.handle, 0, sizeof head, head);
    if (vulkan.ringUsed)
      library.fillBuffer(commands.handle(), vulkan.ring.handle, sizeof(metate_grid_ring),
                         vulkan.ringUsed * sizeof(uint32_t), grid::unwrittenWord);
    vulkan.ringUsed = grid::ringWords; // until somebody has looked
  }

  // ---- the tasks

  void dispatch(const grid::Run &run, uint32_t index) {
    grid::Shape shape = grid::shapeOf(section, section.tasks()[index], run.slots, vulkan.bounds);
    uint32_t groups = shape.groups < vulkan.limits.groups ? shape.groups : vulkan.limits.groups;
    if (isBehind)
      commands.order();
    isBehind = true;
    library.bindPipeline(commands.handle(), VK_PIPELINE_BIND_POINT_COMPUTE,
                         loaded.pipelines[index]);
    library.dispatch(commands.handle(), groups, 1, 1);
  }

  // ---- after

  void askResults() {
    commands.order();
    commands.copy(vulkan.frame, grid::frameOffset, vulkan.results, offsetof(Results, frame),
                  sizeof(metate_grid_frame));
    if (prints)
      commands.copy(vulkan.ring, offsetof(metate_grid_ring, taken), vulkan.results,
                    offsetof(Results, taken), sizeof(uint32_t));
  }

  // Meanwhile kernels see the host's word.
  metate_status watch() {
    for (uint32_t asked = 0;; ++asked) {
      if (grid::isInterrupted(launch.host))
        __atomic_store_n(&results().interrupt, 1u, __ATOMIC_RELAXED);
      VkResult result = commands.wait(asked < busyWaits ? 0 : pauseNanoseconds);
      if (result != VK_TIMEOUT)
        return check(vulkan, result, "vkWaitForFences");
    }
  }

  int32_t finish(grid::Prints *out) {
    if (launch.host && launch.host->interrupt)
      METATE_TRY(watch());
    METATE_TRY(synchronize(vulkan));
    if (prints)
      METATE_TRY(fetchPrints(out));
    return kernel.flags & METATE_GRID_MAY_FAIL ? grid::outcomeOf(results().frame, launch.host)
                                               : int32_t(METATE_OK);
  }

  metate_status fetchPrints(grid::Prints *out) {
    METATE_TRY(out->allocate(results().taken));
    vulkan.ringUsed = uint32_t(out->bytes() / sizeof(uint32_t));
    if (!vulkan.ringUsed)
      return METATE_OK;
    return copyOut(vulkan, vulkan.ring, sizeof(metate_grid_ring), out->data(), out->bytes());
  }
};

} // namespace

int32_t launch(void *self, const Code &code, const Launch &launch) {
  Vulkan &vulkan = of(self);
  const auto &loaded = *static_cast<const Loaded *>(code.handle);
  if (grid::isInterrupted(launch.host))
    return METATE_E_INTERRUPTED;
  grid::Prints prints(vulkan.allocator);
  grid::Times times(vulkan.allocator, launch);
  int32_t status;
  {
    Session session(vulkan);
    METATE_TRY(session.status());
    status = Launcher(vulkan, loaded, launch, times).run(&prints);
  }
  if (prints.bytes())
    prints.deliver(loaded.payload, *launch.host);
  if (status == METATE_OK)
    times.tell(loaded.payload.section(), loaded.payload.section().kernels()[launch.kernel]);
  return status;
}

} // namespace metate::vulkan
