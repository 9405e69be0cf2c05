"""Derivatives and random numbers on a microcontroller: the bits that this machine gives, and what Python's kernels give here."""

import pathlib
import sys

import numpy as np
import pytest

import metate as mt

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import pair_kernels as kernels  # noqa: E402
from machines import HOST, MACHINES  # noqa: E402


def words_of(machine, folder):
    """What the program prints, by the first word of each line."""
    machine.need()
    kernels.module(machine.target).save(folder / "pair.o")
    machine.build(folder / "program", HERE / "pair_host.c", folder / "pair.o")
    lines = (line.split() for line in machine.run(folder / "program").splitlines())
    return {name: np.array([int(word, 16) for word in words], np.uint32) for name, *words in lines}


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return words_of(HOST, tmp_path_factory.mktemp("host"))


@pytest.mark.parametrize("target", ["thumbv7em-none-eabi", "thumbv7em-none-eabihf"])
def test_derivatives_and_random_numbers(here, target, tmp_path):
    there = words_of(MACHINES[target], tmp_path)
    assert list(there) == list(here)
    differing = [name for name in here if (here[name] != there[name]).any()]
    assert not differing, [(name, here[name], there[name]) for name in differing]


def test_they_are_what_they_should_be(here, tmp_path):
    """Against differences, this machine's own kernels, and the other mode."""
    x = np.float32(0.125) * (np.arange(24) - 9).astype("f4")
    at = ((np.arange(24) * 7 + 3) % 24 // 2).astype("i4")

    def loss(x):
        y = x[at]
        for _ in range(3):
            y = np.sin(y) * y + 0.25 * x
        return np.where(y > 0.5, y * y, y)

    wide = x.astype("f8")
    slopes = np.array([(loss(wide + 1e-6 * one) - loss(wide - 1e-6 * one)) / 2e-6 for one in np.eye(24)])
    for name, wanted in {"values": loss(wide), "gradient": slopes.sum(axis=1), "change": slopes[2]}.items():
        np.testing.assert_allclose(here[name].view("f4"), wanted, rtol=1e-4, atol=1e-5)
    kernels.module("native").save(tmp_path / "pair.metate")
    mine = [np.zeros(24, kind) for kind in ("f4", "u4", "f4")]
    mt.aot.load(tmp_path / "pair.metate").dice(*mine, random_seed=20261126)
    for name, wanted in zip(("floats", "integers", "normal"), mine, strict=True):
        assert (here[name] == wanted.view("u4")).all(), name
    assert not any(here[name].any() for name in ("loss", "reverse", "forward", "dice"))
    floats = here["floats"].view("f4")
    assert (floats >= 0).all() and (floats < 1).all() and len(set(here["integers"].tolist())) == 24
