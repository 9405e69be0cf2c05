"""What a C host sees: bench/launch.c on a module of the small kernels. Loads Metate, in this process, to make the module."""

import json
import subprocess

from .references import FOLDER
from .side import ROOT

LIBRARY = ROOT / "build" / "lib"


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=ROOT)
    if result.returncode:
        raise SystemExit(f"{command[0]} failed with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.stdout


def module_path():
    """A module with the small kernels, made anew by each process."""
    import small_kernels

    import metate as mt

    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / "small.metate"
    module = mt.aot.Module(targets=["host"])
    for name in ("empty0", "empty5", "empty20"):
        module.add_kernel(getattr(small_kernels, name))
    for count in (1, 16):
        module.add_graph(f"graph{count}", small_kernels.graph(count))
        module.add_graph(f"arrays{count}", small_kernels.graph_of_arrays(count))
    module.save(str(path))
    return path


def samples():
    """What bench/launch.c measured: a dict of lists of nanoseconds."""
    program = FOLDER / "launch"
    flags = ("-std=c11", "-O2", "-Iinclude", "-Iabi", f"-L{LIBRARY}", "-lmetate", f"-Wl,-rpath,{LIBRARY}")
    run("gcc", "bench/launch.c", "-o", program, *flags)
    return json.loads(run(program, module_path()))


def library_size():
    """Bytes of libmetate without its symbols."""
    stripped = FOLDER / "libmetate.stripped.so"
    run("strip", "-o", stripped, LIBRARY / "libmetate.so")
    return stripped.stat().st_size
