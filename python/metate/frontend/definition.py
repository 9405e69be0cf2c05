"""The lines of a definition, found by where its code ends; the standard library reads it token by token, 2 ms for a kernel."""

from __future__ import annotations

import ast
import types


def definition_text(lines: list[str], code: types.CodeType) -> str | None:
    """The lines of the definition of a function, decorators included; None where they are to be looked for in another way.

    Args:
        lines: of the file that the code is from.
    """
    first = code.co_firstlineno - 1
    head = lines[first] if 0 <= first < len(lines) else ""
    indentation = head[: len(head) - len(head.lstrip())]
    if not head.startswith((indentation + "@", indentation + "def ")):
        return None
    end = last = _last_line(code)
    for number in range(last, len(lines)):  # what makes no code: comments, `pass`, texts
        text = lines[number].strip()
        if text and not text.startswith("#"):
            if not _is_deeper(lines[number], indentation):
                break
            end = number + 1
    return "".join(lines[first:end])


def parsed(text: str, first: int) -> ast.FunctionDef | None:
    """The definition in a text whose first line has this number in its file; None where the text is something else.

    Raises SyntaxError.
    """
    is_indented = text[:1] in (" ", "\t")
    module = ast.parse("if True:\n" + text if is_indented else text)  # an indented definition: give it a block to stand in
    ast.increment_lineno(module, first - 1 - is_indented)
    body = module.body[0].body if is_indented and isinstance(module.body[0], ast.If) else module.body
    return body[0] if body and isinstance(body[0], ast.FunctionDef) else None


def _last_line(code) -> int:
    """The last line that has code of a function or of one in it."""
    ends = [end for _, end, _, _ in code.co_positions() if end is not None]
    ends += [_last_line(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return max(ends, default=code.co_firstlineno)


def _is_deeper(line, indentation) -> bool:
    return line.startswith(indentation) and line[len(indentation)] in " \t"
