"""The compiler's options as Python has them: made of compiler/metate/Options/Options.def by scripts/make-options.

What they mean to callers, and which values they may have, is compile_options.py's.
"""

# fmt: off
# ruff: noqa: E501

from __future__ import annotations

from typing import TYPE_CHECKING

from .record import Record

if TYPE_CHECKING:
    from typing import TypedDict


class Row(Record):
    """An option: its type as in the table, what it is by default, whether it may be left out."""

    name: str
    type: str
    default: object
    is_optimisation: bool
    documentation: str


TABLE = (
    Row("opt_level", "OptLevel", 2, False, "0 to 3, as of C compilers."),
    Row("hoist_leaves", "bool", True, True, "One activation and one look-up a leaf, neighbours through a copy of the leaf."),
    Row("prove_activity", "bool", True, True, "Activations and tests of cells that are known to be active go."),
    Row("scan_masks", "bool", True, True, "Bits of bitmasked leaves are read a row at a time."),
    Row("unroll_loops", "bool", True, True, "Inner loops with a few known turns are written out."),
    Row("demote_atomics", "bool", True, True, "Atomics that one iteration owns become plain accesses."),
    Row("promote_cells", "bool", True, True, "What an inner loop reads or accumulates in one place is a value in it."),
    Row("reassociate_sums", "bool", True, True, "What a loop that runs in order only accumulates is combined in any order, but for deterministic and fast_math=False."),
    Row("private_reductions", "bool", True, True, "Atomics that accumulate in one place do so in a partial result for each chunk of iterations."),
    Row("split_borders", "bool", True, True, "Conditions on loop variables become bounds, or leave the interior of the loop."),
    Row("across_iterations", "bool", True, True, "Iterations that run a long loop in order do so side by side, as lanes of vectors."),
    Row("deterministic", "bool", False, False, "The same bits in every run, for any number of workers: loops over slots in the order of coordinates, sums of floats in pieces that do not depend on the workers, what depends on the order of iterations in order."),
    Row("chunk_ns", "Nanoseconds", 20000, False, "A chunk of a parallel loop is at least that much work, as far as it can be estimated, in nanoseconds; 0: one iteration."),
    Row("nontemporal_bytes", "ByteCount", 67108864, False, "A task that writes so many bytes a launch, row by row, and does not read them writes around the caches; more than a last-level cache holds."),
    Row("debug", "bool", False, False, "Accesses, divisions and activations are checked at run time, and a kernel stops at the first that is wrong."),
    Row("profile", "bool", False, False, "Kernels tell their host when a task begins and ends: the profiler's times of tasks."),
    Row("asserts", "bool", False, False, "Assert statements of kernels are checked; with debug they are as well."),
    Row("contract", "bool", True, False, "Floating-point products and sums may become fused multiply-adds."),
    Row("sanitizer", "Sanitizer", None, False, "address or thread: LLVM's instrumentation of kernels, for hosts built with the same sanitizer."),
)


class CompilerOptions(Record):
    """The value of each, checked."""

    opt_level: int
    hoist_leaves: bool
    prove_activity: bool
    scan_masks: bool
    unroll_loops: bool
    demote_atomics: bool
    promote_cells: bool
    reassociate_sums: bool
    private_reductions: bool
    split_borders: bool
    across_iterations: bool
    deterministic: bool
    chunk_ns: int
    nontemporal_bytes: int | None
    debug: bool
    profile: bool
    asserts: bool
    contract: bool
    sanitizer: str | None


if TYPE_CHECKING:

    class CompilerKeywords(TypedDict, total=False):
        """The same as keywords of a call."""

        opt_level: int
        hoist_leaves: bool
        prove_activity: bool
        scan_masks: bool
        unroll_loops: bool
        demote_atomics: bool
        promote_cells: bool
        reassociate_sums: bool
        private_reductions: bool
        split_borders: bool
        across_iterations: bool
        deterministic: bool
        chunk_ns: int
        nontemporal_bytes: int | None
        debug: bool
        profile: bool
        asserts: bool
        contract: bool
        sanitizer: str | None
