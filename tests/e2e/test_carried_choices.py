"""Loops that carry which one they chose, and name what they know of it in each turn."""

import numpy as np
import pytest
from ways import INTERPRETED, PIECES, UNOPTIMISED, distinct

import metate as mt

f32, i32 = mt.f32, mt.i32
array = mt.types.ndarray
WAYS = distinct({}, UNOPTIMISED, PIECES, INTERPRETED["interp"])
every_way = pytest.mark.parametrize("options", WAYS, ids=str)


def remarks_of(kernel):
    return [one for one in kernel.report().remarks if one.pass_name == "carry-chosen"]


@every_way
@pytest.mark.parametrize("count", [1, 2, 7, 24])
def test_nearest(rng, options, count):
    with mt.Context(**options):
        points, centres = (
            mt.Struct.field({"x": i32, "y": i32, "best": i32}, shape=203),
            mt.Struct.field({"x": i32, "y": i32}, shape=count),
        )

        @mt.func
        def distance(i, q):
            return (points[i].x - centres[q].x) ** 2 + (points[i].y - centres[q].y) ** 2

        @mt.kernel
        def assign():
            for i in points:
                points[i].best = 0
                for q in range(1, count):
                    if distance(i, q) < distance(i, points[i].best):
                        points[i].best = q

        p, c = rng.integers(0, 50, (203, 2), np.int32), rng.integers(0, 50, (count, 2), np.int32)
        for holder, values in ((points, p), (centres, c)):
            holder.x.from_numpy(np.ascontiguousarray(values[:, 0]))
            holder.y.from_numpy(np.ascontiguousarray(values[:, 1]))
        assign()
        d = p[:, None] - c[None]
        np.testing.assert_array_equal(points.best.to_numpy(), (d * d).sum(2).argmin(1))
        if not options and count == 24:  # fewer turns are written out
            assert remarks_of(assign)


@every_way
def test_of_arrays_from_any_one(rng, options):
    """The first one is an argument; loops may have no turn, and then it names no place."""

    @mt.kernel
    def last_greatest(x: array(f32, 2), first: array(i32, 1), at: array(i32, 1), n: i32):
        for i in range(x.shape[0]):
            best = first[i]
            for q in range(n):
                if x[i, best] > x[i, q]:
                    continue
                best = q
            at[i] = best

    x = rng.integers(0, 5, (40, 19)).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    with mt.Context(**options):
        for n in (0, 1, 19):
            first = np.full(40, 1 << 30 if n == 0 else 3, np.int32)
            at = np.zeros(40, np.int32)
            last_greatest(x, first, at, n)
            want = first.copy()
            for i in range(40):
                for q in range(n):
                    if not x[i, want[i]] > x[i, q]:
                        want[i] = q
            np.testing.assert_array_equal(at, want)


@every_way
def test_what_the_loop_changes_is_read_again(rng, options):
    @mt.kernel
    def run(x: array(i32, 2), at: array(i32, 1)):
        for i in range(x.shape[0]):
            best = 0
            for q in range(x.shape[1]):
                if x[i, q] < x[i, best]:
                    best = q
                x[i, best] += 3
            at[i] = best

    x = rng.integers(0, 9, (30, 17), np.int32)
    want, best = x.copy(), np.zeros(30, np.int32)
    for i in range(30):
        for q in range(17):
            if want[i, q] < want[i, best[i]]:
                best[i] = q
            want[i, best[i]] += 3
    at = np.zeros(30, np.int32)
    with mt.Context(**options):
        run(x, at)
    np.testing.assert_array_equal(at, best)
    np.testing.assert_array_equal(x, want)
