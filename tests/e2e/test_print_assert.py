"""What kernels print, and what a failed assert does."""

import numpy as np
import pytest

import metate as ti


def printed(capsys, run):
    capsys.readouterr()
    run()
    return capsys.readouterr().out


def test_print(capsys):
    vec2 = ti.types.vector(2, ti.f32)

    @ti.kernel
    def show(n: ti.i32, x: ti.f32, big: ti.u64, flag: ti.u1, v: vec2):
        print("n =", n, "x =", x, flag)
        print(big, v, ti.Matrix([[1, 2], [n, 4]]), sep="|", end="!\n")
        print(f"{n} and {v.y}: {n + 1}", (n, 2))
        print()
        print(ti.i64(-1), ti.u8(255), ti.f64(0.1), 1.5, n > 3)

    out = printed(capsys, lambda: show(7, 2.5, 2**64 - 1, True, [1.0, -0.5]))
    assert out.splitlines() == [
        "n = 7 x = 2.5 True",
        "18446744073709551615|[1.0, -0.5]|[[1, 2], [7, 4]]!",
        "7 and -0.5: 8 (7, 2)",
        "",
        "-1 255 0.1 1.5 True",
    ]


def test_lines_of_parallel_prints_do_not_interleave(capsys):
    @ti.kernel
    def show(n: ti.i32):
        for i in range(n):
            print("line", i, "of", n)

    out = printed(capsys, lambda: show(500))
    assert sorted(out.splitlines(), key=lambda l: int(l.split()[1])) == [f"line {i} of 500" for i in range(500)]


def test_assert_names_its_place(rng):
    @ti.kernel(asserts=True)
    def check(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in range(x.shape[0]):
            assert x[i] >= 0, "x must not be negative"

    x = rng.integers(0, 10, 100).astype(np.int32)
    check(x)
    x[57] = -1
    with pytest.raises(AssertionError, match="x must not be negative") as caught:
        check(x)
    line = check.source.first_line + 3
    assert f"test_print_assert.py:{line}" in str(caught.value)
    check(np.abs(x))


def test_assert_without_text_shows_the_condition():
    @ti.kernel(asserts=True)
    def check(n: ti.i32):
        assert n % 2 == 0

    check(4)
    with pytest.raises(ti.AssertionError_, match="n % 2 == 0"):
        check(5)


def test_nothing_is_written_after_a_failed_assert():
    @ti.kernel(asserts=True)
    def check(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        assert x[0] == 0, "no"
        x[0] = 1

    x = np.array([3], np.int32)
    with pytest.raises(ti.AssertionError_):
        check(x)
    assert x[0] == 3


def test_asserts_are_checked_where_they_are_asked_for(tmp_path):
    """In debug mode, by a context, by a kernel; a kernel's own word comes first. The same in modules."""

    def body(n: ti.i32, x: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        assert n > 5, f"n is {n}"
        x[0] = n

    kernels = {asked: ti.kernel(body, asserts=asked) for asked in (None, True, False)}
    kernels["debug"] = ti.kernel(body, debug=True)

    def stops(kernel):
        x = np.zeros(1, np.int32)
        try:
            kernel(1, x)
        except ti.AssertionError_ as error:
            assert "assertion failed: n is 1" in str(error) and x[0] == 0
            return True
        assert x[0] == 1
        return False

    for options, expected in (({}, False), ({"asserts": True}, True), ({"debug": True}, True)):
        with ti.Context(**options):
            found = {asked: stops(kernel) for asked, kernel in kernels.items()}
            assert found == {None: expected, True: True, False: False, "debug": True}
        for asked in (None, True, False):
            module = ti.aot.Module(**options).add_kernel(kernels[asked], name="body")
            loaded = ti.aot.load(module.save(tmp_path / f"{asked}{''.join(options)}.metate"))
            assert stops(loaded.body) == (expected if asked is None else asked)


def test_asserts_that_are_not_checked_are_compiled():
    """What the condition does happens, and mistakes are errors."""

    @ti.kernel
    def counted(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        assert ti.atomic_add(x[0], 1) == 100, f"{x[0]}"

    x = np.zeros(1, np.int32)
    counted(x)
    assert x[0] == 1

    @ti.kernel
    def wrong(n: ti.i32):
        assert n > 5, f"{n:.3q}"

    with pytest.raises(ti.CompilationError, match=r"format '\.3q'"):
        wrong(1)


def test_powers_of_integers_stop_in_debug_mode():
    def body(x: ti.i32, y: ti.i32, v: ti.types.vector(2, ti.i32)) -> ti.i32:
        return x**y + (v**y).sum() + (x**v)[0] + x**2

    release, debug = ti.kernel(body), ti.kernel(body, debug=True)
    assert release(10, -2, [1, 2]) == 0 + 1 + 10 + 100
    assert release(3, 2, [1, 2]) == debug(3, 2, [1, 2])
    for exponents in ((-1, [1, 2]), (1, [2, -1])):
        with pytest.raises(ti.AssertionError_, match="Negative exponent in pow"):
            debug(10, *exponents)

    @ti.kernel(debug=True)
    def floats(x: ti.f32, y: ti.i32, z: ti.u32) -> ti.f32:
        return x**y + x**z

    assert floats(2.0, -1, 2) == 4.5
