//===- CountWork.cpp - what an iteration moves and computes -----*- C++ -*-===//
//
// Says of each parallel task how many bytes an iteration has to move and how many floating-point operations it computes: at
// least, so that a bound of its time can be made of them. Changes nothing. Elements that iterations share (neighbours at
// constant offsets) count once; what the caches may hold (places that do not depend on all of the loop's variables) and
// places that memory says are left out.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Dialect/Quant.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

namespace metate {
#define GEN_PASS_DEF_COUNTWORK
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// One element of memory: where, and by which part of the loop's variables.
struct Place {
  Value target;
  StringRef path;
  SmallVector<LinearForm> indices; ///< without constants
  bool isWritten = false;

  bool isSame(const Place &other) const {
    auto sameForm = [](auto pair) {
      const auto &[a, b] = pair;
      return a.terms.size() == b.terms.size() && llvm::all_of(a.terms, [&](auto &term) {
               return b.coefficient(term.first) == term.second;
             });
    };
    return target == other.target && path == other.path && isWritten == other.isWritten &&
           indices.size() == other.indices.size() &&
           llvm::all_of(llvm::zip(indices, other.indices), sameForm);
  }
};

/// The work of one task's iteration.
class Work {
public:
  explicit Work(Operation *task) : task(task) {
    llvm::append_range(variables, task->getRegion(0).getArguments());
    if (isa<CellsOp>(task))
      variables.erase(variables.begin()); // the slot's number
    task->walk([&](scf::ForOp loop) {
      APInt lower, upper;
      if (!loop->hasAttr(mark::nest) ||
          !matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
          !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)))
        return;
      variables.push_back(loop.getInductionVar());
      cells *= (upper - lower).getSExtValue();
    });
    count(task->getRegion(0).front(), 1);
  }

  int64_t read = 0, written = 0;  ///< bytes an innermost iteration
  int64_t gathered = 0;           ///< accesses at places that memory says
  int64_t operations = 0;         ///< of floating-point numbers
  int64_t cells = 1;              ///< innermost iterations in one of the task
  bool isOpen = false;            ///< has it loops whose turns are known at run time only?
  llvm::SetVector<Value> strided; ///< arrays whose elements may lie apart

private:
  static int64_t bytesOf(Type type) {
    auto vector = dyn_cast<VectorType>(type);
    Type element = signlessType(vector ? vector.getElementType() : type);
    if (!element.isIntOrFloat())
      return 0;
    return (vector ? vector.getNumElements() : 1) *
           int64_t((element.getIntOrFloatBitWidth() + 7) / 8);
  }

  void count(Block &block, int64_t turns) {
    for (Operation &op : block) {
      countAccess(&op);
      if (isComputed(op))
        operations += turns * elementsOf(op);
      auto loop = dyn_cast<scf::ForOp>(op);
      int64_t inside = turns;
      if (loop && !loop->hasAttr(mark::nest)) {
        APInt lower, upper, step;
        bool isKnown = matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) &&
                       matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) &&
                       matchPattern(loop.getStep(), m_ConstantInt(&step));
        isOpen |= !isKnown;
        if (isKnown)
          inside *= std::max<int64_t>(0, (upper - lower).getSExtValue() / step.getSExtValue());
      }
      isOpen |= isa<scf::WhileOp>(op);
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          count(inner, inside);
    }
  }

  static int64_t elementsOf(Operation &op) {
    Type type = op.getNumResults() ? op.getResult(0).getType() : Type();
    auto vector = dyn_cast_or_null<VectorType>(type);
    return vector ? vector.getNumElements() : 1;
  }

  static bool isComputed(Operation &op) {
    if (isa<math::MathDialect>(op.getDialect()))
      return isa<FloatType>(getElementTypeOrSelf(op.getResult(0).getType()));
    if (auto rmw = dyn_cast<memref::AtomicRMWOp>(op))
      return isa<FloatType>(rmw.getValue().getType());
    if (auto atomic = dyn_cast<AtomicOp>(op))
      return isa<FloatType>(getElementTypeOrSelf(atomic.getValue().getType()));
    return isa<ElementaryOp, arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
               arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op);
  }

  void countAccess(Operation *op) {
    if (auto cell = CellAccess::of(op); cell && isa<LoadOp, StoreOp, AtomicOp>(op)) {
      Type type = cell->resolve().place.getType();
      if (!isa<StoreOp>(op))
        add({cell->tree, cell->path, {}, false}, cell->coordinates, bytesOf(type));
      if (!isa<LoadOp>(op))
        add({cell->tree, cell->path, {}, true}, cell->coordinates, bytesOf(type));
    } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
      add({load.getMemRef(), "", {}, false}, load.getIndices(), bytesOf(load.getType()));
    } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
      add({store.getMemRef(), "", {}, true}, store.getIndices(),
          bytesOf(store.getValueToStore().getType()));
    } else if (auto rmw = dyn_cast<memref::AtomicRMWOp>(op)) {
      add({rmw.getMemref(), "", {}, false}, rmw.getIndices(), bytesOf(rmw.getValue().getType()));
      add({rmw.getMemref(), "", {}, true}, rmw.getIndices(), bytesOf(rmw.getValue().getType()));
    }
  }

  bool dependsOnMemory(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !task->isProperAncestor(op))
      return false;
    if (isa<LoadOp, memref::LoadOp>(op))
      return true;
    auto [known, isNew] = ofMemory.try_emplace(op, false); // an operand of many is looked at once
    if (!isNew)
      return known->second;
    return ofMemory[op] = llvm::any_of(op->getOperands(),
                                       [&](Value operand) { return dependsOnMemory(operand); });
  }

  void add(Place place, OperandRange indices, int64_t bytes) {
    auto array = dyn_cast<MemRefType>(place.target.getType());
    if (array && array.getRank() && !array.getLayout().isIdentity())
      strided.insert(place.target);
    llvm::SmallDenseSet<Value> missing(variables.begin(), variables.end());
    for (Value index : indices) {
      LinearForm form = LinearForm::of(index);
      form.constant = 0;
      for (auto &[term, factor] : form.terms) {
        missing.erase(term);
        if (dependsOnMemory(term)) {
          ++gathered;
          return;
        }
      }
      place.indices.push_back(std::move(form));
    }
    if (!missing.empty() ||
        llvm::any_of(places, [&](const Place &known) { return known.isSame(place); }))
      return;
    (place.isWritten ? written : read) += bytes;
    places.push_back(std::move(place));
  }

  Operation *task;
  SmallVector<Value> variables;
  SmallVector<Place, 0> places;
  llvm::DenseMap<Operation *, bool>
      ofMemory; ///< operations whose results follow from what was read
};

/// The innermost iterations in a row of a range of several dimensions; 0: not known, 1: a range of one.
int64_t rowOf(Operation *task) {
  auto range = dyn_cast<RangeOp>(task);
  if (!range || range.getLower().size() < 2)
    return 1;
  APInt lower, upper;
  if (!matchPattern(range.getLower().back(), m_ConstantInt(&lower)) ||
      !matchPattern(range.getUpper().back(), m_ConstantInt(&upper)))
    return 0;
  return (upper - lower).getSExtValue();
}

struct CountWork : metate::impl::CountWorkBase<CountWork> {
  void runOnOperation() override {
    if (!wantsRemarks(&getContext()))
      return;
    for (Operation &task : getOperation().getBody().front())
      if (isa<RangeOp, CellsOp>(task))
        remark(&task);
  }

private:
  static void remark(Operation *task) {
    Work work(task);
    auto remark = remarkNoted(task, "count-work", "work");
    remark << "an iteration reads at least " << Number("read", work.read) << " bytes, writes "
           << Number("written", work.written) << " and computes "
           << Number("operations", work.operations)
           << (work.isOpen ? " floating-point operations a turn of its loops"
                           : " floating-point operations");
    if (work.gathered)
      remark << "; " << Number("gathered", work.gathered)
             << " accesses are at places that memory says";
    // For who makes a bound of it; not of the text.
    remark << Number("#cells", work.cells) << Number("#row", rowOf(task))
           << Number("#open", work.isOpen);
    for (Value array : work.strided)
      if (auto about = remarkNoted(task, "count-work", "strides"))
        about << "the code is for any strides of '" << accessName(array).name
              << "', elements may lie apart; a call with contiguous arrays has code of its own";
  }
};
} // namespace
