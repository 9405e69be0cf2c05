/* The test module's kernels, written by hand against abi/ alone: what a compiler would emit, and an
 * independent reading of the activation protocol. Linked into the unit tests (static module) and
 * into the payload of the test module's file. */
#ifndef METATE_TESTS_KERNELS_H
#define METATE_TESTS_KERNELS_H

#include "metate/abi/kernel.h"

enum {
  TEST_EMPTY,
  TEST_FILL,   /* fill(f: ab_aos, scale: f32): every cell with (i + j) % 7 == 0 */
  TEST_RUN1,   /* run1(f: ab_aos): prints I and a*b of every active cell */
  TEST_AXPY,   /* axpy(x: f32[n], y: f32[n], s: f32) */
  TEST_ASSERT, /* check_positive(x: i32[n]) */
  TEST_ECHO,   /* echo(v: vec3 f32, m: mat2x2 f64, c: i8, on: u1, out: f64[9]) */
  TEST_COPY,   /* copy(f: ab_aos, g: ab_soa) */
  TEST_SUM,    /* total(x: f64[n]) -> f64 */
  TEST_FAIL,   /* fail_with(code: i32) */
  TEST_POOLS,  /* pools(out: u64[n]): addresses of its pools, workers, and the last byte of each */
  TEST_KERNELS
};

#ifdef __cplusplus
extern "C" {
#endif
extern const metate_entry metate_test_entries[TEST_KERNELS];
#ifdef __cplusplus
}
#endif

#endif
