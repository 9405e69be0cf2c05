"""Values of a program as text that is equal for equal ones in every process; what description.py adds is code and objects."""

from __future__ import annotations

import collections
import enum
import functools
import types as python_types
from abc import ABC, abstractmethod
from typing import Any

from .. import value_types as _types
from ..argument_packs import ArgPackType
from ..dim import Dim
from ..errors import TreeError
from ..frontend import keys
from ..frontend.function import Function, Template
from ..intrinsics import Box, Intrinsic
from ..lazy_numpy import numpy_class
from ..quant_types import QuantType
from ..tree_type import TreeType
from .digest import blake2b
from .trust import is_trusted

_MOST_BYTES = 16 << 20  # of an array that is described by its contents
_MOST_ELEMENTS = 100_000  # of a container
_PLAIN = (bool, int, str, bytes, type(None), type(Ellipsis))
_SEQUENCES = (tuple, list, collections.deque, set, frozenset)  # sets in their order, in which loops are unrolled
_BUILT_IN = (python_types.BuiltinFunctionType, python_types.MethodWrapperType, python_types.WrapperDescriptorType)
_WRAPPERS = (staticmethod, classmethod, property, functools.partial, functools.cached_property, functools._lru_cache_wrapper)


class Undescribable(Exception):
    """Something that a kernel names can be told neither from nor to other processes; the text says what."""


class ValueWriter(ABC):
    """One pass over all that is named, with the attributes that are known to be mentioned."""

    def __init__(self, names: frozenset[str], is_open: bool):
        self.parts: list[str] = []
        self.places: list[tuple[str, int]] = []
        self.objects: list[Any] = []
        self.numbers: dict[int, int] = {}
        self.partial: set[int] = set()  # objects of which only some attributes are described: those of `read`
        self.read: set[tuple[int, str]] = set()
        self.mentioned: set[str] = set()
        self.asks_for_all = is_open  # of objects' attributes
        self._names = sorted(names)
        self._trees: dict[int, int] = {}
        self._kept: list[Any] = []  # so that numbers of objects stay theirs

    def _write(self, *parts):
        self.parts.append(repr(parts))

    def value(self, thing):
        """Anything that a name stands for."""
        if type(thing) in (float, complex):
            self._write(type(thing).__name__, thing.hex() if type(thing) is float else repr(thing))
        elif type(thing) in _PLAIN:
            self._write(type(thing).__name__, thing)
        elif isinstance(thing, numpy_class("generic")):
            self._write("numpy", thing.dtype.str, thing.tobytes())
        elif self._is_new(thing):
            self._value(thing)

    def _is_new(self, thing):
        number = self.numbers.get(id(thing))
        if number is not None:
            self._write("again", number)
            return False
        self.numbers[id(thing)] = len(self.objects)
        self.objects.append(thing)
        return True

    def _value(self, thing):
        for kind, write in _KINDS:
            if isinstance(thing, kind):
                return getattr(self, write)(thing)
        for name, write in _KINDS_OF_NUMPY:
            if isinstance(thing, numpy_class(name)):
                return getattr(self, write)(thing)
        if keys.kind_of(thing) is not None:
            return self._field(thing)
        if keys.is_struct(thing):
            self._write("struct value")
            self.value(thing.struct_type)
            return self._items(thing.items())
        if hasattr(type(thing), "__metate_kernel__"):  # kernels call none
            return self._write("kernel", getattr(thing, "__qualname__", ""))
        if callable(thing) and is_trusted(type(thing).__module__):  # NumPy's functions are objects
            return self._built_in(thing)
        return self._object(thing)

    def _field(self, thing):
        """A field or level by its placement and the tree that it shares; a struct field by its members."""
        if keys.is_struct_field(thing):
            self._write("struct field", getattr(thing, "name", ""))
            return self._items(thing._members.items())
        try:
            place, tree = keys.place_of(thing), thing._tree
        except TreeError:  # a kernel that uses it is an error
            return self._write("field without a place")
        if keys.is_field(thing):
            self._write("field", getattr(thing, "name", ""), str(place.tree), place.members, place.shape, place.offset)
            self.value(place.element)
        else:
            self._write("level", str(place[0]), place[1])
        self._kept.append(tree)
        self._write(self._trees.setdefault(id(tree), len(self._trees)))
        for kind in ("grad", "dual"):
            partner = thing._partner(kind) if hasattr(thing, "_partner") else None
            if partner is not None:
                self._write(kind)
                self.value(partner)

    def _sequence(self, thing):
        if len(thing) > _MOST_ELEMENTS:
            raise Undescribable(f"a {type(thing).__name__} of {len(thing)} elements is too long")
        self._write(type(thing).__qualname__, len(thing))
        for element in thing:
            self.value(element)
        self._of_its_class(thing)

    def _items(self, items):
        for name, value in items:
            self.value(name)
            self.value(value)
        self._write("end")

    def _dict(self, thing):
        self._write(type(thing).__qualname__, len(thing))
        self._items(thing.items())
        self._of_its_class(thing)

    def _array(self, thing):
        if thing.dtype.hasobject or thing.nbytes > _MOST_BYTES:
            raise Undescribable(f"an array of {thing.dtype} with {thing.nbytes} bytes is not compared by its contents")
        self._write(type(thing).__qualname__, thing.dtype.str, thing.shape, blake2b(thing.tobytes()).hexdigest())

    def _range(self, thing):
        self._write(type(thing).__name__)
        for part in (thing.start, thing.stop, thing.step):
            self.value(part)

    def _enumerator(self, thing):
        self._write("enumerator", thing.name)
        self.value(thing.value)
        self.value(type(thing))

    def _vector_type(self, thing):
        self._write(type(thing).__name__, thing.shape)
        self.value(thing.dtype)

    def _struct_type(self, thing):
        self._write("struct type", thing.class_name)
        self._items(thing.members.items())
        self._items(thing.methods.items())
        self._items(thing._defaults.items())

    def _pack_type(self, thing):
        self._write("pack type")
        self._items(thing.members.items())

    def _array_type(self, thing):
        self._write("ndarray type")
        self._items(vars(thing).items())

    def _box(self, thing):
        self._write("ndrange", thing.bounds)

    def _by_its_text(self, thing):
        self._write(type(thing).__name__, str(thing), repr(thing), getattr(thing, "name", ""))

    @abstractmethod
    def _of_its_class(self, thing):
        """What a container has besides its elements."""

    @abstractmethod
    def _built_in(self, thing):
        """A function without a source."""

    @abstractmethod
    def _object(self, thing):
        """An object of a class of the program."""


# Kinds of things, the special before the general -> how they are written.
_KINDS: tuple[tuple[Any, str], ...] = (
    (enum.Enum, "_enumerator"),
    ((_types.DType, QuantType, TreeType, Template, Intrinsic, _types.Axes, _types.StructMember, Dim), "_by_its_text"),
    ((_types.VectorType, _types.MatrixType), "_vector_type"),
    (_types.StructType, "_struct_type"),
    (ArgPackType, "_pack_type"),
    (_types.NDArrayType, "_array_type"),
    (Box, "_box"),
    (Function, "_own_function"),
    (python_types.FunctionType, "_function"),
    (python_types.MethodType, "_method"),
    (_WRAPPERS, "_wrapped"),
    (_BUILT_IN, "_built_in"),
    (type, "_type"),
    (_SEQUENCES, "_sequence"),
    (dict, "_dict"),
    ((range, slice), "_range"),
)
_KINDS_OF_NUMPY = (("dtype", "_by_its_text"), ("ufunc", "_built_in"), ("ndarray", "_array"))
