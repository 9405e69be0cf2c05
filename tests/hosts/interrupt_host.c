/* A C11 host that stops its kernel from a signal handler: opens a module, launches one kernel on an
 * array and a number, and says how the launch ended. tests/e2e/test_interrupt.py sends the signal.
 *   interrupt_host MODULE KERNEL N */
#include "metate/metate.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* What metate_kernel_launch_interruptible reads; a lock-free atomic may be stored to in a handler. */
static _Atomic uint32_t word;
_Static_assert(sizeof word == sizeof(uint32_t) && ATOMIC_INT_LOCK_FREE == 2,
               "the word is a uint32_t");

static void on_signal(int number) {
  (void)number;
  atomic_store_explicit(&word, 1, memory_order_relaxed);
}

#define CHECK(call)                                                                                \
  do {                                                                                             \
    if ((call) != METATE_OK) {                                                                     \
      fprintf(stderr, "%s: %s\n", #call, metate_last_error());                                     \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  metate_device *device = NULL;
  metate_module *module = NULL;
  const metate_kernel *kernel = NULL;
  CHECK(metate_device_open(NULL, &device));
  CHECK(metate_module_open_file(device, argv[1], 0, &module));
  CHECK(metate_module_find_kernel(module, argv[2], &kernel));
  double x[64] = {0};
  const int64_t shape[1] = {64};
  metate_array array = {.data = x, .dtype = METATE_F64, .rank = 1, .shape = shape};
  metate_argument arguments[2] = {{.kind = METATE_ARGUMENT_NDARRAY, .value = {.array = &array}},
                                  {.kind = METATE_ARGUMENT_SCALAR,
                                   .dtype = METATE_I32,
                                   .rows = 1,
                                   .columns = 1,
                                   .value = {.bits = (uint64_t)strtoll(argv[3], NULL, 10)}}};
  signal(SIGINT, on_signal);
  puts("running");
  fflush(stdout);
  metate_status status =
      metate_kernel_launch_interruptible(kernel, arguments, 2, (const uint32_t *)&word);
  printf("%s: %s\n", metate_status_name(status), metate_last_error());
  /* The next one, with nobody asking. */
  arguments[1].value.bits = 1;
  CHECK(metate_kernel_launch(kernel, arguments, 2));
  CHECK(metate_module_close(module));
  CHECK(metate_device_close(device));
  return 0;
}
