"""Statements: assignment, branches, return, jumps.

Jumps are flags: `continue`, `break` and an early `return` set u1 locals, and what follows them in
their block stands under a test of the flag; so the IR has structured control only.
"""

from __future__ import annotations

import ast

from .. import types as _types
from . import analysis, handles
from .access import Access
from .expressions import BINARY, Reference, Value, is_static
from .native import describe, native_type

# Augmented assignments that are indivisible on arrays and trees.
_ATOMIC = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}


class StaticJump(Exception):
    """break or continue of a loop that is unrolled, reached without a condition at run time."""

    def __init__(self, is_break):
        self.is_break = is_break


class Statements(Access):
    """The part of the walker that runs through statements."""

    #  -- blocks and scopes ------------------------------------------------------------------------

    def push_scope(self, kind):
        self.frame.scope = handles.Scope(kind, self.frame.scope)
        return self.frame.scope

    def pop_scope(self):
        self.frame.scope = self.frame.scope.parent

    def block(self, statements):
        for k, statement in enumerate(statements):
            self.statement(statement)
            rest = statements[k + 1 :]
            if isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
                return
            flag = self._flag() if rest and analysis.may_jump(statement, self.frame.live is not None) else None
            if flag is not None:
                self.emit(rest[0], self.builder.begin_if, self.emit(rest[0], self.builder.load, flag))
                self.depth += 1
                self.block(rest)
                self.depth -= 1
                self.builder.end_if()
                return

    def _flag(self):
        """The u1 local that tells whether the current block goes on."""
        for loop in reversed(self.frame.loops):
            if not loop.is_static:
                return loop.active if loop.active is not None else None
        return self.frame.live

    def statement(self, node):
        method = getattr(self, "statement_" + type(node).__name__, None)
        if method is None:
            raise self.error("syntax", f"kernels have no {_NAMES.get(type(node), type(node).__name__)} statement", node)
        self.current = self.frame.source, node
        method(node)

    def statement_Pass(self, node):
        pass

    def statement_Expr(self, node):
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return  # a docstring
        self.expr(node.value)

    #  -- assignment -------------------------------------------------------------------------------

    def statement_Assign(self, node):
        thing = self.settled(self.expr(node.value), node.value)
        if isinstance(thing, handles.CellHandle) and len(node.targets) > 1:
            thing = self.to_value(thing, node.value)
        for target in node.targets:
            self.assign(target, thing, node)

    def statement_AnnAssign(self, node):
        if node.value is None:
            raise self.error("syntax", "a declaration needs a value", node)
        annotation = self.expr(node.annotation)
        if _types.is_python_scalar(annotation):
            annotation = self.scalar_type(annotation, node.annotation)
        if not isinstance(annotation, (_types.DType, _types.VectorType, _types.MatrixType)):
            raise self.error("type", f"expected a scalar, vector or matrix type, got {describe(annotation)}", node.annotation)
        value = self.emit(node, self.builder.convert, self.value(node.value), native_type(annotation), "assignment")
        self.assign(node.target, value, node)

    def assign(self, target, thing, node):
        if isinstance(target, ast.Name):
            self.assign_name(target, thing, node)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, thing, node)
        elif isinstance(target, ast.Attribute) and len(target.attr) > 1 and self._assign_swizzle(target, thing, node):
            return
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            self.store(self.place(target), thing, target, node)
        else:
            raise self.error("syntax", f"cannot assign to {type(target).__name__.lower()}", target)

    def place(self, target):
        place = self.expr(target)
        if isinstance(place, handles.CellHandle):
            place = self.sole_member(place, target)
        if not isinstance(place, Reference):
            raise self.error(
                "type", f"expected a place that can be assigned, got {describe(place)}", target, self._place_hint(place, target)
            )
        return place

    def _place_hint(self, place, target):
        if isinstance(place, handles.MemberHandle):
            return f"take a cell: {ast.unparse(target)}[...]"
        base = target
        while isinstance(base, (ast.Subscript, ast.Attribute)):
            base = base.value
        if isinstance(base, ast.Name) and isinstance(self.frame.scope.lookup(base.id), handles.Constant):
            return f"arguments are read-only: assign '{base.id}' to a variable first"
        return None

    def store(self, place, thing, target, node):
        value = self.shaped_value(thing, place.type.shape, getattr(node, "value", node))
        what = f"variable '{target.id}'" if isinstance(target, ast.Name) else ast.unparse(target)
        self.write(node, place, value, what)

    def _unpack(self, target, thing, node):
        if any(isinstance(t, ast.Starred) for t in target.elts):
            raise self.error("syntax", "kernels have no starred targets", target)
        things = self.unpacked(thing, node.value)
        if len(things) != len(target.elts):
            raise self.error("type", f"expected {len(target.elts)} values to unpack, got {len(things)}", target)
        for part, value in zip(target.elts, things):
            self.assign(part, value, node)

    def _assign_swizzle(self, target, thing, node):
        """v.xy = ...; False if the attribute is no swizzle."""
        owner = self.expr(target.value)
        if not isinstance(owner, Reference) or len(owner.type.shape) != 1 or not set(target.attr) <= set("xyzwrgbastpq"):
            return False
        value = self.to_value(thing, node)
        parts = self.unpacked(value, node) if value.type.shape else [value] * len(target.attr)
        if len(parts) != len(target.attr):
            raise self.error("type", f"expected {len(target.attr)} components for '{target.attr}', got {len(parts)}", target)
        for letter, part in zip(target.attr, parts):
            self.store(self.swizzle(owner, letter, target), part, target, node)
        return True

    def assign_name(self, target, thing, node):
        name, scope = target.id, self.frame.scope
        binding = scope.lookup(name)
        is_number = isinstance(thing, (bool, int, float))
        if not isinstance(thing, (Value, Reference)) and not is_number and not self._is_array(thing):
            if isinstance(binding, handles.Local):
                raise self.error(
                    "type",
                    f"variable '{name}' holds a value of type {binding.reference.type.name}, got {describe(thing)}",
                    target,
                )
            self._bind_constant(name, thing, target)
            return
        value = self.to_value(thing, getattr(node, "value", node))
        if isinstance(binding, handles.Local):
            self._store_local(binding, value, name, target, node)
            return
        if isinstance(binding, handles.Constant) and self._is_parameter(name, binding):
            raise self.error(
                "type",
                f"kernel argument '{name}' is read-only",
                target,
                f"assign it to a variable of another name first: {name}_ = {name}",
            )
        local = self._storage_for(name, value, target, is_number)
        scope.names[name] = local
        self._store_local(local, value, name, target, node)

    def _bind_constant(self, name, thing, target):
        """Binds a name to something known while compiling: where Python would, or not at all."""
        scope, is_conditional = self.frame.scope.owner(name)
        if scope is not None and is_conditional:
            meaning = describe(scope.names[name].value)
            raise self.error(
                "type",
                f"'{name}' stands for {meaning} and cannot change under a condition or in a loop at run time",
                target,
                "use another name for it",
            )
        (scope or self.frame.scope).names[name] = handles.Constant(thing)

    @staticmethod
    def _is_array(thing):
        return type(thing).__module__ == "numpy"

    def _is_parameter(self, name, binding):
        return self.frame.is_kernel and self.parameters.get(name) is binding

    def _store_local(self, local, value, name, target, node):
        if list(value.type.shape) != list(local.reference.type.shape) and value.type.shape:
            wanted, got = local.reference.type.name, value.type.name
            raise self.error(
                "type",
                f"variable '{name}': expected a value of type {wanted}, set by its first assignment, got {got}",
                getattr(node, "value", node),
                "use another name for it",
            )
        self.write(target, local.reference, value, f"variable '{name}'")

    def _storage_for(self, name, value, target, is_literal):
        """A variable: the one an earlier branch made under this name and type, or a new one."""
        if self.frame.is_kernel and name == self.result_name and self.depth == 0:
            # Lives where it is returned from, so that parallel loops may accumulate in it.
            if value.type == self.result.type or (is_literal and not self.result.type.shape):
                return handles.Local(self.result, target)
        hidden = self.frame.scope.storage().hidden.setdefault(name, [])
        for local in hidden:
            if local.reference.type == value.type:
                return local
        local = handles.Local(self.emit(target, self.builder.declare_local, value.type), target)
        hidden.append(local)
        return local

    def statement_AugAssign(self, node):
        op = BINARY[type(node.op)]
        place = self.place(node.target) if not isinstance(node.target, ast.Name) else self._named_place(node)
        if self.static_depth or not isinstance(place, Reference):
            self.assign(node.target, self.binary(op, place, self.expr(node.value), node), node)
            return
        is_local = isinstance(node.target, ast.Name) or self._is_local_part(node.target)
        if op in _ATOMIC and (not is_local or self.is_shared(place)):
            self.emit(node, self.builder.atomic, _ATOMIC[op], place, self.value(node.value))
            return
        old = self.emit(node, self.builder.load, place)  # before the operand, as Python does
        operand = self.value(node.value)
        self.store(place, self.emit(node, self.builder.binary, op, old, operand), node.target, node)

    def _named_place(self, node):
        name = node.target.id
        binding = self.frame.scope.lookup(name)
        if isinstance(binding, handles.Constant) and self._is_parameter(name, binding):
            raise self.error(
                "type",
                f"kernel argument '{name}' is read-only",
                node.target,
                f"assign it to a variable of another name first: {name}_ = {name}",
            )
        return self.expr_Name(ast.copy_location(ast.Name(name, ast.Load()), node.target))

    def _is_local_part(self, target):
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        binding = self.frame.scope.lookup(target.id) if isinstance(target, ast.Name) else None
        return isinstance(binding, handles.Local)

    def is_shared(self, place):
        return self.builder.is_shared(place)

    #  -- branches ---------------------------------------------------------------------------------

    def statement_If(self, node):
        condition = self.expr(node.test)
        if isinstance(condition, (bool, type(None))) or (is_static(condition) and isinstance(condition, (str, tuple, list))):
            self.block(node.body if condition else node.orelse)
            return
        self.emit(node.test, self.builder.begin_if, self.truth(condition, node.test))
        self.depth += 1
        yes = self._branch(node.body)
        no = None
        if node.orelse:
            self.emit(node, self.builder.begin_else)
            no = self._branch(node.orelse)
        self.depth -= 1
        self.builder.end_if()
        self._merge(node, yes, no)

    def _branch(self, statements):
        scope = self.push_scope("branch")
        self.block(statements)
        self.pop_scope()
        return scope

    def _merge(self, node, yes, no):
        """What the branches assigned is visible after them if all that go on assigned it alike."""
        scope = self.frame.scope
        branches = [(yes, node.body)] + ([(no, node.orelse)] if no is not None else [])
        going_on = [branch for branch, statements in branches if not analysis.always_jumps(statements)]
        names = {name for branch in going_on for name in branch.names}
        is_complete = no is not None or not going_on
        for name in names:
            found = [branch.names.get(name) for branch in going_on]
            if is_complete and all(_is_same(found[0], other) for other in found):
                scope.names[name] = found[0]
            elif scope.lookup(name) is None:
                scope.absent[name] = self._why_absent(found, is_complete)

    @staticmethod
    def _why_absent(found, is_complete):
        if is_complete and all(isinstance(f, handles.Local) for f in found):
            types = " and ".join(sorted({f.reference.type.name for f in found}))
            return f"the branches of an if give it different types, {types}"
        return "it is assigned in one branch of an if only"

    #  -- return and jumps --------------------------------------------------------------------------

    def statement_Return(self, node):
        if self.frame.is_kernel:
            self._return_from_kernel(node)
            return
        frame = self.frame
        thing = None if node.value is None else self.expr(node.value)
        if frame.live is None:
            frame.result = self.settled(thing, node.value)
            return
        if node.value is not None:
            self._store_results(frame, thing, node)
        for loop in frame.loops:
            self._clear(loop.active, node)
            self._clear(loop.going, node)
        self._clear(frame.live, node)

    def _store_results(self, frame, thing, node):
        """An early return: the values go to variables of the function, one set for each combination of types."""
        frame.is_tuple = isinstance(thing, (tuple, list))
        values = [self.to_value(part, node.value) for part in (thing if frame.is_tuple else [thing])]
        if frame.returns and len(values) != len(frame.returns[0]):
            raise self.error(
                "type", f"expected {len(frame.returns[0])} results as in the returns before, got {len(values)}", node
            )
        places = next((p for p in frame.returns if all(a.type == b.type for a, b in zip(p, values))), None)
        if places is None:
            places = [self.emit(node, self.builder.declare_local, value.type, frame.entry) for value in values]
            frame.returns.append(places)
        for place, value in zip(places, values):
            self.write(node, place, value, "return value")
        number = self.typed_constant(frame.returns.index(places), _types.i32, node)
        if frame.which is None:
            frame.which = self.emit(node, self.builder.declare_local, number.type, frame.entry)
        self.write(node, frame.which, number, "return value")

    def _clear(self, flag, node):
        if flag is not None:
            self.write(node, flag, self.emit(node, self.builder.boolean, False), "flag")

    def _return_from_kernel(self, node):
        if self.depth or self.frame.loops:
            raise self.error(
                "syntax",
                "return from a kernel inside a loop or a branch",
                node,
                "assign the result to a variable and return it at the end",
            )
        if (node.value is None) != (self.result is None):
            if node.value is None:
                raise self.error("syntax", f"expected a value of type {self.result.type.name}, got an empty return", node)
            raise self.error(
                "type",
                "a kernel that returns a value needs a return annotation",
                node,
                f"def {self.frame.source.name}(...) -> ti.f32:",
            )
        if node.value is None:
            return
        if isinstance(node.value, ast.Name):
            binding = self.frame.scope.lookup(node.value.id)
            if isinstance(binding, handles.Local) and binding.reference is self.result:
                return
        value = self.shaped_value(self.expr(node.value), self.result.type.shape, node.value)
        self.write(node, self.result, value, "return value")

    def statement_Break(self, node):
        self._jump(node, True)

    def statement_Continue(self, node):
        self._jump(node, False)

    def _jump(self, node, is_break):
        word = "break" if is_break else "continue"
        if not self.frame.loops:
            raise self.error("syntax", f"'{word}' outside a loop", node)
        loop = self.frame.loops[-1]
        if loop.is_static:
            if self.depth != loop.depth:
                raise self.error(
                    "syntax",
                    f"'{word}' of an unrolled loop under a condition known only at run time",
                    node,
                    "make the condition static, or do not unroll the loop",
                )
            raise StaticJump(is_break)
        if is_break and loop.is_parallel:
            raise self.error(
                "syntax",
                "break in a parallel loop",
                node,
                "iterations of the outermost loop are unordered: use ti.loop_config(serialize=True) before it, or while",
            )
        self._clear(loop.active, node)
        if is_break:
            self._clear(loop.going, node)

    #  -- assert and the rest -------------------------------------------------------------------------

    def statement_Assert(self, node):
        message = ast.unparse(node.test) if node.msg is None else self.known_text(node.msg, "assert")
        self.emit(node, self.builder.assert_that, self.value(node.test), message)


def _is_same(a, b):
    if isinstance(a, handles.Local) and isinstance(b, handles.Local):
        return a is b or a.reference is b.reference
    if isinstance(a, handles.Constant) and isinstance(b, handles.Constant):
        return a.value is b.value or (type(a.value) is type(b.value) and is_static(a.value) and a.value == b.value)
    return False


_NAMES = {
    ast.Import: "import", ast.ImportFrom: "import", ast.With: "with", ast.Try: "try", ast.Raise: "raise",
    ast.Delete: "del", ast.Global: "global", ast.Nonlocal: "nonlocal", ast.FunctionDef: "def", ast.ClassDef: "class",
    ast.Match: "match", ast.AsyncFor: "async", ast.AsyncWith: "async", ast.AsyncFunctionDef: "async",
}  # fmt: skip
