/* Kernels called by tvm-ffi's convention: every argument is checked against the descriptor and
 * packed, the entry is called without an executor and a print sink, and what goes wrong becomes an
 * error of tvm-ffi. The checks are those of libmetate's launch (runtime/kernel/arguments.cpp). */
#include "metate/Module/Support/Alias.h"
#include "metate/Module/Support/Call.h"
#include "metate/Module/Support/Pools.h"
#include "metate/Module/Support/Strides.h"

static int32_t pack_scalar(const call *at, uint32_t index, const metate_ffi_any *value) {
  const metate_argument_info *info = &at->infos[index];
  metate_slot *slot = &at->slots[info->first_slot];
  int integer = value->type_index == METATE_FFI_INT || value->type_index == METATE_FFI_BOOL;
  if (is_float(info->dtype)) {
    if (!integer && value->type_index != METATE_FFI_FLOAT)
      return fail_type(at, index, value);
    slot->u = slot_from_double(info->dtype, integer ? (double)value->value.i : value->value.d);
    return 0;
  }
  if (!integer)
    return fail_type(at, index, value);
  if (info->dtype == METATE_U1) {
    slot->u = value->value.i != 0;
    return 0;
  }
  if (!fits(info->dtype, value->value.i)) {
    text message = {.used = 0};
    put_where(&message, at, index);
    put(&message, "expected a value of ");
    put(&message, number_of(info->dtype)->name);
    put(&message, ", got ");
    put_signed(&message, value->value.i);
    return raise_error("ValueError", &message);
  }
  slot->i = value->value.i;
  return 0;
}

/* dtype, rank, device, shape: what all tensors must have in common with their argument. */
static int32_t check_tensor(const call *at, uint32_t index, const metate_ffi_any *value,
                            uint32_t rank, const int64_t *fixed) {
  const metate_argument_info *info = &at->infos[index];
  const metate_dl_tensor *tensor = tensor_in(value);
  const number_type *type = number_of(info->dtype);
  if (!tensor || tensor->ndim != (int32_t)rank || tensor->code != type->code ||
      tensor->bits != type->bits || tensor->lanes != 1)
    return fail_type(at, index, value);
  if (tensor->device_type != METATE_DL_CPU)
    return fail_value(at, index, "expected an array in the memory of the CPU: copy it there");
  uint64_t bytes = type->bits / 8u;
  int empty = 0, wraps = 0;
  for (uint32_t k = 0; k < rank; ++k) {
    int64_t extent = tensor->shape[k];
    if (extent < 0 || (fixed[k] == -1 && extent > metate_largest_extent(info)) ||
        (fixed[k] >= 0 && extent != fixed[k])) {
      text message = {.used = 0};
      put_where(&message, at, index);
      put(&message, "dimension ");
      put_unsigned(&message, k);
      put(&message, fixed[k] >= 0 ? ": expected " : ": expected at most ");
      put_signed(&message, fixed[k] >= 0 ? fixed[k] : metate_largest_extent(info));
      put(&message, ", got ");
      put_signed(&message, extent);
      return raise_error("ValueError", &message);
    }
    empty |= extent == 0;
    wraps |= metate_times(bytes, extent ? (uint64_t)extent : 1, &bytes);
  }
  if (wraps || bytes > INT64_MAX)
    return fail_value(at, index, "its shape has more than 2^63 bytes");
  if (!tensor->data && !empty)
    return fail_value(at, index, "its data is NULL");
  if ((uintptr_t)start_of(tensor) % (type->bits / 8u))
    return fail_value(at, index, "its data is not aligned to the size of its elements");
  return 0;
}

/* An extent that is a dim's: within its bounds, and what it is where the dim stands first. */
static int32_t check_dim(const call *at, uint32_t index, uint32_t k) {
  const metate_argument_info *info = &at->infos[index];
  const metate_dim_info *dim =
      (const metate_dim_info *)(const void *)((const char *)at->head + at->head->dims.offset) +
      at->kernel->first_dim + METATE_EXTENT_OF_DIM(info->fixed[k]);
  int64_t extent = at->slots[info->first_slot + 1 + k].i;
  int64_t first = at->is_alone ? extent : at->slots[dim->slot].i;
  int holds = metate_dim_holds(dim, extent);
  if (holds && extent == first)
    return 0;
  text message = {.used = 0};
  put_where(&message, at, index);
  put(&message, "dimension ");
  put_unsigned(&message, k);
  put(&message, " (");
  put(&message, string_of(at, dim->name));
  put(&message, "): expected ");
  put_signed(&message, holds ? first : dim->min);
  if (holds)
    put(&message, ", as the first dimension of that name");
  if (!holds) {
    put(&message, " to ");
    put_signed(&message, dim->max);
  }
  if (!holds && dim->multiple > 1) {
    put(&message, ", a multiple of ");
    put_signed(&message, dim->multiple);
  }
  put(&message, ", got ");
  put_signed(&message, extent);
  return raise_error("ValueError", &message);
}

static void put_shape(text *to, const metate_slot *shape, uint32_t rank) {
  put(to, "(");
  for (uint32_t k = 0; k < rank; ++k) {
    put(to, k ? ", " : "");
    put_signed(to, shape[k].i);
  }
  put(to, rank == 1 ? ",)" : ")");
}

/* A member of an array of structs: of the shape of the one before it, elements' dimensions aside. */
static int32_t check_member(const call *at, uint32_t index) {
  const metate_argument_info *info = &at->infos[index];
  const metate_slot *shape = &at->slots[info->first_slot + 1],
                    *wanted = &at->slots[info[-1].first_slot + 1];
  uint32_t rank = info->rank - info->element_rank, same = 1;
  for (uint32_t k = 0; k < rank; ++k)
    same &= shape[k].i == wanted[k].i;
  if (same)
    return 0;
  text message = {.used = 0};
  put_where(&message, at, index);
  put(&message, "expected the shape ");
  put_shape(&message, wanted, rank);
  put(&message, " of '");
  put(&message, name_of(at, index - 1));
  put(&message, "', a member of the same array of structs, got ");
  put_shape(&message, shape, rank);
  return raise_error("ValueError", &message);
}

static int32_t pack_array(const call *at, uint32_t index, const metate_ffi_any *value) {
  const metate_argument_info *info = &at->infos[index];
  metate_slot *slots = &at->slots[info->first_slot];
  if (check_tensor(at, index, value, info->rank, info->fixed))
    return -1;
  const metate_dl_tensor *tensor = tensor_in(value);
  slots[0].u = (uintptr_t)start_of(tensor);
  int64_t dense = 1;
  int gaps = 0;
  for (uint32_t k = info->rank; k-- > 0;) {
    int64_t stride = tensor->strides ? tensor->strides[k] : dense;
    gaps |= stride != dense && tensor->shape[k] > 1;
    slots[1 + k].i = tensor->shape[k];
    slots[1 + info->rank + k].i = stride;
    dense *= tensor->shape[k];
  }
  if ((info->flags & METATE_ARGUMENT_MEMBER) && !at->is_alone && check_member(at, index))
    return -1;
  for (uint32_t k = 0; k < info->rank; ++k)
    if (info->fixed[k] < -1 && check_dim(at, index, k))
      return -1;
  if (gaps && (info->flags & METATE_ARGUMENT_CONTIGUOUS))
    return fail_value(at, index, "expected row-major strides without gaps: pass a contiguous copy");
  const int64_t *shape = &slots[1].i, *strides = shape + info->rank;
  if (tensor->strides &&
      leads_outside(info->rank, shape, strides, number_of(info->dtype)->bits / 8, slots[0].u))
    return fail_value(at, index,
                      "its strides lead outside the address space: expected strides in elements");
  if (gaps && (info->access & METATE_ACCESS_WRITE) && may_repeat(info->rank, shape, strides))
    return fail_value(at, index,
                      "the kernel writes it, but its elements may overlap each other: pass a copy");
  return 0;
}

static int32_t pack_vector(const call *at, uint32_t index, const metate_ffi_any *value) {
  const metate_argument_info *info = &at->infos[index];
  metate_slot *slots = &at->slots[info->first_slot];
  const int64_t extents[2] = {info->rows, info->columns};
  if (check_tensor(at, index, value, info->element_rank, extents))
    return -1;
  const metate_dl_tensor *tensor = tensor_in(value);
  const char *from = start_of(tensor);
  int64_t bytes = number_of(info->dtype)->bits / 8;
  int64_t across = tensor->strides && info->element_rank == 2 ? tensor->strides[1] : 1;
  int64_t down = tensor->strides ? tensor->strides[0] : info->columns;
  for (uint32_t k = 0; k < info->slot_count; ++k)
    slots[k].u = slot_from_memory(
        info->dtype, from + (k / info->columns * down + k % info->columns * across) * bytes);
  return 0;
}

static int32_t pack_tree(const call *at, uint32_t index, const metate_ffi_any *value) {
  const metate_argument_info *info = &at->infos[index];
  const metate_dl_tensor *tensor = tensor_in(value);
  uint64_t bytes = UINT64_MAX;
  char *block = value->value.p;
  if (tensor) {
    if (tensor->ndim != 1 || tensor->code != METATE_DL_UINT || tensor->bits != 8 ||
        tensor->lanes != 1)
      return fail_type(at, index, value);
    if (tensor->device_type != METATE_DL_CPU)
      return fail_value(at, index, "expected a block in the memory of the CPU");
    if (tensor->strides && tensor->strides[0] != 1 && tensor->shape[0] > 1)
      return fail_value(at, index, "expected the bytes of a block without gaps");
    block = start_of(tensor);
    bytes = tensor->shape[0] < 0 ? 0 : (uint64_t)tensor->shape[0];
  } else if (value->type_index != METATE_FFI_POINTER) {
    return fail_type(at, index, value);
  }
  if (!block)
    return fail_value(at, index, "the block is NULL");
  if ((uintptr_t)block % METATE_BLOCK_ALIGN)
    return fail_value(at, index, "expected a block aligned to 64 bytes");
  const metate_tree_type *type = (const void *)((const char *)at->head + type_of(at, info)->offset);
  const metate_tree_header *header = (const void *)block;
  if (bytes < sizeof *header)
    return fail_value(at, index, "the memory is smaller than a tree's block");
  if (header->magic != METATE_TREE_MAGIC || header->abi_version != METATE_ABI_VERSION)
    return fail_value(at, index, "the memory holds no tree: reset the block first");
  if (header->type_hash[0] != type->hash[0] || header->type_hash[1] != type->hash[1]) {
    text message = {.used = 0};
    put_where(&message, at, index);
    put(&message, "expected ");
    put_expected(&message, at, info);
    put(&message, ", got a block of another tree type");
    return raise_error("TypeError", &message);
  }
  if (bytes < header->bytes)
    return fail_value(at, index, "the memory is smaller than the tree that it holds");
  at->slots[info->first_slot].u = (uintptr_t)block;
  return 0;
}

METATE_SUPPORT_FUNCTION int32_t metate_support_pack_argument(const call *at, uint32_t index,
                                                             const metate_ffi_any *value) {
  switch (at->infos[index].kind) {
  case METATE_ARGUMENT_SCALAR:
    return pack_scalar(at, index, value);
  case METATE_ARGUMENT_VECTOR:
    return pack_vector(at, index, value);
  case METATE_ARGUMENT_NDARRAY:
    return pack_array(at, index, value);
  default:
    return pack_tree(at, index, value);
  }
}

static int32_t check_alias(const call *at) {
  const uint32_t writing = METATE_ACCESS_WRITE | METATE_ACCESS_ACTIVATE;
  for (uint32_t i = 0; i < at->kernel->argument_count; ++i)
    for (uint32_t j = 0; j < at->kernel->argument_count; ++j) {
      const metate_argument_info *one = &at->infos[i], *other = &at->infos[j];
      if (i == j || !(one->access & writing) ||
          !do_overlap(one, &at->slots[one->first_slot], other, &at->slots[other->first_slot]))
        continue;
      text message = {.used = 0};
      put_where(&message, at, i);
      put(&message, "it is written and overlaps argument ");
      put_unsigned(&message, j);
      put(&message, " '");
      put(&message, name_of(at, j));
      put(&message, "': pass separate memory, or compile the kernel to allow overlap");
      return raise_error("ValueError", &message);
    }
  return 0;
}

static int32_t fail_count(const call *at, uint32_t wanted, int32_t count) {
  text message = {.used = 0};
  uint32_t total = wanted + at->kernel->pool_count;
  put_kernel(&message, at);
  put(&message, ": expected ");
  put_unsigned(&message, total);
  put(&message, total == 1 ? " argument (" : " arguments (");
  for (uint32_t k = 0; k < wanted; ++k) {
    put(&message, k ? ", " : "");
    put(&message, name_of(at, k));
  }
  for (uint32_t k = 0; k < at->kernel->pool_count; ++k) {
    put(&message, wanted || k ? ", pool " : "pool ");
    put(&message, string_of(at, at->pools[k].name));
  }
  put(&message, "), got ");
  put_signed(&message, count);
  return raise_error("TypeError", &message);
}

/* A value of an assert's message, without its format. */
static void put_value(text *to, uint32_t kind, int64_t bits) {
  double number;
  __builtin_memcpy(&number, &bits, sizeof number);
  if (kind == METATE_PRINT_F32 || kind == METATE_PRINT_F64)
    put_float(to, number);
  else if (kind == METATE_PRINT_BOOL)
    put(to, bits ? "True" : "False");
  else if (kind == METATE_PRINT_U64)
    put_unsigned(to, (uint64_t)bits);
  else
    put_signed(to, bits);
}

/* An assert's message with the values that it has holes for: "{KIND:FORMAT}", "{{", "}}". */
static void put_message(text *to, const char *at, const metate_failure *failure) {
  uint32_t rank = failure->rank < METATE_MAX_RANK ? failure->rank : METATE_MAX_RANK, next = 0;
  while (*at) {
    if (rank && *at == '{' && at[1] != '{' && next < 2 * rank) {
      const int64_t *values = next % 2 ? failure->shape : failure->index;
      put_value(to, (uint32_t)(at[1] - '0'), values[next++ / 2]);
      while (*at && *at++ != '}')
        ;
      continue;
    }
    char one[2] = {*at, 0};
    put(to, one);
    at += rank && at[0] == at[1] && (*at == '{' || *at == '}') ? 2 : 1;
  }
}

/* "x[10, 3] of shape (8, 8)" */
static void put_access(text *to, const metate_failure *failure) {
  uint32_t rank = failure->rank < METATE_MAX_RANK ? failure->rank : METATE_MAX_RANK;
  for (uint32_t k = 0; k < rank; ++k) {
    put(to, k ? ", " : "[");
    put_signed(to, failure->index[k]);
  }
  put(to, rank ? "]" : "");
  if (failure->code != METATE_E_OUT_OF_RANGE)
    return;
  put(to, " of shape (");
  for (uint32_t k = 0; k < rank; ++k) {
    put(to, k ? ", " : "");
    if (failure->shape[k] < 0)
      put(to, "*");
    else
      put_signed(to, failure->shape[k]);
  }
  put(to, rank == 1 ? ",)" : ")");
}

static int32_t fail_run(const call *at, int32_t code, const metate_failure *failure) {
  static const struct {
    int32_t code;
    const char *kind, *text;
  } known[] = {{METATE_E_ASSERT, "AssertionError", "assertion failed: "},
               {METATE_E_OUT_OF_RANGE, "IndexError", "index out of range: "},
               {METATE_E_DIVISION_BY_ZERO, "ZeroDivisionError", "division by zero"},
               {METATE_E_CAPACITY, "MemoryError",
                "a pool of a tree that it activates cells of is exhausted: bind more capacity "}};
  text message = {.used = 0};
  const char *what = "";
  if (failure->code && failure->text < at->head->texts.count) {
    const metate_text *place =
        (const metate_text *)((const char *)at->head + at->head->texts.offset) + failure->text;
    put(&message, string_of(at, place->file));
    put(&message, ":");
    put_unsigned(&message, place->line);
    put(&message, ":");
    put_unsigned(&message, place->column);
    put(&message, ": ");
    what = string_of(at, place->text);
  }
  const char *name = what, *end = what;
  while (*end && *end != METATE_TEXT_KERNEL_END)
    ++end;
  if (*end) { /* a kernel of the graph, not the graph */
    put(&message, "kernel '");
    for (; name < end; ++name)
      put(&message, (char[2]){*name, 0});
    put(&message, "'");
    what = end + 1;
  } else {
    put_kernel(&message, at);
  }
  put(&message, ": ");
  for (uint32_t k = 0; k < sizeof known / sizeof known[0]; ++k)
    if (known[k].code == code) {
      put(&message, known[k].text);
      if (code == METATE_E_ASSERT)
        return put_message(&message, what, failure), raise_error(known[k].kind, &message);
      put(&message, what);
      put_access(&message, failure);
      return raise_error(known[k].kind, &message);
    }
  put(&message, "it stopped with status ");
  put_signed(&message, code);
  return raise_error("RuntimeError", &message);
}

/* A scalar result as a value; it lies in `cell`. */
static int32_t take_result(const call *at, uint32_t index, const void *cell,
                           metate_ffi_any *result) {
  uint32_t dtype = at->infos[index].dtype;
  uint64_t bits = slot_from_memory(dtype, cell);
  result->padding = 0;
  if (is_float(dtype)) {
    result->type_index = METATE_FFI_FLOAT;
    result->value.d = double_from_slot(dtype, bits);
    return 0;
  }
  if (dtype == METATE_U64 && bits > INT64_MAX) {
    text message = {.used = 0};
    put_kernel(&message, at);
    put(&message, ": its result ");
    put_unsigned(&message, bits);
    put(&message, " does not fit the 64-bit signed integers of tvm-ffi");
    return raise_error("ValueError", &message);
  }
  result->type_index = dtype == METATE_U1 ? METATE_FFI_BOOL : METATE_FFI_INT;
  result->value.i = (int64_t)bits;
  return 0;
}

METATE_SUPPORT_FUNCTION int32_t metate_support_call_packed(const metate_descriptor *descriptor,
                                                           uint32_t kernel, metate_entry entry,
                                                           metate_slot *slots, void **pools,
                                                           const metate_ffi_any *arguments,
                                                           int32_t count, metate_ffi_any *result) {
  const char *base = (const char *)descriptor;
  call at = {descriptor,
             (const metate_kernel_info *)(base + descriptor->kernels.offset) + kernel,
             (const metate_argument_info *)(base + descriptor->arguments.offset),
             slots,
             (const metate_pool_info *)(base + descriptor->pools.offset),
             0};
  at.infos += at.kernel->first_argument;
  at.pools += at.kernel->first_pool;
  uint32_t total = at.kernel->argument_count, results = 0, wanted = total;
  for (uint32_t k = 0; k < total; ++k)
    results += (at.infos[k].flags & METATE_ARGUMENT_RESULT) != 0;
  /* One scalar is returned; anything else the caller supplies as arrays, behind the arguments. */
  int returns = results == 1 && total && at.infos[total - 1].rank == 0;
  uint64_t cell = 0;
  if (returns)
    slots[at.infos[--wanted].first_slot].u = (uintptr_t)&cell;
  if (count < 0 || (uint32_t)count != wanted + at.kernel->pool_count)
    return fail_count(&at, wanted, count);
  for (uint32_t k = 0; k < wanted; ++k)
    if (metate_support_pack_argument(&at, k, &arguments[k]))
      return -1;
  if ((at.kernel->flags & METATE_KERNEL_NO_ALIAS) && check_alias(&at))
    return -1;
  /* Behind the addresses, each in 8 bytes as if it had so many. */
  extent *taken = (extent *)(void *)((uint64_t *)(void *)pools + at.kernel->pool_count);
  if (pack_pools(&at, arguments + wanted, taken, pools))
    return -1;
  for (uint32_t k = 0; k < wanted; ++k)
    if (at.infos[k].access & METATE_ACCESS_ACTIVATE)
      clear_status(slots[at.infos[k].first_slot].p);
  metate_failure failure = {.code = METATE_OK, .text = METATE_NONE};
  metate_host host = {.struct_size = sizeof host, .failure = &failure};
  int32_t code = entry(slots, pools, &host);
  if (code == METATE_OK)
    code = (int32_t)failure.code;
  if (code != METATE_OK)
    return fail_run(&at, code, &failure);
  if (result) {
    result->type_index = METATE_FFI_NONE;
    result->padding = 0;
    result->value.i = 0;
  }
  return returns && result ? take_result(&at, wanted, &cell, result) : 0;
}
