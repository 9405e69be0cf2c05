// Checking one launch argument against its description and packing it into slots. The texts name
// the kernel, the argument, what it expected and what it got.
#include "kernel/kernel.h"

#include "support/checked.h"
#include "tree/staged.h"

#include <cstdio>
#include <cstring>

namespace metate {

namespace {

// "kernel 'run1' argument 'f'", for the head of every text here.
struct Where {
  char text[160];
  Where(const metate_kernel &kernel, uint32_t index) {
    snprintf(text, sizeof text, "kernel '%s' argument %u '%s'", kernel.name, index,
             kernel.argumentName(index));
  }
};

struct Shown {
  char text[192];
};

void showElement(const char *dtype, uint32_t rows, uint32_t columns, uint32_t rank, Shown *shown) {
  if (rank == 0)
    snprintf(shown->text, sizeof shown->text, "%s", dtype);
  else if (rank == 1)
    snprintf(shown->text, sizeof shown->text, "vector(%u, %s)", rows, dtype);
  else
    snprintf(shown->text, sizeof shown->text, "matrix(%u, %u, %s)", rows, columns, dtype);
}

Shown expected(const metate_kernel &kernel, const metate_argument_info &info) {
  Shown shown, element;
  showElement(metate_dtype_name(info.dtype), info.rows, info.columns, info.element_rank, &element);
  switch (info.kind) {
  case METATE_ARGUMENT_TREE:
    snprintf(shown.text, sizeof shown.text, "a tree of type '%.120s'",
             kernel.types[info.type]->shown());
    return shown;
  case METATE_ARGUMENT_NDARRAY:
    snprintf(shown.text, sizeof shown.text, "a %u-dimensional array of %s", info.rank,
             metate_dtype_name(info.dtype));
    return shown;
  default:
    return element;
  }
}

Shown got(const metate_argument &argument) {
  Shown shown;
  const char *dtype = metate_dtype_name(argument.dtype);
  switch (argument.kind) {
  case METATE_ARGUMENT_SCALAR:
    snprintf(shown.text, sizeof shown.text, "%s", dtype);
    break;
  case METATE_ARGUMENT_VECTOR:
    if (argument.columns == 1)
      snprintf(shown.text, sizeof shown.text, "vector(%u, %s)", argument.rows, dtype);
    else
      snprintf(shown.text, sizeof shown.text, "matrix(%u, %u, %s)", argument.rows, argument.columns,
               dtype);
    break;
  case METATE_ARGUMENT_NDARRAY:
    if (argument.value.array)
      snprintf(shown.text, sizeof shown.text, "a %u-dimensional array of %s",
               argument.value.array->rank, metate_dtype_name(argument.value.array->dtype));
    else
      snprintf(shown.text, sizeof shown.text, "an array");
    break;
  case METATE_ARGUMENT_TREE:
    if (argument.value.tree)
      snprintf(shown.text, sizeof shown.text, "a tree of type '%.120s'",
               argument.value.tree->type->shown());
    else
      snprintf(shown.text, sizeof shown.text, "a tree");
    break;
  default:
    snprintf(shown.text, sizeof shown.text, "an argument of unknown kind %u", argument.kind);
  }
  return shown;
}

metate_status failType(const metate_kernel &kernel, uint32_t index,
                       const metate_argument &argument) {
  return fail(METATE_E_TYPE_MISMATCH, "%s: expected %s, got %s", Where(kernel, index).text,
              expected(kernel, kernel.arguments[index]).text, got(argument).text);
}

// A scalar as its slot holds it: integers extended, floats as bits, a boolean 0 or 1.
uint64_t extend(uint32_t dtype, uint64_t bits) {
  switch (dtype) {
  case METATE_U1:
    return (bits & 0xff) != 0;
  case METATE_I8:
    return uint64_t(int64_t(int8_t(bits)));
  case METATE_I16:
    return uint64_t(int64_t(int16_t(bits)));
  case METATE_I32:
    return uint64_t(int64_t(int32_t(bits)));
  case METATE_U8:
    return uint8_t(bits);
  case METATE_U16:
  case METATE_F16:
  case METATE_BF16:
    return uint16_t(bits);
  case METATE_U32:
  case METATE_F32:
    return uint32_t(bits);
  default:
    return bits;
  }
}

metate_status packVector(const metate_kernel &kernel, uint32_t index,
                         const metate_argument &argument, metate_slot *slots) {
  const metate_argument_info &info = kernel.arguments[index];
  if (argument.dtype != info.dtype || argument.rows != info.rows ||
      argument.columns != info.columns)
    return failType(kernel, index, argument);
  if (!argument.value.elements)
    return fail(METATE_E_NULL, "%s: its elements are NULL", Where(kernel, index).text);
  uint32_t bytes = metate_dtype_bytes(info.dtype);
  const auto *from = static_cast<const char *>(argument.value.elements);
  for (uint32_t i = 0; i < info.slot_count; ++i) {
    uint64_t bits = 0;
    memcpy(&bits, from + uint64_t(i) * bytes, bytes);
    slots[i].u = extend(info.dtype, bits);
  }
  return METATE_OK;
}

// Of a dimension with a name: within its bounds, and what it is where the name stands first. Earlier slots are packed.
metate_status checkDim(const metate_kernel &kernel, uint32_t index, uint32_t k, int64_t extent,
                       const metate_slot *slots) {
  const metate_argument_info &info = kernel.arguments[index];
  const metate_dim_info &dim = kernel.dims[METATE_EXTENT_OF_DIM(info.fixed[k])];
  const char *name = kernel.description().text(dim.name);
  if (!metate_dim_holds(&dim, extent)) {
    char multiple[64] = "";
    if (dim.multiple > 1)
      snprintf(multiple, sizeof multiple, ", a multiple of %lld",
               static_cast<long long>(dim.multiple));
    return fail(METATE_E_INVALID_ARGUMENT,
                "%s: dimension %u (%s): expected %lld to %lld%s, got %lld",
                Where(kernel, index).text, k, name, static_cast<long long>(dim.min),
                static_cast<long long>(dim.max), multiple, static_cast<long long>(extent));
  }
  if (dim.slot == info.first_slot + 1 + k || slots[dim.slot].i == extent)
    return METATE_OK;
  uint32_t first = index; // whose extent it is
  while (kernel.arguments[first].first_slot > dim.slot)
    --first;
  return fail(METATE_E_INVALID_ARGUMENT,
              "%s: dimension %u (%s): expected %lld, as dimension %u of argument %u '%s', got %lld",
              Where(kernel, index).text, k, name, static_cast<long long>(slots[dim.slot].i),
              dim.slot - kernel.arguments[first].first_slot - 1, first, kernel.argumentName(first),
              static_cast<long long>(extent));
}

// The extents that are a dim's, once all slots are packed as far as this argument's.
metate_status checkDims(const metate_kernel &kernel, uint32_t index, const metate_array &array,
                        metate_slot *slots) {
  const metate_argument_info &info = kernel.arguments[index];
  for (uint32_t k = 0; k < info.rank; ++k) {
    slots[info.first_slot + 1 + k].i = array.shape[k];
    if (info.fixed[k] < -1)
      METATE_TRY(checkDim(kernel, index, k, array.shape[k], slots));
  }
  return METATE_OK;
}

// Of a member of an array of structs: the shape of the member before it, elements' dimensions aside. Its slots are packed.
metate_status checkMember(const metate_kernel &kernel, uint32_t index, const metate_array &array,
                          const metate_slot *slots) {
  const metate_argument_info &info = kernel.arguments[index], &before = kernel.arguments[index - 1];
  const uint32_t rank = info.rank - info.element_rank;
  const metate_slot *shape = slots + before.first_slot + 1;
  bool same = true;
  for (uint32_t k = 0; k < rank; ++k)
    same &= array.shape[k] == shape[k].i;
  if (same)
    return METATE_OK;
  char wanted[METATE_MAX_RANK * 22],
      given[METATE_MAX_RANK * 22]; // an extent has at most 20 characters
  wanted[0] = given[0] = 0;
  for (uint32_t k = 0, at = 0, to = 0; k < rank; ++k) {
    const char *comma = k ? ", " : "";
    at += uint32_t(snprintf(wanted + at, sizeof wanted - at, "%s%lld", comma,
                            static_cast<long long>(shape[k].i)));
    to += uint32_t(snprintf(given + to, sizeof given - to, "%s%lld", comma,
                            static_cast<long long>(array.shape[k])));
  }
  const char *end = rank == 1 ? "," : "";
  return fail(
      METATE_E_INVALID_ARGUMENT,
      "%s: expected the shape (%s%s) of '%s', a member of the same array of structs, got (%s%s)",
      Where(kernel, index).text, wanted, end, kernel.argumentName(index - 1), given, end);
}

metate_status checkShape(const metate_kernel &kernel, uint32_t index, const metate_array &array) {
  const metate_argument_info &info = kernel.arguments[index];
  Checked elements = 1; // of an empty array too: its strides must fit
  bool empty = false;
  for (uint32_t k = 0; k < info.rank; ++k) {
    if (array.shape[k] < 0 || (info.fixed[k] >= 0 && array.shape[k] != info.fixed[k]))
      return fail(info.fixed[k] < 0 ? METATE_E_OUT_OF_RANGE : METATE_E_INVALID_ARGUMENT,
                  "%s: dimension %u: expected %s%lld, got %lld", Where(kernel, index).text, k,
                  info.fixed[k] >= 0 ? "" : "at least ",
                  static_cast<long long>(info.fixed[k] >= 0 ? info.fixed[k] : 0),
                  static_cast<long long>(array.shape[k]));
    empty |= array.shape[k] == 0;
    elements = elements * uint64_t(array.shape[k] ? array.shape[k] : 1);
  }
  uint32_t bytes = metate_dtype_bytes(info.dtype);
  if (!(elements * bytes).fitsIn(INT64_MAX))
    return fail(METATE_E_OUT_OF_RANGE, "%s: its shape has more than 2^63 bytes",
                Where(kernel, index).text);
  // Of dims checkDims sees the bounds.
  for (uint32_t k = 0; k < info.rank; ++k)
    if (info.fixed[k] == -1 && array.shape[k] > metate_largest_extent(&info))
      return fail(METATE_E_OUT_OF_RANGE,
                  "%s: dimension %u: expected at most %lld, got %lld: the kernel's indices have 32 "
                  "bits: compile it with default_ip=i64, or name the extent: Dim(max=...)",
                  Where(kernel, index).text, k,
                  static_cast<long long>(metate_largest_extent(&info)),
                  static_cast<long long>(array.shape[k]));
  if (!empty && !array.data)
    return fail(METATE_E_NULL, "%s: its data is NULL", Where(kernel, index).text);
  if (reinterpret_cast<uintptr_t>(array.data) % bytes)
    return fail(METATE_E_MISALIGNED, "%s: its data: expected an address aligned to %u bytes",
                Where(kernel, index).text, bytes);
  if ((info.access & METATE_ACCESS_WRITE) && (array.flags & METATE_ARRAY_READ_ONLY))
    return fail(METATE_E_INVALID_ARGUMENT,
                "%s: the kernel writes it, but the array is read-only: pass a copy",
                Where(kernel, index).text);
  return METATE_OK;
}

// No element may lie where addresses and byte offsets wrap around: what follows adds them up.
metate_status checkReach(const metate_kernel &kernel, uint32_t index, const metate_array &array) {
  int64_t bytes = metate_dtype_bytes(array.dtype), below = 0, above = bytes;
  bool wraps = false, empty = false;
  for (uint32_t k = 0; k < array.rank; ++k) {
    empty |= array.shape[k] == 0;
    int64_t reach = array.shape[k] ? array.shape[k] - 1 : 0;
    wraps |= __builtin_mul_overflow(reach, array.strides[k], &reach);
    wraps |= __builtin_mul_overflow(reach, bytes, &reach);
    int64_t &side = reach < 0 ? below : above;
    wraps |= __builtin_add_overflow(side, reach, &side);
  }
  uint64_t start = reinterpret_cast<uintptr_t>(array.data);
  bool fits = start >= 0 - uint64_t(below) && uint64_t(above) <= UINT64_MAX - start;
  if (!wraps && (fits || empty)) // an empty array may have no data
    return METATE_OK;
  return fail(METATE_E_OUT_OF_RANGE,
              "%s: its strides lead outside the address space: expected strides in elements",
              Where(kernel, index).text);
}

// Iterations own the elements they index, so no two indices may lead to one. In the order of their
// strides, each dimension must step over all that the smaller ones reach.
bool elementsMayOverlap(const metate_array &array) {
  uint64_t steps[METATE_MAX_RANK], extents[METATE_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t k = 0; k < array.rank; ++k) {
    if (array.shape[k] == 0)
      return false;
    if (array.shape[k] == 1)
      continue;
    uint64_t step =
        array.strides[k] < 0 ? 0 - uint64_t(array.strides[k]) : uint64_t(array.strides[k]);
    uint32_t at = rank++;
    for (; at > 0 && steps[at - 1] > step; --at) {
      steps[at] = steps[at - 1];
      extents[at] = extents[at - 1];
    }
    steps[at] = step;
    extents[at] = uint64_t(array.shape[k]);
  }
  Checked reach = 0;
  for (uint32_t k = 0; k < rank; ++k) {
    if (!(reach + 1).fitsIn(steps[k]))
      return true;
    reach = reach + Checked(extents[k] - 1) * steps[k];
  }
  return false;
}

metate_status packArray(const metate_kernel &kernel, uint32_t index,
                        const metate_argument &argument, metate_slot *all) {
  const metate_argument_info &info = kernel.arguments[index];
  metate_slot *slots = all + info.first_slot;
  if (!argument.value.array)
    return fail(METATE_E_NULL, "%s: the array is NULL", Where(kernel, index).text);
  const metate_array &array = *argument.value.array;
  if (array.dtype != info.dtype || array.rank != info.rank)
    return failType(kernel, index, argument);
  if (info.rank && !array.shape)
    return fail(METATE_E_NULL, "%s: its shape is NULL", Where(kernel, index).text);
  METATE_TRY(checkShape(kernel, index, array));
  if (info.flags & METATE_ARGUMENT_MEMBER)
    METATE_TRY(checkMember(kernel, index, array, all));
  if (kernel.dimCount)
    METATE_TRY(checkDims(kernel, index, array, all));
  if (array.strides)
    METATE_TRY(checkReach(kernel, index, array));
  slots[0].p = array.data;
  int64_t dense = 1;
  for (uint32_t k = info.rank; k-- > 0;) {
    int64_t stride = array.strides ? array.strides[k] : dense;
    // A dimension of extent 1 is never stepped along: any stride is without gaps.
    if ((info.flags & METATE_ARGUMENT_CONTIGUOUS) && stride != dense && array.shape[k] > 1)
      return fail(METATE_E_INVALID_ARGUMENT,
                  "%s: dimension %u: expected a stride of %lld elements (row-major without gaps), "
                  "got %lld: pass a contiguous copy",
                  Where(kernel, index).text, k, static_cast<long long>(dense),
                  static_cast<long long>(stride));
    slots[1 + k].i = array.shape[k];
    slots[1 + info.rank + k].i = stride;
    dense *= array.shape[k];
  }
  if ((info.access & METATE_ACCESS_WRITE) && array.strides && elementsMayOverlap(array))
    return fail(METATE_E_ALIAS,
                "%s: the kernel writes it, but its elements may overlap each other: pass a copy",
                Where(kernel, index).text);
  return METATE_OK;
}

// metate_view_is_sorted, wherever the block lies.
metate_status isSorted(const metate_tree &tree, bool *sorted) {
  uint32_t changed = 0;
  uint64_t topology = 0, when = 0;
  METATE_TRY(loadWord(tree, METATE_HEADER_WORD(changed), &changed));
  METATE_TRY(loadWord(tree, METATE_HEADER_WORD(topology), &topology));
  METATE_TRY(loadWord(tree, METATE_HEADER_WORD(sorted), &when));
  *sorted = !changed && when == topology;
  return METATE_OK;
}

// The tree lies on a device of another driver, or on another machine whose memory is its own.
metate_status failDevice(const metate_kernel &kernel, uint32_t index, const metate_tree &tree) {
  return fail(METATE_E_INVALID_ARGUMENT,
              "%s: the tree is bound on another device ('%s') than the kernel runs on ('%s'): bind "
              "it there",
              Where(kernel, index).text, tree.device->driver->name, kernel.device->driver->name);
}

// A deterministic kernel moves slots that are not in order: not under other launches' feet.
metate_status checkSortable(const metate_kernel &kernel, uint32_t index, const metate_tree &tree) {
  bool sorted = false;
  METATE_TRY(isSorted(tree, &sorted));
  if (sorted)
    return METATE_OK;
  if (tree.readOnly())
    return fail(
        METATE_E_INVALID_ARGUMENT,
        "%s: the deterministic kernel needs slots in order, but the tree is bound read-only: "
        "sort it before it is saved",
        Where(kernel, index).text);
  uint32_t running = tree.uses.count();
  if (!running)
    return METATE_OK;
  return fail(
      METATE_E_BUSY,
      "%s: the deterministic kernel puts slots in order, and %u launches are running on the "
      "tree: wait for them, or sort the tree before",
      Where(kernel, index).text, running);
}

metate_status packTree(const metate_kernel &kernel, uint32_t index, const metate_argument &argument,
                       metate_slot *slots) {
  const metate_argument_info &info = kernel.arguments[index];
  const metate_tree *tree = argument.value.tree;
  if (!tree)
    return fail(METATE_E_NULL, "%s: the tree is NULL", Where(kernel, index).text);
  const metate_tree_type *wanted = kernel.types[info.type]->blob, *bound = tree->type->blob;
  if (wanted->hash[0] != bound->hash[0] || wanted->hash[1] != bound->hash[1])
    return failType(kernel, index, argument);
  if (tree->device != kernel.device && tree->device->machine != kernel.device->machine &&
      (tree->isElsewhere() || tree->device->driver != kernel.device->driver))
    return failDevice(kernel, index, *tree);
  if (!tree->ready)
    return fail(METATE_E_INVALID_ARGUMENT,
                "%s: the tree was not reset: call metate_tree_reset first",
                Where(kernel, index).text);
  if ((info.access & (METATE_ACCESS_WRITE | METATE_ACCESS_ACTIVATE)) && tree->readOnly())
    return fail(METATE_E_INVALID_ARGUMENT, "%s: the kernel writes it, but it is bound read-only",
                Where(kernel, index).text);
  if (info.access & METATE_ACCESS_SORT)
    METATE_TRY(checkSortable(kernel, index, *tree));
  slots[0].u = tree->memory.address;
  return METATE_OK;
}

} // namespace

metate_status packArgument(const metate_kernel &kernel, uint32_t index,
                           const metate_argument &argument, metate_slot *all) {
  const metate_argument_info &info = kernel.arguments[index];
  metate_slot *slots = all + info.first_slot;
  if (argument.kind != info.kind)
    return failType(kernel, index, argument);
  switch (info.kind) {
  case METATE_ARGUMENT_SCALAR:
    if (argument.dtype != info.dtype)
      return failType(kernel, index, argument);
    slots[0].u = extend(info.dtype, argument.value.bits);
    return METATE_OK;
  case METATE_ARGUMENT_VECTOR:
    return packVector(kernel, index, argument, slots);
  case METATE_ARGUMENT_NDARRAY:
    return packArray(kernel, index, argument, all);
  default:
    return packTree(kernel, index, argument, slots);
  }
}

} // namespace metate
