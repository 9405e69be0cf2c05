"""Modules of kernels that use fields, templates and objects: hidden arguments by name, bound by whoever runs them."""

import subprocess

import numpy as np
import pytest

import metate as mt
from metate.errors import CompilationError, RuntimeTypeError_, RuntimeValueError_

N = 24
x = mt.Vector.field(2, mt.f32, shape=N)
v = mt.Vector.field(2, mt.f32, shape=N)
mass = mt.field(mt.f32, shape=N)
blocks = mt.root.pointer(mt.ij, 4)
density, flux = mt.field(mt.f32), mt.field(mt.i32)
blocks.dense(mt.ij, 4).place(density, flux)


@mt.kernel
def advance(dt: mt.f32) -> mt.f32:
    total = 0.0
    for i in x:
        x[i] += dt * v[i]
    for i in range(N):
        total += mass[i] * x[i][0]
    return total


@mt.kernel
def stamp(k: mt.i32):
    for i in range(16):
        density[i, i] += k
        flux[i, (i + k) % 16] = i


@mt.kernel
def jitter():
    for i in mass:
        mass[i] = mt.random()


@mt.func
def twice(value):
    return value * 2


@mt.kernel
def apply(a: mt.template(), f: mt.template(), n: mt.template()):
    for I in mt.grouped(a):
        a[I] = f(a[I]) + n


@mt.data_oriented
class Solver:
    def __init__(self, n, step):
        self.step_size = step
        self.pos = mt.field(mt.f64, shape=n)

    @mt.kernel
    def step(self, times: mt.i32):
        for i in self.pos:
            self.pos[i] += times * self.step_size


def saved(tmp_path, module, name="fields.metate"):
    return mt.aot.load(module.save(tmp_path / name))


def test_hidden_arguments_are_named_and_bound(tmp_path, rng):
    loaded = saved(tmp_path, mt.aot.Module().add_kernel(advance))
    assert loaded.advance.signature() == "advance(dt: f32, x: x, v: v, mass: mass) -> f32"
    assert list(loaded.types) == ["x", "v", "mass"] and loaded.x == loaded.v
    trees = {name: loaded.types[name].new() for name in ("x", "v", "mass")}
    start, speed, weight = rng.normal(size=(N, 2)), rng.normal(size=(N, 2)), rng.random(N)
    for field, tree, data in ((x, "x", start), (v, "v", speed), (mass, "mass", weight)):
        field.from_numpy(data.astype(np.float32))
        for index, value in enumerate(data.astype(np.float32)):
            trees[tree].v0[index] = value
    ahead = loaded.advance(0.25, **trees)
    now = advance(0.25)
    moved = start + 0.25 * speed
    np.testing.assert_allclose(trees["x"].v0.to_numpy(), moved, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(x.to_numpy(), moved, rtol=1e-5, atol=1e-6)
    assert ahead == pytest.approx((weight * moved[:, 0]).sum(), rel=1e-4, abs=1e-4) and ahead == pytest.approx(now, rel=1e-5)
    with pytest.raises(RuntimeTypeError_, match="kernel 'advance': argument 'mass' is missing"):
        loaded.advance(0.25, x=trees["x"], v=trees["v"])


def test_fields_of_one_tree_are_one_argument(tmp_path):
    loaded = saved(tmp_path, mt.aot.Module().add_kernel(stamp))
    assert loaded.stamp.signature() == "stamp(k: i32, root0: root0)"
    tree = loaded.root0.new()
    for k in (2, 3):
        loaded.stamp(k, tree)
        stamp(k)
    assert density.to_numpy().sum() == 16 * 5
    members = [member for member in tree.type.members]
    np.testing.assert_array_equal(tree[members[0]].to_numpy(), density.to_numpy())
    np.testing.assert_array_equal(tree[members[1]].to_numpy(), flux.to_numpy())


def test_add_field_names_the_type(tmp_path):
    cells = mt.Struct.field({"a": mt.f32, "b": mt.i32}, shape=4)
    module = mt.aot.Module().add_kernel(advance).add_field("velocity", v).add_field("weights", mass).add_field("cells", cells)
    loaded = saved(tmp_path, module)
    assert loaded.advance.signature() == "advance(dt: f32, x: velocity, v: velocity, mass: weights) -> f32"
    assert {"velocity", "weights"} <= set(loaded.types) and any(name.startswith("cells") for name in loaded.types)
    with pytest.raises(RuntimeTypeError_, match="add_field: expected a field, got 3"):
        module.add_field("three", 3)


def test_templates_are_instantiated_by_name(tmp_path):
    a, b = mt.field(mt.f32, shape=5), mt.field(mt.i32, shape=(2, 3))
    module = mt.aot.Module()
    module.add_kernel(apply, {"a": a, "f": twice, "n": 3}, "apply_a")
    module.add_kernel(apply, template_args={"a": b, "f": twice, "n": 100}, name="apply_b")
    loaded = saved(tmp_path, module)
    assert loaded.apply_a.signature() == "apply_a(a: a)"
    first, second = loaded.apply_a.parameters[0], loaded.apply_b.parameters[0]
    assert first["text"] != second["text"]
    tree = loaded.types[first["text"]].new()
    loaded.apply_a(tree)
    loaded.apply_a(tree)
    np.testing.assert_array_equal(tree.v0.to_numpy(), np.full(5, 9))
    other = loaded.types[second["text"]].new()
    loaded.apply_b(other)
    np.testing.assert_array_equal(other.v0.to_numpy(), np.full((2, 3), 100))


def test_template_arguments_may_be_types(tmp_path):
    @mt.kernel
    def clear(a: mt.template()):
        for i in range(a.shape[0]):
            a[i] = 0

    module = mt.aot.Module().add_kernel(clear, {"a": mt.types.ndarray(dtype=mt.f64, ndim=1)})
    loaded = saved(tmp_path, module)
    data = np.ones(6)
    loaded.clear(data)
    assert not data.any()


def test_open_array_types_are_completed(tmp_path):
    @mt.kernel
    def scale(a: mt.types.ndarray(), by: mt.f64):
        for i in mt.grouped(a):
            a[i] *= by

    plane = mt.types.ndarray(dtype=mt.f64, ndim=2)
    loaded = saved(
        tmp_path, mt.aot.Module().add_kernel(scale, {"a": plane}).add_kernel(scale, {"a": mt.types.ndarray(mt.f32, 1)}, "line")
    )
    data = np.ones((2, 3))
    loaded.scale(data, 4.0)
    assert (data == 4).all() and loaded.line.signature() == "line(a: ndarray(f32, 1), by: f64)"
    with pytest.raises(
        RuntimeTypeError_, match=r"scale: template_args: 'a': expected an ndarray type that agrees with .*, got 3"
    ):
        mt.aot.Module().add_kernel(scale, {"a": 3})


def test_kernels_of_objects(tmp_path):
    solver = Solver(7, 0.5)
    loaded = saved(tmp_path, mt.aot.Module().add_kernel(solver.step).add_kernel(Solver(9, 2.0).step, name="coarse"))
    assert loaded.step.signature() == "step(times: i32, pos: pos)"
    tree = loaded.pos.new()
    loaded.step(3, tree)
    solver.step(3)
    np.testing.assert_array_equal(tree.v0.to_numpy(), solver.pos.to_numpy())
    np.testing.assert_array_equal(tree.v0.to_numpy(), np.full(7, 1.5))
    coarse = loaded.types[loaded.coarse.parameters[-1]["text"]].new()
    loaded.coarse(1, coarse)
    np.testing.assert_array_equal(coarse.v0.to_numpy(), np.full(9, 2.0))


Inner = mt.types.struct(u=mt.i32, w=mt.math.vec2)
Outer = mt.types.struct(inner=Inner, m=mt.f64)


@mt.kernel
def mix(s: Outer, all: mt.types.ndarray(dtype=Inner, ndim=1), k: mt.i32) -> Outer:
    for i in all:
        all[i].u += k * s.inner.u
    result = s
    result.inner.w *= k
    result.m += k
    return result


@mt.kernel
def both(a: mt.i32) -> tuple[mt.i32, Inner]:
    return a + 1, Inner(u=a, w=mt.math.vec2(a, 2))


def test_structs_and_tuples_of_opened_kernels(tmp_path):
    loaded = saved(tmp_path, mt.aot.Module().add_kernel(mix).add_kernel(both))
    assert loaded.mix.signature().startswith("mix(s.inner.u: i32, s.inner.w: vector(2, f32), s.m: f64, all.u: ndarray(i32, 1)")
    value = Outer(inner=Inner(u=2, w=[1, 2]), m=0.5)
    rows = np.zeros(3, [("u", "i4"), ("w", "f4", 2)])
    ours = Inner.ndarray(3) if hasattr(Inner, "ndarray") else mt.ndarray(Inner, 3)
    for array in (rows, ours):
        result = loaded.mix(value, array, k=5)
        assert (result.inner.u, list(result.inner.w), result.m) == (2, [5, 10], 5.5)
    np.testing.assert_array_equal(rows["u"], [10] * 3)
    np.testing.assert_array_equal(ours.to_numpy()["u"], [10] * 3)
    assert loaded.mix({"inner": {"u": 1, "w": [0, 0]}, "m": 1.0}, rows, 1).m == 2.0
    first, second = loaded.both(7)
    assert first == 8 and second.u == 7 and list(second.w) == [7, 2]
    with pytest.raises(RuntimeTypeError_, match=r"kernel 'mix': argument 's': expected a struct with a member 'inner.u', got 3"):
        loaded.mix(3, rows, 1)
    with pytest.raises(RuntimeTypeError_, match=r"kernel 'mix': expected arguments s, all, k, got 2 of them"):
        loaded.mix(value, rows)


def test_random_numbers_are_the_hosts_seed(tmp_path):
    loaded = saved(tmp_path, mt.aot.Module().add_kernel(jitter))
    names = [parameter["name"] for parameter in loaded.jitter.parameters]
    assert set(names) == {"mass", "random_seed"}
    results = []
    for seed in (1, 1, 2):
        tree = loaded.mass.new()
        loaded.jitter(random_seed=seed, mass=tree)
        results.append(tree.v0.to_numpy())
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0] != results[2]).all() and 0 <= results[0].min() < results[0].max() < 1


def test_a_c_program_brings_the_memory_of_all_fields(tmp_path, rng):
    mt.aot.Module(name="fields").add_kernel(advance).save(tmp_path / "fields.o")
    source = tmp_path / "main.c"
    source.write_text("""#include "fields.h"
#include <stdio.h>
_Alignas(64) static unsigned char x[fields_x_BYTES], v[fields_v_BYTES], mass[fields_mass_BYTES];
int main(void) {
  float total = -1;
  if (fields_x_reset(x, sizeof x) || fields_v_reset(v, sizeof v) || fields_mass_reset(mass, sizeof mass))
    return 2;
  if (fields_advance(0.5f, x, v, mass, &total, 0, 0))
    return 3;
  printf("%g", total);
  return 0;
}
""")
    command = [
        "gcc",
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        f"-I{tmp_path}",
        source,
        tmp_path / "fields.o",
        "-o",
        tmp_path / "main",
    ]
    subprocess.run(command, check=True)
    assert subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout == "0"


def test_what_is_left_open_is_named(tmp_path):
    with pytest.raises(
        CompilationError,
        match=r"parameter 'a': expected a type that is complete.*\n.*\n.*\n.*add_kernel\(apply, template_args={'a'",
    ):
        mt.aot.Module().add_kernel(apply).build()
    with pytest.raises(
        RuntimeTypeError_,
        match=r"apply: template_args: expected names of parameters whose annotations leave something open \(a, f, n\), got 'b'",
    ):
        mt.aot.Module().add_kernel(apply, {"b": 3})
    with pytest.raises(RuntimeTypeError_, match="add_kernel: template_args: expected a dict, got 3"):
        mt.aot.Module().add_kernel(apply, 3)
    with pytest.raises(RuntimeValueError_, match="name of its own for each kernel, got 'apply' twice"):
        full = {"a": mass, "f": twice, "n": 1}
        mt.aot.Module().add_kernel(apply, full).add_kernel(apply, full)
