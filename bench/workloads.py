"""The workloads that bench/run knows, by the names of the design's performance page."""

import json
import os
import pathlib
import platform
import subprocess
import sys
import time

import measure

import metate as mt

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
SCRATCH = ROOT / "build" / "bench"


def run(*command):
    # Python's compiled files are kept, as an installed package's are: B16 measures Metate, not Python's parser.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=ROOT, env=environment)
    if result.returncode:
        sys.exit(f"{command[0]} failed with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.stdout


def mean_curvature():
    """B7: one mean-curvature step on the demo's tree against hand-written C++ over the same leaves."""
    from mean_curvature import measure_step

    threads = len(os.sched_getaffinity(0))
    taken, cells = measure_step(SCRATCH, threads)
    figures = {name: measure.summary(samples, 1e3) for name, samples in taken.items()}
    hand = {
        variant: min(figures[name]["median"] for name in figures if name.startswith(variant)) for variant in ("hoisted", "tile")
    }
    print(f"  {cells:,} cells in active leaves, {threads} threads")
    for name, row in figures.items():
        measure.print_row(name, row, "ms", f"{1e6 * row['median'] / cells:.2f} ns a cell")
    ratios = {variant: figures["metate"]["median"] / time_ for variant, time_ in hand.items()}
    print(
        f"  metate / hand-written: {ratios['hoisted']:.2f} (neighbour leaves hoisted), "
        f"{ratios['tile']:.2f} (hoisted, copied to a tile)"
    )
    return {"cells": cells, "threads": threads, "milliseconds": figures, "ratio": ratios}


def launch_module():
    """A module with the small kernels, for the C host, and its path."""
    import small_kernels

    SCRATCH.mkdir(parents=True, exist_ok=True)
    path = SCRATCH / "small.metate"
    module = mt.aot.Module(targets=["host"])
    for name in ("empty0", "empty5", "empty20"):
        module.add_kernel(getattr(small_kernels, name))
    module.save(str(path))
    return path


def c_host_samples():
    """What bench/launch.c measured: a dict of lists of nanoseconds."""
    library, program = ROOT / "build" / "lib", SCRATCH / "launch"
    path = launch_module()
    run(
        "gcc",
        "-std=c11",
        "-O2",
        "-Iinclude",
        "-Iabi",
        "bench/launch.c",
        "-o",
        program,
        f"-L{library}",
        "-lmetate",
        f"-Wl,-rpath,{library}",
    )
    return json.loads(run(program, path))


def launches():
    """B15: launches of empty kernels with 0, 5 and 20 arguments, from Python and from C."""
    import small_kernels

    figures = {}
    for name, arguments in (("empty0", ()), ("empty5", tuple(range(5))), ("empty20", tuple(range(20)))):
        kernel = getattr(small_kernels, name)
        kernel(*arguments)
        samples = []
        for _ in range(11):
            start = time.perf_counter()
            for _ in range(2000):
                kernel(*arguments)
            samples.append((time.perf_counter() - start) / 2000)
        figures[f"Python, {name}"] = measure.summary(samples, 1e9)
    for name, samples in c_host_samples().items():
        if name != "open":
            figures[f"C, {name}"] = measure.summary(samples)
    for name, row in figures.items():
        measure.print_row(name, row, "ns")
    return {"nanoseconds": figures}


COLD = """
import sys, time, json
sys.path.insert(0, {folder!r})
import numpy as np
times = [time.perf_counter()]
import metate as mt
times.append(time.perf_counter())
from metate_native import _compiler, _runtime
import metate.frontend.walker, small_kernels as ks
times.append(time.perf_counter())
x, y = np.ones(64, np.float32), np.ones(64, np.float32)
ks.saxpy(2.0, x, y)
times.append(time.perf_counter())
assert (y == 3.0).all()
ks.scale(2.0, x)
times.append(time.perf_counter())
print(json.dumps([b - a for a, b in zip(times, times[1:])]))
"""
COLD_PARTS = ("import metate", "load compiler and front end", "first call of a kernel, cold", "first call of a second kernel")


def cold_start():
    """B16: from import to a small kernel's first result, and a second kernel's, each time in a fresh process."""
    code = COLD.format(folder=str(ROOT / "bench"))
    runs = [json.loads(run(sys.executable, "-c", code)) for _ in range(measure.LEAST_SAMPLES)]
    figures = {name: measure.summary(samples, 1e3) for name, samples in zip(COLD_PARTS, zip(*runs))}
    figures["import to first result"] = measure.summary([sum(one[:3]) for one in runs], 1e3)
    for name, row in figures.items():
        measure.print_row(name, row, "ms")
    return {"milliseconds": figures}


def modules():
    """B17: opening a module up to its first launch; sizes of module and runtime."""
    figures = measure.summary(c_host_samples()["open"], 1e-3)
    measure.print_row("open to first launch", figures, "us")
    stripped = SCRATCH / "libmetate.stripped.so"
    run("strip", "-o", stripped, ROOT / "build" / "lib" / "libmetate.so")
    sizes = {"libmetate.so, stripped": stripped.stat().st_size, "module of 3 kernels": (SCRATCH / "small.metate").stat().st_size}
    for name, size in sizes.items():
        print(f"  {name:<44} {size / 1024:10.1f} KiB")
    return {"open_to_first_launch_microseconds": figures, "bytes": sizes}


def operations_in_loop(text):
    """Operations in the body of the one serial loop of a dump."""
    body = text[text.index("scf.for") :].split("\n")[1:]
    return next(k for k, line in enumerate(body) if line.strip().startswith("}"))


def interpreter():
    """interp: simple operations a second in the reference interpreter, against the same kernel compiled."""
    import small_kernels

    turns = 100_000
    operations = turns * operations_in_loop(small_kernels.mix.stages(stop_after="simplify")["simplify"])
    contexts = {"interpreted": mt.Context(arch=mt.interp, interp_stage="simplify"), "compiled": mt.Context()}

    def action(context):
        def run_in():
            with context:
                return small_kernels.mix(turns)

        return run_in

    actions = {name: action(context) for name, context in contexts.items()}
    assert len({run_in() for run_in in actions.values()}) == 1
    figures = {name: measure.summary(samples, 1e3) for name, samples in measure.interleaved(actions).items()}
    rate = operations / figures["interpreted"]["median"] / 1e3
    measure.print_row("interpreted", figures["interpreted"], "ms", f"{rate:.1f} M operations/s")
    measure.print_row("compiled", figures["compiled"], "ms")
    return {"million_operations_per_second": rate, "milliseconds": figures}


def debug_mode():
    """debug: kernels compiled with checks against the same without, on right programs."""
    import numpy as np
    import small_kernels

    rng = np.random.default_rng(7)
    count = 1 << 20
    at = rng.permutation(count).astype(np.int32)
    x = rng.random(count).astype(np.float32)
    contexts = {"release": mt.Context(), "debug": mt.Context(debug=True)}
    actions, results = {}, {}
    for name, context in contexts.items():
        for kernel, arguments in (("scale", lambda out: (1.0, out)), ("scatter", lambda out: (at, x, out))):
            out = np.ones(count, np.float32)
            passed = arguments(out)

            def run_in(context=context, kernel=kernel, passed=passed):
                with context:
                    getattr(small_kernels, kernel)(*passed)

            run_in()
            results.setdefault(kernel, []).append(out.copy())
            actions[f"{kernel}, {name}"] = run_in
    for a, b in results.values():
        np.testing.assert_array_equal(a, b)
    figures = {name: measure.summary(samples, 1e3) for name, samples in measure.interleaved(actions).items()}
    ratios = {k: figures[f"{k}, debug"]["median"] / figures[f"{k}, release"]["median"] for k in results}
    for name, row in figures.items():
        measure.print_row(name, row, "ms")
    print("  debug / release: " + ", ".join(f"{ratio:.2f} ({kernel})" for kernel, ratio in ratios.items()))
    return {"milliseconds": figures, "ratio": ratios}


WORKLOADS = {
    "B7": mean_curvature, "B15": launches, "B16": cold_start, "B17": modules, "interp": interpreter, "debug": debug_mode,
}  # fmt: skip


def main(names):
    unknown = [name for name in names if name not in WORKLOADS]
    if unknown:
        sys.exit(f"bench/run: no workload {unknown[0]!r}; there are {', '.join(WORKLOADS)}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in names or WORKLOADS:
        print(f"{name}: {WORKLOADS[name].__doc__.split(': ', 1)[1]}")
        result = {"workload": name, "machine": platform.machine(), "cpus": len(os.sched_getaffinity(0))}
        result |= WORKLOADS[name]()
        (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
    return 0
