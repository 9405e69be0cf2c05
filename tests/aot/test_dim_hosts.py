"""Named extents with bounds in modules: what signatures, inspect and headers say, and who checks them."""

import pathlib
import subprocess

import numpy as np
import pytest

import metate as mt
from metate.errors import RuntimeValueError_

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
n = mt.Dim("n", min=8, max=64, multiple=8)


@mt.kernel
def norm(x: mt.types.ndarray(mt.f32, shape=(n, 3), contiguous=True), y: mt.types.ndarray(mt.f32, shape=(n,), contiguous=True)):
    for i in range(x.shape[0]):
        y[i] = x[i, 0] * x[i, 0] + x[i, 1] * x[i, 1] + x[i, 2] * x[i, 2]


@mt.kernel
def total(x: mt.types.ndarray(mt.f32, shape=(mt.Dim("k"), mt.Dim("n", max=9)))) -> mt.f32:
    s = 0.0
    for i, j in mt.ndrange(x.shape[0], x.shape[1]):
        s += x[i, j]
    return s


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return mt.aot.Module(name="dims").add_kernel(norm).add_kernel(total).save(tmp_path_factory.mktemp("dims") / "dims.metate")


def test_a_loaded_module_knows_and_checks_them(file, rng):
    module = mt.aot.load(file)
    assert module.norm.signature() == "norm(x: f32[n, 3], y: f32[n]), n: 8..64 by 8"
    assert module.total.signature() == "total(x: f32[k, n]) -> f32, k: 0.., n: 0..9"
    assert module.norm.dims == {"n": n}
    x, y = rng.random((24, 3), dtype="f4"), np.zeros(24, "f4")
    module.norm(x, y)
    np.testing.assert_allclose(y, (x * x).sum(axis=1), rtol=1e-6)
    assert module.total(x) == pytest.approx(x.sum(), rel=1e-5)
    with pytest.raises(
        RuntimeValueError_, match=r"argument 1 'y': dimension 0 \(n\): expected 24, as dimension 0 of argument 0 'x', got 16"
    ):
        module.norm(x, y[:16])
    with pytest.raises(RuntimeValueError_, match=r"argument 0 'x': dimension 1 \(n\): expected 0 to 9, got 10"):
        module.total(np.zeros((2, 10), "f4"))


def test_inspect_shows_them(file):
    shown = subprocess.run([ROOT / "build/bin/metate-run", "inspect", file], capture_output=True, text=True, check=True).stdout
    assert "    x              ndarray(f32, 2) [n, 3]   read\n" in shown
    assert "    dim n          8 to 64, a multiple of 8\n" in shown
    assert "    dim k          0 to 2147483647\n" in shown


def test_metate_run_checks_them(file):
    tool = [ROOT / "build/bin/metate-run", "run", file, "norm"]
    done = subprocess.run([*tool, "x=ones:[12,3]", "y=zeros:[12]"], capture_output=True, text=True)
    assert done.returncode != 0
    assert "dimension 0 (n): expected 8 to 64, a multiple of 8, got 12" in done.stderr


@pytest.mark.parametrize("flags", [[], ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]], ids=["", "asan"])
def test_a_host_has_arrays_of_the_largest_size(tmp_path, flags):
    mt.aot.Module(name="dims").add_kernel(norm).save(tmp_path / "dims.o")
    header = (tmp_path / "dims.h").read_text()
    assert "int32_t dims_norm(const float *x, int64_t n, float *y, void *const *pools," in header
    assert "x: f32 array [n, 3], row-major without gaps" in header
    program = tmp_path / "host"
    folders = [f"-I{folder}" for folder in (ROOT / "abi", ROOT / "include", HERE, tmp_path)]
    libraries = [f"-L{ROOT / 'build/lib'}", "-lmetate", f"-Wl,-rpath,{ROOT / 'build/lib'}"]
    files = [HERE / "dims_host.c", tmp_path / "dims.o", "-o", program]
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", *flags, *folders, *files, *libraries], check=True)
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    x = np.float32(0.5) * (np.arange(64 * 3) % 7).astype("f4").reshape(64, 3)
    expected = (x * x).sum(axis=1)
    for line, count in zip(lines[:6], (8, 8, 8, 64, 64, 64), strict=True):
        _, status, *values = line.split()
        assert status == "0"
        np.testing.assert_allclose([float.fromhex(value) for value in values], expected[:count], rtol=1e-6)
    for at, count in zip((6, 9, 12), (12, 0, 72), strict=True):
        text = f"kernel 'norm' argument 0 'x': dimension 0 (n): expected 8 to 64, a multiple of 8, got {count}"
        assert lines[at : at + 3] == ["direct 2", f"packed -1 ValueError: {text}", f"launch 2 {text}"]
    text = "kernel 'norm' argument 1 'y': dimension 0 (n): expected 16, as"
    assert lines[15] == f"packed -1 ValueError: {text} the first dimension of that name, got 24"
    assert lines[16] == f"launch 2 {text} dimension 0 of argument 0 'x', got 24"
    assert lines[17:] == ["1 n 8 64 8 1", "16 kernel 'norm': index: expected less than 1 dims, got 1"]
