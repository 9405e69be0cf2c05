"""Python's functions in kernels: undecorated ones, the module operator, NumPy's of constants, iterators from outside."""

import functools
import importlib
import itertools
import operator
import posixpath
import statistics

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


CHANGING = (
    "os:getpid",
    "random:random",
    "numpy.random:rand",
    "time:time",
    "datetime:date.today",
    "secrets:token_bytes",
    "uuid:uuid4",
)


@pytest.mark.parametrize("name", CHANGING)
def test_what_changes_from_call_to_call_is_refused(name):
    module, _, path = name.partition(":")
    callee = operator.attrgetter(path)(importlib.import_module(module))

    @ti.kernel
    def run() -> ti.f32:
        return callee()

    with pytest.raises(ti.TaichiCompilationError, match="cannot be called"):
        run()


def twice(function):
    @functools.wraps(function)
    def doubled(x):
        return 2 * function(x)

    return doubled


@twice
def one_more(x):
    return x + 1


def test_a_decorated_function_is_not_taken_for_what_it_wraps():
    @ti.kernel
    def run(x: ti.i32) -> ti.i32:
        return one_more(x)

    with pytest.raises(ti.TaichiCompilationError, match="cannot be called"):
        run(3)


def test_libraries_in_python_are_called_with_constants():
    @ti.kernel
    def run() -> ti.f32:
        return statistics.mean([1, 2, 6]) + len(posixpath.join("a", "bc"))

    assert run() == 3 + 4


def test_an_iterator_that_was_used_up_is_refused():
    numbers = (k for k in range(3))

    @ti.kernel
    def first() -> ti.i32:
        s = 0
        for k in ti.static(numbers):
            s += k
        return s

    @ti.kernel
    def second() -> ti.i32:
        s = 0
        for k in ti.static(numbers):
            s += k
        return s

    assert first() == 3
    with pytest.raises(ti.TaichiCompilationError, match="make a tuple of it"):
        second()


def test_endless_iterators_end_where_zip_ends():
    @ti.kernel
    def run() -> ti.i32:
        s = 0
        for k, x in ti.static(zip(itertools.count(), (5, 6))):
            s += (k + 1) * x
        return s

    assert run() == 17


def test_an_iterator_without_an_end_is_refused():
    def squares():
        k = 0
        while True:
            yield k * k
            k += 1

    endless = squares()

    @ti.kernel
    def run() -> ti.i32:
        s = 0
        for k in ti.static(endless):
            s += k
        return s

    with pytest.raises(ti.TaichiCompilationError, match="'endless': expected at most 65536 elements"):
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
