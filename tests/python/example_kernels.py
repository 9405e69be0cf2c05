"""The kernels of the examples as code for a device: what a target's tests look at without one.

The examples run on the CPU, each for one frame, while what the front end hands to the compiler is recorded
(scripts/lib/same_bytes.py); that is compiled for the target.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SIZES = {  # as small as they run; of others the usual size
    **{
        "fractal": 32,
        "game_of_life": 32,
        "nbody": 64,
        "cloth": 8,
        "implicit_mass_spring": 8,
        "sdf_renderer": 24,
        "stable_fluid": 32,
    },
    **{"mpm88": 512, "mpm99": 600, "mpm3d": 800},
    **{"sparse/bitmasked": 64, "sparse/dynamic": 8, "sparse/explicit_activation": 64, "sparse/mgpcg": 64, "sparse/mpm": 32},
    **{"sparse/particle_list": 100, "sparse/point_cloud_hashing": 200, "sparse/smoke": 64, "sparse/rotating_square": 64},
}


def programs(some):
    """Those that `some` names; all of them where it is None."""
    files = [*EXAMPLES.glob("*.py"), *EXAMPLES.glob("sparse/*.py")]
    found = {
        file.relative_to(EXAMPLES).with_suffix("").as_posix(): file for file in files if "from example import" in file.read_text()
    }
    return {name: found[name] for name in (sorted(found) if some is None else some)}


def recorded(name: str, file: pathlib.Path, folder: pathlib.Path) -> None:
    """Runs a program of the examples; its kernels' IR after import is in the folder then."""
    size = ("--size", str(SIZES[name])) if name in SIZES else ()
    environment = {**os.environ, "SDL_VIDEODRIVER": "dummy", "METATE_OFFLINE_CACHE": "0", "METATE_RECORD": str(folder)}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder / "hook"), *sys.path])
    command = [sys.executable, file, "--frames", "1", "--out", folder / "picture.gif", *size]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{name}: {done.stderr}"


def read(file: pathlib.Path, target: str):
    """(the IR after stage import, what to compile it with) of a record."""
    from metate_native import _compiler

    head, text = file.read_text().split("\n", 1)
    given = json.loads(head.removeprefix("// "))
    choices = _compiler.Choices()
    choices.targets = [target]
    choices.reserve = "only" if given.pop("counts") else ""
    for name, value in given.items():
        setattr(choices, name, value)
    return text, choices


def compiled(file: pathlib.Path, target: str) -> tuple[str, bytes]:
    """(the IR after stage map, the module) of a record."""
    from metate_native import _compiler

    text, choices = read(file, target)
    names = _compiler.stage_names()
    return _compiler.run_stages(text, names[0], "map", choices), _compiler.run_stages(text, names[0], names[-1], choices)


def records_of(some, folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """{program/kernel: a record of it}"""
    pytest.importorskip("PIL", reason="Pillow is not installed: examples draw")
    sys.path.insert(0, str(ROOT / "scripts" / "lib"))
    import same_bytes

    found = {}
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        begun = {}
        for name, file in programs(some).items():
            own = folder / name.replace("/", "-")
            (own / "hook").mkdir(parents=True)
            (own / "hook" / "sitecustomize.py").write_text(same_bytes.HOOK)
            begun[name] = own, workers.submit(recorded, name, file, own)
        for name, (own, run) in begun.items():
            run.result()
            for record in sorted(own.glob("*.mlir")):
                kernel = re.search(r"metate\.kernel @([\w.]+)", record.read_text())[1]
                found[f"{name}/{kernel}-{record.stem[:6]}"] = record
    assert len(found) > 2 * len(begun)
    return found


def kernels_of(some, target: str, folder: pathlib.Path) -> dict[str, tuple[str, bytes]]:
    """{program/kernel: (IR after map, module)}; that there is one says that it was compiled."""
    return {name: compiled(record, target) for name, record in records_of(some, folder).items()}
