//===- VectorSums.cpp - loops that carry vectors keep them ------*- C++ -*-===//
//
// `s = ti.Vector.zero(ti.f32, 8); for i in range(n): s += a[i, j]` is eight sums of numbers side by side. Emit takes the language's vectors
// apart, so that LLVM makes vectors of iterations: eight sums of iterations that lie a row apart. Here the numbers are read as the vector
// that they are, and a loop whose additions may be taken in any order carries several, for none waits for the one before.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Target/Cpu/LoopAnnotation.h"
#include "metate/Target/Cpu/Passes.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/PlainAtomics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_VECTORSUMS
#include "metate/Target/Cpu/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

namespace {
/// Vectors that one loop carries in the place of one.
constexpr int64_t sumsOfOne = 4;
constexpr int64_t leastVector = 16, mostVector = 64;

/// Vectors of one length and type of numbers are computed number by number; a matrix is the vector of its rows.
bool isWhole(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || !vector.getElementType().isIntOrFloat())
    return false;
  int64_t bytes = vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
  return llvm::isPowerOf2_64(uint64_t(bytes)) && bytes >= leastVector && bytes <= mostVector;
}

VectorType flat(Type type) {
  auto vector = cast<VectorType>(type);
  return VectorType::get({vector.getNumElements()}, vector.getElementType());
}

/// How a carried value becomes the next one, if any order will do.
std::optional<arith::AtomicRMWKind> kindOf(Operation *op) {
  using arith::AtomicRMWKind;
  if (isa<arith::AddIOp>(op))
    return AtomicRMWKind::addi;
  if (isa<arith::MulIOp>(op))
    return AtomicRMWKind::muli;
  auto floats = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!floats ||
      !bitEnumContainsAll(floats.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::reassoc))
    return std::nullopt;
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return AtomicRMWKind::addf;
  if (isa<arith::MulFOp>(op))
    return AtomicRMWKind::mulf;
  if (isa<arith::MinNumFOp>(op))
    return AtomicRMWKind::minnumf;
  if (isa<arith::MaxNumFOp>(op))
    return AtomicRMWKind::maxnumf;
  return std::nullopt;
}

class VectorSums {
public:
  explicit VectorSums(scf::ForOp loop) : loop(loop) {}

  bool find() {
    if (loop.getNumResults() == 0 || !llvm::all_of(loop.getResultTypes(), isWhole))
      return false;
    for (Operation &op : loop.getBody()->without_terminator())
      if (!take(op))
        return false;
    return anyRow;
  }

  void run() {
    OpBuilder builder(loop);
    SmallVector<Value> carried;
    for (Value init : loop.getInitArgs())
      carried.push_back(flattened(builder, init));
    Value lower = loop.getLowerBound();
    auto kinds = accumulations();
    if (kinds) {
      Value middle = wholeTurns(builder);
      carried = runSeveral(builder, lower, middle, carried, *kinds);
      if (!isMutant(Mutant::VectorSumRepeats))
        lower = middle;
    }
    scf::ForOp rest = runFrom(builder, lower, loop.getUpperBound(), loop.getStep(), carried, 1);
    builder.setInsertionPointAfter(rest);
    if (auto remark = remarkDone(loop, "vector-sums", "vectors"))
      remark << "the vectors that the loop carries are read whole"
             << (kinds ? ", and it carries several of each" : "");
    for (auto [result, value] : llvm::zip(loop.getResults(), rest.getResults()))
      result.replaceAllUsesWith(shaped(builder, value, cast<VectorType>(result.getType())));
    loop.erase();
  }

private:
  /// Can it be computed for whole vectors?
  bool take(Operation &op) {
    if (auto read = dyn_cast<ReadOp>(op))
      return !read.getAcquire();
    if (op.getNumRegions() || !isMemoryEffectFree(&op))
      return false;
    if (auto elements = dyn_cast<vector::FromElementsOp>(op)) {
      anyRow |= isRow(elements);
      return isRow(elements);
    }
    bool anyVector = llvm::any_of(op.getOperandTypes(), llvm::IsaPred<VectorType>) ||
                     llvm::any_of(op.getResultTypes(), llvm::IsaPred<VectorType>);
    if (!anyVector || isa<vector::BroadcastOp>(op))
      return !anyVector || !isa<VectorType>(op.getOperand(0).getType());
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return isa<SplatElementsAttr>(constant.getValue());
    return op.hasTrait<OpTrait::Elementwise>() && op.getNumResults() == 1;
  }

  /// Numbers that lie side by side, in their order, which nothing else reads.
  static bool isRow(vector::FromElementsOp elements) {
    auto first = elements.getElements().front().getDefiningOp<ReadOp>();
    if (!first || !isWhole(elements.getType()))
      return false;
    LinearForm form = LinearForm::of(first.getOffset());
    int64_t bytes = elements.getType().getElementTypeBitWidth() / 8;
    for (auto [k, element] : llvm::enumerate(elements.getElements())) {
      auto read = element.getDefiningOp<ReadOp>();
      if (!read || read->getBlock() != elements->getBlock() ||
          read.getBlock() != first.getBlock() || read.getScope() != first.getScope() ||
          !element.hasOneUse())
        return false;
      LinearForm distance = LinearForm::of(read.getOffset()).minus(form);
      if (!distance.terms.empty() || distance.constant != int64_t(k) * bytes)
        return false;
    }
    return true;
  }

  /// What is done to each carried value, if the loop only accumulates in it, in any order.
  std::optional<SmallVector<arith::AtomicRMWKind>> accumulations() {
    SmallVector<arith::AtomicRMWKind> kinds;
    for (auto [carried, next] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues())) {
      Operation *op = next.getDefiningOp();
      auto kind = op ? kindOf(op) : std::nullopt;
      if (!kind || op->getBlock() != loop.getBody() || !carried.hasOneUse() || !next.hasOneUse() ||
          *carried.user_begin() != op ||
          (isa<arith::SubFOp>(op) && op->getOperand(0) != Value(carried)))
        return std::nullopt;
      kinds.push_back(*kind);
    }
    return kinds;
  }

  /// Where the turns end that make whole groups.
  Value wholeTurns(OpBuilder &builder) {
    Location loc = loop.getLoc();
    Value lower = loop.getLowerBound(), step = loop.getStep();
    Value none = arith::ConstantIndexOp::create(builder, loc, 0);
    Value span = builder.createOrFold<arith::SubIOp>(loc, loop.getUpperBound(), lower);
    span = builder.createOrFold<arith::MaxSIOp>(loc, span, none);
    Value turns = builder.createOrFold<arith::CeilDivUIOp>(loc, span, step);
    Value mask = arith::ConstantIndexOp::create(builder, loc, -sumsOfOne);
    Value whole = builder.createOrFold<arith::AndIOp>(loc, turns, mask);
    whole = builder.createOrFold<arith::MulIOp>(loc, whole, step);
    return builder.createOrFold<arith::AddIOp>(loc, lower, whole);
  }

  /// Turns in groups, each with its own vectors, which are then combined.
  SmallVector<Value> runSeveral(OpBuilder &builder, Value lower, Value middle,
                                ArrayRef<Value> carried, ArrayRef<arith::AtomicRMWKind> kinds) {
    Location loc = loop.getLoc();
    SmallVector<Value> inits;
    for (auto [kind, init] : llvm::zip(kinds, carried)) {
      auto type = cast<VectorType>(init.getType());
      TypedAttr one = neutralOf(builder, loc, kind, type.getElementType());
      Value neutral = arith::ConstantOp::create(builder, loc, SplatElementsAttr::get(type, one));
      inits.push_back(init);
      inits.append(sumsOfOne - 1, neutral);
    }
    Value width = arith::ConstantIndexOp::create(builder, loc, sumsOfOne);
    Value step = builder.createOrFold<arith::MulIOp>(loc, loop.getStep(), width);
    scf::ForOp several = runFrom(builder, lower, middle, step, inits, sumsOfOne);
    builder.setInsertionPointAfter(several);
    SmallVector<Value> combined;
    for (auto [number, kind] : llvm::enumerate(kinds)) {
      auto of = [&](int64_t k) { return several.getResult(unsigned(number * sumsOfOne + k)); };
      auto pair = [&](Value lhs, Value rhs) {
        return arith::getReductionOp(kind, builder, loc, lhs, rhs);
      };
      combined.push_back(pair(pair(of(0), of(1)), pair(of(2), of(3))));
    }
    return combined;
  }

  /// The loop of whole vectors, `count` turns in one.
  scf::ForOp runFrom(OpBuilder &builder, Value lower, Value upper, Value step,
                     ArrayRef<Value> inits, int64_t count) {
    Location loc = loop.getLoc();
    auto wide = scf::ForOp::create(builder, loc, lower, upper, step, inits);
    wide->setAttr("loop_annotation", LoopAnnotation::asItIs().in(builder.getContext()));
    if (wide.getBody()->mightHaveTerminator() && !wide.getBody()->empty())
      wide.getBody()->getTerminator()->erase();
    OpBuilder inside = OpBuilder::atBlockEnd(wide.getBody());
    SmallVector<Value> next(inits.size());
    for (int64_t copy = 0; copy < count; ++copy) {
      IRMapping mapping;
      Value ahead = arith::ConstantIndexOp::create(inside, loc, copy);
      ahead = inside.createOrFold<arith::MulIOp>(loc, ahead, loop.getStep());
      mapping.map(loop.getInductionVar(),
                  inside.createOrFold<arith::AddIOp>(loc, wide.getInductionVar(), ahead));
      for (auto [k, argument] : llvm::enumerate(loop.getRegionIterArgs()))
        mapping.map(argument, wide.getRegionIterArg(unsigned(k * count + copy)));
      for (Operation &op : loop.getBody()->without_terminator())
        write(inside, op, mapping);
      for (auto [k, value] : llvm::enumerate(loop.getYieldedValues()))
        next[k * count + copy] = whole(inside, value, mapping);
    }
    scf::YieldOp::create(inside, loc, next);
    return wide;
  }

  void write(OpBuilder &builder, Operation &op, IRMapping &mapping) {
    Location loc = op.getLoc();
    if (auto elements = dyn_cast<vector::FromElementsOp>(op)) {
      auto first = elements.getElements().front().getDefiningOp<ReadOp>();
      mapping.map(elements.getResult(),
                  ReadOp::create(builder, loc, flat(elements.getType()), first.getBlock(),
                                 mapping.lookupOrDefault(first.getOffset()), first.getScope(),
                                 /*acquire=*/false, first.getInvariant())
                      .getResult());
      return;
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op);
        constant && isa<VectorType>(constant.getType())) {
      auto splat = cast<SplatElementsAttr>(constant.getValue());
      mapping.map(constant.getResult(),
                  arith::ConstantOp::create(builder, loc, splat.reshape(flat(constant.getType())))
                      .getResult());
      return;
    }
    if (auto read = dyn_cast<ReadOp>(op);
        read && llvm::any_of(read->getUsers(), llvm::IsaPred<vector::FromElementsOp>))
      return; // part of a row
    for (Value operand : op.getOperands())
      if (isa<VectorType>(operand.getType()))
        whole(builder, operand, mapping);
    Operation *copy = builder.clone(op, mapping);
    for (OpResult result : copy->getResults())
      if (isa<VectorType>(result.getType()))
        result.setType(flat(result.getType()));
  }

  /// What a vector is in the new loop; one from outside becomes a row of numbers.
  Value whole(OpBuilder &builder, Value value, IRMapping &mapping) {
    if (!mapping.contains(value))
      mapping.map(value, flattened(builder, value));
    return mapping.lookup(value);
  }

  static Value flattened(OpBuilder &builder, Value value) {
    return shaped(builder, value, flat(value.getType()));
  }

  static Value shaped(OpBuilder &builder, Value value, VectorType type) {
    if (type == value.getType())
      return value;
    Location loc = value.getLoc();
    auto numbers = vector::ToElementsOp::create(builder, loc, value);
    return vector::FromElementsOp::create(builder, loc, type, numbers.getResults());
  }

  scf::ForOp loop;
  bool anyRow = false;
};

/// Does the operation compute the language's vectors?
bool hasVectors(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), llvm::IsaPred<VectorType>) ||
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<VectorType>);
}

struct VectorSumsPass : metate::impl::VectorSumsBase<VectorSumsPass> {
  void runOnOperation() override {
    getOperation().walk([&](LLVM::LLVMFuncOp function) {
      if (!hasLanes(function))
        visit(function);
    });
  }

private:
  /// A function's vectors stay, or none does: other loops over vectors are those of LLVM.
  void visit(LLVM::LLVMFuncOp function) {
    SmallVector<scf::ForOp> loops;
    llvm::DenseSet<Operation *> around;
    function.walk([&](scf::ForOp loop) {
      if (!VectorSums(loop).find())
        return;
      loops.push_back(loop);
      for (Operation *op = loop; op != function; op = op->getParentOp())
        around.insert(op);
    });
    if (loops.empty())
      return;
    bool areOthers = function
                         .walk([&](Operation *op) {
                           Operation *loop = op->getParentOfType<LoopLikeOpInterface>();
                           return hasVectors(op) && loop && !around.contains(loop)
                                      ? WalkResult::interrupt()
                                      : WalkResult::advance();
                         })
                         .wasInterrupted();
    for (scf::ForOp loop : loops)
      if (areOthers) {
        remarkDeclined(loop, "vector-sums", "vectors")
            << "the vectors that the loop carries are taken apart: another loop of its task "
               "computes vectors too";
      } else {
        ++kept;
        VectorSums(loop).run();
      }
    if (!areOthers)
      markLanes(function);
  }
};
} // namespace
