"""examples/projects: users' projects build with CMake and make, run, and build again what a change touches, and nothing else.

The package is what `cmake --install` makes of build/, which also CMake errors of metate_add_module are looked at with.
"""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECTS = ROOT / "examples" / "projects"
COMMAND = pathlib.Path(sys.prefix) / "bin" / "metate"


def run(*command, folder=None, fails=False, **variables):
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True
    )
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + (done.stderr if fails else "")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", ROOT / "build", "--component", "runtime", "--prefix", folder)
    return folder


def project(name, tmp_path):
    return pathlib.Path(shutil.copytree(PROJECTS / name, tmp_path / name))


def configure(source, installed, *words, **options):
    package = f"-Dmetate_DIR={installed}/lib/cmake/metate"
    return run("cmake", "-S", source, "-B", source / "b", package, f"-DMETATE_COMMAND={COMMAND}", *words, **options)


def warmth():
    """What the programs compute, by NumPy."""
    plate = np.zeros((64, 64))
    plate[0] = 100
    for _ in range(100):
        inner = plate[1:-1, 1:-1]
        change = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:] - 4 * inner
        plate[1:-1, 1:-1] = inner + 0.1 * change
    return plate.sum()


@pytest.mark.parametrize(("generator", "emit"), [("Ninja", "o"), ("Unix Makefiles", "a")])
def test_cmake(installed, tmp_path, generator, emit):
    source = project("cmake", tmp_path)
    lists = source / "CMakeLists.txt"
    lists.write_text(lists.read_text().replace("heat.py EMIT o)", f"heat.py EMIT {emit} KERNELS warmth diffuse OPTIONS -O3)"))
    configure(source, installed, "-G", generator)
    built = run("cmake", "--build", source / "b")
    assert built.count("Compiling the kernels of heat") == 2
    for program in ("linked", "opened"):
        word, value = run(source / "b" / program).split()
        assert word == "warmth" and abs(float(value) - warmth()) < 1e-4 * warmth()
    linked = run("readelf", "-d", source / "b/linked")
    assert "libmetate" not in linked and "libmetate" in run("readelf", "-d", source / "b/opened")
    assert "Compiling" not in run("cmake", "--build", source / "b")
    (source / "amounts.py").write_text("ALPHA = 0.0\n")  # imported by the kernels' file
    assert run("cmake", "--build", source / "b").count("Compiling the kernels of heat") == 2
    assert run(source / "b/linked") == "warmth 6400.000\n"


def test_ninja_knows_all_files_of_a_build(installed, tmp_path):
    if not shutil.which("openssl") or not (ROOT / "build/lib/libmetate_signature.so").exists():
        pytest.skip("there is no OpenSSL (Debian: libssl-dev, openssl)")
    source = project("cmake", tmp_path)
    run("openssl", "genpkey", "-algorithm", "ed25519", "-out", source / "key.pem")
    lists = (source / "CMakeLists.txt").read_text().partition("add_executable")[0]
    line = f"metate_add_module(linked heat.py EMIT so NAME warm OPTIONS --sign {source}/key.pem)\n"
    (source / "CMakeLists.txt").write_text(f"{lists}add_executable(linked linked.c)\n{line}")
    (source / "linked.c").write_text("int main(void) { return 0; }\n")
    configure(source, installed, "-G", "Ninja")
    assert "Compiling the kernels of warm" in run("cmake", "--build", source / "b")
    assert {path.name for path in (source / "b").glob("warm.*")} >= {"warm.so", "warm.so.sig", "warm.h"}
    assert "Compiling" not in run("cmake", "--build", source / "b")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("metate_add_module(linked heat.py TARGETS x86-64-v2 aarch64)", "expected one for EMIT o, which is for one"),
        ("metate_add_module(linked gone.py)", "there is no file"),
        ("metate_add_module(gone heat.py)", "expected a target that add_executable or add_library made"),
        ("metate_add_module(linked heat.py TARGET native)", "expected EMIT, NAME, TARGETS, KERNELS or OPTIONS, got"),
    ],
)
def test_wrong_calls_are_named(installed, tmp_path, line, message):
    source = project("cmake", tmp_path)
    lists = (source / "CMakeLists.txt").read_text()
    (source / "CMakeLists.txt").write_text(lists.replace("metate_add_module(linked heat.py EMIT o)", line))
    said = " ".join(configure(source, installed, fails=True).split())
    assert message in said and "metate_add_module(" in said


def test_a_kernel_that_does_not_compile_fails_the_build(installed, tmp_path):
    source = project("cmake", tmp_path)
    text = (source / "heat.py").read_text()
    (source / "heat.py").write_text(text.replace("total += t[i, j]", "total += t[i, j].gone"))
    configure(source, installed)
    assert "heat.py:" in run("cmake", "--build", source / "b", fails=True)


def test_make(tmp_path):
    source = project("make", tmp_path)
    make = ("make", f"METATE={COMMAND}")
    assert run(*make, "run", folder=source).splitlines()[-1] == "middle -1.000001"
    assert "is up to date" in run(*make, folder=source)
    (source / "wave.py").write_text((source / "wave.py").read_text().replace("2.0 * now[i] -", "0.0 * now[i] -"))
    assert "metate build wave.py" in run(*make, folder=source)
    assert run(*make, "run", folder=source).splitlines()[-1] != "middle -1.000001"
    run(*make, "clean", folder=source)
    assert {path.name for path in source.iterdir()} - {"__pycache__"} == {path.name for path in (PROJECTS / "make").iterdir()} - {
        "__pycache__"
    }


def test_pkg_config(installed, tmp_path):
    if not shutil.which("pkg-config"):
        pytest.skip("there is no pkg-config (Debian: pkgconf)")
    flags = run("pkg-config", "--cflags", "--libs", "metate", PKG_CONFIG_PATH=f"{installed}/lib/pkgconfig").split()
    (tmp_path / "host.c").write_text(
        '#include "metate/metate.h"\nint main(void) { return metate_abi_version() != METATE_ABI_VERSION; }\n'
    )
    run("gcc", tmp_path / "host.c", *flags, "-o", tmp_path / "host")
    run(tmp_path / "host", LD_LIBRARY_PATH=f"{installed}/lib")


def test_kernels_written_in_cpp(installed, tmp_path):
    """The component `compiler`, beside the runtime."""
    folder = tmp_path / "both"
    for component in ("runtime", "compiler"):
        run("cmake", "--install", ROOT / "build", "--component", component, "--prefix", folder)
    assert not (installed / "include/metate/builder.hpp").exists()
    shutil.copy(ROOT / "examples/builder/rfc.cpp", tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(rfc CXX)\nfind_package(metate REQUIRED CONFIG)\n"
        "add_executable(rfc rfc.cpp)\ntarget_link_libraries(rfc PRIVATE metate::metate_compiler metate::metate_cpp)\n"
    )
    configure(tmp_path, folder)
    run("cmake", "--build", tmp_path / "b")
    assert run(tmp_path / "b/rfc").startswith("== ab_aos run1 0\nI= [0, 0]")
