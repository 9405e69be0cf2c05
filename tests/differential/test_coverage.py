"""docs/coverage.md has each pair of capabilities once, with a test that exists, or with the reason that there is none."""

import itertools
import pathlib
import re

from differential import coverage

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/coverage.md").read_text()
ROWS = [
    row.groups() for row in re.finditer(r"^\| ([^|`]+?) \| ([^|`]+?) \| (.+) \|$", TEXT.partition(coverage.MARK)[0], re.MULTILINE)
]


def test_each_pair_is_there_once():
    names = list(dict.fromkeys(name for row in ROWS for name in row[:2]))
    assert len(names) >= 14
    assert sorted(row[:2] for row in ROWS) == sorted(itertools.combinations(names, 2))


def test_each_pair_has_a_test_or_a_reason():
    for one, other, entry in ROWS:
        if entry.startswith("none: "):
            assert len(entry) >= 15, (one, other)
            continue
        path, _, function = entry.strip("`").partition("::")
        assert (ROOT / path).is_file(), (one, other)
        assert not function or f"def {function}(" in (ROOT / path).read_text(), (one, other)


def test_gradients_are_tested_with_the_language():
    rows = re.findall(r"^\| ([^|`]+?) \| (`[^|`]+`|none: [^|]+) \|$", TEXT.partition(coverage.MARK)[0], re.MULTILINE)
    assert len(rows) >= 20
    for name, entry in rows:
        path, _, function = entry.strip("`").partition("::")
        assert entry.startswith("none: ") or f"def {function}(" in (ROOT / path).read_text(), name


def test_a_new_matrix_leaves_the_pairs(tmp_path):
    file = tmp_path / "coverage.md"
    file.write_text(f"pairs\n{coverage.MARK}\nold\n")
    coverage.write(file, "new\n")
    assert file.read_text() == f"pairs\n{coverage.MARK}\nnew\n"
    coverage.write(tmp_path / "other.md", "new\n")
    assert (tmp_path / "other.md").read_text() == "new\n"
