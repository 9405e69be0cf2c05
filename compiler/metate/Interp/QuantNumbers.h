//===- QuantNumbers.h - what quantised members store ------------*- C++ -*-===//
//
// QV1 to QV4 of docs/semantics.md in whole numbers: a value is digits times a power of two, and is rounded where the text says so.
// Values are bits of the format's compute type, as all scalars here (Numbers.h). Shares nothing with Dialect/Quant.cpp, which it is
// compared with.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_QUANTNUMBERS_H
#define METATE_INTERP_QUANTNUMBERS_H

#include "metate/Dialect/Quant.h"

namespace metate::interp {

/// What a store leaves of a value.
struct Quantised {
  uint64_t bits = 0;
  /// The bits mean the value, but for rounding; else it is out of range, or a NaN.
  bool isHeld = true;
};

/// Of a float that shares its exponent: as if it was alone, with the exponent on top.
Quantised quantise(const QuantFormat &format, uint64_t value);
/// Of floats that share an exponent, which each of them then has on top.
llvm::SmallVector<Quantised> quantiseTogether(llvm::ArrayRef<QuantFormat> formats,
                                              llvm::ArrayRef<uint64_t> values);
/// The value of stored bits.
uint64_t dequantise(const QuantFormat &format, uint64_t bits);

/// Of an integer or a fixed one: what its bits count.
int64_t countOfBits(const QuantFormat &format, uint64_t bits);
/// Of a fixed one: the integer that a store of the value takes the low bits of. Nullopt where there is none.
std::optional<int64_t> stepsOf(const QuantFormat &format, uint64_t value);

} // namespace metate::interp

#endif
