"""Checks the models of the tree protocol exhaustively with spin, and that each deliberate fault is found.

The first comment of each *.pml here lists its runs, one a line:

  check NAME | flags          no assertion fails and no state is stuck, in all states
  ends  NAME | flags          the same, and no run goes round for ever
  fault NAME | flags | text   an assertion whose text holds `text` fails

Flags are those of the C preprocessor. The search is exact: no hashing, no bounds that are reached; a search
that was cut short counts as a failure. A line of a model that none of its check runs reaches is a failure too,
unless the line says `never`. Needs `spin` and a C compiler.

Usage: tests/model/run.py [--junit FILE] [--trail] [-j JOBS] [WORD...]   runs whose line (model, kind, name) has all words
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

HERE = pathlib.Path(__file__).resolve().parent
DEPTH = 20_000  # steps; a longer path counts as a search cut short
MEGABYTES = 4000
SECONDS = 300
LINE = re.compile(r"^ \* (check|ends|fault) +([^|]+?) *\| *([^|]*?) *(?:\| *(.+?) *)?$")


@dataclasses.dataclass(frozen=True)
class Run:
    model: pathlib.Path
    kind: str  # check, ends, fault
    name: str
    flags: tuple[str, ...]
    text: str  # of the assertion that a fault violates


@dataclasses.dataclass
class Result:
    run: Run
    wrong: str  # empty: as it should be
    states: int = 0
    depth: int = 0
    seconds: float = 0.0
    unreached: frozenset[int] = frozenset()


def runs_of(model: pathlib.Path) -> list[Run]:
    found = []
    for line in model.read_text().partition("*/")[0].splitlines():
        if match := LINE.match(line):
            kind, name, flags, text = match.groups()
            if (kind == "fault") != bool(text):
                sys.exit(f"{model}: a fault names the assertion that it violates, and nothing else does: {line!r}")
            found.append(Run(model, kind, name, tuple(flags.split()), text or ""))
    if not found:
        sys.exit(f"{model}: its first comment lists no runs")
    return found


def output_of(command: list[str], folder: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    # spin and pan say what is wrong in words; their exit codes differ between versions.
    return done.stdout


def check(run: Run, trail: bool) -> Result:
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="metate-model-") as folder:
        shutil.copy(run.model, folder)
        said = output_of(["spin", "-a", *run.flags, run.model.name], folder)
        if not os.path.exists(f"{folder}/pan.c") or "rror" in said:
            return Result(run, f"spin: {said}")
        mode = "-DNP" if run.kind == "ends" else "-DSAFETY"
        compiler = os.environ.get("CC", "cc")
        said = output_of(
            [compiler, "-O0" if run.kind == "fault" else "-O1", "-w", mode, f"-DMEMLIM={MEGABYTES}", "-o", "pan", "pan.c"], folder
        )
        if not os.path.exists(f"{folder}/pan"):
            return Result(run, f"{compiler}: {said}")
        said = output_of(["./pan", f"-m{DEPTH}", "-w20", *(["-l"] if run.kind == "ends" else [])], folder)
        result = judge(run, said)
        if trail and os.path.exists(f"{folder}/{run.model.name}.trail"):
            print(output_of(["spin", "-t", "-p", "-g", "-l", *run.flags, run.model.name], folder))
    result.seconds = time.monotonic() - start
    return result


def bare(text: str) -> str:
    """An expression without what spin changes when it prints it."""
    return re.sub(r"[\s()]", "", text)


def judge(run: Run, said: str) -> Result:
    """What pan's words mean for this run."""
    result = Result(run, "")
    summary = re.search(r"depth reached (\d+), .*errors: (\d+)", said)
    states = re.search(r"^ *(\S+) states, stored", said, re.MULTILINE)
    if summary is None or states is None:
        result.wrong = f"pan: {said}"
        return result
    result.depth, result.states = int(summary[1]), int(float(states[1]))
    error = re.search(r"^pan:\d+: (.*) \(at depth", said, re.MULTILINE)
    cut = re.search(r"Search not completed|max search depth too small|reached -DMEMLIM|out of memory|truncated", said)
    if run.kind == "fault":
        if error is None:
            result.wrong = "the fault is not found" + (f": {cut[0]}" if cut else "")
        elif "assertion violated" not in error[1] or bare(run.text) not in bare(error[1]):
            result.wrong = f"found by another way than expected: {error[1]}"
        return result
    if error is not None or summary[2] != "0":
        result.wrong = error[1] if error else said
    elif cut:
        result.wrong = f"not exhaustive: {cut[0]}"
    result.unreached = frozenset(int(line) for line in re.findall(r"pml:(\d+), state", said))
    return result


def never_reached(model: pathlib.Path, results: list[Result]) -> str:
    """The lines of a model that none of its check runs reaches."""
    sets = [result.unreached for result in results if result.run.model == model and result.run.kind == "check"]
    if not sets:
        return ""
    lines = model.read_text().splitlines()
    missing = [number for number in sorted(frozenset.intersection(*sets)) if "never" not in lines[number - 1]]
    return "\n".join(f"{model.name}:{number}: no check run reaches: {lines[number - 1].strip()}" for number in missing)


def write_junit(path: str, cases: list[tuple[str, str, float, str]]) -> None:
    suite = ElementTree.Element("testsuite", name="model", tests=str(len(cases)))
    for model, name, seconds, wrong in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=model, name=name, time=f"{seconds:.3f}")
        if wrong:
            ElementTree.SubElement(case, "failure", message=wrong.splitlines()[0]).text = wrong
    ElementTree.ElementTree(suite).write(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--junit", metavar="FILE")
    parser.add_argument("--trail", action="store_true", help="print the steps that lead to each error found")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    if shutil.which("spin") is None:
        sys.exit("tests/model: spin is missing; scripts/setup installs it")
    models = sorted(HERE.glob("*.pml"))
    runs = [run for model in models for run in runs_of(model)]
    wanted = [run for run in runs if all(word in f"{run.model.stem} {run.kind} {run.name}" for word in arguments.words)]
    cases = []
    results = []
    start = time.monotonic()
    print(f"{'model':<16}{'run':<48}{'states':>10}{'depth':>8}{'s':>7}")
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        for result in pool.map(lambda run: check(run, arguments.trail), wanted):
            run = result.run
            name = f"{run.kind} {run.name}"
            verdict = result.wrong or ("found" if run.kind == "fault" else "")
            print(
                f"{run.model.stem:<16}{name:<48}{result.states:>10}{result.depth:>8}{result.seconds:>7.1f}  {verdict}", flush=True
            )
            results.append(result)
            cases.append((run.model.stem, name, result.seconds, result.wrong))
    for model in models:
        if not arguments.words:
            wrong = never_reached(model, results)
            if wrong:
                print(wrong)
            cases.append((model.stem, "every line is reached", 0.0, wrong))
    if arguments.junit:
        write_junit(arguments.junit, cases)
    failed = sum(1 for case in cases if case[3])
    total = sum(result.states for result in results)
    print(f"{len(cases) - failed} as expected, {failed} not; {total} states in {time.monotonic() - start:.1f} s")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
