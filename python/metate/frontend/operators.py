"""Operators: arithmetic, comparisons, `and` and `or`, the conditional expression. At run time or while compiling."""

from __future__ import annotations

import ast
import operator

import numpy as np

from .. import value_types as _types
from . import constants as _constants
from .constants import Constants, is_number
from .evaluator import Evaluator
from .native import describe
from .places import Places
from .static import Reference, Value, is_static, shape_of
from .struct_ops import StructOperations
from .structs import Components, StructValue
from .texts import Texts
from .values import Values
from .walk import Walk

BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.MatMult: "@",
}  # fmt: skip
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_STATIC_COMPARE = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip


class Operators:
    """Evaluates operators."""

    def __init__(
        self,
        walk: Walk,
        constants: Constants,
        values: Values,
        evaluator: Evaluator,
        structs: StructOperations,
        places: Places,
        texts: Texts,
    ):
        self.walk, self.builder, self.constants = walk, walk.builder, constants
        self.values, self.evaluator, self.structs, self.places, self.texts = values, evaluator, structs, places, texts

    #  -- arithmetic -------------------------------------------------------------------------------

    def expr_BinOp(self, node):
        op = BINARY[type(node.op)]
        left = self.values.settled(self.evaluator.expr(node.left), node.left)
        right = self.evaluator.expr(node.right)
        return self.binary(op, left, right, node)

    def binary(self, op, left, right, node):
        """`left op right`, of what the operands stand for."""
        known = self.constants.binary(op, left, right, node) if is_number(left, right) else None
        if known is not None:
            return known
        if self.walk.static_depth and op in _constants.BINARY and is_static(left) and is_static(right):
            return self.walk.compute(node, _constants.BINARY[op], left, right)
        if op == "%" and isinstance(left, str):
            return self.texts.percent_text(left, right, node)
        is_sequences = isinstance(left, (str, tuple, list)) and isinstance(right, (str, tuple, list, int))
        if is_sequences and (op in ("+", "*") or is_static(left)):  # of values of the kernel as well: [n] * 2
            return self.walk.compute(node, _constants.BINARY[op], left, right)
        if op == "**" and is_number(right) and right < 0:
            self._refuse_exponent(left, right, node)
        a = self.beside(left, right, getattr(node, "left", node))
        b = self.beside(right, left, getattr(node, "right", node))
        if op == "@" and len(a.type.shape) == 1:  # a row
            if len(b.type.shape) == 1:
                return self.walk.emit(node, self.builder.linear_pair, "dot", a, b)
            a, b = self.walk.emit(node, self.builder.linear, "transpose", b), a
        if op == "**" and self.walk.options.debug and not is_number(right):
            self._check_exponent(a, b, node)
        return self.walk.emit(node, self.builder.binary, op, a, b)

    def _check_exponent(self, base, exponent, node):
        """In debug mode a power of integers stops where the exponent is below zero."""
        if any(_types.dtype(value.type.code).kind != "int" for value in (base, exponent)):
            return
        is_right = self.compare(ast.GtE(), exponent, 0, node, node, node)
        if exponent.type.shape:
            is_right = self.walk.emit(node, self.builder.linear, "all", is_right)
        text = "Negative exponent in pow(int, int) is not allowed."
        self.walk.emit(node, self.builder.assert_that, is_right, [text])

    def _refuse_exponent(self, base, exponent, node):
        """A power of an integer by a constant below zero is no integer: 10 ** -2 of a variable would be 0."""
        type_ = getattr(base, "type", None)
        if isinstance(exponent, float) or not hasattr(type_, "code") or _types.dtype(type_.code).is_float:
            return
        text = f"operator '**' of an integer: expected an exponent of at least 0, got {exponent}"
        raise self.walk.error("type", text, getattr(node, "right", node), "cast the base to a float: ti.cast(x, float)")

    def beside(self, thing, other, node):
        """A Value; next to a vector or matrix also of a list of components."""
        is_list = isinstance(thing, (tuple, list)) and isinstance(other, (Value, Reference, Components))
        return self.values.shaped_value(thing, other.type.shape, node) if is_list else self.values.to_value(thing, node)

    def expr_UnaryOp(self, node):
        op = _UNARY[type(node.op)]
        if op == "not":
            tested = self.evaluator.tested(node.operand)
            if shape_of(tested):
                return self._component_truths(tested, node.operand, "==")
            operand = self.evaluator.decided(tested, node.operand, "operand of 'not'")
        else:
            operand = self.evaluator.expr(node.operand)
        return self.unary(op, operand, node, node.operand)

    def unary(self, op, operand, node, operand_node):
        """`op operand`, of what the operand stands for."""
        known = self.constants.unary(op, operand, node) if is_number(operand) else None
        if known is not None:
            return known
        if is_static(operand) and (self.walk.static_depth or op == "not"):
            return self.walk.compute(node, _constants.UNARY[op], operand)
        return self.walk.emit(node, self.builder.unary, op, self.values.to_value(operand, operand_node))

    #  -- comparisons ------------------------------------------------------------------------------

    def expr_Compare(self, node):
        left = self.values.settled(self.evaluator.expr(node.left), node.left)
        if len(node.ops) == 1:
            return self.compare(node.ops[0], left, self.evaluator.expr(node.comparators[0]), node, node.left, node.comparators[0])
        return self._chain(node, left, node.left, list(zip(node.ops, node.comparators)))

    def _chain(self, node, left, left_node, rest):
        """a < b < c: the middle is computed once, the rest only if the first holds; of vectors component by component."""
        (op, right_node), *more = rest
        right = self.values.settled(self.evaluator.expr(right_node), right_node)
        first = self.compare(op, left, right, node, left_node, right_node)
        if not more:
            return first
        if is_static(first):
            return self._chain(node, right, right_node, more) if self.values.static_bool(first, node) else first
        if shape_of(first):
            return self.walk.emit(node, self.builder.binary, "&", first, self._chain(node, right, right_node, more))
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
        typed = isinstance(left, np.generic) or isinstance(right, np.generic)
        numbers = isinstance(left, (int, float, np.generic)) and isinstance(right, (int, float, np.generic))
        return bool(self.walk.static_depth) or op not in _COMPARE or not numbers or not typed

    #  -- what is evaluated under a condition ------------------------------------------------------

    def expr_BoolOp(self, node):
        """`a and b`, `a or b`: the operand that decides, as in Python."""
        first, *rest = node.values
        return self._decided(node, first, rest, isinstance(node.op, ast.And))

    def _decided(self, node, first, rest, is_and):
        thing = self.values.settled(self.evaluator.expr(first), first)
        if is_static(thing):
            if not rest or self.values.static_bool(thing, first) != is_and:
                return thing
            return self._decided(node, rest[0], rest[1:], is_and)
        if not rest:
            return thing
        if shape_of(thing):
            return self._of_components(node, thing, first, rest, is_and)
        value = self._deciding(thing, first, is_and)
        truth = self.values.truth(value, first)
        self.walk.emit(node, self.builder.begin_if, truth if is_and else self.walk.emit(node, self.builder.unary, "not", truth))
        self.walk.depth += 1
        other = self._deciding(self._decided(node, rest[0], rest[1:], is_and), rest[0], is_and)
        is_of_components = bool(other.type.shape)
        if is_of_components:
            other = self._component_truths(other, rest[0], "!=")
        self.walk.emit(node, self.builder.begin_else)
        if is_of_components or value.type.code == _types.u1.code:
            value = self.walk.emit(node, self.builder.boolean, not is_and)
        self.walk.depth -= 1
        return self.walk.emit(node, self.builder.end_if_with, other, value)

    def _of_components(self, node, thing, first, rest, is_and):
        """`and`, `or` of vectors and matrices: truth values, component by component; every operand is evaluated."""
        truths = self._component_truths(thing, first, "!=")
        for operand in rest:
            other = self._component_truths(self.evaluator.expr(operand), operand, "!=")
            truths = self.walk.emit(node, self.builder.binary, "&" if is_and else "|", truths, other)
        return truths

    def _component_truths(self, thing, node, op):
        """Each component compared with zero; also of a scalar, for all components."""
        value = self.values.to_value(thing, node)
        if op == "!=" and value.type.code == _types.u1.code:
            return value
        return self.walk.emit(node, self.builder.compare, op, value, self.values.to_value(0, node))

    def _deciding(self, thing, node, is_and):
        """An operand as a value: an integer or a truth value."""
        value = self.values.to_value(thing, node)
        if _types.dtype(value.type.code).is_float and not value.type.shape:
            text = f"operand of '{'and' if is_and else 'or'}': expected an integer or a truth value, got {value.type.name}"
            raise self.walk.error("type", text, node, "ask what is meant, x != 0.0, or choose: a if x != 0.0 else b")
        return value

    def truth_BoolOp(self, node):
        """The same where only the truth counts: operands may be floats."""
        return self._all_or_any(node, node.values, isinstance(node.op, ast.And))

    def _all_or_any(self, node, operands, is_and):
        first, *rest = operands
        thing = self.evaluator.condition(first)
        if not rest or (isinstance(thing, bool) and thing != is_and):
            return thing
        others = lambda: self._all_or_any(node, rest, is_and)
        return others() if isinstance(thing, bool) else self._short_circuit(node, thing, others, is_and)

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
        tested = self.evaluator.tested(node.test)
        if shape_of(tested):
            hint = "reduce it first: .any() or .all(), or choose component by component: ti.select(...)"
            raise self.walk.error("form", f"condition: expected a scalar condition, got {describe(tested)}", node.test, hint)
        condition = self.evaluator.decided(tested, node.test)
        if isinstance(condition, bool):
            return self.evaluator.expr(node.body if condition else node.orelse)
        self.walk.emit(node, self.builder.begin_if, condition)
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
