"""Random structs, and functions of structs and of templates: what the front end takes apart before there is IR.

A twin's struct is a `Record` with the same members; assigning one copies it.
"""

from __future__ import annotations

from . import numbers as n
from . import table
from .draws import STATIC
from .expressions import SHAPES, WHOLE, Source
from .program import Expr, Function, Line, Stmt, has_draws, holes
from .table import Type


class Aggregates:
    """Methods of `statements.Statements`."""

    def _struct(self):
        """(member, type) of a struct."""
        return [(letter, self.some_type(SHAPES)) for letter in "abc"[: self.rng.randint(1, 3)]]

    @staticmethod
    def _struct_text(parts):
        return f"mt.types.struct({', '.join(f'{name}={type_.text}' for name, type_ in parts)})"

    def _parts_of(self, name, parts, may_assign=True):
        """The members as sources."""
        return [
            Source(type_, f"{name}.{part}", f"{name}.{part}", signless=n.is_float(type_.scalar), is_variable=may_assign)
            for part, type_ in parts
        ]

    def _values(self, types):
        return [self._no_literal(self.held(self.value(type_, 1))) for type_ in types]

    def _new_struct(self, kernel, twin, exprs, parts, counts=()):
        """The statement that makes a variable of it."""
        name = self.name()
        self.scope.sources += self._parts_of(name, parts)
        self.scope.structs.append((name, parts, len(self.scope.sources)))
        return Stmt("struct", [Line(f"{name} = {kernel}", f"{name} = {twin}")], exprs, counts=counts)

    def make_struct(self, depth):
        """A struct of values, or one of a type; often with a copy of it, and a change of one of the two."""
        parts = self._struct()
        values = self._values(type_ for _, type_ in parts)
        given = ", ".join(f"{part}={hole}" for (part, _), hole in zip(parts, holes(len(parts))))
        made = self._struct_text(parts)
        kernel = self.rng.choice((f"mt.Struct({given})", f"{made}({given})", f"{made}({', '.join(holes(len(parts)))})"))
        statements = [self._new_struct(kernel, f"Record({given})", values, parts, (("struct made", "-"),))]
        name = self.scope.structs[-1][0]
        if self.rng.random() < 0.5:
            statements.append(self._new_struct(name, f"Record(**vars({name}))", [], parts, (("struct copied", "-"),)))
            copy = self.scope.structs[-1][0]
            changed = self.make_struct_assignment(depth) if self.rng.random() < 0.5 else self.make_assignment(depth)
            statements += [changed] if changed is not None else []
            if self.in_function is None:
                for whole in (name, copy):
                    part, type_ = self.rng.choice(parts)
                    (source,) = self._parts_of(whole, [(part, type_)])
                    shown = self._output(self.read(source))
                    statements += [shown] if shown is not None else []
        return statements

    def _known_structs(self):
        """Those whose members are all in scope."""
        names = {source.kernel for source in self.scope.variables()}
        return [s for s in self.scope.structs if all(f"{s[0]}.{part}" in names for part, _ in s[1])]

    def make_struct_assignment(self, depth):
        """The whole of a variable at once."""
        known = self._known_structs()
        if not known:
            return None
        name, parts, _ = self.rng.choice(known)
        given = ", ".join(f"{part}={hole}" for (part, _), hole in zip(parts, holes(len(parts))))
        values = self._values(type_ for _, type_ in parts)
        line = Line(f"{name} = {self._struct_text(parts)}({given})", f"{name} = Record({given})")
        return Stmt("struct assignment", [line], values, counts=(("struct assigned", "-"),))

    # -- functions ----------------------------------------------------------------------------------------------

    def _function(self, parameters, sources, last):
        """A @func whose body sees these sources; `last` makes its return."""
        outer = (self.scope, self.loops, self.in_function, self.is_serial)
        self.scope, self.loops, self.in_function = type(self.scope)(), [], []
        self.scope.sources += sources
        body = []
        for _ in range(self.rng.choice((0, 1, 2))):
            made = self._drawing(1) or self.statement(1)
            if made is not None:
                body += made if isinstance(made, list) else [made]
        body += last()
        self.scope, self.loops, self.in_function, self.is_serial = outer
        function = Function(self.name("g"), parameters, body, draws=has_draws(body))
        self.functions.append(function)
        return function

    def make_call_with_structs(self, depth):
        """A function that takes a struct, changes its copy of it or not, and returns another."""
        if self.in_function is not None:
            return None
        taken, given = self._struct(), self._struct()
        parameter = self.name("p")
        sources = self._parts_of(parameter, taken, may_assign=False)
        returned = f"return {self._struct_text(given)}({', '.join(holes(len(given)))})"
        members = ", ".join(f"{part}={hole}" for (part, _), hole in zip(given, holes(len(given))))

        def last():
            return [Stmt("return", [Line(returned, f"return Record({members})")], self._values(t for _, t in given))]

        annotation = self._struct_text(taken) if self.rng.random() < 0.5 else ""
        function = self._function([(parameter, annotation)], sources, last)
        values = self._values(type_ for _, type_ in taken)
        inside = ", ".join(f"{part}={hole}" for (part, _), hole in zip(taken, holes(len(taken))))
        kernel, twin = function.call(f"{self._struct_text(taken)}({inside})")[0], function.call(f"Record({inside})")[1]
        return self._new_struct(kernel, twin, values, given, (("struct returned", "-"),))

    def make_call_with_templates(self, depth):
        """A function of a number known while compiling, which unrolls a loop and chooses a branch, and of a value."""
        if self.in_function is not None:
            return None
        rng = self.rng
        type_ = Type(rng.choice(table.INTEGERS), rng.choice(SHAPES))
        count, value, total, name = self.name("p"), self.name("p"), self.name(), self.name("q")
        sources = [
            Source(Type("i32"), f"mt.i32({count})", count, index=(0, 4)),
            Source(type_, value, value, is_variable=False),
        ]
        variable = Source(type_, total, total, is_variable=True)

        def last():
            first = Stmt("declaration", [Line(f"{total} = {{0}}", f"{total} = {{0}}")], [self._no_literal(self.value(type_, 1))])
            self.scope.sources.append(variable)
            made = self._augmented(type_, self.read(variable), total, "{0}")
            steps = [first]
            if made is not None:
                symbol, operand, twin = made
                step = Stmt("augmented", [Line(f"{total} {symbol}= {{0}}", f"{total} = {twin}")], [operand])
                twin = f"for {name}, {name}_copy in unrolled(range({count})):" + STATIC
                steps.append(Stmt("for", [Line(f"for {name} in mt.static(range({count})):", twin, [step])]))
            other = self._no_literal(self.value(type_, 1))
            test = f"{count} > {rng.randrange(4)}"
            early = Stmt("return", [Line("return {0}", "return {0}")], [other])
            final = Stmt("return", [Line("return {0}", "return {0}")], [self.read(variable)])
            branch = Stmt("if", [Line(f"if mt.static({test}):", f"if {test}:", [early]), Line("else:", "else:", [final])])
            return [*steps, branch]

        function = self._function(
            [(count, "mt.template()"), (value, "mt.template()" if rng.random() < 0.3 else "")], sources, last
        )
        argument = self._no_literal(self.held(self.value(type_, 1)))
        texts = function.call(f"{rng.randrange(5)}, {{0}}")
        return self.declare(Expr(type_, *texts, [argument], counts=(("call with a template", "-"),)))

    def make_static_list(self, depth):
        """Values kept in a list while compiling, read by constant positions."""
        type_ = Type(self.rng.choice(table.INTEGERS))
        values = self._values([type_] * self.rng.randint(1, 3))
        name = self.name("v")
        where = self.rng.randrange(len(values))
        listed = f"{name} = [{', '.join(holes(len(values)))}]"
        made = self.declare(Expr(type_, f"{name}[{where}]", f"{name}[{where}]", [], bound=WHOLE if self.is_whole else None))
        return [Stmt("static list", [Line(listed, listed)], values, counts=(("list", "-"),)), made]
