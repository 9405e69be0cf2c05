"""Operators: arithmetic, comparisons, `and` and `or`, the conditional expression. At run time or while compiling."""

from __future__ import annotations

import ast
import operator

import numpy as np

from .evaluator import Evaluator
from .native import describe
from .places import Places
from .static import Reference, Value, is_static
from .struct_ops import StructOperations
from .structs import Components, StructValue
from .texts import Texts
from .values import Values
from .walk import Walk

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


class Operators:
    """Evaluates operators."""

    def __init__(self, walk: Walk, values: Values, evaluator: Evaluator, structs: StructOperations, places: Places, texts: Texts):
        self.walk, self.builder = walk, walk.builder
        self.values, self.evaluator, self.structs, self.places, self.texts = values, evaluator, structs, places, texts

    #  -- arithmetic -------------------------------------------------------------------------------

    def expr_BinOp(self, node):
        op = BINARY[type(node.op)]
        left = self.values.settled(self.evaluator.expr(node.left), node.left)
        right = self.evaluator.expr(node.right)
        return self.binary(op, left, right, node)

    def binary(self, op, left, right, node):
        """`left op right`, of what the operands stand for."""
        if self.walk.static_depth and is_static(left) and is_static(right):
            return self.walk.compute(node, _STATIC_BINARY[op], left, right)
        if op == "%" and isinstance(left, str):
            return self.texts.percent_text(left, right, node)
        is_sequences = isinstance(left, (str, tuple, list)) and isinstance(right, (str, tuple, list, int))
        if is_sequences and (op in ("+", "*") or is_static(left)):  # of values of the kernel as well: [n] * 2
            return self.walk.compute(node, _STATIC_BINARY[op], left, right)
        a = self.beside(left, right, getattr(node, "left", node))
        b = self.beside(right, left, getattr(node, "right", node))
        if op == "@" and len(a.type.shape) == 1:  # a row
            if len(b.type.shape) == 1:
                return self.walk.emit(node, self.builder.linear_pair, "dot", a, b)
            a, b = self.walk.emit(node, self.builder.linear, "transpose", b), a
        return self.walk.emit(node, self.builder.binary, op, a, b)

    def beside(self, thing, other, node):
        """A Value; next to a vector or matrix also of a list of components."""
        is_list = isinstance(thing, (tuple, list)) and isinstance(other, (Value, Reference, Components))
        return self.values.shaped_value(thing, other.type.shape, node) if is_list else self.values.to_value(thing, node)

    def expr_UnaryOp(self, node):
        return self.unary(_UNARY[type(node.op)], self.evaluator.expr(node.operand), node, node.operand)

    def unary(self, op, operand, node, operand_node):
        """`op operand`, of what the operand stands for."""
        is_literal = op == "-" and isinstance(operand, (int, float)) and not isinstance(operand, bool)
        if is_static(operand) and (
            self.walk.static_depth or is_literal or (op == "not" and isinstance(operand, (bool, type(None))))
        ):
            return self.walk.compute(node, _STATIC_UNARY[op], operand)
        return self.walk.emit(node, self.builder.unary, op, self.values.to_value(operand, operand_node))

    #  -- comparisons ------------------------------------------------------------------------------

    def expr_Compare(self, node):
        left = self.values.settled(self.evaluator.expr(node.left), node.left)
        if len(node.ops) == 1:
            return self.compare(node.ops[0], left, self.evaluator.expr(node.comparators[0]), node, node.left, node.comparators[0])
        return self._chain(node, left, node.left, list(zip(node.ops, node.comparators)))

    def _chain(self, node, left, left_node, rest):
        """a < b < c: the middle is computed once, the rest only if the first holds."""
        (op, right_node), *more = rest
        right = self.values.settled(self.evaluator.expr(right_node), right_node)
        first = self.compare(op, left, right, node, left_node, right_node)
        if not more:
            return first
        if is_static(first):
            return self._chain(node, right, right_node, more) if self.values.static_bool(first, node) else first
        return self.both(node, first, lambda: self._chain(node, right, right_node, more))

    def compare(self, op, left, right, node, left_node, right_node):
        """`left op right` of a comparison, of what the operands stand for."""
        op = type(op)
        if is_static(left) and is_static(right) and self._is_compared_statically(op, left, right):
            if op not in (ast.Is, ast.IsNot):
                self.walk.captures.whole(left, right)
            return self.walk.compute(node, _STATIC_COMPARE[op], left, right)
        if op in (ast.Is, ast.IsNot) and (left is None or right is None):
            return op is ast.IsNot  # a field, an array or a value of the kernel is never None
        if op not in _COMPARE:
            raise self.walk.error("syntax", f"'{_spelling_of(op)}' needs operands known while compiling", node)
        a, b = self.beside(left, right, left_node), self.beside(right, left, right_node)
        return self.walk.emit(node, self.builder.compare, _COMPARE[op], a, b)

    def _is_compared_statically(self, op, left, right):
        integers = isinstance(left, int) and isinstance(right, int)
        numbers = isinstance(left, (int, float, np.generic)) and isinstance(right, (int, float, np.generic))
        return bool(self.walk.static_depth) or op not in _COMPARE or integers or not numbers

    #  -- what is evaluated under a condition ------------------------------------------------------

    def expr_BoolOp(self, node):
        return self._bool_op(node, node.values, isinstance(node.op, ast.And))

    def _bool_op(self, node, operands, is_and):
        first, *rest = operands
        thing = self.evaluator.expr(first)
        if is_static(thing) and (self.walk.static_depth or isinstance(thing, (bool, type(None)))):
            if not rest or self.values.static_bool(thing, first) != is_and:
                return thing if self.walk.static_depth else bool(thing)
            return self._bool_op(node, rest, is_and)
        left = self.values.truth(thing, first)
        if not rest:
            return left
        return self._short_circuit(node, left, lambda: self._bool_op(node, rest, is_and), is_and)

    def both(self, node, left, right):
        """`left and right()`: the right one is evaluated where the left one holds."""
        return self._short_circuit(node, left, right, True)

    def _short_circuit(self, node, left, right, is_and):
        condition = left if is_and else self.walk.emit(node, self.builder.unary, "not", left)
        self.walk.emit(node, self.builder.begin_if, condition)
        self.walk.depth += 1
        yes = self.values.truth(right(), node)
        self.walk.emit(node, self.builder.begin_else)
        no = self.walk.emit(node, self.builder.boolean, not is_and)
        self.walk.depth -= 1
        return self.walk.emit(node, self.builder.end_if_with, yes, no)

    def expr_IfExp(self, node):
        condition = self.evaluator.expr(node.test)
        if isinstance(condition, (bool, type(None))) or (self.walk.static_depth and is_static(condition)):
            return self.evaluator.expr(node.body if self.values.static_bool(condition, node.test) else node.orelse)
        shape = getattr(getattr(condition, "type", None), "shape", ())
        if shape:
            hint = "reduce it first: .any() or .all(), or choose component by component: ti.select(...)"
            raise self.walk.error("form", f"condition: expected a scalar condition, got {describe(condition)}", node.test, hint)
        self.walk.emit(node, self.builder.begin_if, self.values.truth(condition, node.test))
        self.walk.depth += 1
        yes = self.evaluator.expr(node.body)
        if isinstance(yes, StructValue):
            return self._struct_choice(node, yes)
        yes = self.values.to_value(yes, node.body)
        self.walk.emit(node, self.builder.begin_else)
        no = self.evaluator.value(node.orelse)
        self.walk.depth -= 1
        return self.walk.emit(node, self.builder.end_if_with, yes, no)

    def _struct_choice(self, node, yes):
        """`s if c else t` of structs: through variables, which the branches assign."""
        yes = self.values.settled(yes, node.body)
        local = self.structs.struct_local(yes, node)
        self.places.store_struct(local, yes, node.body, node)
        self.walk.emit(node, self.builder.begin_else)
        self.places.store_struct(local, self.evaluator.expr(node.orelse), node.orelse, node)
        self.walk.depth -= 1
        self.builder.end_if()
        return self.values.settled(local, node)


def _spelling_of(op):
    return {ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}[op]
