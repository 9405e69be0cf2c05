//===- Quant.h - quantised members ------------------------------*- C++ -*-===//
//
// What all quantised types can be asked, the words that they share, and the bits of a value that is known while compiling. How the
// types are spelled: QuantTypes.td. What bits mean: docs/semantics.md, QV1 to QV6.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_QUANT_H
#define METATE_DIALECT_QUANT_H

#include "metate/Dialect/Tree.h"

#define GET_OP_CLASSES
#include "metate/Dialect/MetateQuantOps.h.inc"

namespace metate {

/// A quantised type, taken apart.
struct QuantFormat {
  enum Kind { Int, Fixed, Float } kind;
  unsigned bits; ///< stored, the exponent included
  bool isSigned;
  mlir::Type compute;        ///< with its sign
  unsigned exponentBits = 0; ///< of a float
  double scale = 0;          ///< of a fixed one
  bool isShared = false;     ///< a float whose exponent others share: no hidden digit

  /// Nullopt where the type is not quantised.
  static std::optional<QuantFormat> of(mlir::Type type, bool isShared = false);

  /// Of a float: digits below the sign, what its exponent counts from, the greatest exponent that is stored.
  unsigned digits() const { return bits - exponentBits - isSigned; }
  unsigned fractionBits() const { return bits - exponentBits; }
  int64_t bias() const { return (int64_t(1) << (exponentBits - 1)) - 1; }
  int64_t greatestExponent() const;
};

bool isQuantised(mlir::Type type);
/// How a program writes the type: "quant.int(5)".
std::string shownQuant(mlir::Type type);

/// The stored bits of a value of the compute type, as a store has them; of a float with a shared exponent those that it has alone.
llvm::APInt encodeQuant(const QuantFormat &format, const llvm::APFloat &value);
llvm::APInt encodeQuant(const QuantFormat &format, const llvm::APInt &value);
/// The value of stored bits, of a float's or fixed one's format.
llvm::APFloat decodeQuant(const QuantFormat &format, const llvm::APInt &bits);

/// The exponent of floats that share one, and sign and digits of each.
std::pair<uint64_t, llvm::SmallVector<uint64_t>> encodeShared(llvm::ArrayRef<QuantFormat> formats,
                                                              llvm::ArrayRef<llvm::APFloat> values);

/// (QW1), (QW2): what a level holds whose cells lie in words.
llvm::LogicalResult verifyElements(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                                   llvm::ArrayRef<mlir::Attribute> children, int64_t word);

/// The members that share an exponent, in their order.
llvm::SmallVector<PlaceAttr> sharedPlaces(SharedExponentAttr group);

/// The members that stand in a bit_struct, in their order; `group`: which shared exponent, or -1.
struct PackedPlace {
  PlaceAttr place;
  int group;
};
llvm::SmallVector<PackedPlace> packedPlaces(BitStructAttr word);

/// Is it a float that shares its exponent in this tree?
bool sharesExponent(TreeType tree, llvm::StringRef member);
/// The members with which it does, itself among them; empty: with none.
llvm::SmallVector<PlaceAttr> sharersOf(TreeType tree, llvm::StringRef member);

} // namespace metate

#endif
