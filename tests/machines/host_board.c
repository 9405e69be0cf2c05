/* examples/firmware/board on this machine: text goes to stdout, and nothing is counted. */
#include "board.h"

#include <stdio.h>

void out(const char *text) { fputs(text, stdout); }
uint32_t stack_bytes(void) { return 0; }
uint32_t flash_bytes(void) { return 0; }
uint32_t variable_bytes(void) { return 0; }
void timer_start(void) {}
uint32_t timer_cycles(void) { return 0; }
