"""The exception classes of Metate, and nothing else.

Every class derives from the Python class a caller would expect to catch, so that programs need
not know Metate's names; Taichi's names are aliases at the end. This file imports nothing: the
extensions, the front end and the runtime side all raise these classes.
"""

from __future__ import annotations


class MetateError(Exception):
    """Base of every exception that Metate raises on purpose."""


class CompilationError(MetateError):
    """A kernel that cannot be compiled.

    Args:
        message: what is wrong: lower case, no period, expected and got.
        file, line, column: where in the user's source (line and column count from 1).
        source: that line's text, shown with a caret under `column`.
        length: how many columns the caret marks.
        hint: what to do about it, where that is known.
        notes: further ``(message, file, line, column)`` or plain strings, such as a definition's place.
    """

    def __init__(self, message, *, file=None, line=None, column=None, source=None, length=1, hint=None, notes=()):
        super().__init__(message)
        self.msg = message  # SyntaxError's spelling: what a traceback shows of a subclass of it
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.source = source
        self.length = length
        self.hint = hint
        self.notes = tuple(notes)
        self.msg = str(self)

    def __str__(self):
        where = _place(self.file, self.line, self.column)
        lines = [f"{where}{self.message}"]
        if self.source is not None:
            text = self.source.rstrip("\n").expandtabs(1)
            lines.append("    " + text)
            if self.column is not None:
                lines.append("    " + " " * (self.column - 1) + "^" + "~" * (max(self.length, 1) - 1))
        for note in self.notes:
            text = note if isinstance(note, str) else _place(*note[1:]) + note[0]
            lines.append(f"note: {text}")
        if self.hint is not None:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


def _place(file, line, column):
    if file is None:
        return ""
    parts = [str(file)] + [str(part) for part in (line, column) if part is not None]
    return ":".join(parts) + ": "


class FormError_(CompilationError):
    """A kernel that is not formed as the language wants it: what Taichi calls a syntax error."""


class SyntaxError_(FormError_, SyntaxError):
    """A statement or expression that kernels do not have."""


class TypeError_(CompilationError, TypeError):
    """An operation on types it is not defined for, or a parameter without a usable annotation."""


class NameError_(CompilationError, NameError):
    """A name or an attribute that is not defined where a kernel uses it."""


class ArgumentError_(TypeError_, SyntaxError_):
    """A call whose arguments do not fit, an assignment to a parameter, another number of loop variables."""


class ComponentError_(NameError_, FormError_):
    """A component that a vector does not have."""


class RuntimeError_(MetateError, RuntimeError):
    """A call of the runtime that failed; `status` holds the metate_status code when there is one."""

    def __init__(self, message, *, status=None):
        super().__init__(message)
        self.status = status


class AssertionError_(RuntimeError_, AssertionError):
    """An assert statement of a kernel that failed."""


class ZeroDivisionError_(RuntimeError_, ZeroDivisionError):
    """An integer division or remainder by zero in a kernel compiled with debug."""


class RuntimeTypeError_(RuntimeError_, TypeError):
    """An argument of another kind, dtype, rank or tree type than the kernel takes."""


class RuntimeValueError_(RuntimeError_, ValueError):
    """A value the call does not accept, such as an output that overlaps another argument."""


class RuntimeIndexError_(AssertionError_, IndexError):
    """A coordinate or a dimension outside its bounds."""


class CallError_(RuntimeTypeError_, SyntaxError_):
    """A call of a kernel with missing, unknown or too many arguments, or on an object whose class is not data-oriented."""


class ArrayError_(RuntimeTypeError_, RuntimeValueError_):
    """An array of another dtype, rank or element type than the kernel takes."""


class OrderError_(RuntimeValueError_, SyntaxError_):
    """A field's `order=` that does not fit its shape."""


class ComponentValueError_(RuntimeValueError_):
    """Another number of values than components that they are assigned to."""


class FieldLoopError_(RuntimeTypeError_, NotImplementedError):
    """A loop over a field outside of kernels."""


class RuntimeLookupError_(RuntimeError_, LookupError):
    """No type, kernel, member or level of that name."""


class RuntimeIOError_(RuntimeError_, OSError):
    """A file that could not be read or written."""


class TimeoutError_(RuntimeError_, TimeoutError):
    """A kernel of debug mode that ran for longer than the context's `launch_timeout`, and was stopped."""


class RuntimeImportError_(RuntimeError_, ImportError):
    """An optional library that is not installed; the text says how to get it."""


class TreeError(RuntimeError_):
    """A tree type that contradicts itself, or memory that cannot hold a tree or a kernel's pool."""


class DerivativeError_(TypeError_, RuntimeError_):
    """A kernel that has no derivative, or none with these arguments."""


class PlaceError_(TypeError_, TreeError):
    """A field that a kernel uses and that has no place, or whose gradient was asked for and has none."""


class OffsetError_(TreeError, SyntaxError_):
    """A field's `offset=` that does not fit its dimensions."""


class PackingError_(TreeError, CompilationError):
    """Quantised members that cannot be in one word, or cannot share an exponent."""


class CapacityError(RuntimeError_):
    """A pool of a tree is exhausted.

    Attributes:
        level: name of the level whose pool is full.
        needed: slots needed at least.
        capacity: slots the pool has.
        capacities: of `reserve_for` a dict for `migrate`: what each level needs, or has if that is more; else None.
    """

    def __init__(self, message, *, level=None, needed=None, capacity=None, capacities=None, status=None):
        super().__init__(message, status=status)
        self.level = level
        self.needed = needed
        self.capacity = capacity
        self.capacities = capacities


TaichiCompilationError = CompilationError
TaichiSyntaxError = FormError_
TaichiTypeError = TypeError_
TaichiNameError = NameError_
TaichiRuntimeError = RuntimeError_
TaichiAssertionError = AssertionError_
TaichiRuntimeTypeError = RuntimeTypeError_
TaichiIndexError = RuntimeIndexError_
