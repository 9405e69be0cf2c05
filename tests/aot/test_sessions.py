"""`module.session`: a kernel or a graph of an opened module by steps, from Python; and by C's calls in a program."""

import pathlib
import subprocess

import numpy as np
import pytest

import metate as mt
from metate.errors import CallError_, RuntimeLookupError_, RuntimeTypeError_
from metate.graph import Arg, ArgKind, GraphBuilder

ROOT = pathlib.Path(__file__).resolve().parents[2]
particle = mt.types.struct(pos=mt.types.vector(3, mt.f32), mass=mt.f64)
Line = mt.types.SNodeTreeBuilder().pointer(mt.i, 4).dense(mt.i, 4).place(mt.types.Struct({"h": mt.f32})).build()


quant = mt.types.quant
_bits = mt.types.SNodeTreeBuilder()
_word = _bits.dense(mt.i, 16).bit_struct(max_num_bits=32)
_word.place(v=quant.fixed(12, max_value=2.0), n=quant.int(6, False))
_bits.dense(mt.i, 4).quant_array(mt.i, 8, max_num_bits=32).place(bits=quant.int(3, False))
Bits = _bits.build()


@mt.kernel
def blend(t: Bits, x: mt.types.ndarray(mt.f32, 1), by: mt.f32):
    for i in t.v:
        t[i].v += by * x[i]
        t[i].n += i % 7
    for i in t.bits:
        t.bits[i] += 1


@mt.kernel
def scale(a: mt.f32, x: mt.types.ndarray(mt.f32, 1)):
    for i in x:
        x[i] *= a


@mt.kernel
def weigh(one: particle, factor: mt.f64) -> mt.f64:
    return factor * one.mass + one.pos[0]


@mt.kernel
def raise_(line: Line, by: mt.f32):
    for i in range(6):
        line[i].h += by


@mt.kernel
def nothing():
    pass


@pytest.fixture(scope="module")
def graph():
    builder = GraphBuilder()
    a, x, times = (
        Arg(ArgKind.SCALAR, "a", mt.f32),
        Arg(ArgKind.NDARRAY, "x", mt.f32, ndim=1),
        Arg(ArgKind.SCALAR, "times", mt.i32),
    )
    again = builder.create_sequential()
    again.dispatch(scale, a, x)
    builder.append(again, count=times)
    return builder.compile("powers")


@pytest.fixture(scope="module", params=["metate", "so"])
def module(request, graph, tmp_path_factory):
    made = mt.aot.Module(name="steps").add_graph("powers", graph)
    for kernel in (scale, weigh, raise_, nothing):
        made.add_kernel(kernel)
    return mt.aot.load(made.save(tmp_path_factory.mktemp("sessions") / f"steps.{request.param}"))


def test_a_graph(module):
    session, x = module.session("powers"), np.ones(5, np.float32)
    assert session.names == ("a", "x", "times")
    for name, value in (("times", 3), ("a", 2.0), ("x", x)):
        session.set_input(name, value)
    session.run()
    assert session.get_output("x") is x and (x == 8).all()
    session.set_input("times", 1)
    session.run()
    assert (x == 16).all() and session.get_output() is None


def test_results_structs_and_trees(module):
    weight = module.session("weigh")
    weight.set_input("one", {"pos": [1.5, 0, 0], "mass": 2.0})
    weight.set_input("factor", 10.0)
    with pytest.raises(RuntimeLookupError_, match="kernel 'weigh': it has no result yet: call run"):
        weight.get_output()
    weight.run()
    assert weight.get_output() == weight.get_output("return") == 21.5
    line = module.session("raise_")
    tree = next(iter(module.types.values())).new()
    line.set_input("line", tree)
    for by in (1.0, 2.5):
        line.set_input("by", by)
        line.run()
    np.testing.assert_array_equal(tree.h.to_numpy(), [3.5] * 6 + [0] * 10)
    empty = module.session("nothing")
    empty.run()
    assert empty.get_output() is None


def test_quantised_members(tmp_path):
    """A tree of bits, set once, and what a session's runs have left in it: as the kernel's own calls, and as NumPy's."""
    loaded = mt.aot.load(mt.aot.Module(name="q").add_type(Bits, "bits").add_kernel(blend).save(tmp_path / "q.so"))
    session, (tree, other) = loaded.session("blend"), (loaded.bits.new(), loaded.bits.new())
    session.set_input("t", tree)
    session.set_input("by", 0.25)
    values = np.zeros(16)
    for turn in range(4):
        session.set_input("x", np.full(16, turn - 1.5, np.float32) + np.arange(16, dtype=np.float32) / 8)
        session.run()
        loaded.blend(other, np.full(16, turn - 1.5, np.float32) + np.arange(16, dtype=np.float32) / 8, 0.25)
        values = np.clip(np.round((values + 0.25 * (turn - 1.5 + np.arange(16) / 8)) * 1024) / 1024, -2, 2047 / 1024)
    assert session.get_output("t") is tree and session.get_output("x").dtype == np.float32
    for one in (tree, other):
        np.testing.assert_array_equal(one.v.to_numpy(), values)
        np.testing.assert_array_equal(one.n.to_numpy(), np.arange(16) % 7 * 4 % 32)
        np.testing.assert_array_equal(one.bits.to_numpy().ravel(), [4 % 8] * 32)


def test_two_sessions_do_not_meet(module):
    one, other = module.session("scale"), module.session("scale")
    x, y = np.ones(3, np.float32), np.ones(3, np.float32)
    for session, a, array in ((one, 2.0, x), (other, 3.0, y)):
        session.set_input("a", a)
        session.set_input("x", array)
    one.run()
    other.run()
    assert (x == 2).all() and (y == 3).all()


def test_what_is_wrong_is_named(module):
    session = module.session("scale")
    with pytest.raises(RuntimeLookupError_, match="kernel 'scale' has no argument 'y'; it has a, x"):
        session.set_input("y", 1)
    with pytest.raises(CallError_, match="kernel 'scale': argument 'a' is not set: call set_input"):
        session.run()
    with pytest.raises(RuntimeLookupError_, match="kernel 'scale': argument 'x' is not set"):
        session.get_output("x")
    session.set_input("a", 1.0)
    session.set_input("x", np.ones(3))
    with pytest.raises(RuntimeTypeError_, match="'x'"):
        session.run()
    with pytest.raises(RuntimeLookupError_, match="module 'steps' has no kernel 'shrink'; its kernels: "):
        module.session("shrink")


def test_a_program_in_c(graph, tmp_path):
    """It opens the shared object by libmetate, and runs the graph by steps."""
    mt.aot.Module(name="steps").add_graph("powers", graph).save(tmp_path / "steps.so")
    source = tmp_path / "host.c"
    source.write_text("""#include "metate/metate_session.h"
#include <stdio.h>
#include <string.h>
#define TRY(call) do { if (call) { fprintf(stderr, "%s\\n", metate_last_error()); return 1; } } while (0)
int main(int argc, char **argv) {
  metate_device *device;
  metate_module *module;
  const metate_kernel *graph;
  metate_session *session;
  TRY(argc < 2 || metate_device_open(NULL, &device));
  TRY(metate_module_open_file(device, argv[1], 0, &module));
  TRY(metate_module_find_kernel(module, "powers", &graph));
  TRY(metate_session_open(graph, &session));
  float x[4] = {1, 2, 3, 4}, two = 2;
  const int64_t shape[1] = {4};
  const metate_array array = {x, METATE_F32, 1, 0, 0, shape, NULL};
  metate_argument a = {METATE_ARGUMENT_SCALAR, METATE_F32, 1, 1, {0}}, times = {METATE_ARGUMENT_SCALAR, METATE_I32, 1, 1, {5}};
  metate_argument all = {METATE_ARGUMENT_NDARRAY, 0, 0, 0, {.array = &array}}, found;
  memcpy(&a.value.bits, &two, sizeof two);
  TRY(metate_session_set_input(session, "a", &a));
  TRY(metate_session_set_input(session, "x", &all));
  TRY(metate_session_set_input(session, "times", &times));
  TRY(metate_session_run(session, NULL));
  TRY(metate_session_get_output(session, "x", &found));
  const float *result = found.value.array->data;
  printf("%d %g %g\\n", result == x, result[0], result[3]);
  TRY(metate_session_close(session) || metate_module_close(module) || metate_device_close(device));
  return 0;
}
""")
    library = ROOT / "build/lib"
    words = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", f"-I{ROOT / 'abi'}", source,
             f"-L{library}", "-lmetate", f"-Wl,-rpath,{library}", "-o", tmp_path / "host"]  # fmt: skip
    subprocess.run([str(word) for word in words], check=True)
    done = subprocess.run([tmp_path / "host", tmp_path / "steps.so"], capture_output=True, text=True)
    assert done.stdout == "1 32 128\n", done.stderr
