"""Gradients of trees that are arguments: their type, where they lie, kernels, cells, modules and hosts."""

import numpy as np
import pytest

import metate as mt

Scalar = mt.types.ndarray(mt.f32, 0)
S = mt.types.struct({"h": mt.f32, "v": mt.math.vec2, "id": mt.i32})
AOS = mt.types.SNodeTreeBuilder().pointer(mt.ij, 4).dense(mt.ij, 4).place(S).build()
_apart = mt.types.SNodeTreeBuilder()
_apart.pointer(mt.ij, 4, name="a").dense(mt.ij, 4).place(S.h)
_apart.pointer(mt.ij, 4, name="b").dense(mt.ij, 4).place(S.v)
_apart.pointer(mt.ij, 4, name="c").dense(mt.ij, 4).place(S.id)
SOA = _apart.build()
LINE = mt.types.SNodeTreeBuilder().bitmasked(mt.i, 32).place(x=mt.f64).build()
BOTH = pytest.mark.parametrize("T", [AOS, SOA], ids=["AOS", "SOA"])


@pytest.fixture(autouse=True)
def begin():
    mt.init()


def a_number():
    return mt.ndarray(mt.f32, (), needs_grad=True)


def test_the_type_of_a_gradient_has_the_floats_of_the_tree():
    dual = AOS.grad_type()
    assert list(dual.members) == ["h", "v"] and dual.members["v"].type == mt.math.vec2
    assert [(level.name, level.extents) for level in dual.levels] == [(level.name, level.extents) for level in AOS.levels]
    assert dual.grad_type() is dual and dual == type(AOS).from_blob(dual.blob)
    assert [level.name for level in SOA.grad_type().levels if level.kind == "pointer"] == ["a", "b"]
    warm = mt.types.SNodeTreeBuilder().pointer(mt.i, 8).place(t=mt.f32, background=20.0).build()
    assert warm.grad_type() != warm and warm.grad_type().members["t"].background == 0
    counts = mt.types.SNodeTreeBuilder().dense(mt.i, 8).place(n=mt.i32).build()
    with pytest.raises(mt.errors.TreeError, match=r"grad_type: expected a tree with members of a float type, got n: i32"):
        counts.grad_type()


def test_where_a_gradient_lies():
    t = AOS.new(needs_grad=True)
    assert t.grad.type == AOS.grad_type() and t.dual is None and t.grad.grad is None
    t = AOS.new({"pointer0": 3}, needs_grad=True, needs_dual=True)
    assert t.grad.stats()["pointer0"].capacity == t.dual.stats()["pointer0"].capacity == 3
    t = SOA.new({"a": 1, "b": 2, "c": 3}, needs_grad=True)
    assert {name: one.capacity for name, one in t.grad.stats().items()} == {"a": 1, "b": 2}
    dual = AOS.grad_type()
    memory = [mt_aligned(AOS.bytes(2)), mt_aligned(dual.bytes(2))]
    t = AOS.bind(memory[0], grad=memory[1])
    t.grad[1, 2].h = 5
    again = AOS.bind(memory[0], reset=False, grad=dual.bind(memory[1], reset=False)) if unbound(t) else None
    assert again.grad.h[1, 2] == 5
    with pytest.raises(mt.errors.TreeError, match="grad: expected another tree of"):
        t.grad = AOS.new()
    with pytest.raises(mt.errors.TreeError, match="grad: expected another tree of"):
        LINE.new().grad = 3
    t.grad = None
    assert t.grad is None


def mt_aligned(count):
    """Bytes that trees may be bound in."""
    raw = np.zeros(count + 64, np.uint8)
    first = -raw.ctypes.data % 64
    return raw[first : first + count]


def unbound(tree):
    tree.grad.unbind()
    tree.grad = None
    tree.unbind()
    return True


def energy_of(T):
    @mt.kernel
    def energy(t: T, weight: mt.f32, loss: Scalar):
        for i, j in t.h:
            loss[None] += weight * t.h[i, j] ** 2
        for i, j in t.v:
            loss[None] += t.v[i, j].dot(t.v[i, j])

    return energy


@BOTH
def test_a_kernel_takes_the_gradient_from_its_tree(T, rng):
    energy, t, loss = energy_of(T), T.new(needs_grad=True), a_number()
    at = [(0, 1), (5, 6), (15, 15)]
    for i, j in at:
        t[i, j].h, t[i, j].v = rng.random(), rng.random(2)
    energy(t, 3.0, loss)
    loss.grad.fill(1)
    energy.grad(t, 3.0, loss)
    np.testing.assert_allclose(t.grad.h.to_numpy(), 6 * t.h.to_numpy(), rtol=1e-6)
    np.testing.assert_allclose(t.grad.v.to_numpy(), 2 * t.v.to_numpy(), rtol=1e-6)
    for member, other in ((t.h, t.grad.h), (t.v, t.grad.v)):
        assert sorted(map(tuple, other.cells()[0])) == sorted(map(tuple, member.cells()[0]))


@BOTH
def test_a_tree_without_a_gradient_is_a_constant(T):
    energy, t, loss = energy_of(T), T.new(), a_number()
    t[2, 3].h = 4
    loss.grad.fill(1)
    energy.grad(t, 1.0, loss)  # nothing to compute, and no error
    with_one = T.new(needs_grad=True)
    with_one[2, 3].h = 4
    loss.grad.fill(1)
    energy.grad(with_one, 1.0, loss)
    assert with_one.grad.h[2, 3] == 8
    energy.grad(t, 1.0, loss)
    t.grad = with_one.grad
    loss.grad.fill(1)
    energy.grad(t, 1.0, loss)
    assert with_one.grad.h[2, 3] == 16


@mt.kernel
def smooth(x: LINE, y: LINE):
    for i in x:
        y.x[i] = 0.5 * x.x[i] + 0.25 * (x.x[i - 1] + x.x[i + 1] * x.x[i + 1])


def test_a_gradient_has_the_cells_of_its_tree():
    x, y = LINE.new(needs_grad=True), LINE.new(needs_grad=True)
    for i in (3, 4, 9, 31):
        x.x[i] = i
    smooth(x, y)
    for i in range(32):
        y.grad.x[i] = 1 + i
    smooth.grad(x, y)
    assert sorted(x.grad.x.cells()[0][:, 0]) == [3, 4, 9, 31], "neighbours that are not active have no gradient"
    assert not x.x.is_active(2) and not x.x.is_active(5) and not x.x.is_active(10)
    # dy_i / dx_j, of loops over active i: 0.5 at i, 0.25 at i - 1, 0.5 x_{i+1} at i + 1
    want = {3: 0.5 * 4 + 0.25 * 5, 4: 0.5 * 5 + 0.5 * 4 * 4, 9: 0.5 * 10, 31: 0.5 * 32}
    assert {i: x.grad.x[i] for i in want} == want
    assert [y.grad.x[i] for i in (3, 4, 9, 31)] == [0, 0, 0, 0] and y.grad.x[7] == 8, "what was written is taken"


def test_cells_that_a_kernel_deactivates_are_refused():
    @mt.kernel
    def drain(x: LINE, out: mt.types.ndarray(mt.f64, 1)):
        for i in range(4):
            out[i] = 3 * x.x[i]
            mt.deactivate(x.x, i)

    x, out = LINE.new(needs_grad=True), mt.ndarray(mt.f64, 4, needs_grad=True)
    with pytest.raises(mt.TaichiCompilationError, match="cells are deactivated here whose members have derivatives") as raised:
        drain.grad(x, out)
    assert raised.value.line == drain.source.first_line + 4


def test_activation_and_scatters():
    @mt.kernel
    def scatter(p: mt.types.ndarray(mt.f32, 1), grid: AOS):
        for k in p:
            base = mt.i32(p[k])
            grid.h[base, k] += p[k] * p[k]
            grid.v[base + 1, k] += mt.Vector([p[k], 1.0])

    p, grid = mt.ndarray(mt.f32, 3, needs_grad=True), AOS.new(needs_grad=True)
    p.from_numpy(np.array([0.5, 7.25, 12.5], np.float32))
    scatter(p, grid)
    grid.grad.activate(0, 0)
    for i, j in grid.h.cells()[0]:
        grid.grad[i, j].h, grid.grad[i, j].v = 2, (3, 5)
    scatter.grad(p, grid)
    np.testing.assert_allclose(p.grad.to_numpy(), 4 * p.to_numpy() + 3)


@BOTH
def test_forward_mode(T):
    @mt.kernel
    def advance(t: T, u: T, dt: mt.f32):
        for i, j in t.v:
            u.h[i, j] = t.h[i, j] * t.h[i, j]
            u.v[i + 1, j] = dt * t.h[i, j] * t.v[i, j]

    t, u = T.new(needs_dual=True), T.new(needs_dual=True)
    t[1, 1].h, t[1, 1].v = 3, (1, 2)
    t.dual[1, 1].h, t.dual[1, 1].v = 1, (10, 0)
    advance.fwd(t, u, 0.5)
    assert u.h[1, 1] == 9 and u.dual.h[1, 1] == 6 and u.v[2, 1].tolist() == [1.5, 3]
    assert u.dual.v[2, 1].tolist() == [0.5 * (1 * 1 + 3 * 10), 0.5 * 2]
    assert u.dual.v.is_active(2, 1)


def test_tapes_descend_on_trees():
    @mt.kernel
    def apart(t: LINE, loss: mt.types.ndarray(mt.f64, 0)):
        for i in t.x:
            loss[None] += (t.x[i] - i) ** 2

    @mt.kernel
    def descend(t: LINE, rate: mt.f64):
        for i in t.x:
            t.x[i] -= rate * t.grad.x[i]

    t, loss = LINE.new(needs_grad=True), mt.ndarray(mt.f64, (), needs_grad=True)
    for i in (2, 20):
        t.x[i] = 0
    losses = []
    for _ in range(40):
        t.grad.deactivate_all()
        with mt.ad.Tape(loss):
            apart(t, loss)
        descend(t, 0.25)
        losses.append(loss[None])
    assert losses[0] == 404 and losses[-1] < 1e-12 and t.x[20] == pytest.approx(20)
    with pytest.raises(mt.TaichiCompilationError, match=r"tree 't' has no gradient\n(.|\n)*needs_grad=True"):
        descend(LINE.new(), 1.0)
    with pytest.raises(mt.errors.DerivativeError_, match=r"'t.grad' is used: a kernel that uses a tree's derivatives"):
        descend.grad(t, 1.0)


def test_members_as_fields_have_their_gradients_in_the_trees():
    t, loss = LINE.new(needs_grad=True), mt.field(mt.f64, (), needs_grad=True)
    x = t.x.field()
    t.x[3], t.x[9] = 4, 5

    @mt.kernel
    def energy(x: mt.template()):
        for i in x:
            loss[None] += x[i] ** 2

    for _ in range(2):  # a tape clears it
        with mt.ad.Tape(loss):
            energy(x)
        assert x.grad[3] == t.grad.x[3] == 8 and x.grad.to_numpy()[9] == 10
    assert x.dual is None and x.grad is x.grad
    t.grad = LINE.new()
    assert x.grad[3] == 0
    with mt.ad.Tape(loss):
        energy(x)
    assert t.grad.x[3] == 8
    t.grad = None
    assert x.grad is None
    with mt.ad.Tape(loss):
        energy(x)  # a constant


def test_they_come_from_the_cache(tmp_path):
    def run():
        with mt.Context(offline_cache_file_path=str(tmp_path), offline_cache=True):
            energy, t, loss = energy_of(AOS), AOS.new(needs_grad=True), a_number()
            t[2, 3].h = 4
            loss.grad.fill(1)
            energy.grad(t, 1.0, loss)
            assert t.grad.h[2, 3] == 8
            return energy.grad.instances()[0].cache

    assert [run(), run()] == ["compiled and cached", "loaded"]


def test_lists_have_gradients_in_their_cells():
    cloud = mt.types.SNodeTreeBuilder().dense(mt.i, 4).dynamic(mt.j, 16, chunk_size=4).place(x=mt.f32).build()

    @mt.kernel
    def squares(c: cloud, loss: Scalar):
        for i, j in c.x:
            loss[None] += c.x[i, j] ** 2

    c, loss = cloud.new(needs_grad=True), a_number()
    for i, value in ((1, 3), (1, 5), (2, 7)):
        c.x[i, c.append(i)] = value
    loss.grad.fill(1)
    squares.grad(c, loss)
    assert [c.grad.x[1, 0], c.grad.x[1, 1], c.grad.x[2, 0]] == [6, 10, 14]
    assert [c.grad.length(i) for i in range(4)] == [0, 2, 1, 0]


def test_in_modules_of_python(tmp_path):
    energy = energy_of(AOS)
    module = mt.aot.Module().add_type(AOS, "grid").add_kernel(energy, grad=True)
    loaded = mt.aot.load(module.save(tmp_path / "m.metate"))
    assert [one["name"] for one in loaded.energy.grad.parameters] == ["t", "weight", "loss", "t.grad", "loss.grad"]
    assert loaded.grid == AOS and loaded.grid_grad == AOS.grad_type()
    t, loss = loaded.grid.new(needs_grad=True), a_number()
    t[1, 2].h = 4
    loaded.energy(t, 2.0, loss)
    loss.grad.fill(1)
    loaded.energy.grad(t, 2.0, loss)
    assert loss[None] == 32 and t.grad.h[1, 2] == 16
    loss.grad.fill(1)
    loaded.energy.grad(t, 2.0, loss, t.grad, loss.grad)
    assert t.grad.h[1, 2] == 32
