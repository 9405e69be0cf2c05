"""`pip install .` into a fresh environment, from which Metate works without its checkout and without a network.

The wheel is the one that `pip install .` makes, by the same backend and install rules, of the binaries that `build` has
(METATE_PREBUILT); METATE_PACKAGE_FROM_SOURCE=1 compiles them anew (scripts/test --long). NumPy is the checkout's, the only
thing that the fresh environment borrows.
"""

import ast
import builtins
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


def run(*command, **options):
    """A command with an environment that knows nothing of the checkout; its output, or an error that shows it."""
    clean = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
    done = subprocess.run([str(part) for part in command], env=clean, capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command} gave {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A virtual environment with the package; its folder."""
    folder = tmp_path_factory.mktemp("package")
    from_source = os.environ.get("METATE_PACKAGE_FROM_SOURCE")
    binaries = () if from_source else (f"--config-settings=cmake.define.METATE_PREBUILT={ROOT / 'build'}",)
    run(
        *(*PIP, "wheel", ROOT, "--no-build-isolation", "--no-deps", "--no-index", "-w", folder / "wheel"),
        *binaries,
        f"--config-settings=build-dir={folder / 'build'}",
        cwd=folder,
    )
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    (wheel,) = (folder / "wheel").glob("metate-*.whl")
    run(*PIP, "--python", folder / "venv/bin/python", "install", "--no-deps", "--no-index", wheel, cwd=folder)
    borrowed, numpy = folder / "borrowed", pathlib.Path(np.__file__).parent
    borrowed.mkdir()
    for library in (numpy, numpy.with_name("numpy.libs")):
        if library.exists():
            (borrowed / library.name).symlink_to(library)
    (site,) = (folder / "venv/lib").glob("python3.*/site-packages")
    (site / "borrowed.pth").write_text(f"{borrowed}\n")
    return folder / "venv"


@pytest.fixture(scope="module")
def site(environment):
    (found,) = (environment / "lib").glob("python3.*/site-packages")
    return found


PROGRAM = """
import sys
import metate as mt, metate_native, numpy as np

@mt.kernel
def total(x: mt.types.ndarray(dtype=mt.i32, ndim=1)) -> mt.i32:
    s = 0
    for i in x:
        s += x[i] * i
    return s

x = np.random.default_rng(5).integers(-100, 100, 1000).astype(np.int32)
expected = int((x * np.arange(1000)).sum())
assert total(x) == expected
mt.aot.Module(targets=["x86-64-v2" if sys.argv[2] == "x86_64" else "native"]).add_kernel(total).save(sys.argv[1])
assert mt.aot.load(sys.argv[1]).total(x) == expected
print(mt.__version__, mt.__file__, metate_native.__file__)
"""


def test_kernels_run_and_modules_are_built(environment, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    machine = os.uname().machine
    printed = run(environment / "bin/python", "program.py", "total.metate", machine, cwd=tmp_path).split()
    version = re.search(r'"(.*)"', (ROOT / "python/metate/_version.py").read_text().splitlines()[-1])[1]
    assert printed[0] == version
    assert all(pathlib.Path(file).is_relative_to(environment) for file in printed[1:])
    assert "total" in run(environment / "bin/metate-run", "inspect", "total.metate", cwd=tmp_path)
    assert f"metate {version} (LLVM" in (tmp_path / "total.metate").read_bytes().decode("latin-1")


def test_the_doctor_finds_nothing_broken_and_nothing_of_the_checkout(environment, tmp_path):
    text = run(environment / "bin/metate", "doctor", "--json", cwd=tmp_path)
    report = json.loads(text)
    assert report["ok"] is True
    states = {check["name"]: check["state"] for check in report["checks"]}
    assert {states[name] for name in ("package", "runtime", "cpu", "compiler", "jit", "aot", "hosts")} == {"ok"}
    assert states["gui"] == "missing"  # not borrowed, and not needed
    assert str(ROOT) not in text


KERNELS = """
import metate as mt

@mt.kernel
def twice(x: mt.types.ndarray(dtype=mt.i32, ndim=1)):
    for i in x:
        x[i] *= 2
"""
HOST = """
#include <metate/metate.h>
#include "kernels.h"
#include <stdio.h>
int main(int count, char **arguments) {
  metate_device *device;
  metate_module *module;
  int32_t x[2] = {4, 5};
  if (count != 2 || metate_device_open(NULL, &device) != METATE_OK)
    return 2;
  if (metate_module_open_file(device, arguments[1], 0, &module) != METATE_OK || kernels_twice(x, 2, NULL, NULL))
    return 3;
  printf("abi %u, %d %d\\n", metate_abi_version(), x[0], x[1]);
  metate_module_close(module);
  metate_device_close(device);
  return 0;
}
"""


def test_a_host_is_built_against_it_with_cmake(environment, site, tmp_path):
    (tmp_path / "host.c").write_text(HOST)
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(host C)\nfind_package(metate REQUIRED CONFIG)\n"
        "add_executable(host host.c)\ntarget_link_libraries(host PRIVATE metate::metate)\n"
        "metate_add_module(host kernels.py)\n"
    )
    asked = ("--cmakedir", "--includedir", "--pkgconfigdir")
    cmake, include, pkgconfig = run(environment / "bin/metate", "config", *asked).splitlines()
    assert pathlib.Path(include) == site / "metate_native/include" and (pathlib.Path(pkgconfig) / "metate.pc").exists()
    # The command that compiles kernels is found from the package alone.
    run("cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-Dmetate_DIR={cmake}", "-DCMAKE_BUILD_TYPE=Release")
    assert f"METATE_COMMAND:FILEPATH={environment}/bin/metate\n" in (tmp_path / "b/CMakeCache.txt").read_text()
    run("cmake", "--build", tmp_path / "b")
    (tmp_path / "program.py").write_text(PROGRAM)
    run(environment / "bin/python", "program.py", "total.metate", "native", cwd=tmp_path)
    host = run(tmp_path / "b/host", tmp_path / "total.metate")
    assert host.startswith("abi ") and host.endswith(", 8 10\n")


def test_libraries_are_looked_for_in_the_package_and_the_system(site):
    for file in [*site.glob("metate_native/*.so"), *site.glob("metate_native/lib/*.so"), site / "metate_native/bin/metate-run"]:
        found = re.search(r"R(?:UN)?PATH.*\[(.*)\]", run("readelf", "-dW", file))
        for folder in found[1].split(":") if found else ():
            assert folder.startswith(("$ORIGIN", "/usr/")), (file, folder)


@pytest.mark.parametrize("extension", ["_runtime", "_compiler"])
def test_stubs_have_what_the_extension_has(environment, site, extension):
    assert (site / "metate/py.typed").exists() and (site / "metate_native/py.typed").exists()
    tree = ast.parse((site / f"metate_native/{extension}.pyi").read_text())
    defined = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    defined |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    names = f"from metate_native import {extension} as e; print(*(n for n in dir(e) if not n.startswith('__')))"
    assert defined == set(run(environment / "bin/python", "-c", names).split())
    known = defined | set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            known |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            known |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    decorators = {"property", "staticmethod", "overload"} | {
        one.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for one in node.decorator_list
        if isinstance(one, ast.Attribute)
    }
    assert used <= known | decorators, used - known
