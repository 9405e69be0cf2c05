"""examples/packed_host: Life on bits in a C program without libmetate, packed particles in C++, against NumPy and Python."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import metate as mt

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "packed_host"
ACORN = ROOT / "examples" / "patterns" / "acorn.cells"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
STEPS = 300


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def packed():
    sys.path.insert(0, str(EXAMPLE))
    try:
        import packed

        return packed
    finally:
        sys.path.remove(str(EXAMPLE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the module, and both programs."""
    made = tmp_path_factory.mktemp("packed")
    run(sys.executable, EXAMPLE / "packed.py", "--save", made)
    run("gcc", "-std=c11", "-O1", *WARNINGS, "-Wconversion", f"-I{made}", EXAMPLE / "life.c", made / "packed.o", "-static", "-lm",
        "-o", made / "life")  # fmt: skip
    library = ROOT / "build" / "lib"
    run("g++", "-std=c++20", "-O1", *WARNINGS, f"-I{ROOT / 'include'}", f"-I{ROOT / 'abi'}", EXAMPLE / "particles.cpp",
        f"-L{library}", "-lmetate", f"-Wl,-rpath,{library}", "-o", made / "particles")  # fmt: skip
    return made


def generations_of(said):
    """Number, count of cells, and cells of each printed generation."""
    lines = said.splitlines()[1:]
    while lines:
        _, number, alive, _ = lines[0].replace(":", "").split()
        rows = [[cell == "O" for cell in line] for line in lines[1:25]]
        yield int(number), int(alive), np.array(rows, np.uint32)
        lines = lines[25:]


def test_life_in_c(folder, packed):
    said = run(folder / "life", ACORN, 120, 20)
    assert said.startswith("24 x 64 cells in 320 bytes\n")  # 192 of them are the world
    printed = list(generations_of(said))
    assert [number for number, _, _ in printed] == list(range(0, 121, 20))
    cells = printed[0][2]
    acorn = [line for line in ACORN.read_text().splitlines() if not line.startswith("!")]
    assert cells.sum() == 7 and "".join("O" if cell else "." for cell in cells[10, 21:28]) == acorn[2]
    now, next_ = packed.World.new(), packed.World.new()
    now.alive.from_numpy(cells)
    for number in range(121):
        if number % 20 == 0:
            _, alive, shown = printed[number // 20]
            np.testing.assert_array_equal(shown, cells)
            np.testing.assert_array_equal(now.alive.to_numpy(), cells)
            assert alive == cells.sum() == packed.living(now)
        packed.generation(now, next_)
        now, next_ = next_, now
        around = sum(np.roll(cells, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0))
        cells = ((around == 3) | ((around == 2) & (cells == 1))).astype(np.uint32)


def test_life_as_a_plug_in(folder, packed):
    """A row of ten is the pentadecathlon: after a few generations it comes back every fifteen."""
    run("gcc", "-std=c11", "-O1", *WARNINGS, "-Wconversion", f"-I{folder}", EXAMPLE / "plugin.c", "-ldl", "-o", folder / "plugin")
    said = [int(word) for word in run(folder / "plugin", folder / "packed.so", 40).split()]
    now, next_ = packed.World.new(), packed.World.new()
    cells = np.zeros((24, 64), np.uint32)
    cells[12, 20:30] = 1
    now.alive.from_numpy(cells)
    for alive in said:
        assert alive == packed.living(now)
        packed.generation(now, next_)
        now, next_ = next_, now
    assert len(said) == 41 and said[0] == 10 and said[10:25] == said[25:40]
    needed = run("ldd", folder / "plugin")
    assert "metate" not in needed and "packed" not in needed
    done = subprocess.run([folder / "plugin", folder / "packed.o", "3"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("packed_plugin: ")


def beginning(packed):
    """As particles.cpp makes it."""
    i = np.arange(packed.PARTICLES, dtype=float)
    steps = np.array([0.7548776662466927, 0.5698402909980532])
    tree = packed.Particles.new()
    where = 0.1 + 0.8 * ((0.5 + i[:, None] * steps) % 1)
    tree.x.from_numpy(where[:, 0].astype(np.float32))
    tree.y.from_numpy(where[:, 1].astype(np.float32))
    tree.kind.from_numpy((np.arange(packed.PARTICLES) % 16).astype(np.uint32))
    for k in range(packed.PARTICLES):  # one after the other: at most one rounding more than both at once
        tree.vx[k], tree.vy[k] = np.float32(2 * np.sin(k)), np.float32(2 * np.cos(k))
    return tree


@pytest.mark.parametrize("threads", [1, 2])
def test_particles_in_cpp(folder, packed, threads):
    bare = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    said = run(folder / "particles", folder, "--steps", STEPS, "--threads", threads, env=bare).splitlines()
    assert said[0] == f"5000 particles in {packed.Particles.bytes()} bytes, 100000 as floats and ints"
    assert said[1] == "  x    fixed-point number of 24 bits in a word of 64"
    assert said[4] == "  vx   float of 13 bits in a word of 32, its exponent shared"
    tree = beginning(packed)
    energies = [packed.energy(tree)]
    for _ in range(STEPS):
        packed.advance(tree, 1e-3)
    energies.append(packed.energy(tree))
    words = said[6].replace(",", "").split()
    assert [float(words[1]), float(words[5])] == pytest.approx(energies, rel=1e-5) and energies[1] < energies[0]
    found = packed.Particles.load(folder / "particles.tree")
    for name in packed.Particles.members:
        np.testing.assert_allclose(found[name].to_numpy(), tree[name].to_numpy(), rtol=1e-3, atol=2e-3, err_msg=name)
    assert packed.energy(found) == pytest.approx(energies[1], rel=1e-5)
    sums, counts = np.zeros(16), np.zeros(16, np.int64)
    packed.heights(found, sums, counts)
    for line, kind in zip(said[7:], range(0, 16, 5)):
        assert line == f"kind {kind}: {counts[kind]} particles, mean height {sums[kind] / counts[kind]:.6f}"


def test_a_run_goes_on(folder, packed):
    run(folder / "particles", folder, "--steps", 2 * STEPS)
    at_once = packed.Particles.load(folder / "particles.tree")
    run(folder / "particles", folder, "--steps", STEPS)
    run(folder / "particles", folder, "--steps", STEPS, "--from", folder / "particles.tree")
    in_two = packed.Particles.load(folder / "particles.tree")
    for name in packed.Particles.members:
        assert at_once[name].to_numpy().tobytes() == in_two[name].to_numpy().tobytes()


def test_the_module_says_how_members_are_stored(folder):
    shown = run(ROOT / "build/bin/metate-run", "inspect", folder / "packed.metate")
    assert "fixed, bits 24 to 47 of 64" in shown and "shared exponent bits 0 to 5" in shown and "32 in a word" in shown
    assert "unsigned int, bits 48 to 51 of 64" in shown
    needed = run("ldd", folder / "particles")
    assert "libmetate.so" in needed and "python" not in needed.lower()


def test_wrong_words(folder):
    for program, words in (("life", [ACORN]), ("particles", [folder, "--step", "3"])):
        done = subprocess.run([folder / program, *words], capture_output=True, text=True)
        assert done.returncode == 2 and done.stderr.startswith(f"usage: packed_{program}")
    said = subprocess.run([folder / "particles", folder, "--from", ACORN], capture_output=True, text=True)
    assert said.returncode == 1 and "packed_particles:" in said.stderr
    assert mt.aot.load(folder / "packed.metate").living.signature() == "living(now: world) -> i32"
