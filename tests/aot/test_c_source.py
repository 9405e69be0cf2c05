"""Modules as C source: whatever hosts do with an object they do with one that a C compiler made of the .c file.

The hosts and their expectations are those of the objects' own tests; here ``save("x.o")`` writes x.c and x.h, and compiles it
by gcc and clang as C99, all warnings errors.
"""

import ctypes
import pathlib
import shutil
import subprocess
import sys

import c_code
import numpy as np
import pytest

import metate as mt
from metate import cli
from metate.errors import CompilationError, RuntimeValueError_

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import test_graphs as graphs  # noqa: E402
import test_quant_hosts as quant_hosts  # noqa: E402
import test_recursion_hosts as recursion_hosts  # noqa: E402
import test_reserve_hosts as reserve_hosts  # noqa: E402
import test_sparse_levels as sparse_levels  # noqa: E402
import test_static as static  # noqa: E402

COMPILERS = [name for name in ("gcc", "clang-22") if shutil.which(name)]
SANITIZE = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def through_c(monkeypatch, compiler, *options):
    """Objects are made of C source from here on."""
    save = mt.aot.Module.save

    def saved(self, path=None, **keywords):
        path = pathlib.Path(path)
        if path.suffix != ".o":
            return save(self, path, **keywords)
        source = save(self, path.with_suffix(".c"))
        return c_code.compile_file(source, path, "-c", *options, compiler=compiler)

    monkeypatch.setattr(mt.aot.Module, "save", saved)


@pytest.fixture(params=COMPILERS)
def compiler(request, monkeypatch):
    through_c(monkeypatch, request.param, "-O2")
    return request.param


def test_every_kind_of_argument_by_each_level(compiler, tmp_path, rng):
    static.kernels.module().save(tmp_path / "levels.o")
    static.test_direct_and_packed_levels_need_the_c_library_only(tmp_path, rng, compiler)
    static.test_the_standard_level_gives_the_same(tmp_path, rng)


def test_under_the_sanitizers(monkeypatch, tmp_path, rng):
    through_c(monkeypatch, "clang-22", *SANITIZE)
    static.kernels.module().save(tmp_path / "levels.o")
    static.run("clang-22", "-std=c11", *SANITIZE, f"-I{tmp_path}", *static.HOST, tmp_path / "levels.o", "-lm",
                    "-o", tmp_path / "host")  # fmt: skip
    static.run_host(tmp_path / "host", tmp_path, rng)


def test_functions_of_tvm_ffi_are_called_by_its_types(monkeypatch, tmp_path):
    """A session keeps an object of tvm-ffi's; calls by another type than the function has end the program."""
    through_c(monkeypatch, "clang-22", "-fsanitize=function", "-fno-sanitize-recover=all")
    mt.aot.Module(name="kept").add_kernel(static.kernels.axpy).save(tmp_path / "kept.o")
    static.run("clang-22", "-std=c11", "-fsanitize=function", "-fno-sanitize-recover=all", f"-I{tmp_path}", f"-I{HERE}",
               HERE / "kept_object_host.c", tmp_path / "kept.o", "-lm", "-o", tmp_path / "host")  # fmt: skip
    assert static.run(tmp_path / "host") == "1 2 1 0\nValueError"


def test_sparse_levels(compiler, tmp_path, rng):
    sparse_levels.kernels.module().save(tmp_path / "sparse.o")
    chosen = rng.choice(1024, size=160, replace=False)
    points = (np.stack([chosen // 32, chosen % 32], axis=1) + 32 * rng.integers(-3, 4, (160, 2))).astype(np.int32)
    for with_metate in (False, True):
        sparse_levels.test_a_c_host_in_its_own_memory(tmp_path, points, tmp_path, with_metate)


def test_quantised_members(compiler, tmp_path, rng):
    kernels = quant_hosts.kernels
    kernels.module().save(tmp_path / "quant.o")
    values = [{name: kernels.numbers(rng, name) for name in kernels.names()} for _ in range(quant_hosts.ROUNDS)]
    (tmp_path / "members.h").write_text(kernels.members())
    quant_hosts.test_the_header_has_the_same_numbers(tmp_path, tmp_path, values, compiler, "c99")


def test_graphs_prints_and_asserts(compiler, tmp_path):
    graph = graphs.drawn()
    x = np.zeros(graphs.N, np.float32)
    graph.run({"x": x, "v": 0.5, "turns": 3})
    graphs.test_hosts_in_c_by_each_level(graph, x, tmp_path)


def test_functions_that_call_themselves(compiler, tmp_path):
    recursion_hosts.test_functions_that_call_themselves_in_a_c_host(tmp_path)


def test_slots_are_counted_first(compiler, tmp_path, rng):
    reserve_hosts.test_count_move_launch(tmp_path, rng, plain=True, linked=True)


def test_the_same_input_gives_the_same_text(tmp_path):
    texts = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        written = static.kernels.module().save(tmp_path / folder / "levels.c")
        texts.append((written.read_text(), written.with_suffix(".h").read_text()))
    assert texts[0] == texts[1]
    assert max(map(len, texts[0][0].split("\n"))) < 4095  # what C99 promises to take


def test_where_a_machine_is_not_as_the_file_expects_it_says_so(tmp_path):
    source = static.kernels.module().save(tmp_path / "levels.c")
    for compiler in COMPILERS:
        done = subprocess.run([compiler, "-ffast-math", "-c", source, "-o", tmp_path / "x.o"], capture_output=True, text=True)
        assert done.returncode and "compile this file without -ffast-math" in done.stderr
    c_code.compile_file(source, tmp_path / "alone.o", "-c", "-DMETATE_SINGLE_THREAD", compiler=COMPILERS[0])


def test_what_is_refused(tmp_path):
    with pytest.raises(CompilationError, match=r"sanitizer: code of target 'c' is instrumented by its own compiler: leave"):
        static.kernels.module(sanitizer="address").save(tmp_path / "levels.c")
    module = mt.aot.Module(targets=["c"]).add_kernel(static.kernels.axpy)
    for file in ("x.metate", "x.o", "x.a"):
        with pytest.raises(RuntimeValueError_, match=r"code of target 'c' is C source: expected a \.c file"):
            module.save(tmp_path / file)
    with pytest.raises(RuntimeValueError_, match=r"emit: expected 'c' for a \.c file, got 'o'"):
        module.save(tmp_path / "x.c", emit="o")
    assert not list(tmp_path.iterdir())


ANY, BARE = "for c (C99 for a C compiler of any machine)", "for c:bare (C99 for machines without a system, of one thread)"


@pytest.mark.parametrize("targets, shown", [((), ANY), (("thumbv7em", "wasm32"), BARE), (("thumbv7em", "x86-64"), ANY)])
def test_what_it_is_for_is_told(targets, shown, tmp_path, capsys):
    words = [word for target in targets for word in ("--target", target)]
    assert cli.main(["build", str(HERE / "level_kernels.py"), "--kernel", "axpy", "-o", str(tmp_path / "k.c"), *words]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(f"kernels axpy, {shown}")
    assert ("For one thread" in (tmp_path / "k.c").read_text()) == ("c:bare" in shown)
    with pytest.raises(CompilationError, match="unknown target 'thumbv9'"):
        mt.aot.Module(targets=["thumbv9"]).add_kernel(static.kernels.axpy).save(tmp_path / "k.c")


def test_targets_beside_it_are_for_the_other_carriers(tmp_path):
    module = mt.aot.Module(targets=["x86-64-v3", "c"], name="both").add_kernel(static.kernels.axpy)
    assert module.save(tmp_path / "both.metate").exists() and module.save(tmp_path / "both.o").exists()
    assert "C99" in module.save(tmp_path / "both.c").read_text()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["both.c", "both.h", "both.metate", "both.o"]


@pytest.mark.parametrize("name", COMPILERS)
def test_zero_less_a_number_is_no_negative_zero(name, tmp_path):
    """gcc 12 has -x for 0.0 - x where x is an integer that became a float."""

    @mt.kernel
    def less(n: mt.types.ndarray(mt.i32, 1), single: mt.types.ndarray(mt.f32, 1), double: mt.types.ndarray(mt.f64, 1)):
        for i in n:
            single[i] = 0.0 - mt.cast(n[i], mt.f32)
            double[i] = mt.cast(0.0, mt.f64) - mt.cast(n[i] & 1, mt.f64)

    source = mt.aot.Module(name="zeros", targets=["c"]).add_kernel(less).save(tmp_path / "zeros.c")
    built = c_code.compile_file(source, tmp_path / "zeros.so", "-O2", "-fPIC", "-shared", compiler=name)
    n = np.array([0, 1, 2, -3, 0], np.int32)
    single, double = np.full(5, 7, np.float32), np.full(5, 7, np.float64)
    pointers = [(ctypes.c_void_p(one.ctypes.data), ctypes.c_int64(len(one))) for one in (n, single, double)]
    assert ctypes.CDLL(str(built)).zeros_less(*(part for pair in pointers for part in pair), None, None) == 0
    np.testing.assert_array_equal(single, -n.astype(np.float32))
    np.testing.assert_array_equal(double, -(n & 1).astype(np.float64))
    assert not np.signbit(single[[0, 4]]).any() and not np.signbit(double[[0, 2, 4]]).any()


@pytest.mark.parametrize("name", COMPILERS)
@pytest.mark.parametrize("dtype", [mt.bf16, mt.f16, mt.f32, mt.f64], ids=str)
def test_what_kind_of_number_it_is(name, dtype, tmp_path):
    """LLVM asks for two kinds at once, of numbers of 16 bits too."""

    @mt.kernel
    def kinds(x: mt.types.ndarray(dtype, 1), out: mt.types.ndarray(mt.i32, 1)):
        for i in out:
            out[i] = (x[i] == dtype(0)) | mt.math.isinf(x[i])

    source = mt.aot.Module(name="kinds", targets=["c"]).add_kernel(kinds).save(tmp_path / "kinds.c")
    assert "metate_classof(" in source.read_text()
    built = c_code.compile_file(source, tmp_path / "kinds.so", "-O2", "-fPIC", "-shared", compiler=name)
    width, digits = {mt.bf16: (16, 7), mt.f16: (16, 10), mt.f32: (32, 23), mt.f64: (64, 52)}[dtype]
    infinity = ((1 << (width - 1 - digits)) - 1) << digits
    halves = [0, 1, infinity // 2, infinity - 1, infinity, infinity + 1, infinity | 1 << (digits - 1)]
    bits = np.array([sign << (width - 1) | half for sign in (0, 1) for half in halves], f"u{width // 8}")
    out = np.full(len(bits), 7, np.int32)
    pointers = [(ctypes.c_void_p(one.ctypes.data), ctypes.c_int64(len(one))) for one in (bits, out)]
    assert ctypes.CDLL(str(built)).kinds_kinds(*(part for pair in pointers for part in pair), None, None) == 0
    np.testing.assert_array_equal(out, [half in (0, infinity) for half in halves] * 2)
