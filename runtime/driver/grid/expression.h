// Numbers that a driver computes for a launch: how many iterations a task has, what a graph gives its kernels.
#ifndef METATE_RUNTIME_DRIVER_GRID_EXPRESSION_H
#define METATE_RUNTIME_DRIVER_GRID_EXPRESSION_H

#include "driver/grid/section.h"

namespace metate::grid {

// How many numbers a step takes, and what it reads where it takes none.
enum class StepKind { constant, slot, turn, frame, unary, binary, unknown };
StepKind kindOf(uint32_t operation);

// What operands of a graph read besides slots.
struct Around {
  const int64_t *turns = nullptr; // of the loops
  uint64_t frame = 0;             // its address
};

// What a verified expression gives; 0 of an empty one.
int64_t evaluate(const metate_grid_step *steps, uint32_t count, const metate_slot *slots,
                 Around around = {});

} // namespace metate::grid

#endif
