"""examples/train_host: a C++ host trains a network by kernels and derivatives of a module, as Python does."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "train_host"
STEPS = 400


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def network():
    sys.path.insert(0, str(EXAMPLE))
    try:
        import network

        return network
    finally:
        sys.path.remove(str(EXAMPLE))


@pytest.fixture(scope="module")
def host(tmp_path_factory, network):
    """The folder with the module and the program."""
    folder = tmp_path_factory.mktemp("train")
    network.save(folder)
    library = ROOT / "build" / "lib"
    run("g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", f"-I{ROOT / 'abi'}",
        EXAMPLE / "host.cpp", f"-L{library}", "-lmetate", f"-Wl,-rpath,{library}", "-o", folder / "train_host")  # fmt: skip
    return folder


def losses_of(said):
    lines = [line.split() for line in said.splitlines()]
    assert [line[:2] for line in lines] == [["step", str(k)] for k in range(len(lines))]
    return np.array([float(line[3]) for line in lines])


@pytest.mark.parametrize("threads", [1, 2])
def test_the_host_learns_what_python_learns(host, network, threads):
    bare = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    losses = losses_of(run(host / "train_host", host, "--steps", STEPS, "--threads", threads, env=bare))
    np.testing.assert_allclose(losses, network.train(STEPS), rtol=2e-2, atol=1e-5)
    assert len(losses) == STEPS and losses[-1] < 2e-3 * losses[0]
    x, wanted, learned = np.loadtxt(host / "learned.txt").T
    np.testing.assert_allclose(wanted, np.sin(5 * x) * np.exp(-x), atol=1e-5)
    assert np.square(learned - wanted).mean() == pytest.approx(losses[-1], rel=0.05, abs=2e-6)


def test_the_host_has_no_python(host):
    needed = run("ldd", host / "train_host")
    assert "libmetate.so" in needed and "python" not in needed.lower()


def test_the_module_relates_its_kernels(host):
    shown = run(ROOT / "build" / "bin" / "metate-run", "inspect", host / "network.metate")
    for name in ("predict", "measure"):
        assert f"    derivative     reverse: {name}_grad\n" in shown
    assert shown.count("derivative ") == 2
