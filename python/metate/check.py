"""`metate check`: runs a program in the reference interpreter and prints what it finds.

The program runs as __main__, as `python FILE.py` would run it, whatever it asks `init` and Context for.
What is looked for, and how, is the interpreter's; here are the program's run, the report and its exit status.
"""

from __future__ import annotations

import collections
import contextlib
import json
import linecache
import os
import pathlib
import sys
import threading
import time

from . import context as _context
from .program import run_program, wait_for_threads

DEFAULT_CHECKS = ("division", "nan", "conflict", "order", "quant-range")

# Exit statuses.
CLEAN, FOUND, FAILED = 0, 1, 2

_BOLD, _RED, _GREEN, _PLAIN = "\x1b[1m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[0m"


def chosen_checks(text: str) -> tuple[str, ...]:
    """The checks that a comma-separated list names; `bounds`, which is always on, may be among them.

    Raises ValueError.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in (*_context.CHECKS, "bounds"):
            raise ValueError(f"expected some of bounds, {', '.join(_context.CHECKS)}, separated by commas, got '{name}'")
    return tuple(dict.fromkeys(name for name in names if name != "bounds"))


def run(file: pathlib.Path, arguments=(), *, checks=DEFAULT_CHECKS, stage="import", as_json=False) -> int:
    """Runs a program under the interpreter and reports: findings to stderr, or as JSON to stdout.

    Args:
        file: the program.
        arguments: its own, sys.argv[1:].
        checks: names of context.CHECKS.
        stage: the stage after which kernels are interpreted.
        as_json: what the program prints goes to stderr then, so that stdout holds the document alone.
    Returns the exit status: CLEAN, FOUND, or FAILED where the program raised or ended with a status of its own.
    """
    options = {"arch": _context.interp, "interp_stage": stage, "checks": tuple(checks), "stop": False}
    options |= {"debug": False, "sanitizer": None}  # they would end a launch at what is to be found
    options |= {"asserts": True}
    with _stdout_elsewhere() if as_json else contextlib.nullcontext(), _context.impose(**options) as imposed:
        start = time.perf_counter()
        with _progress(file, start):
            others = set(threading.enumerate())
            failure = run_program(file, arguments)
            wait_for_threads(others)
        findings = imposed.take_findings()
        seconds = time.perf_counter() - start
    if as_json:
        print(json.dumps(_document(file, checks, stage, failure, findings), indent=2))
    else:
        _print_report(findings, failure, imposed.kernel_count(), checks, seconds)
    return FAILED if failure else FOUND if findings else CLEAN


# -- what is shown ------------------------------------------------------------


def _print_report(findings, failure, kernels, checks, seconds) -> None:
    out, colour = sys.stderr, _wants_colour(sys.stderr)

    def paint(code, text):
        return f"{code}{text}{_PLAIN}" if colour else text

    for finding in findings:
        place = ":".join(str(part) for part in (_shown_path(finding.file), finding.line, finding.column) if part)
        print(f"{paint(_BOLD, place + ':')} {paint(_RED, finding.kind + ':')} {finding.message}", file=out)
        source = linecache.getline(finding.file, finding.line).rstrip("\n")
        if source.strip():
            text = source.lstrip()
            column = finding.column - 1 - (len(source) - len(text))
            print(f"    {text}", file=out)
            if column >= 0:
                print("    " + " " * column + paint(_GREEN, "^"), file=out)
        where = f", iteration {finding.iteration}" if finding.iteration else ""
        often = "" if finding.count == 1 else f", {finding.count} times: this is the first"
        print(f"    in kernel '{finding.kernel}'{where}{often}", file=out)
        for caller in finding.callers:
            print(f"    called from {_shown_path(caller)}", file=out)
    until = f"{failure}; until then " if failure else ""
    print(f"metate check: {until}{_summary(findings, kernels, checks, seconds)}", file=out)


def _summary(findings, kernels, checks, seconds) -> str:
    if not kernels:
        return "no kernel was called, so nothing was checked"
    counts = collections.Counter(finding.kind for finding in findings)
    found = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    ran = f"{_count(kernels, 'kernel')} in {seconds:.1f} s"
    looked = ", ".join(("bounds", *checks))
    return f"{_count(len(findings), 'finding')}: {found}; {ran}" if findings else f"no findings; {ran}; looked for {looked}"


def _count(number, what) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _document(file, checks, stage, failure, findings) -> dict:
    keys = ("kind", "file", "line", "column", "kernel", "iteration", "callers", "message", "count")
    return {
        "program": str(file),
        "checks": ["bounds", *checks],
        "stage": stage,
        "failure": failure,
        "findings": [{key: getattr(finding, key) for key in keys} for finding in findings],
    }


def _shown_path(file: str) -> str:
    """Relative where that is shorter, as compilers show what they were given."""
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return min(relative, file, key=len)


def _wants_colour(stream) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


# -- while it runs ------------------------------------------------------------


@contextlib.contextmanager
def _stdout_elsewhere():
    """What is written to stdout goes to stderr, also by other languages and processes."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


@contextlib.contextmanager
def _progress(file, start, every=1.0):
    """A line on a terminal, from the second second on: how long, and where the program is."""
    if not sys.stderr.isatty():
        yield
        return
    done, main, shown = threading.Event(), threading.get_ident(), []

    def show():
        while not done.wait(every):
            frame = sys._current_frames().get(main)
            while frame is not None and frame.f_code.co_filename != str(file):
                frame = frame.f_back
            at = f", at {file}:{frame.f_lineno}" if frame is not None else ""
            shown.append(True)
            sys.stderr.write(f"\r\x1b[Kmetate check: {time.perf_counter() - start:.0f} s{at}")
            sys.stderr.flush()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
