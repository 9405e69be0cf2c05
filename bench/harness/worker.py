"""One side of a comparison, in a process of its own: obeys one JSON request a line on stdin.

    worker.py metate | taichi | quadrants     runs programs of bench/programs, where `import ti` is that package
    worker.py scipy                           runs such a program that is written for the library
    worker.py reference                       runs functions of a shared object built from bench/reference

Requests: prepare, check (one step from the inputs, outputs to files), run (seconds of some steps), launch (of an
empty kernel), drop. Needs NumPy and the standard library only, and runs in the peers' environment as well as in ours. It
waits in a blocking read between requests, so an idle side takes no CPU. Must not know any workload.
"""

import ctypes
import gc
import importlib
import json
import os
import pathlib
import sys
import time
import traceback

import numpy as np

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))
from harness import digest  # noqa: E402


class Program:
    """A function of bench/programs under one of the packages: a dict of step, outputs and perhaps reset, empty, close."""

    def __init__(self, package, request):
        self.ti = importlib.import_module(package)
        sys.modules["ti"] = self.ti
        if hasattr(self.ti, "init"):
            options = {"cpu_max_num_threads": request["threads"], "fast_math": True}
            if package != "metate":
                options |= {"offline_cache": request["keep"], "log_level": self.ti.ERROR}
            self.ti.init(arch=getattr(self.ti, request["arch"]), enable_fallback=False, **options)
        file, name = request["program"].split(":")
        made = getattr(importlib.import_module(f"programs.{file}"), name)(load(request["inputs"]), **request["parameters"])
        self.step, self.outputs = made["step"], made["outputs"]
        self.reset, self.empty = made.get("reset"), made.get("empty")
        self.first = 0.0  # seconds of the first step: compiling is in it

    def empty_kernel(self):
        from programs import empty

        return empty.make()

    def sync(self):
        getattr(self.ti, "sync", int)()

    def run(self, steps):
        if self.reset:
            self.reset()
        self.sync()
        step = self.step
        start = time.perf_counter()
        for _ in range(steps):
            step()
        self.sync()
        return time.perf_counter() - start

    def launch(self):
        """Seconds of one launch of a kernel that does nothing: the fastest of some batches."""
        taken, empty = [], self.empty or self.empty_kernel()
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(200):
                empty()
            self.sync()
            taken.append((time.perf_counter() - start) / 200)
        return min(taken)

    def check(self, steps):
        if self.reset:
            self.reset()
        start = time.perf_counter()
        for step in range(steps):
            self.step()
            if step == 0:
                self.sync()
                self.first = time.perf_counter() - start
        self.sync()
        return self.outputs()

    def drop(self):
        getattr(self.ti, "reset", int)()


class Reference:
    """A case of a library of bench/reference (see reference.h)."""

    def __init__(self, request):
        library = ctypes.CDLL(request["library"])
        library.reference_create.restype = ctypes.c_void_p
        library.reference_run.restype = ctypes.c_double
        self.library, self.expected = library, request["outputs"]
        self.inputs = list(load(request["inputs"]).values())
        pointers = (ctypes.c_void_p * (len(self.inputs) + 1))(*(array.ctypes.data for array in self.inputs))
        numbers = (ctypes.c_double * max(1, len(request["numbers"])))(*request["numbers"])
        name = request["program"].split(":")[1].encode()
        self.handle = library.reference_create(name, request["variant"], request["threads"], numbers, pointers)
        if not self.handle:
            raise LookupError(f"{request['library']} has no case {request['program']!r}, variant {request['variant']}")
        self.handle = ctypes.c_void_p(self.handle)

    def run(self, steps):
        return self.library.reference_run(self.handle, steps)

    def launch(self):
        return 0.0

    def check(self, steps):
        self.first = self.run(steps)
        arrays = {name: np.zeros(shape, dtype) for name, (shape, dtype) in self.expected.items()}
        pointers = (ctypes.c_void_p * max(1, len(arrays)))(*(array.ctypes.data for array in arrays.values()))
        self.library.reference_read(self.handle, pointers)
        return arrays

    def drop(self):
        self.library.reference_destroy(self.handle)


def load(paths):
    """The inputs, read as they are needed. Copied where somebody writes: Taichi on a GPU copies back what it was given."""
    return {name: np.load(path, mmap_mode="c") for name, path in paths.items()}


def answer(kind, state, request):
    """The reply to one request; `state` holds the prepared side."""
    if request["do"] == "prepare":
        start = time.perf_counter()
        state["side"] = Reference(request) if kind == "reference" else Program(kind, request)
        return {"seconds": time.perf_counter() - start}
    side = state["side"]
    if request["do"] == "check":
        start = time.perf_counter()
        outputs = side.check(request["steps"])
        seconds = time.perf_counter() - start
        folder = pathlib.Path(request["folder"])
        for name, array in outputs.items():
            np.savez(folder / f"{name}.npz", **digest.take(np.asarray(array)))
        return {"seconds": seconds, "first": side.first, "outputs": {name: str(folder / f"{name}.npz") for name in outputs}}
    if request["do"] == "run":
        gc.disable()
        seconds = side.run(request["steps"])
        gc.enable()
        return {"seconds": seconds}
    if request["do"] == "launch":
        return {"seconds": side.launch()}
    if request["do"] == "drop":
        state.pop("side").drop()
        gc.collect()
        return {}
    raise LookupError(f"no request {request['do']!r}")


def main(kind):
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a package or a kernel prints must not get between the replies
    state = {}
    for line in sys.stdin:
        try:
            reply = answer(kind, state, json.loads(line))
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
