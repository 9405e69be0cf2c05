"""Loops: ranges, boxes, trees, arrays, unrolled ones, while.

A for loop directly in the kernel is parallel; everything inside runs in order.
"""

from __future__ import annotations

import ast

import numpy as np

from .. import intrinsics
from . import analysis, handles
from .array_access import ARRAYS
from .expressions import Reference, Value, is_static
from .native import describe
from .sparse import levels_of
from .statements import Statements, StaticJump


class Loops(Statements):
    """The part of the walker that runs through loops."""

    def statement_For(self, node):
        if node.orelse:
            raise self.error("syntax", "kernels have no else of a loop", node.orelse[0])
        serialize, self.serialize_next = self.serialize_next, False
        callee = self.expr(node.iter.func) if isinstance(node.iter, ast.Call) else None
        if callee is intrinsics.static:
            self._unrolled(node)
        elif callee is range:
            self._boxed(node, [self._range_bounds(node.iter)], False, serialize)
        elif callee is intrinsics.ndrange:
            self._boxed(node, self._box_bounds(node.iter), False, serialize, is_box=True)
        elif callee is intrinsics.grouped:
            self._grouped(node, serialize)
        elif callee is not None and any(callee is function for function in (zip, enumerate, reversed)):
            raise self.error(
                "syntax",
                f"a loop over {callee.__name__}(...) must be unrolled",
                node.iter,
                f"write ti.static({ast.unparse(node.iter)})",
            )
        else:
            self._over(node, node.iter, False, serialize)

    def _grouped(self, node, serialize):
        if len(node.iter.args) != 1 or node.iter.keywords:
            raise self.error(
                "type", f"grouped: expected 1 argument, got {len(node.iter.args) + len(node.iter.keywords)}", node.iter
            )
        (inner,) = node.iter.args
        callee = self.expr(inner.func) if isinstance(inner, ast.Call) else None
        if callee is intrinsics.ndrange:
            self._boxed(node, self._box_bounds(inner), True, serialize, is_box=True)
        else:
            self._over(node, inner, True, serialize)

    def _over(self, node, iterable, is_grouped, serialize):
        """A loop over a tree, a member, a level, or the indices of an array."""
        thing = self.expr(iterable)
        if isinstance(thing, intrinsics.Box):
            bounds = [(self.to_value(low, iterable), self.to_value(high, iterable), None) for low, high in thing.bounds]
            self._boxed(node, bounds, is_grouped, serialize, is_box=True)
            return
        if isinstance(thing, handles.StructFieldHandle):
            thing = self.first_field(thing, iterable)
        if isinstance(thing, handles.TreeHandle):
            thing = handles.MemberHandle(thing, self.sole_active_set(thing, iterable))
        if isinstance(thing, (handles.MemberHandle, handles.LevelHandle, handles.FieldHandle)):
            self._for_each(node, thing, is_grouped, serialize)
        elif isinstance(thing, ARRAYS):
            zero = self.to_value(0, iterable)
            extents = self.unpacked(handles.ShapeHandle(thing.first), iterable)
            self._boxed(node, [(zero, extent, None) for extent in extents], is_grouped, serialize, is_box=True)
        else:
            hint = (
                f"unroll it: ti.static({ast.unparse(iterable)})"
                if isinstance(thing, (tuple, list, dict, set)) or (is_static(thing) and np.iterable(thing))
                else None
            )
            raise self.error("type", f"expected a range, a tree or an array to loop over, got {describe(thing)}", iterable, hint)

    def sole_active_set(self, tree, node):
        """The member whose active cells stand for the tree's: the first one.

        Branches that are built alike but for their members count as one active set: they are meant to
        be filled together (a struct placed apart, member by member).
        """
        paths = {}
        _collect_paths(tree.type.branches, (), paths)
        first = next(iter(paths))
        for name, path in paths.items():
            if path != paths[first]:
                members = f"'{first}' and '{name}'"
                raise self.error(
                    "type",
                    f"the members of tree '{tree.name}' have different active sets: expected one, got those of {members}",
                    node,
                    f"loop over one of them: {tree.name}.{first}",
                )
        return first

    #  -- bounds -----------------------------------------------------------------------------------------

    def _range_bounds(self, call):
        things, _ = self.arguments(call, names=())
        if not 1 <= len(things) <= 3:
            raise self.error("type", f"range: expected 1 to 3 arguments, got {len(things)}", call)
        values = [self.to_value(thing, at) for thing, at in zip(things, self.spots(call, things))]
        if len(values) == 1:
            return self.to_value(0, call), values[0], None
        return values[0], values[1], values[2] if len(values) == 3 else None

    def _box_bounds(self, call):
        things, _ = self.arguments(call, names=())
        bounds = []
        for thing, at in zip(things, self.spots(call, things)):
            if isinstance(thing, (Value, Reference)) and thing.type.shape:
                thing = tuple(self.unpacked(thing, at))  # a vector of two: (begin, end)
            low, high = thing if isinstance(thing, (tuple, list)) and len(thing) == 2 else (0, thing)
            bounds.append((self.to_value(low, at), self.to_value(high, at), None))
        if not bounds:
            raise self.error("type", "ndrange: expected at least one extent, got none", call)
        return bounds

    #  -- loops at run time ------------------------------------------------------------------------------

    def _is_outermost(self, node):
        """Is it a loop of the kernel, or of a function that the kernel calls outside of its loops?

        In a function whose iterations depend on each other through its variables they run in order.
        """
        if self.frame.is_kernel or self.depth:
            return self.depth == 0
        visible = self.frame.scope.visible()
        variables = {name for name, binding in visible.items() if isinstance(binding, handles.Local)}
        return not analysis.order_matters(node.body, variables, self.frame.accumulated)

    def _boxed(self, node, bounds, is_grouped, serialize, is_box=False):
        self._check_targets(node, len(bounds), is_grouped)
        if self._is_outermost(node) and not serialize and not self._is_single(bounds):
            loop = handles.Loop(False, True, self.depth + 1)
            variables = self.emit(node, self.builder.begin_parallel, bounds)
            self._body(node, loop, variables, is_grouped)
            self.builder.end_loop()
            return
        loop = handles.Loop(False, False, self.depth + len(bounds))
        ends_early = analysis.contains_break(node.body) or (self.frame.live is not None and analysis.contains_return(node.body))
        if ends_early:
            loop.going = self._new_flag(node)
        variables = [self.emit(node, self.builder.begin_serial, low, high, step, loop.going) for low, high, step in bounds]
        self._body(node, loop, variables, is_grouped)
        for _ in bounds:
            self.builder.end_loop()

    def _is_single(self, bounds):
        """Is there one iteration? Taichi's programs say `for _ in range(1)` to have what stands in it run in order."""
        known = [(self.builder.known_integer(low), self.builder.known_integer(high)) for low, high, _ in bounds]
        return all(None not in pair and pair[1] - pair[0] == 1 for pair in known)

    def _for_each(self, node, thing, is_grouped, serialize):
        if not self._is_outermost(node):
            raise self.error(
                "syntax", f"a loop over {describe(thing)} must be the outermost one", node, "loop over ranges of its cells inside"
            )
        if serialize:
            raise self.error("syntax", f"a loop over {describe(thing)} cannot be serialized", node, "its order is not specified")
        offset = thing.placement.offset if isinstance(thing, handles.FieldHandle) else None
        if offset is not None:
            thing = self.field_member(thing)
        rank = self._rank(thing)
        self._check_targets(node, rank, is_grouped)
        variables = self.emit(node, self.builder.begin_for_each, thing.tree.native, thing.name)
        if offset is not None:
            variables = [self.shifted(variable, first, node) for variable, first in zip(variables, offset)]
        self._body(node, handles.Loop(False, True, self.depth + 1), variables, is_grouped)
        self.builder.end_loop()

    @staticmethod
    def _rank(thing):
        return len(set().union(*(level.axes for level in levels_of(thing.tree.type, thing.name))))

    def _check_targets(self, node, rank, is_grouped):
        targets = node.target.elts if isinstance(node.target, (ast.Tuple, ast.List)) else [node.target]
        for target in targets:
            if not isinstance(target, ast.Name):
                raise self.error("syntax", "a loop variable must be a name", target)
        if is_grouped and isinstance(node.target, ast.Name):
            return
        if len(targets) != rank:
            hint = f"write for {', '.join('ijklmnop'[:rank])} in ..., or for I in ti.grouped(...)" if rank > 1 else None
            raise self.error("type", f"expected {rank} loop variable{'s' * (rank != 1)}, got {len(targets)}", node.target, hint)

    def _new_flag(self, node):
        flag = self.emit(node, self.builder.declare_local, self.flag_type)
        self.write(node, flag, self.emit(node, self.builder.boolean, True), "flag")
        return flag

    def _body(self, node, loop, variables, is_grouped):
        """Walks the body with its variables bound; the builder stands in the loop already."""
        outer, self.depth = self.depth, loop.depth
        self.push_scope("loop")
        if is_grouped and isinstance(node.target, ast.Name):
            self._bind_variable(node.target, self.emit(node.target, self.builder.vector, variables, None), node)
        else:
            targets = node.target.elts if isinstance(node.target, (ast.Tuple, ast.List)) else [node.target]
            for target, variable in zip(targets, variables):
                self._bind_variable(target, variable, node)
        self._loop_block(node, loop)
        self.depth = outer

    def _loop_block(self, node, loop):
        jumps = analysis.contains_continue(node.body) or analysis.contains_break(node.body)
        returns = self.frame.live is not None and analysis.contains_return(node.body)
        if jumps or returns:
            loop.active = self._new_flag(node)
        self.frame.loops.append(loop)
        self.block(node.body)
        self.frame.loops.pop()
        scope = self.frame.scope
        self.pop_scope()
        for name in scope.names:
            if self.frame.scope.lookup(name) is None:
                self.frame.scope.absent[name] = "it is assigned inside a loop, which may run no iteration"

    def _bind_variable(self, target, value, node):
        if target.id not in analysis.assigned_names(node.body):
            self.frame.scope.names[target.id] = handles.Constant(value)
            return
        local = self.emit(target, self.builder.declare_local, value.type)
        self.write(target, local, value, target.id)
        self.frame.scope.names[target.id] = handles.Local(local, target)

    def statement_While(self, node):
        if node.orelse:
            raise self.error("syntax", "kernels have no else of a loop", node.orelse[0])
        loop = handles.Loop(False, False, self.depth + 1)
        if analysis.contains_break(node.body) or (self.frame.live is not None and analysis.contains_return(node.body)):
            loop.going = self._new_flag(node)
        self.emit(node, self.builder.begin_while)
        outer, self.depth = self.depth, loop.depth
        test = lambda: self.truth(self.expr(node.test), node.test)
        if loop.going is None:
            condition = test()
        else:  # after a break the condition is not asked again
            condition = self.both(node, self.emit(node, self.builder.load, loop.going), test)
        self.emit(node, self.builder.begin_while_body, condition, None)
        self.push_scope("loop")
        self._loop_block(node, loop)
        self.depth = outer
        self.builder.end_loop()

    #  -- unrolled loops -------------------------------------------------------------------------------------

    def static_items(self, node):
        """The items of an iterable known while compiling (its elements may be values)."""
        self.static_depth += 1
        try:
            thing = self.expr(node)
        finally:
            self.static_depth -= 1
        if isinstance(thing, (Value, Reference, handles.ShapeHandle)):
            return self.unpacked(thing, node)
        if isinstance(thing, (handles.TreeHandle, handles.MemberHandle, *ARRAYS, handles.CellHandle)):
            raise self.error("type", f"expected something known while compiling to unroll over, got {describe(thing)}", node)
        self.captures.whole(thing)
        return self.compute(node, lambda: list(thing))

    def _unrolled(self, node):
        (iterable,) = node.iter.args if len(node.iter.args) == 1 else (None,)
        if iterable is None:
            raise self.error("type", f"static: expected 1 iterable, got {len(node.iter.args)}", node.iter)
        loop = handles.Loop(True, False, self.depth)
        self.frame.loops.append(loop)
        outer = self.depth
        last = self._iterations(node, loop, self.static_items(iterable))
        for _ in range(self.depth - outer):
            self.builder.end_if()
        self.depth = outer
        self.frame.loops.pop()
        for name, binding in last.items():  # as in Python, names of the last iteration stay
            if self.frame.scope.lookup(name) is None:
                self.frame.scope.names[name] = binding

    def _iterations(self, node, loop, items):
        """Walks the body for each item. After an iteration that may return, the next ones stand under a test."""
        may_return = self.frame.live is not None and analysis.contains_return(node.body)
        last = {}
        for k, item in enumerate(items):
            if k and may_return and self.frame.has_returned:
                self.emit(node, self.builder.begin_if, self.emit(node, self.builder.load, self._flag()))
                self.depth += 1
            loop.depth = self.depth
            scope = self.push_scope("static")
            self.bind_static_target(node.target, item)
            is_over = False
            try:
                self.block(node.body)
            except StaticJump as jump:
                is_over = jump.is_break
            self.frame.scope = scope.parent
            last = scope.names
            if is_over:
                break
        return last

    def bind_static_target(self, target, item):
        if isinstance(target, ast.Name):
            if isinstance(item, np.integer):
                item = int(item)
            item = self.from_outside(item, target)
            self.frame.scope.names[target.id] = handles.Constant(item)
            return
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise self.error("syntax", "a loop variable must be a name", target)
        parts = self.unpacked(item, target)
        if len(parts) != len(target.elts):
            raise self.error("type", f"expected {len(target.elts)} values to unpack, got {len(parts)}", target)
        for part, value in zip(target.elts, parts):
            self.bind_static_target(part, value)


def _collect_paths(nodes, above, paths):
    """For each member the levels above it, without what else stands in them."""
    for node in nodes:
        if hasattr(node, "children"):
            _collect_paths(node.children, (*above, (node.kind, node.axes, node.extents, node.chunk)), paths)
        else:
            paths[node.name] = above
