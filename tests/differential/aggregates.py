"""Random structs, and functions of structs and of templates: what the front end takes apart before there is IR.

A struct is a list of (member, type), where the type of a member that is a struct is such a list. A twin's struct is a `Record`
with the same members; assigning one copies it.
"""

from __future__ import annotations

from . import numbers as n
from . import table
from .draws import STATIC
from .expressions import SHAPES, WHOLE, Source
from .program import Expr, Function, Line, Stmt, has_draws, holes
from .rules import Type


def leaves_of(parts, prefix=""):
    """(path, type) of what a struct holds at last."""
    found = []
    for name, type_ in parts:
        found += leaves_of(type_, f"{prefix}{name}.") if isinstance(type_, list) else [(prefix + name, type_)]
    return found


def is_nested(parts) -> bool:
    """Is a member a struct?"""
    return any(isinstance(type_, list) for _, type_ in parts)


def struct_text(parts) -> str:
    """The struct type as text."""
    texts = (f"{name}={struct_text(type_) if isinstance(type_, list) else type_.text}" for name, type_ in parts)
    return f"mt.types.struct({', '.join(texts)})"


def struct_of(parts, form, given=None) -> str:
    """A struct made of its leaves, {0}, {1}, ...; `form`: "mt.Struct", "Record" of twins, or of a type, "named" or "in order"."""
    given = iter(holes(len(leaves_of(parts)))) if given is None else given
    texts = [struct_of(type_, form, given) if isinstance(type_, list) else next(given) for _, type_ in parts]
    if form != "in order":
        texts = [f"{name}={text}" for (name, _), text in zip(parts, texts)]
    return f"{struct_text(parts) if form in ('named', 'in order') else form}({', '.join(texts)})"


class Aggregates:
    """Methods of `statements.Statements`."""

    def _struct(self, depth=2):
        """The members of a struct."""
        rng = self.rng
        return [
            (letter, self._struct(depth - 1) if depth and rng.random() < 0.15 else self.some_type(SHAPES))
            for letter in "abc"[: rng.randint(1, 3)]
        ]

    def _parts_of(self, name, parts, may_assign=True):
        """What the members hold as sources."""
        return [
            Source(type_, f"{name}.{part}", f"{name}.{part}", signless=n.is_float(type_.scalar), is_variable=may_assign)
            for part, type_ in leaves_of(parts)
        ]

    def _values(self, parts):
        return [self._no_literal(self.held(self.value(type_, 1))) for _, type_ in leaves_of(parts)]

    def _new_struct(self, kernel, twin, exprs, parts, counts=()):
        """The statement that makes a variable of it."""
        name = self.name()
        self.scope.sources += self._parts_of(name, parts)
        self._know_struct(name, parts)
        return Stmt("struct", [Line(f"{name} = {kernel}", f"{name} = {twin}")], exprs, counts=counts)

    def _know_struct(self, name, parts):
        """The variable, and its members that are structs."""
        self.scope.structs.append((name, parts))
        for part, type_ in parts:
            if isinstance(type_, list):
                self._know_struct(f"{name}.{part}", type_)

    def make_struct(self, depth):
        """A struct of values, or one of a type; often with a copy of it, and a change of one of the two."""
        parts = self._struct()
        values = self._values(parts)
        form = self.rng.choice(("mt.Struct", "named", "in order"))
        counts = (("struct made", "-"), *((("struct in a struct", "-"),) if is_nested(parts) else ()))
        statements = [self._new_struct(struct_of(parts, form), struct_of(parts, "Record"), values, parts, counts)]
        name = next(name for name, known in reversed(self.scope.structs) if known is parts)
        if self.rng.random() < 0.5:
            whole = self.rng.choice([one for one in self.scope.structs if f"{one[0]}.".startswith(f"{name}.")])
            statements.append(self._new_struct(whole[0], f"copied({whole[0]})", [], whole[1], (("struct copied", "-"),)))
            parts, copy, name = whole[1], statements[-1].lines[0].twin.partition(" = ")[0], whole[0]
            changed = self.make_struct_assignment(depth) if self.rng.random() < 0.5 else self.make_assignment(depth)
            statements += [changed] if changed is not None else []
            if self.in_function is None:
                for whole in (name, copy):
                    shown = self._output(self.read(self.rng.choice(self._parts_of(whole, parts))))
                    statements += [shown] if shown is not None else []
        return statements

    def _known_structs(self):
        """Those whose members are all in scope."""
        names = {source.kernel for source in self.scope.variables()}
        return [s for s in self.scope.structs if all(f"{s[0]}.{part}" in names for part, _ in leaves_of(s[1]))]

    def make_struct_assignment(self, depth):
        """The whole of a variable at once."""
        known = self._known_structs()
        if not known:
            return None
        name, parts = self.rng.choice(known)
        line = Line(f"{name} = {struct_of(parts, 'named')}", f"{name} = {struct_of(parts, 'Record')}")
        return Stmt("struct assignment", [line], self._values(parts), counts=(("struct assigned", "-"),))

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
        returned = Line(f"return {struct_of(given, 'in order')}", f"return {struct_of(given, 'Record')}")

        def last():
            return [Stmt("return", [returned], self._values(given))]

        annotation = struct_text(taken) if self.rng.random() < 0.5 else ""
        function = self._function([(parameter, annotation)], sources, last)
        kernel, twin = function.call(struct_of(taken, "named"))[0], function.call(struct_of(taken, "Record"))[1]
        return self._new_struct(kernel, twin, self._values(taken), given, (("struct returned", "-"),))

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
        values = self._values([("", type_)] * self.rng.randint(1, 3))
        name = self.name("v")
        where = self.rng.randrange(len(values))
        listed = f"{name} = [{', '.join(holes(len(values)))}]"
        made = self.declare(Expr(type_, f"{name}[{where}]", f"{name}[{where}]", [], bound=WHOLE if self.is_whole else None))
        return [Stmt("static list", [Line(listed, listed)], values, counts=(("list", "-"),)), made]
