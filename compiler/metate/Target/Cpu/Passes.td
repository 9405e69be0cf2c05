//===- Passes.td - from tasks to the CPU's execution model ------*- tablegen -*-===//
include "mlir/Pass/PassBase.td"

def MapTasksCpu : Pass<"metate-map-tasks-cpu", "::mlir::ModuleOp"> {
  let summary = "kernels become entries, functions of tasks become bodies run through the host's executor";
  let description = [{
    Runs behind metate-outline-tasks. `metate.kernel` becomes an `llvm.func` with the signature of metate_entry; the function of each `metate.launch` a private
    one (context, begin, end, worker), and the launch a call of metate_parallel_for, or of the body itself without an executor. Prints go to the host's sink.
  }];
  let options = [Option<"chunkNs", "chunk-ns", "uint64_t", "0",
    "what a chunk of iterations is worth at least, estimated (the option chunk_ns); 0: one iteration">,
    Option<"acrossIterations", "across-iterations", "bool", "false",
    "iterations with long loops inside run as lanes of vectors">,
    Option<"splitBorders", "split-borders", "bool", "false",
    "loops with indices that wrap or are held at an edge are cut in border and interior">,
    Option<"nontemporalBytes", "nontemporal-bytes", "int64_t", "-1",
    "a launch that writes so many bytes, row by row, and does not read them writes them around the caches (nontemporally); less than 0: never">,
    Option<"sharesChunks", "shares-chunks", "bool", "true",
    "loops of less than two chunks may be shared by threads that are awake">,
    Option<"profile", "profile", "bool", "false",
    "the entry tells its host when a task begins and ends">];
  let dependentDialects = ["::metate::MetateDialect", "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::mlir::cf::ControlFlowDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect"];
}

def SkipPieces : Pass<"metate-skip-pieces", "::metate::KernelOp"> {
  let summary = "a loop that looks for an extreme skips the pieces that do not hold it";
  let description = [{
    Before: `metate.range (%i) { metate.rmw minnumf %x, %low[0] {metate.reduction} }` over reads of an array, then `metate.range (%i) { scf.if (%x oeq %low) { ... } }` over the same; after:
    the same with marks, by which metate-map-tasks-cpu keeps the least value of each piece of the first loop, and asks it before it goes through a piece in the
    second one. Runs before metate-outline-tasks. Not where arguments may overlap, nor in deterministic kernels.
  }];
  let statistics = [Statistic<"skipped", "skipped", "loops that skip pieces">];
}

def GatherAppends : Pass<"metate-gather-appends", "::metate::KernelOp"> {
  let summary = "iterations that count up one place, or append to one list, take places for many at once";
  let description = [{
    Before: `metate.range (%i) { scf.if %c { %k = metate.rmw addi %one, %count[0]; metate.write %x, %out[4 * %k] } }`; after: a range over blocks of iterations. In
    each a loop stores %x in a local array, behind what other iterations have stored, and counts where %c holds; one `metate.rmw` takes that many places, a second loop
    writes there. Of a list the same with `metate.tree_call "append_run"`. Runs before metate-outline-tasks. Not where arguments may overlap.
  }];
  let options = [Option<"block", "block", "int64_t", "256", "iterations that take their places together">];
  let statistics = [Statistic<"gatheredPlaces", "gathered", "places and lists that blocks of iterations take together">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect"];
}

def PrefetchScatters : Pass<"metate-prefetch-scatters", "::mlir::ModuleOp"> {
  let summary = "lines that counters will reach next are asked for early";
  let description = [{
    Before: `%at = metate.read %counts[%o]; metate.write (%at + 1), %counts[%o]; metate.write %x, %out[4 * %at]` in a serial loop, or in a parallel one, where
    the counter is an atomic; after: the same with a prefetch of `%out[4 * %at + 64]`, under a condition on the loop's turns.
  }];
  let statistics = [Statistic<"prefetched", "prefetched", "stores whose next line is asked for">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::LLVM::LLVMDialect"];
}

def VectorSums : Pass<"metate-vector-sums", "::mlir::ModuleOp"> {
  let summary = "loops that carry vectors read them whole";
  let description = [{
    Runs behind metate-map-tasks-cpu. Before: `scf.for ... iter_args(%s = %zero) -> vector<8xf32> { eight reads side by side; %v = vector.from_elements ...;
    %t = arith.addf %s, %v fastmath<reassoc> }`; after: `%v = metate.read ... : vector<8xf32>`, four turns in one with a sum each, and a loop of the turns
    that are left. The function is marked: emit leaves its vectors as they are. Not where another loop of the function computes vectors.
  }];
  let statistics = [Statistic<"kept", "kept", "loops whose vectors stay">];
  let dependentDialects = ["::metate::MetateDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def JoinQuotients : Pass<"metate-join-quotients", "::metate::KernelOp"> {
  let summary = "a quotient by a constant times the constant, with the remainder added, is the number";
  let description = [{
    Before: `%q = arith.divsi %c, %c3; %r = arith.remsi %c, %c3; %o = 3 * %q + %r`; after: `%o = %c`. Also where both are corrected to the floor under the
    same condition.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ParallelAccesses : Pass<"metate-parallel-accesses", "::metate::KernelOp"> {
  let summary = "reads and writes of parallel loops get LLVM's access groups: none depends on another iteration's";
  let description = [{
    Unless the kernel was compiled for overlapping arguments, or the loop writes to places that do not lie side by side, or under a condition where the
    machine has no vectors for that (`masked`), or the body is long. Must run before outline-tasks.
  }];
  let options = [Option<"masked", "masked", "bool", /*default=*/"false", "has the machine stores of vectors under a mask (AVX-512)?">];
  let statistics = [Statistic<"annotated", "annotated", "loops whose accesses are independent">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def UnswitchNests : Pass<"metate-unswitch-nests", "::mlir::ModuleOp"> {
  let summary = "a condition that is fixed for a whole loop nest is tested once, outside";
  let description = [{
    Before: `scf.for ... { ...; scf.if %ok { metate.write ... } }` with %ok from outside; after: `scf.if %ok { scf.for ... { ...; metate.write ... } }`, with
    the loop of the other case in the else branch where it does anything. Rows of a leaf are then straight code, which vectorises.
  }];
  let statistics = [Statistic<"unswitched", "unswitched", "loops unswitched">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def FlattenRows : Pass<"metate-flatten-rows", "::mlir::ModuleOp"> {
  let summary = "conditionals in the row of a leaf become selections, so that the row can be computed as vectors";
  let description = [{
    Before: `%r = scf.if %c -> f32 { ...; scf.yield %a } else { scf.yield %b }` in a loop marked `metate.row`; after: `...; %r = arith.select %c, %a, %b`. Only where
    everything in the conditional may run for every cell: arithmetic, reads of tiles and of cells whose slot is known, and
    stores that no other iteration makes, which store the old value where the condition is false. A row that is straight code then is marked
    `metate.straight`.
  }];
  let options = [Option<"blend", "blend", "bool", /*default=*/"true",
    "a conditional store that no other iteration makes becomes one of the new or the old value, which others may be reading">];
  let statistics = [Statistic<"flattened", "flattened", "conditionals turned into selections">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def WholeRows : Pass<"metate-whole-rows", "::metate::KernelOp"> {
  let summary = "rows of leaves that store members side by side write whole cells";
  let description = [{
    Before: `metate.write %v, %b[%row + 8 * %k] {metate.member = [2, 4, 8]}` in a loop over a row of eight cells, marked `metate.row`; after: `memref.store %v, %local[%k]` in
    the loop, a vector of the row's 16 numbers that is read before it, and written behind it with the eight that are new. Where no other store of the task goes to
    members of these cells, and no turn reads what it has stored.
  }];
  let statistics = [Statistic<"stored", "stored", "rows that are written whole">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect"];
}

def ExtremesInLanes : Pass<"metate-extremes-in-lanes", "::mlir::ModuleOp"> {
  let summary = "a loop in order that looks for the least or greatest one, and where it is, compares lanes of vectors";
  let description = [{
    Before: `scf.for %i ... iter_args(%least, %at) { %c = arith.cmpf olt, %x, %least; select %c, %x, %least; select %c, %i, %at }`; after: a loop over vectors of
    turns that carries a least one and its turn for each lane, the best of them, and the loop itself for the turns that are left. Runs behind metate-map-tasks-cpu.
  }];
  let options = [Option<"always", "always", "bool", "false", "whether they gain or not">];
  let statistics = [Statistic<"written", "written", "loops in lanes">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}

def CutAtReads : Pass<"metate-cut-at-reads", "::mlir::ModuleOp"> {
  let summary = "a loop that may change in one turn what each turn reads is cut there";
  let description = [{
    Before: `scf.for %j { %x = metate.read %d[%at]; ...; metate.write %y, %d[%row + 4 * %j] }`; after: the turns before (%at - %row) / 4, that turn, and those behind
    it; but for that turn, %x is read once, before the loop. Where that turn reads nothing that an earlier one writes, it is asked before the loop what it
    will write; where that is what is there, one loop has all turns. Runs behind metate-map-tasks-cpu.
  }];
  let statistics = [Statistic<"cut", "cut", "loops that are cut">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def SplitScatters : Pass<"metate-split-scatters", "::mlir::ModuleOp"> {
  let summary = "blocks of iterations compute what they add to places that memory says, then add it";
  let description = [{
    Before: `scf.for %i { ...; %old = metate.read %grid[%o]; %new = arith.addf %old, %x; metate.write %new, %grid[%o] }` with %o from memory; after: a loop over
    blocks of iterations. In each a loop computes %x and %o into local arrays, and may become vectors; a second one adds, in the same order. Bit for bit the same.
    Runs behind metate-map-tasks-cpu, where one worker's additions are no atomics. Not where a block is touched in another way too, nor where little is computed.
  }];
  let options = [Option<"always", "always", "bool", "false", "whether they gain or not">];
  let statistics = [Statistic<"count", "split", "loops that are split">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}

def TestBlocks : Pass<"metate-test-blocks", "::mlir::ModuleOp"> {
  let summary = "a loop that does something in few turns, in one place, asks many turns at a time whether they do";
  let description = [{
    Before: `scf.for %i { %c = arith.cmpf oeq, %x, %y; scf.if %c { metate.write %i, %found[0] } }`; after: a loop over blocks of 64 turns that computes %c in lanes
    of vectors, and runs the turns of a block if it holds for one. Runs behind metate-map-tasks-cpu.
  }];
  let options = [Option<"always", "always", "bool", "false", "whether they gain or not">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}
