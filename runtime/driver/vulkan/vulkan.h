// The device "vulkan": a VkDevice, a queue in whose order all of its work is, and the memory that a launch begins with. One thread at a
// time works on it.
#ifndef METATE_RUNTIME_DRIVER_VULKAN_VULKAN_H
#define METATE_RUNTIME_DRIVER_VULKAN_VULKAN_H

#include "driver/grid/frame.h"
#include "driver/grid/ranges.h"
#include "driver/grid/shape.h"
#include "driver/plugin.h"
#include "driver/vulkan/library.h"
#include "driver/vulkan/words.h"
#include "metate/metate_vulkan.h"
#include "os/os.h"

#include <atomic>

namespace metate::vulkan {

// Command buffers that wait in the queue; more wait for it.
constexpr uint32_t mostFlights = 32;
// What copies go through where the host does not reach memory.
constexpr uint64_t stagingBytes = 4 << 20;
// What the host reads of a launch, and what kernels read of the host meanwhile.
struct Results {
  metate_grid_frame frame; // as a launch left it
  uint32_t taken;          // words of the ring
  uint32_t interrupt;      // the word that kernels ask
};

struct Buffer {
  VkBuffer handle = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE; // null: somebody else's
  uint8_t *mapped = nullptr;              // NULL: the host copies
  uint64_t address = 0;
  uint64_t bytes = 0;
};

// A command buffer, and the slots that its launch reads.
struct Flight {
  VkCommandBuffer commands = nullptr;
  VkFence fence = VK_NULL_HANDLE;
  bool isFlying = false;
  Buffer slots;
};

struct Limits {
  uint32_t groups = 0; // of a dispatch
  uint32_t group = 0;  // invocations of a workgroup
  uint32_t sharedBytes = 0;
  uint64_t allocation = 0; // bytes
};

// The device's clock, as command buffers read it.
struct Clock {
  double nanoseconds = 0; // of a tick
  uint64_t mask = 0;      // of the bits that count; 0: there is none
};

struct Vulkan {
  Vulkan(const metate_allocator &allocator) : allocator(allocator), pieces(allocator) {}

  metate_allocator allocator;
  Library api;
  VkInstance instance = nullptr;
  VkPhysicalDevice physical = nullptr;
  VkDevice device = nullptr;
  VkQueue queue = nullptr;
  uint32_t family = 0;
  bool ownsInstance = false, ownsDevice = false;
  uint32_t features = 0;   // METATE_FEATURE_* that are enabled
  uint32_t version = 0;    // of Vulkan, as it packs them
  bool isLavapipe = false; // Mesa's CPU device: for tests
  bool maps = false;       // is all of its memory the host's too, and does the host work in it?
  Limits limits;
  Clock clock;
  FloatModes floats;
  grid::Bounds bounds{};
  char name[64] = "";
  VkPhysicalDeviceMemoryProperties memory{};
  std::atomic<VkResult> lost{VK_SUCCESS}; // why nothing works any more

  os::Mutex piecesMutex;
  grid::Ranges pieces; // whose owners are Buffers; guarded by piecesMutex

  os::Mutex mutex; // guards the rest, and the queue
  VkCommandPool pool = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  Flight flights[mostFlights];
  uint32_t nextFlight = 0;
  Flight *last = nullptr; // that flies; NULL: none does
  Buffer results;         // Results
  Buffer staging;         // of stagingBytes, once somebody has copied
  Buffer frame;           // a head and values behind it
  Buffer ring;            // of grid::ringBytes, once somebody has printed
  uint32_t ringUsed = 0;  // words that are not unwritten ones
};

inline Vulkan &of(void *self) { return *static_cast<Vulkan *>(self); }
inline Vulkan &of(const void *self) { return of(const_cast<void *>(self)); }
// metate_vulkan_options and what the driver's own functions are given, as handles.
template <typename Handle> Handle handleOf(void *given) { return reinterpret_cast<Handle>(given); }

// A call's result as a status with a text; a fatal one makes the device lost.
metate_status check(Vulkan &vulkan, VkResult result, const char *function);
// METATE_E_INTERNAL once the device is lost.
metate_status checkAlive(const Vulkan &vulkan);
bool isOutOfMemory(VkResult result);

// What one thread does on the device: meanwhile nobody else does.
class Session {
public:
  explicit Session(Vulkan &vulkan) : lock(vulkan.mutex), begun(checkAlive(vulkan)) {}
  metate_status status() const { return begun; }

private:
  os::Lock lock;
  metate_status begun;
};

// ---- the machine (machine.cpp)
metate_status openMachine(Vulkan &vulkan, const metate_vulkan_options &options);
void closeMachine(Vulkan &vulkan);

// ---- the queue, within a session (queue.cpp)
metate_status openQueue(Vulkan &vulkan);
void closeQueue(Vulkan &vulkan);
// Returns when the queue has nothing left to do.
metate_status synchronize(Vulkan &vulkan);

// Of a command buffer: what stands behind it sees what was written before it.
void order(const Vulkan &vulkan, VkCommandBuffer commands);

// Commands behind what is in the queue. Those that are not submitted are dropped.
class Commands {
public:
  explicit Commands(Vulkan &vulkan) : vulkan(vulkan) {}
  ~Commands();
  Commands(const Commands &) = delete;
  Commands &operator=(const Commands &) = delete;

  metate_status begin();
  Flight &flight() { return *own; }
  VkCommandBuffer handle() const { return own->commands; }
  void copy(const Buffer &from, uint64_t fromOffset, const Buffer &to, uint64_t toOffset,
            uint64_t bytes);
  metate_status submit();
  // Of what was submitted. VK_TIMEOUT: not yet.
  VkResult wait(uint64_t nanoseconds);

private:
  Vulkan &vulkan;
  Flight *own = nullptr;
  bool isOpen = false;
};

// ---- buffers, within a session (buffer.cpp)
enum class Use {
  kernels, // memory of the device
  slots,   // that the host writes and kernels read
  host     // that the device writes and the host reads, or the other way round
};
metate_status makeBuffer(Vulkan &vulkan, uint64_t bytes, Use use, Buffer *buffer);
void dropBuffer(Vulkan &vulkan, Buffer *buffer);
metate_status copyOut(Vulkan &vulkan, const Buffer &from, uint64_t offset, void *to,
                      uint64_t bytes);
metate_status copyIn(Vulkan &vulkan, const Buffer &to, uint64_t offset, const void *from,
                     uint64_t bytes);
metate_status clear(Vulkan &vulkan, const Buffer &buffer, uint64_t offset, uint64_t bytes);

// ---- memory (memory.cpp)
metate_status create(void *self, uint64_t bytes, uint64_t align, Region *region);
metate_status reserve(void *self, uint64_t bytes, Region *region);
metate_status wrap(void *self, void *address, uint64_t bytes, Region *region);
void release(void *self, const Region &region);
metate_status read(void *self, uint64_t address, void *to, uint64_t bytes);
metate_status write(void *self, uint64_t address, const void *from, uint64_t bytes);
metate_status zero(void *self, uint64_t address, uint64_t bytes);
Room room(const void *self);
bool reaches(const void *self, uint64_t address, uint64_t bytes);
metate_status remember(Vulkan &vulkan, VkBuffer buffer, uint64_t bytes, uint64_t *address);
metate_status forget(Vulkan &vulkan, uint64_t address);
void forgetAll(Vulkan &vulkan);

// ---- code (code.cpp, launch.cpp)
// As grid::outcomeOf() gives it, and of loops that the device has ended a text.
int32_t outcomeOf(const Vulkan &vulkan, const metate_grid_frame &frame, const metate_host *host);
metate_status load(void *self, const Descriptor &descriptor, uint32_t variant, Span payload,
                   Code *code);
void unload(void *self, Code *code);
int32_t launch(void *self, const Code &code, const Launch &launch);

} // namespace metate::vulkan

#endif
