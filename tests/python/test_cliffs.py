"""bench/cliffs: what it makes of samples, and that every spelling belongs to a workload of its own name."""

import dataclasses
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from harness import cliffs, evenness, rows  # noqa: E402
from harness.side import PACKAGES  # noqa: E402
from harness.workload import Workload  # noqa: E402


@pytest.fixture
def known():
    found = cliffs.workloads()
    yield found
    for name in [name for name in sys.modules if name == "ti" or name.startswith("programs")]:
        del sys.modules[name]


def side(ns, first=0.05):
    return {"ns_per_work": ns, "first_step_s": first, "seconds": {"median": ns, "min": ns, "p90": ns * 2}}


def timed(case, metate, taichi, quadrants=None, level=""):
    sides = {"metate": side(metate), "taichi": side(taichi)}
    sides["quadrants"] = side(quadrants) if quadrants else {"failed": "no such thing\nat line 3"}
    return evenness.figures({"case": case, "level": level, "sides": sides})


def made(*spellings):
    workload = {"name": "w", "title": "some work", "unit": "cell", "parameters": {"n": 3}, "spellings": list(spellings)}
    evenness.add_own(workload["spellings"])
    return workload


def test_the_better_peer_counts_and_families_have_a_best_each():
    workload = made(timed("a", 2, 4, 3), timed("b", 8, 4), timed("c", 6, 12, 6, "f64"))
    assert [found["peer"] for found in workload["spellings"]] == [1.5, 0.5, 1.0]
    assert [found["own"] for found in workload["spellings"]] == [1, 4, 1]
    assert workload["spellings"][1]["without"] == {"quadrants": "no such thing"}
    found = evenness.summary([workload])
    assert (found["spellings"], found["below the best peer"], found["over twice our own best"]) == (3, 1, 1)
    assert found["geometric mean"] == pytest.approx(0.75 ** (1 / 3))


def test_the_worst_are_those_that_miss_a_goal_by_most():
    workload = made(timed("best", 1, 9), timed("slow", 3, 9), timed("behind", 1.5, 0.3), timed("good", 1.1, 5))
    assert [found["spelling"] for _, _, found in evenness.worst([workload], 9)] == ["behind", "slow"]
    assert len(evenness.worst([workload], 1)) == 1


def test_a_saved_run_has_a_line_a_spelling_and_a_page(tmp_path):
    machine = {"model": "a CPU", "cpus": 2, "caches": "L2", "commit": "abc", "versions": {"NumPy": "2"}}
    machine["limits"] = {"read": 70.0, "copy": 60.0, "fma": 500.0}
    evenness.save(machine, [made(timed("a", 2, 4, 3), timed("b", 8, 4))], "others were running", tmp_path)
    result = json.loads((tmp_path / "results.json").read_text())
    assert [found["spelling"] for found in result["workloads"][0]["spellings"]] == ["a", "b"]
    page = (tmp_path / "README.md").read_text()
    assert "| w | b | 8 | 4 | - | 0.50 | 4.00 |" in page and "| a | 2 | 4 | 3 | 1.50 | 1.00 |" in page
    assert "- b, quadrants: no such thing" in page and page.endswith("others were running.\n")


def test_a_pair_in_doubt_is_taken_again():
    runner = rows.Runner(1, PACKAGES, (), 2, None, doubt=0.95)
    assert rows.doubtful(runner, {"metate": [2, 2], "taichi": [1, 1]})
    assert not rows.doubtful(runner, {"metate": [2, 2], "taichi": [2, 1.9], "hand": [1, 1]})
    assert not rows.doubtful(runner, {"taichi": [1, 1]})
    assert not rows.doubtful(dataclasses.replace(runner, doubt=0.0), {"metate": [2, 2], "taichi": [1, 1]})


def test_what_compiles_nothing_is_no_measure_of_compile_times():
    ours = {"copy_from": 0.001, "a kernel": 0.05, "another": 0.15, "f64": 0.02}
    assert cliffs.compile_ratio(ours, 0.15, ["copy_from", "a kernel", "another", "refused"]) == pytest.approx(3)
    assert cliffs.compile_ratio(ours, 0.001, ["copy_from"]) == 1


def test_a_spelling_with_another_result_fails_the_run(known, capsys, monkeypatch):
    wrong = dataclasses.replace(known["sums"], model=lambda inputs, n: {"sum": np.array(-1.0)})
    options = cliffs.parse(["--smoke", "sums", "--only", "while"], "", known)
    assert cliffs.run_smoke(known | {"sums": wrong}, options) == 1
    assert "while at the kernel's top" in capsys.readouterr().out


def test_there_are_many_spellings_of_many_workloads(known):
    for name, work in known.items():
        assert isinstance(work, Workload) and set(work.smoke) == set(work.parameters), name
        titles = [spelling.title for spelling in work.spellings]
        functions = [spelling.function for spelling in work.spellings]
        assert len(set(titles)) == len(titles) and len(set(functions)) == len(functions), name
        assert len(titles) > 2, name
    assert len(known) >= 20 and sum(len(work.spellings) for work in known.values()) >= 150


@pytest.mark.parametrize(("argument", "message"), [("nothing", "no workload 'nothing'"), ("--sides=numba", "no side 'numba'")])
def test_what_the_command_does_not_know_it_names(argument, message):
    result = subprocess.run([ROOT / "bench" / "cliffs", argument], capture_output=True, text=True)
    assert result.returncode == 2 and message in result.stderr
