"""The table of deliberate faults agrees with the sources, the probes and the extension that ships."""

import pathlib
import re

from metate_native import _compiler

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = ROOT / "compiler" / "metate"
ROW = re.compile(r'^METATE_MUTANT\((\w+), "([^"]+)", (Twin|Later|Probe|Race), "([^"]+)"\)$', re.MULTILINE)
ROWS = ROW.findall((COMPILER / "Mutants" / "Mutants.def").read_text())


def test_every_line_of_the_table_is_read():
    lines = [line for line in (COMPILER / "Mutants" / "Mutants.def").read_text().splitlines() if line.startswith("METATE_")]
    assert len(lines) == len(ROWS) == len({name for name, *_ in ROWS})
    assert sum(seen_by != "Race" for _, _, seen_by, _ in ROWS) >= 30


def test_each_fault_stands_in_its_file_and_nowhere_else():
    found = {}
    for source in COMPILER.rglob("*.cpp"):
        for name in re.findall(r"isMutant\(Mutant::(\w+)\)", source.read_text()):
            found.setdefault(name, set()).add(source.relative_to(COMPILER).as_posix())
    assert found == {name: {file} for name, file, _, _ in ROWS}


def test_each_fault_that_changes_values_has_a_probe_and_a_case():
    text = "".join(path.read_text() for path in (ROOT / "tests" / "mutants" / "probes").glob("*.py"))
    probed = re.findall(r'^@probe\("(\w+)"\)$', text, re.MULTILINE)
    wanted = sorted(name for name, _, seen_by, _ in ROWS if seen_by != "Race")
    assert sorted(probed) == wanted
    kernels = {name for name, _, seen_by, _ in ROWS if seen_by not in ("Probe", "Race")}
    cases = {path.stem for path in (ROOT / "tests" / "mutants" / "cases").glob("*.json")}
    assert kernels <= cases <= set(wanted)


def test_the_extension_that_ships_has_none():
    assert not hasattr(_compiler, "mutants")
    code = pathlib.Path(_compiler.__file__).read_bytes()
    assert b"FrontendError" in code  # names are found where there are some
    there = [name for name, _, _, wrong in ROWS if name.encode() in code or wrong.encode() in code]
    assert there == [] and b"METATE_MUTANT" not in code
