"""Loops: ranges, boxes, trees, arrays, unrolled ones, while.

A for loop directly in the kernel is parallel; everything inside runs in order.
"""

from __future__ import annotations

import ast

import numpy as np

from .. import intrinsics
from . import analysis, handles
from .blocks import Blocks
from .cell_loops import CellLoops
from .evaluator import Evaluator
from .fields import Fields
from .flags import Flags, StaticJump
from .levels import levels_of
from .loop_bounds import LoopBounds
from .loop_targets import LoopTargets
from .native import describe
from .operators import Operators
from .private_variables import PrivateVariables
from .static import is_static
from .unrolling import Unrolling
from .values import Values
from .walk import Walk


class Loops:
    """Runs through loops."""

    def __init__(
        self,
        walk: Walk,
        evaluator: Evaluator,
        bounds: LoopBounds,
        targets: LoopTargets,
        values: Values,
        blocks: Blocks,
        flags: Flags,
        fields: Fields,
        cells: CellLoops,
        operators: Operators,
        unrolling: Unrolling,
        privates: PrivateVariables,
    ):
        self.walk, self.builder = walk, walk.builder
        self.evaluator, self.bounds, self.targets = evaluator, bounds, targets
        self.values, self.blocks, self.flags = values, blocks, flags
        self.fields, self.cells, self.operators, self.unrolling = fields, cells, operators, unrolling
        self.privates = privates

    #  -- what a loop runs over --------------------------------------------------------------------

    def statement_For(self, node):
        if node.orelse:
            raise self.walk.error("syntax", "kernels have no else of a loop", node.orelse[0])
        serialize, self.walk.serialize_next = self.walk.serialize_next, False
        callee = self.evaluator.expr(node.iter.func) if isinstance(node.iter, ast.Call) else None
        if callee is intrinsics.static:
            self._unrolled(node)
        elif callee is range:
            self._boxed(node, [self.bounds.of_range(node.iter)], False, serialize)
        elif callee is intrinsics.ndrange:
            self._boxed(node, self.bounds.of_call(node.iter), False, serialize, is_box=True)
        elif callee is intrinsics.grouped:
            self._grouped(node, serialize)
        elif callee is not None and any(callee is function for function in (zip, enumerate, reversed)):
            raise self.walk.error(
                "syntax",
                f"a loop over {callee.__name__}(...) must be unrolled",
                node.iter,
                f"write ti.static({ast.unparse(node.iter)})",
            )
        else:
            self._over(node, node.iter, False, serialize)

    def _grouped(self, node, serialize):
        if len(node.iter.args) != 1 or node.iter.keywords:
            raise self.walk.error(
                "type", f"grouped: expected 1 argument, got {len(node.iter.args) + len(node.iter.keywords)}", node.iter
            )
        (inner,) = node.iter.args
        callee = self.evaluator.expr(inner.func) if isinstance(inner, ast.Call) else None
        if callee is intrinsics.ndrange:
            self._boxed(node, self.bounds.of_call(inner), True, serialize, is_box=True)
        else:
            self._over(node, inner, True, serialize)

    def _over(self, node, iterable, is_grouped, serialize):
        """A loop over a tree, a member, a level, or the indices of an array."""
        thing = self.evaluator.expr(iterable)
        if isinstance(thing, intrinsics.Box):
            self._boxed(node, self.bounds.of_box(thing, iterable), is_grouped, serialize, is_box=True)
            return
        if isinstance(thing, handles.StructFieldHandle):
            thing = self.fields.first_field(thing, iterable)
        if isinstance(thing, handles.TreeHandle):
            thing = handles.MemberHandle(thing, self.fields.sole_active_set(thing, iterable))
        if isinstance(thing, (handles.MemberHandle, handles.LevelHandle, handles.FieldHandle)):
            self._for_each(node, thing, is_grouped, serialize)
        elif isinstance(thing, handles.ARRAYS):
            self._boxed(node, self.bounds.of_array(thing.first, iterable), is_grouped, serialize, is_box=True)
        else:
            hint = (
                f"unroll it: ti.static({ast.unparse(iterable)})"
                if isinstance(thing, (tuple, list, dict, set)) or (is_static(thing) and np.iterable(thing))
                else None
            )
            raise self.walk.error(
                "type", f"expected a range, a tree or an array to loop over, got {describe(thing)}", iterable, hint
            )

    #  -- loops at run time ------------------------------------------------------------------------

    def _is_outermost(self, node):
        """Is it a loop of the kernel, or of a function that the kernel calls outside of its loops?

        In a function, and under a condition that is a constant, one whose iterations depend on each other runs in order.
        """
        if self.walk.depth or (self.walk.frame.is_kernel and not self.walk.constant_branches):
            return self.walk.depth == 0
        visible = self.walk.frame.scope.visible()
        variables = {name for name, binding in visible.items() if isinstance(binding, handles.Local)}
        return not analysis.order_matters(node.body, variables, self.walk.frame.accumulated)

    def _boxed(self, node, bounds, is_grouped, serialize, is_box=False):
        if not bounds:
            self._once(node, is_grouped)
            return
        self.targets.check(node, len(bounds), is_grouped)
        if self._is_outermost(node) and not serialize and not self.bounds.is_single(bounds):
            loop = handles.Loop(False, True, self.walk.depth + 1)
            variables = self.walk.emit(node, self.builder.begin_parallel, bounds)
            self._body(node, loop, variables, is_grouped)
            self.builder.end_loop()
            return
        loop = handles.Loop(False, False, self.walk.depth + len(bounds))
        if self._may_end_early(node):
            loop.going = self.flags.make(node)
        variables = [self.walk.emit(node, self.builder.begin_serial, low, high, step, loop.going) for low, high, step in bounds]
        self._body(node, loop, variables, is_grouped)
        for _ in bounds:
            self.builder.end_loop()

    def _once(self, node, is_grouped):
        """A loop over no dimensions, a field of shape () say: one iteration, whose index has no components."""
        if not is_grouped:
            self.targets.check(node, 0, is_grouped)
        zero, one = self.values.to_value(0, node), self.values.to_value(1, node)
        loop = handles.Loop(False, False, self.walk.depth + 1)
        if self._may_end_early(node):
            loop.going = self.flags.make(node)
        self.walk.emit(node, self.builder.begin_serial, zero, one, None, loop.going)
        self._body(node, loop, [], is_grouped)
        self.builder.end_loop()

    def _for_each(self, node, thing, is_grouped, serialize):
        if isinstance(thing, handles.FieldHandle) and not thing.shape:
            self._once(node, is_grouped)
            return
        in_function = self.builder.is_in_function
        if self.walk.depth and not in_function:
            raise self.walk.error(
                "syntax", f"a loop over {describe(thing)} must be the outermost one", node, "loop over ranges of its cells inside"
            )
        said, offset = thing, (0,)
        if isinstance(thing, handles.FieldHandle):
            thing, offset = self.fields.field_member(thing), thing.placement.offset
        self.targets.check(node, self._rank(thing), is_grouped)
        if serialize or in_function or not self._is_outermost(node):
            self.cells.check(node, thing, said)
            self._in_order(node, thing, is_grouped, offset)
            return
        variables = self.walk.emit(node, self.builder.begin_for_each, thing.tree.native, thing.name)
        variables = self._shifted(variables, offset, node)
        self._body(node, handles.Loop(False, True, self.walk.depth + 1), variables, is_grouped)
        self.builder.end_loop()

    def _in_order(self, node, thing, is_grouped, offset):
        loop = handles.Loop(False, False, self.walk.depth + self.cells.depth(thing))
        if self._may_end_early(node):
            loop.going = self.flags.make(node)
        variables, opened = self.cells.begin(node, thing, loop.going)
        self._body(node, loop, self._shifted(variables, offset, node), is_grouped)
        self.cells.end(opened)

    def _shifted(self, variables, offset, node):
        """The coordinates of a tree's cell as the indices of a field's element; of a tree both are the same."""
        if not any(offset):
            return variables
        return [self.fields.shifted(variable, first, node) for variable, first in zip(variables, offset)]

    def _may_end_early(self, node):
        """Does it break, or return from a function that is inlined or called?"""
        return analysis.contains_break(node.body) or (self.walk.frame.live is not None and analysis.contains_return(node.body))

    @staticmethod
    def _rank(thing):
        return len(set().union(*(level.axes for level in levels_of(thing.tree.type, thing.name))))

    def _body(self, node, loop, variables, is_grouped):
        """Walks the body with its variables bound; the builder stands in the loop already."""
        outer, self.walk.depth = self.walk.depth, loop.depth
        self.walk.push_scope("loop")
        self.targets.bind(node, variables, is_grouped)
        if loop.is_parallel:
            self.privates.make(node)
        self._loop_block(node, loop)
        self.walk.depth = outer

    def _loop_block(self, node, loop):
        jumps = analysis.contains_continue(node.body) or analysis.contains_break(node.body)
        returns = self.walk.frame.live is not None and analysis.contains_return(node.body)
        if jumps or returns:
            loop.active = self.flags.make(node)
        self.walk.frame.loops.append(loop)
        constants = self.walk.constants
        self.blocks.block(node.body)
        self.walk.constants = constants
        self.walk.frame.loops.pop()
        scope = self.walk.frame.scope
        self.walk.pop_scope()
        for name in scope.names:
            if self.walk.frame.scope.lookup(name) is None:
                self.walk.frame.scope.absent[name] = "it is assigned inside a loop, which may run no iteration"

    def statement_While(self, node):
        if node.orelse:
            raise self.walk.error("syntax", "kernels have no else of a loop", node.orelse[0])
        loop = handles.Loop(False, False, self.walk.depth + 1)
        if self._may_end_early(node):
            loop.going = self.flags.make(node)
        self.walk.emit(node, self.builder.begin_while)
        outer, self.walk.depth = self.walk.depth, loop.depth
        test = lambda: self.values.truth(self.evaluator.condition(node.test), node.test)
        if loop.going is None:
            condition = test()
        else:  # after a break the condition is not asked again
            condition = self.operators.both(node, self.walk.emit(node, self.builder.load, loop.going), test)
        self.walk.emit(node, self.builder.begin_while_body, condition, None)
        self.walk.push_scope("loop")
        self._loop_block(node, loop)
        self.walk.depth = outer
        self.builder.end_loop()

    #  -- unrolled loops ---------------------------------------------------------------------------

    def _unrolled(self, node):
        (iterable,) = node.iter.args if len(node.iter.args) == 1 else (None,)
        if iterable is None:
            raise self.walk.error("type", f"static: expected 1 iterable, got {len(node.iter.args)}", node.iter)
        self.targets.check_names(node.target)
        loop = handles.Loop(True, False, self.walk.depth)
        self.walk.frame.loops.append(loop)
        outer, constants = self.walk.depth, self.walk.constants
        last = self._iterations(node, loop, self.unrolling.static_items(iterable))
        for _ in range(self.walk.depth - outer):
            self.builder.end_if()
        self.walk.depth, self.walk.constants = outer, constants
        self.walk.frame.loops.pop()
        names = {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
        for name, binding in last.items():  # as in Python, names of the last iteration stay
            before = self.walk.frame.scope.lookup(name)
            if name in names and isinstance(binding, handles.Constant):
                binding = handles.Constant(binding.value, is_left=True)
            if before is None or getattr(before, "is_left", False):
                self.walk.frame.scope.names[name] = binding

    def _iterations(self, node, loop, items):
        """Walks the body for each item. After an iteration that may return, the next ones stand under a test."""
        may_return = self.walk.frame.live is not None and analysis.contains_return(node.body)
        last = {}
        for k, item in enumerate(items):
            if k and may_return and self.walk.frame.has_returned:
                self.walk.emit(node, self.builder.begin_if, self.walk.emit(node, self.builder.load, self.flags.current()))
                self.walk.depth += 1
            loop.depth = self.walk.depth
            scope = self.walk.push_scope("static")
            self.unrolling.bind_static_target(node.target, item)
            is_over = False
            try:
                self.blocks.block(node.body)
            except StaticJump as jump:
                is_over = jump.is_break
            self.walk.frame.scope = scope.parent
            last = scope.names
            if is_over:
                break
        return last
