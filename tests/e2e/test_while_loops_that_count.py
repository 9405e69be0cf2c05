"""`while` loops that count, up and down, to bounds that they reach or stop before: they become loops with bounds."""

import itertools

import numpy as np
import pytest

import metate as mt

i32, i64 = mt.i32, mt.i64
array = mt.types.ndarray
BOUNDS = (-7, -1, 0, 1, 6)

FORMS = {
    "k < end; k += 1": ("k < end", 1),
    "k <= end; k += 1": ("k <= end", 1),
    "k < end; k += 3": ("k < end", 3),
    "k <= end; k += 3": ("k <= end", 3),
    "k > end; k -= 1": ("k > end", -1),
    "k >= end; k -= 1": ("k >= end", -1),
    "k > end; k -= 3": ("k > end", -3),
    "k >= end; k -= 3": ("k >= end", -3),
    "end <= k; k += -2": ("end <= k", -2),
    "end > k; k -= -2": ("end > k", 2),
}


def turns(condition, step, first, end):
    """The counter in each turn, and behind the loop."""
    seen, k = [], first
    while eval(condition, {"k": k, "end": end}):
        seen.append(k)
        k += step
    return seen, k


def made(form, dtype, folder):
    condition, step = FORMS[form]
    change = form.split("; ")[1]
    text = f"""
@mt.kernel
def count(first: dtype, last: dtype, seen: array(dtype, 1), behind: array(dtype, 1)):
    for _ in range(1):
        end = mt.max(mt.min(last, 100), -100)  # so far from where it would wrap
        n = 0
        k = first
        while {condition}:
            seen[n] = k
            n += 1
            {change}
        behind[0] = k
        behind[1] = mt.cast(n, dtype)
"""
    path = folder / "count.py"
    path.write_text(text)
    space = {"mt": mt, "dtype": dtype, "array": array}
    exec(compile(text, path, "exec"), space)
    return space["count"], condition, step


@pytest.mark.parametrize("dtype", [i32, i64], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_bounds_that_the_launch_knows(form, dtype, tmp_path):
    kernel, condition, step = made(form, dtype, tmp_path)
    numbers = {i32: np.int32, i64: np.int64}[dtype]
    for first, end in itertools.product(BOUNDS, BOUNDS):
        seen, behind = np.full(32, 99, numbers), np.zeros(2, numbers)
        kernel(first, end, seen, behind)
        want, last = turns(condition, step, first, end)
        assert list(seen[: len(want)]) == want and (seen[len(want) :] == 99).all(), (first, end)
        assert list(behind) == [last, len(want)], (first, end)


def test_a_loop_from_the_last_element_to_the_first():
    @mt.kernel
    def solve(a: array(mt.f32, 2), x: array(mt.f32, 1)):
        i = x.shape[0] - 1
        while i >= 0:
            for j in range(i + 1, x.shape[0]):
                x[i] = x[i] - a[i, j] * x[j]
            x[i] = x[i] / a[i, i]
            i -= 1

    for n in (0, 1, 40):
        a = np.triu(np.random.default_rng(n).random((n, n), np.float32) + 1) + 4 * np.eye(n, dtype=np.float32)
        b = np.random.default_rng(n + 1).random(n, np.float32)
        x = b.copy()
        solve(a, x)
        assert np.allclose(a @ x, b, atol=1e-4)


def test_bounds_at_the_ends_of_the_type():
    """A counter that would wrap ends by a break: the loop is none with bounds."""
    least, most = -(2**31), 2**31 - 1

    @mt.kernel
    def run(end: i32, up: i32, out: array(i32, 1)):
        n, k = 0, end
        if up == 1:
            while k <= end:
                n += 1
                if n == 5:
                    break
                k += 1
        else:
            while k >= end:
                n += 1
                if n == 5:
                    break
                k -= 1
        out[0], out[1] = n, k

    out = np.zeros(2, np.int32)
    run(most - 1, 1, out)
    assert list(out) == [1, most]
    run(most, 1, out)  # wraps to the least, which is not beyond the bound
    assert list(out) == [5, least + 3]
    run(least, 0, out)
    assert list(out) == [5, most - 3]
