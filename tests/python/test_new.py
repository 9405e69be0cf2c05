"""scripts/new writes skeletons that compile, whose tests fail until they are filled in, and never overwrites anything.

Here some of the generated sources are compiled alone, against what the build has; with METATE_TEST_SCAFFOLDS=1 (scripts/test
--long) a copy of the checkout with one of each kind is built, and each generated test must fail with the words that it should.
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
    for folder in ("compiler", "abi", "runtime", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
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
    entry = entries(ROOT / "build")[f"{ROOT}/compiler/metate/{like}"]
    command = shlex.split(entry["command"])  # with its precompiled header, which has no header of Metate
    own = command[command.index(f"-I{ROOT}/compiler") : command.index("-o")]
    own = [part for part in own if part != f"-I{ROOT}/compiler"]
    copied = [f"-I{checkout}/generated", f"-I{checkout}/compiler", f"-I{checkout}/abi"]
    done = subprocess.run(
        ["clang++-22", *copied, *own, "-fsyntax-only", str(checkout / source)],
        cwd=entry["directory"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_pass(checkout):
    assert new(checkout, "pass", "SkewLoops").returncode == 0
    assert "createSkewLoops" in tablegen(checkout, "-gen-pass-decls", "compiler/metate/Transforms/Passes.td")
    assert "SkewLoops.cpp" in (checkout / "compiler/metate/Transforms/CMakeLists.txt").read_text()
    test = (checkout / "tests/lit/Transforms/skew-loops.mlir").read_text()
    assert "--metate-skew-loops" in test and "// CHECK: say what SkewLoops makes of it" in test
    passes = "compiler/metate/Transforms/Passes.td"
    generated = {"metate/Transforms/Passes.h.inc": tablegen(checkout, "-gen-pass-decls", passes, "-name", "Metate")}
    compiles(checkout, "compiler/metate/Transforms/SkewLoops.cpp", "Transforms/Offload.cpp", generated)


def test_op(checkout):
    made = new(checkout, "op", "prefetch")
    assert made.returncode == 0 and "give it constraints and PrefetchOp::verify" in made.stdout
    assert "class PrefetchOp" in tablegen(checkout, "-gen-op-decls", "compiler/metate/Dialect/Metate.td")
    assert (checkout / "tests/lit/Dialect/prefetch-invalid.mlir").exists()
    rules = (checkout / "compiler/metate/Interp/RulesVector.cpp").read_text()
    assert "addRule<PrefetchOp, prefetch>(table);" in rules and "static void prefetch(Machine &machine, PrefetchOp op)" in rules
    assert "`RulesVector.cpp/prefetch` | `prefetch.mlir/test` |" in (checkout / "docs/semantics.md").read_text()


def test_level(checkout):
    assert new(checkout, "level", "ring", "10").returncode == 0
    text = tablegen(checkout, "-gen-attrdef-decls", "compiler/metate/Dialect/Metate.td", "-attrdefs-dialect=metate")
    assert "class RingAttr" in text
    assert "METATE_LEVEL(Ring)\n" in (checkout / "compiler/metate/Level/Levels.def").read_text()
    assert "METATE_LEVEL_RING = 10," in (checkout / "abi/metate/abi/tree.h").read_text()
    compiles(checkout, "compiler/metate/Level/Ring.cpp", "Level/Dense.cpp", {})


def test_level_of_a_code_that_is_taken(checkout):
    result = new(checkout, "level", "bits", "7")
    assert result.returncode != 0 and "abi/metate/abi/tree.h has a level of code 7 already" in result.stderr
    assert not (checkout / "compiler/metate/Level/Bits.cpp").exists()


def test_target(checkout):
    assert new(checkout, "target", "Wasm").returncode == 0
    family = (checkout / "compiler/metate/Target/Wasm/Wasm.cpp").read_text()
    assert "std::unique_ptr<TargetFamily> metate::createWasmFamily()" in family and "null" not in family.lower()
    lines = (checkout / "compiler/metate/Target/Targets.def").read_text().splitlines()
    assert lines.index("METATE_TARGET(Wasm)") > lines.index("METATE_TARGET(Cpu)")
    drivers = (checkout / "runtime/driver/drivers.cpp").read_text()
    assert "extern const Driver cpuDriver;\nextern const Driver wasmDriver;\n" in drivers
    assert "    &cpuDriver,\n    &wasmDriver,\n    nullptr,\n" in drivers


def test_existing_name_changes_nothing(checkout):
    before = (checkout / "compiler/metate/Transforms/Passes.td").read_text()
    result = new(checkout, "pass", "Offload")
    assert result.returncode != 0 and "already" in result.stderr
    assert (checkout / "compiler/metate/Transforms/Passes.td").read_text() == before
    assert not (checkout / "tests").exists()


SKELETONS = (("pass", "SkewLoops"), ("op", "prefetch"), ("level", "ring", "10"), ("target", "Wasm"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A copy of the checkout with a skeleton of each kind, built as far as their tests need it."""
    if not os.environ.get("METATE_TEST_SCAFFOLDS"):
        pytest.skip("METATE_TEST_SCAFFOLDS=1 builds a copy with the skeletons: minutes")
    folder = tmp_path_factory.mktemp("scaffolds") / "checkout"
    made_here = {"build", "out", ".git", ".venv"}  # at the top alone: files of the project have such names too
    shutil.copytree(ROOT, folder, ignore=lambda path, names: made_here & set(names) if path == str(ROOT) else ())
    (folder / ".venv").symlink_to(ROOT / ".venv")
    for arguments in SKELETONS:
        made = new(folder, *arguments)
        assert made.returncode == 0, made.stderr
    for command in (["cmake", "--preset", "dev"], ["ninja", "-C", "build", "-j2", "metate-opt", "metate", "metate-run"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return folder


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("Transforms/skew-loops.mlir", "say what SkewLoops makes of it"),
        ("Dialect/prefetch-invalid.mlir", 'expected error "X1" was not produced'),
        ("Level/ring.mlir", "say how a ring level's cell is read"),
        ("Target/Wasm/emit.mlir", "target 'wasm' emits no code"),
    ],
    ids=lambda value: value.split("/")[0] if "/" in value else None,
)
def test_a_skeleton_is_built_and_its_test_fails_for_the_right_reason(whole, test, words):
    lit = [ROOT / ".venv/bin/lit", "-v", f"tests/lit/{test}"]
    done = subprocess.run(lit, cwd=whole, capture_output=True, text=True)
    assert done.returncode != 0 and words in done.stdout, done.stdout


def test_what_was_there_before_the_skeletons_still_passes(whole):
    done = subprocess.run([ROOT / ".venv/bin/lit", "-q", "tests/lit"], cwd=whole, capture_output=True, text=True)
    failed = {line.split()[3] for line in done.stdout.splitlines() if line.startswith("FAIL:")}
    assert failed == {
        "Transforms/skew-loops.mlir", "Dialect/prefetch-invalid.mlir", "Level/quant_array.mlir", "Target/Wasm/emit.mlir",
    }, done.stdout  # fmt: skip
