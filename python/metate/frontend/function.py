"""@func: a function that kernels inline where they call it."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import RuntimeTypeError_
from .source import SourceFunction, lambda_source

_Class = TypeVar("_Class", bound=type)


class Template:
    """The annotation `template()`: the argument itself, known while compiling, not a value of a type."""

    def __call__(self):
        return self

    def __repr__(self):
        return "template()"


template = Template()


def is_template(annotation) -> bool:
    """Is it template() or template itself?"""
    return isinstance(annotation, Template) or annotation is Template


class Ref:
    """The annotation `ref(type)`: the caller's variable or element, which assignments change."""

    def __init__(self, dtype):
        self.dtype = dtype

    def __repr__(self):
        return f"ref({self.dtype!r})"


def ref(dtype: Any) -> Ref:
    """An annotation of functions' parameters: the argument by reference.

    What is given is a variable of the kernel, or an element of a field or array, of exactly the type `dtype` (a scalar, vector,
    matrix or struct type); what the function assigns to the parameter, it assigns to that.
    """
    return Ref(dtype)


def takes_place(annotation) -> bool:
    """Is the argument the thing itself, not its value?"""
    return is_template(annotation) or isinstance(annotation, Ref)


class Function:
    """What @func makes: callable from kernels and other functions only."""

    def __init__(self, function, annotation_scope=None):
        functools.update_wrapper(self, function)
        self.source = lambda_source(function) or SourceFunction(function, annotation_scope)

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *arguments, **keywords):
        raise RuntimeTypeError_(f"'{self.source.name}' is a @func: call it from a kernel or from another @func")

    def __repr__(self):
        return f"<func {self.source.name}>"


def func(function: Callable[..., Any]) -> Function:
    """Makes `function` callable from kernels; its body is inlined at each call.

    Arguments are passed by value; a parameter annotated `template()` stands for the argument itself,
    so that assignments change it. Trees and arrays are passed as they are.
    """
    return Function(function, dict(sys._getframe(1).f_locals))


def inlined(function) -> Function:
    """A method or a function as something to inline: a plain one is as good as a @func."""
    function = getattr(function, "__func__", function)  # a static method's
    if isinstance(function, Function):
        return function
    found = getattr(function, "_metate_function", None)  # kept with it: its source is read once
    if found is None:
        found = function._metate_function = Function(function)
    return found


class PythonFunction(Function):
    """What @pyfunc makes: also callable from Python."""

    def __call__(self, *arguments, **keywords):
        return self.source.function(*arguments, **keywords)

    def __repr__(self):
        return f"<pyfunc {self.source.name}>"


def pyfunc(function: Callable[..., Any]) -> PythonFunction:
    """Makes `function` callable from kernels, as @func does, and from Python, where it runs as it stands."""
    return PythonFunction(function, dict(sys._getframe(1).f_locals))


class RealFunction(Function):
    """What @real_func makes: kernels call it."""

    def __repr__(self):
        return f"<real_func {self.source.name}>"


def real_func(function: Callable[..., Any]) -> RealFunction:
    """Makes `function` callable from kernels, as a function of its own that is called where @func is inlined.

    It may call itself, directly or through others, as deep as the stack allows; in debug mode a call that is too deep is an
    error at the function's line. It may return anywhere. Parameters are annotated: values go by value, `ref(type)` is the
    caller's variable or element, arrays, trees and what stands for `template()` are passed as they are. What it returns is as
    the annotation of the result says, or as its first return. Loops in it run in order.

    Raises TypeError_ for a parameter without annotation.
    """
    return RealFunction(function, dict(sys._getframe(1).f_locals))


def data_oriented(cls: _Class) -> _Class:
    """Decorates a class whose methods may be kernels and functions of kernels.

    In them ``self`` is the object as it is while compiling: its fields are used where they are, everything else that is
    read through it (numbers, texts, other objects and what is read through these) is known while compiling. An object
    for which all of that is equal shares the compiled code; when a value changes, the next call compiles anew.
    Subclasses inherit this.
    """
    if not isinstance(cls, type):
        raise RuntimeTypeError_(f"data_oriented: expected a class, got {cls!r}")
    cls._metate_data_oriented = True
    return cls
