"""Formats of print and assert, against Python's format(), on fresh random numbers."""

# ruff: noqa: F525, UP031, UP032 - the older ways to put texts together are what is tested
import ctypes
import importlib.util
import itertools
import re

import numpy as np
import pytest

import metate as mt


def printed(capsys, run):
    capsys.readouterr()
    run()
    return capsys.readouterr().out


def random_format(rng, kind):
    """A format of Python's that numbers of the kind have."""
    pick = lambda *choices: choices[int(rng.integers(len(choices)))]
    form = pick("", "", "<", ">", "=", "^", "*>", "é<", "0=", ".^")
    form += pick("", "+", "-", " ")
    type_ = pick("", "d", "b", "o", "x", "X", "e", "f", "%") if kind == "i" else pick("", "e", "E", "f", "F", "g", "G", "%")
    is_float = kind != "i" or type_ in ("e", "f", "%")
    form += pick("", "#") if not is_float and type_ in ("b", "o", "x", "X") else ""
    form += pick("", "", "0") + str(pick("", 1, 5, 9, 14, 23))
    form += pick("", "", "_", ",") if type_ in ("", "d", "e", "f", "E", "F", "g", "G", "%") else pick("", "_")
    form += f".{rng.integers(0, 12)}" if is_float and (kind == "f" or type_) and rng.random() < 0.7 else ""
    return form + type_


def kernel_of(tmp_path, name, signature, lines):
    """A kernel that prints these f-strings; its source is a file of its own."""
    body = "".join(f"    print(f'{{{value}:{form}}}')\n" for value, form in lines)
    path = tmp_path / f"{name}.py"
    path.write_text(f"import metate as mt\n\n\n@mt.kernel\ndef show({signature}):\n{body}")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.show


def lettered(form):
    """A precision at the end means digits after the point, where Python's would count significant ones."""
    return form + "f" if re.search(r"\.\d+$", form) else form


NUMBERS = [0.0, -0.0, 1.0, 0.1, -2.5, 1e-5, 123456.789, 1e16, 1.7976931348623157e308, 5e-324, 9.995, 0.5, 1e22]


def test_formats_of_c(capsys, tmp_path):
    """Least digits of integers, other letters for d, and hexadecimal floats, against the C library."""
    c_library = ctypes.CDLL(None)

    def written(form, value):
        text = ctypes.create_string_buffer(200)
        c_library.snprintf(text, ctypes.c_size_t(200), ("%" + form).encode(), value)
        return text.value.decode()

    integers = (".6d", ".3i", "i", "9.4d", "+.2d", ".5x", "#.5x", "08d", ".0d")
    floats = ("a", ".3a", "A", "+.1a", "20.4a")
    show = kernel_of(
        tmp_path,
        "formats_of_c",
        "n: mt.i32, u: mt.u32, x: mt.f64",
        [*(("n", form) for form in integers), ("u", "u"), ("u", ".7u"), *(("x", form) for form in floats), ("42", ".6d")],
    )
    for n, u, x in ((42, 42, 1.5), (7, 2**32 - 1, -0.1), (123456789, 0, 0.0), (1, 1, 1e300)):
        out = printed(capsys, lambda n=n, u=u, x=x: show(n, u, x)).splitlines()
        expected = [written(form, ctypes.c_int(n)) for form in integers]
        expected += [written(form, ctypes.c_uint(u)) for form in ("u", ".7u")]
        expected += [written(form, ctypes.c_double(x)) for form in floats]
        assert out == [*expected, "000042"]
    assert printed(capsys, lambda: show(-42, 1, 1.0)).splitlines()[:2] == ["-000042", "-042"]


def test_holes_with_and_without_numbers(capsys):
    @mt.kernel
    def mixed(n: mt.i32):
        print("{} {1} {}".format(1, 2))
        print("{} {1} {}".format(n, 2))
        print("{:i} {:.3d}".format(3, 4))

    assert printed(capsys, lambda: mixed(5)) == "1 2 2\n5 2 2\n3 004\n"


def test_formats_of_f64(capsys, tmp_path, rng):
    formats = [random_format(rng, "f") for _ in range(50)]
    show = kernel_of(tmp_path, "formats_of_f64", "x: mt.f64", [("x", form) for form in formats])
    exponents = rng.integers(-300, 300, 4)
    for x in (*NUMBERS, *(rng.standard_normal(4) * 10.0**exponents), *rng.standard_normal(4), np.inf, -np.inf, np.nan):
        out = printed(capsys, lambda x=x: show(float(x)))
        assert out.splitlines() == [format(float(x), lettered(form)) for form in formats]


def test_formats_of_integers(capsys, tmp_path, rng):
    formats = [random_format(rng, "i") for _ in range(40)]
    lines = [(name, form) for form, name in itertools.product(formats, ("i", "u"))]
    show = kernel_of(tmp_path, "formats_of_integers", "i: mt.i64, u: mt.u64", lines)
    for i in (0, 1, -1, -(2**63), 2**63 - 1, *map(int, rng.integers(-(10**6), 10**6, 4))):
        u = i % 2**64
        out = printed(capsys, lambda i=i, u=u: show(i, u))
        assert out.splitlines() == [format(i if name == "i" else u, form) for name, form in lines]


def test_formats_of_f32(capsys, tmp_path, rng):
    """With a precision or a type the f32's exact value counts, else its shortest digits, as NumPy prints it."""
    formats = [random_format(rng, "f") for _ in range(30)]
    show = kernel_of(tmp_path, "formats_of_f32", "x: mt.f32", [("x", form) for form in formats])
    for x in (*rng.standard_normal(5).astype(np.float32), np.float32(0.1), np.float32(1e10)):
        exact, shortest = float(x), float(str(x))
        out = printed(capsys, lambda x=x: show(x))
        is_plain = [form[-1:] not in "eEfFgG%" and "." not in form.removeprefix(".^") for form in formats]
        assert out.splitlines() == [format(shortest if p else exact, lettered(f)) for f, p in zip(formats, is_plain)]


def test_vectors_matrices_structs_and_texts(capsys):
    S = mt.types.struct(a=mt.i32, v=mt.types.vector(2, mt.f32))

    @mt.kernel
    def show(v: mt.types.vector(3, mt.f32), m: mt.types.matrix(2, 2, mt.f64), n: mt.i32, flag: mt.u1):
        print(f"{v:.2f} {m:.1e}", f"{n:5d}|{n:<5}|", n, sep=" ~ ", end=" .\n")
        print(f"{flag} {flag:d} {flag:>3} {'text':>6} {'é':*^5} {n!r} {n=} {n = :03d} {{}}")
        print(f"{n:{3 + 4}.2f} {v.x:{'>'}8} {mt.f32}")
        s = S(n, mt.Vector([0.5, v[1]]))
        print(s, f"{s}")
        print("%5.1f|%-4d|%s|%x|100%%" % (v.y, n, n, n), "%s is static" % "this", "%d" % n)
        print("{:.3f} {:>4}".format(v.z, n))
        print("{1:.1f}-{0:d}-{k}".format(n, v.z, k=n), "{}".format(3))

    out = printed(capsys, lambda: show([1, 2.5, -3], [[1, 0.5], [-20, 3]], 42, True))
    assert out.splitlines() == [
        "[1.00, 2.50, -3.00] [[1.0e+00, 5.0e-01], [-2.0e+01, 3.0e+00]] ~    42|42   | ~ 42 .",
        "True 1   1   text **é** 42 n=42 n = 042 {}",
        "  42.00      1.0 f32",
        "Struct(a=42, v=[0.5, 2.5]) Struct(a=42, v=[0.5, 2.5])",
        "  2.5|42  |42|2a|100% this is static 42",
        "-3.000   42",
        "-3.0-42-42 3",
    ]


def test_asserts_show_values(rng):
    vec3 = mt.types.vector(3, mt.f32)

    @mt.kernel(asserts=True)
    def check(n: mt.i32, x: mt.f64, v: vec3):
        for i in range(n):
            assert i != 7, f"i = {i:03d} of {n}, x = {x:.3f} {x}, {{braces}} {v} {i > 3} {v.x:+.1e}"

    check(7, 0.125, [1, 2, 3])
    with pytest.raises(mt.AssertionError_) as caught:
        check(8, 1 / 3, [1, 2, 3])
    text = f"i = 007 of 8, x = 0.333 {1 / 3}, {{braces}} [1.0, 2.0, 3.0] True +1.0e+00"
    line = check.source.first_line + 3
    assert f"test_print_formats.py:{line}:" in str(caught.value) and f"assertion failed: {text}" in str(caught.value)


def test_message_is_made_when_it_is_needed(rng):
    """As in Python: what the message reads exists only where the condition fails."""

    @mt.kernel(debug=True)
    def check(x: mt.types.ndarray(dtype=mt.i32, ndim=1), at: mt.i32):
        for i in range(x.shape[0]):
            assert x[i] < 100, f"x[{i}] is {x[i]}, not {x[at]}"

    x = rng.integers(0, 100, 20).astype(np.int32)
    check(x, 99)  # outside, and not read
    x[3] = 200
    with pytest.raises(mt.AssertionError_, match=rf"x\[3\] is 200, not {x[5]}"):
        check(x, 5)
    with pytest.raises(mt.RuntimeIndexError_, match=r"x\[99\]"):
        check(x, 99)


def test_messages_that_are_no_text():
    @mt.kernel(asserts=True)
    def check(n: mt.i32):
        assert n > 0, n
        assert n > 1, (n, 2.5)
        assert n > 2, "%d is too small" % n
        assert n > 3, "{} is too small".format(n)

    for n, text in ((0, "0"), (1, "(1, 2.5)"), (2, "2 is too small"), (3, "3 is too small")):
        with pytest.raises(mt.AssertionError_) as caught:
            check(n)
        assert f"assertion failed: {text}" in str(caught.value)


def test_a_message_holds_16_scalars():
    @mt.kernel(asserts=True)
    def check(n: mt.i32, m: mt.types.matrix(4, 4, mt.i8)):
        assert n, f"{m}"

    with pytest.raises(mt.AssertionError_, match=r"\[\[1, 2, 3, 4\], \[5, 6, 7, 8\], .*-1, -2, -3, -4\]\]"):
        check(0, [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [-1, -2, -3, -4]])
