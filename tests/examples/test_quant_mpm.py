"""Packed particles beside the same in f32: bytes, rounding in one substep, the error after many, sums in any order."""

import numpy as np
import pytest

import metate as mt

N = 400


def bytes_of(shape, *cells):
    """Of dense trees, whose cells have so many bytes."""
    level = lambda: mt.types.SNodeTreeBuilder().dense(mt.ij if len(shape) == 2 else mt.i, shape)
    return sum(level().place(a=mt.types.vector(size, mt.u8)).build().bytes() for size in cells)


def test_bytes_and_error_after_some_frames(filmed):
    program = filmed("quant_mpm", N)
    small, plain = program["Water"](N, True), program["Water"](N, False)
    grid = (program["n_grid"],) * 2
    assert small.bytes == (bytes_of((N,), 8, 4, 8), bytes_of(grid, 8, 4, 8)) and plain.bytes[1] == small.bytes[1]
    assert plain.bytes[0] == bytes_of((N,), 8, 4, 8, 16) and 16 * N <= plain.bytes[0] - small.bytes[0] < 16 * N + 256
    for water in (small, plain):
        water.fill()
        water.go_on(20 * program["substeps"])
    assert np.abs(plain.v.to_numpy()[:, 1] + 1 + 9.8 * 0.05).max() < 0.01, "it falls"
    greatest, usual = program["apart"](small.x, plain.x)
    step = program["position_type"].scale
    assert step / 10 < usual < 400 * step and greatest < 1000 * step
    greatest, _ = program["apart"](small.v, plain.v)
    assert greatest < 500 * 2.0**-13, "half a unit of twelve digits, 500 times"
    text = program["compared"](small, plain, 20)
    assert f"particles: {small.bytes[0]} bytes quantised, {plain.bytes[0]} in f32: " in text
    assert "position after 20 frames: error" in text


def test_a_substep_rounds_once(load, rng):
    program = load("quant_mpm", "--size", N)
    small, plain = program["Water"](N, True), program["Water"](N, False)
    small.x.from_numpy(rng.uniform(0.3, 0.7, (N, 2)).astype(np.float32))
    small.v.from_numpy(rng.normal(size=(N, 2)).astype(np.float32))
    small.C.from_numpy(rng.normal(0, 20, (N, 2, 2)).astype(np.float32))
    small.J.from_numpy(rng.uniform(0.95, 1.05, N).astype(np.float32))
    for name in "xvCJ":
        getattr(plain, name).from_numpy(getattr(small, name).to_numpy())  # both begin with numbers that both have
    for water in (small, plain):
        water.substep()
    for name, type_ in (("x", program["position_type"]), ("J", program["ratio_type"])):
        greatest, usual = program["apart"](getattr(small, name), getattr(plain, name))
        assert greatest < 0.75 * type_.scale and usual == pytest.approx(type_.scale / 12**0.5, rel=0.2)
    for name, digits in (("v", 12), ("C", 13)):
        found, wanted = (getattr(water, name).to_numpy().reshape(N, -1) for water in (small, plain))
        unit = 2.0 ** np.floor(np.log2(np.abs(wanted).max(axis=1, keepdims=True)) - digits + 1)
        assert (np.abs(found - wanted) <= 0.55 * unit).all(), name


def test_sums_on_a_fixed_grid_do_not_depend_on_the_order(load, rng):
    program = load("quant_mpm", "--size", N)
    x, v = rng.uniform(0.3, 0.5, (N, 2)).astype(np.float32), rng.normal(size=(N, 2)).astype(np.float32)
    order, found = rng.permutation(N), []
    for each in (np.arange(N), order):
        water = program["Water"](N, True, fixed_grid=True)
        water.x.from_numpy(x[each])
        water.v.from_numpy(v[each])
        water.J.fill(1)
        water.go_on(10)
        found.append([field.to_numpy() for field in (water.mass, water.momentum, water.x, water.v)])
    for one, other, is_grid in zip(*found, (True, True, False, False)):
        np.testing.assert_array_equal(one if is_grid else one[order], other)
    assert water.bytes[1] == bytes_of((program["n_grid"],) * 2, 8, 8)
    mass = found[0][0].astype(float)
    assert abs(mass.sum() - N) <= 9 * N * program["mass_type"].scale / 2 and mass.max() > 2
