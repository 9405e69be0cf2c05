"""docs/semantics.md is true of the tree: every verifier, rule and test it names exists, and no constraint is left out."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
INTERP = ROOT / "compiler" / "metate" / "Interp"
DIALECT = "\n".join(path.read_text() for path in sorted((ROOT / "compiler/metate/Dialect").glob("*.cpp")))
STATUSES = (ROOT / "abi/metate/abi/base.h").read_text()
ROW = re.compile(r"^\| (\d+)\.(\d+) \| (.+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs/semantics.md").read_text())
NOT_INTERPRETED = "not before stage layout"


def quoted(text):
    return re.findall(r"`([^`]+)`", text)


def test_rows_are_numbered_in_order():
    numbers = [(int(section), int(row)) for section, row, *_ in ROWS]
    sections = max(section for section, _ in numbers)
    counts = [sum(section == k for section, _ in numbers) for k in range(1, sections + 1)]
    assert numbers == [(k + 1, row + 1) for k, count in enumerate(counts) for row in range(count)]
    assert len(numbers) > 50


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}.{row[1]}")
def test_what_a_row_names_exists(row):
    from metate_native import _compiler

    _, _, _, checked, rule, test = row
    findings = {*_compiler.check_names(), "bounds"}
    for name in quoted(checked):
        if re.fullmatch(r"[A-Z]+\d+", name):
            assert f"({name})" in DIALECT, f"no verifier says ({name})"
        elif name.startswith("METATE_"):
            assert name in STATUSES
        elif name.startswith("check "):
            assert name.removeprefix("check ") in findings
        else:
            assert name in ("compile", "debug")
    assert quoted(checked) or checked == "by meaning"
    if rule != NOT_INTERPRETED:
        (where,) = quoted(rule)
        file, function = where.split("/")
        assert re.search(rf"\b{function}\(", (INTERP / file).read_text()), f"no function {function} in {file}"
    (where,) = quoted(test)
    file, name = where.split("/", 1)
    (found,) = [path for path in (ROOT / "tests").rglob(file) if "build" not in path.parts]
    assert re.search(rf"\b{re.escape(name)}\b" if name[-1].isalnum() else re.escape(name), found.read_text())


def test_every_labelled_constraint_is_in_a_row():
    stated = {name for _, _, _, checked, *_ in ROWS for name in quoted(checked)}
    assert set(re.findall(r"\"[^\"\n]*\(([A-Z]+\d+)\)", DIALECT)) - stated == set()
