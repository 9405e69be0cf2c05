"""B11: numbers that share words: vectors and matrices updated in place, single members, sums that meet, arrays of four bits.

Inputs are such that every step is exact: the same result in any order of the stores, whatever a package rounds.
"""

import numpy as np
from harness.case import Case, Reference

TITLE = "numbers that share words"
L2, DRAM = 1 << 16, 1 << 24
OFFSETS = {"fixed": (0.25, -0.5, 0.125), "int": (1, -3, 7), "shared": (0.5, 1.0, 2.0)}
TURN = np.array(((0.5, 0.5, 0.0), (-0.5, 0.5, 0.0), (0.0, 0.25, 1.0)))
VECTORS = {"whole": "whole vectors", "apart": "three fields", "parts": "components by a func", "class": "a class"}
MEMBERS = {"added": "+=", "assigned": "x = x + d", "atomic": "atomic_add", "class": "a class"}
MATRICES = {"product": "m @ t", "parts": "parts by parts", "func": "a func", "class": "a class, t an argument"}
SCATTERS = {"inline": "+=", "atomic": "atomic_add", "class": "a class"}
SWEEPS = {"assigned": "x = x + 3", "added": "+=", "func": "a func of % 16", "class": "a class"}


def steps_of(rng, shape, step, low, high):
    """Multiples of `step` from `low` on, below `high`."""
    return (step * rng.integers(round(low / step), round(high / step), shape)).astype(np.float32)


def counts_of(steps):
    """The whole numbers next to these, half away from zero."""
    return np.sign(steps) * np.floor(np.abs(steps) + 0.5)


def fixed_of(values, step):
    return counts_of(values / step) * step


# -- vectors of three ------------------------------------------------------------------------------------

RANGES = {"fixed": (1 / 256, -2, 2), "int": (1, -512, 512), "f32": (1 / 256, -2, 2), "shared": (1 / 16, 0, 16)}
UPDATES = {
    "fixed": lambda x: fixed_of(0.5 * x + OFFSETS["fixed"], 1 / 256),
    "int": lambda x: (3 * x + OFFSETS["int"] + 512) % 1024 - 512,
    "f32": lambda x: 0.5 * x + OFFSETS["fixed"],
    "shared": lambda x: 0.5 * x + OFFSETS["shared"],
}
STORED = {"fixed": "3 x fixed(10) in 32", "int": "3 x int(10) in 32", "f32": "3 x f32", "shared": "3 x 9 bits, one exponent of 5"}


def vector_inputs(rng, n, kind):
    return {"x": steps_of(rng, (n, 3), *RANGES[kind])}


def vector_model(inputs, steps, n, kind):
    return {"x": UPDATES[kind](inputs["x"].astype(np.float64))}


def vectors(kind, level):
    each = 12 if kind == "f32" else 4
    for spelling, how in VECTORS.items():
        yield Case(
            name=f"{STORED[kind]}, {how}",
            level=level,
            program=f"packed:vector_{spelling}",
            parameters={"n": L2 if level == "L2" else DRAM, "kind": kind},
            smoke={"n": 1000},
            inputs=vector_inputs,
            model=vector_model,
            outputs=lambda n, kind: {"x": ((n, 3), "float32")},
            reference=Reference("packed", f"vector_{kind}", lambda n, kind: (n,), ("plain", "blocks by planes")),
            unit="vector",
            work=lambda n, kind: n,
            tolerance=(0.0, 0.0),
            traffic=lambda n, kind: 2 * each * n,
            limit=("copy", DRAM * each // 4) if level == "DRAM" else "hand",
            headline=spelling == "whole" and level == "DRAM",
        )


# -- one number among others -------------------------------------------------------------------------------


def member_inputs(rng, n, kind):
    return {"x": steps_of(rng, n, 1 / 16, -100, 100)}


def member_model(inputs, steps, n, kind):
    return {"x": np.stack([inputs["x"] + 0.25, np.arange(n) & 8191], axis=1)}


def members(kind, said):
    for spelling, how in MEMBERS.items():
        yield Case(
            name=f"{said} among 32 bits, {how}",
            level="DRAM",
            program=f"packed:member_{spelling}",
            parameters={"n": DRAM, "kind": kind},
            smoke={"n": 1000},
            inputs=member_inputs,
            model=member_model,
            outputs=lambda n, kind: {"x": ((n, 2), "float32")},
            reference=Reference("packed", f"member_{kind}", lambda n, kind: (n,)),
            unit="number",
            work=lambda n, kind: n,
            tolerance=(0.0, 0.0),
            traffic=lambda n, kind: 8 * n,
            limit=("copy", DRAM),
            headline=spelling == "added",
        )


# -- matrices ------------------------------------------------------------------------------------------------


def matrix_inputs(rng, n):
    return {"x": steps_of(rng, (n, 9), 1 / 32, -1, 1)}


def matrix_model(inputs, steps, n):
    return {"x": fixed_of(inputs["x"].astype(np.float64).reshape(n, 3, 3) @ TURN, 1 / 32).reshape(n, 9)}


def matrices():
    for spelling, how in MATRICES.items():
        yield Case(
            name=f"3 x 3 x fixed(7) in 64, {how}",
            level="DRAM",
            program=f"packed:matrix_{spelling}",
            parameters={"n": DRAM // 2},
            smoke={"n": 1000},
            inputs=matrix_inputs,
            model=matrix_model,
            outputs=lambda n: {"x": ((n, 9), "float32")},
            reference=Reference("packed", "matrix", lambda n: (n,), ("plain", "blocks by planes")),
            unit="matrix",
            work=lambda n: n,
            tolerance=(0.0, 0.0),
            traffic=lambda n: 16 * n,
            limit=("copy", DRAM),
            headline=spelling == "product",
        )


# -- sums that meet in words -----------------------------------------------------------------------------------


def places(rng, n, m):
    return {"at": rng.integers(0, n, m, np.int32)}


def scatter_model(inputs, steps, n, m):
    count = np.bincount(inputs["at"], minlength=n)
    return {"count": (count + 32768) % 65536 - 32768, "total": 0.5 * count}


def bins_model(inputs, steps, n, m):
    return {"x": np.bincount(inputs["at"], minlength=n) % 16}


def scatters(program, name, model, outputs, smoke):
    for spelling, how in SCATTERS.items():
        yield Case(
            name=f"{name}, {how}",
            program=f"packed_words:{program}_{spelling}",
            parameters={"n": 1 << 20, "m": 1 << 22},
            smoke=smoke,
            inputs=places,
            model=model,
            outputs=outputs,
            reference=Reference("packed", program, lambda n, m: (n, m), ("plain", "each thread some of the cells")),
            unit="addition",
            work=lambda n, m: m,
            tolerance=(0.0, 0.0),
            headline=spelling == "inline",
        )


# -- arrays of four bits ---------------------------------------------------------------------------------------


def sweep_inputs(rng, n):
    return {"x": rng.integers(0, 16, n, np.uint8)}


def sweep_model(inputs, steps, n):
    return {"x": (inputs["x"] + 3) % 16}


def sweeps(said, count):
    for spelling, how in SWEEPS.items():
        yield Case(
            name=f"{said} of four bits, {how}",
            level="DRAM" if count > 1 << 26 else "L3",
            program=f"packed_words:sweep_{spelling}",
            parameters={"n": count},
            smoke={"n": 4096},
            inputs=sweep_inputs,
            model=sweep_model,
            outputs=lambda n: {"x": ((n,), "uint8")},
            reference=Reference("packed", "sweep", lambda n: (n,)),
            unit="element",
            work=lambda n: n,
            tolerance=(0.0, 0.0),
            traffic=lambda n: n,
            limit=("copy", count // 8),
            headline=spelling == "assigned" and count > 1 << 26,
        )


def cases():
    for level in ("L2", "DRAM"):
        for kind in ("f32", "fixed", "int"):
            yield from vectors(kind, level)
    yield from vectors("shared", "DRAM")
    yield from members("fixed", "fixed(13)")
    yield from members("float", "float(6, 13)")
    yield from matrices()
    two = lambda n, m: {"count": ((n,), "int32"), "total": ((n,), "float32")}
    yield from scatters("scatter", "4 Mi sums into int(16) and fixed(16) in 32", scatter_model, two, {"n": 64, "m": 5000})
    one = lambda n, m: {"x": ((n,), "uint8")}
    yield from scatters("bins", "4 Mi counts into an array of four bits", bins_model, one, {"n": 64, "m": 5000})
    yield from sweeps("16 Mi elements", 1 << 24)
    yield from sweeps("128 Mi elements", 1 << 27)
