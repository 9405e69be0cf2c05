"""Compiles kernels.py with each sanitizer into FOLDER, for sanitized_test.cpp in another build.

    make_modules.py FOLDER

thread.metate, thread0.metate (-O0), address.metate, address0.metate, and thread-weak-*.metate: one
order of an activation weakened in the text between two stages, which ThreadSanitizer must notice.
"""

import pathlib
import re
import sys

import kernels

import metate as mt
from metate.kernel import Kernel
from metate.types import TreeType
from metate_native import _compiler

# What makes a new slot visible to the worker that finds its link, in the map stage's LLVM dialect.
WEAKER = {
    "publish": (r"(llvm\.cmpxchg .*) acq_rel acquire", r"\1 monotonic monotonic"),
    "find": (r"(llvm\.load .*atomic) acquire", r"\1 monotonic"),
}


def builder(sanitizer: str, level: int = 2) -> mt.aot.Module:
    module = mt.aot.Module(sanitizer=sanitizer)
    module.run_optimizations(level=level)
    for name, value in vars(kernels).items():
        if isinstance(value, TreeType):
            module.add_type(value, name)
        elif isinstance(value, Kernel):
            module.add_kernel(value)
    return module


def weakened(pattern: str, replacement: str) -> bytes:
    """The module with relaxed orders where the pattern matches."""
    module = builder("thread")
    text = module.source_module("weak").text(True)
    text = _compiler.run_stages(text, "import", "map", module.choices())
    text, count = re.subn(pattern, replacement, text)
    if not count:
        sys.exit(f"make_modules.py: stage map has no {pattern!r}: look at how activations are lowered")
    return _compiler.run_stages(text, "map", "pack", module.choices())


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for sanitizer in ("thread", "address"):
        builder(sanitizer).save(folder / f"{sanitizer}.metate")
        builder(sanitizer, 0).save(folder / f"{sanitizer}0.metate")
    for name, change in WEAKER.items():
        (folder / f"thread-weak-{name}.metate").write_bytes(weakened(*change))
    print(*sorted(file.name for file in folder.glob("*.metate")))


if __name__ == "__main__":
    main()
