"""Writes docs/manual/reference/functions.md: each function and method of kernels with types, formula, errors, example.

Calls and what they give come from the functions' docstrings, how exact they are from tests/differential/table.py, results
of examples from running them; the rest stands in reference_rows.py. tests/python/test_reference.py has the page up to date.
"""

import contextlib
import inspect
import io
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from differential import table  # noqa: E402
from reference_rows import GROUPS, METHODS, Group  # noqa: E402

import metate as mt  # noqa: E402
from metate import intrinsics  # noqa: E402
from metate.frontend.source import attach_source  # noqa: E402

PAGE = ROOT / "docs/manual/reference/functions.md"
HEAD = """# Functions and methods

What kernels and functions of kernels know, besides Python's operators ([types of results](../vectors.md#types-of-results)).
Each is `mt.name`, of the last tables `mt.math.name`. Those that have a meaning outside of kernels work there as well, on
numbers and NumPy arrays.

*Elementwise* means: of vectors and matrices, component by component; a number beside a vector is spread. An argument of
another kind or number is an error at the call (`TypeError_`, a `TypeError`; a wrong number of arguments a
`TaichiSyntaxError` as well), with what was expected and what came. *Exact* says how far a result may be
from the exact one, in units of the last place (ulp). Empty: several roundings, or nothing to round.

<!-- Made by scripts/lib/reference.py: examples show what they print. -->
"""
PROLOGUE = """
import metate as mt
cells = mt.field(mt.f32)
blocks = mt.root.pointer(mt.i, 8)
blocks.dense(mt.i, 4).place(cells)
lists = mt.field(mt.i32)
mt.root.dense(mt.i, 2).dynamic(mt.j, 16).place(lists)
"""


def described(group: Group, name: str) -> tuple[str, str]:
    """(call, what it gives), from the docstring."""
    thing = getattr(group.where, name, None) if group.where else intrinsics.LINEAR.get(name)
    text = METHODS.get(name) if group.where is None else None
    text = (text or inspect.getdoc(thing)).split("\n\n")[0].replace("\n", " ")
    if isinstance(thing, intrinsics.Intrinsic) or group.where is None or (": " in text and text.startswith(name)):
        call, _, gives = text.partition(": ")
        if group.where is None:
            operands = call.partition("(")[2].rstrip(")").split(", ")
            call = call if name in METHODS else f"{name}({', '.join(operands[1:])})"
        elif call.startswith(("norm(", "normalized(")):
            call = call.replace("normalized", name).replace("norm(", f"{name}(")
        gives = (gives or text.partition(", ")[2]).removesuffix("; elementwise on vectors and matrices.")
        return call.partition(", up to")[0], gives.rstrip(".")
    return f"{name}{parameters(thing)}", text[0].lower() + text[1:].rstrip(".")


def parameters(thing) -> str:
    function = getattr(thing, "function", None) or getattr(thing, "__wrapped__", thing)
    names = inspect.signature(function).parameters.values()
    return f"({', '.join(one.name if one.default is one.empty else f'{one.name}={one.default!r}' for one in names)})"


def exactness(group: Group, name: str) -> str:
    spelled = {f"mt.{name}(", f"mt.math.{name}("} if group.where else {f"{{0}}.{name}("}
    found = {op.accuracy for op in table.OPS if any(text in one for one in op.texts for text in spelled)}
    return max(found - {"exact"}, default="exact") if found else ""


def results() -> dict[tuple[str, str], str]:
    """What each example prints: all of them in one kernel."""
    keys = [(g.title, name) for g in GROUPS for name, (_, example) in g.rows.items() if not example.startswith("!")]
    lines = [PROLOGUE]
    for number, (title, name) in enumerate(keys):
        *statements, last = next(g for g in GROUPS if g.title == title).rows[name][1].split("; ")
        body = "".join(f"    {line}\n" for part in statements for line in part.split("\n"))
        last = last[1:-1] if last.startswith("(old") else last
        lines.append(f"@mt.func\ndef example{number}():\n{body}    print({last})\n")
    calls = "".join(f"    example{number}()\n" for number in range(len(keys)))
    program = "\n".join([*lines, f"@mt.kernel\ndef examples():\n{calls}\nexamples()\n"])
    attach_source("<reference>", program)
    printed = io.StringIO()
    with mt.Context(threads=1), contextlib.redirect_stdout(printed):
        exec(compile(program, "<reference>", "exec"), {"__name__": "reference"})
    return dict(zip(keys, printed.getvalue().splitlines(), strict=True))


def shown(example: str) -> str:
    return f"`{example.removeprefix('!').replace(chr(10) + '    ', ' ').replace(chr(10), '; ')}`"


def page() -> str:
    found = results()
    parts = [HEAD]
    for group in GROUPS:
        parts.append(
            f"\n## {group.title}\n\n{group.text}\n\n| call | gives | formula | exact | example |\n|---|---|---|---|---|\n"
        )
        for name, (formula, example) in group.rows.items():
            call, gives = described(group, name)
            result = f" → `{found[group.title, name]}`" if (group.title, name) in found else ""
            gives = gives.replace("|", "\\|")
            parts.append(f"| `{call}` | {gives} | {formula} | {exactness(group, name)} | {shown(example)}{result} |\n")
    return "".join(parts)


def main() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
