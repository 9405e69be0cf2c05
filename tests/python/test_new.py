"""scripts/new writes skeletons that the table generator accepts, and never overwrites anything."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDES = ["-I/usr/lib/llvm-22/include", "-Icompiler/metate/Dialect", "-Icompiler"]


@pytest.fixture
def checkout(tmp_path):
    """A copy of the sources that scripts/new changes."""
    shutil.copytree(ROOT / "compiler", tmp_path / "compiler")
    return tmp_path


def new(checkout, *arguments):
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "new", "--root", checkout, *arguments], capture_output=True, text=True
    )


def tablegen(checkout, action, file, *options):
    return subprocess.run(
        ["/usr/lib/llvm-22/bin/mlir-tblgen", action, *INCLUDES, *options, file],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_pass(checkout):
    assert new(checkout, "pass", "FuseLoops").returncode == 0
    assert "createFuseLoops" in tablegen(checkout, "-gen-pass-decls", "compiler/metate/Transforms/Passes.td")
    assert "FuseLoops.cpp" in (checkout / "compiler/metate/Transforms/CMakeLists.txt").read_text()
    assert "--metate-fuse-loops" in (checkout / "tests/lit/Transforms/fuse-loops.mlir").read_text()


def test_op(checkout):
    made = new(checkout, "op", "prefetch")
    assert made.returncode == 0 and "give it a rule in compiler/metate/Interp" in made.stdout
    assert "class PrefetchOp" in tablegen(checkout, "-gen-op-decls", "compiler/metate/Dialect/Metate.td")
    assert (checkout / "tests/lit/Dialect/prefetch-invalid.mlir").exists()


def test_level(checkout):
    assert new(checkout, "level", "quant_array", "9").returncode == 0
    text = tablegen(checkout, "-gen-attrdef-decls", "compiler/metate/Dialect/Metate.td", "-attrdefs-dialect=metate")
    assert "class QuantArrayAttr" in text
    levels = (checkout / "compiler/metate/Level/Levels.cpp").read_text()
    assert levels.count("QuantArrayAttr::kindCode") == 1 and '#include "metate/Level/QuantArray.h"' in levels


def test_target(checkout):
    assert new(checkout, "target", "Wasm").returncode == 0
    family = (checkout / "compiler/metate/Target/Wasm/Wasm.cpp").read_text()
    assert "std::unique_ptr<TargetFamily> metate::createWasmFamily()" in family and "null" not in family.lower()
    lines = (checkout / "compiler/metate/Target/Targets.def").read_text().splitlines()
    assert lines.index("METATE_TARGET(Wasm)") == lines.index("METATE_TARGET(Cpu)") + 1


def test_existing_name_changes_nothing(checkout):
    before = (checkout / "compiler/metate/Transforms/Passes.td").read_text()
    result = new(checkout, "pass", "Offload")
    assert result.returncode != 0 and "already" in result.stderr
    assert (checkout / "compiler/metate/Transforms/Passes.td").read_text() == before
    assert not (checkout / "tests").exists()
