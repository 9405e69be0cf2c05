"""Tree instances: memory, host access, statistics and errors, against dictionaries and NumPy."""

import mmap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metate as mt
from metate import types
from metate.errors import CapacityError, RuntimeIndexError_, RuntimeTypeError_, RuntimeValueError_, TreeError
from metate.types import SNodeTreeBuilder, TreeType


def ab_struct():
    return types.Struct({"a": types.f32, "b": types.Vector(types.f32, 3)})


def aos(background=None):
    return SNodeTreeBuilder().pointer(mt.ij, 3).dense(mt.ij, 5).place(ab_struct(), background=background).build()


def soa():
    s, b = ab_struct(), SNodeTreeBuilder()
    b.pointer(mt.ij, 3).dense(mt.ij, 5).place(s.a)
    b.pointer(mt.ij, 3).dense(mt.ij, 5).place(s.b)
    return b.build()


def aligned(size, offset=0):
    """uint8[size] whose address is `offset` past a multiple of 64."""
    memory = np.full(size + 128, 0xAB, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    return memory[start : start + size]


def test_type_survives_its_blob():
    for type_ in (aos(), soa(), aos({"a": 0.25, "b": [1, 2, 3]})):
        back = TreeType.from_blob(type_.blob)
        assert back == type_ and str(back) == str(type_) and back.hash == type_.hash
        assert back.members == type_.members and back.levels == type_.levels
    assert aos().hash == aos().hash != soa().hash
    assert int(aos().hash, 16) > 0 and len(aos().hash) == 32


def test_bytes_and_alignment_are_known_before_anything_is_allocated():
    type_ = aos()
    assert type_.align == 64
    assert type_.bytes() == type_.bytes({"pointer0": 9}) == type_.bytes(9) > type_.bytes(1)
    assert type_.bytes(2) - type_.bytes(1) >= 25 * 16
    dense = SNodeTreeBuilder().dense(mt.i, 1000).place(x=mt.f64).build()
    assert 8000 <= dense.bytes() <= 8000 + 512


@pytest.mark.parametrize(
    ("capacity", "text"),
    [
        ({"dense1": 3}, "expected a level that grows \\(pointer0\\), got 'dense1'"),
        ({"pointer0": 0}, "expected 1 to 2\\*\\*32 - 1 slots, got 0"),
        ({"pointer0": 2.0}, "got 2.0"),
        (1 << 40, "got 1099511627776"),
    ],
)
def test_wrong_capacities(capacity, text):
    for call in (aos().bytes, aos().new):
        with pytest.raises(TreeError, match=text):
            call(capacity)


def test_two_instances_of_one_type_are_apart(rng):
    first, second = aos().new(), aos().new()
    value = float(np.float32(rng.normal()))
    first.a[1, 2] = value
    assert first[1, 2].a == first.a[1, 2] == value
    assert second[1, 2].a == 0.0 and not second.is_active(1, 2)


@pytest.mark.parametrize("make", [aos, soa])
def test_host_access_against_a_dictionary(rng, make):
    tree = make().new()
    a, b = np.zeros((15, 15), np.float32), np.zeros((15, 15, 3), np.float32)
    blocks = set()
    for _ in range(60):
        i, j = (int(x) for x in rng.integers(0, 15, 2))
        a[i, j], b[i, j] = rng.normal(), rng.normal(size=3)
        tree[i, j].a = a[i, j]
        tree[i, j].b = b[i, j]
        blocks.add((i // 5, j // 5))
        assert tree.a.is_active(i, j) and tree.b.is_active(i, j)
    np.testing.assert_array_equal(tree.a.to_numpy(), a)
    np.testing.assert_array_equal(tree.b.to_numpy(), b)
    for name, dense in (("a", a), ("b", b)):
        coordinates, values = getattr(tree, name).cells()
        assert coordinates.dtype == np.int64 and coordinates.shape == (25 * len(blocks), 2)
        assert len({tuple(c) for c in coordinates}) == len(coordinates)
        assert {(i // 5, j // 5) for i, j in coordinates} == blocks
        np.testing.assert_array_equal(values, dense[tuple(coordinates.T)])
    assert all(s.used == s.peak == len(blocks) and s.capacity == 9 for s in tree.stats().values())
    tree.check()


SCALARS = [t for t in types.DTYPES if t.name not in ("bf16", "u1")]


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda t: t.name)
def test_every_scalar_type_round_trips(rng, scalar):
    tree = SNodeTreeBuilder().pointer(mt.i, 4).dense(mt.i, 4).place(x=scalar, v=types.matrix(2, 3, scalar)).build().new()
    info = np.iinfo(scalar.numpy) if scalar.is_integer else None

    def draw(*shape):
        if info is None:
            return rng.normal(size=shape).astype(scalar.numpy)
        return rng.integers(info.min, info.max, shape, dtype=scalar.numpy, endpoint=True)

    for i in range(16):
        x, v = draw()[()], draw(2, 3)
        tree.x[i], tree.v[i] = x, v
        assert tree.x[i] == x and isinstance(tree.x[i], float if scalar.is_float else int)
        assert tree.v[i].dtype == scalar.numpy
        np.testing.assert_array_equal(tree.v[i], v)
        tree.v[i] = v.tolist()
        np.testing.assert_array_equal(tree[i].v, v)
    if info is not None:
        for wrong in (1 << scalar.bits, -(1 << (scalar.bits - 1)) - 1):  # between them are bit patterns
            with pytest.raises(RuntimeValueError_, match=f"member 'x': expected {scalar.name} within its range, got int"):
                tree.x[0] = wrong
        with pytest.raises(RuntimeTypeError_, match=f"member 'x': expected {scalar.name}, got float 1.5"):
            tree.x[0] = 1.5


def test_booleans_and_bf16():
    tree = SNodeTreeBuilder().dense(mt.i, 8).place(flag=mt.u1, half=mt.bf16).build().new()
    tree.flag[3], tree.flag[4], tree.flag[5] = True, np.True_, 1
    assert tree.flag[3] is True and tree.flag[4] is True and tree.flag[5] is True and tree.flag[0] is False
    assert tree.flag.to_numpy().dtype == np.bool_ and tree.flag.to_numpy().sum() == 3
    with pytest.raises(RuntimeValueError_):
        tree.flag[0] = 2
    tree.half[1] = 1.5
    assert tree.half[1] == 1.5 and tree.half.to_numpy().dtype == np.float32 and tree.half.to_numpy()[1] == 1.5


def test_inactive_cells_read_as_background():
    tree = aos({"a": 2.5, "b": [1, 2, 3]}).new()
    assert tree[7, 7].a == 2.5 and tree[7, 7].b.tolist() == [1, 2, 3]
    assert not tree.is_active(7, 7), "reading activates nothing"
    tree.a[7, 7] = 1.0
    assert tree[7, 8].a == 2.5 and tree.b[7, 7].tolist() == [1, 2, 3], "a fresh cell holds its background"
    assert np.unique(tree.a.to_numpy()).tolist() == [1.0, 2.5]


def test_vectors_that_were_read_cannot_be_written_in_vain():
    tree = aos().new()
    with pytest.raises(ValueError, match=r"read-only"):
        tree.b[0, 0][1] = 3.0


def test_activation_and_topology_version():
    tree = aos().new()
    version = tree.topology_version
    tree.activate(4, 4)
    assert tree.is_active(0, 0) and not tree.is_active(5, 0)
    assert tree.topology_version != version
    version = tree.topology_version
    tree.a[4, 4] = 1.0
    assert tree.topology_version == version, "writing to an active cell changes no topology"
    tree.reset()
    assert tree.topology_version != version and not tree.is_active(4, 4)


def test_branches_are_asked_one_by_one():
    tree = soa().new()
    with pytest.raises(TreeError, match=r"ask a member: t.a.is_active\(...\) or t.b.is_active"):
        tree.is_active(0, 0)
    tree.a.activate(0, 0)
    assert tree.a.is_active(0, 0) and not tree.b.is_active(0, 0)
    assert {name: s.used for name, s in tree.stats().items()} == {"pointer0[0]": 1, "pointer0[1]": 0}
    shared = SNodeTreeBuilder()
    top = shared.pointer(mt.i, 4)
    top.dense(mt.i, 2).place(a=mt.f32)
    top.dense(mt.i, 2).place(b=mt.f32)
    together = shared.build().new()
    together.activate(3)
    assert together.is_active(2) and together.b.is_active(2), "branches below one pointer level are active together"


@pytest.mark.parametrize(
    ("access", "error", "text"),
    [
        (lambda t: t.a[1], RuntimeIndexError_, "member 'a': expected 2 coordinates \\(i, j\\), got 1"),
        (lambda t: t.a[15, 0], RuntimeIndexError_, "expected 0 to 14, got 15"),
        (lambda t: t.a[-1, 0], RuntimeIndexError_, "expected 0 to 14, got -1"),
        (lambda t: t.a[1 << 80, 0], RuntimeIndexError_, "expected 0 to 14"),
        (lambda t: t.a[0.5, 0], RuntimeTypeError_, "coordinates: expected integers, got float 0.5"),
        (lambda t: t[0, 0].c, AttributeError, "cell has no member 'c'; its members: a, b"),
        (lambda t: t.c, AttributeError, "tree has no member or method 'c'; its members: a, b"),
        (lambda t: t["c"], TreeError, "expected a member \\(a, b\\), got 'c'"),
        (lambda t: setattr(t, "a", 1.0), AttributeError, "assign to a cell"),
        (lambda t: t.b.__setitem__((0, 0), [1, 2]), RuntimeTypeError_, "member 'b': expected vector\\(3, f32\\), got list"),
        (lambda t: t.a.__setitem__((0, 0), "1"), RuntimeTypeError_, "member 'a': expected f32, got str '1'"),
    ],
)
def test_wrong_access_says_expected_and_got(access, error, text):
    with pytest.raises(error, match=text):
        access(aos().new())


def test_memory_of_the_caller(rng):
    type_ = aos()
    memory = aligned(type_.bytes())
    tree = type_.bind(memory)
    tree.a[3, 3] = 7.0
    copy = aligned(memory.size)
    copy[:] = memory
    assert type_.bind(copy, reset=False).a[3, 3] == 7.0, "a block is relocatable"
    with pytest.raises(TreeError, match=r"live tree is bound"):
        type_.bind(memory)
    tree.unbind()
    with pytest.raises(TreeError, match=r"unbound"):
        tree.a[3, 3]
    assert type_.bind(memory, reset=False).a[3, 3] == 7.0
    assert type_.bind(mmap.mmap(-1, type_.bytes())).stats()["pointer0"].capacity == 9


def test_read_only_memory_can_be_read():
    type_ = aos()
    tree = type_.bind(aligned(type_.bytes()))
    tree.a[3, 3] = 7.0
    frozen = aligned(type_.bytes())
    frozen[:] = tree.block
    frozen.flags.writeable = False
    view = type_.bind(frozen, reset=False)
    assert view.a[3, 3] == 7.0 and view.block.readonly
    with pytest.raises(RuntimeError):
        view.a[3, 3] = 8.0


def test_memory_that_does_not_do():
    type_ = aos()
    with pytest.raises(TreeError, match=r"aligned to 64"):
        type_.bind(aligned(type_.bytes(), 4))
    with pytest.raises(TreeError):
        type_.bind(aligned(500))
    for wrong in (b"x" * 100000, aligned(type_.bytes())[::2], [1, 2], None):
        with pytest.raises(TreeError, match=r"buffer: expected a writable, contiguous buffer"):
            type_.bind(wrong)
    noise = aligned(type_.bytes())
    with pytest.raises(TreeError):
        type_.bind(noise, reset=False)
    other = soa().bind(aligned(soa().bytes()))
    with pytest.raises(RuntimeError, match=r"type"):
        type_.bind(bytearray(other.block), reset=False)


def test_capacity_is_what_fits_in_the_buffer():
    type_ = SNodeTreeBuilder().pointer(mt.ij, 64).dense(mt.ij, 8).place(x=mt.f32).build()
    memory = aligned(type_.bytes(17))
    assert type_.bind(memory, capacity=17).stats()["pointer0"].capacity == 17
    tree = type_.bind(aligned(type_.bytes(17)))
    assert 16 <= tree.stats()["pointer0"].capacity <= 18, "as many as fit, up to rounding"


def test_exhaustion_names_level_needed_and_capacity():
    type_ = SNodeTreeBuilder().pointer(mt.i, 100, name="blocks").dense(mt.i, 4).place(x=mt.i32).build()
    tree = type_.new({"blocks": 3})
    for block in range(3):
        tree.x[4 * block] = block
    with pytest.raises(CapacityError, match=r"level 'blocks' needs at least 4 slots, its capacity is 3") as raised:
        tree.x[40] = 4
    assert (raised.value.level, raised.value.needed, raised.value.capacity) == ("blocks", 4, 3)
    assert isinstance(raised.value, RuntimeError)
    assert [tree.x[4 * block] for block in range(3)] == [0, 1, 2]


def test_block_is_a_view_that_pins_the_tree():
    tree = aos().new()
    block = tree.block
    assert len(block) == tree.bytes == aos().bytes() and not block.readonly
    with pytest.raises(TreeError, match=r"view of the block is still alive"):
        tree.unbind()
    before = bytes(block)
    tree.a[0, 0] = 1.0
    assert bytes(block) != before
    block.release()
    tree.unbind()


def test_members_keep_their_tree_alive():
    assert aos({"a": 1.5}).new().a.to_numpy().sum() == 1.5 * 225


def test_a_damaged_block_does_not_pass_the_check(rng):
    type_ = aos()
    memory = aligned(type_.bytes())
    tree = type_.bind(memory)
    for i in range(0, 15, 5):
        tree.a[i, i] = 1.0
    tree.check()
    root = 128 + 1152  # the header, one pool's
    links = memory[root : root + 36].view(np.uint32)
    link = int(rng.choice(np.flatnonzero(links)))
    links[link] = 1000
    with pytest.raises(TreeError):
        tree.check()


def test_huge_virtual_extents_cost_nothing():
    tree = SNodeTreeBuilder().pointer(mt.ijk, 512).dense(mt.ijk, 8).place(x=mt.f32, background=3.0).build().new()
    tree.x[4095, 4095, 4095] = 1.0
    assert tree.x[4095, 4095, 4094] == 3.0 and tree.x[0, 0, 0] == 3.0
    assert tree.x.cells()[1].size == 512
    with pytest.raises(RuntimeError, match=r"address space|no memory|bytes"):
        tree.x.to_numpy()


@settings(max_examples=25)
@given(st.data())
def test_random_trees_against_numpy(data):
    """Levels of random kinds, axes and extents: every cell that was written reads back, the others are background."""
    node = SNodeTreeBuilder()
    for _ in range(data.draw(st.integers(1, 3))):
        letters = data.draw(st.sampled_from(["i", "j", "ij", "ik"]))
        extents = data.draw(st.lists(st.integers(1, 4), min_size=len(letters), max_size=len(letters)))
        node = getattr(node, data.draw(st.sampled_from(["pointer", "dense"])))(types.axes(letters), extents)
    background = data.draw(st.integers(-3, 3))
    type_ = node.place(x=mt.i32, background=background).build()
    assert type_ == TreeType.from_blob(type_.blob)
    tree, shape = type_.new(), type_.members["x"].shape
    expected = np.full(shape, background, np.int32)
    for _ in range(data.draw(st.integers(0, 12))):
        at = tuple(data.draw(st.integers(0, extent - 1)) for extent in shape)
        expected[at] = data.draw(st.integers(-1000, 1000))
        tree.x[at] = int(expected[at])
    np.testing.assert_array_equal(tree.x.to_numpy(), expected)
    coordinates, values = tree.x.cells()
    np.testing.assert_array_equal(values, expected[tuple(coordinates.T)])
    tree.check()


@pytest.mark.parametrize("slots", [1, 2, 16, 17, 100, 899, 900])
def test_memory_of_exactly_the_bytes_of_a_capacity_gives_it(slots):
    tree_type = mt.types.SNodeTreeBuilder().pointer(mt.ij, 30).dense(mt.ij, 5).place(a=mt.f32).build()
    size = tree_type.bytes({"pointer0": slots})
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    assert tree_type.bind(memory[start : start + size]).stats()["pointer0"].capacity == slots


@pytest.mark.parametrize("type_", [aos(), soa()], ids=["aos", "soa"])
def test_active_cells_take_dense_arrays(rng, type_):
    tree = type_.new()
    tree.a[3, 8] = 1
    tree.b[3, 8] = [1, 1, 1]
    active = np.zeros((15, 15), bool)
    active[0:5, 5:10] = True
    a, b = rng.standard_normal((15, 15)), rng.standard_normal((15, 15, 3))
    tree.a.from_numpy(a)
    tree.b.from_numpy(b.tolist())
    assert np.array_equal(tree.a.to_numpy(), np.where(active, a, 0).astype(np.float32))
    assert np.array_equal(tree.b.to_numpy(), np.where(active[..., None], b, 0).astype(np.float32))
    tree.a.fill(2)
    tree.b.fill([1, 2, 3])
    assert np.array_equal(tree.a.to_numpy(), 2 * active) and np.array_equal(tree.b[4, 9], [1, 2, 3])
    tree.b.fill(7)
    assert tree.b.to_numpy().sum() == 7 * 3 * 25
    with pytest.raises(RuntimeValueError_, match=r"^member 'a': from_numpy: expected an array of shape \(15, 15\), got \(15,\)$"):
        tree.a.from_numpy(a[0])
    with pytest.raises(RuntimeTypeError_, match=r"^member 'a': from_numpy: expected an array of numbers, got one of complex128$"):
        tree.a.from_numpy(a * 1j)
    with pytest.raises(RuntimeTypeError_, match=r"^member 'b': fill: expected vector\(3, f32\), got list$"):
        tree.b.fill([1, 2])
