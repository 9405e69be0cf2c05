//===- RecordWrites.cpp - writes note their numbers -------------*- C++ -*-===//
//
// Behind Differentiate, which takes what is said of numbers for itself where a kernel is a derivative.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Tree.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/WriteNumbers.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace metate {
#define GEN_PASS_DEF_RECORDWRITES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
struct RecordWrites : metate::impl::RecordWritesBase<RecordWrites> {
  void runOnOperation() override {
    SmallVector<Operation *> writes = numberedWrites(getOperation());
    WriteNumbers numbers(getOperation());
    if (numbers.isEmpty())
      return;
    for (auto [site, op] : llvm::enumerate(writes)) {
      OpBuilder builder(op->getContext());
      SmallVector<MemoryAccess, 1> accesses = MemoryAccess::allOf(op);
      if (!accesses.empty() && numbers.has(accesses.front().base)) {
        if (accesses.front().combined && isMutant(Mutant::AdditionUnnumbered))
          continue;
        builder.setInsertionPointAfter(op);
        for (const MemoryAccess &access : accesses)
          numbers.note(builder, access, int64_t(site));
        ++recorded;
      } else if (auto gone = dyn_cast<DeactivateOp>(op); gone && numbers.has(gone.getTree())) {
        if (isMutant(Mutant::DeactivationUnnumbered))
          continue;
        builder.setInsertionPoint(op);
        if (failed(noteAll(builder, numbers, gone, int64_t(site))))
          return signalPassFailure();
        ++recorded;
      }
    }
  }

private:
  /// Before a cell is deactivated: all that is in it and active changes to its background.
  LogicalResult noteAll(OpBuilder &builder, const WriteNumbers &numbers, DeactivateOp gone,
                        int64_t site) {
    auto tree = cast<TreeType>(gone.getTree().getType());
    TreePath path = *findPath(tree, gone.getPath());
    unsigned depth = path.lastActivity();
    Value number = numbers.number(builder, gone.getLoc(), gone.getTree(), site);
    for (const std::string &name : memberNames(tree)) {
      TreePath member = *findPath(tree, name);
      // Levels of two branches differ: members have names of their own.
      if (member.levels.size() <= depth || member.levels[depth] != path.levels[depth])
        continue;
      if (llvm::any_of(ArrayRef(member.levels).drop_front(depth + 1),
                       [](LevelInterface level) { return isUnbounded(level); }))
        return gone.emitError(
            "the member '" + name +
            "' is below a level without bounds in the cell that is deactivated, and who "
            "counts writes cannot walk it; deactivate the cells of that level");
      noteMember(builder, numbers, gone, name, member, path, depth, number);
    }
    return success();
  }

  static bool isUnbounded(LevelInterface level) {
    return llvm::is_contained(level.getLevelExtents(), unboundedExtent);
  }

  /// Writes loops over a member's cells in the cell that is deactivated.
  void noteMember(OpBuilder &builder, const WriteNumbers &numbers, DeactivateOp gone,
                  StringRef name, const TreePath &member, const TreePath &path, unsigned depth,
                  Value number) {
    OpBuilder::InsertionGuard guard(builder);
    Location loc = gone.getLoc();
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    bool isList = gone.getCoordinates().size() < path.rank();
    SmallVector<unsigned> given; // axes of the coordinates
    for (unsigned axis : path.axes)
      if (!isList || !llvm::is_contained(levelAxes(path.levels[depth]), axis))
        given.push_back(axis);
    SmallVector<Value> coordinates;
    for (auto [k, axis] : llvm::enumerate(member.axes)) {
      int64_t cells = member.extentBelow(depth, k);
      auto *known = llvm::find(given, axis);
      Value begin = constant(0);
      if (known == given.end()) {
        cells = member.extents[k]; // along a list, or an axis that only levels below have
      } else {
        int64_t ownCells =
            1; // below the path that was named, which may go on behind its last activity
        auto *own = llvm::find(path.axes, axis);
        ownCells = path.extentBelow(depth, own - path.axes.begin());
        Value cell = gone.getCoordinates()[known - given.begin()];
        if (ownCells != 1)
          cell = arith::FloorDivSIOp::create(builder, loc, cell, constant(ownCells));
        begin = arith::MulIOp::create(builder, loc, cell, constant(cells));
      }
      if (cells == 1) {
        coordinates.push_back(begin);
        continue;
      }
      auto loop = scf::ForOp::create(builder, loc, constant(0), constant(cells), constant(1));
      builder.setInsertionPointToStart(loop.getBody());
      coordinates.push_back(arith::AddIOp::create(builder, loc, begin, loop.getInductionVar()));
    }
    Value isActive = IsActiveOp::create(builder, loc, gone.getTree(), name, coordinates);
    auto branch = scf::IfOp::create(builder, loc, TypeRange(), isActive, /*withElse=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value value = number;
    if (auto vector = dyn_cast<VectorType>(member.place.getType()))
      value = vector::BroadcastOp::create(
          builder, loc, VectorType::get(vector.getShape(), builder.getI64Type()), value);
    StoreOp::create(builder, loc, value, numbers.numbersOf(gone.getTree()),
                    builder.getStringAttr(name), coordinates, ValueRange());
  }
};
} // namespace
