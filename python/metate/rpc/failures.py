"""What a request that failed says: the texts that libmetate would give, of what the server tells (runtime/kernel/failure.cpp)."""

from __future__ import annotations

import re
import struct

from .. import errors

NONE = 0xFFFFFFFF
NULL, INVALID_ARGUMENT, NOT_FOUND, TYPE_MISMATCH, TOO_SMALL, MISALIGNED = range(1, 7)
CAPACITY, CORRUPT, VERSION, UNSUPPORTED, OUT_OF_MEMORY = 8, 9, 10, 11, 12
ASSERT, ALIAS, OUT_OF_RANGE, INTERRUPTED, DIVISION_BY_ZERO = 14, 15, 16, 18, 20
CLASSES = {
    NULL: errors.RuntimeValueError_,
    INVALID_ARGUMENT: errors.RuntimeValueError_,
    NOT_FOUND: errors.RuntimeLookupError_,
    TYPE_MISMATCH: errors.RuntimeTypeError_,
    TOO_SMALL: errors.TreeError,
    MISALIGNED: errors.TreeError,
    CAPACITY: errors.CapacityError,
    CORRUPT: errors.RuntimeValueError_,
    ASSERT: errors.AssertionError_,
    ALIAS: errors.RuntimeValueError_,
    OUT_OF_RANGE: errors.RuntimeIndexError_,
    DIVISION_BY_ZERO: errors.ZeroDivisionError_,
}
TEXTS = {
    INVALID_ARGUMENT: "a value that it does not take",
    TYPE_MISMATCH: "another kind, dtype, rank or tree type than expected",
    MISALIGNED: "memory that is not aligned as needed",
    CORRUPT: "a block that contradicts itself",
    CAPACITY: "a pool of a tree that it activates cells of is exhausted: make the tree of more bytes",
    OUT_OF_MEMORY: "out of memory",
    ALIAS: "it is written and overlaps another one",
    OUT_OF_RANGE: "an index or an extent outside its bounds",
    INTERRUPTED: "it was stopped",
    DIVISION_BY_ZERO: "division by zero",
}
HOLE = re.compile(r"\{\{|\}\}|\{(\d+):([^}]*)\}")
I64, U64, F32, F64, BOOL = 1, 2, 3, 4, 5  # METATE_PRINT_*


def raised(status: int, payload: bytes, kernel: str | None = None, names: tuple[str, ...] = ()) -> Exception:
    """The exception for an answer with that status.

    Args:
        kernel: the one that was called; names: of its arguments.
    """
    refused, line, column, rank, index, shape, file, text = _fields(payload)
    where = f"{file}:{line}:{column}: " if line else ""
    if "\x1f" in text:  # of a kernel that a graph runs
        kernel, _, text = text.partition("\x1f")
    who = f"kernel '{kernel}'" if kernel is not None else ""
    if kernel is not None and refused < len(names):
        who += f" argument {refused} '{names[refused]}'"
    who += ": " if who else ""
    if line:
        text = _failure(status, text, rank, index, shape)
    kind = CLASSES.get(status, errors.RuntimeError_)
    return kind(f"{where}{who}{text or TEXTS.get(status, f'it failed with status {status}')}", status=status)


def _fields(payload):
    """(argument, line, column, rank, index, shape, file, text); what a short frame left out is empty."""
    refused, line, column, rank = struct.unpack_from("<4I", payload) if len(payload) >= 16 else (NONE, 0, 0, 0)
    rank = min(rank, (len(payload) - 16) // 16) if len(payload) >= 16 else 0
    numbers = struct.unpack_from(f"<{2 * rank}q", payload, 16) if rank else ()
    file, text, *_ = (*payload[16 + 16 * rank :].split(b"\0"), b"", b"")
    return refused, line, column, rank, numbers[:rank], numbers[rank:], *(part.decode(errors="replace") for part in (file, text))


def _failure(status, text, rank, index, shape):
    """What a kernel recorded of a check that failed."""
    if status == ASSERT:
        message = _message(text, [number for pair in zip(index, shape, strict=True) for number in pair]) if rank else text
        return f"assertion failed: {message}" if message else "assertion failed"
    if status == OUT_OF_RANGE:
        extents = ", ".join("*" if extent < 0 else str(extent) for extent in shape)
        return f"index out of range: {text}[{', '.join(map(str, index))}] of shape ({extents}{',' * (rank == 1)})"
    if status == CAPACITY:
        return f"{text}[{', '.join(map(str, index))}]: {TEXTS[CAPACITY]}"
    return TEXTS[status] if status in TEXTS else text


def _message(text, values):
    """An assert's message, with its values where it has holes for them."""
    left = iter(values)

    def shown(match):
        if match[1] is None:
            return match[0][0]
        number = next(left, None)
        return match[0] if number is None else formatted(int(match[1]), match[2], number)

    return HOLE.sub(shown, text)


def formatted(kind: int, form: str, bits: int) -> str:
    """A value of a METATE_PRINT_* kind, given as the 64 bits of a signed number, by a format of Python's."""
    if kind in (F32, F64):
        (value,) = struct.unpack("<d", struct.pack("<q", bits))
        if kind == F32 and not form:
            import numpy as np

            return str(np.float32(value))
    elif kind == BOOL:
        value = bool(bits)
    else:
        value = bits % 2**64 if kind == U64 else bits
    try:
        return format(value, form)
    except (ValueError, TypeError):  # a form of the server's that Python has not
        return str(value)
