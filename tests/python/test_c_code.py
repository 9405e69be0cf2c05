"""C of the examples' kernels: gcc takes each as C99 without a warning.

Of some examples in each run, of all with METATE_TEST_C_CODE=1.
"""

import ctypes
import os
import pathlib
import shutil
import subprocess

import c_code
import example_kernels
import numpy as np
import pytest

# Which run always: dense and sparse trees, gradients, quantised data.
SOME = ("quant_mpm", "fit", "sparse/particle_list")


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
def test_gcc_takes_kernels_of_examples(tmp_path):
    from metate_native import _compiler

    some = None if os.environ.get("METATE_TEST_C_CODE") else SOME
    for number, (name, record) in enumerate(example_kernels.records_of(some, tmp_path / "records").items()):
        text, choices = example_kernels.read(record, "c")
        module = _compiler.SourceModule("module")
        module.parse(text)
        header, (source,) = _compiler.build_static(c_code.with_c_names(module), choices)
        folder = tmp_path / str(number)
        folder.mkdir()
        own = c_code.name_in(header)
        (folder / f"{own}.h").write_text(header)
        (folder / f"{own}.c").write_bytes(source)
        print(f"{name}: {len(source)} bytes")
        c_code.compile_file(folder / f"{own}.c", folder / "module.o", "-O1", "-c")


NUMBERS = """
define half @f64tof16(double %x) { %r = fptrunc double %x to half
 ret half %r }
define half @f32tof16(float %x) { %r = fptrunc float %x to half
 ret half %r }
define float @f16tof32(half %x) { %r = fpext half %x to float
 ret float %r }
define i32 @ctlz(i32 %x) { %r = call i32 @llvm.ctlz.i32(i32 %x, i1 false)
 ret i32 %r }
define i32 @bitreverse(i32 %x) { %r = call i32 @llvm.bitreverse.i32(i32 %x)
 ret i32 %r }
define i32 @shifted(i32 %x, i32 %y) { %r = ashr i32 %x, %y
 ret i32 %r }
define i1 @overflows(i64 %x, i64 %y) { %p = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %x, i64 %y)
 %r = extractvalue { i64, i1 } %p, 1
 ret i1 %r }
"""


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
def test_numbers_are_numpys(tmp_path, rng):
    """Functions of compiler/metate/Target/C/Print/Support, called one by one."""
    build = pathlib.Path(os.environ.get("METATE_BUILD", "build"))
    (tmp_path / "numbers.ll").write_text(NUMBERS)
    subprocess.run([build / "bin" / "metate-c", tmp_path / "numbers.ll", tmp_path / "numbers.c"], check=True)
    library = ctypes.CDLL(str(c_code.compile_file(tmp_path / "numbers.c", tmp_path / "numbers.so", "-O1", "-shared", "-fPIC")))

    def call(name, result, *arguments):
        function = getattr(library, name)
        function.restype = result
        return function(*arguments)

    halves = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(all="ignore"):
        wide = halves.view(np.float16).astype(np.float32)
        near = np.concatenate([wide.astype(np.float64) * (1 + d) for d in (0, 2.0**-11, -(2.0**-11), 2.0**-12, 2.0**-40)])
        near = rng.permutation(near[np.isfinite(near)])[:20000]
        narrow, single = near.astype(np.float16), near.astype(np.float32).astype(np.float16)
    for bits, value in zip(halves.tolist(), wide.tolist()):
        found = call("f16tof32", ctypes.c_float, ctypes.c_uint16(bits))
        assert found == value or (found != found and value != value), bits
    for value, one, other in zip(near.tolist(), narrow.view(np.uint16).tolist(), single.view(np.uint16).tolist()):
        assert call("f64tof16", ctypes.c_uint16, ctypes.c_double(value)) == one, value
        assert call("f32tof16", ctypes.c_uint16, ctypes.c_float(value)) == other, value
    for x in [0, 1, 2**31, 2**32 - 1, *rng.integers(0, 2**32, 200).tolist()]:
        assert call("ctlz", ctypes.c_uint32, ctypes.c_uint32(x)) == 32 - x.bit_length()
        assert call("bitreverse", ctypes.c_uint32, ctypes.c_uint32(x)) == int(f"{x:032b}"[::-1], 2)
        signed = x - (x >> 31 << 32)
        assert call("shifted", ctypes.c_int32, ctypes.c_uint32(x), ctypes.c_uint32(7)) == signed >> 7
    edges = [0, 1, -1, 2**63 - 1, -(2**63), 2**32, -(2**31), 3037000500, *rng.integers(-(2**40), 2**40, 30).tolist()]
    for x in edges:
        for y in edges:
            wraps = not -(2**63) <= x * y < 2**63
            assert call("overflows", ctypes.c_uint8, ctypes.c_int64(x), ctypes.c_int64(y)) == wraps, (x, y)
