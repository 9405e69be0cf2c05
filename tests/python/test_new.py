"""scripts/new writes skeletons that compile, whose tests fail until they are filled in, and never overwrites anything.

Here the generated sources are compiled alone, against what the build has; with METATE_TEST_SCAFFOLDS=1 (scripts/test --long) a
copy of the checkout is built with each of them, and its generated test must fail with the words that it should.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
from compile_commands import entries  # noqa: E402

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


def compiles(checkout, source, like, generated):
    """Is the source, with the headers `generated` {path: text} of the table generator, accepted by the compiler of `like`?"""
    for path, text in generated.items():
        target = checkout / "generated" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    command = entries(ROOT / "build")[f"{ROOT}/compiler/metate/{like}"]["command"]
    own = [part for part in shlex.split(command) if part.startswith(("-D", "-std", "-W", "-I", "-isystem", "/usr/lib/llvm"))]
    own = [part for part in own if part not in ("-Winvalid-pch",) and not part.startswith(f"-I{ROOT}/compiler")]
    copied = [f"-I{checkout}/generated", f"-I{checkout}/compiler", f"-I{ROOT}/build/compiler"]
    header = ["-include", f"{checkout}/compiler/metate/Pch.h"]
    done = subprocess.run(
        ["clang++-22", "-fsyntax-only", *copied, *own, *header, str(checkout / source)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_pass(checkout):
    assert new(checkout, "pass", "FuseLoops").returncode == 0
    assert "createFuseLoops" in tablegen(checkout, "-gen-pass-decls", "compiler/metate/Transforms/Passes.td")
    assert "FuseLoops.cpp" in (checkout / "compiler/metate/Transforms/CMakeLists.txt").read_text()
    test = (checkout / "tests/lit/Transforms/fuse-loops.mlir").read_text()
    assert "--metate-fuse-loops" in test and "// CHECK: say what FuseLoops makes of it" in test
    passes = "compiler/metate/Transforms/Passes.td"
    generated = {"metate/Transforms/Passes.h.inc": tablegen(checkout, "-gen-pass-decls", passes, "-name", "Metate")}
    compiles(checkout, "compiler/metate/Transforms/FuseLoops.cpp", "Transforms/Offload.cpp", generated)


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


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A copy of the checkout, configured to build metate-opt."""
    if not os.environ.get("METATE_TEST_SCAFFOLDS"):
        pytest.skip("METATE_TEST_SCAFFOLDS=1 builds each skeleton: minutes")
    folder = tmp_path_factory.mktemp("scaffolds") / "checkout"
    ignored = shutil.ignore_patterns("build*", "out", ".git", ".venv")
    shutil.copytree(ROOT, folder, ignore=ignored)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    subprocess.run(["cmake", "--preset", "dev"], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(
    ("arguments", "test", "words"),
    [
        (("pass", "FuseLoops"), "Transforms/fuse-loops.mlir", "say what FuseLoops makes of it"),
        (("op", "prefetch"), "Dialect/prefetch-invalid.mlir", 'expected error "X1" was not produced'),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_a_skeleton_is_built_and_its_test_fails_for_the_right_reason(whole, arguments, test, words):
    made = new(whole, *arguments)
    assert made.returncode == 0, made.stderr
    built = subprocess.run(["ninja", "-C", "build", "metate-opt"], cwd=whole, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout[-4000:]
    lit = [ROOT / ".venv/bin/lit", "-v", f"tests/lit/{test}"]
    done = subprocess.run(lit, cwd=whole, capture_output=True, text=True)
    assert done.returncode != 0 and words in done.stdout, done.stdout
