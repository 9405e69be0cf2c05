"""`ti.sparse`, and fields emptied all at once."""

import pytest

import metate as ti


def test_a_grid_and_its_usage():
    g = ti.sparse.grid({"m": ti.f32, "v": ti.math.vec2}, shape=(8, 8))
    assert ti.sparse.usage(g) == 0
    g[1, 2].m = 3
    assert ti.sparse.usage(g) == 1 / 64
    assert g[1, 2].m == 3 and g[0, 0].m == 0

    @ti.kernel
    def total() -> ti.f32:
        s = 0.0
        for i, j in g:
            s += g[i, j].m + i + j
        return s

    assert total() == 6
    ti.deactivate_all_snodes()
    assert ti.sparse.usage(g) == 0


def test_usage_of_something_else():
    with pytest.raises(TypeError, match=r"expected a field of sparse\.grid"):
        ti.sparse.usage(ti.field(ti.f32, 3))
