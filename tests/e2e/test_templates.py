"""template() over fields, values, functions, types, objects, trees and arrays: what is compiled when, and why."""

import enum
import gc
import weakref

import numpy as np
import pytest

import metate as mt


def test_the_life_of_a_kernel():
    """Nothing is compiled at decoration; one instance for all scalars; another field of another shape, another one."""

    @mt.kernel
    def add(field: mt.template(), delta: mt.i32):
        for i in field:
            field[i] += delta

    assert add.instances() == []
    x, y = mt.field(mt.i32, shape=4), mt.field(mt.i32, shape=(8,))
    add(x, 42)
    add(x, 1)
    (first,) = add.instances()
    assert (first.signature, first.hits, first.reason) == ("add(field: field(i32, (4,)), delta: i32)", 2, "first call")
    assert first.compile_ms > 0
    add(y, 1)
    _, second = add.instances()
    assert (second.signature, second.hits) == ("add(field: field(i32, (8,)), delta: i32)", 1)
    assert second.reason == "field: field(i32, (8,)) instead of field(i32, (4,))"
    z = mt.field(mt.i32, shape=4)
    add(z, 5)  # of x's type: nothing new
    assert [one.hits for one in add.instances()] == [3, 1]
    for field, value in ((x, 43), (y, 1), (z, 5)):
        np.testing.assert_array_equal(field.to_numpy(), np.full(field.shape, value))


def test_fields_of_all_kinds(rng):
    @mt.kernel
    def copy(src: mt.template(), dst: mt.template()):
        for I in mt.grouped(src):
            dst[I] = src[I]

    a = rng.uniform(-1, 1, (3, 4)).astype(np.float32)
    x, y = mt.field(mt.f32, shape=(3, 4)), mt.field(mt.f64, shape=(3, 4))
    x.from_numpy(a)
    copy(x, y)
    np.testing.assert_array_equal(y.to_numpy(), a.astype(np.float64))
    v = [mt.Vector.field(2, mt.f32, shape=5, layout=layout) for layout in (mt.Layout.AOS, mt.Layout.SOA)]
    b = rng.uniform(-1, 1, (5, 2)).astype(np.float32)
    v[0].from_numpy(b)
    copy(v[0], v[1])
    np.testing.assert_array_equal(v[1].to_numpy(), b)
    copy(x, x)  # one field twice: one hidden argument
    assert len(copy.instances()) == 3
    np.testing.assert_array_equal(x.to_numpy(), a)


def test_values_are_known_while_compiling():
    @mt.kernel
    def add(n: mt.template(), x: mt.i32) -> mt.i32:
        s = x
        for k in mt.static(range(n)):
            s += k
        return s

    assert [add(4, 1), add(4, 2), add(3, 2), add(4, 5)] == [7, 8, 5, 11]
    assert [(one.hits, one.reason) for one in add.instances()] == [(3, "first call"), (1, "n: 3 instead of 4")]


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


def test_values_that_python_calls_equal_are_told_apart():
    @mt.kernel
    def kind(v: mt.template()) -> mt.i32:
        result = 0
        if mt.static(v is None):
            result = 1
        elif mt.static(isinstance(v, bool)):
            result = 2
        elif mt.static(isinstance(v, int)):
            result = 3
        elif mt.static(isinstance(v, float)):
            result = 4
        elif mt.static(isinstance(v, str)):
            result = 5
        elif mt.static(v is Mode.SLOW):
            result = 6
        elif mt.static(isinstance(v, tuple)):
            result = 10 + len(v)
        elif mt.static(v is mt.f64):
            result = 7
        return result

    values = [None, True, 1, 1.0, "1", Mode.SLOW, (1, 2), mt.f64, Mode.FAST]
    expected = [1, 2, 3, 4, 5, 6, 12, 7, 0]
    for _ in range(2):
        assert [kind(v) for v in values] == expected
    assert [one.hits for one in kind.instances()] == [2] * 9

    @mt.kernel
    def sign(v: mt.template()) -> mt.f32:
        return mt.static(np.copysign(1.0, v))

    assert [sign(0.0), sign(-0.0), sign(0.0)] == [1, -1, 1]


def test_tuples_and_lists_by_what_is_in_them():
    @mt.kernel
    def total(v: mt.template()) -> mt.f32:
        s = 0.0
        for x in mt.static(v):
            s += x
        return s

    assert [total((1, 2)), total(tuple([1, 2])), total((1.0, 2))] == [3, 3, 3]
    assert [one.hits for one in total.instances()] == [2, 1]
    data = [1, 2, 3]
    assert total(data) == 6
    data.append(4)
    assert total(data) == 10
    assert total([1, 2, 3]) == 6
    assert [one.hits for one in total.instances()] == [2, 1, 2, 1]


def test_types_as_arguments():
    @mt.kernel
    def cast(v: mt.f32, dtype: mt.template()) -> mt.f32:
        return mt.cast(v, dtype) / 2.0

    assert [cast(3.7, mt.i32), cast(3.5, mt.f32), cast(-2.9, mt.i32)] == [1.5, 1.75, -1.0]
    assert len(cast.instances()) == 2

    @mt.kernel
    def filled(v: mt.f32, type_: mt.template()) -> mt.f32:
        return type_(v).sum()

    assert [filled(2.0, mt.types.vector(3, mt.f32)), filled(2.0, mt.types.vector(3, mt.f32))] == [6, 6]
    assert filled(2.0, mt.types.vector(4, mt.f32)) == 8
    assert [one.hits for one in filled.instances()] == [2, 1]


def test_functions_as_arguments():
    @mt.func
    def double(x):
        return 2 * x

    @mt.func
    def square(x):
        return x * x

    @mt.kernel
    def apply(f: mt.template(), x: mt.f32) -> mt.f32:
        return f(x)

    assert [apply(double, 3.0), apply(square, 3.0), apply(double, 5.0)] == [6, 9, 10]
    assert [one.hits for one in apply.instances()] == [2, 1]
    assert "square instead of double" in apply.instances()[1].reason.replace("'", "").replace(
        "test_functions_as_arguments.<locals>.", ""
    )


def plus(by):
    return lambda v: v + by


def test_a_lambda_is_its_code():
    @mt.kernel
    def apply(f: mt.template(), x: mt.f32) -> mt.f32:
        return f(x)

    results = []
    for x in (1.0, 2.0, 3.0):
        results.append(apply(lambda v: v * 3.0, x))
    assert results == [3, 6, 9]
    assert [one.hits for one in apply.instances()] == [3]
    assert [apply(plus(by), 1.0) for by in (1, 2, 1)] == [2, 3, 2]  # and the numbers that it closes over
    assert [one.hits for one in apply.instances()] == [3, 2, 1]


def test_trees_and_arrays(rng):
    T = mt.SNodeTreeBuilder().dense(mt.i, 6).place(a=mt.f32).build()
    a = rng.uniform(-1, 1, 6).astype(np.float32)

    @mt.kernel
    def double(x: mt.template(), n: mt.template()):
        for i in range(n):
            if mt.static(n == 6):
                x[i] *= 2.0

    array, tree, field = a.copy(), T.new(), mt.field(mt.f32, shape=6)
    for i in range(6):
        tree[i].a = a[i]
    field.from_numpy(a)
    for thing in (array, tree, field, array):
        double(thing, 6)
    np.testing.assert_array_equal(array, 4 * a)
    np.testing.assert_array_equal(tree.a.to_numpy(), 2 * a)
    np.testing.assert_array_equal(field.to_numpy(), 2 * a)
    assert [one.hits for one in double.instances()] == [2, 1, 1]


class Parameters:
    """Of no decorated class: a bag of values."""

    def __init__(self, n, scale, x=None):
        self.n = n
        self.scale = scale
        self.x = x


def test_objects_are_looked_into(rng):
    @mt.kernel
    def go(p: mt.template()) -> mt.f32:
        s = 0.0
        for i in range(p.n):
            p.x[i] = i * p.scale
            s += p.x[i]
        return s

    p, q = (Parameters(4, 2.0, mt.field(mt.f32, shape=4)) for _ in range(2))
    assert [go(p), go(q), go(p)] == [12, 12, 12]
    assert [one.hits for one in go.instances()] == [3]
    p.scale = 3.0
    assert [go(p), go(q)] == [18, 12]
    assert [(one.hits, one.reason) for one in go.instances()] == [(4, "first call"), (1, "p.scale: 3.0")]
    q.unused = 1
    p.x = mt.field(mt.f32, shape=4)  # the new field, not the old one
    assert go(p) == 18 and go(q) == 12
    np.testing.assert_array_equal(p.x.to_numpy(), np.arange(4) * 3)
    assert len(go.instances()) == 2


def test_arrays_of_objects(rng):
    weights = rng.uniform(-1, 1, 3).astype(np.float32)
    p = Parameters(3, weights)

    @mt.kernel
    def total(p: mt.template()) -> mt.f32:
        s = 0.0
        for k in mt.static(range(p.n)):
            s += p.scale[k]
        return s

    assert total(p) == pytest.approx(float(weights.sum()), rel=1e-5)
    weights[1] += 1
    assert total(p) == pytest.approx(float(weights.sum()), rel=1e-5)
    assert len(total.instances()) == 2
    p.scale = weights.copy()
    total(p)
    assert [one.hits for one in total.instances()] == [1, 2]
    p.scale = rng.uniform(-1, 1, 5000).astype(np.float32)  # of a large one, what is read counts
    total(p)
    p.scale[4000] += 1
    total(p)
    assert [one.hits for one in total.instances()] == [1, 2, 2]
    p.scale[2] += 1
    assert total(p) == pytest.approx(float(p.scale[:3].sum()), rel=1e-5)
    assert [one.hits for one in total.instances()] == [1, 2, 2, 1]


def test_arguments_are_not_kept(rng):
    @mt.kernel
    def go(p: mt.template(), f: mt.template()):
        for i in f:
            f[i] = p.n

    p, f = Parameters(4, 1.0), mt.field(mt.i32, shape=4)
    go(p, f)
    references = [weakref.ref(p), weakref.ref(f), weakref.ref(f._tree)]
    del p, f
    gc.collect()
    assert [reference() for reference in references] == [None, None, None]
    for _ in range(300):  # and what was remembered of them goes
        go(Parameters(4, 1.0), mt.field(mt.i32, shape=4))
    assert len(go.instances()) == 1 and go.instances()[0].hits == 301


def test_templates_of_functions(rng):
    @mt.func
    def swap(a: mt.template, b: mt.template()):
        c = a
        a = b
        b = c

    x = mt.field(mt.i32, shape=2)

    @mt.kernel
    def go() -> mt.i32:
        u = 3
        v = 4
        swap(u, v)
        x[0] = 5
        x[1] = 6
        swap(x[0], x[1])
        return 10 * u + v

    assert go() == 43
    np.testing.assert_array_equal(x.to_numpy(), [6, 5])


def test_template_without_a_call():
    @mt.kernel
    def fill(x: mt.template, v: mt.i32):
        for i in x:
            x[i] = v

    x = mt.field(mt.i32, shape=3)
    fill(x, 2)
    fill(v=3, x=x)
    np.testing.assert_array_equal(x.to_numpy(), [3, 3, 3])


def test_errors_say_what_was_given():
    @mt.kernel
    def go(x: mt.template()):
        for i in x:
            x[i] = 1

    with pytest.raises(
        mt.CompilationError, match=r"test_templates.py:\d+:18: expected a range, a tree or an array to loop over, got 3"
    ):
        go(3)

    @mt.kernel
    def first(x: mt.template()):
        x[0] = 1

    for wrong, text in (
        (3, "expected something with elements, got 3"),
        (int, "expected something with elements, got 'int'"),
        ([1], "this would change a list from outside the kernel"),
        ({0: 1}, "this would change a dict from outside the kernel"),
        ((1,), "expected a place that can be assigned, got 1"),
        (mt.field(mt.f32, shape=(2, 2)), "wrong number of indices: expected 2 indices for field 'x'"),
    ):
        with pytest.raises(mt.CompilationError, match=rf"test_templates.py:\d+:\d+: {text}"):
            first(wrong)

    @mt.kernel
    def append(x: mt.template()):
        x.append(1)

    @mt.kernel
    def array(x: mt.types.ndarray()):
        pass

    data = [1]
    with pytest.raises(mt.CompilationError, match="'append' would change a list from outside the kernel"):
        append(data)
    assert data == [1]
    with pytest.raises(
        mt.errors.RuntimeTypeError_, match=r"expected an array, got .*Field; annotate it with template\(\) for fields"
    ):
        array(mt.field(mt.f32, shape=2))
    with pytest.raises(mt.errors.RuntimeTypeError_, match="missing a required argument: 'x'"):
        go()


def test_functions_for_python_too():
    @mt.pyfunc
    def clamped(x, low=0.0):
        return mt.max(x, low)

    @mt.kernel
    def go(x: mt.f32) -> mt.f32:
        return clamped(x) + clamped(x, low=-1.0)

    assert go(-3.0) == clamped(-3.0) + clamped(-3.0, low=-1.0) == -1.0


def test_real_functions():
    @mt.real_func
    def sign(x: mt.f32) -> mt.i32:
        if x < 0:
            return -1
        x = 2.0 * x
        return mt.i32(x > 0)

    @mt.kernel
    def go(x: mt.f32) -> mt.i32:
        return sign(x)

    assert [go(-2.0), go(0.0), go(7.0)] == [-1, 0, 1]


def test_a_value_that_is_no_constant_is_warned_of():
    p = Parameters(0, 1.0)

    @mt.kernel
    def go(p: mt.template()) -> mt.i32:
        return p.n

    for n in range(15):
        p.n = n
        assert go(p) == n
    p.n = 15
    with pytest.warns(UserWarning, match="kernel 'go' was compiled 16 times for one kind of arguments, now because of p.n: 15"):
        assert go(p) == 15
    p.n = 3
    assert go(p) == 3 and len(go.instances()) == 16


def test_structs_of_values_in_objects():
    p = Parameters(mt.Struct(a=1, b=mt.Struct(c=2.5)), 1.0)

    @mt.kernel
    def go(p: mt.template()) -> mt.f32:
        return p.n.a + p.n.b.c

    assert [go(p), go(p)] == [3.5, 3.5]
    p.n.b.c = 4.5
    assert go(p) == 5.5
    assert [one.hits for one in go.instances()] == [2, 1]


def test_vectors_of_objects():
    p = Parameters(mt.Vector([1.0, 2.0]), 1.0)

    @mt.kernel
    def go(p: mt.template()) -> mt.f32:
        return p.n.sum() * p.n[1]

    assert [go(p), go(p)] == [6, 6]
    p.n[0] = 2.0
    assert go(p) == 8
    p.n = mt.Vector([1.0, 2.0])
    assert go(p) == 6
    assert [one.hits for one in go.instances()] == [3, 1]


def test_an_soa_element_and_a_swizzle_given_to_a_template_are_assigned():
    v = mt.Vector.field(3, mt.i32, shape=4, layout=mt.Layout.SOA)

    @mt.func
    def put(p: mt.template(), x):
        p = x
        p[1] += 1
        p *= 2

    @mt.func
    def clear(p: mt.template()):
        p = 0  # noqa: F841

    @mt.kernel
    def run() -> mt.types.vector(3, mt.i32):
        for i in range(4):
            put(v[i], mt.Vector([i, i + 1, i + 2]))
        clear(v[0])
        a = mt.Vector([1, 2, 3])
        put(a.zyx, mt.Vector([7, 8, 9]))
        return a

    assert run().tolist() == [18, 18, 14]
    assert v.to_numpy().tolist() == [[0, 0, 0], *([2 * i, 2 * i + 4, 2 * i + 4] for i in range(1, 4))]
