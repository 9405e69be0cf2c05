//===- Quant.cpp - quantised members ----------------------------*- C++ -*-===//
//
// Verifiers of the types and of the words they stand in: (QT1) 1 to 64 bits; (QT2) an integer's compute type is (u)i8 to (u)i64 and
// holds its bits, the others' is f32 or f64 and holds their digits and exponent; (QT3) a scale is positive and finite; (QW1) a
// word has 8, 16, 32 or 64 bits; (QW2) what stands in it is quantised, and fits; (QW3) members that share an exponent are two or
// more floats of one exponent width and compute type.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Quant.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace metate;

//===-- types ---------------------------------------------------------------===//

bool metate::isQuantised(Type type) {
  return isa<QuantIntType, QuantFixedType, QuantFloatType>(type);
}

std::optional<QuantFormat> QuantFormat::of(Type type, bool isShared) {
  if (auto integer = dyn_cast<QuantIntType>(type))
    return QuantFormat{Int, integer.getBits(), integer.getIsSigned(), integer.getCompute()};
  if (auto fixed = dyn_cast<QuantFixedType>(type))
    return QuantFormat{Fixed,
                       fixed.getBits(),
                       fixed.getIsSigned(),
                       fixed.getCompute(),
                       0,
                       fixed.getScale().getValueAsDouble()};
  if (auto number = dyn_cast<QuantFloatType>(type))
    return QuantFormat{Float,
                       number.getExponentBits() + number.getFractionBits(),
                       number.getIsSigned(),
                       number.getCompute(),
                       number.getExponentBits(),
                       0,
                       isShared};
  return std::nullopt;
}

int64_t QuantFormat::greatestExponent() const {
  return std::min((int64_t(1) << exponentBits) - 1, bias() + (compute.isF64() ? 1023 : 127));
}

std::string metate::shownQuant(Type type) {
  QuantFormat format = *QuantFormat::of(type);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (format.kind == QuantFormat::Int)
    stream << "quant.int(" << format.bits;
  else if (format.kind == QuantFormat::Fixed)
    stream << "quant.fixed(" << format.bits;
  else
    stream << "quant.float(" << format.exponentBits << ", " << format.fractionBits();
  if (!format.isSigned)
    stream << ", signed=False";
  if (format.kind == QuantFormat::Fixed)
    stream << ", scale=" << llvm::format("%g", format.scale);
  stream << ")";
  return text;
}

using Emit = function_ref<InFlightDiagnostic()>;

static LogicalResult verifyBits(Emit emitError, unsigned bits) {
  if (bits < 1 || bits > 64)
    return emitError() << "(QT1) a quantised member has 1 to 64 bits, got " << bits;
  return success();
}

/// The digits of a float that kernels compute with; 0 of another type.
static unsigned computeDigits(Type type) { return type.isF32() ? 24 : type.isF64() ? 53 : 0; }

LogicalResult QuantIntType::verify(Emit emitError, unsigned bits, bool isSigned, Type compute) {
  if (failed(verifyBits(emitError, bits)))
    return failure();
  auto integer = dyn_cast<IntegerType>(compute);
  if (!integer || !llvm::is_contained({8, 16, 32, 64}, integer.getWidth()))
    return emitError() << "(QT2) an integer is computed with as (u)i8 to (u)i64, got " << compute;
  if (integer.getWidth() < bits)
    return emitError() << "(QT2) " << compute << " does not hold " << bits << " bits";
  return success();
}

LogicalResult QuantFixedType::verify(Emit emitError, unsigned bits, bool isSigned, FloatAttr scale,
                                     Type compute) {
  if (failed(verifyBits(emitError, bits)))
    return failure();
  unsigned digits = computeDigits(compute);
  if (bits - isSigned > digits)
    return emitError()
           << "(QT2) the compute type is f32 for at most 24 bits without the sign, f64 for "
              "at most 53, got "
           << compute << " for " << bits - isSigned;
  double step = scale.getValueAsDouble();
  if (!scale.getType().isF64() || !(step > 0) || !std::isfinite(step) ||
      (compute.isF32() && (!std::isnormal(float(step)) || !std::isnormal(float(1 / step)))))
    return emitError() << "(QT3) a scale is positive, finite and so is its reciprocal, got "
                       << step;
  return success();
}

LogicalResult QuantFloatType::verify(Emit emitError, unsigned exponentBits, unsigned fractionBits,
                                     bool isSigned, Type compute) {
  if (failed(verifyBits(emitError, exponentBits + fractionBits)))
    return failure();
  unsigned digits = computeDigits(compute);
  if (!digits || exponentBits < 1 || exponentBits > (digits == 24 ? 8 : 11) ||
      fractionBits < 1 + isSigned || fractionBits - isSigned >= digits)
    return emitError()
           << "(QT2) a float has 1 to 8 bits of exponent and 1 to 23 digits besides its sign for "
              "f32, 1 to 11 and 1 to 52 for f64, got "
           << exponentBits << " and " << int(fractionBits) - isSigned << " for " << compute;
  return success();
}

Type QuantFixedType::parse(AsmParser &parser) {
  unsigned bits;
  bool isSigned;
  double scale;
  Type compute;
  auto keyword = [&] {
    std::string word;
    if (parser.parseKeywordOrString(&word))
      return failure();
    isSigned = word == "true";
    return success(isSigned || word == "false");
  };
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseInteger(bits) || parser.parseComma() || failed(keyword()) ||
      parser.parseComma() || parser.parseFloat(scale) || parser.parseComma() ||
      parser.parseType(compute) || parser.parseGreater())
    return {};
  return QuantFixedType::getChecked([&] { return parser.emitError(at); }, parser.getContext(), bits,
                                    isSigned, parser.getBuilder().getF64FloatAttr(scale), compute);
}

void QuantFixedType::print(AsmPrinter &printer) const {
  printer << "<" << getBits() << ", " << (getIsSigned() ? "true" : "false") << ", ";
  printer.printFloat(getScale().getValue());
  printer << ", " << getCompute() << ">";
}

//===-- words ---------------------------------------------------------------===//

static LogicalResult verifyWord(Emit emitError, int64_t word) {
  if (word != 8 && word != 16 && word != 32 && word != 64)
    return emitError() << "(QW1) a word has 8, 16, 32 or 64 bits, got " << word;
  return success();
}

LogicalResult metate::verifyElements(Emit emitError, ArrayRef<Attribute> children, int64_t word) {
  if (failed(verifyWord(emitError, word)))
    return failure();
  auto place = children.size() == 1 ? dyn_cast<PlaceAttr>(children[0]) : PlaceAttr();
  std::optional<QuantFormat> format =
      place ? QuantFormat::of(place.getType()) : std::optional<QuantFormat>();
  if (!format)
    return emitError() << "(QW2) a quant_array holds one quantised member";
  if (format->bits > word)
    return emitError() << "(QW2) member '" << place.getName() << "' has " << format->bits
                       << " bits, a word " << word;
  return success();
}

SmallVector<PlaceAttr> metate::sharedPlaces(SharedExponentAttr group) {
  return llvm::map_to_vector(group.getChildren(),
                             [](Attribute place) { return cast<PlaceAttr>(place); });
}

LogicalResult SharedExponentAttr::verify(Emit emitError, ArrayRef<Attribute> children) {
  SmallVector<QuantFloatType> types;
  for (Attribute child : children) {
    auto place = dyn_cast<PlaceAttr>(child);
    if (auto type = place ? dyn_cast<QuantFloatType>(place.getType()) : QuantFloatType())
      types.push_back(type);
  }
  if (types.size() < 2 || types.size() != children.size())
    return emitError() << "(QW3) two quantised floats or more share an exponent";
  for (QuantFloatType type : types)
    if (type.getExponentBits() != types[0].getExponentBits() ||
        type.getCompute() != types[0].getCompute())
      return emitError()
             << "(QW3) floats that share an exponent have one exponent width and one compute "
                "type, got "
             << types[0] << " and " << type;
  return success();
}

LogicalResult BitStructAttr::verify(Emit emitError, int64_t word, ArrayRef<Attribute> children) {
  if (failed(verifyWord(emitError, word)))
    return failure();
  int64_t bits = 0;
  for (Attribute child : children) {
    if (auto shared = dyn_cast<SharedExponentAttr>(child)) {
      bits += QuantFormat::of(sharedPlaces(shared)[0].getType())->exponentBits;
      for (PlaceAttr place : sharedPlaces(shared))
        bits += QuantFormat::of(place.getType())->fractionBits();
      continue;
    }
    auto place = dyn_cast<PlaceAttr>(child);
    if (!place || !isQuantised(place.getType()))
      return emitError() << "(QW2) a bit_struct holds quantised members, got " << child;
    bits += QuantFormat::of(place.getType())->bits;
  }
  if (bits < 1 || bits > word)
    return emitError() << "(QW2) the members of a bit_struct have 1 to " << word << " bits, got "
                       << bits;
  return success();
}

SmallVector<PackedPlace> metate::packedPlaces(BitStructAttr word) {
  SmallVector<PackedPlace> places;
  int group = 0;
  for (Attribute child : word.getChildren()) {
    if (auto place = dyn_cast<PlaceAttr>(child)) {
      places.push_back({place, -1});
      continue;
    }
    for (PlaceAttr place : sharedPlaces(cast<SharedExponentAttr>(child)))
      places.push_back({place, group});
    ++group;
  }
  return places;
}

/// Visits the bit_structs of a tree; stops where `visit` gives true.
static bool anyWord(ArrayRef<Attribute> nodes, function_ref<bool(BitStructAttr)> visit) {
  for (Attribute node : nodes) {
    if (auto word = dyn_cast<BitStructAttr>(node); word && visit(word))
      return true;
    if (auto level = dyn_cast<LevelInterface>(node);
        level && anyWord(level.getLevelChildren(), visit))
      return true;
  }
  return false;
}

SmallVector<PlaceAttr> metate::sharersOf(TreeType tree, StringRef member) {
  SmallVector<PlaceAttr> found;
  anyWord(tree.getBranches(), [&](BitStructAttr word) {
    for (Attribute child : word.getChildren()) {
      auto group = dyn_cast<SharedExponentAttr>(child);
      SmallVector<PlaceAttr> places = group ? sharedPlaces(group) : SmallVector<PlaceAttr>();
      if (llvm::any_of(places, [&](PlaceAttr place) { return place.getName() == member; }))
        found = places;
    }
    return !found.empty();
  });
  return found;
}

bool metate::sharesExponent(TreeType tree, StringRef member) {
  return !sharersOf(tree, member).empty();
}

//===-- values --------------------------------------------------------------===//

APInt metate::encodeQuant(const QuantFormat &format, const APInt &value) {
  return value.zextOrTrunc(format.bits);
}

/// Rounds to an integer of so many bits, half away from zero; what is beyond these becomes the last one, NaN 0.
static APSInt toInteger(APFloat value, unsigned width) {
  APSInt result(width, /*isUnsigned=*/false);
  if (value.isNaN())
    return result;
  bool isExact;
  value.convertToInteger(result, APFloat::rmNearestTiesToAway, &isExact);
  return result; // saturated where it is too large
}

/// The bits of the float that is nearest: exponents of a hidden digit, or those of members that share one.
static APInt encodeFloat(const QuantFormat &format, APFloat value) {
  APInt bits(format.bits, 0);
  bool isNegative = value.isNegative() && !value.isNaN();
  if (value.isNaN() || (isNegative && !format.isSigned))
    return bits;
  value.clearSign();
  int64_t greatest = format.greatestExponent(), bias = format.bias();
  int digits = format.digits(), hidden = format.isShared ? 0 : 1;
  // The number is d * 2^(exponent - bias - scale) with d below 2^(digits + hidden).
  int64_t scale = format.isShared ? digits - 1 : digits;
  auto digitsAt = [&](int64_t exponent) {
    int64_t unit = std::max<int64_t>(exponent, hidden) - bias - scale;
    return toInteger(scalbn(value, int(-unit), APFloat::rmNearestTiesToAway), 64).getZExtValue();
  };
  uint64_t limit = uint64_t(1) << (digits + hidden), found = limit - 1;
  int64_t exponent = greatest;
  if (!value.isInfinity())
    for (exponent = 0; exponent <= greatest; ++exponent)
      if (uint64_t d = digitsAt(exponent);
          d < (hidden && exponent == 0 ? uint64_t(1) << digits : limit)) {
        found = d;
        break;
      }
  exponent = std::min(exponent, greatest);
  uint64_t stored = found & ((uint64_t(1) << digits) - 1);
  bits = APInt(64, stored).zextOrTrunc(format.bits);
  if (format.isShared) { // sign above the digits, the exponent on top
    if (isNegative)
      bits.setBit(digits);
    return bits | (APInt(64, exponent).zextOrTrunc(format.bits) << format.fractionBits());
  }
  bits |= APInt(64, exponent).zextOrTrunc(format.bits) << digits;
  if (isNegative)
    bits.setBit(format.bits - 1);
  return bits;
}

std::pair<uint64_t, SmallVector<uint64_t>> metate::encodeShared(ArrayRef<QuantFormat> formats,
                                                                ArrayRef<APFloat> values) {
  // Alone, each has the least exponent that holds it; together, the greatest of these, at which each is rounded anew. Rounding
  // up may take a digit more than that of the largest, which its own exponent has counted.
  uint64_t exponent = 0;
  for (auto [format, value] : llvm::zip(formats, values))
    exponent =
        std::max(exponent, encodeFloat(format, value).lshr(format.fractionBits()).getZExtValue());
  SmallVector<uint64_t> all;
  for (auto [format, value] : llvm::zip(formats, values)) {
    unsigned digits = format.digits();
    bool isNegative = value.isNegative() && !value.isNaN();
    uint64_t limit = (uint64_t(1) << digits) - 1, found = 0;
    if (!value.isNaN() && (!isNegative || format.isSigned)) {
      int64_t unit = int64_t(exponent) - format.bias() - (int64_t(digits) - 1);
      APFloat scaled = scalbn(abs(value), int(-unit), APFloat::rmNearestTiesToAway);
      found = value.isInfinity() ? limit : std::min(toInteger(scaled, 64).getZExtValue(), limit);
      found |= uint64_t(isNegative) << digits;
    }
    all.push_back(found);
  }
  return {exponent, all};
}

APInt metate::encodeQuant(const QuantFormat &format, const APFloat &value) {
  if (format.kind == QuantFormat::Float)
    return encodeFloat(format, value);
  APFloat reciprocal(1 / format.scale);
  bool isExact;
  reciprocal.convert(value.getSemantics(), APFloat::rmNearestTiesToEven, &isExact);
  unsigned width = format.bits < 32 ? 32 : 64;
  APSInt number = toInteger(value * reciprocal, width + 1);
  // What no integer of the width holds gives 0, and so does the least one.
  if (number.APInt::abs().uge(APInt::getOneBitSet(width + 1, width - 1)))
    number = 0;
  return number.sextOrTrunc(format.bits);
}

APFloat metate::decodeQuant(const QuantFormat &format, const APInt &bits) {
  const llvm::fltSemantics &semantics = cast<FloatType>(format.compute).getFloatSemantics();
  APFloat value(semantics);
  if (format.kind == QuantFormat::Fixed) {
    value.convertFromAPInt(bits, format.isSigned, APFloat::rmNearestTiesToEven);
    APFloat scale(format.scale);
    bool isExact;
    scale.convert(semantics, APFloat::rmNearestTiesToEven, &isExact);
    return value * scale;
  }
  unsigned digits = format.digits();
  uint64_t d = bits.extractBits(digits, 0).getZExtValue();
  int64_t exponent =
      bits.extractBits(format.exponentBits, format.isShared ? format.fractionBits() : digits)
          .getZExtValue();
  int64_t scale = format.isShared ? digits - 1 : digits;
  bool isNegative = format.isSigned && bits[format.isShared ? digits : format.bits - 1];
  if (!format.isShared && exponent)
    d |= uint64_t(1) << digits;
  value.convertFromAPInt(APInt(64, d), /*IsSigned=*/false, APFloat::rmNearestTiesToEven);
  int64_t unit =
      (format.isShared ? exponent : std::max<int64_t>(exponent, 1)) - format.bias() - scale;
  value = scalbn(value, int(unit), APFloat::rmNearestTiesToEven);
  if (isNegative)
    value.changeSign();
  return value;
}
