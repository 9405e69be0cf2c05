"""examples/mpm88: from Python, from a C++ host over libmetate and from a C host over the linked object, the same water."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import metate as mt

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTS = ROOT / "examples" / "mpm88_host"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
STEPS, PARTICLES = 200, 2000


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=ROOT / "examples")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("mpm88")
    run(sys.executable, "mpm88.py", "--save", made, "--size", PARTICLES)
    return made


@pytest.fixture(scope="module")
def from_python():
    """Positions after STEPS steps, compiled in this process."""
    sys.path.insert(0, str(ROOT / "examples"))
    import mpm88

    water = mpm88.Water(PARTICLES)
    water.fill()
    for _ in range(STEPS):
        water.substep()
    positions = np.zeros((PARTICLES, 2), np.float32)
    water.positions(positions)
    np.testing.assert_array_equal(positions, water.x.to_numpy())
    assert water.mass_on_grid() == pytest.approx(PARTICLES / 65536, rel=1e-5)
    return positions


def check(positions, from_python):
    """Sums of floats are ordered differently from run to run, which is what may differ."""
    assert positions.shape == from_python.shape
    np.testing.assert_allclose(positions, from_python, rtol=0, atol=2e-4)
    assert positions[:, 1].mean() < 0.4 - 0.5 * 9.8 * (STEPS * 1e-4) ** 2 / 2  # it fell


def positions_in(file):
    return np.fromfile(file, np.float32).reshape(-1, 2)


def test_signatures_name_the_fields(folder):
    loaded = mt.aot.load(folder / "mpm88.metate")
    names = [parameter["name"] for parameter in loaded.substep.parameters]
    assert sorted(names) == ["C", "J", "grid_m", "grid_v", "v", "x"]
    assert [p["name"] for p in loaded.positions.parameters] == ["out", "x"]
    assert loaded.mass_on_grid.signature() == "mass_on_grid(grid_m: grid_m) -> f64"


def test_a_cpp_host_with_its_own_memory(folder, from_python):
    host = folder / "host"
    library = ROOT / "build" / "lib"
    run("g++", "-std=c++20", "-O1", *WARNINGS, f"-I{ROOT / 'include'}", f"-I{ROOT / 'abi'}", HOSTS / "host.cpp",
        f"-L{library}", "-lmetate", f"-Wl,-rpath,{library}", "-lpng", "-o", host)  # fmt: skip
    for threads in (1, 2):
        said = run(host, folder, "--steps", STEPS, "--threads", threads)
        assert "6 fields in" in said
        check(positions_in(folder / "host_positions.f32"), from_python)
    assert (folder / "host.png").read_bytes().startswith(b"\x89PNG")


def test_a_c_host_without_libmetate(folder, from_python):
    host = folder / "direct"
    run("gcc", "-std=c11", "-O1", *WARNINGS, "-Wpedantic", f"-DPARTICLES={PARTICLES}", f"-I{folder}", HOSTS / "direct.c",
        folder / "mpm88.o", "-static", "-lm", "-o", host)  # fmt: skip
    run(host, folder, STEPS)
    check(positions_in(folder / "direct_positions.f32"), from_python)
    picture = (folder / "direct.ppm").read_bytes()
    assert picture.startswith(b"P6 512 512 255\n") and len(picture) == 15 + 512 * 512 * 3
    water = (np.frombuffer(picture[15:], np.uint8).reshape(512, 512, 3) == (6, 133, 135)).all(axis=2)
    assert 2000 < water.sum() <= 4 * PARTICLES and not water[:100].any()


def test_it_draws(tmp_path):
    run(sys.executable, "mpm88.py", "--size", 500, "--frames", 2, "--out", tmp_path / "water.png")
    assert (tmp_path / "water.png").read_bytes().startswith(b"\x89PNG")
