"""The compiler's options as contexts, modules and the command line take them: checked by type, handed to the compiler.

Everything here goes over the table of _options.py; no option is known by name but where the command line has a shorter one.
Must not import the compiler: a package without it has contexts as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._options import TABLE, CompilerOptions
from .errors import RuntimeValueError_

if TYPE_CHECKING:
    import argparse

    from metate_native import _compiler

    from ._options import CompilerKeywords as CompilerKeywords

__all__ = ["CompilerOptions"]

DEFAULTS = {row.name: row.default for row in TABLE}
OPTIMISATIONS = tuple(row.name for row in TABLE if row.is_optimisation)
SANITIZERS = ("address", "thread")

_TYPES = {row.name: row.type for row in TABLE}
_NEVER = (1 << 64) - 1  # of bytes, as the compiler takes it

# Shorter and older spellings of the command line.
_FLAGS = {"opt_level": ("-O",), "sanitizer": ("--sanitize",)}


def one_of(name: str, value: object, allowed: tuple) -> object:
    """`value`, an option's, if it is one of `allowed`; or RuntimeValueError_."""
    if isinstance(value, bool) or value not in allowed:
        raise RuntimeValueError_(f"{name}: expected one of {', '.join(map(str, allowed))}, got {value!r}")
    return value


def _bytes_or_none(name: str, number: object) -> int | None:
    if number is None:
        return None
    index = getattr(type(number), "__index__", None)
    if isinstance(number, bool) or index is None or not 0 <= index(number) < 1 << 63:
        raise RuntimeValueError_(f"{name}: expected a number of bytes, or None for never, got {number!r}")
    return index(number)


# A type of the table -> (name, value) to the value as options hold it.
_CHECKS = {
    "bool": lambda name, value: bool(value),
    "OptLevel": lambda name, value: one_of(name, value, (0, 1, 2, 3)),
    "Nanoseconds": lambda name, value: int(value),
    "ByteCount": _bytes_or_none,
    "Sanitizer": lambda name, value: None if value is None else one_of(name, value, SANITIZERS),
}


def checked(given: CompilerKeywords | dict, caller: str) -> dict[str, object]:
    """Every option by name: those given, checked, the others as by default.

    Raises RuntimeValueError_ for a value that the option does not have, TypeError for a name that is no option's;
    `caller` is what was called with it.
    """
    for name in given:
        if name not in DEFAULTS:
            raise TypeError(f"{caller}() got an unexpected keyword argument '{name}'")
    return {name: _CHECKS[_TYPES[name]](name, given[name]) if name in given else value for name, value in DEFAULTS.items()}


def key(options: CompilerOptions, **others: object) -> str:
    """Equal for options that make equal code; others: values that stand for those of the options."""
    values = {name: getattr(options, name) for name in DEFAULTS} | others
    return repr(sorted(values.items()))


def choices(options: CompilerOptions, targets: list[str]) -> _compiler.Choices:
    """The options as the compiler takes them."""
    from metate_native import _compiler

    made = _compiler.Choices()
    made.targets = targets
    for name, type_ in _TYPES.items():
        value = getattr(options, name)
        if value is None:
            value = _NEVER if type_ == "ByteCount" else ""
        setattr(made, name, value)
    return made


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A flag for each option: ``--no-scan-masks``, ``--chunk-ns 0``."""
    import argparse

    group = parser.add_argument_group("options of compiling")
    for row in TABLE:
        flags = (*_FLAGS.get(row.name, ()), "--" + row.name.replace("_", "-"))
        if row.type == "bool":
            group.add_argument(*flags, action=argparse.BooleanOptionalAction, default=row.default, help=row.documentation)
        elif row.type == "OptLevel":
            group.add_argument(*flags, type=int, choices=(0, 1, 2, 3), default=row.default, help=row.documentation)
        elif row.type == "Sanitizer":
            group.add_argument(*flags, dest=row.name, choices=SANITIZERS, help=row.documentation)
        else:
            group.add_argument(*flags, metavar="N", type=_number(row.type), default=row.default, help=row.documentation)


def given_arguments(parsed: argparse.Namespace) -> dict[str, object]:
    """The options that a command line says."""
    return {row.name: getattr(parsed, row.name) for row in TABLE}


def _number(type_):
    def number(text):
        return None if type_ == "ByteCount" and text == "never" else int(text)

    number.__name__ = "number"  # argparse: invalid number value
    return number
