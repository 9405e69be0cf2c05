"""Runs every step of scripts/test and adds up what the test runners report.

Counts come from the runners' JUnit files, never from their exit codes alone; a step that crashes,
times out, or reports no test at all counts as one failure. A step whose prerequisite failed is
not run and counts as one failure too. Must not know any single test.
"""

import dataclasses
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "logs"
PYTHON = str(ROOT / ".venv" / "bin" / "python")
INTERPRETED = ("tests/e2e", "tests/compat", "--ignore=tests/e2e/test_trees.py")


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()
    junit: bool = False  # `{junit}` in the command is replaced; without, the step counts as one test
    seconds: int = 1200
    environment: tuple[tuple[str, str], ...] = ()


def sanitizer_environment() -> tuple[tuple[str, str], ...]:
    return (
        ("ASAN_OPTIONS", "detect_leaks=1:strict_string_checks=1:halt_on_error=1"),
        ("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1"),
        ("TSAN_OPTIONS", "halt_on_error=1"),
        ("METATE_SANITIZED_MODULES", str(ROOT / "out" / "test-sanitize")),
    )


STEPS = (
    Step("check-layers", ("scripts/check-layers",)),
    # The tree protocol as models, in all their states, and the faults that the models must find.
    Step("model", (PYTHON, "tests/model/run.py", "--junit", "{junit}"), (), True),
    Step("build-dev", ("scripts/build", "dev"), seconds=3000),
    Step(
        "ctest-dev",
        ("ctest", "--test-dir", "build", "-j2", "--output-on-failure", "--no-tests=error", "--output-junit", "{junit}"),
        ("build-dev",),
        True,
    ),
    Step(
        "lit",
        (str(ROOT / ".venv/bin/lit"), "-v", "-j2", "--xunit-xml-output", "{junit}", "tests/lit"),
        ("build-dev",),
        True,
    ),
    Step(
        "pytest",
        (PYTHON, "-m", "pytest", "-q", "-ra", "--durations=10", "--junit-xml={junit}", "tests", "examples"),
        ("build-dev",),
        True,
        2400,
    ),
    # The same programs, and what they must give, in the reference interpreter.
    Step(
        "pytest-interpreted",
        (PYTHON, "-m", "pytest", "-q", "-ra", "--junit-xml={junit}", *INTERPRETED),
        ("build-dev",),
        True,
        environment=(("METATE_TEST_INTERP", "import"),),
    ),
    # The benchmarks' programs and the hand-written ones, at tiny sizes against NumPy.
    Step("bench-smoke", (PYTHON, "bench/run", "--smoke", "--junit", "{junit}"), ("build-dev",), True),
    Step("library-layers", ("scripts/check-layers", "--library", "build/lib/libmetate.so"), ("build-dev",)),
    Step("build-asan", ("scripts/build", "asan"), seconds=1800),
    # A module of the real compiler, for the damage tests beside the ones that their builder makes.
    Step("damage-module", (PYTHON, "examples/rfc/rfc.py", "--save", "out/test-damage"), ("build-dev",)),
    # Instrumented kernels, for the sanitizers' builds.
    Step("sanitized-modules", (PYTHON, "tests/sanitize/make_modules.py", "out/test-sanitize"), ("build-dev",)),
    Step(
        "ctest-asan",
        ("ctest", "--test-dir", "build-asan", "-j2", "--output-on-failure", "--no-tests=error", "--output-junit", "{junit}"),
        ("build-asan", "damage-module", "sanitized-modules"),
        True,
        1800,
        (*sanitizer_environment(), ("METATE_TEST_MODULE", str(ROOT / "out" / "test-damage" / "ab.metate"))),
    ),
    Step("build-tsan", ("scripts/build", "tsan"), seconds=1800),
    # All but the damage tests, which have one thread and take their time.
    Step(
        "ctest-tsan",
        (
            *("ctest", "--test-dir", "build-tsan", "-j2", "-E", "^damage", "--output-on-failure", "--no-tests=error"),
            *("--output-junit", "{junit}"),
        ),
        ("build-tsan", "sanitized-modules"),
        True,
        environment=sanitizer_environment(),
    ),
    # A compiler with deliberate faults (Mutants.def): the differential tester must catch each of them.
    Step("build-mutants", ("scripts/build", "mutants", "_compiler", "_runtime"), seconds=1800),
    Step("mutants", (PYTHON, "tests/mutants/run.py", "--seed", "7", "--junit", "{junit}"), ("build-mutants",), True),
    Step("build-runtime-only", ("scripts/build", "runtime-only")),
    Step(
        "demo-knot-256",
        ("scripts/demo", "--no-build", "--mesh=knot", "--resolution=256", "--check", "--out=out/test-knot"),
        ("build-dev",),
    ),
)


def count_junit(path: pathlib.Path) -> tuple[int, int, int]:
    """(passed, failed, skipped) test cases of a JUnit file of any of the runners."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            failed += 1
        elif case.find("skipped") is not None or case.get("status") in ("disabled", "notrun"):
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def run_step(step: Step) -> tuple[int, int, int]:
    """Runs one step with its output in a log; returns (passed, failed, skipped)."""
    junit = LOGS / f"{step.name}.xml"
    junit.unlink(missing_ok=True)
    log = LOGS / f"test-{step.name}.log"
    command = [part.replace("{junit}", str(junit)) for part in step.command]
    environment = dict(os.environ, **dict(step.environment))
    start = time.monotonic()
    print(f"{step.name:<22}", end="", flush=True)
    with log.open("wb") as output:
        try:
            code = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=step.seconds,
            ).returncode
        except subprocess.TimeoutExpired:
            code = 124
            output.write(f"\nstopped after {step.seconds} s\n".encode())
        except OSError as error:
            code = 127
            output.write(f"\n{error}\n".encode())
    passed, failed, skipped = read_counts(step, junit, code)
    seconds = time.monotonic() - start
    print(f"{passed:5d} passed {failed:3d} failed {skipped:3d} skipped  {seconds:6.1f} s", flush=True)
    if failed:
        lines = log.read_text(errors="replace").splitlines()
        print(f"--- the end of {log.relative_to(ROOT)} (exit code {code})", *lines[-120:], "---", sep="\n", flush=True)
    return passed, failed, skipped


def read_counts(step: Step, junit: pathlib.Path, code: int) -> tuple[int, int, int]:
    if not step.junit:
        return (1, 0, 0) if code == 0 else (0, 1, 0)
    try:
        passed, failed, skipped = count_junit(junit)
    except (OSError, ElementTree.ParseError):
        return 0, 1, 0
    # A runner that failed without a failed case, or ran nothing, is itself a failure.
    if failed == 0 and (code != 0 or passed == 0):
        failed = 1
    return passed, failed, skipped


def select(names: list[str]) -> list[Step]:
    """The named steps and what they need, in order; all of them without a name."""
    known = {step.name: step for step in STEPS}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"scripts/test: no step {unknown[0]!r}; the steps are {', '.join(known)}")
    wanted = set(names or known)
    for step in reversed(STEPS):
        if step.name in wanted:
            wanted.update(step.needs)
    return [step for step in STEPS if step.name in wanted]


def main() -> int:
    if sys.argv[1:] == ["--list"]:
        print(*(step.name for step in STEPS), sep="\n")
        return 0
    LOGS.mkdir(parents=True, exist_ok=True)
    totals = [0, 0, 0]
    broken = set()
    for step in select(sys.argv[1:]):
        if broken.intersection(step.needs):
            print(
                f"{step.name:<22}    0 passed   1 failed   (not run: {', '.join(broken.intersection(step.needs))} failed)",
                flush=True,
            )
            counts = (0, 1, 0)
        else:
            counts = run_step(step)
        if counts[1]:
            broken.add(step.name)
        totals = [total + count for total, count in zip(totals, counts)]
    passed, failed, skipped = totals
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
