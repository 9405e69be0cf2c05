// The verifier and reader of payloads of grids (abi/metate/abi/grid.h). What it accepted may be read in place without further
// checks. It must not know a device: drivers say what an image is worth.
#ifndef METATE_RUNTIME_DRIVER_GRID_SECTION_H
#define METATE_RUNTIME_DRIVER_GRID_SECTION_H

#include "format/carrier.h"
#include "metate/abi/grid.h"

namespace metate::grid {

// Tables and strings of a verified section.
class Section {
public:
  explicit Section(const void *bytes = nullptr) : head(static_cast<const metate_grid *>(bytes)) {}

  const metate_grid &header() const { return *head; }
  const uint8_t *at(uint32_t offset) const {
    return reinterpret_cast<const uint8_t *>(head) + offset;
  }
  const char *text(uint32_t offset) const { return reinterpret_cast<const char *>(at(offset)); }
  const metate_grid_kernel *kernels() const { return table<metate_grid_kernel>(head->kernels); }
  const metate_grid_task *tasks() const { return table<metate_grid_task>(head->tasks); }
  const metate_grid_step *steps() const { return table<metate_grid_step>(head->expressions); }
  const metate_grid_print *prints() const { return table<metate_grid_print>(head->prints); }
  const metate_grid_part *parts() const { return table<metate_grid_part>(head->parts); }
  const metate_grid_image *images() const { return table<metate_grid_image>(head->images); }
  const metate_grid_node *nodes() const { return table<metate_grid_node>(head->nodes); }
  const metate_grid_operand *operands() const { return table<metate_grid_operand>(head->operands); }
  const char *name(const metate_grid_task &task) const { return text(task.name); }

private:
  template <typename Record> const Record *table(const metate_table &where) const {
    return reinterpret_cast<const Record *>(at(where.offset));
  }
  const metate_grid *head;
};

// METATE_E_CORRUPT where it contradicts itself or the descriptor. `payload` is 8-byte aligned.
metate_status verifySection(const Descriptor &descriptor, Span payload);

} // namespace metate::grid

#endif
