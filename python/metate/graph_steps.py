"""What a graph runs, as it is drawn: kernels with their arguments checked, loops, and repetitions that are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .derivative import Derivative
from .errors import RuntimeTypeError_, RuntimeValueError_
from .frontend.graph_parts import Repeat, Run, Taken
from .graph_match import Matcher, Parameter
from .kernel import Kernel

_LONGEST = 32  # runs that are looked for as a turn of a loop
_LEAST = 4  # turns that are worth a loop


@dataclass(frozen=True)
class Appended:
    """Another sequence's steps, several times."""

    sequence: Any
    count: int | Taken


Step = Run | Appended


class Plan:
    """The arguments of one graph while it is drawn.

    Args:
        arg, sequential: the classes Arg and Sequential.
    """

    def __init__(self, arg, sequential):
        self._arg, self._sequential = arg, sequential
        self._matcher = Matcher(arg)

    def dispatched(self, kernel, arguments, keywords, place) -> Run:
        """A kernel with arguments that fit it."""
        if isinstance(getattr(kernel, "__func__", None), Kernel):
            kernel, arguments = kernel.__func__, (kernel.__self__, *arguments)
        if not isinstance(kernel, Kernel):
            raise RuntimeTypeError_(f"dispatch: expected a kernel, got {kernel!r}; decorate the function with @mt.kernel")
        if isinstance(kernel, Derivative):
            raise RuntimeTypeError_(f"dispatch: derivatives cannot be dispatched yet, got {kernel!r}; call it after the graph")
        given = self._matcher.match(kernel.source, kernel.signature(), arguments, keywords, place)
        return Run(kernel.source, tuple(kernel.own_options.items()), given, place, kernel)

    def appended(self, to, node, count) -> Appended:
        """A sequence that is run `count` times."""
        if not isinstance(node, self._sequential) or node._plan is not self:
            raise RuntimeTypeError_(f"append: expected what create_sequential of this builder made, got {node!r}")
        if node is to or _contains(node, to):
            raise RuntimeValueError_("append: expected another sequence, got one that contains this one")
        if isinstance(count, self._arg):
            return Appended(node, self._matcher.count(count))
        if isinstance(count, bool) or not hasattr(count, "__index__"):
            raise RuntimeTypeError_(f"append: count: expected an integer or an Arg, got {count!r}")
        return Appended(node, max(count.__index__(), 0))

    def used(self, steps) -> dict[str, Parameter]:
        """What stands behind each name that the steps use: arguments in the order of first use, then what is bound."""
        found = {name: self._matcher.parameters[name] for name in dict.fromkeys(_names_in(steps))}
        return dict(sorted(found.items(), key=lambda item: item[1].is_bound))


def _contains(node, other) -> bool:
    inner = [step.sequence for step in node._steps if isinstance(step, Appended)]
    return any(one is other or _contains(one, other) for one in inner)


def _names_in(steps):
    for step in steps:
        if isinstance(step, Run):
            yield from (given.argument for given in step.given.values() if isinstance(given, Taken))
        else:
            yield from _names_in(step.steps)
            if isinstance(step.count, Taken):
                yield step.count.argument


def placed(steps) -> tuple[Run | Repeat, ...]:
    """Runs and loops: what is appended stands in place, what comes several times in a row is a loop."""
    found = []
    for step in steps:
        if isinstance(step, Run):
            found.append(step)
            continue
        inner = placed(step.sequence._steps)
        if step.count == 1:
            found += inner
        elif inner and step.count != 0:
            found.append(Repeat(inner, step.count))
    return _folded(found)


def _key(step):
    return step.key if isinstance(step, Run) else (tuple(map(_key, step.steps)), step.count)


def _folded(steps) -> tuple[Run | Repeat, ...]:
    """The steps with loops where a few come again and again: programs append a substep as often as it is to run."""
    numbers: dict[Any, int] = {}
    keys = [numbers.setdefault(_key(step), len(numbers)) for step in steps]
    found, at = [], 0
    while at < len(steps):
        length, turns = max(
            ((length, _turns(keys, at, length)) for length in range(1, _LONGEST + 1)),
            key=lambda one: one[0] * one[1] if one[1] >= _LEAST else 0,
        )
        if turns < _LEAST:
            found.append(steps[at])
            at += 1
        else:
            found.append(Repeat(tuple(steps[at : at + length]), turns))
            at += length * turns
    return tuple(found)


def _turns(keys, at, length) -> int:
    """How often the `length` steps at `at` come one after another."""
    turns, first = 1, keys[at : at + length]
    while keys[at + turns * length : at + (turns + 1) * length] == first:
        turns += 1
    return turns
