"""Loops of more turns than Mesa's lavapipe gives an invocation, 65,535 in all: an error there, and right elsewhere."""

import contextlib
import re

import device_tests
import numpy as np
import pytest

import metate as mt
from metate import devices
from metate.errors import RuntimeError_

ARCH = device_tests.ARCH or mt.simt
array = mt.types.ndarray
MANY = 100_000


@pytest.fixture(autouse=True)
def device():
    with mt.Context(arch=ARCH) as context:
        yield context


@pytest.fixture
def ends_loops():
    """On lavapipe the kernel fails, and says which one it is, where it stands and why."""

    @contextlib.contextmanager
    def expect(kernel, line=None):
        if mt.context.current().options.device_target != devices.LAVAPIPE:
            yield
            return
        with pytest.raises(RuntimeError_) as caught:
            yield
        text = str(caught.value)
        place = rf"test_devices_turns\.py:\d+:\d+: kernel '{kernel}': "
        wanted = place + r"a loop of the task of line (\d+) was not done when 'llvmpipe.*' ended it: "
        found = re.search(wanted, text)
        assert found, text
        assert line is None or int(found[1]) == line
        assert text.endswith(
            "lavapipe ends loops once an invocation has made 65,535 turns in all: run the kernel on a GPU, or on the CPU (mt.cpu)"
        )

    return expect


def line_of(function, text):
    """The line in which a kernel of this file has a text."""
    lines = open(__file__).read().splitlines()
    first = next(k for k, line in enumerate(lines) if f"def {function}(" in line)
    return next(k for k, line in enumerate(lines[first:], first + 1) if text in line)


def test_one_loop(ends_loops):
    @mt.kernel
    def one_loop(n: mt.i32, out: array(mt.i64, 1)):
        for k in range(64):
            s = mt.i64(k)
            x = mt.u32(k)
            for _ in range(n):
                x = x * 1664525 + 1013904223
                s += mt.i64(x >> 16)
            out[k] = s

    def expected(n):
        x, s = np.arange(64, dtype=np.uint32), np.arange(64, dtype=np.int64)
        for _ in range(n):
            x = x * np.uint32(1664525) + np.uint32(1013904223)
            s += x >> np.uint32(16)
        return s

    out = np.zeros(64, np.int64)
    one_loop(60_000, out)
    np.testing.assert_array_equal(out, expected(60_000))
    with ends_loops("one_loop", line_of("one_loop", "for k in range(64)")):
        one_loop(MANY, out)
        np.testing.assert_array_equal(out, expected(MANY))
    one_loop(10, out)  # the next launch begins anew
    np.testing.assert_array_equal(out, expected(10))


def test_nested_loops(ends_loops):
    @mt.kernel
    def nested(n: mt.i32, m: mt.i32, out: array(mt.i32, 1)):
        for k in range(40):
            found = 0
            for i in range(n):
                for j in range(m):
                    if (i ^ j ^ k) & 7 == 3:
                        found += 1
            out[k] = found

    def expected(n, m):
        i, j = np.arange(n)[:, None], np.arange(m)
        return [((i ^ j ^ k) & 7 == 3).sum() for k in range(40)]

    out = np.zeros(40, np.int32)
    nested(200, 200, out)
    np.testing.assert_array_equal(out, expected(200, 200))
    with ends_loops("nested"):
        nested(400, 400, out)
        np.testing.assert_array_equal(out, expected(400, 400))


def test_loops_behind_one_another(ends_loops):
    @mt.kernel
    def behind(x: array(mt.i32, 1), out: array(mt.i32, 1)):
        for _ in range(1):
            a = 0
            for i in range(40_000):
                a ^= x[i]
            b = 0
            for i in range(40_000):
                b += x[i] * (a & 3)
            out[0] = a
            out[1] = b

    x, out = np.arange(40_000, dtype=np.int32) % 97 + 2**20, np.zeros(2, np.int32)
    with ends_loops("behind"):
        behind(x, out)
        a = np.bitwise_xor.reduce(x)
        assert out[0] == a and out[1] == (x * (a & 3)).sum(dtype=np.int32)


def test_a_while_loop(ends_loops):
    @mt.kernel
    def halves(x: array(mt.f64, 1)):
        for k in x:
            v = 1.0
            while v < x[k]:
                v += 1.0
                if v > 1e9:
                    break
            x[k] = -v

    x = np.array([3.0, 70_000.0, 50.0, 10.0])
    with ends_loops("halves"):
        halves(x)
        np.testing.assert_array_equal(x, [-3, -70_000, -50, -10])
    y = np.array([3.0, 1.0, 50.0, 10.0])
    halves(y)
    np.testing.assert_array_equal(y, [-3, -1, -50, -10])


def test_what_stands_behind_the_loop_is_left_out(ends_loops):
    """An address that the loop would have made right is not read."""

    @mt.kernel
    def walk(follows: array(mt.i64, 1), out: array(mt.i64, 1)):
        for _ in range(1):
            at = mt.i64(0)
            place = mt.i64(1) << 60
            while place != 0:
                at = follows[at]
                if at == 0:
                    place = 0
            out[0] = follows[place] + 1

    follows, out = np.roll(np.arange(80_000), -1), np.zeros(1, np.int64)
    with ends_loops("walk"):
        walk(follows, out)
        assert out[0] == 2


def test_a_loop_whose_condition_does_not_change(ends_loops):
    @mt.kernel
    def spin(n: mt.i32, x: array(mt.i32, 1), out: array(mt.i32, 1)):
        for _ in range(1):
            turns = 0
            while n > 0:
                turns += x[turns % 10]
                if turns == 90_000:
                    break
            out[0] = turns

    x, out = np.ones(10, np.int32), np.zeros(1, np.int32)
    spin(0, x, out)
    assert out[0] == 0
    with ends_loops("spin"):
        spin(1, x, out)
        assert out[0] == 90_000


def test_a_kernel_of_a_graph(ends_loops):
    @mt.kernel
    def step(x: array(mt.i32, 1), n: mt.i32):
        for _ in range(1):
            for i in range(n):
                x[0] = x[0] ^ i

    Arg, ArgKind = mt.graph.Arg, mt.graph.ArgKind
    x, n = Arg(ArgKind.NDARRAY, "x", mt.i32, ndim=1), Arg(ArgKind.SCALAR, "n", mt.i32)
    builder = mt.graph.GraphBuilder()
    for _ in range(2):
        builder.dispatch(step, x, n)
    twice = builder.compile("twice")

    found = np.zeros(1, np.int32)
    with ends_loops("twice"):
        twice.run({"x": found, "n": MANY})
        assert found[0] == 0


def test_sorting_slots(ends_loops):
    """A sum of floats in a deterministic context takes them in order, whoever got them first."""
    with mt.Context(arch=ARCH, deterministic=True):
        Cloud = mt.types.SNodeTreeBuilder().pointer(mt.i, 4096).dense(mt.i, 2).place(a=mt.f32).build()

        @mt.kernel
        def fill(t: Cloud, at: array(mt.i32, 1)):
            for _ in range(1):  # one after the other: who comes first does not show
                for k in range(at.shape[0]):
                    t.a[2 * at[k]] = k

        @mt.kernel
        def total(t: Cloud) -> mt.f32:
            s = 0.0
            for i in t.a:
                s += t.a[i]
            return s

        t, at = Cloud.new(), np.random.default_rng(5).permutation(4096)[:4000].astype(np.int32)
        fill(t, at)
        assert t.a.to_numpy()[2 * at].tolist() == list(range(4000))
        with ends_loops("total"):
            assert total(t) == 7_998_000
            t.check()
