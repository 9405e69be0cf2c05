"""Python's functions in kernels: undecorated ones, the module operator, NumPy's of constants, iterators from outside."""

import operator
import random

import numpy as np
import pytest

import metate as ti


def helper(a, b):
    if a > b:
        return a - b
    return a + b


def count(n):
    return 2 * n


def test_undecorated_functions_are_inlined():
    @ti.kernel
    def run(x: ti.i32) -> ti.i32:
        s = 0
        for i in range(count(3)):
            s += i
        return helper(x, 3) + s

    assert run(1) == 4 + 15
    assert run(10) == 7 + 15


def test_a_function_becomes_one_of_the_kernels_in_it():
    @ti.kernel
    def run(x: ti.i32) -> ti.i32:
        return ti.func(helper)(x, 1)

    assert run(5) == 4


def test_the_module_operator():
    @ti.kernel
    def run(x: ti.i32, y: ti.i32) -> ti.types.vector(6, ti.i32):
        return ti.Vector(
            [
                operator.mul(x, y),
                operator.floordiv(x, y),
                operator.xor(x, y),
                operator.neg(x),
                operator.lt(x, y),
                operator.add(operator.sub(x, y), 1),
            ]
        )

    assert run(7, 2).to_list() == [14, 3, 5, -7, 0, 6]


def test_other_libraries_of_constants():
    n = 3

    @ti.kernel
    def run() -> ti.f32:
        return np.sqrt(4.0) + np.array(n, dtype=np.int32) + np.hypot(3.0, 4.0)

    assert run() == 2 + 3 + 5


def test_other_libraries_of_values_are_refused():
    @ti.kernel
    def run(x: ti.f32) -> ti.f32:
        return np.sqrt(x)

    with pytest.raises(ti.TaichiCompilationError, match="run in Python only"):
        run(1.0)


def test_what_changes_from_call_to_call_is_refused():
    @ti.kernel
    def run() -> ti.f32:
        return random.random()

    with pytest.raises(ti.TaichiCompilationError, match="cannot be called"):
        run()


def test_iterators_from_outside():
    n, dim = 5, 2
    ranges = ((2, n - 2) for _ in range(dim))
    doubled = map(lambda k: 2 * k, [1, 2, 3])

    @ti.kernel
    def run() -> ti.i32:
        s = 0
        for _I in ti.grouped(ti.ndrange(*ranges)):
            s += 1
        for k in ti.static(doubled):
            s += 10 * k
        return s

    assert run() == 1 + 120
    assert run() == 1 + 120
