"""scripts/test --quick: what the changed files can break, and of the rest a sample by a seed that is printed.

RULES says what depends on what: the first table to look at when a quick run missed a fault.
"""

import dataclasses
import random
import re
import sys

from changes import ROOT, changed, landed
from steps import CORES, DIFFERENTIAL, GATES, PYTHON, STEPS, Step, pytest

SHARE = 0.12  # of the tests that no changed file points to
KERNELS = "40"

# A changed path that matches: steps that run as a whole, and Python tests that do. `\1` is the pattern's first group.
RULES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (r"tests/model/|protocol/.*", ("model",), ()),
    (r"(abi|protocol|runtime|include)/", ("ctest-dev", "library-layers"), ("tests/aot", "tests/python/test_tree.py")),
    (r"abi/", (), ("tests/python/test_abi_headers.py",)),
    (r"tests/(unit|support|damage|fuzz|hosts)/", ("ctest-dev",), ()),
    (r"compiler/metate/(?!Frontend)", ("lit", "ctest-dev"), ("tests/python/test_frontend_ir.py",)),
    (r"compiler/metate/Interp/", (), ("tests/python/test_semantics.py", "tests/differential/test_debug_mode.py")),
    (r"compiler/metate/Module/", (), ("tests/aot",)),
    (r"compiler/metate/Frontend/|python/metate/frontend/", (), ("tests/python/test_frontend_errors.py", "tests/compat")),
    (r"tests/lit/", ("lit",), ()),
    (r"(tools/metate-run|cmake|runtime/signature)/", (), ("tests/aot",)),
    (r"(bindings/cpp|examples/builder)/|include/metate/builder", (), ("tests/aot/test_builder.py",)),
    (r"examples/projects/", (), ("tests/aot/test_projects.py",)),
    (r"(compiler/metate/Target/(Grid|Simt|Cuda)|runtime/driver/(grid|simt))/", ("pytest-simt",), ()),
    (r"compiler/metate/Target/(Grid|Cuda)/", (), ("tests/python/test_cuda_code.py",)),
    (r"compiler/metate/Target/(Grid|Vulkan)/", (), ("tests/python/test_vulkan_code.py",)),
    (
        r"runtime/driver/(grid|vulkan)/|tests/driver/",
        ("ctest-dev", "pytest-vulkan"),
        ("tests/python/test_vulkan_validation.py", "tests/python/test_vulkan_lost.py"),
    ),
    (r"bindings/runtime/Launch", (), ("tests/e2e/test_interrupt.py", "tests/e2e/test_devices_interrupt.py")),
    (
        r"examples/(cuda_host|vulkan_host|rfc)/|include/metate/metate_(cuda|vulkan)|runtime/driver/vulkan/|runtime/kernel/record",
        (),
        ("tests/aot/test_device_hosts.py",),
    ),
    (r"runtime/packed/|python/metate/packed_functions", (), ("tests/aot/test_packed_library.py", "tests/aot/test_every_way.py")),
    (r"tests/devices/", (), ("tests/devices",)),
    (
        r"tests/machines/|examples/firmware/|(runtime/(core|rpc)|python/metate/rpc|compiler/metate/(Emit|Module)|protocol|abi)/",
        (),
        ("tests/machines",),
    ),
    (r"include/metate/(core|rpc)\.h", (), ("tests/machines",)),
    (r"tests/differential/", (), ("tests/differential/test_table.py", DIFFERENTIAL)),
    (r"tests/mutants/", (), ("tests/mutants",)),
    (r"bindings/|python/metate/", (), ("tests/python/test_options.py", "tests/python/test_contexts.py")),
    (r"python/metate/(devices|packed_code)", ("pytest-simt",), ()),
    (
        r"python/metate/(object_cache/|kernel|instances)",
        (),
        ("tests/e2e/test_object_cache.py", "tests/python/test_object_cache_folder.py"),
    ),
    (
        r"compiler/metate/(Remarks|Emit)/|python/metate/(explain/|report|source_loops|program)",
        (),
        ("tests/e2e/test_report.py", "tests/e2e/test_explain.py"),
    ),
    (r"python/metate/(ad/|borrowed_memory|argument_kinds)|tests/python/torch_", (), ("tests/python/test_torch.py",)),
    (r"python/metate/frontend/source", (), ("tests/e2e/test_where_code_lives.py",)),
    (
        r"python/metate/(aot|carriers|function_kernel|native|loaded|session|cli)\.py",
        (),
        ("tests/aot", "tests/python/test_check_command.py"),
    ),
    (r"python/metate/(tree|tree_type|types)", (), ("tests/python/test_tree.py", "tests/python/test_tree_levels.py")),
    (
        r"python/metate/ui/ggui/",
        (),
        ("tests/python/test_ui_canvas.py", "tests/python/test_ui_scene.py", "tests/python/test_ui_window.py"),
    ),
    (r"python/metate/ui/", (), ("tests/python/test_gui.py", "tests/python/test_gui_files.py")),
    (r"bench/", ("bench-smoke", "cliffs-smoke"), ("tests/python/test_bench.py", "tests/python/test_cliffs.py")),
    (r"compiler/metate/(Transforms|Target|Pipelines)/", ("cliffs-smoke",), ()),
    (r"examples/(\w+)\.py$", (), (r"tests/examples/test_\1.py",)),
    (r"docs/manual/", (), ("tests/e2e/test_manual.py", "tests/python/test_manual_cpp.py")),
    (r"include/metate/", (), ("tests/python/test_manual_cpp.py",)),
    (r"scripts/lib/reference|python/metate/(intrinsics|math)|tests/differential/table", (), ("tests/python/test_reference.py",)),
    (r"examples/(\w+)/", (), (r"tests/examples/test_\1.py",)),
    (r"scripts/|docs/|.*\.md$", (), ("tests/python/test_paths.py", "tests/python/test_suite.py")),
    (r"scripts/new|compiler/.*CMakeLists\.txt", (), ("tests/python/test_new.py",)),
    (r"(tests/(?:e2e|python|compat|aot|examples|package)/(?:.*/)?test_\w+\.py)$", (), (r"\1",)),
)


def pointed_to(paths: list[str]) -> tuple[set[str], set[str]]:
    """(names of steps, Python tests that are there) that the changed paths may break."""
    steps, tests = set(), set()
    for path in paths:
        for pattern, names, files in RULES:
            if match := re.match(pattern, path):
                steps.update(names)
                tests.update(match.expand(file) for file in files)
    return steps, {test for test in tests if (ROOT / test).exists()}


def plan(since: str | None, seed: int | None) -> list[Step]:
    """The steps of a quick run; prints what it is for and how to repeat it."""
    paths = changed(since)
    seed = random.SystemRandom().randrange(1, 1 << 24) if seed is None else seed
    names, tests = pointed_to(paths)
    base = since or landed()
    if not base:
        sys.exit("scripts/test --quick: expected a git checkout, to know what was changed; run scripts/test, or name a --since")
    print(f"{len(paths)} files changed since {base[:12]}; --since {base[:12]} --seed {seed} repeats this run")
    print(f"whole: {', '.join(sorted({*names, *tests})) or 'nothing'}; of the other tests {SHARE:.0%}", flush=True)
    sampled = pytest("--share", str(SHARE), "--share-seed", str(seed), *whole(tests), "tests", f"--ignore={DIFFERENTIAL}")
    kernels = ("scripts/fuzz-kernels", "--count", KERNELS, "--seed", str(seed), "--jobs", CORES, "--save", "out/quick")
    chosen = [
        *(step for step in GATES),
        *(step for step in STEPS if step.name in {"build-dev", "types", "tidy", *names}),
        Step("pytest-sampled", sampled, ("build-dev",), True, 250, 2),
        Step("kernels-sampled", kernels, ("build-dev",), budget=60, cores=2),
    ]
    if DIFFERENTIAL in tests:
        command = (PYTHON, "-m", "pytest", "-q", "-ra", "--junit-xml={junit}", DIFFERENTIAL, "-k", "not random_kernels_agree")
        chosen.append(Step("differential", command, ("build-dev",), True, 60, 1))
    return [dataclasses.replace(step, budget=0) if step.name == "build-dev" else step for step in chosen]


def whole(tests: set[str]) -> list[str]:
    return [part for test in sorted(tests - {DIFFERENTIAL}) for part in ("--whole", test)]
