/* What a program may ask of the board (start.c): text, how deep its stack has been, and time. */
#ifndef BOARD_H
#define BOARD_H

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

#endif
