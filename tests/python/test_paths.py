"""Every path that docs and comments name exists.

A path stands in a document's `code` or in a comment, and begins at the checkout or where sources begin theirs: the compiler's
folders (`Target/Cpu/Grain.cpp`), the runtime's (`tree/order.cpp`), the file's own.
"""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENDINGS = "cpp|h|hpp|c|py|td|mlir|md|txt|json|cmake|sh|pml|toml|S|def|map"
PATH = re.compile(rf"(?<![\w/.$<{{*\-])((?:[A-Za-z_][\w.-]*/)+[\w.-]*(?:\{{[\w,.]+\}})?[\w.-]*\.(?:{ENDINGS}))(?![\w/(*])")
SPAN = re.compile(r"`([^`\n]+)`|\]\(([^)#:\s]+)\)")
COMMENT = re.compile(r"//(.*)|/\*(.*?)\*/|^ \*(.*)|#(?!\s*include)(.*)", re.MULTILINE)
# Where a relative path may start, besides the file's own folder and those above it.
BASES = (
    "",
    "compiler/metate",
    "compiler",
    "runtime",
    "python",
    "python/metate",
    "abi",
    "include",
    "protocol",
    "tests",
    "tests/lit",
    "docs",
)
# Made while building or running, examples of what a user has, and other projects' files.
NOT_HERE = re.compile(
    r"^(build[\w-]*|out|dumps|bin|lib|FOLDER|folder|path|llvm|mlir|clang|nanobind|nanovdb|openvdb|tbb|oneapi|gtest|boost|Eigen|dlpack|tvm|"
    r"python3|examples/Random123|third_party|usr|tmp|etc|kernels|again|metate_native|llvm-project|stable|share|all)/|NAME|[A-Z]{4,}\."
)
HISTORY = (
    "CHANGELOG.md",
    "docs/decisions/",
    "bench/results/",
    "tests/fuzz/corpus",
    "tests/fuzz/crashes",
    "tests/python/test_paths.py",
)


def tracked(*endings):
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for path in done.stdout.splitlines():
        if path.endswith(endings) and not path.startswith(HISTORY) and (ROOT / path).is_file():
            yield path


def exists(name: str, file: str) -> bool:
    here = pathlib.Path(file).parent
    bases = [pathlib.Path(base) for base in BASES] + [here, *here.parents]
    for one in spelled(name):
        if not any((ROOT / base / one).exists() for base in bases):
            return False
    return True


def spelled(name: str) -> list[str]:
    """a.{h,cpp} is two paths."""
    match = re.search(r"\{([^}]*)\}", name)
    return [name[: match.start()] + part + name[match.end() :] for part in match[1].split(",")] if match else [name]


def named_in_document(text: str):
    """(line, path) of what a document names: in code that is one path, and in links."""
    for number, line in enumerate(text.splitlines(), 1):
        for code, link in SPAN.findall(line):
            yield from ((number, path) for path in PATH.findall(code))
            if link and "://" not in link:
                yield number, link


def named_in_source(text: str, is_python: bool):
    """(line, path) of what comments, and of Python docstrings, name; strings may name anything."""
    if is_python:
        text = re.sub(r'(?m)^(\s*)"""((?:.|\n)*?)"""', lambda m: "\n".join("#" + part for part in m[0].split("\n")), text)
    for number, line in enumerate(text.splitlines(), 1):
        if is_python and not re.match(r"\s*#|.*\s#\s", line):
            continue
        for parts in COMMENT.findall(line):
            yield from ((number, path) for part in parts for path in PATH.findall(part))


def missing(files, named):
    return [
        f"{file}:{number}: {name}"
        for file in files
        for number, name in named(file)
        if not NOT_HERE.search(name) and not exists(name, file)
    ]


def test_paths_in_documents_exist():
    found = missing(tracked(".md"), lambda file: named_in_document((ROOT / file).read_text()))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("endings", [(".cpp", ".h", ".hpp", ".c", ".td", ".def"), (".py",)], ids=["C++", "Python"])
def test_paths_in_comments_exist(endings):
    found = missing(tracked(*endings), lambda file: named_in_source((ROOT / file).read_text(), file.endswith(".py")))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "is_python", "expected"),
    [
        ("// see Target/Cpu/Gone.cpp", False, ["Target/Cpu/Gone.cpp"]),
        ("/* a/b.h and tests/x.py */", False, ["a/b.h", "tests/x.py"]),
        ('x = "tests/x.py"', True, []),
        ('"""See tests/x.py."""', True, ["tests/x.py"]),
        ("x = 1  # as scripts/lib/gone.py", True, ["scripts/lib/gone.py"]),
        ('#include "a/b.h"', False, []),
    ],
)
def test_what_names_a_path_is_seen(text, is_python, expected):
    assert [path for _, path in named_in_source(text, is_python)] == expected
    assert [path for _, path in named_in_document("`docs/gone.md` and [x](gone.md)")] == ["docs/gone.md", "gone.md"]
    assert not exists("Target/Cpu/Gone.cpp", "compiler/metate/Emit/Emit.cpp") and exists("Emit/Emit.cpp", "docs/architecture.md")
