//===- Passes.td - the passes of the metate compiler ------------*- tablegen -*-===//
//
// One file a pass. Their order is Pipelines/' business alone.
//
//===----------------------------------------------------------------------===//
include "mlir/Pass/PassBase.td"

class Metate_Pass<string passName, string op = "::mlir::ModuleOp"> : Pass<passName, op> {
  let dependentDialects = ["::metate::MetateDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect", "::mlir::func::FuncDialect"];
}

def Differentiate : Metate_Pass<"metate-differentiate"> {
  let summary = "a kernel with the mark metate.differentiate becomes its derivative, in reverse or forward mode";
  let description = [{
    Before: `metate.kernel @k(%x, %y, %dx, %dy) attributes {metate.differentiate = "reverse"} { metate.derivative %x[""], %dx[""]; metate.derivative %y[""], %dy[""];
    metate.range (%i) = ... { %a = memref.load %x[%i]; %b = arith.mulf %a, %a; memref.store %b, %y[%i] } }`; after: `metate.range (%i) = ... { %a = memref.load %x[%i];
    %g = memref.load %dy[%i]; memref.store %zero, %dy[%i]; ...; memref.atomic_rmw addf %h, %dx[%i] }`. The statements of the kernel run backwards; what they
    need of the primal's values is computed anew from memory as the kernel left it. Forward: the kernel itself, with the derivative of each active value
    beside it. What cannot be differentiated, or would need what the kernel has overwritten, is an error at its place.
  }];
  let options = [Option<"unroll", "unroll", "bool", /*default=*/"true", "inner loops with a few known turns are written out first">];
  let statistics = [Statistic<"differentiated", "differentiated", "kernels differentiated">];
}

def RecordWrites : Metate_Pass<"metate-record-writes", "::metate::KernelOp"> {
  let summary = "writes of trees and arrays whose writes have numbers (metate.written) note theirs";
  let description = [{
    Before: `metate.written %x, %nx, %call; memref.store %v, %x[%i]`; after: `memref.store %v, %x[%i]; %n = arith.addi %call, %site; memref.store %n, %nx[%i]`. Sites
    count the kernel's writes from 0 in the order in which they stand. What an atomic operation writes has the greatest number of those that wrote it. A cell
    that is deactivated is written with all that is in it, as far as that was active.
  }];
  let statistics = [Statistic<"recorded", "recorded", "writes that note their numbers">];
}

def InsertChecks : Metate_Pass<"metate-insert-checks", "::metate::KernelOp"> {
  let summary = "debug mode: a wrong access, activation or division stops the kernel";
  let description = [{
    Before: `%v = memref.load %x[%i]`; after: `%n = memref.dim %x, 0; %in = arith.cmpi ult, %i, %n; metate.check out_of_range
    %in, "x" index(%i) shape(%n); %v = memref.load %x[%i]`. Divisors are the comparisons with zero that the front end marked
    `metate.divisor`. Loops in order get a `metate.poll`. The kernel becomes `debug`: later passes check the activations that they make.
  }];
  let statistics = [Statistic<"inserted", "inserted", "checks inserted">];
}

def IndexLocals : Metate_Pass<"metate-index-locals"> {
  let summary = "local vectors whose components loops name at run time become arrays in memory";
  let description = [{
    Before: `%v = memref.alloca() : memref<vector<9xf32>>`, of which a loop of 40 turns selects component %k by nine comparisons; after:
    `%a = memref.alloca() : memref<10xf32>`, of which it loads element %k. What is stored out of range goes to the element behind the last one. Which
    selections fold once loops are written out is seen with a copy of the kernel. Must run before promote-locals, and changes only variables
    of a parallel loop's body, a function, or a kernel that is one task.
  }];
  let options = [Option<"unroll", "unroll", "bool", /*default=*/"true", "loops with a few known turns are written out afterwards">];
  let statistics = [Statistic<"moved", "moved", "variables that became arrays">];
}

def PromoteLocals : Metate_Pass<"metate-promote-locals", "::metate::KernelOp"> {
  let summary = "local variables become values carried by loops and conditionals";
  let description = [{
    A front end keeps a variable in a rank-0 `memref.alloca`. Before:
    `%x = memref.alloca() : memref<f32>; memref.store %a, %x[]; scf.if %c { memref.store %b, %x[] }; %v = memref.load %x[]`;
    after: `%v = scf.if %c -> f32 { scf.yield %b } else { scf.yield %a }`. A variable of the kernel that a parallel loop
    assigns is an error.
  }];
  let statistics = [Statistic<"promoted", "promoted", "variables promoted">];
}

def TakePart : Metate_Pass<"metate-take-part", "::metate::KernelOp"> {
  let summary = "a kernel keeps one part of its statements";
  let description = [{
    With `number=1`, before: `metate.range ... { A }; metate.range ... { B }`; after: the second loop alone. Parts are as many as there can be: statements that share a
    value or a variable stay together (KernelParts.h). The kernel's variables must be values.
  }];
  let options = [Option<"number", "number", "unsigned", "0", "which part, the first is 0">];
}

def UpliftWhile : Metate_Pass<"metate-uplift-while", "::metate::KernelOp"> {
  let summary = "loops that count up or down to a bound which does not change have bounds";
  let description = [{
    `scf.while (%i = %a) { scf.condition(%i < %n) } do { ...; scf.yield %i + %c }` becomes `scf.for %i = %a to %n step %c`, if the constant %c
    is positive and %i cannot wrap; `%i >= %n` with `%i - %c` becomes `scf.for %t = 0 to %a - %n + 1 step %c` with `%i = %a - %t`. Must run after
    promote-locals.
  }];
  let statistics = [Statistic<"uplifted", "uplifted", "loops uplifted">];
}

def WidenRanges : Metate_Pass<"metate-widen-ranges", "::metate::KernelOp"> {
  let summary = "a serial nest over the cells of leaves, no turn of which depends on another, joins the parallel loop around it";
  let description = [{
    Before: `metate.range (%b) = (%c0) to (%n) { scf.for %i = %c0 to %c8 { metate.store %v, %x["v"][8 * %b + %i] } }`; after: `metate.range (%b, %i) = (%c0, %c0) to
    (%n, %c8)`. Extents are constants, and turns touch places of their own of what the nest writes. Only where it names cells in slots: layout makes
    nests of leaves of it (hoist-slots), where it walks across what lies side by side, or where workers share the turns of one loop by strides. Not
    in debug mode.
  }];
  let statistics = [Statistic<"widened", "widened", "nests joined to the loop around them">];
}

def CutRanges : Metate_Pass<"metate-cut-ranges", "::metate::KernelOp"> {
  let summary = "a parallel loop that names cells of slots by its variables goes leaf by leaf";
  let description = [{
    Before: `metate.range (%i) = (%c0) to (%c64) { metate.store %v, %x["v"][%i] }` of leaves of 8; after: `metate.range (%b, %k) = (%c0, %c0) to (%c8, %c8)
    { metate.store %v, %x["v"][8 * %b + %k] }`. Bounds are constants, whole leaves. Must run after fold-index-casts. Not in debug mode.
  }];
  let statistics = [Statistic<"cutInLeaves", "cut", "loops that go leaf by leaf">];
}

def UnrollLoops : Metate_Pass<"metate-unroll-loops", "::metate::KernelOp"> {
  let summary = "loops with a few known turns are written out, with what the turns tell folded";
  let description = [{
    `scf.for %k = 0 to 3` whose body selects a component of a local vector by %k becomes three bodies, each with its component. Loops
    of many turns, and those whose turns together take too many operations, stay. Must run after promote-locals: components of
    variables are values then, and fold.
  }];
  let statistics = [Statistic<"unrolled", "unrolled", "nests written out">];
}

def FoldLoopFlags : Pass<"metate-fold-loop-flags", "::mlir::ModuleOp"> {
  let summary = "loops that a flag ends leave by their condition";
  let description = [{
    Before: `scf.while (%on = true, %d = 2) { condition(%on and %d < %n) } do { ...; yield (select %c, false, %on), (select %c, %d, %d + 1) }`; after, where the
    test holds at first: `scf.while (%d = 2) { ...; condition(not %c and %d + 1 < %n) %d + 1 } do { yield }`. Loops whose test does more
    than test stay.
  }];
  let statistics = [Statistic<"folded", "folded", "loops without their flag">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def ScalarizeIndices : Metate_Pass<"metate-scalarize-indices", "::metate::KernelOp"> {
  let summary = "vectors of integers that are taken apart are computed component by component";
  let description = [{
    Before: `%p = arith.addi %I, dense<[0, 1]> : vector<2xi32>; %j = vector.extract %p[1]`; after: `%j = arith.addi %j0, 1 : i32`, with `%j0` what the vector %I
    was made of. Vectors whose components nobody takes stay as they are.
  }];
  let statistics = [Statistic<"scalarized", "scalarized", "components computed for themselves">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect"];
}

def SplitCarried : Metate_Pass<"metate-split-carried", "::metate::KernelOp"> {
  let summary = "a vector or matrix that a loop carries only to take it apart is carried as scalars";
  let description = [{
    `scf.for ... iter_args(%m = %zero) -> (vector<4x4xf32>)` whose body extracts components of %m and yields a `vector.from_elements` carries 16 scalars.
    Must run after canonicalisation, which puts insertions together.
  }];
  let statistics = [Statistic<"split", "split", "carried vectors split">];
}

def DelinearizeRanges : Metate_Pass<"metate-delinearize-ranges", "::metate::KernelOp"> {
  let summary = "a parallel loop's variable that is taken apart into digits becomes a variable for each digit";
  let description = [{
    Before: `metate.range (%c) = (%c0) to (%c512) { %i = arith.divsi %c, 32; %j = arith.remsi %c, 32 }`; after: `metate.range (%i, %j) = (%c0, %c0) to (%c16, %c32)`.
    From 0 to a constant, by constants each of which divides the next; rows of at least 8. What is left of the number is computed from its digits.
  }];
  let statistics = [Statistic<"split", "split", "variables taken apart">];
}

def EndAtRest : Metate_Pass<"metate-end-at-rest", "::metate::KernelOp"> {
  let summary = "a loop whose turns change something under a condition of what they carry ends where it does not hold";
  let description = [{
    Before: `scf.for %i ... iter_args(%x) { %c = f(%x); %y = g(%x, %i); %z = arith.select %c, %y, %x; scf.yield %z }`; after: an scf.while whose condition is
    `%i < %n and f(%x)`. Not where the condition depends on the turn or on memory, nor where a turn does anything else.
  }];
  let statistics = [Statistic<"ended", "ended", "loops that end before their last turn">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def OrderDimensions : Metate_Pass<"metate-order-dimensions", "::metate::KernelOp"> {
  let summary = "the variable of a parallel loop that names what lies side by side becomes the last one";
  let description = [{
    Before: `metate.range (%j, %i) = (%c0, %c0) to (%m, %n) { memref.store %v, %x[%i, %j] }`; after: `metate.range (%i, %j) = (%c0, %c0) to (%n, %m)`. Where more
    accesses lie along it than along the last one, and there are rows enough for the workers. A deterministic kernel's loops with atomic operations, and others
    whose order shows, stay as they are.
  }];
  let options = [Option<"deterministic", "deterministic", "bool", /*default=*/"false", "results are the same bits for any number of workers">];
  let statistics = [Statistic<"ordered", "ordered", "loops whose variables change places">];
}

def SplitRows : Metate_Pass<"metate-split-rows", "::metate::KernelOp"> {
  let summary = "a parallel loop's variable that is taken apart by extents known at the launch becomes a nest, and a loop of what is left";
  let description = [{
    Before: `metate.range (%c) = (%c0) to (%n) { %i = arith.divsi %c, %m; %j = arith.remsi %c, %m }`; after: `metate.range (%i, %j) = (%c0, %c0) to (%rows, %m)`,
    and a copy of the range from `%rows * %m` on. `%rows` is 0 unless %m is at least 8 and what divisors were taken for is what they are.
    The number itself, computed of its digits, is marked `metate.number`. Not in debug mode.
  }];
  let statistics = [Statistic<"split", "split", "loops split">];
}

def FoldIndexCasts : Metate_Pass<"metate-fold-index-casts", "::metate::KernelOp"> {
  let summary = "index arithmetic in 64 bits where 32-bit wrapping could only give an index out of range";
  let description = [{
    `index_cast(addi(index_cast(%i), 1))` of a loop variable becomes `addi(%i, 1)` in `index`, so that later passes and LLVM
    see through it. Sound because a loop variable is in [-2^31, 2^31) and an index that wraps is outside every array and tree.
  }];
}

def ExplicitActivation : Metate_Pass<"metate-explicit-activation", "::metate::KernelOp"> {
  let summary = "stores and atomics get an activate that guards them, or are proved active; arguments get their access";
  let description = [{
    Before: `metate.store %v, %f["a"][%i]`; after: `%ok = metate.activate %f["a"][%i]; scf.if %ok { metate.store %v, %f["a"][%i] active }`.
    A store at a struct-for's own cell, under an earlier activate of the same cell, or in a member without a sparse level
    needs none. Struct-for loops that may change the topology they walk get the attribute `metate.changes_topology`.
  }];
  let statistics = [Statistic<"inserted", "inserted", "activations inserted">, Statistic<"proved", "proved", "accesses proved active">];
}

def SliceActivations : Metate_Pass<"metate-slice-activations"> {
  let summary = "for each kernel that may activate cells a second one, NAME.reserve, that only counts the slots which that takes";
  let description = [{
    The slice has the kernel's arguments and the address of the counts. What decides which cells are activated (control flow,
    coordinates, what they are loaded from) is kept, each activate and append becomes a `metate.reserve`, nothing else with an
    effect is left. Where that could give another count than the kernel, for the kernel itself writes before what decides, the slice
    is an assertion that fails, at that place and with the reason. `only`: the kernels themselves become empty.
    Must run after explicit-activation.
  }];
  let options = [Option<"only", "only", "bool", "false", "leave nothing of the kernels but what their hosts see">];
  let statistics = [Statistic<"sliced", "sliced", "slices made">, Statistic<"refused", "refused", "slices that only say why there is none">];
}

def SerializeReductions : Metate_Pass<"metate-serialize-reductions", "::metate::KernelOp"> {
  let summary = "what a parallel loop accumulates along its last variables is accumulated by a loop in order, and added once";
  let description = [{
    Before: `metate.range (%i, %j) = ... { memref.atomic_rmw addf %v, %sums[%i] }`; after: `metate.range (%i) = ... { %s = scf.for %j ... { arith.addf }; memref.atomic_rmw
    addf %s, %sums[%i] }`, which demote-atomics makes plain. Of iterations, which run in no order, any order is theirs. Not in debug mode.
  }];
  let options = [Option<"reassociate", "reassociate", "bool", /*default=*/"true", "sums of floats may be computed in any order">];
  let statistics = [Statistic<"serialized", "serialized", "atomics accumulated by a loop">];
}

def DemoteAtomics : Metate_Pass<"metate-demote-atomics", "::metate::KernelOp"> {
  let summary = "an atomic on a cell or element that one iteration owns, or outside of parallel loops, becomes a load, an operation and a store";
  let description = [{
    Owns: no other iteration of the loop writes that place. For example `x[j, i + 1] += 1` in a loop over i and j that writes x nowhere
    else. Must run after explicit-activation, which makes plain accesses of such cells known to be active.
  }];
  let statistics = [Statistic<"demoted", "demoted", "atomics demoted">];
}

def GatherSums : Metate_Pass<"metate-gather-sums", "::metate::KernelOp"> {
  let summary = "a parallel loop that adds to neighbours of what it is at becomes one that takes from them";
  let description = [{
    Before: `metate.range (%i) = (%a) to (%b) { memref.atomic_rmw addf %v, %y[%i + 1] }`, with %v computed from what the loop does not write before; after: `metate.range
    (%j) = (%a + 1) to (%b + 1) { memref.store (memref.load %y[%j]) + (%v at %j - 1), %y[%j] }`, with a test where several neighbours add. Only where what is added
    is cheap. Gradients of stencils are such loops. Must run after offload. Not in debug mode.
  }];
  let statistics = [Statistic<"gathered", "gathered", "loops turned">];
}

def PromoteCells : Metate_Pass<"metate-promote-cells", "::metate::KernelOp"> {
  let summary = "places that an inner loop names in every turn, and nothing else in it can touch, become variables around it";
  let description = [{
    Before: `scf.for %j { %p = metate.load %x[%i]; ...; %old = metate.load %sum[%i]; metate.store %new, %sum[%i] active }` in a loop over %i; after, each of the two
    is read once before the loop into a rank-0 `memref.alloca`, and what the loop changed is stored once after it. promote-locals makes values
    of these. Must run after demote-atomics: an atomic operation stays where it is.
  }];
  let statistics = [Statistic<"promoted", "promoted", "places promoted">];
}

def CarryChosen : Metate_Pass<"metate-carry-chosen", "::metate::KernelOp"> {
  let summary = "what a loop computed of the one that it chose is carried, not computed again";
  let description = [{
    Before: `scf.for %q iter_args(%best) { %new = f(%q); %old = f(%best); %c = compare %new, %old; yield select(%c, %q, %best) }`, where f reads memory that
    nothing in the loop writes; after, f(%best) is carried next to %best. Must run after promote-cells, which makes variables of what is stored.
  }];
  let statistics = [Statistic<"carriedLoops", "carried", "loops that carry what they computed of the chosen one">];
}

def ReassociateSums : Metate_Pass<"metate-reassociate-sums", "::metate::KernelOp"> {
  let summary = "what a loop only accumulates may be combined in any order";
  let description = [{
    Before: `%s = arith.addf %carried, %x`, in a loop that carries %s and reads it nowhere else; after, the addition has the flag `reassoc`. So for
    subtractions from the value, products, minnum and maxnum (also `nsz`), through branches, choices and inner loops. Not in kernels
    marked `metate.ordered`. Must run after promote-cells: a place that a loop accumulates in is a value then.
  }];
  let statistics = [Statistic<"reassociated", "reassociated", "values that loops accumulate in any order">];
}

def PrivateReductions : Metate_Pass<"metate-private-reductions", "::metate::KernelOp"> {
  let summary = "atomics that only accumulate in a place which is one for the whole loop are marked";
  let description = [{
    `memref.atomic_rmw addf %v, %sum[]` becomes `memref.atomic_rmw addf %v, %sum[] {metate.reduction}` where nobody asks for the
    old value and the loop touches the place in no other way: a target may then keep a partial result for each chunk of iterations.
  }];
  let statistics = [Statistic<"marked", "marked", "atomics marked">];
}

def Offload : Metate_Pass<"metate-offload", "::metate::KernelOp"> {
  let summary = "a kernel becomes a straight list of tasks";
  let description = [{
    Statements with effects between parallel loops are gathered into `metate.serial`; struct-for loops become `metate.cells`
    over the pool of their last sparse level, with the nest over the cells below inside, or `metate.range` where every cell is active.
    `deterministic`: the kernel is marked `metate.deterministic`, and a `metate.sort` stands before each task over slots.
  }];
  let options = [Option<"deterministic", "deterministic", "bool", "false", "the same bits in every run, for any number of workers">];
}

def NarrowLoops : Metate_Pass<"metate-narrow-loops", "::metate::KernelOp"> {
  let summary = "conditions around the whole body of a loop become its bounds";
  let description = [{
    Before: `metate.range (%i) = (%c0) to (%n) { %p = arith.cmpi sgt, %i, %c0; scf.if %p { ... } }`; after: `metate.range (%i) = (%c1) to (%n) { ... }`.
    Comparisons of a loop's variable, and a constant, with what is the same in all iterations, joined by `and`. A condition that has nothing to do
    with a serial loop goes around it.
  }];
  let statistics = [Statistic<"narrowed", "narrowed", "conditions that have left their loops">];
}

def GuessExtents : Metate_Pass<"metate-guess-extents", "::metate::KernelOp"> {
  let summary = "loops over arrays of small matrices or points have a copy for the extents that their indices tell";
  let description = [{
    Before: `metate.range (%p, %i) = (%c0, %c0) to (%n, %c3) { memref.load %a[%p, %i, %c2] }`; after: `metate.range (%p) = (%c0) to (%known) { ... }` with
    `memref.load %a[%p, %c0, %c2] {metate.extents = array<i64: 3, 3>}` and two more, then the range as it was to `%other`: %known is %n and %other is
    0 if the launch's array has these extents, else the other way round.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
  let statistics = [Statistic<"guessed", "guessed", "loops that were copied">];
}

def CountWork : Metate_Pass<"metate-count-work", "::metate::KernelOp"> {
  let summary = "says what an iteration of each task moves and computes, where remarks are asked for";
  let description = [{
    Of a task of stage offload: bytes that an iteration reads and writes, at least, and floating-point operations. Changes nothing; who explains a
    program makes a bound of its time of it.
  }];
}

def ExpandPhilox : Metate_Pass<"metate-expand-philox", "::metate::KernelOp"> {
  let summary = "random words become arithmetic";
  let description = [{`metate.philox` becomes ten rounds of `arith.mului_extended` and `arith.xori`, in the words and the key.}];
}

def ExpandQuant : Metate_Pass<"metate-expand-quant", "::metate::KernelOp"> {
  let summary = "decoding and encoding of quantised members become arithmetic";
  let description = [{
    Before: `%v = metate.decode %b as !metate.quant_int<5, true, i32> : i5 -> i32`; after: `%v = arith.extsi %b : i5 to i32`. What the bits mean is
    docs/semantics.md, QV1 to QV4.
  }];
}

def JoinBoundedCounts : Metate_Pass<"metate-join-bounded-counts", "::metate::KernelOp"> {
  let summary = "counts that stop at a bound are added up first";
  let description = [{
    Before: `%m = arith.select (%c0 and %n < 15), %n + 1, %n; %r = arith.select (%c1 and %m < 15), %m + 1, %m`, or conditionals that give the same; after:
    `%r = arith.minsi (%n + %c0 + %c1), 15`. Where %n is known not to be beyond the bound, %m is not wanted for itself, and no condition follows from a count.
  }];
  let statistics = [Statistic<"joined", "joined", "counts that are added up first">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WalkWords : Metate_Pass<"metate-walk-words", "::metate::KernelOp"> {
  let summary = "loops over elements of quant_arrays go word by word, many elements at once where their arithmetic is logic";
  let description = [{
    Before: `for %j = 0 to %n { store (load b[%j]) + 1, c[%j] }`; after: `for %w = 0 to ceildiv(%n, 32) { ... }`, where an iteration stores whole words
    that no other one stores. What a word's elements compute is done for all of them by logic on planes of bits, one plane for each bit of a value, where
    all values are small integers (sums, comparisons, selections, logic; loads beside the own element are shifted words); else element by element.
  }];
  let statistics = [Statistic<"walked", "walked", "loops that go word by word">, Statistic<"sliced", "sliced", "of these, those on planes of bits">];
}

def JoinMerges : Metate_Pass<"metate-join-merges", "::metate::KernelOp"> {
  let summary = "bits of one word that are written one after the other are written together";
  let description = [{
    Two `metate.merge` of one word become one where nothing in between touches the word; one that writes every bit is a `metate.write`. What is left
    becomes a loop around `metate.cas`.
    Before: `metate.merge %x mask 31, %t[%w]; metate.merge %y mask -32, %t[%w]`; after: `metate.write %xy, %t[%w]`.
  }];
}

def ProveActivity : Metate_Pass<"metate-prove-activity", "::metate::KernelOp"> {
  let summary = "activations and tests of cells that are known to be active go";
  let description = [{
    Known is the slot that the task is at, a cell under the condition that its test or activation gave, and a second test or activation of one cell;
    with a cell, the cells above it, and all that have these in common: `8 * b + 1` is in the leaf of `8 * b + 7`. What deactivates cells ends
    what is known of them; in a parallel task, nothing is ever known of cells that it may deactivate.
    Before: `%a = metate.activate %f["a"][%i]; scf.if %a { %t = metate.is_active %f["a"][%i]; scf.if %t { body } }`; after: `%a = …; scf.if %a { body }`.
  }];
  let statistics = [Statistic<"activations", "activations", "activations removed">, Statistic<"tests", "tests", "tests removed">];
}

def HoistActivations : Metate_Pass<"metate-hoist-activations", "::metate::KernelOp"> {
  let summary = "an activation that every cell of a leaf performs on one leaf is performed once per leaf";
  let description = [{Only where the access runs for each cell of the nest, so that no leaf is activated that was not before.}];
  let statistics = [Statistic<"hoisted", "hoisted", "activations hoisted">];
}

def ActivateLeaves : Metate_Pass<"metate-activate-leaves", "::metate::KernelOp"> {
  let summary = "an activation that every active cell of a leaf performs is performed once per leaf, by words of its mask";
  let description = [{
    Of an activation at the own cell of a struct-for over a bitmasked leaf: the other leaf's slot is activated and its mask gets the bits of the own one
    (`metate.activate_leaf`) before the nest, which then changes nothing and can be staged and computed by rows.
  }];
  let statistics = [Statistic<"merged", "merged", "activations performed by words">];
}

def DeactivateLeaves : Metate_Pass<"metate-deactivate-leaves", "::metate::KernelOp"> {
  let summary = "cells of a bitmasked leaf that a struct-for gives up are noted, and given up by words when the leaf is done";
  let description = [{
    Of deactivations at the own cell, under any condition, behind which the iteration does nothing with the tree: a byte for each cell of the leaf, on the
    stack, notes it; after the nest `metate.deactivate_word` clears the bits of each word at once.
  }];
  let options = [Option<"notedCells", "noted-cells", "int64_t", /*default=*/"0", "of a leaf that the stack has room to note, at most: the target's (LayoutTuning); 0: none is noted">];
  let statistics = [Statistic<"gathered", "gathered", "deactivations made by words">];
}

def HoistSlots : Metate_Pass<"metate-hoist-slots", "::metate::KernelOp"> {
  let summary = "a slot that stays the same while a loop over a range runs is activated and looked up once, before the loop";
  let description = [{
    In `metate.range (%l, %c)` with known bounds of %c and accesses at `8 * leaves[%l] + %c % 8`, the last dimensions become `scf.for` loops of the body (as the
    target would make them), what is the same for all of them moves above, and so do the activations of slots; the bits of cells below a slot stay
    inside, marked `metate.linked`. lower-layout looks up slots before the nest, which is marked `metate.slots`.
    Where it is known which cells of a bitmasked leaf all iterations reach (a whole leaf, half of it, a chessboard), their bits are set before the nest, and
    cleared after it, by words: `metate.activate_leaf` and `metate.deactivate_leaf` with `cells`.
  }];
  let options = [Option<"words", "words", "bool", /*default=*/"true", "bits of cells known beforehand are set and cleared by words">];
  let statistics = [Statistic<"nests", "nests", "ranges made nests">, Statistic<"hoisted", "hoisted", "activations hoisted">,
    Statistic<"activated", "activated", "activations of cells made by words">,
    Statistic<"deactivated", "deactivated", "deactivations of cells made by words">];
}

def StageLeaves : Metate_Pass<"metate-stage-leaves", "::metate::KernelOp"> {
  let summary = "neighbour reads of a struct-for go through a local copy of the leaf with its halo";
  let description = [{
    Loads of one member at `own cell + constant` in a nest that never writes that tree become loads of a
    `metate.stage_leaf` tile: neighbour leaves are looked up once a leaf, and rows are contiguous. Where each load reads whole rows of a
    leaf, moved by constants, they are read a row at a time instead (`metate.stage_row`), for vector registers.
  }];
  let options = [Option<"rows", "rows", "bool", /*default=*/"true", "whole rows, where loads read such">,
    Option<"ownWrites", "own-writes", "bool", /*default=*/"true",
    "also of members that the loop writes, at the own cell: a tile then holds cells that other iterations write meanwhile, and nobody uses">,
    Option<"tileBytes", "tile-bytes", "int64_t", /*default=*/"0", "of a tile, at most: the target's (LayoutTuning), as what follows; 0: no tiles">,
    Option<"rowBytes", "row-bytes", "int64_t", /*default=*/"0", "of a row, at most; 0: no rows">,
    Option<"unrolledParts", "unrolled-parts", "int64_t", /*default=*/"0", "of a tile that are filled by code of their own, at most">];
  let statistics = [Statistic<"staged", "staged", "loads served from a tile">,
    Statistic<"rowsStaged", "rows", "loads served from a row">];
}

def ScanMasks : Metate_Pass<"metate-scan-masks", "::metate::KernelOp"> {
  let summary = "a struct-for over a bitmasked leaf reads its cells' bits a row at a time";
  let description = [{
    Marks a test of the own cell `metate.scanned`, and what stands under it `metate.masked`, where rows of the leaf divide the words of
    its mask: lower-layout then reads the row's bits before the row, flatten-rows computes the row as vectors and stores under the bits.
    Leaves all of whose cells are active have a body without the test (`metate.is_leaf_full`).
  }];
  let options = [Option<"splitLeaves", "split-leaves", "bool", /*default=*/"true", "full leaves apart">];
  let statistics = [Statistic<"scanned", "scanned", "tests made a row at a time">,
    Statistic<"split", "split", "bodies with a copy for full leaves">];
}

def OwnRows : Metate_Pass<"metate-own-rows", "::metate::KernelOp"> {
  let summary = "a row of a dense member that an iteration has for itself, and uses many times, is a local array";
  let description = [{
    Before: `metate.range (%p) { for %i { for %j { load f["x"][%p, %j] ... store f["x"][%p, %j] } } }`; after: a `memref.alloca` that is filled from the row
    before the loops, used by them, and stored to the row behind them. Lanes have a row of vectors in its place.
  }];
  let options = [Option<"mostBytes", "most-bytes", "int64_t", /*default=*/"0", "of an iteration's rows, at most: the target's (LayoutTuning), as what follows; 0: no local rows">,
    Option<"leastUses", "least-uses", "int64_t", /*default=*/"4", "accesses of the row for each that copies it, at least">];
  let statistics = [Statistic<"made", "made", "rows that became local arrays">];
}

def PrivateCopies : Metate_Pass<"metate-private-copies", "::metate::KernelOp"> {
  let summary = "what a loop adds to at places that data says gets a copy for each piece of the loop";
  let description = [{
    Before: a `metate.range` with `metate.atomic addf` at computed places of dense members or arrays, which the loop does not read. After: a range over pieces
    of its iterations, which read and write a `metate.pool` instead, and a range that combines the copies with the targets. Where the number of iterations is
    known at launch only, the loop stays beside it: one of both has no iterations.
  }];
  let options = [Option<"mostBytes", "most-bytes", "int64_t", /*default=*/"0", "of all copies, at most: the target's (LayoutTuning), as what follows; 0: no copies">,
    Option<"perCell", "per-cell", "int64_t", /*default=*/"8", "so often a piece adds to each number of its copy, at least">,
    Option<"leastAdds", "least-adds", "int64_t", /*default=*/"0", "of a piece">];
  let statistics = [Statistic<"copied", "copied", "loops whose pieces add to copies">];
}

def BinScatters : Metate_Pass<"metate-bin-scatters", "::metate::KernelOp"> {
  let summary = "what a loop adds to around places that data says is added to block by block";
  let description = [{
    Before: a `metate.range` of known length with `metate.atomic addf` at constant distances from a computed place of dense members or arrays, which the
    loop does not read. After: ranges that count its iterations by block of the grid, sum the counts up, and put the iterations in order, in a `metate.pool`;
    and two over every second slab of blocks (`metate.one_body`), in which a worker's tile takes the place of the targets and is then combined with them.
    A range whose end the launch knows is as long as the shortest dense field, at most, that each iteration reads at its own place.
  }];
  let options = [Option<"mostBytes", "most-bytes", "int64_t", /*default=*/"0", "of the order, at most: the target's (LayoutTuning), as what follows; 0: no bins">,
    Option<"least", "least", "int64_t", /*default=*/"16384", "iterations of a loop, at least">,
    Option<"leastNumbers", "least-numbers", "int64_t", /*default=*/"16", "that an iteration adds, at least: sorting costs about as much as ten">,
    Option<"streamed", "streamed", "int64_t", /*default=*/"-1", "bytes of the order, at least, of which whole lines are written around the caches; less than 0: none">];
  let statistics = [Statistic<"binned", "binned", "loops whose iterations are put in order">];
}

def CountPlaces : Metate_Pass<"metate-count-places", "::metate::KernelOp"> {
  let summary = "places in many lists are counted before the loop that takes them";
  let description = [{
    Before: `metate.range (%p) { %k = metate.append %x["list"][%c]; ... }` with %c computed from what the loop does not write; or an integer `metate.atomic addi`
    in place of the append whose old value is used. After: a range over parts of the iterations that counts, in a `metate.pool`, how many places each part takes of
    each list; one over the lists, which takes places for all parts, side by side; and one over parts that runs the iterations, in order, with the places that are its own.
    Where only the launch knows how long the loop is, it stays for short ones. Iterations get places in their order.
  }];
  let options = [Option<"mostBytes", "most-bytes", "int64_t", /*default=*/"0", "of the counters, at most: the target's (LayoutTuning); 0: nothing is counted">,
    Option<"least", "least", "int64_t", /*default=*/"4096", "places that a loop takes, at least">];
  let statistics = [Statistic<"counted", "counted", "loops whose places are counted">];
}

def CutLists : Metate_Pass<"metate-cut-lists", "::metate::KernelOp"> {
  let summary = "a loop over the cells of a list goes chunk by chunk";
  let description = [{
    Before: `scf.for %k = 0 to %n { metate.load %x["v"][%i, %k] }` with %n a `metate.length %x["list"][%i]`; after: a loop over chunks, and in it
    `scf.for %w = 0 to min(%n - 16 * %c, 16) { metate.load %x["v"][%i, 16 * %c + %w] {metate.of_chunk} }`. The cells are known to be active, and
    lower-layout walks to the chunk before the inner loop. Not where the task gives up cells of that tree.
  }];
  let statistics = [Statistic<"lists", "lists", "loops that go chunk by chunk">];
}

def PlanPools : Metate_Pass<"metate-plan-pools", "::mlir::ModuleOp"> {
  let summary = "the memory that a kernel's code plans has numbers, and its interface a list of it";
  let description = [{
    Before: `metate.pool "tile" worker bytes 64 align 64`; after: the same with `index 0`, and `pools [#metate.pool<"tile", ...>]` at the
    kernel's interface. Operations of one name share one pool, of the largest of their sizes. Runs when all pools are there, after layout.
  }];
}

def RecordInterfaces : Metate_Pass<"metate-record-interfaces"> {
  let summary = "what the host of each kernel sees becomes a metate.interface";
  let description = [{
    `metate.kernel @k(%x: memref<?xf32> {metate.name = "x"})` becomes the kernel @metate_entry_k, and behind it stands
    `metate.interface @k entry "metate_entry_k" ...` with its arguments. The last pass that sees arguments as the front end wrote them.
  }];
}

def UnifyExtents : Metate_Pass<"metate-unify-extents", "::metate::KernelOp"> {
  let summary = "extents of a kernel's arrays that are one dim are one value";
  let description = [{
    Before, where both arrays have `metate.shape = [#metate.dim<"n", 1 to 64>]`: `memref.dim %x, 0; memref.dim %y, 0`; after: `memref.dim %x, 0` twice, which are one. The launch
    has checked it.
  }];
  let statistics = [Statistic<"unified", "unified", "extents taken from another array">];
}

def PlanIntermediates : Metate_Pass<"metate-plan-intermediates", "::mlir::ModuleOp"> {
  let summary = "a graph's own arrays have places in one pool; those that are not needed at once share memory";
  let description = [{
    Before: `%h = metate.intermediate "h" [1024] : memref<1024xf32>; metate.run @g.0.a(%x, %h)`; after: the same with `offset 0 of 4096`. An array is needed from the first
    run that is given it to the last one, and in the whole of a loop around one of these. Dims count with their maximum. One that is read before it is written
    is an error.
  }];
}

def LowerLayout : Metate_Pass<"metate-lower-layout"> {
  let summary = "trees and arrays become bytes at offsets of a block";
  let description = [{
    Every offset comes from Layout/, every walk from Level/. A kernel's arguments are flattened: a tree to its block; an array to
    its block, extents and strides. A dialect conversion: behind it no operation has the trait LoweredByLayout.
    Must run after record-interfaces, which reads the arguments that go.
  }];
}

def FuseLoops : Metate_Pass<"metate-fuse-loops", "::metate::KernelOp"> {
  let summary = "puts parallel loops over one box together where each iteration has places of its own";
  let description = [{
    Before: `for i in x: y[i] = a * x[i]`, then `for i in x: z[i] = y[i] + x[i]`; after: one loop with both statements, which loads
    `x[i]` once and `y[i]` not at all. Where both loops touch a member or array that one of them writes, both name it by the same
    variables, so that no iteration of the second one sees what another one of the first one wrote. Loops with branches, inner
    loops, atomics or activations stay as they are.
  }];
  let statistics = [Statistic<"fused", "fused", "loops that became one with the next one">];
}

def ForwardStores : Metate_Pass<"metate-forward-stores", "::metate::KernelOp"> {
  let summary = "an iteration reads nothing that it has just stored, and stores a place once";
  let description = [{
    Before: `write %a, %x[%at]; %b = read %x[%at]; %c = addf %b, %d; write %c, %x[%at]`; after: `%c = addf %a, %d; write %c, %x[%at]`. Bodies of ranges
    of kernels whose arguments do not overlap; not across atomics with an order and what may stop the kernel.
  }];
}

def BlendStores : Metate_Pass<"metate-blend-stores", "::metate::KernelOp"> {
  let summary = "a store under a condition to a place that the turn has read becomes a store of a selection, two stores to one array become one";
  let description = [{
    Before: `%old = memref.load %y[%i]; %c = arith.cmpf olt, %t, %old; scf.if %c { memref.store %t, %y[%i] }`; after: `%new = arith.select %c, %t, %old;
    memref.store %new, %y[%i]`. In loops without loops inside that walk rows, where no other iteration writes the place, under conditions that
    ask memory; a branch that reads what is not known, computes much, or has another effect stays. `scf.if %c { memref.store %t, %y[%i] } else
    { memref.store %t, %y[%j] }` becomes a store at the selected index, whoever writes there.
  }];
  let statistics = [Statistic<"blended", "blended", "conditionals that became selections">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}
