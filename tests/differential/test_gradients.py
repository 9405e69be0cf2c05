"""Derivatives of random kernels: a short run. scripts/fuzz-kernels --gradients is the long one."""

import numpy as np
import pytest

import metate as mt
from differential import gradient_kernels, gradients
from differential.fuzz_gradients import run

SAVED = {  # what was wrong once: bodies of kernels
    "branch_that_only_hands_on": """
    for i in range(8):
        a = x[i]
        y[i] = a * (a if a > 0.437 else (i * 0.25))
""",
    "loop_that_only_exchanges": """
    for i in range(8):
        a = x[i]
        b = 0.25 * i
        for _ in range(n):
            a, b = b, a
        y[i] += a * a + p[i] * b
""",
    "variable_that_a_while_and_a_parallel_loop_add_to": """
    total = 0.0
    c = 0
    while c < n and x[c] > -2.0:
        total += x[c] * x[c]
        c += 1
    for i in range(8):
        total += x[i] * p[i]
    for i in range(8):
        y[i] += total * x[i]
    z[0] += total * total
""",
    "component_of_a_variable_that_is_written_again": """
    total = mt.Vector([0.0, x[1]])
    total[n % 2] = x[0] * 2.0
    for i in range(8):
        total += mt.Vector([x[i] * x[i], p[i]])
    for i in range(8):
        y[i] += total[i % 2] * x[i]
""",
    "loop_of_the_kernel_on_the_other_side_of_a_parallel_one": """
    a = x[0]
    b = p[0]
    mt.loop_config(serialize=True)
    for t in range(n + 3):
        a = mt.sin(a * b) + x[t % 8]
        for s in range(5):
            b = mt.cos(a * b)
    for i in range(8):
        y[i] += a * b * x[i]
    z[0] += a * b
    for i in range(8):
        q[i] += a * p[i]
""",
    "arm_with_a_slope_that_is_nan": """
    for i in range(8):
        a = mt.sqrt(x[i] - 0.3)
        b = mt.log(p[i])
        y[i] += mt.select(x[i] > 0.3, a * x[i], x[i]) + (b * x[i] if p[i] > 0.1 else 0.0)
""",
    "more_turns_than_are_kept": """
    for i in range(8):
        a = x[i]
        for t in range(n * 150 + 1100):
            a = 0.5 * mt.sin(a * p[i]) + 0.001 * t
        y[i] += a
""",
}


def test_derivatives_of_random_kernels_agree(rng, tmp_path):
    report = run(int(rng.integers(1 << 24)), 24, tmp_path)
    assert not report.wrong
    assert report.refused < report.count / 2


@pytest.mark.parametrize("name", SAVED)
def test_saved_gradient(name, tmp_path, rng):
    with mt.Context(default_fp=mt.f64):
        kernel = gradient_kernels.load(gradient_kernels.HEAD + SAVED[name], tmp_path / f"{name}.py")
        assert not gradients.check(gradients.Derivatives(), kernel, gradient_kernels.arguments(rng), rng)


def test_dual_numbers_know_the_edges(tmp_path):
    """Without the pass: what an interpreted kernel says of abs and sqrt at 0, equals of min, and powers at 0."""
    text = gradient_kernels.HEAD + (
        "    for i in range(1):\n"
        "        y[0] = mt.abs(x[0])\n"
        "        y[1] = mt.sqrt(x[0])\n"
        "        y[2] = mt.min(x[0], p[0])\n"
        "        y[3] = x[0] ** p[0]\n"
        "        y[4] = mt.floor(x[1])\n"
        "        y[5] = mt.max(p[1], x[1]) * x[1]\n"
    )
    with mt.Context(default_fp=mt.f64):
        kernel = gradient_kernels.load(text, tmp_path / "edges.py")
        values = [*(np.zeros(gradient_kernels.SIZE) for _ in gradient_kernels.ARRAYS), np.zeros(8, np.int32), 0]
        values[0][1] = values[1][1] = 2.5
        along = [np.full(gradient_kernels.SIZE, scale) for scale in (2.0, 3.0, 0.0, 0.0, 0.0)]
        ir, _ = gradients.derivative_text(kernel, values, "forward")
        for variant in (None, (0, 1)):
            duals = [array.copy() for array in along]
            gradients.Derivatives().run(ir, values, duals, variant)
            assert duals[2][:6].tolist() == [0.0, 0.0, 3.0, 0.0, 0.0, 10.0]
