/* The support code of static carriers, compiled with sanitizers: conversions of half-sized floats
 * against the compiler's own, and packed calls with arguments thrown together at random, over the
 * descriptor of levels.o. What gets through to the entry must be sound; nothing may be read that a
 * caller does not have.  support_test SEED */
#include "levels.h"
#include "metate/Module/Support/Numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;
static uint64_t draw(uint64_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % below;
}

static void fail(const char *what, double value) {
  fprintf(stderr, "support_test: %s (%a)\n", what, value);
  exit(1);
}

/* A double rounded to an f32, but to odd: rounding that again to 8 bits is rounding once. */
static float to_odd(double value) {
  float single = (float)value;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  if ((double)single == value || value != value || single > 3.4e38f || single < -3.4e38f)
    return single;
  if ((single > value) == (value > 0))
    --bits;
  bits |= 1;
  memcpy(&single, &bits, sizeof bits);
  return single;
}

static uint16_t bfloat_of(double value) {
  float single = to_odd(value);
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  if (single != single)
    return 0;
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void check_halves(void) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    _Float16 half;
    uint16_t narrow = (uint16_t)bits;
    uint32_t wide = bits << 16;
    float single;
    memcpy(&half, &narrow, sizeof half);
    memcpy(&single, &wide, sizeof single);
    double got = double_from_slot(METATE_F16, bits), want = (double)half;
    if (got != want && got == got)
      fail("f16 to double", want);
    got = double_from_slot(METATE_BF16, bits);
    if (got != (double)single && got == got)
      fail("bf16 to double", single);
    if (want == want && slot_from_double(METATE_F16, want) != bits)
      fail("f16 there and back", want);
    if (single == single && slot_from_double(METATE_BF16, single) != bits)
      fail("bf16 there and back", single);
  }
  for (int turn = 0; turn < 200000; ++turn) {
    uint64_t bits = draw(UINT64_MAX);
    /* Near the exponents that matter, and halfway between two halves every other time. */
    bits = (bits & ~(0x7ffull << 52)) | (1023 - 30 + draw(50)) << 52;
    if (turn & 1)
      bits &= ~((1ull << 41) - 1);
    double value;
    memcpy(&value, &bits, sizeof value);
    _Float16 half = (_Float16)value;
    uint16_t want;
    memcpy(&want, &half, sizeof want);
    if (slot_from_double(METATE_F16, value) != want)
      fail("double to f16", value);
    if (slot_from_double(METATE_BF16, value) != bfloat_of(value))
      fail("double to bf16", value);
  }
}

/* ---- packed calls ---- */

static const metate_descriptor *head;
static const metate_kernel_info *kernel;
static uint64_t entered;

static const metate_argument_info *info_at(uint32_t index) {
  return (const metate_argument_info *)((const char *)head + head->arguments.offset) +
         kernel->first_argument + index;
}

/* Reads and writes the corners of every array that was let through. */
static int32_t entry(const metate_slot *slots, void *const *pools, const metate_host *host) {
  (void)pools;
  (void)host;
  ++entered;
  for (uint32_t k = 0; k < kernel->argument_count; ++k) {
    const metate_argument_info *info = info_at(k);
    const metate_slot *own = slots + info->first_slot;
    if (info->kind == METATE_ARGUMENT_TREE)
      ++((metate_tree_header *)own[0].p)->epoch;
    if (info->kind != METATE_ARGUMENT_NDARRAY)
      continue;
    int64_t last = 0;
    int empty = 0;
    for (uint32_t d = 0; d < info->rank; ++d) {
      empty |= own[1 + d].i == 0;
      last += (own[1 + d].i - 1) * own[1 + info->rank + d].i;
    }
    if (empty)
      continue;
    uint32_t bytes = number_of(info->dtype)->bits / 8u;
    char *data = own[0].p;
    data[0] ^= 1;
    data[last * bytes + bytes - 1] ^= 1;
  }
  return (int32_t)(draw(8) == 0 ? draw(22) : 0);
}

typedef struct thing {
  metate_ffi_any any;
  struct {
    uint64_t header[3];
    metate_dl_tensor tensor;
  } object;
  int64_t shape[9], strides[9];
  char *data;
} thing;

/* Mostly what the argument wants; now and then something else about it. */
static void make_thing(thing *made, const metate_argument_info *info) {
  memset(made, 0, sizeof *made);
  metate_dl_tensor *tensor = &made->object.tensor;
  uint32_t rank = info->kind == METATE_ARGUMENT_NDARRAY ? info->rank : info->element_rank;
  tensor->device_type = METATE_DL_CPU;
  tensor->lanes = 1;
  tensor->code = number_of(info->dtype)->code;
  tensor->bits = number_of(info->dtype)->bits;
  tensor->ndim = (int32_t)rank;
  if (info->kind == METATE_ARGUMENT_TREE) {
    tensor->code = METATE_DL_UINT;
    tensor->bits = 8;
    tensor->ndim = 1;
  }
  if (draw(20) == 0)
    tensor->ndim = (int32_t)draw(4);
  if (draw(20) == 0)
    tensor->code = (uint8_t)draw(9);
  if (draw(20) == 0)
    tensor->bits = (uint8_t)(8 << draw(4));
  uint64_t count = 1, reach = 1;
  uint64_t bytes = tensor->bits / 8u ? tensor->bits / 8u : 1;
  const int turned = draw(4) == 0; /* the first dimension is the innermost */
  for (int32_t n = 0; n < tensor->ndim; ++n) {
    const int32_t k = turned ? n : tensor->ndim - 1 - n;
    const int64_t own[2] = {info->rows, info->columns};
    int64_t fixed = info->kind == METATE_ARGUMENT_NDARRAY
                        ? (k < (int32_t)rank ? info->fixed[k] : -1)
                        : own[k & 1];
    tensor->shape = made->shape;
    made->shape[k] = fixed >= 0 && draw(20) ? fixed : (int64_t)draw(6);
    if (info->kind == METATE_ARGUMENT_TREE)
      made->shape[k] = (int64_t)(k ? draw(3) : draw(4) ? levels_sparse_BYTES : draw(300));
    made->strides[k] = (int64_t)(reach + (draw(6) ? 0 : draw(3)));
    reach = (uint64_t)made->strides[k] * (made->shape[k] ? (uint64_t)made->shape[k] : 1);
    count *= (uint64_t)made->shape[k];
  }
  if (draw(3) == 0)
    tensor->strides = made->strides;
  uint64_t room = (tensor->strides ? reach : count) * bytes;
  made->data = aligned_alloc(64, (room + 63) / 64 * 64 + 64);
  memset(made->data, 0x5a, (room + 63) / 64 * 64 + 64);
  tensor->data = made->data;
  for (int32_t k = 0; tensor->strides && k < tensor->ndim; ++k) {
    if (draw(40) == 0)
      made->strides[k] = 0; /* refused where it is written */
    if (draw(8) || made->shape[k] == 0)
      continue;
    tensor->data =
        (char *)tensor->data + (uint64_t)((made->shape[k] - 1) * made->strides[k]) * bytes;
    made->strides[k] = -made->strides[k];
  }
  if (info->kind == METATE_ARGUMENT_TREE && room >= levels_sparse_BYTES && draw(8))
    (draw(8) && room >= levels_sparse_BYTES ? levels_sparse_reset : levels_filled_reset)(made->data,
                                                                                         room);
  if (draw(30) == 0)
    tensor->data = NULL;
  if (draw(30) == 0)
    tensor->byte_offset = draw(9);
  made->any.type_index = draw(2) ? METATE_FFI_TENSOR : METATE_FFI_DLTENSOR;
  made->any.value.p = made->any.type_index == METATE_FFI_TENSOR ? (void *)&made->object : tensor;
  if (info->kind == METATE_ARGUMENT_SCALAR ? draw(10) != 0 : draw(40) == 0) {
    made->any.type_index = is_float(info->dtype) && draw(2) ? METATE_FFI_FLOAT : METATE_FFI_INT;
    made->any.value.i = (int64_t)(draw(2) ? draw(UINT64_MAX) : draw(300) - 100);
  }
  if (draw(60) == 0)
    made->any.type_index = (int32_t)draw(100);
  int pointer =
      made->any.type_index == METATE_FFI_TENSOR || made->any.type_index == METATE_FFI_DLTENSOR;
  if (pointer) /* a pointer of a kind is one of that kind: that is the caller's word */
    made->any.value.p = made->any.type_index == METATE_FFI_TENSOR ? (void *)&made->object : tensor;
  if (made->any.type_index == METATE_FFI_POINTER)
    made->any.value.p = NULL;
}

static void check_calls(void) {
  head = levels_module.descriptor;
  for (int turn = 0; turn < 60000; ++turn) {
    uint32_t number = (uint32_t)draw(head->kernels.count);
    kernel = (const metate_kernel_info *)((const char *)head + head->kernels.offset) + number;
    thing things[16];
    metate_ffi_any *arguments = malloc(16 * sizeof *arguments), result = {0, 0, {0}};
    metate_slot *slots = malloc((kernel->slot_count ? kernel->slot_count : 1) * sizeof *slots);
    uint32_t count = kernel->argument_count, results = 0;
    for (uint32_t k = 0; k < count; ++k)
      results += (info_at(k)->flags & METATE_ARGUMENT_RESULT) != 0;
    if (results == 1 && info_at(count - 1)->rank == 0)
      --count; /* it is returned */
    for (uint32_t k = 0; k < count; ++k) {
      make_thing(&things[k], info_at(k));
      arguments[k] = things[k].any;
    }
    int32_t given = (int32_t)(draw(30) ? count : draw(12));
    arguments = realloc(arguments, (count ? count : 1) * sizeof *arguments);
    int32_t code =
        metate_support_call_packed(head, number, entry, slots, NULL, arguments, given, &result);
    if (code != 0 && code != -1)
      fail("a packed call returns 0 or -1", code);
    for (uint32_t k = 0; k < count; ++k)
      free(things[k].data);
    free(arguments);
    free(slots);
  }
  if (entered < 5000)
    fail("expected at least 5000 of the calls to get through", (double)entered);
}

/* ---- sessions: the same arguments, set one by one in any order, over memory of exactly the bytes that are asked for ---- */

static int64_t references;
int32_t TVMFFIObjectIncRef(void *object);
int32_t TVMFFIObjectDecRef(void *object);
int32_t TVMFFIObjectIncRef(void *object) {
  ++((uint64_t *)object)[0];
  ++references;
  return 0;
}
int32_t TVMFFIObjectDecRef(void *object) {
  --((uint64_t *)object)[0];
  --references;
  return 0;
}

static metate_ffi_any of_text(const char *text) {
  metate_ffi_any value = {METATE_FFI_RAW_TEXT, 0, {.p = (void *)(uintptr_t)text}};
  size_t length = strlen(text);
  if (length > sizeof value.value || draw(2))
    return value;
  value.type_index = METATE_FFI_SMALL_TEXT;
  value.padding = (uint32_t)length;
  memcpy(&value.value, text, length);
  return value;
}

static int32_t turned;
static int32_t expect_code(int32_t code) {
  if (code != 0 && code != -1)
    fail("a session's call returns 0 or -1", code);
  return code;
}

static void run_session(const metate_static_module *module, thing *things) {
  const char *name = (const char *)head + kernel->name;
  metate_ffi_any arguments[3] = {of_text(name)}, result = {0, 0, {0}};
  if (metate_support_session_bytes(module, arguments, 1, &result))
    fail("the bytes of a session", 0);
  const int64_t wanted = result.value.i, given = draw(20) ? wanted : (int64_t)draw(300);
  metate_dl_tensor memory = {.data = aligned_alloc(8, (size_t)(given / 8 + 1) * 8),
                             .device_type = METATE_DL_CPU,
                             .ndim = 1,
                             .code = METATE_DL_UINT,
                             .bits = 8,
                             .lanes = 1,
                             .shape = &given};
  memset(memory.data, (int)draw(256), (size_t)(given / 8 + 1) * 8);
  arguments[0] = (metate_ffi_any){METATE_FFI_DLTENSOR, 0, {.p = &memory}};
  arguments[1] = of_text(name);
  int32_t code = expect_code(metate_support_session_open(module, arguments, 2, &result));
  if ((code == 0) != (given >= wanted))
    fail("a session opens in as many bytes as it needs", (double)given);
  if (code == 0) {
    for (uint32_t k = 0; k < kernel->argument_count; ++k) {
      uint32_t index = (uint32_t)draw(20) ? k : (uint32_t)draw(kernel->argument_count);
      arguments[1] = of_text(draw(40) ? (const char *)head + info_at(index)->name : "no argument");
      arguments[2] = things[index].any;
      expect_code(metate_support_session_set_input(module, arguments, 3, &result));
    }
    if (draw(2)) { /* it is moved */
      void *moved = aligned_alloc(8, (size_t)(given / 8 + 1) * 8);
      memcpy(moved, memory.data, (size_t)given);
      memset(memory.data, 0, (size_t)given);
      free(memory.data);
      memory.data = moved;
    }
    turned += expect_code(metate_support_session_run(module, arguments, 1, &result)) == 0;
    for (uint32_t k = 0; k < kernel->argument_count; ++k) {
      arguments[1] = of_text((const char *)head + info_at(k)->name);
      if (expect_code(metate_support_session_get_output(module, arguments, 2, &result)) == 0 &&
          result.type_index == METATE_FFI_TENSOR)
        TVMFFIObjectDecRef(result.value.p);
    }
    if (draw(2))
      expect_code(metate_support_session_run(module, arguments, 1, &result));
    if (metate_support_session_close(module, arguments, 1, &result))
      fail("closing a session", 0);
  }
  if (references)
    fail("as many references as before", (double)references);
  free(memory.data);
}

static void check_sessions(void) {
  metate_entry entries[64];
  metate_static_module module = levels_module;
  for (uint32_t k = 0; k < module.entry_count; ++k)
    entries[k] = entry;
  module.entries = entries;
  for (int turn = 0; turn < 30000; ++turn) {
    thing things[16];
    do
      kernel = (const metate_kernel_info *)((const char *)head + head->kernels.offset) +
               draw(head->kernels.count);
    while (kernel->flags & METATE_KERNEL_SLICE);
    for (uint32_t k = 0; k < kernel->argument_count; ++k)
      make_thing(&things[k], info_at(k));
    run_session(&module, things);
    for (uint32_t k = 0; k < kernel->argument_count; ++k)
      free(things[k].data);
  }
  if (turned < 1000)
    fail("expected at least 1000 of the sessions to run", turned);
}

int main(int argc, char **argv) {
  state = argc > 1 ? strtoull(argv[1], NULL, 10) | 1 : 1;
  check_halves();
  check_calls();
  check_sessions();
  printf("ok: %llu calls\n", (unsigned long long)entered);
  return 0;
}
