//===- Numbers.cpp - scalars as bits ----------------------------*- C++ -*-===//
#include "metate/Interp/Numbers.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

unsigned interp::widthOf(Type scalar) {
  return scalar.isIndex() ? 64 : scalar.getIntOrFloatBitWidth();
}

unsigned interp::bytesOf(Type scalar) { return (widthOf(scalar) + 7) / 8; }

Type interp::scalarOf(Type type) { return getElementTypeOrSelf(type); }

int64_t interp::countOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

uint64_t interp::wrap(llvm::APInt bits) { return bits.getRawData()[0]; }

uint64_t interp::wrap(uint64_t bits, unsigned width) {
  return width >= 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

int64_t interp::signedOf(uint64_t bits, unsigned width) {
  return width >= 64 ? int64_t(bits) : int64_t(bits << (64 - width)) >> (64 - width);
}

llvm::APFloat interp::toFloat(Type type, uint64_t bits) {
  return llvm::APFloat(cast<FloatType>(type).getFloatSemantics(), llvm::APInt(widthOf(type), bits));
}

uint64_t interp::fromFloat(Type type, llvm::APFloat value) {
  bool losesInfo;
  value.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return wrap(value.bitcastToAPInt());
}

double interp::toDouble(Type type, uint64_t bits) {
  if (type.isF32())
    return llvm::bit_cast<float>(uint32_t(bits));
  if (type.isF64())
    return llvm::bit_cast<double>(bits);
  return toFloat(type, bits).convertToDouble();
}

uint64_t interp::fromDouble(Type type, double value) {
  if (type.isF32())
    return llvm::bit_cast<uint32_t>(float(value));
  if (type.isF64())
    return llvm::bit_cast<uint64_t>(value);
  return fromFloat(type, llvm::APFloat(value));
}

bool interp::isNaN(Type type, uint64_t bits) {
  return isa<FloatType>(type) && std::isnan(toDouble(type, bits));
}

uint64_t interp::loadScalar(Type type, const uint8_t *memory) {
  uint64_t bits = 0;
  std::memcpy(&bits, memory, bytesOf(type));
  return type.isInteger(1) ? bits != 0 : bits;
}

void interp::storeScalar(Type type, uint64_t bits, uint8_t *memory) {
  std::memcpy(memory, &bits, bytesOf(type));
}

std::string interp::nameOf(Type scalar, bool isUnsigned) {
  if (scalar.isBF16())
    return "bf16";
  StringRef kind = isa<FloatType>(scalar)                     ? "f"
                   : isUnsigned || scalar.isUnsignedInteger() ? "u"
                   : scalar.isInteger(1)                      ? "u"
                                                              : "i";
  return kind.str() + std::to_string(widthOf(scalar));
}

std::string interp::show(Type scalar, uint64_t bits, bool isUnsigned) {
  if (scalar.isInteger(1))
    return bits ? "True" : "False";
  if (!isa<FloatType>(scalar))
    return isUnsigned || scalar.isUnsignedInteger()
               ? std::to_string(bits)
               : std::to_string(signedOf(bits, widthOf(scalar)));
  double value = toDouble(scalar, bits);
  if (std::isnan(value))
    return "nan"; // of either sign
  char text[40];
  int most = scalar.isF64() ? 17 : 9;
  for (int digits = 6; digits <= most; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (fromDouble(scalar, std::strtod(text, nullptr)) == bits)
      break;
  }
  return text;
}
