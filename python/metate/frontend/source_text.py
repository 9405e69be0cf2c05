"""The text of code that has no file: from `exec`, `python -c`, standard input, the REPL.

Python keeps it in no place of its own. It is looked for while the function is being decorated, when the text is often still
somewhere: in a variable or a constant of a frame that called `exec`, in a file that one names, on the command line, in the
REPL's history, in the file that standard input is. A text is taken only if it compiles to the very code of the function, so
that a wrong one is never taken.
"""

from __future__ import annotations
import __future__

import io
import linecache
import os
import sys
import types
import warnings

_KEPT = "__metate_sources__"  # among the names of a program: texts that were found for its functions
_FLAGS = 0
for _name in __future__.all_feature_names:
    _FLAGS |= getattr(__future__, _name).compiler_flag
_MOST_FRAMES = 64
_MOST_HISTORY = 400  # lines of the REPL that one statement may have


def lines_of(text: str) -> list[str]:
    """The lines as Python counts them: a form feed ends none."""
    return io.StringIO(text, newline=None).readlines()


def has_no_file(code: types.CodeType) -> bool:
    """Is its file a name that Python made up, `<string>` say?"""
    return code.co_filename.startswith("<")


def find_lines(function: types.FunctionType, frame: types.FrameType | None) -> list[str] | None:
    """The lines of the text that a function without a file is from; None where it is nowhere.

    Args:
        frame: from which on frames are searched for it, outwards.
    """
    code, names = function.__code__, function.__globals__
    kept = names.get(_KEPT, [])
    for lines in (*kept, linecache.getlines(code.co_filename, names)[:] or []):
        if isinstance(lines, list) and _holds("".join(lines), code):
            return lines
    for text in _candidates(code, frame):
        if _holds(text, code):
            lines = lines_of(text)
            names.setdefault(_KEPT, []).append(lines)  # for functions without a decorator, which kernels call later
            return lines
    return None


def _candidates(code, frame):
    """Texts that may be it, the likely ones first."""
    if code.co_filename == "<string>":
        yield from _command_line()
    if code.co_filename == "<stdin>":
        yield from _history()
        yield from _standard_input()
    files, path = [], getattr(sys.modules.get("pathlib"), "PurePath", ())
    for _ in range(_MOST_FRAMES):
        if frame is None:
            break
        for thing in (*frame.f_locals.values(), *frame.f_code.co_consts):
            if type(thing) is str and "\n" in thing:
                yield thing
            elif (type(thing) is str and thing.endswith(".py")) or isinstance(thing, path):
                files.append(thing)
        frame = frame.f_back
    import tokenize

    for file in dict.fromkeys(files):  # exec(open("program.py").read())
        try:
            with tokenize.open(file) as opened:
                yield opened.read()
        except (OSError, SyntaxError, UnicodeDecodeError):
            pass


def _command_line():
    """The program of `python -c PROGRAM`."""
    arguments = sys.orig_argv[1:]
    for number, argument in enumerate(arguments[:-1]):
        if argument.startswith("-") and not argument.startswith("--") and argument.endswith("c"):
            yield arguments[number + 1]


def _history():
    """The last statements of a REPL that has a history, from their ends backwards. A statement's lines count from 1 in it."""
    readline = sys.modules.get("readline")
    if readline is None:
        return
    text = ""
    last = readline.get_current_history_length()
    for number in range(last, max(last - _MOST_HISTORY, 0), -1):
        line = readline.get_history_item(number) or ""
        text = line + "\n" + text
        if not line[:1].isspace():
            yield text


def _standard_input():
    """All of standard input where it is a file: `python < program.py`."""
    try:
        size = os.fstat(0).st_size
        data = os.pread(0, size, 0) if size else b""
    except OSError:
        return
    yield data.decode(errors="replace")


def _holds(text: str, code: types.CodeType) -> bool:
    """Does the text compile to this code, among others?"""
    if code.co_name.strip("<>") not in text:  # <lambda>
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = compile(text, code.co_filename, "exec", flags=code.co_flags & _FLAGS, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    pending = [whole]
    while pending:
        one = pending.pop()
        if one == code:
            return True
        pending += [inner for inner in one.co_consts if isinstance(inner, types.CodeType)]
    return False


def hint_for(code: types.CodeType) -> str:
    """What to do where the source of a function is nowhere."""
    if getattr(sys, "frozen", False):
        return f"put the file into the frozen program: pyinstaller --add-data {code.co_filename}:."
    if code.co_filename == "<stdin>":
        return "put it in a file, or use IPython or Python 3.13, whose prompts keep what was typed"
    return "put it in a file, keep its text in a variable until its kernels are made, or call attach_source(file, text)"
