"""The packed level called through the real tvm-ffi: shared objects as saved and as linked of levels.o; tensors by DLPack."""

import ctypes
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tvm_ffi
from tvm_ffi.core import TypeSchema

import metate as mt

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import level_kernels as kernels


@pytest.fixture(scope="module", params=["so", "o"])
def library(request, tmp_path_factory):
    """(A shared object, what its packed entries are called before their kernels' names)."""
    folder = tmp_path_factory.mktemp("packed")
    kernels.module().save(folder / f"levels.{request.param}")
    if request.param == "so":
        return folder / "levels.so", ""
    subprocess.run(["gcc", "-shared", folder / "levels.o", "-lm", "-o", folder / "levels.so"], check=True)
    return folder / "levels.so", "levels_"


class Named:
    """Functions of a module by their kernels' names."""

    def __init__(self, file, prefix):
        self.module, self.prefix = tvm_ffi.load_module(str(file)), prefix

    def __getitem__(self, name):
        return self.module[f"{self.prefix}{name}"]


@pytest.fixture(scope="module")
def module(library):
    return Named(*library)


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
    assert module["axpy"](2.5, tensor(x), tensor(y)) is None
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)
    values = rng.normal(size=(30, 40))
    assert module["total"](tensor(values)) == pytest.approx(values.sum())
    assert module["total"](tensor(values[::2, 3:7])) == pytest.approx(values[::2, 3:7].sum())
    assert module["positive"](5, 2) == 17
    out = np.zeros(7)
    module["scalars"](True, -5, 7, 2**50, 2**32 - 1, 3, 0.5, tensor(out))
    np.testing.assert_array_equal(out, [1, -5, 7, 2.0**50, 2.0**32 - 1, 3, 0.5])
    points = rng.normal(size=(9, 3)).astype(np.float32)
    turned = np.zeros_like(points)
    m, by = rng.normal(size=(2, 2)), rng.normal(size=3).astype(np.float32)
    module["turn"](tensor(m), tensor(by), tensor(points), tensor(turned))
    moved = points + by
    np.testing.assert_allclose(turned, np.concatenate([moved[:, :2] @ m.T, moved[:, 2:]], 1), rtol=1e-4, atol=1e-5)


def test_a_tree_is_its_block(module, library):
    block = aligned(kernels.Sparse.bytes())
    assert ctypes.CDLL(library[0]).levels_sparse_reset(ctypes.c_void_p(block.ctypes.data), ctypes.c_uint64(block.size)) == 0
    module["paint"](tensor(block), 2.0)
    by_tensor = module["weight"](tensor(block))
    assert by_tensor == module["weight"](ctypes.c_void_p(block.ctypes.data))
    i, j = np.indices((30, 30))
    painted = (i // 10 == j // 10) & (i >= 10)
    assert by_tensor == pytest.approx(float((2.0 * (i + 0.5 * j) + 2.0)[painted].sum()))
    with pytest.raises(ValueError, match="argument 0 'f': the memory is smaller than the tree that it holds"):
        module["weight"](tensor(block[:-64]))
    with pytest.raises(ValueError, match="argument 0 'f': expected a block aligned to 64 bytes"):
        module["weight"](tensor(block[32:]))
    with pytest.raises(TypeError, match=r"expected the block of a tree of type 'sparse'.*got an integer"):
        module["weight"](3)


def test_errors_are_python_errors(module, rng):
    x = rng.normal(size=10).astype(np.float32)
    y = x.copy()
    axpy = module["axpy"]
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
        module["positive"](2**32, 1)
    with pytest.raises(
        AssertionError,
        match=r"level_kernels\.py:\d+:\d+: kernel 'positive': assertion failed: \{x\} must be positive, got -1 and 0\.25, False$",
    ):
        module["positive"](-1, 1)
    np.testing.assert_array_equal(x, y)


def test_debug_modules_name_the_access(tmp_path):
    axpy = tvm_ffi.load_module(str(kernels.module(debug=True).save(tmp_path / "debug.so")))["axpy"]
    x, y = np.ones(10, np.float32), np.ones(7, np.float32)
    with pytest.raises(
        IndexError, match=r"level_kernels\.py:\d+:\d+: kernel 'axpy': index out of range: y\[\d\] of shape \(7,\)"
    ):
        axpy(1.0, tensor(x), tensor(y))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return kernels.module().save(tmp_path_factory.mktemp("saved") / "levels.so")


def test_what_it_is_told_of_functions(saved):
    module = tvm_ffi.load_module(str(saved))
    assert module.get_function_doc("axpy") == (
        "Adds a multiple of x to y.\n\nBoth are as long as x: what y has beyond it stays as it is."
    )
    assert module.get_function_doc("total") is None and module.get_function_metadata("nothing") is None
    schemas = {name: str(TypeSchema.from_json_str(module.get_function_metadata(name)["type_schema"])) for name in
               ("axpy", "total", "scalars", "turn", "paint", "weight", "positive", "push")}  # fmt: skip
    assert schemas == {
        "axpy": "Callable[[float, Tensor, Tensor], None]",
        "total": "Callable[[Tensor], float]",
        "scalars": "Callable[[bool, int, int, int, int, float, float, Tensor], None]",
        "turn": "Callable[[Tensor, Tensor, Tensor, Tensor], None]",
        "paint": "Callable[[Tensor | ctypes.c_void_p, float], None]",
        "weight": "Callable[[Tensor | ctypes.c_void_p], float]",
        "positive": "Callable[[int, int], int]",
        "push": "Callable[[Tensor, float, int, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor], None]",
    }
    assert module.get_function_metadata("axpy")["metate"] == {
        "module": "levels",
        "arguments": [
            {"name": "a", "type": "f32"},
            {"name": "x", "type": "ndarray(f32, 1)", "access": ["read"]},
            {"name": "y", "type": "ndarray(f32, 1)", "access": ["read", "write"]},
        ],
    }
    turn = module.get_function_metadata("turn")["metate"]["arguments"]
    assert [one["type"] for one in turn] == ["matrix(2, 2, f64)", "vector(3, f32)", "ndarray(f32, 2)", "ndarray(f32, 2)"]
    weight = module.get_function_metadata("weight")["metate"]
    assert weight["result"] == "f32" and weight["arguments"] == [{"name": "f", "type": "sparse", "access": ["read"]}]


def test_tensors_of_pytorch(saved, tmp_path):
    """In the interpreter that has one (tests/python/test_torch.py), with tvm-ffi alone: nothing of Metate is imported there."""
    site = pathlib.Path(tvm_ffi.__file__).parents[1]
    for name in ("tvm_ffi", "typing_extensions.py"):
        (tmp_path / name).symlink_to(site / name)
    program = tmp_path / "program.py"
    program.write_text("""import sys

import torch
import tvm_ffi

module = tvm_ffi.load_module(sys.argv[1])
x, y = torch.arange(6, dtype=torch.float32), torch.ones(6)
module.axpy(2.0, x, y)
assert torch.equal(y, 2 * x + 1), y
module.axpy(2.0, x[1::2], y[:3])
assert torch.equal(y[:3], torch.tensor([3.0, 9.0, 15.0])), y
assert module.total(torch.ones(2, 3, dtype=torch.float64)) == 6
for wrong, kind, text in (
    ((1.0, x.double(), y), TypeError, "argument 1 'x': expected a 1-dimensional array of f32, got a 1-dimensional array of f64"),
    ((1.0, x, x), ValueError, "argument 2 'y': it is written and overlaps argument 1 'x'"),
    ((1.0, x.reshape(2, 3), y), TypeError, "got a 2-dimensional array of f32"),
    ((1.0, x), TypeError, "expected 3 arguments (a, x, y), got 2"),
):
    try:
        module.axpy(*wrong)
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"expected {kind.__name__}")
assert "metate" not in sys.modules
print("done")
""")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "TVM_FFI_DISABLE_TORCH_C_DLPACK": "1"}
    done = subprocess.run(["/usr/bin/python3", program, saved], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "done\n", done.stdout + done.stderr


# ---- sessions


def opened(module, kernel):
    """A session's memory, which keeps all there is of it."""
    memory = tensor(np.zeros(module["session_bytes"](kernel), np.uint8))
    module["session_open"](memory, kernel)
    return memory


def test_a_kernel_by_steps(saved, rng):
    module = tvm_ffi.load_module(str(saved))
    x, y = rng.normal(size=(2, 100)).astype(np.float32)
    wanted = 2 * (2 * x) + 3 * (2 * x) + y
    memory = opened(module, "axpy")
    module["session_set_input"](memory, "a", 2.0)
    module["session_set_input"](memory, "x", tensor(x))  # nobody else has the tensor: the session keeps it
    module["session_set_input"](memory, "y", tensor(y))
    x *= 2  # the memory is the caller's
    module["session_run"](memory)
    module["session_set_input"](memory, "a", 3)
    module["session_run"](memory)
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)
    found = np.from_dlpack(module["session_get_output"](memory, "y"))
    assert found.ctypes.data == y.ctypes.data and found.shape == y.shape
    assert module["session_get_output"](memory, "a") == 3
    module["session_close"](memory)
    with pytest.raises(ValueError, match="session: the memory holds none: call session_open first"):
        module["session_run"](memory)


def test_results_and_two_sessions_at_once(saved):
    module = tvm_ffi.load_module(str(saved))
    one, other = opened(module, "positive"), opened(module, "positive")
    for memory, x in ((one, 5), (other, 6)):
        module["session_set_input"](memory, "x", x)
        module["session_set_input"](memory, "int", 2)
        with pytest.raises(ValueError, match="session: it has no result yet: call session_run"):
            module["session_get_output"](memory, "return")
    for memory in (one, other):
        module["session_run"](memory)
    assert [module["session_get_output"](memory, "return") for memory in (one, other)] == [17, 20]
    moved = tensor(np.from_dlpack(one).copy())  # the bytes are all there is
    module["session_run"](moved)
    assert module["session_get_output"](moved, "return") == 17
    module["session_set_input"](one, "x", -1)
    with pytest.raises(AssertionError, match=r"must be positive, got -1 and 0\.5"):
        module["session_run"](one)
    with pytest.raises(ValueError, match="no result yet"):
        module["session_get_output"](one, "return")


def test_what_sessions_refuse(saved, rng):
    module = tvm_ffi.load_module(str(saved))
    memory, x = opened(module, "axpy"), tensor(rng.normal(size=8).astype(np.float32))
    set_input = module["session_set_input"]
    for arguments, kind, text in (
        ((memory, "z", 1), ValueError, "kernel 'axpy': it has no argument 'z'; it has a, x, y"),
        ((memory, "a rather long name", 1), ValueError, "no argument 'a rather long name'"),
        ((memory, "x", 1), TypeError, "argument 1 'x': expected a 1-dimensional array of f32, got an integer"),
        ((memory, 1, 1), TypeError, "session: expected a name, got an integer"),
        ((memory, "x"), TypeError, r"expected session_set_input\(memory, name, value\), got 2 arguments"),
        ((x, "x", x), TypeError, "session: expected its memory, a 1-dimensional array of u8"),
        ((tensor(np.zeros(9, np.uint8)), "x", x), ValueError, "the memory holds none"),
    ):
        with pytest.raises(kind, match=text):
            set_input(*arguments)
    with pytest.raises(ValueError, match="kernel 'axpy': 'a' is not set: call session_set_input"):
        module["session_run"](memory)
    with pytest.raises(ValueError, match="session: that argument is not set"):
        module["session_get_output"](memory, "y")
    with pytest.raises(ValueError, match="session: the module has no kernel 'nothing'"):
        module["session_bytes"]("nothing")
    with pytest.raises(ValueError, match=r"kernel 'axpy': expected memory of \d+ bytes for a session, got 16"):
        module["session_open"](tensor(np.zeros(16, np.uint8)), "axpy")
    short = np.from_dlpack(memory)[:-8].copy()
    with pytest.raises(ValueError, match="the memory is smaller than the session that it holds"):
        module["session_run"](tensor(short))


def test_sessions_of_objects_for_a_linker(library):
    named = Named(*library)
    memory = tensor(np.zeros(named["session_bytes"]("total"), np.uint8))
    named["session_open"](memory, "total")
    named["session_set_input"](memory, "x", tensor(np.ones((3, 4))))
    named["session_run"](memory)
    assert named["session_get_output"](memory, "return") == 12


def test_extents_with_names_by_steps(tmp_path):
    """In any order, and other ones for another run."""
    n = mt.Dim("n", min=1, max=64)
    line = mt.types.ndarray(mt.f32, shape=(n,))

    @mt.kernel
    def add(x: line, y: line):
        for i in x:
            y[i] += x[i]

    module = tvm_ffi.load_module(str(mt.aot.Module(name="lines").add_kernel(add).save(tmp_path / "lines.so")))
    memory = opened(module, "add")
    for extent in (4, 8):
        x, y = np.ones((2, extent), np.float32)
        module["session_set_input"](memory, "y", tensor(y))
        module["session_set_input"](memory, "x", tensor(x))
        module["session_run"](memory)
        assert (y == 2).all()
    module["session_set_input"](memory, "y", tensor(np.ones(3, np.float32)))
    with pytest.raises(ValueError, match=r"\(n\): expected 8, as the first dimension of that name, got 3"):
        module["session_run"](memory)
    with pytest.raises(ValueError, match=r"\(n\): expected 1 to 64, got 65"):
        module["session_set_input"](memory, "y", tensor(np.ones(65, np.float32)))
    module["session_close"](memory)
