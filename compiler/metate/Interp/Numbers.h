//===- Numbers.h - scalars as bits ------------------------------*- C++ -*-===//
//
// The interpreter keeps every scalar as the bits of its type in the low end of a 64-bit word,
// the rest zero. What the bits mean is asked of the type here, and nowhere else.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_NUMBERS_H
#define METATE_INTERP_NUMBERS_H

#include "metate/Dialect/Metate.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"

#include <string>

namespace metate::interp {

/// Bits of a scalar type; an index has 64.
unsigned widthOf(mlir::Type scalar);
/// Bytes of a scalar of this type in memory: u1 takes one.
unsigned bytesOf(mlir::Type scalar);
/// The element type of a vector, or the type itself.
mlir::Type scalarOf(mlir::Type type);
/// Scalars in a value of this type: 1, or a vector's number of elements.
int64_t countOf(mlir::Type type);

uint64_t wrap(llvm::APInt bits);
/// The low `width` bits.
uint64_t wrap(uint64_t bits, unsigned width);
int64_t signedOf(uint64_t bits, unsigned width);

/// Exact: every float type of the language is a subset of f64.
double toDouble(mlir::Type type, uint64_t bits);
/// Rounded once, to nearest even.
uint64_t fromDouble(mlir::Type type, double value);
llvm::APFloat toFloat(mlir::Type type, uint64_t bits);
uint64_t fromFloat(mlir::Type type, llvm::APFloat value);
bool isNaN(mlir::Type type, uint64_t bits);

uint64_t loadScalar(mlir::Type type, const uint8_t *memory);
void storeScalar(mlir::Type type, uint64_t bits, uint8_t *memory);

/// As users write it: i32, u8, f64.
std::string nameOf(mlir::Type scalar, bool isUnsigned = false);
/// For messages: floats with as many digits as tell them apart; integers are signed, unless their
/// type or `isUnsigned` says otherwise.
std::string show(mlir::Type scalar, uint64_t bits, bool isUnsigned = false);

} // namespace metate::interp

#endif
