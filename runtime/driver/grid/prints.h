// What a launch printed: a ring's words, copied to the host, and given to the host's hook. It must not know what values look like.
#ifndef METATE_RUNTIME_DRIVER_GRID_PRINTS_H
#define METATE_RUNTIME_DRIVER_GRID_PRINTS_H

#include "driver/grid/payload.h"

namespace metate::grid {

// Words of a ring's data, and what they hold before a launch: no statement has that number.
constexpr uint32_t ringWords = 1u << 16;
constexpr uint32_t unwrittenWord = 0xffffffffu;
constexpr uint64_t ringBytes = sizeof(metate_grid_ring) + sizeof(uint32_t) * ringWords;

inline bool isPrinting(const metate_grid_kernel &kernel, const metate_host *host) {
  return (kernel.flags & METATE_GRID_PRINTS) && host && host->print;
}

// A copy of the words that a launch wrote, in the host's memory.
class Prints {
public:
  explicit Prints(const metate_allocator &allocator) : memory(allocator) {}
  ~Prints() { clear(); }
  Prints(const Prints &) = delete;
  Prints &operator=(const Prints &) = delete;

  // Room for what a ring holds, of which `taken` words were asked for.
  metate_status allocate(uint32_t taken);
  uint32_t *data() { return words; }
  uint64_t bytes() const { return uint64_t(count) * sizeof(uint32_t); }

  // Statement by statement, in their order in the ring. The caller holds no lock: a hook may launch.
  void deliver(const Payload &payload, const metate_host &host);

private:
  uint32_t deliverOne(const Section &section, const metate_host &host, uint32_t at,
                      metate_print_item *items) const;
  void clear();

  metate_allocator memory;
  uint32_t *words = nullptr;
  uint32_t count = 0;
  uint32_t lost = 0; // words
};

} // namespace metate::grid

#endif
