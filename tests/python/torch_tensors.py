"""Tensors as arguments of `mt.ad.torch_function` and of kernels: cases of torch_program.py."""

import gc

import numpy as np
import torch
from torch_cases import case, leaf, polar_of, product_of, raises, same, scaled_of, turn, twin, wave, wave_at, wave_of

import metate as mt

# -- arguments ----------------------------------------------------------------


@case
def scalars_are_arguments(rng):
    x = leaf(rng, 6, dtype=torch.float32)
    for factor, *power in ((3.0,), (-2.0, 3)):
        x.grad = None
        y = scaled_of(x, factor, torch.empty_like(x), *power)
        p = power[0] if power else 1
        y.sum().backward()
        same((y.detach(), factor * x.detach() ** p), (x.grad, factor * p * x.detach() ** (p - 1)))


@case
def a_tensor_is_no_scalar(rng):
    """Its gradient would be left out."""
    x, factor = leaf(rng, 6, dtype=torch.float32), torch.tensor(2.0, requires_grad=True)
    with raises(mt.errors.RuntimeTypeError_, r"argument 'factor': expected f32, got an array of f32 with shape \(\)"):
        scaled_of(x, factor, torch.empty_like(x))


@case
def numpy_arrays_and_ndarrays_are_constants(rng):
    a, b = leaf(rng, 6), rng.standard_normal(6)
    own = mt.ndarray(mt.f64, 6)
    own.from_numpy(b)
    for other in (b, own):
        a.grad = None
        product_of(a, other, torch.empty_like(a)).sum().backward()
        assert a.grad.numpy().tolist() == b.tolist()


@case
def a_method_is_a_function(rng):
    @mt.data_oriented
    class Spring:
        def __init__(self, k):
            self.k = k

        @mt.kernel
        def force(self, x: mt.types.ndarray(), y: mt.types.ndarray()):
            for i in x:
                y[i] = -self.k * x[i]

    x = leaf(rng, 6)
    mt.ad.torch_function(Spring(4.0).force)(x, torch.empty_like(x)).sum().backward()
    same((x.grad, torch.full_like(x, -4)))


@case
def tensors_with_gaps(rng):
    """Transposed ones, every other element, broadcast ones: the gradient is where the elements are."""
    base = leaf(rng, 4, 6)
    want = twin(base)
    for view in (lambda t: t.T, lambda t: t[::2, 1::3], lambda t: t[:1].expand(4, 6)):
        base.grad = want.grad = None
        x, z = view(base), torch.sin(view(want)) * view(want)
        y = wave_of(x, torch.empty(x.shape, dtype=x.dtype))
        (y * y).sum().backward()
        (z * z).sum().backward()
        same((y, z), (base.grad, want.grad))


@case
def room_with_gaps(rng):
    x = leaf(rng, 6)
    memory = torch.full((12,), 7.0, dtype=torch.float64)
    y = wave_of(x, memory[::2])
    assert torch.equal(memory[::2].detach(), y.detach()) and torch.equal(memory[1::2].detach(), torch.full((6,), 7.0).double())
    y.sum().backward()
    same((x.grad, torch.cos(x.detach()) * x.detach() + torch.sin(x.detach())))


@case
def room_in_a_larger_tensor(rng):
    """PyTorch takes the first input of what changes a view for that view: its gradients went to other tensors."""
    x, rows = leaf(rng, 3), leaf(rng, 2, 3)
    a, b = twin(x), twin(rows)
    memory = rows * 2
    wave_of(x, memory[1])
    (memory**2).sum().backward()
    other = torch.stack([b[0] * 2, torch.sin(a) * a])
    (other**2).sum().backward()
    same((x.grad, a.grad), (rows.grad, b.grad))


@case
def several_rooms_in_a_larger_tensor(rng):
    x, y = leaf(rng, 3), leaf(rng, 3)
    with raises(RuntimeError, "your Function cannot return more than one Tensor"):
        polar_of(x, y, *torch.empty(2, 3, dtype=torch.float64))


@case
def a_cotangent_with_a_sign_bit(rng):
    """What is a view that PyTorch negates later."""
    x = leaf(rng, 6)
    want = twin(x)
    for one, y in ((x, wave_at(x)), (want, torch.sin(want) * want)):
        torch.complex(y, 2 * y).conj().imag.sum().backward()
        assert one.grad is not None
    same((x.grad, want.grad))


@case
def tensors_that_numpy_has_no_view_of(rng):
    x = torch.ones(3)
    refused = r"argument 0: expected a tensor on the CPU that NumPy has a view of, got one of torch\."
    negative = torch.complex(x, x).conj().imag
    for one in (x.to_sparse(), x.to(torch.bfloat16), x.to("meta"), negative):
        with raises(mt.errors.RuntimeTypeError_, refused):
            wave_of(one, torch.empty(3))


# -- tensors as arguments of kernels ------------------------------------------


@case
def kernels_write_tensors(rng):
    for view in (lambda t: t, lambda t: t.T, lambda t: t[::2, 1:]):
        base = torch.tensor(rng.integers(-99, 99, (6, 7)), dtype=torch.float32)
        want = base.numpy().copy()
        i, j = np.indices(view(want).shape)
        view(want)[...] = 10 * view(want) + i - j
        turn(view(base))
        assert np.array_equal(base.numpy(), want)


@case
def kernels_take_tensors_of_many_types(rng):
    @mt.kernel
    def twice(x: mt.types.ndarray()):
        for i in x:
            x[i] += x[i]

    for name in ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"):
        x = torch.arange(5, dtype=getattr(torch, name))
        twice(x)
        assert x.tolist() == [0, 2, 4, 6, 8], name


@case
def kernels_take_tensors_that_require_grad(rng):
    """As in a torch.autograd.Function of one's own: the first call as well as later ones."""

    @mt.kernel
    def negated(x: mt.types.ndarray(), y: mt.types.ndarray()):
        for i in x:
            y[i] = -x[i]

    class Negated(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.empty_like(x)
            negated(x, y)
            return y

        @staticmethod
        def backward(ctx, cotangent):
            x = torch.empty_like(cotangent)
            negated(cotangent.contiguous(), x)
            return x

    for _ in range(2):
        assert torch.autograd.gradcheck(Negated.apply, leaf(rng, 5))


@case
def an_ndarray_over_a_tensor(rng):
    """NumPy has read-only views of what DLPack before 1.0 offers."""
    base = torch.zeros(4, 2)
    x = mt.from_dlpack(base)
    assert not x.is_read_only
    x[1, 1] = 5
    base[2, 0] = 7
    turn(x)
    assert x[2, 0] == 72 and base.tolist() == [[0, -1], [1, 50], [72, 1], [3, 2]]
    points = mt.from_dlpack(base, mt.types.vector(2, mt.f32))
    points[0] = [8, 9]
    assert base[0].tolist() == [8, 9]
    del base
    gc.collect()
    assert x[0, 1] == 9
    assert mt.from_dlpack(torch.ones(0)).shape == (0,)
    with raises(mt.errors.RuntimeTypeError_, "got Tensor: Can't export tensors that require gradient, use tensor.detach()"):
        mt.from_dlpack(torch.ones(3, requires_grad=True))


@case
def a_tensor_over_an_ndarray(rng):
    x = mt.ndarray(mt.f32, (2, 3))
    tensor = torch.from_dlpack(x)
    tensor[1, 2] = 4
    assert x[1, 2] == 4 and x.to_torch()[1, 2] == 4
    x.from_torch(torch.full((2, 3), 6.0, requires_grad=True))
    assert tensor.tolist() == [[6] * 3] * 2


@case
def fields_take_and_give_tensors(rng):
    x = mt.Vector.field(2, mt.f32, 7)
    given = leaf(rng, 7, 2)
    x.from_torch(given)
    assert torch.equal(x.to_torch(), given.detach().float())


@case
def jax_like_gradients_of_tensors(rng):
    x, y = torch.tensor(rng.standard_normal(6)), torch.zeros(6, dtype=torch.float64)
    (written,), pull = mt.ad.vjp(wave, x, y)
    assert written is y
    same((y, torch.sin(x) * x), (torch.from_numpy(pull(np.ones(6))[0]), torch.cos(x) * x + torch.sin(x)))
