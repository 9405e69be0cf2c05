"""Data-oriented classes: kernels and functions as methods, what of an object is compiled in, and that objects die."""

import copy
import gc
import inspect
import pickle
import weakref

import numpy as np
import pytest

import metate as mt


@mt.data_oriented
class Solver:
    gravity = 2

    def __init__(self, n, dt=0.5):
        self.n = n
        self.dt = dt
        self.x = mt.field(mt.f32, shape=n)
        self.v = mt.Vector.field(2, mt.f32, shape=n)

    @mt.func
    def force(self, i):
        return self.gravity * self.dt + i

    @mt.kernel
    def step(self, scale: mt.f32):
        for i in self.x:
            self.x[i] += scale * self.force(i)
            self.v[i].y = self.x[i]

    @mt.kernel
    def total(self) -> mt.f32:
        s = 0.0
        for i in range(self.n):
            s += self.x[i]
        return s

    @property
    def half(self):
        return self.n // 2

    @staticmethod
    @mt.func
    def cube(x):
        return x * x * x

    @mt.kernel
    def use(self) -> mt.f32:
        return self.cube(self.half) + self.label()

    def label(self):
        return 0

    label = mt.func(label)


def test_a_hundred_objects_compile_once(rng):
    solvers = [Solver(6) for _ in range(100)]
    scales = rng.uniform(1, 2, 100).astype(np.float32)
    for solver, scale in zip(solvers, scales):
        solver.step(scale)
    assert [one.hits for one in Solver.step.instances() if one.hits >= 100] == [100]
    for solver, scale in zip(solvers, scales):
        np.testing.assert_allclose(solver.x.to_numpy(), scale * (1 + np.arange(6)), rtol=1e-6)
        assert solver.total() == pytest.approx(float(solver.x.to_numpy().sum()), rel=1e-5)
    for solver in reversed(solvers):
        solver.step(1.0)
    assert sum(one.hits for one in Solver.step.instances()) >= 200
    assert len({one.signature for one in Solver.step.instances()}) == len(Solver.step.instances())


def test_a_value_that_changes_compiles_anew():
    @mt.data_oriented
    class Counter:
        def __init__(self, n):
            self.n = n
            self.other = n
            self.x = mt.field(mt.i32, shape=())

        @mt.kernel
        def add(self):
            self.x[None] += self.n

    a, b = Counter(3), Counter(3)
    for one in (a, b, a):
        one.add()
    assert (a.x[None], b.x[None]) == (6, 3)
    a.other = 5  # not read
    a.add()
    assert [one.hits for one in Counter.add.instances()] == [4]
    a.n = 10
    a.add()
    b.add()
    assert (a.x[None], b.x[None]) == (19, 6)
    assert [(one.hits, one.reason) for one in Counter.add.instances()] == [(5, "first call"), (1, "self.n: 10")]
    a.n = 3
    a.add()
    assert a.x[None] == 22 and len(Counter.add.instances()) == 2


def test_class_attributes_properties_and_static_methods():
    solver = Solver(6)
    assert solver.use() == 27
    solver.n = 8
    assert solver.use() == 64
    before = Solver.gravity
    try:
        solver.step(1.0)
        Solver.gravity = 10
        solver.step(1.0)
    finally:
        Solver.gravity = before
    np.testing.assert_allclose(solver.x.to_numpy(), (1 + np.arange(6)) + (5 + np.arange(6)))


def test_inheritance():
    class Base(Solver):
        pass

    class Derived(Base):
        gravity = 4

        def __init__(self, n):
            super().__init__(n)
            self.extra = mt.field(mt.f32, shape=n)

        @mt.func
        def force(self, i):
            return super().force(i) + 100

        @mt.kernel
        def step(self, scale: mt.f32):
            for i in self.x:
                self.x[i] = self.force(i) * scale
                self.extra[i] = 1.0

    base, derived = Base(3), Derived(3)
    base.step(2.0)
    derived.step(2.0)
    np.testing.assert_allclose(base.x.to_numpy(), 2 * (1 + np.arange(3)))
    np.testing.assert_allclose(derived.x.to_numpy(), 2 * (102 + np.arange(3)))
    np.testing.assert_allclose(derived.extra.to_numpy(), 1)
    assert Derived.step is not Base.step and Base.step is Solver.step
    Solver.step(derived, 1.0)  # the overridden one, of another class' object
    np.testing.assert_allclose(derived.x.to_numpy(), 2 * (102 + np.arange(3)) + 102 + np.arange(3))


def test_objects_in_objects():
    @mt.data_oriented
    class Grid:
        def __init__(self, n):
            self.n = n
            self.cells = mt.field(mt.i32, shape=n)

        @mt.func
        def put(self, i, v):
            self.cells[i] += v + self.n

    @mt.data_oriented
    class Simulation:
        def __init__(self, grid, more=()):
            self.grid = grid
            self.more = list(more)
            self.table = {"scale": 2}

        @mt.kernel
        def run(self):
            for i in self.grid.cells:
                self.grid.put(i, self.table["scale"])
            for k in mt.static(range(len(self.more))):
                self.more[k].put(0, 1000)

    grids = [Grid(4) for _ in range(4)]
    one, two = Simulation(grids[0], [grids[2]]), Simulation(grids[1], [grids[3]])
    for simulation in (one, two, one):
        simulation.run()
    assert [g.cells.to_numpy().tolist() for g in grids] == [[12] * 4, [6] * 4, [2008, 0, 0, 0], [1004, 0, 0, 0]]
    assert [i.hits for i in Simulation.run.instances()] == [3]
    one.grid = grids[3]  # another object of the same kind: its fields
    one.run()
    assert grids[3].cells.to_numpy().tolist() == [1010, 6, 6, 6]
    one.table["scale"] = 5
    one.run()
    assert grids[3].cells.to_numpy().tolist() == [1019, 15, 15, 15]
    one.more.append(grids[0])
    one.run()
    assert grids[0].cells[0] == 1016
    shared = Simulation(grids[0], [grids[0]])  # two fields of one tree
    shared.run()
    assert grids[0].cells.to_numpy().tolist() == [2026, 18, 18, 18]


def test_static_and_class_methods():
    x = mt.field(mt.i32, shape=4)

    @mt.data_oriented
    class Tools:
        step = 7

        @staticmethod
        @mt.kernel
        def fill(v: mt.i32):
            for i in x:
                x[i] = v

        @mt.kernel
        @staticmethod
        def add(v: mt.i32):
            for i in x:
                x[i] += v

        @classmethod
        @mt.kernel
        def advance(cls, times: mt.i32):
            for i in x:
                x[i] += cls.step * times

    Tools.fill(3)
    Tools().add(4)
    Tools.advance(2)
    np.testing.assert_array_equal(x.to_numpy(), np.full(4, 21))


def test_objects_are_not_kept():
    solver = Solver(5)
    solver.step(1.0)
    solver.total()
    references = [weakref.ref(solver), weakref.ref(solver.x), weakref.ref(solver.x._tree), weakref.ref(solver.v._tree)]
    del solver
    gc.collect()
    assert [reference() for reference in references] == [None] * 4
    count = len(Solver.step.instances())
    for _ in range(200):
        Solver(5).step(1.0)
    assert len(Solver.step.instances()) == count


def test_kernels_of_a_class_die_with_it():
    @mt.data_oriented
    class Local:
        @mt.kernel
        def one(self) -> mt.i32:
            return 1

    assert Local().one() == 1
    reference = weakref.ref(Local)
    del Local
    gc.collect()
    assert reference() is None


def test_methods_are_offered_like_functions():
    solver = Solver(3)
    bound = solver.step
    bound(scale=1.0)
    assert Solver.step.signature().startswith("step(self")
    assert bound.instances() == Solver.step.instances()
    assert "x" in [
        text.split('"')[0]
        for text in bound.import_module(Solver.step.specialise({"self": solver})).text(False).split('metate.name = "')
    ]


@mt.data_oriented
class Scaled:
    def __init__(self, k):
        self.k = k

    @mt.kernel
    def scaled(self, a: mt.f32, b: mt.f32 = 2.0) -> mt.f32:
        """a times b"""
        return self.k * a * b


def test_kernels_of_objects_are_inspected_and_copied_as_methods_are():
    one = Scaled(3)
    assert list(inspect.signature(one.scaled).parameters) == ["a", "b"]
    assert inspect.signature(one.scaled).parameters["b"].default == 2
    assert list(inspect.signature(Scaled.scaled).parameters) == ["self", "a", "b"]
    assert inspect.signature(one.scaled.grad) == inspect.signature(one.scaled)
    for bound in (one.scaled, one.scaled.grad, one.scaled.fwd):
        assert copy.copy(bound) == bound
    other = copy.deepcopy(one.scaled)
    other.__self__.k = 5
    assert (one.scaled(2), other(2), pickle.loads(pickle.dumps(one.scaled))(1)) == (12, 20, 6)


def test_an_undecorated_class_is_refused():
    class Plain:
        @mt.kernel
        def go(self):
            pass

    with pytest.raises(
        mt.errors.RuntimeTypeError_,
        match=r"go: expected an object of a data-oriented class, got one of 'Plain'; put @mt.data_oriented",
    ):
        Plain().go()


def test_an_attribute_that_is_missing():
    @mt.data_oriented
    class A:
        def __init__(self):
            self.position = mt.field(mt.f32, shape=2)

        @mt.kernel
        def go(self):
            self.positoin[0] = 1.0

    with pytest.raises(mt.CompilationError, match=r"test_classes.py:\d+:\d+: .*has no attribute 'positoin'"):
        A().go()


def test_what_an_object_holds_is_constant():
    @mt.data_oriented
    class A:
        def __init__(self):
            self.n = 1

        @property
        def broken(self):
            raise ValueError("no such thing")

        @mt.kernel
        def assign(self):
            self.n = 2

        @mt.kernel
        def read(self) -> mt.i32:
            return self.broken

    with pytest.raises(
        mt.CompilationError, match=r"(?s)test_classes.py:\d+:13: .*attribute 'n' is known while compiling.*hint: make it a field"
    ):
        A().assign()
    constant = r"(?s)test_classes.py:\d+:13: .*attribute 'n' is known while compiling.*hint: make it a field"
    with pytest.raises(mt.CompilationError, match=constant):
        A().assign()
    failed = r"test_classes.py:\d+:\d+: ValueError while reading 'broken' of .*: no such thing"
    with pytest.raises(mt.CompilationError, match=failed):
        A().read()


def test_kernels_are_launched_from_python():
    with pytest.raises(mt.CompilationError, match="cannot be called in a kernel"):

        @mt.data_oriented
        class A:
            @mt.kernel
            def one(self):
                pass

            @mt.kernel
            def two(self):
                self.one()

        A().two()
