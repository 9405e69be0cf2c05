"""Random branches, loops and functions: statements with blocks of their own.

Loops written here run in order; the parallel ones are `generate`'s.
"""

from __future__ import annotations

from . import numbers as n
from . import table
from .draws import STATIC
from .expressions import WHOLE, Source
from .program import Expr, Function, Line, Stmt, has_draws, holes
from .rules import Type


class Control:
    """Methods of `statements.Statements`."""

    # -- branches and loops -------------------------------------------------------------------------------------

    def make_if(self, depth):
        if depth <= 0:
            return None
        return Stmt("if", [Line("if {0}:", "if {0}:", self.block(depth - 1))], [self.condition()])

    def make_if_else(self, depth):
        if depth <= 0:
            return None
        condition = self.condition()
        return Stmt(
            "if", [Line("if {0}:", "if {0}:", self.block(depth - 1)), Line("else:", "else:", self.block(depth - 1))], [condition]
        )

    def make_elif(self, depth):
        if depth <= 0:
            return None
        lines = [
            Line("if {0}:", "if {0}:", self.block(depth - 1)),
            Line("elif {1}:", "elif {1}:", self.block(depth - 1)),
            Line("else:", "else:", self.block(depth - 1)),
        ]
        return Stmt("if", lines, [self.condition(), self.condition()])

    def make_static_if(self, depth):
        if depth <= 0:
            return None
        text = f"if mt.static({self.rng.randrange(5)} < {self.rng.randrange(5)}):"
        twin = text.replace("mt.static(", "(") + STATIC
        return Stmt("if", [Line(text, twin, self.block(depth - 1)), Line("else:", "else:" + STATIC, self.block(depth - 1))])

    def _inner(self, kind, depth, sources, size=None):
        self.loops.append(kind)
        self.scope.sources += sources
        body = self.block(depth - 1, size)
        del self.scope.sources[len(self.scope.sources) - len(sources) :]
        self.loops.pop()
        return body

    def _is_inside(self):
        """Is a loop written here one that runs in order? Directly in a kernel it would be parallel."""
        if self.in_function is None or self.task is not None:
            return self.in_function is not None or any(kind != "static" for kind in self.loops)
        # Of a function that is called outside of loops it may be parallel, by what stands in it: random numbers, which
        # count parallel loops, are in other programs.
        self.may_draw = False
        return not self.has_drawn

    def make_for(self, depth):
        if depth <= 0 or len(self.loops) > 2 or not self._is_inside():
            return None
        rng, name = self.rng, self.name("q")
        low, high, step = rng.randint(-3, 3), rng.randint(-2, 5), rng.choice((1, 1, 1, 2, -1, -3, 3))
        exprs, bounds = [], f"{low}, {high}, {step}"
        if rng.random() < 0.4:
            exprs = [Expr(Type("i32"), "({0} & 3)", "({0} & 3)", [self.leaf(Type("i32"))])]
            bounds = rng.choice(("{0}", f"{low}, {{0}}", f"{{0}}, {low}, -1"))
        index = Source(Type("i32"), name, name, index=(-4, 6))
        header = f"for {name} in range({bounds}):"
        return Stmt("for", [Line(header, header, self._inner("serial", depth, [index]))], exprs)

    def make_for_over_a_box(self, depth):
        if depth <= 0 or len(self.loops) > 1 or not self._is_inside():
            return None
        rng = self.rng
        names = [self.name("q") for _ in range(2)]
        a, b = rng.randint(1, 3), rng.randint(1, 3)
        sources = [Source(Type("i32"), name, name, index=(0, 3)) for name in names]
        kernel = f"for {', '.join(names)} in mt.ndrange({a}, (1, {b})):"
        twin = f"for {', '.join(names)} in product(range({a}), range(1, {b})):"
        return Stmt("for", [Line(kernel, twin, self._inner("box", depth, sources))])

    def make_while(self, depth):
        if depth <= 0 or len(self.loops) > 2:
            return None
        name, limit, step = self.name("w"), self.rng.randint(1, 4), self.rng.choice((1, 1, 2, 3))
        counts = self.rng.random() < 0.5  # and nothing else: a loop with bounds
        conditions = [] if counts else [self.condition(1)]
        counter = Stmt("count", [Line(f"{name} += {step}", f"{name} += {step}")])
        counted = Source(Type("i32"), name, name, index=(0, 7))
        # It may jump first, so that its step is not that of the last statement alone.
        jumps = []
        if self.rng.random() < 0.3:
            jump = Stmt("count", [Line(f"{name} += 1", f"{name} += 1")])
            jumps = [Stmt("if", [Line("if {0}:", "if {0}:", [jump])], [self.condition(1)])]
        body = [*jumps, counter, *self._inner("serial", depth, [counted])]
        tests = (f"{name} < {limit}",) if counts else (f"{name} < {limit} and {{0}}", f"{{0}} and {name} < {limit}")
        header = f"while {self.rng.choice(tests)}:"
        self.scope.sources.append(counted)
        return Stmt("while", [Line(f"{name} = 0", f"{name} = 0"), Line(header, header, body)], conditions)

    def make_static_for(self, depth):
        if depth <= 0 or len(self.loops) > 2:
            return None
        name, count = self.name("q"), self.rng.randint(1, 3)
        index = Source(Type("i32"), f"mt.i32({name})", name, index=(0, 3))
        items = (
            f"range({count})" if self.rng.random() < 0.6 else f"({', '.join(str(self.rng.randrange(4)) for _ in range(count))},)"
        )
        body = self._inner("static", depth, [index], 1)
        twin = f"for {name}, {name}_copy in unrolled({items}):" + STATIC
        return Stmt("for", [Line(f"for {name} in mt.static({items}):", twin, body)])

    def make_break(self, depth):
        return self._jump("break", ("serial",))

    def make_continue(self, depth):
        return self._jump("continue", ("serial", "box", "parallel"))

    def _jump(self, word, allowed):
        if not self.loops or self.loops[-1] not in allowed:
            return None
        return Stmt("jump", [Line("if {0}:", "if {0}:", [Stmt(word, [Line(word, word)])])], [self.condition(1)])

    def make_pass(self, depth):
        return Stmt("pass", [Line("pass", "pass")])

    def make_comprehension(self, depth):
        value = self.expr(Type("i32"), 1)
        name, count = self.name("q"), self.rng.randint(1, 4)
        kernel = f"sum([{{0}} * {name} for {name} in range({count})])"
        twin = f"sum__i32(tuple(mul__i32({{0}}, {name}) for {name} in range({count})))"
        return self.declare(Expr(Type("i32"), kernel, twin, [value]))

    def make_walrus(self, depth):
        if depth <= 0:
            return None
        type_ = Type(self.rng.choice(table.INTEGERS))
        first, second = self.expr(type_, 1), self.constant(type_, is_literal=False)
        if first.is_literal:
            first = self.constant(type_, is_literal=False)
        source = self.new_variable(type_)
        block = self.block(depth - 1)
        name, s = source.kernel, type_.scalar
        return Stmt(
            "walrus", [Line(f"if ({name} := {{0}}) != {{1}}:", f"if ne__{s}({name} := {{0}}, {{1}}):", block)], [first, second]
        )

    # -- functions --------------------------------------------------------------------------------------------------

    def new_function(self) -> tuple[Function, list[Type], list[Type]]:
        """A @func, or a @real_func that may call itself, with its parameter types and what it returns."""
        rng = self.rng
        is_real = rng.random() < 0.35
        types = [self.some_type() for _ in range(rng.randint(1, 3))]
        returns = [self.some_type() for _ in range(rng.choice((1, 1, 2)))]
        name, outer = self.name("g"), (self.scope, self.loops, self.in_function, self.is_serial)
        self.scope, self.loops, self.in_function = type(self.scope)(), [], returns
        parameters = []
        for type_ in types:
            parameter = self.name("p")
            self.scope.sources.append(
                Source(type_, parameter, parameter, signless=n.is_float(type_.scalar), is_variable=rng.random() < 0.6)
            )
            parameters.append((parameter, type_.text if is_real or rng.random() < 0.4 else ""))
        body = []
        for _ in range(rng.choice((0, 1, 1, 2))):
            made = self._early_return() if rng.random() < 0.25 else self._drawing(2) or self.statement(2)
            if made is not None:
                body += made if isinstance(made, list) else [made]
        depth = self.name("p") if is_real and rng.random() < 0.6 else ""
        if depth:
            body.append(self._recursion(name, depth, types))
            parameters.insert(0, (depth, "mt.i32"))
        body.append(self._return())
        self.scope, self.loops, self.in_function, self.is_serial = outer
        function = Function(name, parameters, body, is_real, draws=has_draws(body))
        if is_real and (depth or rng.random() < 0.5):
            function.returns = returns[0].text if len(returns) == 1 else f"({', '.join(type_.text for type_ in returns)})"
        self.functions.append(function)
        return function, types, returns

    def _drawing(self, depth):
        """A statement that draws a random number, in some functions."""
        return self.make_random_number(depth) if self.rng.random() < 0.1 else None

    def _recursion(self, name, depth, types):
        """The function calls itself, as deep as its first parameter says."""
        values = [self._no_literal(self.held(self.value(type_, 1))) for type_ in types]
        text = f"return {name}({', '.join([f'{depth} - 1', *holes(len(values))])})"
        again = Stmt("return", [Line(text, text)], values, counts=(("recursion", "-"),))
        return Stmt("if", [Line(f"if {depth} > 0:", f"if {depth} > 0:", [again])])

    def _return(self):
        values = [self._no_literal(self.held(self.value(type_, 1))) for type_ in self.in_function]
        text = "return " + ", ".join(holes(len(values)))
        return Stmt("return", [Line(text, text)], values, counts=(("return", "-"),))

    def _early_return(self):
        return Stmt(
            "early return", [Line("if {0}:", "if {0}:", [self._return()])], [self.condition(1)], counts=(("early return", "-"),)
        )

    def _no_literal(self, value):
        return self.constant(value.type, is_literal=False) if value.is_literal else value

    def _called(self, several):
        for _ in range(4):
            function, types, returns = self.new_function()
            if (len(returns) > 1) == several:
                break
            self.functions.remove(function)
        else:
            return None
        arguments = [self._no_literal(self.held(self.value(type_, 1))) for type_ in types]
        depth = [str(self.rng.randrange(4))] if len(function.parameters) > len(types) else []
        return function.call(", ".join([*depth, *holes(len(arguments))])), arguments, returns

    def make_call(self, depth):
        if self.in_function is not None:
            return None
        called = self._called(False)
        if called is None:
            return None
        (text, twin), arguments, (result,) = called
        signless = n.is_float(result.scalar)
        value = Expr(result, text, twin, arguments, signless=signless, bound=WHOLE if self.is_whole else None)
        # What is only declared is seldom seen.
        return (self._output(value) if self.rng.random() < 0.6 else None) or self.declare(value)

    def make_call_of_several_results(self, depth):
        if self.in_function is not None:
            return None
        called = self._called(True)
        if called is None:
            return None
        texts, arguments, results = called
        targets = ", ".join([self.new_variable(type_).kernel for type_ in results])
        return Stmt("call", [Line(*(f"{targets} = {text}" for text in texts))], arguments)
