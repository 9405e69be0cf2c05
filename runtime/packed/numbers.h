// Numbers of tvm-ffi, 64 bits wide, to and from those of a kernel's arguments.
#ifndef METATE_RUNTIME_PACKED_NUMBERS_H
#define METATE_RUNTIME_PACKED_NUMBERS_H

#include "packed/ffi.h"

#include "metate/abi/base.h"

#include <bit>
#include <cmath>
#include <limits>

namespace metate::packed {

struct Number {
  TypeCode code;
  uint8_t bytes;
};

// A scalar type as DLPack names it. METATE_DTYPES says which kinds there are.
inline Number numberOf(uint32_t dtype) {
  constexpr TypeCode BOOL = DlBool, INT = DlInt, UINT = DlUint, FLOAT = DlFloat, BFLOAT = DlBfloat;
  constexpr Number numbers[] = {{DlInt, 0},
#define METATE_DTYPE(NAME, number, name, bits, KIND, type) {KIND, (bits + 7) / 8},
                                METATE_DTYPES(METATE_DTYPE)
#undef METATE_DTYPE
  };
  return numbers[dtype <= METATE_DTYPE_LAST ? dtype : 0];
}

// 0: there is none.
inline uint32_t dtypeOf(const Tensor &tensor) {
  for (uint32_t dtype = 1; dtype <= METATE_DTYPE_LAST; ++dtype)
    if (numberOf(dtype).code == tensor.code && numberOf(dtype).bytes * 8 == tensor.bits &&
        tensor.lanes == 1)
      return dtype;
  return 0;
}

inline bool isFloat(uint32_t dtype) {
  return numberOf(dtype).code == DlFloat || numberOf(dtype).code == DlBfloat;
}

// A double rounded to a format of 16 bits with so many digits behind the point, to nearest, ties to even.
inline uint16_t narrowed(double value, int digits, int bias) {
  auto sign = uint16_t(std::signbit(value) ? 0x8000 : 0);
  uint32_t infinity = uint32_t(2 * bias + 1) << digits;
  if (std::isnan(value))
    return uint16_t(sign | infinity | 1u << (digits - 1));
  int exponent = 0;
  double least = std::ldexp(1, 1 - bias), magnitude = std::fabs(value);
  if (std::isinf(value))
    return uint16_t(sign | infinity);
  if (magnitude >= least)
    std::frexp(magnitude, &exponent); // in [2^(exponent - 1), 2^exponent)
  else
    exponent = 2 - bias;
  // Counted in units of the last place; a carry goes into the exponent.
  auto units = uint32_t(std::nearbyint(std::ldexp(magnitude, digits + 1 - exponent)));
  uint32_t bits = (uint32_t(exponent - 2 + bias) << digits) + units;
  return uint16_t(sign | (bits < infinity ? bits : infinity));
}

inline double widened(uint16_t bits, int digits, int bias) {
  int exponent = (bits & 0x7fff) >> digits, fraction = bits & ((1 << digits) - 1);
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 2 * bias + 1)
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  return exponent ? sign * std::ldexp(fraction + (1 << digits), exponent - bias - digits)
                  : sign * std::ldexp(fraction, 1 - bias - digits);
}

inline uint64_t bitsOf(uint32_t dtype, double value) {
  switch (dtype) {
  case METATE_F16:
    return narrowed(value, 10, 15);
  case METATE_BF16:
    return narrowed(value, 7, 127);
  case METATE_F32:
    return std::bit_cast<uint32_t>(float(value));
  default:
    return std::bit_cast<uint64_t>(value);
  }
}

inline double doubleOf(uint32_t dtype, uint64_t bits) {
  switch (dtype) {
  case METATE_F16:
    return widened(uint16_t(bits), 10, 15);
  case METATE_BF16:
    return widened(uint16_t(bits), 7, 127);
  case METATE_F32:
    return std::bit_cast<float>(uint32_t(bits));
  default:
    return std::bit_cast<double>(bits);
  }
}

// Does an integer fit the integer type?
inline bool fits(uint32_t dtype, int64_t value) {
  Number number = numberOf(dtype);
  if (number.code == DlUint)
    return value >= 0 && (number.bytes == 8 || value < int64_t(1) << 8 * number.bytes);
  int64_t most = INT64_MAX >> (64 - 8 * number.bytes);
  return value >= -most - 1 && value <= most;
}

// An integer's or a bool's value, of its bits in memory.
inline int64_t integerOf(uint32_t dtype, uint64_t bits) {
  Number number = numberOf(dtype);
  unsigned above = 64 - 8u * number.bytes;
  return number.code == DlInt ? int64_t(bits << above) >> above : int64_t(bits << above >> above);
}

} // namespace metate::packed

#endif
