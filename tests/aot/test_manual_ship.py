"""The pages of docs/manual/ship: every block is a file, or commands with what they print; all are written and run, page by page.

A file's first line is a comment with its name. In a block `console` a line that begins with "$ " is a command; the lines below it
are its output, in which "..." stands for any text of a line, and a line "..." for any lines.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "manual" / "ship"
PAGES = sorted(FOLDER.glob("*.md"))
BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"(?:#|//|/\*) (\w+\.\w+)(?: \*/)?\n")
NEEDS = {
    "firmware": ("arm-none-eabi-gcc", "qemu-system-arm"),
    "pytorch": ("/usr/bin/python3",),
}
TORCH = "/usr/bin/python3"  # Debian's python3-torch is the system's Python's
# `pip --quiet --python robot/bin/python install $METATE SETTING` without a network: what build/ has, and this NumPy.
PIP = f"""#!/bin/sh
set -e
[ "$1 $2 $4" = "--quiet --python install" ]
P="{sys.executable} -m pip --disable-pip-version-check --quiet"
$P wheel "$5" "$6" --no-build-isolation --no-deps --no-index -w wheel \\
  --config-settings=cmake.define.METATE_PREBUILT={ROOT}/build --config-settings=build-dir=$PWD/made
$P --python "$3" install --no-deps --no-index wheel/*.whl
echo {pathlib.Path(numpy.__file__).parents[1]} > $(echo robot/lib/python3.*/site-packages)/numpy.pth
"""


def blocks_of(page):
    """(language, text, line) of each block."""
    text = page.read_text()
    return [(block[1], block[2], text[: block.start()].count("\n") + 1) for block in BLOCK.finditer(text)]


def commands_of(text):
    """(command, the output that follows it) of a block."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    assert not parts[0], "expected a line that begins with '$ '"
    return list(zip(parts[1::2], parts[2::2], strict=True))


def pattern_of(output):
    """A pattern of what a page shows."""
    lines = [re.escape(line).replace(re.escape("..."), ".*") for line in output.splitlines()]
    return "".join("(?:.*\n)*" if line == ".*" else f"{line}\n" for line in lines)


@pytest.fixture
def environment(request, tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "pip").write_text(PIP)
    (tools / "pip").chmod(0o755)
    (tools / "metate-run").symlink_to(ROOT / "build/bin/metate-run")
    ffi = tmp_path / "ffi"  # for the system's Python: this and nothing else of the checkout's environment
    ffi.mkdir()
    site = pathlib.Path(numpy.__file__).parents[1]
    for name in ("tvm_ffi", "typing_extensions.py"):
        if (site / name).exists():
            (ffi / name).symlink_to(site / name)
    path = f"{tools}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    if request.node.callspec.id == "pytorch":
        (tools / "python3").write_text(f'#!/bin/sh\nPYTHONPATH={ffi} exec {TORCH} -W ignore "$@"\n')
        (tools / "python3").chmod(0o755)
    return {**os.environ, "PATH": path, "METATE": str(ROOT), "METATE_OFFLINE_CACHE": "0"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_does_what_the_page_says(page, environment, tmp_path):
    for tool in NEEDS.get(page.stem, ()):
        if not shutil.which(tool):
            pytest.skip(f"'{tool}' is not installed: scripts/setup installs it")
    folder = tmp_path / "page"
    folder.mkdir()
    script, wanted = ["set -e"], []
    for language, text, line in blocks_of(page):
        if language != "console":
            name = NAME.match(text)
            assert name, f"{page.name}:{line}: expected a comment with the file's name in the first line of a block"
            (folder / name[1]).write_text(text[name.end() :])
            continue
        for command, output in commands_of(text):
            script.append(f"echo '##'{len(wanted)}\n{{ {command}; }} 2>&1")
            wanted.append((command, output, line))
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    found = re.split(r"^##\d+\n", done.stdout, flags=re.MULTILINE)[1:]
    for (command, output, line), printed in zip(wanted, found, strict=False):
        where = f"{page.name}:{line}: {command}\n{printed}"
        assert re.fullmatch(pattern_of(output), printed), where
    assert done.returncode == 0 and len(found) == len(wanted), f"{wanted[len(found) - 1]}\n{done.stdout}{done.stderr}"


def test_a_page_that_is_wrong_is_found():
    assert len(PAGES) >= 5
    assert re.fullmatch(pattern_of("a ... c\n...\nend\n"), "a b c\nmore\nand more\nend\n")
    assert not re.fullmatch(pattern_of("a ... c\n"), "a b d\n") and not re.fullmatch(pattern_of(""), "warning\n")
    assert commands_of("$ one\nits output\n$ two\n") == [("one", "its output\n"), ("two", "")]
