"""Many random kernels: processes that generate and check, one that counts, reduces and reports.

`scripts/fuzz-kernels` calls `main`. A checking process may die of what it runs: the kernels of its batch
are then tried one by one.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

from . import coverage
from .case import Case
from .generate import QUANTISED, SORTED, generate

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH = 20
_STRIDE = 1_000_003  # between the kernels of two seeds
_SILENT = 300.0  # seconds of work without a word from a checking process: far more than a batch takes
_LEAST_FOR_COVERAGE = 400  # kernels; fewer cannot reach every cell


def main(arguments=None) -> int:
    options = _parsed(arguments)
    if options.child is not None:
        return _check(options)
    return Run(options).go()


def _parsed(arguments):
    parser = argparse.ArgumentParser(
        prog="scripts/fuzz-kernels",
        description="Random kernels, run in every way there is, must agree; a case that does not is reduced and saved as a test.",
    )
    parser.add_argument("--count", type=int, default=1000, help="how many kernels (default 1000)")
    parser.add_argument(
        "--seed", type=int, default=None, help="repeats a run with the same --jobs; default: a fresh one, printed"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--time", type=float, default=None, metavar="SECONDS", help="stop after that time")
    parser.add_argument(
        "--variants",
        default="rotate",
        help="all, rotate (each batch some of them), or names separated by commas (default rotate)",
    )
    parser.add_argument(
        "--sorted",
        type=float,
        default=SORTED,
        metavar="SHARE",
        help=f"of trees with slots, those whose slots are put in order before and after launches (default {SORTED})",
    )
    parser.add_argument(
        "--quantised",
        type=float,
        default=QUANTISED,
        metavar="SHARE",
        help=f"of kernels, those that are about quantised members (default {QUANTISED})",
    )
    parser.add_argument(
        "--save", type=pathlib.Path, default=ROOT / "tests" / "differential" / "regressions", help="where failures go"
    )
    parser.add_argument("--reduce", type=float, default=60.0, metavar="SECONDS", help="for reducing one failure (default 60)")
    parser.add_argument("--coverage", type=pathlib.Path, default=None, metavar="FILE", help="write the coverage matrix there")
    parser.add_argument("--replay", type=pathlib.Path, default=None, metavar="FILE", help="run one saved case in all variants")
    parser.add_argument("--child", type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.count < 1 or options.jobs < 1:
        parser.error("--count and --jobs: expected at least 1")
    if options.seed is None:
        options.seed = int.from_bytes(os.urandom(3), "little")
    return options


# -- the checking process ---------------------------------------------------------------------------------


def make_session(variants: str, only=None):
    """A Session for what --variants says; `only`: names of variants, for a reducer."""
    from .run import VARIANTS, Session

    if only is not None:
        return Session([v for v in VARIANTS if v.name in only and not v.checks] or VARIANTS[:1])
    if variants in ("all", "rotate"):
        return Session(rotates=variants == "rotate")
    names = [name.strip() for name in variants.split(",")]
    unknown = set(names) - {v.name for v in VARIANTS}
    if unknown:
        sys.exit(f"--variants: expected names of {', '.join(v.name for v in VARIANTS)}, got {sorted(unknown)[0]!r}")
    return Session([v for v in VARIANTS if v.name in names])


def cases_of(seed: int, child: int, jobs: int, count: int, sorted_share: float = SORTED, quantised_share: float = QUANTISED):
    """The batches of one checking process; each case depends on the seed and the ones before it."""
    wanted = coverage.Wanted(child, jobs)
    batch = []
    for k in range(child, count, jobs):
        case = generate(seed * _STRIDE + k, f"k{k}", wanted, sorted_share, quantised_share)
        wanted.add(case)
        batch.append(case)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _say(**message):
    print(json.dumps(message), flush=True)


def _check(options) -> int:
    """Checks every batch after the first `skip`; says so on standard output, one JSON object a line."""
    seen = set()
    with make_session(options.variants) as session:
        o = options
        for number, batch in enumerate(cases_of(o.seed, o.child, o.jobs, o.count, o.sorted, o.quantised)):
            if number < options.skip:
                continue
            _say(begin=number, names=[case.name for case in batch])
            found = session.check(batch)
            for mismatch in found:
                path = reduced(mismatch, options.variants, options.save, options.reduce)
                _say(mismatch=str(mismatch), saved=str(path))
            failed = {mismatch.case.name for mismatch in found}
            cells = {tuple(cell) for case in batch if case.name not in failed for cell in case.covered} - seen
            seen |= cells
            _say(done=len(batch), cells=sorted(cells), ran=session.ran)
            session.ran = {}
    return 0


def reduced(mismatch, variants, folder, seconds) -> pathlib.Path:
    """Saves the case of a mismatch, and once more when it is reduced; returns the file."""
    from .reduce import Reducer, same_failure

    path = folder / f"{mismatch.case.name}_{mismatch.case.seed}.json"
    mismatch.case.save(path)  # what is left out while it is reduced may leave a kernel that does not end
    still_fails = same_failure(mismatch, lambda only: make_session(variants, only))
    Reducer(still_fails, seconds).reduce(mismatch.case).save(path)
    return path


class Watch:
    """Kills a process that says nothing while it works for a time: a kernel that does not end.

    Time is the process's own CPU time, so that one that waits for a core behind other work is not killed; one that waits for
    something else (threads that wait for each other) is killed after LONGEST times as long on the clock.
    """

    LONGEST = 20

    def __init__(self, process, seconds):
        self.process, self.seconds = process, seconds
        self.ended = threading.Event()
        self.wind()
        threading.Thread(target=self._look, daemon=True).start()

    def wind(self) -> None:
        self.heard = time.monotonic(), _cpu_seconds(self.process.pid)

    def stop(self) -> None:
        self.ended.set()

    def _look(self) -> None:
        while not self.ended.wait(self.seconds / 20):
            clock, cpu = self.heard
            worked, silent = _cpu_seconds(self.process.pid) - cpu, time.monotonic() - clock
            if worked > self.seconds or silent > self.LONGEST * self.seconds:
                self.process.kill()
                return


def _cpu_seconds(pid: int) -> float:
    """What all threads of a process have used; 0 when it has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# -- the one that counts ------------------------------------------------------------------------------------


class Run:
    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.done = self.mismatches = 0
        self.coverage = coverage.Coverage()
        self.ran: dict[str, int] = {}
        self.start = self.shown = time.monotonic()

    def go(self) -> int:
        if self.options.replay:
            return self._replay()
        print(f"seed {self.options.seed}, {self.options.count} kernels, {self.options.jobs} processes", flush=True)
        threads = [threading.Thread(target=self._child, args=(child,)) for child in range(self.options.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self._report()

    def _report(self) -> int:
        seconds = time.monotonic() - self.start
        print(f"\r{self._progress()}", flush=True)
        for name, count in self.ran.items():
            print(f"  {count:7d} {name}")
        print(f"coverage {self.coverage.share:.1%} of {len(self.coverage.expected)} cells: operation x type x level")
        if self.options.coverage:
            self.options.coverage.parent.mkdir(parents=True, exist_ok=True)
            coverage.write(self.options.coverage, self.coverage.text())
        print(f"{self.done} kernels, {self.mismatches} mismatches, {self.done / seconds:.1f} kernels/s")
        is_thin = self.done >= _LEAST_FOR_COVERAGE and self.coverage.share < coverage.REQUIRED
        if is_thin:
            print(f"coverage: expected {coverage.REQUIRED:.0%} of the cells, got {self.coverage.share:.1%}")
        return 1 if self.mismatches or is_thin or not self.done else 0

    def _progress(self) -> str:
        seconds = time.monotonic() - self.start
        return (
            f"{self.done} of {self.options.count} kernels, {self.mismatches} mismatches, "
            f"{self.done / max(seconds, 1e-9):.1f}/s, coverage {self.coverage.share:.1%}"
        )

    def _child(self, child: int) -> None:
        """Runs one checking process, and another from the next batch on when it dies."""
        skip = 0
        while skip is not None:
            skip = self._run_child(child, skip)

    def _run_child(self, child, skip):
        process = self._start("--child", str(child), "--skip", str(skip))
        begun = None
        watch = Watch(process, _SILENT + self.options.reduce)
        for line in process.stdout:
            watch.wind()
            begun = self._take(json.loads(line), begun, process)
        watch.stop()
        code = process.wait()
        if code == 0 or self._is_over() or begun is None:
            if code and begun is None and not self._is_over():
                with self.lock:
                    self.mismatches += 1
                print(f"\na checking process ended with {code} before its first batch", flush=True)
            return None
        number, names = begun
        print(f"\na checking process ended with {code} in {', '.join(names)}", flush=True)
        self._find_crash(child, number, code)
        return number + 1

    def _start(self, *more):
        o = self.options
        command = [sys.executable, "-m", "differential", "--count", str(o.count), "--seed", str(o.seed), "--jobs", str(o.jobs)]
        command += [
            "--variants",
            o.variants,
            "--sorted",
            str(o.sorted),
            "--quantised",
            str(o.quantised),
            "--save",
            str(o.save),
            "--reduce",
            str(o.reduce),
            *more,
        ]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
        )

    def _is_over(self) -> bool:
        return self.options.time is not None and time.monotonic() - self.start > self.options.time

    def _take(self, message, begun, process):
        with self.lock:
            if "begin" in message:
                return message["begin"], message["names"]
            if "mismatch" in message:
                self.mismatches += 1
                print(f"\n{message['mismatch']}\nreduced and saved: {message['saved']}", flush=True)
                return begun
            self.done += message["done"]
            self.coverage.counts.update(map(tuple, message["cells"]))
            for name, count in message["ran"].items():
                self.ran[name] = self.ran.get(name, 0) + count
            if sys.stdout.isatty():
                print(f"\r{self._progress()}", end="", flush=True)
            elif time.monotonic() > self.shown + 30:
                self.shown = time.monotonic()
                print(self._progress(), flush=True)
            if self._is_over():
                process.terminate()
        return None

    def _find_crash(self, child, number, code) -> None:
        """Which kernel of the batch ends its process? Each is run in one of its own and the culprit saved."""
        o = self.options
        for k, batch in enumerate(cases_of(o.seed, child, o.jobs, o.count, o.sorted, o.quantised)):
            if k != number:
                continue
            found = [case for case in batch if self._crashes(case)]
            with self.lock:
                self.mismatches += max(len(found), 1)
                self.done += len(batch)
            for case in found:
                path = o.save / f"{case.name}_{case.seed}.json"
                from .reduce import Reducer

                Reducer(self._crashes, o.reduce).reduce(case).save(path)
                print(f"{case.name} (seed {case.seed}) ends its process; reduced and saved: {path}", flush=True)
            if not found:
                print(f"none of its kernels alone ends a process; it ended with {code}", flush=True)
            return

    def _crashes(self, case) -> bool:
        path = ROOT / "out" / "differential" / f"crash-{os.getpid()}.json"
        case.save(path)
        process = self._start("--replay", str(path))
        watch = Watch(process, _SILENT)
        process.communicate()
        watch.stop()
        path.unlink()
        return process.returncode < 0

    def _replay(self) -> int:
        case = Case.load(self.options.replay)
        with make_session("all") as session:
            found = session.check([case])
        for mismatch in found:
            print(mismatch)
        print(f"1 kernels, {len(found)} mismatches")
        return 1 if found else 0
