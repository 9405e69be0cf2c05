// NumPy's .npy files (NEP 1, format 1.0 and 2.0; numpy.org/neps/nep-0001-npy-format), little-endian
// and C order only.
#ifndef METATE_RUN_NPY_H
#define METATE_RUN_NPY_H

#include "guard.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace metate::tool {

struct Array {
  uint32_t dtype = 0;
  std::vector<int64_t> shape;
  std::vector<uint64_t> words;            // the elements, 8-byte aligned
  std::shared_ptr<GuardedMemory> guarded; // or here
  uint8_t *data() { return guarded ? guarded->data() : reinterpret_cast<uint8_t *>(words.data()); }
  const uint8_t *data() const { return const_cast<Array *>(this)->data(); }
  uint64_t count() const {
    uint64_t product = 1;
    for (int64_t extent : shape)
      product *= uint64_t(extent);
    return product;
  }
  void allocate();
  /// Moves the elements to memory that ends where they do.
  void guard(const std::string &name);
};

Array readNpy(const std::string &path);
void writeNpy(const std::string &path, uint32_t dtype, const std::vector<int64_t> &shape,
              const void *data);

} // namespace metate::tool

#endif
