"""B17: opening a module up to its first launch, by a C host; sizes of a module and of the runtime."""

from harness import rows
from harness.c_host import library_size, module_path, samples

TITLE = "ahead-of-time modules, in a C host"


def measured(runner):
    taken = [1e-9 * nanoseconds for nanoseconds in samples()["open"]]
    sizes = {"libmetate.so, stripped": library_size(), "module of 3 kernels and 4 graphs": module_path().stat().st_size}
    note = "; ".join(f"{name}: {size / 1024:.1f} KiB" for name, size in sizes.items())
    asked = "asked: at most 500 us, and 300 KiB of libmetate"
    yield rows.given("module opened, first launch", {"metate": taken}, note=f"{note}; {asked}")
