//===- HoistReads.cpp - what inner loops read in each turn ------*- C++ -*-===//
//
// LLVM moves a read that no turn changes out of a loop, behind a test that the loop runs. Lanes are made before that: a place that
// is each lane's own would be gathered in each turn. So are borders: where a row wraps may depend on an offset that is read.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Cpu/AcrossIterations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace metate;

/// An access of an array of an iteration's own.
static bool isOfOwnArray(Operation *op) {
  Value array;
  if (auto load = dyn_cast<memref::LoadOp>(op))
    array = load.getMemRef();
  else if (auto store = dyn_cast<memref::StoreOp>(op))
    array = store.getMemRef();
  return array && array.getDefiningOp<memref::AllocaOp>();
}

std::optional<DenseSet<int64_t>> cpu::writtenScopes(Operation *loop) {
  DenseSet<int64_t> scopes;
  bool isPlain = !loop->walk([&](Operation *op) {
                        if (auto write = dyn_cast<WriteOp>(op))
                          scopes.insert(write.getScope());
                        bool isKnown = isa<WriteOp>(op) || op->getNumRegions() ||
                                       op->hasTrait<OpTrait::IsTerminator>() || isOfOwnArray(op) ||
                                       isMemoryEffectFree(op);
                        if (auto read = dyn_cast<ReadOp>(op))
                          isKnown = !read.getAcquire();
                        return isKnown ? WalkResult::advance() : WalkResult::interrupt();
                      })
                      .wasInterrupted();
  return isPlain && !scopes.contains(-1) ? std::optional(scopes) : std::nullopt;
}

namespace {
/// Reads that run in each turn, or whenever the loop asks for one, and give the same in all.
SmallVector<ReadOp> commonReads(Operation *loop, Block &block) {
  SmallVector<ReadOp> reads;
  auto written = cpu::writtenScopes(loop);
  auto isOutside = [&](Value value) {
    return !loop->isAncestor(value.getParentRegion()->getParentOp());
  };
  if (written)
    for (ReadOp read : block.getOps<ReadOp>())
      if (int64_t(read.getScope()) >= 0 &&
          (!written->contains(read.getScope()) || isMutant(Mutant::ChangedReadHoisted)) &&
          isOutside(read.getBlock()) && isOutside(read.getOffset()))
        reads.push_back(read);
  return reads;
}
} // namespace

void cpu::hoistReadsFrom(scf::ForOp loop) {
  moveLoopInvariantCode(cast<LoopLikeOpInterface>(loop.getOperation()));
  SmallVector<ReadOp> reads = commonReads(loop, *loop.getBody());
  APInt lower, upper;
  bool runs = matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) &&
              matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) && lower.slt(upper);
  if (runs)
    for (ReadOp read : reads)
      read->moveBefore(loop);
  if (runs || reads.empty())
    return;
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value isRun = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, loop.getLowerBound(),
                                      loop.getUpperBound());
  auto types = llvm::map_to_vector(reads, [](ReadOp read) { return read.getType(); });
  auto branch = scf::IfOp::create(builder, loc, types, isRun, /*withElseRegion=*/true);
  for (auto [read, result] : llvm::zip(reads, branch.getResults()))
    read->getResult(0).replaceAllUsesWith(result);
  OpBuilder then = branch.getThenBodyBuilder(), otherwise = branch.getElseBodyBuilder();
  auto first = scf::YieldOp::create(then, loc, llvm::to_vector_of<Value>(reads));
  for (ReadOp read : reads)
    read->moveBefore(first);
  scf::YieldOp::create(otherwise, loc, llvm::map_to_vector(types, [&](Type type) -> Value {
                         return arith::ConstantOp::create(otherwise, loc,
                                                          otherwise.getZeroAttr(type));
                       }));
}
void cpu::hoistReads(scf::ForOp parallel) {
  parallel.getBody()->walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      hoistReadsFrom(loop);
    // Its condition is asked for at least once.
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      moveLoopInvariantCode(cast<LoopLikeOpInterface>(op));
      for (ReadOp read : commonReads(loop, *loop.getBeforeBody()))
        read->moveBefore(loop);
    }
  });
}
