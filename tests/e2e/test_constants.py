"""Numbers known while compiling: exact while Python computes with them, checked where they become the kernel's."""

import math

import numpy as np
import pytest

import metate as ti

N, M, BIG, MASK = 70000, 2**31, 1e30, 0xFFFFFFFF


@pytest.mark.parametrize(
    ("text", "dtype", "expected"),
    [
        ("10**-3", "f32", 0.001),
        ("ti.i64(2**40)", "i64", 2**40),
        ("float(2**33) / float(2**34)", "f32", 0.5),
        ('-float("inf")', "f32", -float("inf")),
        ('int("12") + 1', "i32", 13),
        ("10**12 // 10**9", "i32", 1000),
        ("10**10 / 10**9", "f32", 10.0),
        ("2**40 > 5", "i32", 1),
        ("ti.u64((1 << 48) - 1)", "u64", (1 << 48) - 1),
        ("ti.i64(2**31)", "i64", 2**31),
        ("10**18 % 7", "i32", 10**18 % 7),
        ("1e30 * 1e30 / 1e50", "f32", 1e10),
        ("n * ti.u64(10**10)", "u64", 3 * 10**10),
        ("2**-2 * 8", "f32", 2.0),
        ("max(2**33, 5) - 2**33 + min(2**40, 7)", "i32", 7),
        ("ti.max(2**33, 5, 2**34) // 2**30", "i32", 16),
        ("N * N * 1e-9", "f32", 4.9),
        ("1.0 / 2048**3", "f32", 2.0**-33),
        ("BIG * BIG * 1e-40", "f32", 1e20),
        ("80.0 * 1e-4", "f32", float(np.float32(80.0 * 1e-4))),
        ("N * N * 1.0", "f32", float(np.float32(N * N))),
        ("ti.u32(M - 1)", "u32", 2**31 - 1),
        ("0xFFFFFFFF & 0xFF", "i32", 255),
        ("MASK >> 24 | -~MASK >> 32", "i32", 255 | 1),
        ("ti.i64(3000000000 * 2)", "i64", 6000000000),
        ("ti.f64(1.0 / 3.0)", "f64", 1.0 / 3.0),
        ("ti.cast(1.0 / 3.0, ti.f64)", "f64", 1.0 / 3.0),
        ("ti.Vector([1.0 / 3.0, 0], ti.f64)[0]", "f64", 1.0 / 3.0),
        ("ti.types.vector(2, ti.i64)(2**40, 1)[0]", "i64", 2**40),
        ("ti.sqrt(2.0) * ti.sqrt(2.0) * 0.5", "f32", 1.0),
        ("math.sqrt(2**64) / 2**32", "f32", 1.0),
        ("ti.floor(2**40 / 3) - 2**40 // 3", "f32", 0.0),
        ("abs(-2**33) // 2**33", "i32", 1),
        ("pow(2, 33) // 2**32", "i32", 2),
        ("int(2.0**33) // 2**33 + int(-2.7)", "i32", -1),
        ("len((1, 2, 3)) * 2**31 // 2**30", "i32", 6),
        ("n.cast(ti.i32) if False else 2**33 // 2**32", "i32", 2),
        ("x.shape[0] * 0 + 4 * 2**30 // 2**30", "i32", 4),
        ("2**33 < 2**34 < 2**35", "i32", 1),
        ("(lambda a: a * a)(70000) // 10**9", "i32", 4),
    ],
)
def test_operations_of_numbers_are_pythons(text, dtype, expected):
    source = f"@ti.kernel\ndef run(n: ti.u64, x: ti.types.ndarray(dtype=ti.f32, ndim=1)) -> ti.{dtype}:\n    return {text}\n"
    assert _defined(source)(3, np.zeros(2, np.float32)) == pytest.approx(expected, rel=1e-7 if dtype == "f32" else 1e-15)


@pytest.mark.parametrize("text", ["(-8.0) ** 0.5", "ti.sqrt(-1.0)", "ti.log(0.0)", "ti.asin(2.0)"])
def test_where_python_has_no_number_the_kernel_computes(text):
    found = _defined(f"@ti.kernel\ndef run() -> ti.f32:\n    return {text}\n")()
    assert math.isnan(found) or found == -math.inf


def test_a_literal_is_as_wide_as_default_ip():
    source = "@ti.kernel\ndef run() -> ti.i64:\n    a = 100000 * 100000\n    return a\n"
    with pytest.raises(ti.TypeError_, match="literal out of range of i32"):
        _defined(source)()
    with ti.Context(default_ip=ti.i64):
        assert _defined(source)() == 10**10


def test_an_annotated_variable_gives_its_type():
    @ti.kernel(asserts=True)
    def run() -> ti.f64:
        third: ti.f64 = 1.0 / 3.0
        wide: ti.i64 = 2**40
        bits: ti.u32 = 0xFFFFFFFF
        assert bits == ti.u32(0xFFFFFFFF)
        return third + wide

    assert run() == 1.0 / 3.0 + 2.0**40


def test_places_take_bit_patterns_of_their_width():
    x, y, z = ti.field(ti.i32, 3), ti.field(ti.u8, 2), ti.field(ti.u64, 1)

    @ti.kernel
    def fill() -> ti.u32:
        x[0] = 0xDEADBEEF
        x[1] = -(2**31)
        x[2] = 0
        x[2] += 0xFFFFFFFF
        y[0], y[1] = -128, 255
        z[0] = 2**64 - 1
        local = ti.u32(1)
        local = 0x80000000
        return local

    assert fill() == 0x80000000
    assert x.to_numpy().tolist() == [0xDEADBEEF - 2**32, -(2**31), -1]
    assert y.to_numpy().tolist() == [128, 255]
    assert z[0] == 2**64 - 1


def test_python_gives_bit_patterns():
    """Of fields, arrays, arguments and structs, one by one and by `fill`; what no bits of the type hold is refused."""
    types = (ti.i8, ti.u8, ti.i16, ti.i32, ti.u32, ti.i64, ti.u64)

    @ti.kernel
    def passed(a: ti.i8, b: ti.types.vector(2, ti.u64)) -> ti.u64:
        return ti.u64(a) + b[0] + b[1]

    assert passed(255, [1 << 63, 0]) == (1 << 64) - 1 - (1 << 63)
    for dt in types:
        pair = ti.types.struct(n=dt)
        made = (ti.field(dt, 2), ti.ndarray(dt, 2), ti.Vector.field(2, dt, 2), ti.Vector.ndarray(2, dt, 2), pair.field(shape=2))
        least, most = -(1 << (dt.bits - 1)), (1 << dt.bits) - 1
        for number in (least, -1, 0, most):
            expected = dt(number)  # its bits as the type reads them
            for x in made[:2]:
                x[0] = number
                assert x[0] == expected
                x.fill(number)
                assert x.to_numpy().tolist() == [expected] * 2
            for x in made[2:4]:
                x[0] = [number, 1]
                assert x[0].tolist() == [expected, 1]
                x.fill([number, 1])
                assert x.to_numpy().tolist() == [[expected, 1]] * 2
            made[4][1].n = number
            assert made[4][1].n == expected
        for number in (least - 1, most + 1):
            for x in made[:2]:
                with pytest.raises(ti.errors.RuntimeValueError_, match=f"expected {dt!r} within its range"):
                    x[0] = number
            for x in made:
                with pytest.raises(ti.errors.RuntimeValueError_, match="within its range"):
                    x.fill(number)


@pytest.mark.parametrize("text", ["x[0] = 2**32", "x[0] = -(2**31) - 1", "x[0] += 2**32", "a: ti.u8 = 256", "a = ti.i8(300)"])
def test_what_no_bits_of_the_type_hold_is_an_error(text):
    source = f"@ti.kernel\ndef run(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):\n    {text}\n"
    with pytest.raises(ti.TypeError_, match=r"number out of range of [iu]"):
        _defined(source)(np.zeros(1, np.int32))


def test_constructors_take_both_signs():
    @ti.kernel
    def run() -> ti.types.vector(3, ti.i32):
        return ti.Vector([ti.i32(ti.u8(-1)), ti.i32(ti.i8(200)), ti.i32(ti.u32(0xFFFFFFFF) >> 24)])

    assert run().tolist() == [255, -56, 255]


def test_a_template_number_is_exact():
    @ti.kernel
    def run(n: ti.template()) -> ti.f32:
        return n * n * n * 1e-12

    assert run(10**5) == pytest.approx(1000.0)


def test_a_value_given_to_a_template_keeps_its_type_and_wraps():
    @ti.func
    def narrow(p: ti.template()):
        return ti.i8(p)

    @ti.func
    def narrow_sum(p: ti.template()):
        return narrow(p.sum())

    @ti.real_func
    def narrow_next(p: ti.template()) -> ti.i8:
        return ti.i8(p + 1)

    @ti.kernel
    def run() -> ti.types.vector(5, ti.i32):
        v = ti.Vector([100, 200])
        return ti.Vector([
            narrow(v.sum()), narrow_sum(ti.Matrix([[300, 400], [500, 600]])), narrow(ti.max(1000, ti.i32(4))),
            narrow(ti.i32(70000) * 3), narrow_next(ti.i32(2**31 - 1)),
        ])  # fmt: skip

    given = np.array([300, 1800, 1000, 210000, -(2**31)])
    assert run().tolist() == given.astype(np.int8).tolist()


def test_a_value_given_to_a_template_is_not_known():
    @ti.func
    def count(n: ti.template()):
        r = 0
        for _ in ti.static(range(n)):
            r += 1
        return r

    @ti.kernel
    def known() -> ti.i32:
        return count(int(3.0)) + count(abs(-4))

    @ti.kernel
    def unknown() -> ti.i32:
        return count(ti.i32(3))

    assert known() == 7
    with pytest.raises(ti.TaichiCompilationError, match="range: expected integers known while compiling here"):
        unknown()


def _defined(source):
    scope = dict(globals())
    file = f"<constants {abs(hash(source))}>"
    ti.attach_source(file, source)
    exec(compile(source, file, "exec"), scope)
    return scope["run"]
