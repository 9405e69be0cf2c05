"""What is written down once is not written again: names of attributes, kinds of levels."""

import pathlib
import re

COMPILER = pathlib.Path(__file__).resolve().parents[2] / "compiler" / "metate"


def sources(*leave_out):
    for file in sorted(COMPILER.rglob("*")):
        if file.suffix in (".cpp", ".h") and str(file.relative_to(COMPILER)) not in leave_out:
            yield file, file.read_text()


def test_discardable_attributes_are_spelled_in_one_table():
    table = (COMPILER / "Dialect" / "Marks.def").read_text()
    names = re.findall(r'MARK\(\w+, "(metate\.\w+)"', table)
    assert len(names) > 20 and len(names) == len(set(names))
    found = [f"{file.name}: {name}" for file, text in sources() for name in names if f'"{name}"' in text]
    assert not found


def test_only_the_list_of_levels_names_kinds():
    kinds = re.findall(r"def Metate_(\w+Attr) : Metate_Level", (COMPILER / "Dialect" / "Attrs.td").read_text())
    assert "PointerAttr" in kinds
    allowed = ("Dialect/Attrs.cpp", "Level/Levels.cpp")
    pattern = re.compile(rf"\b({'|'.join(kinds)})\b")
    found = [f"{file.name}: {match[0]}" for file, text in sources(*allowed) for match in pattern.finditer(text)]
    assert not found
