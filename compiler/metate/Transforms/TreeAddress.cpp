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
  Value lastActive;     ///< activity of the last level with a pool
  bool toPlace = false; ///< the body gets the member's offset, not that of its container
};

Value TreeAddress::inside() {
  if (path.lastPool() < 0)
    return {};
  Value all;
  for (auto [coordinate, extent] : llvm::zip(coordinates, path.extents)) {
    int64_t end = isMutant(Mutant::LastCoordinateOutside) ? extent - 1 : extent;
    Value one = bytes.compare(arith::CmpIPredicate::ult, coordinate, bytes.index(end));
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

/// The form's value, computed anew.
static Value valueOf(ByteBuilder &bytes, const LinearForm &form) {
  Value sum = bytes.index(form.constant);
  for (auto &[term, coefficient] : form.terms)
    sum = bytes.add(sum, bytes.multiply(term, coefficient));
  return sum;
}

/// coordinate / below, then modulo `extent` unless it is 0. In the nest over a tree's own levels
/// both are the nest's variables, so that addresses stay linear in them.
static Value digitOf(ByteBuilder &bytes, Value coordinate, int64_t below, int64_t extent) {
  if (below == 1 && extent == 0)
    return coordinate;
  if (auto upper = LinearForm::of(coordinate).divide(below)) {
    if (extent == 0)
      return valueOf(bytes, upper->first);
    if (auto digit = upper->first.divide(extent))
      return valueOf(bytes, digit->second);
  }
  Value index = bytes.divide(coordinate, below);
  return extent == 0 ? index : bytes.remainder(index, extent);
}

Value TreeAddress::linearIndex(unsigned depth, unsigned from) {
  const layout::Node &node = layout.nodes[nodes[depth]];
  Value linear = bytes.index(0);
  for (auto [axis, extent] : llvm::zip(node.axes, node.extents)) {
    unsigned position = llvm::find(path.axes, axis) - path.axes.begin();
    bool splitAbove = llvm::any_of(llvm::seq(from, depth), [&, axis = axis](unsigned above) {
      return llvm::is_contained(layout.nodes[nodes[above]].axes, axis);
    });
    Value index = digitOf(bytes, coordinates[position], path.extentBelow(depth, position),
                          splitAbove ? extent : 0);
    int64_t stride = isMutant(Mutant::LeafExtentsSwapped) && from ? node.extents.front() : extent;
    linear = bytes.add(bytes.multiply(linear, stride), index);
  }
  return linear;
}

SmallVector<Value> TreeAddress::levelCoordinates(unsigned depth) {
  SmallVector<Value> result;
  for (unsigned axis : layout.nodes[nodes[depth]].pathAxes) {
    unsigned position = llvm::find(path.axes, axis) - path.axes.begin();
    result.push_back(bytes.divide(coordinates[position], path.extentBelow(depth, position)));
  }
  return result;
}

SmallVector<Value> TreeAddress::descend(Walk &walk, unsigned depth, Value offset) {
  if (depth == walk.end)
    return walk.body(walk.toPlace ? bytes.add(offset, layout.nodes[nodes.back()].offset) : offset);
  const layout::Node &node = layout.nodes[nodes[depth]];
  const LevelLowering &level = levelLowering(node.kind);
  Value container = bytes.add(offset, node.offset), linear = linearIndex(depth, 0);
  Cell cell;
  if (walk.mode == Walk::Activate) {
    cell = level.activate(bytes, node, container, linear, levelCoordinates(depth));
  } else {
    cell = level.locate(bytes, node, container, linear, node.pool >= 0 ? walk.inside : Value(),
                        concurrent);
    if (node.pool >= 0)
      walk.inside = {};
  }
  if (cell.active && !(isMutant(Mutant::OuterActivityAnswers) && walk.lastActive))
    walk.lastActive = cell.active;
  if (!cell.active || !cell.mustBranch || walk.mode == Walk::Active)
    return descend(walk, depth + 1, cell.offset);
  auto branch = scf::IfOp::create(bytes.builder, bytes.loc, walk.types, cell.active, true);
  OpBuilder::InsertionGuard guard(bytes.builder);
  bytes.builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(bytes.builder, bytes.loc, descend(walk, depth + 1, cell.offset));
  bytes.builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(bytes.builder, bytes.loc, walk.otherwise());
  return SmallVector<Value>(branch.getResults());
}

static Value rootOffset(ByteBuilder &bytes, const layout::TreeLayout &layout) {
  return bytes.index(layout::header::rootOffset(layout.poolCount));
}

SmallVector<Value> TreeAddress::read(TypeRange types, Body body, Otherwise otherwise) {
  Walk walk{Walk::Read, inside(),        unsigned(path.levels.size()), types, body, otherwise,
            {},         bool(path.place)};
  return descend(walk, 0, rootOffset(bytes, layout));
}

void TreeAddress::visitActive(llvm::function_ref<void(Value)> body) {
  auto run = [&](Value offset) -> SmallVector<Value> {
    body(offset);
    return {};
  };
  auto otherwise = [] { return SmallVector<Value>(); };
  Walk walk{Walk::Active,    {}, unsigned(path.levels.size()), {}, run, otherwise, {},
            bool(path.place)};
  descend(walk, 0, rootOffset(bytes, layout));
}

Value TreeAddress::slotOffset(unsigned depth) {
  auto body = [](Value offset) { return SmallVector<Value>{offset}; };
  auto otherwise = [&] { return SmallVector<Value>{bytes.index(0)}; };
  Type type = bytes.builder.getIndexType();
  Walk walk{Walk::Read, inside(), depth + 1, type, body, otherwise, {}};
  return descend(walk, 0, rootOffset(bytes, layout)).front();
}

Value TreeAddress::offsetInSlot(unsigned depth, Value offset) {
  for (unsigned level = depth + 1; level < path.levels.size(); ++level) {
    const layout::Node &node = layout.nodes[nodes[level]];
    Value container = bytes.add(offset, node.offset);
    offset = levelLowering(node.kind)
                 .locate(bytes, node, container, linearIndex(level, depth + 1), {}, concurrent)
                 .offset;
  }
  bool addsPlace = path.place && !isMutant(Mutant::MemberOffsetForgotten);
  return addsPlace ? bytes.add(offset, layout.nodes[nodes.back()].offset) : offset;
}

Value TreeAddress::isActive() {
  if (path.lastPool() < 0)
    return bytes.integer(1, 1);
  Walk walk;
  auto body = [&](Value) { return SmallVector<Value>{walk.lastActive}; };
  auto otherwise = [&] { return SmallVector<Value>{bytes.integer(0, 1)}; };
  Type type = bytes.builder.getI1Type();
  walk = Walk{Walk::Read, inside(), unsigned(path.lastPool() + 1), type, body, otherwise, {}};
  // The last pool's own cell need not be entered: its link says it.
  return descend(walk, 0, rootOffset(bytes, layout)).front();
}

Value TreeAddress::activate() {
  OpBuilder &builder = bytes.builder;
  Type type = builder.getI1Type();
  if (path.lastPool() < 0)
    return bytes.integer(1, 1);
  auto branch = scf::IfOp::create(builder, bytes.loc, type, inside(), true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, bytes.loc, bytes.integer(0, 1));
  builder.setInsertionPointToStart(branch.thenBlock());
  auto body = [&](Value) { return SmallVector<Value>{bytes.integer(1, 1)}; };
  auto otherwise = [&] { return SmallVector<Value>{bytes.integer(0, 1)}; };
  Walk walk{Walk::Activate, {}, unsigned(path.lastPool() + 1), type, body, otherwise, {}};
  scf::YieldOp::create(builder, bytes.loc, descend(walk, 0, rootOffset(bytes, layout)));
  return branch.getResult(0);
}
