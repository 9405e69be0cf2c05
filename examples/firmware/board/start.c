/* A Cortex-M without a system: memory as sections.ld lays it out, text and the exit status through semihosting, and a heap that nobody
 * may use. */
#include "board.h"

#include <stddef.h>

extern uint32_t stack_top[], data_begin[], data_end[], data_from[], bss_begin[], bss_end[];
extern char flash_begin[], flash_end[];
int main(void);
void *malloc(size_t bytes);
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
void start(void);

enum { UNUSED_STACK = 0x5a5a5a5a };

static uint32_t ask(uint32_t number, const void *argument) {
  register uint32_t r0 __asm__("r0") = number;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void out(const char *text) { ask(4, text); /* SYS_WRITE0 */ }

static void leave(int status) {
  const uint32_t why[2] = {0x20026, (uint32_t)status}; /* ADP_Stopped_ApplicationExit */
  ask(0x20, why);                                      /* SYS_EXIT_EXTENDED */
  for (;;)
    ;
}

/* A fault is the end, and is seen. */
static void fault(void) {
  out("\nfault\n");
  leave(3);
}

void *malloc(size_t bytes) {
  (void)bytes;
  out("\nmalloc was called\n");
  leave(4);
  return NULL;
}

/* In a loop: it stays one, and does not become a call of the very function. */
#define STAY __asm__ volatile("")

void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
  for (size_t k = 0; k < bytes; ++k) {
    ((uint8_t *)to)[k] = ((const uint8_t *)from)[k];
    STAY;
  }
  return to;
}

void *memmove(void *to, const void *from, size_t bytes) {
  if ((uintptr_t)to - (uintptr_t)from >= bytes)
    return memcpy(to, from, bytes);
  for (size_t k = bytes; k-- > 0;) {
    ((uint8_t *)to)[k] = ((const uint8_t *)from)[k];
    STAY;
  }
  return to;
}

void *memset(void *to, int value, size_t bytes) {
  for (size_t k = 0; k < bytes; ++k) {
    ((uint8_t *)to)[k] = (uint8_t)value;
    STAY;
  }
  return to;
}

/* The names that Arm's run-time ABI has for them, where addresses are known to be aligned too. */
#define SAME_AS(function) __attribute__((alias(#function)))
void __aeabi_memcpy(void *to, const void *from, size_t bytes);
void __aeabi_memmove(void *to, const void *from, size_t bytes);
void __aeabi_memset(void *to, size_t bytes, int value);
void __aeabi_memclr(void *to, size_t bytes);
void __aeabi_memcpy(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }
void __aeabi_memmove(void *to, const void *from, size_t bytes) { memmove(to, from, bytes); }
void __aeabi_memset(void *to, size_t bytes, int value) { memset(to, value, bytes); }
void __aeabi_memclr(void *to, size_t bytes) { memset(to, 0, bytes); }
void __aeabi_memcpy4(void *to, const void *from, size_t bytes) SAME_AS(__aeabi_memcpy);
void __aeabi_memcpy8(void *to, const void *from, size_t bytes) SAME_AS(__aeabi_memcpy);
void __aeabi_memmove4(void *to, const void *from, size_t bytes) SAME_AS(__aeabi_memmove);
void __aeabi_memmove8(void *to, const void *from, size_t bytes) SAME_AS(__aeabi_memmove);
void __aeabi_memset4(void *to, size_t bytes, int value) SAME_AS(__aeabi_memset);
void __aeabi_memset8(void *to, size_t bytes, int value) SAME_AS(__aeabi_memset);
void __aeabi_memclr4(void *to, size_t bytes) SAME_AS(__aeabi_memclr);
void __aeabi_memclr8(void *to, size_t bytes) SAME_AS(__aeabi_memclr);

/* Where newlib's libm, if a program links it, notes what was outside of a function's domain. */
int *__errno(void);
int *__errno(void) {
  static int noted;
  return &noted;
}

uint32_t stack_bytes(void) {
  const uint32_t *at = bss_end;
  while (at < stack_top && *at == UNUSED_STACK)
    ++at;
  return (uint32_t)((const char *)stack_top - (const char *)at);
}

uint32_t flash_bytes(void) {
  return (uint32_t)(flash_end - flash_begin) + (uint32_t)((char *)data_end - (char *)data_begin);
}

uint32_t variable_bytes(void) { return (uint32_t)((char *)bss_end - (char *)data_begin); }

/* SysTick, which counts down. */
#define SYSTICK ((volatile uint32_t *)0xe000e010)
void timer_start(void) {
  SYSTICK[1] = 0xffffff;
  SYSTICK[2] = 0;
  SYSTICK[0] = 5; /* on, of the CPU's clock */
}
uint32_t timer_cycles(void) { return 0xffffff - SYSTICK[2]; }

void start(void) {
  for (uint32_t *at = bss_end, *end = __builtin_frame_address(0); at < end - 16; ++at)
    *at = UNUSED_STACK;
  memcpy(data_begin, data_from, (size_t)((char *)data_end - (char *)data_begin));
  memset(bss_begin, 0, (size_t)((char *)bss_end - (char *)bss_begin));
#ifdef __ARM_FP
  *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20; /* CPACR: the FPU is on */
  __asm__ volatile("dsb\n isb" ::: "memory");
#endif
  leave(main());
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    (uintptr_t)stack_top, (uintptr_t)start, (uintptr_t)fault, (uintptr_t)fault,
    (uintptr_t)fault,     (uintptr_t)fault, (uintptr_t)fault};
