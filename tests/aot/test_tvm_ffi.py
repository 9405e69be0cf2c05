"""The packed level called through the real tvm-ffi: a shared object linked of levels.o, tensors by DLPack."""

import ctypes
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tvm_ffi

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import level_kernels as kernels


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    kernels.module().save(folder / "levels.o")
    subprocess.run(["gcc", "-shared", folder / "levels.o", "-lm", "-o", folder / "levels.so"], check=True)
    return folder / "levels.so"


@pytest.fixture(scope="module")
def module(library):
    return tvm_ffi.load_module(str(library))


def tensor(array):
    return tvm_ffi.from_dlpack(array)


def aligned(count):
    """Bytes at a multiple of 64."""
    memory = np.zeros(count + 64, np.uint8)
    return memory[-memory.ctypes.data % 64 :][:count]


def test_our_layouts_are_those_of_its_headers(tmp_path):
    include = pathlib.Path(tvm_ffi.__file__).parent / "include"
    root = pathlib.Path(__file__).parents[2]
    source = tmp_path / "same.c"
    source.write_text("""#include <tvm/ffi/c_api.h>
#include "metate/Module/Support/Support.h"
#define SAME(a, b) _Static_assert((long)(a) == (long)(b), #a)
SAME(sizeof(metate_ffi_any), sizeof(TVMFFIAny));
SAME(offsetof(metate_ffi_any, value), offsetof(TVMFFIAny, v_int64));
SAME(METATE_FFI_HEADER_BYTES, sizeof(TVMFFIObject));
SAME(METATE_FFI_INT, kTVMFFIInt);
SAME(METATE_FFI_BOOL, kTVMFFIBool);
SAME(METATE_FFI_FLOAT, kTVMFFIFloat);
SAME(METATE_FFI_POINTER, kTVMFFIOpaquePtr);
SAME(METATE_FFI_DLTENSOR, kTVMFFIDLTensorPtr);
SAME(METATE_FFI_TENSOR, kTVMFFITensor);
SAME(sizeof(metate_dl_tensor), sizeof(DLTensor));
SAME(offsetof(metate_dl_tensor, device_type), offsetof(DLTensor, device));
SAME(offsetof(metate_dl_tensor, ndim), offsetof(DLTensor, ndim));
SAME(offsetof(metate_dl_tensor, code), offsetof(DLTensor, dtype));
SAME(offsetof(metate_dl_tensor, shape), offsetof(DLTensor, shape));
SAME(offsetof(metate_dl_tensor, strides), offsetof(DLTensor, strides));
SAME(offsetof(metate_dl_tensor, byte_offset), offsetof(DLTensor, byte_offset));
SAME(METATE_DL_CPU, kDLCPU);
SAME(METATE_DL_BFLOAT, kDLBfloat);
SAME(METATE_DL_BOOL, kDLBool);
""")
    subprocess.run(
        ["gcc", "-std=c11", "-fsyntax-only", f"-I{include}", f"-I{root / 'compiler'}", f"-I{root / 'abi'}", source], check=True
    )


def test_kernels_are_its_functions(module, rng):
    x, y = rng.normal(size=(2, 1000)).astype(np.float32)
    wanted = 2.5 * x + y
    assert module["levels_axpy"](2.5, tensor(x), tensor(y)) is None
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)
    values = rng.normal(size=(30, 40))
    assert module["levels_total"](tensor(values)) == pytest.approx(values.sum())
    assert module["levels_total"](tensor(values[::2, 3:7])) == pytest.approx(values[::2, 3:7].sum())
    assert module["levels_positive"](5, 2) == 17
    out = np.zeros(7)
    module["levels_scalars"](True, -5, 7, 2**50, 2**32 - 1, 3, 0.5, tensor(out))
    np.testing.assert_array_equal(out, [1, -5, 7, 2.0**50, 2.0**32 - 1, 3, 0.5])
    points = rng.normal(size=(9, 3)).astype(np.float32)
    turned = np.zeros_like(points)
    m, by = rng.normal(size=(2, 2)), rng.normal(size=3).astype(np.float32)
    module["levels_turn"](tensor(m), tensor(by), tensor(points), tensor(turned))
    moved = points + by
    np.testing.assert_allclose(turned, np.concatenate([moved[:, :2] @ m.T, moved[:, 2:]], 1), rtol=1e-4, atol=1e-5)


def test_a_tree_is_its_block(module, library):
    block = aligned(kernels.Sparse.bytes())
    assert ctypes.CDLL(library).levels_sparse_reset(ctypes.c_void_p(block.ctypes.data), ctypes.c_uint64(block.size)) == 0
    module["levels_paint"](tensor(block), 2.0)
    by_tensor = module["levels_weight"](tensor(block))
    assert by_tensor == module["levels_weight"](ctypes.c_void_p(block.ctypes.data))
    i, j = np.indices((30, 30))
    painted = (i // 10 == j // 10) & (i >= 10)
    assert by_tensor == pytest.approx(float((2.0 * (i + 0.5 * j) + 2.0)[painted].sum()))
    with pytest.raises(ValueError, match="argument 0 'f': the memory is smaller than the tree that it holds"):
        module["levels_weight"](tensor(block[:-64]))
    with pytest.raises(ValueError, match="argument 0 'f': expected a block aligned to 64 bytes"):
        module["levels_weight"](tensor(block[32:]))
    with pytest.raises(TypeError, match=r"expected the block of a tree of type 'sparse'.*got an integer"):
        module["levels_weight"](3)


def test_errors_are_python_errors(module, rng):
    x = rng.normal(size=10).astype(np.float32)
    y = x.copy()
    axpy = module["levels_axpy"]
    with pytest.raises(TypeError, match=r"kernel 'axpy': expected 3 arguments \(a, x, y\), got 1"):
        axpy(1.0)
    with pytest.raises(
        TypeError, match=r"argument 1 'x': expected a 1-dimensional array of f32, got a 1-dimensional array of f64"
    ):
        axpy(1.0, tensor(x.astype(np.float64)), tensor(y))
    with pytest.raises(TypeError, match=r"argument 1 'x': .* got a 2-dimensional array of f32"):
        axpy(1.0, tensor(x.reshape(2, 5)), tensor(y))
    with pytest.raises(TypeError, match="argument 0 'a': expected f32, got None"):
        axpy(None, tensor(x), tensor(y))
    with pytest.raises(ValueError, match="argument 2 'y': it is written and overlaps argument 1 'x'"):
        axpy(1.0, tensor(x[:5]), tensor(x[3:]))
    with pytest.raises(ValueError, match="argument 0 'x': expected a value of i32, got 4294967296"):
        module["levels_positive"](2**32, 1)
    with pytest.raises(
        AssertionError,
        match=r"level_kernels\.py:\d+:\d+: kernel 'positive': assertion failed: \{x\} must be positive, got -1 and 0\.25, False$",
    ):
        module["levels_positive"](-1, 1)
    np.testing.assert_array_equal(x, y)


def test_debug_modules_name_the_access(tmp_path):
    kernels.module(debug=True).save(tmp_path / "levels.o")
    subprocess.run(["gcc", "-shared", tmp_path / "levels.o", "-lm", "-o", tmp_path / "debug.so"], check=True)
    axpy = tvm_ffi.load_module(str(tmp_path / "debug.so"))["levels_axpy"]
    x, y = np.ones(10, np.float32), np.ones(7, np.float32)
    with pytest.raises(
        IndexError, match=r"level_kernels\.py:\d+:\d+: kernel 'axpy': index out of range: y\[\d\] of shape \(7,\)"
    ):
        axpy(1.0, tensor(x), tensor(y))
