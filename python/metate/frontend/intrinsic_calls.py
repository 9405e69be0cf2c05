"""Calls of the language's own functions (metate.intrinsics), one method each or one table for many."""

from __future__ import annotations

import ast

import numpy as np

from metate_native import _compiler

from ..intrinsics import Box
from . import handles
from .arguments import Arguments
from .component_access import LINEAR_PAIRS
from .constant_reads import ConstantReads
from .constants import is_number
from .construction import Construction
from .diagnostics import suggestion
from .evaluator import Evaluator
from .native import describe
from .operators import Operators
from .places import Places
from .random_calls import RandomCalls
from .sparse import CELL_CALLS, SparseCalls
from .static import Reference, Value, is_static, shape_of
from .struct_ops import StructOperations
from .structs import Components, StructValue
from .values import Values
from .walk import Walk

_FUNCTIONS = frozenset(_compiler.KernelBuilder.function_names())
_ATOMICS = ("add", "sub", "mul", "min", "max", "and", "or", "xor")
_LINEAR = ("norm", "norm_sqr", "normalized", "transpose", "determinant", "inverse", "trace")
_BINARY = ("atan2", "pow", "raw_div", "raw_mod", "bit_shr")


class IntrinsicCalls:
    """Calls the language's functions by name."""

    def __init__(
        self,
        walk: Walk,
        evaluator: Evaluator,
        values: Values,
        arguments: Arguments,
        structs: StructOperations,
        places: Places,
        operators: Operators,
        construction: Construction,
        random_calls: RandomCalls,
        sparse: SparseCalls,
        constant_reads: ConstantReads,
    ):
        self.walk, self.builder = walk, walk.builder
        self.evaluator, self.values, self.arguments, self.structs, self.places = evaluator, values, arguments, structs, places
        self.operators, self.sparse = operators, sparse
        self._rules = {
            "select": self.call_select, "static": self.call_static, "static_print": self.call_static_print,
            "static_assert": self.call_static_assert, "loop_config": self.call_loop_config, "ndrange": self.call_ndrange,
            "grouped": self.call_grouped, "block_local": self.call_block_local, "cache_read_only": self.call_block_local,
            "assume_in_range": self.call_assume_in_range, "cast": construction.call_converted,
            "bit_cast": construction.call_bit_cast, "Vector": construction.call_Vector, "Matrix": construction.call_Matrix,
            "zero": construction.call_zero, "one": construction.call_one, "unit": construction.call_unit,
            "identity": construction.call_identity, "rows": construction.call_rows, "cols": construction.call_cols,
            "diag": construction.call_diag, "zero_like": construction.call_zero_like, "one_like": construction.call_one_like,
            "random": random_calls.call_random, "randn": random_calls.call_randn, "used": sparse.call_used,
            "rescale_index": sparse.call_rescale_index, "no_activate": sparse.call_no_activate,
            "stop_grad": constant_reads.call_stop_grad,
        }  # fmt: skip

    def call_intrinsic(self, name, node):
        """One of the language's functions, by its name."""
        if name in ("floor", "ceil", "round", "trunc") and node.args and len(node.args) + len(node.keywords) == 2:
            (thing, *rest), keywords = self.arguments.of(node, names=("dtype",))
            dtype = self.values.scalar_type(rest[0] if rest else keywords.get("dtype"), node)
            known = self.operators.constants.function(name, thing) if is_number(thing) else None
            return self.values.cast_to(self._function(name, thing, node) if known is None else known, dtype, node)
        if name in _FUNCTIONS:
            (thing,), _ = self.arguments.of(node, 1)
            known = self.operators.constants.function(name, thing) if is_number(thing) else None
            return self._function(name, thing, node) if known is None else known
        if name in ("min", "max"):
            return self._extremum(name, node)
        if name in _BINARY:
            (a, b), _ = self.arguments.of(node, 2)
            return self.operators.binary(name, a, b, node) if name != "pow" else self.operators.binary("**", a, b, node)
        if name in _LINEAR:
            (thing,), _ = self.arguments.of(node, 1)
            return self.walk.emit(node, self.builder.linear, name, self.values.to_value(thing, node.args[0]))
        if name in LINEAR_PAIRS:
            (a, b), _ = self.arguments.of(node, 2)
            return self.walk.emit(
                node, self.builder.linear_pair, name, self.values.to_value(a, node.args[0]), self.values.to_value(b, node.args[1])
            )
        if name.startswith("atomic_"):
            return self._atomic(name.removeprefix("atomic_"), node)
        if name in CELL_CALLS:
            return self.sparse.call_sparse(name, node)
        return self._rules[name](node)

    def _function(self, name, thing, node):
        return self.walk.emit(node, self.builder.function, name, self.values.to_value(thing, node.args[0]))

    def _extremum(self, name, node):
        arguments, _ = self.arguments.of(node, names=())
        if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
            arguments = list(arguments[0])
        if not arguments:
            raise self.walk.error("type", f"{name}: expected at least one argument, got none", node)
        if is_number(*arguments) or (self.walk.static_depth and is_static(arguments)):
            return self.walk.compute(node, lambda: (min if name == "min" else max)(arguments))
        if len(arguments) == 1:
            return self.walk.emit(node, self.builder.linear, name, self.values.to_value(arguments[0], node))
        shaped = next((one for one in arguments if shape_of(one)), None)
        result, *others = [self.operators.beside(argument, shaped, node) for argument in arguments]
        for other in others:
            result = self.walk.emit(node, self.builder.binary, name, result, other)
        return result

    def call_select(self, node):
        """select(condition, a, b)"""
        (condition, yes, no), _ = self.arguments.of(node, 3)
        if isinstance(yes, StructValue) or isinstance(no, StructValue):
            return self.structs.select_struct(condition, yes, no, node)
        things = (condition, yes, no)
        shaped = next((one for one in things if shape_of(one)), None)
        values = [self.operators.beside(thing, shaped, at) for thing, at in zip(things, self.arguments.spots(node, things))]
        return self.walk.emit(node, self.builder.select, *values)

    def _atomic(self, op, node):
        (place, *operands), _ = self.arguments.of(node, 3 if op == "compare_exchange" else 2, places={0})
        if isinstance(place, handles.CellHandle):
            place = self.values.sole_member(place, node.args[0])
        if not isinstance(place, (Reference, Components)):
            raise self.walk.error(
                "type",
                f"atomic_{op}: expected a place such as x[i], f.a[i, j] or a variable, got {describe(place)}",
                node.args[0],
            )
        if op == "compare_exchange":
            return self.places.compare_exchange(place, *operands, node)
        return self.places.atomic(op, place, *operands, node.args[1])

    #  -- compile time -----------------------------------------------------------------------------

    def call_static(self, node):
        """static(x, ...): computed while compiling"""
        self.walk.static_depth += 1
        try:
            things, _ = self.arguments.of(node)
        finally:
            self.walk.static_depth -= 1
        for thing, at in zip(things, node.args):
            if isinstance(thing, (Value, Reference, handles.ShapeHandle)):
                raise self.walk.error("type", f"static: expected what is known while compiling, got {describe(thing)}", at)
        return things[0] if len(things) == 1 else tuple(things)

    def call_static_print(self, node):
        """static_print(x, ...): prints while compiling"""
        self.walk.static_depth += 1
        things, _ = self.arguments.of(node)
        self.walk.static_depth -= 1
        self.walk.captures.requirements.said.append("static_print")
        print(*(thing if is_static(thing) else describe(thing) for thing in things))

    def call_static_assert(self, node):
        """static_assert(condition, text)"""
        if not node.args:
            raise self.walk.error("type", "static_assert: expected a condition, got none", node)
        condition, *message = node.args
        self.walk.static_depth += 1
        holds = self.evaluator.static_truth(condition)
        text = self.evaluator.known_text(message[0], "static_assert") if message else ast.unparse(condition)
        self.walk.static_depth -= 1
        if not holds:
            raise self.walk.error("type", f"static assertion failed: {text}", node)

    def call_loop_config(self, node):
        """loop_config(serialize=True): of the next loop"""
        _, keywords = self.arguments.of(node)
        known = ("serialize", "parallelize", "block_dim", "block_dim_adaptive", "bit_vectorize")
        for keyword in keywords:
            if keyword not in known:
                raise self.walk.error("type", f"loop_config has no parameter '{keyword}'", node, suggestion(keyword, known))
        self.walk.serialize_next = bool(keywords.get("serialize", False))

    def call_block_local(self, node):
        """A hint that has no meaning here; its arguments are looked at all the same."""
        if not self.arguments.of(node)[0]:
            raise self.walk.error("type", "expected at least one field, got none", node)

    def call_assume_in_range(self, node):
        """assume_in_range(x, base, low, high): x"""
        (thing, *_), _ = self.arguments.of(node, 4)
        return thing

    def call_ndrange(self, node):
        """ndrange(...) of what is known while compiling; loops look at it themselves"""
        things, _ = self.arguments.of(node)
        if self.walk.static_depth or is_static(things):
            return self.walk.compute(node, Box, *things)
        raise self.walk.error("syntax", "ndrange of values of the kernel stands after 'in' of a for loop only", node)

    def call_grouped(self, node):
        """grouped(...) of what is known while compiling; loops look at it themselves"""
        if self.walk.static_depth:
            (thing,), _ = self.arguments.of(node, 1)
            return self.walk.compute(node, lambda: [np.asarray(item, np.int32) for item in thing])
        raise self.walk.error("syntax", "grouped stands after 'in' of a for loop only", node)
