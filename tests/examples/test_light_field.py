"""Packed colours: bytes, rounding of both formats, photographs against NumPy, and that what is focused is sharp."""

import numpy as np
import pytest

import metate as mt

N, VIEWS = 24, 9


def bytes_of(size):
    level = mt.types.SNodeTreeBuilder().dense(mt.ijkl, (VIEWS, VIEWS, N, N))
    return level.place(a=mt.types.vector(size, mt.u8)).build().bytes()


@pytest.fixture
def fields(filmed):
    """The program, and its light in f32, with a shared exponent and with 10 bits."""
    program = filmed("light_field", N)
    program["scene"]()
    plain = program["LightField"]("f32")
    return program, plain, program["LightField"]("rgb9e5", plain), program["LightField"]("rgb10", plain)


def test_bytes_and_rounding(fields):
    program, plain, float_packed, fixed_packed = fields
    assert plain.bytes == bytes_of(12) and float_packed.bytes == fixed_packed.bytes == bytes_of(4)
    wanted, found = plain.light.to_numpy(), float_packed.light.to_numpy()
    assert wanted.max() > 30 and wanted.min() < 0.1
    largest = wanted.max(axis=-1, keepdims=True).astype(float)
    unit = 2.0 ** np.floor(np.log2(largest) - 8)  # 9 digits of the largest component, which is 511 at most
    unit = np.where(np.floor(largest / unit + 0.5) > 511, 2 * unit, unit)
    assert (np.abs(found - wanted) <= unit / 2).all()
    np.testing.assert_allclose(fixed_packed.light.to_numpy(), np.minimum(wanted, 1), atol=0.5001 / 1023)
    text = program["compared"]((float_packed, fixed_packed, plain), 3.0)
    errors = [float(line.split(" at most, ")[1].split()[0]) for line in text.splitlines()[1:]]
    assert errors[0] < wanted.max() / 2**13 and errors[1] > 50 * errors[0], "lights are much brighter than 1"
    assert f"f32: {plain.bytes} bytes" in text and f"rgb9e5: {float_packed.bytes} bytes" in text


def test_photographs(fields):
    program, _, float_packed, _ = fields
    light = float_packed.light.to_numpy().astype(float)
    float_packed.focus(2.5)
    x, y = np.mgrid[:N, :N]
    total = np.zeros((N, N, 3))
    for a in range(VIEWS):
        for b in range(VIEWS):
            shift = (np.array([a, b]) + 0.5) / VIEWS - 0.5
            at = [place - part * program["aperture"] / 2.5 * N for place, part in zip((x, y), shift)]
            corner = [np.floor(one).astype(int) for one in at]
            for i in range(2):
                for j in range(2):
                    share = (1 - abs(at[0] - corner[0] - i)) * (1 - abs(at[1] - corner[1] - j))
                    pixel = np.clip(corner[0] + i, 0, N - 1), np.clip(corner[1] + j, 0, N - 1)
                    total += share[..., None] * light[a, b][pixel]
    np.testing.assert_allclose(program["photograph"].to_numpy(), total / VIEWS**2, rtol=1e-4, atol=1e-4)


def test_what_is_in_focus_is_sharp(load):
    program = load("light_field", "--size", 96)
    program["scene"]()
    plain, lights = program["LightField"]("f32"), program["center"].to_numpy()[-program["lights"] :]
    x, y, depth = lights[lights[:, 2].argmin()]
    i, j = (int((side / depth + 0.5) * 96) for side in (x, y))
    brightest = []
    for distance in (depth / 2, depth, 2 * depth):
        plain.focus(distance)
        brightest.append(program["photograph"].to_numpy()[i - 1 : i + 2, j - 1 : j + 2].max())
    assert brightest[1] > 2 * max(brightest[0], brightest[2]), "the light of a small ball is in few pixels there"
