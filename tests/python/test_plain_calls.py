"""Plain calls of kernels: one positional argument for each parameter, after a first call. They go past Python, and must not
differ from others in what they see: contexts, classes, errors, threads."""

import copy
import gc
import signal
import sys
import threading
import traceback
import weakref

import numpy as np
import pytest

import metate as mt
from metate import context, types
from metate.errors import CallError_, CompilationError, RuntimeTypeError_

Line = types.ndarray(mt.f32, 1)


@mt.kernel
def scale(x: Line, by: mt.f32):
    for i in x:
        x[i] *= by


def ones():
    return np.ones(3, np.float32)


def made():
    """A kernel that was called, and so calls of it are plain."""

    @mt.kernel
    def added(a: mt.i32, b: mt.i32 = 2) -> mt.i32:
        return a + b

    assert added(1, 2) == 3
    return added


def test_keywords_and_defaults_after_plain_calls():
    added = made()
    assert [added(1, 5), added(1), added(a=2), added(b=1, a=2), added(1, b=7), added(*(1, 5))] == [6, 3, 4, 3, 8, 6]


def test_wrong_numbers_of_arguments_after_plain_calls():
    added = made()
    for wrong, text in (((), "missing"), ((1, 2, 3), "too many")):
        with pytest.raises(CallError_, match=rf"added: .*{text}.*; the kernel is added\(a: i32, b: i32\) -> i32"):
            added(*wrong)
    with pytest.raises(CallError_, match="unexpected keyword argument 'c'"):
        added(1, c=2)
    assert added(1, 2) == 3


def test_wrong_types_after_plain_calls_are_told():
    scale(ones(), 2.0)
    with pytest.raises(RuntimeTypeError_, match="argument 'by'") as caught:
        scale(ones(), "2")
    with pytest.raises(RuntimeTypeError_, match="argument 'x': expected an array, got int"):
        scale(3, 2.0)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_the_context_of_each_call_counts():
    contexts = [mt.Context(threads=1), mt.Context(threads=2)]
    for turn in range(3):
        for ctx in contexts:
            with ctx:
                scale(ones(), 2.0)
                assert [one.hits for one in scale.instances()] == [turn + 1]
    with contexts[0], contexts[1]:
        scale(ones(), 2.0)
        assert [one.hits for one in scale.instances()] == [4], "the innermost one"
    with contexts[0]:
        assert [one.hits for one in scale.instances()] == [3]


def test_a_new_default_context_counts_from_the_next_call():
    scale(ones(), 2.0)
    mt.init(threads=1)
    assert scale.instances() == []
    scale(ones(), 2.0)
    scale(ones(), 2.0)
    assert [one.hits for one in scale.instances()] == [2]
    context.reset()
    x = ones()
    scale(x, 3.0)
    assert (x == 3).all() and [one.hits for one in scale.instances()] == [1]


def test_threads_call_in_contexts_of_their_own():
    contexts, errors = [mt.Context(threads=1) for _ in range(2)], []
    both = threading.Barrier(2)

    def work(ctx):
        try:
            with ctx:
                both.wait()
                for _ in range(300):
                    scale(ones(), 2.0)
                both.wait()
                assert [one.hits for one in scale.instances()] == [300]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(ctx,)) for ctx in contexts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors


def test_arrays_that_overlap_are_compiled_for_after_plain_calls():
    @mt.kernel
    def shift(to: Line, by: Line):
        for i in range(2):
            to[i] = by[i]

    shift(ones(), ones())
    x = np.arange(3, dtype=np.float32)
    shift(x[:2], x[1:])
    assert x[1] == 2 and [one.may_alias for one in shift.instances()] == [False, True]
    shift(ones(), ones())


def test_what_does_not_compile_is_told_at_the_users_line_each_time():
    @mt.kernel
    def odd(what: mt.template()):
        x = mt.static(what)
        if mt.static(what == 1):
            x.nothing()

    odd(0)
    for _ in range(2):
        with pytest.raises(CompilationError, match=r"x\.nothing") as caught:
            odd(1)
        files = {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)}
        assert not any("frontend" in file for file in files) and caught.value.__suppress_context__
    odd(0)


@mt.data_oriented
class Counter:
    def __init__(self, n):
        self.x = mt.field(mt.i32, n)
        self.n = n

    @mt.kernel
    def add(self, by: mt.i32):
        for i in self.x:
            self.x[i] += by * self.n

    @staticmethod
    @mt.kernel
    def twice(a: mt.i32) -> mt.i32:
        return 2 * a


def test_methods_are_of_the_object_that_they_are_read_from():
    one, other = Counter(2), Counter(3)
    bound = other.add
    for counter in (one, other, one):
        counter.add(1)
    bound(by=1)
    Counter.add(one, 1)
    assert one.x.to_numpy().tolist() == [6, 6] and other.x.to_numpy().tolist() == [6, 6, 6]
    assert Counter.add is Counter.__dict__["add"] and bound.__self__ is other
    assert one.twice(4) == Counter.twice(5) - 2 == 8
    one.n = 10
    one.add(1)
    assert one.x.to_numpy().tolist() == [16, 16]


def test_a_field_that_was_let_go_of_is_no_argument_any_more():
    @mt.kernel
    def total(x: mt.template()) -> mt.i32:
        s = 0
        for i in x:
            s += x[i]
        return s

    for n in (2, 3, 4):
        counter = Counter(n)
        counter.x.fill(1)
        assert total(counter.x) == n and total(counter.x) == n
        field = weakref.ref(counter.x)
        del counter
        gc.collect()
        assert field() is None, "no call keeps it"


def test_a_class_may_call_in_its_own_way():
    Kernel = sys.modules["metate.kernel"].Kernel

    class Loud(Kernel):
        def __call__(self, *arguments, **keywords):
            return "loud", super().__call__(*arguments, **keywords)

    def one() -> mt.i32:
        return 1

    loud = Loud(one)
    assert [loud(), loud()] == [("loud", 1)] * 2
    plain = made()
    before = Kernel.__call__
    Kernel.__call__ = lambda self, *arguments: "replaced"
    try:
        assert plain(1, 2) == "replaced"
    finally:
        del Kernel.__call__
    assert Kernel.__call__ is before and plain(1, 2) == 3


def test_a_copy_has_code_of_its_own():
    added = made()
    again = copy.copy(added)
    assert again.instances() == [] and again(1, 2) == 3 and again(1, 2) == 3
    assert [one.hits for one in added.instances()] == [1] and [one.hits for one in again.instances()] == [2]
    assert again.__name__ == "added" and again.__wrapped__ is added.__wrapped__


# ---- launches that keep the GIL


def extent_of(kernel, *arguments):
    options = context.current().options
    parameters = kernel._specialised_on(options, arguments) if arguments else None
    return kernel._walk(options, parameters)[0].brief_extent()


def test_only_work_that_is_bounded_is_brief():
    few, many, cells = mt.field(mt.f32, 256), mt.field(mt.f32, 1 << 20), mt.field(mt.f32)
    mt.root.pointer(mt.i, 8).dense(mt.i, 8).place(cells)
    Square = types.ndarray(mt.f32, 2)

    @mt.real_func
    def down(n: mt.i32) -> mt.i32:
        r = 0
        if n > 0:
            r = down(n - 1)
        return r

    @mt.kernel
    def small():
        for i in few:
            few[i] += mt.sin(few[i])

    @mt.kernel
    def large():
        for i in many:
            many[i] = 1.0

    @mt.kernel
    def scattered():
        for i in few:
            many[i] += 1.0

    @mt.kernel
    def sparse():
        for i in few:
            few[i] = cells[i]

    @mt.kernel
    def given(n: mt.i32):
        for _ in range(n):
            few[0] = 1.0

    @mt.kernel
    def read():
        mt.loop_config(serialize=True)
        for i in range(mt.i32(few[0])):
            few[i] = 1.0

    @mt.kernel
    def endless():
        while few[0] > 0:
            few[0] -= 1.0

    @mt.kernel
    def recursive() -> mt.i32:
        return down(1 << 20)

    @mt.kernel
    def printed():
        print(few[0])

    @mt.kernel
    def square(a: Square):
        for i, j in a:
            a[i, j] = 0.0

    @mt.kernel
    def rows(a: Square):
        for i in range(a.shape[0] - 2):
            for _ in range(3):
                a[i, 0] = 0.0

    @mt.kernel
    def wrapped(a: Square):
        for i in range(a.shape[0] - 2147483647 - 5):
            a[0, 0] = i

    assert extent_of(small) == 2**31 - 1
    for kernel in (large, scattered, sparse, read, endless, recursive, printed):
        assert extent_of(kernel) == -1, kernel
    array = np.zeros((4, 4), np.float32)
    assert extent_of(given, 3) == extent_of(wrapped, array) == -1
    assert 16 < extent_of(square, array) < 256 and 256 < extent_of(rows, array) < 1 << 14


def test_arrays_of_any_extent_after_brief_launches(rng):
    for n in (1, 1 << 20, 0, 16, 3 << 18, 2):
        x = rng.random(n, np.float32)
        expected = x * np.float32(3)
        scale(x, 3.0)
        np.testing.assert_array_equal(x, expected)


def test_a_brief_launch_of_many_chunks_stays_on_its_thread(rng):
    first = rng.random(128, np.float32)

    @mt.kernel
    def longer():
        for i in x:
            s = x[i]
            for _ in range(2):
                s += mt.sqrt(s)
            x[i] = s

    with mt.Context(threads=2, chunk_ns=0):
        x = mt.field(mt.f32, 128)
        x.from_numpy(first)
        assert extent_of(longer) > 0
        longer()
        expected = first
        for _ in range(2):
            expected = expected + np.sqrt(expected)
        np.testing.assert_allclose(x.to_numpy(), expected, rtol=1e-5)


def test_handlers_of_signals_run_between_brief_launches():
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
    try:
        x = ones()
        scale(x, 1.0)
        for _ in range(10):
            signal.raise_signal(signal.SIGUSR1)
            scale(x, 1.0)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(seen) == 10


# ---- arrays into fields


def test_what_is_just_what_a_field_holds_and_what_is_not(rng):
    grid, vectors = mt.field(mt.f32, (3, 4)), mt.Vector.field(2, mt.i32, 5)
    whole = rng.random((3, 4), np.float32)
    for given in (whole, whole.astype(np.float64), np.asfortranarray(whole), whole.tolist(), memoryview(whole), whole[:, ::1]):
        grid.fill(0)
        grid.from_numpy(given)
        np.testing.assert_array_equal(grid.to_numpy(), whole)
    for wrong in (whole.T, whole[:2], whole.ravel(), whole[None]):
        with pytest.raises(mt.errors.RuntimeValueError_, match=r"expected an array of shape \(3, 4\)"):
            grid.from_numpy(wrong)
    assert not grid._elements.take(whole[:, ::-1]) and not grid._elements.take(whole.astype(">f4"))
    pairs = np.arange(10, dtype=np.int32).reshape(5, 2)
    vectors.from_numpy(pairs)
    np.testing.assert_array_equal(vectors.to_numpy(), pairs)
    assert vectors._elements.take(pairs) and not vectors._elements.take(pairs.astype(np.uint32))


class Converted:
    """A whole number that a function gives."""

    def __init__(self, give):
        self.give = give

    def __index__(self):
        return self.give()


def test_what_a_conversion_raises():
    @mt.kernel
    def add(a: mt.i32, b: mt.i32) -> mt.i32:
        return a + b

    calls = 0

    def interrupted():
        nonlocal calls
        calls += 1
        raise KeyboardInterrupt

    assert add(Converted(lambda: 3), 4) == 7
    with pytest.raises(KeyboardInterrupt):
        add(Converted(interrupted), 1)
    assert calls == 1
    with pytest.raises(RuntimeTypeError_, match="expected i32, got Converted"):
        add(Converted(lambda: "three"), 1)

    def endless():
        return add(Converted(endless), 1)

    with pytest.raises(RecursionError):
        endless()
