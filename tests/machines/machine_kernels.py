"""What runs on other machines than this one: dense, sparse and quantised data, functions, and a graph, of 8 to 64-bit numbers."""

import metate as mt
from metate.graph import Arg, ArgKind, GraphBuilder

quant = mt.types.quant
vec3 = mt.types.vector(3, mt.f32)

_blocks = mt.types.SNodeTreeBuilder()
_leaf = _blocks.pointer(mt.ij, 4, name="blocks").bitmasked(mt.ij, 4, name="cells")
_leaf.place(height=mt.f32, velocity=vec3, background={"height": -1.0})
_blocks.dense(mt.i, 4).dynamic(mt.j, 32, chunk_size=4, name="list").place(item=mt.i32)
_blocks.hash(mt.kl, name="far").dense(mt.kl, 2).place(count=mt.i64)
Sparse = _blocks.build()

_packed = mt.types.SNodeTreeBuilder()
_word = _packed.dense(mt.i, 16).bit_struct(max_num_bits=32)
_word.place(x=quant.fixed(12, max_value=2.0), k=quant.int(9), f=quant.float(5, 6))
_packed.dense(mt.i, 4).quant_array(mt.i, 4, max_num_bits=32).place(bits=quant.int(5, False))
Packed = _packed.build()

f32s = mt.types.ndarray(dtype=mt.f32, ndim=1)
f64s = mt.types.ndarray(dtype=mt.f64, ndim=1)
i32s = mt.types.ndarray(dtype=mt.i32, ndim=1)
i64s = mt.types.ndarray(dtype=mt.i64, ndim=1)


@mt.kernel
def dense(a: mt.f32, x: f32s, y: f32s):
    for i in x:
        y[i] = a * x[i] + y[i] * mt.sqrt(abs(x[i])) - mt.floor(x[i]) / (1 + i)


@mt.kernel(fast_math=False)
def matrices(x: mt.types.ndarray(dtype=mt.f32, ndim=2), y: mt.types.ndarray(dtype=mt.f32, ndim=2)):
    for i, j in y:
        total = 0.0
        for k in range(x.shape[1]):
            total += x[i, k] * x[k, j]
        y[i, j] = total


@mt.kernel(fast_math=False)
def doubles(x: f64s) -> mt.f64:
    total = mt.cast(0.0, mt.f64)
    for i in range(x.shape[0]):
        x[i] = mt.sin(x[i]) + mt.exp(-x[i] * x[i]) + mt.pow(abs(x[i]), 0.7) + mt.round(x[i]) % 3
        total += x[i]
    return total


@mt.kernel
def integers(x: i64s, y: i64s):
    for i in x:
        a, b = x[i], y[i]
        y[i] = (a * b) // (b | 1) + (a % (b | 1)) + (a >> (b & 31)) - (a << (b & 7)) + mt.cast(mt.cast(a, mt.f32), mt.i64)
        x[i] = mt.cast(mt.cast(a, mt.u16), mt.i64) * mt.cast(mt.cast(b, mt.i8), mt.i64) + mt.max(a, b) - mt.min(a, b)


@mt.kernel
def narrow(h: mt.types.ndarray(dtype=mt.f16, ndim=1), b: mt.types.ndarray(dtype=mt.i8, ndim=1),
           u: mt.types.ndarray(dtype=mt.u1, ndim=1), w: mt.types.ndarray(dtype=mt.bf16, ndim=1), d: mt.f64):  # fmt: skip
    for i in h:
        w[i] = w[i] * h[i] - mt.cast(d * i, mt.bf16)
        b[i] = b[i] * 3 + mt.cast(h[i] * 4, mt.i8)
        u[i] = h[i] > 0.5
        h[i] = h[i] * 0.3 + b[i] + mt.cast(d, mt.f16)


@mt.kernel
def histogram(x: f32s, bins: i32s, most: f32s):
    for i in x:
        mt.atomic_add(bins[mt.cast(abs(x[i]) * 3, mt.i32) % bins.shape[0]], 1)
        mt.atomic_max(most[i % 4], x[i])


@mt.kernel
def paint(t: Sparse, points: i32s):
    for n in range(points.shape[0]):
        i, j = points[n] % 16, (points[n] // 16) % 16
        t[i, j].height = 0.25 * i - j
        t[i, j].velocity += vec3(i, j, n)
        mt.append(t.list, [i % 4], points[n])
        t.count[points[n] * 1000, -points[n]] += 1 + n


@mt.kernel
def gather(t: Sparse, out: i64s):
    for i, j in t.height:
        out[0] += mt.cast(4 * t[i, j].height, mt.i64) * (i + 17 * j)
        out[1] += mt.cast(t[i, j].velocity.sum(), mt.i64)
    for i, j in t.item:
        out[2] += t.item[i, j] * (1 + j)
    for k, l in t.count:
        out[3] += t.count[k, l]


@mt.kernel
def erase(t: Sparse):
    for i, j in t.height:
        if (i + j) % 3 == 0:
            mt.deactivate(t.cells, [i, j])


@mt.kernel
def quantised(t: Packed, x: f32s):
    for i in t.x:
        t[i].x = x[i]
        t[i].k = 20 * x[i]
        t[i].f = 3 * x[i]
    for i in t.bits:
        t.bits[i] += 3 * i
    for i in t.x:
        x[i] = t[i].x + t[i].k * t[i].f + t.bits[i]


@mt.real_func
def ackermann(m: mt.i32, n: mt.i32) -> mt.i32:
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


@mt.kernel
def recurse(out: i32s):
    for i in range(3):
        out[i] = ackermann(2, i + 1)


@mt.kernel(asserts=True)
def stop(x: i32s):
    for i in range(x.shape[0]):
        assert x[i] < 1000, f"x[{i}] is {x[i]}, too large"
        x[i] += 1


@mt.kernel
def largest(x: f32s, y: f64s, out: f64s):
    for i in range(x.shape[0]):
        out[0] = mt.max(out[0], x[i])
        out[1] = mt.min(out[1], y[i])
        out[2] = mt.max(out[2], mt.min(x[i], y[i]))


@mt.kernel
def beyond(x: i32s, i: mt.i32):
    for k in range(1):
        x[i + k] = 7


@mt.kernel
def say(x: f32s):
    print("x[1] is", x[1], "of", x.shape[0], mt.i64(-(2**40)))


weights = mt.field(mt.f32, shape=16)


@mt.kernel
def begin(x: f32s, v: mt.f32):
    for i in weights:
        weights[i] = 0.25 * i
    for i in x:
        x[i] = v * i


@mt.kernel
def turn(x: f32s):
    for i in x:
        x[i] = x[i] * 0.5 + weights[i] * weights[15 - i]
    for i in weights:
        weights[i] += 1


def steps():
    x, v, turns = (
        Arg(ArgKind.NDARRAY, "x", mt.f32, ndim=1),
        Arg(ArgKind.SCALAR, "v", mt.f32),
        Arg(ArgKind.SCALAR, "turns", mt.i32),
    )
    builder = GraphBuilder()
    builder.dispatch(begin, x, v)
    again = builder.create_sequential()
    again.dispatch(turn, x)
    builder.append(again, count=turns)
    return builder.compile("steps")


KERNELS = (dense, matrices, doubles, integers, narrow, histogram, paint, gather, erase, quantised, recurse, stop, largest, say)


def careful(target):
    """A module of debug mode."""
    return mt.aot.Module(targets=[target], name="careful", debug=True).add_kernel(beyond)


def module(target, without=(), **options):
    """Without fused multiply-adds, which not every machine has: the same bits on all. `without`: kernels that are left out."""
    made = mt.aot.Module(targets=[target], name="machine", reserve=False, contract=False, **options)
    made.add_type(Sparse, "sparse").add_type(Packed, "packed")
    for kernel in KERNELS:
        if kernel not in without:
            made.add_kernel(kernel)
    return made.add_graph("steps", steps()).add_field("weights", weights)
