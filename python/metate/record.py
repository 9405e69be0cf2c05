"""Record: classes of frozen values by named fields, which cost a program that starts nothing.

They are what ``@dataclass(frozen=True)`` makes of the same annotations. But `dataclasses` writes and compiles the text of six
functions for each class, which takes 0.7 ms: classes that every program loads are Records for that reason, others dataclasses.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self, dataclass_transform


@dataclass_transform(frozen_default=True)
class Record:
    """A base class: annotated names are fields, in order after those of base classes; a value after one is its default.

    `_fields` and `_replace` are what they are of a NamedTuple; a class may leave fields out of `_compared`. Records are equal iff
    they are of one class and their fields are equal. `__post_init__` is called at the end of making one.

    >>> from metate.record import Record
    >>> class Point(Record):
    ...     x: float
    ...     y: float = 0.0
    >>> Point(1.0)._replace(y=2.0)
    Point(x=1.0, y=2.0)
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _compared: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        own = list(cls.__annotations__)
        cls._fields = (*cls._fields, *own)
        cls._defaults = cls._defaults | {name: cls.__dict__[name] for name in own if name in cls.__dict__}
        if "_compared" not in cls.__dict__:
            cls._compared = (*cls._compared, *own)

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = self._fields
        given = {**dict(zip(fields, values)), **named}
        if len(given) != len(values) + len(named) or not given.keys() <= set(fields):
            got = ", ".join([*map(repr, values), *(f"{name}={value!r}" for name, value in named.items())])
            raise TypeError(f"{type(self).__name__}: expected values of {', '.join(fields)}, each once, got ({got})")
        defaults = self._defaults
        try:
            self.__dict__.update([(name, given[name] if name in given else defaults[name]) for name in fields])
        except KeyError as missing:
            raise TypeError(f"{type(self).__name__}: expected a value of {missing.args[0]!r}, got none") from None
        self.__post_init__()

    def __post_init__(self) -> None:
        """Called when the fields have their values."""

    def _replace(self, **named: Any) -> Self:
        """A Record of the same class that differs in these fields."""
        return type(self)(**{**{name: getattr(self, name) for name in self._fields}, **named})

    def _comparable(self):
        return tuple([getattr(self, name) for name in self._compared])

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._comparable() == other._comparable()

    def __hash__(self) -> int:
        return hash(self._comparable())

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._fields)})"

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"cannot delete field {name!r}")
