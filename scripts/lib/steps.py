"""The steps of scripts/test: what runs, what it needs, and what it may cost. The runner (run_tests.py) knows no step.

A budget is CPU time, user and system, of a clean build without ccache: other programs on the machine hardly change it, and the
sum of all budgets over two cores is the time of the suite on a quiet machine. test_suite.py holds the sum to BUDGET.
"""

import dataclasses
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = str(ROOT / ".venv" / "bin" / "python")
RUFF = str(ROOT / ".venv" / "bin" / "ruff")
CORES = str(os.cpu_count() or 1)
BUDGET = 3850  # CPU seconds of the suite; 2400 are 20 minutes on two cores
# Without those that run each kernel in the interpreter themselves, or none, or test the host's copies of many cells.
NOT_INTERPRETED = ("test_trees.py", "test_stage_dumps.py", "test_transfers.py")
LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
OF_DEVICES = "--ignore-glob=*/e2e/test_devices*.py"  # pytest-simt has all of them
INTERPRETED = ("tests/e2e", "tests/compat", *(f"--ignore=tests/e2e/{name}" for name in NOT_INTERPRETED), OF_DEVICES)
DIFFERENTIAL = "tests/differential/test_differential.py"
# Kernels as a GPU's, on this machine's CPU; tests/devices lists the tests that cannot pass there.
AS_C = tuple(  # programs whose kernels have all that the printer of C knows
    f"tests/e2e/test_{name}.py"
    for name in (
        *("arithmetic", "levels", "control", "sparse", "real_functions", "quant_words", "rounding", "elementary", "print_assert"),
        *("structs", "graph", "random", "reductions", "math_types", "masks", "quant_fields", "constants", "variables"),
    )
)
ON_SIMT = (("METATE_TEST_ARCH", "simt"),)
# The same as SPIR-V, on Mesa's CPU device, under Khronos' validation layer (tests/conftest.py).
ON_VULKAN = (("METATE_TEST_ARCH", "vulkan"), ("VK_DRIVER_FILES", LAVAPIPE), ("VK_ICD_FILENAMES", LAVAPIPE))
SHARE_ON_SIMT = ("--share", "0.2", "--share-seed", "0", "--whole", "tests/e2e/test_devices")


@dataclasses.dataclass(frozen=True)
class Step:
    """`{junit}`, `{seed}` and `{quick...}` in the command are replaced by the runner.

    Attributes:
        junit: the command writes counts; without, the step is one test.
        budget: CPU seconds; 0 is no limit, of a long step.
        cores: how many it keeps busy; steps that want one run beside each other.
        is_long: only with --long, or by name.
    """

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()
    junit: bool = False
    budget: int = 10
    cores: int = 1
    environment: tuple[tuple[str, str], ...] = ()
    is_long: bool = False

    @property
    def seconds(self) -> int:
        """When a step that hangs is stopped: far beyond what a loaded machine makes of its budget."""
        return max(1200, 10 * self.budget) if self.budget else 12 * 3600


def pytest(*arguments: str) -> tuple[str, ...]:
    """Files go to as many processes as there are cores: tests of a file share kernels and fixtures."""
    return (PYTHON, "-m", "pytest", "-q", "-ra", "-n", CORES, "--dist", "loadfile", "--junit-xml={junit}", *arguments)


def ctest(folder: str, *arguments: str) -> tuple[str, ...]:
    return (
        *("ctest", "--test-dir", folder, "-j", CORES, "--output-on-failure", "--no-tests=error"),
        *("--output-junit", "{junit}", *arguments),
    )


SANITIZERS = (
    ("ASAN_OPTIONS", "detect_leaks=1:strict_string_checks=1:halt_on_error=1"),
    ("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1"),
    ("TSAN_OPTIONS", "halt_on_error=1"),
    ("METATE_SANITIZED_MODULES", str(ROOT / "out" / "test-sanitize")),
)
DAMAGED = ("METATE_TEST_MODULE", str(ROOT / "out" / "test-damage" / "ab.metate"))
CACHED = ("METATE_OFFLINE_CACHE_FILE_PATH", str(ROOT / "out" / "test-cache"))

GATES = (
    Step("check-layers", ("scripts/check-layers",), budget=10),
    Step("format", ("scripts/format", "--check"), budget=30),
)
# What runs on lavapipe: the parts of tests/e2e/test_devices*.py.
DEVICE_TESTS = ("", *"_arrays _contexts _deterministic _interrupt _pairs _profiler _slots _trees _turns _whole".split())

SUITE = (
    *GATES,
    Step("build-dev", ("scripts/build", "dev"), budget=720, cores=2),
    # Those that want one core follow each other, the longest first, so that no core waits.
    # The benchmarks' programs and the hand-written ones, at tiny sizes against NumPy.
    Step("bench-smoke", (PYTHON, "bench/run", "--smoke", "--junit", "{junit}"), ("build-dev",), True, 120),
    # The spellings of bench/cliffs, in the same way.
    Step("cliffs-smoke", (PYTHON, "bench/cliffs", "--smoke", "--junit", "{junit}"), ("build-dev",), True, 40),
    # The tree protocol as models, in all their states, and the faults that the models must find.
    Step("model", (PYTHON, "tests/model/run.py", "-j", "1", "--junit", "{junit}"), (), True, 150),
    Step(
        "demo-knot-256",
        ("scripts/demo", "--no-build", "--mesh=knot", "--resolution=256", "--check", "--out=out/test-knot"),
        ("build-dev",),
        budget=40,
    ),
    # Behind the build: the extensions' modules are there then.
    Step("types", (str(ROOT / ".venv/bin/basedpyright"),), ("build-dev",), budget=60),
    Step("library-layers", ("scripts/check-layers", "--library", "build/lib/libmetate.so"), ("build-dev",), budget=5),
    # A module of the real compiler, for the damage tests beside the ones that their builder makes.
    Step("damage-module", (PYTHON, "examples/rfc/rfc.py", "--save", "out/test-damage"), ("build-dev",), budget=10),
    # Instrumented kernels, for the sanitizers' builds.
    Step("sanitized-modules", (PYTHON, "tests/sanitize/make_modules.py", "out/test-sanitize"), ("build-dev",), budget=45),
    # The files that were changed, by clang-tidy; it prints which.
    Step("tidy", (PYTHON, "scripts/lib/tidy.py"), ("build-dev",), budget=120),
    Step("ctest-dev", ctest("build"), ("build-dev",), True, 60, 2),
    Step(
        "lit",
        (str(ROOT / ".venv/bin/lit"), "-v", "-j", CORES, "--xunit-xml-output", "{junit}", "tests/lit"),
        *(("build-dev",), True, 60, 2),
    ),
    Step(
        "pytest",
        pytest("--durations=10", "tests", "examples", f"--ignore={DIFFERENTIAL}", OF_DEVICES),
        ("build-dev",),
        True,
        720,
        2,
    ),
    # Random kernels: processes of their own, one a core, and beside them the tests of one process.
    Step(
        "differential",
        (*pytest(DIFFERENTIAL), "--dist", "worksteal"),
        *(("build-dev",), True, 320, 2),
    ),
    # The same programs, and what they must give, in the reference interpreter.
    Step(
        "pytest-interpreted",
        pytest(*INTERPRETED),
        *(("build-dev",), True, 270, 2),
        environment=(("METATE_TEST_INTERP", "import"),),
    ),
    # A part of them, always the same, and all of the tests of devices.
    Step("pytest-simt", pytest(*SHARE_ON_SIMT, "tests/e2e"), ("build-dev",), True, 240, 2, ON_SIMT),
    Step(
        "pytest-vulkan",
        pytest(*(f"tests/e2e/test_devices{part}.py" for part in DEVICE_TESTS), "tests/e2e/test_graph.py"),
        ("build-dev",),
        True,
        130,
        2,
        ON_VULKAN,
    ),
    Step("build-asan", ("scripts/build", "asan"), budget=140, cores=2),
    Step(
        "ctest-asan",
        ctest("build-asan"),
        *(("build-asan", "damage-module", "sanitized-modules"), True, 50, 2),
        (*SANITIZERS, DAMAGED),
    ),
    Step("build-tsan", ("scripts/build", "tsan"), budget=140, cores=2),
    # What has one thread (damage, fuzz) is not built there.
    Step(
        "ctest-tsan",
        ctest("build-tsan"),
        *(("build-tsan", "sanitized-modules"), True, 40, 2),
        SANITIZERS,
    ),
    # A twin of the compiler with deliberate faults (Mutants.def): the differential tester must catch each of them.
    Step("build-mutants", ("scripts/build", "dev", "mutants"), ("build-dev",), budget=220, cores=2),
    Step(
        "mutants",
        (PYTHON, "tests/mutants/run.py", "--seed", "7", "--junit", "{junit}"),
        *(("build-mutants",), True, 60, 2),
    ),
    Step("build-runtime-only", ("scripts/build", "runtime-only"), budget=50, cores=2),
)
LONG = (
    Step(
        "fuzz-kernels",
        ("scripts/fuzz-kernels", "--count", "20000", "--seed", "{seed}", "--jobs", CORES),
        *(("build-dev",), False, 0, 2),
        is_long=True,
    ),
    Step(
        "fuzz-tapes",
        ("scripts/fuzz-kernels", "--tapes", "--count", "2000", "--seed", "{seed}"),
        *(("build-dev",), False, 0, 1),
        is_long=True,
    ),
    # Slots in order, before and after each launch and in deterministic kernels, in every kernel.
    Step(
        "fuzz-kernels-sorted",
        (
            *("scripts/fuzz-kernels", "--count", "20000", "--seed", "{seed}", "--jobs", CORES, "--sorted", "1"),
            *("--variants", "O0,deterministic,deterministic 4 workers,interpreter after import"),
        ),
        *(("build-dev",), False, 0, 2),
        is_long=True,
    ),
    # The programs of tests/e2e with the cache of compiled kernels on: the second time what the first one kept is loaded.
    *(
        Step(name, pytest("tests/e2e"), ("build-dev",), True, 0, 2, (("METATE_OFFLINE_CACHE", "1"), CACHED), is_long=True)
        for name in ("pytest-cache-cold", "pytest-cache-warm")
    ),
    # What pytest-simt has a part of.
    Step("pytest-simt-whole", pytest("tests/e2e"), ("build-dev",), True, 0, 2, ON_SIMT, is_long=True),
    # libmetate on each machine that is emulated; the suite has one of them.
    Step(
        "machines-standard",
        (PYTHON, "-m", "pytest", "-q", "-ra", "--junit-xml={junit}", "tests/machines/test_standard.py"),
        *(("build-dev",), True, 0, 1),
        (("METATE_TEST_MACHINES", "aarch64,riscv64"),),
        is_long=True,
    ),
    # PTX of all kernels of the examples, through ptxas where there is one.
    Step(
        "cuda-code",
        (PYTHON, "-m", "pytest", "-q", "-ra", "--junit-xml={junit}", "tests/python/test_cuda_code.py"),
        *(("build-dev",), True, 0, 2),
        (("METATE_TEST_CUDA_CODE", "1"),),
        is_long=True,
    ),
    # SPIR-V of the same, through spirv-val.
    Step(
        "vulkan-code",
        (PYTHON, "-m", "pytest", "-q", "-ra", "--junit-xml={junit}", "tests/python/test_vulkan_code.py"),
        *(("build-dev",), True, 0, 2),
        (("METATE_TEST_VULKAN_CODE", "1"),),
        is_long=True,
    ),
    # C of the same, through gcc; and programs of tests/e2e with kernels that gcc made of C.
    Step(
        "c-code",
        (PYTHON, "-m", "pytest", "-q", "-ra", "--junit-xml={junit}", "tests/python/test_c_code.py"),
        *(("build-dev",), True, 0, 2),
        (("METATE_TEST_C_CODE", "1"),),
        is_long=True,
    ),
    Step("pytest-c", pytest(*AS_C), ("build-dev",), True, 0, 2, (("METATE_TEST_C", "gcc"),), is_long=True),
    Step(
        "mutants-fresh",
        (PYTHON, "tests/mutants/run.py", "--fresh", "--seed", "{seed}", "--junit", "{junit}"),
        *(("build-mutants",), True, 0, 2),
        is_long=True,
    ),
    # sin, exp and their kin of all floats, and of 20 million doubles each.
    Step(
        "elementary-functions",
        ("build/bin/measure-elementary", "--step", "1", "--count", "20000000"),
        *(("build-dev",), False, 0, 2),
        is_long=True,
    ),
    # The site: what the checks of pages and links in tests/e2e/test_manual.py cannot see. It needs the network once.
    Step("docs", ("scripts/docs",), ("build-dev",), budget=0, is_long=True),
    Step("fuzz-bytes", ("scripts/fuzz", "all", "--runs", "1000000"), ("build-dev",), budget=0, is_long=True),
    # The wheel that `pip install .` makes, compiled from source.
    Step(
        "package-from-source",
        (PYTHON, "-m", "pytest", "-q", "-ra", "--junit-xml={junit}", "tests/package"),
        *(("build-dev",), True, 0, 2),
        (("METATE_PACKAGE_FROM_SOURCE", "1"),),
        is_long=True,
    ),
    # The examples that film themselves, interpreted.
    Step(
        "check-films",
        pytest("tests/examples/test_programs.py", "-k", "filmed_programs_finds"),
        *(("build-dev",), True, 0, 2),
        (("METATE_TEST_CHECK_FILMS", "1"),),
        is_long=True,
    ),
    # A program frozen by PyInstaller.
    Step(
        "frozen",
        (PYTHON, "-m", "pytest", "-q", "-ra", "--junit-xml={junit}", "tests/package/test_frozen.py"),
        *(("build-dev",), True, 0),
        environment=(("METATE_TEST_FROZEN", "1"),),
        is_long=True,
    ),
    # Each skeleton of scripts/new in a copy of the checkout, built.
    Step(
        "scaffolds",
        (PYTHON, "-m", "pytest", "-q", "-ra", "--junit-xml={junit}", "tests/python/test_new.py"),
        *(("build-dev",), True, 0, 2),
        (("METATE_TEST_SCAFFOLDS", "1"),),
        is_long=True,
    ),
)
STEPS = (*SUITE, *LONG)
