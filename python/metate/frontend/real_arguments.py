"""Arguments of functions that are called: what a call hands over, and what the parameter is inside.

Values are parameters in the IR; a variable given by reference goes in and comes back with the results, an element is the same
element inside.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import handles
from .annotations import is_tuple_annotation
from .diagnostics import located
from .function import Ref, is_template
from .results import Results, leaves_of, rebuilt, structure_of
from .static import Reference, Value
from .structs import Components, StructValue
from .values import Values
from .walk import Walk


@dataclass
class Argument:
    """An argument: what the call hands over, and what the parameter is inside."""

    key: tuple = ()  # functions with equal keys are one
    operands: list = field(default_factory=list)  # Values, and References of elements
    inside: Callable[[], Any] = lambda: None  # declares parameters, gives what the name is bound to
    variables: list = field(default_factory=list)  # given by reference
    inner: list = field(default_factory=list)  # what these are inside, once `inside` was called


class RealArguments:
    """Makes them."""

    def __init__(self, walk: Walk, values: Values, results: Results):
        self.walk, self.builder, self.values, self.results = walk, walk.builder, values, results

    def check_parameters(self, source, receivers):
        """Each has an annotation, and none is several."""
        nodes = {one.arg: one for one in ast.walk(source.tree.args) if isinstance(one, ast.arg)}
        for name, parameter in list(source.parameters.items())[len(receivers) :]:
            if parameter.takes_several:
                text = f"a real_func has no * parameters, got '{name}'"
                raise located("syntax", text, source, nodes[name], "make it a @func, which is inlined")
            if parameter.annotation is parameter.empty:
                text = f"parameter '{name}' of real_func '{source.name}' has no annotation: expected a type"
                hint = f"write {name}: ti.f32, {name}: ti.ref(ti.f32), {name}: ti.types.ndarray() or {name}: ti.template()"
                raise located("type", text, source, nodes[name], hint)

    def receiver(self, thing, name, annotation, changed, source, node):
        """What the function is a method of."""
        if isinstance(thing, StructValue):
            return self.argument(source, name, thing, Ref(thing.type) if thing.is_place else thing.type, name in changed, node)
        return Argument(("known", thing), [], lambda: handles.Constant(thing))

    def argument(self, source, name, thing, annotation, is_changed, node):
        """What stands for the parameter `name`, as its annotation says; is_changed: does the function assign it?"""
        what = f"argument '{name}' of '{source.name}'"
        if isinstance(annotation, Ref):
            return self._reference(self.results.referred(annotation, thing, what, node), node)
        if is_template(annotation):
            if isinstance(thing, (Reference, Components)) or (isinstance(thing, StructValue) and thing.is_place):
                return self._reference(thing, node)
        else:
            thing = self.values.settled(thing, node)
            thing = self.results.annotated(annotation, thing, what, node)
        if isinstance(thing, (Value, StructValue)) or is_tuple_annotation(annotation):
            return self._value(thing, is_changed, node)
        return Argument(("known", thing), [], lambda: handles.Constant(thing))

    def typed(self, type_):
        """A value of this type; what the call hands over is said later, or never."""
        return Argument(("value", None, type_), [], lambda: handles.Constant(self.builder.parameter(type_)))

    def _value(self, thing, is_changed, node):
        values = [self.values.to_value(leaf, node) for leaf in leaves_of(thing)]
        types = [value.type for value in values]

        def inside():
            parameters = [self.builder.parameter(type_) for type_ in types]
            if not is_changed or isinstance(thing, tuple):
                return handles.Constant(rebuilt(thing, iter(parameters)))
            return handles.Local(rebuilt(thing, iter([self._variable(one, node) for one in parameters])), node)

        return Argument(("value", structure_of(thing), *types), values, inside)

    def _variable(self, value, node):
        variable = self.walk.emit(node, self.builder.declare_local, value.type)
        self.walk.write(node, variable, value, "parameter")
        return variable

    def _reference(self, thing, node):
        """A place: its variables go by value and come back, its elements are passed by their indices."""
        places = list(_places(thing))
        operands = [self.walk.emit(node, self.builder.load, one) if one.is_local else one for one in places]
        key = ("place", type(thing), getattr(thing, "shape", None), structure_of(thing), *map(_place_key, places))

        def inside():
            made = []
            for place in places:
                if place.is_local:
                    made.append(self._variable(self.builder.parameter(place.type), node))
                else:
                    made.append(self.builder.reference_parameter(place))
            argument.inner = [one for one, place in zip(made, places) if place.is_local]
            return handles.Local(_with_places(thing, iter(made)), node)

        argument = Argument(key, operands, inside, [place for place in places if place.is_local])
        return argument

    def check_apart(self, source, arguments, node):
        """One variable twice: what the two parameters leave in it is not one value."""
        seen = []
        for name, argument in arguments.items():
            for variable in argument.variables:
                if any(variable.is_same_base(other) for other in seen):
                    text = (
                        f"argument '{name}' of '{source.name}': the variable is given to another parameter by reference already"
                    )
                    raise self.walk.error("type", text, node, "give a copy of it: b = a")
                seen.append(variable)


def _places(thing):
    if isinstance(thing, StructValue):
        for _, part in thing.leaves():
            yield from _places(part)
    elif isinstance(thing, Components):
        yield from thing.parts
    else:
        yield thing


def _with_places(thing, places):
    if isinstance(thing, StructValue):
        return thing.map(lambda part: _with_places(part, places))
    if isinstance(thing, Components):
        return Components(tuple(next(places) for _ in thing.parts), thing.shape)
    return next(places)


def _place_key(place):
    return ("variable", place.type) if place.is_local else ("element", place)
