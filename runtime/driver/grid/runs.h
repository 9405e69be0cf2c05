// What a launch runs: a kernel with its own slots, or the kernels of a graph, one after another, with slots computed of the graph's.
#ifndef METATE_RUNTIME_DRIVER_GRID_RUNS_H
#define METATE_RUNTIME_DRIVER_GRID_RUNS_H

#include "driver/grid/section.h"

namespace metate::grid {

struct Run {
  const metate_grid_kernel *kernel;
  const metate_slot *slots; // until the next run is asked for
};

class Runs {
public:
  // `frame`: its address. `interrupt` as the host has it: it is asked before each turn of a loop.
  Runs(const Section &section, const metate_grid_kernel &kernel, const metate_slot *slots,
       uint64_t frame, const uint32_t *interrupt);
  // False: there are no more.
  bool next(Run *run);
  // Did they end because the host wants the launch to stop?
  bool wereInterrupted() const { return stopped; }

private:
  struct Loop {
    uint32_t begin, end; // nodes
    int64_t count;
  };
  bool goRound();
  int64_t number(uint32_t operand) const;

  const Section &section;
  const metate_grid_kernel &kernel;
  const metate_slot *slots;
  uint64_t frame;
  const uint32_t *interrupt;
  uint32_t at; // the next node
  bool isDone; // of a kernel that is no graph: has it been given?
  bool stopped = false;
  uint32_t depth = 0; // loops around the node
  Loop loops[METATE_GRID_MAX_LOOPS];
  int64_t turns[METATE_GRID_MAX_LOOPS];
  metate_slot room[METATE_GRID_MAX_SLOTS];
};

} // namespace metate::grid

#endif
