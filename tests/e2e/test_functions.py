"""@func: defaults, keywords, templates, returns, closures, lambdas, recursion while compiling; against plain Python."""

import numpy as np
import pytest

import metate as ti

COUNT = 40
X = ti.types.ndarray(dtype=ti.f64, ndim=1)
Rows = ti.types.ndarray(dtype=ti.f64, ndim=2)
vec2 = ti.types.vector(2, ti.f64)


@ti.func
def affine(a, b=2, *, c=3.0):
    return a * b + c


@ti.func
def several(a):
    if a > 1:
        return a, ti.Vector([a, a]), True
    elif a > 0:
        return -a, ti.Vector([0.0, 1.0]), False
    return 0.0, ti.Vector([9.0, 9.0]), True


@ti.func
def annotated(a: ti.i32, v: vec2) -> ti.f64:
    return a + v.sum()


@ti.func
def pair(a: ti.f64) -> tuple[ti.f64, ti.i32]:
    return a, a * 2


@ti.func
def nested(a):
    return a, (a + 1, [a + 2])


@ti.func
def total(*parts):
    s = ti.f64(0)
    for part in ti.static(parts):
        s += part
    return s


def test_arguments_and_results(rng):
    @ti.kernel
    def run(x: X, out: Rows):
        for i in x:
            out[i, 0] = affine(x[i]) + affine(x[i], 5) + affine(x[i], c=1) + affine(b=x[i], a=2)
            a, v, flag = several(x[i])
            out[i, 1] = a
            out[i, 2] = v.y
            out[i, 3] = flag
            out[i, 4] = annotated(2.7, [1, x[i]]) + annotated(2, x[i])
            p, q = pair(x[i])
            out[i, 5] = p + q
            p, (q2, (r,)) = nested(x[i])
            out[i, 6] = p + q2 + r
            out[i, 7] = total(x[i], 2.0, x[i]) + total() + total(*[1, 2]) + affine(**{"a": x[i], "b": 0})

    x, out = rng.normal(0, 2, COUNT), np.zeros((COUNT, 8))
    run(x, out)
    big, small = x > 1, (x > 0) & (x <= 1)
    wanted = [
        2 * x + 3 + 5 * x + 3 + 2 * x + 1 + 2 * x + 3, np.where(big, x, np.where(small, -x, 0)),
        np.where(big, x, np.where(small, 1, 9)), ~small, 2 + 1 + x + 2 + 2 * x, x + np.trunc(2 * x), 3 * x + 3, 2 * x + 8,
    ]  # fmt: skip
    for column, want in enumerate(wanted):
        np.testing.assert_allclose(out[:, column], want, rtol=1e-12, atol=1e-12, err_msg=f"column {column}")


@ti.func
def first_square_above(a):
    for k in range(100):
        if k * k > a:
            return k
    return -1


@ti.func
def collatz(n):
    steps = 0
    while True:
        if n == 1:
            return steps
        steps += 1
        if n % 2:
            n = 3 * n + 1
        else:
            n //= 2
    return -1


def test_returns_from_loops(rng):
    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.i32, ndim=1), out: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        for i in x:
            out[i, 0] = first_square_above(x[i])
            out[i, 1] = collatz(x[i])

    x = rng.integers(1, 20000, COUNT).astype(np.int32)
    out = np.zeros((COUNT, 2), np.int32)
    run(x, out)

    def steps(n):
        count = 0
        while n != 1:
            n, count = (3 * n + 1 if n % 2 else n // 2), count + 1
        return count

    roots = np.floor(np.sqrt(x)).astype(int) + 1
    np.testing.assert_array_equal(out[:, 0], np.where(roots < 100, roots, -1))
    np.testing.assert_array_equal(out[:, 1], [steps(int(n)) for n in x])


@ti.func
def by_value(v, n):
    v[0] = 10
    n += 5
    return v.sum() + n


@ti.func
def by_reference(v: ti.template(), n: ti.template()):
    v[0] = 10
    n += 5


def test_values_and_references():
    @ti.kernel
    def run(out: X):
        v, n = ti.Vector([1.0, 2.0]), 1
        out[0] = by_value(v, n)
        out[1] = v[0] + n
        by_reference(v, n)
        out[2] = v[0] + n
        by_reference(v.yx, n)
        out[3] = v[1] + n
        by_reference(ti.Vector([0.0, 0.0]) + v if False else v, out[4])

    out = np.zeros(5)
    run(out)
    np.testing.assert_array_equal(out, [18, 2, 16, 21, 5])


@ti.func
def factorial(n: ti.template()):
    if ti.static(n <= 1):
        return 1
    return n * factorial(n - 1)


@ti.func
def polynomial(x, coefficients: ti.template()):
    if ti.static(len(coefficients) == 0):
        return ti.f64(0)
    return coefficients[0] + x * polynomial(x, coefficients[1:])


@ti.func
def compose(f: ti.template(), g: ti.template(), x):
    return f(g(x))


@ti.func
def square(x):
    return x * x


halve = lambda t: t / 2


def test_functions_as_values(rng):
    shift = 3.0

    @ti.kernel
    def run(x: X, out: Rows):
        for i in x:
            k = x[i]
            f = lambda a, b=2.0: a * b + k + shift  # noqa: B023

            @ti.func
            def inner(a, power: ti.template() = 1):
                r = ti.f64(1)
                for _ in ti.static(range(power)):
                    r *= a + k  # noqa: B023
                return r

            out[i, 0] = compose(square, halve, k) + compose(lambda a: a + 1, square, k)
            out[i, 1] = f(k) + f(1.0, b=k)
            out[i, 2] = inner(1.0) + inner(2.0, 3)
            out[i, 3] = factorial(5) + polynomial(k, [1.0, 2.0, 3.0])
            table = {"square": square, "halve": halve}
            out[i, 4] = sum([table[name](k) for name in ti.static(("square", "halve"))])

    x, out = rng.normal(0, 1, COUNT), np.zeros((COUNT, 5))
    run(x, out)
    wanted = [
        (x / 2) ** 2 + x**2 + 1, (2 * x + x + 3) + (x + x + 3), (1 + x) + (2 + x) ** 3, 120 + 1 + 2 * x + 3 * x**2, x**2 + x / 2,
    ]  # fmt: skip
    for column, want in enumerate(wanted):
        np.testing.assert_allclose(out[:, column], want, rtol=1e-12, atol=1e-12, err_msg=f"column {column}")


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    @ti.func
    def scaled(self, x):
        return self.twice(x) * self.factor

    @ti.func
    def twice(self, x):
        return 2 * x

    def plain(self, x):
        return x


scaler = Scaler(1.5)


def test_methods_of_objects(rng):
    @ti.kernel
    def run(x: X):
        for i in x:
            x[i] = scaler.scaled(x[i]) + ti.static(scaler.plain(4))

    x = rng.normal(0, 1, COUNT)
    y = x.copy()
    run(y)
    np.testing.assert_allclose(y, 3 * x + 4, rtol=1e-14, atol=1e-14)


def test_static_branches_of_kernels(rng):
    def make(n):
        @ti.kernel
        def run(x: X) -> ti.f64:
            if ti.static(n == 0):
                return x[0]
            elif ti.static(n == 1):
                return x[1] * 2
            for k in ti.static(range(4)):
                if ti.static(k == n):
                    return x[k]
            return -1.0

        return run

    x = rng.normal(0, 1, 4)
    assert [make(n)(x) for n in (0, 1, 2, 3, 4)] == [x[0], x[1] * 2, x[2], x[3], -1.0]


def test_loops_of_functions_at_the_top(rng):
    """They are the kernel's own: parallel where iterations do not depend on each other."""
    field = ti.field(ti.f64, shape=(7, 5))

    @ti.func
    def fill(by):
        for i, j in field:
            field[i, j] = by * i + j

    @ti.func
    def sum_of_field():
        s = ti.f64(0)
        for I in ti.grouped(field):
            s += field[I]
        return s

    @ti.func
    def horner(x: X, at):
        r = ti.f64(0)
        for k in range(x.shape[0]):
            r = r * at + x[k]
        return r

    @ti.kernel
    def run(x: X, out: X):
        fill(2.0)
        first = sum_of_field()
        fill(x[0])
        out[0] = first
        out[1] = sum_of_field() + first
        out[2] = horner(x, 0.5)
        for i in range(3):
            out[3 + i] = horner(x, i)

    x, out = rng.normal(0, 1, 6), np.zeros(6)
    run(x, out)
    i, j = np.indices((7, 5))
    first = (2 * i + j).sum()
    wanted = [first, (x[0] * i + j).sum() + first, *(np.polyval(x, at) for at in (0.5, 0, 1, 2))]
    np.testing.assert_allclose(out, wanted, rtol=1e-12, atol=1e-12)


@ti.func
def endless(n: ti.template()):
    return endless(n + 1)


@ti.func
def recursive(n):
    if n < 1:
        return 1
    return n * recursive(n - 1)


@ti.func
def of_a_dict(a: dict):
    return a


@ti.func
def returns_nothing(a) -> ti.f64:
    b = a
    b += 1


@ti.func
def sometimes(a):
    if a > 1:
        return 1.0


@ti.func
def one_or_two(a):
    if a > 1:
        return 1.0
    return 1.0, 2.0


@ti.func
def empty(a) -> ti.f64:
    if a > 1:
        return
    return 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("affine()", "'affine': missing a required argument: 'a'"),
        ("affine(1, d=2)", "'affine': got an unexpected keyword argument 'd'"),
        ("affine(1, 2, 3)", "'affine': too many positional arguments"),
        ("affine(**3)", "expected a dict after **, got 3"),
        ("annotated(1, [1, 2, 3])", "argument 'v' of 'annotated': expected vector(2, f64), got vector(3, f64)"),
        ("annotated([1, 2], [1, 2])", "expected a value, got a list of 2"),
        ("of_a_dict(1)", "argument 'a' of 'of_a_dict': expected a scalar, vector, matrix, struct, ndarray or tree type"),
        ("recursive(int(x[0]))", "'recursive' calls itself: a @func is inlined and cannot be recursive"),
        ("endless(3)", "'endless' calls itself 64 deep: expected a recursion that ends while compiling"),
        ("returns_nothing(1)", "'returns_nothing': expected a return statement, as its annotation says"),
        ("sometimes(x[0])", "'sometimes' returns a value on some paths and none on others"),
        ("one_or_two(x[0])", "expected 1 results as in the returns before, got 2"),
        ("empty(x[0])", "'empty': expected a value, as its annotation says, got none"),
        ("scaler.plain(x[0])", "'plain' cannot be called in a kernel"),
        ("(lambda a: a + unknown)(1)", "name 'unknown' is not defined"),
        ("(lambda a: a)(1, 2)", "'lambda': too many positional arguments"),
    ],
)
def test_mistakes(call, message):
    text = f"@ti.kernel\ndef run(x: X):\n    x[0] = {call}\n"
    file = f"<call {abs(hash(call))}>"
    ti.attach_source(file, text)
    scope = dict(globals())
    exec(compile(text, file, "exec"), scope)
    with pytest.raises(ti.CompilationError) as caught:
        scope["run"](np.zeros(2))
    assert message in str(caught.value), caught.value
    assert caught.value.line is not None and caught.value.column is not None
    assert len(str(caught.value).splitlines()) < 20


def test_atomics_on_variables_of_a_function_in_its_loop():
    """Of a member, or where the old value is asked for, iterations run in order."""

    @ti.func
    def members(n):
        s = ti.Struct(most=ti.i32(-1), v=ti.Vector([0, 5]))
        for i in range(n):
            ti.atomic_max(s.most, i * 3 % 7)
            ti.atomic_add(s.v[1], i)
        return s.most * 1000 + s.v[1]

    @ti.func
    def old_values(n):
        total, seen = 0, 0
        for i in range(n):
            seen += ti.atomic_add(total, i)
        return seen * 1000 + total

    @ti.kernel
    def run(n: ti.i32, out: X):
        out[0] = members(n)
        out[1] = old_values(n)

    out, sums = np.zeros(2), np.cumsum(np.arange(9))
    run(9, out)
    assert out.tolist() == [6005 + sums[-1], 1000 * sums[:-1].sum() + sums[-1]]


def test_changes_that_do_not_commute_run_in_order():
    """One kind of change in place may come in any order, as `s += i`; quotients, and sums beside products, may not."""

    @ti.func
    def quotients(n):
        s = ti.f64(1e6)
        for i in range(n):
            s //= i + 2.0
        return s

    @ti.func
    def sums_and_products(n):
        s = 1
        for i in range(n):
            s += i
            s *= 2
        return s

    @ti.func
    def atomics(n):
        s = 0
        for i in range(n):
            ti.atomic_add(s, 3)
            ti.atomic_min(s, 20 - i)
        return s

    @ti.kernel
    def run(n: ti.i32, out: X):
        out[0] = quotients(n)
        out[1] = sums_and_products(n)
        out[2] = atomics(n)

    expected = [1e6, 1, 0]
    for i in range(9):
        expected = [expected[0] // (i + 2), (expected[1] + i) * 2, min(expected[2] + 3, 20 - i)]
    out = np.zeros(3)
    run(9, out)
    assert out.tolist() == expected


def test_one_iteration_runs_in_order():
    """Taichi's programs say `for _ in range(1)` where loops inside are to run in order."""

    @ti.kernel
    def run(x: X):
        last = ti.f64(1)
        for _ in range(1):
            for i in range(x.shape[0]):
                last = last * 2 + i
                x[i] = last

    x = np.zeros(6)
    run(x)
    np.testing.assert_array_equal(x, [2, 5, 12, 27, 58, 121])


@ti.func
def says_scalar(v) -> ti.f32:
    return v * 2


def test_scalar_annotation_of_a_vector(recwarn):
    """Taichi does not look at annotations of results."""

    @ti.kernel
    def run(x: X):
        x[0] = says_scalar(ti.Vector([1.0, 2.0])).sum()

    x = np.zeros(1)
    run(x)
    assert x[0] == 6 and "its annotation says f32, got vector(2, f32)" in str(recwarn.list[0].message)
