"""libmetate_packed: what test_every_way.py does not ask of it. Layouts, life times, forms of arguments, hosts without tvm-ffi."""

import ctypes
import gc
import pathlib
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import tvm_ffi

import metate as mt
from metate import native, packed_functions

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import level_kernels as kernels

ROOT = pathlib.Path(__file__).resolve().parents[2]


@mt.kernel
def halves(h: mt.f16, b: mt.bf16) -> mt.f64:
    return mt.cast(h, mt.f64) * 65536 + mt.cast(b, mt.f64)


@mt.kernel
def unsigned(x: mt.u64) -> mt.u64:
    return x + x


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    made = kernels.module(contract=False).add_kernel(halves).add_kernel(unsigned)
    return mt.aot.load(made.save(tmp_path_factory.mktemp("packed") / "packed.metate"))


def tensor(array):
    return tvm_ffi.from_dlpack(array)


def test_our_layouts_are_those_of_its_headers(tmp_path):
    include = pathlib.Path(tvm_ffi.__file__).parent / "include"
    source = tmp_path / "same.cpp"
    source.write_text("""#include <tvm/ffi/c_api.h>
#include "packed/ffi.h"
#include "metate/metate_packed.h"
using namespace metate::packed;
#define SAME(a, b) static_assert(long(a) == long(b), #a)
SAME(sizeof(Any), sizeof(TVMFFIAny));
SAME(offsetof(Any, value), offsetof(TVMFFIAny, v_int64));
SAME(headerBytes, sizeof(TVMFFIObject));
SAME(Int, kTVMFFIInt);
SAME(Bool, kTVMFFIBool);
SAME(Float, kTVMFFIFloat);
SAME(Pointer, kTVMFFIOpaquePtr);
SAME(BareTensor, kTVMFFIDLTensorPtr);
SAME(FunctionObject, kTVMFFIFunction);
SAME(RawText, kTVMFFIRawStr);
SAME(SmallText, kTVMFFISmallStr);
SAME(TextObject, kTVMFFIStr);
SAME(firstObject, kTVMFFIStaticObjectBegin);
SAME(TensorObject, kTVMFFITensor);
SAME(sizeof(Tensor), sizeof(DLTensor));
SAME(offsetof(Tensor, deviceType), offsetof(DLTensor, device));
SAME(offsetof(Tensor, rank), offsetof(DLTensor, ndim));
SAME(offsetof(Tensor, code), offsetof(DLTensor, dtype));
SAME(offsetof(Tensor, shape), offsetof(DLTensor, shape));
SAME(offsetof(Tensor, strides), offsetof(DLTensor, strides));
SAME(offsetof(Tensor, byteOffset), offsetof(DLTensor, byte_offset));
SAME(cpu, kDLCPU);
SAME(DlBfloat, kDLBfloat);
SAME(DlBool, kDLBool);
using Create = int (*)(void *, int (*)(void *, const void *, int32_t, void *), void (*)(void *), void **);
Create create = reinterpret_cast<Create>(&TVMFFIFunctionCreate);
static_assert(sizeof(TVMFFISafeCallType) == sizeof(&metate_packed_call));
""")
    folders = [f"-I{folder}" for folder in (include, ROOT / "runtime", ROOT / "include", ROOT / "abi")]
    subprocess.run(["g++", "-std=c++20", "-Wall", "-Werror", "-fsyntax-only", *folders, source], check=True)


@pytest.mark.parametrize("value", [0, 1, -2.5, 65504, 65519, 65520, 1e-8, 6e-8, 2.98e-8, 6.1e-5, float("inf"), float("nan"), 0.1])
def test_halves_are_rounded_as_numpy_rounds(module, value):
    packed_one = module.kernels["halves"].packed()
    with np.errstate(over="ignore"):
        assert packed_one(value, 0.0) == pytest.approx(float(np.float16(value)) * 65536, nan_ok=True, rel=0)
    bits = int(np.float32(value).view(np.uint32))
    rounded = np.uint32((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).view(np.float32)
    assert packed_one(0.0, value) == pytest.approx(float(rounded), nan_ok=True, rel=0)


def test_numbers_that_do_not_fit(module):
    assert module.kernels["unsigned"].packed()(5) == 10
    with pytest.raises(ValueError, match="its result 18446744073709551614 does not fit the 64-bit signed integers of tvm-ffi"):
        module.kernels["unsigned"].packed()(2**63 - 1)
    with pytest.raises(ValueError, match="kernel 'unsigned' argument 0 'x': expected a value of u64, got -1"):
        module.kernels["unsigned"].packed()(-1)


def test_strides_and_gaps_are_taken_as_by_a_launch(module):
    axpy, total, turn = (module.kernels[name].packed() for name in ("axpy", "total", "turn"))
    x, y = np.arange(20, dtype=np.float32), np.zeros(30, np.float32)
    axpy(1.0, tensor(x[::2]), tensor(y[::3]))
    np.testing.assert_array_equal(y[::3], np.arange(0, 20, 2))
    assert total(tensor(np.arange(6.0).reshape(2, 3).T)) == 15
    m, points = np.arange(4.0).reshape(2, 2), np.ones((3, 3), np.float32)
    turned, straight = np.zeros((2, 3, 3), np.float32)
    turn(tensor(m.T), tensor(np.zeros(3, np.float32)), tensor(points), tensor(turned))
    turn(tensor(m.T.copy()), tensor(np.zeros(6, np.float32)[::2]), tensor(points), tensor(straight))
    np.testing.assert_array_equal(turned, straight)
    with pytest.raises(ValueError, match="kernel 'turn' argument 1 'by': dimension 0: expected 3, got 2"):
        turn(tensor(m), tensor(np.zeros(2, np.float32)), tensor(points), tensor(turned))
    with pytest.raises(TypeError, match=r"kernel 'axpy' argument 1 'x': expected a 1-dimensional array of f32, got an integer"):
        axpy(1.0, 3, tensor(y))


def test_trees_are_blocks_or_their_addresses(module):
    tree = module.types["sparse"].new()
    paint, weight = (module.kernels[name].packed() for name in ("paint", "weight"))
    block = np.frombuffer(tree.block, np.uint8)
    paint(ctypes.c_void_p(block.ctypes.data), 2.0)
    assert weight(tensor(block)) == weight(ctypes.c_void_p(block.ctypes.data)) == module.kernels["weight"](tree) > 0
    for wrong, text in (
        (block[:64], "bytes"),
        (block[1:], "align"),
        (np.zeros(1 << 16, np.uint8), "tree|block|hold|align"),
        (ctypes.c_void_p(0), "NULL|None|pointer"),
    ):
        with pytest.raises((ValueError, TypeError), match=rf"kernel 'weight' argument 0 'f': .*({text})"):
            weight(tensor(wrong) if isinstance(wrong, np.ndarray) else wrong)
    with pytest.raises(TypeError, match="kernel 'weight' argument 0 'f': expected the block of a tree of type 'sparse'"):
        weight(3)
    other = module.types["large"].new(capacity=2)
    with pytest.raises(TypeError, match="kernel 'weight' argument 0 'f': "):
        weight(tensor(np.frombuffer(other.block, np.uint8)))


def test_by_steps(module):
    """A session keeps what it was given; a kernel of this process has them, too."""
    for session in (module.kernels["axpy"].packed_session(), kernels.axpy.packed_session()):
        x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
        with pytest.raises(ValueError, match="kernel 'axpy': 'a' is not set: call set_input"):
            session("run")
        session("set_input", "a", 2.0)
        session("set_input", "x", tensor(x))
        session("set_input", "y", tensor(np.zeros(1, np.float32)))
        session("set_input", "y", tensor(y))
        gc.collect()
        session("run")
        session("run")
        np.testing.assert_array_equal(np.from_dlpack(session("get_output", "y")), 4 * x + 1)
        assert session("get_output", "a") == 2.0 and y[3] == 13
        with pytest.raises(ValueError, match="kernel 'axpy': it has no argument 'a name of many letters'; it has a, x, y"):
            session("set_input", "a name of many letters", 1)
        with pytest.raises(ValueError, match="kernel 'axpy': it has no argument 'return'"):
            session("get_output", "return")
        for wrong in (("run", 1), ("go",), (), (1,), ("set_input", "x")):
            with pytest.raises(TypeError, match="kernel 'axpy': expected \"set_input\", name, value"):
                session(*wrong)
        session("set_input", "x", tensor(x.astype(float)))
        with pytest.raises(TypeError, match="kernel 'axpy' argument 1 'x': expected a 1-dimensional array of f32"):
            session("run")
    x = np.arange(4, dtype=np.float32)
    references, session = sys.getrefcount(x), module.kernels["axpy"].packed_session()
    for _ in range(3):
        session("set_input", "x", tensor(x))
        session("get_output", "x")
    gc.collect()
    assert sys.getrefcount(x) > references
    del session
    gc.collect()
    assert sys.getrefcount(x) == references
    summed = module.kernels["total"].packed_session()
    with pytest.raises(ValueError, match="kernel 'total': it has no result yet: call run"):
        summed("get_output", "return")
    summed("set_input", "x", tensor(np.ones((2, 3))))
    summed("run")
    assert summed("get_output", "return") == 6


def test_functions_keep_what_they_call(tmp_path):
    opened = mt.aot.load(kernels.module().save(tmp_path / "kept.metate"))
    function, gone = opened.kernels["positive"].packed(), weakref.ref(opened)
    library = packed_functions._library()
    del opened
    gc.collect()
    kept = len(library._kept)
    assert gone() is None and function(5, 2) == 17
    del function
    gc.collect()
    assert len(library._kept) == kept - 1


def test_calls_from_many_threads(module):
    """On one tree that is only read, too."""
    tree = module.types["sparse"].new()
    module.kernels["paint"](tree, 1.0)
    weight, positive = module.kernels["weight"].packed(), module.kernels["positive"].packed()
    block = tensor(np.frombuffer(tree.block, np.uint8))
    wanted, found = weight(block), []

    def work():
        for k in range(1, 100):
            found.append(weight(block) == wanted and positive(k, 0) == 3 * k)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 396 and all(found)


def test_what_a_kernel_of_this_process_needs():
    @mt.kernel
    def open_kernel(x: mt.template()):
        pass

    with pytest.raises(mt.CompilationError):
        open_kernel.packed()


def test_a_host_without_tvm_ffi_calls_and_gets_a_status(module, tmp_path):
    """Calls work, errors have no text, and there are no objects."""
    file = kernels.module().save(tmp_path / "host.metate")
    source = tmp_path / "host.c"
    source.write_text(r"""#include "metate/metate_packed.h"
#include <stdio.h>
typedef struct any { int32_t type; uint32_t padding; union { int64_t i; double d; void *p; } value; } any;
int main(int count, char **words) {
  metate_device *device; metate_module *module; const metate_kernel *positive; void *function;
  (void)count;
  if (metate_device_open(NULL, &device) || metate_module_open_file(device, words[1], 0, &module) ||
      metate_module_find_kernel(module, "positive", &positive))
    return printf("%s\n", metate_last_error()), 1;
  any good[2] = {{1, 0, {5}}, {1, 0, {2}}}, bad[2] = {{1, 0, {-1}}, {1, 0, {2}}}, result = {0, 0, {0}};
  printf("%d ", metate_packed_call((void *)(uintptr_t)positive, good, 2, &result));
  printf("%d %lld\n", result.type, (long long)result.value.i);
  printf("%d\n", metate_packed_call((void *)(uintptr_t)positive, bad, 2, &result));
  printf("%d\n", metate_packed_call((void *)(uintptr_t)positive, good, 1, &result));
  printf("%s\n", metate_status_name((int32_t)metate_packed_function(positive, NULL, NULL, &function)));
  return metate_module_close(module) || metate_device_close(device);
}
""")
    folders = [f"-I{folder}" for folder in native.include_directories()]
    libraries = native.library_directory()
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Werror", *folders, source, f"-L{libraries}", "-lmetate_packed", "-lmetate",
                    f"-Wl,-rpath,{libraries}", "-o", tmp_path / "host"], check=True)  # fmt: skip
    done = subprocess.run([tmp_path / "host", file], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[:3] == ["0 1 17", "-1", "-1"] and "UNSUPPORTED" in done.stdout.splitlines()[3].upper()
