"""Every public name has a docstring, and every public function says the types of its parameters and result.

Type checkers and editors show these; `metate/py.typed` promises them. What is known only by a value at run time is Any.
"""

import inspect
import types

import pytest

import metate as mt
from metate.interop import vdb

LINEAR_ALGEBRA = types.SimpleNamespace(**{name: getattr(mt.linalg, name) for name in mt.linalg.LATE})
MODULES = (mt, mt.algorithms, mt.aot, mt.math, mt.profiler, mt.tools, mt.types, mt.ui, vdb, LINEAR_ALGEBRA)


def public_objects():
    """(name, object) of the classes and functions that the modules offer, and of the classes' public members."""
    found = {}
    for module in MODULES:
        for name in getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]:
            thing = getattr(module, name)
            if not (inspect.isclass(thing) or inspect.isfunction(thing)) or not thing.__module__.startswith("metate"):
                continue
            path = f"{thing.__module__}.{thing.__qualname__}"
            found[path] = thing
            if inspect.isclass(thing):
                found |= {f"{path}.{key}": member for key, member in members_of(thing)}
    return found


def members_of(cls):
    members = [one for base in cls.__mro__ if base.__module__.startswith("metate") for one in vars(base).items()]
    for key, member in members:
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if not key.startswith("_") and isinstance(function, types.FunctionType):
            yield key, function


OBJECTS = public_objects()


def test_there_are_many():
    assert len(OBJECTS) > 100 and "metate.ui.gui.GUI.circles" in OBJECTS


def test_every_public_name_has_a_docstring():
    assert [path for path, thing in OBJECTS.items() if not inspect.getdoc(thing)] == []


def test_every_public_function_is_annotated():
    bare = []
    for path, thing in OBJECTS.items():
        if not isinstance(thing, types.FunctionType):
            continue
        signature = inspect.signature(thing)
        parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls") and p.kind is not p.VAR_KEYWORD]
        if any(p.annotation is p.empty for p in parameters) or signature.return_annotation is signature.empty:
            bare.append(path)
    assert bare == []


@pytest.mark.parametrize("name", mt.__all__)
def test_what_is_offered_exists(name):
    assert getattr(mt, name) is not None
