"""B10: the Game of Life on 8192 x 8192 cells of a byte, of a word, of a bit."""

import numpy as np
from harness.case import Case, Reference

TITLE = "Game of Life"
N = 8192


def inputs_of(dtype):
    def inputs(rng, n):
        return {"a": rng.integers(0, 2, (n, n), np.uint8).astype(dtype)}

    return inputs


def model_of(dtype):
    def model(inputs, steps, n):
        a, b = inputs["a"], np.zeros((n, n), dtype)
        around = sum(a[1 + di : n - 1 + di, 1 + dj : n - 1 + dj] for di in (-1, 0, 1) for dj in (-1, 0, 1) if di or dj)
        b[1:-1, 1:-1] = (around == 3) | ((around == 2) & (a[1:-1, 1:-1] == 1))
        return {"b": b}

    return model


def case(name, program, dtype, bits, absent=()):
    return Case(
        name=f"a generation of 8192 x 8192 cells, {name}",
        level="DRAM",
        program=f"life:{program}",
        parameters={"n": N},
        smoke={"n": 128},
        inputs=INPUTS[dtype],
        model=MODELS[dtype],
        outputs=lambda n: {"b": ((n, n), dtype)},
        reference=Reference("life", program, lambda n: (n,)),
        unit="cell",
        work=lambda n: (n - 2) ** 2,
        tolerance=(0.0, 0.0),
        traffic=lambda n: bits * n * n // 4,
        limit=("copy", N * N * bits // 32 // 64 * 64),
        absent=dict(absent),
    )


INPUTS = {dtype: inputs_of(dtype) for dtype in ("uint8", "int32")}
MODELS = {dtype: model_of(dtype) for dtype in ("uint8", "int32")}
NO_BITS = dict.fromkeys(("metate", "taichi", "quadrants"), "1-bit cells: not measured before Metate has quantised types")


def cases():
    yield case("u8", "bytes_", "uint8", 8)
    yield case("i32", "words", "int32", 32)
    yield case("1 bit", "bits", "uint8", 1, NO_BITS)
