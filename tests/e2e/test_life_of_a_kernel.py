"""docs/life-of-a-kernel.md is what happened: its programs run here, and what it shows of them is made here.

``METATE_UPDATE_DOCS=1`` writes the page instead of comparing it.
"""

import contextlib
import difflib
import io
import linecache
import os
import pathlib
import re
import shutil
import subprocess

import metate as ti

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "life-of-a-kernel.md"
_PARTS = re.compile(
    r"^```python\n(?P<code>.*?)^```$|^<!-- generated: (?P<name>\w+) -->\n.*?^<!-- end -->$", re.MULTILINE | re.DOTALL
)


def test_the_page_shows_what_happens(tmp_path):
    written = PAGE.read_text()
    made = regenerated(written, tmp_path)
    if os.environ.get("METATE_UPDATE_DOCS") == "1":
        PAGE.write_text(made)
    else:
        difference = difflib.unified_diff(written.splitlines(), made.splitlines(), "written", "now", lineterm="")
        assert written == made, "METATE_UPDATE_DOCS=1 writes it anew\n" + "\n".join(difference)
    ti.reset()


def regenerated(text, folder):
    """The page with every generated part made anew by running its programs in order."""
    names = {"__name__": "life"}

    def replace(part):
        if part["name"]:
            shown = GENERATORS.get(part["name"], lambda names, _: stage(names["stages"], part["name"]))(names, folder)
            return f"<!-- generated: {part['name']} -->\n```text\n{shown.rstrip()}\n```\n<!-- end -->"
        run(part["code"], text[: part.start("code")].count("\n"), names)
        return part[0]

    return _PARTS.sub(replace, text)


def run(code, line, names):
    padded, name = "\n" * line + code, f"{PAGE}:{line + 1}"
    linecache.cache[name] = (len(padded), None, padded.splitlines(keepends=True), name)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(padded, name, "exec"), names)
    assert printed.getvalue().splitlines() == re.findall(r"^# -> (.*)$", code, re.MULTILINE)


def instances(names, _):
    lines = []
    for instance in names["add"].instances():
        assert instance.compile_ms > 0
        lines.append(f"{instance.signature}  calls: {instance.hits}  why: {instance.reason}")
    return "\n".join(lines) or "no instances"


def stage(dumps, name):
    """A dump without the places in the source."""
    without_places = re.sub(r" ?loc\((?:[^()]|\([^()]*\))*\)", "", dumps[name])
    return "\n".join(line.rstrip() for line in without_places.splitlines() if line.strip() and not line.startswith("#loc"))


def mapped_loop(names, _):
    """The task's loop from the map stage: the block with the load and the store of the element, and its header."""
    lines = stage(names["stages"], "map").splitlines()
    store = next(k for k, line in enumerate(lines) if "llvm.store" in line and "alias_scopes" in line)
    first = max(k for k in range(store) if re.match(r"\s*\^bb", lines[k]))
    first = max(k for k in range(first) if re.match(r"\s*\^bb", lines[k]))
    last = next(k for k in range(store, len(lines)) if re.match(r"\s*llvm.br ", lines[k]))
    return "\n".join(lines[first : last + 1])


def vector_loop(names, folder):
    """The instructions from a vector addition of the object code back and forth to the loop's ends."""
    numbers = re.search(r"metate.payload [^\[]*\[array<i8: ([^>]*)>\]", names["stages"]["emit"])[1]
    file = folder / "add.o"
    file.write_bytes(bytes(int(number) % 256 for number in numbers.split(",")))
    tool = shutil.which("llvm-objdump-22") or "/usr/lib/llvm-22/bin/llvm-objdump"
    text = subprocess.run(
        [tool, "-d", "--no-show-raw-insn", "--no-leading-addr", "--x86-asm-syntax=intel", file],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    lines = [re.sub(r"\s+", " ", line.split("#")[0]).strip() for line in text.splitlines()]
    lines = [re.sub(r"(j\w+) 0x\w+ <.*>", r"\1 <loop>", line) for line in lines]
    first = next(k for k, line in enumerate(lines) if line.startswith("vpaddd ymm"))
    last = next(k for k in range(first, len(lines)) if lines[k].startswith("j"))
    return "\n".join(lines[first : last + 1])


def module_signature(names, folder):
    names["module"].save(folder / "add.metate")
    return str(ti.aot.load(folder / "add.metate").add.signature())


GENERATORS = {"instances": instances, "map": mapped_loop, "emit": vector_loop, "signature": module_signature}
