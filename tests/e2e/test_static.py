"""What is computed while compiling: ti.static, containers, comprehensions; and vectors taken apart. Against plain Python."""

import numpy as np
import pytest

import metate as ti

X = ti.types.ndarray(dtype=ti.f64, ndim=1)
NUMBERS = [1.5, -2.0, 4.0]
TABLE = {"a": 2, "b": 3.5}
SIZE = 4
BOX = ti.ndrange(2, (1, 4))


def results(function, count=12, start=None):
    out = np.zeros(count) if start is None else np.array(start, np.float64)
    ti.kernel(function)(out)
    return out.tolist()


def test_unrolled_loops():
    def run(x: X):
        for k, v in ti.static(enumerate(NUMBERS)):
            x[k] = v * 2
        for _, v in ti.static(TABLE.items()):
            x[3] += v
        for a, b in ti.static(zip(NUMBERS, [4, 5, 6])):
            x[4] += a * b
        for i in ti.static(range(10, 4, -2)):
            x[5] = x[5] * 10 + i
        for i, j in ti.static(ti.ndrange(2, (1, 3))):
            x[6] = x[6] * 100 + 10 * i + j
        for I in ti.static(ti.grouped(ti.ndrange(2, 2))):
            x[7] += I[0] * 2 + I[1] + I.sum()
        for i in ti.static(range(3)):
            for j in ti.static(range(i)):
                if ti.static(j == 1):
                    continue
                x[8] += 10 * i + j
        for i in ti.static([i for i in range(5) if i != 2]):
            if ti.static(i > 3):
                break
            x[9] = x[9] * 10 + i

    assert results(run, 10) == [3, -4, 8, 5.5, 20, 1086, 1021112, 10, 30, 13]


def test_boxes_from_outside():
    def run(x: X):
        for i, j in BOX:
            x[i * 3 + j - 1] = 10 * i + j
        inside = ti.ndrange(2, 3)
        for I in ti.grouped(inside):
            x[6 + I[0] * 3 + I[1]] = I.sum()

    assert results(run) == [1, 2, 3, 11, 12, 13, 0, 1, 2, 1, 2, 3]


def test_static_conditions():
    def run(x: X):
        if ti.static(SIZE > 3):
            x[0] = 1
        elif ti.static(SIZE > 2):
            x[0] = not_defined_anywhere  # noqa: F821
        else:
            x[0] = "no number"
        ti.static_assert(SIZE == 4 and isinstance(NUMBERS, list), "sizes")
        x[1] = NUMBERS[0] if ti.static(SIZE in (3, 4)) else NUMBERS[5]
        nothing = None
        if ti.static(nothing is None):
            x[2] = ti.static(max(1, 2, SIZE))
        if not ti.static(SIZE == 5):
            x[3] = ti.static(sum(NUMBERS))
        x[4] = 1 if 0 <= x[5] < 5 <= SIZE + 1 else 2

    assert results(run, 5 + 1)[:5] == [1, 1.5, 4, 3.5, 1]


def test_static_print_and_texts(capsys):
    def run(x: X):
        ti.static_print("size", SIZE, f"{SIZE=} {NUMBERS[0]:.2f}")
        key = f"a{SIZE}"
        x[0] = {"a4": 5.0, "a5": 6.0}[key]
        x[1] = len("text" + key) + len([*NUMBERS, 1])

    assert results(run, 2) == [5, 10]
    assert capsys.readouterr().out == "size 4 SIZE=4 1.50\n"


def test_containers():
    def run(x: X):
        squares = [i * i for i in range(4)]
        named = {name: k for k, name in enumerate("abc")}
        values = [x[10] + k for k in range(3)]
        values.append(x[11])
        values[0] = values[0] * 2
        named["d"] = 7
        x[0] = squares[3] + named["c"] + named["d"]
        x[1] = sum(values)
        x[2] = sum(v * v for v in values[1:])
        x[3] = len({i % 2 for i in range(5)}) + len(values)
        x[4] = ti.Vector([i * 2.0 for i in range(3)])[2]
        x[5] = any([v > 3 for v in values])
        x[6] = all([v > 3 for v in values])
        x[7] = max(values[0], values[1]) + min([values[2], values[3]])
        merged = {**named, "e": 1.0}
        x[8] = merged["e"] + len(merged)
        x[9] = sum([k * v for k, v in zip((1, 2), values)])

    a, b = 1.25, 3.5
    values = [2 * a, a + 1, a + 2, b]
    wanted = [9 + 2 + 7, sum(values), sum(v * v for v in values[1:]), 2 + 4, 4, 1, 0, values[0] + min(values[2:]), 1 + 5]
    assert results(run, start=[0] * 10 + [a, b])[:10] == [*wanted, values[0] + 2 * values[1]]


def test_assignments():
    def run(x: X):
        (a, b), *rest = [(1.0, 2.0), 3.0, 4.0]
        *first, last = rest
        p = q = a + b
        p, q = q + 1, p + 2
        v0, v1 = ti.Vector([5.0, 6.0])
        x[0], x[1] = p, q
        x[2], x[3] = v1, v0
        x[4] = len(rest) + last + first[0]
        if (n := x[5] + 3) > 2:
            x[6] = n
        while (k := x[7]) < 5:
            x[7] = k + 1
        row, column = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        x[8], x[9] = row.sum(), column.sum()

    assert results(run, 10) == [4, 5, 6, 5, 9, 0, 3, 5, 3, 7]


def test_swizzles_and_slices(rng):
    data = rng.integers(-9, 9, 8).astype(np.float64)

    def run(x: X):
        v = ti.Vector([x[0], x[1], x[2], x[3]])
        v.xy = v.yx
        v.zw += 10
        v[0:2] *= 2
        w = v.wzyx
        for i in ti.static(range(4)):
            x[i] = w[i]
        m = ti.Matrix([[x[4], x[5], x[6]], [1.0, 2.0, 3.0]])
        m[0, :] += [1.0, 2.0, 3.0]
        m[:, 2] = ti.Vector([0.5, 0.25])
        x[8] = m[0:2, 0:2].determinant()
        x[9] = m[:, 2].sum() + m[0, ::2].sum()
        m[1] = [7.0, 8.0, 9.0]
        k = int(x[10])
        x[11] = m[k].sum() + m[k, 1:].sum()

    found = results(run, start=[*data, 0, 0, 1, 0])
    a, b, c, d = data[:4]
    assert found[:4] == [d + 10, c + 10, 2 * a, 2 * b]
    e, f = data[4] + 1, data[5] + 2
    assert found[8:] == [e * 2 - f, 0.75 + e + 0.5, 1, 24 + 17]


def test_constructors():
    def run(x: X):
        x[0] = ti.Matrix.zero(ti.f32, 2, 3).sum() + ti.Vector.one(ti.i32, 3).sum() + ti.Matrix.identity(ti.f32, 3).trace()
        x[1] = ti.Vector.unit(3, 1)[1] + ti.Matrix.diag(2, 3.0).trace() + ti.Matrix.unit(3, 2)[2]
        ones = ti.Vector.one(int, 3)
        x[2] = ti.Matrix.rows([ones, ones * 2]).sum() * 10 + ti.Matrix.cols([ti.Vector([1, 2]), ti.Vector([3, 4])])[0, 1]
        x[3] = (
            ti.Vector([1, 2, 3], dt=ti.f32).sum() + ti.Matrix([[1, 2], [3, 4]], ti.f32).trace() + ti.Vector.zero(float, 3).sum()
        )
        v = ti.Vector([3.0, 4.0])
        x[4] = ti.zero(v).sum() + ti.one(v).sum() * 10 + ti.zero(3) + ti.one(x[0])
        x[5] = ti.types.vector(2, ti.f64)(3, 4).sum() + ti.math.mat2([[1, 2], [3, 4]])[1, 0] + ti.math.vec4(v, 1, 2).sum()
        x[6] = ti.bit_cast(ti.bit_cast(ti.f32(1.0), ti.u32) + ti.u32(1), ti.f32) > 1.0
        x[7] = ti.cast(3.7, ti.i32) + ti.cast(3.7, int) + ti.i32(2.5) + int(2.9) + float(3)

    assert results(run, 8) == [6, 1 + 6 + 1, 93, 11, 21, 20, 1, 13]


def test_methods_of_vectors_and_matrices():
    def run(x: X):
        m, v = ti.Matrix([[1.0, 2.0], [3.0, 4.0]]), ti.Vector([3.0, 4.0])
        x[0] = m.sum() * 10 + m.max() + m.min() + m.trace() * 100
        x[1] = v.norm() + v.norm_sqr() * 10 + v.dot(v) * 1000 + v.cross(v.yx)
        x[2] = v.outer_product(v).trace() + m.transpose()[0, 1] + v.cast(ti.i32).sum() + v.cast(int)[0]
        x[3] = (v > 3.5).any() and not (v > 3.5).all()
        x[4] = m.n * 10 + m.m + v.n * 100
        x[5] = v.get_shape()[0] + m.get_shape()[1] + m.to_list()[1][0] + v.to_list()[1]
        m.fill(2.0)
        x[6] = m.sum() + m.determinant()
        x[7] = v.normalized().dot(v) + v.norm_inv() * 5

    assert results(run, 8) == pytest.approx([605, 5 + 250 + 25000 + 9 - 16, 25 + 3 + 7 + 3, 1, 222, 2 + 2 + 3 + 4, 8, 6])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("for i in ti.static(range(n)): pass", "range: expected integers known while compiling here"),
        ("ti.static_assert(SIZE == 5, f'{SIZE} is not 5')", "static assertion failed: 4 is not 5"),
        ("x[0] = ti.static(x[1])", "static: expected what is known while compiling"),
        ("a, *b, c = [1.0]", "expected at least 2 values to unpack, got 1"),
        ("v = ti.Vector([1, 2]); x[0] = v[2:].sum()", "expected a slice with at least one element of 2, got none"),
        ("v = ti.Vector([1, 2]); x[0] = v[:n].sum()", "bound of a slice: expected an integer known while compiling"),
        ("v = ti.Vector([1, 2]); v.xy = [1, 2, 3]", "v.xy: expected a value of shape (2,), got vector(3, i32)"),
        ("v = ti.Vector([1, 2]); v.fill([1, 2, 3])", "variable 'v': expected vector(2, i32), got vector(3, i32)"),
        ("x[0] = ti.Vector([1, 2]).fill(1)", "fill: expected a place that can be assigned"),
        ("m = ti.Matrix.rows([[1, 2], [3]])", "rows: expected vectors of one length, got vector(2, i32), vector(1, i32)"),
        ("x[0] = {'a': 1}['b']", "KeyError while compiling: 'b'"),
        ("x[0] = sorted([x[0], x[1]])[0]", "sorted: expected elements known while compiling"),
        ("d = {x[0]: 1}", "key of a dict: expected an integer known while compiling"),
        ("m = ti.Matrix.diag(n, 1.0)", "diag: expected an integer known while compiling"),
        ("v = ti.Vector([1, 2]); x[0] = v[1:].k", "has no attribute 'k'"),
        ("m = ti.Matrix.identity(ti.f32, 2); x[0] = m[0, 0, :]", "wrong number of indices: expected 2"),
    ],
)
def test_mistakes(line, message):
    text = "@ti.kernel\ndef run(x: X):\n    n = x.shape[0]\n" + "".join(f"    {part.strip()}\n" for part in line.split(";"))
    file = f"<line {abs(hash(line))}>"
    ti.attach_source(file, text)
    scope = dict(globals())
    exec(compile(text, file, "exec"), scope)
    with pytest.raises(ti.CompilationError) as caught:
        scope["run"](np.zeros(2))
    assert message in str(caught.value), caught.value
    assert caught.value.line >= 4


def test_lists_of_values_are_repeated_and_joined():
    x = ti.field(ti.i32, (5, 5, 3))

    @ti.kernel
    def mark(n: ti.i32):
        for I in ti.grouped(ti.ndrange(*[[1, n - 1]] * 2 + [[0, 3]])):
            x[I] = 1

    mark(4)
    expected = np.zeros((5, 5, 3), np.int32)
    expected[1:3, 1:3] = 1
    assert np.array_equal(x.to_numpy(), expected)


def test_hints_of_taichi_do_nothing():
    field = ti.field(ti.f64, shape=4)

    def run(x: X):
        ti.block_local(field)
        ti.cache_read_only(field, x)
        for i in field:
            field[i] = i
            x[i] = field[ti.assume_in_range(i, i, 0, 1)]

    assert results(run, 4) == [0, 1, 2, 3]
