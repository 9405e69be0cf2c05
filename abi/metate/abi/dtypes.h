/* The scalar types, once: X(NAME, code, name, bits, KIND, type in C). What is said of them elsewhere is made of this table.
 *
 * Codes are those of metate_dtype, from 1 on and without gaps: tables have a row a code, after one for "none". A value takes
 * (bits + 7) / 8 bytes of memory. KIND: BOOL, INT (signed), UINT, FLOAT (IEEE 754), BFLOAT (its upper half). C has no f16 and
 * bf16: their bits stand for them. */
#ifndef METATE_ABI_DTYPES_H
#define METATE_ABI_DTYPES_H

#define METATE_DTYPES(X)                                                                           \
  X(U1, 1, u1, 1, BOOL, uint8_t) /* boolean, one byte in memory, 0 or 1 */                         \
  X(I8, 2, i8, 8, INT, int8_t)                                                                     \
  X(I16, 3, i16, 16, INT, int16_t)                                                                 \
  X(I32, 4, i32, 32, INT, int32_t)                                                                 \
  X(I64, 5, i64, 64, INT, int64_t)                                                                 \
  X(U8, 6, u8, 8, UINT, uint8_t)                                                                   \
  X(U16, 7, u16, 16, UINT, uint16_t)                                                               \
  X(U32, 8, u32, 32, UINT, uint32_t)                                                               \
  X(U64, 9, u64, 64, UINT, uint64_t)                                                               \
  X(F16, 10, f16, 16, FLOAT, uint16_t)                                                             \
  X(BF16, 11, bf16, 16, BFLOAT, uint16_t)                                                          \
  X(F32, 12, f32, 32, FLOAT, float)                                                                \
  X(F64, 13, f64, 64, FLOAT, double)

#endif
