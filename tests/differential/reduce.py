"""Makes a failing case small: as long as it fails in the same way, statements, operands and data go.

Greedy: passes over the program until none of them finds anything to leave out, or the time is up.
"""

from __future__ import annotations

import copy
import re
import time

from . import numbers as n
from .case import Case
from .program import Expr

CHECKED = "interpreter with checks"


class Reducer:
    """Args:
    still_fails: case -> is the failure still there?
    seconds: how long to go on at most.
    """

    def __init__(self, still_fails, seconds=60.0):
        self.still_fails = still_fails
        self.until = time.monotonic() + seconds
        self.tries = 0

    def reduce(self, case: Case) -> Case:
        """The smallest case found; the case itself if nothing can go."""
        if case.program is None:
            return case
        best = self.accepted(case, case.program) or case
        is_changed = True
        while is_changed and time.monotonic() < self.until:
            is_changed = False
            for step in (self.drop_statements, self.unwrap, self.simplify, self.shrink_data):
                smaller = step(best)
                is_changed = is_changed or smaller is not best
                best = smaller
        return best

    def accepted(self, case, program, arguments=None) -> Case | None:
        """The case with a changed program, without what is unused then; None if that does not fail."""
        if time.monotonic() > self.until:
            return None
        self.tries += 1
        arguments = case.arguments if arguments is None else arguments
        candidate = self._tidied(case, program, arguments)
        return candidate if self.still_fails(candidate) else None

    @staticmethod
    def _tidied(case, program, arguments):
        program = copy.copy(program)
        while True:
            bodies = "\n".join([f.kernel_text() for f in program.functions] + _lines(program.body))
            used = [f for f in program.functions if len(re.findall(rf"\b{f.name}\b", bodies)) > 1]
            if len(used) == len(program.functions):
                break
            program.functions = used
        twin = "\n".join(_lines(program.body, "twin"))  # a kernel does not name the tree of fields
        names = set(re.findall(r"\w+", bodies + twin))
        program.arguments = [a for a in arguments if a.name in names] or arguments[:1]
        made = case.rewritten(program, program.arguments)
        kept = {a.type for a in made.arguments if a.kind == "tree"}
        made.trees = {name: text for name, text in case.trees.items() if name in kept}
        made.members = {name: members for name, members in case.members.items() if name in kept}
        return made

    # -- passes ---------------------------------------------------------------------------------------------

    def drop_statements(self, case):
        """Runs of statements, long ones first."""
        for number in range(len(list(_blocks(case.program)))):
            position = 0
            size = max(len(_block(case.program, number)) // 2, 1) if number < len(list(_blocks(case.program))) else 0
            while size >= 1:
                blocks = list(_blocks(case.program))
                if number >= len(blocks):
                    break
                if position >= len(blocks[number]):
                    size, position = size // 2, 0
                    continue
                program = copy.deepcopy(case.program)
                del _block(program, number)[position : position + size]
                smaller = self.accepted(case, program)
                if smaller is None:
                    position += size
                else:
                    case = smaller
        return case

    def unwrap(self, case):
        """Statements by what stands in their blocks."""
        position = 0
        while True:
            places = [(b, k) for b, block in enumerate(_blocks(case.program)) for k, s in enumerate(block) if _is_wrapper(s)]
            if position >= len(places):
                return case
            number, k = places[position]
            program = copy.deepcopy(case.program)
            block = _block(program, number)
            block[k : k + 1] = [inner for nested in block[k].blocks() for inner in nested]
            smaller = self.accepted(case, program)
            if smaller is None:
                position += 1
            else:
                case = smaller

    def simplify(self, case):
        """Expressions by one of their operands, or by a constant."""
        position = 0
        while True:
            total = len(list(_expressions(case.program)))
            if position >= total:
                return case
            smaller = None
            for choice in range(len(_simpler(_expression(case.program, position)))):
                program = copy.deepcopy(case.program)
                owner, index = list(_expressions(program))[position]
                owner[index] = _simpler((owner, index))[choice]
                smaller = self.accepted(case, program)
                if smaller is not None:
                    break
            if smaller is None:
                position += 1
            else:
                case = smaller

    def shrink_data(self, case):
        """Arrays of zeros, trees of fewer cells."""
        for k in range(len(case.arguments)):
            for smaller_data in (_zeros, _half(0), _half(1)):
                if k >= len(case.arguments):
                    return case
                arguments = copy.deepcopy(case.arguments)
                if not smaller_data(arguments[k]):
                    continue
                case = self.accepted(case, case.program, arguments) or case
        return case


def _lines(body, form="kernel"):
    return [line for statement in body for line in statement.write(form, 1)]


def _blocks(program):
    """Every block of the program, outer ones first."""
    todo = [program.body, *(function.body for function in program.functions)]
    while todo:
        block = todo.pop(0)
        yield block
        todo += [inner for statement in block for inner in statement.blocks()]


def _is_wrapper(statement):
    """Has it blocks that may stand without it? Not the condition that ends a recursion."""
    inner = [one for block in statement.blocks() for one in block]
    return bool(statement.blocks()) and not any(("recursion", "-") in one.counts for one in inner)


def _block(program, number):
    return list(_blocks(program))[number]


def _statements(program):
    for block in _blocks(program):
        yield from block


def _expressions(program):
    """(list, index) of every expression, outer ones first."""
    for statement in _statements(program):
        todo = [(statement.exprs, k) for k in range(len(statement.exprs))]
        while todo:
            owner, k = todo.pop(0)
            yield owner, k
            todo += [(owner[k].kids, j) for j in range(len(owner[k].kids))]


def _expression(program, position):
    return list(_expressions(program))[position]


def _simpler(place) -> list[Expr]:
    owner, k = place
    expr = owner[k]
    found = [kid for kid in expr.kids if kid.type == expr.type]
    if expr.kids or any(c.isalpha() for c in expr.kernel.replace("mt.", "")):
        found += _constants(expr)
    return found


def _constants(expr):
    """0 and 1 of the type, where it is not that already."""
    scalar, shape = expr.type
    found = []
    for number in ("0.0", "1.0") if n.is_float(scalar) else ("0", "1"):
        kernel, twin = f"mt.{scalar}({number})", number
        if shape:
            kernel, twin = f"{expr.type.text}({kernel})", f"({number},) * {expr.type.count}"
        if expr.kernel == kernel:
            break
        found.append(Expr(expr.type, kernel, twin, bound=1.0))
    return found


def _zeros(argument) -> bool:
    if argument.kind in ("array", "value") and any(argument.data):
        argument.data = [type(value)(0) for value in argument.data]
        return True
    return False


def _half(which):
    def shrink(argument):
        if argument.kind != "tree" or len(argument.cells) + len(argument.active) < 2:
            return False
        middle = len(argument.cells) // 2
        argument.cells = argument.cells[middle:] if which else argument.cells[:middle]
        argument.active = argument.active[: len(argument.active) // 2]
        return True

    return shrink


def size_of(case: Case) -> int:
    """Statements of the case's kernel and functions, for tests and reports."""
    return sum(1 for _ in _statements(case.program))


def same_failure(mismatch, make_session):
    """A predicate: does a case fail between the same two ways of running it, as `mismatch` did?"""
    wanted = set(mismatch.variants)
    kind = _kind(mismatch.text)
    with make_session({CHECKED}) as session:
        was_clean = not session.findings(mismatch.case)

    def still_fails(case):
        # Leaving things out may bring an access outside or two writers of one place: no failure then.
        with make_session({CHECKED, *wanted}) as session:
            if was_clean and session.findings(case):
                return False
            return any(set(found.variants) == wanted and _kind(found.text) == kind for found in session.check([case]))

    return still_fails


def _kind(text):
    """What went wrong, without what differs from case to case."""
    if text.startswith(("status", "printed", "the twin failed")):
        return text.split(":")[0]
    return text.split(":")[0] if "Error" in text.split(":")[0] else "value"


__all__ = ["Reducer", "same_failure", "size_of"]
