"""Texts with values: print, f-strings, `%`, `str.format`, and the messages of asserts.

A text is a list of parts: texts, values, and pairs (value, format). What a format gives is the runtime's to
write; which formats there are, the KernelBuilder's to know.
"""

from __future__ import annotations

import ast
import contextlib
import re
import string

import numpy as np

from .. import value_types as _types
from . import handles
from .arguments import Arguments
from .evaluator import Evaluator
from .native import describe
from .static import is_static
from .structs import StructValue
from .values import Values
from .walk import Walk

_CONVERSIONS = {-1: None, ord("s"): str, ord("r"): repr, ord("a"): ascii}
_PRECISION = re.compile(r"\.\d+$")
_OF_C = ("a", "A", "i", "u")  # letters that Python's formats of numbers have not
_INTEGER_PRECISION = re.compile(r"\.\d+[bdoxX]?$")
_PERCENT = re.compile(r"%(?:(?P<percent>%)|(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<precision>\.\d+)?[lhL]*(?P<type>[a-zA-Z]))")


class Texts:
    """Puts texts together."""

    def __init__(self, walk: Walk, values: Values, evaluator: Evaluator, arguments: Arguments):
        self.walk, self.builder = walk, walk.builder
        self.values, self.evaluator, self.arguments = values, evaluator, arguments

    #  -- what a thing looks like ------------------------------------------------------------------

    def print_parts(self, thing, node):
        """Texts and values that print what an argument stands for, as Python would."""
        if isinstance(thing, str):
            return [thing]
        if isinstance(thing, handles.TextParts):
            return list(thing.parts)
        if isinstance(thing, _types.DType) or thing is None:
            return [str(thing)]
        if isinstance(thing, handles.ShapeHandle):
            thing = tuple(self.values.unpacked(thing, node))
        if isinstance(thing, StructValue):
            return self.print_struct(thing, node)
        if isinstance(thing, (tuple, list)):
            opening, closing = "()" if isinstance(thing, tuple) else "[]"
            parts = [opening]
            for k, element in enumerate(thing):
                parts.extend([", "] * bool(k) + self.print_parts(element, node))
            return [*parts, ",)" if isinstance(thing, tuple) and len(thing) == 1 else closing]
        return [self.values.to_value(thing, node)]

    def print_struct(self, thing, node):
        """Texts and values that print a struct."""
        parts = [f"{thing.type.class_name or 'Struct'}("]
        for k, (name, part) in enumerate(thing.parts.items()):
            parts += [f"{', ' * bool(k)}{name}=", *self.print_parts(part, node)]
        return [*parts, ")"]

    def formatted(self, thing, text, node, format_node):
        """What `format(thing, text)` prints; vectors and matrices component by component."""
        if not text:
            return self.print_parts(thing, node)
        if isinstance(thing, str):
            return [self.walk.compute(format_node, format, thing, text)]
        if isinstance(thing, handles.ShapeHandle):
            thing = tuple(self.values.unpacked(thing, node))
        is_number = isinstance(thing, (bool, int, float, np.generic, np.ndarray))
        if isinstance(thing, (handles.TextParts, StructValue, tuple, list)) or (is_static(thing) and not is_number):
            what = describe(thing)
            raise self.walk.error("type", f"format '{text}': expected a number, vector, matrix or static text, got {what}", node)
        value = self.values.to_value(thing, node)
        text = _with_letter(text, _types.dtype(value.type.code).is_float)
        self.walk.emit(format_node, self.builder.check_format, value, self.values.text(text, format_node))
        return [(value, text)]

    #  -- f-strings, format, % ---------------------------------------------------------------------

    def expr_JoinedStr(self, node):
        parts, known = [], []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
                known.append(str(part.value))
                continue
            thing = self.evaluator.expr(part.value)
            conversion = _CONVERSIONS[part.conversion]
            if conversion is not None and is_static(thing) and not isinstance(thing, (bool, int, float)):
                thing = self.walk.compute(part.value, conversion, thing)
            text = "" if part.format_spec is None else self._format_text(part.format_spec)
            parts.extend(self.formatted(thing, text, part.value, self._format_place(part, text)))
            known.append(self._known_part(thing, text, part) if is_static(thing) else None)
        if known and None not in known:  # a text known while compiling, as Python writes it
            return "".join(known)
        return handles.TextParts(tuple(parts))

    def _known_part(self, thing, text, part):
        """What Python writes; None for formats that are C's alone."""
        is_integer = isinstance(thing, (int, np.integer))
        if not isinstance(thing, str) and (text[-1:] in _OF_C or (is_integer and _INTEGER_PRECISION.search(text))):
            return None
        conversion = {"s": str, "r": repr, "a": ascii}.get(chr(part.conversion) if part.conversion > 0 else "", lambda x: x)
        text = _with_letter(text, isinstance(thing, float) and part.conversion < 0)
        return self.walk.compute(part.value, lambda: format(conversion(thing), text))

    def _format_text(self, node):
        """The format of a part; widths and the like may be known while compiling: f"{x:{width}.3f}"."""
        texts = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                texts.append(str(part.value))
                continue
            self.walk.static_depth += 1
            thing = self.evaluator.expr(part.value)
            self.walk.static_depth -= 1
            if not isinstance(thing, (str, int)):
                known = "a number or text known while compiling"
                raise self.walk.error("type", f"expected {known} in a format, got {describe(thing)}", part.value)
            texts.append(str(thing))
        return "".join(texts)

    def _format_place(self, part, text):
        """A node that covers the format, for carets: the syntax tree does not tell where in a text it stands."""
        value = part.value
        line = (self.walk.frame.source.line(value.end_lineno) or "").encode()
        after = line[value.end_col_offset :]
        found = re.match(rb"[\s)]*(?:![rsa])?:", after) if text else None
        if found is None or not after[found.end() :].startswith(text.encode()):
            return value
        place = ast.copy_location(ast.Name("format", ast.Load()), value)
        place.lineno = place.end_lineno = value.end_lineno
        place.col_offset = value.end_col_offset + found.end()
        place.end_col_offset = place.col_offset + len(text.encode())
        return place

    def call_format(self, text, node):
        """`"...".format(...)`: the same holes as an f-string's, by position or name."""
        arguments, keywords = self.arguments.of(node)
        if is_static(arguments) and is_static(list(keywords.values())):
            with contextlib.suppress(ValueError, LookupError):  # {} beside {1}, and C's formats, are not Python's
                return text.format(*arguments, **keywords)
        parts, next_one = [], 0
        for before, name, form, _ in self.walk.compute(node, lambda: list(string.Formatter().parse(text))):
            parts.append(before)
            if name is None:
                continue
            key = name or str(next_one)
            next_one += not name
            things = keywords if not key.isdecimal() else dict(enumerate(arguments))
            index = key if not key.isdecimal() else int(key)
            if index not in things:
                raise self.walk.error("type", f"format: expected an argument for '{{{name}}}', got none", node)
            parts.extend(self.formatted(things[index], form, node, node))
        return handles.TextParts(tuple(parts))

    def percent_text(self, text, right, node):
        """`"%.3f" % x`."""
        if is_static(right):
            return self.walk.compute(node, lambda: text % right)
        things = list(right) if isinstance(right, tuple) else [right]
        parts, end = [], 0
        for found in _PERCENT.finditer(text):
            parts.append(text[end : found.start()])
            end = found.end()
            if found["percent"]:
                parts.append("%")
            elif not things:
                raise self.walk.error("type", "not enough values for the text's % conversions", node)
            else:
                parts.extend(self.formatted(things.pop(0), _percent_format(found), node, node))
        if things:
            raise self.walk.error("type", f"{len(things)} more values than the text has % conversions", node)
        return handles.TextParts((*parts, text[end:]))

    #  -- print and assert -------------------------------------------------------------------------

    def call_print(self, node):
        """print(..., sep, end)"""
        separator, end = " ", "\n"
        for keyword in node.keywords:
            if keyword.arg not in ("sep", "end"):
                raise self.walk.error(
                    "type", f"print has no parameter '{keyword.arg}' in kernels", keyword.value, "sep= and end= are known"
                )
            text = self.evaluator.expr(keyword.value)
            if not isinstance(text, str):
                raise self.walk.error(
                    "type", f"print: {keyword.arg}: expected a text known while compiling, got {describe(text)}", keyword.value
                )
            separator, end = (text, end) if keyword.arg == "sep" else (separator, text)
        parts = []
        for k, argument in enumerate(node.args):
            if k:
                parts.append(separator)
            parts.extend(self.print_parts(self.evaluator.expr(argument), argument))
        self.walk.emit(node, self.builder.print, self._texts([*parts, end], node))

    def _texts(self, parts, node):
        return [self.values.text(part, node) if isinstance(part, str) else part for part in parts]

    def statement_Assert(self, node):
        if node.msg is None or isinstance(node.msg, ast.Constant):
            message = ast.unparse(node.test) if node.msg is None else str(node.msg.value)
            self.walk.emit(node, self.builder.assert_that, self._asserted(node), [self.values.text(message, node.msg or node)])
            return
        # As in Python, the message is made when the condition does not hold.
        holds = self._asserted(node)
        self.walk.emit(node, self.builder.begin_if, self.walk.emit(node, self.builder.unary, "not", holds))
        self.walk.depth += 1
        parts = self._texts(self.print_parts(self.evaluator.expr(node.msg), node.msg), node.msg)
        self.walk.emit(node, self.builder.assert_that, self.walk.emit(node, self.builder.boolean, False), parts)
        self.walk.depth -= 1
        self.builder.end_if()

    def _asserted(self, node):
        """A u1 of what is asserted."""
        return self.values.truth(self.evaluator.condition(node.test, "assert"), node.test, "assert")


def _with_letter(text, is_float) -> str:
    """A float's format that ends in a precision means digits after the point: `.3` is `.3f`."""
    return text + "f" if is_float and _PRECISION.search(text) else text


def _percent_format(found) -> str:
    """Python's format for a conversion of C's."""
    flags, width, kind = found["flags"], found["width"], found["type"]
    if kind in "srdiu" and not flags and not width and not found["precision"]:
        return ""
    sign = "+" if "+" in flags else " " if " " in flags else ""
    align = "<" if "-" in flags else ">" if "0" not in flags else ""
    zero = "0" if "0" in flags and "-" not in flags else ""
    kind = {"i": "d", "u": "d", "s": "", "r": ""}.get(kind, kind)
    return f"{align if width else ''}{sign}{'#' if '#' in flags else ''}{zero}{width}{found['precision'] or ''}{kind}"
