"""Kernels under a real PyTorch; test_torch.py runs this in an interpreter that has one.

`python torch_program.py` prints a line for each function marked `@case`: in JSON its name and the traceback of its failure or
null.
"""

import contextlib
import gc
import itertools
import json
import re
import traceback

import numpy as np
import seeded
import torch

import metate as mt

CASES = []
Floats = mt.types.ndarray(dtype=mt.f32, ndim=1)


def case(function):
    CASES.append(function)
    return function


@contextlib.contextmanager
def raises(kind, pattern):
    try:
        yield
    except kind as error:
        assert re.search(pattern, str(error)), f"expected {pattern!r}, got {error}"
    else:
        raise AssertionError(f"nothing was raised, expected {pattern!r}")


def leaf(rng, *shape, dtype=torch.float64):
    return torch.tensor(rng.standard_normal(shape), dtype=dtype, requires_grad=True)


def twin(tensor):
    """A leaf of the same numbers."""
    return tensor.detach().clone().requires_grad_()


def same(*pairs, **tolerances):
    for one, other in pairs:
        torch.testing.assert_close(one, other, **tolerances)


@mt.kernel
def wave(x: mt.types.ndarray(), y: mt.types.ndarray()):
    for I in mt.grouped(x):
        y[I] = mt.sin(x[I]) * x[I]


@mt.kernel
def product(a: mt.types.ndarray(), b: mt.types.ndarray(), y: mt.types.ndarray()):
    for i in y:
        y[i] = a[i] * b[i]


@mt.kernel
def polar(x: mt.types.ndarray(), y: mt.types.ndarray(), r: mt.types.ndarray(), p: mt.types.ndarray()):
    for i in x:
        r[i] = mt.sqrt(x[i] ** 2 + y[i] ** 2)
        p[i] = mt.atan2(y[i], x[i])


@mt.kernel
def square(x: mt.types.ndarray()):
    for i in x:
        x[i] = x[i] * x[i]


@mt.kernel
def scaled(x: mt.types.ndarray(), factor: float, y: mt.types.ndarray(), power: int = 1):
    for i in x:
        y[i] = factor * x[i] ** power


@mt.kernel
def add_to(x: mt.types.ndarray(), total: mt.types.ndarray()):
    for i in x:
        total[i] += x[i] * x[i]


@mt.kernel
def turn(x: mt.types.ndarray(ndim=2)):
    for i, j in x:
        x[i, j] = 10 * x[i, j] + i - j


wave_of, product_of, polar_of, square_of = map(mt.ad.torch_function, (wave, product, polar, square))
scaled_of, added_to = map(mt.ad.torch_function, (scaled, add_to))


def wave_at(x):
    return wave_of(x, torch.empty_like(x))


# -- gradients that PyTorch has as well ---------------------------------------


@case
def sine_in_single_precision(rng):
    x = leaf(rng, 50, dtype=torch.float32)
    want, weights = twin(x), torch.tensor(rng.standard_normal(50), dtype=torch.float32)
    y, z = wave_at(x), torch.sin(want) * want
    (y * weights).sum().backward()
    (z * weights).sum().backward()
    same((y, z), (x.grad, want.grad), rtol=1e-5, atol=1e-6)
    assert y.dtype == x.grad.dtype == torch.float32


@case
def sine_in_double_precision(rng):
    x = leaf(rng, 50)
    want = twin(x)
    y, z = wave_at(x), torch.sin(want) * want
    y.sum().backward()
    z.sum().backward()
    same((y, z), (x.grad, want.grad))


@case
def gradcheck_of_one_input(rng):
    assert torch.autograd.gradcheck(wave_at, leaf(rng, 5))


@case
def gradcheck_of_several_outputs(rng):
    def call(x, y):
        return polar_of(x, y, torch.empty_like(x), torch.empty_like(y))

    assert torch.autograd.gradcheck(call, (leaf(rng, 4), leaf(rng, 4)))


@case
def gradcheck_of_an_input_in_place(rng):
    assert torch.autograd.gradcheck(lambda x: square_of(x.clone()), leaf(rng, 5))


@case
def gradcheck_of_what_is_added_to(rng):
    assert torch.autograd.gradcheck(lambda x, t: added_to(x, t.clone()), (leaf(rng, 5), leaf(rng, 5)))


@case
def one_of_two_inputs_needs_no_gradient(rng):
    for needed in ((True, False), (False, True)):
        a, b = (leaf(rng, 6).detach().requires_grad_(one) for one in needed)
        product_of(a, b, torch.empty_like(a)).sum().backward()
        for one, other in ((a, b), (b, a)):
            assert (one.grad is None) if not one.requires_grad else torch.equal(one.grad, other.detach())


@case
def one_tensor_is_two_inputs(rng):
    x = leaf(rng, 6)
    product_of(x, x, torch.empty_like(x)).sum().backward()
    same((x.grad, 2 * x.detach()))


@case
def several_outputs_are_a_tuple(rng):
    x, y = leaf(rng, 6), leaf(rng, 6)
    u, v = twin(x), twin(y)
    found = polar_of(x, y, torch.empty_like(x), torch.empty_like(x))
    assert type(found) is tuple and len(found) == 2
    (found[0] * found[1]).sum().backward()
    (torch.sqrt(u**2 + v**2) * torch.atan2(v, u)).sum().backward()
    same((x.grad, u.grad), (y.grad, v.grad))


@case
def one_of_several_outputs_is_used(rng):
    x, y = leaf(rng, 6), leaf(rng, 6)
    u, v = twin(x), twin(y)
    polar_of(x, y, torch.empty_like(x), torch.empty_like(x))[1].sum().backward()
    torch.atan2(v, u).sum().backward()
    same((x.grad, u.grad), (y.grad, v.grad))


@case
def in_the_middle_of_a_graph(rng):
    x, w = leaf(rng, 4, 6), leaf(rng, 6, 3)
    a, b = twin(x), twin(w)
    hidden = (torch.tanh(x) @ w).flatten()
    torch.exp(wave_at(hidden)).mean().backward()
    hidden = (torch.tanh(a) @ b).flatten()
    torch.exp(torch.sin(hidden) * hidden).mean().backward()
    same((x.grad, a.grad), (w.grad, b.grad))


@case
def kernels_after_each_other(rng):
    x = leaf(rng, 6)
    want = twin(x)
    wave_at(wave_at(x)).sum().backward()
    y = torch.sin(want) * want
    (torch.sin(y) * y).sum().backward()
    same((x.grad, want.grad))


@case
def backward_twice(rng):
    x = leaf(rng, 6)
    y = square_of(x * 1)
    for times in (1, 2):
        y.sum().backward(retain_graph=True)
        same((x.grad, times * 2 * x.detach()), (y.detach(), x.detach() ** 2))


@case
def a_line_is_fitted(rng):
    @mt.kernel
    def line(x: Floats, p: Floats, y: Floats):
        for i in x:
            y[i] = p[0] * x[i] + p[1]

    f = mt.ad.torch_function(line)
    x = torch.linspace(-1, 1, 40)
    wanted = 3 * x - 0.5
    p = torch.zeros(2, requires_grad=True)
    optimizer, losses = torch.optim.SGD([p], lr=0.5), []
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.mean((f(x, p, torch.empty_like(x)) - wanted) ** 2)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert all(later < sooner for sooner, later in itertools.pairwise(losses[:11])) and losses[-1] < 1e-6, losses
    same((p.detach(), torch.tensor([3, -0.5])), rtol=1e-3, atol=1e-3)


@case
def a_spring_constant_is_fitted(rng):
    @mt.kernel
    def swing(k: mt.types.ndarray(mt.f64, 1), at: mt.types.ndarray(mt.f64, 1)):
        for _ in range(1):
            x, v = mt.f64(1.0), mt.f64(0.0)
            for t in range(at.shape[0]):
                v -= 0.05 * k[0] * x
                x += 0.05 * v
                at[t] = x

    f = mt.ad.torch_function(swing)
    move = lambda k: f(k, torch.empty(60, dtype=torch.float64))
    wanted = move(torch.tensor([2.0], dtype=torch.float64))
    k = torch.tensor([1.2], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(move, k)
    optimizer, losses = torch.optim.Adam([k], lr=0.05), []
    for _ in range(150):
        optimizer.zero_grad()
        loss = torch.mean((move(k) - wanted) ** 2)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 1e-3 * losses[0] and abs(k.item() - 2) < 0.02, (losses, k)


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


# -- what is written in place -------------------------------------------------


@case
def the_result_is_the_room(rng):
    x, memory = leaf(rng, 6), torch.empty(6, dtype=torch.float64)
    y = wave_of(x, memory)
    assert y is memory and y.grad_fn is not None and not y.is_leaf


@case
def an_input_in_place(rng):
    x = leaf(rng, 6)
    hidden = x * 3
    y = square_of(hidden)
    assert y is hidden
    y.sum().backward()
    same((y.detach(), 9 * x.detach() ** 2), (x.grad, 18 * x.detach()))


@case
def what_is_added_to_keeps_its_gradient(rng):
    x, start = leaf(rng, 6), leaf(rng, 6)
    added_to(x, start * 2).sum().backward()
    same((x.grad, 2 * x.detach()), (start.grad, torch.full_like(start, 2)))


@case
def a_leaf_in_place_is_refused(rng):
    x = leaf(rng, 6)
    before = x.detach().clone()
    for written, what in ((x, "a leaf"), (x[1:4], "a view of a leaf")):
        with raises(RuntimeError, f"argument 'x' is {what} that requires grad, and kernel 'square' writes it"):
            square_of(written)
    assert torch.equal(x.detach(), before), "it has written nothing"
    with torch.no_grad():
        square_of(x)
    same((x.detach(), before**2))


@case
def an_input_that_changed_is_refused(rng):
    x = leaf(rng, 6)
    hidden = x * 1
    y = wave_at(hidden)
    hidden.mul_(2)
    with raises(RuntimeError, "modified by an inplace operation"):
        y.sum().backward()


@case
def pytorch_sees_what_a_kernel_changed(rng):
    """Another function's saved tensor that a kernel has overwritten since."""
    x = leaf(rng, 6)
    hidden = x * 1
    y = torch.sin(hidden)
    square_of(hidden)
    with raises(RuntimeError, "modified by an inplace operation"):
        y.sum().backward()


@case
def pytorch_sees_changed_integers(rng):
    @mt.kernel
    def shift(x: mt.types.ndarray(), n: mt.types.ndarray(), y: mt.types.ndarray()):
        for i in x:
            y[i] = 2 * x[n[i]]
            n[i] = 0

    x, n = leaf(rng, 6), torch.arange(5, -1, -1, dtype=torch.int64)
    taken = x[n]
    y = mt.ad.torch_function(shift)(x, n, torch.empty_like(x))
    assert torch.equal(y.detach(), 2 * x.detach().flip(0)) and not n.any()
    with raises(RuntimeError, "modified by an inplace operation"):
        taken.sum().backward()
    y[:2].sum().backward()
    same((x.grad, torch.tensor([0, 0, 0, 0, 2, 2], dtype=torch.float64)))


@case
def arrays_that_overlap_are_refused(rng):
    x = torch.zeros(6, dtype=torch.float64)
    with raises(mt.errors.DerivativeError_, "arguments 'x' and 'y' overlap"):
        wave_of(x[:4], x[2:])


# -- limits -------------------------------------------------------------------


@case
def no_second_derivative(rng):
    """Also where nothing but the kernel's values depends on x: PyTorch's once_differentiable took its gradient for a constant."""
    for loss in (lambda y: y.sum(), lambda y: (y * y).sum()):
        x = leaf(rng, 4)
        (first,) = torch.autograd.grad(loss(wave_at(x)), x, create_graph=True)
        same((first.detach(), torch.autograd.grad(loss(torch.sin(x) * x), x)[0]))
        with raises(RuntimeError, "the gradient of kernel 'wave' has no gradient itself"):
            (first + x).sum().backward()


@case
def without_gradients(rng):
    """The kernel runs as it is, one without a derivative as well."""
    x = leaf(rng, 4)
    with torch.no_grad():
        y = wave_at(x)
    assert not y.requires_grad and torch.allclose(y, torch.sin(x) * x)
    assert not wave_at(x.detach()).requires_grad


@case
def what_is_no_function_of_tensors(rng):
    @mt.kernel
    def total(x: mt.types.ndarray()) -> float:
        s = 0.0
        for i in x:
            s += x[i]
        return s

    with raises(mt.errors.RuntimeTypeError_, "expected a kernel that writes a tensor of floats: 'total' writes none"):
        mt.ad.torch_function(total)(torch.ones(3))
    with raises(mt.errors.RuntimeTypeError_, "'wave' writes none"):
        wave_of(torch.ones(3), np.zeros(3, np.float32))
    with raises(mt.errors.RuntimeTypeError_, "expected a kernel, got <built-in function len>"):
        mt.ad.torch_function(len)(torch.ones(3))


@case
def graphs_are_freed(rng):
    """Nothing keeps a step's tensors: no garbage in a circle."""
    gc.collect()
    x = leaf(rng, 6)
    wave_at(x * 2).sum().backward()
    gc.disable()
    try:
        ones = lambda: sum(isinstance(one, torch.Tensor) for one in gc.get_objects())
        before = ones()
        for _ in range(5):
            wave_at(x * 2).sum().backward()
        assert ones() == before
    finally:
        gc.enable()


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


def failure(function):
    """The traceback of a case that fails, else None."""
    try:
        function(seeded.generator(f"torch {function.__name__}"))
    except Exception:
        return traceback.format_exc()
    return None


if __name__ == "__main__":
    mt.init()
    for function in CASES:
        print(json.dumps([function.__name__, failure(function)]), flush=True)
