"""Compiles kernels.py with each sanitizer into FOLDER, for sanitized_test.cpp in another build.

    make_modules.py FOLDER                all of them
    make_modules.py FOLDER --weak NAME    thread-weak-NAME.metate alone, from a compiler that is wrong itself
                                          (METATE_MUTANT=RelaxedPublish with build/mutants)

thread.metate, thread0.metate (-O0), thread-debug.metate (checked accesses), likewise address*.metate, and
thread-weak-*.metate: an order of the activations weakened in the text between two stages, which
ThreadSanitizer must notice. For copies_test.cpp thread.so, and thread-linked.so: two objects of the same kernels in one.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import kernels

import metate as mt
from metate.kernel import Kernel
from metate.types import TreeType
from metate_native import _compiler

# What makes a new slot visible to the worker that finds its link, in the map stage's LLVM dialect. The other side,
# the exchange that links it, is in protocol/metate/protocol/tree.h: orders_test.cpp weakens that one.
WEAKER = {
    "find": (r"(llvm\.load .*atomic) acquire", r"\1 monotonic"),
}


def source(name: str | None = None, **options) -> mt.aot.Module:
    module = mt.aot.Module(name=name, **options)
    for name, value in vars(kernels).items():
        if isinstance(value, TreeType):
            module.add_type(value, name)
        elif isinstance(value, Kernel):
            module.add_kernel(value)
    return module


def choices(sanitizer: str, level: int = 2, debug: bool = False):
    wanted = _compiler.Choices()
    wanted.sanitizer, wanted.opt_level, wanted.debug = sanitizer, level, debug
    return wanted


def weakened(pattern: str, replacement: str) -> bytes:
    """The module with relaxed orders where the pattern matches."""
    text = source().source_module("weak").text(True)
    text = _compiler.run_stages(text, "import", "map", choices("thread"))
    text, count = re.subn(pattern, replacement, text)
    if not count:
        sys.exit(f"make_modules.py: stage map has no {pattern!r}: look at how activations are lowered")
    return _compiler.run_stages(text, "map", "pack", choices("thread"))


def build(sanitizer: str, *chosen) -> bytes:
    return _compiler.build_module(source().source_module(sanitizer), choices(sanitizer, *chosen))


def save_copies(folder: pathlib.Path) -> None:
    """The module as a shared object, and as two objects that are linked into one."""
    source("thread", sanitizer="thread").save(folder / "thread.so")
    with tempfile.TemporaryDirectory() as made:
        objects = [source(name, sanitizer="thread").save(pathlib.Path(made) / f"{name}.o") for name in ("one", "two")]
        subprocess.run(["clang-22", "-shared", "-fuse-ld=lld", *objects, "-lm", "-o", folder / "thread-linked.so"], check=True)
    (folder / "thread.h").unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--weak", metavar="NAME")
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    if arguments.weak:
        (folder / f"thread-weak-{arguments.weak}.metate").write_bytes(build("thread"))
        return
    for old in [*folder.glob("*.metate"), *folder.glob("*.so")]:
        old.unlink()
    for sanitizer in ("thread", "address"):
        (folder / f"{sanitizer}.metate").write_bytes(build(sanitizer))
        (folder / f"{sanitizer}0.metate").write_bytes(build(sanitizer, 0))
        (folder / f"{sanitizer}-debug.metate").write_bytes(build(sanitizer, 2, True))
    for name, change in WEAKER.items():
        (folder / f"thread-weak-{name}.metate").write_bytes(weakened(*change))
    save_copies(folder)
    print(*sorted(file.name for pattern in ("*.metate", "*.so") for file in folder.glob(pattern)))


if __name__ == "__main__":
    main()
