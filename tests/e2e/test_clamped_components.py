"""boundary="clamp" holds every index of an access inside, those of components as well."""

import numpy as np
import pytest

import metate as ti

CLAMPED = ti.types.ndarray(boundary="clamp")


@pytest.fixture(params=[False, True], ids=["release", "debug"], autouse=True)
def mode(request):
    with ti.Context(debug=request.param):
        yield


def test_components_of_vectors():
    @ti.kernel
    def put(a: CLAMPED, i: ti.i32):
        a[2][i] = 99

    @ti.kernel
    def get(a: CLAMPED, i: ti.i32) -> ti.types.vector(3, ti.f32):
        return ti.Vector([a[1][i], a[i][-1], a[5].x])

    b = ti.Vector.ndarray(2, ti.f32, 3)
    b.fill(0)
    put(b, 5)
    assert b.to_numpy().tolist() == [[0, 0], [0, 0], [0, 99]]
    put(b, -5)
    assert b.to_numpy().tolist() == [[0, 0], [0, 0], [99, 99]]
    b.from_numpy(np.arange(6, dtype=np.float32).reshape(3, 2))
    assert get(b, -1).tolist() == [2, 0, 4]
    assert get(b, 7).tolist() == [3, 4, 4]


def test_components_of_matrices():
    @ti.kernel
    def put(a: CLAMPED, i: ti.i32, j: ti.i32):
        a[0][i, j] += 1

    m = ti.Matrix.ndarray(2, 3, ti.f32, 2)
    m.fill(0)
    put(m, 7, -3)
    put(m, -7, 3)
    assert m.to_numpy()[0].tolist() == [[0, 0, 1], [1, 0, 0]] and not m.to_numpy()[1].any()
