"""Kernels that scatter into arrays have code for the extents of calls with many particles (metate/by_shape.py)."""

import numpy as np
import pytest
from lent import Lent

import metate as mt
from metate import types
from metate.by_shape import LEAST, MOST

f32, i32 = mt.f32, mt.i32
vec2 = types.vector(2, f32)


@mt.kernel
def spread(x: types.ndarray(f32, 2), m: types.ndarray(f32, 1), mass: types.ndarray(f32, 2), momentum: types.ndarray(vec2, 2)):
    for p in range(x.shape[0]):
        a, b = mt.cast(x[p, 0], i32), mt.cast(x[p, 1], i32)
        for i, j in mt.static(mt.ndrange(3, 3)):
            mass[a + i, b + j] += m[p] * (1 + i)
            momentum[a + i, b + j] += m[p] * mt.Vector([1.0 + j, 2.0])


def spread_by_numpy(x, m, shape):
    a, b = x.astype(int).T
    mass, momentum = np.zeros(shape), np.zeros((*shape, 2))
    for i in range(3):
        for j in range(3):
            np.add.at(mass, (a + i, b + j), m * (1 + i))
            np.add.at(momentum, (a + i, b + j), m[:, None] * [1 + j, 2])
    return mass, momentum


def particles(rng, n, shape):
    return rng.random((n, 2), np.float32) * (np.array(shape, np.float32) - 3), rng.random(n, np.float32)


def check(rng, n, shape, kernel=spread, of=np.asarray):
    x, m = particles(rng, n, shape)
    mass, momentum = np.zeros(shape, np.float32), np.zeros((*shape, 2), np.float32)
    kernel(*map(of, (x, m, mass, momentum)))
    expected = spread_by_numpy(x, m, shape)
    np.testing.assert_allclose(mass, expected[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(momentum, expected[1], rtol=1e-4, atol=1e-4)


def signatures(kernel):
    return [one.signature for one in kernel.instances()]


class WithList(Lent):
    """An array of another package whose shape is a list, not a tuple."""

    @property
    def shape(self):
        return list(self.array.shape)


def test_calls_with_many_particles_have_code_for_their_extents(rng):
    kernel = spread.__copy__()
    with mt.Context():
        for n, shape in (
            (100, (40, 50)),
            (LEAST, (40, 50)),
            (LEAST, (300, 170)),
            (90, (41, 50)),
            (LEAST, (40, 50)),
            (LEAST - 1, (9, 9)),
        ):
            check(rng, n, shape, kernel)
        assert len(signatures(kernel)) == 3
        assert [f"x: f32[{LEAST}, 2]" in one for one in signatures(kernel)] == [False, True, True]
        assert f"momentum: {vec2!r}[300, 170]" in signatures(kernel)[2]
        assert kernel.instances()[0].hits == 3


def test_many_particles_first_then_few(rng):
    kernel = spread.__copy__()
    with mt.Context():
        check(rng, LEAST, (130, 140), kernel)
        check(rng, 10, (130, 140), kernel)
        assert [f"x: f32[{LEAST}, 2]" in one for one in signatures(kernel)] == [True, False]


def test_code_for_extents_is_put_in_order(rng):
    with mt.Context():
        x, m = particles(rng, 40_000, (500, 500))
        mass, momentum = np.zeros((500, 500), np.float32), np.zeros((500, 500, 2), np.float32)
        told = str(spread.report(x, m, mass, momentum))
        assert "iterations are put in the order of" in told
        open_ones = str(spread.report(x[:10], m[:10], mass, momentum))
        assert "known at launch only; annotations of arrays may say their shape" in open_ones
        assert "scatter_order" in spread.stages(x, m, mass, momentum, stop_after="layout")["layout"]


@pytest.mark.parametrize("options", [{}, {"deterministic": True}, {"threads": 1}, {"chunk_ns": 0}, {"opt_level": 0}])
def test_extents_with_options(rng, options):
    kernel = spread.__copy__()
    with mt.Context(**options):
        for n, shape in ((LEAST + 1, (40, 50)), (LEAST + 1, (260, 300)), (3, (5, 5))):
            check(rng, n, shape, kernel)


def test_only_some_sets_of_extents_are_compiled_for(rng):
    kernel = spread.__copy__()
    with mt.Context():
        for n in (*range(LEAST, LEAST + MOST + 3), LEAST + 1, 5):
            check(rng, n, (30, 40), kernel)
        assert len(signatures(kernel)) == MOST + 1 and "x: f32[:, :]" in signatures(kernel)[-1]


def test_arrays_whose_shape_is_a_list(rng):
    kernel = spread.__copy__()
    with mt.Context():
        for n in (LEAST, LEAST, LEAST + 7, LEAST, 20, LEAST):
            check(rng, n, (40, 50), kernel, of=WithList)
        assert [one.hits for one in kernel.instances()] == [4, 1, 1]


def test_arrays_without_a_shape(rng):
    """Memory that says its extents through DLPack alone: calls have the code for any."""

    kernel = spread.__copy__()
    with mt.Context():
        for n in (10, LEAST, 20):
            check(rng, n, (40, 50), kernel, of=Lent)
        check(rng, LEAST, (40, 50), kernel)
        assert ["x: f32[:, :]" in one for one in signatures(kernel)] == [True, False]


def test_arrays_of_the_package_and_overlapping_ones(rng):
    kernel = spread.__copy__()
    with mt.Context():
        x, m = particles(rng, LEAST, (60, 60))
        given = [
            mt.ndarray(f32, (LEAST, 2)),
            mt.ndarray(f32, LEAST),
            mt.ndarray(f32, (60, 60)),
            mt.Vector.ndarray(2, f32, (60, 60)),
        ]
        given[0].from_numpy(x)
        given[1].from_numpy(m)
        kernel(*given)
        for found, expected in zip(given[2:], spread_by_numpy(x, m, (60, 60))):
            np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-4, atol=1e-4)

        @mt.kernel
        def around(x: types.ndarray(i32, 1), a: types.ndarray(i32, 1), b: types.ndarray(i32, 1)):
            for p in range(x.shape[0]):
                for i in mt.static(range(8)):
                    a[x[p] + i] += 1
                    b[x[p] + i] += 2

        places, sums = rng.integers(0, LEAST - 8, LEAST, np.int32), np.zeros(LEAST, np.int32)
        expected = np.zeros(LEAST, np.int32)
        for i in range(8):
            np.add.at(expected, places + i, 3)
        around(places, sums, sums)
        np.testing.assert_array_equal(sums, expected)


def test_arrays_of_particles_that_add_to_a_field(rng):
    cells = mt.Vector.field(3, f32, shape=(500, 400))

    @mt.kernel
    def spread_to_field(x: types.ndarray(f32, 2)):
        for p in range(x.shape[0]):
            a, b = mt.cast(x[p, 0], i32), mt.cast(x[p, 1], i32)
            for i, j in mt.static(mt.ndrange(3, 3)):
                cells[a + i, b + j] += mt.Vector([1.0, x[p, 0], 2.0])

    for n in (7, 30_000):
        cells.fill(0)
        x, _ = particles(rng, n, (500, 400))
        spread_to_field(x)
        expected = np.zeros((500, 400, 3))
        for i in range(3):
            for j in range(3):
                at = x.astype(int)
                np.add.at(expected, (at[:, 0] + i, at[:, 1] + j), np.stack([np.ones(n), x[:, 0], np.full(n, 2)], axis=1))
        np.testing.assert_allclose(cells.to_numpy(), expected, rtol=1e-4)
    assert signatures(spread_to_field)[1].startswith("spread_to_field(x: f32[30000, 2])")


def test_other_kernels_have_one_code(rng):
    @mt.kernel
    def own(x: types.ndarray(vec2, 1), y: types.ndarray(vec2, 1)):
        for p in x:
            for _ in range(20):
                y[p] += x[p]

    @mt.kernel
    def count(x: types.ndarray(i32, 1), bins: types.ndarray(i32, 1)):
        for p in x:
            bins[x[p]] += 1

    with mt.Context():
        for n in (LEAST, LEAST + 5):
            x = rng.random((n, 2), np.float32)
            y = np.zeros_like(x)
            own(x, y)
            np.testing.assert_allclose(y, 20 * x, rtol=1e-5)
            bins = np.zeros(100, np.int32)
            count(np.full(n, 3, np.int32), bins)
            assert bins[3] == n
        assert len(own.instances()) == len(count.instances()) == 1


def test_other_contexts_have_no_code_for_extents(rng):
    for options in ({"debug": True}, {"arch": mt.interp}):
        kernel = spread.__copy__()
        with mt.Context(**options):
            check(rng, LEAST, (20, 20), kernel)
            assert "x: f32[:, :]" in signatures(kernel)[0]


def test_code_for_extents_is_kept_in_the_cache(rng, tmp_path):
    told = []
    for _ in range(2):
        kernel = spread.__copy__()
        with mt.Context(offline_cache=True, offline_cache_file_path=str(tmp_path)):
            for n, shape in ((LEAST, (40, 50)), (12, (40, 50)), (LEAST, (41, 50))):
                check(rng, n, shape, kernel)
            told.append([one.cache for one in kernel.instances()])
    assert told == [["compiled and cached"] * 3, ["loaded"] * 3]


def test_extents_of_annotations(rng):
    """What an annotation says is as before: a wrong extent is an error."""
    fixed = types.ndarray(f32, 1, shape=(1000,))

    @mt.kernel
    def run(x: types.ndarray(i32, 1), g: fixed):
        for p in range(x.shape[0]):
            for i in mt.static(range(16)):
                g[x[p] + i] += 1.0

    x, g = rng.integers(0, 984, LEAST, np.int32), np.zeros(1000, np.float32)
    run(x, g)
    expected = np.zeros(1000)
    for i in range(16):
        np.add.at(expected, x + i, 1)
    np.testing.assert_array_equal(g, expected)
    with pytest.raises(mt.MetateError, match="1000"):
        run(x, np.zeros(1001, np.float32))
