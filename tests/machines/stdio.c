/* host.c on a machine with a C library. */
#include <stdio.h>

void out(const char *text);
void out(const char *text) { fputs(text, stdout); }
