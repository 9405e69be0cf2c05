"""Probes of faults in what carries kernels: the memory of graphs, named extents, entries, headers, machines without a system."""

import ctypes
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

import metate as mt
from metate.errors import CompilationError, RuntimeError_, RuntimeIndexError_, RuntimeValueError_
from metate.graph import Arg, ArgKind, GraphBuilder

from . import Mismatch, expect, probe

f32, i32 = mt.f32, mt.i32
BOARD = "thumbv7em-none-eabihf"
n = mt.Dim("n", min=2, max=64)
line = mt.types.ndarray(f32, ndim=1, contiguous=True)


@mt.kernel
def double(x: line, y: line):
    for i in range(x.shape[0]):
        y[i] = 2.0 * x[i]


@mt.kernel
def add(x: line, y: line, z: line):
    for i in range(x.shape[0]):
        z[i] = x[i] + y[i]


@mt.kernel
def reversed_of(x: line, y: line):  # as long as y lies elsewhere
    for i in range(x.shape[0]):
        y[i] = x[x.shape[0] - 1 - i]


def saved(module, suffix):
    """The file's path, in a folder that stays as long as the process: what it loads is not closed."""
    folder = pathlib.Path(tempfile.mkdtemp())
    return module.save(folder / f"probe.{suffix}")


def graph(sizes, run):
    """A graph with an intermediate for each of `sizes` extents, which `run(builder, x, y, them)` dispatches."""
    x, y = (Arg(ArgKind.NDARRAY, name, f32, shape=(n,)) for name in "xy")
    builder = GraphBuilder()
    own = [builder.intermediate(f"a{k}", f32, (size,)) for k, size in enumerate(sizes)]
    run(builder, x, y, own)
    return builder.compile()


def launched(made, names="xy"):
    x, y = np.arange(1, 17, dtype=np.float32), np.zeros(16, np.float32)
    made.run({name: array for name, array in (("x", x), ("y", y)) if name in names})
    return x, y


# ---- the memory of graphs


@probe("ArenaLastStepFree")
def arena_last_step_free():
    def run(builder, x, y, own):
        builder.dispatch(double, x, own[0])
        builder.dispatch(reversed_of, own[0], own[1])  # reads the one while it writes the other
        builder.dispatch(double, own[1], y)

    x, y = launched(graph([n, n], run))
    expect(y, 4 * x[::-1])


@probe("ArenaGapTooSmall")
def arena_gap_too_small():
    @mt.kernel
    def open_both(a: line, c: line):
        for i in range(a.shape[0]):
            a[i] = 1.0
        for i in range(c.shape[0]):
            c[i] = 4.0

    @mt.kernel
    def sum_of(x: line, y: line):
        for i in range(x.shape[0]):
            y[0] += x[i]

    @mt.kernel
    def close_first(a: line, b: line, d: line, y: line):
        for i in range(b.shape[0]):
            b[i] = 2.0
        for i in range(d.shape[0]):
            d[i] = 3.0
        for i in range(a.shape[0]):
            y[0] += a[i]

    def run(builder, x, y, own):
        a, b, c, d = own
        builder.dispatch(open_both, a, c)
        builder.dispatch(sum_of, c, y)
        builder.dispatch(close_first, a, b, d, y)  # between b and a, which lies behind c, there is less room than d needs
        builder.dispatch(sum_of, b, y)
        builder.dispatch(sum_of, d, y)

    _, y = launched(graph([32, 48, 64, 32], run), "y")
    expect(y[0], 32 + 2 * 48 + 4 * 64 + 3 * 32)


@probe("ArenaEndOfLast")
def arena_end_of_last():
    @mt.kernel
    def first_of(x: line, y: line):
        for i in range(y.shape[0]):
            y[i] = x[i]

    def run(builder, x, y, own):
        builder.dispatch(double, x, own[0])
        builder.dispatch(double, own[0], own[1])
        builder.dispatch(first_of, own[1], own[2])  # the small one is placed last, where the first one was
        builder.dispatch(first_of, own[2], y)

    file = saved(mt.aot.Module(name="probe").add_graph("g", graph([n, n, 16], run)), "metate")
    x, y = np.ones(16, np.float32), np.zeros(16, np.float32)
    (pool,) = mt.aot.load(file).g.plan(x, y).pools
    expect(pool.bytes, 2 * 4 * n.max)


@probe("LoopLifeForgotten")
def loop_life_forgotten():
    times = Arg(ArgKind.SCALAR, "times", i32)

    def run(builder, x, y, own):
        builder.dispatch(double, x, own[0])
        turns = builder.create_sequential()
        turns.dispatch(double, own[0], own[1])  # what the next turn needs again
        turns.dispatch(double, own[1], own[2])
        turns.dispatch(add, own[2], x, y)
        builder.append(turns, count=times)

    x, y = np.arange(1, 17, dtype=np.float32), np.zeros(16, np.float32)
    graph([n, n, n], run).run({"x": x, "y": y, "times": 3})
    expect(y, 9 * x)


# ---- named extents


@probe("UnifiedFirstAxis")
def unified_first_axis():
    m = mt.Dim("m")

    @mt.kernel
    def run(x: mt.types.ndarray(i32, shape=(None, m)), y: mt.types.ndarray(i32, shape=(m,))):
        for i in range(y.shape[0]):
            y[i] = x[0, i] + y.shape[0]

    x, y = np.arange(10, dtype=np.int32).reshape(2, 5), np.zeros(5, np.int32)
    run(x, y)
    expect(y, x[0] + 5)


@probe("DimRangeOfLeast")
def dim_range_of_least():
    m = mt.Dim("m", min=1, max=100)

    @mt.kernel(debug=True)
    def run(x: mt.types.ndarray(i32, shape=(m,))):
        for i in range(x.shape[0]):
            if i % 8 == 0:
                x[i * 536870912] += 1  # wraps to 0

    x = np.zeros(9, np.int32)
    try:
        run(x)
    except RuntimeIndexError_ as error:
        raise Mismatch(str(error)) from None
    expect(x, [2] + [0] * 8)


def dims_module():
    m = mt.Dim("m", min=2, max=8)

    @mt.kernel
    def norms(x: mt.types.ndarray(f32, shape=(None, m), contiguous=True), y: mt.types.ndarray(f32, shape=(m,), contiguous=True)):
        for j in range(y.shape[0]):
            for i in range(x.shape[0]):
                y[j] += x[i, j] * x[i, j]

    @mt.kernel
    def rows(x: mt.types.ndarray(f32, shape=(m, 3), contiguous=True)) -> f32:
        total = 0.0
        for i in range(x.shape[0]):
            total += x[i, 1]
        return total

    return mt.aot.Module(name="probe").add_kernel(norms).add_kernel(rows)


@probe("DimSlotOfFirstAxis")
def dim_slot_of_first_axis():
    x, y = np.ones((3, 4), np.float32), np.zeros(4, np.float32)
    try:
        mt.aot.load(saved(dims_module(), "metate")).norms(x, y)
    except (RuntimeError_, RuntimeValueError_) as error:
        raise Mismatch(str(error)) from None
    expect(y, [3, 3, 3, 3])


@probe("SignatureWithoutBounds")
def signature_without_bounds():
    def signature(most):
        m = mt.Dim("m", max=most)

        @mt.kernel
        def run(x: mt.types.ndarray(f32, shape=(m,))):
            for i in x:
                x[i] = 1.0

        header = saved(mt.aot.Module(name="probe").add_kernel(run), "o").with_suffix(".h").read_text()
        return re.search(r"Signature (0x[0-9a-f]+)", header)[1]

    expect(signature(8) != signature(9), True)


# ---- entries and headers


@probe("DirectMaximumUnchecked")
def direct_maximum_unchecked():
    library = ctypes.CDLL(str(saved(dims_module(), "so")))
    x, y = np.ones((3, 9), np.float32), np.zeros(9, np.float32)
    at = [ctypes.c_void_p(array.ctypes.data) for array in (x, y)]
    status = library.probe_norms(at[0], ctypes.c_int64(3), ctypes.c_int64(9), at[1], None, None)
    expect((status, y[0]), (2, 0))


def members_module():
    bead = mt.types.struct(a=f32, b=f32)

    @mt.kernel
    def swap(x: mt.types.ndarray(bead, 1)):
        for i in x:
            x[i].a, x[i].b = x[i].b, x[i].a

    return mt.aot.Module(name="probe").add_kernel(swap)


@probe("DirectMembersUnchecked")
def direct_members_unchecked():
    library = ctypes.CDLL(str(saved(members_module(), "so")))
    a, b = np.ones(4, np.float32), np.zeros(4, np.float32)
    given = [(ctypes.c_void_p(array.ctypes.data), ctypes.c_int64(n), ctypes.c_int64(1)) for array, n in ((a, 4), (b, 3))]
    expect((library.probe_swap(*given[0], *given[1], None, None), a[0]), (2, 1))


@probe("MembersOfAnyShape")
def members_of_any_shape():
    a = np.ones(4, np.float32)
    try:
        mt.aot.load(saved(members_module(), "metate")).swap(a, np.zeros(5, np.float32))
    except RuntimeValueError_:
        pass
    expect(a[0], 1)


@probe("NoPoolsUnchecked")
def no_pools_unchecked():
    builder, n = mt.graph.GraphBuilder(), 8
    x = mt.graph.Arg(mt.graph.ArgKind.NDARRAY, "x", f32, shape=(n,))
    between = builder.intermediate("between", f32, (n,))

    @mt.kernel
    def copy(a: mt.types.ndarray(f32, 1), b: mt.types.ndarray(f32, 1)):
        for i in a:
            b[i] = a[i]

    builder.dispatch(copy, x, between)
    builder.dispatch(copy, between, x)
    library = saved(mt.aot.Module(name="probe").add_graph("g", builder.compile()), "so")
    code = f"import ctypes; print(ctypes.CDLL({str(library)!r}).probe_g((ctypes.c_float * 8)(), None, None))"
    expect(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout, "1\n")


@probe("DirectExtentsReversed")
def direct_extents_reversed():
    library = ctypes.CDLL(str(saved(dims_module(), "so")))
    x, y = np.arange(12, dtype=np.float32).reshape(3, 4), np.zeros(4, np.float32)
    at = [ctypes.c_void_p(array.ctypes.data) for array in (x, y)]
    library.probe_norms(at[0], ctypes.c_int64(3), ctypes.c_int64(4), at[1], None, None)
    expect(y, (x * x).sum(axis=0))


@probe("HeaderMaximumIsLeast")
def header_maximum_is_least():
    header = saved(dims_module(), "o").with_suffix(".h").read_text()
    expect(re.findall(r"#define probe_norms_m_(MIN|MAX) (\d+)", header), [("MIN", "2"), ("MAX", "8")])


@probe("LibraryOneByteShort")
def library_one_byte_short():
    file = saved(dims_module(), "so")
    try:
        module = mt.aot.load(file)
    except (RuntimeError_, RuntimeValueError_) as error:
        raise Mismatch(str(error)) from None
    expect(module.rows(np.ones((4, 3), np.float32)), 4)


@probe("PackedResultIsArgument")
def packed_result_is_argument():
    text = re.search(rb'\{"metate":\{[^\0]*"result":[^\0]*\}', saved(dims_module(), "so").read_bytes())
    expect(text is not None, True)
    about = json.loads(text[0])
    schema = json.loads(about["type_schema"])
    expect(len(schema["named_args"]["params"]), 1)
    expect(about["metate"]["result"], "f32")


# ---- machines without a system


def board_object(module):
    try:
        return saved(module, "o")
    except CompilationError as error:  # a call of a library's function
        raise Mismatch(str(error)) from None


@probe("BareUnwindTables")
def bare_unwind_tables():
    file = board_object(mt.aot.Module(name="probe", targets=[BOARD]).add_kernel(double))
    shown = subprocess.run(["llvm-readelf-22", "-u", file], capture_output=True, text=True, check=True).stdout
    expect(sorted(set(re.findall(r"Model: (\w+)", shown))), ["CantUnwind"])  # eight bytes that say so


@probe("BareTreesOfManyWorkers")
def bare_trees_of_many_workers():
    tree = mt.types.SNodeTreeBuilder().pointer(mt.i, 8).dense(mt.i, 4).place(a=f32).build()

    def bytes_for(target):
        header = saved(mt.aot.Module(name="probe", targets=[target]).add_type(tree, "t").add_kernel(double), "o").with_suffix(
            ".h"
        )
        return int(re.search(r"#define probe_t_BYTES UINT64_C\((\d+)\)", header.read_text())[1])

    expect(bytes_for(BOARD) < bytes_for("x86-64"), True)  # each worker may have a slot of its own


@probe("BareExtremeIsNaN")
def bare_extreme_is_nan():
    import wasmtime

    @mt.kernel
    def most(x: line, y: line):
        for i in range(1):
            found = x[0]
            for k in range(1, x.shape[0]):
                found = mt.max(found, x[k])
            y[i] = found

    engine = wasmtime.Engine()
    store, module = wasmtime.Store(engine), None
    file = saved(mt.aot.Module(name="probe", targets=["wasm32"]).add_kernel(most), "wasm")
    module = wasmtime.Module.from_file(engine, str(file))
    least = next(entry.type.limits.min for entry in module.imports)
    memory = wasmtime.Memory(store, wasmtime.MemoryType(wasmtime.Limits(least + 1, None)))
    exports = wasmtime.Instance(store, module, [memory]).exports(store)
    at = (exports["__heap_base"].value(store) + 63) // 64 * 64
    x, y = np.array([np.nan, 1.0, 5.0, np.nan], np.float32), np.zeros(1, np.float32)
    for array, place in ((x, at), (y, at + 64)):
        memory.write(store, array.tobytes(), place)
    exports["probe_most"](store, at, 4, at + 64, 1, 0, 0)
    expect(np.frombuffer(memory.read(store, at + 64, at + 68), np.float32), [5])
