"""Definitions found by where their code ends, and their parameters, against what `inspect` says of them."""

import ast
import functools
import inspect
import linecache
import sys
import types

import pytest

from metate.frontend.definition import definition_text, parsed
from metate.parameters import parameters_of, signature_of

ODD = '''
def one(): return 1
def ends_in_a_text():
    """Lines
of a text that makes no code.
    """
class Some:
    @staticmethod
    @mark(
        1,
)
    def method(self,
               b=(1,
    2)):
        # a comment
        if b:
# another one
            x = """
at the left
"""
        pass

        # the last one
    # of the class
    other = 3
def nested():
    def inner():
        return [
    1
]
    return inner
# behind it
'''


def test_odd_definitions():
    lines = ODD.splitlines(True)
    names = {"mark": lambda _: lambda function: function}
    exec(compile(ODD, "odd.py", "exec"), names)
    linecache.cache["odd.py"] = (len(ODD), None, lines, "odd.py")
    functions = [names["one"], names["Some"].method, names["nested"], names["nested"]()]
    for function in functions:
        found = parsed(definition_text(lines, function.__code__), function.__code__.co_firstlineno)
        assert ast.dump(found, include_attributes=True) == ast.dump(by_tokens(function), include_attributes=True)
    with pytest.raises(SyntaxError):  # cut off, and seen to be
        parsed(definition_text(lines, names["ends_in_a_text"].__code__), 1)
    assert definition_text(lines[:2], names["nested"].__code__) is None
    assert definition_text(lines, (lambda: 1).__code__.replace(co_firstlineno=4)) is None


def by_tokens(function):
    lines, first = inspect.getsourcelines(function)
    return parsed("".join(lines), first)


def test_the_standard_library():
    functions = [one for name in ("ast", "inspect", "textwrap", "typing", "argparse", "functools") for one in functions_of(name)]
    assert len(functions) > 150
    for function in functions:
        text = definition_text(linecache.getlines(function.__code__.co_filename), function.__code__)
        assert ast.dump(parsed(text, 1)) == ast.dump(by_tokens(function)), function


def functions_of(name):
    __import__(name)
    for thing in vars(sys.modules[name]).values():
        if isinstance(thing, types.FunctionType) and thing.__module__ == name and not hasattr(thing, "__wrapped__"):
            yield thing


def test_parameters():
    def plain(a, /, b: int, c: "float" = 1, *d: str, e, f: bytes = b"", **g: None):
        """All kinds."""

    @functools.wraps(plain)
    def wrapped(*arguments):
        return plain(*arguments)

    for function in (plain, lambda: 0, lambda *, k: k, lambda *a: a, lambda x=1, **k: x, wrapped, by_tokens):
        found = {one.name: one for one in parameters_of(function)}
        assert signature_of(found).parameters == inspect.signature(function).parameters
        stars = [p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in inspect.signature(function).parameters.values()]
        assert [one.takes_several for one in found.values()] == stars
