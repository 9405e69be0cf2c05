"""Members side by side in rows of leaves: whole cells are read and stored, and what lies between stays as it was."""

import numpy as np
import pytest
from ways import UNOPTIMISED

import metate as mt

f32, f64, i32, u32 = mt.f32, mt.f64, mt.i32, mt.u32
NUMPY = {f32: np.float32, f64: np.float64, i32: np.int32, u32: np.uint32}
WAYS = [{}, {"threads": 1}, UNOPTIMISED]
BLOCKS = 5


@pytest.fixture
def leaves(rng):
    """make(members, level, leaf): (fields, active cells, values of each field); the outermost leaves are empty."""

    def make(members, level, leaf):
        n = BLOCKS * leaf
        fields = [mt.field(dtype) for dtype in members]
        getattr(mt.root.pointer(mt.ijk, BLOCKS), level)(mt.ijk, leaf).place(*fields)

        @mt.kernel
        def fill(active: mt.types.ndarray(i32, 3), a: mt.template(), values: mt.types.ndarray(i32, 3)):
            for i, j, k in active:
                if active[i, j, k]:
                    a[i, j, k] = mt.cast(values[i, j, k], a.dtype)

        chosen = np.zeros((BLOCKS,) * 3, bool)
        chosen[1:-1, 1:-1, 1:-1] = rng.random((BLOCKS - 2,) * 3) < 0.7
        active = np.kron(chosen, np.ones((leaf,) * 3, np.int32)).astype(np.int32)
        if level == "bitmasked":
            some = np.kron(rng.random((BLOCKS,) * 3) < 0.6, np.ones((leaf,) * 3, bool))
            active *= ~some | (rng.random((n,) * 3) < 0.7)
        values = rng.integers(0, 99, (len(members), n, n, n), np.int32)
        for field, own in zip(fields, values, strict=True):
            fill(active, field, own)
        return (
            fields,
            active == 1,
            [np.where(active, own, 0).astype(NUMPY[dtype]) for own, dtype in zip(values, members, strict=True)],
        )

    return make


def around(held):
    """Sum of the six neighbours."""
    return sum(np.roll(held, shift, axis) for axis in range(3) for shift in (-1, 1))


def check(fields, active, expected):
    for field, values in zip(fields, expected, strict=True):
        np.testing.assert_array_equal(field.to_numpy()[active], values[active])
        assert not field.to_numpy()[~active].any()


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("leaf", [2, 4, 8, 16])
@pytest.mark.parametrize("level", ["dense", "bitmasked"])
@pytest.mark.parametrize("members", [(f32, f32), (f32, i32, f32), (f64, f64), (f32, f64), (u32,) * 4, (f32,) * 5], ids=len)
def test_neighbours_of_one_member_into_another(leaves, members, level, leaf, options):
    with mt.Context(**options):

        @mt.kernel
        def add(a: mt.template(), out: mt.template()):
            for i, j, k in a:
                s = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1]
                out[i, j, k] = mt.cast(s + 2 * a[i, j, k], out.dtype)

        fields, active, held = leaves(members, level, leaf)
        for source in range(len(members) - 1):
            add(fields[source], fields[-1])
            held[-1] = (around(held[source]) + 2 * held[source]).astype(NUMPY[members[-1]])
            check(fields, active, held)


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("level", ["dense", "bitmasked"])
def test_all_members_of_a_cell(leaves, level, options):
    """One is read around and kept, one is added to, two are exchanged."""
    with mt.Context(**options):
        fields, active, (a, b, c, d) = leaves((f32,) * 4, level, 4)
        x, y, z, w = fields

        @mt.kernel
        def step():
            for i, j, k in x:
                y[i, j, k] += x[i, j, k - 1] - x[i, j + 1, k]
                kept = z[i, j, k]
                z[i, j, k] = w[i, j, k]
                w[i, j, k] = kept

        step()
        check(fields, active, [a, b + np.roll(a, 1, 2) - np.roll(a, -1, 1), d, c])


@pytest.mark.parametrize("level", ["dense", "bitmasked"])
def test_what_is_read_back(leaves, level):
    """A turn that reads what it has stored, and a store that only some turns make."""
    fields, active, (a, b, _) = leaves((f32,) * 3, level, 8)
    x, y, z = fields

    @mt.kernel
    def step():
        for i, j, k in x:
            y[i, j, k] = x[i - 1, j, k] + 1
            z[i, j, k] = 2 * y[i, j, k]

    @mt.kernel
    def some():
        for i, j, k in x:
            if x[i, j, k + 1] > 50:
                y[i, j, k] = x[i, j, k + 1]

    step()
    b = np.roll(a, 1, 0) + 1
    check(fields, active, [a, b, 2 * b])
    some()
    right = np.roll(a, -1, 2)
    check(fields, active, [a, np.where(right > 50, right, b), 2 * b])


def test_other_iterations_write_other_members(leaves):
    """Rows are not stored whole where another turn may write a member between."""
    fields, active, (a, b) = leaves((i32, i32), "dense", 8)
    x, y = fields

    @mt.kernel
    def step():
        for i, j, k in x:
            y[i, j, k] = 3 * y[i, j, k]
            x[i ^ 1, j ^ 1, k] += 1

    for _ in range(20):
        step()
    check(fields, active, [a + 20, b * np.int32(3**20 % 2**32 - (2**32 if 3**20 % 2**32 >= 2**31 else 0))])
