// What a launch's tasks took, for whoever asks.
#ifndef METATE_RUNTIME_DRIVER_GRID_TIMES_H
#define METATE_RUNTIME_DRIVER_GRID_TIMES_H

#include "driver/driver.h"
#include "driver/grid/section.h"

namespace metate::grid {

class Times {
public:
  Times(const metate_allocator &allocator, const Launch &launch)
      : allocator(allocator), launch(launch) {}
  ~Times();
  Times(const Times &) = delete;
  Times &operator=(const Times &) = delete;

  bool areWanted() const { return launch.times; }
  // How many tasks the launch has, those of a graph each as often as it runs; 0: nobody wants times, these are too many, or the
  // host wants an end.
  uint32_t tasks(const Section &section, const metate_grid_kernel &kernel) const;
  // Room for the marks of so many tasks.
  metate_status allocate(uint32_t tasks);
  // Nanoseconds of one clock: before the first task, and behind each.
  uint64_t *marks() { return list; }
  // Tells what the marks say, where there are any. The driver holds no lock: whoever is told may call it.
  void tell(const Section &section, const metate_grid_kernel &kernel) const;

private:
  metate_allocator allocator;
  const Launch &launch;
  uint64_t *list = nullptr;
  uint32_t count = 0;
};

} // namespace metate::grid

#endif
