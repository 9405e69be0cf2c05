/* The board's first serial line (a CMSDK UART, which the board's file places): bytes, without interrupts. */
#include "board.h"

typedef struct uart_registers {
  uint32_t data, state, control, interrupts, divider;
} uart_registers;
extern volatile uart_registers uart;

enum { SENDS = 1, RECEIVES = 2 };           /* control */
enum { OUTPUT_IS_FULL = 1, HAS_INPUT = 2 }; /* state */

void uart_start(void) {
  uart.divider = 16; /* as fast as it goes */
  uart.control = SENDS | RECEIVES;
}

size_t uart_read(void *to, size_t bytes) {
  size_t count = 0;
  while (!(uart.state & HAS_INPUT))
    ;
  while (count < bytes && (uart.state & HAS_INPUT))
    ((uint8_t *)to)[count++] = (uint8_t)uart.data;
  return count;
}

void uart_write(const void *from, size_t bytes) {
  for (size_t k = 0; k < bytes; ++k) {
    while (uart.state & OUTPUT_IS_FULL)
      ;
    uart.data = ((const uint8_t *)from)[k];
  }
}
