"""Runs the steps of scripts/test, those that want one core beside each other, and adds up what the test runners report.

Counts come from the runners' JUnit files, never from their exit codes alone; a step that crashes,
times out, or reports no test at all counts as one failure. A step whose prerequisite failed is
not run and counts as one failure too, and so does one that takes FAR times its budget of CPU time.
Must not know any single test or step (steps.py, quick.py).
"""

import argparse
import dataclasses
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree

import quick
from steps import BUDGET, ROOT, STEPS, SUITE, Step

LOGS = ROOT / "build" / "logs"
FAR = 3  # times its budget: no machine makes that of it, something got slow


@dataclasses.dataclass
class Result:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    note: str = ""


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


class Running:
    """Processes that were started and have not ended: an interrupted run takes them along."""

    def __init__(self):
        self.lock, self.pids = threading.Lock(), set()

    def stop(self, pid: int) -> None:
        with self.lock:
            if pid in self.pids:
                os.killpg(pid, signal.SIGKILL)

    def stop_all(self) -> None:
        for pid in list(self.pids):
            self.stop(pid)

    def run(self, command, environment, output, seconds) -> tuple[int, float]:
        """Exit code and CPU seconds, of all processes that it waited for; 124: stopped after `seconds`."""
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
        with self.lock:
            self.pids.add(process.pid)
        late = threading.Event()
        timer = threading.Timer(seconds, lambda: (late.set(), self.stop(process.pid)))
        timer.daemon = True
        timer.start()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # still ours: its number names no other process
        with self.lock:
            self.pids.discard(process.pid)
        timer.cancel()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return 124 if late.is_set() else process.returncode, usage.ru_utime + usage.ru_stime


def environment_of_steps(own) -> dict:
    """`own`, but what is tested is the compiler, not what an earlier run kept of it, and failures are told as everywhere: with CI
    set, pytest looks for the differences of whole lists, 16 minutes for 3,000 numbers of a test that is expected to fail.
    """
    told_at_length = ("CI", "BUILD_NUMBER")
    return {**{name: value for name, value in own.items() if name not in told_at_length}, "METATE_OFFLINE_CACHE": "0"}


def run_step(step: Step, running: Running, environment: dict, values: dict) -> Result:
    """Runs one step with its output in a log."""
    junit, log = LOGS / f"{step.name}.xml", LOGS / f"test-{step.name}.log"
    junit.unlink(missing_ok=True)
    command = [part.format(junit=junit, **values) for part in step.command]
    start = time.monotonic()
    cpu = 0.0
    with log.open("wb") as output:
        try:
            code, cpu = running.run(command, {**environment, **dict(step.environment)}, output, step.seconds)
        except OSError as error:
            code = 127
            output.write(f"\n{error}\n".encode())
        if code == 124:
            output.write(f"\nstopped after {step.seconds} s\n".encode())
    result = Result(*read_counts(step, junit, code), time.monotonic() - start, cpu)
    judge(step, result)
    if result.failed:
        lines = log.read_text(errors="replace").splitlines()
        result.note += "\n" + "\n".join([f"--- the end of {log.relative_to(ROOT)} (exit code {code})", *lines[-120:], "---"])
    return result


def judge(step: Step, result: Result) -> None:
    """A budget that was passed is marked; one that was passed by far is a failure."""
    if step.budget and result.cpu > FAR * step.budget:
        result.failed += 1
        result.note = f"  over {FAR} times its budget: failed"
    elif step.budget and result.cpu > step.budget:
        result.note = "  over its budget"


def line(step: Step, result: Result) -> str:
    budget = f" of {step.budget:4d}" if step.budget else ""
    return (
        f"{step.name:<20}{result.passed:5d} passed {result.failed:3d} failed {result.skipped:3d} skipped "
        f"{result.wall:7.1f} s  {result.cpu:7.1f}{budget} CPU s{result.note}"
    )


class Schedule:
    """Starts steps in their order, as many beside each other as have cores and what they need."""

    def __init__(self, steps: list[Step], environment: dict, values: dict, cores: int = os.cpu_count() or 1):
        self.waiting, self.environment, self.values = list(steps), environment, values
        self.cores = self.free = cores
        self.names = {step.name for step in steps}
        self.results: dict[str, Result] = {}
        self.changed = threading.Condition()
        self.running = Running()

    def run(self) -> dict[str, Result]:
        threads = []
        try:
            with self.changed:
                while self.waiting:
                    step = self._next()
                    if step is None:
                        if self.waiting:
                            self.changed.wait()
                        continue
                    threads.append(threading.Thread(target=self._run, args=(step,), daemon=True))
                    threads[-1].start()
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            self.running.stop_all()
            raise
        return self.results

    def _next(self) -> Step | None:
        """The first step that may start now; what cannot start any more is noted as failed."""
        for step in list(self.waiting):
            needs = self.names.intersection(step.needs)
            broken = [name for name in needs if name in self.results and self.results[name].failed]
            if broken:
                self.waiting.remove(step)
                self._note(step, Result(failed=1, note=f"  (not run: {', '.join(sorted(broken))} failed)"))
            elif needs <= self.results.keys():
                if self._cores(step) > self.free:
                    return None  # a later one that fits would leave the other cores without work until it ends
                self.waiting.remove(step)
                self.free -= self._cores(step)
                return step
        return None

    def _cores(self, step: Step) -> int:
        return min(step.cores, self.cores) if step.cores == 1 else self.cores

    def _run(self, step: Step) -> None:
        result = run_step(step, self.running, self.environment, self.values)
        with self.changed:
            self.free += self._cores(step)
            self._note(step, result)

    def _note(self, step: Step, result: Result) -> None:
        self.results[step.name] = result
        print(line(step, result), flush=True)
        self.changed.notify_all()


def select(names: list[str], steps) -> list[Step]:
    """The named steps and what they need, in order; `steps` without a name."""
    known = {step.name: step for step in STEPS}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"scripts/test: no step {unknown[0]!r}; the steps are {', '.join(known)}")
    wanted = set(names or (step.name for step in steps))
    for step in reversed(STEPS):
        if step.name in wanted:
            wanted.update(step.needs)
    return [step for step in STEPS if step.name in wanted]


def parsed(arguments):
    parser = argparse.ArgumentParser(
        prog="scripts/test",
        description="Builds and runs every test. The last line is `N passed, N failed`.",
        epilog="A budget is CPU time; a step that takes more is marked, one that takes three times as much fails.",
    )
    parser.add_argument("steps", nargs="*", metavar="STEP", help="only these, and what they need")
    parser.add_argument("--list", action="store_true", help="the steps, their budgets, and what they need")
    parser.add_argument("--quick", action="store_true", help="what changed files can break, and a sample of the rest")
    parser.add_argument("--since", metavar="REVISION", help="--quick: changed since then (default: since the main branch)")
    parser.add_argument("--long", action="store_true", help="besides, what takes hours: with a fresh seed, which is printed")
    parser.add_argument("--seed", type=int, help="of --quick's sample, or of --long: repeats a run")
    return parser.parse_args(arguments)


def main() -> int:
    options = parsed(sys.argv[1:])
    if options.list:
        for step in STEPS:
            budget = f"{step.budget:5d} CPU s" if step.budget else "       long"
            print(f"{step.name:<20}{budget}  {', '.join(step.needs)}".rstrip())
        print(f"the suite: {sum(step.budget for step in SUITE)} of {BUDGET} CPU s")
        return 0
    LOGS.mkdir(parents=True, exist_ok=True)
    environment, values = environment_of_steps(os.environ), {"seed": 7}
    if options.quick:
        steps = quick.plan(options.since, options.seed)
    else:
        steps = select(options.steps, STEPS if options.long else SUITE)
    if options.long:
        values["seed"] = options.seed or secrets.randbelow(1 << 24) + 1
        environment["METATE_TEST_SEED"] = str(values["seed"])
        print(f"seed {values['seed']}: scripts/test --long --seed {values['seed']} STEP repeats a step", flush=True)
    start = time.monotonic()
    results = Schedule(steps, environment, values).run()
    passed, failed, skipped = (sum(getattr(r, of) for r in results.values()) for of in ("passed", "failed", "skipped"))
    cpu, budget = sum(r.cpu for r in results.values()), sum(step.budget for step in steps)
    print(f"{len(results)} steps, {time.monotonic() - start:.0f} s, {cpu:.0f} of {budget} CPU s", flush=True)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
