"""A program with quantised fields, shipped: trees of its module, and static memory of a C program, hold the same."""

import subprocess

import numpy as np
import pytest

import metate as ti

quant = ti.types.quant
N = 32

root = ti.FieldsBuilder()  # what other modules place below ti.root is none of this one's
x = ti.Vector.field(2, dtype=quant.fixed(16, max_value=2.0))
v = ti.Vector.field(2, dtype=quant.float(6, 13))
where, speed = ti.BitpackedFields(max_num_bits=32), ti.BitpackedFields(max_num_bits=32)
where.place(x)
speed.place(v, shared_exponent=True)
particles = root.dense(ti.i, N)
particles.place(where)
particles.place(speed)
own = ti.field(quant.int(5), shape=N)
cell = ti.types.struct(pos=ti.types.vector(2, ti.f32), kind=quant.int(4, False), mass=quant.fixed(12, False, max_value=4))
cells = cell.field(shape=6)
bits = ti.field(quant.int(1, False))
root.pointer(ti.i, 4).quant_array(ti.i, 8, max_num_bits=32).place(bits)
far = ti.field(quant.fixed(12, max_value=8.0))
root.hash(ti.ij).dense(ti.ij, 4).quant_array(ti.j, 8, max_num_bits=32).place(far)
word = ti.BitpackedFields(max_num_bits=16)
count, weight = ti.field(quant.int(6, False)), ti.field(quant.float(4, 5))
word.place(count, weight)
root.bitmasked(ti.i, 16).place(word)
root.finalize()


@ti.kernel
def step(dt: ti.f32):
    for i in x:
        v[i] += [dt * i, -dt]
        x[i] += dt * v[i]
        own[i] += i
    for i in cells:
        cells[i].kind += i
        cells[i].mass = 0.5 * i
        cells[i].pos += [dt, cells[i].mass]


@ti.kernel
def mark(by: ti.i32):
    for i in range(0, N, 3):
        bits[i] = 1
        bits[i + 1] ^= 1
    for i in range(20):
        far[i * 7 - 50, i * 3 - 40] += 0.25 * i
        count[i % 9] += by
        weight[i % 9] = 0.75 * by


def module():
    return ti.aot.Module(name="fields").add_kernel(step).add_kernel(mark)


class Shipped:
    """The kernels of a module with trees of their own."""

    def __init__(self, file):
        self.loaded = ti.aot.load(file)
        self.trees = {name: type_.new() for name, type_ in self.loaded.types.items()}

    def call(self, name, value):
        kernel = getattr(self.loaded, name)
        kernel(value, **{p["name"]: self.trees[p["text"]] for p in kernel.parameters if p["text"] in self.trees})

    def members(self, name):
        return [self.trees[name][member] for member in self.trees[name].type.members]


@pytest.fixture
def cleared():
    for field in (x, v, own, cells.pos, cells.kind, cells.mass, bits, far, count, weight):
        field.fill(0)


def test_a_module_does_what_the_program_does(tmp_path, cleared):
    shipped = Shipped(module().save(tmp_path / "fields.metate"))
    assert shipped.loaded.step.signature() == "step(dt: f32, root0: root0, own: own, cells: cells)"
    for k in range(4):
        step(0.125)
        mark(k + 3)
        shipped.call("step", 0.125)
        shipped.call("mark", k + 3)
    same = lambda member, array: np.testing.assert_array_equal(member.to_numpy(), array)
    for member, (field, k) in zip(shipped.members("root0"), ((x, 0), (x, 1), (v, 0), (v, 1))):
        same(member, field.to_numpy()[:, k])
    assert np.abs(x.to_numpy()).max() > 1 and (v.to_numpy()[1:] != 0).all()
    same(shipped.members("own")[0], own.to_numpy())
    for member, name in zip(shipped.members("cells"), ("pos", "kind", "mass")):
        same(member, cells.to_numpy()[name])
    assert cells.to_numpy()["kind"].tolist() == [0, 4, 8, 12, 0, 4]
    same(shipped.members("bits")[0], bits.to_numpy())
    (marked,) = [tree for name, tree in shipped.trees.items() if "v1" in tree.type.members and name not in ("root0", "cells")]
    same(marked.v0, count.to_numpy())
    same(marked.v1, weight.to_numpy())
    assert marked.v0.cells()[1].size == 9  # of 16
    (numbers,) = shipped.members("far")
    coordinates, values = numbers.cells()
    found = {tuple(at): value for at, value in zip(coordinates.tolist(), values.tolist()) if value}
    # Four times a quarter of i: beyond 8 low bits are left, of 16 none.
    assert found == {(i * 7 - 50, i * 3 - 40): (i + 8) % 16 - 8 for i in range(1, 20) if i != 16}
    assert far[20, -10] == -6 and far[62, 8] == 0


HOST = """#include "fields.h"
#include <stdio.h>
_Alignas(64) static unsigned char root0[fields_root0_BYTES], own[fields_own_BYTES], cells[fields_cells_BYTES];
int main(void) {
  if (fields_root0_reset(root0, sizeof root0) || fields_own_reset(own, sizeof own) || fields_cells_reset(cells, sizeof cells))
    return 2;
  for (int64_t i = 0; i < 32; ++i)
    fields_own_v0_set(own, i, (int32_t)(100 - i));
  fields_root0_v2_set(root0, 7, 0.3f);
  fields_root0_v3_set(root0, 7, -1000.0f);
  for (int k = 0; k < 4; ++k)
    if (fields_step(0.125f, root0, own, cells, 0, 0))
      return 3;
  for (int64_t i = 0; i < 32; ++i)
    printf("%.9g %.9g %.9g %.9g %d\\n", (double)fields_root0_v0_get(root0, i), (double)fields_root0_v1_get(root0, i),
           (double)fields_root0_v2_get(root0, i), (double)fields_root0_v3_get(root0, i), (int)fields_own_v0_get(own, i));
  for (int64_t i = 0; i < 6; ++i)
    printf("%.9g %.9g %u %.9g 0\\n", (double)fields_cells_v0_at(cells, i)[0], (double)fields_cells_v0_at(cells, i)[1],
           fields_cells_v1_get(cells, i), (double)fields_cells_v2_get(cells, i));
  return 0;
}
"""


def test_a_c_program_has_the_fields_in_static_memory(tmp_path, cleared):
    module().save(tmp_path / "fields.o")
    (tmp_path / "main.c").write_text(HOST)
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", f"-I{tmp_path}",
               tmp_path / "main.c", tmp_path / "fields.o", "-lm", "-o", tmp_path / "main"]  # fmt: skip
    for words in (command, [tmp_path / "main"]):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    found = np.array([line.split() for line in done.stdout.splitlines()], float)
    for i in range(N):
        own[i] = 100 - i
    v.get_scalar_field(0)[7] = 0.3
    v.get_scalar_field(1)[7] = -1000
    for _ in range(4):
        step(0.125)
    np.testing.assert_array_equal(found[:N, :2], x.to_numpy())
    np.testing.assert_array_equal(found[:N, 2:4], v.to_numpy())
    np.testing.assert_array_equal(found[:N, 4], own.to_numpy())
    assert v[7][1] < -990 and own[0] == 4
    shown = cells.to_numpy()
    np.testing.assert_array_equal(found[N:, :2], shown["pos"])
    np.testing.assert_array_equal(found[N:, 2:4], np.stack([shown["kind"], shown["mass"]], axis=1))
