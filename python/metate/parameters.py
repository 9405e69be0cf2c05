"""What functions are declared with, as `inspect` tells it: most programs need no more of it, and it takes 3 ms of a start."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from .record import Record

if TYPE_CHECKING:
    import inspect


class Empty:
    """Stands where nothing was written."""


class Parameter(Record):
    """A parameter of a function.

    Attributes:
        kind: the name of one of inspect's kinds.
        default, annotation: `empty` where there is none.
    """

    name: str
    kind: str = "POSITIONAL_OR_KEYWORD"
    default: Any = Empty
    annotation: Any = Empty

    empty = Empty

    @property
    def takes_several(self) -> bool:
        """Is it one with stars?"""
        return self.kind in ("VAR_POSITIONAL", "VAR_KEYWORD")


def parameters_of(function: FunctionType) -> list[Parameter]:
    """The parameters as they are written, in order. Raises ValueError, TypeError where a wrapped function does not say."""
    if hasattr(function, "__wrapped__") or hasattr(function, "__signature__"):
        return _as_inspected(function)
    code, annotations = function.__code__, function.__annotations__
    names, count = code.co_varnames, code.co_argcount
    last = count + code.co_kwonlyargcount
    defaults = function.__defaults__ or ()
    given = {**dict(zip(names[count - len(defaults) : count], defaults)), **(function.__kwdefaults__ or {})}
    kinds = ["POSITIONAL_ONLY"] * code.co_posonlyargcount
    kinds += ["POSITIONAL_OR_KEYWORD"] * (count - len(kinds)) + ["KEYWORD_ONLY"] * code.co_kwonlyargcount
    found = list(zip(names, kinds))
    if code.co_flags & _VARARGS:
        found.insert(count, (names[last], "VAR_POSITIONAL"))
    if code.co_flags & _VARKEYWORDS:
        found.append((names[last + bool(code.co_flags & _VARARGS)], "VAR_KEYWORD"))
    return [Parameter(name, kind, given.get(name, Empty), annotations.get(name, Empty)) for name, kind in found]


_VARARGS, _VARKEYWORDS = 4, 8  # flags of code (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)


def _as_inspected(function):
    import inspect

    plain = lambda value: Empty if value is inspect.Parameter.empty else value
    parameters = inspect.signature(function).parameters.values()
    return [Parameter(one.name, one.kind.name, plain(one.default), plain(one.annotation)) for one in parameters]


def signature_of(parameters: dict[str, Parameter]) -> inspect.Signature:
    """The same for `inspect`, which binds arguments to them."""
    from inspect import Parameter as P
    from inspect import Signature

    known = lambda value: P.empty if value is Empty else value
    return Signature(
        [
            P(one.name, P.__dict__[one.kind], default=known(one.default), annotation=known(one.annotation))
            for one in parameters.values()
        ]
    )
