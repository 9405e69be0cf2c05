"""The standard level on other machines: libmetate and metate-run, compiled for them and emulated, open a .metate file of several
targets, choose the payload of their own, load it and give this machine's bits."""

import os
import pathlib
import re
import shutil
import sys

import numpy as np
import pytest

import metate as mt

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import machine_kernels as kernels  # noqa: E402
from machines import ROOT, run  # noqa: E402

RUNTIME = ROOT / "runtime"
MACHINES = ("aarch64", "riscv64")
# Compiling libmetate takes most of a quarter of a minute: one of them in each run, all with --long.
RUN = tuple(os.environ.get("METATE_TEST_MACHINES", "riscv64").split(","))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """One file for all machines."""
    made = mt.aot.Module(targets=["x86-64", *MACHINES], name="machine", contract=False)
    for kernel in (kernels.dense, kernels.integers, kernels.paint, kernels.gather):
        made.add_kernel(kernel)
    return made.save(tmp_path_factory.mktemp("standard") / "machine.metate")


@pytest.fixture(scope="module", params=RUN)
def there(request, tmp_path_factory):
    """(the words that run metate-run on the machine, its name)"""
    name = request.param
    compiler, emulator = f"{name}-linux-gnu-g++", f"qemu-{name}"
    for tool in (compiler, emulator):
        if not shutil.which(tool):
            pytest.skip(f"{name}: '{tool}' is not installed: scripts/setup installs it")
    folder = tmp_path_factory.mktemp(name)
    shutil.copy("/usr/include/xxhash.h", folder)  # the same for every machine; beside it are this one's headers
    includes = [f"-I{path}" for path in (RUNTIME, ROOT / "include", ROOT / "abi", ROOT / "protocol", folder)]
    listed = re.findall(r"^  (\w+/[\w/]+\.cpp)$", (RUNTIME / "CMakeLists.txt").read_text(), re.M)
    library = [RUNTIME / source for source in ("driver/drivers.cpp", *listed)]
    assert len(library) > 30
    own = ("-std=c++20", "-O0", "-w")
    for k, source in enumerate(library):
        run(
            compiler,
            *own,
            "-fno-exceptions",
            "-fno-rtti",
            "-fno-threadsafe-statics",
            *includes,
            "-c",
            source,
            "-o",
            folder / f"{k}.o",
        )
    program = folder / "metate-run"
    run(
        compiler,
        *own,
        *includes,
        *(ROOT / "tools" / "metate-run").glob("*.cpp"),
        RUNTIME / "executor" / "threads" / "executor.cpp",
        *folder.glob("*.o"),
        "-ldl",
        "-pthread",
        "-o",
        program,
    )
    return [emulator, "-L", f"/usr/{name}-linux-gnu", program], name


def test_the_file_is_whole_and_says_what_it_is_for(there, file):
    words, name = there
    assert "sound" in run(*words, "verify", file)
    assert name in run(*words, "inspect", file)


def test_arrays_come_back_with_the_same_bits(there, file, tmp_path, rng):
    words, _ = there
    np.save(tmp_path / "x.npy", rng.normal(size=500).astype("f4"))
    np.save(tmp_path / "p.npy", rng.integers(-(2**60), 2**60, 64))
    np.save(tmp_path / "q.npy", rng.integers(-(2**30), 2**30, 64))
    for number, machine in enumerate((words, [ROOT / "build" / "bin" / "metate-run"])):
        x, p, q = (tmp_path / f"{name}.npy" for name in "xpq")
        run(*machine, "run", file, "dense", "a=2.5", f"x={x}", f"y={x}", "--threads=3", f"--save=y={tmp_path / f'y{number}.npy'}")
        run(*machine, "run", file, "integers", f"x={p}", f"y={q}", f"--save=y={tmp_path / f'q{number}.npy'}")
    for name in "yq":
        one, other = (np.load(tmp_path / f"{name}{number}.npy") for number in range(2))
        assert one.tobytes() == other.tobytes()


def test_sparse_trees_are_bound_and_filled(there, file, tmp_path, rng):
    words, _ = there
    np.save(tmp_path / "points.npy", rng.integers(0, 5000, 40, dtype=np.int32))
    for number, machine in enumerate((words, [ROOT / "build" / "bin" / "metate-run"])):
        run(*machine, "run", file, "paint,gather", "t=new", f"points={tmp_path / 'points.npy'}", "out=zeros:[4]",
            f"--save=out={tmp_path / f'{number}.npy'}")  # fmt: skip
    one, other = (np.load(tmp_path / f"{number}.npy") for number in range(2))
    assert one.any() and (one == other).all()
