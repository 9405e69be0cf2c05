//===- TreeAddress.cpp - from coordinates to bytes --------------*- C++ -*-===//
#include "metate/Transforms/TreeAddress.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/LeafForm.h"

using namespace mlir;
using namespace metate;

/// What one descent does at each level.
struct TreeAddress::Walk {
  enum Mode { Read, Active, Activate } mode = Read;
  Value inside;     ///< consumed by the first level with a pool
  unsigned end = 0; ///< depth at which the body runs
  TypeRange types;
  Body body;
  Otherwise otherwise;
  Value lastActive;     ///< activity of the last level whose cells can be inactive
  bool toPlace = false; ///< the body gets the member's offset, not that of its container
  bool entry = false;   ///< activity as it was when the task began
};

Value TreeAddress::inside() {
  if (path.lastActivity() < 0)
    return {};
  Value all;
  for (auto [k, extent] : llvm::enumerate(path.extents)) {
    int64_t end = isMutant(Mutant::LastCoordinateOutside) ? extent - 1 : extent;
    Value distance = isSigned(k) ? bytes.add(coordinates[k], extent / 2) : coordinates[k];
    Value one = bytes.compare(arith::CmpIPredicate::ult, distance, bytes.index(end));
    all = all ? arith::AndIOp::create(bytes.builder, bytes.loc, all, one).getResult() : one;
  }
  // The first pool's link is cut off there. An axis that another level splits first would still
  // lead outside of that level's container (of a dense level above, or of the ambient slot below).
  unsigned firstPool =
      llvm::find_if(path.levels, [](LevelInterface level) { return level.hasPool(); }) -
      path.levels.begin();
  for (auto [k, axis] : llvm::enumerate(path.axes)) {
    unsigned first = llvm::find_if(path.levels,
                                   [axis = axis](LevelInterface level) {
                                     return llvm::is_contained(levelAxes(level), axis);
                                   }) -
                     path.levels.begin();
    if (first != firstPool)
      coordinates[k] = bytes.select(all, coordinates[k], bytes.index(0));
  }
  return all;
}

/// In the nest over a tree's own levels both are the nest's variables, so that addresses stay linear in
/// them.
Value TreeAddress::digit(unsigned position, int64_t below, int64_t extent) {
  Value coordinate = coordinates[position];
  if (below == 1 && extent == 0)
    return coordinate;
  if (auto upper = LinearForm::of(coordinate).divide(below)) {
    if (extent == 0)
      return upper->first.emit(bytes);
    if (auto digit = upper->first.divide(extent))
      return digit->second.emit(bytes);
  }
  Value index =
      isSigned(position) ? bytes.divideFloor(coordinate, below) : bytes.divide(coordinate, below);
  if (extent == 0)
    return index;
  if (!isSigned(position))
    return bytes.remainder(index, extent);
  return bytes.subtract(index, bytes.multiply(bytes.divideFloor(index, extent), extent));
}

Value TreeAddress::linearIndex(unsigned depth, unsigned from) {
  const layout::Node &node = layout.nodes[nodes[depth]];
  Value linear = bytes.index(0);
  if (node.level.isUnbounded())
    return linear;
  for (auto [axis, extent] : llvm::zip(node.axes, node.extents)) {
    unsigned position = llvm::find(path.axes, axis) - path.axes.begin();
    bool splitAbove = llvm::any_of(llvm::seq(from, depth), [&, axis = axis](unsigned above) {
      return llvm::is_contained(layout.nodes[nodes[above]].axes, axis);
    });
    Value index = digit(position, path.extentBelow(depth, position), splitAbove ? extent : 0);
    int64_t stride = isMutant(Mutant::LeafExtentsSwapped) && from ? node.extents.front() : extent;
    linear = bytes.add(bytes.multiply(linear, stride), index);
  }
  return linear;
}

SmallVector<Value> TreeAddress::levelCoordinates(unsigned depth) {
  SmallVector<Value> result;
  for (unsigned axis : layout.nodes[nodes[depth]].pathAxes) {
    unsigned position = llvm::find(path.axes, axis) - path.axes.begin();
    result.push_back(digit(position, path.extentBelow(depth, position), 0));
  }
  return result;
}

SmallVector<Value> TreeAddress::descend(Walk &walk, unsigned depth, Value offset) {
  if (depth == walk.end)
    return walk.body(
        walk.toPlace ? bytes.add(offset, layout.offsetInCell(layout.nodes[nodes.back()])) : offset);
  const layout::Node &node = layout.nodes[nodes[depth]];
  const LevelLowering &level = levelLowering(node.kind);
  auto own = [&] { return levelCoordinates(depth); };
  CellQuery query{bytes.add(offset, node.offset),
                  linearIndex(depth, 0),
                  own,
                  walk.inside,
                  concurrent,
                  walk.entry,
                  unlinked};
  Cell cell = walk.mode == Walk::Activate ? level.activate(bytes, node, query)
                                          : level.locate(bytes, node, query);
  if (node.pool >= 0)
    walk.inside = {};
  if (cell.active && !(isMutant(Mutant::OuterActivityAnswers) && walk.lastActive))
    walk.lastActive = cell.active;
  // A cell known to be active is there, unless another worker gives it up meanwhile: slot 0 is nobody's to write.
  bool mustBranch = walk.mode == Walk::Active ? unlinked && node.pool >= 0 : cell.mustBranch;
  if (!cell.active || !mustBranch)
    return descend(walk, depth + 1, cell.offset);
  auto branch = scf::IfOp::create(bytes.builder, bytes.loc, walk.types, cell.active, true);
  OpBuilder::InsertionGuard guard(bytes.builder);
  // Without results the blocks have their yields already.
  auto fill = [&](Block *block, llvm::function_ref<SmallVector<Value>()> make) {
    bytes.builder.setInsertionPointToStart(block);
    SmallVector<Value> results = make();
    if (!walk.types.empty())
      scf::YieldOp::create(bytes.builder, bytes.loc, results);
  };
  fill(branch.thenBlock(), [&] { return descend(walk, depth + 1, cell.offset); });
  fill(branch.elseBlock(), walk.otherwise);
  return SmallVector<Value>(branch.getResults());
}

static Value rootOffset(ByteBuilder &bytes, const layout::TreeLayout &layout) {
  return bytes.index(layout::header::rootOffset(layout.poolCount));
}

SmallVector<Value> TreeAddress::read(TypeRange types, Body body, Otherwise otherwise) {
  Value within = inside();
  Walk walk{Walk::Read, within,          unsigned(path.levels.size()), types, body, otherwise,
            {},         bool(path.place)};
  SmallVector<Value> results = descend(walk, 0, rootOffset(bytes, layout));
  if (!within || path.lastPool() >= 0)
    return results;
  // No link to cut off: outside, the first cell was read.
  for (auto [result, instead] : llvm::zip(results, otherwise()))
    result = bytes.select(within, result, instead);
  return results;
}

SmallVector<Value> TreeAddress::visitActive(TypeRange types, Body body, Otherwise otherwise) {
  Walk walk{Walk::Active,    {}, unsigned(path.levels.size()), types, body, otherwise, {},
            bool(path.place)};
  return descend(walk, 0, rootOffset(bytes, layout));
}

Value TreeAddress::slotOffset(unsigned depth) {
  auto body = [](Value offset) { return SmallVector<Value>{offset}; };
  auto otherwise = [&] { return SmallVector<Value>{bytes.index(0)}; };
  Type type = bytes.builder.getIndexType();
  Walk walk{Walk::Read, inside(), depth + 1, type, body, otherwise, {}};
  return descend(walk, 0, rootOffset(bytes, layout)).front();
}

Value TreeAddress::activeSlotOffset(unsigned depth) {
  auto body = [](Value offset) { return SmallVector<Value>{offset}; };
  auto otherwise = [&] { return SmallVector<Value>{bytes.index(0)}; };
  Type type = bytes.builder.getIndexType();
  Walk walk{Walk::Active, {}, depth + 1, type, body, otherwise, {}};
  return descend(walk, 0, rootOffset(bytes, layout)).front();
}

/// A list's slot holds several cells.
Value TreeAddress::cellInSlot(unsigned depth, Value slotOffset) {
  const layout::Node &node = layout.nodes[nodes[depth]];
  if (node.slotCells == 1)
    return slotOffset;
  unsigned position = llvm::find(path.axes, node.axes[0]) - path.axes.begin();
  Value index = digit(position, path.extentBelow(depth, position), 0);
  return bytes.add(slotOffset, bytes.multiply(index, node.cellBytes));
}

Value TreeAddress::offsetInSlot(unsigned depth, Value offset) {
  offset = cellInSlot(depth, offset);
  for (unsigned level = depth + 1; level < path.levels.size(); ++level) {
    const layout::Node &node = layout.nodes[nodes[level]];
    CellQuery query{bytes.add(offset, node.offset), linearIndex(level, depth + 1)};
    offset = levelLowering(node.kind).locate(bytes, node, query).offset;
  }
  bool addsPlace = path.place && !isMutant(Mutant::MemberOffsetForgotten);
  return addsPlace ? bytes.add(offset, layout.offsetInCell(layout.nodes[nodes.back()])) : offset;
}

Value TreeAddress::elementInWord() {
  unsigned depth = path.levels.size() - 1;
  const layout::Node &node = layout.nodes[nodes[depth]];
  return bytes.remainder(linearIndex(depth, 0), int64_t(node.slotCells));
}

Value TreeAddress::isActive(bool entry) {
  int depth = path.lastActivity();
  if (depth < 0)
    return bytes.integer(1, 1);
  Walk walk;
  auto body = [&](Value) { return SmallVector<Value>{walk.lastActive}; };
  auto otherwise = [&] { return SmallVector<Value>{bytes.integer(0, 1)}; };
  Type type = bytes.builder.getI1Type();
  walk = Walk{Walk::Read, inside(), unsigned(depth + 1), type, body, otherwise, {}, false, entry};
  return descend(walk, 0, rootOffset(bytes, layout)).front();
}

Value TreeAddress::isActiveInSlot(unsigned depth, Value offset, bool entry) {
  Value active;
  offset = cellInSlot(depth, offset);
  for (unsigned level = depth + 1; int(level) <= path.lastActivity(); ++level) {
    const layout::Node &node = layout.nodes[nodes[level]];
    CellQuery query{
        bytes.add(offset, node.offset), linearIndex(level, depth + 1), {}, {}, concurrent, entry};
    Cell cell = levelLowering(node.kind).locate(bytes, node, query);
    offset = cell.offset;
    if (cell.active)
      active = cell.active;
  }
  return active;
}

Value TreeAddress::bitsInSlot(unsigned depth, Value offset, bool entry) {
  offset = cellInSlot(depth, offset);
  for (unsigned level = depth + 1;; ++level) {
    const layout::Node &node = layout.nodes[nodes[level]];
    CellQuery query{
        bytes.add(offset, node.offset), linearIndex(level, depth + 1), {}, {}, concurrent, entry};
    if (level + 1 == path.levels.size())
      return levelLowering(node.kind).bitsFrom(bytes, node, query);
    offset = levelLowering(node.kind).locate(bytes, node, query).offset;
  }
}

Value TreeAddress::activate(int depth) {
  OpBuilder &builder = bytes.builder;
  Type type = builder.getI1Type();
  if (depth < 0)
    return bytes.integer(1, 1);
  auto branch = scf::IfOp::create(builder, bytes.loc, type, inside(), true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, bytes.loc, bytes.integer(0, 1));
  builder.setInsertionPointToStart(branch.thenBlock());
  auto body = [&](Value) { return SmallVector<Value>{bytes.integer(1, 1)}; };
  auto otherwise = [&] { return SmallVector<Value>{bytes.integer(0, 1)}; };
  Walk walk{Walk::Activate, {}, unsigned(depth + 1), type, body, otherwise, {}};
  scf::YieldOp::create(builder, bytes.loc, descend(walk, 0, rootOffset(bytes, layout)));
  return branch.getResult(0);
}

Value TreeAddress::activateInSlot(unsigned depth, Value offset) {
  offset = cellInSlot(depth, offset);
  for (unsigned level = depth + 1; int(level) <= path.lastActivity(); ++level) {
    const layout::Node &node = layout.nodes[nodes[level]];
    CellQuery query{bytes.add(offset, node.offset), linearIndex(level, depth + 1)};
    offset = levelLowering(node.kind).activate(bytes, node, query).offset;
  }
  return bytes.integer(1, 1);
}

void TreeAddress::deactivate() {
  unsigned depth = path.lastActivity();
  const layout::Node &node = layout.nodes[nodes[depth]];
  const LevelLowering &level = levelLowering(node.kind);
  OpBuilder &builder = bytes.builder;
  Walk walk;
  auto body = [&](Value offset) -> SmallVector<Value> {
    auto own = [&] { return levelCoordinates(depth); };
    CellQuery query{bytes.add(offset, node.offset), linearIndex(depth, 0), own, walk.inside,
                    /*concurrent=*/true};
    Value active = level.locate(bytes, node, query).active;
    auto branch = scf::IfOp::create(builder, bytes.loc, active);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    level.deactivate(bytes, node, query);
    return {};
  };
  auto otherwise = [] { return SmallVector<Value>(); };
  walk = Walk{Walk::Read, inside(), depth, {}, body, otherwise, {}};
  descend(walk, 0, rootOffset(bytes, layout));
}

void TreeAddress::visitContainer(llvm::function_ref<void(Value)> visit) {
  unsigned depth = path.levels.size() - 1;
  auto body = [&](Value offset) -> SmallVector<Value> {
    visit(bytes.add(offset, layout.nodes[nodes[depth]].offset));
    return {};
  };
  auto otherwise = [] { return SmallVector<Value>(); };
  Walk walk{Walk::Read, inside(), depth, {}, body, otherwise, {}};
  descend(walk, 0, rootOffset(bytes, layout));
}

Value TreeAddress::length() {
  unsigned depth = path.levels.size() - 1;
  Walk walk;
  Value none = bytes.integer(0, 32);
  auto body = [&](Value offset) {
    const layout::Node &node = layout.nodes[nodes[depth]];
    CellQuery query{bytes.add(offset, node.offset), {}, {}, {}, concurrent};
    Value length = levelLowering(node.kind).length(bytes, node, query);
    return SmallVector<Value>{walk.inside ? bytes.select(walk.inside, length, none) : length};
  };
  auto otherwise = [&] { return SmallVector<Value>{none}; };
  walk = Walk{Walk::Read, inside(), depth, none.getType(), body, otherwise, {}};
  return descend(walk, 0, rootOffset(bytes, layout)).front();
}

Value TreeAddress::append() {
  OpBuilder &builder = bytes.builder;
  unsigned depth = path.levels.size() - 1;
  const layout::Node &node = layout.nodes[nodes[depth]];
  Value none = bytes.integer(-1, 32);
  Type type = none.getType();
  auto branch = scf::IfOp::create(builder, bytes.loc, type, inside(), true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, bytes.loc, none);
  builder.setInsertionPointToStart(branch.thenBlock());
  auto body = [&](Value offset) {
    auto own = [&] { return levelCoordinates(depth); };
    CellQuery query{bytes.add(offset, node.offset), {}, own};
    return SmallVector<Value>{levelLowering(node.kind).append(bytes, node, query)};
  };
  auto otherwise = [&] { return SmallVector<Value>{none}; };
  Walk walk{Walk::Activate, {}, depth, type, body, otherwise, {}};
  scf::YieldOp::create(builder, bytes.loc, descend(walk, 0, rootOffset(bytes, layout)));
  return branch.getResult(0);
}

void TreeAddress::reserve(Value counts, int64_t argument, bool append) {
  int depth = path.lastPool();
  if (isMutant(Mutant::SliceLevelMissed))
    while (--depth >= 0 && !path.levels[depth].hasPool()) {
    }
  if (depth < 0)
    return;
  OpBuilder &builder = bytes.builder;
  auto branch = scf::IfOp::create(builder, bytes.loc, inside());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  bytes.call("reserve", layout.nodes[nodes[depth]], {counts, bytes.index(argument)},
             levelCoordinates(depth), append);
}
