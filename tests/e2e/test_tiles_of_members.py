"""Neighbours of a member that shares its cells with others: the leaf and its halo are taken out of whole cells."""

import itertools

import numpy as np
import pytest
from ways import UNOPTIMISED

import metate as mt

f32, f64, i32 = mt.f32, mt.f64, mt.i32
NUMPY = {f32: np.float32, f64: np.float64, i32: np.int32}
WAYS = [{}, {"threads": 1}, UNOPTIMISED]


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("leaf", [2, 4, 8])
@pytest.mark.parametrize("level", ["dense", "bitmasked"])
@pytest.mark.parametrize("members", [(f32, f32), (f32, i32, f32), (f64, f64), (f32, f64), (i32,) * 4, (f32,) * 5], ids=len)
def test_sums_of_neighbours(rng, members, level, leaf, options):
    """Each member but the last adds up its six neighbours into the last."""
    blocks, n = 4, 4 * leaf
    with mt.Context(**options):
        fields = [mt.field(dtype) for dtype in members]
        getattr(mt.root.pointer(mt.ijk, blocks), level)(mt.ijk, leaf).place(*fields)
        out = fields[-1]

        @mt.kernel
        def fill(active: mt.types.ndarray(i32, 3), a: mt.template(), values: mt.types.ndarray(i32, 3)):
            for i, j, k in active:
                if active[i, j, k]:
                    a[i, j, k] = values[i, j, k]

        @mt.kernel
        def add(a: mt.template(), out: mt.template()):
            for i, j, k in a:
                if 0 < i < n - 1 and 0 < j < n - 1 and 0 < k < n - 1:
                    around = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1]
                    out[i, j, k] = mt.cast(around + 2 * a[i, j, k], out.dtype)

        chosen = rng.random((blocks,) * 3) < 0.5
        active = np.kron(chosen, np.ones((leaf,) * 3, np.int32)).astype(np.int32)
        if level == "bitmasked":
            active *= rng.random((n,) * 3) < 0.7
        values = rng.integers(-99, 99, (len(members), n, n, n), np.int32)
        for field, own in zip(fields, values, strict=True):
            fill(active, field, own)
        for field, own in zip(fields[:-1], values, strict=False):
            add(field, out)
            held = np.where(active, own, 0)
            inner = [slice(1, -1)] * 3
            around = 2 * held[tuple(inner)]
            for axis, shift in itertools.product(range(3), (-1, 1)):
                around = around + np.roll(held, shift, axis)[tuple(inner)]
            inside = active[tuple(inner)] == 1
            np.testing.assert_array_equal(out.to_numpy()[tuple(inner)][inside], around[inside].astype(NUMPY[members[-1]]))
            np.testing.assert_array_equal(field.to_numpy(), held.astype(NUMPY[field.dtype]))
