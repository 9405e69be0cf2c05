"""`mt.profiler`: what kernels and their tasks took, in the current context.

    mt.init(kernel_profiler=True)
    ...
    mt.profiler.print_kernel_profiler_info()
    mt.profiler.save_trace("frames.json")     # for ui.perfetto.dev or chrome://tracing

A context with ``profile=True`` (`kernel_profiler=True` of mt.init) times its launches: libmetate tells, the device keeps totals
and the latest events. Without it nothing is compiled in, and a launch asks only whether somebody listens.
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from dataclasses import dataclass
from typing import Any

from . import context as _context
from . import runtime as _runtime
from .errors import RuntimeTypeError_, RuntimeValueError_

_WHOLE = -1  # instead of a task's number: a launch


@dataclass(frozen=True)
class KernelProfile:
    """Launches of a kernel, or runs of one of its tasks.

    Attributes:
        name: the kernel's.
        task: the task's number in the kernel; None: whole launches.
        line: where the kernel, the task's loop or its first statement stands; 0: not known.
        counter: how many.
        total, min, max, avg: milliseconds.
        bytes: of the arguments' memory, together: each array, and each dense field's tree, once if the kernel reads it, once if
            it writes it; 0 where none is known, and of tasks.
    """

    name: str
    task: int | None
    line: int
    counter: int
    total: float
    min: float
    max: float
    bytes: int

    @property
    def avg(self) -> float:
        """Milliseconds of one."""
        return self.total / self.counter if self.counter else 0.0


def _listening():
    """The profile of the current context; None, with a warning, if it has none."""
    context = _context.current()
    if not context.options.profile:
        warnings.warn(
            "profiler: this context is not profiled: mt.init(kernel_profiler=True), or mt.Context(profile=True)", stacklevel=3
        )
        return None
    return _runtime.device(context).profile


def kernel_profiles() -> list[KernelProfile]:
    """What the current context's kernels took: each kernel's launches, then its tasks, in the order of their first run."""
    profile = _listening()
    return [] if profile is None else _profiles(profile)


def _profiles(profile):
    made = [
        KernelProfile(name, None if task == _WHOLE else task, line, count, total / 1e6, least / 1e6, most / 1e6, size)
        for name, task, line, count, total, least, most, size in profile.totals()
    ]
    names = list(dict.fromkeys(one.name for one in made))
    return sorted(made, key=lambda one: (names.index(one.name), -1 if one.task is None else one.task))


def print_kernel_profiler_info(mode: str = "count") -> None:
    """Prints what kernels and tasks took.

    Args:
        mode: "count": a line for each kernel and task, with its share of the time, number, least, mean and greatest time, and
            bytes a second where the bytes are known; "trace": a line for each launch, the latest last.
    Raises RuntimeValueError_ for another mode.
    """
    if mode not in ("count", "trace"):
        raise RuntimeValueError_(f"print_kernel_profiler_info: mode: expected 'count' or 'trace', got {mode!r}")
    profile = _listening()
    if profile is not None:
        print("\n".join(_table(_profiles(profile)) if mode == "count" else _trace_table(profile.events())))


def _table(profiles):
    whole = sum(one.total for one in profiles if one.task is None)
    lines = [f"{'%':>6} {'total ms':>11} {'count':>8} {'min':>10} {'avg':>10} {'max':>10} {'GB/s':>7}  kernel"]
    for one in profiles:
        share = 100 * one.total / whole if whole else 0.0
        speed = f"{one.bytes / one.total / 1e6:7.1f}" if one.bytes and one.total else " " * 7
        where = f":{one.line}" if one.line else ""
        name = f"{one.name}{where}" if one.task is None else f"  task {one.task}{where}"
        lines.append(
            f"{share:6.2f} {one.total:11.3f} {one.counter:8} {one.min:10.4f} {one.avg:10.4f} {one.max:10.4f} {speed}  {name}"
        )
    return lines


def _trace_table(events):
    launches = [event for event in events if event[1] == _WHOLE]
    start = launches[0][4] if launches else 0
    lines = [f"{'at ms':>12} {'took ms':>11}  kernel"]
    return lines + [f"{(e[4] - start) / 1e6:12.3f} {(e[5] - e[4]) / 1e6:11.4f}  {e[0]}" for e in launches]


def query_kernel_profiler_info(name: str) -> KernelProfile:
    """The launches of the kernel of that name; all zero if there were none."""
    if not isinstance(name, str):
        raise RuntimeTypeError_(f"query_kernel_profiler_info: expected a kernel's name, got {name!r}")
    found = [one for one in kernel_profiles() if one.name == name and one.task is None]
    return found[0] if found else KernelProfile(name, None, 0, 0, 0.0, 0.0, 0.0, 0)


def clear_kernel_profiler_info() -> None:
    """Forgets everything so far."""
    profile = _listening()
    if profile is not None:
        profile.clear()


def get_kernel_profiler_total_time() -> float:
    """Seconds of all launches together."""
    return sum(one.total for one in kernel_profiles() if one.task is None) / 1e3


def set_kernel_profiler_toolkit(toolkit: str = "default") -> bool:
    """Whether the profiler by that name is in use: "default" is; "cupti", of NVIDIA's GPUs, is not there."""
    if toolkit == "default":
        return True
    warnings.warn(f"set_kernel_profiler_toolkit: expected 'default', got {toolkit!r}: kernels run on the CPU", stacklevel=2)
    return False


def set_kernel_profiler_metrics(metrics: Any = None) -> None:
    """Of Taichi's CUPTI: a GPU's counters. Raises RuntimeValueError_ if any are asked for."""
    if metrics:
        raise RuntimeValueError_(
            "set_kernel_profiler_metrics: there are no GPU's counters on the CPU: perf knows the CPU's (perf_map)"
        )


collect_kernel_profiler_metrics = set_kernel_profiler_metrics


def get_predefined_cupti_metrics(name: str = "") -> list:
    """Of Taichi's CUPTI: no metrics on the CPU."""
    return []


def print_scoped_profiler_info() -> None:
    """Prints what compiling took in the current context: for each instance of a kernel the front end and the rest, in ms."""
    lines = [f"{'front end ms':>13} {'passes, code ms':>16}  kernel"]
    lines += [f"{front:13.1f} {rest:16.1f}  {name}" for name, _, front, rest in _context.current().holdings.compilations]
    print("\n".join(lines))


def clear_scoped_profiler_info() -> None:
    """Forgets what compiling took so far."""
    _context.current().holdings.compilations.clear()


def print_memory_profiler_info() -> None:
    """Prints the memory of the current context's fields: bytes of each tree, and slots of its levels in use."""
    trees = sorted(_context.current().holdings.field_memory, key=lambda tree: (-tree.bytes, str(tree.type)))
    lines = [f"{'bytes':>14}  members"]
    for tree in trees:
        lines.append(f"{tree.bytes:14}  {', '.join(tree.type.members)}")
        lines += [f"{'':14}    {name}: {one.used} of {one.capacity} slots" for name, one in tree.stats().items()]
    print("\n".join([*lines, f"{sum(tree.bytes for tree in trees):14}  in all"]))


def save_trace(path: str | os.PathLike[str]) -> None:
    """Writes the latest launches, their tasks, and what was compiled as a JSON file of Chrome's trace events.

    ui.perfetto.dev and chrome://tracing open it. Raises OSError; RuntimeValueError_ where the context is not profiled.
    """
    context = _context.current()
    if not context.options.profile:
        raise RuntimeValueError_("save_trace: expected a context that is profiled: mt.init(kernel_profiler=True)")
    profile = _runtime.device(context).profile
    events = [_event(*event) for event in profile.events()]
    thread = threading.get_native_id()
    for name, begin, front, rest in context.holdings.compilations:
        events.append(_complete(f"compile {name}", "compile", begin * 1e6, (front + rest) * 1e3, thread, {"front end ms": front}))
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"forgotten": profile.forgotten}}, file)


def _event(name, task, line, size, begin, end, thread):
    if task == _WHOLE:
        return _complete(name, "launch", begin / 1e3, (end - begin) / 1e3, thread, {"bytes": size, "line": line})
    label = f"{name} task {task}" + (f" (line {line})" if line else "")
    return _complete(label, "task", begin / 1e3, (end - begin) / 1e3, thread, {"iterations": size, "line": line})


def _complete(name, kind, start, duration, thread, arguments):
    return {
        "name": name, "cat": kind, "ph": "X", "ts": start, "dur": duration, "pid": os.getpid(), "tid": thread, "args": arguments,
    }  # fmt: skip
