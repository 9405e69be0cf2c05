"""What a graph's kernels are given, held against what they take, where they are dispatched."""

from __future__ import annotations

import itertools
import linecache
from dataclasses import dataclass
from typing import Any

from . import context as _context
from . import value_types as _types
from .argument_kinds import describe_array
from .argument_packs import ArgPack, ArgPackType, leaves_of
from .dim import Dim, Extent
from .dtypes import scalar_of
from .errors import ArgumentError_, CompilationError, RuntimeTypeError_, RuntimeValueError_, TypeError_
from .frontend.function import Template
from .frontend.graph_parts import Number, Place, Taken
from .frontend.specialize import annotation_of, check_annotations
from .lazy_numpy import numpy_class
from .parameters import signature_of
from .tree_type import TreeType


@dataclass(frozen=True)
class Parameter:
    """A parameter of the graph.

    Attributes:
        annotation: as that of a kernel's parameter.
        is_bound: is it always the same object, `value`, which no caller gives?
        tag: of an Arg, its kind.
        is_intermediate: is it an array of the graph's own, which nobody gives?
    """

    annotation: Any
    is_bound: bool = False
    value: Any = None
    tag: Any = None
    is_intermediate: bool = False


def place_in(frame) -> Place:
    """Where a frame is: the call that it is in."""
    code = frame.f_code
    position = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    line, end_line, start, end = position
    column = 1 if start is None else start + 1
    length = end - start if start is not None and end is not None and line == end_line else 1
    return Place(code.co_filename, line or frame.f_lineno, column, length)


def problem_at(place: Place, kind: type[CompilationError], message: str, hint: str | None = None) -> CompilationError:
    """The exception with the program's line."""
    return kind(
        message, file=place.file, line=place.line, column=place.column, length=place.length,
        source=linecache.getline(place.file, place.line) or None, hint=hint,
    )  # fmt: skip


class Matcher:
    """The parameters of one graph, and what kernels are given of them.

    Args:
        arg: the class Arg.

    Attributes:
        parameters: a Parameter for each name.
    """

    def __init__(self, arg):
        self._arg = arg
        self.parameters: dict[str, Parameter] = {}
        self._bound = {}  # (id of an object, what it stands for) -> its name

    def match(self, source, signature, arguments, keywords, place: Place) -> dict[str, Taken | Number]:
        """What a dispatch gives to each parameter of a kernel. Raises CompilationError, RuntimeValueError_."""
        check_annotations(source)
        if source.returns is not None:
            text = f"'{source.name}' returns a value, for which a graph has no place: the kernel is {signature}"
            raise problem_at(place, TypeError_, text, "write it to an array or a field")
        plain = {name: p._replace(annotation=p.empty) for name, p in source.declared.items()}
        try:
            bound = signature_of(plain).bind(*arguments, **keywords)
        except TypeError as error:
            raise problem_at(place, ArgumentError_, f"'{source.name}': {error}; the kernel is {signature}") from None
        bound.apply_defaults()
        options = _context.current().options
        found = {}
        for name, thing in bound.arguments.items():
            if name in source.packs:
                found |= self._members(source, name, source.packs[name], thing, options, place)
            else:
                found[name] = self._given(source, name, thing, options, place)
        self._check_shapes(source, found, place)
        return found

    def _check_shapes(self, source, given, place):
        """Are the extents that a kernel asks for those of what it is given, whatever the launch?"""
        dims: dict[str, tuple[Extent, str]] = {}  # of the kernel: what each is here, and by which parameter
        for name, one in given.items():
            annotation = annotation_of(source, name)
            asked = annotation.shape if isinstance(annotation, _types.NDArrayType) else None
            if asked is None:
                continue
            # Members of packs have their pack's types.
            given_to = self.parameters.get(one.name)
            own = asked if given_to is None else given_to.annotation.shape or (None,) * len(asked)
            for axis, (wanted, has) in enumerate(zip(asked, own)):
                problem = _extent_problem(wanted, has, dims, name)
                if problem:
                    text = f"'{source.name}': parameter '{name}': dimension {axis}: {problem}"
                    hint = f"say what it always is: mt.graph.Arg(..., '{one.name}', shape=(...))"
                    raise problem_at(place, TypeError_, text, hint)

    def count(self, arg) -> Taken:
        """An Arg that says how often something is run."""
        kind = scalar_of(arg.annotation, _context.current().options)
        if not isinstance(kind, _types.DType) or kind.is_float or kind is _types.u1:
            raise RuntimeTypeError_(f"append: count: expected an Arg of an integer type, got {arg!r}")
        return self._taken(arg)

    def _members(self, source, path, type_, thing, options, place):
        """What is given to each member of a pack: of an Arg its members, of a pack what stands in it."""
        if isinstance(thing, self._arg) and thing.annotation == type_:
            self._taken(thing)
            return {name: Taken(thing.name + name[len(path) :]) for name, _ in leaves_of(type_, path)}
        if not isinstance(thing, ArgPack) or thing._type != type_:
            text = f"'{source.name}': parameter '{path}': expected an ARGPACK Arg or a pack of {type_!r}, got {thing!r}"
            raise problem_at(place, TypeError_, text)
        found = {}
        for name, member in type_.members.items():
            part, value = f"{path}.{name}", thing[name]
            if isinstance(member, ArgPackType):
                found |= self._members(source, part, member, value, options, place)
            else:
                found[part] = self._given(source, part, value, options, place)
        return found

    def _given(self, source, name, thing, options, place):
        annotation = annotation_of(source, name)
        if isinstance(thing, self._arg):
            expected = _unfit(thing, annotation, options)
            if expected:
                text = f"'{source.name}': parameter '{name}': expected {expected}, got {thing!r}"
                raise problem_at(place, TypeError_, text)
            return self._taken(thing, bool(getattr(annotation, "contiguous", False)))
        if isinstance(annotation, Template):
            return self._bind(source, name, annotation, thing)
        if isinstance(annotation, TreeType):
            if getattr(thing, "type", None) != annotation:
                text = f"'{source.name}': parameter '{name}': expected a tree of the annotated type or an Arg, got {thing!r}"
                raise problem_at(place, TypeError_, text)
            return self._bind(source, name, annotation, thing)
        if isinstance(annotation, _types.NDArrayType):
            return self._bind(source, name, _completed(annotation, thing, source, name, place), thing)
        scalar = scalar_of(annotation, options)
        if isinstance(scalar, _types.DType) and isinstance(thing, (bool, int, float, numpy_class("generic"))):
            return _number(source, name, scalar, thing, place)
        text = f"'{source.name}': parameter '{name}': expected an Arg of {annotation!r}, got {thing!r}"
        raise problem_at(place, TypeError_, text, "make it an Arg, and give it to run by its name")

    def _taken(self, arg, contiguous=False) -> Taken:
        known = self.parameters.get(arg.name)
        annotation = arg.annotation
        if known is not None:
            same = known.annotation._replace(contiguous=None) if contiguous_of(known) else known.annotation
            is_other = known.is_intermediate != getattr(arg, "is_intermediate", False)
            if known.tag is not arg.tag or same != annotation or is_other:
                raise RuntimeValueError_(
                    f"graph: argument '{arg.name}' means two things: {known.tag.name} {same!r}, and {arg.tag.name} {annotation!r}"
                )
            contiguous = contiguous or contiguous_of(known)
        if contiguous:
            annotation = annotation._replace(contiguous=True)
        self.parameters[arg.name] = Parameter(annotation, tag=arg.tag, is_intermediate=getattr(arg, "is_intermediate", False))
        return Taken(arg.name)

    def _bind(self, source, name, annotation, thing) -> Taken:
        """An object that the graph has by itself, as a parameter that no caller gives."""
        kind = "template" if isinstance(annotation, Template) else annotation
        key = (type(thing), thing) if isinstance(thing, (bool, int, str, type(None))) else id(thing), kind
        if key not in self._bound:
            name = name.replace(".", "_")  # a member of a pack
            candidates = itertools.chain((name, f"{source.name}_{name}"), (f"{source.name}_{name}{k}" for k in itertools.count()))
            own = next(candidate for candidate in candidates if candidate not in self.parameters)
            self._bound[key] = own
            self.parameters[own] = Parameter(annotation, is_bound=True, value=thing)
        return Taken(self._bound[key])


def _extent_problem(wanted: Extent, has: Extent, dims, parameter) -> str:
    """What a kernel expects of a dimension instead of what there is; empty: it fits."""
    show = lambda extent: "any" if extent is None else f"{extent.name} ({extent.bounds})" if isinstance(extent, Dim) else extent
    if wanted is None:
        return ""
    fits = has is not None and (wanted.includes(has) if isinstance(wanted, Dim) else wanted == has)
    if not fits:
        return f"expected {show(wanted)}, got {show(has)}"
    if isinstance(wanted, Dim):
        known, where = dims.setdefault(wanted.name, (has, parameter))
        if known != has:
            return f"expected {show(known)}, as {wanted.name} is in parameter '{where}', got {show(has)}"
    return ""


def contiguous_of(parameter) -> bool:
    """Is it an array that must have no gaps?"""
    return bool(getattr(parameter.annotation, "contiguous", False))


def _element(annotation, options):
    return scalar_of(annotation.dtype, options)


def _unfit(arg, annotation, options) -> str:
    """What the annotation expects instead of the Arg; empty: it fits."""
    own = arg.annotation
    if isinstance(annotation, Template):
        return "an Arg of another kind" if isinstance(own, ArgPackType) else ""
    if not isinstance(annotation, _types.NDArrayType):
        wanted = scalar_of(annotation, options)
        is_array = isinstance(own, (_types.NDArrayType, Template, ArgPackType))
        return "" if not is_array and scalar_of(own, options) == wanted else f"an Arg of {wanted!r}"
    wanted = f"an NDARRAY Arg of {annotation!r}"
    if not isinstance(own, _types.NDArrayType):
        return wanted
    element, asked = _element(own, options), _element(annotation, options)
    if annotation.ndim not in (None, own.ndim):
        return wanted
    if annotation.element_dim is None:
        return "" if asked is None or element == asked else wanted
    shape = tuple(getattr(element, "shape", ()))
    fits = asked is None or getattr(element, "dtype", element) is asked
    return "" if fits and len(shape) == annotation.element_dim and annotation.element_shape in (None, shape) else wanted


def _completed(annotation, thing, source, name, place):
    """The array type of an object that is given once and for all."""
    described = describe_array(thing)
    if described is None:
        text = f"'{source.name}': parameter '{name}': expected an array or an NDARRAY Arg, got {thing!r}"
        raise problem_at(place, TypeError_, text)
    element, shape, _ = described
    if annotation.dtype is None:
        annotation = annotation._replace(dtype=element)
    inner = 0 if hasattr(thing, "element_type") else len(getattr(annotation.dtype, "shape", ()))
    if annotation.shape is not None:  # it never has another one
        annotation = annotation._replace(shape=tuple(int(extent) for extent in shape[: len(shape) - inner]))
    return annotation._replace(ndim=len(shape) - inner if annotation.ndim is None else annotation.ndim)


def _number(source, name, scalar, value, place) -> Number:
    """A number that a kernel is given once and for all."""
    value = value.item() if isinstance(value, numpy_class("generic")) else value
    fits = scalar.is_float or (isinstance(value, int) and scalar.holds(value))
    if not fits:
        text = f"'{source.name}': parameter '{name}': expected a number of type {scalar!r} or an Arg, got {value!r}"
        raise problem_at(place, TypeError_, text)
    value = float(value) if scalar.is_float else int(scalar(value))  # a bit pattern is the number that it stands for
    return Number(value, repr(value))
