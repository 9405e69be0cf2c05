// Launches. One of a kernel that neither fails nor prints puts its tasks into the stream and returns: no allocation, no question, no
// wait, unless somebody asks for times. The frame's beginning is copied where the device holds another one. A kernel that is launched again
// and again is one submission.
#include "driver/cuda/code.h"
#include "driver/cuda/events.h"

#include "driver/grid/prints.h"
#include "driver/grid/runs.h"
#include "driver/grid/shape.h"

#include <cstddef>
#include <cstring>
#include <ctime>

namespace metate::cuda {

namespace {

// How often as many invocations as run at once a task gets at most.
constexpr uint32_t rounds = 4;
// Tasks of a graph that its host may stop, in the stream.
constexpr uint32_t mostQueued = 512;
// Of one submission.
constexpr uint32_t mostTasks = 256;
// While the host's word is watched: questions without a pause, then one each so often.
constexpr uint32_t busyQueries = 256;
constexpr long pauseNanoseconds = 50000;

// One launch, within a session.
class Launcher {
public:
  Launcher(Cuda &cuda, const Loaded &loaded, const Launch &launch, grid::Times &times)
      : cuda(cuda), library(cuda.api), loaded(loaded), section(loaded.payload.section()),
        kernel(section.kernels()[launch.kernel]), submission(loaded.submissions[launch.kernel]),
        launch(launch), prints(grid::isPrinting(kernel, launch.host)),
        waits(prints || kernel.flags & METATE_GRID_MAY_FAIL), events(cuda, times), times(times) {}

  int32_t run(grid::Prints *out) {
    uint32_t pools = loaded.payload.poolCount(launch.kernel);
    if (kernel.flags || pools)
      METATE_TRY(prepareFrame(pools));
    METATE_TRY(events.create(times.tasks(section, kernel)));
    bool isSubmitted = false;
    if (submission.countLaunch() && mayBeSubmitted())
      METATE_TRY(submitTasks(&isSubmitted));
    if (!isSubmitted)
      METATE_TRY(launchTasks());
    int32_t status = grid::outcomeOf(waits ? finish(out) : int32_t(METATE_OK), wasInterrupted);
    if (!times.areWanted() || status != METATE_OK)
      return status;
    METATE_TRY(synchronize(cuda));
    return events.read();
  }

private:
  Cuda &cuda;
  const Library &library;
  const Loaded &loaded;
  const grid::Section &section;
  const metate_grid_kernel &kernel;
  Submission &submission;
  const Launch &launch;
  const bool prints, waits;
  Events events;
  grid::Times &times;
  bool wasInterrupted = false;

  uint64_t frame() const { return cuda.frame + grid::frameOffset; }

  // ---- before

  metate_status growFrame() {
    uint64_t bytes = grid::launchBytes(kernel);
    if (bytes <= cuda.frameBytes)
      return METATE_OK;
    METATE_TRY(synchronize(cuda));
    if (cuda.frame)
      METATE_TRY(check(cuda, library.release(cuda.frame), "cuMemFree"));
    cuda.frame = cuda.frameBytes = 0;
    cuda.writtenFrom = sizeof(grid::Head);
    METATE_TRY(check(cuda, library.allocate(&cuda.frame, bytes), "cuMemAlloc"));
    cuda.frameBytes = bytes;
    return METATE_OK;
  }

  // Statements' numbers that nobody wrote are none.
  metate_status prepareRing() {
    const uint32_t head[] = {grid::ringWords, 0};
    if (!cuda.ring) {
      METATE_TRY(check(cuda, library.allocate(&cuda.ring, grid::ringBytes), "cuMemAlloc"));
      cuda.ringUsed = grid::ringWords;
    }
    for (uint32_t i = 0; i < 2; ++i)
      METATE_TRY(check(cuda, library.fillWords(cuda.ring + 4 * i, head[i], 1, cuda.stream),
                       "cuMemsetD32Async"));
    if (cuda.ringUsed)
      METATE_TRY(check(cuda,
                       library.fillWords(cuda.ring + sizeof(metate_grid_ring), grid::unwrittenWord,
                                         cuda.ringUsed, cuda.stream),
                       "cuMemsetD32Async"));
    cuda.ringUsed = grid::ringWords; // until somebody has looked
    return METATE_OK;
  }

  // From memory that stays as it is until the copy is done.
  metate_status upload(const grid::Head &head, uint64_t from) {
    if (cuda.uploads == mostUploads)
      METATE_TRY(synchronize(cuda));
    grid::Head &slot = cuda.pinned->uploads[cuda.uploads++];
    auto *bytes = reinterpret_cast<uint8_t *>(&slot);
    memcpy(bytes + from, reinterpret_cast<const uint8_t *>(&head) + from, sizeof head - from);
    cuda.writtenFrom = sizeof head;
    METATE_TRY(check(
        cuda, library.toDevice(cuda.frame + from, bytes + from, sizeof head - from, cuda.stream),
        "cuMemcpyHtoDAsync"));
    memcpy(reinterpret_cast<uint8_t *>(&cuda.written) + from, bytes + from, sizeof head - from);
    cuda.writtenFrom = from;
    return METATE_OK;
  }

  metate_status prepareFrame(uint32_t pools) {
    METATE_TRY(growFrame());
    if (prints)
      METATE_TRY(prepareRing());
    grid::Places places{cuda.frame};
    places.ring = prints ? cuda.ring : 0;
    if (waits && launch.host && launch.host->interrupt)
      places.interrupt = cuda.interrupt;
    cuda.pinned->interrupt = 0;
    grid::Head head;
    uint64_t from = grid::writeHead(&head, places, launch.pools, pools);
    const auto *wanted = reinterpret_cast<const uint8_t *>(&head);
    const auto *there = reinterpret_cast<const uint8_t *>(&cuda.written);
    if (from >= cuda.writtenFrom && !memcmp(wanted + from, there + from, sizeof head - from))
      return METATE_OK;
    return upload(head, from);
  }

  // ---- the tasks

  // Calls `use` with each, in order, until one fails or the host wants an end.
  template <typename Use> metate_status eachTask(Use use) {
    grid::Runs runs(section, kernel, launch.slots, frame(), grid::interruptOf(launch.host));
    for (grid::Run run; runs.next(&run);)
      for (uint32_t i = 0; i < run.kernel->task_count; ++i)
        METATE_TRY(use(taskOf(run, run.kernel->first_task + i)));
    wasInterrupted = runs.wereInterrupted();
    return METATE_OK;
  }

  TaskLaunch taskOf(const grid::Run &run, uint32_t index) const {
    const metate_grid_task &task = section.tasks()[index];
    // What a workgroup has in shared memory is gathered in every round.
    uint32_t most = task.shared_bytes ? cuda.residents : rounds * cuda.residents;
    grid::Shape shape = grid::shapeOf(section, task, run.slots, {most, cuda.residents});
    return {loaded.functions[index], shape.groups, shape.group, task.shared_bytes, run.slots,
            run.kernel->slot_count,  frame()};
  }

  metate_status launchTasks() {
    METATE_TRY(events.record());
    uint32_t queued = 0;
    return eachTask([&](const TaskLaunch &task) -> metate_status {
      Result result = withNode(task, [&](const KernelNode &node) {
        return library.launch(node.function, node.gridX, 1, 1, node.blockX, 1, 1, node.sharedBytes,
                              cuda.stream, node.parameters, nullptr);
      });
      METATE_TRY(check(cuda, result, "cuLaunchKernel"));
      METATE_TRY(events.record());
      bool isMuch = ++queued % mostQueued == 0 && launch.host && launch.host->interrupt;
      return isMuch ? synchronize(cuda) : METATE_OK;
    });
  }

  // ---- all of them as one

  // Not into a graph of the application's own, nor where a graph's nodes would lose the stream's priority.
  bool mayBeSubmitted() const {
    if (times.areWanted())
      return false;
    int capturing = 0, priority = 0;
    return cuda.ownsStream ||
           (library.streamIsCapturing(cuda.stream, &capturing) == success && !capturing &&
            library.streamPriority(cuda.stream, &priority) == success && !priority);
  }

  metate_status makeSubmission() {
    uint32_t tasks = 0, slots = 0;
    grid::Runs runs(section, kernel, launch.slots, frame(), grid::interruptOf(launch.host));
    for (grid::Run run; tasks <= mostTasks && runs.next(&run);) {
      tasks += run.kernel->task_count;
      slots += run.kernel->task_count * run.kernel->slot_count;
    }
    if (!tasks || tasks > mostTasks) {
      submission.decline(cuda);
      return METATE_OK;
    }
    METATE_TRY(submission.begin(cuda, tasks, slots));
    METATE_TRY(eachTask([&](const TaskLaunch &task) { return submission.add(cuda, task); }));
    return submission.end(cuda);
  }

  metate_status submitTasks(bool *isSubmitted) {
    if (!submission.isMade())
      METATE_TRY(makeSubmission());
    if (!submission.isMade())
      return METATE_OK;
    bool fits = true;
    submission.rewind();
    METATE_TRY(eachTask([&](const TaskLaunch &task) -> metate_status {
      return fits ? submission.offer(cuda, task, &fits) : METATE_OK;
    }));
    if (fits && !wasInterrupted)
      METATE_TRY(submission.submit(cuda, &fits));
    if (!fits && !wasInterrupted)
      submission.giveUp(cuda);
    *isSubmitted = fits;
    return METATE_OK;
  }

  // ---- after

  metate_status fetch(void *to, Address from, uint64_t bytes) {
    return check(cuda, library.toHost(to, from, bytes, cuda.stream), "cuMemcpyDtoHAsync");
  }

  // Meanwhile kernels see the host's word.
  metate_status watch() {
    for (uint32_t asked = 0;; ++asked) {
      if (grid::isInterrupted(launch.host))
        __atomic_store_n(&cuda.pinned->interrupt, 1u, __ATOMIC_RELAXED);
      Result result = library.query(cuda.stream);
      if (result != notReady) {
        cuda.uploads = 0;
        return check(cuda, result, "cuStreamQuery");
      }
      timespec pause{0, pauseNanoseconds};
      if (asked >= busyQueries)
        nanosleep(&pause, nullptr);
    }
  }

  int32_t finish(grid::Prints *out) {
    Pinned &pinned = *cuda.pinned;
    METATE_TRY(fetch(&pinned.frame, cuda.frame + grid::frameOffset, sizeof pinned.frame));
    if (prints)
      METATE_TRY(fetch(&pinned.taken, cuda.ring + offsetof(metate_grid_ring, taken), 4));
    METATE_TRY(launch.host && launch.host->interrupt ? watch() : synchronize(cuda));
    if (memcmp(&pinned.frame, &cuda.written.frame, sizeof pinned.frame))
      cuda.writtenFrom = sizeof(grid::Head);
    if (prints)
      METATE_TRY(fetchPrints(out));
    return kernel.flags & METATE_GRID_MAY_FAIL ? grid::outcomeOf(pinned.frame, launch.host)
                                               : int32_t(METATE_OK);
  }

  metate_status fetchPrints(grid::Prints *out) {
    METATE_TRY(out->allocate(cuda.pinned->taken));
    cuda.ringUsed = uint32_t(out->bytes() / sizeof(uint32_t));
    if (!cuda.ringUsed)
      return METATE_OK;
    METATE_TRY(fetch(out->data(), cuda.ring + sizeof(metate_grid_ring), out->bytes()));
    return synchronize(cuda);
  }
};

} // namespace

int32_t launch(void *self, const Code &code, const Launch &launch) {
  Cuda &cuda = of(self);
  const auto &loaded = *static_cast<const Loaded *>(code.handle);
  if (grid::isInterrupted(launch.host))
    return METATE_E_INTERRUPTED;
  grid::Prints prints(cuda.allocator);
  grid::Times times(cuda.allocator, launch);
  int32_t status;
  {
    Session session(cuda);
    METATE_TRY(session.status());
    status = Launcher(cuda, loaded, launch, times).run(&prints);
  }
  if (prints.bytes())
    prints.deliver(loaded.payload, *launch.host);
  if (status == METATE_OK)
    times.tell(loaded.payload.section(), loaded.payload.section().kernels()[launch.kernel]);
  return status;
}

} // namespace metate::cuda
