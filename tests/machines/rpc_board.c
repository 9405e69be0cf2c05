/* The kernels of rpc_kernels.py, called over the serial line of an emulated board. */
#include "board.h"
#include "metate/rpc.h"
#include "service.h"

static metate_rpc server;
static _Alignas(64) unsigned char memory[32 << 10];

static void write_to_line(void *self, const void *bytes, size_t count) {
  (void)self;
  uart_write(bytes, count);
}

int main(void) {
  static const metate_rpc_options options = {
      .module = &service_module, .memory = memory, .bytes = sizeof memory, .write = write_to_line};
  if (metate_rpc_open(&server, &options) != METATE_OK)
    return 1;
  uart_start();
  for (;;) {
    unsigned char piece[16];
    metate_rpc_receive(&server, piece, uart_read(piece, sizeof piece));
  }
}
