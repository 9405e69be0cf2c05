"""`mt.graph`: kernels that run one after another by one call, as one kernel.

    x = mt.graph.Arg(mt.graph.ArgKind.NDARRAY, "x", mt.f32, ndim=1)
    dt = mt.graph.Arg(mt.graph.ArgKind.SCALAR, "dt", mt.f32)
    builder = mt.graph.GraphBuilder()
    builder.dispatch(push, x, dt)
    substep = builder.create_sequential()
    substep.dispatch(collide, x)
    builder.append(substep, count=8)
    step = builder.compile()
    step.run({"x": array, "dt": 0.01})

A graph is a kernel: what checks, compiles, launches and ships kernels does so with graphs (graph_kernel.py).
`Module.add_graph` puts one into an ahead-of-time module. What kernels take is checked where they are dispatched.
"""

from __future__ import annotations

import enum
import sys
from typing import Any

from . import value_types as _types
from .argument_packs import ArgPackType
from .default_types import scalar_type
from .dim import Dim, checked_shape
from .errors import MetateError, RuntimeTypeError_, RuntimeValueError_, TypeError_
from .frontend.function import template
from .graph_kernel import GraphKernel
from .graph_match import place_in, problem_at
from .graph_steps import Plan, Step, placed
from .tree_type import TreeType


class ArgKind(enum.Enum):
    """What an argument of a graph is."""

    SCALAR = "scalar"
    MATRIX = "matrix"  # also a vector
    NDARRAY = "ndarray"
    TREE = "tree"
    TEMPLATE = "template"
    ARGPACK = "argpack"
    TEXTURE = "texture"
    RWTEXTURE = "rwtexture"


class Arg:
    """An argument of a graph, shared by name between the kernels that take it.

    Args:
        tag: of ArgKind.
        name: by which `run` and hosts know it.
        dtype: the type: of SCALAR a scalar or struct type, of MATRIX a vector or matrix type, of NDARRAY what an element is,
            of TREE the tree type, of ARGPACK what `types.argpack` made; TEMPLATE has none.
        ndim: of NDARRAY the dimensions, those of elements not counted. `field_dim` is an old name of it.
        element_shape: of NDARRAY and MATRIX with a scalar `dtype`: the shape of an element.
        shape: of NDARRAY in place of ndim: what each dimension must be, a number, a Dim or None for any.
    Raises RuntimeTypeError_, RuntimeValueError_.
    """

    def __init__(
        self,
        tag: ArgKind,
        name: str,
        dtype: Any = None,
        ndim: int | None = None,
        *,
        field_dim: int | None = None,
        element_shape: Any = None,
        shape: Any = None,
    ):
        if not isinstance(tag, ArgKind):
            raise RuntimeTypeError_(f"Arg: expected a kind such as mt.graph.ArgKind.NDARRAY first, got {tag!r}")
        if not isinstance(name, str) or not name.isidentifier():
            raise RuntimeValueError_(f"Arg: name: expected an identifier, got {name!r}")
        if tag in (ArgKind.TEXTURE, ArgKind.RWTEXTURE):
            raise RuntimeTypeError_(f"Arg '{name}': textures are not supported: use an NDARRAY of its pixels")
        self.tag, self.name = tag, name
        ndim = field_dim if ndim is None else ndim
        if ndim is not None and tag is not ArgKind.NDARRAY:
            raise RuntimeValueError_(f"Arg '{name}': ndim: expected none for {tag.value} arguments, got {ndim!r}")
        if shape is not None and tag is not ArgKind.NDARRAY:
            raise RuntimeValueError_(f"Arg '{name}': shape: expected none for {tag.value} arguments, got {shape!r}")
        try:
            self.annotation = _ANNOTATIONS[tag](dtype, (ndim or 0) if shape is None else ndim, tuple(element_shape or ()))
            if shape is not None:
                self.annotation = _shaped(self.annotation, shape)
        except MetateError:
            raise
        except (TypeError, ValueError) as error:
            kind = RuntimeTypeError_ if isinstance(error, TypeError) else RuntimeValueError_
            raise kind(f"Arg '{name}': {error}") from None

    def __repr__(self) -> str:
        return f"Arg({self.tag.name}, '{self.name}', {self.annotation!r})"


def _scalar(dtype, _, shape):
    if shape:
        raise ValueError(f"element_shape: expected none for scalars, got {shape}")
    if isinstance(dtype, _types.StructType) or _types.is_python_scalar(dtype):
        return dtype
    return scalar_type(dtype)


def _matrix(dtype, _, shape):
    if isinstance(dtype, (_types.VectorType, _types.MatrixType)):
        return dtype
    if len(shape) not in (1, 2):
        raise TypeError(f"dtype: expected a vector or matrix type, got {dtype!r}")
    return _types.element_of(scalar_type(dtype), shape)


def _shaped(annotation, shape):
    asked = checked_shape(shape, annotation.ndim, "NDARRAY")
    return annotation._replace(ndim=len(shape) if isinstance(shape, (tuple, list)) else 1, shape=asked)


def _array(dtype, ndim, shape):
    if dtype is None:
        raise TypeError("dtype: expected the type of an element, got None")
    return _types.ndarray(dtype, ndim, element_shape=shape or None)


def _tree(dtype, _, shape):
    if not isinstance(dtype, TreeType) or shape:
        raise TypeError(f"dtype: expected a tree type, got {dtype!r}; call .build() on a builder")
    return dtype


def _template(dtype, _, shape):
    if dtype is not None or shape:
        raise TypeError(f"dtype: expected none for template arguments, got {dtype!r}")
    return template()


def _pack(dtype, _, shape):
    if not isinstance(dtype, ArgPackType) or shape:
        raise TypeError(f"dtype: expected an argument pack's type, got {dtype!r}; mt.types.argpack(...) makes one")
    return dtype


_ANNOTATIONS = {
    ArgKind.SCALAR: _scalar,
    ArgKind.MATRIX: _matrix,
    ArgKind.NDARRAY: _array,
    ArgKind.TREE: _tree,
    ArgKind.TEMPLATE: _template,
    ArgKind.ARGPACK: _pack,
}


class Intermediate(Arg):
    """An array of the graph's own, made by `GraphBuilder.intermediate`: given to kernels as an Arg is, and to `run` by nobody."""

    is_intermediate = True

    def __init__(self, name: str, dtype: Any, shape: Any, element_shape: Any = None):
        super().__init__(ArgKind.NDARRAY, name, dtype, shape=shape, element_shape=element_shape)
        extents = self.annotation.shape or (None,)
        if any(extent is None for extent in extents):
            raise RuntimeValueError_(f"intermediate '{name}': shape: expected numbers and Dims, got {shape!r}")
        unbounded = next((one for one in extents if isinstance(one, Dim) and not one.is_bounded), None)
        if unbounded is not None:
            what = "expected Dims with a max, by which memory is planned"
            raise RuntimeValueError_(f"intermediate '{name}': shape: {what}, got {unbounded!r}")
        if isinstance(self.annotation.dtype, _types.StructType):
            raise RuntimeTypeError_(f"intermediate '{name}': expected a scalar, vector or matrix type, got {dtype!r}")

    def __repr__(self) -> str:
        return f"Intermediate('{self.name}', {self.annotation!r})"


class Sequential:
    """Kernels in order, made by `GraphBuilder.create_sequential`; part of a graph as often as it is appended to it."""

    def __init__(self, plan: Plan):
        self._plan = plan
        self._steps: list[Step] = []

    def dispatch(self, kernel: Any, *arguments: Any, **keywords: Any) -> None:
        """Adds a kernel.

        Args:
            kernel: a kernel, or one of an object of a data-oriented class: ``solver.step``.
            arguments: for each parameter an Arg, or what it always is: a number; for a template, an array or a tree any object;
                for an argument pack also a pack, of which each member is an Arg or what it always is.
        Raises CompilationError at this line where they do not fit, RuntimeValueError_ where a name means two things.
        """
        self._steps.append(self._plan.dispatched(kernel, arguments, keywords, place_in(sys._getframe(1))))

    def append(self, node: Sequential, count: int | Arg = 1) -> None:
        """Adds all that `node` has, now and later, `count` times: a number, or an Arg of an integer type (less than one: never).

        Raises RuntimeTypeError_, RuntimeValueError_.
        """
        self._steps.append(self._plan.appended(self, node, count))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._steps)}>"


class GraphBuilder(Sequential):
    """Makes a graph of kernels, in the order in which they are dispatched."""

    def __init__(self):
        super().__init__(Plan(Arg, Sequential))

    def create_sequential(self) -> Sequential:
        """Kernels in order that are not part of the graph until they are appended."""
        return Sequential(self._plan)

    def intermediate(self, name: str, dtype: Any, shape: Any, *, element_shape: Any = None) -> Intermediate:
        """An array that one kernel of the graph writes and later ones read, and nobody else sees.

        Its memory is planned with that of the graph's other intermediates: those that are not needed at once share it.

        Args:
            name: by which errors and reports call it.
            dtype: what an element is.
            shape: its extents: numbers, and Dims of the graph's arguments, which need a max.
            element_shape: with a scalar `dtype` the shape of an element.
        Raises RuntimeTypeError_, RuntimeValueError_.
        """
        return Intermediate(name, dtype, shape, element_shape)

    def compile(self, name: str = "graph") -> Graph:
        """Checks and compiles what was dispatched; later dispatches are not part of the result.

        Args:
            name: what errors and profiles call the graph.
        Raises CompilationError, with the place in the kernel.
        """
        if not isinstance(name, str) or not name.isidentifier():
            raise RuntimeValueError_(f"compile: name: expected an identifier, got {name!r}")
        steps, place = placed(self._steps), place_in(sys._getframe(1))
        used = self._plan.used(steps)
        problem = _missing_dim(used)
        if problem:
            raise problem_at(place, TypeError_, problem, "give an Arg a shape with that Dim")
        return Graph(GraphKernel(name, used, steps, place))


def _missing_dim(parameters) -> str:
    """Which dim of an intermediate no argument has; empty: none."""
    dims: set[Any] = set()
    for one in parameters.values():
        dims.update(() if one.is_intermediate else getattr(one.annotation, "shape", None) or ())
    for name, one in parameters.items():
        for extent in one.annotation.shape if one.is_intermediate else ():
            if isinstance(extent, Dim) and extent not in dims:
                return f"intermediate '{name}': expected Dims of the graph's arguments in its shape, got {extent!r}"
    return ""


class Graph:
    """A compiled graph, made by `GraphBuilder.compile`.

    Attributes:
        kernel: the graph as a kernel, with `instances()` and `stages()`.
    """

    def __init__(self, kernel: GraphKernel):
        self.kernel = kernel
        kernel.compile()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of its arguments, in the order in which kernels take them first."""
        return self.kernel.names

    def run(self, args: dict[str, Any]) -> None:
        """Runs its kernels in order, by one launch.

        Args:
            args: a dict with a value for each argument, by name: numbers, vectors, arrays, trees, packs.
        Raises CallError_ for a missing or unknown name, RuntimeTypeError_ for a value that does not fit, and what
        launches of kernels raise.
        """
        self.kernel.run(args)

    def report(self) -> Any:
        """What the compiler did of its kernels' loops and where its intermediates lie: as kernels' `report`."""
        return self.kernel.report()

    def packed(self, may_alias: bool = False) -> Any:
        """The graph as a `tvm_ffi.Function`: as kernels' `packed`."""
        return self.kernel.packed(may_alias)

    def packed_session(self, may_alias: bool = False) -> Any:
        """A session of the graph as a `tvm_ffi.Function`: as kernels' `packed_session`."""
        return self.kernel.packed_session(may_alias)

    def _reserve_for(self, tree, arguments, keywords):
        return self.kernel._reserve_for(tree, arguments, keywords)

    def signature(self) -> str:
        """Its name and arguments with their types, as text."""
        return self.kernel.signature()

    def __repr__(self) -> str:
        return f"<graph {self.signature()}>"


__all__ = ["Arg", "ArgKind", "Graph", "GraphBuilder", "Intermediate", "Sequential"]
