"""What code learns of objects while it is compiled is what it is compiled for: containers, methods, classes, whole arrays."""

import collections

import numpy as np
import pytest
import seeded

import metate as mt


class Count(int):
    pass


class Text(str):
    pass


@mt.kernel
def unrolled(items: mt.template()) -> mt.i32:
    total = 0
    for item in mt.static(items):
        total += item + 1
    return total


@pytest.mark.parametrize("kind", [set, frozenset, collections.deque, list, tuple])
def test_containers_are_told_apart_by_their_elements(kind):
    for items in ([1, 2], [4], [7], [1, 2, 3]):
        assert unrolled(kind(items)) == sum(items) + len(items)


def test_ranges_are_told_apart():
    assert [unrolled(range(n)) for n in (3, 5, 2)] == [6, 15, 3]
    assert [unrolled(range(0, 6, step)) for step in (2, 3)] == [9, 5]


def test_a_container_that_grows_is_looked_at_anew():
    items = collections.deque([1])
    assert unrolled(items) == 2
    items.append(5)
    assert unrolled(items) == 8
    held = {1}
    assert unrolled(held) == 2
    held.add(9)
    assert unrolled(held) == 12


def test_subclasses_of_numbers_and_texts_are_told_apart():
    @mt.kernel
    def next_of(n: mt.template()) -> mt.i32:
        return n + 1

    @mt.kernel
    def is_a(text: mt.template()) -> mt.i32:
        return mt.static(1 if text == "a" else 0)

    assert [next_of(Count(n)) for n in (3, 5, 3)] == [4, 6, 4]
    assert [is_a(Text(text)) for text in "aba"] == [1, 0, 1]


@mt.data_oriented
class Operations:
    def __init__(self, n):
        self.n = n
        self.chosen = self.add

    @mt.func
    def add(self, a, b):
        return a + b + self.n

    @mt.func
    def subtract(self, a, b):
        return a - b

    @mt.kernel
    def run(self) -> mt.i32:
        return self.chosen(7, 3)


def test_methods_are_told_apart_and_looked_into():
    @mt.kernel
    def apply(operation: mt.template()) -> mt.i32:
        return operation(7, 3)

    one, other = Operations(0), Operations(5)
    assert [apply(one.add), apply(one.subtract), apply(other.add)] == [10, 4, 15]
    one.n = 1
    assert [apply(one.add), one.run()] == [11, 11]
    one.chosen = one.subtract
    assert one.run() == 4


def test_an_object_may_hide_a_method_of_its_class():
    @mt.func
    def product(a, b):
        return a * b

    class Hiding(Operations):
        @mt.kernel
        def both(self) -> mt.i32:
            return self.add(7, 3)

    plain, hiding = Hiding(0), Hiding(0)
    hiding.add = product
    assert [plain.both(), hiding.both(), plain.both(), Hiding(0).both()] == [10, 21, 10, 10]


def test_values_of_a_class_may_change():
    @mt.data_oriented
    class Simulation:
        gravity = mt.Vector([1.0, 2.0])
        kind = mt.i32

        @mt.kernel
        def pull(self) -> mt.f32:
            return self.gravity[1]

        @mt.kernel
        def rounded(self) -> mt.f32:
            return mt.cast(2.5, self.kind)

    simulation = Simulation()
    assert (simulation.pull(), simulation.rounded()) == (2.0, 2.0)
    Simulation.gravity = mt.Vector([1.0, 5.0])
    Simulation.kind = mt.f32
    assert (simulation.pull(), simulation.rounded()) == (5.0, 2.5)
    Simulation.gravity[1] = 7.0
    assert simulation.pull() == 7.0
    simulation.gravity = mt.Vector([0.0, 9.0])  # hides the class's
    assert simulation.pull() == 9.0


def test_objects_that_make_up_their_elements():
    class Row:
        def __init__(self, n):
            self.n = n

        def __getitem__(self, k):
            return self.n + k

        def __len__(self):
            return self.n

    @mt.kernel
    def both(row: mt.template()) -> mt.i32:
        return row[1] * 100 + mt.static(len(row))

    assert [both(Row(n)) for n in (3, 8)] == [403, 908]


def test_whole_arrays_that_python_saw():
    rng = seeded.generator("test_whole_arrays_that_python_saw")

    @mt.kernel
    def total(w: mt.types.ndarray(), of: mt.template()) -> mt.f64:
        return w[0] * mt.static(float(of.table.sum())) + mt.static(sum(of.table))

    class Holder:
        table = None

    held, one = Holder(), np.ones(1)
    for _ in range(3):
        held.table = rng.integers(0, 100, 200).astype(np.float64)
        assert total(one, held) == 2 * held.table.sum()
        held.table[7] += 1000
        assert total(one, held) == 2 * held.table.sum()


def test_attributes_that_come_later():
    @mt.kernel
    def late(of: mt.template()) -> mt.i32:
        return mt.static(10 if hasattr(of, "late") else 0) + mt.static(getattr(of, "late", 0))

    class Holder:
        pass

    held = Holder()
    assert late(held) == 0
    for number in (4, 6):
        held.late = number
        assert late(held) == 10 + number
    del held.late
    assert late(held) == 0
