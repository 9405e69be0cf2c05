"""A C++ host differentiates a kernel over a sparse tree, with the tree and its gradient in its own memory."""

import pathlib
import subprocess

import metate as mt

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRID = mt.types.SNodeTreeBuilder().pointer(mt.ij, 4).dense(mt.ij, 4).place(h=mt.f32, kind=mt.i32).build()


@mt.kernel
def fill(t: GRID):
    for k in range(3):
        t.h[5 * k, 5 * k] = k + 1.0
        t.kind[5 * k, 5 * k] = k


@mt.kernel
def energy(t: GRID, weight: mt.f32, loss: mt.types.ndarray(mt.f32, 0)):
    for i, j in t.h:
        loss[None] += weight * t.kind[i, j] * t.h[i, j] ** 2


def test_a_tree_and_its_gradient_in_the_hosts_memory(tmp_path):
    module = mt.aot.Module().add_type(GRID, "grid").add_kernel(fill).add_kernel(energy, grad=True)
    module.save(tmp_path / "m.metate")
    library = ROOT / "build" / "lib"
    command = ["g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", f"-I{ROOT / 'abi'}"]
    command += [ROOT / "tests/aot/gradient_host.cpp", f"-L{library}", "-lmetate", f"-Wl,-rpath,{library}"]
    command += ["-o", tmp_path / "host"]
    subprocess.run(command, check=True)
    done = subprocess.run([tmp_path / "host", tmp_path / "m.metate"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, *cells = done.stdout.splitlines()
    assert first == f"loss {3 * (1 * 4 + 2 * 9)}"
    assert sorted(cells) == ["10 10 36", "5 5 12"]
