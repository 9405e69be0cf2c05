//===- Nontemporal.cpp - stores around the caches -------------------*- C++ -*-===//
//
// An ordinary store reads the line that it overwrites. What a task only writes, row by row, and what
// is far more than the caches hold anyway (fill, copy, a stencil's result) is written around them: whole
// lines at a time, by non-temporal stores of vectors. In the caches these lose by factors, so that the
// entry decides by the bytes of this launch.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Target/Cpu/LoopAnnotation.h"
#include "metate/Target/Cpu/MapTasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

namespace {
constexpr int64_t streamedLineBytes = 64;

/// A body of more operations computes rather than waits for stores, and the second copy of it costs.
constexpr size_t mostStreamed = 150, mostReads = 16;

int64_t bytesOf(WriteOp write) {
  return int64_t(write.getValue().getType().getIntOrFloatBitWidth() / 8);
}

/// The writes of a body if each is a stream of its own and nothing else happens but reads of rows, and of
/// values that are one for all iterations; else none.
class NontemporalRows {
public:
  NontemporalRows(Block &body, Value variable) : analysis(body, variable) {
    if (llvm::range_size(body) > mostStreamed)
      problem = "its body is long, so that it computes rather than waits for memory";
    else if (!analysis.run(/*withBytes=*/true) ||
             !llvm::all_of(body.without_terminator(), [&](Operation &op) { return isCheap(op); }))
      problem = "it does more than read and write rows, one element after the other";
    else if (!areApart())
      problem = "it reads an argument that it writes, or writes one twice";
    if (!problem.empty())
      writes.clear();
  }

  /// Iterations that write a line, at least.
  int64_t lanes() const {
    int64_t least = streamedLineBytes;
    for (WriteOp write : writes)
      least = std::min(least, bytesOf(write));
    return streamedLineBytes / least;
  }

  LaneAnalysis analysis;
  SmallVector<WriteOp> writes;
  StringRef problem; ///< why there are none, of a body that is not to write so

private:
  /// Collects the reads and writes on the way.
  bool isCheap(Operation &op) {
    if (op.getNumRegions() ||
        isa<RmwOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
      return false;
    auto isScalar = [](Type type) { return !isa<VectorType>(type); };
    if (auto read = dyn_cast<ReadOp>(op)) {
      reads.push_back(read);
      return isScalar(read.getType()) && (analysis.isSame(read.getOffset()) ||
                                          analysis.isRow(read.getOffset(), read.getType()));
    }
    if (auto write = dyn_cast<WriteOp>(op)) {
      writes.push_back(write);
      Type type = write.getValue().getType();
      return isScalar(type) && !type.isInteger(1) && analysis.isRow(write.getOffset(), type);
    }
    // LLVM vectorises the loop that is left only if it holds no vectors.
    return llvm::all_of(op.getOperandTypes(), isScalar) &&
           llvm::all_of(op.getResultTypes(), isScalar);
  }

  /// Each argument that is written is written once and not read. (A line that was read is in the cache.)
  bool areApart() {
    llvm::SmallDenseSet<int64_t> written;
    for (WriteOp write : writes)
      if (int64_t(write.getScope()) < 0 || !written.insert(write.getScope()).second)
        return false;
    return reads.size() <= mostReads && llvm::none_of(reads, [&](ReadOp read) {
             return int64_t(read.getScope()) < 0 || written.contains(read.getScope());
           });
  }

  SmallVector<ReadOp> reads;
};

/// Splits the innermost loop of a task.
class Split {
public:
  Split(scf::ForOp loop, Value nontemporal, int64_t leastLines,
        const NontemporalRows &nontemporalRows)
      : loop(loop), nontemporal(nontemporal), leastLines(leastLines),
        nontemporalRows(nontemporalRows), builder(loop), loc(loop.getLoc()) {}

  /// [lower, first) one by one, [first, middle) in whole lines around the caches, the rest as ever.
  void run() {
    int64_t lanes = nontemporalRows.lanes();
    Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), zero = number(0);
    Value span = make<arith::SubIOp>(upper, lower), skip;
    Value isWorth =
        compare(arith::CmpIPredicate::sge, span, number(leastLines * lanes), /*and=*/nontemporal);
    for (WriteOp write : nontemporalRows.writes) {
      Value address = addressAt(write, lower), size = number(bytesOf(write));
      // A line begins after so many bytes: a multiple of the element's, and for all nontemporalRows the same one.
      Value missing =
          make<arith::AndIOp>(make<arith::SubIOp>(zero, address), number(streamedLineBytes - 1));
      Value elements = make<arith::DivUIOp>(missing, size);
      Value whole = make<arith::MulIOp>(elements, size);
      isWorth = compare(arith::CmpIPredicate::eq, whole, missing, isWorth);
      if (skip)
        isWorth = compare(arith::CmpIPredicate::eq, elements, skip, isWorth);
      else
        skip = elements;
    }
    skip = choose(isWorth, skip, zero);
    Value first = make<arith::AddIOp>(lower, skip);
    Value rows = make<arith::AndIOp>(make<arith::SubIOp>(upper, first), number(-lanes));
    Value middle = make<arith::AddIOp>(first, choose(isWorth, rows, zero));

    auto start = cast<scf::ForOp>(builder.clone(*loop));
    start.getUpperBoundMutable().assign(isMutant(Mutant::StreamStartsLate) ? lower : first);
    start->setAttr("loop_annotation", LoopAnnotation::asItIs().in(builder.getContext()));
    scf::ForOp wide = Widening(loop, nontemporalRows.analysis, lanes).run(first, middle);
    for (WriteOp write : wide.getBody()->getOps<WriteOp>())
      setMark(write, mark::nontemporal);
    loop.getLowerBoundMutable().assign(middle);
  }

private:
  Value number(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  template <typename Op> Value make(Value a, Value b) {
    return builder.createOrFold<Op>(loc, a, b);
  }
  Value choose(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b, Value also) {
    return make<arith::AndIOp>(also, arith::CmpIOp::create(builder, loc, predicate, a, b));
  }

  /// Where the iteration writes, as a number.
  Value addressAt(WriteOp write, Value iteration) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), iteration);
    Value offset = repeated(write.getOffset(), loop, mapping, builder);
    Value block = repeated(write.getBlock(), loop, mapping, builder);
    auto cast = [&](Type type, Value value) {
      return UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
    };
    Value pointer = cast(LLVM::LLVMPointerType::get(builder.getContext()), block);
    Value base = LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), pointer);
    return make<arith::AddIOp>(cast(builder.getIndexType(), base), offset);
  }

  scf::ForOp loop;
  Value nontemporal;
  int64_t leastLines;
  const NontemporalRows &nontemporalRows;
  OpBuilder builder;
  Location loc;
};
} // namespace

Value cpu::isNontemporal(const LaunchedTask &task, Value rows, OpBuilder &builder,
                         uint64_t nontemporalBytes) {
  RangeOp range = task.range;
  Block &body = range.getBody().front();
  if (nontemporalBytes > uint64_t(std::numeric_limits<int64_t>::max()))
    return {};
  NontemporalRows nontemporalRows(body, body.getArguments().back());
  if (nontemporalRows.writes.empty()) {
    auto isWrite = [](WriteOp) { return WalkResult::interrupt(); };
    if (wantsRemarks(builder.getContext()) && !nontemporalRows.problem.empty() &&
        range.walk(isWrite).wasInterrupted())
      remarkAt(range.getLoc(), Outcome::Declined, "map-tasks-cpu", "nontemporal stores")
          << "the task writes through the caches: " << nontemporalRows.problem;
    return {};
  }
  Location loc = range.getLoc();
  auto number = [&](int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); };
  int64_t each = 0;
  for (WriteOp write : nontemporalRows.writes)
    each += bytesOf(write);
  Value bytes = builder.createOrFold<arith::MulIOp>(loc, rows, number(each));
  if (range.getLower().size() > 1) {
    Value row =
        builder.createOrFold<arith::SubIOp>(loc, task.inHost(range.getUpper().back(), builder),
                                            task.inHost(range.getLower().back(), builder));
    bytes = builder.createOrFold<arith::MulIOp>(loc, bytes, row);
  }
  Value nontemporal = builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, bytes,
                                                          number(int64_t(nontemporalBytes)));
  bool never = matchPattern(nontemporal, m_Zero());
  remarkAt(loc, never ? Outcome::Declined : Outcome::Done, "map-tasks-cpu", "nontemporal stores")
      << (never ? "the task writes through the caches: less than "
                : "rows are written around the caches, by whole lines, where a launch writes at "
                  "least ")
      << Number("bytes", nontemporalBytes) << " bytes" << (never ? " a launch" : "");
  return never ? Value() : nontemporal;
}

void cpu::writeNontemporal(LLVM::LLVMFuncOp body, scf::ForOp loop, Operation *loops,
                           Value nontemporal, int64_t leastLines) {
  NontemporalRows nontemporalRows(*loop.getBody(), loop.getInductionVar());
  Split(loop, nontemporal, leastLines, nontemporalRows).run();
  markLanes(body);
  fenceNontemporal(loops, nontemporal);
}

void cpu::fenceNontemporal(Operation *loops, Value nontemporal) {
  OpBuilder builder(loops->getContext());
  builder.setInsertionPointAfter(loops);
  if (nontemporal) {
    auto isDone =
        scf::IfOp::create(builder, loops->getLoc(), nontemporal, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(isDone.thenBlock());
  }
  LLVM::FenceOp::create(builder, loops->getLoc(), LLVM::AtomicOrdering::seq_cst, StringRef());
}
