"""Errors in the user's source: the place, the line, a caret, a hint.

Every error the front end raises is made here, from a node of the syntax tree and the source it came
from. What is said about types comes from the KernelBuilder; what is said about names, here.
"""

from __future__ import annotations

import ast
import warnings

from .. import errors

_KINDS = {
    "type": errors.TypeError_,
    "syntax": errors.SyntaxError_,
    "name": errors.NameError_,
    "form": errors.ArgumentError_,
    "component": errors.ComponentError_,
    "place": errors.PlaceError_,
    "derivative": errors.DerivativeError_,
}


class CastWarning(UserWarning):
    """A value is cast to the type of the variable it is assigned to and may lose bits."""


def located(kind, message, source, node, hint=None, notes=()):
    """The exception of `kind` (of _KINDS) at `node` of `source`."""
    line, column, length = place_of(source, node)
    return _KINDS[kind](
        message,
        file=source.file,
        line=line,
        column=column,
        source=source.line(line),
        length=length,
        hint=hint or None,
        notes=notes,
    )


def place_of(source, node):
    """(line, column, length) of a node, columns counted in characters from 1."""
    line = getattr(node, "lineno", source.first_line)
    text = source.line(line) or ""
    start = _characters(text, getattr(node, "col_offset", 0))
    end = len(text.rstrip())
    if getattr(node, "end_lineno", None) == line and not isinstance(node, _COMPOUND):
        end = _characters(text, node.end_col_offset)
    return line, start + 1, max(end - start, 1)


_COMPOUND = (ast.For, ast.While, ast.If, ast.FunctionDef, ast.With, ast.Try, ast.ClassDef)


def _characters(text, offset):
    """The syntax tree counts columns in bytes of UTF-8."""
    return len(text.encode("utf-8")[:offset].decode("utf-8", errors="ignore"))


def suggestion(name, candidates):
    """A hint when `name` looks like a misspelling of one of `candidates`."""
    import difflib

    close = difflib.get_close_matches(name, [c for c in candidates if isinstance(c, str)], n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else None


def warn(message, file, line):
    """A warning at a line of the user's source."""
    warnings.warn_explicit(message, CastWarning, file, line)
