/* The network of shapes.py as a service on the board's serial line: a program elsewhere sends pictures and gets scores (metate.rpc).
 * Its weights stay in flash; what clients send lies in the server's memory. */
#include "board.h"
#include "metate/rpc.h"
#include "shapes.h"
#include "shapes_data.h"

static metate_rpc server;
static _Alignas(64) unsigned char memory[4096];

#define ARRAY(type, extents, numbers)                                                              \
  {.kind = METATE_ARGUMENT_NDARRAY,                                                                \
   .dtype = type,                                                                                  \
   .rank = sizeof extents / sizeof *extents,                                                       \
   .data = (void *)(uintptr_t)numbers,                                                             \
   .shape = extents}
static const int64_t of_filters[] = {FILTERS, 3, 3}, of_weights[] = {CLASSES, FEATURES},
                     of_bias[] = {CLASSES};
static const metate_rpc_named constants[] = {
    {"filters", ARRAY(METATE_I8, of_filters, filters), 0, METATE_RPC_READ_ONLY, 0},
    {"weights", ARRAY(METATE_I8, of_weights, weights), 0, METATE_RPC_READ_ONLY, 0},
    {"bias", ARRAY(METATE_I32, of_bias, bias), 0, METATE_RPC_READ_ONLY, 0},
};

static void write_to_line(void *self, const void *bytes, size_t count) {
  (void)self;
  uart_write(bytes, count);
}

int main(void) {
  const metate_rpc_options options = {.module = &shapes_module,
                                      .memory = memory,
                                      .bytes = sizeof memory,
                                      .most_values = 8,
                                      .write = write_to_line,
                                      .named = constants,
                                      .named_count = sizeof constants / sizeof *constants};
  if (metate_rpc_open(&server, &options) != METATE_OK)
    return 1;
  uart_start();
  for (;;) {
    unsigned char piece[16];
    metate_rpc_receive(&server, piece, uart_read(piece, sizeof piece));
  }
}
