"""Probes of faults in kernels as grids of invocations: run on devices, or read in the code that they get.

The stand-in runs an invocation after the other: what only shows where they run at once is looked for in the words or the text.
"""

import contextlib
import pathlib
import struct
import tempfile

import numpy as np

import metate as mt

from . import expect, probe

f32, i32, i64 = mt.f32, mt.i32, mt.i64
array = mt.types.ndarray


def grid():
    return mt.Context(arch=mt.simt)


def line(leaves=4, cells=8):
    builder = mt.types.SNodeTreeBuilder()
    return builder.pointer(mt.i, leaves, name="leaves").dense(mt.i, cells).place(a=i32).build()


# ---- iterations


@probe("GridStrideOne")
def grid_stride_one():
    @mt.kernel
    def run(x: array(i32, 1)):
        for i in x:
            x[i] += 1

    x = np.zeros(100, np.int32)
    with grid():
        run(x)
    expect(x, np.ones(100))


@probe("GridLastLost")
def grid_last_lost():
    @mt.kernel
    def run(x: array(i32, 1)):
        for i in x:
            x[i] = i + 1

    x = np.zeros(5, np.int32)
    with grid():
        run(x)
    expect(x, [1, 2, 3, 4, 5])


@probe("GridEmptyCounts")
def grid_empty_counts():
    @mt.kernel
    def run(n: i32, m: i32, count: array(i32, 1)):
        for i, j in mt.ndrange(n, m):
            count[0] += i + j + 100

    count = np.zeros(1, np.int32)
    with grid():
        run(-2, -3, count)
    expect(count, [0])


@probe("GridCellLost")
def grid_cell_lost():
    tree_type = line()

    @mt.kernel
    def run(f: tree_type):
        for i in f:
            f.a[i] = i + 1

    with grid():
        tree = tree_type.new()
        tree.a[8] = 0  # a leaf
        run(tree)
        got = tree.a.to_numpy()
    expect(got[8:16], range(9, 17))


@probe("GridClaimsLeftOut")
def grid_claims_left_out():
    tree_type = line()

    @mt.kernel
    def run(f: tree_type, g: tree_type):
        for i in f:
            g.a[i] = f.a[i] + 1

    with grid():
        tree, other = tree_type.new(), tree_type.new()
        tree.a[8] = 4  # a leaf
        run(tree, other)
        got = other.a.to_numpy()
    expect(got[8:16], [5] + [1] * 7)


# ---- what stands between tasks


@probe("GridFrameLost")
def grid_frame_lost():
    @mt.kernel
    def run(x: array(i32, 1), out: array(i32, 1)):
        most = 0
        for i in x:
            mt.atomic_max(most, x[i])
        half = most // 2
        for i in out:
            out[i] = half

    out = np.zeros(3, np.int32)
    with grid():
        run(np.array([3, 8, 5], np.int32), out)
    expect(out, [4, 4, 4])


@probe("GridStatusIgnored")
def grid_status_ignored():
    @mt.kernel(asserts=True)
    def run(x: array(i32, 1)):
        for i in x:
            assert x[i] < 2, "too large"
        for i in x:
            x[i] = 7

    x = np.arange(4, dtype=np.int32)
    with grid(), contextlib.suppress(mt.AssertionError_):
        run(x)
    expect(x, [0, 1, 2, 3])


@probe("GridCleanUpStops")
def grid_clean_up_stops():
    tree_type = line()

    @mt.kernel(asserts=True)
    def fill(f: tree_type):
        for i in range(32):
            f.a[i] = 1
            assert i < 31, "the last one"

    with grid():
        tree = tree_type.new()
        before = tree.topology_version
        with contextlib.suppress(mt.AssertionError_):
            fill(tree)
        is_another = tree.topology_version != before
    expect([is_another], [True])


# ---- results of invocations together


@probe("GridPartialStartsAtOne")
def grid_partial_starts_at_one():
    @mt.kernel
    def run(x: array(i32, 1), total: array(i32, 1)):
        for i in x:
            total[0] += x[i]

    total = np.zeros(1, np.int32)
    with grid():
        run(np.arange(10, dtype=np.int32), total)
    expect(total, [45])


@probe("GridPlacesJoined")
def grid_places_joined():
    @mt.kernel
    def run(x: array(i32, 1), totals: array(i32, 1)):
        for i in x:
            totals[0] += x[i]
            totals[1] += 1

    totals = np.zeros(2, np.int32)
    with grid():
        run(np.arange(10, dtype=np.int32), totals)
    expect(totals, [45, 10])


# ---- deterministic sums, of pieces


def sum_of(values):
    """In deterministic mode. How many values there are, only the device knows."""

    @mt.kernel
    def run(n: array(i32, 1), x: array(f32, 1), total: array(f32, 1)):
        for i in range(n[0]):
            total[0] += x[i]

    total = np.zeros(1, np.float32)
    with mt.Context(arch=mt.simt, deterministic=True):
        run(np.array([len(values)], np.int32), np.array(values, np.float32), total)
    return total


@probe("GridPieceLeftOut")
def grid_piece_left_out():
    expect(sum_of([1, 2, 4]), [7])


@probe("GridPiecesReversed")
def grid_pieces_reversed():
    expect(sum_of([1, 1e8, -1e8]), [0])


@probe("GridPiecesOverlap")
def grid_pieces_overlap():
    """More values than pieces, and more pieces than invocations."""
    expect(sum_of(np.ones(5000)), [5000])


# ---- slots


@probe("GridShareLost")
def grid_share_lost():
    """What was given up is there for the next ones."""
    leaves = line(leaves=40)

    @mt.kernel
    def fill(t: leaves, begin: i32):
        for i in range(4):
            t.a[8 * (begin + i)] = i + 1

    @mt.kernel
    def clear(t: leaves):
        for i in t.a:
            if i % 8 == 0:
                mt.deactivate(t.a.parent().parent(), [i // 8])

    with grid():
        t, found = leaves.new(capacity=4), 0
        with contextlib.suppress(mt.errors.CapacityError):
            for turn in range(10):
                fill(t, 4 * turn)
                clear(t)
            fill(t, 0)
            found = t.a[24]
        expect(found, 4)


# ---- graphs


X = mt.graph.Arg(mt.graph.ArgKind.NDARRAY, "x", i32, ndim=1)
A, B = (mt.graph.Arg(mt.graph.ArgKind.SCALAR, name, i32) for name in "ab")


@probe("GridTurnLeftOut")
def grid_turn_left_out():
    @mt.kernel
    def count(x: array(i32, 1)):
        for i in x:
            x[i] += 1

    builder = mt.graph.GraphBuilder()
    loop = builder.create_sequential()
    loop.dispatch(count, X)
    builder.append(loop, count=A)
    x = np.zeros(2, np.int32)
    with grid():
        builder.compile().run({"x": x, "a": 3})
    expect(x, [3, 3])


@probe("GridOperandsExchanged")
def grid_operands_exchanged():
    @mt.kernel
    def put(x: array(i32, 1), a: i32, b: i32):
        for i in x:
            x[i] = 10 * a + b

    builder = mt.graph.GraphBuilder()
    builder.dispatch(put, X, A, B)
    x = np.zeros(2, np.int32)
    with grid():
        builder.compile().run({"x": x, "a": 3, "b": 4})
    expect(x, [34, 34])


@probe("GridTurnOfOuter")
def grid_turn_of_outer():
    """Each turn draws another number."""

    @mt.kernel
    def draw(x: array(i32, 1)):
        for i in x:
            x[i] = x[i] * 100 + mt.random(i32) % 50 + 50

    builder = mt.graph.GraphBuilder()
    outer, inner = builder.create_sequential(), builder.create_sequential()
    inner.dispatch(draw, X)
    outer.append(inner, count=A)
    builder.append(outer, count=B)
    x = np.zeros(40, np.int32)
    with grid():
        builder.compile().run({"x": x, "a": 2, "b": 2})
    turns = [x // 100**k % 100 for k in range(4)]
    expect([(one == other).all() for one in turns for other in turns], np.eye(4, dtype=bool).ravel())


@probe("GridRunsOnInGraph")
def grid_runs_on_in_graph():
    @mt.kernel(asserts=True)
    def check(x: array(i32, 1)):
        for i in x:
            assert x[i] < 2, "too large"

    @mt.kernel
    def fill(x: array(i32, 1)):
        for i in x:
            x[i] = 7

    builder = mt.graph.GraphBuilder()
    builder.dispatch(check, X)
    builder.dispatch(fill, X)
    x = np.arange(4, dtype=np.int32)
    with grid(), contextlib.suppress(mt.AssertionError_):
        builder.compile().run({"x": x})
    expect(x, [0, 1, 2, 3])


# ---- the code of devices that run many invocations at once


@mt.kernel
def scatter(x: array(i32, 1), y: array(f32, 1), counts: array(i32, 1)):
    for i in x:
        counts[x[i]] += 1
        y[i] = y[i] * 3.0 + 1.0


@mt.kernel
def grow(x: array(i32, 1), f: line()):
    for k in x:
        f.a[x[k]] += 1


def code_of(target, *kernels):
    """The module's bytes."""
    module = mt.aot.Module(targets=[target], contract=False)
    for kernel in kernels:
        module.add_kernel(kernel)
    with tempfile.TemporaryDirectory() as folder:
        return pathlib.Path(module.save(pathlib.Path(folder) / "m.metate")).read_bytes()


def launch_table(kernel):
    """Of each task (invocations of a workgroup, [(operation, value), ...] that give its iterations)."""
    data = code_of("simt", kernel)
    begin = data.index(b"GRID")
    head = struct.unpack_from("<26I", data, begin)
    (tasks, count), steps = head[10:12], head[12]
    found = []
    for k in range(count):
        _, group, first, length, *_ = struct.unpack_from("<8I", data, begin + tasks + 32 * k)
        found.append((group, [struct.unpack_from("<IIq", data, begin + steps + 16 * (first + n))[::2] for n in range(length)]))
    return found


def evaluate(steps, slots):
    """What an expression of a launch table gives."""
    stack = []
    for operation, value in steps:
        if operation in (1, 2):
            stack.append(value if operation == 1 else slots[value])
        elif operation in (5, 6):
            low = stack.pop() & ((1 << value) - 1)
            stack.append(low - (1 << value) if operation == 5 and low >> (value - 1) else low)
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(
                {7: left + right, 8: left - right, 9: left * right, 10: min(left, right), 11: max(left, right)}[operation]
            )
    (found,) = stack
    return found


@probe("GridStepsReversed")
def grid_steps_reversed():
    """All invocations together go on until nothing is left, however many they are: the number itself is looked at."""

    @mt.kernel
    def run(low: i32, high: i32, x: array(i32, 1)):
        for i in range(low, high):
            x[i] = 1

    ((_, steps),) = launch_table(run)
    expect([evaluate(steps, [2, 9])], [7])


@probe("GridSignLost")
def grid_sign_lost():
    """As above. Bounds of the loop are numbers of 32 bits."""

    @mt.kernel
    def run(low: i32, high: i32, x: array(i32, 1)):
        for i in range(low, high):
            x[i + 3] = 1

    ((_, steps),) = launch_table(run)
    expect([evaluate(steps, [-3, 2]), evaluate(steps, [2, -3])], [5, 0])


@probe("GridReadInTask")
def grid_read_in_task():
    tree_type = line()

    @mt.kernel
    def run(f: tree_type, g: tree_type):
        for i in f.a.parent().parent():  # of leaves there is one range, in which slots are taken
            g.a[8 * i] += 1

    groups = [group for group, _ in launch_table(run)]
    expect(groups[0], 1)


@mt.kernel
def prefixes(x: array(i32, 2), y: array(i32, 1)):
    for i in y:
        s, t = 0, 0
        for j in range(x.shape[1]):
            s += x[i, j]
            t += s
        y[i] = t


@probe("GridSumSeen")
def grid_sum_seen():
    expect("shfl.sync.bfly" in code_of("cuda:compute_80", prefixes).decode("latin-1"), False)


@probe("GridBoundIgnored")
def grid_bound_ignored():
    """As many invocations as are launched, or as many as the tree has workers: the lesser one."""
    entries = [code_of("cuda:compute_80", kernel).decode("latin-1").split(".entry ")[1:] for kernel in (scatter, grow)]
    expect([any("min.u64" in entry.split(".func")[0] for entry in all_of_it) for all_of_it in entries], [False, True])


def words_of(*kernels):
    """The instructions of the module's SPIR-V: [[opcode, operand, ...], ...], and its constants {number: value}."""
    data = code_of("vulkan", *kernels)
    begin = data.index(struct.pack("<I", 0x07230203))
    words = np.frombuffer(data[begin : begin + (len(data) - begin) // 4 * 4], np.uint32)
    found, at = [], 5
    while at < len(words) and words[at] >> 16:
        found.append([int(words[at]) & 0xFFFF, *map(int, words[at + 1 : at + (int(words[at]) >> 16)])])
        at += int(words[at]) >> 16
        if found[-1][0] == 56 and int(words[at]) & 0xFFFF != 54:  # behind the last function
            break
    constants = {one[2]: one[3] for one in found if one[0] == 43}
    return found, constants


CAPABILITY, ACCESS, DECORATE, LOAD, STORE = 17, 65, 71, 61, 62
ATOMIC_LOAD, ATOMIC_STORE, ATOMIC_ADD = 227, 228, 234


@probe("SpirvAtomicPlain")
def spirv_atomic_plain():
    found, _ = words_of(scatter)
    expect([any(one[0] == ATOMIC_ADD for one in found)], [True])


def atomics(found):
    """(scope, order) of each atomic operation: numbers of constants."""
    for one in found:
        if one[0] == ATOMIC_STORE:
            yield one[2], one[3]
        elif ATOMIC_LOAD <= one[0] <= 242:
            yield one[4], one[5]


@probe("SpirvScopeWorkgroup")
def spirv_scope_workgroup():
    found, constants = words_of(scatter, grow)
    expect(sorted({constants[scope] for scope, _ in atomics(found)}), [1])


@probe("SpirvOrderDropped")
def spirv_order_dropped():
    found, constants = words_of(grow)
    orders = {constants[order] & 0xE for _, order in atomics(found)}
    expect([2 in orders, bool(orders & {4, 8})], [True, True])


@probe("SpirvAccessPrivate")
def spirv_access_private():
    """All loads and stores with an alignment are of global memory."""
    found, _ = words_of(scatter)
    masks = [one[4] for one in found if one[0] == LOAD and len(one) > 4] + [
        one[3] for one in found if one[0] == STORE and len(one) > 3
    ]
    expect([len(masks) > 2, all(mask & 0x20 for mask in masks)], [True, True])


@probe("SpirvContracts")
def spirv_contracts():
    found, _ = words_of(scatter)
    kept = {one[1] for one in found if one[0] == DECORATE and one[2] == 42}
    numbers = [one[2] for one in found if one[0] in (129, 133)]  # OpFAdd, OpFMul
    expect([len(numbers), all(number in kept for number in numbers)], [2, True])


@probe("SpirvModesForgotten")
def spirv_modes_forgotten():
    found, _ = words_of(scatter)
    modes = sorted({one[2] for one in found if one[0] == 16 and one[2] >= 4459})
    expect(modes, [4459, 4461, 4462])


@probe("SpirvGuardIgnored")
def spirv_guard_ignored():
    @mt.kernel
    def run(x: array(i32, 1), turns: i32, out: array(i32, 2)):
        for i in x:
            for k in range(turns):
                if x[i] > k:
                    if out[i, 0] > 1:
                        continue
                    out[i, 0] += 1
                mt.atomic_add(out[i, 1], 1)  # from two ways, of which none is always taken

    x, out = np.arange(6, dtype=np.int32), np.zeros((6, 2), np.int32)
    with mt.Context(arch=mt.vulkan):
        run(x, 4, out)
    expect(out, [[0, 4], [1, 4], [2, 4], [2, 3], [2, 2], [2, 2]])


@probe("GridScopeBlock")
def grid_scope_block():
    text = code_of("cuda:compute_80", scatter, grow).decode("latin-1")
    expect([".cta" in text, "atom" in text or "red." in text], [False, True])
