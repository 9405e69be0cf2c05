"""Modules and trees that released versions wrote load, and their kernels compute what they meant, in every carrier."""

import ctypes
import pathlib
import platform
import subprocess
import sys

import numpy as np
import pytest
import tvm_ffi

import metate as mt
from metate.errors import AssertionError_, RuntimeValueError_

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
VERSIONS = sorted(path.name for path in (HERE / "modules").iterdir() if path.is_dir())

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="golden modules hold code of x86-64")


@pytest.fixture(params=VERSIONS)
def folder(request):
    return HERE / "modules" / request.param


@pytest.fixture(params=["metate", "so"])
def module(folder, request):
    return mt.aot.load(folder / f"golden.{request.param}")


def test_there_is_one_of_each_released_version():
    assert "0.1" in VERSIONS


def test_arguments_of_every_kind(module, rng):
    out = np.zeros(7)
    module.scalars(True, -5, 60000, -(2**40), 0.5, (1.0, 2.0, 3.0), ((1.0, 2.0), (3.0, 4.0)), out)
    np.testing.assert_array_equal(out, [1, -5, 60000, -(2**40), 0.5, 17, 49])
    x, y = rng.random((40, 3), dtype="f4"), np.zeros(40, "f4")
    module.norms(x, y)
    np.testing.assert_allclose(y, (x * x).sum(axis=1), rtol=1e-6)
    assert module.norms.signature() == "norms(x: f32[n, 3], y: f32[n]), n: 1..4096"
    with pytest.raises(RuntimeValueError_, match=r"dimension 0 \(n\): expected 40, as"):
        module.norms(x, y[:39])
    wide = rng.integers(0, 9, (6, 8)).astype("f8")
    assert module.total(wide[::2, ::-1]) == wide[::2].sum()
    points = x.copy()
    module.shift(points, (1.0, -2.0, 0.5))
    np.testing.assert_array_equal(points, x + np.array([1.0, -2.0, 0.5], "f4"))
    assert module.binomial(20, 7) == 77520


WEIGHTS = [
    sum(16 * i + j for i in range(16) for j in range(16) if (i + j) % 3 == 0),
    sum(i + j + 1 for i in range(16) for j in range(16) if (i + j) % 3 == 0),
    0,
    3 * sum(range(50)),
]


def hashed():
    """Cells of the hash level: those of a block of eight that was touched, and the background elsewhere."""
    values = {7 * k - 100: k for k in range(40)}
    return sum(values.get(k, -5) for k in range(-100, 200))


def test_trees_of_every_level(module, folder):
    for tree in (module.types["levels"].new(), module.types["levels"].load(folder / "levels.tree")):
        if tree.stats()["pointer0"].used == 0:
            module.paint(tree)
        out = np.zeros(4, np.int64)
        module.weigh(tree, out)
        assert out.tolist() == WEIGHTS[:2] + [hashed()] + WEIGHTS[3:]


def test_quantised_members(module):
    tree = module.types["words"].new()
    module.pack(tree)
    q, f, b = np.zeros(64, "i4"), np.zeros(64, "f4"), np.zeros(64, "i4")
    module.unpack(tree, q, f, b)
    k = np.arange(64)
    np.testing.assert_array_equal(q, k - 32)
    np.testing.assert_array_equal(f, 0.25 * k - 3.0)
    np.testing.assert_array_equal(b, k % 16)


def test_asserts_and_prints(module, capfd):
    module.checked(np.full(5, 9.0, "f4"))
    with pytest.raises(AssertionError_, match="too large: 12"):
        module.checked(np.full(5, 12.0, "f4"))
    module.said(3)
    sys.stdout.flush()
    assert "k is 3 and 1.50" in capfd.readouterr().out


def test_derivatives(module, rng):
    x, out = rng.random(30, dtype="f4"), np.zeros(1, "f4")
    module.energy(x, out)
    assert out[0] == pytest.approx((x.astype("f8") ** 3).sum(), rel=1e-5)
    gradient = np.zeros(30, "f4")
    module.energy.grad(x, out, gradient, np.ones(1, "f4"))
    np.testing.assert_allclose(gradient, 3 * x * x, rtol=1e-5)
    dual = np.zeros(1, "f4")
    module.energy.fwd(x, out, np.ones(30, "f4"), dual)
    assert dual[0] == pytest.approx((3.0 * x * x).sum(), rel=1e-5)


def test_a_graph_with_memory_of_its_own(module, rng):
    x, y = rng.random(100, dtype="f4"), np.zeros(100, "f4")
    module.powers(x, y)
    np.testing.assert_allclose(y, x**2 + x**4, rtol=1e-6)
    (pool,) = module.powers.plan(x, y).pools
    assert pool.memory == "sram" and pool.maximum >= pool.bytes > 0


def test_direct_and_packed_calls_of_the_shared_object(folder, rng):
    library, packed = ctypes.CDLL(str(folder / "golden.so")), tvm_ffi.load_module(str(folder / "golden.so"))
    x, y = rng.random((10, 3), dtype="f4"), np.zeros(10, "f4")
    at = [ctypes.c_void_p(array.ctypes.data) for array in (x, y)]
    assert library.golden_norms(at[0], ctypes.c_int64(10), at[1], None, None) == 0
    np.testing.assert_allclose(y, (x * x).sum(axis=1), rtol=1e-6)
    assert library.golden_norms(at[0], ctypes.c_int64(5000), at[1], None, None) == 2  # beyond the dim's maximum
    packed["norms"](tvm_ffi.from_dlpack(2 * x), tvm_ffi.from_dlpack(y))
    np.testing.assert_allclose(y, 4 * (x * x).sum(axis=1), rtol=1e-6)
    assert packed["total"](tvm_ffi.from_dlpack(np.ones((4, 5)))) == 20.0
    with pytest.raises(ValueError, match="dimension 0"):
        packed["norms"](tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y[:5].copy()))


def test_an_object_that_is_linked(folder, tmp_path):
    """By the header that its version wrote, against today's libmetate and abi/."""
    program = tmp_path / "host"
    folders = [f"-I{place}" for place in (folder, ROOT / "abi", ROOT / "include")]
    libraries = [f"-L{ROOT / 'build/lib'}", "-lmetate", f"-Wl,-rpath,{ROOT / 'build/lib'}", "-lm"]
    sources = [HERE / "golden_host.c", folder / "golden.o"]
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", *folders, *sources, "-o", program, *libraries], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["14", "77", *map(str, WEIGHTS[:2])]


@pytest.mark.parametrize("suffix", ["metate", "so"])
def test_the_tools_read_them(folder, suffix):
    tool, file = ROOT / "build/bin/metate-run", folder / f"golden.{suffix}"
    assert "sound" in subprocess.run([tool, "verify", file], capture_output=True, text=True, check=True).stdout
    shown = subprocess.run([tool, "inspect", file], capture_output=True, text=True, check=True).stdout
    for piece in ("module golden:", "dim n          1 to 4096", "in sram", "norms"):
        assert piece in shown
