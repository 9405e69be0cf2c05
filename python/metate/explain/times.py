"""Times of tasks beside what the machine can do at best: what `metate explain --run` shows of a program's run."""

from __future__ import annotations

from dataclasses import dataclass

from ..report import Loop, Report
from .limits import Limits

_WHOLE = -1  # instead of a task's number: launches


@dataclass(frozen=True)
class TaskTime:
    """Runs of one task.

    Attributes:
        kernel, line: whose it is, and the line of its loop; 0: not known.
        count: how often it ran.
        total_ms, least_ms: milliseconds of all runs, and of the shortest.
        bytes, operations: what all runs had to move and to compute, at least; None: not known.
        bound: "memory" or "arithmetic", whichever takes longer at best; "": not known.
        share: the time at best in the time that it took, 0 to 1 and more; None: not known. More than 1: the caches held it.
    """

    kernel: str
    line: int
    count: int
    total_ms: float
    least_ms: float
    bytes: int | None
    operations: int | None
    bound: str
    share: float | None


def task_times(profile, reports: list[Report], limits: Limits) -> list[TaskTime]:
    """What a device's profile tells of tasks, the longest first.

    Args:
        profile: a device's (`_runtime.Device.profile`).
        reports: of the kernels that ran.
    """
    totals = profile.totals()
    iterations: dict[tuple[str, int], int] = {}
    for name, task, _, size, *_ in profile.events():
        if task != _WHOLE:
            iterations[name, task] = iterations.get((name, task), 0) + size
    launched = {name: size for name, task, _, _, _, _, _, size in totals if task == _WHOLE}
    found = []
    for name, task, line, count, total, least, _, _ in totals:
        if task == _WHOLE:
            continue
        # The compiler's own statements before and after a loop have its line.
        is_longest = total == max(row[4] for row in totals if (row[0], row[2]) == (name, line) and row[1] != _WHOLE)
        loop = _loop_of(reports, name, line) if is_longest else None
        alone = sum(row[0] == name and row[1] != _WHOLE and _is_parallel(reports, name, row[2]) for row in totals) == 1
        work = _work(loop, iterations.get((name, task), 0), launched.get(name, 0) if alone else 0)
        found.append(TaskTime(name, line, count, total / 1e6, least / 1e6, *work, *_bound(*work, total / 1e9, limits)))
    return sorted(found, key=lambda one: -one.total_ms)


def _is_parallel(reports, name, line):
    loop = _loop_of(reports, name, line)
    return loop is not None and loop.kind == "parallel loop"


def _loop_of(reports, name, line) -> Loop | None:
    return next((loop for one in reports if one.kernel == name for loop in one.loops if loop.line == line), None)


def _work(loop, iterations, launched):
    """(bytes, operations) of all runs, None where not known. launched: bytes of the arguments, of a kernel's only loop."""
    numbers = loop.of("work")[0].numbers if loop is not None and loop.of("work") else {}
    inner = iterations * numbers.get("cells", 0) * numbers.get("row", 0)
    moved = inner * (numbers.get("read", 0) + numbers.get("written", 0)) or launched
    computed = 0 if numbers.get("open") else inner * numbers.get("operations", 0)
    return moved or None, computed or None


def _bound(moved, computed, seconds, limits):
    best = {"memory": (moved or 0) / limits.bandwidth, "arithmetic": (computed or 0) / limits.operations}
    name = max(best, key=lambda one: best[one])
    return (name, best[name] / seconds) if best[name] and seconds else ("", None)
