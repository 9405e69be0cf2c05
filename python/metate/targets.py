"""What the dispatcher is told of one set of a kernel's arguments: how it recognises them, and what they bring along.

The dispatcher (bindings/runtime/Binding.h) compares and launches without asking Python again. Nothing made here keeps
an argument, or anything found through one, alive: objects are referred to weakly.
"""

from __future__ import annotations

import collections
import types as python_types
import weakref

from .frontend.keys import MOST_COMPARED, Hides, is_plain, is_struct, key_of
from .frontend.requirements import HiddenPartner, HiddenTree
from .lazy_numpy import is_array, numpy_class


def target_of(requirements, arguments, statics, starts, holdings):
    """(statics, keys, guards, hidden) of a set of arguments that the requirements fit.

    Args:
        requirements: of the instance (frontend.requirements).
        arguments: one for each parameter.
        statics: numbers of the arguments that do not go to the kernel.
        starts: where each of the arguments begins among the dispatcher's, of which a struct is several.
        holdings: of the context, for values that each launch gives anew.
    """
    keys, guards = [], []
    for number in statics:
        thing = arguments[number]
        if _is_value(thing):
            keys.append((starts[number], thing))
        elif _is_container(thing) or _weak(thing) is None:
            guards.append((starts[number], (), (Contents(thing),)))
        else:
            keys.append((starts[number], _weak(thing)))
    for guard in requirements.guards:
        # Methods are looked for when an object first comes, not at each launch.
        if guard.path.root is not None and not _is_of_a_method(guard.path):
            guards.append((starts[guard.path.root], _steps(guard.path), _expected(guard, arguments)))
    trees = requirements.trees(arguments)
    hidden = []
    for one, tree in zip(requirements.hidden, trees):
        if isinstance(one, HiddenPartner):
            start = starts[one.argument]
            hidden.append((start, one.kind) if one.part is None else (start, one.part, one.kind))
        else:
            hidden.append(weakref.ref(tree) if isinstance(one, HiddenTree) else one.provider(holdings))
    return tuple(starts[number] for number in statics), tuple(keys), tuple(guards), tuple(hidden)


class Foreseen:
    """A context's holdings for a launch of `reserve_for`: what each launch gives anew is what the next one will have."""

    def __init__(self, holdings):
        keys = holdings.random_keys
        self.random_keys = python_types.SimpleNamespace(next=keys.foreseen, word=lambda launches: keys.word(0))


def _is_of_a_method(path):
    return bool(path.steps) and isinstance(path.steps[-1][1], Hides)


def _steps(path):
    return tuple(name if kind == "attribute" else (name,) for kind, name in path.steps if kind != "asked")


def _expected(guard, arguments):
    """What a guard compares with: a value, a weak reference to an object, or (Contents,), (Answer,)."""
    path = guard.path
    if path.steps[-1][0] == "asked":
        return (Answer(path.steps[-1][1], guard.key),)
    thing = path.find(arguments)
    if _is_value(thing) or (isinstance(thing, numpy_class("generic")) and path.steps[-1][0] == "attribute"):
        return thing
    if is_array(thing) and thing.flags.c_contiguous and thing.size <= MOST_COMPARED and not thing.dtype.hasobject:
        return _weak(thing), thing.tobytes()
    return (Contents(thing),) if _is_container(thing) or _weak(thing) is None else _weak(thing)


def _is_value(thing):
    """Compared by the dispatcher itself."""
    return all(map(_is_value, thing)) if type(thing) is tuple else is_plain(thing)


def _is_container(thing):
    kinds = (tuple, list, dict, collections.deque, numpy_class("ndarray"), numpy_class("generic"), *_BY_KEY)
    return isinstance(thing, (*kinds, python_types.MethodType)) or is_struct(thing)


def _weak(thing):
    try:
        return weakref.ref(thing)
    except TypeError:
        return None


# Compared by their keys, which say all of them.
_BY_KEY = (set, frozenset, range, slice, int, float, str, bytes)


def _of_method(method):
    return method.__func__, method.__self__


class Answer:
    """Tells whether the answer to a question about an object (frontend.keys) is still what it was."""

    __slots__ = ("_key", "_question")

    def __init__(self, question, key):
        self._question = question
        self._key = key

    def __call__(self, thing) -> bool:
        return key_of(self._question(thing)) == self._key


class Contents:
    """Tells whether a container still holds the same objects and equal values, all the way down."""

    __slots__ = ("_parts", "_type", "_value")

    def __init__(self, thing):
        self._type = type(thing)
        self._parts = self._value = None
        if isinstance(thing, dict) or is_struct(thing):
            thing = dict(thing.items())
            self._value = tuple(thing)
            self._parts = tuple(map(Contents, thing.values()))
        elif isinstance(thing, python_types.MethodType):
            self._parts = tuple(map(Contents, _of_method(thing)))
        elif isinstance(thing, (tuple, list, collections.deque)):
            self._parts = tuple(map(Contents, thing))
        elif is_plain(thing) or isinstance(thing, (numpy_class("ndarray"), numpy_class("generic"), *_BY_KEY)):
            self._value = key_of(thing)
        else:
            self._value = _weak(thing)  # None: never the same, so that it is looked at anew for each launch

    def __call__(self, thing) -> bool:
        if type(thing) is not self._type:
            return False
        if self._parts is None:
            if isinstance(self._value, weakref.ref):
                return self._value() is thing
            return self._value is not None and self._value == key_of(thing)
        parts = thing
        if self._value is not None:
            parts = dict(thing.items())
            if tuple(parts) != self._value:
                return False
            parts = parts.values()
        elif isinstance(thing, python_types.MethodType):
            parts = _of_method(thing)
        if len(parts) != len(self._parts):
            return False
        return all(part(other) for part, other in zip(self._parts, parts))
