//===- LeafForm.cpp - coordinates as base + local + constant ----*- C++ -*-===//
#include "metate/Transforms/LeafForm.h"

#include "metate/Dialect/Call.h"
#include "metate/Level/IndexBuilder.h"
#include "metate/Mutants/Mutants.h"
#include "metate/abi/base.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;

/// Operations of one form: a value that is used again and again is looked at each time.
static constexpr unsigned mostOfForm = 256;

/// Adds factor * value to the form; a value beyond so many operations is a term.
static void accumulate(LinearForm &form, Value value, int64_t factor, unsigned &left) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    form.constant += factor * constant.getSExtValue();
    return;
  }
  left -= left > 0;
  if (auto add = value.getDefiningOp<arith::AddIOp>(); add && left) {
    accumulate(form, add.getLhs(), factor, left);
    accumulate(form, add.getRhs(), factor, left);
    return;
  }
  if (auto sub = value.getDefiningOp<arith::SubIOp>(); sub && left) {
    accumulate(form, sub.getLhs(), factor, left);
    accumulate(form, sub.getRhs(), -factor, left);
    return;
  }
  if (auto mul = value.getDefiningOp<arith::MulIOp>();
      mul && left && matchPattern(mul.getRhs(), m_ConstantInt(&constant))) {
    accumulate(form, mul.getLhs(), factor * constant.getSExtValue(), left);
    return;
  }
  for (auto &[term, coefficient] : form.terms)
    if (term == value) {
      coefficient += factor;
      return;
    }
  form.terms.emplace_back(value, factor);
}

LinearForm LinearForm::of(Value value) {
  LinearForm form;
  unsigned left = mostOfForm;
  accumulate(form, value, 1, left);
  llvm::erase_if(form.terms, [](auto &term) { return term.second == 0; });
  return form;
}

int64_t LinearForm::coefficient(Value value) const {
  for (auto &[term, coefficient] : terms)
    if (term == value)
      return coefficient;
  return 0;
}

LinearForm LinearForm::without(Value value) const {
  LinearForm rest = *this;
  llvm::erase_if(rest.terms, [&](auto &term) { return term.first == value; });
  return rest;
}

LinearForm LinearForm::plus(int64_t shift) const {
  LinearForm moved = *this;
  moved.constant += shift;
  return moved;
}

void LinearForm::add(Value value, int64_t coefficient) {
  for (auto &known : terms)
    if (known.first == value) {
      known.second += coefficient;
      llvm::erase_if(terms, [](auto &each) { return each.second == 0; });
      return;
    }
  if (coefficient)
    terms.emplace_back(value, coefficient);
}

LinearForm LinearForm::minus(const LinearForm &other) const {
  LinearForm result = plus(-other.constant);
  for (auto &[term, coefficient] : other.terms)
    result.add(term, -coefficient);
  return result;
}

Value LinearForm::emit(IndexBuilder &at) const {
  Value sum = at.index(constant);
  for (auto &[term, coefficient] : terms)
    sum = at.add(sum, at.multiply(term, coefficient));
  return sum;
}

std::optional<std::pair<int64_t, int64_t>> metate::boundsOf(Value variable) {
  auto argument = dyn_cast<BlockArgument>(variable);
  if (!argument)
    return std::nullopt;
  Operation *loop = argument.getOwner()->getParentOp();
  Value lower, upper;
  if (auto nest = dyn_cast<scf::ForOp>(loop); nest && nest.getInductionVar() == variable) {
    lower = nest.getLowerBound();
    upper = nest.getUpperBound();
  } else if (auto range = dyn_cast<RangeOp>(loop)) {
    lower = range.getLower()[argument.getArgNumber()];
    upper = range.getUpper()[argument.getArgNumber()];
  } else {
    return std::nullopt;
  }
  APInt least, end;
  if (!matchPattern(lower, m_ConstantInt(&least)) || !matchPattern(upper, m_ConstantInt(&end)))
    return std::nullopt;
  return std::pair(least.getSExtValue(), end.getSExtValue());
}

bool LinearForm::isWithin(int64_t extent) const {
  int64_t least = constant, greatest = constant;
  for (auto [term, coefficient] : terms) {
    auto bounds = boundsOf(term);
    if (!bounds || bounds->first >= bounds->second)
      return false;
    int64_t first = coefficient * bounds->first, last = coefficient * (bounds->second - 1);
    least += std::min(first, last);
    greatest += std::max(first, last);
  }
  return least >= 0 && greatest < extent;
}

std::optional<std::pair<LinearForm, LinearForm>> LinearForm::divide(int64_t divisor) const {
  LinearForm quotient, rest;
  rest.constant = ((constant % divisor) + divisor) % divisor;
  quotient.constant = (constant - rest.constant) / divisor;
  int64_t least = rest.constant, greatest = rest.constant;
  for (auto &[term, coefficient] : terms) {
    if (coefficient % divisor == 0) {
      quotient.terms.emplace_back(term, coefficient / divisor);
      continue;
    }
    auto bounds = boundsOf(term);
    if (!bounds || bounds->first >= bounds->second)
      return std::nullopt;
    int64_t first = coefficient * bounds->first, last = coefficient * (bounds->second - 1);
    least += std::min(first, last);
    greatest += std::max(first, last);
    rest.terms.emplace_back(term, coefficient);
  }
  if (least < 0 || greatest >= divisor)
    return std::nullopt;
  return std::pair(std::move(quotient), std::move(rest));
}

/// The coordinates that tell slots apart are those of the task's slot.
static bool namesOwnSlot(CellsOp cells, const TreePath &path, const LeafForm &form) {
  TreePath slots = *findPath(cast<TreeType>(cells.getTree().getType()), cells.getLevel());
  auto isList = [](LevelInterface level) { return level.isList(); };
  if (llvm::any_of(path.levels, isList) || llvm::any_of(slots.levels, isList))
    return false;
  return llvm::all_of(cells.getBody().getArguments().drop_front(),
                      [&](Value coordinate) { return llvm::is_contained(form.slot, coordinate); });
}

/// Each iteration of the task makes the access at another cell.
static bool isAtOwnCell(CellsOp cells, const CellAccess &access) {
  TreePath path = access.resolve();
  std::optional<LeafForm> form = LeafForm::of(cells, access);
  return form && form->isOwnCell(cells, path) && namesOwnSlot(cells, path, *form);
}

bool metate::staysInOwnSlot(CellsOp cells, const CellAccess &access) {
  std::optional<LeafForm> form = LeafForm::of(cells, access);
  return form && form->staysInLeaf() && namesOwnSlot(cells, access.resolve(), *form);
}

bool metate::isOnlyWriter(KernelOp kernel, CellsOp cells, StoreOp store) {
  CellAccess access = *CellAccess::of(store);
  if (!isAtOwnCell(cells, access) || mayDeactivate(kernel, cells, access.tree))
    return false;
  return !walkWithCalls(cells, [&](Operation *op) {
            if (!writesMember(op))
              return WalkResult::advance();
            CellAccess other = *CellAccess::of(op);
            bool meets = other.path == access.path &&
                         mayBeSameTree(kernel, other.tree, access.tree) &&
                         !isAtOwnCell(cells, other);
            return meets ? WalkResult::interrupt() : WalkResult::advance();
          }).wasInterrupted();
}

SmallVector<scf::ForOp> metate::nestOf(CellsOp cells) {
  SmallVector<scf::ForOp> nest;
  Block *block = &cells.getBody().front();
  while (true) {
    auto loops = block->getOps<scf::ForOp>();
    auto next = llvm::find_if(loops, [](scf::ForOp loop) { return loop->hasAttr(mark::nest); });
    if (next == loops.end())
      return nest;
    nest.push_back(*next);
    block = nest.back().getBody();
  }
}

bool metate::runsForEveryCell(CellsOp cells, Operation *op) {
  SmallVector<scf::ForOp> nest = nestOf(cells);
  Operation *parent = op->getParentOp();
  for (scf::ForOp loop : llvm::reverse(nest)) {
    if (parent != loop)
      continue;
    parent = loop->getParentOp();
  }
  return parent == cells;
}

bool metate::runsForEveryActiveCell(CellsOp cells, Operation *op) {
  auto branch = dyn_cast<scf::IfOp>(op->getParentOp());
  auto test = branch ? branch.getCondition().getDefiningOp<IsActiveOp>() : IsActiveOp();
  return runsForEveryCell(cells, test && test->hasAttr(mark::own) ? branch : op);
}

bool metate::holdsForHalf(Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || (compare.getPredicate() != arith::CmpIPredicate::eq &&
                   compare.getPredicate() != arith::CmpIPredicate::ne))
    return false;
  return llvm::any_of(compare->getOperands(), [](Value side) {
    auto bit = side.getDefiningOp<arith::AndIOp>();
    return bit && (matchPattern(bit.getLhs(), m_One()) || matchPattern(bit.getRhs(), m_One()));
  });
}

bool metate::runsForManyCells(CellsOp cells, Operation *op) {
  auto branch = dyn_cast<scf::IfOp>(op->getParentOp());
  bool isHalf = branch && holdsForHalf(branch.getCondition());
  return runsForEveryActiveCell(cells, isHalf ? branch : op);
}

Operation *metate::leafPoint(CellsOp cells) {
  SmallVector<scf::ForOp> nest = nestOf(cells);
  return nest.empty() ? &cells.getBody().front().front() : nest.front().getOperation();
}

SmallVector<Value> LeafForm::base(OpBuilder &builder, Location loc) const {
  return llvm::map_to_vector(llvm::zip(slot, scale), [&](auto axis) -> Value {
    auto [along, cells] = axis;
    Value factor = arith::ConstantIndexOp::create(builder, loc, along ? cells : 0);
    return along ? arith::MulIOp::create(builder, loc, along, factor).getResult() : factor;
  });
}

bool LeafForm::staysInLeaf() const {
  return llvm::all_of(llvm::zip(extents, least, greatest), [](auto axis) {
    auto [extent, low, high] = axis;
    return low >= 0 && high < extent + isMutant(Mutant::LeafEndOffByOne);
  });
}

bool LeafForm::staysNear() const {
  return llvm::all_of(llvm::zip(extents, least, greatest), [](auto axis) {
    auto [extent, low, high] = axis;
    return low >= -extent && high < 2 * extent;
  });
}

bool LeafForm::isOwnCell(CellsOp cells, const TreePath &path) const {
  SmallVector<scf::ForOp> nest = nestOf(cells);
  LevelInterface leaf = path.levels.back();
  SmallVector<unsigned> axes = levelAxes(leaf);
  if (size_t(path.lastPool()) + 2 != path.levels.size() || axes.size() != nest.size() ||
      path.rank() != nest.size())
    return false;
  return llvm::all_of(llvm::zip(axes, leaf.getLevelExtents(), nest), [&](auto level) {
    auto &[axis, extent, loop] = level;
    const LinearForm &along = local[llvm::find(path.axes, axis) - path.axes.begin()];
    APInt upper;
    return matchPattern(scf::ForOp(loop).getUpperBound(), m_ConstantInt(&upper)) &&
           upper.getSExtValue() == extent && along.constant == 0 && along.terms.size() == 1 &&
           along.terms.front() == std::pair(Value(scf::ForOp(loop).getInductionVar()), int64_t(1));
  });
}

/// Range of a local form whose terms are nest variables; false if another value occurs.
static bool rangeOf(const LinearForm &form, ArrayRef<scf::ForOp> nest, int64_t &least,
                    int64_t &greatest) {
  least = greatest = form.constant;
  for (auto &[term, coefficient] : form.terms) {
    auto loop =
        llvm::find_if(nest, [&](scf::ForOp loop) { return loop.getInductionVar() == term; });
    if (loop == nest.end())
      return false;
    APInt upper;
    scf::ForOp found = *loop;
    matchPattern(found.getUpperBound(), m_ConstantInt(&upper));
    int64_t last = coefficient * (upper.getSExtValue() - 1);
    least += std::min<int64_t>(last, 0);
    greatest += std::max<int64_t>(last, 0);
  }
  return true;
}

std::optional<LeafForm> LeafForm::of(CellsOp cells, const CellAccess &access) {
  TreePath path = access.resolve();
  TreePath slots = *findPath(cast<TreeType>(cells.getTree().getType()), cells.getLevel());
  int depth = path.lastPool();
  if (depth < 0)
    return std::nullopt;
  // Chunks of one list begin where those of another do not.
  LevelInterface pool = path.levels[depth];
  if (pool.isList() && slots.levels != ArrayRef(path.levels).take_front(depth + 1))
    return std::nullopt;
  SmallVector<scf::ForOp> nest = nestOf(cells);
  SmallVector<bool> splitAbove(METATE_MAX_AXES, false);
  for (LevelInterface level : ArrayRef(path.levels).take_front(depth + 1))
    for (unsigned axis : levelAxes(level))
      splitAbove[axis] = true;
  LeafForm form;
  for (auto [k, axis] : llvm::enumerate(path.axes)) {
    int64_t scale = path.extentBelow(depth, k);
    int64_t extent =
        pool.isList() && levelAxes(pool)[0] == axis ? scale * pool.getSlotCells() : scale;
    LinearForm linear = LinearForm::of(access.coordinates[k]);
    Value slot;
    for (auto [n, slotAxis] : llvm::enumerate(slots.axes)) {
      Value argument = cells.getBody().getArgument(1 + n);
      if (linear.coefficient(argument) == 0)
        continue;
      if (slot || slotAxis != axis || linear.coefficient(argument) != scale)
        return std::nullopt;
      slot = argument;
    }
    if (splitAbove[axis] != bool(slot))
      return std::nullopt;
    llvm::erase_if(linear.terms, [&](auto &term) { return term.first == slot; });
    int64_t least, greatest;
    if (!rangeOf(linear, nest, least, greatest))
      return std::nullopt;
    form.extents.push_back(slot ? extent : path.extents[k]);
    form.scale.push_back(scale);
    form.least.push_back(least);
    form.greatest.push_back(greatest);
    form.slot.push_back(slot);
    form.local.push_back(std::move(linear));
  }
  return form;
}
