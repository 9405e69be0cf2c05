/* What a program may ask of the board: text, how deep its stack has been, and time (start.c), a serial line (uart.c). */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

/* To the debugger (semihosting). */
void out(const char *text);
/* Most bytes of stack that have been in use since the start. */
uint32_t stack_bytes(void);
/* Bytes of code and constants, and of variables, as the linker has laid them out. */
uint32_t flash_bytes(void);
uint32_t variable_bytes(void);
/* A timer is set to 0; how many of the CPU's cycles it has counted since, at most 2^24. */
void timer_start(void);
uint32_t timer_cycles(void);

void uart_start(void);
/* Waits for a byte; how many there were, up to so many. */
size_t uart_read(void *to, size_t bytes);
/* Waits until all are on their way. */
void uart_write(const void *from, size_t bytes);

#endif
