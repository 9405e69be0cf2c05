"""Quantised smoke beside the same in f32: bytes as the types say, stores that round to the nearest number, a small error."""

import numpy as np
import pytest
import seeded

import metate as mt

N = 32


def bytes_of(*cells):
    """Of dense trees of N x N cells of so many bytes each."""
    level = lambda size: mt.types.SNodeTreeBuilder().dense(mt.ij, (N, N)).place(a=mt.types.vector(size, mt.u8))
    return sum(level(size).build().bytes() for size in cells)


def test_bytes_and_error_after_some_frames(filmed):
    program = filmed("quant_smoke", N)
    small, plain = program["Smoke"](quantised=True), program["Smoke"](quantised=False)
    assert small.bytes == bytes_of(4, 4, 2, 2, 2, 2, 2) and plain.bytes == bytes_of(8, 8, 4, 4, 4, 4, 4)
    assert plain.bytes - small.bytes == 18 * N * N
    for frame in range(30):
        small.step(frame)
        plain.step(frame)
    assert plain.density.now.to_numpy().max() > 0.2 and np.abs(plain.velocity.now.to_numpy()).max() > 10
    greatest, usual = program["apart"](small.density.now, plain.density.now)
    step = program["density_type"].scale
    assert step / 100 < usual < 20 * step and greatest < 100 * step
    greatest, usual = program["apart"](small.velocity.now, plain.velocity.now)
    top = np.abs(plain.velocity.now.to_numpy()).max()
    assert usual < top * 2**-9 and greatest < top * 2**-7, "twelve digits a component, eleven in a pressure"
    text = program["compared"](small, plain, 30)
    assert f"memory: {small.bytes} bytes quantised, {plain.bytes} in f32: 1.9" in text
    assert "density after 30 frames: error" in text


def test_one_step_of_carrying_rounds_once(load):
    """From the same state: what is stored is the number next to f32's, of vectors at the exponent of the larger component."""
    program = load("quant_smoke", "--size", N)
    small, plain = program["Smoke"](quantised=True), program["Smoke"](quantised=False)
    random = seeded.generator("test_one_step_of_carrying_rounds_once")
    small.velocity.now.from_numpy(random.normal(0, 40, (N, N, 2)).astype(np.float32))
    small.density.now.from_numpy(random.uniform(0, 3, (N, N)).astype(np.float32))
    for name in ("velocity", "density"):
        getattr(plain, name).now.from_numpy(getattr(small, name).now.to_numpy())  # both begin with numbers that both have
    for fluid in (small, plain):
        program["carry"](fluid.velocity.now, fluid.density.now, fluid.density.later, 1.0)
        program["carry"](fluid.velocity.now, fluid.velocity.now, fluid.velocity.later, 1.0)
    greatest, usual = program["apart"](small.density.later, plain.density.later)
    half = program["density_type"].scale / 2
    assert greatest <= half * 1.1 and usual == pytest.approx(half / 3**0.5, rel=0.1), "even errors up to half a step"
    found, wanted = small.velocity.later.to_numpy(), plain.velocity.later.to_numpy()
    unit = 2.0 ** np.floor(np.log2(np.abs(wanted).max(axis=-1, keepdims=True)) - 11)  # 12 digits of the larger one
    assert (np.abs(found - wanted) <= 0.52 * unit).all()
