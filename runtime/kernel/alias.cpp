// Do two arguments of a launch overlap? An array that is written must share no byte with another
// argument, unless the kernel was compiled for that.
#include "kernel/kernel.h"

#include "support/checked.h"
#include "tree/tree.h"

#include <initializer_list>

namespace metate {

// An array's strides reach either way.
Extent extentOf(const metate_argument &argument) {
  if (argument.kind == METATE_ARGUMENT_TREE) {
    const metate_tree *tree = argument.value.tree;
    uint64_t begin = tree->memory.address;
    return {begin, begin + tree->layout.bytes};
  }
  if (argument.kind != METATE_ARGUMENT_NDARRAY)
    return {};
  const metate_array &array = *argument.value.array;
  int64_t below = 0, above = 1, dense = 1;
  for (uint32_t k = array.rank; k-- > 0;) {
    if (array.shape[k] == 0)
      return {};
    int64_t reach = (array.shape[k] - 1) * (array.strides ? array.strides[k] : dense);
    (reach < 0 ? below : above) += reach;
    dense *= array.shape[k];
  }
  int64_t bytes = metate_dtype_bytes(array.dtype);
  uint64_t start = reinterpret_cast<uintptr_t>(array.data);
  return {start + uint64_t(below * bytes), start + uint64_t(above * bytes)};
}

// Elements that lie within one period of memory: where they begin in it, and how far they reach.
struct Residue {
  uint64_t begin, bytes;
};

// Bytes from one element to the next along a dimension, either way.
static uint64_t stepOf(const metate_array &array, uint32_t axis) {
  int64_t stride = array.strides ? array.strides[axis] : 1;
  for (uint32_t k = axis + 1; !array.strides && k < array.rank; ++k)
    stride *= array.shape[k];
  return (stride < 0 ? 0 - uint64_t(stride) : uint64_t(stride)) * metate_dtype_bytes(array.dtype);
}

// The array as one run of bytes in each period of memory: false where a run leaves its period.
static bool residueOf(const metate_array &array, uint64_t start, uint64_t period,
                      Residue *residue) {
  Checked run = metate_dtype_bytes(array.dtype);
  for (uint32_t k = 0; k < array.rank; ++k) {
    uint64_t step = stepOf(array, k);
    if (array.shape[k] > 1 && step % period != 0)
      run = run + Checked(uint64_t(array.shape[k] - 1)) * step;
  }
  *residue = {start % period, run.value()};
  return (Checked(residue->begin) + run).fitsIn(period);
}

// Do the two lie between each other without sharing a byte, as the members of an array of structs
// do? Any stride of either may be the period that both repeat with.
static bool areInterleaved(const metate_argument &a, const metate_argument &b) {
  if (a.kind != METATE_ARGUMENT_NDARRAY || b.kind != METATE_ARGUMENT_NDARRAY)
    return false;
  const metate_array &one = *a.value.array, &other = *b.value.array;
  uint64_t begin = extentOf(a).begin, otherBegin = extentOf(b).begin;
  uint64_t lowest = begin < otherBegin ? begin : otherBegin;
  for (const metate_array *array : {&one, &other})
    for (uint32_t k = 0; k < array->rank; ++k) {
      uint64_t period = stepOf(*array, k);
      Residue first, second;
      if (array->shape[k] < 2 || period == 0 || !residueOf(one, begin - lowest, period, &first) ||
          !residueOf(other, otherBegin - lowest, period, &second))
        continue;
      if (first.begin + first.bytes <= second.begin || second.begin + second.bytes <= first.begin)
        return true;
    }
  return false;
}

uint32_t argumentWithin(const metate_kernel &kernel, const metate_argument *arguments,
                        const Extent &extent) {
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    Extent own = extentOf(arguments[i]);
    if (own.begin < extent.end && extent.begin < own.end)
      return i;
  }
  return METATE_NONE;
}

metate_status checkAlias(const metate_kernel &kernel, const metate_argument *arguments) {
  const uint32_t writing = METATE_ACCESS_WRITE | METATE_ACCESS_ACTIVATE;
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    if (!(kernel.arguments[i].access & writing))
      continue;
    Extent written = extentOf(arguments[i]);
    for (uint32_t j = 0; j < kernel.info->argument_count; ++j) {
      // Two written ones are compared once.
      if (j == i || (j < i && (kernel.arguments[j].access & writing)))
        continue;
      Extent other = extentOf(arguments[j]);
      bool meet = written.begin < other.end && other.begin < written.end;
      if (meet && !areInterleaved(arguments[i], arguments[j]))
        return fail(METATE_E_ALIAS,
                    "kernel '%s': argument %u '%s' is written and overlaps argument %u '%s': pass "
                    "separate memory, or compile the kernel to allow overlap",
                    kernel.name, i, kernel.argumentName(i), j, kernel.argumentName(j));
    }
  }
  return METATE_OK;
}

} // namespace metate
