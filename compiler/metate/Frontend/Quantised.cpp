//===- Quantised.cpp - members that are stored as something else -*- C++ -*-===//
//
// Kernels compute with a quantised member's compute type: a load decodes its bits, a store encodes them. What is right on the bits is an
// atomic operation on the bits, modulo their width: everything on integers; sums, minima and maxima of fixed ones. The rest is one
// metate.update.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Quant.h"
#include "metate/Frontend/KernelBuilder.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

using Kind = arith::AtomicRMWKind;

static bool sharesItsExponent(const Reference &reference) {
  return sharesExponent(cast<TreeType>(reference.base.getType()), reference.path);
}

/// What a kind is on the stored integers; nullopt where it is nothing on these.
static std::optional<Kind> kindOnBits(Kind kind, const QuantFormat &format) {
  if (kind == Kind::assign && !format.isShared)
    return kind;
  if (format.kind == QuantFormat::Float)
    return std::nullopt;
  switch (kind) {
  case Kind::addf:
    return Kind::addi;
  case Kind::mulf:
    return std::nullopt;
  case Kind::minnumf:
  case Kind::mins:
  case Kind::minu:
    return format.isSigned ? Kind::mins : Kind::minu;
  case Kind::maxnumf:
  case Kind::maxs:
  case Kind::maxu:
    return format.isSigned ? Kind::maxs : Kind::maxu;
  default:
    return kind;
  }
}

KernelValue KernelBuilder::loadQuantised(const Reference &reference) {
  Type bits = signlessType(reference.quantised);
  bool isShared = sharesItsExponent(reference);
  Value loaded = isShared ? LoadSharedOp::create(builder, loc(), bits, reference.base,
                                                 reference.path, reference.indices)
                                .getValue()
                          : LoadOp::create(builder, loc(), bits, reference.base, reference.path,
                                           reference.indices, ValueRange())
                                .getValue();
  return {DecodeOp::create(builder, loc(), loaded, reference.quantised, isShared), reference.type};
}

void KernelBuilder::storeQuantised(const Reference &reference, Value value, bool active) {
  if (sharesItsExponent(reference)) {
    UpdateOp::create(builder, loc(), value.getType(), Kind::assign, value, reference.base,
                     reference.path, reference.indices, active);
    return;
  }
  Value bits = EncodeOp::create(builder, loc(), value, reference.quantised);
  StoreOp::create(builder, loc(), bits, reference.base, reference.path, reference.indices,
                  ValueRange(), active);
}

/// The same value, or computed alike from the same ones: each component's index has operations of its own.
static bool isSame(Value a, Value b) {
  if (a == b)
    return true;
  Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
  return left && right && left->getName() == right->getName() && left->getNumRegions() == 0 &&
         left->getAttrDictionary() == right->getAttrDictionary() && isMemoryEffectFree(left) &&
         a.getType() == b.getType() &&
         cast<OpResult>(a).getResultNumber() == cast<OpResult>(b).getResultNumber() &&
         llvm::equal(left->getOperands(), right->getOperands(), isSame);
}

/// Different members of one group, in one cell.
static bool areOfOneGroup(ArrayRef<Reference> references) {
  const Reference &first = references.front();
  if (references.size() < 2 || !first.quantised)
    return false;
  SmallVector<PlaceAttr> group = sharersOf(cast<TreeType>(first.base.getType()), first.path);
  for (auto [k, one] : llvm::enumerate(references)) {
    bool isIn = one.quantised && one.base == first.base &&
                llvm::equal(one.indices, first.indices, isSame) &&
                llvm::any_of(group, [&, path = StringRef(one.path)](PlaceAttr place) {
                  return place.getName() == path;
                });
    for (const Reference &other : references.take_front(k))
      isIn &= other.path != one.path;
    if (!isIn)
      return false;
  }
  return true;
}

void KernelBuilder::storeTogether(ArrayRef<Reference> references, ArrayRef<KernelValue> values,
                                  StringRef what) {
  if (references.empty() || !areOfOneGroup(references)) {
    for (auto [reference, value] : llvm::zip(references, values))
      store(reference, value, what);
    return;
  }
  SmallVector<Value> converted;
  SmallVector<StringRef> members;
  for (auto [reference, value] : llvm::zip(references, values)) {
    KernelValue one = convert(value, reference.type, what);
    if (!one)
      return;
    converted.push_back(one.ir);
    members.push_back(reference.path);
  }
  const Reference &first = references.front();
  guardStore(first, [&](bool active) {
    StoreSharedOp::create(builder, loc(), converted, first.base, first.path,
                          builder.getStrArrayAttr(members), first.indices, active);
  });
}

Value KernelBuilder::atomicOfQuantised(Kind kind, const Reference &reference, Value value,
                                       bool subtracts, bool active, Value expected) {
  bool isShared = sharesExponent(cast<TreeType>(reference.base.getType()), reference.path);
  auto exchangeIf = [&](Value wanted, Value given) -> Value {
    return expected ? ExchangeIfOp::create(builder, loc(), wanted, given) : given;
  };
  std::optional<Kind> onBits = kindOnBits(kind, *QuantFormat::of(reference.quantised, isShared));
  if (!onBits)
    return UpdateOp::create(builder, loc(), value.getType(), kind, exchangeIf(expected, value),
                            reference.base, reference.path, reference.indices, active)
        .getOld();
  auto encoded = [&](Value given) -> Value {
    return EncodeOp::create(builder, loc(), given, reference.quantised);
  };
  Value bits = encoded(value);
  if (expected) {
    Value wanted = encoded(expected);
    bits = exchangeIf(wanted, bits);
  }
  auto made = AtomicOp::create(builder, loc(), *onBits, bits, reference.base, reference.path,
                               reference.indices, ValueRange(), active);
  if (subtracts)
    setMark(made, mark::subtracts);
  return DecodeOp::create(builder, loc(), made.getOld(), reference.quantised);
}
