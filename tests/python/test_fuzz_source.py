"""The corpus and the past crashes of the fuzz target `source`, each through the front end and all stages to emit.

scripts/fuzz source looks for new ones; see tests/fuzz/source_target.py for what counts as a finding.
"""

import pathlib
import sys

import pytest

pytest.importorskip("metate_native._compiler")
pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning")  # Python's, about what fuzzing makes of a kernel

FUZZ = pathlib.Path(__file__).resolve().parents[1] / "fuzz"
FILES = sorted((FUZZ / "corpus" / "source").iterdir()) + sorted((FUZZ / "crashes" / "source").iterdir())


@pytest.fixture(scope="module")
def fuzz():
    sys.path.insert(0, str(FUZZ))
    try:
        import source_mutator
        import source_target
    finally:
        sys.path.remove(str(FUZZ))
    return source_target, source_mutator


@pytest.fixture(scope="module")
def target(fuzz):
    return fuzz[0].Target()


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.parent.name}-{path.name}")
def test_replay(target, path):
    assert target.run(path.read_bytes(), thorough=True) in (True, False), "an input that is not run tests nothing"


def test_the_harness_finds(fuzz, target, monkeypatch):
    source_target, _ = fuzz
    monkeypatch.setattr(target.walker.Blocks, "statement_Pass", lambda self, node: {}[node.lineno])
    with pytest.raises(source_target.Finding, match="KeyError instead of a CompilationError"):
        target.run(b"def k():\n    pass\n", thorough=True)


@pytest.mark.parametrize("text", ["def k():\n    ti.static(open('f'))\n", "import os\n", "def k(x: exec('1')):\n    pass\n"])
def test_dangerous_texts_are_passed_over(target, text):
    assert target.run(text.encode()) is None


def test_mutations_stay_python(fuzz, target):
    _, source_mutator = fuzz
    texts = [path.read_text() for path in FILES[:20]]
    mutator = source_mutator.Mutator(texts)
    changed = [mutator.mutate(text.encode(), 1024, seed) for seed, text in enumerate(texts * 5)]
    parsed = [target.parse(text) is not None for text in changed]
    assert sum(parsed) > len(parsed) * 3 // 4
    assert sum(a.decode() != b for a, b in zip(changed, texts * 5)) > len(parsed) // 2
