//===- HoistSlots.cpp - one activation and one look-up per slot and row -*- C++ -*-===//
//
// HoistActivations for loops over ranges: the slot is not the loop's own, but its coordinates do not change
// while the last dimensions of the range run.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/LeafCells.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

namespace metate {
#define GEN_PASS_DEF_HOISTSLOTS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Several dimensions become one nest, which one worker runs, if they are no more iterations than that...
constexpr int64_t maxNest = 4096;
/// ...and leave at least so many to share out.
constexpr int64_t leastOutside = 256;

/// What of a range's body is the same while its last dimensions run.
class Invariants {
public:
  Invariants(KernelOp kernel, RangeOp range, size_t inner) : kernel(kernel), range(range) {
    auto arguments = range.getBody().getArguments();
    varying.insert(std::prev(arguments.end(), inner), arguments.end());
  }

  bool isFixed(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return !varying.contains(value) && (argument.getOwner()->getParentOp() == range ||
                                          !isInside(argument.getOwner()->getParentOp()));
    Operation *op = value.getDefiningOp();
    if (!isInside(op))
      return true;
    auto [known, isNew] = fixed.try_emplace(op, false);
    if (!isNew)
      return known->second;
    bool answer = mayMove(op) &&
                  llvm::all_of(op->getOperands(), [&](Value operand) { return isFixed(operand); });
    return fixed[op] = answer;
  }

  /// Once before the nest instead of in each iteration: what has no effects, and reads of what the range does not
  /// write that the first iteration does in any case.
  bool mayMove(Operation *op) {
    if (op->getNumRegions() != 0)
      return false;
    if (isPure(op))
      return true;
    bool isRead = isa<memref::LoadOp, LoadOp>(op);
    return isRead && op->getParentOp() == range && !isWritten(op->getOperand(0)) &&
           !stopsBefore(op);
  }

  /// May an iteration end the kernel before it reaches `op`?
  bool stopsBefore(Operation *op) {
    bool stops = false;
    range.walk<WalkOrder::PreOrder>([&](Operation *other) {
      stops = other != op && mayStop(other);
      return stops || other == op ? WalkResult::interrupt() : WalkResult::advance();
    });
    return stops;
  }

private:
  bool isInside(Operation *op) { return op && range->isAncestor(op); }

  bool isWritten(Value place) {
    auto visit = [&](Operation *op) {
      Value target = llvm::TypeSwitch<Operation *, Value>(op)
                         .Case<memref::StoreOp>([](auto store) { return store.getMemRef(); })
                         .Case<memref::AtomicRMWOp>([](auto rmw) { return rmw.getMemref(); })
                         .Case<CellOpInterface>([](CellOpInterface cell) {
                           return cell.writesMember() ? cell.getTree() : Value();
                         })
                         .Default([](Operation *) { return Value(); });
      bool same = target && (target == place ||
                             (kernel.getMayAlias() && isa<MemRefType>(target.getType()) ==
                                                          isa<MemRefType>(place.getType())));
      return same ? WalkResult::interrupt() : WalkResult::advance();
    };
    return walkWithCalls(range, visit).wasInterrupted();
  }

  KernelOp kernel;
  RangeOp range;
  llvm::SmallDenseSet<Value> varying;
  llvm::DenseMap<Operation *, bool> fixed;
};

struct HoistSlots : metate::impl::HoistSlotsBase<HoistSlots> {
  using HoistSlotsBase::HoistSlotsBase;

  void runOnOperation() override {
    if (getOperation().getDebug()) // checks stand before what they check
      return;
    for (RangeOp range : llvm::make_early_inc_range(getOperation().getOps<RangeOp>()))
      visit(range);
  }

private:
  /// Iterations of the last `inner` dimensions if they are known, else 0.
  static int64_t iterations(ValueRange lower, ValueRange upper) {
    int64_t product = 1;
    for (auto [from, to] : llvm::zip(lower, upper)) {
      APInt first, end;
      if (!matchPattern(from, m_ConstantInt(&first)) || !matchPattern(to, m_ConstantInt(&end)) ||
          end.getSExtValue() <= first.getSExtValue() || product > (int64_t(1) << 31))
        return 0;
      product *= end.getSExtValue() - first.getSExtValue();
    }
    return product;
  }

  static bool pays(RangeOp range, size_t inner) {
    int64_t inside =
        iterations(range.getLower().take_back(inner), range.getUpper().take_back(inner));
    if (inside == 0 || (inner > 1 && inside > maxNest))
      return false;
    int64_t outside =
        iterations(range.getLower().drop_back(inner), range.getUpper().drop_back(inner));
    return inner == 1 || outside == 0 || outside >= leastOutside;
  }

  /// Accesses that have one slot while the last `inner` dimensions run.
  int64_t countFixed(RangeOp range, size_t inner) {
    Invariants invariants(getOperation(), range, inner);
    int64_t count = 0;
    range.walk([&](Operation *op) {
      auto access = CellAccess::of(op);
      count += access && FixedSlot::of(access->resolve(), access->coordinates,
                                       [&](Value value) { return invariants.isFixed(value); });
    });
    return count;
  }

  /// The cells that a deactivation gives up while the last dimensions run, where all of them may be given up afterwards: nobody
  /// asks for one of them then any more, and the kernel does not end before.
  std::optional<MaskWords> cellsGivenUp(RangeOp range, size_t inner, DeactivateOp op) {
    TreePath path = *findPath(op.getTreeType(), op.getPath());
    if (!words || op->getParentOp() != range || hasPools(path.levels[path.lastActivity()]))
      return std::nullopt;
    auto stops = [&](Operation *other) {
      bool touches = llvm::any_of(other->getOperands(), [&](Value operand) {
        return isa<TreeType>(operand.getType()) &&
               mayBeSameTree(getOperation(), operand, op.getTree());
      });
      bool isBefore = isa<LoadOp, IsActiveOp>(other) &&
                      op->getBlock()->findAncestorOpInBlock(*other)->isBeforeInBlock(op);
      return mayStop(other) || callsIntoMemory(other) ||
                     (touches && !isBefore && !isa<DeactivateOp>(other))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    };
    Invariants invariants(getOperation(), range, inner);
    auto slot = FixedSlot::of(path, op.getCoordinates(),
                              [&](Value value) { return invariants.isFixed(value); });
    if (!slot || range.walk(stops).wasInterrupted())
      return std::nullopt;
    return cellsReached(path, *slot, range.getBody().getArguments().take_back(inner));
  }

  /// Deactivations that become one per slot; nullopt: some do not, so that links have to be looked at each time.
  std::optional<int64_t> countGivenUp(RangeOp range, size_t inner) {
    int64_t count = 0;
    auto result = walkWithCalls(range, [&](Operation *op) {
      auto deactivate = dyn_cast<DeactivateOp>(op);
      if (!deactivate)
        return WalkResult::advance();
      ++count;
      return cellsGivenUp(range, inner, deactivate) ? WalkResult::advance()
                                                    : WalkResult::interrupt();
    });
    return result.wasInterrupted() ? std::nullopt : std::optional(count);
  }

  int64_t countHoisted(RangeOp range, size_t inner) {
    std::optional<int64_t> givenUp = countGivenUp(range, inner);
    return givenUp ? *givenUp + countFixed(range, inner) : 0;
  }

  void visit(RangeOp range) {
    bool hasNest =
        range
            .walk([](scf::ForOp loop) {
              return loop->hasAttr(mark::nest) ? WalkResult::interrupt() : WalkResult::advance();
            })
            .wasInterrupted();
    if (hasNest)
      return;
    size_t best = 0;
    int64_t most = 0;
    for (size_t inner = 1; inner < range.getLower().size(); ++inner)
      if (int64_t count = pays(range, inner) ? countHoisted(range, inner) : 0;
          count && count >= most) {
        best = inner;
        most = count;
      }
    if (best > 0) {
      remarkDone(range, "hoist-slots", "slots")
          << "slots are looked up once for the last " << Number("dimensions", best)
          << " dimensions, which are a nest; " << Number("accesses", most) << " accesses gain";
      split(range, best);
    } else if (wantsRemarks(&getContext()) && findsSlots(range)) {
      remarkDeclined(range, "hoist-slots", "slots")
          << "slots are looked up for each access: no slot stays the same while the last "
             "dimensions, of known "
             "bounds, run";
    }
  }

  /// Does the range reach cells through slots?
  static bool findsSlots(RangeOp range) {
    return range
        .walk([](Operation *op) {
          auto access = CellAccess::of(op);
          return access && access->resolve().lastPool() >= 0 ? WalkResult::interrupt()
                                                             : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Makes the last dimensions loops of the body.
  void split(RangeOp range, size_t inner) {
    OpBuilder builder(range);
    Location loc = range.getLoc();
    Invariants invariants(getOperation(), range, inner);
    SmallVector<Operation *> moving;
    range.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op->getNumResults() && op != range.getOperation() && invariants.isFixed(op->getResult(0)))
        moving.push_back(op);
    });
    SmallVector<std::pair<DeactivateOp, MaskWords>> deactivations;
    for (DeactivateOp op : range.getBody().front().getOps<DeactivateOp>())
      deactivations.emplace_back(op, *cellsGivenUp(range, inner, op));
    bool stops = range
                     .walk([](Operation *op) {
                       return mayStop(op) ? WalkResult::interrupt() : WalkResult::advance();
                     })
                     .wasInterrupted();
    SmallVector<ActivateOp> activations;
    for (ActivateOp activate : range.getBody().front().getOps<ActivateOp>())
      if (!asksActivity(range, activate.getTree()) && !invariants.stopsBefore(activate))
        activations.push_back(activate);
    auto outer = RangeOp::create(builder, loc, range.getLower().drop_back(inner),
                                 range.getUpper().drop_back(inner));
    outer->setDiscardableAttrs(range->getDiscardableAttrDictionary());
    builder.setInsertionPointToStart(&outer.getBody().front());
    SmallVector<Value> variables = llvm::to_vector_of<Value>(outer.getBody().getArguments());
    scf::ForOp nest, row;
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    for (auto [lower, upper] :
         llvm::zip(range.getLower().take_back(inner), range.getUpper().take_back(inner))) {
      row = scf::ForOp::create(builder, loc, lower, upper, one);
      setMark(row, mark::nest);
      nest = nest ? nest : row;
      variables.push_back(row.getInductionVar());
      builder.setInsertionPointToStart(row.getBody());
    }
    setMark(row, mark::row);
    setMark(nest, mark::slots);
    Block &from = range.getBody().front();
    from.getTerminator()->erase();
    for (auto [argument, variable] : llvm::zip(from.getArguments(), variables))
      argument.replaceAllUsesWith(variable);
    row.getBody()->getOperations().splice(row.getBody()->begin(), from.getOperations());
    for (Operation *op : moving)
      op->moveBefore(nest);
    range.erase();
    ++nests;
    ArrayRef<Value> inside = ArrayRef(variables).take_back(inner);
    for (ActivateOp activate : activations)
      hoist(nest, activate, words && !stops ? inside : ArrayRef<Value>());
    for (auto &[op, cells] : deactivations)
      sink(nest, op, cells);
  }

  static std::optional<FixedSlot> slotIn(scf::ForOp nest, const TreePath &path,
                                         OperandRange coordinates) {
    return FixedSlot::of(path, coordinates, [&](Value value) {
      return !nest->isAncestor(value.getParentBlock()->getParentOp());
    });
  }

  /// The cells are given up by words, when all iterations have read what they read.
  void sink(scf::ForOp nest, DeactivateOp op, ArrayRef<int32_t> cells) {
    auto slot = slotIn(nest, *findPath(op.getTreeType(), op.getPath()), op.getCoordinates());
    if (!slot)
      return;
    OpBuilder builder(op.getContext());
    builder.setInsertionPointAfter(nest);
    DeactivateLeafOp::create(builder, op.getLoc(), op.getTree(), op.getPathAttr(),
                             slot->base(builder, op.getLoc()), builder.getDenseI32ArrayAttr(cells));
    op.erase();
    ++deactivated;
  }

  /// Does the range ask which cells of the tree are active? Then the first activation stays where it is.
  bool asksActivity(RangeOp range, Value tree) {
    return walkWithCalls(range,
                         [&](Operation *op) {
                           return metate::asksActivity(getOperation(), op, tree)
                                      ? WalkResult::interrupt()
                                      : WalkResult::advance();
                         })
        .wasInterrupted();
  }

  /// The slot is activated before the nest; bits of its own that a cell has stay inside, but where it is known which cells
  /// all iterations, whose `variables` are given, reach.
  void hoist(scf::ForOp nest, ActivateOp activate, ValueRange variables) {
    TreePath path = CellAccess::of(activate)->resolve();
    auto slot = slotIn(nest, path, activate.getCoordinates());
    if (!slot)
      return;
    std::optional<MaskWords> cells;
    if (!variables.empty() && !activate.getStrict())
      cells = cellsReached(path, *slot, variables);
    OpBuilder builder(nest);
    Location loc = activate.getLoc();
    if (cells) {
      auto all =
          ActivateLeafOp::create(builder, loc, activate.getActive().getType(), activate.getTree(),
                                 activate.getPathAttr(), slot->base(builder, loc), Value(),
                                 StringAttr(), false, builder.getDenseI32ArrayAttr(*cells));
      activate.replaceAllUsesWith(all.getOperation());
      activate.erase();
      ++hoisted;
      ++activated;
      return;
    }
    int depth = path.lastPool();
    std::string level = (activate.getPath() + "@" + Twine(depth)).str();
    TreePath slots = *findPath(cast<TreeType>(activate.getTree().getType()), level);
    SmallVector<Value> all = slot->base(builder, loc), coordinates;
    for (unsigned axis : slots.axes) {
      unsigned position = llvm::find(path.axes, axis) - path.axes.begin();
      coordinates.push_back(divide(builder, loc, all[position], path.extentBelow(depth, position)));
    }
    auto once =
        ActivateOp::create(builder, loc, activate.getActive().getType(), activate.getTree(),
                           builder.getStringAttr(level), coordinates, activate.getStrictAttr());
    ++hoisted;
    if (path.lastActivity() == depth) {
      activate.replaceAllUsesWith(once.getOperation());
      activate.erase();
      return;
    }
    setMark(activate, mark::linked);
    builder.setInsertionPoint(activate);
    // In a slot that is there a bit can always be set.
    auto branch = scf::IfOp::create(builder, loc, once.getActive());
    activate->replaceAllUsesWith(once);
    activate->moveBefore(branch.thenBlock(), branch.thenBlock()->begin());
  }

  /// Rounded down; coordinates outside of the extents stay so.
  static Value divide(OpBuilder &builder, Location loc, Value value, int64_t divisor) {
    if (divisor == 1)
      return value;
    if (llvm::isPowerOf2_64(divisor)) {
      Value bits = arith::ConstantIndexOp::create(builder, loc, llvm::Log2_64(divisor));
      return arith::ShRSIOp::create(builder, loc, value, bits);
    }
    Value by = arith::ConstantIndexOp::create(builder, loc, divisor);
    return arith::DivUIOp::create(builder, loc, value, by);
  }
};
} // namespace
