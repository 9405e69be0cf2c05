"""Every example runs as a program, off-screen, and writes what it was asked for."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from moving import check_film

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
FILES = [*EXAMPLES.glob("*.py"), *EXAMPLES.glob("sparse/*.py")]
PROGRAMS = sorted(
    file.relative_to(EXAMPLES).with_suffix("").as_posix() for file in FILES if "from example import" in file.read_text()
)
# Those whose own tests make their films, in the process that has their kernels.
FILMED = {
    *("cornell_box", "differential_evolution", "euler_fluid", "implicit_fem", "karman", "marching_squares", "pbf", "physarum"),
    *("poisson_disk", "reaction_diffusion", "sph", "wave_inverse", "diffmpm"),
    *("billiards", "fit", "mass_spring"),
    *("life", "light_field", "quant_mpm", "quant_smoke"),
}
SIZES = {
    "fractal": 32,
    "game_of_life": 32,
    "nbody": 64,
    "cloth": 8,
    "implicit_mass_spring": 8,
    "sdf_renderer": 24,
    "stable_fluid": 32,
    "mpm88": 512,
    "mpm99": 600,
    "mpm3d": 800,
    "sparse/bitmasked": 64,
    "sparse/dynamic": 8,
    "sparse/explicit_activation": 64,
    "sparse/mgpcg": 64,
    "sparse/mpm": 32,
    "sparse/particle_list": 100,
    "sparse/point_cloud_hashing": 200,
    "sparse/smoke": 64,
    "sparse/rotating_square": 64,
}


def run(name, *arguments):
    command = [sys.executable, EXAMPLES / f"{name}.py", *map(str, arguments)]
    environment = {**os.environ, "SDL_VIDEODRIVER": "dummy"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - FILMED))
def test_writes_a_moving_gif(name, tmp_path):
    size = ("--size", SIZES[name]) if name in SIZES else ()
    done = run(name, "--frames", 3, "--out", tmp_path / "x.gif", *size)
    assert done.returncode == 0, done.stderr
    check_film(tmp_path / "x.gif")


# Sizes at which the interpreter is done within seconds; the other material point methods' grids have one size.
CHECKED = {
    "fractal": 12,
    "game_of_life": 12,
    "nbody": 24,
    "cloth": 5,
    "sdf_renderer": 6,
    "stable_fluid": 10,
    "sparse/bitmasked": 16,
    "sparse/dynamic": 4,
    "sparse/explicit_activation": 32,
    "sparse/mgpcg": 32,
    "sparse/mpm": 16,
    "sparse/particle_list": 20,
    "sparse/point_cloud_hashing": 150,
    "sparse/rotating_square": 64,
    "sparse/smoke": 32,
}
LISTS = {"sparse/dynamic", "sparse/point_cloud_hashing"}  # at these sizes, with several elements in a list
# The same of those that are filmed, and where in them an iteration takes the next place of a list: who comes first is anyone.
CHECKED_FILMS = {
    "billiards": (2, ()),
    "cornell_box": (4, ()),
    "differential_evolution": (4, ()),
    "diffmpm": (16, ()),
    "euler_fluid": (12, ()),
    "fit": (6, ()),
    "implicit_fem": (3, ()),
    "karman": (24, ()),
    "life": (64, ()),
    "light_field": (4, ()),
    "marching_squares": (8, ("begin[at] = ", "end[at] = ")),
    "mass_spring": (1, ()),
    "pbf": (24, ("members[at[0], at[1], slot] = k", "neighbour[k, found] = other")),
    "physarum": (12, ()),
    "poisson_disk": (8, ()),
    "quant_mpm": (8, ()),
    "quant_smoke": (10, ()),
    "reaction_diffusion": (12, ()),
    "sph": (24, ("members[at[0], at[1], slot] = k",)),
    "wave_inverse": (10, ()),
}


def findings_of(name, size, tmp_path):
    program = ["--size", str(size), "--frames", "1", "--out", str(tmp_path / "x.png")]
    command = [sys.executable, "-m", "metate.cli", "check", "--json", str(EXAMPLES / f"{name}.py"), "--", *program]
    environment = {**os.environ, "SDL_VIDEODRIVER": "dummy"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    found = json.loads(done.stdout)["findings"]
    assert done.returncode == (1 if found else 0), done.stdout + done.stderr
    return found


@pytest.mark.parametrize("name", sorted(CHECKED.keys() - LISTS))
def test_metate_check_finds_nothing_wrong_with_its_kernels(name, tmp_path):
    assert findings_of(name, CHECKED[name], tmp_path) == []


@pytest.mark.parametrize("name", sorted(LISTS))
def test_metate_check_finds_only_that_lists_have_any_order(name, tmp_path):
    lines = (EXAMPLES / f"{name}.py").read_text().splitlines()
    found = findings_of(name, CHECKED[name], tmp_path)
    assert found and all(each["kind"] == "order" and "append(" in lines[each["line"] - 1] for each in found), found


@pytest.mark.skipif(
    "METATE_TEST_CHECK_FILMS" not in os.environ, reason="it takes 20 CPU seconds: scripts/test --long check-films"
)
@pytest.mark.parametrize("name", sorted(FILMED))
def test_metate_check_of_filmed_programs_finds_only_that_lists_have_any_order(name, tmp_path):
    size, in_any_order = CHECKED_FILMS[name]
    lines = (EXAMPLES / f"{name}.py").read_text().splitlines()
    found = findings_of(name, size, tmp_path)
    assert {each["kind"] for each in found} == ({"order"} if in_any_order else set())
    places = [lines[each["line"] - 1].strip() for each in found]
    assert all(any(place.startswith(text) for text in in_any_order) for place in places), found


def test_filmed_programs_have_tests_that_film_them():
    for name in FILMED:
        assert f'filmed("{name}", ' in pathlib.Path(__file__).with_name(f"test_{name}.py").read_text(), name


def test_every_example_is_in_the_gallery():
    text = (EXAMPLES / "README.md").read_text()
    assert all(f"{name}.py" in text for name in PROGRAMS)


def test_wrong_arguments_are_named(tmp_path):
    for arguments, message in (
        (("--size", 0), "--size and --frames: expected at least 1"),
        (("--out", "x.txt"), "--out: expected a file ending in .gif, .webp, .png or .jpg, got x.txt"),
    ):
        done = run("fractal", *arguments)
        assert done.returncode == 2 and message in done.stderr


def test_the_last_frame_is_the_picture(tmp_path):
    for frames in (1, 2):
        assert run("fractal", "--size", 16, "--frames", frames, "--out", tmp_path / f"{frames}.png").returncode == 0
    for film, error in (("both.gif", 8), ("both.webp", 40)):
        assert run("fractal", "--size", 16, "--frames", 2, "--out", tmp_path / film).returncode == 0
        with Image.open(tmp_path / film) as frames:
            frames.seek(1)
            last = np.asarray(frames.convert("RGB")).astype(int)
        with Image.open(tmp_path / "2.png") as png:
            assert abs(np.asarray(png.convert("RGB")).astype(int) - last).max() <= error
