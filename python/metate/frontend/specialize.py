"""What a kernel is specialised on: a type for each parameter, taken from annotations and arguments.

A specialisation is a hashable value; equal ones share one compilation. Instances of trees, contents of
arrays and values of scalars never take part; values of template parameters do.
"""

from __future__ import annotations

from typing import Any

from .. import value_types as _types
from ..argument_kinds import lies_on_cuda
from ..dim import Dim, shape_text
from ..dtypes import scalar_of
from ..errors import ArrayError_
from ..lazy_numpy import is_array
from ..ndarray import ndarray
from ..parameters import Parameter
from ..record import Record
from ..tree_builder import SNodeTreeBuilder
from ..tree_type import TreeType
from ..triplets import SparseMatrixBuilderType, TripletsType
from .annotations import leaf_types
from .diagnostics import located
from .function import Template, template
from .keys import key_of, kind_of, short


class ValueParameter(Record):
    """A scalar, vector or matrix by value."""

    type: Any


class ArrayParameter(Record):
    """An array: element type, dimensions without the element's, and whether it has no gaps; of its gradient ("grad") and its
    dual, where it has these, (kind, has no gaps); what its dimensions must be, where the annotation says it."""

    element: Any
    ndim: int
    contiguous: bool
    boundary: str = "unsafe"
    partners: tuple[tuple[str, bool], ...] = ()
    shape: tuple[Any, ...] | None = None

    def with_partners(self, annotation, argument, describe_array):
        """The same with the partners of an argument of the package's, unless the annotation makes it a constant."""
        if getattr(annotation, "needs_grad", None) is False or not hasattr(argument, "dual"):
            return self
        partners = _partners_of(argument, describe_array)
        return self._replace(partners=partners) if partners else self


def _partners_of(array, describe_array):
    """(kind, has no gaps) of the gradient and the dual of an array, where it has these."""
    found = [(kind, getattr(array, kind, None)) for kind in ("grad", "dual")]
    return tuple((kind, bool(describe_array(one)[2])) for kind, one in found if one is not None)


class StructArrayParameter(Record):
    """An array of structs: an array for each leaf, of which some may have no gaps; partners: of each leaf as of arrays."""

    type: Any
    ndim: int
    contiguous: tuple[bool, ...]
    boundary: str = "unsafe"
    partners: tuple[tuple[tuple[str, bool], ...], ...] = ()
    shape: tuple[Any, ...] | None = None

    def with_partners(self, annotation, argument, describe_array):
        """As of arrays of values."""
        if getattr(annotation, "needs_grad", None) is False or not hasattr(argument, "_metate_parts"):
            return self
        partners = tuple(_partners_of(leaf, describe_array) for leaf in argument._metate_parts)
        return self._replace(partners=partners) if any(partners) else self


class TreeParameter(Record):
    """A tree of a type; partners: "grad" and "dual", where it has these."""

    type: Any
    partners: tuple[str, ...] = ()

    def of(self, argument: Any) -> TreeParameter:
        """The same with the partners that an argument has."""
        partners = tuple(kind for kind in ("grad", "dual") if getattr(argument, kind, None) is not None)
        return self._replace(partners=partners) if partners else self


class StaticParameter(Record):
    """A template parameter's argument, known while compiling. Arguments with equal keys are alike until they are looked into."""

    value: Any
    key: Any = None
    text: str = ""
    _compared = ("key",)

    def __post_init__(self):
        if not self.text:
            object.__setattr__(self, "key", key_of(self.value))
            object.__setattr__(self, "text", short(self.value))

    def without_value(self):
        """What may be kept: it does not keep the argument alive."""
        return StaticParameter(None, self.key, self.text)


def annotation_of(source, name):
    """A parameter's annotation; `self` of a method, which has none, is a template parameter."""
    annotation = source.parameters[name].annotation
    if annotation is Parameter.empty and source.is_in_class and name == next(iter(source.parameters)):
        return template
    return _types.ndarray() if annotation is _types.ndarray or annotation is _types.NDArray else annotation


def _nodes_of(source):
    """Where each parameter stands; a member of an argument pack where the pack does."""
    nodes = {a.arg: a for a in (*source.tree.args.posonlyargs, *source.tree.args.args, *source.tree.args.kwonlyargs)}
    return nodes | {name: nodes[name.partition(".")[0]] for name in source.parameters if "." in name}


def check_annotations(source):
    """Raises at the first parameter whose annotation is missing or of no use."""
    nodes = _nodes_of(source)
    for name, parameter in source.parameters.items():
        if parameter.takes_several:
            raise located("syntax", f"kernels have no * parameters, got '{name}'", source, source.tree)
        annotation = annotation_of(source, name)
        if annotation is Parameter.empty:
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
    _check_dims(source, nodes)


def _check_dims(source, nodes):
    """Raises where one name stands for two Dims."""
    known = {}
    for name in source.parameters:
        for extent in getattr(annotation_of(source, name), "shape", None) or ():
            if not isinstance(extent, Dim) or known.setdefault(extent.name, (extent, name))[0] == extent:
                continue
            other, where = known[extent.name]
            text = f"parameter '{name}': dim '{extent.name}' means two things: {extent!r}, and {other!r} of parameter '{where}'"
            raise located("type", text, source, nodes[name].annotation or nodes[name])


def _is_annotation(annotation):
    kinds = (_types.DType, _types.VectorType, _types.MatrixType, _types.StructType, _types.NDArrayType, TreeType, Template)
    return isinstance(annotation, kinds) or _types.is_python_scalar(annotation)


def _annotation_hint(annotation):
    if isinstance(annotation, SNodeTreeBuilder):
        return "a builder is no type yet: call .build()"
    if annotation is ndarray:
        return "that makes an array; the type of one is ti.types.ndarray(...)"
    return None


def is_fully_typed(source, known=()) -> bool:
    """Do the annotations alone determine the specialisation, as an ahead-of-time kernel needs? Of `known` ones all is known."""
    return all(_fixed(annotation_of(source, name)) for name in source.parameters if name not in known)


def _fixed(annotation):
    if isinstance(annotation, _types.NDArrayType):
        is_open = annotation.element_dim is not None and annotation.element_shape is None
        return annotation.dtype is not None and annotation.ndim is not None and not is_open
    return not isinstance(annotation, Template)


def _completes(given, annotation) -> bool:
    """Is it an array type that says all there is to say, and what `annotation` says already?"""
    if not isinstance(given, _types.NDArrayType) or not _fixed(given):
        return False
    same = annotation.dtype in (None, given.dtype) and annotation.ndim in (None, given.ndim)
    return same and annotation.shape in (None, given.shape)


def from_annotations(source, options, template_args=None):
    """The specialisation that annotations and template arguments determine: strides of arrays are free unless told otherwise.

    Args:
        template_args: a dict from names of template parameters to what stands for them; for a tree its type, for an
            array an NDArrayType. Parameters that are arrays of any dtype or ndim may be completed by it, too.
    Raises TypeError_ at a parameter that leaves something open, TypeError for a name of another parameter.
    """
    check_annotations(source)
    given = dict(template_args or {})
    open_names = [name for name in source.parameters if not _fixed(annotation_of(source, name))]
    for name, value in given.items():
        if name not in open_names:
            raise TypeError(
                f"template_args: expected names of parameters whose annotations leave something open "
                f"({', '.join(open_names) or 'none'}), got '{name}'"
            )
        annotation = annotation_of(source, name)
        if isinstance(annotation, _types.NDArrayType) and not _completes(value, annotation):
            raise TypeError(f"template_args: '{name}': expected an ndarray type that agrees with {annotation!r}, got {value!r}")
    nodes = _nodes_of(source)
    found = {}
    for name in source.parameters:
        annotation = annotation_of(source, name)
        if name in given:
            annotation = given[name]
            if not isinstance(annotation, (TreeType, _types.NDArrayType)):
                found[name] = StaticParameter(annotation)
                continue
        if not _fixed(annotation):
            raise located(
                "type",
                f"parameter '{name}': expected a type that is complete without an argument, got {annotation!r}",
                source,
                nodes[name].annotation or nodes[name],
                "give dtype and ndim: ti.types.ndarray(dtype=ti.f32, ndim=1)"
                if isinstance(annotation, _types.NDArrayType)
                else f"say what it stands for: module.add_kernel({source.name}, template_args={{{name!r}: ...}})",
            )
        if isinstance(annotation, _types.NDArrayType):
            element, contiguous = scalar_of(annotation.dtype, options), bool(annotation.contiguous)
            if isinstance(element, _types.StructType):  # a struct's members lie between each other
                contiguous = tuple(False for _ in leaf_types(element))
            parameter = _array_parameter(element, annotation.ndim, contiguous, annotation.boundary, annotation.shape)
            if annotation.needs_grad and isinstance(parameter, ArrayParameter):
                parameter = parameter._replace(partners=(("grad", contiguous),))
            found[name] = parameter
        else:
            found[name] = _by_type(annotation, options)
    return found


def array_of(annotation, options):
    """What an array type that says all there is to say is specialised on."""
    element, contiguous = scalar_of(annotation.dtype, options), bool(annotation.contiguous)
    return _array_parameter(element, annotation.ndim, contiguous, annotation.boundary, annotation.shape)


def _by_type(annotation, options):
    if isinstance(annotation, TreeType):
        return TreeParameter(annotation)
    return ValueParameter(scalar_of(annotation, options))


def from_arguments(source, arguments, options, describe_array, tree_type_of):
    """The specialisation for a call.

    Args:
        arguments: one per parameter, in order.
        describe_array: argument -> (dtype, shape, contiguous) or None if it is no array.
        tree_type_of: argument -> its TreeType or None if it is no tree.
    Raises TypeError with what was expected and got.
    """
    found = {}
    for name, argument in zip(source.parameters, arguments):
        annotation = annotation_of(source, name)
        if isinstance(annotation, _types.NDArrayType):
            parameter = _array(name, annotation, argument, describe_array, options)
            found[name] = parameter.with_partners(annotation, argument, describe_array)
        elif isinstance(annotation, Template):
            found[name] = _template(argument, describe_array, tree_type_of)
        else:
            parameter = _by_type(annotation, options)
            found[name] = parameter.of(argument) if isinstance(parameter, TreeParameter) else parameter
    return found


def _template(argument, describe_array, tree_type_of):
    if kind_of(argument) is not None:
        return StaticParameter(argument)
    type_ = tree_type_of(argument)
    if type_ is not None:
        return TreeParameter(type_).of(argument)
    if is_array(argument) or describe_array(argument) is not None:
        element, shape, contiguous = describe_array(argument)
        parameter = _array_parameter(element, len(shape), contiguous, "unsafe")
        return parameter.with_partners(None, argument, describe_array)
    return StaticParameter(argument)


def _array_parameter(element, ndim, contiguous, boundary, shape=None):
    if isinstance(element, _types.StructType):
        return StructArrayParameter(element, ndim, contiguous, boundary, shape=shape)
    return ArrayParameter(element, ndim, bool(contiguous), boundary, shape=shape)


def _array(name, annotation, argument, describe_array, options):
    described = describe_array(argument)
    is_builder = described is not None and isinstance(described[0], TripletsType)
    if isinstance(annotation, SparseMatrixBuilderType) != is_builder:
        raise TypeError(f"argument '{name}': {_builder_mismatch(is_builder, argument)}")
    if described is None:
        hint = "; annotate it with template() for fields" if kind_of(argument) is not None else ""
        if lies_on_cuda(argument):
            hint = ", whose memory is a CUDA device's: kernels of contexts with arch=mt.cuda take it"
        raise TypeError(f"argument '{name}': expected an array, got {type(argument).__name__}{hint}")
    own, shape, contiguous = described
    if hasattr(own, "shape") or isinstance(own, _types.StructType) or hasattr(argument, "element_type"):
        element = _own_element(name, annotation, own, options)
    else:
        element = _element_in(name, annotation, own, tuple(shape), options)
        shape = shape[: len(shape) - len(getattr(element, "shape", ()))]
    if annotation.ndim is not None and annotation.ndim != len(shape):
        raise ArrayError_(f"argument '{name}': expected {annotation.ndim} dimensions, got {len(shape)}")
    if annotation.contiguous and not (all(contiguous) if isinstance(contiguous, tuple) else contiguous):
        raise TypeError(f"argument '{name}': expected a row-major array without gaps, got one with strides")
    if annotation.contiguous is False:
        contiguous = tuple(False for _ in contiguous) if isinstance(contiguous, tuple) else False
    return _array_parameter(element, len(shape), contiguous, annotation.boundary, annotation.shape)


def _builder_mismatch(is_builder, argument):
    if is_builder:
        return "expected an array, got a sparse matrix builder; annotate it with types.sparse_matrix_builder()"
    return f"expected a linalg.SparseMatrixBuilder, got {type(argument).__name__}"


def _own_element(name, annotation, own, options):
    """The element type of an array of the package, which knows it; it must be the annotation's."""
    wanted, own_shape = scalar_of(annotation.dtype, options), tuple(getattr(own, "shape", ()))
    fits = wanted is None or own == wanted
    if annotation.element_dim is not None:
        fits = (wanted is None or getattr(own, "dtype", own) is wanted) and len(own_shape) == annotation.element_dim
        fits = fits and annotation.element_shape in (None, own_shape)
    if not fits and isinstance(own, TripletsType):
        raise ArrayError_(f"argument '{name}': expected a {wanted!r}, got a {own!r}")
    if not fits:
        expected = annotation if annotation.element_dim is not None else f"an array of {wanted!r}"
        raise ArrayError_(f"argument '{name}': expected {expected}, got one of {own!r}")
    return own


def _element_in(name, annotation, scalar, shape, options):
    """The element type that the annotation asks for in an array of scalars."""
    wanted = scalar_of(annotation.dtype, options)
    if annotation.element_dim is not None:
        inner = annotation.element_shape or shape[max(len(shape) - annotation.element_dim, 0) :]
        if len(inner) != annotation.element_dim or not all(inner):
            raise ArrayError_(f"argument '{name}': expected at least {annotation.element_dim} dimensions, got shape {shape}")
        wanted = _types.element_of(wanted or scalar, inner)
    element = scalar if wanted is None else wanted
    if isinstance(element, _types.StructType):
        raise ArrayError_(f"argument '{name}': expected an ndarray of {element!r}, got an array of {scalar!r}")
    wanted, extra = getattr(element, "dtype", element), tuple(getattr(element, "shape", ()))
    if scalar is not wanted:
        how = f"; convert it, in NumPy with .astype(np.{wanted.numpy})" if wanted.numpy is not None else ""
        raise ArrayError_(f"argument '{name}': expected an array of {wanted!r}, got one of {scalar!r}{how}")
    if extra and shape[max(len(shape) - len(extra), 0) :] != extra:
        raise TypeError(f"argument '{name}': expected last dimensions {extra} for elements {element!r}, got shape {shape}")
    return element


def element_is_the_arguments(source, parameters) -> list[bool]:
    """For each parameter: is it an array of vectors or matrices only because the argument was one of the package's?"""
    found = []
    for name, parameter in parameters.items():
        annotation, element = annotation_of(source, name), getattr(parameter, "element", None)
        is_open = getattr(annotation, "dtype", None) is None and getattr(annotation, "element_dim", None) is None
        found.append(isinstance(parameter, ArrayParameter) and is_open and hasattr(element, "shape"))
    return found


def text_of(parameter) -> str:
    """A parameter of a specialisation as signatures show it."""
    if isinstance(parameter, (ArrayParameter, StructArrayParameter)):
        extents = shape_text(parameter.shape or (None,) * parameter.ndim)
        if isinstance(parameter, StructArrayParameter):
            return f"{parameter.type!r}[{extents}]"
        return f"{parameter.element!r}[{extents}]" + ("" if parameter.contiguous else " strided")
    return parameter.text if isinstance(parameter, StaticParameter) else repr(parameter.type)
