"""A graph's kernels called one by one, for who sees each call: tapes and forward modes (metate.ad)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .argument_packs import ArgPackType
from .frontend.graph_parts import Repeat, Run, Taken


def calls_of(steps, values: dict[str, Any]) -> Iterator[tuple[Any, tuple]]:
    """(kernel, arguments) of each run of the steps; values: of the graph's parameters, of packs by their members' paths."""
    for step in steps:
        if isinstance(step, Repeat):
            count = values[step.count.name] if isinstance(step.count, Taken) else step.count
            for _ in range(count):
                yield from calls_of(step.steps, values)
        else:
            yield step.kernel, _arguments(step, values)


def _arguments(run: Run, values):
    given = {name: values[one.name] if isinstance(one, Taken) else one.value for name, one in run.given.items()}
    packs = run.source.packs
    return tuple(_pack(name, packs[name], given) if name in packs else given[name] for name in run.source.declared)


def _pack(path, type_, given):
    parts = {}
    for name, member in type_.members.items():
        part = f"{path}.{name}"
        parts[name] = _pack(part, member, given) if isinstance(member, ArgPackType) else given[part]
    return type_(parts)
