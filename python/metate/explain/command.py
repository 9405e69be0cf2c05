"""The command `metate explain`: compiles or runs a program with reports, and writes the page."""

from __future__ import annotations

import pathlib
import sys
import threading
from typing import Any

from .. import compile_options
from .. import context as _context
from ..errors import CompilationError, MetateError
from ..graph import Graph
from ..kernel import Kernel
from ..program import run_program, wait_for_threads
from ..report import Report
from .page import page_of

# Exit statuses.
WRITTEN, NOTHING, FAILED = 0, 1, 2


def run(
    file: pathlib.Path, arguments=(), *, output: pathlib.Path | None = None, kernels=(), timed=False, target=None
) -> int:  # fmt: skip
    """Writes the page of a program; what was done goes to stderr.

    Args:
        file: the program.
        arguments: its own, sys.argv[1:].
        output: the page's file; None: the program's name with `.html`, in the current folder.
        kernels: names of kernels to show; none: all.
        timed: run the program as `python FILE.py` would, with times; False: run it as an imported module, and compile what it
            has not called where annotations say enough.
        target: what code is shown for; None: this machine. Where `timed`, one that this machine runs.
    Returns the exit status: WRITTEN, NOTHING where there is nothing to show, FAILED where the program failed or a kernel did
    not compile. What was compiled until then is shown all the same.
    """
    name = "__main__" if timed else _module_name(file)
    chosen: dict[str, Any] = {"reports": target or True}
    if timed and target:
        chosen = {"reports": True, "cpu": target}
    with _context.impose(profile=timed, arch="cpu", offline_cache=False, **chosen) as imposed:
        others = set(threading.enumerate())
        failure = run_program(file, arguments, name)
        wait_for_threads(others)
        if not timed and not failure:
            failure = _compile_rest(sys.modules[name], imposed)
        reports = _reports_of(imposed, kernels)
        profiles = [one.device.profile for one in imposed.holdings if one.device is not None] if timed else []
    if not reports or not {one.kernel for one in reports} >= set(kernels):
        print(f"metate explain: {_nothing(file, failure, imposed, kernels, timed)}", file=sys.stderr)
        return FAILED if failure else NOTHING
    times, limits = _times(profiles, reports) if timed else ([], None)
    page = output or pathlib.Path(file.stem + ".html")
    page.write_text(page_of(file.name, reports, times, limits, failure or ""), encoding="utf-8")
    print(f"metate explain: {_summary(reports)}; the page is {page}", file=sys.stderr)
    if failure:
        print(f"metate explain: {failure}; the page shows what was compiled before", file=sys.stderr)
    return FAILED if failure else WRITTEN


def problem_of(target: str, timed: bool) -> str | None:
    """Why there is no code for the target, or none that this machine runs where that is asked for; None: there is."""
    from metate_native import _compiler

    choices, nothing = compile_options.choices(_context.current().options, [target]), _compiler.SourceModule("none")
    try:
        if timed:
            _compiler.Jit(_compiler.PerfOutput["none"]).compile(nothing, choices)
        else:
            _compiler.explain(nothing, choices, _compiler.Report())
    except _compiler.CompileError as error:
        return str(error)
    return None


def _module_name(file):
    """Not that of a module that is there: types.py must not replace types."""
    return file.stem if file.stem.isidentifier() and file.stem not in sys.modules else f"metate_file_{file.stem}"


def _compile_rest(module, imposed) -> str | None:
    """Compiles the kernels of a module that were not called, where their annotations say all; what did not compile."""
    known = {id(kernel) for holdings in imposed.holdings for kernel, _ in holdings.reports}
    for value in list(vars(module).values()):
        kernel = value.kernel if isinstance(value, Graph) else value
        if not isinstance(kernel, Kernel) or id(kernel) in known or kernel.needs_specialising or not _is_typed(value):
            continue
        known.add(id(kernel))
        try:
            _context.current().holdings.reports.append((kernel, kernel.report().compilation))
        except CompilationError as error:
            print(error, file=sys.stderr)
            return f"kernel '{kernel.__name__}' does not compile"
    return None


def _is_typed(value) -> bool:
    from ..frontend.specialize import is_fully_typed

    if isinstance(value, Graph):
        return value.kernel.is_fully_typed
    try:
        return is_fully_typed(value.source)
    except MetateError:  # annotations that are wrong: compiling says so
        return True


def _reports_of(imposed, kernels) -> list[Report]:
    """In the order in which they were compiled; an instance that several contexts have, once."""
    found: dict[tuple, Report] = {}
    for holdings in imposed.holdings:
        for kernel, compilation in holdings.reports:
            if not kernels or kernel.__name__ in kernels:
                found.setdefault((compilation.file, compilation.first_line, compilation.signature), Report(compilation))
    return list(found.values())


def _times(profiles, reports):
    from .limits import measured
    from .times import task_times

    print("metate explain: measures what this machine can do", file=sys.stderr)
    limits = measured()
    return [one for profile in profiles for one in task_times(profile, reports, limits)], limits


def _nothing(file, failure, imposed, kernels, timed) -> str:
    if failure:
        return f"{failure}, before {'these kernels were' if kernels else 'a kernel was'} compiled"
    had = sorted({kernel.__name__ for holdings in imposed.holdings for kernel, _ in holdings.reports})
    if kernels and had:
        missing = next(name for name in kernels if name not in had)
        return f"--kernel: {file} compiled no kernel '{missing}'; it compiled {', '.join(had)}"
    if timed:
        return f"{file}: no kernel was called, so there is nothing to explain"
    return (
        f"{file}: expected a kernel that the program calls or whose annotations say all, got none; "
        "with --run the program runs as `python FILE.py` would run it"
    )


def _summary(reports) -> str:
    loops = [loop for one in reports for loop in one.loops if loop.kind == "parallel loop"]
    vectors = sum(loop.vector_width > 0 for loop in loops)
    count = lambda number, what: f"{number} {what}" + ("" if number == 1 else "s")
    return f"{count(len(reports), 'kernel')}, {count(len(loops), 'parallel loop')}, {vectors} as vectors"
