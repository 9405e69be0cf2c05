//===- ProveActivity.cpp - tests and activations that are known -*- C++ -*-===//
//
// Walks each task in the order in which it runs and keeps what is known about cells: that of the slot which the
// task is at, those that were activated, and those that were tested, where the result holds. Facts go
//   - never in, where something in a parallel task deactivates cells at that level or above: another iteration may
//     do so at any time;
//   - out behind such a deactivation in a serial task, and before a loop that has one.
// A fact about a cell is one about the cells above it, and about all cells that have these in common.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/FixedSlot.h"
#include "metate/Transforms/IntegerRange.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"

namespace metate {
#define GEN_PASS_DEF_PROVEACTIVITY
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Older facts are forgotten: looking through all would take longer the longer a kernel is.
constexpr size_t maxFacts = 64;

/// Cells of one path, down to one level.
struct CellSet {
  Value tree;
  TreePath path;
  unsigned depth = 0;
  SmallVector<Value> coordinates;

  ArrayRef<LevelInterface> levels() const { return ArrayRef(path.levels).take_front(depth + 1); }
  bool splits(unsigned axis) const {
    return llvm::any_of(
        levels(), [&](LevelInterface level) { return llvm::is_contained(levelAxes(level), axis); });
  }
};

struct Fact {
  CellSet cell;
  Value condition;      ///< holds where it is true; null: everywhere
  bool isExact = false; ///< and the cell is inactive where it is false
  bool isStrict = false;
};

/// The index of the cell of some level that a coordinate lies in: coordinate / extent.
std::optional<LinearForm> quotient(Value coordinate, int64_t extent) {
  if (auto parts = LinearForm::of(coordinate).divide(extent))
    return parts->first;
  return std::nullopt;
}

bool isSame(const LinearForm &a, const LinearForm &b) {
  return a.constant == b.constant && a.terms.size() == b.terms.size() &&
         llvm::all_of(a.terms,
                      [&](auto &term) { return b.coefficient(term.first) == term.second; });
}

/// Do two coordinates lie in one cell of a level, of which `extentA` and `extentB` of their units are one cell?
bool agree(Value a, int64_t extentA, Value b, int64_t extentB) {
  if (a == b && extentA == extentB)
    return true;
  auto first = quotient(a, extentA), second = quotient(b, extentB);
  if (first && second)
    return isSame(*first, *second);
  if (extentA != extentB)
    return false;
  auto baseA = FixedCoordinate::of(a, extentA), baseB = FixedCoordinate::of(b, extentB);
  return baseA && baseB && baseA->hasSameBase(*baseB);
}

/// Is the cell known to be active if all of `known` are?
bool implies(const CellSet &known, const CellSet &cell) {
  if (known.tree != cell.tree || known.depth < cell.depth ||
      known.levels().take_front(cell.depth + 1) != cell.levels())
    return false;
  if (isMutant(Mutant::AnyCellImplied))
    return true;
  for (auto [k, axis] : llvm::enumerate(cell.path.axes)) {
    auto *other = llvm::find(known.path.axes, axis);
    size_t position = other - known.path.axes.begin();
    bool isThere = other != known.path.axes.end();
    if (!cell.splits(axis)) {
      // All of the axis lies in one cell, but beyond its end nothing is active.
      auto range = IntegerRange::of(cell.coordinates[k]);
      bool isInside = range && range->least >= 0 && range->greatest < cell.path.extents[k];
      bool isKnown = isThere && known.coordinates[position] == cell.coordinates[k] &&
                     known.path.extents[position] == cell.path.extents[k];
      if (!isInside && !isKnown)
        return false;
    } else if (!isThere ||
               !agree(known.coordinates[position], known.path.extentBelow(cell.depth, position),
                      cell.coordinates[k], cell.path.extentBelow(cell.depth, k))) {
      return false;
    }
  }
  return true;
}

/// Is one active exactly if the other one is? A cell in the same slot that is outside along another axis never is.
bool isSame(const CellSet &a, const CellSet &b) {
  return a.depth == b.depth && implies(a, b) && implies(b, a);
}

using Facts = SmallVector<Fact, 0>;

struct ProveActivity : metate::impl::ProveActivityBase<ProveActivity> {
  void runOnOperation() override {
    for (Operation &task : getOperation().getBody().front()) {
      if (!isa<RangeOp, CellsOp, SerialOp>(task))
        continue;
      never.clear();
      if (!isa<SerialOp>(task))
        walkWithCalls(&task, [&](Operation *op) {
          if (auto deactivate = dyn_cast<DeactivateOp>(op))
            never.push_back(deactivate);
          return WalkResult::advance();
        });
      Facts facts;
      if (auto cells = dyn_cast<CellsOp>(task))
        addOwn(cells, facts);
      visit(task.getRegion(0).front(), std::move(facts));
    }
  }

private:
  static CellSet cellOf(const CellAccess &access) {
    CellSet cell{access.tree, access.resolve(), 0, llvm::to_vector(access.coordinates)};
    cell.depth = std::max(cell.path.lastActivity(), 0);
    return cell;
  }

  /// The slot that the task is at; of a list, the cell that the list is in.
  void addOwn(CellsOp cells, Facts &facts) {
    CellSet own{cells.getTree(),
                *findPath(cast<TreeType>(cells.getTree().getType()), cells.getLevel()), 0,
                llvm::to_vector_of<Value>(cells.getBody().getArguments().drop_front())};
    int depth = own.path.lastPool();
    while (depth >= 0 && (!own.path.levels[depth].hasActivity() || own.path.levels[depth].isList()))
      --depth;
    if (depth < 0)
      return;
    own.depth = depth;
    add(facts, {std::move(own), {}});
  }

  /// May the deactivation make the cell inactive?
  bool mayEnd(DeactivateOp op, const CellSet &cell) {
    return mayBeSameTree(getOperation(), op.getTree(), cell.tree) &&
           findPath(op.getTreeType(), op.getPath())->lastActivity() <= int(cell.depth);
  }

  void add(Facts &facts, Fact fact) {
    if (llvm::any_of(never, [&](DeactivateOp op) { return mayEnd(op, fact.cell); }) &&
        !isMutant(Mutant::FactOutlivesCell))
      return;
    if (facts.size() >= maxFacts)
      facts.erase(facts.begin());
    facts.push_back(std::move(fact));
  }

  /// Takes out what an operation, with all inside of it, may have made wrong.
  void drop(Facts &facts, Operation *around) {
    walkWithCalls(around, [&](Operation *op) {
      if (auto deactivate = dyn_cast<DeactivateOp>(op)) {
        if (!isMutant(Mutant::FactOutlivesCell))
          llvm::erase_if(facts, [&](Fact &fact) { return mayEnd(deactivate, fact.cell); });
      } else if (auto change = changedCell(op)) {
        for (Fact &fact : facts)
          if (mayBeSameTree(getOperation(), change->tree, fact.cell.tree))
            fact.isExact = false;
      }
      return WalkResult::advance();
    });
  }

  /// Facts that hold where a condition does.
  static Facts under(Value condition, Facts facts) {
    SmallVector<Value> holding{condition};
    while (!holding.empty()) {
      Value one = holding.pop_back_val();
      for (Fact &fact : facts)
        if (fact.condition == one)
          fact.condition = {};
      if (auto both = one.getDefiningOp<arith::AndIOp>())
        llvm::append_values(holding, both.getLhs(), both.getRhs());
    }
    return facts;
  }

  void visit(Block &block, Facts facts) {
    for (auto next = block.begin(); next != block.end();) {
      Operation *op = &*next++;
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        if (matchPattern(branch.getCondition(), m_One())) {
          next = inlineThen(branch);
          continue;
        }
        visit(*branch.thenBlock(), under(branch.getCondition(), facts));
        if (branch.elseBlock())
          visit(*branch.elseBlock(), facts);
        drop(facts, op);
      } else if (op->getNumRegions() != 0) {
        drop(facts, op);
        for (Region &region : op->getRegions())
          for (Block &inner : region)
            visit(inner, facts);
      } else if (auto activate = dyn_cast<ActivateOp>(op)) {
        visitActivate(activate, facts);
      } else if (auto test = dyn_cast<IsActiveOp>(op)) {
        visitTest(test, facts);
      } else {
        drop(facts, op);
      }
    }
  }

  static Block::iterator inlineThen(scf::IfOp branch) {
    Block &then = *branch.thenBlock();
    Operation *end = then.getTerminator();
    branch.replaceAllUsesWith(end->getOperands());
    end->erase();
    Block::iterator first = then.empty() ? std::next(branch->getIterator()) : then.begin();
    branch->getBlock()->getOperations().splice(branch->getIterator(), then.getOperations());
    branch.erase();
    return first;
  }

  static const Fact *find(const Facts &facts, const CellSet &cell,
                          llvm::function_ref<bool(const Fact &)> fits) {
    auto found = llvm::find_if(
        facts, [&](const Fact &fact) { return fits(fact) && implies(fact.cell, cell); });
    return found == facts.end() ? nullptr : &*found;
  }

  static bool isCertain(const Fact &fact) { return !fact.condition; }

  void replace(Operation *op, Value known) {
    OpBuilder builder(op);
    if (!known)
      known = arith::ConstantIntOp::create(builder, op->getLoc(), 1, 1);
    op->replaceAllUsesWith(ValueRange(known));
    op->erase();
  }

  void visitActivate(ActivateOp op, Facts &facts) {
    CellSet cell = cellOf(*CellAccess::of(op));
    if (cell.path.lastActivity() < 0)
      return;
    const Fact *known = find(facts, cell, isCertain);
    // Of the very same cell: it could not be activated then, and can not now.
    if (!known)
      known = find(facts, cell, [&](const Fact &fact) {
        return fact.condition.getDefiningOp<ActivateOp>() && isSame(fact.cell, cell) &&
               (fact.isStrict == op.getStrict());
      });
    if (known) {
      ++activations;
      if (auto remark = remarkDone(op, "prove-activity", "activity"))
        remark << "the activation of '" << accessName(op.getTree(), op.getPath()).name
               << "' goes: its cell is known to be active";
      return replace(op, known->condition);
    }
    if (auto remark = remarkDeclined(op, "prove-activity", "activity"))
      remark << "'" << accessName(op.getTree(), op.getPath()).name
             << "' is activated here: nothing before says that its cell is active";
    drop(facts, op);
    add(facts, {std::move(cell), op.getActive(), !op.getStrict(), op.getStrict()});
  }

  void visitTest(IsActiveOp op, Facts &facts) {
    CellSet cell = cellOf(*CellAccess::of(op));
    if (cell.path.lastActivity() < 0)
      return;
    // What was active when the task began is another question.
    if (!op.getEntry()) {
      const Fact *known = find(facts, cell, isCertain);
      if (!known)
        known = find(facts, cell,
                     [&](const Fact &fact) { return fact.isExact && isSame(fact.cell, cell); });
      if (known) {
        ++tests;
        if (auto remark = remarkDone(op, "prove-activity", "activity"))
          remark << "the test of '" << accessName(op.getTree(), op.getPath()).name
                 << "' goes: it is known whether its cell is active";
        return replace(op, known->condition);
      }
    }
    add(facts, {std::move(cell), op.getActive(), !op.getEntry()});
  }

  SmallVector<DeactivateOp> never;
};
} // namespace
