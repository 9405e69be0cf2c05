"""What the parts of a walk share: the builder, where the walk stands, and operations and errors at a place of the source.

A walk is of one kernel. Its parts (values.py, calls.py, loops.py, ...) have this and the parts that they name in their
constructors, and know of no others; walker.py puts them together.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from metate_native import _compiler

from ..errors import CompilationError, MetateError, TreeError
from . import handles
from .diagnostics import located, place_of, suggestion, warn
from .native import describe
from .options import FrontendOptions

if TYPE_CHECKING:
    from .capture import Captures

_MOST_NOTES = 8  # calls that an error names


class Walk:
    """One walk.

    Args:
        builder: makes the IR.
        options: of the kernel.
        frame: of the kernel, empty.
        definition: the kernel's syntax tree.

    Attributes:
        frame: the function being walked, with its names.
        captures: what the kernel uses from outside.
        depth: run-time regions around the current statement.
        static_depth: inside static(...), where more than 0.
        serialize_next: does loop_config say that the next loop runs in order?
        constants: ids of the fields, and native arrays, whose elements derivatives take for constants, in the rest of the loop.
        current: (source, node) of the statement being walked.
    """

    captures: Captures

    def __init__(self, builder: _compiler.KernelBuilder, options: FrontendOptions, frame: handles.Frame, definition: ast.AST):
        self.builder, self.options, self.frame = builder, options, frame
        self.depth = 0
        self.static_depth = 0
        self.serialize_next = False
        self.constant_branches = 0  # around the statement: `if` whose conditions are constants
        self.constants: frozenset[int] = frozenset()
        self.current = frame.source, definition

    #  -- names ------------------------------------------------------------------------------------

    def push_scope(self, kind: str) -> handles.Scope:
        """Begins a block; see handles.Scope."""
        self.frame.scope = handles.Scope(kind, self.frame.scope)
        return self.frame.scope

    def pop_scope(self) -> None:
        """Ends a block."""
        self.frame.scope = self.frame.scope.parent

    #  -- operations -------------------------------------------------------------------------------

    def locate(self, node: ast.AST) -> None:
        """What is emitted from here on stands at `node`."""
        line = getattr(node, "lineno", None)
        if line is not None:
            self.builder.set_location(self.frame.source.file, line, node.col_offset + 1)

    def emit(self, node: ast.AST, operation, *arguments) -> Any:
        """Calls the builder at the place of `node`; its complaint becomes an error there."""
        self.locate(node)
        try:
            return operation(*arguments)
        except _compiler.FrontendError as error:
            kind, message, hint = error.args
            raise self.error(kind, message, node, hint) from None

    def write(self, node: ast.AST, place, value, what: str) -> None:
        """Stores into a place; what the builder warns of becomes a warning at `node`."""
        self.emit(node, self.builder.store, place, value, what)
        self._pass_on_warnings(node)

    def write_together(self, node: ast.AST, places: list, values: list, what: str) -> None:
        """Stores into several places: those that share an exponent together, else one after the other."""
        self.emit(node, self.builder.store_together, places, values, what)
        self._pass_on_warnings(node)

    def _pass_on_warnings(self, node):
        for message in self.builder.take_warnings():
            self.warn(message, node)

    def warn(self, message: str, node: ast.AST) -> None:
        """A warning at `node`."""
        source = self.frame.source
        told = message, source.file, place_of(source, node)[0]
        self.captures.requirements.warnings.append(told)
        warn(*told)

    def compute(self, node: ast.AST, function, *arguments) -> Any:
        """A computation in Python, while compiling."""
        try:
            return function(*arguments)
        except CompilationError:
            raise
        except TreeError as error:
            raise self.error("place", str(error), node) from None
        except MetateError as error:
            raise self.error("type", str(error), node) from None
        except Exception as error:
            raise self.error("type", f"{type(error).__name__} while compiling: {error}", node) from None

    #  -- errors -----------------------------------------------------------------------------------

    def error(self, kind: str, message: str, node: ast.AST, hint: str | None = None) -> CompilationError:
        """The exception at `node` of the function being walked, with the calls that led there."""
        notes, frame = [], self.frame
        while frame.caller is not None:
            source, call = frame.caller.source, frame.call
            notes.append((f"called from here, by '{source.name}'", source.file, call.lineno, call.col_offset + 1))
            frame = frame.caller
        if len(notes) > _MOST_NOTES:  # of a recursion, both ends
            notes = [*notes[: _MOST_NOTES // 2], *notes[-_MOST_NOTES // 2 :]]
        return located(kind, message, self.frame.source, node, hint, notes)

    def unknown_attribute(self, owner, name: str, node: ast.AST, candidates, listed: bool = True) -> CompilationError:
        """The exception of `owner.name`; listed: does the text name all that there is?"""
        known = f"; it has {', '.join(candidates)}" if listed and candidates else ""
        message = f"{describe(owner)} has no attribute '{name}'{known}"
        return self.error("name", message, attribute_name(node), suggestion(name, candidates))


def attribute_name(node: ast.AST) -> ast.AST:
    """A node that covers the name after the dot only, for carets."""
    if not isinstance(node, ast.Attribute) or node.end_lineno != node.lineno:
        return node
    place = ast.Name(node.attr, ast.Load())
    place.lineno = place.end_lineno = node.end_lineno
    place.end_col_offset = node.end_col_offset
    place.col_offset = node.end_col_offset - len(node.attr.encode())
    return place
