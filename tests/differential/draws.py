"""Random numbers of a twin: Philox4x32-10 in Python's integers, counted as docs/manual/random.md says.

A draw names the block of statements that it stands in, for statements that follow each other share four words.
`numbered` finds out which block that is, from the twin's text: a twin is indented as its kernel is. The twin of a @func
takes as `at` the block that it is called in; each call of a @real_func begins anew (`Draws.called`).
"""

from __future__ import annotations

import functools
import itertools
import math
import re

from . import numbers as n

SEED = 7  # of every context
_WORD = (1 << 32) - 1
_DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
HERE = "@HERE"  # in a draw of a twin's text: the block that it stands in
AT = "at"  # the twin's parameter for the block that a @func is called in
STATIC = "  # static"  # ends a header whose block is no block of its own in the kernel


def _first_key(seed) -> int:
    """What the first launch of a context draws with: Steele's SplitMix64."""
    whole = (1 << 64) - 1
    number = seed * 0xD1342543DE82EF95 & whole
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & whole
    number = (number ^ number >> 27) * 0x94D049BB133111EB & whole
    return number ^ number >> 31


KEY = _first_key(SEED)


def philox(counter, key=KEY) -> list[int]:
    """Four words of 32 bits."""
    a, b, c, d = counter
    low, high = key & _WORD, key >> 32
    for _ in range(10):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (second >> 32) ^ b ^ low, second & _WORD, (first >> 32) ^ d ^ high, first & _WORD
        low, high = (low + 0x9E3779B9) & _WORD, (high + 0xBB67AE85) & _WORD
    return [a, b, c, d]


class _Stream:
    """What one iteration, or the statements outside of parallel loops, has drawn."""

    def __init__(self, number, task):
        self.number, self.task = number, task
        self.taken = 0
        self.shared = {}  # block of statements -> its words that are left
        self.left = []  # of loops that run in order

    def block(self):
        words = philox((self.number & _WORD, self.number >> 32 & _WORD, self.task, self.taken))
        self.taken += 1
        return words

    def words(self, count, where):
        left = self.left if where is None else self.shared.get(where, [])
        if len(left) < count:
            left = self.block()
        found, left = left[:count], left[count:]
        if where is None:
            self.left = left
        else:
            self.shared[where] = left
        return found


class Draws:
    """What a twin calls: `loop` around what a parallel loop runs over, `draw` for a number."""

    def __init__(self):
        self.tasks = 0
        self.outside = self.stream = _Stream(0, 0)

    def loop(self, items, extents=None, first=()):
        """The items of a parallel loop, each the beginning of an iteration.

        Args:
            extents: of the box or tree whose coordinates the items are; None: the items are numbers or, of a range with
                a step, count from 0.
            first: what the coordinates of the first cell are, where they do not begin at 0.
        """
        self.tasks += 1
        task = self.tasks
        counts = isinstance(items, range) and items.step != 1
        for position, item in enumerate(items):
            number = position if counts else item
            if extents is not None:
                number = 0
                at = item if isinstance(item, tuple) else (item,)
                for coordinate, extent, least in itertools.zip_longest(at, extents, first, fillvalue=0):
                    number = (number * extent + coordinate + least) % (1 << 64)
            self.stream = _Stream(number, task)
            yield item
        self.stream = self.outside

    def called(self, function):
        """The twin of a @real_func: what a call leaves of a block is not drawn any more, what its caller has left is."""

        @functools.wraps(function)
        def call(*arguments):
            stream = self.stream
            kept = stream.shared, stream.left
            stream.shared, stream.left = {}, []
            try:
                return function(*arguments)
            finally:
                stream.shared, stream.left = kept

        return call

    def draw(self, scalar, where):
        """A number of that type; where: see `HERE`, None in a loop that runs in order."""
        width = n.bits_of(scalar)
        words = self.stream.words(2 if width == 64 else 1, where)
        value = sum(word << 32 * k for k, word in enumerate(words))
        if scalar in _DIGITS:
            return (value >> 32 * len(words) - _DIGITS[scalar]) / 2.0 ** _DIGITS[scalar]
        value &= (1 << width) - 1
        return value - (1 << width) if n.is_signed(scalar) and value >> width - 1 else value

    def normal(self, scalar, where):
        """A number of the normal distribution, by Box and Muller; f16 and bf16 are computed in f32."""
        wide = "f64" if scalar == "f64" else "f32"
        rounded, first, second = n.ROUND[wide], self.draw(wide, where), self.draw(wide, where)
        length = rounded(math.sqrt(rounded(-2.0 * rounded(math.log(1.0 - first)))))
        return n.ROUND[scalar](length * rounded(math.cos(rounded(rounded(math.tau) * second))))


def caller(block, copies, at=None):
    """What a @func takes as `at`: the block that it is called in, and which copy of that its blocks inside belong to. `at`: the
    caller's own, if that is called as well."""
    return None if block is None else (block, (*copies, at and at[1]))


def inside(at, block=None):
    """The block that a @func is called in, or one of the @func's own; None, of a loop that runs in order, stays that."""
    return None if at is None else at[0] if block is None else (at, block)


def unrolled(items):
    """The items of a loop that is unrolled, each with its number."""
    return [(item, number) for number, item in enumerate(items)]


class _Block:
    """Of the twin's text: number and, in unrolled loops, the variables that tell its copies apart."""

    def __init__(self, indent, number, copies, inner, loop, is_called=False, is_callers=False):
        self.indent, self.number, self.copies, self.inner, self.loop = indent, number, copies, inner, loop
        self.is_called, self.is_callers = is_called, is_callers  # of a @func that is called there; still the caller's own block?

    def text(self):
        if self.is_callers:
            return f"inside({AT})"
        number = f"({', '.join([str(self.number), *self.copies])},)"
        return f"inside({AT}, {number})" if self.is_called else number

    def given(self):
        """What a @func that is called in it takes as `at`."""
        copies = "".join(f"{name}, " for name in self.inner)
        return f"caller({self.text()}, ({copies}){', ' + AT if self.is_called else ''})"

    def renew(self, number):
        """What follows in it stands under a test."""
        self.number, self.copies, self.is_callers = number, self.inner, False


def numbered(text: str) -> str:
    """The twin's text with the block of each draw."""
    if HERE not in text:
        return text
    count, lines, stack, header = 0, [], [], ""
    for line in text.split("\n"):
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        if not stripped:
            lines.append(line)
            continue
        while stack and stack[-1].indent > indent:
            stack.pop()
        if not stack or stack[-1].indent < indent:
            count += 1
            stack.append(_opened(stack[-1] if stack else None, indent, count, header))
        if HERE in line:
            is_serial = any(block.loop == "serial" for block in stack)
            own, given = ("None", "None") if is_serial else (stack[-1].text(), stack[-1].given())
            line = re.sub(rf"(draws\.\w+\([^,]*, ){HERE}", rf"\g<1>{own}", line).replace(HERE, given)
        if stripped in ("continue", "break") or stripped.startswith("return"):
            for block in reversed(stack):  # what follows in the blocks around stands under a test
                count += 1
                block.renew(count)
                if block.loop and not stripped.startswith("return"):
                    break
        lines.append(line)
        header = stripped
    return "\n".join(lines)


def _opened(above, indent, count, header):
    """The block below a header."""
    if above is None or header.startswith("def "):
        is_called = re.match(rf"def \w+\({AT}\b", header) is not None
        return _Block(indent, count, (), (), None, is_called, is_called)
    if header.endswith(STATIC.strip()):
        variable = re.match(r"for \w+, (\w+) in", header)
        inner = (*above.inner, variable[1]) if variable else above.inner
        return _Block(indent, above.number, above.copies, inner, None, above.is_called, above.is_callers)
    loop = None
    if re.match(r"(for|while)\b", header):
        loop = "parallel" if "draws.loop(" in header else "serial"
    return _Block(indent, count, above.inner, above.inner, loop, above.is_called)
