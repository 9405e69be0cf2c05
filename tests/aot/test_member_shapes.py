"""The members of one array of structs have one shape, as each host is told: another one is refused before anything runs."""

import subprocess

import numpy as np
import pytest
import tvm_ffi

import metate as mt
from metate.errors import RuntimeValueError_
from metate.graph import Arg, ArgKind, GraphBuilder

Bead = mt.types.struct(pos=mt.math.vec3, mass=mt.f32, inner=mt.types.struct(id=mt.i32))
Beads = mt.types.ndarray(Bead, 2)


@mt.kernel
def weigh(b: Beads, total: mt.types.ndarray(mt.f32, 1)):
    for i, j in b:
        total[0] += b[i, j].mass * b[i, j].pos.z + b[i, j].inner.id


pack = mt.types.argpack(x=mt.types.ndarray(mt.f32, 1), y=mt.types.ndarray(mt.f32, 1))


@mt.kernel
def free(p: pack):
    for i in p.x:
        p.y[0] += p.x[i]


def module():
    graph = GraphBuilder()
    taken = {"b": Arg(ArgKind.NDARRAY, "b", Bead, ndim=2), "total": Arg(ArgKind.NDARRAY, "total", mt.f32, ndim=1)}
    graph.dispatch(weigh, **taken)
    return mt.aot.Module(name="beads").add_kernel(weigh).add_graph("twice", graph.compile()).add_kernel(free)


def members(shape=(2, 5), **others):
    given = {"pos": (*shape, 3), "mass": shape, "id": shape} | others
    return [np.ones(given["pos"], "f4"), np.ones(given["mass"], "f4"), np.ones(given["id"], "i4"), np.zeros(1, "f4")]


@pytest.fixture(scope="module", params=["metate", "so"])
def opened(request, tmp_path_factory):
    return mt.aot.load(module().save(tmp_path_factory.mktemp("beads") / f"beads.{request.param}"))


@pytest.mark.parametrize("name", ["weigh", "twice"])
def test_libmetate_says_both_shapes(opened, name):
    kernel, given = opened.kernels[name], members()
    kernel(*given)
    assert given[-1][0] == 20
    for wrong, text in (
        ({"mass": (5, 2)}, r"argument 1 'b.mass': expected the shape \(2, 5\) of 'b.pos', a member of the same array of structs, "
         r"got \(5, 2\)"),
        ({"pos": (2, 6, 3)}, r"argument 1 'b.mass': expected the shape \(2, 6\) of 'b.pos', .* got \(2, 5\)"),
        ({"id": (2, 4)}, r"argument 2 'b.inner.id': expected the shape \(2, 5\) of 'b.mass', .* got \(2, 4\)"),
    ):  # fmt: skip
        given = members(**wrong)
        with pytest.raises(RuntimeValueError_, match=f"kernel '{name}' {text}"):
            kernel(*given)
        assert given[-1][0] == 0, "nothing ran"


def test_other_arrays_under_one_name_may_differ(opened):
    x, y = np.ones(7, "f4"), np.zeros(1, "f4")
    opened.free(x, y)
    assert y[0] == 7


def test_packed_calls(opened, tmp_path):
    entry = tvm_ffi.load_module(str(module().save(tmp_path / "beads.so")))["weigh"]
    tensors = lambda given: [tvm_ffi.from_dlpack(array) for array in given]
    for function in (entry, opened.weigh.packed()):
        given = members()
        function(*tensors(given))
        assert given[-1][0] == 20
        text = r"kernel 'weigh' argument 2 'b.inner.id': expected the shape \(2, 5\) of 'b.mass', a .*, got \(1, 1\)"
        with pytest.raises(ValueError, match=text):
            function(*tensors(members(id=(1, 1))))
    session = opened.weigh.packed_session()  # in any order: looked at when it runs
    for name, array in zip(("b.inner.id", "total", "b.mass", "b.pos"), np.array(members(id=(1, 1)), object)[[2, 3, 1, 0]]):
        session("set_input", name, tvm_ffi.from_dlpack(array))
    with pytest.raises(ValueError, match=r"'b\.inner\.id': expected the shape"):
        session("run")


@pytest.mark.parametrize("emit", ["o", "c"])
def test_direct_entries(tmp_path, emit):
    made = module().save(tmp_path / f"beads.{emit}")
    source = tmp_path / "host.c"
    source.write_text("""#include "beads.h"
#include <stdio.h>
static float pos[30], mass[10], total[1];
static int32_t id[10];
int main(void) {
  for (int wrong = 0; wrong < 3; ++wrong) /* 5 of a row */
    printf("%d ", (int)beads_weigh(pos, 2, 5, 15, 3, mass, 2, wrong == 1 ? 4 : 5, 5, 1, id, wrong == 2 ? 1 : 2, 5, 5, 1, total, 1,
                                   0, 0));
  return 0;
}
""")
    flags = ["-std=gnu11", "-w", f"-I{tmp_path}", "-ffp-contract=off"]
    subprocess.run(["gcc", *flags, source, made, "-lm", "-o", tmp_path / "host"], check=True)
    assert subprocess.run([tmp_path / "host"], capture_output=True, text=True, check=True).stdout == "0 2 2 "
