// What a launch puts into a command buffer, whoever's that is: what the frame begins with, the tasks one behind the other, what the host
// wants to know. It must not know where its memory comes from, nor when the commands run.
#ifndef METATE_RUNTIME_DRIVER_VULKAN_SCRIPT_H
#define METATE_RUNTIME_DRIVER_VULKAN_SCRIPT_H

#include "driver/grid/prints.h"
#include "driver/grid/runs.h"
#include "driver/vulkan/code.h"
#include "driver/vulkan/timestamps.h"

namespace metate::vulkan {

// A piece of a buffer.
struct Piece {
  const Buffer *buffer = nullptr;
  uint64_t offset = 0;
  uint64_t address() const { return buffer ? buffer->address + offset : 0; }
  uint8_t *mapped() const { return buffer->mapped + offset; }
};

// The memory of one launch; pieces that it does not need are empty.
struct Places {
  Piece frame, ring, results; // grid::Head, metate_grid_ring, Results
  uint64_t interrupt = 0;     // the address of a word; 0: nobody interrupts
  uint32_t ringUsed = 0;      // words of the ring that are not unwritten ones
  uint64_t frameAddress() const { return frame.address() + grid::frameOffset; }
};

class Script {
public:
  Script(const Vulkan &vulkan, const Loaded &loaded, const Launch &launch)
      : vulkan(vulkan), loaded(loaded), section(loaded.payload.section()),
        kernel(section.kernels()[launch.kernel]), launch(launch),
        poolCount(loaded.payload.poolCount(launch.kernel)),
        isPrinting(grid::isPrinting(kernel, launch.host)) {}

  bool prints() const { return isPrinting; }
  bool mayFail() const { return kernel.flags & METATE_GRID_MAY_FAIL; }
  bool hasResults() const { return prints() || mayFail(); }
  bool hasFrame() const { return kernel.flags || poolCount; }
  bool isGraph() const { return kernel.node_count != 0; }
  uint64_t slotBytes() const { return kernel.slot_count * sizeof(metate_slot); }
  uint64_t frameBytes() const { return grid::launchBytes(kernel); }

  // What a launch runs, one kernel after the other.
  grid::Runs runs(const Places &places) const {
    return grid::Runs(section, kernel, launch.slots, places.frameAddress(),
                      grid::interruptOf(launch.host));
  }
  void writeFrame(VkCommandBuffer commands, const Places &places) const;
  // The tasks of one kernel. Its slots are copied at once to `slots`, memory that stays as it is until the launch has ended;
  // `isBehind`: what stands in the commands before them has to be seen. `timestamps` may be NULL.
  void writeRun(VkCommandBuffer commands, const Places &places, const grid::Run &run,
                const Piece &slots, bool isBehind, Timestamps *timestamps) const;
  void askResults(VkCommandBuffer commands, const Places &places) const;

private:
  void writeRing(VkCommandBuffer commands, const Places &places) const;
  void dispatch(VkCommandBuffer commands, const grid::Run &run, uint32_t task) const;

  const Vulkan &vulkan;
  const Loaded &loaded;
  const grid::Section &section;
  const metate_grid_kernel &kernel;
  const Launch &launch;
  const uint32_t poolCount;
  const bool isPrinting;
};

} // namespace metate::vulkan

#endif
