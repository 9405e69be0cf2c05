"""Everything that compiling a kernel can read of the program, as one digest.

A description begins at the kernel's source and its template arguments and follows what the sources name (frontend/mentions.py):
constants by their values, functions by their sources and again what these name, fields by their placements, types,
containers, objects by those of their attributes that any of the sources mentions. Which objects are the same one is part of
it. It is made before the syntax tree is walked and says more than a walk will ask, so that two equal digests stand for equal
code. What cannot be described (a generator, a file, a function of a foreign library) makes a kernel one that is not cached:
Undescribable says why. Nothing is called and nothing is changed here; properties are described by their functions.
"""

from __future__ import annotations

import collections
import enum
import types as python_types
from typing import Any

from ..errors import CompilationError
from ..frontend.function import inlined
from ..frontend.source import SourceFunction, lambda_source
from .digest import blake2b
from .trust import is_native_class, is_own, is_trusted, is_unpredictable
from .writer import Undescribable, ValueWriter

_NOT_ASKED = frozenset(
    ("__init__", "__new__", "__init_subclass__", "__class_getitem__", "__set_name__", "__del__", "__reduce__", "__setattr__",
     "__delattr__", "__dir__", "__sizeof__", "__getstate__", "__setstate__", "__copy__", "__deepcopy__")
)  # fmt: skip
_MISSING = object()


class Description:
    """What compiling can read.

    Attributes:
        digest: 40 hexadecimal digits.
        places: the same of where the sources stand: file and first line of each.
        objects: fields and other objects in the order in which they were met: equal descriptions have equal orders.
    """

    def __init__(self, writer: _Writer):
        self.digest = blake2b("\n".join(writer.parts).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
        self.places = blake2b(repr(writer.places).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
        self.objects: list[Any] = writer.objects
        self._numbers = writer.numbers
        self._partial = writer.partial
        self._read = writer.read

    def number_of(self, thing) -> int | None:
        """Its place among `objects`; None: it was not met."""
        return self._numbers.get(id(thing))

    def knows(self, owner, kind: str, name) -> bool:
        """Is what stands at an attribute (kind "attribute") or under a key of this object part of the digest?"""
        if isinstance(owner, python_types.MethodType):  # one for each access
            owner, name = owner.__self__, owner.__name__
        if kind == "attribute" and id(owner) in self._partial:
            return (id(owner), name) in self._read
        return id(owner) in self._numbers


def describe(sources: list[SourceFunction], arguments: list[Any], others: list[str], places=()) -> Description:
    """The description of a kernel, or of a graph of some.

    Args:
        sources: of the kernels.
        arguments: template arguments, and values that stand for other parameters.
        others: what else the code depends on, as texts.
        places: file and line of what stands in none of the sources.
    Raises Undescribable.
    """
    names: frozenset[str] = frozenset()
    is_open = False
    while True:  # each function that is met names further attributes
        writer = _Writer(names, is_open)
        writer.parts += others
        writer.places += places
        try:
            for source in sources:
                writer.source(source)
            for argument in arguments:
                writer.value(argument)
        except CompilationError as error:  # of an annotation, or a function whose source is not there
            raise Undescribable(error.message) from None
        except RecursionError:
            raise Undescribable("it names what is nested too deeply") from None
        if writer.mentioned <= names and writer.asks_for_all == is_open:
            return Description(writer)
        names, is_open = names | writer.mentioned, writer.asks_for_all


class _Writer(ValueWriter):
    """Values, functions with what they name, and objects."""

    # ---- functions

    def source(self, source: SourceFunction):
        """A function by its text and what the names in it stand for."""
        self._write("source", type(source).__name__, source.name, source.is_in_class, source.text)
        self.places.append((source.file, source.first_line))
        mentions = source.mentions
        self.asks_for_all |= mentions.is_open
        self.mentioned |= mentions.attributes
        for name, parameter in source.parameters.items():
            self._write(name, parameter.kind)
            if parameter.annotation is not parameter.empty:
                self.value(parameter.annotation)
        self.value(source.returns)
        self.value(source.function.__defaults__)
        self.value(source.function.__kwdefaults__)
        local = _locals_of(source.function.__code__)
        for name in sorted(mentions.names):
            if name not in source.declared:
                self._name(source, name, mentions.names[name], name in local)

    def _name(self, source, name, chains, is_local):
        found, value = source.lookup(name)
        if not found:
            return
        self._write("name", name)
        try:
            if isinstance(value, python_types.ModuleType):
                self._module(value, chains)
            else:
                self.value(value)
        except Undescribable as error:
            if not is_local:  # Python means its own variable
                raise Undescribable(f"'{source.name}' names '{name}': {error}") from None
            self._write("other")

    def _module(self, module, chains):
        """What is taken of a module: variables by their values."""
        self._write("module", module.__name__)
        if is_own(module.__name__):
            return
        heads: dict[str, set[tuple[str, ...]]] = {}
        for chain in chains:
            if not chain:
                if not is_trusted(module.__name__):
                    raise Undescribable(f"the module {module.__name__} is used as a value")
                continue
            heads.setdefault(chain[0], set()).add(chain[1:])
        for head in sorted(heads):
            value = getattr(module, head, _MISSING)
            self._write(head, value is not _MISSING)
            if isinstance(value, python_types.ModuleType):
                self._module(value, heads[head])
            elif value is not _MISSING:
                self.value(value)

    def _function(self, thing):
        name = thing.__qualname__
        if is_own(thing.__module__):
            return self._write("own", thing.__module__, name)
        if is_trusted(thing.__module__) and not is_unpredictable(thing):
            return self._write("library", thing.__module__, name)
        if hasattr(thing, "__wrapped__"):  # its source would be that of what it wraps
            raise Undescribable(f"{name} is a function around another one")
        if thing.__code__.co_filename.startswith("<frozen "):
            raise Undescribable(f"{name} of {thing.__module__} is not known to give the same result in every process")
        self.source(lambda_source(thing) or inlined(thing).source)

    def _own_function(self, thing):
        self._write("function", type(thing).__name__)
        if is_own(thing.source.function.__module__):
            return self._write("own", thing.source.function.__module__, thing.source.name)
        self.source(thing.source)

    def _built_in(self, thing):
        owner = getattr(thing, "__self__", None)
        module = getattr(thing, "__module__", None)
        if owner is not None and not isinstance(owner, python_types.ModuleType):
            self._write("method of", thing.__name__)
            return self.value(owner)
        if not is_trusted(module or "builtins") or is_unpredictable(thing):
            raise Undescribable(f"{thing.__name__} of {module} is not known to give the same result in every process")
        self._write("built-in", module, getattr(thing, "__qualname__", thing.__name__))

    def _method(self, thing):
        self._write("method")
        self.value(thing.__func__)
        self.value(thing.__self__)

    def _wrapped(self, thing):
        """static and class methods, properties, what functools wraps."""
        self._write(type(thing).__qualname__)
        names = ("__func__", "fget", "func", "args", "keywords", "__wrapped__")
        inner = [getattr(thing, name, None) for name in names]
        if inner[0] is not None and inner[-1] is inner[0]:
            inner[-1] = None
        for part in inner:
            self.value(part)

    def _type(self, thing):
        module, name = thing.__module__, thing.__qualname__
        self._write("type", module, name)
        if is_own(module) or is_trusted(module):
            return
        if issubclass(thing, enum.Enum):
            self._items((one.name, one.value) for one in thing)
        self._class(thing, ("__init__", "__new__"))

    # ---- objects of the program

    def _object(self, thing):
        """An object of a class of the program: its class's functions and its own values, as far as their names are mentioned."""
        cls = type(thing)
        if is_own(cls.__module__) or any(is_native_class(base) for base in cls.__mro__):
            raise Undescribable(f"an object of {cls.__module__}.{cls.__qualname__} cannot be described")
        if cls.__getattribute__ is not object.__getattribute__ or hasattr(cls, "__getattr__"):
            raise Undescribable(f"objects of {cls.__qualname__} compute their attributes")
        self._write("object")
        for base in (int, float, str, bytes):
            if isinstance(thing, base):
                self._write(base.__name__, base.__repr__(thing))  # pyright: ignore[reportArgumentType]
        self._class(cls, ())
        self._attributes(thing)

    def _of_its_class(self, thing):
        """What a container has besides its elements: a named tuple's functions, say."""
        if not is_trusted(type(thing).__module__):
            self._class(type(thing), ())
            self._attributes(thing)

    def _attributes(self, thing):
        self.partial.add(id(thing))
        own = getattr(thing, "__dict__", {})
        for name in sorted({*self._names, *own}, key=str) if self.asks_for_all else self._names:
            value = own.get(name, _MISSING)
            self.read.add((id(thing), name))
            if value is _MISSING and isinstance(getattr(type(thing), name, None), python_types.MemberDescriptorType):
                value = getattr(thing, name, _MISSING)
            if value is not _MISSING:
                self._write(name)
                self.value(value)
        self._write("end")

    def _class(self, cls, besides):
        if not self._is_new_class(cls):
            return
        self.partial.add(id(cls))
        self.read.update((id(cls), name) for name in self._names)
        for base in cls.__mro__:
            if base is object or is_trusted(base.__module__):
                continue
            self._write("class", base.__module__, base.__qualname__)
            special = [name for name in base.__dict__ if _is_asked(name, base, besides)]
            plain = [name for name in base.__dict__ if self.asks_for_all and not name.startswith("__")]
            for name in sorted({*self._names, *special, *plain} & base.__dict__.keys()):
                value = base.__dict__[name]
                if not isinstance(value, _SLOTS):
                    self._write(name)
                    self.value(value)

    def _is_new_class(self, cls):
        key = id(cls), "class"
        is_new = key not in self.read
        self.read.add(key)
        return is_new


def _is_asked(name, base, besides) -> bool:
    """May Python call this method unnamed, `__add__` say? What @dataclass writes follows from the members."""
    value = base.__dict__[name]
    if not name.startswith("__") or not isinstance(value, python_types.FunctionType):
        return False
    if value.__code__.co_filename == "<string>" and "__dataclass_fields__" in base.__dict__:
        return False
    return name in besides or name not in _NOT_ASKED


def _locals_of(code) -> set[str]:
    """Variables of a function and of those in it."""
    found = {*code.co_varnames, *code.co_cellvars}
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            found |= _locals_of(constant)
    return found


_SLOTS = (python_types.MemberDescriptorType, python_types.GetSetDescriptorType, type(collections.namedtuple("_", "a").a))
