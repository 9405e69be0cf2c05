//===- Attrs.cpp - levels, places and the tree type -------------*- C++ -*-===//
//
// Verifiers of the attributes a tree type is made of, each constraint with its label: (A1) axes are
// letters i..p, ascending; (A2) as many extents as axes, all positive; (A3) children are levels or
// places; (A4) at least one child; (A5) coordinates along an axis stay below 2^31; (A6) a member's
// name occurs once in a tree; (A7) members are scalars, vectors or matrices of i1, (u)i8-64, f16,
// bf16, f32, f64; (A8) a background has the member's type; (A9) levels of one name occur at one
// depth of the tree only.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Tree.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace metate;

#include "metate/Dialect/MetateAttrInterfaces.cpp.inc"

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

static LogicalResult verifyLevel(function_ref<InFlightDiagnostic()> emitError, StringRef axes,
                                 ArrayRef<int64_t> extents, ArrayRef<Attribute> children) {
  if (axes.empty() || axes.size() > 8)
    return emitError() << "(A1) a level needs 1 to 8 axes, got '" << axes << "'";
  for (auto [k, letter] : llvm::enumerate(axes)) {
    if (letter < 'i' || letter > 'p')
      return emitError() << "(A1) axes are letters i to p, got '" << axes << "'";
    if (k && axes[k - 1] >= letter)
      return emitError() << "(A1) axes must ascend, got '" << axes << "'";
  }
  if (extents.size() != axes.size())
    return emitError() << "(A2) expected " << axes.size() << " extents for axes '" << axes
                       << "', got " << extents.size();
  for (int64_t extent : extents)
    if (extent < 1 || extent >= (int64_t(1) << 31))
      return emitError() << "(A2) extents must be between 1 and 2^31 - 1, got " << extent;
  if (children.empty())
    return emitError() << "(A4) a level needs at least one child level or place";
  for (Attribute child : children)
    if (!isa<LevelInterface, PlaceAttr>(child))
      return emitError() << "(A3) a child must be a level or a place, got " << child;
  return success();
}

#define METATE_LEVEL(Class)                                                                        \
  StringRef Class::getLevelAxes() const { return getAxes(); }                                      \
  ArrayRef<int64_t> Class::getLevelExtents() const { return getExtents(); }                        \
  ArrayRef<Attribute> Class::getLevelChildren() const { return getChildren(); }                    \
  StringRef Class::getGivenName() const { return getName() ? getName().getValue() : StringRef(); } \
  StringRef Class::getKindName() const { return getMnemonic(); }                                   \
  uint32_t Class::getKindCode() const { return kindCode; }                                         \
  bool Class::hasPool() const { return pool; }                                                     \
  LogicalResult Class::verify(function_ref<InFlightDiagnostic()> emitError, StringRef axes,        \
                              ArrayRef<int64_t> extents, ArrayRef<Attribute> children,             \
                              StringAttr name) {                                                   \
    return verifyLevel(emitError, axes, extents, children);                                        \
  }
METATE_LEVEL(DenseAttr)
METATE_LEVEL(PointerAttr)
#undef METATE_LEVEL

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
  if (!isMemberScalar(scalar))
    return emitError()
           << "(A7) a member's scalars are i1, (u)i8 to (u)i64, f16, bf16, f32 or f64, got "
           << type;
  if (background && signlessType(background.getType()) != signlessType(type))
    return emitError() << "(A8) a background has the member's type " << type << ", got "
                       << background.getType();
  return success();
}

namespace {
/// Walks a tree type once and checks what concerns it as a whole.
struct TreeVerifier {
  function_ref<InFlightDiagnostic()> emitError;
  llvm::StringSet<> members;
  llvm::StringMap<unsigned> depths;

  LogicalResult visit(Attribute node, unsigned depth, std::array<int64_t, 8> extents) {
    if (auto place = dyn_cast<PlaceAttr>(node)) {
      if (!members.insert(place.getName()).second)
        return emitError() << "(A6) member '" << place.getName() << "' is placed twice";
      return success();
    }
    auto level = cast<LevelInterface>(node);
    auto [entry, isNew] = depths.try_emplace(levelName(level, depth), depth);
    if (!isNew && entry->second != depth)
      return emitError() << "(A9) level name '" << entry->first() << "' is used at depth "
                         << entry->second << " and at depth " << depth;
    for (auto [axis, extent] : llvm::zip(levelAxes(level), level.getLevelExtents())) {
      extents[axis] *= extent;
      if (extents[axis] >= (int64_t(1) << 31))
        return emitError() << "(A5) coordinates along axis '" << char('i' + axis)
                           << "' must stay below 2^31, got an extent of " << extents[axis];
    }
    for (Attribute child : level.getLevelChildren())
      if (failed(visit(child, depth + 1, extents)))
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
    if (!isa<LevelInterface, PlaceAttr>(branch))
      return emitError() << "(A3) a branch must be a level or a place, got " << branch;
    if (failed(verifier.visit(branch, 0, {1, 1, 1, 1, 1, 1, 1, 1})))
      return failure();
  }
  if (verifier.members.empty())
    return emitError() << "(A4) a tree needs at least one member";
  return success();
}
