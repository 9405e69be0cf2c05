"""metate/builder.hpp: kernels written in C++, by programs without Python; the same IR as from Python for the same kernels."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import metate as mt

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
LIBRARY = ROOT / "build" / "lib"
RFC = ROOT / "examples" / "rfc"
sys.path.insert(0, str(RFC))
import rfc  # noqa: E402


def run(*command, status=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def compiled(source, folder, compiler="g++"):
    program = folder / source.stem
    run(compiler, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}/include", f"-I{ROOT}/abi", source,
        f"-L{LIBRARY}", "-lmetate_compiler", "-lmetate", f"-Wl,-rpath,{LIBRARY}", "-o", program)  # fmt: skip
    return program


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return compiled(ROOT / "examples/builder/rfc.cpp", tmp_path_factory.mktemp("builder"))


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return compiled(HERE / "builder_cases.cpp", tmp_path_factory.mktemp("cases"))


def test_the_ir_is_that_of_python(example):
    module = mt.aot.Module(name="rfc").add_type(rfc.sn1, "ab_aos").add_type(rfc.sn2, "ab_soa")
    for kernel in (rfc.fill1, rfc.fill2, rfc.run1, rfc.run2):
        module.add_kernel(kernel)
    assert run(example, "--dump") == module.source_module("rfc").text(False)


def test_another_compiler_says_the_same(example, tmp_path):
    if not shutil.which("clang++-22"):
        pytest.skip("there is no clang++-22")
    assert run(compiled(ROOT / "examples/builder/rfc.cpp", tmp_path, "clang++-22"), "--dump") == run(example, "--dump")


def test_it_runs_as_in_python(example):
    wanted = run(sys.executable, "-c", f"import sys; sys.path[:0] = ['{RFC}']; import rfc; rfc.run_here()")
    assert wanted.count("==") == 4 and run(example) == wanted


def test_it_ships(example, tmp_path):
    """A .metate file with the hosts' help of a .metate file of Python's; an object with its header for a C program."""
    run(example, "--save", tmp_path / "ab.metate")
    seen = run(ROOT / "build/bin/metate-run", "inspect", tmp_path / "ab.metate")
    assert "ab_soa" in seen and re.search(r"fill1: 1 task.*from \S*examples/builder/rfc\.cpp:\d+\n", seen)
    said = run(ROOT / "build/bin/metate-run", "run", tmp_path / "ab.metate", "fill1,run1", "f=new", "scale=2")
    assert "I= [7, 7]  a*b= [147.0, 147.0, 21.0]" in said
    for name in ("ab.o", "ab.a"):
        run(example, "--save", tmp_path / name)
        (tmp_path / "host.c").write_text("""#include "ab.h"
#include <stdio.h>
static _Alignas(64) unsigned char block[rfc_ab_aos_BYTES];
int main(void) {
  if (rfc_ab_aos_reset(block, sizeof block) || rfc_fill1(block, 2.0f, NULL, NULL))
    return 1;
  return rfc_run1(block, NULL, NULL);
}
""")
        run("gcc", "-Wall", "-Werror", f"-I{tmp_path}", tmp_path / "host.c", tmp_path / name, "-o", tmp_path / "host")
        run(tmp_path / "host")


def test_what_can_be_said_computes_what_it_says(cases, tmp_path):
    """Just in time, at -O0 and -O3, and from a file."""
    assert run(cases, tmp_path / "cases.metate") == ""


@mt.kernel
def axpy(a: mt.f32, x: mt.types.ndarray(dtype=mt.f32, ndim=1), y: mt.types.ndarray(dtype=mt.f32, ndim=1)):
    for i in range(x.shape[0]):
        y[i] += a * x[i]


@mt.kernel
def collatz(n: mt.types.ndarray(dtype=mt.i32, ndim=1), steps: mt.types.ndarray(dtype=mt.i32, ndim=1)):
    for i in range(n.shape[0]):
        x = n[i]
        count = 0
        while x > 1:
            if x % 2 == 0:
                x = x // 2
            else:
                x = 3 * x + 1
            count += 1
        steps[i] = count


@mt.kernel
def lengths(p: mt.types.ndarray(dtype=mt.types.vector(3, mt.f32), ndim=1), out: mt.types.ndarray(dtype=mt.f64, ndim=1)):
    for i in range(p.shape[0]):
        v = p[i]
        length = v.norm()
        square = v.dot(v)
        if length > 1.5:
            out[i] = length + square
        for j in range(1, 4):
            mt.atomic_max(out[i], mt.cast(j, mt.f32) * v[0])


def test_loops_and_functions_are_those_of_python(cases):
    module = mt.aot.Module(name="twins").add_kernel(axpy).add_kernel(collatz).add_kernel(lengths)
    assert run(cases, "twins") == module.source_module("twins").text(False)


MISTAKES = """\
builder_cases.cpp:N: kernel 'k': wrong number of indices: expected 1 index for this array, got 2
builder_cases.cpp:N: kernel 'k': operator '<<': expected integers, got f32 and i32
builder_cases.cpp:N: kernel 'k': expected a body of the loop that takes 2 values, or a vector of them
builder_cases.cpp:N: kernel 'k': no member 'b' in the tree; it has members a; levels dense0
builder_cases.cpp:N: kernel 'k': tree type of parameter 'f': expected attribute value
failed to parse Metate_TreeType parameter 'branches' which is to be a `::llvm::ArrayRef<::mlir::Attribute>`
builder_cases.cpp:N: expected a value of a kernel, got one that nothing was assigned to
builder_cases.cpp:N: kernel 'k': subscript: expected a vector, matrix, array or tree, got i32
builder_cases.cpp:N: kernel 'k': if: expected a scalar condition, got vector(2, i32) (reduce it first: .any() or .all())
builder_cases.cpp:N: expected an array of a kernel, got one that nothing was assigned to
builder_cases.cpp:N: kernel 'k': expected a variable of type u1 that says whether the loop goes on
builder_cases.cpp:N: kernel 'k': random: expected a scalar type and a key of type u64
builder_cases.cpp:N: unary: expected one of '-', '+', '~', 'not', got '??'
builder_cases.cpp:N: kernel 'k': no operator '??' for i32
builder_cases.cpp:N: kernel 'k': no function '??'
builder_cases.cpp:N: kernel 'k': ??: expected two vectors, got vector(3, i32) and i32
builder_cases.cpp:N: kernel 'k': atomic_??: not defined for i32
builder_cases.cpp:N: kernel 'k': expected a name of its own for each argument, got 'x', which line N has given to another one
builder_cases.cpp:N: constant: expected a whole number from 0 to 255 for u8, got 300
builder_cases.cpp:N: constant: expected a whole number from -128 to 127 for i8, got -129
builder_cases.cpp:N: constant: expected a whole number from -2^63 to 2^63 - 1 for i64, got 0.5
builder_cases.cpp:N: constant: expected a whole number from -2^63 to 2^63 - 1 for i64, got 1e+19
builder_cases.cpp:N: constant: expected a whole number from 0 to 1 for u1, got 2
OUTSIDE
OUTSIDE
OUTSIDE
OUTSIDE
OUTSIDE
builder_cases.cpp:N: kernel 'second': a value of the kernel 'first' is used in it
builder_cases.cpp:N: kernel 'first': the module has this name already
compile: targets: expected one, which this machine runs, got 2
"""


OUTSIDE = (
    "builder_cases.cpp:N: kernel 'k': a value of line N is used outside of the loop or the branch that it was computed in: "
    "store it there in a variable that is made before, k.variable(...), and use that"
)
MISTAKES = MISTAKES.replace("OUTSIDE", OUTSIDE)


def test_mistakes_name_the_line_of_the_program(cases):
    said = re.sub(r"(builder_cases\.cpp:|line )\d+", r"\1N", run(cases, "mistakes"))
    assert said.startswith(MISTAKES)
    rest = said[len(MISTAKES) :].splitlines()
    wanted = ("pdp-11", "speed", "save: expected a path that ends in .metate, .o or .a, got '/tmp/x.exe'", "/nowhere/x.metate",
              "expected code that Module::compile made, got an empty Code", "expected one extent or 2, got 3")  # fmt: skip
    assert len(rest) == len(wanted) and all(text in line for text, line in zip(wanted, rest)), rest


def test_it_links_neither_libmetate_nor_python():
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", LIBRARY / "libmetate_compiler.so"))
    assert any("LLVM" in name for name in needed)
    assert not [name for name in needed if re.match(r"libmetate|libpython", name)]
    symbols = run("nm", "-DC", "--defined-only", LIBRARY / "libmetate_compiler.so")
    assert "metate::builder::Module::compile" in symbols and not re.search(r" T .*\b(mlir|llvm)::", symbols)
