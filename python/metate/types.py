"""`mt.types`: every type a program names.

Types are values (value_types.py, tree_type.py). Here are the functions that spell them, and the classes of types as programs
have them: those make fields of themselves. A type from elsewhere that is equal (of a module's tree, say) makes none.
"""

from __future__ import annotations

import importlib as _importlib
from typing import Any

from . import not_here as _not_here
from . import value_types as _values
from .argument_packs import ArgPackType
from .context import current as _current
from .default_types import default_of as _default_of
from .default_types import scalar_type as _scalar_type
from .dtypes import *  # noqa: F403  (its __all__: the types by their names)
from .dtypes import dtype as dtype
from .fields import make as _make
from .frontend.function import ref, template  # noqa: F401
from .primitive_types import is_integral, is_real, is_signed, is_tensor  # noqa: F401
from .quant_types import QuantType as _QuantType
from .tree_builder import SNodeTreeBuilder  # noqa: F401
from .tree_instances import TreeType  # noqa: F401
from .triplets import sparse_matrix_builder  # noqa: F401
from .value_types import (  # noqa: F401  (offered from here)
    DTYPES,
    MAX_AXES,
    NAMED_AXES,
    Axes,
    DType,
    NDArray,
    NDArrayType,
    StructMember,
    axes,
    element_of,
    element_type,
    is_python_scalar,
    ndarray,
)

globals().update(NAMED_AXES)


class VectorType(_values.VectorType):
    """A vector of `n` scalars of one type; calling it makes a MatrixValue, a NumPy array of shape (n,)."""

    def field(self, shape: Any = None, **named: Any) -> Any:
        """A field of this type; arguments as `mt.field` takes them."""
        return _make.vector_field(self.n, self.dtype, shape, **named)


class MatrixType(_values.MatrixType):
    """An `n` by `m` matrix (n rows) of scalars; calling it makes a MatrixValue of shape (n, m)."""

    def field(self, shape: Any = None, **named: Any) -> Any:
        """A field of this type; arguments as `mt.field` takes them."""
        return _make.matrix_field(self.n, self.m, self.dtype, shape, **named)


class DefaultVectorType(_values.ByDefault, VectorType):
    """A vector of the current context's default scalars: `kind` is "float", "int" or "uint"."""

    def __init__(self, n: int, kind: str):
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "kind", kind)

    @property
    def dtype(self) -> DType:
        """The scalar type, now."""
        return _default_of(self.kind, _current().options)

    def under(self, options: Any) -> Any:
        """The type that it is under options."""
        return VectorType(self.n, _default_of(self.kind, options))


class DefaultMatrixType(_values.ByDefault, MatrixType):
    """An `n` by `n` matrix of the current context's default_fp."""

    def __init__(self, n: int):
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "m", n)

    @property
    def dtype(self) -> DType:
        """The scalar type, now."""
        return _current().options.default_fp

    def under(self, options: Any) -> Any:
        """The type that it is under options."""
        return MatrixType(self.n, self.m, options.default_fp)


class StructType(_values.StructType):
    """Named members in order, with methods and defaults; ``s.field(shape=...)`` makes a field of the type."""

    __slots__ = ()

    def __getattr__(self, name):
        if name == "field" and "field" not in self.members:
            return lambda *arguments, **named: _make.struct_field(self, *arguments, **named)
        return super().__getattr__(name)


def _names_scalar(thing) -> bool:
    return isinstance(thing, (_values.DType, str)) or _values.is_python_scalar(thing)


def _order_arguments(arguments, counts: int, spelling: str):
    """Splits arguments given as (dtype, extents...) or (extents..., dtype) into (extents, dtype)."""
    if len(arguments) == counts + 1:
        if _names_scalar(arguments[0]):
            return arguments[1:], _scalar_type(arguments[0])
        if _names_scalar(arguments[-1]):
            return arguments[:-1], _scalar_type(arguments[-1])
    is_quantised = any(isinstance(one, _QuantType) for one in arguments)
    hint = "; components of fields are quantised: mt.Vector.field(n, dtype=...)" if is_quantised else ""
    raise TypeError(f"expected {spelling}, got ({', '.join(map(repr, arguments))}){hint}")


def vector(*arguments: Any, n: int | None = None, dtype: Any = None) -> VectorType:
    """The type of vectors: ``vector(3, f32)`` or ``vector(f32, 3)``."""
    arguments += tuple(a for a in (n, dtype) if a is not None)
    extents, scalar = _order_arguments(arguments, 1, "vector(n, dtype)")
    return VectorType(*extents, scalar)


def matrix(*arguments: Any, n: int | None = None, m: int | None = None, dtype: Any = None) -> MatrixType:
    """The type of matrices with n rows and m columns: ``matrix(2, 3, f32)`` or ``matrix(f32, 2, 3)``."""
    arguments += tuple(a for a in (n, m, dtype) if a is not None)
    extents, scalar = _order_arguments(arguments, 2, "matrix(n, m, dtype)")
    return MatrixType(*extents, scalar)


def struct(members: dict[str, Any] | None = None, **named: Any) -> StructType:
    """A struct type from a dict, or from keywords: ``struct({'a': f32})``, ``struct(a=f32)``."""
    return StructType({**(members or {}), **named})


def argpack(**members: Any) -> ArgPackType:
    """The type of argument packs: ``argpack(x=ndarray(f32, 1), scale=f32)``; called with values it makes a pack.

    A kernel takes a pack as one argument, `p: Pack`, and names its members, `p.x`. Members are scalars, vectors, matrices,
    structs, arrays, trees, templates and packs. Raises TypeError for anything else, and without members.
    """
    return ArgPackType(members)


Vector, Matrix, Struct = vector, matrix, struct


def dataclass(cls: type) -> Any:
    """Makes a struct type of a class: annotated names are members, functions are methods.

    A value after an annotation is the member's default. Members and methods of base classes come first;
    methods may be plain functions or @func, take the struct as `self` and may assign its members.

    >>> import metate as mt
    >>> @mt.dataclass
    ... class Ball:
    ...     pos: mt.math.vec3
    ...     radius: mt.f32 = 1.0
    ...     def volume(self):
    ...         return 4.0 / 3.0 * mt.math.pi * self.radius ** 3

    Raises TypeError for an annotation that is no scalar, vector, matrix or struct type.
    """
    if not isinstance(cls, type):
        raise TypeError(f"dataclass: expected a class, got {cls!r}")
    import inspect

    members, methods, defaults = {}, {}, {}
    for base in reversed(cls.__mro__[:-1]):
        annotations = inspect.get_annotations(base, eval_str=True)
        members.update(annotations)
        for name, thing in vars(base).items():
            if name in annotations:
                defaults[name] = thing
            elif not name.startswith("__") and name != "__struct_methods" and callable(thing):
                methods[name] = thing
            elif name in members:
                defaults[name] = thing  # of a member that a base class declares
    return StructType(members, methods, defaults, cls)


def __getattr__(name: str):
    if name in ("compound_types", "primitive_types", "quant"):
        return _importlib.import_module(f"{__package__}.{name}")
    raise _not_here.error(__name__, name, _not_here.OF_TYPES)
