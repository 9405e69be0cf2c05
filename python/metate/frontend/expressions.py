"""Expressions: from syntax to values of the KernelBuilder.

`expr` gives what a node stands for: a Python object known while compiling, a handle, a Reference or a
Value. `value` makes a Value of it. What operations mean is the builder's; here are names, attributes,
subscripts, and what is computed while compiling.
"""

from __future__ import annotations

import ast
import operator

import numpy as np

from metate_native import _compiler

from .. import intrinsics
from .. import types as _types
from ..errors import CompilationError, MetateError
from ..matrix_value import MatrixValue
from . import handles
from .diagnostics import located, suggestion, warn
from .native import describe
from .structs import Components, StructValue

Value, Reference = _compiler.Value, _compiler.Reference

BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.MatMult: "@",
}  # fmt: skip
_STATIC_BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "@": operator.matmul,
}  # fmt: skip
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_STATIC_UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_}
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_STATIC_COMPARE = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
_MOST_NOTES = 8  # calls that an error names
_MOST_CONSTANTS = 64  # elements of a captured array that become constants; a larger one is data
_PYTHON_NAMES = (
    "range",
    "print",
    "abs",
    "min",
    "max",
    "round",
    "int",
    "float",
    "bool",
    "len",
    "pow",
    "enumerate",
    "zip",
    "True",
    "False",
)
RUNTIME = (Value, Reference, handles.CellHandle, StructValue, Components)
HANDLES = (
    handles.TreeHandle, handles.MemberHandle, handles.LevelHandle, handles.CellHandle, handles.ArrayHandle,
    handles.StructArrayHandle, handles.ShapeHandle, handles.TextParts, handles.BoundMethod, handles.FieldHandle,
    handles.StructFieldHandle,
)  # fmt: skip


def is_static(value) -> bool:
    """Known while compiling, with everything in it."""
    if isinstance(value, (tuple, list)):
        return all(is_static(v) for v in value)
    if isinstance(value, dict):
        return all(is_static(v) for v in value.values())
    return not isinstance(value, (*RUNTIME, *HANDLES))


class Expressions:
    """The part of the walker that evaluates expressions."""

    #  -- errors and operations ------------------------------------------------------------------

    def error(self, kind, message, node, hint=None):
        """The exception at `node` of the function being walked, with the calls that led there."""
        notes, frame = [], self.frame
        while frame.caller is not None:
            notes.append((f"called from here, by '{frame.caller.source.name}'", *self._place(frame.caller.source, frame.call)))
            frame = frame.caller
        if len(notes) > _MOST_NOTES:  # of a recursion, both ends
            notes = [*notes[: _MOST_NOTES // 2], *notes[-_MOST_NOTES // 2 :]]
        return located(kind, message, self.frame.source, node, hint, notes)

    @staticmethod
    def _place(source, node):
        return source.file, node.lineno, node.col_offset + 1

    def locate(self, node):
        line = getattr(node, "lineno", None)
        if line is not None:
            self.builder.set_location(self.frame.source.file, line, node.col_offset + 1)

    def emit(self, node, operation, *arguments):
        """Calls the builder at the place of `node`; its complaint becomes an error there."""
        self.locate(node)
        try:
            return operation(*arguments)
        except _compiler.FrontendError as error:
            kind, message, hint = error.args
            raise self.error(kind, message, node, hint) from None

    def write(self, node, place, value, what):
        """Stores into a place; what the builder warns of becomes a warning at `node`."""
        self.emit(node, self.builder.store, place, value, what)
        for message in self.builder.take_warnings():
            warn(message, self.frame.source, node)

    #  -- values ---------------------------------------------------------------------------------

    def expr(self, node):
        method = getattr(self, "expr_" + type(node).__name__, None)
        if method is None:
            raise self.error("syntax", f"kernels have no {_spelling(node)}", node)
        return self.from_outside(method(node), node)

    def value(self, node):
        return self.to_value(self.expr(node), node)

    def to_value(self, thing, node):
        """A Value of what an expression stands for."""
        if isinstance(thing, Value):
            return thing
        if isinstance(thing, Reference):
            return self.emit(node, self.builder.load, thing)
        if isinstance(thing, Components):
            return self.gathered(thing, node)
        if isinstance(thing, (bool, np.bool_)):
            return self.emit(node, self.builder.boolean, bool(thing))
        if isinstance(thing, int):
            return self.emit(node, self.builder.integer_literal, thing)
        if isinstance(thing, float):
            return self.emit(node, self.builder.float_literal, thing)
        if isinstance(thing, np.generic):
            return self.typed_constant(thing.item(), _types.dtype(thing.dtype), node)
        if isinstance(thing, MatrixValue) and thing.is_untyped:  # ti.Vector([1, 2]) outside: literals
            return self.shaped_value(thing.tolist(), thing.shape, node)
        if isinstance(thing, np.ndarray) and thing.ndim in (1, 2) and thing.size <= _MOST_CONSTANTS:
            return self.array_constant(thing, node)
        if isinstance(thing, handles.CellHandle):
            return self.to_value(self.sole_member(thing, node), node)
        raise self.error("type", f"expected a value, got {describe(thing)}", node, self._value_hint(thing))

    def settled(self, thing, node):
        """What a place holds now, so that later assignments do not change it; anything else as it is."""
        if isinstance(thing, StructValue):
            return thing.map(lambda part: self.settled(part, node))
        is_whole = isinstance(thing, handles.CellHandle) and len(thing.tree.type.members) == 1
        return self.to_value(thing, node) if is_whole or isinstance(thing, (Reference, Components)) else thing

    def shaped_value(self, thing, shape, node):
        """A Value; where a vector or matrix is wanted, also from a list (of lists) of its components."""
        if not isinstance(thing, (tuple, list)) or not shape:
            return self.to_value(thing, node)
        rows = [list(row) if isinstance(row, (tuple, list)) else row for row in thing]
        if len(shape) == 1 or not all(isinstance(row, list) for row in rows):
            return self.emit(node, self.builder.vector, [self.to_value(element, node) for element in rows], None)
        flat = [self.to_value(element, node) for row in rows for element in row]
        return self.emit(node, self.builder.matrix, flat, len(rows), None)

    def _value_hint(self, thing):
        if isinstance(thing, StructValue):
            return f"take a member: {', '.join('.' + name for name in thing.parts)}"
        if isinstance(thing, handles.TreeHandle):
            return f"take a member of a cell: {thing.name}[i, j].{next(iter(thing.type.members))}"
        if isinstance(thing, handles.MemberHandle):
            return f"take a cell: {thing.tree.name}.{thing.name}[...]"
        if isinstance(thing, (tuple, list)):
            return "make a vector of it: ti.Vector([...])"
        if isinstance(thing, np.ndarray) or isinstance(getattr(thing, "type", None), _types.TreeType):
            return "pass it to the kernel as an argument"
        if isinstance(thing, (handles.ArrayHandle, handles.StructArrayHandle)):
            return f"take an element: {thing.name}[...]"
        return None

    def text(self, thing, node):
        """A str that the compiler can take: Python's may hold halves of surrogate pairs, which no UTF-8 spells."""
        try:
            thing.encode()
        except UnicodeEncodeError:
            raise self.error("type", f"expected text that UTF-8 can spell, got {thing!r}", node) from None
        return thing

    def known_text(self, node, what):
        """A str known while compiling, also as an f-string without values of the kernel."""
        given = self.expr(node)
        if isinstance(given, handles.TextParts) and all(isinstance(part, str) for part in given.parts):
            given = "".join(given.parts)
        if not isinstance(given, str):
            raise self.error("type", f"{what}: expected a text known while compiling, got {describe(given)}", node)
        return self.text(given, node)

    def typed_constant(self, number, dtype, node):
        if dtype.is_float:
            return self.emit(node, self.builder.float_constant, float(number), dtype.code)
        return self.emit(node, self.builder.integer_constant, int(number), dtype.code)

    def array_constant(self, array, node):
        """A NumPy array from outside the kernel, of one or two dimensions, as a vector or matrix."""
        dtype = _types.dtype(array.dtype)
        parts = [self.typed_constant(number, dtype, node) for number in array.ravel().tolist()]
        if array.ndim == 1:
            return self.emit(node, self.builder.vector, parts, dtype.code)
        return self.emit(node, self.builder.matrix, parts, array.shape[0], dtype.code)

    def integer(self, node, what):
        """An int known while compiling."""
        return self.known_integer(self.expr(node), node, what)

    def known_integer(self, thing, node, what):
        if isinstance(thing, (int, np.integer)) and not isinstance(thing, bool):
            return int(thing)
        known = self.builder.known_integer(self.to_value(thing, node)) if isinstance(thing, RUNTIME) else None
        if known is None:
            raise self.error("type", f"{what}: expected an integer known while compiling, got {describe(thing)}", node)
        return known

    #  -- names, constants, containers ------------------------------------------------------------

    def expr_Constant(self, node):
        if node.value is Ellipsis or isinstance(node.value, (complex, bytes)):
            raise self.error("syntax", f"kernels have no {type(node.value).__name__} constants", node)
        return node.value

    def expr_Name(self, node):
        binding = self.frame.scope.lookup(node.id)
        if isinstance(binding, handles.Local):
            return binding.reference
        if isinstance(binding, handles.Constant):
            return binding.value
        reason = self.frame.scope.why_absent(node.id)
        if reason:
            raise self.error("name", f"'{node.id}' may have no value here: {reason}", node, "assign it before")
        found, value = self.frame.source.lookup(node.id)
        if found:
            self.captures.outside(value)
            return value
        hint = suggestion(node.id, self.name_candidates())
        raise self.error("name", f"name '{node.id}' is not defined", node, hint)

    def name_candidates(self):
        """Names that may be meant by a misspelled one: those in scope, and the language's as they are spelled here."""
        outer = self.frame.source.outer_values()
        modules = [name for name, value in outer.items() if getattr(value, "__name__", None) == "metate"]
        functions = [f"{module}.{name}" for module in modules for name in intrinsics.__all__]
        return [*self.frame.scope.visible(), *outer, *functions, *_PYTHON_NAMES]

    def expr_Tuple(self, node):
        return tuple(self.elements(node))

    def expr_List(self, node):
        return self.elements(node)

    def elements(self, node):
        found = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                found.extend(self.unpacked(self.expr(element.value), element))
            else:
                found.append(self.settled(self.expr(element), element))
        return found

    def unpacked(self, thing, node):
        """The elements of a tuple, list, shape or vector."""
        if isinstance(thing, handles.ShapeHandle):
            return [self.emit(node, self.builder.dimension, thing.array.native, k) for k in range(thing.array.ndim)]
        if isinstance(thing, (Value, Reference, Components)) and thing.type.shape:
            whole, (rows, *columns) = self.to_value(thing, node), thing.type.shape
            if columns:  # of a matrix, its rows
                return [self.group(whole, [(i, j) for j in range(*columns)], columns, node) for i in range(rows)]
            return [self.component(whole, [k], node) for k in range(rows)]
        if isinstance(thing, np.ndarray):
            self.captures.whole(thing)
            return list(thing)
        if isinstance(thing, (tuple, list, range, dict, set, str)):
            return list(thing)
        raise self.error("type", f"expected a tuple, a list or a vector, got {describe(thing)}", node)

    def expr_ListComp(self, node):
        results = []
        self.comprehend(node.generators, lambda: results.append(self.settled(self.expr(node.elt), node.elt)))
        return results

    def comprehend(self, generators, action):
        if not generators:
            action()
            return
        first, *rest = generators
        for item in self.static_items(first.iter):
            self.push_scope("static")
            self.bind_static_target(first.target, item)
            if all(self.static_truth(condition) for condition in first.ifs):
                self.comprehend(rest, action)
            self.pop_scope()

    def static_truth(self, node):
        thing = self.expr(node)
        if isinstance(thing, RUNTIME):
            raise self.error("type", "expected a condition known while compiling", node)
        return self.static_bool(thing, node)

    def static_bool(self, thing, node):
        """Python's truth of something known while compiling; an array of several elements has none."""
        return self.compute(node, bool, thing)

    #  -- operators --------------------------------------------------------------------------------

    def expr_BinOp(self, node):
        op = BINARY[type(node.op)]
        left = self.settled(self.expr(node.left), node.left)
        right = self.expr(node.right)
        return self.binary(op, left, right, node)

    def binary(self, op, left, right, node):
        if self.static_depth and is_static(left) and is_static(right):
            return self.compute(node, _STATIC_BINARY[op], left, right)
        if op == "%" and isinstance(left, str):
            return self.percent_text(left, right, node)
        is_sequences = isinstance(left, (str, tuple, list)) and isinstance(right, (str, tuple, list, int))
        if is_sequences and (op in ("+", "*") or is_static(left)):  # of values of the kernel as well: [n] * 2
            return self.compute(node, _STATIC_BINARY[op], left, right)
        a = self._operand(left, right, getattr(node, "left", node))
        b = self._operand(right, left, getattr(node, "right", node))
        return self.emit(node, self.builder.binary, op, a, b)

    def _operand(self, thing, other, node):
        """A Value; next to a vector or matrix also of a list of components."""
        is_list = isinstance(thing, (tuple, list)) and isinstance(other, (Value, Reference, Components))
        return self.shaped_value(thing, other.type.shape, node) if is_list else self.to_value(thing, node)

    def compute(self, node, function, *arguments):
        """A computation in Python, while compiling."""
        try:
            return function(*arguments)
        except CompilationError:
            raise
        except MetateError as error:
            raise self.error("type", str(error), node) from None
        except Exception as error:
            raise self.error("type", f"{type(error).__name__} while compiling: {error}", node) from None

    def expr_UnaryOp(self, node):
        op = _UNARY[type(node.op)]
        operand = self.expr(node.operand)
        is_literal = op == "-" and isinstance(operand, (int, float)) and not isinstance(operand, bool)
        if is_static(operand) and (self.static_depth or is_literal or (op == "not" and isinstance(operand, (bool, type(None))))):
            return self.compute(node, _STATIC_UNARY[op], operand)
        return self.emit(node, self.builder.unary, op, self.to_value(operand, node.operand))

    def expr_Compare(self, node):
        left = self.settled(self.expr(node.left), node.left)
        if len(node.ops) == 1:
            return self.compare(node.ops[0], left, self.expr(node.comparators[0]), node, node.left, node.comparators[0])
        return self._chain(node, left, node.left, list(zip(node.ops, node.comparators)))

    def _chain(self, node, left, left_node, rest):
        """a < b < c: the middle is computed once, the rest only if the first holds."""
        (op, right_node), *more = rest
        right = self.settled(self.expr(right_node), right_node)
        first = self.compare(op, left, right, node, left_node, right_node)
        if not more:
            return first
        if is_static(first):
            return self._chain(node, right, right_node, more) if self.static_bool(first, node) else first
        return self.both(node, first, lambda: self._chain(node, right, right_node, more))

    def compare(self, op, left, right, node, left_node, right_node):
        op = type(op)
        if is_static(left) and is_static(right) and self._is_compared_statically(op, left, right):
            if op not in (ast.Is, ast.IsNot):
                self.captures.whole(left, right)
            return self.compute(node, _STATIC_COMPARE[op], left, right)
        if op in (ast.Is, ast.IsNot) and (left is None or right is None):
            return op is ast.IsNot  # a field, an array or a value of the kernel is never None
        if op not in _COMPARE:
            raise self.error("syntax", f"'{_spelling_of(op)}' needs operands known while compiling", node)
        a, b = self.to_value(left, left_node), self.to_value(right, right_node)
        return self.emit(node, self.builder.compare, _COMPARE[op], a, b)

    def _is_compared_statically(self, op, left, right):
        integers = isinstance(left, int) and isinstance(right, int)
        numbers = isinstance(left, (int, float, np.generic)) and isinstance(right, (int, float, np.generic))
        return bool(self.static_depth) or op not in _COMPARE or integers or not numbers

    def expr_BoolOp(self, node):
        return self._bool_op(node, node.values, isinstance(node.op, ast.And))

    def _bool_op(self, node, operands, is_and):
        first, *rest = operands
        thing = self.expr(first)
        if is_static(thing) and (self.static_depth or isinstance(thing, (bool, type(None)))):
            if not rest or self.static_bool(thing, first) != is_and:
                return thing if self.static_depth else bool(thing)
            return self._bool_op(node, rest, is_and)
        left = self.truth(thing, first)
        if not rest:
            return left
        return self._short_circuit(node, left, lambda: self._bool_op(node, rest, is_and), is_and)

    def both(self, node, left, right):
        return self._short_circuit(node, left, right, True)

    def _short_circuit(self, node, left, right, is_and):
        condition = left if is_and else self.emit(node, self.builder.unary, "not", left)
        self.emit(node, self.builder.begin_if, condition)
        self.depth += 1
        yes = self.truth(right(), node)
        self.emit(node, self.builder.begin_else)
        no = self.emit(node, self.builder.boolean, not is_and)
        self.depth -= 1
        return self.emit(node, self.builder.end_if_with, yes, no)

    def truth(self, thing, node, what="condition"):
        return self.emit(node, self.builder.truth, self.to_value(thing, node), what)

    def expr_IfExp(self, node):
        condition = self.expr(node.test)
        if isinstance(condition, (bool, type(None))) or (self.static_depth and is_static(condition)):
            return self.expr(node.body if self.static_bool(condition, node.test) else node.orelse)
        self.emit(node, self.builder.begin_if, self.truth(condition, node.test))
        self.depth += 1
        yes = self.expr(node.body)
        if isinstance(yes, StructValue):
            return self._struct_choice(node, yes)
        yes = self.to_value(yes, node.body)
        self.emit(node, self.builder.begin_else)
        no = self.value(node.orelse)
        self.depth -= 1
        return self.emit(node, self.builder.end_if_with, yes, no)

    def _struct_choice(self, node, yes):
        """`s if c else t` of structs: through variables, which the branches assign."""
        yes = self.settled(yes, node.body)
        local = self.struct_local(yes, node)
        self.store_struct(local, yes, node.body, node)
        self.emit(node, self.builder.begin_else)
        self.store_struct(local, self.expr(node.orelse), node.orelse, node)
        self.depth -= 1
        self.builder.end_if()
        return self.settled(local, node)

    def expr_NamedExpr(self, node):
        self.assign(node.target, self.expr(node.value), node)
        return self.expr_Name(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))


def _spelling(node):
    names = {
        "Await": "await", "Yield": "yield", "Starred": "starred expressions here", "YieldFrom": "yield from",
    }  # fmt: skip
    return names.get(type(node).__name__, type(node).__name__)


def _spelling_of(op):
    return {ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}[op]
