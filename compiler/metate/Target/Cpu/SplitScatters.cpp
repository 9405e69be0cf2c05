//===- SplitScatters.cpp - what scattered additions add is computed before -===//
//
// Particles add to cells that their positions name. Two of them may name the same cell, so the additions stay one after the other, and
// LLVM makes no vectors of what stands beside them. Here a block of iterations computes what will be added, and where, into local
// arrays, a loop that can be vectors; a second loop adds it, in the order in which it was written.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Target/Cpu/LoopAnnotation.h"
#include "metate/Target/Cpu/MapTasks.h"
#include "metate/Target/Cpu/Passes.h"
#include "metate/Transforms/LeafForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_SPLITSCATTERS
#include "metate/Target/Cpu/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// Local arrays of a block lie in the first cache, beside what the loop reads and writes.
static constexpr int64_t bytesOfBlock = 8 << 10, mostInBlock = 64, leastInBlock = 8;

/// Floating-point operations that are worth two loops: at least so many, and for each number that is added.
static constexpr int64_t leastOperations = 24, operationsPerNumber = 3, operationsOfElementary = 16;

namespace {
/// `block[offset] = block[offset] (step) value`.
struct ScatteredStep {
  ReadOp read;
  Operation *step;
  WriteOp write;
  unsigned old; ///< which operand of the step is read

  Value value() const { return step->getOperand(1 - old); }

  static std::optional<ScatteredStep> of(WriteOp write) {
    Operation *step = write.getValue().getDefiningOp();
    if (!step || step->getBlock() != write->getBlock() || step->getNumOperands() != 2 ||
        !step->hasOneUse() || step->getNumRegions() || !isMemoryEffectFree(step))
      return std::nullopt;
    for (unsigned k : {0u, 1u}) {
      auto read = step->getOperand(k).getDefiningOp<ReadOp>();
      if (!read || !read->hasOneUse() || read->getBlock() != write->getBlock() ||
          read.getBlock() != write.getBlock() || read.getType() != write.getValue().getType())
        continue;
      LinearForm apart = LinearForm::of(read.getOffset()).minus(LinearForm::of(write.getOffset()));
      if (!apart.constant && apart.terms.empty())
        return ScatteredStep{read, step, write, k};
    }
    return std::nullopt;
  }
};

/// Where a step adds: at a distance from an offset that is kept.
struct KeptPlace {
  Value first;
  int64_t distance;
};

/// Offsets at constant distances from one.
struct OffsetGroup {
  LinearForm form;
  Value first;
};

class Split {
public:
  Split(scf::ForOp loop, bool always)
      : loop(loop), always(always), builder(loop), loc(loop.getLoc()) {}

  bool run() {
    if (!isStraight() || !findSteps() || !gains() || !plan())
      return false;
    assemble();
    return true;
  }

private:
  bool isStraight() {
    std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                           upper = getConstantIntValue(loop.getUpperBound());
    return getConstantIntValue(loop.getStep()) == 1 && loop.getNumResults() == 0 &&
           loop.getInductionVar().getType().isIndex() &&
           (always || !lower || !upper || *upper - *lower >= mostInBlock) &&
           llvm::all_of(loop.getBody()->without_terminator(), [](Operation &op) {
             if (auto read = dyn_cast<ReadOp>(op))
               return !read.getAcquire() && isApartFromOthers(read);
             if (auto write = dyn_cast<WriteOp>(op))
               return !write.getRelease() && isApartFromOthers(write);
             return op.getNumRegions() == 0 && isMemoryEffectFree(&op);
           });
  }

  /// Is it computed of what the loop reads?
  bool isFromMemory(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != loop.getBody())
      return false;
    auto [at, isNew] = fromMemory.try_emplace(op, false);
    if (isNew) {
      bool is = isa<ReadOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
                  return isFromMemory(operand);
                });
      fromMemory[op] = is;
      return is;
    }
    return at->second;
  }

  static bool canWait(Type type) {
    Type element = getElementTypeOrSelf(type);
    auto vector = dyn_cast<VectorType>(type);
    return element.isIntOrFloat() && element.getIntOrFloatBitWidth() >= 8 &&
           (!vector || !vector.isScalable());
  }

  /// Blocks that the loop adds to at places from memory, and does not touch otherwise.
  bool findSteps() {
    llvm::DenseMap<int64_t, int64_t> accesses, inSteps;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (auto read = dyn_cast<ReadOp>(op))
        ++accesses[read.getScope()];
      auto write = dyn_cast<WriteOp>(op);
      if (!write)
        continue;
      ++accesses[write.getScope()];
      std::optional<ScatteredStep> step = ScatteredStep::of(write);
      if (!step || !isFromMemory(write.getOffset()) || !canWait(write.getValue().getType()) ||
          isFromMemoryOfStep(*step))
        continue;
      inSteps[write.getScope()] += 2;
      steps.push_back(*step);
    }
    llvm::erase_if(steps, [&](ScatteredStep &step) {
      int64_t scope = step.write.getScope();
      return accesses[scope] != inSteps[scope];
    });
    return !steps.empty() && areInOrder();
  }

  /// Does the value that is added come from what is added to?
  static bool isFromMemoryOfStep(ScatteredStep step) {
    auto read = step.value().getDefiningOp<ReadOp>();
    return read && read.getScope() == step.write.getScope();
  }

  /// No step reads before an earlier one has written.
  bool areInOrder() {
    return llvm::all_of(llvm::enumerate(steps), [&](auto pair) {
      auto &[k, step] = pair;
      return k == 0 || steps[k - 1].write->isBeforeInBlock(step.read);
    });
  }

  static int64_t numbersOf(Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? vector.getNumElements() : 1;
  }

  bool gains() {
    int64_t operations = 0, numbers = 0;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (op.getNumResults() != 1 || !isa<FloatType>(getElementTypeOrSelf(op.getResult(0))))
        continue;
      int64_t each = isa<ElementaryOp>(op) ? operationsOfElementary
                     : op.hasTrait<OpTrait::Elementwise>() && !isa<ReadOp>(op) ? 1
                                                                               : 0;
      operations += each * numbersOf(op.getResult(0).getType());
    }
    for (ScatteredStep &step : steps)
      numbers += numbersOf(step.write.getValue().getType());
    return always ||
           operations - numbers >= std::max(leastOperations, operationsPerNumber * numbers);
  }

  // ---- the two loops

  Value number(OpBuilder &at, int64_t value) {
    return arith::ConstantIndexOp::create(at, loc, value);
  }

  /// What the first loop leaves to the second one: an array of it, a vector's numbers side by side.
  struct Kept {
    Type number;   ///< of one, as it lies there
    int64_t count; ///< numbers for each iteration
    Value array;   ///< pointer
  };

  void keep(Value value) {
    Type number = getElementTypeOrSelf(value.getType());
    if (number.isIndex())
      number = builder.getI64Type();
    auto [at, isNew] = kept.try_emplace(value, Kept{number, numbersOf(value.getType()), {}});
    if (isNew)
      bytes += at->second.count * int64_t(number.getIntOrFloatBitWidth() / 8);
  }

  bool isOfIteration(Value value) {
    Operation *op = value.getDefiningOp();
    return value == loop.getInductionVar() || (op && op->getBlock() == loop.getBody());
  }

  Value groupOf(Value offset, int64_t &distance) {
    LinearForm form = LinearForm::of(offset);
    for (OffsetGroup &group : groups) {
      LinearForm apart = form.minus(group.form);
      distance = apart.constant;
      if (apart.terms.empty())
        return group.first;
    }
    groups.push_back({form, offset});
    distance = 0;
    return offset;
  }

  /// What is kept, and of how many iterations; false: local arrays would be too large.
  bool plan() {
    for (ScatteredStep &step : steps) {
      KeptPlace place;
      place.first = groupOf(step.write.getOffset(), place.distance);
      keep(place.first);
      if (isOfIteration(step.value()))
        keep(step.value());
      places.push_back(place);
    }
    inBlock = mostInBlock;
    while (inBlock * bytes > bytesOfBlock)
      inBlock /= 2;
    return inBlock >= leastInBlock;
  }

  void assemble() {
    remarkDone(loop, "split-scatters", "lanes")
        << "what " << Number("iterations", inBlock)
        << " iterations add at places that memory says is computed first, and added then, one "
           "after the other";
    allocate(inBlock);

    auto blocks = scf::ForOp::create(builder, loc, loop.getLowerBound(), loop.getUpperBound(),
                                     number(builder, inBlock));
    blocks->setAttr("loop_annotation", LoopAnnotation::asItIs().in(builder.getContext()));
    OpBuilder inside(blocks.getBody()->getTerminator());
    Value first = blocks.getInductionVar();
    Value end = arith::AddIOp::create(inside, loc, first, number(inside, inBlock));
    end = arith::MinSIOp::create(inside, loc, end, loop.getUpperBound());
    auto adds = scf::ForOp::create(inside, loc, first, end, number(inside, 1));
    adds->setAttr("loop_annotation", LoopAnnotation{.vectorize = false}.in(builder.getContext()));
    loop->moveBefore(adds);
    loop.getLowerBoundMutable().set(first);
    loop.getUpperBoundMutable().set(end);
    storeKept(first);
    OpBuilder body(adds.getBody()->getTerminator());
    Value iteration = isMutant(Mutant::ScatterOfBlocksFirst) ? first : adds.getInductionVar();
    Value at = indexInBlock(body, iteration, first);
    llvm::DenseMap<Value, Value> loaded;
    for (auto [step, place] : llvm::zip(steps, places)) {
      Value offset = load(body, place.first, at, loaded);
      if (place.distance)
        offset = arith::AddIOp::create(body, loc, offset, number(body, place.distance));
      IRMapping map;
      if (isOfIteration(step.value()))
        map.map(step.value(), load(body, step.value(), at, loaded));
      map.map(step.read.getOffset(), offset);
      map.map(step.write.getOffset(), offset);
      for (Operation *op : {step.read.getOperation(), step.step, step.write.getOperation()})
        body.clone(*op, map);
    }
    for (ScatteredStep &step : llvm::reverse(steps))
      for (Operation *op : {step.write.getOperation(), step.step, step.read.getOperation()})
        op->erase();
  }

  void allocate(int64_t count) {
    auto function = loop->getParentOfType<LLVM::LLVMFuncOp>();
    OpBuilder entry = OpBuilder::atBlockBegin(&function.getBody().front());
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
    for (auto &[value, array] : kept) {
      Value size =
          LLVM::ConstantOp::create(entry, loc, entry.getI64IntegerAttr(count * array.count));
      array.array =
          LLVM::AllocaOp::create(entry, loc, pointer, array.number, size, /*alignment=*/64);
    }
  }

  /// At the end of the first loop's body.
  void storeKept(Value first) {
    OpBuilder last(loop.getBody()->getTerminator());
    Value at = indexInBlock(last, loop.getInductionVar(), first);
    for (auto &[value, array] : kept) {
      SmallVector<Value> numbers{value};
      if (isa<VectorType>(value.getType())) {
        auto apart = vector::ToElementsOp::create(last, loc, value);
        numbers.assign(apart->result_begin(), apart->result_end());
      } else if (value.getType().isIndex()) {
        numbers = {arith::IndexCastOp::create(last, loc, array.number, value)};
      }
      for (auto [k, number] : llvm::enumerate(numbers))
        LLVM::StoreOp::create(last, loc, number, element(last, array, at, int64_t(k)));
    }
  }

  Value load(OpBuilder &body, Value value, Value at, llvm::DenseMap<Value, Value> &loaded) {
    Value &known = loaded[value];
    if (known)
      return known;
    Kept &array = kept.find(value)->second;
    auto vector = dyn_cast<VectorType>(value.getType());
    Type type = vector ? VectorType::get(array.count, array.number) : array.number;
    unsigned alignment = array.number.getIntOrFloatBitWidth() / 8;
    known = LLVM::LoadOp::create(body, loc, type, element(body, array, at, 0), alignment);
    if (value.getType().isIndex())
      known = arith::IndexCastOp::create(body, loc, value.getType(), known);
    else if (vector && type != vector)
      known = vector::ShapeCastOp::create(body, loc, vector, known);
    return known;
  }

  Value indexInBlock(OpBuilder &at, Value iteration, Value first) {
    Value index = arith::SubIOp::create(at, loc, iteration, first);
    return arith::IndexCastOp::create(at, loc, at.getI64Type(), index);
  }

  Value element(OpBuilder &at, const Kept &array, Value iteration, int64_t k) {
    auto constant = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(at, loc, at.getI64IntegerAttr(value));
    };
    Value index = iteration;
    if (array.count > 1)
      index = LLVM::MulOp::create(at, loc, index, constant(array.count));
    if (k)
      index = LLVM::AddOp::create(at, loc, index, constant(k));
    return LLVM::GEPOp::create(at, loc, array.array.getType(), array.number, array.array,
                               ArrayRef<LLVM::GEPArg>{index}, LLVM::GEPNoWrapFlags::inbounds);
  }

  scf::ForOp loop;
  bool always;
  OpBuilder builder;
  Location loc;
  SmallVector<ScatteredStep> steps;
  llvm::DenseMap<Operation *, bool> fromMemory;
  SmallVector<OffsetGroup> groups;
  SmallVector<KeptPlace> places; ///< of the steps
  llvm::MapVector<Value, Kept> kept;
  int64_t bytes = 0; ///< for each iteration
  int64_t inBlock = 0;
};

} // namespace

bool cpu::splitScatter(scf::ForOp loop, bool always) { return Split(loop, always).run(); }

namespace {
struct SplitScatters : metate::impl::SplitScattersBase<SplitScatters> {
  using SplitScattersBase::SplitScattersBase;

  void runOnOperation() override {
    getOperation().walk([&](LLVM::LLVMFuncOp function) {
      if (hasLanes(function)) // whose vectors are not taken apart
        return;
      SmallVector<scf::ForOp> loops;
      function.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      for (scf::ForOp loop : loops)
        count += splitScatter(loop, always);
    });
  }
};
} // namespace
