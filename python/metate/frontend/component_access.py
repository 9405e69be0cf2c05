"""Vectors and matrices in expressions: subscripts, slices, swizzles, names of methods."""

from __future__ import annotations

import ast

from . import handles
from .components import ComponentGroups
from .diagnostics import suggestion
from .evaluator import Evaluator
from .native import describe
from .static import Reference
from .structs import Components
from .walk import Walk, attribute_name

LINEAR_PAIRS = ("dot", "cross", "outer_product")
METHODS = (
    "norm", "norm_sqr", "normalized", "transpose", "determinant", "inverse", "trace", "sum", "max", "min", "any", "all",
    *LINEAR_PAIRS, "norm_inv", "cast",
)  # fmt: skip
WHOLE_METHODS = ("fill", "get_shape", "to_list")
_COMPONENTS = {letter: k for letters in ("xyzw", "rgba", "stpq") for k, letter in enumerate(letters)}


class ComponentAccess:
    """What vectors and matrices say."""

    def __init__(self, walk: Walk, groups: ComponentGroups, evaluator: Evaluator):
        self.walk, self.builder = walk, walk.builder
        self.groups, self.evaluator = groups, evaluator

    #  -- subscripts -------------------------------------------------------------------------------

    def component_subscript(self, owner, node):
        """`v[i]`, `m[i, j]`, `m[i]` (a row), and slices of them, of a Value, a Reference or a Components."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        shape = list(owner.type.shape)
        if shape and any(isinstance(part, ast.Slice) for part in parts):
            return self._sliced(owner, parts, shape, node)
        indices = self.evaluator.index_values(node.slice)
        if len(shape) == 2 and len(indices) == 1 and not indices[0].type.shape:
            return self._sliced(owner, parts, shape, node, indices[0])
        if not isinstance(owner, Components):
            take = self.builder.reference_component if isinstance(owner, Reference) else self.builder.component
            return self.walk.emit(node, take, owner, indices)
        known = [self.builder.known_integer(index) if not index.type.shape else None for index in indices]
        if None in known or len(known) != len(shape):
            return self.walk.emit(node, self.builder.component, self.groups.gathered(owner, node), indices)
        return self.groups.part_of(owner, known, node)

    def _sliced(self, owner, parts, shape, node, row=None):
        """`row`: the only index, of a matrix, when it was evaluated already."""
        if len(parts) > len(shape):
            raise self.walk.error(
                "type", f"wrong number of indices: expected {len(shape)} for {owner.type.name}, got {len(parts)}", node
            )
        if row is not None:
            return self.groups.group(owner, [(row, j) for j in range(shape[1])], shape[1:], node)
        parts = [*parts, *[ast.Slice()] * (len(shape) - len(parts))]
        runs, left = [], []
        for part, extent in zip(parts, shape):
            if isinstance(part, ast.Slice):
                run = self._run(part, extent, node)
                left.append(len(run))
            else:
                run = [self.evaluator.value(part)]
            runs.append(run)
        positions = [(i,) for i in runs[0]] if len(runs) == 1 else [(i, j) for i in runs[0] for j in runs[1]]
        return self.groups.group(owner, positions, left, node)

    def _run(self, part, extent, node):
        """The positions that a slice names."""
        what = "bound of a slice"
        bounds = [None if bound is None else self.evaluator.integer(bound, what) for bound in (part.lower, part.upper, part.step)]
        run = self.walk.compute(node, lambda: list(range(extent))[slice(*bounds)])
        if not run:
            raise self.walk.error("type", f"expected a slice with at least one element of {extent}, got none", node)
        return run

    #  -- attributes -------------------------------------------------------------------------------

    def value_attribute(self, owner, name, node):
        """Swizzles and methods of vectors and matrices."""
        shape = owner.type.shape
        if len(shape) == 1 and set(name) <= set(_COMPONENTS):
            return self.swizzle(owner, name, node)
        if name in METHODS or name in WHOLE_METHODS:
            return handles.BoundMethod(owner, name)
        if name in ("n", "m", "shape"):
            return tuple(shape) if name == "shape" else ([*shape, 1, 1])[0 if name == "n" else 1]
        components = [*"xyzw"[: shape[0]]] if len(shape) == 1 else []
        known = f"; its components are {', '.join(components)}" if components else ""
        hint = suggestion(name, [*components, *METHODS])
        raise self.walk.error("name", f"{describe(owner)} has no attribute '{name}'{known}", attribute_name(node), hint)

    def swizzle(self, owner, name, node):
        """`v.xy`: components by their letters."""
        positions = [_COMPONENTS[letter] for letter in name]
        length = owner.type.shape[0]
        if max(positions) >= length:
            raise self.walk.error(
                "component",
                f"{describe(owner)} has no component '{name}'",
                attribute_name(node),
                f"its components are {', '.join('xyzw'[:length])}",
            )
        if len(positions) == 1:
            return self.groups.part_of(owner, positions, node)
        return self.groups.group(owner, [(k,) for k in positions], [len(positions)], node)
