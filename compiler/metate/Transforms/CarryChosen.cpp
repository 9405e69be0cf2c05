//===- CarryChosen.cpp - what is known of the last one chosen ---*- C++ -*-===//
//
// `if distance(i, q) < distance(i, best): best = q`: a loop carries which one it chose, and each turn computes anew, at a place
// that it carries, what it computed when it chose. The loop carries that value too. What was read at any place, lane by
// lane, is then in a register.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/LoopVariable.h"
#include "metate/Transforms/OwnPlaces.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_CARRYCHOSEN
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// A carried value's next one: `value` where `condition` is `when`, else what it was.
struct Selection {
  Value condition, value;
  bool when;

  static std::optional<Selection> of(Value next, Value carried) {
    Value condition, yes, no;
    if (auto select = next.getDefiningOp<arith::SelectOp>()) {
      condition = select.getCondition(), yes = select.getTrueValue(), no = select.getFalseValue();
    } else if (auto branch = next.getDefiningOp<scf::IfOp>()) {
      unsigned number = cast<OpResult>(next).getResultNumber();
      condition = branch.getCondition();
      yes = branch.thenYield().getOperand(number), no = branch.elseYield().getOperand(number);
      for (Value side : {yes, no})
        if (branch->isAncestor(side.getParentBlock()->getParentOp()))
          return std::nullopt; // it is computed for those that choose it alone
    }
    if (!condition || !condition.getType().isInteger(1) || (yes == carried) == (no == carried))
      return std::nullopt;
    return no == carried ? Selection{condition, yes, true} : Selection{condition, no, false};
  }
};

/// What a turn computes of one carried value and of what no turn changes, and where it computes the same of the chosen one.
class Computed {
public:
  Computed(scf::ForOp loop, Value carried, Value chosen)
      : loop(loop), body(*loop.getBody()), carried(carried) {
    twins.map(carried, chosen);
    for (Operation &op : body.without_terminator())
      if (isOfCarried(op))
        add(op);
  }

  /// Values that others use, which are read or made of what is read, and computed of the chosen one as well.
  SmallVector<Value> roots() const {
    SmallVector<Value> found;
    for (Operation *op : ops)
      for (Value value : op->getResults())
        if (readers.contains(op) && twins.contains(value) &&
            llvm::any_of(value.getUsers(), [&](Operation *user) { return !ops.contains(user); }))
          found.push_back(value);
    return found;
  }

  Value twin(Value value) const { return twins.lookup(value); }

  /// Writes the values of roots where `carried` is `start`.
  SmallVector<Value> computeBefore(OpBuilder &builder, Value start, ValueRange roots) const {
    IRMapping mapping;
    mapping.map(carried, start);
    for (Operation *op : ops)
      builder.clone(*op, mapping);
    return llvm::map_to_vector(roots, [&](Value root) { return mapping.lookup(root); });
  }

  void eraseUnused() {
    for (Operation *op : llvm::reverse(ops))
      if (isOpTriviallyDead(op))
        op->erase();
  }

private:
  static bool isRead(Operation *op) { return isa<LoadOp, memref::LoadOp>(op); }

  bool isOfCarried(Operation &op) const {
    if (op.getNumRegions() || op.getNumResults() == 0 || !(isRead(&op) || isPure(&op)))
      return false;
    bool isOf = false;
    for (Value operand : op.getOperands()) {
      bool isMember = operand == carried || ops.contains(operand.getDefiningOp());
      if (!isMember && loop->isAncestor(operand.getParentBlock()->getParentOp()))
        return false;
      isOf |= isMember;
    }
    return isOf && (!isRead(&op) || isUnwritten(&op));
  }

  void add(Operation &op) {
    ops.insert(&op);
    if (isRead(&op) || llvm::any_of(op.getOperands(), [&](Value operand) {
          return readers.contains(operand.getDefiningOp());
        }))
      readers.insert(&op);
    // The number of a turn, there and back.
    if (auto cast = dyn_cast<arith::IndexCastOp>(op); cast && cast.getType().isIndex())
      if (Value variable = loopVariableOf(twins.lookupOrDefault(cast.getIn())))
        return twins.map(cast.getResult(), variable);
    for (Operation &other : body.without_terminator())
      if (&other != &op && isTwin(op, other))
        return twins.map(op.getResults(), other.getResults());
  }

  bool isTwin(Operation &op, Operation &other) const {
    return op.getName() == other.getName() && op.getAttrDictionary() == other.getAttrDictionary() &&
           op.getResultTypes() == other.getResultTypes() &&
           op.getNumOperands() == other.getNumOperands() &&
           llvm::all_of(llvm::zip(op.getOperands(), other.getOperands()), [&](auto operands) {
             auto [of, from] = operands;
             return isSame(twins.lookupOrDefault(of), from);
           });
  }

  static bool isSame(Value a, Value b) {
    std::optional<int64_t> left = getConstantIntValue(a), right = getConstantIntValue(b);
    return a == b || (left && left == right && a.getType() == b.getType());
  }

  /// Nothing in the loop changes what is read, or which cells there are.
  bool isUnwritten(Operation *read) const {
    Value from =
        isa<LoadOp>(read) ? cast<LoadOp>(read).getTree() : cast<memref::LoadOp>(read).getMemRef();
    return !walkWithCalls(loop, [&](Operation *op) {
              auto write = writeOf(op);
              bool isChanged =
                  (write && write->first.first == from &&
                   (!isa<LoadOp>(read) || write->first.second == cast<LoadOp>(read).getPath())) ||
                  changedCell(op);
              return isChanged ? WalkResult::interrupt() : WalkResult::advance();
            }).wasInterrupted();
  }

  Operation *loop;
  Block &body;
  Value carried;
  llvm::SetVector<Operation *> ops;
  llvm::SmallPtrSet<Operation *, 8>
      readers;     ///< those of `ops` that read, or are made of what is read
  IRMapping twins; ///< what is computed of the carried value -> of the chosen one
};

struct CarryChosen : metate::impl::CarryChosenBase<CarryChosen> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getMayAlias() || kernel.getDebug())
      return;
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      for (unsigned k = 0, count = loop.getNumRegionIterArgs(); k < count; ++k)
        loop = visit(loop, k);
  }

private:
  /// The loop, or what replaced it.
  scf::ForOp visit(scf::ForOp loop, unsigned number) {
    Value carried = loop.getRegionIterArg(number);
    std::optional<Selection> choice = Selection::of(loop.getYieldedValues()[number], carried);
    if (!choice)
      return loop;
    Computed computed(loop, carried, choice->value);
    SmallVector<Value> roots = computed.roots();
    if (roots.empty())
      return loop;
    IRRewriter rewriter(loop.getContext());
    rewriter.setInsertionPoint(loop);
    SmallVector<Value> starts = startsOf(loop, computed, loop.getInits()[number], roots, rewriter);
    auto next = [&](OpBuilder &builder, Location loc, ArrayRef<BlockArgument> arguments) {
      SmallVector<Value> values;
      for (auto [root, argument] : llvm::zip(roots, arguments)) {
        Value yes = computed.twin(root), no = argument;
        if (isMutant(Mutant::ChosenForgotten))
          no = yes;
        if (!choice->when)
          std::swap(yes, no);
        values.push_back(arith::SelectOp::create(builder, loc, choice->condition, yes, no));
      }
      return values;
    };
    auto made = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, starts, /*replaceInitOperandUsesInLoop=*/false, next));
    // The body moved, and its operations with it.
    for (auto [root, argument] : llvm::zip(roots, made.getRegionIterArgs().take_back(roots.size())))
      root.replaceAllUsesWith(argument);
    computed.eraseUnused();
    remarkDone(made, "carry-chosen", "values")
        << "the loop carries what it computed of the one that it chose: "
        << Number("values", roots.size()) << " values are not computed again in each turn";
    ++carriedLoops;
    return made;
  }

  /// The values before the first turn; of a loop that may have none, behind a test that it has.
  static SmallVector<Value> startsOf(scf::ForOp loop, const Computed &computed, Value start,
                                     ValueRange roots, OpBuilder &builder) {
    std::optional<APInt> turns = loop.getStaticTripCount();
    if (turns && turns->isStrictlyPositive())
      return computed.computeBefore(builder, start, roots);
    Location loc = loop.getLoc();
    Value runs = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       loop.getLowerBound(), loop.getUpperBound());
    auto branch = scf::IfOp::create(builder, loc, roots.getTypes(), runs, /*withElseRegion=*/true);
    OpBuilder yes = branch.getThenBodyBuilder(), no = branch.getElseBodyBuilder();
    scf::YieldOp::create(yes, loc, computed.computeBefore(yes, start, roots));
    scf::YieldOp::create(no, loc, llvm::map_to_vector(roots, [&](Value root) -> Value {
                           return arith::ConstantOp::create(no, loc,
                                                            no.getZeroAttr(root.getType()));
                         }));
    return llvm::to_vector_of<Value>(branch.getResults());
  }
};
} // namespace
