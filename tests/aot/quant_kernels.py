"""Trees of quantised members in all kinds of words, and kernels over them, for tests of headers and of files."""

import numpy as np

import metate as mt

quant = mt.types.quant
COUNT = 64

TYPES = {
    "u1": quant.int(1, False, compute=mt.u8), "i5": quant.int(5), "u7": quant.int(7, False), "i13": quant.int(13, compute=mt.i16),
    "i33": quant.int(33), "i64": quant.int(64), "u64": quant.int(64, False), "x11": quant.fixed(11, max_value=2.0),
    "x13": quant.fixed(13, scale=0.1), "y19": quant.fixed(19, False, scale=0.1), "x32": quant.fixed(32, max_value=2),
    "x40": quant.fixed(40, max_value=1000.0), "f5": quant.float(3, 2), "f14": quant.float(5, 9), "g19": quant.float(6, 13, False),
    "f32": quant.float(8, 24), "f37": quant.float(9, 28, compute=mt.f64), "f64": quant.float(11, 53, compute=mt.f64),
}  # fmt: skip
WORDS = [
    (8, ["u1", "i5"]), (16, ["i13"]), (32, ["x11", "x13"]), (64, ["u7", "x40"]), (64, ["f14", "g19", "f5"]),
    (64, ["y19", "f37"]), (64, ["i33"]), (64, ["i64"]), (64, ["u64"]), (32, ["x32"]), (32, ["f32"]), (64, ["f64"]),
]  # fmt: skip
# Exponents of their own beside them; of all bits that f32 has; of f64.
SHARED = [
    (64, {"s0": quant.float(6, 13), "s1": quant.float(6, 14, signed=False), "s2": quant.float(6, 9)}, {"s3": quant.int(11)}),
    (32, {"h0": quant.float(8, 12), "h1": quant.float(8, 12)}, {}),
    (64, {"d0": quant.float(11, 26, compute=mt.f64), "d1": quant.float(11, 27, False, compute=mt.f64)}, {}),
    (16, {"t0": quant.float(3, 2, False), "t1": quant.float(3, 7)}, {}),
]


def _numbers():
    builder = mt.types.SNodeTreeBuilder()
    level = builder.dense(mt.i, COUNT)
    for bits, names in WORDS:
        level.bit_struct(max_num_bits=bits).place(**{name: TYPES[name] for name in names})
    for bits, group, others in SHARED:
        word = level.bit_struct(max_num_bits=bits)
        word.place(**group, shared_exponent=True)
        if others:
            word.place(**others)
    level.place(plain=mt.f32)
    for name, type_ in TYPES.items():
        word = next(bits for bits in (8, 16, 32, 64) if bits >= type_.bits and (bits > 16 or type_.bits < 4))
        builder.dense(mt.i, 4).quant_array(mt.i, COUNT // 4, max_num_bits=word).place(**{f"q_{name}": type_})
    return builder.build()


Numbers = _numbers()

# Axes that several levels split, in other orders; elements that leave bits of their words unused.
_nested = mt.types.SNodeTreeBuilder()
_outer = _nested.dense(mt.ij, (2, 3)).dense(mt.j, 4)
_outer.dense(mt.ik, (5, 2)).bit_struct(max_num_bits=32).place(a=quant.int(9), b=quant.fixed(13, scale=0.25), background={"a": -7})
_outer.quant_array(mt.ijk, (3, 2, 5), max_num_bits=32).place(c=quant.int(7))
_nested.quant_array(mt.il, (7, 6), max_num_bits=8).place(e=quant.int(5, False))
_nested.bitmasked(mt.i, 8).bit_struct(max_num_bits=16).place(m=quant.int(5), n=quant.float(4, 6))
_nested.pointer(mt.i, 4).bit_struct(max_num_bits=16).place(p=quant.int(5))
Nested = _nested.build()

_sparse = mt.types.SNodeTreeBuilder()
_cells = _sparse.pointer(mt.ij, 4, name="blocks").bitmasked(mt.ij, 4).bit_struct(max_num_bits=64)
_cells.place(v0=quant.float(6, 14), v1=quant.float(6, 14), shared_exponent=True)
_cells.place(mass=quant.fixed(14, False, max_value=4.0), kind=quant.int(3, False), background={"mass": 0.5, "kind": 5})
_sparse.pointer(mt.i, 8, name="rows").dense(mt.i, 2).quant_array(mt.j, 32, max_num_bits=32).place(bit=quant.int(1, False))
_sparse.dense(mt.i, 4).dynamic(mt.j, 32, chunk_size=4, name="list").bit_struct(max_num_bits=32).place(item=quant.int(20))
Sparse = _sparse.build()


@mt.kernel
def mix(t: Numbers, by: mt.f32):
    for i in t.i5:
        t[i].q_i5 = t[i].i5 + 1
        t[i].q_x13 = t[i].x13 * by
        t[i].q_f14 = t[i].f14
        t[i].q_u1 = t[i].u1 ^ 1
        t[i].s0 = t[i].f14
        t[i].s2 += t[i].x11
        t[i].d1 = t[i].f37
        t[i].t1 = by * i
        t[i].plain = t[i].s1
    for i in t.q_i13:
        t.q_i13[i] -= 3
        t.q_x40[i] += 0.25


@mt.kernel
def scatter(t: Sparse, points: mt.types.ndarray(dtype=mt.i32, ndim=2)):
    for k in range(points.shape[0]):
        i, j = points[k, 0], points[k, 1]
        t[i, j].v0 += 0.25 * k
        t[i, j].v1 = -k
        t[i, j].mass += 0.25
        t.bit[i, 2 * j] = 1
        mt.append(t.list, [i % 4], 100 * i + j)


@mt.kernel
def total(t: Sparse) -> mt.f64:
    result = mt.cast(0.0, mt.f64)
    for i, j in t.mass:
        result += t.mass[i, j] * (1 + t.kind[i, j]) + t.v1[i, j]
    for i, j in t.bit:
        result += 1000 * t.bit[i, j]
    for i, j in t.item:
        result += t.item[i, j]
    return result


def module(name="quant"):
    made = mt.aot.Module(name=name)
    for tree, of in (("numbers", Numbers), ("nested", Nested), ("sparse", Sparse)):
        made.add_type(of, tree)
    for kernel in (mix, scatter, total):
        made.add_kernel(kernel)
    return made


def names():
    return [name for name in Numbers.members if name != "plain"]


def compute(name):
    return np.dtype(Numbers.members[name].type.compute.numpy)


def members():
    """What the C host goes through: an X macro of names and C types."""
    floats = {"float32": "float", "float64": "double"}
    rows = [f"X({name}, {floats.get(compute(name).name, compute(name).name + '_t')})" for name in names()]
    return "#define MEMBERS(X) " + " \\\n  ".join(rows) + "\n"


def numbers(rng, name):
    """Values of the compute type: of any bits, usual ones, halves of steps, and some that make trouble."""
    scale, dtype = Numbers.members[name].type.scale, compute(name)
    given = rng.integers(0, 256, COUNT * dtype.itemsize, dtype=np.uint8).view(dtype).copy()
    if dtype.kind == "f":
        given[::2] = rng.normal(size=COUNT // 2) * np.exp(rng.normal(size=COUNT // 2) * 4)
        if scale:
            given[1::4] = (rng.integers(-500, 500, COUNT // 4) + 0.5) * scale
        special = [0, -0.0, np.nan, np.inf, -np.inf, 1e30, -1e30, 2**31, -(2.0**31), 1e-40]
        given[rng.choice(COUNT, len(special), replace=False)] = special
    return given
