//===- BitPlanes.h - arithmetic of many small integers at once --*- C++ -*-===//
//
// As many small integers as a word has elements, kept as planes: word k holds bit k of each of them, at every stride-th bit; whatever the
// bits between are. Sums are full adders, comparisons borrow, choices are masks.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_BITPLANES_H
#define METATE_TRANSFORMS_BITPLANES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

#include <optional>

namespace metate {

/// Integers between two bounds; the last plane is the sign where the least is negative.
struct Planes {
  llvm::SmallVector<mlir::Value> bits; ///< from the lowest on
  int64_t least = 0, greatest = 0;

  bool isSigned() const { return least < 0; }
};

/// A sum that is not added up yet: planes of each weight, lowest first, and a number that all elements have.
struct PlaneSum {
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> columns;
  int64_t constant = 0, least = 0, greatest = 0;
};

/// What makes them, for words of a width whose elements have `stride` bits each.
class PlaneBuilder {
public:
  static constexpr unsigned mostPlanes = 8;

  PlaneBuilder(mlir::OpBuilder &builder, mlir::Location loc, unsigned width, unsigned stride)
      : builder(builder), loc(loc), width(width), stride(stride), elements(width / stride) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const unsigned width, stride, elements;

  mlir::Value word(uint64_t value);
  mlir::Value zeros() { return word(0); }
  /// One bit for each element.
  mlir::Value ones();
  uint64_t lanes() const;
  /// "and", "or", "xor" of planes, and of whole words.
  mlir::Value logic(llvm::StringRef kind, mlir::Value a, mlir::Value b) {
    return combined(kind, a, b, lanes());
  }
  mlir::Value wordLogic(llvm::StringRef kind, mlir::Value a, mlir::Value b) {
    return combined(kind, a, b, ~uint64_t(0) >> (64 - width));
  }
  /// The plane with zeros between.
  mlir::Value cleared(mlir::Value plane);
  mlir::Value inverted(mlir::Value plane) { return logic("xor", plane, ones()); }
  mlir::Value shifted(mlir::Value word, unsigned by, bool left);

  /// The same number for all elements; nullopt: it has too many bits.
  std::optional<Planes> constant(int64_t value);
  /// A bit of which each element has the same: 0 or 1 of type i1.
  Planes spread(mlir::Value bit);
  /// Elements of so many bits in a word that has them side by side, and back.
  Planes fromWord(mlir::Value word, unsigned bits);
  mlir::Value toWord(const Planes &value, unsigned bits);
  /// The elements of word number `word` before element number `end` of all words, both indices.
  mlir::Value before(mlir::Value word, mlir::Value end);

  /// Exact results; nullopt where they would have too many planes.
  std::optional<Planes> add(const Planes &a, const Planes &b);
  std::optional<Planes> subtract(const Planes &a, const Planes &b);
  /// A number without a sign, or a constant, as a sum; and one that is added to another.
  std::optional<PlaneSum> toSum(const Planes &a);
  PlaneSum joined(PlaneSum a, const PlaneSum &b);
  std::optional<PlaneSum> negated(const PlaneSum &sum);
  /// Whether it has no more planes than numbers may have.
  static bool fits(const PlaneSum &sum);
  /// Three planes of a weight become one of it and one of the next, the oldest first.
  std::optional<Planes> addedUp(PlaneSum sum);
  std::optional<Planes> multiply(const Planes &a, const Planes &b);
  std::optional<Planes> bitwise(llvm::StringRef kind, const Planes &a, const Planes &b);
  std::optional<Planes> shift(const Planes &a, unsigned by, bool left);
  Planes select(mlir::Value condition, const Planes &a, const Planes &b);
  /// One plane: where the comparison of the numbers themselves holds.
  mlir::Value less(const Planes &a, const Planes &b);
  mlir::Value equal(const Planes &a, const Planes &b);

  /// A plane of the number, its sign beyond its last one.
  mlir::Value bitOf(const Planes &a, unsigned k);
  /// Planes without values for numbers between the bounds.
  Planes ofBounds(int64_t least, int64_t greatest);
  /// The same numbers, which are known to be between narrower bounds.
  Planes narrowed(const Planes &a, int64_t least, int64_t greatest);

  /// The lowest bits of each, as a number without a sign, or with one.
  Planes wrapped(const Planes &a, unsigned bits, bool isSigned);

private:
  /// `all`: the bits that there can be.
  mlir::Value combined(llvm::StringRef kind, mlir::Value a, mlir::Value b, uint64_t all);
  Planes ofRange(llvm::SmallVector<mlir::Value> bits, int64_t least, int64_t greatest);
  std::optional<Planes> sum(const Planes &a, const Planes &b, bool subtracts);
  mlir::Value majority(mlir::Value a, mlir::Value b, mlir::Value c);
};

} // namespace metate

#endif
