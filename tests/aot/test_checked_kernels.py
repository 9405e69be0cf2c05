"""Kernels with debug=True of their own in modules without: they are checked, the others are not, in every carrier."""

import pathlib
import sys

import numpy as np
import pytest

import metate as mt

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import carrier_ways


@mt.kernel(debug=True)
def checked(x: mt.types.ndarray(mt.i32, 1), k: mt.i32) -> mt.i32:
    for _ in range(1):
        x[k] = 7
    return 5 // (k - 1)


@mt.kernel
def unchecked(x: mt.types.ndarray(mt.i32, 1), k: mt.i32) -> mt.i32:
    for _ in range(1):
        x[k] = 7
    return x[0] + x[1] + x[2]


@mt.kernel(debug=False)
def never(x: mt.types.ndarray(mt.i32, 1), k: mt.i32):
    for _ in range(1):
        x[k] = 8


KERNELS = {"checked": checked, "unchecked": unchecked, "never": never}


def module():
    made = mt.aot.Module(name="some_checked", targets=["native", "c"])
    for kernel in KERNELS.values():
        made.add_kernel(kernel)
    return made


@pytest.mark.parametrize("way", [name for name in carrier_ways.WAYS if not name.startswith(("jit", "interpreter"))])
def test_a_kernel_brings_its_checks(way, tmp_path):
    opened = carrier_ways.WAYS[way](module(), tmp_path, KERNELS, {})
    memory = np.zeros(8, np.int32)
    x = memory[:4]
    assert opened.run("checked", x, 2) == 5 and x[2] == 7
    wrong = ((4, "index out of range: x[4] of shape (4,)"), (-1, "index out of range: x[-1]"), (1, "division by zero"))
    for index, text in wrong:
        found = opened.run("checked", x, index)
        assert isinstance(found, carrier_ways.Failure), index
        assert found.text is None or f"kernel 'checked': {text}" in found.text
    assert not memory[4:].any()
    # Outside of what they are given, inside of what is there.
    assert opened.run("unchecked", x, 5) == memory[:3].sum() and memory[5] == 7
    opened.run("never", x, 6)
    assert memory[6] == 8


def test_the_text_of_a_module_says_it():
    text = module().source_module().text(False)
    assert text.count("metate.checked") == 1
    assert "@checked" in next(line for line in text.split("\n") if "metate.checked" in line)
