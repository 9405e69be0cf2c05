"""`scripts/fuzz-kernels --automata`: many random automata (automata.py) against NumPy; what fails is made smaller and printed.

An automaton, and the ways in which it runs, are known by its number alone.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import time

import metate as mt

from .automata import Automaton

_STRIDE = 1_000_003  # between the automata of two seeds
BY_WORDS = {"opt_level": 2, "threads": 1}
# Each automaton runs by words and in one of these ways.
WAYS = ({"opt_level": 2, "threads": 4, "chunk_ns": 0}, {"opt_level": 3}, {"opt_level": 0}, {"arch": mt.interp})


@dataclasses.dataclass
class Report:
    count: int = 0
    sliced: int = 0  # of which a loop was seen to be on planes of bits
    wrong: list = dataclasses.field(default_factory=list)  # (number, text)


def contexts_of(number) -> list:
    return [mt.Context(**BY_WORDS), mt.Context(**WAYS[number % len(WAYS)])]


def run(seed, count, seconds=None, reduce_seconds=20.0) -> Report:
    """Checks `count` automata."""
    report, begin = Report(), time.monotonic()
    for number in range(seed * _STRIDE, seed * _STRIDE + count):
        if seconds is not None and time.monotonic() - begin > seconds:
            break
        automaton, contexts = Automaton(number), contexts_of(number)
        text, is_sliced = checked(automaton, contexts)
        report.count += 1
        report.sliced += is_sliced
        if text is None:
            continue
        report.wrong.append((number, text))
        smaller = _smaller(automaton, contexts, time.monotonic() + reduce_seconds)
        print(f"automaton {number}: {text}\nreduced: {checked(smaller, contexts)[0]}\n{smaller.text()}", flush=True)
    return report


def _smaller(automaton, contexts, end):
    return reduced(automaton, lambda one: time.monotonic() < end and checked(one, contexts)[0] is not None)


def checked(automaton, contexts) -> tuple[str | None, bool]:
    """As `Automaton.run`; what does not compile or run is wrong as well."""
    try:
        return automaton.run(contexts)
    except mt.MetateError as error:
        return f"{type(error).__name__}: {error}", False


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz-kernels --automata", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many automata (default 1000)")
    parser.add_argument("--seed", type=int, default=None, help="repeats a run; default: a fresh one, printed")
    parser.add_argument("--time", type=float, default=None, metavar="SECONDS", help="stop after that time")
    options = parser.parse_args(arguments)
    seed = random.randrange(1 << 20) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    report = run(seed, options.count, options.time)
    print(f"{report.count} automata, {report.sliced} of them on planes of bits, {len(report.wrong)} mismatches")
    return int(bool(report.wrong) or not report.count)


# -- smaller ------------------------------------------------------------------------------------------------------


def reduced(automaton, fails) -> Automaton:
    """The same with fewer statements and operands, as long as `fails` says that it fails. What is tried is undone."""
    is_changed = True
    while is_changed:
        is_changed = any(_kept(automaton, fails, change) for change in _changes(automaton))
    return automaton


def _kept(automaton, fails, change):
    owner, key, smaller = change
    before = owner[key] if isinstance(owner, list) else getattr(owner, key)
    _put(owner, key, smaller)
    try:
        is_worse = fails(automaton)
    except Exception:
        is_worse = False
    if not is_worse:
        _put(owner, key, before)
    return is_worse


def _put(owner, key, value):
    if isinstance(owner, list):
        owner[key] = value
    else:
        setattr(owner, key, value)


def _changes(automaton):
    """(object, attribute or index, smaller value); one change at a time is in place."""
    for k in range(len(automaton.loops)) if len(automaton.loops) > 1 else ():
        yield automaton, "loops", automaton.loops[:k] + automaton.loops[k + 1 :]
    blocks = [(loop, "body") for loop in automaton.loops]
    while blocks:
        owner, key = blocks.pop(0)
        block = owner[key] if isinstance(owner, list) else getattr(owner, key)
        for k, one in enumerate(block):
            yield owner, key, block[:k] + block[k + 1 :]
            if one.blocks:
                yield owner, key, block[:k] + [inner for nested in one.blocks for inner in nested] + block[k + 1 :]
            yield from _of_expressions(one)
            blocks += [(one.blocks, number) for number in range(len(one.blocks))]


def _of_expressions(statement):
    todo = [(statement, "expr")]
    while todo:
        owner, key = todo.pop(0)
        expr = owner[key] if isinstance(owner, list) else getattr(owner, key)
        for kid in expr.kids:
            if kid.scalar == expr.scalar:
                yield owner, key, kid
        todo += [(expr.kids, k) for k in range(len(expr.kids))]


if __name__ == "__main__":
    raise SystemExit(main())
