"""Statements: assignment, branches, return, jumps.

Jumps are flags: `continue`, `break` and an early `return` set u1 locals, and what follows them in
their block stands under a test of the flag; so the IR has structured control only.
"""

from __future__ import annotations

import ast

import numpy as np

from .. import types as _types
from . import analysis, handles
from .access import Access
from .expressions import BINARY, Reference, Value, is_static
from .native import describe
from .structs import Components, StructValue, name_of

# Augmented assignments that are indivisible on arrays and trees.
_ATOMIC = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}


class StaticReturn(Exception):
    """A return that every path through the kernel or function reaches, though it may not be the last statement."""


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
            flag = self._flag() if rest and analysis.may_jump(statement, self.frame.has_returned) else None
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
        if not isinstance(annotation, (_types.DType, _types.VectorType, _types.MatrixType, _types.StructType)):
            message = f"expected a scalar, vector, matrix or struct type, got {describe(annotation)}"
            raise self.error("type", message, node.annotation)
        value = self.fitted_part(annotation, self.settled(self.expr(node.value), node.value), node, "assignment")
        self.assign(node.target, value, node)

    def assign(self, target, thing, node):
        if isinstance(target, ast.Name):
            self.assign_name(target, thing, node)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, thing, node)
        elif self._is_static_item(target):
            container, key = self.expr(target.value), self.expr(target.slice)
            self.compute(target, container.__setitem__, key, thing)
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            self.store(self.place(target), thing, target, node)
        else:
            raise self.error("syntax", f"cannot assign to {type(target).__name__.lower()}", target)

    def _is_static_item(self, target):
        """`d[k]` of a list or dict that the kernel made: known while compiling, its items may be values."""
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            return False
        binding = self.frame.scope.lookup(target.value.id)
        if not isinstance(binding, handles.Constant) or not isinstance(binding.value, (list, dict)):
            return False
        if not self.is_made_here(binding.value):
            text = f"this would change a {type(binding.value).__name__} from outside the kernel"
            raise self.error("type", text, target, f"copy it first: {type(binding.value).__name__}({target.value.id})")
        return True

    def place(self, target):
        place = self.expr(target)
        if isinstance(place, handles.CellHandle):
            place = self.sole_member(place, target)
        if not isinstance(place, (Reference, Components)) and not (isinstance(place, StructValue) and place.is_place):
            if isinstance(target, ast.Attribute) and is_static(place):
                text = f"attribute '{target.attr}' is known while compiling, and no kernel can assign to it"
                raise self.error("type", text, target, f"make it a field of shape (), and assign {ast.unparse(target)}[None]")
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
        if isinstance(place, StructValue):
            self.store_struct(place, thing, target, node)
            return
        value = self.shaped_value(thing, place.type.shape, getattr(node, "value", node))
        what = f"variable '{target.id}'" if isinstance(target, ast.Name) else ast.unparse(target)
        self.write_part(node, place, value, what)

    def _unpack(self, target, thing, node):
        things = self.unpacked(thing, node.value)
        starred = [k for k, t in enumerate(target.elts) if isinstance(t, ast.Starred)]
        if starred:
            self._unpack_starred(target, things, starred[0], node)
            return
        if len(things) != len(target.elts):
            raise self.error("type", f"expected {len(target.elts)} values to unpack, got {len(things)}", target)
        for part, value in zip(target.elts, things):
            self.assign(part, value, node)

    def _unpack_starred(self, target, things, star, node):
        """`a, *b, c = ...`: b is a list known while compiling, of values."""
        after = len(target.elts) - star - 1
        if len(things) < star + after:
            raise self.error("type", f"expected at least {star + after} values to unpack, got {len(things)}", target)
        ends = len(things) - after
        for part, value in zip((*target.elts[:star], *target.elts[star + 1 :]), (*things[:star], *things[ends:])):
            self.assign(part, value, node)
        self.assign(target.elts[star].value, things[star:ends], node)

    def assign_name(self, target, thing, node):
        if isinstance(thing, StructValue):
            self.assign_struct_name(target, thing, node)
            return
        name, scope = target.id, self.frame.scope
        binding = scope.lookup(name)
        is_number = isinstance(thing, (bool, int, float))
        is_local = isinstance(binding, handles.Local)
        if is_local and isinstance(binding.reference, StructValue):
            self.store(binding.reference, thing, target, node)
            return
        if is_local and isinstance(thing, (tuple, list)) and binding.reference.type.shape:
            self.store(binding.reference, thing, target, node)
            return
        if not isinstance(thing, (Value, Reference, Components)) and not is_number and not self._is_array(thing):
            if is_local:
                held = binding.reference.type.name
                message = f"variable '{name}' holds a value of type {held}, got {describe(thing)}"
                raise self.error("type", message, target)
            self._bind_constant(name, thing, target)
            return
        value = self.to_value(thing, getattr(node, "value", node))
        if is_local:
            self._store_local(binding, value, name, target, node)
            return
        if isinstance(binding, handles.Constant) and self.is_parameter(name, binding):
            raise self.read_only(name, target)
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
        return isinstance(thing, (np.ndarray, np.generic))

    def is_parameter(self, name, binding):
        return self.frame.is_kernel and self.parameters.get(name) is binding

    def read_only(self, name, node):
        hint = f"assign it to a variable of another name first: {name}_ = {name}"
        return self.error("type", f"kernel argument '{name}' is read-only", node, hint)

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
            if isinstance(self.result, Reference) and (
                value.type == self.result.type or (is_literal and not self.result.type.shape)
            ):
                return handles.Local(self.result, target)
        accumulated = self.accumulated if self.frame.is_kernel else self.frame.accumulated
        if name in accumulated and self.depth == 0:
            return handles.Local(self.accumulator(name, value.type, target), target)
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
        if isinstance(place, StructValue):
            hint = "assign its members one by one"
            raise self.error("type", f"no operator '{op}=' for {place.describe()}", node.target, hint)
        if self.static_depth or not isinstance(place, (Reference, Components)):
            self.assign(node.target, self.binary(op, place, self.expr(node.value), node), node)
            return
        is_local = isinstance(node.target, ast.Name) or self._is_local_part(node.target)
        if op in _ATOMIC and (not is_local or self.is_shared(place)):
            self.atomic(_ATOMIC[op], place, self.settled(self.expr(node.value), node.value), node)
            return
        old = self.to_value(place, node)  # before the operand, as Python does
        operand = self.shaped_value(self.expr(node.value), place.type.shape, node.value)
        self.store(place, self.emit(node, self.builder.binary, op, old, operand), node.target, node)

    def atomic(self, op, place, operand, node):
        """Indivisible for each component; the old value."""
        value = self.shaped_value(operand, place.type.shape, node)
        if isinstance(place, Reference):
            return self.emit(node, self.builder.atomic, op, place, value)
        return self.atomic_components(op, place, value, node)

    def _named_place(self, node):
        name = node.target.id
        binding = self.frame.scope.lookup(name)
        if isinstance(binding, handles.Constant) and self.is_parameter(name, binding):
            raise self.read_only(name, node.target)
        return self.expr_Name(ast.copy_location(ast.Name(name, ast.Load()), node.target))

    def _is_local_part(self, target):
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        binding = self.frame.scope.lookup(target.id) if isinstance(target, ast.Name) else None
        return isinstance(binding, handles.Local)

    def is_shared(self, place):
        return self.builder.is_shared(place.parts[0] if isinstance(place, Components) else place)

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
    def _type_name(reference):
        return name_of(reference.type) if isinstance(reference, StructValue) else reference.type.name

    def _why_absent(self, found, is_complete):
        if is_complete and all(isinstance(f, handles.Local) for f in found):
            types = " and ".join(sorted({self._type_name(f.reference) for f in found}))
            return f"the branches of an if give it different types, {types}"
        return "it is assigned in one branch of an if only"

    #  -- return and jumps --------------------------------------------------------------------------

    def statement_Return(self, node):
        if self.frame.is_kernel:
            self._return_from_kernel(node)
            return
        self.return_from_function(node)

    def _clear(self, flag, node):
        if flag is not None:
            self.write(node, flag, self.emit(node, self.builder.boolean, False), "flag")

    def _return_from_kernel(self, node):
        if self.depth or not all(loop.is_static for loop in self.frame.loops):
            raise self.error(
                "syntax",
                "return from a kernel inside a loop or a branch",
                node,
                "assign the result to a variable and return it at the end",
            )
        if (node.value is None) != (self.result is None):
            if node.value is None:
                raise self.error("syntax", "expected a value, as the annotation says, got an empty return", node)
            raise self.error(
                "type",
                "a kernel that returns a value needs a return annotation",
                node,
                f"def {self.frame.source.name}(...) -> ti.f32:",
            )
        binding = self.frame.scope.lookup(node.value.id) if isinstance(node.value, ast.Name) else None
        is_in_place = isinstance(binding, handles.Local) and binding.reference is self.result
        if node.value is not None and not is_in_place:
            self.write_result(self.result, self.settled(self.expr(node.value), node.value), node)
        raise StaticReturn  # nothing after it is ever reached

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
