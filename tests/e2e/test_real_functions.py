"""@real_func: functions that kernels call; compiled, in debug mode and interpreted, against plain Python."""

import numpy as np
import pytest

import metate as mt

Particle = mt.types.struct(mass=mt.f32, velocity=mt.types.vector(3, mt.i32))


@pytest.fixture(autouse=True, params=["cpu", "debug", "interp"])
def context(request):
    arch = mt.interp if request.param == "interp" else mt.cpu
    with mt.Context(arch, debug=request.param == "debug"):
        yield request.param


@mt.real_func
def fibonacci(n: mt.i32) -> mt.i32:
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@mt.real_func
def is_even(n: mt.i32) -> mt.i32:
    if n == 0:
        return 1
    return is_odd(n - 1)


@mt.real_func
def is_odd(n: mt.i32) -> mt.i32:
    if n == 0:
        return 0
    return is_even(n - 1)


@mt.real_func
def ackermann(m: mt.i32, n: mt.i32) -> mt.i32:
    result = n + 1
    while m > 0:
        if n == 0:
            n = 1
        else:
            n = ackermann(m, n - 1)
        m -= 1
        result = n + 1
    return result


def test_recursion():
    @mt.kernel
    def go(n: mt.i32) -> (mt.i32, mt.i32, mt.i32, mt.i32):
        return fibonacci(n), is_even(n), is_odd(n), ackermann(2, 3)

    @mt.kernel
    def each(out: mt.types.ndarray(mt.i32, 1)):
        for i in range(out.shape[0]):
            out[i] = fibonacci(i) + 1000 * is_odd(i)

    fibonaccis = [0, 1]
    while len(fibonaccis) < 14:
        fibonaccis.append(fibonaccis[-1] + fibonaccis[-2])
    assert go(13) == (fibonaccis[13], 0, 1, 9)
    out = np.zeros(14, np.int32)
    each(out)
    assert out.tolist() == [number + 1000 * (i % 2) for i, number in enumerate(fibonaccis)]


def test_values_go_by_value_and_structs_tuples_and_matrices_come_back():
    @mt.real_func
    def moved(n: mt.i32, p: Particle) -> Particle:
        if n == 0:
            return p
        p.mass *= 2
        p.velocity += n
        return moved(n - 1, p)

    @mt.real_func
    def counted(n: mt.i32) -> (mt.i32, mt.types.matrix(2, 2, mt.f32)):
        if n > 3:
            return n, mt.Matrix([[1.0, 0.0], [0.0, 1.0]])
        k, m = counted(n + 1)
        return k + 1, m @ mt.Matrix([[1.0, n], [0.0, 1.0]])

    @mt.kernel
    def go() -> (Particle, mt.f32, mt.i32, mt.types.matrix(2, 2, mt.f32)):
        p = Particle(mass=1.5, velocity=[1, 2, 3])
        q = moved(4, p)
        k, m = counted(0)
        return q, p.mass, k, m

    q, mass, k, m = go()
    assert (q.mass, q.velocity.tolist(), mass, k) == (24.0, [11, 12, 13], 1.5, 8)
    assert m.tolist() == [[1.0, 6.0], [0.0, 1.0]]


def test_references():
    x = mt.field(mt.f32, 4)
    m = mt.Matrix.field(2, 2, mt.f32, 2)

    @mt.real_func
    def swap(a: mt.ref(mt.f32), b: mt.ref(mt.f32)):
        t = a
        a = b
        b = t

    @mt.real_func
    def fall(v: mt.ref(mt.types.vector(2, mt.f32)), p: mt.ref(Particle), n: mt.i32):
        v[1] -= 1
        p.mass += v[1]
        if n > 0:
            fall(v, p, n - 1)

    @mt.real_func
    def add(a: mt.ref(mt.f32), b: mt.f32):
        a += b

    @mt.kernel
    def go() -> (mt.f32, mt.f32, mt.types.vector(2, mt.f32), Particle):
        a = 1.0
        b = 2.0
        swap(a, b)
        x[0] = 8.0
        swap(x[0], a)
        v = mt.Vector([5.0, 5.0])
        p = Particle(mass=0.0, velocity=[0, 0, 0])
        fall(v, p, 3)
        swap(v[0], m[1][0, 1])
        return a, b, v, p

    @mt.kernel
    def accumulate() -> mt.f32:
        for i in range(1000):
            add(x[i % 4], 1.0)
        s = 0.0
        for _ in range(10):
            add(s, 1.0)
        return s

    m[1] = [[1, 2], [3, 4]]
    a, b, v, p = go()
    assert (a, b, x[0], v.tolist(), p.mass) == (8.0, 1.0, 2.0, [2.0, 1.0], 10.0)
    assert m[1].tolist() == [[1, 5], [3, 4]]
    assert accumulate() == 10 and x.to_numpy().tolist() == [252.0, 250.0, 250.0, 250.0]


def test_arrays_and_fields_and_what_is_known_are_passed_as_they_are():
    f = mt.field(mt.f32, 8)
    g = mt.field(mt.f32, 8)

    @mt.real_func
    def total(a: mt.types.ndarray(), n: mt.i32) -> mt.f32:
        if n == 0:
            return 0.0
        return a[n - 1] + total(a, n - 1)

    @mt.real_func
    def fill(x: mt.template(), y: mt.template(), i: mt.i32, by: mt.template()):
        if i < 8:
            x[i] += by
            fill(y, x, i + 1, by)

    @mt.kernel
    def go(a: mt.types.ndarray(mt.f32, 1), b: mt.types.ndarray(mt.f32, 1)) -> mt.f32:
        fill(f, g, 0, 2)
        fill(f, f, 6, 0.5)
        return total(a, a.shape[0]) - total(b, b.shape[0])

    assert go(np.arange(5, dtype=np.float32), np.ones(2, np.float32)) == 8.0
    assert f.to_numpy().tolist() == [2, 0, 2, 0, 2, 0, 2.5, 0.5]
    assert g.to_numpy().tolist() == [0, 2, 0, 2, 0, 2, 0, 2]


def test_sparse_cells_are_read_and_activated_from_functions():
    x, y = mt.field(mt.f32), mt.field(mt.i32)
    mt.root.pointer(mt.i, 16).dense(mt.i, 8).place(x)
    mt.root.pointer(mt.i, 16).bitmasked(mt.i, 8).place(y)

    @mt.real_func
    def spread(i: mt.i32, depth: mt.i32):
        if depth > 0 and i < 128:
            x[i] += 1.0
            y[i] = y[i] + 2
            spread(2 * i + 1, depth - 1)
            spread(2 * i + 2, depth - 1)

    @mt.kernel
    def begin():
        spread(0, 4)

    @mt.kernel
    def grow():
        for i in x:
            if i == 7:
                spread(15, 2)
                spread(60, 1)

    @mt.kernel
    def neighbours() -> mt.f32:
        s = 0.0
        for i in x:
            s += x[i] * looked(i + 1)
        return s

    @mt.real_func
    def looked(i: mt.i32) -> mt.f32:
        return x[i] if i < 128 else 0.0

    begin()
    grow()
    counts = np.zeros(129, np.float32)
    counts[:15] += 1
    counts[[15, 31, 32, 60]] += 1
    assert x.to_numpy().tolist() == counts[:128].tolist()
    assert y.to_numpy().tolist() == (2 * counts[:128]).tolist()
    assert neighbours() == (counts[:-1] * counts[1:]).sum()


def test_cells_are_given_up_in_functions(context):
    """As where the function is inlined; slots can be had again when the task has ended."""
    builder = mt.types.SNodeTreeBuilder()
    node = builder.pointer(mt.i, 64, name="blocks")
    node.bitmasked(mt.i, 8, name="cells").place(a=mt.i32)
    node.dynamic(mt.j, 32, 4, name="list").place(b=mt.i32)
    tree_type = builder.build()

    def kernel_with(decorator):
        @decorator
        def shift(t: mt.template(), i: mt.i32, depth: mt.i32):
            value = t.a[i]
            mt.deactivate(t.cells, [i])
            if i % 8 == 0:
                mt.deactivate(t.blocks, [(i // 8 + 32) % 64])
            if i % 3 == 0 and value < 200:
                mt.deactivate(t.list, [i // 8])
                t.b[i // 8, value % 32] = value

        @mt.kernel
        def run(t: tree_type) -> mt.i32:
            for i in t.a:
                shift(t, i, 2)
                if i % 2 == 0:
                    t.a[i] = t.a[i] + 1000
            for i in range(256, 300):
                t.a[i] += i
            shift(t, 257, 0)
            t.a[257] += 5
            return mt.length(t.list, [1])

        return run

    results = []
    for decorator in (mt.func, mt.real_func):
        t, run = tree_type.new(capacity={"blocks": 40, "list": 200}), kernel_with(decorator)
        for i in range(0, 256, 5):
            t.a[i] = i
        lengths = [run(t) for _ in range(5)]
        results.append((lengths, t.a.to_numpy().tolist(), t.b.to_numpy().tolist(), [t.a.is_active(i) for i in range(512)]))
    assert results[0] == results[1]
    assert sum(results[1][3]) > 20


DRAWN = {}  # by the name of the test's context


def test_random_numbers_in_functions(context):
    @mt.real_func
    def fill(out: mt.types.ndarray(mt.u64, 2), i: mt.i32, k: mt.i32) -> mt.i32:
        for _ in range(1 + k % 2):
            out[i, k] = mt.random(mt.u64)
        n = k + 1
        if n < 12:
            out[i, n] = mt.random(mt.u64)
            n = fill(out, i, n + 1)
        return n

    @mt.real_func
    def plain(i: mt.i32) -> mt.i32:
        return i * 2

    @mt.kernel
    def draw(out: mt.types.ndarray(mt.u64, 2)):
        out[99, 15] = mt.random(mt.u64)
        fill(out, 99, 0)
        out[99, 14] = mt.random(mt.u64)
        for i in range(99):
            out[i, 15] = mt.random(mt.u64)
            n = fill(out, i, plain(0))
            for k in range(n, 15):
                out[i, k] = mt.random(mt.u64)
                if k == 13:
                    fill(out, i, 12)

    out = np.zeros((100, 16), np.uint64)
    draw(out)
    drawn = out[out > 0]
    assert drawn.size > 1400 and np.unique(drawn).size == drawn.size
    DRAWN[context] = out
    assert all(np.array_equal(out, other) for other in DRAWN.values())


def test_functions_walk_sparse_fields():
    x = mt.field(mt.i32)
    mt.root.pointer(mt.ij, 4).dense(mt.ij, 2).place(x, offset=(2, -4))

    @mt.real_func
    def heaviest(least: mt.i32) -> (mt.i32, mt.i32):
        for i, j in x:
            if x[i, j] >= least:
                return i, j
        return -99, -99

    @mt.real_func
    def total(depth: mt.i32) -> mt.i32:
        sum = 0
        for I in mt.grouped(x):
            sum += x[I]
            if depth > 0 and x[I] == 5:
                sum += total(depth - 1)
        return sum

    @mt.kernel
    def go(out: mt.types.ndarray(mt.i32, 1)) -> (mt.i32, mt.i32):
        for i in out:
            out[i] = total(i)
        return heaviest(4)

    for at, value in {(9, -4): 2, (5, 1): 4, (4, 3): 7, (3, -3): 5}.items():
        x[at] = value
    out = np.zeros(4, np.int32)
    assert tuple(go(out)) == (3, -3)
    assert out.tolist() == [18, 36, 54, 72]


def test_results_are_inferred_and_functions_may_end_without_one(context):
    @mt.real_func
    def halved(n: mt.i32):
        if n < 1:
            return 1.5
        return halved(n - 1) / 2

    @mt.real_func
    def first(n: mt.i32) -> mt.i32:
        for k in range(n):
            if k * k > 10:
                return k

    @mt.kernel
    def go(n: mt.i32) -> (mt.f32, mt.i32):
        return halved(3), first(n)

    assert go(10) == (1.5 / 8, 4)
    if context == "debug":
        with pytest.raises(mt.errors.AssertionError_, match="'first' ended without a return statement"):
            go(2)
    else:
        assert go(2) == (1.5 / 8, 0)


def test_depth_is_checked(context):
    @mt.real_func
    def down(n: mt.i32) -> mt.i32:
        return down(n + 1) + 1

    @mt.real_func
    def summed(n: mt.i32) -> mt.i32:
        if n == 0:
            return 0
        return n + summed(n - 1)

    @mt.kernel
    def fall(n: mt.i32) -> mt.i32:
        s = 0
        for _ in range(4):
            s += down(n)
        return s

    @mt.kernel
    def go(n: mt.i32) -> mt.i32:
        return summed(n)

    assert go(500) == 500 * 501 // 2
    if context == "cpu":
        assert go(20000) == 20000 * 20001 // 2
        return
    with pytest.raises(
        mt.errors.RuntimeError_, match=r"test_real_functions.py:\d+:5: kernel 'fall': 'down' is called inside itself"
    ):
        fall(0)
    assert go(500) == 500 * 501 // 2


def test_asserts_and_prints_in_functions(context, capfd):
    x = mt.field(mt.f32, 4)

    @mt.real_func
    def at(i: mt.i32) -> mt.f32:
        print("at", i)
        assert i < 3, f"i is {i}"
        return x[i]

    @mt.kernel
    def go(n: mt.i32) -> mt.f32:
        s = 0.0
        for i in range(n):
            s += at(i) + 1.0
        return s

    assert go(2) == 2.0
    assert sorted(capfd.readouterr().out.split("\n")) == ["", "at 0", "at 1"]
    if context == "debug":
        with pytest.raises(mt.errors.AssertionError_, match="assertion failed: i is 3"):
            go(4)


ERRORS = {
    "no_type(1)": "parameter 'x' of real_func 'no_type' has no annotation: expected a type",
    "early(3)": "'early' calls itself before a return statement says what it gives",
    "grown(4)": "'grown' calls itself 64 deep, each time for other arguments that are known while compiling",
    "changed(1.0)": "argument 'a' of 'changed': expected a variable or an element, got 1.0",
    "changed(n)": "argument 'a' of 'changed': expected a place of type f32, got a value of type i32",
    "both(v, v)": "argument 'b' of 'both': the variable is given to another parameter by reference already",
    "lists(1)": "result of 'lists': expected a scalar, vector, matrix or struct type or a tuple of them as annotation",
}


@mt.real_func
def no_type(x) -> mt.i32:
    return x


@mt.real_func
def early(n: mt.i32):
    return early(n - 1) + 1


@mt.real_func
def grown(n: mt.template()) -> mt.i32:
    return grown(n + 1)


@mt.real_func
def changed(a: mt.ref(mt.f32)) -> mt.i32:
    a += 2.0
    return 1


@mt.real_func
def both(a: mt.ref(mt.f32), b: mt.ref(mt.f32)) -> mt.i32:
    a += b
    return 1


@mt.real_func
def lists(n: mt.i32) -> mt.types.ndarray():
    return n


@pytest.mark.parametrize("call", ERRORS)
def test_errors(call, context):
    if context != "cpu":
        return
    text = f"def go() -> ti.f32:\n    n = 1\n    v = 2.0\n    return {call}\n"
    with pytest.raises(mt.CompilationError) as caught:
        kernel_of(text, globals())()
    assert caught.value.message.startswith(ERRORS[call]), caught.value.message
    assert caught.value.line and caught.value.column and caught.value.source


def kernel_of(text, names):
    """A kernel from its text."""
    from metate.kernel import attach_source

    file = f"<{text}>"
    attach_source(file, text)
    scope = {**names, "ti": mt}
    exec(compile(text, file, "exec"), scope)
    return mt.kernel(scope["go"])


def test_halves_go_in_and_come_out():
    @mt.real_func
    def scaled(x: mt.f16, v: mt.types.vector(3, mt.bf16), depth: mt.i32) -> mt.types.matrix(2, 3, mt.bf16):
        if depth > 0:
            return scaled(x * mt.f16(2), v, depth - 1)
        return mt.types.matrix(2, 3, mt.bf16)([v[0], v[1], v[2]], [mt.bf16(x), mt.bf16(1), mt.bf16(-3)])

    @mt.kernel
    def run(x: mt.f32) -> mt.types.matrix(2, 3, mt.f32):
        return mt.cast(scaled(mt.f16(x), mt.types.vector(3, mt.bf16)(0.5, -2, 4), 2), mt.f32)

    assert np.array(run(1.5)).tolist() == [[0.5, -2, 4], [6, 1, -3]]
    with mt.Context(opt_level=0):  # where no call goes away
        assert np.array(run(1.5)).tolist() == [[0.5, -2, 4], [6, 1, -3]]


@pytest.mark.parametrize("level", [0, 1, 2])
def test_truth_values_of_a_recursion(level):
    """LLVM 22 ends the process over vectors of them in mask registers, where it optimises nothing."""

    @mt.real_func
    def both(n: mt.i32, half: mt.f16) -> mt.types.vector(2, mt.u1):
        if n > 0:
            return both(n - 1, mt.f16(1.0))
        return mt.types.vector(2, mt.u1)(half > 0, n < 0)

    @mt.kernel
    def run(out: mt.types.ndarray(dtype=mt.i32, ndim=2)):
        for i in range(2):
            found = both(i, mt.f16(0.0))
            out[i, 0], out[i, 1] = mt.cast(found[0], mt.i32), mt.cast(found[1], mt.i32)

    out = np.full((2, 2), 7, np.int32)
    with mt.Context(opt_level=level):
        run(out)
    np.testing.assert_array_equal(out, [[0, 0], [1, 0]])
