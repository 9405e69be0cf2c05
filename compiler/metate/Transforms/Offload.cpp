//===- Offload.cpp - a kernel becomes a list of tasks -----------*- C++ -*-===//
//
// Stage 4. Loops keep their order; statements with effects between them become serial tasks.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/Passes.h"
#include "metate/abi/module.h"

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
  using OffloadBase::OffloadBase;

  void runOnOperation() override {
    // What only counts cells changes nothing, and gives one number in any order.
    if (deterministic && !getOperation().getSymName().ends_with(METATE_SLICE_SUFFIX))
      setMark(getOperation(), mark::deterministic);
    exchangesToUsers();
    for (ForEachOp loop :
         llvm::make_early_inc_range(getOperation().getBody().front().getOps<ForEachOp>()))
      lowerLoop(loop);
    gatherSerial();
    for (Operation &task : llvm::make_early_inc_range(getOperation().getBody().front()))
      collectAfter(&task);
    if (wantsRemarks(&getContext()))
      for (Operation &task : getOperation().getBody().front())
        remark(task);
  }

private:
  /// What is expected and desired stands beside the atomic operation: tasks hand on numbers.
  void exchangesToUsers() {
    SmallVector<ExchangeIfOp> exchanges;
    getOperation().walk([&](ExchangeIfOp op) { exchanges.push_back(op); });
    for (ExchangeIfOp exchange : exchanges) {
      for (OpOperand &use : llvm::make_early_inc_range(exchange->getUses())) {
        OpBuilder builder(use.getOwner());
        use.set(cast<ExchangeIfOp>(builder.clone(*exchange)).getValue());
      }
      exchange.erase();
    }
  }

  static void remark(Operation &task) {
    if (auto cells = dyn_cast<CellsOp>(task)) {
      StringRef path = cells.getLevel().split('@').first;
      remarkDone(&task, "offload", "tasks")
          << "a parallel task over the slots of '" << accessName(cells.getTree(), path).name
          << "' that are in use; the cells of a slot are a nest inside";
    } else if (auto range = dyn_cast<RangeOp>(task)) {
      remarkRange(range);
    } else if (isa<SerialOp>(task)) {
      Operation *first = &task.getRegion(0).front().front();
      remarkDone(first, "offload", "tasks")
          << (isa<SnapshotOp>(first)
                  ? "a serial task notes which cells are active, since the loop changes that"
              : isa<CollectOp>(first) ? "a serial task frees the slots that were given up"
              : isa<SortOp>(first)
                  ? "a serial task puts slots in the order of their coordinates"
                  : "statements between loops are a serial task, which one worker runs");
    }
  }

  static void remarkRange(RangeOp range) {
    auto remark = remarkDone(range, "offload", "tasks");
    remark << "a parallel task over a range of "
           << Number("dimensions", int64_t(range.getLower().size())) << " dimension"
           << (range.getLower().size() == 1 ? "" : "s");
    int64_t count = 1;
    for (auto [lower, upper] : llvm::zip(range.getLower(), range.getUpper())) {
      APInt first, end;
      if (!matchPattern(lower, m_ConstantInt(&first)) || !matchPattern(upper, m_ConstantInt(&end)))
        return;
      count *= std::max<int64_t>(0, (end - first).getSExtValue());
    }
    remark << ", " << Number("iterations", count) << " iterations";
  }

  Value constant(OpBuilder &builder, Location loc, int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  void lowerLoop(ForEachOp loop) {
    TreePath path = *findPath(cast<TreeType>(loop.getTree().getType()), loop.getPath());
    if (getOperation()->hasAttr(mark::deterministic) && path.lastPool() >= 0)
      sort(loop);
    if (loop->hasAttr(mark::changesTopology))
      snapshot(loop, path);
    if (path.lastPool() < 0)
      lowerToRange(loop, path);
    else
      lowerToCells(loop, path);
    loop.erase();
  }

  /// Slots are numbered as workers claimed them: in another order in each run.
  void sort(ForEachOp loop) {
    OpBuilder builder(loop);
    SortOp::create(builder, loop.getLoc(), loop.getTree());
    auto tree = dyn_cast<BlockArgument>(loop.getTree());
    if (!tree)
      return;
    KernelOp kernel = getOperation();
    auto known = kernel.getArgAttrOfType<IntegerAttr>(tree.getArgNumber(), mark::access);
    int64_t access = (known ? known.getInt() : 0) | METATE_ACCESS_SORT;
    kernel.setArgAttr(tree.getArgNumber(), mark::access, builder.getI64IntegerAttr(access));
  }

  /// Is it said by a bit or a length below the last pool's links, not by a slot, whether a cell is active?
  static bool isTested(const TreePath &path) {
    int depth = path.lastActivity();
    return depth > path.lastPool() || (depth >= 0 && path.levels[depth].isList());
  }

  /// Notes which cells are active when the loop begins: slots have an epoch, bits and lengths are copied.
  void snapshot(ForEachOp loop, const TreePath &path) {
    OpBuilder builder(loop);
    for (int depth = std::max(path.lastPool(), 0); depth < int(path.levels.size()); ++depth)
      if (path.levels[depth].hasEntryCopy())
        SnapshotOp::create(builder, loop.getLoc(), loop.getTree(),
                           builder.getStringAttr(loop.getPath() + "@" + Twine(depth)));
  }

  /// Copies the loop's body with its variables replaced; where a bit or a length says whether the cell is
  /// active, under that test.
  static void inlineBody(ForEachOp loop, OpBuilder &builder, const TreePath &path,
                         ValueRange coordinates) {
    if (isTested(path)) {
      auto active = IsActiveOp::create(
          builder, loop.getLoc(), loop.getTree(), loop.getPath(), coordinates,
          loop->hasAttr(mark::changesTopology) && !isMutant(Mutant::LiveSetVisited));
      setMark(active, mark::own);
      auto branch = scf::IfOp::create(builder, loop.getLoc(), active, /*withElseRegion=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
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

  /// No slots: a box, walked in the order in which its cells lie in memory.
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
    inlineBody(loop, builder, path, coordinates);
  }

  /// Slots of the last pool outside, the dense levels below as a nest inside; coordinates stay base
  /// + local.
  void lowerToCells(ForEachOp loop, const TreePath &path) {
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    unsigned depth = path.lastPool();
    auto cells =
        CellsOp::create(builder, loc, loop.getTree(), (loop.getPath() + "@" + Twine(depth)).str(),
                        loop->hasAttr(mark::changesTopology));
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
    // The cells of a list's chunk lie in its slot.
    if (LevelInterface pool = path.levels[depth]; pool.isList())
      addLoop(builder, loc, path, depth, levelAxes(pool)[0], pool.getSlotCells(), coordinates);
    for (unsigned level = depth + 1; level < path.levels.size(); ++level)
      addNest(builder, loc, path, level, coordinates);
    // The innermost loop runs along a row of the leaf.
    if (auto row = dyn_cast<scf::ForOp>(builder.getInsertionBlock()->getParentOp()))
      setMark(row, mark::row);
    inlineBody(loop, builder, path, coordinates);
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

  /// The loops over one inline level's cells; adds the local index to the coordinates.
  void addNest(OpBuilder &builder, Location loc, const TreePath &path, unsigned level,
               SmallVector<Value> &coordinates) {
    for (auto [axis, extent] :
         llvm::zip(levelAxes(path.levels[level]), path.levels[level].getLevelExtents()))
      addLoop(builder, loc, path, level, axis, extent, coordinates);
  }

  void addLoop(OpBuilder &builder, Location loc, const TreePath &path, unsigned level,
               unsigned axis, int64_t extent, SmallVector<Value> &coordinates) {
    Value zero = constant(builder, loc, 0), one = constant(builder, loc, 1);
    auto nest = scf::ForOp::create(builder, loc, zero, constant(builder, loc, extent), one);
    setMark(nest, mark::nest);
    builder.setInsertionPointToStart(nest.getBody());
    addLocal(builder, loc, path, level, axis, nest.getInductionVar(), coordinates);
  }

  static bool needsTask(Operation &op) {
    return !isMemoryEffectFree(&op) && !isa<ReturnOp, RangeOp, CellsOp>(op);
  }

  /// Slots that a task gives up are free when it ends, and only then may slots be put in order: a sort
  /// behind `deactivate(a)` begins a task of its own.
  static bool endsTask(ArrayRef<Operation *> run, Operation &next) {
    return isa<SortOp>(next) && llvm::any_of(run, [](Operation *op) {
             return walkWithCalls(op,
                                  [](Operation *inner) {
                                    return isa<DeactivateOp>(inner) ? WalkResult::interrupt()
                                                                    : WalkResult::advance();
                                  })
                 .wasInterrupted();
           });
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
      if (isa<FunctionOp>(op)) // first in the kernel
        continue;
      if (isMutant(Mutant::SerialMergedAcrossLoop) && isa<RangeOp>(op))
        continue;
      bool standsAlone = isa<RangeOp, CellsOp, ReturnOp>(op);
      if (standsAlone || endsTask(run, op))
        flush();
      if (!standsAlone && (!run.empty() || needsTask(op)))
        run.push_back(&op);
    }
  }

  /// Slots that a task has given up are free when it has ended. If it may also have written to cells
  /// that another worker deactivated, all that is not active gets its background back.
  void collectAfter(Operation *task) {
    llvm::SetVector<Value> trees;
    walkWithCalls(task, [&](Operation *op) {
      if (auto deactivate = dyn_cast<DeactivateOp>(op))
        trees.insert(deactivate.getTree());
      return WalkResult::advance();
    });
    for (Value tree : trees) {
      bool isSerial = isa<SerialOp>(task);
      bool sweeps = !isSerial && writes(task, tree);
      OpBuilder builder(task->getContext());
      if (isSerial)
        builder.setInsertionPoint(task->getRegion(0).front().getTerminator());
      else
        builder.setInsertionPointAfter(task);
      auto collect = CollectOp::create(builder, task->getLoc(), tree, sweeps);
      if (!isSerial)
        makeSerial(collect.getOperation());
    }
  }

  bool writes(Operation *task, Value tree) {
    return walkWithCalls(task,
                         [&](Operation *op) {
                           auto access = CellAccess::of(op);
                           auto change = changedCell(op);
                           bool changes = (writesMember(op) &&
                                           mayBeSameTree(getOperation(), access->tree, tree)) ||
                                          (change && !isa<DeactivateOp>(op) &&
                                           mayBeSameTree(getOperation(), change->tree, tree));
                           return changes ? WalkResult::interrupt() : WalkResult::advance();
                         })
        .wasInterrupted();
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
