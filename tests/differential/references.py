"""Random functions that reach memory: a place that a call gives by reference, a cell, or all that the loop around may use.

A twin's reference is a `Place`, which reads and writes what its call says.
"""

from __future__ import annotations

import re

from . import numbers as n
from .case import is_parameter
from .expressions import SHAPES, WHOLE, Source
from .program import Expr, Function, Line, Stmt, has_draws, holes, write_block
from .rules import Type
from .statements import Place

I32 = Type("i32")


class References:
    """Methods of `generate.Generator`."""

    # -- a place ------------------------------------------------------------------------------------------------------

    def make_call_with_a_place(self, depth):
        """A function changes a place that it is given: a variable, or one of this iteration's own in an array or tree."""
        if self.in_function is not None:
            return None
        place = self._some_variable() if self.rng.random() < 0.4 else self.own_place()
        if place is None:
            return None
        cell = re.fullmatch(r"(.*\])\.(\w+)", place.kernel)
        if cell is None or self.rng.random() < 0.5:
            kernel, member, way = place.kernel, "", "variable" if not place.level and not place.indices else "place"
        else:
            kernel, member, way = cell[1], f".{cell[2]}", "cell"
        is_real = way != "cell" and self.rng.random() < 0.4
        by = self.rng.choice(("mt.template()", f"mt.ref({place.type.text})")) if way != "cell" else "mt.template()"
        function, operand, result = self._function_of_a_place(place, member, by, is_real)
        return self._call_with_a_place(place, kernel, function, operand, result, way)

    def _some_variable(self):
        """A variable as a place."""
        variables = self.own_variables()
        if not variables:
            return None
        target = self.rng.choice(variables)
        return Place("", target.type, target.kernel, target.twin, f"{target.kernel} = {{v}}")

    def _function_of_a_place(self, place, member, by, is_real):
        """(the function, what it is given besides, its result's type)."""
        name, reference, parameter = self.name("g"), self.name("p"), self.name("p")
        operand, result, bound = self.some_type(), self.some_type(SHAPES), WHOLE if self.is_whole else None
        outer = self.scope, self.loops, self.in_function, self.is_serial
        self.scope, self.loops, self.in_function = type(self.scope)(), [], [result]
        inside = Place(place.name, place.type, f"{reference}{member}", f"{reference}.get()", f"{reference}.put({{v}})")
        inside.stored, inside.twin_cell = place.stored, reference if place.stored else ""
        is_signless = n.is_float(place.type.scalar)
        self.scope.sources += [
            Source(operand, parameter, parameter, signless=n.is_float(operand.scalar)),
            Source(place.type, inside.kernel, inside.twin_read, signless=is_signless),
        ]
        body = []
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            choices = (self.assigned_place, self.augmented_place, self.component_of_place, self.old_of_atomic)
            made = self.rng.choice(choices)(inside) if self.rng.random() < 0.8 else self.statement(1)
            if made is not None:
                body += made if isinstance(made, list) else [made]
            if self.rng.random() < 0.15:
                body.append(self._early_return())
        body.append(self._return())
        self.scope, self.loops, self.in_function, self.is_serial = outer
        annotation = operand.text if is_real or self.rng.random() < 0.4 else ""
        function = Function(name, [(reference, by), (parameter, annotation)], body, is_real, draws=has_draws(body))
        self.functions.append(function)
        value = self._no_literal(self.held(self.value(operand, 1)))
        return function, value, Expr(result, "", "", signless=n.is_float(result.scalar), bound=bound)

    def _call_with_a_place(self, place, kernel, function, operand, result, way):
        """The call, and an output of what it gives."""
        at, put, count = self.name("at"), self.name("put"), len(place.indices)
        where = [f"{at}[{k}]" for k in range(count)]
        read, write = place.twin_read.format(*where), place.twin_write.replace("{v}", "v").format(*where)
        head = [f"{at} = ({''.join(hole + ', ' for hole in holes(count))})", f"def {put}(v):"]
        head += [f"    nonlocal {place.kernel}"] if way == "variable" and "." not in place.kernel else []
        source = self.new_variable(result.type)
        given = f"Place(lambda: {read}, {put})" if not place.stored else place.twin_cell.format(*where)
        call = function.call(f"{kernel}, {{{count}}}")[0], function.call(f"{given}, {{{count}}}")[1]
        twin = "\n".join([*head, f"    {write}", f"{source.kernel} = {call[1]}"])
        counts = ((f"call with a {way}", place.type.label),)
        line = Line(f"{source.kernel} = {call[0]}", twin)
        made = Stmt("call", [line], [*place.indices, operand], place.level, counts)
        shown = self._output(self.read(source))
        return [made] if shown is None else [made, shown]

    # -- the memory around ----------------------------------------------------------------------------------------------

    def make_call_with_memory(self, depth):
        """A function does in the loop around what statements there may do: reads, writes, activates. It is given the loop's
        indices, and the arrays and trees that it names."""
        if self.in_function is not None or self.is_in_memory_call or self.gaps:
            return None
        task, rng = self.task, self.rng
        name, is_real = self.name("g"), rng.random() < 0.4
        given, parameters, coordinates = [], [], task.coordinates if task else []
        outer, self.is_in_memory_call = (self.scope, self.loops), True
        mapped = []
        for source in coordinates:
            given.append(self.read(source))
            parameters.append((self.name("p"), "mt.i32" if is_real or rng.random() < 0.4 else ""))
            mapped.append(Source(I32, parameters[-1][0], parameters[-1][0], index=source.index))
        operand = self.some_type()
        given.append(self._no_literal(self.held(self.value(operand, 1))))
        parameters.append((self.name("p"), operand.text if is_real or rng.random() < 0.4 else ""))
        self.scope, self.loops = type(self.scope)(), []
        parameter = parameters[-1][0]
        self.scope.sources += [*mapped, Source(operand, parameter, parameter, signless=n.is_float(operand.scalar))]
        self.scope.makers += self.readers()
        if task:
            task.coordinates = mapped
        still = task.still if task else set()
        if task and is_real:  # its stores activate cells even where the loop's own do not
            task.still = set()
        body = self.block(1, rng.choice((1, 2, 2)))
        value = self._no_literal(self.held(self.value(self.some_type(), 1)))
        body.append(Stmt("return", [Line("return {0}", "return {0}")], [value], counts=(("return", "-"),)))
        if task:
            task.coordinates, task.still = coordinates, still
        (self.scope, self.loops), self.is_in_memory_call = outer, False
        function = Function(name, parameters, body, is_real, draws=has_draws(body), memory=self._memory_of(body))
        self.functions.append(function)
        call = function.call(", ".join(holes(len(given))))
        bound = WHOLE if self.is_whole else None
        whole = Expr(value.type, *call, given, signless=n.is_float(value.type.scalar), bound=bound)
        made = (self._output(whole) if rng.random() < 0.6 else None) or self.declare(whole)
        made.counts = (*made.counts, (f"{'true ' if is_real else ''}call with memory", "-"))
        return made

    def _memory_of(self, body):
        """(what the kernel's text names of arrays, trees and handles, what the twin's does)."""
        arrays = {array.name for array in (*self.inputs, *self.mutable, *self.collectors.values(), *self.second_names.values())}
        arrays.update(entry[0] for entry in self.outputs.values())
        found = []
        for form in ("kernel", "twin"):
            names = re.findall(r"\b[a-z]\w*", "\n".join(write_block(body, form, 1)))
            known = arrays | {name for name, tree in self.trees.items() if form == "twin" or is_parameter(tree)}
            known |= set(self.handles) if form == "kernel" else set()
            found.append(list(dict.fromkeys(name for name in names if name in known)))
        return tuple(found)
