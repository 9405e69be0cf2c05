"""`x.element_shape` of an array argument, as a tuple and, called, as a list: Taichi's code calls it."""

import pytest

import metate as mt


@pytest.fixture(autouse=True)
def _run():
    mt.init(arch=mt.cpu)
    yield
    mt.reset()


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_element_shapes_of_arguments(shape):
    makers = [lambda: mt.ndarray(mt.f32, (4, 5)), lambda: mt.Vector.ndarray(2, mt.f32, (4, 5))]
    x = [*makers, lambda: mt.Matrix.ndarray(2, 3, mt.f32, (4, 5))][len(shape)]()

    @mt.func
    def extents(v: mt.template()):
        total = 0
        for n in mt.static(v.element_shape()):
            total = total * 10 + n
        return total

    @mt.kernel
    def k(v: mt.types.ndarray(ndim=2)) -> mt.i32:
        mt.static_assert(v.element_shape() == list(shape))
        mt.static_assert(v.element_shape == shape)
        r = extents(v)
        if mt.static(v.element_shape() == [2]):
            r += 1000
        return r

    assert k(x) == {(): 0, (2,): 1002, (2, 3): 23}[shape]


def test_it_takes_no_arguments():
    @mt.kernel
    def k(v: mt.types.ndarray(ndim=1)) -> mt.i32:
        return mt.static(len(v.element_shape(1)))

    with pytest.raises(mt.CompilationError, match="expected 0 arguments, got 1"):
        k(mt.Vector.ndarray(2, mt.f32, 3))
