"""What a kernel is specialised on: a type for each parameter, taken from annotations and arguments.

A specialisation is a hashable value; equal ones share one compilation. Instances of trees, contents of
arrays and values of scalars never take part; values of template parameters do.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import types as _types
from .diagnostics import located
from .function import Template


@dataclass(frozen=True)
class ValueParameter:
    """A scalar, vector or matrix by value."""

    type: Any


@dataclass(frozen=True)
class ArrayParameter:
    """An array: element type, dimensions without the element's, and whether it has no gaps."""

    element: Any
    ndim: int
    contiguous: bool


@dataclass(frozen=True)
class TreeParameter:
    """A tree of a type."""

    type: Any


@dataclass(frozen=True)
class StaticParameter:
    """A template parameter's value, known while compiling."""

    value: Any


def check_annotations(source):
    """Raises at the first parameter whose annotation is missing or of no use."""
    nodes = {a.arg: a for a in (*source.tree.args.posonlyargs, *source.tree.args.args, *source.tree.args.kwonlyargs)}
    for name, parameter in source.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise located("syntax", f"kernels have no * parameters, got '{name}'", source, source.tree)
        annotation = parameter.annotation
        if annotation is inspect.Parameter.empty:
            raise located(
                "type",
                f"parameter '{name}' has no annotation: expected a type",
                source,
                nodes[name],
                f"write {name}: ti.f32, {name}: ti.types.ndarray(), {name}: ti.template() or a tree type",
            )
        if not _is_annotation(annotation):
            raise located(
                "type",
                f"parameter '{name}': expected a scalar, vector, matrix, ndarray or tree type or template(), got {annotation!r}",
                source,
                nodes[name].annotation or nodes[name],
                _annotation_hint(annotation),
            )


def _is_annotation(annotation):
    kinds = (_types.DType, _types.VectorType, _types.MatrixType, _types.NDArrayType, _types.TreeType, Template)
    return isinstance(annotation, kinds) or _types.is_python_scalar(annotation)


def _annotation_hint(annotation):
    if isinstance(annotation, _types.SNodeTreeBuilder):
        return "a builder is no type yet: call .build()"
    if annotation is _types.ndarray:
        return "call it: ti.types.ndarray()"
    return None


def is_fully_typed(source) -> bool:
    """Do the annotations alone determine the specialisation, as an ahead-of-time kernel needs?"""
    return all(_fixed(p.annotation) for p in source.parameters.values())


def _fixed(annotation):
    if isinstance(annotation, _types.NDArrayType):
        return annotation.dtype is not None and annotation.ndim is not None
    return not isinstance(annotation, Template)


def from_annotations(source, options):
    """The specialisation that the annotations alone determine: strides of arrays are free unless told otherwise.

    Raises TypeError_ at a parameter that leaves something open.
    """
    check_annotations(source)
    nodes = {a.arg: a for a in (*source.tree.args.posonlyargs, *source.tree.args.args, *source.tree.args.kwonlyargs)}
    found = {}
    for name, parameter in source.parameters.items():
        annotation = parameter.annotation
        if not _fixed(annotation):
            raise located(
                "type",
                f"parameter '{name}': expected a type that is complete without an argument, got {annotation!r}",
                source,
                nodes[name].annotation or nodes[name],
                "give dtype and ndim: ti.types.ndarray(dtype=ti.f32, ndim=1)"
                if isinstance(annotation, _types.NDArrayType)
                else None,
            )
        if isinstance(annotation, _types.NDArrayType):
            found[name] = ArrayParameter(annotation.dtype, annotation.ndim, bool(annotation.contiguous))
        else:
            found[name] = _by_type(annotation, options)
    return found


def _by_type(annotation, options):
    if isinstance(annotation, _types.TreeType):
        return TreeParameter(annotation)
    scalars = {int: options.default_ip, float: options.default_fp, bool: _types.u1}
    return ValueParameter(scalars.get(annotation, annotation) if isinstance(annotation, type) else annotation)


def from_arguments(source, arguments, options, describe_array, tree_type_of):
    """The specialisation for a call.

    Args:
        arguments: one per parameter, in order.
        describe_array: argument -> (dtype, shape, contiguous) or None if it is no array.
        tree_type_of: argument -> its TreeType or None if it is no tree.
    Raises TypeError with what was expected and got.
    """
    found = {}
    for (name, parameter), argument in zip(source.parameters.items(), arguments):
        annotation = parameter.annotation
        if isinstance(annotation, _types.NDArrayType):
            found[name] = _array(name, annotation, argument, describe_array)
        elif isinstance(annotation, Template):
            found[name] = _template(argument, describe_array, tree_type_of)
        else:
            found[name] = _by_type(annotation, options)
    return found


def _template(argument, describe_array, tree_type_of):
    type_ = tree_type_of(argument)
    if type_ is not None:
        return TreeParameter(type_)
    if isinstance(argument, np.ndarray) or describe_array(argument) is not None:
        dtype, shape, contiguous = describe_array(argument)
        return ArrayParameter(dtype, len(shape), contiguous)
    return StaticParameter(argument)


def _array(name, annotation, argument, describe_array):
    described = describe_array(argument)
    if described is None:
        raise TypeError(f"argument '{name}': expected an array, got {type(argument).__name__}")
    dtype, shape, contiguous = described
    element = annotation.dtype if annotation.dtype is not None else dtype
    scalar = getattr(element, "dtype", element)
    extra = tuple(getattr(element, "shape", ()))
    if dtype is not scalar:
        raise TypeError(f"argument '{name}': expected an array of {scalar!r}, got one of {dtype!r}")
    if extra and tuple(shape[len(shape) - len(extra) :]) != extra:
        raise TypeError(f"argument '{name}': expected last dimensions {extra} for elements {element!r}, got shape {tuple(shape)}")
    ndim = len(shape) - len(extra)
    if annotation.ndim is not None and annotation.ndim != ndim:
        raise TypeError(f"argument '{name}': expected {annotation.ndim} dimensions, got {ndim}")
    if annotation.contiguous and not contiguous:
        raise TypeError(f"argument '{name}': expected a row-major array without gaps, got one with strides")
    return ArrayParameter(element, ndim, bool(contiguous) if annotation.contiguous is None else annotation.contiguous)
