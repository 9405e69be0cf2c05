// Launches. Each is one command buffer of the device's, of a graph with many runs several. Of a kernel that neither fails nor prints it
// returns when that is in the queue, unless somebody asks for times.
#include "driver/vulkan/recording.h"

#include <cstddef>

namespace metate::vulkan {

namespace {

// While the host's word is watched: questions without a pause, then one each so often.
constexpr uint32_t busyWaits = 64;
constexpr uint64_t pauseNanoseconds = 50000;
constexpr uint64_t slotsStep = 4096;
// Of a graph, in a command buffer: bytes of slots, and runs.
constexpr uint64_t graphSlotsBytes = 64 << 10;
constexpr uint32_t mostRuns = 256;
static_assert(METATE_GRID_MAX_SLOTS * sizeof(metate_slot) <= graphSlotsBytes);

// One launch, within a session.
class Launcher {
public:
  Launcher(Vulkan &vulkan, const Loaded &loaded, const Launch &launch, grid::Times &times)
      : vulkan(vulkan), launch(launch), script(vulkan, loaded, launch), times(times),
        taskCount(times.tasks(loaded.payload.section(),
                              loaded.payload.section().kernels()[launch.kernel])),
        timestamps(vulkan, times), commands(vulkan) {}

  int32_t run(grid::Prints *out) {
    if (script.hasFrame())
      METATE_TRY(growFrame());
    if (script.prints())
      METATE_TRY(makeRing());
    METATE_TRY(timestamps.create(taskCount));
    METATE_TRY(begin());
    const Places places = this->places();
    isBehind = script.hasFrame();
    if (isBehind)
      script.writeFrame(commands.handle(), places);
    timestamps.begin(commands.handle());
    grid::Runs runs = script.runs(places);
    for (grid::Run run; runs.next(&run); isBehind = true) {
      Piece slots;
      METATE_TRY(takeSlots(run, &slots));
      script.writeRun(commands.handle(), places, run, slots, isBehind, &timestamps);
    }
    if (script.hasResults())
      script.askResults(commands.handle(), places);
    METATE_TRY(commands.submit());
    int32_t status = grid::outcomeOf(script.hasResults() ? finish(out) : int32_t(METATE_OK),
                                     runs.wereInterrupted());
    if (!times.areWanted() || status != METATE_OK)
      return status;
    METATE_TRY(synchronize(vulkan));
    return timestamps.read();
  }

private:
  Vulkan &vulkan;
  const Launch &launch;
  const Script script;
  grid::Times &times;
  const uint32_t taskCount; // whose times are wanted
  Timestamps timestamps;
  Commands commands;
  uint64_t slotsUsed = 0; // bytes of the command buffer's
  uint32_t runCount = 0;  // in the command buffer
  Flight *partBefore = nullptr;
  bool isBehind = false; // does something stand in it that the next task has to see?

  // ---- before

  metate_status growFrame() {
    if (script.frameBytes() <= vulkan.frame.bytes)
      return METATE_OK;
    METATE_TRY(synchronize(vulkan));
    dropBuffer(vulkan, &vulkan.frame);
    return makeBuffer(vulkan, script.frameBytes(), Use::kernels, &vulkan.frame);
  }

  metate_status makeRing() {
    if (vulkan.ring.handle)
      return METATE_OK;
    vulkan.ringUsed = grid::ringWords;
    return makeBuffer(vulkan, grid::ringBytes, Use::kernels, &vulkan.ring);
  }

  metate_status begin() {
    METATE_TRY(commands.begin());
    slotsUsed = runCount = 0;
    isBehind = false;
    Buffer &slots = commands.flight().slots;
    uint64_t bytes = script.isGraph() ? graphSlotsBytes : script.slotBytes();
    if (bytes <= slots.bytes && slots.handle)
      return METATE_OK;
    dropBuffer(vulkan, &slots);
    return makeBuffer(vulkan, (bytes / slotsStep + 1) * slotsStep, Use::slots, &slots);
  }

  // Two parts of a graph are in the queue at most, so that its host can stop it.
  metate_status submitPart() {
    METATE_TRY(commands.submit());
    Flight *before = partBefore;
    partBefore = &commands.flight();
    if (before && before->isFlying)
      METATE_TRY(check(vulkan,
                       vulkan.api.waitFences(vulkan.device, 1, &before->fence, VK_TRUE, UINT64_MAX),
                       "vkWaitForFences"));
    return begin();
  }

  metate_status takeSlots(const grid::Run &run, Piece *slots) {
    uint64_t bytes = run.kernel->slot_count * sizeof(metate_slot);
    if (runCount == mostRuns || slotsUsed + bytes > commands.flight().slots.bytes)
      METATE_TRY(submitPart());
    *slots = {&commands.flight().slots, slotsUsed};
    slotsUsed += bytes;
    ++runCount;
    return METATE_OK;
  }

  Results &results() { return *reinterpret_cast<Results *>(vulkan.results.mapped); }

  Places places() {
    Places places;
    places.frame = {&vulkan.frame, 0};
    places.results = {&vulkan.results, 0};
    if (script.hasResults() && launch.host && launch.host->interrupt) {
      places.interrupt = vulkan.results.address + offsetof(Results, interrupt);
      results().interrupt = 0;
    }
    if (script.prints()) {
      places.ring = {&vulkan.ring, 0};
      places.ringUsed = vulkan.ringUsed;
      vulkan.ringUsed = grid::ringWords; // until somebody has looked
    }
    return places;
  }

  // ---- after

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
    if (script.prints())
      METATE_TRY(fetchPrints(out));
    return script.mayFail() ? outcomeOf(vulkan, results().frame, launch.host) : int32_t(METATE_OK);
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
  if (launch.into)
    return record(vulkan, loaded, launch);
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
