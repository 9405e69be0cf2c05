"""What is stored together, and what a word's elements compute together."""

import numpy as np
import pytest

import metate as mt

Q = mt.types.quant


def shared(n):
    """Vectors of three floats of 9 bits with one exponent of 5 bits, in words of 32."""
    v = mt.Vector.field(3, dtype=Q.float(5, 9))
    packed = mt.BitpackedFields(max_num_bits=32)
    packed.place(v, shared_exponent=True)
    mt.root.dense(mt.i, n).place(packed)
    return v


def test_an_assigned_vector_has_the_exponent_of_its_own_components():
    v = shared(2)

    @mt.kernel
    def assign(large: mt.f32, small: mt.f32):
        for i in v:
            v[i] = mt.Vector([large, large, large])
            v[i] = mt.Vector([small, 2 * small, 3 * small])

    assign(1000.0, 0.001)
    assert np.allclose(v.to_numpy(), [[0.001, 0.002, 0.003]] * 2, rtol=1 / 128)


def test_wherever_the_vector_is():
    v = shared(8)
    v.from_numpy(np.full((8, 3), 1000.0, np.float32))
    at = mt.ndarray(mt.i32, 1)
    at[0] = 5

    @mt.kernel
    def assign(at: mt.types.ndarray(mt.i32, 1)):
        for i in range(2):
            v[2 * i + 1] = mt.Vector([0.001, 0.002, 0.003])
        v[at[0]] = mt.Vector([0.001, 0.002, 0.003])

    assign(at)
    assert np.allclose(v.to_numpy()[[1, 3, 5]], [[0.001, 0.002, 0.003]] * 3, rtol=1 / 128)


def test_so_has_one_that_python_assigns():
    v = shared(1)
    v[0] = [1000.0, 1000.0, 1000.0]
    v[0] = [0.001, 0.002, -0.003]
    assert np.allclose(v[0], [0.001, 0.002, -0.003], rtol=1 / 128)
    whole = v.to_numpy()
    v.from_numpy(whole)
    assert (v.to_numpy() == whole).all()


def test_one_component_keeps_the_others_at_their_exponent():
    v = shared(1)
    v[0] = [1000.0, 0.0, 0.0]

    @mt.kernel
    def change():
        for i in v:
            v[i].y = 1.0  # half of the last digit at the exponent of 1000 is 4

    change()
    assert v[0].tolist() == [1000.0, 0.0, 0.0]


def bits(shape, word=64):
    b = mt.field(Q.int(1, False))
    rows, columns = shape
    mt.root.dense(mt.ij, (rows, columns // word)).quant_array(mt.j, word, max_num_bits=word).place(b)
    return b


@pytest.mark.parametrize("shape", [(64, 192), (3, 64), (100, 1024)])
def test_a_small_field_goes_by_words(shape):
    x, y = bits(shape), bits(shape)
    given = np.random.default_rng(1).integers(0, 2, shape)
    x.from_numpy(given)

    @mt.kernel
    def turn():
        for i, j in x:
            y[i, j] = 1 - x[i, j]

    turn()
    assert (y.to_numpy() == 1 - given).all()
    assert "planes of bits" in str(turn.report())


def test_elements_are_counted_by_words():
    x = bits((64, 192))
    given = np.random.default_rng(2).integers(0, 2, (64, 192))
    x.from_numpy(given)

    @mt.kernel
    def count() -> mt.i32:
        n = 0
        for i, j in mt.ndrange((3, 60), (5, 190)):
            n += mt.cast(x[i, j], mt.i32)
        return n

    assert count() == given[3:60, 5:190].sum()
    assert "planes of bits" in str(count.report())
