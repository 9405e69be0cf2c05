"""Failed accesses are told in the user's words: fields by their variables, their own indices, members of structs."""

import numpy as np
import pytest

import metate as mt


@pytest.fixture(params=["compiled", "interpreted"], autouse=True)
def debug(request):
    with mt.Context(mt.interp if request.param == "interpreted" else None, debug=True) as context:
        yield context


def test_fields_are_named_by_their_variables():
    position, other = mt.Vector.field(2, mt.f32, shape=(4, 5)), mt.field(mt.i32, shape=3)
    heat, mass = mt.field(mt.f32), mt.field(mt.f32)
    mt.root.dense(mt.i, 8).place(heat, mass)
    shifted = mt.field(mt.f32, shape=(4, 4), offset=(-2, 10))
    apart = mt.Vector.field(3, mt.f32, shape=6, layout=mt.Layout.SOA)
    bodies = mt.Struct.field({"at": mt.math.vec2, "mass": mt.f32}, shape=6)

    @mt.kernel
    def touch(which: mt.i32, n: mt.i32):
        for _ in range(1):
            if which == 0:
                position[n, 1] = mt.Vector([1, 2])
            if which == 1:
                mass[n] = heat[0] + other[0]
            if which == 2:
                shifted[n, 10] = 1
            if which == 3:
                apart[n].y = 1
            if which == 4:
                bodies[n].at.x += 1
            if which == 5:
                bodies[0].mass = other[n]

    first = touch.source.first_line + 4
    for which, n, text in (
        (0, 7, "position[7, 1] of shape (4, 5)"),
        (1, 8, "mass[8] of shape (8,)"),
        (2, 2, "shifted[2, 10] of shape (4, 4)"),
        (2, -3, "shifted[-3, 10] of shape (4, 4)"),
        (3, 6, "apart[6] of shape (6,)"),
        (4, -1, "bodies.at[-1] of shape (6,)"),
        (5, 3, "other[3] of shape (3,)"),
    ):
        with pytest.raises(mt.RuntimeIndexError_) as caught:
            touch(which, n)
        assert f"index out of range: {text}" in str(caught.value)
        assert f"test_debug_names.py:{first + 2 * which - (which > 5)}:" in str(caught.value)
    touch(2, -2)
    assert shifted[-2, 10] == 1


def test_fields_of_an_object_are_named_by_their_attributes():
    @mt.data_oriented
    class Solver:
        def __init__(self):
            self.speed = mt.field(mt.f32, shape=4)

        @mt.kernel
        def step(self, n: mt.i32):
            for i in range(n):
                self.speed[i] += 1

    with pytest.raises(mt.RuntimeIndexError_, match=r"speed\[4\] of shape \(4,\)"):
        Solver().step(5)


def test_elements_of_arrays_and_their_components():
    @mt.kernel
    def touch(v: mt.types.ndarray(dtype=mt.math.vec3, ndim=2), n: mt.i32, k: mt.i32):
        for _ in range(1):
            v[n, 0][k] = 1

    v = mt.Vector.ndarray(3, mt.f32, (2, 2))
    with pytest.raises(mt.RuntimeIndexError_, match=r"out of range: v\[2, 0"):
        touch(v, 2, 1)
    with pytest.raises(mt.RuntimeIndexError_, match=r"out of range: v\[1, 0\]?(, |\[)3\] of shape \(2, 2, 3\)"):
        touch(v, 1, 3)
    touch(v, 1, 2)
    np.testing.assert_array_equal(v.to_numpy()[1, 0], [0, 0, 1])
