//===- IterationVariables.cpp - cells of an iteration as variables -*- C++ -*-===//
#include "metate/Transforms/IterationVariables.h"
#include "metate/Dialect/Tree.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/ConstantSum.h"
#include "metate/Transforms/DerivativePlaces.h"
#include "metate/Transforms/OwnPlaces.h"
#include "metate/Transforms/PlainAtomics.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;

namespace {
/// Do two coordinates name one place in an iteration, or two? nullopt: that depends.
std::optional<bool> areSame(OperandRange one, OperandRange other) {
  bool same = true;
  for (auto [a, b] : llvm::zip(one, other)) {
    ConstantSum left = ConstantSum::of(a), right = ConstantSum::of(b);
    if (left.base != right.base)
      same = false;
    else if (left.constant != right.constant)
      return false;
  }
  return same ? std::optional(true) : std::nullopt;
}

/// The accesses of one cell or element.
struct OneCell {
  SmallVector<MemoryAccess> accesses;

  /// Does an access depend on what another one wrote? An atomic operation that is no sum does, too.
  bool needsVariable() const {
    bool isWritten = llvm::any_of(accesses, [](const MemoryAccess &one) { return one.writes(); });
    return isWritten && llvm::any_of(accesses, [](const MemoryAccess &one) {
             return !one.writes() || (one.combined && (!one.isSum() || !one.result.use_empty()));
           });
  }
};

/// All accesses of a member or array in one scope: a parallel loop's body, or what a kernel does outside of such loops.
struct Place {
  Operation *scope;
  SmallVector<MemoryAccess> accesses;

  /// Cells that are surely apart; empty where it is not known which accesses meet.
  SmallVector<OneCell> cells() const {
    SmallVector<OneCell> cells;
    for (const MemoryAccess &access : accesses) {
      OneCell *home = nullptr;
      for (OneCell &cell : cells) {
        std::optional<bool> same = areSame(cell.accesses.front().coordinates, access.coordinates);
        if (!same)
          return {};
        if (*same)
          home = &cell;
      }
      (home ? *home : cells.emplace_back()).accesses.push_back(access);
    }
    return cells;
  }

  bool isOwn() const {
    if (isa<KernelOp>(scope))
      return true;
    SmallVector<ValueRange> places;
    for (const MemoryAccess &access : accesses)
      places.push_back(access.coordinates);
    return areOwnPlaces(scope, places);
  }
};

/// One cell becomes a variable, of the whole iteration if its coordinates are known from the beginning.
class Variable {
public:
  Variable(const OneCell &cell, Operation *scope)
      : accesses(cell.accesses), first(accesses.front()), scope(scope), type(typeOf(first)) {}

  void make() {
    Operation *begin = first.op;
    while (!isAroundAll(begin->getBlock()))
      begin = begin->getParentOp();
    for (const MemoryAccess &access : accesses)
      if (Operation *other = begin->getBlock()->findAncestorOpInBlock(*access.op);
          other->isBeforeInBlock(begin))
        begin = other;
    bool isCertain = llvm::any_of(accesses, [&](const MemoryAccess &access) {
      return access.op->getBlock() == begin->getBlock();
    });
    while (begin->getParentOp() != scope && areAbove(begin->getParentOp())) {
      begin = begin->getParentOp();
      isCertain = false;
    }
    if (!areAbove(begin))
      return;
    OpBuilder builder(begin);
    Location loc = first.op->getLoc();
    variable = memref::AllocaOp::create(builder, loc, MemRefType::get({}, type));
    Value before = isCertain ? read(builder) : readInside(builder);
    memref::StoreOp::create(builder, loc, before, variable);
    for (const MemoryAccess &access : accesses)
      follow(*MemoryAccess::of(access.op)); // what it writes may have been replaced
  }

private:
  static Type typeOf(const MemoryAccess &access) {
    if (access.path.empty())
      return cast<MemRefType>(access.base.getType()).getElementType();
    return signlessType(
        findPath(cast<TreeType>(access.base.getType()), access.path)->place.getType());
  }

  bool isAroundAll(Block *block) const {
    return llvm::all_of(accesses, [&](const MemoryAccess &access) {
      return block->findAncestorOpInBlock(*access.op);
    });
  }

  /// Are the coordinates known before the operation?
  bool areAbove(Operation *op) const {
    return llvm::all_of(first.coordinates, [&](Value value) {
      Operation *definition = value.getDefiningOp();
      if (!definition)
        return cast<BlockArgument>(value).getOwner()->findAncestorOpInBlock(*op) != nullptr;
      Operation *around = definition->getBlock()->findAncestorOpInBlock(*op);
      return around && definition->isBeforeInBlock(around);
    });
  }

  /// The cell as it is before the iteration's other accesses. For messages it is read where the first of these stands that reads.
  Value read(OpBuilder &builder) const {
    auto reader =
        llvm::find_if(accesses, [](const MemoryAccess &access) { return access.reads(); });
    Location loc = reader->op->getLoc();
    if (first.path.empty())
      return memref::LoadOp::create(builder, loc, first.base, first.coordinates);
    return LoadOp::create(builder, loc, type, first.base, first.path, first.coordinates,
                          ValueRange());
  }

  /// The same where a condition, or a loop without turns, may keep the iteration from the place: zero if that is outside.
  Value readInside(OpBuilder &builder) const {
    Location loc = first.op->getLoc();
    Value inside = arith::ConstantIntOp::create(builder, loc, 1, 1);
    for (auto [axis, coordinate] : llvm::enumerate(first.coordinates))
      if (Value extent = extentOf(builder, axis))
        inside = arith::AndIOp::create(
            builder, loc, inside,
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, coordinate, extent));
    auto branch = scf::IfOp::create(builder, loc, TypeRange(type), inside, /*withElse=*/true);
    OpBuilder yes = branch.getThenBodyBuilder(), no = branch.getElseBodyBuilder();
    scf::YieldOp::create(yes, loc, read(yes));
    scf::YieldOp::create(no, loc,
                         arith::ConstantOp::create(no, loc, no.getZeroAttr(type)).getResult());
    return branch.getResult(0);
  }

  /// Null: there is none.
  Value extentOf(OpBuilder &builder, unsigned axis) const {
    Location loc = first.op->getLoc();
    if (first.path.empty())
      return memref::DimOp::create(builder, loc, first.base, axis);
    int64_t extent = findPath(cast<TreeType>(first.base.getType()), first.path)->extents[axis];
    return extent == unboundedExtent
               ? Value()
               : arith::ConstantIndexOp::create(builder, loc, extent).getResult();
  }

  void follow(MemoryAccess access) {
    OpBuilder builder(access.op);
    Location loc = access.op->getLoc();
    SmallVector<OpFoldResult> position(access.components.begin(), access.components.end());
    auto part = [&](Value whole) -> Value {
      return position.empty() ? whole : vector::ExtractOp::create(builder, loc, whole, position);
    };
    Value before = memref::LoadOp::create(builder, loc, variable);
    if (!access.writes()) {
      access.result.replaceAllUsesWith(part(before));
      access.op->erase();
      return;
    }
    Value value = access.written;
    if (access.combined)
      value = combinePlain(builder, loc, *access.combined, part(before), value);
    Value whole = position.empty()
                      ? value
                      : vector::InsertOp::create(builder, loc, value, before, position).getResult();
    if (!access.combined || !isMutant(Mutant::OwnSumNotFollowed))
      memref::StoreOp::create(builder, loc, whole, variable);
    if (access.result)
      access.result.replaceAllUsesWith(part(before));
    // Nobody else is at the place: what has no derivative as one operation is a store.
    if (access.combined && !access.isSum())
      store(builder, access, value);
  }

  static void store(OpBuilder &builder, const MemoryAccess &access, Value value) {
    Location loc = access.op->getLoc();
    if (access.path.empty())
      memref::StoreOp::create(builder, loc, value, access.base, access.coordinates);
    else
      StoreOp::create(builder, loc, value, access.base, access.path, access.coordinates,
                      access.components);
    access.op->erase();
  }

  ArrayRef<MemoryAccess> accesses;
  const MemoryAccess &first;
  Operation *scope;
  Type type;
  Value variable;
};
} // namespace

/// The parallel loop around an access, else the kernel.
static Operation *iterationOf(Operation *op) {
  while (!isa<RangeOp, ForEachOp, KernelOp>(op))
    op = op->getParentOp();
  return op;
}

/// Does anything in the scope change the cells of a tree, other than by the accesses that are known?
static bool changesBeside(Operation *scope, Value tree) {
  return scope
      ->walk([&](Operation *op) {
        auto cell = dyn_cast<CellOpInterface>(op);
        bool isChange = cell && cell.getTree() == tree && !MemoryAccess::of(op) &&
                        (cell.deactivates() || cell.writesMember());
        return isChange ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void metate::makeIterationVariables(KernelOp kernel) {
  llvm::MapVector<std::pair<Value, StringRef>, SmallVector<Place>> places;
  kernel.walk([&](Operation *op) {
    std::optional<MemoryAccess> access = MemoryAccess::of(op);
    if (!access || isLocalArray(kernel, access->base) || access->isQuantised())
      return;
    SmallVector<Place> &scopes = places[{access->base, access->path}];
    Operation *scope = iterationOf(op);
    Place *home = llvm::find_if(scopes, [&](Place &place) { return place.scope == scope; });
    if (home == scopes.end())
      home = &scopes.emplace_back(Place{scope, {}});
    home->accesses.push_back(*access);
  });
  for (auto &[target, scopes] : places)
    for (Place &place : scopes) {
      // What the kernel's own statements keep would have to be read again behind each loop.
      if (isa<KernelOp>(place.scope) && scopes.size() > 1)
        continue;
      if (!place.isOwn() || changesBeside(place.scope, target.first))
        continue;
      for (OneCell &cell : place.cells())
        if (cell.needsVariable())
          Variable(cell, place.scope).make();
    }
}
