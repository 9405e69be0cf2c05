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


def real_func(function: Callable[..., Any]) -> Function:
    """What @func does, for functions that Taichi does not inline: arguments go by value, and they may return early.

    It is inlined nevertheless, so that one that calls itself at run time is a SyntaxError_ at that call. Raises
    RuntimeTypeError_ for a parameter without a type, as Taichi does.
    """
    made = Function(function, dict(sys._getframe(1).f_locals))
    for name, parameter in made.source.parameters.items():
        if parameter.annotation is parameter.empty and not made.source.is_in_class:
            raise RuntimeTypeError_(f"real_func '{function.__name__}': parameter '{name}' has no annotation: expected a type")
    return made


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
