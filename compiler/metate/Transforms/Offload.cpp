//===- Offload.cpp - a kernel becomes a list of tasks -----------*- C++ -*-===//
//
// Stage 4. Loops keep their order; statements with effects between them become serial tasks.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"

namespace metate {
#define GEN_PASS_DEF_OFFLOAD
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Fewer iterations than this are not shared out evenly among many workers.
constexpr int64_t leastIterations = 256;

struct Offload : metate::impl::OffloadBase<Offload> {
  void runOnOperation() override {
    for (ForEachOp loop :
         llvm::make_early_inc_range(getOperation().getBody().front().getOps<ForEachOp>()))
      lowerLoop(loop);
    gatherSerial();
  }

private:
  Value constant(OpBuilder &builder, Location loc, int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  void lowerLoop(ForEachOp loop) {
    TreePath path = *findPath(cast<TreeType>(loop.getTree().getType()), loop.getPath());
    if (path.lastPool() < 0)
      lowerToRange(loop, path);
    else
      lowerToCells(loop, path);
    loop.erase();
  }

  /// Moves the loop's body before `where`'s end with its variables replaced.
  static void inlineBody(ForEachOp loop, OpBuilder &builder, ValueRange coordinates) {
    IRMapping mapping;
    mapping.map(loop.getBody().getArguments(), coordinates);
    for (Operation &op : loop.getBody().front().without_terminator())
      builder.clone(op, mapping);
  }

  /// How many of the path's levels are shared out among workers: all but the last, whose cells are a
  /// nest inside each iteration, unless there would be too few iterations.
  static unsigned levelsOutside(const TreePath &path) {
    int64_t cells = 1;
    for (LevelInterface level : ArrayRef(path.levels).drop_back())
      for (int64_t extent : level.getLevelExtents())
        cells *= extent;
    return cells < leastIterations ? path.levels.size() : path.levels.size() - 1;
  }

  /// Every cell is active: a box, walked in the order in which its cells lie in memory.
  void lowerToRange(ForEachOp loop, const TreePath &path) {
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    unsigned outside = levelsOutside(path);
    SmallVector<Value> lower, upper, coordinates(path.rank(), constant(builder, loc, 0));
    for (LevelInterface level : ArrayRef(path.levels).take_front(outside))
      for (int64_t extent : level.getLevelExtents()) {
        lower.push_back(constant(builder, loc, 0));
        upper.push_back(constant(builder, loc, extent));
      }
    auto range = RangeOp::create(builder, loc, lower, upper);
    builder.setInsertionPointToStart(&range.getBody().front());
    auto variables = range.getBody().getArguments();
    for (unsigned depth = 0; depth < outside; ++depth)
      for (unsigned axis : levelAxes(path.levels[depth])) {
        addLocal(builder, loc, path, depth, axis, variables.front(), coordinates);
        variables = variables.drop_front();
      }
    for (unsigned depth = outside; depth < path.levels.size(); ++depth)
      addNest(builder, loc, path, depth, coordinates);
    inlineBody(loop, builder, coordinates);
  }

  /// Slots of the last pool outside, the dense levels below as a nest inside; coordinates stay base
  /// + local.
  void lowerToCells(ForEachOp loop, const TreePath &path) {
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    unsigned depth = path.lastPool();
    auto cells =
        CellsOp::create(builder, loc, loop.getTree(), (loop.getPath() + "@" + Twine(depth)).str(),
                        loop->hasAttr("metate.changes_topology"));
    TreePath slotPath = *findPath(cast<TreeType>(loop.getTree().getType()), cells.getLevel());
    builder.setInsertionPointToStart(&cells.getBody().front());
    SmallVector<Value> coordinates(path.rank(), constant(builder, loc, 0));
    for (auto [k, axis] : llvm::enumerate(slotPath.axes)) {
      unsigned position = llvm::find(path.axes, axis) - path.axes.begin();
      int64_t below = path.extentBelow(depth, position);
      if (isMutant(Mutant::SlotScaleOfOtherAxis))
        below = std::min(below, path.extentBelow(depth, path.rank() - 1 - position));
      Value base = cells.getBody().getArgument(1 + k);
      coordinates[position] =
          below == 1 ? base
                     : arith::MulIOp::create(builder, loc, base, constant(builder, loc, below))
                           .getResult();
    }
    for (unsigned level = depth + 1; level < path.levels.size(); ++level)
      addNest(builder, loc, path, level, coordinates);
    // The innermost loop runs along a row of the leaf.
    if (auto row = dyn_cast<scf::ForOp>(builder.getInsertionBlock()->getParentOp()))
      row->setAttr("metate.row", builder.getUnitAttr());
    inlineBody(loop, builder, coordinates);
  }

  /// Adds an index of a level along an axis to the coordinate.
  void addLocal(OpBuilder &builder, Location loc, const TreePath &path, unsigned level,
                unsigned axis, Value local, SmallVector<Value> &coordinates) {
    unsigned position = llvm::find(path.axes, axis) - path.axes.begin();
    int64_t below = path.extentBelow(level, position);
    if (below != 1 && !isMutant(Mutant::InnerLevelUnscaled))
      local = arith::MulIOp::create(builder, loc, local, constant(builder, loc, below));
    Value &coordinate = coordinates[position];
    coordinate = matchPattern(coordinate, m_Zero())
                     ? local
                     : arith::AddIOp::create(builder, loc, coordinate, local).getResult();
  }

  /// The loops over one dense level's cells; adds the local index to the coordinates.
  void addNest(OpBuilder &builder, Location loc, const TreePath &path, unsigned level,
               SmallVector<Value> &coordinates) {
    for (auto [axis, extent] :
         llvm::zip(levelAxes(path.levels[level]), path.levels[level].getLevelExtents())) {
      Value zero = constant(builder, loc, 0), one = constant(builder, loc, 1);
      auto nest = scf::ForOp::create(builder, loc, zero, constant(builder, loc, extent), one);
      nest->setAttr("metate.nest", builder.getUnitAttr());
      builder.setInsertionPointToStart(nest.getBody());
      addLocal(builder, loc, path, level, axis, nest.getInductionVar(), coordinates);
    }
  }

  static bool needsTask(Operation &op) {
    return !isMemoryEffectFree(&op) && !isa<ReturnOp, RangeOp, CellsOp>(op);
  }

  /// Runs of statements between loops, from the first one with effects to the last.
  void gatherSerial() {
    Block &block = getOperation().getBody().front();
    SmallVector<Operation *> run;
    auto flush = [&] {
      while (!run.empty() && !needsTask(*run.back()))
        run.pop_back();
      if (!run.empty())
        makeSerial(run);
      run.clear();
    };
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isMutant(Mutant::SerialMergedAcrossLoop) && isa<RangeOp>(op))
        continue;
      if (isa<RangeOp, CellsOp, ReturnOp>(op))
        flush();
      else if (!run.empty() || needsTask(op))
        run.push_back(&op);
    }
  }

  void makeSerial(ArrayRef<Operation *> run) {
    llvm::SmallPtrSet<Operation *, 16> inside(run.begin(), run.end());
    SmallVector<Value> outputs;
    for (Operation *op : run)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              return !inside.contains(
                  getOperation().getBody().front().findAncestorOpInBlock(*user));
            }))
          outputs.push_back(result);
    OpBuilder builder(run.front());
    OperationState state(run.front()->getLoc(), SerialOp::getOperationName());
    state.addTypes(TypeRange(ValueRange(outputs)));
    state.addRegion()->emplaceBlock();
    auto serial = cast<SerialOp>(builder.create(state));
    Block &body = serial.getBody().front();
    for (Operation *op : run)
      op->moveBefore(&body, body.end());
    builder.setInsertionPointToEnd(&body);
    YieldOp::create(builder, run.back()->getLoc(), TypeRange(), outputs,
                    ArrayRef<NamedAttribute>());
    for (auto [output, result] : llvm::zip(outputs, serial.getResults()))
      output.replaceUsesWithIf(
          result, [&](OpOperand &use) { return !serial->isProperAncestor(use.getOwner()); });
  }
};
} // namespace
