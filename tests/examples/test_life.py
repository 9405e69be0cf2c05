"""Life on bits against NumPy at both kinds of border; figures and pattern files; memory and words as promised."""

import pathlib

import numpy as np
import pytest

import metate as mt

PATTERNS = pathlib.Path(__file__).resolve().parents[2] / "examples/patterns"


def numpy_step(alive, border):
    padded = np.pad(alive, 1, mode="wrap" if border == "torus" else "constant")
    n = len(alive)
    around = sum(padded[i : i + n, j : j + n] for i in range(3) for j in range(3)) - alive
    return ((around == 3) | ((alive == 1) & (around == 2))).astype(alive.dtype)


@pytest.mark.parametrize("border", ["torus", "dead"])
def test_generations_equal_numpys(load, border):
    program = load("life", "--size", 100, "--border", border)
    world = program["World"]()
    program["soup"](world.cells, 0.4)
    expected = world.cells.to_numpy()
    assert expected.shape == (128, 128) and 0.3 < expected.mean() < 0.5
    for _ in range(20):
        world.go_on(1)
        expected = numpy_step(expected, border)
        np.testing.assert_array_equal(world.cells.to_numpy(), expected)


def test_the_loop_goes_by_words(load):
    program = load("life", "--size", 256)
    world = program["World"]()
    report = program["step"].report(world.cells, world.next, True)
    (words,) = [one for loop in report.loops for one in loop.remarks if (one.subject, one.outcome) == ("words", "done")]
    assert "by logic on planes of bits" in words.text


def test_film_and_memory(filmed):
    program = filmed("life", 64)
    world = program["World"]()
    assert world.bytes == mt.types.SNodeTreeBuilder().dense(mt.i, 64 * 64 // 8).place(a=mt.u8).build().bytes()
    glider = np.zeros((64, 64), np.uint32)
    glider[[1, 2, 0, 1, 2], [0, 1, 2, 2, 2]] = 1
    world.cells.from_numpy(glider)
    world.go_on(4 * 64)
    np.testing.assert_array_equal(world.cells.to_numpy(), glider)
    world.go_on(1)
    assert (world.cells.to_numpy() != glider).any()
    assert f"64 x 64 cells in {world.bytes} bytes" in str(world) and "cells a nanosecond" in str(world)


def test_patterns_are_read(load):
    program = load("life", "--size", 128, "--border", "dead")
    gun, acorn = (program["read_pattern"]((PATTERNS / name).read_text()) for name in ("glider_gun.rle", "acorn.cells"))
    assert acorn == [[0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0], [1, 1, 0, 0, 1, 1, 1]]
    assert len(gun) == 9 and max(map(len, gun)) == 36 and gun[4][:2] == [1, 1]
    world = program["World"]()
    world.cells.from_numpy(program["from_pattern"](gun))
    alive = [int(world.cells.to_numpy().sum())]
    for _ in range(5):
        world.go_on(30)
        alive.append(int(world.cells.to_numpy().sum()))
    assert alive == [36 + 5 * fired for fired in range(6)], "a glider every 30 generations"
    with pytest.raises(SystemExit, match="life: the pattern has 200 x 1 cells, the world 128 x 128"):
        program["from_pattern"]([[1] * 200])
