"""What wrong programs are told: errors.txt has each program with the whole text of its error.

Run as a program it writes the texts anew; read the difference before it is committed.
"""

import pathlib
import re
import warnings

import numpy as np
import pytest

import metate as ti
from metate.frontend.source import attach_source

pytest.importorskip("metate_native._compiler")

FILE = pathlib.Path(__file__).with_name("errors.txt")
_SECTION = re.compile(r"^=== (?P<name>.*)\n(?P<program>(?:.*\n)*?)^--- (?P<kind>\w+)\n(?P<text>(?:(?!=== ).*\n)*)", re.MULTILINE)
# Spellings of MLIR and LLVM: dialects' operations and types, values, names of passes and of the libraries.
INSIDE = re.compile(
    r"[Mm][Ll][Ii][Rr]|[Ll][Ll][Vv][Mm]|\b(?:metate|arith|scf|memref|func|math|vector|builtin|cf|index)\.[a-z_]+['(<]"
    r"|![a-z]+\.|%\w+ =|#metate|'func'",
)


def sections():
    return {section["name"]: section for section in _SECTION.finditer(FILE.read_text())}


SECTIONS = sections()


def error_of(name, program):
    """(class, text) of the error that a program ends with; its file is called `name`."""
    attach_source(f"<{name}>", program)
    ti.init(arch=ti.cpu)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(program, f"<{name}>", "exec"), {"ti": ti, "np": np, "__name__": "program"})
    except ti.MetateError as error:
        return error, type(error).__name__, str(error).replace(f"<{name}>", "FILE")
    finally:
        ti.reset()
    raise AssertionError("expected an error of Metate, got none")


@pytest.mark.parametrize("name", SECTIONS)
def test_error_text(name):
    section = SECTIONS[name]
    error, kind, text = error_of(name, section["program"])
    assert (kind, text) == (section["kind"], section["text"].rstrip("\n"))
    if isinstance(error, ti.CompilationError) and not isinstance(error, ti.RuntimeError_):
        assert error.line is not None, "a compile error names the user's line"
        line = section["program"].splitlines()[error.line - 1]
        assert error.source is None or error.source.rstrip("\n") == line
    assert not text.splitlines()[0].endswith("."), "no period"
    assert not INSIDE.search(text), "texts of the compiler's own"


def test_messages_are_distinct():
    """A message's id is its first line without place, names and numbers."""
    ids = set()
    for section in SECTIONS.values():
        message = re.sub(r"^FILE:[\d:]+ ", "", section["text"].splitlines()[0])
        ids.add(re.sub(r"'[^']*'|\d+|FILE:\S*", "_", message))
    assert len(ids) >= 180


def write_anew():
    parts = []
    for name, section in SECTIONS.items():
        _, kind, text = error_of(name, section["program"])
        parts.append(f"=== {name}\n{section['program']}--- {kind}\n{text}\n")
    FILE.write_text("".join(parts))


if __name__ == "__main__":
    write_anew()
