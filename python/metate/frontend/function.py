"""@func: a function that kernels inline where they call it."""

from __future__ import annotations

import functools
import sys

from .source import SourceFunction


class Template:
    """The annotation `template()`: the argument itself, known while compiling, not a value of a type."""

    def __call__(self):
        return self

    def __repr__(self):
        return "template()"


template = Template()


class Function:
    """What @func makes: callable from kernels and other functions only."""

    def __init__(self, function, annotation_scope=None):
        functools.update_wrapper(self, function)
        self.source = SourceFunction(function, annotation_scope)

    def __call__(self, *arguments, **keywords):
        raise TypeError(f"'{self.source.name}' is a @func: call it from a kernel or from another @func")

    def __repr__(self):
        return f"<func {self.source.name}>"


def func(function) -> Function:
    """Makes `function` callable from kernels; its body is inlined at each call.

    Arguments are passed by value; a parameter annotated `template()` stands for the argument itself,
    so that assignments change it. Trees and arrays are passed as they are.
    """
    return Function(function, dict(sys._getframe(1).f_locals))
