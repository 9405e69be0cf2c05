"""docs/manual.md says what is true: its Python blocks run in order and print what they say."""

import contextlib
import io
import linecache
import pathlib
import re

from metate.interop import vdb
from metate.linalg import sparse_native

MANUAL = pathlib.Path(__file__).resolve().parents[2] / "docs" / "manual.md"


def test_every_block_prints_what_the_manual_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some save modules
    text = MANUAL.read_text()
    names = {"__name__": "manual"}
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert len(blocks) >= 10
    for block in blocks:
        if block[1].startswith("# needs OpenVDB\n") and not vdb.available():
            continue
        if block[1].startswith("# needs Eigen\n") and not sparse_native.available():
            continue
        line = text[: block.start(1)].count("\n")
        # Padded with empty lines and known to linecache, so that errors show the manual's lines.
        code, name = "\n" * line + block[1], f"{MANUAL}:{line + 1}"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, name, "exec"), names)
        expected = re.findall(r"^# -> (.*)$", block[1], re.MULTILINE)
        if expected:
            assert printed.getvalue().splitlines() == expected, f"{name}\n{block[1]}"
