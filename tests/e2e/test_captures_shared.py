"""One object that a kernel reaches on several ways: code made for it is not used where these lead to different ones."""

import pytest
import seeded

import metate as mt


@pytest.fixture
def fields():
    rng = seeded.generator("fields")
    arrays = [rng.integers(1, 50, 5) for _ in range(2)]
    made = []
    for array in arrays:
        made.append(mt.field(mt.i64, shape=5))
        made[-1].from_numpy(array)
    return (*made, *arrays)


def test_two_templates(fields):
    p, q, a, b = fields

    @mt.kernel
    def dot(one: mt.template(), other: mt.template()) -> mt.i64:
        s = mt.cast(0, mt.i64)
        for i in one:
            s += one[i] * other[i]
        return s

    assert [dot(p, p), dot(p, q), dot(q, p), dot(q, q)] == [(a * a).sum(), (a * b).sum(), (a * b).sum(), (b * b).sum()]
    assert [one.reason for one in dot.instances()] == ["first call", "one and other are not the same"]


def test_a_template_and_a_global(fields):
    p, q, a, b = fields

    @mt.kernel
    def dot(one: mt.template()) -> mt.i64:
        s = mt.cast(0, mt.i64)
        for i in one:
            s += one[i] * p[i]
        return s

    assert [dot(p), dot(q), dot(p)] == [(a * a).sum(), (a * b).sum(), (a * a).sum()]
    assert [one.reason for one in dot.instances()] == ["first call", "one is not what the kernel also uses from outside"]


def test_a_container_and_a_container_from_outside(fields):
    p, q, a, b = fields
    both = {"p": [p], "q": (q,)}

    @mt.kernel
    def product(pair: mt.template()) -> mt.i64:
        s = mt.cast(0, mt.i64)
        for i in p:
            s += pair[0][i] * pair[1][i] * both["p"][0][i] * both["q"][0][i]
        return s

    for pair, expected in (((p, p), a * a), ((p, q), a * b), ((q, q), b * b), ((q, p), a * b)):
        assert product(pair) == (expected * a * b).sum()


def test_attributes_of_objects(fields):
    p, q, a, b = fields

    @mt.data_oriented
    class Pair:
        def __init__(self, one, other):
            self.one, self.other = one, other

        @mt.kernel
        def product(self) -> mt.i64:
            s = mt.cast(0, mt.i64)
            for i in self.one:
                s += self.one[i] * self.other[i] * p[i]
            return s

    for one, x in ((p, a), (q, b)):
        for other, y in ((p, a), (q, b)):
            assert Pair(one, other).product() == (x * y * a).sum()


def test_objects_that_are_given_twice():
    @mt.data_oriented
    class Thing:
        def __init__(self, n):
            self.n = n

    one, other = Thing(2), Thing(3)

    @mt.kernel
    def numbers(x: mt.template(), y: mt.template()) -> mt.i32:
        return x.n * 100 + y.n * 10 + one.n

    assert [numbers(x, y) for x in (one, other) for y in (one, other)] == [222, 232, 322, 332]
