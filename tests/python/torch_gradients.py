"""`mt.ad.torch_function` beside PyTorch's own gradients: cases of torch_program.py."""

import gc
import itertools

import numpy as np
import torch
from torch_cases import Floats, added_to, case, leaf, polar_of, product_of, raises, same, square_of, twin, wave_at, wave_of

import metate as mt

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
