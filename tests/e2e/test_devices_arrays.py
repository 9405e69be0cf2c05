"""The package's arrays live where kernels use them: bytes are copied when the other side asks, and what is seen is the newest."""

import contextlib
import copy
import gc
import pickle

import device_tests
import numpy as np
import pytest

import metate as mt

ARCH = device_tests.ARCH or mt.simt
N = 100


@pytest.fixture
def device():
    with mt.Context(arch=ARCH) as context:
        yield context


@mt.kernel
def add(x: mt.types.ndarray(mt.f32, 1), value: mt.f32):
    for i in x:
        x[i] += value


@mt.kernel
def double(source: mt.types.ndarray(mt.f32, 1), target: mt.types.ndarray(mt.f32, 1)):
    for i in source:
        target[i] = 2 * source[i]


def made(values=0.0, count=N):
    x = mt.ndarray(mt.f32, count)
    x.fill(values)
    return x


def at_host(x):
    """What the host's memory holds, old or not."""
    return x._owner.copy()


def test_launches_copy_nothing_back(device):
    x, y = made(1), made(5)
    add(x, 2)
    add(x, 3)
    double(x, y)
    assert (at_host(x) == 1).all() and (at_host(y) == 5).all()
    assert (x.to_numpy() == 6).all() and (y.to_numpy() == 12).all()
    assert (at_host(x) == 6).all() and (at_host(y) == 12).all()


def test_the_host_is_seen_and_sees(device):
    x = made(1)
    add(x, 1)
    x.fill(10)
    add(x, 1)
    assert (x.to_numpy() == 11).all()
    x.from_numpy(np.arange(N, dtype=np.float32))
    add(x, 1)
    y = made()
    y.copy_from(x)
    add(y, 1)
    np.testing.assert_array_equal(y.to_numpy(), np.arange(N) + 2)
    np.testing.assert_array_equal(x.to_numpy(), np.arange(N) + 1)


def test_elements(device):
    x, v = made(1), mt.Vector.ndarray(3, mt.f32, 4)
    add(x, 1)
    x[3] = 50
    assert x[3] == 50 and x[2] == 2 and (at_host(x)[4:] == 1).all()  # one element was copied, and no more
    add(x, 1)
    assert (x[3], x[4]) == (51, 3)

    @mt.kernel
    def grow(a: mt.types.ndarray(mt.types.vector(3, mt.f32), 1)):
        for i in a:
            a[i] += mt.Vector([1.0, 2.0, 3.0])

    grow(v)
    v[1].y = 40
    v[2] = [7, 8, 9]
    grow(v)
    np.testing.assert_array_equal(v.to_numpy(), [[2, 4, 6], [2, 42, 6], [8, 10, 12], [2, 4, 6]])


def test_views_see_each_launch_while_they_are_there(device):
    x = made(1)
    add(x, 1)
    view = np.asarray(x)
    assert (view == 2).all()
    add(x, 1)
    assert (view == 3).all()  # as on the CPU
    view[:] = 20
    add(x, 1)
    assert (view == 21).all()
    del view
    gc.collect()
    add(x, 1)
    assert (at_host(x) == 21).all() and (x.to_numpy() == 22).all()
    assert (np.array(x) == 22).all()  # a view that ends at once
    add(x, 1)
    assert (at_host(x) == 22).all() and x[0] == 23


def test_views_by_dlpack_and_arrays_over_arrays(device):
    x = made(1)
    add(x, 1)
    shared = np.from_dlpack(x)
    y = mt.from_dlpack(x)
    add(y, 1)
    add(x, 1)
    assert (shared == 4).all() and (x.to_numpy() == 4).all() and (y.to_numpy() == 4).all()


def test_views_by_the_array_interface(device):
    x = made(1)
    add(x, 1)
    interface = x.__array_interface__
    add(x, 1)
    assert interface["data"][0] == x._owner.ctypes.data and (at_host(x) == 3).all()


def test_structs_are_one_memory(device):
    Particle = mt.types.struct(pos=mt.types.vector(2, mt.f32), mass=mt.f64)

    @mt.kernel
    def move(p: mt.types.ndarray(Particle, 1)):
        for i in p:
            p[i].pos += mt.Vector([1.0, 2.0])
            p[i].mass += i

    p = mt.ndarray(Particle, 5)
    move(p)
    p[2].mass = 100
    p.get_member("pos")[0] = [5, 5]
    move(p)
    found = p.to_numpy()
    np.testing.assert_array_equal(found["pos"], [[6, 7], [2, 4], [2, 4], [2, 4], [2, 4]])
    np.testing.assert_array_equal(found["mass"], [0, 2, 102, 6, 8])
    p.get_member("mass").fill(1)
    move(p)
    np.testing.assert_array_equal(p.to_numpy()["mass"], np.arange(5) + 1)
    np.testing.assert_array_equal(p.to_numpy()["pos"][1], [3, 6])
    view = np.asarray(p)
    move(p)
    np.testing.assert_array_equal(view["mass"], 2 * np.arange(5) + 1)


def test_one_array_for_several_machines(device):
    x = made(1)
    add(x, 1)
    with mt.Context():
        add(x, 1)
        assert (at_host(x) == 3).all()
    with mt.Context(mt.interp):
        add(x, 1)
    add(x, 1)
    with mt.Context(arch=ARCH, threads=1):  # another device on the same machine
        add(x, 1)
    assert (x.to_numpy() == 6).all()
    with mt.Context(arch=mt.simt):
        add(x, 1)
        assert (x.to_numpy() == 7).all()


def test_copies_and_pickles(device):
    x = made(1)
    add(x, 1)
    twin, read = copy.deepcopy(x), pickle.loads(pickle.dumps(x))
    add(x, 1)
    add(twin, 10)
    assert (x.to_numpy() == 3).all() and (twin.to_numpy() == 12).all() and (read.to_numpy() == 2).all()


def test_arguments_may_overlap(device):
    x = made(1)
    double(x, x)
    assert (x.to_numpy() == 2).all()
    add(x, 1)
    double(x, x)
    assert (x.to_numpy() == 6).all()


@pytest.mark.parametrize("dtype", [mt.bf16, mt.i8, mt.u1, mt.f64], ids=str)
def test_types(device, dtype):
    @mt.kernel
    def run(x: mt.types.ndarray(dtype, 2)):
        for i, j in x:
            x[i, j] = (i + j) % 2

    x = mt.ndarray(dtype, (3, 5))
    run(x)
    assert x[0, 1] == 1
    np.testing.assert_array_equal(np.asarray(x.to_numpy(), np.float64), np.add.outer(np.arange(3), np.arange(5)) % 2)


def test_empty_and_without_dimensions(device):
    @mt.kernel
    def run(x: mt.types.ndarray(mt.i32, 0), y: mt.types.ndarray(mt.i32, 1)):
        x[None] += 1
        for i in y:
            y[i] = x[None]

    x, y = mt.ndarray(mt.i32, ()), mt.ndarray(mt.i32, 0)
    run(x, y)
    run(x, y)
    assert x[None] == 2 and y.to_numpy().shape == (0,)


def test_gradients(device):
    @mt.kernel
    def loss_of(x: mt.types.ndarray(mt.f32, 1), loss: mt.types.ndarray(mt.f32, 0)):
        for i in x:
            loss[None] += x[i] * x[i]

    x, loss = mt.ndarray(mt.f32, N, needs_grad=True), mt.ndarray(mt.f32, (), needs_grad=True)
    add(x, 3)
    for _ in range(2):
        loss.fill(0)
        x.grad.fill(0)
        with mt.ad.Tape(loss):
            loss_of(x, loss)
        assert loss[None] == 9 * N and (x.grad.to_numpy() == 6).all()


def test_what_a_launch_wrote_before_it_failed():
    @mt.kernel
    def fails(x: mt.types.ndarray(mt.f32, 1)):
        for i in x:
            x[i] += 1
        assert x[0] < 0

    with mt.Context(arch=ARCH, debug=True):
        x = made(1)
        add(x, 1)
        with pytest.raises(AssertionError):
            fails(x)
        assert (x.to_numpy() == 3).all()


# ---- arrays of the host


def test_arrays_in_and_out(device, rng):
    @mt.kernel
    def run(x: mt.types.ndarray(mt.i32, 2), y: mt.types.ndarray(mt.i32, 2)):
        for i, j in x:
            y[i, j] += 2 * x[i, j] + i

    x = rng.integers(0, 100, (30, 40)).astype(np.int32)
    rows = np.arange(30, dtype=np.int32)[:, None]
    for given in (x, np.asfortranarray(x), x[::-1], x[:, ::-1], np.repeat(x, 3, 1)[:, ::3], np.broadcast_to(x[:1], (30, 40))):
        around = np.full((40, 90), 7, np.int32)
        y = around[3:33, 5:85:2]
        run(given, y)
        assert np.array_equal(y, 7 + 2 * given + rows)
        around[3:33, 5:85:2] = 7
        assert (around == 7).all()  # what lies between the elements is left alone
    with contextlib.suppress(ValueError):
        run(x[:0], np.zeros((0, 40), np.int32))


def test_arrays_that_overlap(device):
    @mt.kernel
    def shift(x: mt.types.ndarray(mt.i32, 1), y: mt.types.ndarray(mt.i32, 1)):
        for i in y:
            y[i] += 10 * x[i]

    x = np.arange(1, 9, dtype=np.int32)
    shift(x[1::2], x[::2])  # elements of one array that take turns
    assert x.tolist() == [21, 2, 43, 4, 65, 6, 87, 8]
    shift(x, x)
    assert x.tolist() == [11 * v for v in (21, 2, 43, 4, 65, 6, 87, 8)]
    y = np.arange(8, dtype=np.int32)
    shift(y[4:], y[:4])
    assert y.tolist() == [40, 51, 62, 73, 4, 5, 6, 7]


def test_ndarrays_of_ours(device, rng):
    x, v = mt.ndarray(mt.f32, (5, 6)), mt.Vector.ndarray(3, mt.i32, 7)

    @mt.kernel
    def run(x: mt.types.ndarray(mt.f32, 2), v: mt.types.ndarray(mt.types.vector(3, mt.i32), 1)):
        for i, j in x:
            x[i, j] += i - j
        for i in v:
            v[i] = [i, i * i, v[i].x]

    given = rng.integers(0, 9, (5, 6)).astype(np.float32)
    x.from_numpy(given)
    v.fill(4)
    run(x, v)
    assert np.array_equal(x.to_numpy(), given + np.arange(5)[:, None] - np.arange(6))
    assert v.to_numpy().tolist() == [[i, i * i, 4] for i in range(7)]
