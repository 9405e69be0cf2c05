"""Names of modules and kernels that would make a name which C programs have already: refused where the kernel is defined."""

import subprocess

import pytest

import metate as mt
from metate.errors import CompilationError
from metate.graph import Arg, ArgKind, GraphBuilder

n = mt.Dim("n", min=1, max=8)
line = mt.types.ndarray(mt.f32, shape=(n,))
T = mt.types.SNodeTreeBuilder().dense(mt.i, 4).place(a=mt.f32).build()


@mt.kernel
def grow(x: line):
    for i in range(x.shape[0]):
        x[i] += 1


LINE = grow.__wrapped__.__code__.co_firstlineno + 1


def module(name, *kernels, target="native"):
    made = mt.aot.Module(name=name, targets=[target])
    for kernel in kernels:
        made.add_kernel(grow, kernel)
    return made


@pytest.mark.parametrize("emit", ["o", "a", "so", "c", "wasm"])
def test_a_type_of_the_headers(tmp_path, emit):
    made = module("size", "t", target="wasm32" if emit == "wasm" else "native")
    with pytest.raises(CompilationError) as refused:
        made.save(tmp_path / f"size.{emit}")
    wanted = (
        f"{__file__}:{LINE}: kernel 't': in C 'size_t' is a name of the language, of its libraries or of Metate: "
        "give it another name, or the module (its file's name, or name= of the module)"
    )
    assert wanted in str(refused.value) and not list(tmp_path.iterdir())
    made.save(tmp_path / "size.metate") if emit == "o" else None  # where no C name is made


@pytest.mark.parametrize(
    "name, kernel", [("int32", "t"), ("static", "assert"), ("sem", "wait"), ("clock", "gettime"), ("INT8", "MAX"),
     ("strtok", "r")],
)  # fmt: skip
def test_other_names_of_c(tmp_path, name, kernel):
    with pytest.raises(CompilationError, match=f"kernel '{kernel}': in C '{name}_{kernel}' is a name of the language"):
        module(name, kernel).save(tmp_path / "x.o")


def test_names_of_metate(tmp_path):
    with pytest.raises(
        CompilationError, match="module 'metate': in C 'metate_module' is a name of the language, of its libraries or"
    ):
        module("metate", "grow").save(tmp_path / "x.o")


def placed():
    graph = GraphBuilder()
    x = Arg(ArgKind.NDARRAY, "x", mt.f32, shape=(n,))
    graph.dispatch(grow, x)
    return mt.aot.Module(name="m").add_type(T, "T").add_graph("g", graph.compile())


@pytest.mark.parametrize("kernel", ["T_reset", "T_BYTES", "T_a_at", "g_n_MAX", "g_POOLS"])
def test_names_that_the_header_defines(tmp_path, kernel):
    with pytest.raises(CompilationError, match=f"the C name 'm_{kernel}' stands for something else already: give it another"):
        placed().add_kernel(grow, kernel).save(tmp_path / "m.o")


def test_a_kernel_may_be_called_main_or_run(tmp_path):
    made = module("m", "main", "run", "int", "t")
    made.save(tmp_path / "m.o")
    made.save(tmp_path / "m.so")
    (tmp_path / "host.c").write_text(
        '#include "m.h"\n#include <stdlib.h>\n#include <time.h>\n#include <threads.h>\n'
        "int main(void) { float x[2] = {1, 2}; return m_main(x, 2, 0, 0) || m_run(x, 2, 0, 0) || x[1] != 4; }\n"
    )
    for linked in (["m.o"], ["-L.", "-l:m.so", "-Wl,-rpath,."]):
        subprocess.run(["gcc", "-Wall", "-Werror", "-I.", "host.c", *linked, "-o", "host"], cwd=tmp_path, check=True)
        subprocess.run([tmp_path / "host"], cwd=tmp_path, check=True)
    loaded = mt.aot.load(tmp_path / "m.so")
    assert set(loaded.kernels) == {"main", "run", "int", "t"}
