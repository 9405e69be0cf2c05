//===- Attrs.cpp - levels, places and the tree type -------------*- C++ -*-===//
//
// Verifiers of the attributes a tree type is made of, each constraint with its label: (A1) axes are
// letters i..t, ascending; (A2) as many extents as axes, all positive; (A3) children are levels or
// places; (A4) at least one child; (A5) coordinates along an axis stay below 2^31; (A6) a member's
// name occurs once in a tree; (A7) members are scalars, vectors or matrices of i1, (u)i8-64, f16,
// bf16, f32, f64; (A8) a background has the member's type; (A9) levels of one name occur at one
// depth of the tree only; (A10) no level above splits an axis of a hash level; (A11) a dynamic level
// has one axis, which no other level of its path splits, and slots of 1 to extent cells; (A12) quantised members are scalars and
// stand in a bit_struct or quant_array (Quant.cpp).
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Quant.h"
#include "metate/abi/base.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <array>

using namespace mlir;
using namespace metate;

#include "metate/Dialect/MetateAttrInterfaces.cpp.inc"

ArrayRef<int64_t> metate::unboundedExtents(unsigned axes) {
  static constexpr auto extents = [] {
    std::array<int64_t, METATE_MAX_AXES> all{};
    for (int64_t &extent : all)
      extent = unboundedExtent;
    return all;
  }();
  return ArrayRef(extents).take_front(axes);
}

/// (A1), (A3), (A4): what every level has.
static LogicalResult verifyShape(function_ref<InFlightDiagnostic()> emitError, StringRef axes,
                                 ArrayRef<Attribute> children) {
  if (axes.empty() || axes.size() > METATE_MAX_AXES)
    return emitError() << "(A1) a level needs 1 to " << METATE_MAX_AXES << " axes, got '" << axes
                       << "'";
  for (auto [k, letter] : llvm::enumerate(axes)) {
    if (letter < 'i' || letter >= 'i' + METATE_MAX_AXES)
      return emitError() << "(A1) axes are letters i to " << char('i' + METATE_MAX_AXES - 1)
                         << ", got '" << axes << "'";
    if (k && axes[k - 1] >= letter)
      return emitError() << "(A1) axes must ascend, got '" << axes << "'";
  }
  if (children.empty())
    return emitError() << "(A4) a level needs at least one child level or place";
  for (Attribute child : children)
    if (!isa<LevelInterface, PlaceAttr, BitStructAttr>(child))
      return emitError() << "(A3) a child must be a level, a place or a bit_struct, got " << child;
  return success();
}

static LogicalResult verifyLevel(function_ref<InFlightDiagnostic()> emitError, StringRef axes,
                                 ArrayRef<int64_t> extents, ArrayRef<Attribute> children) {
  if (failed(verifyShape(emitError, axes, children)))
    return failure();
  if (extents.size() != axes.size())
    return emitError() << "(A2) expected " << axes.size() << " extents for axes '" << axes
                       << "', got " << extents.size();
  for (int64_t extent : extents)
    if (extent < 1 || extent >= (int64_t(1) << 31))
      return emitError() << "(A2) extents must be between 1 and 2^31 - 1, got " << extent;
  return success();
}

// After verifyLevel, which levels without anything of their own are verified by.
#define GET_ATTRDEF_CLASSES
#include "metate/Dialect/MetateAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "metate/Dialect/MetateTypes.cpp.inc"

void MetateDialect::registerAttributesAndTypes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "metate/Dialect/MetateAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "metate/Dialect/MetateTypes.cpp.inc"
      >();
}

LogicalResult DynamicAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef axes,
                                  ArrayRef<int64_t> extents, ArrayRef<Attribute> children,
                                  int64_t chunk, StringAttr name) {
  if (failed(verifyLevel(emitError, axes, extents, children)))
    return failure();
  if (axes.size() != 1)
    return emitError() << "(A11) a dynamic level has one axis, got '" << axes << "'";
  if (chunk < 1 || chunk > extents[0])
    return emitError() << "(A11) a chunk of a dynamic level has 1 to " << extents[0]
                       << " cells, got " << chunk;
  return success();
}

LogicalResult QuantArrayAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef axes,
                                     ArrayRef<int64_t> extents, ArrayRef<Attribute> children,
                                     int64_t word, StringAttr name) {
  return success(succeeded(verifyLevel(emitError, axes, extents, children)) &&
                 succeeded(verifyElements(emitError, children, word)));
}

LogicalResult HashAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef axes,
                               ArrayRef<Attribute> children, StringAttr name) {
  return verifyShape(emitError, axes, children);
}

static bool isMemberScalar(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned width = integer.getWidth();
    return width == 1 || width == 8 || width == 16 || width == 32 || width == 64;
  }
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

LogicalResult PlaceAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                Type type, TypedAttr background) {
  if (name.empty())
    return emitError() << "(A6) a member needs a name";
  Type scalar = type;
  if (auto vector = dyn_cast<VectorType>(type)) {
    scalar = vector.getElementType();
    if (vector.getRank() < 1 || vector.getRank() > 2 || vector.isScalable())
      return emitError() << "(A7) a member is a scalar, a vector or a matrix, got " << type;
  }
  std::optional<QuantFormat> format = QuantFormat::of(type);
  if (!isMemberScalar(scalar) && !format)
    return emitError()
           << "(A7) a member's scalars are i1, (u)i8 to (u)i64, f16, bf16, f32 or f64, got "
           << type;
  Type shown = format ? format->compute : type;
  if (background && signlessType(background.getType()) != signlessType(shown))
    return emitError() << "(A8) a background has the member's type " << shown << ", got "
                       << background.getType();
  return success();
}

namespace {
/// What the levels above have made of one axis.
struct SplitAxis {
  int64_t extent = 1; ///< cells so far, below the last unbounded level
  bool isSplit = false;
  bool isList = false; ///< a dynamic level has it to itself
};

/// Walks a tree type once and checks what concerns it as a whole.
struct TreeVerifier {
  function_ref<InFlightDiagnostic()> emitError;
  llvm::StringSet<> members;
  llvm::StringMap<unsigned> depths;

  LogicalResult split(LevelInterface level, SplitAxis &axis, unsigned number, int64_t extent) {
    char letter = char('i' + number);
    bool isList = level.isList();
    if (level.isUnbounded() && axis.isSplit)
      return emitError() << "(A10) axis '" << letter
                         << "' of a hash level is split by a level above it";
    if (axis.isList || (isList && axis.isSplit))
      return emitError() << "(A11) axis '" << letter
                         << "' of a dynamic level is split by another level of its path";
    axis.isSplit = true;
    axis.isList = isList;
    if (level.isUnbounded())
      return success();
    axis.extent *= extent;
    if (axis.extent >= (int64_t(1) << 31))
      return emitError() << "(A5) coordinates along axis '" << letter
                         << "' must stay below 2^31, got an extent of " << axis.extent;
    return success();
  }

  LogicalResult visit(Attribute node, unsigned depth, std::array<SplitAxis, METATE_MAX_AXES> axes) {
    auto level = dyn_cast<LevelInterface>(node);
    if (!level) {
      for (PlaceAttr place : placesAt(node))
        if (!members.insert(place.getName()).second)
          return emitError() << "(A6) member '" << place.getName() << "' is placed twice";
      return success();
    }
    for (Attribute child : level.getLevelChildren())
      if (auto place = dyn_cast<PlaceAttr>(child);
          place && isQuantised(place.getType()) && !level.hasWords())
        return emitError() << "(A12) member '" << place.getName()
                           << "' is quantised: put it into a bit_struct or quant_array";
    auto [entry, isNew] = depths.try_emplace(levelName(level, depth), depth);
    if (!isNew && entry->second != depth)
      return emitError() << "(A9) level name '" << entry->first() << "' is used at depth "
                         << entry->second << " and at depth " << depth;
    for (auto [axis, extent] : llvm::zip(levelAxes(level), level.getLevelExtents()))
      if (failed(split(level, axes[axis], axis, extent)))
        return failure();
    for (Attribute child : level.getLevelChildren())
      if (failed(visit(child, depth + 1, axes)))
        return failure();
    return success();
  }
};
} // namespace

LogicalResult TreeType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<Attribute> branches) {
  if (branches.empty())
    return emitError() << "(A4) a tree needs at least one branch";
  TreeVerifier verifier{emitError, {}, {}};
  for (Attribute branch : branches) {
    if (!isa<LevelInterface, PlaceAttr, BitStructAttr>(branch))
      return emitError() << "(A3) a branch must be a level, a place or a bit_struct, got "
                         << branch;
    if (auto place = dyn_cast<PlaceAttr>(branch); place && isQuantised(place.getType()))
      return emitError() << "(A12) member '" << place.getName()
                         << "' is quantised: put it into a bit_struct or quant_array";
    if (failed(verifier.visit(branch, 0, {})))
      return failure();
  }
  if (verifier.members.empty())
    return emitError() << "(A4) a tree needs at least one member";
  return success();
}
