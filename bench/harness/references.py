"""Builds the hand-written programs of bench/reference, once for each text, command and compiler.

g++ has OpenMP, clang++ oneTBB for its loops (bench/reference/parallel.h); each is asked for the fastest code it can make
for this machine. The best of them is what Metate is compared with. Files named vdb_*.cpp use OpenVDB.
"""

import functools
import hashlib
import os
import pathlib
import subprocess

BENCH = pathlib.Path(__file__).resolve().parents[1]
FOLDER = BENCH.parent / "build" / "bench"
FLAGS = ("-std=c++20", "-shared", "-fPIC", "-Wall", "-Werror", "-Wno-psabi")
FASTEST = ("-O3", "-march=native", "-ffast-math")
COMPILERS = {"g++": (*FASTEST, "-fopenmp"), "clang++-22": (*FASTEST, "-fopenmp-simd", "-ltbb")}
UNTIMED = "clang++-22 -O0"  # for a smoke run, which asks for results only: in a third of the time
_KINDS = COMPILERS | {UNTIMED: ("-O0", "-march=native", "-fopenmp-simd", "-ltbb")}

# The build's own header comes first, in place of one of Boost's that clang refuses (see that header).
VDB_FLAGS = ("-isystem", str(BENCH.parent / "bindings" / "vdb"), "-Wno-deprecated-declarations", "-lopenvdb", "-ltbb")
VDB_HEADERS = ("openvdb/openvdb.h", "boost/uuid/uuid.hpp", "tbb/parallel_for.h")


@functools.cache
def missing(name):
    """None when what bench/reference/NAME.cpp needs is installed, else a sentence that says what is not."""
    if not name.startswith("vdb_"):
        return None
    for header in VDB_HEADERS:
        text = f"#if !__has_include(<{header}>)\n#error\n#endif\n"
        if subprocess.run(["g++", "-E", "-x", "c++", "-"], input=text, capture_output=True, text=True).returncode:
            return f"no {header} (Debian: libopenvdb-dev, libboost-dev, libtbb-dev)"
    return None


def build(name, compiler):
    """The path of bench/reference/NAME.cpp as a library; exits with the compiler's words when it refuses."""
    source, program = BENCH / "reference" / f"{name}.cpp", compiler.split()[0]
    own = (*_KINDS[compiler], *(VDB_FLAGS if name.startswith("vdb_") else ()))
    command = [program, *FLAGS, str(source), *own]
    texts = b"".join(path.read_bytes() for path in [source, *sorted(source.parent.glob("*.h"))])
    key = hashlib.sha256(texts + " ".join(command).encode()).hexdigest()[:12]
    path = FOLDER / f"{name}-{program}-{key}.so"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.partial")  # other runs may build it too
        result = subprocess.run([*command, "-o", str(partial)], capture_output=True, text=True)
        if result.returncode:
            raise SystemExit(f"bench/run: {program} refused {source.name}:\n{result.stderr}")
        partial.rename(path)
    return path
