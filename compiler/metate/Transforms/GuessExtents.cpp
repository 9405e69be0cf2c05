//===- GuessExtents.cpp - arrays of small matrices, by the indices that name them -*- C++ -*-===//
//
// `a[p, i, k]` of an array of which the launch has the extents: where a matrix begins, and its rows, is a product of numbers that nobody knows, and what is
// side by side is not seen to be. But who loops over 3 x 3 has arrays of 3 x 3 most of the time. So there are two loops: one for such extents, whose
// turns write out the small dimensions, and the one that is there for others. One of them is empty in each launch.
//
// `x[at[q, 0], at[q, 1], at[q, 2]]` names all numbers of a row: an array of points. At a known distance LLVM reads them side by side and shuffles; else
// it gathers each.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_GUESSEXTENTS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
class ExtentGuess {
public:
  explicit ExtentGuess(RangeOp range) : range(range), body(range.getBody().front()) {}

  bool find() {
    if (!llvm::all_of(body.without_terminator(), [](Operation &op) {
          return op.getNumRegions() == 0 &&
                 (isa<memref::LoadOp, memref::StoreOp, LoadOp, StoreOp>(op) || isPure(&op) ||
                  (isa<memref::AtomicRMWOp>(op) && op.hasAttr(mark::reduction)));
        }))
      return false;
    countUnrolled();
    llvm::MapVector<Value, Named> most;
    for (Operation &op : body) {
      accesses += isa<memref::LoadOp, memref::StoreOp, LoadOp, StoreOp>(op);
      if (auto load = dyn_cast<memref::LoadOp>(op))
        note(most[load.getMemRef()], load.getIndices());
      if (auto store = dyn_cast<memref::StoreOp>(op))
        note(most[store.getMemRef()], store.getIndices());
    }
    for (auto &[array, named] : most)
      guess(array, named);
    return !extents.empty();
  }

  void run() {
    OpBuilder builder(range);
    Location loc = range.getLoc();
    Value holds = condition(builder);
    SmallVector<Value> lower(range.getLower().drop_back(unrolled)),
        upper(range.getUpper().drop_back(unrolled));
    Value first = lower[0], end = upper[0];
    upper[0] = arith::SelectOp::create(builder, loc, holds, end, first);
    auto known = RangeOp::create(builder, loc, lower, upper);
    known->setDiscardableAttrs(range->getDiscardableAttrDictionary());
    IRMapping variables;
    variables.map(body.getArguments().drop_back(unrolled), known.getBody().getArguments());
    builder.setInsertionPoint(known.getBody().front().getTerminator());
    writeOut(builder, variables, body.getNumArguments() - unrolled);
    builder.setInsertionPoint(range);
    range.getUpperMutable()[0].set(
        arith::SelectOp::create(builder, loc, holds, first, end).getResult());
  }

private:
  /// What the body's indices say of an array.
  struct Named {
    SmallVector<int64_t> ends; ///< what a dimension's indices end before: 0 is not known
    uint32_t constants = 0;    ///< that name numbers of the last dimension: a bit each
    int64_t accesses = 0;

    /// A row of which each number is named: a point, not a border of something longer.
    bool isPoint() const {
      return ends.size() == 2 && ends[1] > 1 && constants == (1u << ends[1]) - 1;
    }
  };

  static constexpr int64_t leastNumbers = 5, mostNumbers = 16;
  /// Accesses of a turn to one of them of a point, at most: what reads much else (27 neighbours) would be compiled twice for little.
  static constexpr int64_t mostToOne = 4;
  static constexpr int64_t mostOperations = 600;
  /// Turns of the last dimension that are no vectors of their own: rows of 16 f32 in order take half the time of 16 numbers a turn.
  static constexpr int64_t mostInRow = 8;

  std::optional<std::pair<int64_t, int64_t>> boundsOf(size_t axis) {
    auto lower = getConstantIntValue(range.getLower()[axis]),
         upper = getConstantIntValue(range.getUpper()[axis]);
    if (!lower || !upper || *lower < 0 || *upper <= *lower || *upper > mostNumbers)
      return std::nullopt;
    return std::pair(*lower, *upper);
  }

  /// The last dimensions, all but the first at most, that a turn can write out.
  void countUnrolled() {
    int64_t turns = 1, operations = llvm::range_size(body);
    for (size_t axis = body.getNumArguments(); axis-- > 1; ++unrolled) {
      auto bounds = boundsOf(axis);
      if (!bounds)
        break;
      turns *= bounds->second - bounds->first;
      if (turns > (unrolled ? mostNumbers : mostInRow) || turns * operations > mostOperations)
        break;
    }
  }

  void note(Named &named, ValueRange indices) {
    ++named.accesses;
    named.ends.resize(indices.size(), 1);
    for (auto [end, index] : llvm::zip(named.ends, indices)) {
      int64_t here = 0;
      auto variable = dyn_cast<BlockArgument>(index);
      if (auto constant = getConstantIntValue(index))
        here = *constant >= 0 && *constant < mostNumbers ? *constant + 1 : 0;
      else if (variable && variable.getOwner() == &body &&
               variable.getArgNumber() >= body.getNumArguments() - unrolled)
        here = boundsOf(variable.getArgNumber())->second;
      end = end && here ? std::max(end, here) : 0;
    }
    auto last = indices.empty() ? std::nullopt : getConstantIntValue(indices.back());
    if (last && *last >= 0 && *last < mostNumbers)
      named.constants |= 1u << *last;
  }

  /// A point for each turn, and not much else. Of two dimensions the inner one has the same point in all turns.
  bool isOfPoints(const Named &named) {
    return named.isPoint() && body.getNumArguments() == 1 && named.accesses * mostToOne >= accesses;
  }

  void guess(Value array, const Named &named) {
    ArrayRef<int64_t> ends = named.ends;
    auto type = cast<MemRefType>(array.getType());
    if (!isa<BlockArgument>(array) || !type.getLayout().isIdentity())
      return;
    SmallVector<int64_t> last;
    int64_t numbers = 1;
    for (size_t d = ends.size(); d-- > 1 && ends[d] && type.isDynamicDim(d);) {
      if (numbers * ends[d] > mostNumbers)
        break;
      numbers *= ends[d];
      last.insert(last.begin(), ends[d]);
    }
    if (numbers >= leastNumbers || (numbers > 1 && isOfPoints(named)))
      extents[array] = last;
  }

  Value condition(OpBuilder &builder) {
    Location loc = range.getLoc();
    Value holds;
    for (auto &[array, last] : extents) {
      size_t first = size_t(cast<MemRefType>(array.getType()).getRank()) - last.size();
      for (auto [d, extent] : llvm::enumerate(last)) {
        Value is = memref::DimOp::create(builder, loc, array, int64_t(first + d));
        Value guessed = arith::ConstantIndexOp::create(builder, loc, extent);
        Value equal = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, is, guessed);
        if (isMutant(Mutant::ExtentUnasked) && holds)
          continue;
        holds = holds ? arith::AndIOp::create(builder, loc, holds, equal) : equal;
      }
    }
    return holds;
  }

  /// A copy of the body for each number of the dimensions from `axis` on.
  void writeOut(OpBuilder &builder, IRMapping &variables, size_t axis) {
    if (axis < body.getNumArguments()) {
      auto [first, end] = *boundsOf(axis);
      for (int64_t number = first; number < end; ++number) {
        variables.map(body.getArgument(axis),
                      arith::ConstantIndexOp::create(builder, range.getLoc(), number));
        writeOut(builder, variables, axis + 1);
      }
      return;
    }
    for (Operation &op : body.without_terminator()) {
      Operation *copy = builder.clone(op, variables);
      Value array;
      if (auto load = dyn_cast<memref::LoadOp>(copy))
        array = load.getMemRef();
      else if (auto store = dyn_cast<memref::StoreOp>(copy))
        array = store.getMemRef();
      if (auto known = extents.find(array); array && known != extents.end())
        copy->setAttr(mark::extents, builder.getDenseI64ArrayAttr(known->second));
    }
  }

  RangeOp range;
  Block &body;
  size_t unrolled = 0; ///< of the range's dimensions
  int64_t accesses = 0;
  llvm::MapVector<Value, SmallVector<int64_t>> extents; ///< of arrays' last dimensions
};

struct GuessExtents : metate::impl::GuessExtentsBase<GuessExtents> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getDebug() || kernel.getMayAlias() || kernel->hasAttr(mark::deterministic))
      return;
    for (RangeOp range : llvm::make_early_inc_range(kernel.getBody().front().getOps<RangeOp>())) {
      ExtentGuess guess(range);
      if (range->hasAttr(mark::rest) || !guess.find())
        continue;
      remarkDone(range, "guess-extents", "nests")
          << "arrays whose last extents are what the indices end before have a loop of their own";
      guess.run();
      ++guessed;
    }
  }
};
} // namespace
