//===- SerializeReductions.cpp - sums along loop variables ------*- C++ -*-===//
//
// `for i, j in a: sums[i] += a[i, j]` adds atomically to a place that all iterations of one i share. Iterations run in no order, so
// those may run one after the other: their sum is a value, which is added to the place once.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/LoopBox.h"
#include "metate/Transforms/OwnPlaces.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/PlainAtomics.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_SERIALIZEREDUCTIONS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// So many iterations are to be left to share out.
constexpr int64_t leastShared = 64;

arith::AtomicRMWKind kindOf(Operation *atomic) {
  if (auto cell = dyn_cast<AtomicOp>(atomic))
    return cell.getKind();
  return cast<memref::AtomicRMWOp>(atomic).getKind();
}

OpOperand &valueOf(Operation *atomic) {
  if (auto cell = dyn_cast<AtomicOp>(atomic))
    return cell.getValueMutable();
  return cast<memref::AtomicRMWOp>(atomic).getValueMutable();
}

/// What changes nothing, of a vector each component; null: there is no such value.
TypedAttr startOf(Operation *atomic) {
  arith::AtomicRMWKind kind = kindOf(atomic);
  Type type = valueOf(atomic).get().getType();
  auto vector = dyn_cast<VectorType>(type);
  Type scalar = vector ? vector.getElementType() : type;
  if (kind == arith::AtomicRMWKind::assign || !scalar.isIntOrFloat())
    return TypedAttr();
  OpBuilder builder(atomic);
  if (isMutant(Mutant::ProductFromZero))
    kind = scalar.isInteger() ? arith::AtomicRMWKind::addi : arith::AtomicRMWKind::addf;
  TypedAttr neutral = neutralOf(builder, atomic->getLoc(), kind, scalar);
  return vector && neutral ? TypedAttr(DenseElementsAttr::get(vector, Attribute(neutral)))
                           : neutral;
}

/// The atomics of a loop that share their places along the same variables.
class Reduction {
public:
  explicit Reduction(Operation *loop)
      : loop(loop),
        variables(llvm::to_vector_of<BlockArgument>(loop->getRegion(0).getArguments())) {
    for (Operation &op : loop->getRegion(0).front())
      if (isa<AtomicOp, memref::AtomicRMWOp>(op) && op.use_empty() && isSteady(&op))
        add(&op);
  }

  bool isWorthwhile() const {
    if (atomics.empty())
      return false;
    // How many iterations are shared out, and that it is no long one.
    bool isKnown = true;
    int64_t shared = 1;
    OpBuilder builder(loop);
    LoopBox box = LoopBox::of(loop, builder);
    for (auto [k, bounds] : llvm::enumerate(llvm::zip(box.lower, box.upper))) {
      APInt from, to;
      if (reduced[k])
        continue;
      if (matchPattern(std::get<0>(bounds), m_ConstantInt(&from)) &&
          matchPattern(std::get<1>(bounds), m_ConstantInt(&to)))
        shared = std::min<int64_t>(shared * std::max<int64_t>((to - from).getSExtValue(), 0),
                                   leastShared);
      else
        isKnown = false;
    }
    bool isShort = !loop->walk([](scf::ForOp) { return WalkResult::interrupt(); }).wasInterrupted();
    return isKnown ? shared >= leastShared : isShort;
  }

  unsigned run(bool reassociate) {
    OpBuilder builder(loop);
    Location loc = loop->getLoc();
    LoopBox box = LoopBox::of(loop, builder), kept;
    for (unsigned k = 0; k < variables.size(); ++k)
      if (!reduced[k]) {
        kept.lower.push_back(box.lower[k]);
        kept.upper.push_back(box.upper[k]);
      }
    // Nothing is added where nothing was: the place may not be there.
    for (unsigned k = 0; k < variables.size(); ++k)
      if (reduced[k]) {
        Value some = builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt,
                                                         box.lower[k], box.upper[k]);
        kept.upper[0] =
            builder.createOrFold<arith::SelectOp>(loc, some, kept.upper[0], kept.lower[0]);
      }
    auto range = RangeOp::create(builder, loc, kept.lower, kept.upper);
    if (isa<RangeOp>(loop))
      range->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    builder.setInsertionPointToStart(&range.getBody().front());
    unsigned next = 0;
    for (unsigned k = 0; k < variables.size(); ++k)
      if (!reduced[k])
        variables[k].replaceAllUsesWith(range.getBody().getArgument(next++));
    SmallVector<Value> sums;
    for (Operation *atomic : atomics)
      sums.push_back(arith::ConstantOp::create(builder, loc, startOf(atomic)));
    for (auto [atomic, sum] : llvm::zip(atomics, makeLoops(builder, box, sums, reassociate)))
      valueOf(atomic).set(sum);
    loop->erase();
    return atomics.size();
  }

private:
  /// Its place is computed of the loop's variables and of nothing that memory says.
  bool isSteady(Operation *atomic) {
    if (auto cell = CellAccess::of(atomic)) {
      TreePath path = cell->resolve();
      if (path.lastActivity() >= 0 || path.lastPool() >= 0)
        return false;
    }
    slices[atomic] = sliceOf(atomic);
    return llvm::all_of(slices[atomic],
                        [](Operation *op) { return op->getNumRegions() == 0 && isPure(op); });
  }

  /// What its place is computed by, in the loop.
  llvm::SetVector<Operation *> sliceOf(Operation *atomic) const {
    llvm::SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.filter = [&](Operation *op) { return op != loop && loop->isAncestor(op); };
    options.omitBlockArguments = true;
    for (OpOperand &operand : atomic->getOpOperands()) {
      Operation *op = operand.get().getDefiningOp();
      if (&operand == &valueOf(atomic) || !op || !loop->isAncestor(op) || op == loop)
        continue;
      (void)getBackwardSlice(op, &slice, options);
      slice.insert(op);
    }
    return slice;
  }

  /// Variables of the loop that the place does not name.
  llvm::SmallBitVector reducedBy(Operation *atomic) const {
    llvm::SmallBitVector bits(variables.size(), true);
    auto name = [&](Operation *op, OpOperand *except) {
      for (OpOperand &operand : op->getOpOperands())
        if (auto argument = dyn_cast<BlockArgument>(operand.get());
            argument && &operand != except && argument.getOwner()->getParentOp() == loop)
          bits.reset(argument.getArgNumber());
    };
    name(atomic, &valueOf(atomic));
    for (Operation *op : slices.lookup(atomic))
      name(op, nullptr);
    return bits;
  }

  /// Nothing else in the loop names the target, but other such atomics. An old value shows what the iteration itself has added before.
  bool isAlone(Operation *atomic) const {
    AccessTarget target = writeOf(atomic)->first;
    return !walkWithCalls(loop, [&](Operation *op) {
              bool isOther = !isa<AtomicOp, memref::AtomicRMWOp>(op) || op->getParentOp() != loop ||
                             !op->use_empty() || !startOf(op);
              bool names =
                  llvm::is_contained(op->getOperands(), target.first) && !isa<memref::DimOp>(op);
              if (auto access = CellAccess::of(op); access && names)
                names = access->path == target.second;
              return isOther && names ? WalkResult::interrupt() : WalkResult::advance();
            }).wasInterrupted();
  }

  void add(Operation *atomic) {
    llvm::SmallBitVector bits = reducedBy(atomic);
    if (!bits[bits.size() - 1] || bits.all() || (!atomics.empty() && bits != reduced) ||
        !startOf(atomic) || !isAlone(atomic))
      return;
    reduced = bits;
    atomics.push_back(atomic);
  }

  /// The body in loops over what is reduced; where it stood, the places are computed and the atomics stand.
  scf::ValueVector makeLoops(OpBuilder &builder, const LoopBox &box, ArrayRef<Value> sums,
                             bool reassociate) {
    placeAtomics(builder);
    builder.setInsertionPointAfter(sums.back().getDefiningOp());
    Location loc = loop->getLoc();
    SmallVector<Value> lower, upper;
    for (unsigned k : reduced.set_bits()) {
      lower.push_back(box.lower[k]);
      upper.push_back(box.upper[k]);
    }
    SmallVector<Value> step(lower.size(), arith::ConstantIndexOp::create(builder, loc, 1));
    auto body = [&](OpBuilder &inside, Location, ValueRange named, ValueRange carried) {
      for (auto [k, variable] : llvm::zip(reduced.set_bits(), named))
        variables[k].replaceAllUsesWith(variable);
      Block &from = loop->getRegion(0).front(), &to = *inside.getInsertionBlock();
      from.getTerminator()->erase();
      to.getOperations().splice(to.end(), from.getOperations());
      inside.setInsertionPointToEnd(&to);
      scf::ValueVector next;
      for (auto [atomic, sum] : llvm::zip(atomics, carried))
        next.push_back(combine(inside, atomic, sum, reassociate));
      return next;
    };
    return scf::buildLoopNest(builder, loc, lower, upper, step, sums, body).results;
  }

  void placeAtomics(OpBuilder &builder) {
    IRMapping mapping;
    for (Operation *atomic : atomics) {
      for (Operation &op : loop->getRegion(0).front())
        if (slices.lookup(atomic).contains(&op) && !mapping.contains(op.getResult(0)))
          builder.clone(op, mapping);
      atomic->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
      for (OpOperand &operand : atomic->getOpOperands())
        if (&operand != &valueOf(atomic))
          operand.set(mapping.lookupOrDefault(operand.get()));
    }
  }

  static Value combine(OpBuilder &builder, Operation *atomic, Value sum, bool reassociate) {
    // Iterations of a parallel loop add in any order.
    auto flags = arith::FastMathFlags::contract;
    if (reassociate)
      flags = flags | arith::FastMathFlags::reassoc;
    return combinePlain(builder, atomic->getLoc(), kindOf(atomic), sum, valueOf(atomic).get(),
                        flags);
  }

  Operation *loop;
  SmallVector<BlockArgument> variables;
  SmallVector<Operation *> atomics;
  llvm::SmallBitVector reduced; ///< by variable
  llvm::DenseMap<Operation *, llvm::SetVector<Operation *>> slices;
};

struct SerializeReductions : metate::impl::SerializeReductionsBase<SerializeReductions> {
  using SerializeReductionsBase::SerializeReductionsBase;

  void runOnOperation() override {
    if (getOperation().getDebug() || getOperation().getMayAlias())
      return;
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front()))
      if (isa<RangeOp, ForEachOp>(op) && LoopBox::is(&op) && !op.hasAttr(mark::rest))
        visit(&op);
  }

private:
  void visit(Operation *loop) {
    if (loop->getRegion(0).getNumArguments() < 2)
      return;
    Reduction reduction(loop);
    if (!reduction.isWorthwhile())
      return;
    remarkDone(loop, "serialize-reductions", "reductions")
        << "what iterations add to places that they share along the last dimension is summed by a "
           "loop in order, and added once";
    serialized += reduction.run(reassociate);
  }
};
} // namespace
