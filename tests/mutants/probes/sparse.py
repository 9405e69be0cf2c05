"""Probes of faults in activation, offloading, leaves and tree addresses."""

import numpy as np

import metate as mt

from . import expect, probe

f32, i32 = mt.f32, mt.i32
array = mt.types.ndarray


def line(extent=4, leaf=4, **members):
    """A pointer level over a dense leaf along i, with i32 members and their backgrounds."""
    builder = mt.types.SNodeTreeBuilder()
    node = builder.pointer(mt.i, extent).dense(mt.i, leaf)
    for name, background in members.items():
        node.place(**{name: i32}, background=background)
    return builder.build()


def plane(outer=(3, 2), leaf=(2, 4), background=0):
    builder = mt.types.SNodeTreeBuilder()
    builder.pointer(mt.ij, outer).dense(mt.ij, leaf).place(a=i32, background=background)
    return builder.build()


def cells(member):
    """The active cells of a member and their values, sorted."""
    coordinates, values = member.cells()
    return sorted([*map(int, at), int(value)] for at, value in zip(coordinates, values))


@probe("NeighbourStoreProved")
def neighbour_store_proved():
    tree_type = line(a=5)

    @mt.kernel
    def run(f: tree_type):
        for i in f:
            f.a[(i + 4) % 16] = 1

    tree = tree_type.new()
    tree.a[2] = 9
    run(tree)
    expect(cells(tree.a), [[0, 5], [1, 5], [2, 9], [3, 5], [4, 1], [5, 1], [6, 1], [7, 1]])


@probe("OtherCellProved")
def other_cell_proved():
    tree_type = line(a=5)

    @mt.kernel
    def run(f: tree_type):
        f.a[1] = 1
        f.a[9] = 2

    tree = tree_type.new()
    run(tree)
    expect(cells(tree.a), [[0, 5], [1, 1], [2, 5], [3, 5], [8, 5], [9, 2], [10, 5], [11, 5]])


@probe("DemotedReturnsNew")
def demoted_returns_new():
    @mt.kernel
    def run(x: array(i32, 1), out: array(i32, 1)):
        for i in range(x.shape[0]):
            out[i] = mt.atomic_add(x[i], 10)

    x, out = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    run(x, out)
    expect(out, [0, 1, 2, 3])


@probe("DemotedMaxIsMin")
def demoted_max_is_min():
    @mt.kernel
    def run(x: array(i32, 1)):
        for i in range(x.shape[0]):
            mt.atomic_max(x[i], 2)

    x = np.arange(4, dtype=np.int32)
    run(x)
    expect(x, [2, 2, 2, 3])


@probe("SerialMergedAcrossLoop")
def serial_merged_across_loop():
    @mt.kernel
    def run(x: array(i32, 1)):
        x[0] = 1
        for i in range(1, 4):
            x[i] = x[0] + i
        x[0] = 5

    x = np.zeros(4, np.int32)
    run(x)
    expect(x, [5, 2, 3, 4])


@probe("SlotScaleOfOtherAxis")
def slot_scale_of_other_axis():
    tree_type = plane()

    @mt.kernel
    def run(f: tree_type, seen: array(i32, 2)):
        for i, j in f:
            seen[i, j] += 1

    tree = tree_type.new()
    tree.a[3, 5] = 1
    seen, want = np.zeros((6, 8), np.int32), np.zeros((6, 8), np.int32)
    want[2:4, 4:8] = 1
    run(tree, seen)
    expect(seen, want)


@probe("InnerLevelUnscaled")
def inner_level_unscaled():
    builder = mt.types.SNodeTreeBuilder()
    builder.pointer(mt.i, 3).dense(mt.i, 2).dense(mt.i, 4).place(a=i32)
    tree_type = builder.build()

    @mt.kernel
    def run(f: tree_type, seen: array(i32, 1)):
        for i in f:
            seen[i] += 1

    tree = tree_type.new()
    tree.a[0] = 1
    seen = np.zeros(24, np.int32)
    run(tree, seen)
    expect(seen, [1] * 8 + [0] * 16)


@probe("ConditionalActivationHoisted")
def conditional_activation_hoisted():
    tree_type = line(a=0)

    @mt.kernel
    def run(f: tree_type, g: tree_type):
        for i in f:
            if f.a[i] > 3:
                g.a[i] = f.a[i]

    f, g = tree_type.new(), tree_type.new()
    f.a[1], f.a[6] = 2, 7
    run(f, g)
    expect(cells(g.a), [[4, 0], [5, 0], [6, 7], [7, 0]])


@probe("LeafEndOffByOne")
def leaf_end_off_by_one():
    tree_type = line(a=5)

    @mt.kernel
    def run(f: tree_type, out: array(i32, 1)):
        for i in f:
            out[i] = f.a[i + 1]

    tree = tree_type.new()
    for i, value in ((0, 1), (1, 2), (4, 3), (12, 4)):
        tree.a[i] = value
    out = np.zeros(16, np.int32)
    run(tree, out)
    expect(out, [2, 5, 5, 3, 5, 5, 5, 5, 0, 0, 0, 0, 5, 5, 5, 5])


@probe("HaloShort")
def halo_short():
    builder = mt.types.SNodeTreeBuilder()
    builder.pointer(mt.ij, 4).dense(mt.ij, 4).place(a=mt.i32)
    tree_type = builder.build()

    @mt.kernel
    def run(f: tree_type, out: array(i32, 2)):
        for i, j in f.a:
            out[i, j] = f.a[i + 1, j]

    tree = tree_type.new()
    tree.a[8, 0] = 1  # the leaf that follows along i is not the next one in memory
    tree.a[4, 0], tree.a[5, 1], tree.a[8, 2] = 2, 3, 4
    out = np.zeros((16, 16), np.int32)
    run(tree, out)
    expect(out[4:8, :4].ravel(), [0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0])


@probe("TileOfNextMember")
def tile_of_next_member():
    tree_type = line(extent=2, leaf=8, a=5, b=50)

    @mt.kernel
    def run(f: tree_type, out: array(i32, 1)):
        for i in f:
            out[i] = f.a[i - 1] + 10 * f.a[i + 1]

    tree = tree_type.new()
    for i in range(8):
        tree.a[i], tree.b[i] = i, 100
    out = np.zeros(16, np.int32)
    run(tree, out)
    expect(out[:8], [15, 20, 31, 42, 53, 64, 75, 56])


@probe("RowOfNextMember")
def row_of_next_member():
    tree_type = line(extent=2, leaf=8, a=5, b=50)

    @mt.kernel
    def run(f: tree_type):
        for i in f:
            f.b[i] = f.a[i] + 1

    tree = tree_type.new()
    for i in range(8):
        tree.a[i], tree.b[i] = i, 100
    run(tree)
    expect([tree.a[i] for i in range(8)], range(8))
    expect([tree.b[i] for i in range(8)], range(1, 9))


@probe("RowTurnedBack")
def row_turned_back():
    tree_type = line(a=5)

    @mt.kernel
    def run(f: tree_type, out: array(i32, 1)):
        for i in f:
            out[i] = f.a[i - 1] + 10 * f.a[i + 1]

    tree = tree_type.new()
    for i in range(4, 8):
        tree.a[i] = i
    out = np.zeros(16, np.int32)
    run(tree, out)
    expect(out, [0, 0, 0, 0, 55, 64, 75, 56, 0, 0, 0, 0, 0, 0, 0, 0])


@probe("StaleTile")
def stale_tile():
    tree_type = line(a=5)

    @mt.kernel
    def run(f: tree_type, out: array(i32, 1)):
        for i in f:
            beside = f.a[i + 1]
            if i % 2 == 0:
                f.a[i] = 100 + i
                out[i] = f.a[i] + beside

    tree = tree_type.new()
    for i in range(4):
        tree.a[i] = i
    out = np.zeros(4, np.int32)
    run(tree, out)
    expect(out, [101, 0, 105, 0])


@probe("LastSlotSkipped")
def last_slot_skipped():
    tree_type = line(a=0)

    @mt.kernel
    def run(f: tree_type, seen: array(i32, 1)):
        for i in f:
            seen[i] += 1

    tree = tree_type.new()
    tree.a[0] = tree.a[4] = 1
    seen = np.zeros(16, np.int32)
    run(tree, seen)
    expect(seen, [1] * 8 + [0] * 8)


@probe("LeafExtentsSwapped")
def leaf_extents_swapped():
    tree_type = plane()

    @mt.kernel
    def run(f: tree_type):
        for i, j in f:
            f.a[i, j] = 100 + 10 * i + j

    tree = tree_type.new()
    tree.a[0, 0] = 1
    run(tree)
    expect(tree.a.to_numpy()[:2, :4], [[100, 101, 102, 103], [110, 111, 112, 113]])


@probe("LastCoordinateOutside")
def last_coordinate_outside():
    tree_type = line(a=5)

    @mt.kernel
    def run(f: tree_type, out: array(i32, 1)):
        for i in range(16):
            out[i] = f.a[15 - i]

    tree = tree_type.new()
    tree.a[14], tree.a[15] = 1, 2
    out = np.zeros(16, np.int32)
    run(tree, out)
    expect(out, [2, 1] + [5] * 14)


@probe("MemberOffsetForgotten")
def member_offset_forgotten():
    tree_type = line(a=1, b=2)

    @mt.kernel
    def run(f: tree_type, out: array(i32, 1)):
        for i in f:
            out[i] = f.b[i]

    tree = tree_type.new()
    tree.b[0] = 7
    out = np.zeros(16, np.int32)
    run(tree, out)
    expect(out, [7, 2, 2, 2] + [0] * 12)


@probe("OuterActivityAnswers")
def outer_activity_answers():
    builder = mt.types.SNodeTreeBuilder()
    builder.pointer(mt.i, 2).pointer(mt.i, 2).dense(mt.i, 2).place(a=i32)
    tree_type = builder.build()

    @mt.kernel
    def run(f: tree_type, out: array(i32, 1)):
        for i in range(8):
            out[i] = mt.is_active(f, [i])

    tree = tree_type.new()
    tree.a[0] = 1
    out = np.zeros(8, np.int32)
    run(tree, out)
    expect(out, [1, 1, 0, 0, 0, 0, 0, 0])


@probe("MatrixComponentSwapped")
def matrix_component_swapped():
    tree_type = mt.types.SNodeTreeBuilder().dense(mt.i, 2).place(m=mt.types.matrix(2, 3, i32)).build()

    @mt.kernel
    def run(f: tree_type):
        for i in range(2):
            for r in range(2):
                for c in range(3):
                    f.m[i][r, c] = 10 * r + c

    tree = tree_type.new()
    run(tree)
    expect(tree.m.to_numpy()[0], [[0, 1, 2], [10, 11, 12]])


@probe("LastStrideForgotten")
def last_stride_forgotten():
    @mt.kernel
    def run(x: array(i32, 2), out: array(i32, 1)):
        for i in range(2):
            out[i] = x[i, 1]

    x, out = np.arange(64, dtype=np.int32).reshape(8, 8)[:3, ::2], np.zeros(2, np.int32)
    run(x, out)
    expect(out, x[:2, 1])


@probe("VectorBackgroundZero")
def vector_background_zero():
    builder = mt.types.SNodeTreeBuilder()
    builder.bitmasked(mt.i, 4).place(v=mt.types.vector(2, i32), background=[3, 4])
    tree_type = builder.build()

    @mt.kernel
    def run(f: tree_type, out: array(i32, 2)):
        for i in range(2):
            v = f.v[3 + i]
            out[i, 0], out[i, 1] = v[0], v[1]

    out = np.zeros((2, 2), np.int32)
    run(tree_type.new(), out)
    expect(out, [[3, 4], [3, 4]])


@probe("SlotCoordinatesReversed")
def slot_coordinates_reversed():
    tree_type = plane(outer=(3, 3), leaf=(1, 1))

    @mt.kernel
    def run(f: tree_type):
        f.a[2, 1] = 4

    tree = tree_type.new()
    run(tree)
    expect(cells(tree.a), [[2, 1, 4]])


@probe("PartsShareFirstPlace")
def parts_share_first_place():
    count = mt.field(i32, shape=2)

    @mt.kernel
    def run(keys: array(i32, 1), out: array(i32, 2)):
        for p in range(keys.shape[0]):
            out[keys[p], mt.atomic_add(count[keys[p]], 1)] = p

    with mt.Context(chunk_ns=0):  # loops of any length have their places counted
        out = np.full((2, 32), -1, np.int32)
        run(np.arange(64, dtype=np.int32) % 2, out)
    expect(np.sort(out, axis=1), np.arange(64).reshape(32, 2).T)


@probe("ChunkOfFirst")
def chunk_of_first():
    builder = mt.SNodeTreeBuilder()
    builder.dynamic(mt.i, 16, chunk_size=4).place(v=i32)
    tree_type = builder.build()

    @mt.kernel
    def run(f: tree_type, out: array(i32, 1)):
        mt.loop_config(serialize=True)
        for i in range(10):
            f.v[i] = i
        for _ in range(1):
            for k in range(f.v.length()):
                out[k] = f.v[k]

    out = np.zeros(10, np.int32)
    run(tree_type.new(), out)
    expect(out, np.arange(10, dtype=np.int32))
