//===- MapTasks.h - one kernel to entry and bodies --------------*- C++ -*-===//
#ifndef METATE_TARGET_CPU_MAPTASKS_H
#define METATE_TARGET_CPU_MAPTASKS_H

#include "metate/Dialect/Metate.h"
#include "metate/Target/Common/Functions.h"
#include "metate/Target/Common/Tasks.h"
#include "metate/Target/Cpu/Host.h"
#include "metate/Target/Cpu/SplitBorders.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace metate::cpu {

/// How a task is cut whose partial results are kept: in pieces of `step` iterations, as many for any number of
/// workers. Each stores what it has in `results`; combined they are in order. So is a deterministic task whose partial
/// results may be rounded, and one whose extremes the task behind it asks for, piece by piece (metate-skip-pieces).
struct Pieces {
  mlir::Value count;   ///< of iterations (of several dimensions: of rows)
  mlir::Value step;    ///< index
  mlir::Value number;  ///< index: of pieces, at most `most`
  mlir::Value results; ///< pointer: for each partial result, `most` numbers of 8 bytes

  static constexpr int64_t most = 256;
  mlir::SmallVector<mlir::Value> values() const { return {count, step, number, results}; }
};

/// Pieces of a task, and what it does with each.
struct Cut : Pieces {
  bool skips; ///< asks what another task has kept of a piece; else it keeps it
};

/// Maps one kernel: the entry function takes its place, task bodies stand before it.
class KernelMapping {
public:
  /// A chunk of a parallel task is at least `chunkNs` of work, estimated; streams of at least
  /// `nontemporalBytes` bytes are written around the caches.
  KernelMapping(KernelOp kernel, KernelTypeConverter &converter, uint64_t chunkNs,
                bool acrossIterations, bool splitsBorders, uint64_t nontemporalBytes, bool profile,
                bool sharesChunks)
      : kernel(kernel), converter(converter), chunkNs(chunkNs), nontemporalBytes(nontemporalBytes),
        acrossIterations(acrossIterations), splitsBorders(splitsBorders), profile(profile),
        sharesChunks(sharesChunks) {}
  void run();
  /// Tasks are told of with numbers from here on: kernels of one graph share the numbers.
  void numberTasksFrom(unsigned number) { tasks = number; }
  unsigned nextTask() const { return tasks; }

private:
  mlir::Value loadArgument(Code &code, mlir::Type type, unsigned &slot) {
    return target::loadArgument(code, converter, entry.getArgument(0), type, slot);
  }
  /// Of a kernel with pools: a host that brings NULL in their place is told so, and nothing runs.
  void requirePools(Code &code);
  /// Pools become addresses; true if some are a worker's.
  bool mapPools(Code &code, llvm::ArrayRef<unsigned> slots);
  mlir::Value poolBytes(Code &code, PoolOp pool, llvm::ArrayRef<unsigned> slots);
  mlir::Value workersOfPools(Code &code, mlir::Value workers);
  mlir::Value maxWorkers(Code &code, llvm::ArrayRef<mlir::Value> arguments);
  void mapOperation(mlir::Operation &op);
  void mapLaunch(LaunchOp launch);
  void mapSerial(SerialOp serial);
  /// Where the kernel is to be profiled: the host hears that a task begins, and that the last one that began has ended.
  void tellBegin(mlir::Location loc, mlir::Value iterations);
  void tellEnd(mlir::Location loc);
  /// Of a graph: runs of kernels become calls of their entries.
  void mapRuns();
  void storeArgument(Code &code, mlir::Value value, mlir::Value slots, unsigned &slot);
  void collectWhereItFails(Code &code, llvm::ArrayRef<std::pair<unsigned, TreeType>> trees);
  void callOnTrees(Code &code, llvm::StringRef callee, uint64_t number,
                   llvm::ArrayRef<std::pair<unsigned, TreeType>> trees);
  void settleWhereItEnds(llvm::ArrayRef<std::pair<unsigned, TreeType>> trees);
  void returnIfNonzero(mlir::Value status, mlir::Location loc);
  struct Body {
    mlir::LLVM::LLVMFuncOp function;
    bool isInOrder;                   ///< one worker runs all iterations, one after the other
    llvm::SmallVector<size_t> fields; ///< of the frame, that the function's arguments are in
    bool isOfOneLaunch = false; ///< was it made for the numbers of one: pieces, bytes to write
  };
  /// The body that another launch of the function has, or a new one, which is made of the function: `launch` may be its last one.
  Body bodyOf(LaunchedTask task, llvm::ArrayRef<mlir::Value> captured,
              mlir::LLVM::LLVMStructType frame, mlir::Value nontemporal,
              const std::optional<Cut> &cut);
  /// `captured`: what the frame holds, behind what is the host's; the launch's operands are among it.
  Body makeBody(LaunchedTask task, llvm::ArrayRef<mlir::Value> captured,
                mlir::LLVM::LLVMStructType frame, mlir::Value nontemporal,
                const std::optional<Cut> &cut);
  /// The pieces of a task, where it has some; remarks on them.
  std::optional<Cut> cutOf(RangeOp range, mlir::OpBuilder &builder, mlir::Value count,
                           mlir::Value grain);
  /// The loops of a body, without or in a loop over pieces; atomics that only accumulate have left them.
  mlir::Operation *buildBody(Code &code, RangeOp range, mlir::LLVM::LLVMFuncOp body,
                             const std::optional<Cut> &cut,
                             llvm::function_ref<mlir::Value(mlir::Value)> inside);
  bool isDeterministic() { return kernel->hasAttr(mark::deterministic); }
  /// Iterations become lanes of vectors, where they can and it pays.
  /// Pieces of a parallel loop (metate-private-copies), whose additions are plain then; true: there are some.
  bool runPiecesInLanes(mlir::LLVM::LLVMFuncOp body);
  void runInLanes(mlir::scf::ForOp loop, mlir::scf::ForOp alone);
  /// The chunk's loops with the task's body; the outermost one.
  mlir::Operation *buildLoops(Code &code, RangeOp range, mlir::Value begin, mlir::Value end);
  /// The loops in the order in which memory lies, whose innermost one may have become several: the interior, which is then it, and the border.
  mlir::Operation *withoutBorders(mlir::Operation *loops);
  /// `value` with its LLVM type, and back.
  mlir::Value toLLVM(Code &code, mlir::Value value) {
    return target::toLLVM(code, converter, value);
  }
  mlir::Value fromLLVM(Code &code, mlir::Value value, mlir::Type type) {
    return target::fromLLVM(code, value, type);
  }

  KernelOp kernel;
  KernelTypeConverter &converter;
  uint64_t chunkNs, nontemporalBytes;
  bool acrossIterations; ///< may iterations become lanes of vectors?
  bool splitsBorders;    ///< may loops be cut in border and interior?
  bool profile;          ///< are tasks told of?
  bool sharesChunks;     ///< may threads that are awake take parts of a chunk?
  unsigned tasks = 0;    ///< that were told of
  mlir::LLVM::LLVMFuncOp entry;
  mlir::Block *current = nullptr; ///< the entry's block that operations are moved to
  mlir::Value workers;
  mlir::scf::ForOp innermost; ///< of the loops built last
  mlir::scf::ForOp rows;      ///< the one around it, of ranges of several dimensions
  Guesses guesses;            ///< of their variables
  Sources sizes;              ///< that their bounds are computed of
  llvm::DenseMap<mlir::StringAttr, Body> bodies; ///< of functions that will be launched again
  llvm::DenseMap<int64_t, Pieces> kept; ///< of the tasks that others ask, by the pair's number
};

/// Replaces the function's prints by calls of the host's sink; `host` is the function's host pointer.
void lowerPrints(mlir::Operation *function, mlir::Value host);

/// Atomics marked `metate.reduction` inside of a task body's loops accumulate in a local variable, which
/// one atomic after the loops adds to their place. `loops` are in `pieces`, or are it; the atomics are returned.
llvm::SmallVector<RmwOp> gatherReductions(mlir::LLVM::LLVMFuncOp body, mlir::Operation *loops,
                                          mlir::Operation *pieces);

/// Has the task partial results that may be rounded?
bool hasRoundedPartials(RangeOp range);
/// The pieces of such a task, of at least `grain` iterations, in the entry.
Pieces cutInPieces(RangeOp range, mlir::LLVM::LLVMFuncOp entry, mlir::OpBuilder &builder,
                   mlir::Value count, mlir::Value grain);
/// In the body of a task that skips pieces, before its loops are made: does what `piece` keeps pass the comparison of `range`?
mlir::Value holdsExtreme(RangeOp range, mlir::OpBuilder &builder, const Pieces &values,
                         mlir::Value piece);
/// In the task's body: the partial results of piece `piece` are stored instead of `merges` being done. Called with no
/// pieces to do, the body does them, for one piece after the other.
void storePartials(llvm::ArrayRef<RmwOp> merges, mlir::scf::ForOp pieces, const Pieces &values,
                   mlir::Value begin, mlir::Value end);

/// The atomic becomes a read, an operation and a write.
void makePlain(RmwOp rmw);
/// Atomics become plain accesses, appends do without them: for code that one worker runs.
void makeAlone(mlir::Region &code);

/// Where each iteration of the loop runs a long loop in order: sixteen iterations at a time, as lanes of
/// vectors, which take the loop's place. False: it is left as it is. `mayAlias`: arguments may
/// overlap; `rows`: a parallel loop around the loop, or null; `always`: whether or not that pays, for tests.
bool runAcrossIterations(mlir::scf::ForOp loop, mlir::scf::ForOp rows, bool mayAlias, bool always);

/// Where iterations add what they compute at places that memory says, without atomic operations: blocks of them compute first, in the loop as it
/// was, and add then. `always`: whether or not that pays, for tests. False: it is left as it is.
bool splitScatter(mlir::scf::ForOp loop, bool always);

/// Would it pay?
bool gainsAcrossIterations(mlir::scf::ForOp loop);

/// Where iterations read or write members of cells that follow each other: vectors of whole cells, taken apart in registers, take the loop's place
/// for all iterations but the last few. For arguments that do not overlap.
bool runCellByCell(mlir::scf::ForOp loop);

/// Where each iteration of the loop only runs a loop in order, and what lies side by side is in iterations side by side: the
/// loops change places. The outer one.
mlir::Operation *interchange(mlir::scf::ForOp parallel);

/// Of a task that only writes what it writes, row by row, in a kernel whose arguments do not overlap: in
/// the entry, whether the writes of this launch (`rows` is what is shared out of it) come to `nontemporalBytes`
/// and are to go around the caches. Null for any other task, and where they never do.
mlir::Value isNontemporal(const LaunchedTask &task, mlir::Value rows, mlir::OpBuilder &builder,
                          uint64_t nontemporalBytes);

/// Lets the innermost `loop` of such a task's `loops` write around the caches if `nontemporal`: rows of at least
/// `leastLines` lines.
void writeNontemporal(mlir::LLVM::LLVMFuncOp body, mlir::scf::ForOp loop, mlir::Operation *loops,
                      mlir::Value nontemporal, int64_t leastLines);

/// Stores around the caches have no order of their own: those of a task's `loops` are to be seen before it counts as done. `nontemporal`: if there
/// are any; null: there are.
void fenceNontemporal(mlir::Operation *loops, mlir::Value nontemporal = {});

/// What a task's work is estimated to be, as values of type index in the entry.
struct TaskCost {
  mlir::Value grain; ///< iterations (of several dimensions: rows) in a chunk that is worth a worker
  mlir::Value
      loners; ///< with that many workers, or fewer, one alone is as fast: it needs no atomics
  unsigned part =
      0; ///< a 2^part-th of a chunk may be shared by threads that are awake; 0: what is less than two chunks is the caller's
};
TaskCost costOf(const LaunchedTask &task, mlir::OpBuilder &builder, uint64_t nanoseconds);

/// What is for a task that one worker runs alone: a copy of its loops, whose atomic operations are to be plain.
struct AloneVersion {
  mlir::scf::ForOp innermost;
  mlir::Region *code;
};

/// Where the loops of a task body have atomics: a second copy of them.
std::optional<AloneVersion> splitOffAlone(mlir::LLVM::LLVMFuncOp body, mlir::Operation *loops,
                                          mlir::scf::ForOp innermost);

} // namespace metate::cpu

#endif
