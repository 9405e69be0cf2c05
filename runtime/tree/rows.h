// The cells of a level with bits, row by row: runs of active ones take their values from an array. How many containers
// there are, and who takes which, is the caller's.
#ifndef METATE_RUNTIME_TREE_ROWS_H
#define METATE_RUNTIME_TREE_ROWS_H

#include "tree/box.h"

namespace metate {

// The deepest level with bits between a member and its owner: step `step` of their nest.
struct Rows {
  const metate_level *level;
  Box cell;  // of one cell
  Box whole; // of all
  uint64_t rowStride[METATE_MAX_AXES];
  uint32_t row;    // cells along the last axis
  uint64_t stride; // array bytes from cell to cell of a row

  Rows(const metate_type &type, const Nest &nest, uint32_t step, const uint64_t *elementStride)
      : level(&type.levels[nest.level[step]]), cell(boxBelow(type, nest, step + 1, elementStride)),
        whole(boxBelow(type, nest, step, elementStride)) {
    uint64_t weight[METATE_MAX_AXES];
    weightsBelow(type, nest, step + 1, weight);
    uint32_t last = level->axis_count - 1;
    for (uint32_t k = 0; k <= last; ++k)
      rowStride[k] = elementStride[level->axes[k]] * weight[level->axes[k]];
    row = level->extents[last];
    stride = rowStride[last];
  }

  uint64_t rows() const { return level->cells / row; }
  bool isFull(const uint8_t *container) const {
    const auto *words = reinterpret_cast<const uint32_t *>(container + level->mask);
    uint64_t n = 0;
    for (; n + 32 <= level->cells; n += 32)
      if (~__atomic_load_n(&words[n / 32], __ATOMIC_ACQUIRE))
        return false;
    uint32_t rest = level->cells % 32;
    return !rest || !(~__atomic_load_n(&words[n / 32], __ATOMIC_ACQUIRE) << (32 - rest));
  }
  // The first number in [at, end) whose bit is `set`.
  uint64_t next(const uint8_t *container, uint64_t at, uint64_t end, bool set) const {
    const auto *words = reinterpret_cast<const uint32_t *>(container + level->mask);
    while (at < end) {
      uint32_t word = __atomic_load_n(&words[at / 32], __ATOMIC_ACQUIRE);
      word = (set ? word : ~word) >> at % 32;
      if (word) {
        at += uint64_t(__builtin_ctz(word));
        break;
      }
      at += 32 - at % 32;
    }
    return at < end ? at : end;
  }
  void copyRow(uint8_t *container, uint64_t number, uint8_t *array) const {
    uint64_t first = number * row, end = first + row, rest = number;
    for (uint32_t k = level->axis_count - 1; k-- > 0; rest /= level->extents[k])
      array += rest % level->extents[k] * rowStride[k];
    for (uint64_t at = next(container, first, end, true); at < end;) {
      uint64_t stop = next(container, at, end, false);
      copyRun<Direction::ToCells>(cell, {stop - at, level->cell_bytes, stride},
                                  container + at * level->cell_bytes + cell.offset,
                                  array + (at - first) * stride);
      at = next(container, stop, end, true);
    }
  }
  void copy(uint8_t *container, uint8_t *array) const {
    if (isFull(container))
      return copyBox<Direction::ToCells>(whole, container + whole.offset - level->offset, array);
    for (uint64_t number = 0, count = rows(); number < count; ++number)
      copyRow(container, number, array);
  }
};

} // namespace metate

#endif
