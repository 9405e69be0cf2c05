"""The source of a kernel or function: its syntax tree, its lines, what its names mean outside it.

Works for files, notebooks, zipped programs and anything else that linecache knows; for code without a file, from `exec` say,
where its text can be found (source_text.py). `attach_source` makes linecache know a text.
"""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
import sys
from types import FunctionType

from ..errors import SyntaxError_
from ..parameters import Parameter, parameters_of
from .definition import definition_text, parsed
from .mentions import Mentions, mentions_of
from .source_text import find_lines, has_no_file, hint_for, lines_of


def attach_source(file: str, text: str) -> None:
    """Lets kernels be made from code that has no file.

    Args:
        file: the name given to ``compile(text, file, "exec")``.
        text: the source.
    """
    linecache.cache[file] = (len(text), None, lines_of(text), file)


class SourceFunction:
    """A Python function as the front end sees it. Reads the source on first use, not before."""

    def __init__(self, function, annotation_scope=None):
        self.function = function
        self.name = function.__name__
        self.file = function.__code__.co_filename
        self.first_line = function.__code__.co_firstlineno
        self._annotation_scope = annotation_scope or {}
        self._found = None  # lines of the text that the function is from, where it has no file
        if has_no_file(function.__code__):
            self._found = find_lines(function, sys._getframe(1))
        self.iterators = {}  # id -> (an iterator from outside, its elements)

    @functools.cached_property
    def _definition(self) -> tuple[str, int, ast.FunctionDef | None]:
        """The lines of the definition, decorators included, the number of the first one, and the syntax tree."""
        text = definition_text(self._lines(), self.function.__code__) if not hasattr(self.function, "__wrapped__") else None
        if text is not None:
            try:
                return text, self.first_line, parsed(text, self.first_line)
            except SyntaxError:  # its end is somewhere else
                pass
        text, first = self._definition_by_tokens()
        return text, first, parsed(text, first)

    def _lines(self):
        """All lines of the text that the function is from; empty where they are not known."""
        if self._found is not None:
            return self._found
        linecache.checkcache(self.file)
        return linecache.getlines(self.file, self.function.__globals__)

    def _definition_by_tokens(self) -> tuple[str, int]:
        import inspect

        try:
            if self._found is None:
                lines, first = inspect.getsourcelines(self.function)
            else:
                first = self.first_line
                lines = inspect.getblock(self._found[first - 1 :])
        except (OSError, TypeError) as error:
            raise SyntaxError_(
                f"the source of '{self.name}' is not available: {error}",
                file=self.file,
                line=self.first_line,
                hint=hint_for(self.function.__code__),
            ) from None
        return "".join(lines), max(first, 1)

    @property
    def text(self) -> str:
        """The source of the definition as it stands in the file."""
        return self._definition[0]

    @functools.cached_property
    def mentions(self) -> Mentions:
        """The names in it."""
        return mentions_of(self.tree)

    @functools.cached_property
    def tree(self) -> ast.FunctionDef:
        """The definition's syntax tree, with the line and column numbers of the file."""
        found = self._definition[2]
        if found is None:
            raise SyntaxError_(f"expected a function definition for '{self.name}'", file=self.file, line=self.first_line)
        return found

    @property
    def is_in_class(self) -> bool:
        """Was it defined directly in the body of a class?"""
        path = self.function.__qualname__.split(".")
        return len(path) > 1 and path[-2] != "<locals>"

    def line(self, number: int) -> str:
        """The text of a line."""
        if self._found is None:
            return linecache.getline(self.file, number)
        return self._found[number - 1] if 0 < number <= len(self._found) else ""

    @functools.cached_property
    def declared(self) -> dict[str, Parameter]:
        """The parameters by name as they are written, with annotations that were left as text evaluated."""
        found = {}
        for parameter in parameters_of(self.function):
            if isinstance(parameter.annotation, str):
                parameter = parameter._replace(annotation=self._evaluate(parameter.annotation))
            found[parameter.name] = parameter
        return found

    @property
    def parameters(self) -> dict[str, Parameter]:
        """What arguments are given for, by name; of kernels see kernel_source.py."""
        return self.declared

    @functools.cached_property
    def returns(self):
        """The return annotation; None without one."""
        annotation = self.function.__annotations__.get("return")
        return self._evaluate(annotation) if isinstance(annotation, str) else annotation

    def _evaluate(self, text):
        scope = {**self._annotation_scope, **self.captured}
        try:
            return eval(text, self.function.__globals__, scope)
        except Exception as error:
            raise SyntaxError_(
                f"annotation '{text}' of '{self.name}' cannot be evaluated: {error}", file=self.file, line=self.first_line
            ) from None

    @property
    def captured(self) -> dict:
        """What the function closes over."""
        cells = zip(self.function.__code__.co_freevars, self.function.__closure__ or ())
        return {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}

    def lookup(self, name: str):
        """(found, value) of a name from outside the function: captured, global or built in."""
        captured = self.captured
        if name in captured:
            return True, captured[name]
        if name in self.function.__globals__:
            return True, self.function.__globals__[name]
        if hasattr(builtins, name):
            return True, getattr(builtins, name)
        return False, None

    def outer_values(self) -> dict:
        """Captured and global names with their values."""
        return {**self.function.__globals__, **self.captured}


class SourceLambda(SourceFunction):
    """A lambda: `tree` is an ast.Lambda."""

    @property
    def text(self) -> str:
        """The lambda, as Python would write it."""
        return ast.unparse(self.tree)

    @functools.cached_property
    def tree(self) -> ast.Lambda:
        text = "".join(self._found or linecache.getlines(self.file, self.function.__globals__))
        try:
            nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Lambda) and self._may_be(node)]
        except SyntaxError:
            nodes = []
        if len(nodes) > 1:
            places = set(self.function.__code__.co_positions())
            nodes = [node for node in nodes if _extent_of(node.body) in places]
        if len(nodes) != 1:
            raise SyntaxError_(
                "the source of a lambda is not available",
                file=self.file,
                line=self.first_line,
                hint="make a @func of it" if not has_no_file(self.function.__code__) else hint_for(self.function.__code__),
            )
        return nodes[0]

    def _may_be(self, node):
        code = self.function.__code__
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        return node.lineno == self.first_line and tuple(names) == code.co_varnames[: code.co_argcount]


def lambda_source(function) -> SourceLambda | None:
    """The source of a lambda; None for anything else that can be called."""
    is_lambda = isinstance(function, FunctionType) and function.__name__ == "<lambda>"
    return SourceLambda(function) if is_lambda else None


def _extent_of(node):
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _is_filled(cell) -> bool:
    try:
        return bool([cell.cell_contents])
    except ValueError:
        return False
