// The verifier and reader of module descriptors (abi/metate/abi/module.h). What it accepted may be
// read in place without further checks.
#ifndef METATE_RUNTIME_FORMAT_DESCRIPTOR_H
#define METATE_RUNTIME_FORMAT_DESCRIPTOR_H

#include "metate/abi/pool.h"
#include "support/status.h"

namespace metate {

// Tables and strings of a verified descriptor.
class Descriptor {
public:
  explicit Descriptor(const void *bytes) : head(static_cast<const metate_descriptor *>(bytes)) {}

  const metate_descriptor &header() const { return *head; }
  const void *at(uint32_t offset) const { return reinterpret_cast<const char *>(head) + offset; }
  // "" for the absent string.
  const char *text(uint32_t offset) const {
    return offset ? static_cast<const char *>(at(offset)) : "";
  }
  const metate_type_info *types() const { return table<metate_type_info>(head->types); }
  const metate_kernel_info *kernels() const { return table<metate_kernel_info>(head->kernels); }
  const metate_argument_info *arguments() const {
    return table<metate_argument_info>(head->arguments);
  }
  const metate_dim_info *dims() const { return table<metate_dim_info>(head->dims); }
  const metate_pool_info *pools() const { return table<metate_pool_info>(head->pools); }
  const metate_place_info *places() const { return table<metate_place_info>(head->places); }
  const metate_derivative_info *derivatives() const {
    return table<metate_derivative_info>(head->derivatives);
  }
  const metate_variant_info *variants() const { return table<metate_variant_info>(head->variants); }
  // Kernels that hosts are offered: the slices stand behind them.
  uint32_t kernelCount() const {
    uint32_t count = head->kernels.count;
    while (count && kernels()[count - 1].flags & METATE_KERNEL_SLICE)
      --count;
    return count;
  }
  const metate_text *texts() const { return table<metate_text>(head->texts); }

private:
  template <typename Record> const Record *table(const metate_table &where) const {
    return static_cast<const Record *>(at(where.offset));
  }
  const metate_descriptor *head;
};

// `bytes` is 8-byte aligned and `count` long.
metate_status verifyDescriptor(const void *bytes, uint64_t count);

} // namespace metate

#endif
