// Payloads of grids and a module of them, made by hand: an independent writing of grid.h.
#ifndef METATE_TESTS_GRID_MODULE_H
#define METATE_TESTS_GRID_MODULE_H

#include "builder.h"
#include "metate/abi/grid.h"

namespace metate::test {

struct TaskSpec {
  std::string name;
  uint32_t group = 1;
  std::vector<metate_grid_step> steps = {};
  uint32_t most = 0;
  uint32_t shared = 0;
  uint32_t line = 0;
};

struct NodeSpec {
  uint32_t kernel; // METATE_NONE: a loop
  std::vector<std::vector<metate_grid_step>> operands;
  uint32_t body = 0;
};

struct GridKernelSpec {
  uint32_t flags = 0;
  uint32_t slots = 0;
  std::vector<TaskSpec> tasks = {};
  uint32_t frameBytes = METATE_GRID_VALUES;
  std::vector<NodeSpec> nodes = {};
};

struct PartSpec {
  uint32_t kind;
  std::string text = {};
};

struct ImageSpec {
  uint32_t format;
  uint32_t level;
  Bytes bytes;
};

struct GridSpec {
  std::vector<GridKernelSpec> kernels;
  std::vector<std::vector<PartSpec>> prints;
  std::vector<ImageSpec> images;
  Bytes constants = {};
};

metate_grid_step constant(int64_t value);
metate_grid_step slot(uint32_t number);
metate_grid_step apply(uint32_t operation, int64_t value = 0);

// The payload that belongs to a descriptor.
Bytes gridPayload(const GridSpec &spec, const Bytes &descriptor);

// The kernels of grid_kernels.c, in this order.
enum {
  GRID_FILL,
  GRID_CHECK,
  GRID_SAY,
  GRID_FLOOD,
  GRID_TOTAL,
  GRID_POOLED,
  GRID_COUNT,
  GRID_STOP,
  GRID_CRASH,
  GRID_LOOK,
  GRID_RELAY,
  GRID_INNER // of the graph: no host sees it
};
ModuleSpec gridModuleSpec(uint32_t arch, uint32_t level);
GridSpec gridSpec(std::vector<ImageSpec> images);
ImageSpec gridText(const std::string &text, uint32_t level); // PTX
// The .metate file. `cpu`: what the code is for; NULL: of Vulkan Mesa's CPU, else any.
Bytes gridFile(uint32_t arch, uint32_t level, const GridSpec &spec, const char *cpu = nullptr);

} // namespace metate::test

#endif
