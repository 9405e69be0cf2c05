"""A short run of random kernels, the regressions that longer ones left, and the tester's own tests."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from differential import coverage, draws, twins
from differential.case import Case
from differential.compare import difference, twin_results
from differential.fuzz import Watch
from differential.generate import generate
from differential.program import Expr, Line, Stmt, has_draws
from differential.reduce import Reducer, same_failure, size_of
from differential.run import COUNTED, VARIANTS, Session

ROOT = pathlib.Path(__file__).resolve().parents[2]
WRONG = "interpreter after import"  # it stops where a planted fault makes an index wrong
SAVED = sorted((pathlib.Path(__file__).parent / "regressions").glob("*.json"))


def some_variants(*names):
    return [variant for variant in VARIANTS if variant.name in names]


def test_random_kernels_agree_and_cover_the_table(rng):
    """The short run: enough kernels for every operation, type and level; scripts/fuzz-kernels is the long one."""
    seed = int(rng.integers(1 << 24))
    matrix = ROOT / "out" / "differential" / "coverage.md"
    matrix.unlink(missing_ok=True)
    command = [str(ROOT / "scripts" / "fuzz-kernels"), "--count", "420", "--jobs", "2", "--seed", str(seed)]
    command += ["--save", str(matrix.parent), "--coverage", str(matrix)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=1200)
    report = "\n".join(done.stdout.splitlines()[-60:])
    assert done.returncode == 0, f"{' '.join(command)}\n{report}\n{done.stderr[-2000:]}"
    assert "420 kernels, 0 mismatches" in done.stdout
    ran = {line.split(maxsplit=1)[1] for line in done.stdout.splitlines() if line.startswith("  ")}
    assert ran == {variant.name for variant in VARIANTS} | {COUNTED}, "a variant ran no kernel"
    assert "% of" in matrix.read_text()


@pytest.mark.parametrize("path", SAVED, ids=[path.stem for path in SAVED])
def test_saved_case(path):
    with Session() as session:
        assert not [str(found) for found in session.check([Case.load(path)])]


def test_the_same_seed_gives_the_same_case():
    for seed in range(5):
        a, b = generate(seed), generate(seed)
        assert (a.kernel, a.twin, a.arguments, a.trees) == (b.kernel, b.twin, b.arguments, b.trees)


def test_a_saved_case_is_the_same(tmp_path):
    for seed in range(8):
        case = generate(seed)
        case.save(tmp_path / "case.json")
        loaded = Case.load(tmp_path / "case.json")
        assert (loaded.kernel, loaded.twin, loaded.trees, loaded.tolerances) == (
            case.kernel,
            case.twin,
            case.trees,
            case.tolerances,
        )
        assert difference(case, twin_results(case), twin_results(loaded)) is None


@pytest.mark.parametrize(
    ("wrong", "right"), [("arith.muli", "arith.addi"), ("arith.addi", "arith.subi"), ("arith.minsi", "arith.maxsi")]
)
def test_a_planted_fault_is_found_and_reduced(tmp_path, wrong, right):
    """One variant compiles another operation: the case that shows it becomes a kernel of a few statements."""

    def plant(text):
        return text.replace(wrong, right)

    variants = some_variants("O0", WRONG)
    make = lambda names: Session(variants if len(names) > 1 else (), sabotage=(WRONG, plant))
    found = None
    for seed in range(1000, 1060):
        planted = generate(seed, "planted")
        if "while" in planted.kernel:
            continue  # it may count the other way, and never end
        with Session(variants, sabotage=(WRONG, plant)) as session:
            found = next(iter(session.check([planted])), None)
        if found is not None and size_of(found.case) > 12:
            break
    assert found is not None
    case = Reducer(same_failure(found, make), 600).reduce(found.case)
    assert size_of(case) <= 6, case.kernel
    case.save(tmp_path / "planted.json")
    with Session(variants, sabotage=(WRONG, plant)) as session:
        assert session.check([Case.load(tmp_path / "planted.json")])
    with Session(variants) as session:
        assert not list(map(str, session.check([Case.load(tmp_path / "planted.json")])))


def test_a_wrong_twin_is_found():
    """What all compiled variants agree on is still compared with Python's arithmetic."""
    with Session(some_variants("O0")) as session:
        for seed in range(150):
            case = generate(seed)
            if "mul__i32" in case.twin:
                case.twin = case.twin.replace("mul__i32", "sub__i32")
                found = session.check([case])
                if found:
                    assert "twin" in found[0].variants
                    return
    pytest.fail("no twin differed")


def test_a_twin_that_does_not_end_fails(monkeypatch):
    monkeypatch.setattr("differential.run.TWIN_SECONDS", 0.2)
    case = generate(0)
    case.twin = case.twin.replace("):\n", "):\n    while True: pass\n", 1)
    with Session(some_variants("O0")) as session:
        (found,) = session.check([case])
    assert "the twin failed: TimeoutError" in found.text


@pytest.mark.parametrize(("program", "code"), [("while True: pass", -9), ("import time; time.sleep(0.5)", 0)])
def test_a_silent_process_that_works_is_killed_and_one_that_waits_is_not(program, code):
    process = subprocess.Popen([sys.executable, "-S", "-c", program])
    watch = Watch(process, 0.5)
    assert process.wait() == code
    watch.stop()


def test_a_case_that_ends_its_process_is_named(tmp_path):
    """The process that checks may die; the kernel that killed it is found and saved."""
    script = """
import os, sys
from differential import run
launch = run.launch
def dying(call, case, *more):
    if case.name == "k3":
        os.abort()
    return launch(call, case, *more)
run.launch = dying
from differential.fuzz import main
sys.exit(main())
"""
    (tmp_path / "sitecustomize.py").write_text("")
    file = tmp_path / "dying.py"
    file.write_text(script)
    starter = tmp_path / "start.py"
    starter.write_text(
        "import sys\nfrom differential import fuzz\n"
        "popen = fuzz.subprocess.Popen\n"
        f"fuzz.subprocess.Popen = lambda command, **more: popen([command[0], {str(file)!r}, *command[3:]], **more)\n"
        "sys.exit(fuzz.main())\n"
    )
    command = [
        sys.executable,
        str(starter),
        "--count",
        "5",
        "--jobs",
        "1",
        "--seed",
        "4",
        "--save",
        str(tmp_path),
        "--variants",
        "O0",
    ]
    path = os.pathsep.join([str(ROOT / "tests"), *sys.path])
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=path), timeout=300)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "k3 (seed" in done.stdout and "5 kernels, 1 mismatches" in done.stdout
    (saved,) = tmp_path.glob("k3_*.json")
    assert json.loads(saved.read_text())["name"] == "k3"


def test_coverage_counts_what_ran_only():
    counted = coverage.Coverage()
    assert counted.share == 0 and len(counted.missing()) == len(counted.expected)
    counted.counts.update(list(counted.expected)[: len(counted.expected) // 2])
    assert 0.49 < counted.share < 0.51
    assert "\n50.0% of" in counted.text()


def test_comparison_knows_what_is_exact():
    case = generate(0)
    case.tolerances = {"e": {"ulp": 4}, "z": {"signless": True}}
    one = {"status": None, "printed": []}
    for name, a, b, agrees in (
        ("x", 0.0, -0.0, False), ("z", 0.0, -0.0, True), ("x", np.nan, -np.nan, True), ("x", 1.0, np.nextafter(1, 2), False),
        ("e", 1.0, 1.0 + 4 * 2.0**-52, True), ("e", 1.0, 1.0 + 5 * 2.0**-52, False), ("e", 5e-324, -5e-324, True),
        ("e", 1.0, np.nan, False),
    ):  # fmt: skip
        left, right = {**one, name: np.array([a])}, {**one, name: np.array([b])}
        assert (difference(case, left, right) is None) == agrees, (name, a, b)
    assert difference(case, one, {"status": "CapacityError: x", "printed": []}) is not None
    assert difference(case, one, {"status": None, "printed": ["x"]}) is not None


def drawn_by(text):
    found, namespace = [], {"draws": draws.Draws(), "unrolled": draws.unrolled, "inside": draws.inside, "caller": draws.caller}
    exec(draws.numbered(text), namespace)
    namespace["k"](found)
    return found


def test_random_numbers_of_functions_of_twins():
    """A @func draws in its caller's block until it may have returned, a @real_func in blocks of its own."""
    text = """
def g(at, found, i):
    found.append(draws.draw("u32", @HERE))
    if i > 0:
        found.append(draws.draw("u32", @HERE))
        return
    found.append(draws.draw("u32", @HERE))

@draws.called
def r(found):
    found.append(draws.draw("u32", @HERE))

def k(found):
    for i in draws.loop(range(2)):
        found.append(draws.draw("u32", @HERE))
        g(@HERE, found, i)
        r(found)
        found.append(draws.draw("u32", @HERE))
"""
    want = []
    for i in range(2):
        own, other, true = (draws.philox((i, 0, 1, k)) for k in range(3))
        want += [own[0], own[1], other[0], true[0], own[2]]
    assert drawn_by(text) == want


def test_functions_that_draw_in_an_expression():
    """A call in an expression's operand draws as a statement does."""
    call = Expr(None, "1 + {0}", "1 + {0}", [Expr(None, "g()", f"g({draws.HERE})")])
    line = [Line("x = {0}", "x = {0}")]
    assert has_draws([Stmt("if", [Line("if True:", "if True:", [Stmt("call", line, [call])])])])
    assert not has_draws([Stmt("call", line, [Expr(None, "g()", "g()")])])


def test_random_numbers_of_functions_in_copies():
    """A branch of a @func that an unrolled loop calls is another one in each copy; what is outside of it is not."""
    text = """
def h(at, found):
    g(@HERE, found)

def g(at, found):
    found.append(draws.draw("u32", @HERE))
    if True:
        found.append(draws.draw("u32", @HERE))

def k(found):
    for i in draws.loop(range(1)):
        for q, q_copy in unrolled((5, 5)):  # static
            h(@HERE, found)
"""
    own, first, second = (draws.philox((0, 0, 1, k)) for k in range(3))
    assert drawn_by(text) == [own[0], first[0], own[1], second[0]]


def test_random_numbers_of_twins():
    """Which words a draw takes: statements share a block of four, a loop in order has its own, a branch too."""
    text = """
def k(found):
    for i in draws.loop(range(3)):
        found.append(draws.draw("u32", @HERE))
        if i > 0:
            found.append(draws.draw("u32", @HERE))
        for q, q_copy in unrolled((5, 5)):  # static
            found.append(draws.draw("u32", @HERE))
            if q:
                found.append(draws.draw("u32", @HERE))
        for q in range(5):
            found.append(draws.draw("u32", @HERE))
"""
    found, want = drawn_by(text), []
    for i in range(3):
        blocks = iter([draws.philox((i, 0, 1, k)) for k in range(6)])
        own = next(blocks)
        want += [own[0], *([next(blocks)[0]] if i else [])]
        want += [own[1], next(blocks)[0], own[2], next(blocks)[0]]
        want += [*next(blocks), next(blocks)[0]]
    assert found == want
    # Random123 1.14, examples/kat_vectors, "philox4x32 10"
    assert draws.philox((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), 0x299F31D0A4093822) == [
        0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1,
    ]  # fmt: skip


def test_arithmetic_of_twins():
    """Twins do not come from the compiler; a few values by hand."""
    names = (
        "mod__i8 floordiv__i8 raw_mod__i8 power__i8 shl__i8 shr__i8 bit_shr__i8 cast__i16__u8 add__f16 cast__i64__f32 clz__u16"
    )
    f = twins.functions_of(names)
    assert [f["mod__i8"](-7, 3), f["floordiv__i8"](-7, 3), f["raw_mod__i8"](-7, 3), f["mod__i8"](5, 0)] == [2, -3, -1, 0]
    assert [f["floordiv__i8"](-128, -1), f["power__i8"](3, 5), f["power__i8"](-1, -3), f["power__i8"](2, -1)] == [
        -128,
        -13,
        -1,
        0,
    ]
    assert [f["shl__i8"](1, 7), f["shl__i8"](1, 8), f["shr__i8"](-2, 100), f["bit_shr__i8"](-1, 4)] == [-128, 0, -1, 15]
    assert [f["cast__i16__u8"](-1), f["add__f16"](2048.0, 1.0), f["cast__i64__f32"](2**53 + 2**29 + 1), f["clz__u16"](1)] == [
        255, 2048.0, 9007200328482816.0, 15,
    ]  # fmt: skip
