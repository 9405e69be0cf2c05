"""Builds the hand-written programs of bench/reference, once for each text, command and compiler.

g++ has OpenMP, clang++ oneTBB for its loops (bench/reference/parallel.h); each is asked for the fastest code it can make
for this machine. The best of them is what Metate is compared with.
"""

import hashlib
import pathlib
import subprocess

BENCH = pathlib.Path(__file__).resolve().parents[1]
FOLDER = BENCH.parent / "build" / "bench"
FLAGS = ("-std=c++20", "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", "-Wall", "-Werror", "-Wno-psabi")
COMPILERS = {"g++": ("-fopenmp",), "clang++-22": ("-fopenmp-simd", "-ltbb")}


def build(name, compiler):
    """The path of bench/reference/NAME.cpp as a library; exits with the compiler's words when it refuses."""
    source = BENCH / "reference" / f"{name}.cpp"
    command = [compiler, *FLAGS, str(source), *COMPILERS[compiler]]
    texts = b"".join(path.read_bytes() for path in [source, *sorted(source.parent.glob("*.h"))])
    key = hashlib.sha256(texts + " ".join(command).encode()).hexdigest()[:12]
    path = FOLDER / f"{name}-{compiler}-{key}.so"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        result = subprocess.run([*command, "-o", str(partial)], capture_output=True, text=True)
        if result.returncode:
            raise SystemExit(f"bench/run: {compiler} refused {source.name}:\n{result.stderr}")
        partial.rename(path)
    return path
