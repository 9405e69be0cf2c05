"""The module of each released version: kernels with every kind of record that a file can hold.

    tests/golden/golden_modules.py VERSION      writes modules/VERSION anew, by the compiler that is there

A version's files are written until it is released, and never again: test_golden_modules.py loads those of all versions and
compares what their kernels compute with NumPy. A new version gets a folder of its own; what has come into the format since is
added here.
"""

import argparse
import os
import pathlib

import metate as mt
from metate.graph import Arg, ArgKind, GraphBuilder

FOLDER = pathlib.Path(__file__).parent / "modules"
TARGET = "x86-64"  # any of them: the least level

vec3 = mt.types.vector(3, mt.f32)
mat2 = mt.types.matrix(2, 2, mt.f64)
quant = mt.types.quant
n = mt.Dim("n", min=1, max=4096)
line = mt.types.ndarray(mt.f32, ndim=1)
dense_line = mt.types.ndarray(mt.f32, ndim=1, contiguous=True)

_levels = mt.types.SNodeTreeBuilder()
_levels.pointer(mt.ij, 4).bitmasked(mt.ij, 4).place(a=mt.f32, v=vec3)
_levels.hash(mt.k).dense(mt.k, 8).place(h=mt.i64, background=-5)
_levels.dynamic(mt.l, 1000, chunk_size=16).place(d=mt.u16)
Levels = _levels.build()

_words = mt.types.SNodeTreeBuilder()
_words.dense(mt.i, 64).bit_struct(max_num_bits=32).place(q=quant.int(7), f=quant.fixed(13, scale=0.25))
_words.quant_array(mt.j, 64, max_num_bits=32).place(b=quant.int(4, False))
Words = _words.build()


@mt.kernel
def scalars(a: mt.u1, b: mt.i8, c: mt.u16, d: mt.i64, e: mt.f16, v: vec3, m: mat2, out: mt.types.ndarray(mt.f64, ndim=1)):
    """Each argument as a number."""
    out[0], out[1], out[2], out[3], out[4] = mt.f64(a), mt.f64(b), mt.f64(c), mt.f64(d), mt.f64(e)
    out[5] = v[0] + 2.0 * v[1] + 4.0 * v[2]
    out[6] = m[0, 0] + 2.0 * m[0, 1] + 4.0 * m[1, 0] + 8.0 * m[1, 1]


@mt.kernel
def norms(x: mt.types.ndarray(mt.f32, shape=(n, 3)), y: mt.types.ndarray(mt.f32, shape=(n,))):
    for i in range(x.shape[0]):
        y[i] = x[i, 0] * x[i, 0] + x[i, 1] * x[i, 1] + x[i, 2] * x[i, 2]


@mt.kernel
def total(x: mt.types.ndarray(mt.f64, ndim=2)) -> mt.f64:
    result = mt.f64(0.0)
    for i, j in x:
        result += x[i, j]
    return result


@mt.kernel
def shift(points: mt.types.ndarray(vec3, ndim=1), by: vec3):
    for i in points:
        points[i] += by


@mt.kernel
def paint(t: Levels):
    for i, j in mt.ndrange(16, 16):
        if (i + j) % 3 == 0:
            t.a[i, j] = i * 16.0 + j
            t.v[i, j] = vec3(i, j, 1.0)
    for k in range(40):
        t.h[7 * k - 100] = k
    for k in range(50):
        t.d.append(mt.u16(3 * k))


@mt.kernel
def weigh(t: Levels, out: mt.types.ndarray(mt.i64, ndim=1)):
    for i, j in t.a:
        out[0] += mt.i64(t.a[i, j])
        out[1] += mt.i64(t.v[i, j].sum())
    for k in range(-100, 200):
        out[2] += t.h[k]
    for k in range(t.d.length()):
        out[3] += mt.i64(t.d[k])


@mt.kernel
def pack(t: Words):
    for i in range(64):
        t.q[i] = i - 32
        t.f[i] = 0.25 * i - 3.0
        t.b[i] = i % 16


@mt.kernel
def unpack(t: Words, q: mt.types.ndarray(mt.i32, ndim=1), f: line, b: mt.types.ndarray(mt.i32, ndim=1)):
    for i in range(64):
        q[i] = t.q[i]
        f[i] = t.f[i]
        b[i] = t.b[i]


@mt.kernel(asserts=True)
def checked(x: line):
    for i in x:
        assert x[i] < 10.0, f"too large: {x[i]}"


@mt.kernel
def said(k: mt.i32):
    print("k is", k, f"and {0.5 * k:.2f}")


@mt.kernel
def energy(x: line, out: line):
    for i in x:
        out[0] += x[i] * x[i] * x[i]


@mt.real_func
def binomial(upper: mt.i32, lower: mt.i32) -> mt.i64:
    result = mt.i64(1)
    for k in range(lower):
        result = result * (upper - k) // (k + 1)
    return result


@mt.kernel
def square(x: dense_line, y: dense_line):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]


@mt.kernel
def plus(x: dense_line, y: dense_line, z: dense_line):
    for i in range(x.shape[0]):
        z[i] = x[i] + y[i]


def powers():
    """y = x^2 + x^4, with two arrays of the graph's own."""
    x, y = (Arg(ArgKind.NDARRAY, name, mt.f32, shape=(n,)) for name in "xy")
    builder = GraphBuilder()
    a, b = (builder.intermediate(name, mt.f32, (n,)) for name in "ab")
    builder.dispatch(square, x, a)
    builder.dispatch(square, a, b)
    builder.dispatch(plus, a, b, y)
    return builder.compile()


def module() -> mt.aot.Module:
    made = mt.aot.Module(name="golden", targets=[TARGET])
    made.add_type(Levels, "levels").add_type(Words, "words")
    for kernel in (scalars, norms, total, shift, paint, weigh, pack, unpack, checked, said):
        made.add_kernel(kernel)
    return (
        made.add_kernel(energy, grad=True, fwd=True)
        .add_function(binomial)
        .add_graph("powers", powers(), place={"intermediates": "sram"})
    )


def write(version: str):
    folder = FOLDER / version
    folder.mkdir(parents=True, exist_ok=True)
    for suffix in ("metate", "so", "o"):
        module().save(folder / f"golden.{suffix}")
    loaded = mt.aot.load(folder / "golden.metate")
    tree = loaded.types["levels"].new(capacity={"pointer0": 16, "hash0": 60, "dynamic0": 10})
    loaded.paint(tree)
    tree.save(folder / "levels.tree")
    print(*(f"{path.name} {path.stat().st_size}" for path in sorted(folder.iterdir())), sep="\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version")
    chosen = parser.parse_args().version
    # Once more under a name without folders: what is written names its source, and is the same wherever it is made.
    os.chdir(FOLDER.parent)
    source = {"__name__": "golden", "__file__": __file__}
    exec(compile(pathlib.Path(__file__).read_text(), "golden_modules.py", "exec"), source)
    source["write"](chosen)
