"""README.md says what is true: its Python runs, and its C++ host, compiled here, runs the module that it saved."""

import linecache
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

import metate as ti

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOST = """
#include "metate/metate.hpp"
#include <cstdio>
#include <cstdlib>
static void *my_allocate(uint64_t bytes, uint64_t align) {{
  return std::aligned_alloc(align, (bytes + align - 1) / align * align);
}}
int main() {{
{body}
  double total = 0;
  for (int i = 0; i < 640; ++i)
    for (int j = 0; j < 320; ++j)
      total += pixels.read<float>("{member}", {{i, j}});
  std::printf("%.9g\\n", total);
}}
"""


def blocks(language):
    return re.findall(rf"^```{re.escape(language)}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def names(tmp_path, monkeypatch):
    """What the README's Python defines, run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "readme"}
    for number, code in enumerate(blocks("python")):
        file = f"<README {number}>"
        linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
        exec(compile(code, file, "exec"), names)
    yield names
    ti.reset()


def test_python_draws_a_julia_set(names, tmp_path):
    pixels = names["pixels"].to_numpy()
    i, j = np.mgrid[0:640, 0:320]
    z = ((i / 320 - 1) + 1j * (j / 320 - 0.5)) * 2
    steps = np.zeros(z.shape, int)
    for _ in range(50):
        inside = abs(z) < 20
        steps += inside
        z = np.where(inside, z * z + (-0.8 + 0.2j * np.cos(0.3)), z)
    assert np.mean(abs(pixels - (1 - steps * 0.02)) < 0.021) > 0.99  # chaotic where it is not one step or equal
    assert (tmp_path / "julia.png").stat().st_size > 10_000


def test_the_host_in_cpp_computes_the_same(names, tmp_path):
    compiler = shutil.which("clang++-22") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine")
    library = pathlib.Path(os.environ.get("METATE_BUILD", ROOT / "build")) / "lib"
    (tmp_path / "host.cpp").write_text(HOST.format(body="".join(blocks("c++")), member="v0"))
    subprocess.run(
        [compiler, "-std=c++20", f"-I{ROOT / 'abi'}", f"-I{ROOT / 'include'}", "host.cpp", "-o", "host",
         f"-L{library}", "-lmetate", f"-Wl,-rpath,{library}"],
        check=True, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    run = subprocess.run([tmp_path / "host"], check=True, cwd=tmp_path, capture_output=True, text=True)
    total = names["pixels"].to_numpy().astype(np.float64).sum()
    assert float(run.stdout) == pytest.approx(total, rel=1e-3)  # another CPU's code: fused differently
