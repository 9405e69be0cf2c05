//===- Elements.cpp - which element, which cell -----------------*- C++ -*-===//
//
// Indices and coordinates: integers of any width, or vectors of them, become
// `index` values; their number is checked against the array or the tree's path,
// with texts that say what was expected.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Quant.h"
#include "metate/Frontend/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

Value KernelBuilder::toIndex(const KernelValue &value) {
  // A loop variable that comes from an index needs no way back: it did not lose
  // bits on the way.
  if (auto fromIndex = value.ir.getDefiningOp<arith::IndexCastOp>())
    if (fromIndex.getIn().getType().isIndex())
      return fromIndex.getIn();
  if (value.type.isSigned())
    return builder.createOrFold<arith::IndexCastOp>(loc(), builder.getIndexType(), value.ir);
  return builder.createOrFold<arith::IndexCastUIOp>(loc(), builder.getIndexType(), value.ir);
}

KernelValue KernelBuilder::fromIndex(Value index, Scalar type) {
  return {builder.createOrFold<arith::IndexCastOp>(loc(), registerType(context(), type), index),
          DataType(type)};
}

bool KernelBuilder::flattenIndices(ArrayRef<KernelValue> indices,
                                   SmallVectorImpl<KernelValue> &flat) {
  for (const KernelValue &index : indices) {
    if (!index)
      return false;
    if (index.type.isFloat() || index.type.isMatrix()) {
      fail("index: expected an integer or a vector of integers, got " + index.type.name(),
           index.type.isFloat() ? "cast it: ti.cast(x, ti.i32)" : "");
      return false;
    }
    llvm::append_range(flat, elements(index));
  }
  return true;
}

static std::string plural(uint64_t count, StringRef noun, StringRef many) {
  return (Twine(count) + " " + (count == 1 ? noun : many)).str();
}

Reference KernelBuilder::arrayElement(const KernelArray &array, ArrayRef<KernelValue> indices) {
  SmallVector<KernelValue> flat;
  if (!flattenIndices(indices, flat))
    return {};
  size_t extra = array.element.shape.size();
  if (flat.size() != array.rank && !(extra && flat.size() == array.rank + extra)) {
    std::string expected = plural(array.rank, "index", "indices");
    if (extra)
      expected += " (or " + std::to_string(array.rank + extra) + " for a component)";
    fail("wrong number of indices: expected " + expected + " for this array, got " +
         Twine(flat.size()));
    return {};
  }
  Reference reference;
  reference.kind = Reference::Kind::Array;
  reference.base = array.ir;
  reference.whole = reference.type = array.element;
  for (const KernelValue &index : ArrayRef(flat).take_front(array.rank))
    reference.indices.push_back(toIndex(index));
  return flat.size() > array.rank ? component(reference, ArrayRef(flat).drop_front(array.rank))
                                  : reference;
}

bool KernelBuilder::coordinates(const KernelTree &tree, StringRef path, bool isMember,
                                ArrayRef<KernelValue> indices, SmallVectorImpl<Value> &result) {
  std::optional<TreePath> found = findPath(tree.type(), path);
  if (!found || (isMember && !found->place)) {
    fail("no " + Twine(isMember ? "member" : "member or level") + " '" + path +
         "' in the tree; it has " + knownNames(tree.type()));
    return false;
  }
  SmallVector<KernelValue> flat;
  if (!flattenIndices(indices, flat))
    return false;
  if (flat.size() != found->rank()) {
    fail("wrong number of indices: expected " + plural(found->rank(), "coordinate", "coordinates") +
         " for '" + path + "', got " + Twine(flat.size()));
    return false;
  }
  for (const KernelValue &index : flat)
    result.push_back(toIndex(index));
  return true;
}

Reference KernelBuilder::member(const KernelTree &tree, StringRef name,
                                ArrayRef<KernelValue> indices) {
  Reference reference;
  reference.kind = Reference::Kind::Member;
  if (!coordinates(tree, name, /*isMember=*/true, indices, reference.indices))
    return {};
  reference.base = tree.ir;
  reference.path = name.str();
  Type stored = findPath(tree.type(), name)->place.getType();
  reference.whole = reference.type = fromMemberType(stored);
  if (isQuantised(stored))
    reference.quantised = stored;
  return reference;
}

KernelValue KernelBuilder::isActive(const KernelTree &tree, StringRef path,
                                    ArrayRef<KernelValue> indices) {
  SmallVector<Value> where;
  if (!coordinates(tree, path, /*isMember=*/false, indices, where))
    return {};
  return {IsActiveOp::create(builder, loc(), tree.ir, path, where), DataType(METATE_U1)};
}

KernelValue KernelBuilder::activate(const KernelTree &tree, StringRef path,
                                    ArrayRef<KernelValue> indices) {
  SmallVector<Value> where;
  if (!coordinates(tree, path, /*isMember=*/false, indices, where))
    return {};
  return {ActivateOp::create(builder, loc(), tree.ir, path, where), DataType(METATE_U1)};
}

/// Coordinates of the cell that a list is in.
bool KernelBuilder::listCoordinates(const KernelTree &tree, StringRef level,
                                    ArrayRef<KernelValue> indices, SmallVectorImpl<Value> &result) {
  std::optional<TreePath> found = findPath(tree.type(), level);
  if (!found || found->place || !found->levels.back().isList()) {
    fail("expected a dynamic level, got '" + level + "'; the tree has " + knownNames(tree.type()));
    return false;
  }
  SmallVector<KernelValue> flat;
  if (!flattenIndices(indices, flat))
    return false;
  if (flat.size() != found->parentRank()) {
    fail("wrong number of indices: expected " +
         plural(found->parentRank(), "coordinate", "coordinates") + " of the cell that list '" +
         level + "' is in, got " + Twine(flat.size()));
    return false;
  }
  for (const KernelValue &index : flat)
    result.push_back(toIndex(index));
  return true;
}

void KernelBuilder::deactivate(const KernelTree &tree, StringRef path,
                               ArrayRef<KernelValue> indices) {
  std::optional<TreePath> found = findPath(tree.type(), path);
  SmallVector<Value> where;
  int last = found ? found->lastActivity() : 0;
  if (last < 0) {
    fail("deactivate: the cells of '" + path + "' are always active: all levels above are dense",
         "make one of them a pointer, bitmasked, dynamic or hash level");
    return;
  }
  if (found && found->levels[last].isList()) {
    if (found->place || size_t(last) + 1 != found->levels.size()) {
      fail("deactivate: '" + path + "' is in a list, whose cells cannot be deactivated one by one",
           "deactivate the whole list: level '" + levelName(found->levels[last], last) +
               "' at the coordinates of the cell that it is in");
      return;
    }
    if (listCoordinates(tree, path, indices, where))
      DeactivateOp::create(builder, loc(), tree.ir, path, where);
    return;
  }
  if (coordinates(tree, path, /*isMember=*/false, indices, where))
    DeactivateOp::create(builder, loc(), tree.ir, path, where);
}

KernelValue KernelBuilder::append(const KernelTree &tree, StringRef level,
                                  ArrayRef<KernelValue> indices) {
  SmallVector<Value> where;
  if (!listCoordinates(tree, level, indices, where))
    return {};
  return {AppendOp::create(builder, loc(), tree.ir, level, where), DataType(METATE_I32)};
}

KernelValue KernelBuilder::length(const KernelTree &tree, StringRef level,
                                  ArrayRef<KernelValue> indices) {
  SmallVector<Value> where;
  if (!listCoordinates(tree, level, indices, where))
    return {};
  return {LengthOp::create(builder, loc(), tree.ir, level, where), DataType(METATE_I32)};
}

KernelValue KernelBuilder::used(const KernelTree &tree, StringRef level) {
  std::optional<TreePath> found = findPath(tree.type(), level);
  auto own =
      found && !found->place ? dyn_cast<LevelInterface>(found->levels.back()) : LevelInterface();
  if (!own || !own.hasPool()) {
    fail("expected a pointer, dynamic or hash level, got '" + level + "'; the tree has " +
         knownNames(tree.type()));
    return {};
  }
  return {UsedOp::create(builder, loc(), tree.ir, level), DataType(METATE_I64)};
}

KernelValue KernelBuilder::dimension(const KernelArray &array, unsigned axis) {
  Value extent = builder.createOrFold<memref::DimOp>(loc(), array.ir, int64_t(axis));
  bool isLong = array.longAxes >> axis & 1;
  return fromIndex(extent, isLong ? METATE_I64 : settings.defaultInteger);
}
