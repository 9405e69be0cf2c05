"""The gallery's films: runs examples off-screen and writes docs/images/gallery/NAME.webp, 300 KB at most.

scripts/docs --films [NAME...] calls it with the checkout's Python, which has what examples draw with.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/images/gallery"
WIDTH = 288  # pixels of a film
MOST = 300_000  # bytes

# The program, --size (None: its own), --frames; every how many frames one is kept.
FILMS = {
    "fractal": (320, 120, 2),
    "game_of_life": (64, 60, 2),
    "nbody": (None, 120, 2),
    "cloth": (None, 100, 2),
    "implicit_mass_spring": (None, 120, 2),
    "sdf_renderer": (256, 40, 2),
    "stable_fluid": (256, 160, 3),
    "mpm88": (None, 160, 3),
    "mpm99": (None, 160, 3),
    "mpm3d": (None, 120, 3),
    "sparse/rotating_square": (None, 100, 2),
    "sparse/bitmasked": (None, 120, 3),
    "sparse/dynamic": (None, 120, 3),
    "sparse/explicit_activation": (None, 120, 3),
    "sparse/particle_list": (None, 160, 3),
    "sparse/point_cloud_hashing": (None, 80, 2),
    "sparse/mgpcg": (None, 40, 2),
    "sparse/mpm": (64, 80, 2),
    "sparse/smoke": (None, 120, 3),
    "euler_fluid": (256, 160, 3),
    "karman": (480, 160, 2),
    "sph": (1200, 150, 3),
    "pbf": (800, 120, 3),
    "implicit_fem": (None, 110, 2),
    "cornell_box": (320, 40, 2),
    "marching_squares": (None, 120, 2),
    "differential_evolution": (None, 50, 1),
    "reaction_diffusion": (None, 160, 3),
    "physarum": (320, 120, 3),
    "poisson_disk": (48, 36, 1),
    "wave_inverse": (144, 60, 1),
    "diffmpm": (None, 36, 1),
    "mass_spring": (None, 160, 1),
    "billiards": (None, 40, 1),
    "fit": (None, 100, 2),
    "life": (128, 120, 2),
    "quant_smoke": (None, 120, 3),
    "quant_mpm": (None, 120, 3),
    "light_field": (None, 80, 2),
}


def frames_of(name: str, size: int | None, frames: int, every: int) -> list[Image.Image]:
    """What the program draws, at most WIDTH wide."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "film.webp")
        command = [sys.executable, ROOT / f"examples/{name}.py", "--frames", frames, "--out", file]
        command += [] if size is None else ["--size", size]
        environment = {**os.environ, "SDL_VIDEODRIVER": "dummy"}
        subprocess.run([str(part) for part in command], env=environment, check=True, capture_output=True)
        kept = []
        with Image.open(file) as film:
            height = film.height * min(film.width, WIDTH) // film.width
            for number in range(0, film.n_frames, every):
                film.seek(number)
                kept.append(film.convert("RGB").resize((min(film.width, WIDTH), height), Image.Resampling.LANCZOS))
    return kept


def write(frames: list[Image.Image], every: int, file: pathlib.Path) -> int:
    """As good, and then as long, as MOST bytes allow; gives how many there are."""
    for quality in (50, 25):
        save(frames, every, file, quality)
        if file.stat().st_size <= MOST:
            return file.stat().st_size
    while file.stat().st_size > MOST:
        frames = frames[: len(frames) * 4 // 5]
        save(frames, every, file, 25)
    return file.stat().st_size


def save(frames: list[Image.Image], every: int, file: pathlib.Path, quality: int) -> None:
    frames[0].save(file, save_all=True, append_images=frames[1:], duration=40 * every, loop=0, quality=quality, method=2)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or FILMS:
        size, frames, every = FILMS[name]
        file = FOLDER / f"{pathlib.Path(name).name}.webp"
        print(f"{file.relative_to(ROOT)}: {write(frames_of(name, size, frames, every), every, file)} bytes", flush=True)


if __name__ == "__main__":
    main()
