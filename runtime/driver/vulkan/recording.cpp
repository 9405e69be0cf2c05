// Recording launches, and asking what became of them.
#include "driver/vulkan/recording.h"

#include <cstring>
#include <new>

namespace metate::vulkan {

namespace {

// Of a block; what is larger has one of its own.
constexpr uint64_t blockBytes = 256 << 10;
constexpr uint64_t pieceAlign = 256;

template <typename Object> void destroy(const metate_allocator &allocator, Object *object) {
  object->~Object();
  allocator.release(allocator.self, object, sizeof(Object), alignof(Object));
}

void *allocate(const Vulkan &vulkan, uint64_t bytes, uint64_t align) {
  return vulkan.allocator.allocate(vulkan.allocator.self, bytes, align);
}

void drop(const Vulkan &vulkan, Recorded *recorded) {
  if (recorded->arguments)
    vulkan.allocator.release(vulkan.allocator.self, recorded->arguments,
                             recorded->count * sizeof(metate_argument), alignof(metate_argument));
  destroy(vulkan.allocator, recorded);
}

// NULL when memory ran out.
Recorded *newRecorded(const Vulkan &vulkan, const metate_kernel *kernel,
                      const metate_argument *arguments, uint32_t count) {
  void *place = allocate(vulkan, sizeof(Recorded), alignof(Recorded));
  if (!place)
    return nullptr;
  auto *made = new (place) Recorded();
  made->kernel = kernel;
  if (!count || !arguments)
    return made;
  uint64_t bytes = count * sizeof(metate_argument);
  made->arguments =
      static_cast<metate_argument *>(allocate(vulkan, bytes, alignof(metate_argument)));
  if (!made->arguments) {
    drop(vulkan, made);
    return nullptr;
  }
  memcpy(made->arguments, arguments, bytes);
  made->count = count;
  return made;
}

// Whatever the application does next sees what kernels wrote.
void end(const Vulkan &vulkan, VkCommandBuffer commands) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask =
      VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_READ_BIT;
  vulkan.api.barrier(commands,
                     VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                     VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                     &barrier, 0, nullptr, 0, nullptr);
}

// What one launch left: its text and status.
metate_status outcomeOf(const Vulkan &vulkan, const Recorded &recorded) {
  const auto &results = *reinterpret_cast<const Results *>(recorded.results.mapped());
  metate_failure failure{};
  failure.text = METATE_NONE;
  metate_host host{};
  host.failure = &failure;
  int32_t code = recorded.mayFail ? outcomeOf(vulkan, results.frame, &host) : int32_t(METATE_OK);
  return metate_kernel_report(recorded.kernel, recorded.arguments, code, &failure);
}

metate_status deliver(const Vulkan &vulkan, const Recorded &recorded) {
  const auto &results = *reinterpret_cast<const Results *>(recorded.results.mapped());
  grid::Prints prints(vulkan.allocator);
  METATE_TRY(prints.allocate(results.taken));
  if (!prints.bytes())
    return METATE_OK;
  memcpy(prints.data(), recorded.ring.mapped() + sizeof(metate_grid_ring), prints.bytes());
  prints.deliver(recorded.loaded->payload, recorded.host);
  return METATE_OK;
}

// Each kernel of a graph has slots of its own.
metate_status writeAll(metate_vulkan_recording &recording, const Script &script,
                       const Places &places) {
  bool isBehind = script.hasFrame();
  if (isBehind)
    script.writeFrame(recording.commands, places);
  grid::Runs runs = script.runs(places);
  for (grid::Run run; runs.next(&run); isBehind = true) {
    Piece slots;
    if (run.kernel->slot_count)
      METATE_TRY(recording.shared.take(run.kernel->slot_count * sizeof(metate_slot), &slots));
    script.writeRun(recording.commands, places, run, slots, isBehind, nullptr);
  }
  if (script.hasResults())
    script.askResults(recording.commands, places);
  return METATE_OK;
}

// As if nothing had run.
void forgetResults(const Piece &results) {
  if (results.buffer)
    memset(static_cast<void *>(results.mapped()), 0, sizeof(Results));
}

} // namespace

Arena::~Arena() {
  while (Block *block = newest) {
    newest = block->next;
    dropBuffer(vulkan, &block->buffer);
    destroy(vulkan.allocator, block);
  }
}

metate_status Arena::take(uint64_t bytes, Piece *piece) {
  uint64_t whole = (bytes + pieceAlign - 1) / pieceAlign * pieceAlign;
  if (!newest || newest->buffer.bytes - newest->used < whole) {
    void *place = allocate(vulkan, sizeof(Block), alignof(Block));
    if (!place)
      return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %zu bytes", sizeof(Block));
    auto *block = new (place) Block{newest, {}, 0};
    metate_status status =
        makeBuffer(vulkan, whole > blockBytes ? whole : blockBytes, use, &block->buffer);
    if (status != METATE_OK) {
      destroy(vulkan.allocator, block);
      return status;
    }
    newest = block;
  }
  *piece = {&newest->buffer, newest->used};
  newest->used += whole;
  return METATE_OK;
}

int32_t record(Vulkan &vulkan, const Loaded &loaded, const Launch &launch) {
  auto &recording = *static_cast<metate_vulkan_recording *>(launch.into);
  Recorded &recorded = *recording.newest;
  const Script script(vulkan, loaded, launch);
  Session session(vulkan);
  METATE_TRY(session.status());
  Places places;
  if (script.hasFrame())
    METATE_TRY(recording.memory.take(script.frameBytes(), &places.frame));
  if (script.hasResults())
    METATE_TRY(recording.shared.take(sizeof(Results), &places.results));
  if (script.prints()) {
    METATE_TRY(recording.shared.take(grid::ringBytes, &places.ring));
    places.ringUsed = grid::ringWords;
  }
  forgetResults(places.results);
  order(vulkan, recording.commands);
  METATE_TRY(writeAll(recording, script, places));
  end(vulkan, recording.commands);
  recorded.loaded = &loaded;
  recorded.prints = script.prints();
  recorded.mayFail = script.mayFail();
  recorded.results = places.results;
  recorded.ring = places.ring;
  recorded.host.print = launch.host->print;
  recorded.host.print_self = launch.host->print_self;
  return METATE_OK;
}

metate_status openRecording(metate_device *device, Vulkan &vulkan, VkCommandBuffer commands,
                            metate_vulkan_recording **recording) {
  METATE_TRY(checkAlive(vulkan));
  void *place = allocate(vulkan, sizeof(metate_vulkan_recording), alignof(metate_vulkan_recording));
  if (!place)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %zu bytes for a recording",
                sizeof(metate_vulkan_recording));
  *recording = new (place) metate_vulkan_recording(device, vulkan, commands);
  return METATE_OK;
}

} // namespace metate::vulkan

using namespace metate;
using namespace metate::vulkan;

metate_status metate_vulkan_record(metate_vulkan_recording *recording, const metate_kernel *kernel,
                                   const metate_argument *arguments, uint32_t count,
                                   const metate_launch_options *options) {
  METATE_REQUIRE(recording);
  METATE_REQUIRE(kernel);
  const Vulkan &vulkan = recording->vulkan;
  Recorded *recorded = newRecorded(vulkan, kernel, arguments, count);
  if (!recorded)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for a recorded launch");
  recording->newest = recorded;
  metate_status status =
      metate_kernel_record(recording->device, kernel, arguments, count, options, recording);
  recording->newest = nullptr;
  if (status != METATE_OK) {
    drop(vulkan, recorded);
    return status;
  }
  (recording->last ? recording->last->next : recording->first) = recorded;
  recording->last = recorded;
  return METATE_OK;
}

metate_status metate_vulkan_recording_finish(metate_vulkan_recording *recording) {
  METATE_REQUIRE(recording);
  METATE_TRY(checkAlive(recording->vulkan));
  for (Recorded *recorded = recording->first; recorded; recorded = recorded->next)
    if (recorded->prints)
      METATE_TRY(deliver(recording->vulkan, *recorded));
  metate_status status = METATE_OK;
  for (Recorded *recorded = recording->first; recorded; recorded = recorded->next) {
    if (recorded->mayFail && status == METATE_OK)
      status = outcomeOf(recording->vulkan, *recorded);
    forgetResults(recorded->results);
  }
  return status;
}

metate_status metate_vulkan_recording_close(metate_vulkan_recording *recording) {
  METATE_REQUIRE(recording);
  Vulkan &vulkan = recording->vulkan;
  while (Recorded *recorded = recording->first) {
    recording->first = recorded->next;
    metate_kernel_forget(recorded->kernel, recorded->arguments);
    drop(vulkan, recorded);
  }
  Session session(vulkan); // a lost device gives its memory back as well
  destroy(vulkan.allocator, recording);
  return METATE_OK;
}
