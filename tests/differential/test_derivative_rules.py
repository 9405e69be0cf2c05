"""The rule of each operation against central differences over its domain, and what is chosen where there is no derivative.

All operations stand in one kernel, each with a row of its own: a row's derivative in one number is that of each sample. Forward
and reverse mode, on numbers and on vectors, f64 against differences and f32 against f64.
"""

import re

import numpy as np
import pytest

import metate as mt
from differential import gradient_kernels, gradients

SAMPLES = 24
ANY, POSITIVE, UNIT, LARGE = (-3.0, 3.0), (0.05, 4.0), (-0.98, 0.98), (1.5, 4.0)
RULES = (  # what is computed of a and b, and where they lie
    ("a + b", ANY, ANY),
    ("a - b", ANY, ANY),
    ("a * b", ANY, ANY),
    ("a / b", ANY, LARGE),
    ("a % b", ANY, LARGE),
    ("a // b * a", ANY, LARGE),
    ("-a", ANY, ANY),
    ("mt.abs(a)", ANY, ANY),
    ("mt.min(a, b)", ANY, ANY),
    ("mt.max(a, b)", ANY, ANY),
    ("mt.floor(a) * b", ANY, ANY),
    ("mt.ceil(a) * b", ANY, ANY),
    ("mt.round(a) * b", ANY, ANY),
    ("mt.trunc(a) * b", ANY, ANY),
    ("mt.fract(a) * b", ANY, ANY),
    ("mt.sign(a) * b", ANY, ANY),
    ("mt.sqrt(a)", POSITIVE, ANY),
    ("mt.rsqrt(a)", POSITIVE, ANY),
    ("mt.exp(a)", ANY, ANY),
    ("mt.exp2(a)", ANY, ANY),
    ("mt.log(a)", POSITIVE, ANY),
    ("mt.log2(a)", POSITIVE, ANY),
    ("mt.log10(a)", POSITIVE, ANY),
    ("mt.sin(a)", ANY, ANY),
    ("mt.cos(a)", ANY, ANY),
    ("mt.tan(a)", UNIT, ANY),
    ("mt.asin(a)", UNIT, ANY),
    ("mt.acos(a)", UNIT, ANY),
    ("mt.atan(a)", ANY, ANY),
    ("mt.sinh(a)", ANY, ANY),
    ("mt.cosh(a)", ANY, ANY),
    ("mt.tanh(a)", ANY, ANY),
    ("mt.atan2(a, b)", ANY, LARGE),
    ("mt.atan2(b, a)", ANY, LARGE),
    ("a ** b", POSITIVE, ANY),
    ("a ** 3", ANY, ANY),
    ("a ** -2", LARGE, ANY),
    ("a ** 0.5 * b", POSITIVE, ANY),
    ("2.0 ** a", ANY, ANY),
    ("mt.select(a > 0.1, a * b, b)", ANY, ANY),
)


def kernel_of(rules, scalar, is_vector, folder):
    lines = [
        "import metate as mt",
        f"A = mt.types.ndarray(dtype=mt.{scalar}, ndim=2)",
        "@mt.kernel",
        "def k(x: A, p: A, y: A):",
        f"    for i in range(x.shape[1]{' // 2' if is_vector else ''}):",
    ]
    for row, rule in enumerate(rules):
        a, b = f"a{row}", f"b{row}"
        for name, array in ((a, "x"), (b, "p")):
            pair = f"mt.Vector([{array}[{row}, 2 * i], {array}[{row}, 2 * i + 1]])"
            lines.append(f"        {name} = {pair if is_vector else f'{array}[{row}, i]'}")
        lines.append(f"        r{row} = " + re.sub(r"\b([ab])\b", rf"\g<1>{row}", rule))
        if is_vector:
            lines += [f"        y[{row}, 2 * i] = r{row}[0]", f"        y[{row}, 2 * i + 1] = r{row}[1]"]
        else:
            lines.append(f"        y[{row}, i] = r{row}")
    return gradient_kernels.load("\n".join(lines) + "\n", folder / f"rules_{scalar}_{is_vector}.py")


def slopes(kernel, x, p, run):
    """Of y for x and for p: (by forward mode, by reverse mode)."""
    arguments = [x, p, np.zeros_like(x)]
    forward, _ = gradients.derivative_text(kernel, arguments, "forward")
    reverse, _ = gradients.derivative_text(kernel, arguments, "reverse")
    by_forward = []
    for one in range(2):
        duals = [np.full_like(x, float(k == one)) for k in range(3)]
        run(forward, [a.copy() for a in arguments], duals)
        by_forward.append(duals[2])
    adjoints = [np.zeros_like(x), np.zeros_like(x), np.ones_like(x)]
    run(reverse, [a.copy() for a in arguments], adjoints)
    assert not adjoints[2].any()  # what a store overwrites has no influence
    return by_forward, adjoints[:2]


def differences(kernel, x, p, step=1e-6):
    def value(x, p):
        y = np.zeros_like(x)
        kernel(x, p, y)
        return y

    return [
        (value(x + step, p) - value(x - step, p)) / (2 * step),
        (value(x, p + step) - value(x, p - step)) / (2 * step),
    ]


@pytest.mark.parametrize("is_vector", [False, True], ids=["numbers", "vectors"])
def test_rules_against_differences(is_vector, tmp_path, rng):
    rules = [rule for rule, *_ in RULES]
    x = np.array([rng.uniform(*where, SAMPLES) for _, where, _ in RULES])
    p = np.array([rng.uniform(*where, SAMPLES) for _, _, where in RULES])
    with mt.Context(default_fp=mt.f64):
        derivatives = gradients.Derivatives()
        kernel = kernel_of(rules, "f64", is_vector, tmp_path)
        expected = differences(kernel, x, p)
        found = slopes(kernel, x, p, lambda *words: derivatives.run(*words, (2, 1)))
        for mode, values in zip(("forward", "reverse"), found, strict=True):
            for of, value, want in zip("ab", values, expected, strict=True):
                for row, rule in enumerate(rules):
                    np.testing.assert_allclose(
                        value[row], want[row], rtol=1e-5, atol=1e-7, err_msg=f"{mode}: d({rule})/d{of} at {x[row]}, {p[row]}"
                    )
        single = kernel_of(rules, "f32", is_vector, tmp_path)
        x32, p32 = x.astype(np.float32), p.astype(np.float32)
        exact = slopes(kernel, x32.astype(np.float64), p32.astype(np.float64), lambda *words: derivatives.run(*words, (0, 1)))
        rounded = slopes(single, x32, p32, lambda *words: derivatives.run(*words, (0, 1)))
        for one, other in zip(np.array(rounded).ravel(), np.array(exact).ravel(), strict=True):
            assert abs(one - other) <= 3e-4 * max(1, abs(other))


NAN, INFINITE = float("nan"), float("inf")
EDGES = (  # rule, a, b, its derivatives for a and for b; None: not asked for
    ("mt.abs(a)", 0.0, 0.0, 0.0, 0.0),
    ("mt.sqrt(a)", 0.0, 0.0, 0.0, 0.0),
    ("mt.Vector([a, b]).norm()", 0.0, 0.0, 0.0, 0.0),
    ("mt.min(a, b)", 1.5, 1.5, 0.0, 1.0),
    ("mt.max(a, b)", 1.5, 1.5, 0.0, 1.0),
    ("mt.min(a, b)", NAN, 1.5, 0.0, 1.0),
    ("mt.max(a, b)", 1.5, NAN, 1.0, 0.0),
    ("mt.math.clamp(a, -1.0, b)", 2.0, 2.0, 0.0, 1.0),
    ("mt.math.clamp(a, b, 3.0)", 2.0, 2.0, 0.0, 1.0),
    ("mt.math.sign(a) * b", 0.0, 2.0, 0.0, 0.0),
    ("a ** b", 0.0, 2.0, 0.0, 0.0),
    ("a ** b", 0.0, 1.0, 1.0, 0.0),
    ("a ** b", 0.0, 0.5, INFINITE, None),
    ("a ** b", -2.0, 2.0, -4.0, 0.0),
    ("a ** b", 0.0, 0.0, 0.0, 0.0),
    ("a ** 3", -2.0, 0.0, 12.0, 0.0),
    ("mt.floor(a)", 1.0, 0.0, 0.0, 0.0),
    ("mt.round(a)", 0.5, 0.0, 0.0, 0.0),
    ("int(a) * b", 2.5, 3.0, 0.0, 2.0),
    ("a % b", 2.0, 1.0, 1.0, -2.0),
    ("1.0 / a", 0.0, 0.0, -INFINITE, None),
    ("mt.log(a)", 0.0, 0.0, INFINITE, None),
    ("mt.asin(a)", 1.0, 0.0, INFINITE, None),
    ("mt.acos(a)", -1.0, 0.0, -INFINITE, None),
    ("mt.atan2(a, b)", 0.0, 0.0, NAN, NAN),
    ("mt.select(a > b, a, b)", 1.0, 1.0, 0.0, 1.0),
    # What is not taken passes on nothing, whatever its slope.
    ("mt.select(a > b, mt.log(a), b)", 0.0, 0.0, 0.0, 1.0),
    ("mt.select(a > b, a * mt.log(a), b)", 0.0, 0.0, 0.0, 1.0),
    ("mt.select(a > b, 1.0 / a + mt.rsqrt(a) + mt.exp(1.0 / a) * a, b)", 0.0, 0.0, 0.0, 1.0),
    ("mt.select(a > b, mt.sqrt(a) * mt.asin(a) + a ** 0.3, b)", -2.0, 0.0, 0.0, 1.0),
    ("mt.select(a > b, mt.atan2(a, b), b)", 0.0, 0.0, 0.0, 1.0),
    ("mt.max(mt.log(a) * b, b)", -1.0, 2.0, 0.0, 1.0),
    ("mt.Vector([mt.log(a), b])[1 + i * 0]", 0.0, 2.0, 0.0, 1.0),
)


def test_edges(tmp_path):
    rules = [rule for rule, *_ in EDGES]
    rows = np.array([row[1:3] for row in EDGES])
    x, p = (np.repeat(rows[:, k : k + 1], 2, axis=1) for k in (0, 1))
    with mt.Context(default_fp=mt.f64):
        derivatives = gradients.Derivatives()
        kernel = kernel_of(rules, "f64", False, tmp_path)
        for mode, values in zip(("forward", "reverse"), slopes(kernel, x, p, lambda *words: derivatives.run(*words, (0, 1)))):
            for k, value in enumerate(values):
                for row, rule in enumerate(rules):
                    expected = EDGES[row][3 + k]
                    if expected is not None:
                        said = f"{mode}: d({rule})/d{'ab'[k]} at {x[row, 0]}, {p[row, 0]}"
                        np.testing.assert_array_equal(value[row], [expected] * 2, err_msg=said)


def test_what_a_branch_does_not_take(tmp_path):
    """Of a value that is computed before the branch, or by a loop, and infinite."""
    lines = """
    for i in range(8):
        a = mt.log(x[i]) * x[i]
        b = x[i]
        for t in range(n):
            b = mt.sqrt(b) * mt.rsqrt(b)
        if p[i] > 0:
            y[i] += a * b
"""
    with mt.Context(default_fp=mt.f64):
        kernel = gradient_kernels.load(gradient_kernels.HEAD + lines, tmp_path / "branch.py")
        arguments = [*(np.zeros(gradient_kernels.SIZE) for _ in gradient_kernels.ARRAYS), np.zeros(8, np.int32), 3]
        arguments[0][1], arguments[1][1] = 2.5, 1
        reverse, _ = gradients.derivative_text(kernel, arguments, "reverse")
        given = [np.full(gradient_kernels.SIZE, float(k == 2)) for k in range(5)]
        gradients.Derivatives().run(reverse, arguments, given, (2, 1))
        np.testing.assert_allclose(given[0], [0, np.log(2.5) + 1, 0, 0, 0, 0, 0, 0], atol=1e-12)
