"""What decides while compiling, and what `and` and `or` give."""

import numpy as np
import pytest

import metate as ti

USE_GRAVITY, COUNT = 0, np.int32(3)


def test_numbers_decide_while_compiling():
    """The branch that is not taken is not compiled: its names need not exist."""

    @ti.kernel
    def run() -> ti.i32:
        r = 1
        if ti.static(USE_GRAVITY):
            r = gravity_table[0]  # noqa: F821
        if USE_GRAVITY:
            r = gravity_table[0]  # noqa: F821
        if ti.static(not COUNT):
            r = gravity_table[0]  # noqa: F821
        r += 10 if COUNT else gravity_table[0]  # noqa: F821
        if ti.static("") or ti.static([]) or (USE_GRAVITY and gravity_table[0]):  # noqa: F821
            r = gravity_table[0]  # noqa: F821
        return r

    assert run() == 11


def test_conditions_of_unrolled_loops():
    @ti.kernel
    def run() -> ti.types.vector(3, ti.i32):
        a, b, c = 0, 0, 0
        for k in ti.static(range(6)):
            if ti.static(k % 2):
                continue
            a += k
        for I in ti.static(ti.grouped(ti.ndrange(3, 3))):
            if ti.static(I[0] >= 1):
                b += 1
        for k in ti.static([k for k in range(7) if k % 2]):
            c += k
        return ti.Vector([a, b, c])

    assert run().tolist() == [6, 6, 9]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a % b or b", lambda a, b: a % b or b),
        ("a and b", lambda a, b: a and b),
        ("a - 5 or b - 5 or 7", lambda a, b: a - 5 or b - 5 or 7),
        ("b and a and 3", lambda a, b: b and a and 3),
        ("(a > b) and 9", lambda a, b: (a > b) and 9),
        ("(a > b) or (b == 5)", lambda a, b: (a > b) or (b == 5)),
        ("0 or a", lambda a, b: a),
        ("4 and b", lambda a, b: b),
        ("USE_GRAVITY or 12", lambda a, b: 12),
        ("not a - 5 or 12", lambda a, b: not a - 5 or 12),
    ],
)
def test_and_and_or_give_the_operand_that_decides(text, expected):
    run = _defined(f"@ti.kernel\ndef run(a: ti.i32, b: ti.i32) -> ti.i32:\n    return {text}\n")
    for a, b in ((7, 5), (10, 5), (5, 5), (0, 3), (5, 7)):
        assert run(a, b) == int(expected(a, b)), (a, b)


def test_a_variable_has_the_operands_type():
    @ti.kernel
    def run(a: ti.i32) -> ti.i32:
        c = a or 1
        c += 5
        return c

    assert (run(0), run(4)) == (6, 9)


def test_the_right_operand_is_evaluated_where_it_is_needed():
    x = np.array([4, 5], np.int32)

    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.i32, ndim=1), n: ti.i32) -> ti.i32:
        return n and ti.atomic_add(x[0], 1)

    assert (run(x, 0), x.tolist()) == (0, [4, 5])
    assert (run(x, 2), x.tolist()) == (4, [5, 5])


def test_floats_are_conditions_but_no_operands():
    @ti.kernel
    def count(x: ti.f32, y: ti.f32) -> ti.i32:
        n = 0
        if x and y:
            n += 1
        if not (x or y):
            n += 2
        while n < 5 and (x or n):
            n += 10
        return n

    assert [count(*pair) for pair in ((1, 0.5), (1, 0), (0, 0))] == [11, 10, 12]
    run = _defined("@ti.kernel\ndef run(x: ti.f32, y: ti.f32) -> ti.f32:\n    return x or y\n")
    with pytest.raises(ti.TypeError_, match="operand of 'or': expected an integer or a truth value, got f32") as caught:
        run(1.0, 2.0)
    assert "a if x != 0.0 else b" in str(caught.value)


def test_dependent_loops_over_fields_under_constants_run_in_order():
    x, leaves = ti.field(ti.f64, shape=(3, 4)), ti.field(ti.f64)
    ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(leaves)
    x.from_numpy(np.arange(12.0).reshape(3, 4))

    @ti.kernel
    def filtered() -> ti.f64:
        s = 0.0
        if ti.static(not USE_GRAVITY):
            for i, j in x:
                s = s * 0.5 + x[i, j]
        return s

    expected = 0.0
    for value in range(12):
        expected = expected * 0.5 + value
    assert filtered() == expected

    @ti.kernel
    def sparse() -> ti.f64:
        s = 0.0
        if ti.static(not USE_GRAVITY):
            for i in leaves:
                s = s * 0.5 + leaves[i]
        return s

    for i in range(4, 8):  # one leaf
        leaves[i] = i
    assert sparse() == ((4 * 0.5 + 5) * 0.5 + 6) * 0.5 + 7


def test_and_or_not_of_vectors_go_by_components(rng):
    @ti.kernel
    def run(v: ti.math.ivec3, w: ti.math.vec3, n: ti.i32) -> ti.math.ivec3:
        mixed = (v or w) and n
        return ti.cast(mixed, ti.i32) * 100 + ti.cast(n or v, ti.i32) * 10 + ti.cast(not v, ti.i32)

    @ti.kernel
    def inside(p: ti.types.matrix(2, 2, ti.f32)) -> ti.i32:
        return all(p > -0.5 and p < 0.5) + 2 * any(not (p > 0.0))

    for _ in range(10):
        v, n = rng.integers(0, 2, 3), int(rng.integers(0, 2))
        w, p = rng.integers(0, 2, 3) * 0.5, rng.uniform(-0.7, 0.7, (2, 2)) * rng.integers(0, 2, (2, 2))
        mixed, either = np.logical_and(np.logical_or(v, w), n), np.logical_or(v, n)
        assert run(v, w, n).tolist() == (mixed * 100 + either * 10 + np.logical_not(v)).tolist()
        assert inside(p) == np.all((p > -0.5) & (p < 0.5)) + 2 * np.any(~(p.astype(np.float32) > 0))

    @ti.kernel
    def branch(v: ti.math.ivec3) -> ti.i32:
        r = 0
        if not v:
            r = 1
        return r

    with pytest.raises(ti.TypeError_, match=r"expected a scalar condition, got vector\(3, u1\)"):
        branch(ti.math.ivec3(0))


def _defined(source):
    scope = dict(globals())
    file = f"<truth {abs(hash(source))}>"
    ti.attach_source(file, source)
    exec(compile(source, file, "exec"), scope)
    return scope["run"]
