"""scripts/test itself: steps run in order and beside each other, budgets hold, and a quick run looks at what was changed."""

import pathlib
import sys
import threading
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import changes  # noqa: E402
import quick  # noqa: E402
import run_tests  # noqa: E402
import steps  # noqa: E402
from run_tests import Result, Schedule  # noqa: E402
from steps import Step  # noqa: E402


@pytest.fixture
def schedule(monkeypatch, tmp_path):
    """Runs steps of `sh` on two cores; returns their results."""
    monkeypatch.setattr(run_tests, "LOGS", tmp_path)
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    return lambda *own: Schedule(list(own), {"PATH": "/usr/bin:/bin"}, {"seed": 7}, cores=2).run()


def shell(name, text, *needs, **more):
    return Step(name, ("sh", "-c", text), needs, **more)


def test_steps_that_want_one_core_run_beside_each_other(schedule, monkeypatch):
    meeting = threading.Barrier(2, timeout=30)
    monkeypatch.setattr(run_tests, "run_step", lambda *_: (meeting.wait(), Result(passed=1))[1])
    assert set(schedule(shell("a", ""), shell("b", ""))) == {"a", "b"}


def test_a_step_that_wants_all_cores_runs_alone(schedule, monkeypatch):
    active, most = set(), []

    def run(step, *_):
        active.add(step.name)
        most.append(set(active))
        active.discard(step.name)
        return Result(passed=1)

    monkeypatch.setattr(run_tests, "run_step", run)
    schedule(shell("a", "", cores=2), shell("b", "", cores=2), shell("c", ""))
    assert all(len(together) == 1 for together in most if together & {"a", "b"})


def test_a_step_that_waits_for_cores_holds_those_behind_it(schedule, monkeypatch):
    started, both = [], threading.Barrier(2, timeout=30)

    def run(step, *_):
        started.append(step.name)
        if step.name in ("c", "d"):
            both.wait()
        return Result(passed=1)

    monkeypatch.setattr(run_tests, "run_step", run)
    schedule(shell("a", ""), shell("b", "", cores=2), shell("c", ""), shell("d", ""))
    assert started[:2] == ["a", "b"]


def test_what_a_failed_step_was_needed_for_is_not_run_and_counts_as_failed(schedule, capsys):
    results = schedule(shell("a", "exit 3"), shell("b", "true", "a"), shell("c", "true", "b"), shell("d", "true"))
    assert {name: (r.passed, r.failed) for name, r in results.items()} == {"a": (0, 1), "b": (0, 1), "c": (0, 1), "d": (1, 0)}
    assert "not run: a failed" in capsys.readouterr().out


def test_a_runner_that_reports_no_test_failed(schedule):
    empty = '<testsuite name="x"></testsuite>'
    assert schedule(shell("a", f"echo '{empty}' > {{junit}}", junit=True))["a"].failed == 1
    assert schedule(shell("a", "true", junit=True))["a"].failed == 1


def test_cpu_time_is_of_all_processes_of_a_step(schedule):
    busy = "timeout 20 sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'"
    assert schedule(shell("a", busy))["a"].cpu > 0.05


@pytest.mark.parametrize(("cpu", "failed", "note"), [(9, 0, ""), (11, 0, "over its budget"), (31, 1, "failed")])
def test_a_budget_is_marked_and_fails_by_far(cpu, failed, note):
    result = Result(passed=1, cpu=cpu)
    run_tests.judge(shell("a", "", budget=10), result)
    assert result.failed == failed and note in result.note and bool(result.note) == bool(note)


def test_a_failed_comparison_is_told_as_everywhere():
    """With CI set, pytest compares long lists line by line: minutes, also for what an xfail expects."""
    environment = run_tests.environment_of_steps({"CI": "true", "BUILD_NUMBER": "7", "PATH": "/bin"})
    assert environment == {"PATH": "/bin", "METATE_OFFLINE_CACHE": "0"}


def test_the_suite_has_a_budget_and_each_step_a_name():
    names = [step.name for step in steps.STEPS]
    assert len(set(names)) == len(names)
    assert sum(step.budget for step in steps.SUITE) <= steps.BUDGET
    assert all(step.budget > 0 and not step.is_long for step in steps.SUITE)
    assert all(set(step.needs) <= set(names[:k]) for k, step in enumerate(steps.STEPS))


def test_a_named_step_brings_what_it_needs():
    assert [s.name for s in run_tests.select(["mutants"], steps.SUITE)] == ["build-dev", "build-mutants", "mutants"]
    with pytest.raises(SystemExit, match="no step 'nothing'"):
        run_tests.select(["nothing"], steps.SUITE)


def test_a_quick_run_points_from_files_to_tests():
    names, tests = quick.pointed_to(["runtime/tree/order.cpp", "tests/e2e/test_deterministic.py", "examples/nbody/nbody.py"])
    assert {"ctest-dev", "library-layers"} <= names and "lit" not in names
    assert {"tests/e2e/test_deterministic.py", "tests/examples/test_nbody.py", "tests/python/test_tree.py"} <= tests
    assert quick.pointed_to(["compiler/metate/Transforms/Offload.cpp"])[0] >= {"lit"}


def test_a_rule_of_a_quick_run_names_what_there_is():
    known = {step.name for step in steps.STEPS}
    for pattern, names, files in quick.RULES:
        assert set(names) <= known, pattern
        assert all((ROOT / file).exists() for file in files if "\\" not in file), (pattern, files)


def test_a_sample_is_the_same_for_a_seed(monkeypatch, capsys):
    monkeypatch.setattr(quick, "changed", lambda since: ["tests/lit/Level/pointer.mlir"])
    monkeypatch.setattr(quick, "landed", lambda: "0123456789abcdef")
    plans = [quick.plan(None, seed) for seed in (3, 3, 4)]
    assert plans[0] == plans[1] != plans[2] and "lit" in {step.name for step in plans[0]}
    assert "--since 0123456789ab --seed 3 repeats this run" in capsys.readouterr().out


def test_files_changed_are_those_of_the_checkout():
    assert all((ROOT / path).is_file() for path in changes.changed("HEAD"))


def test_what_files_do_not_pass_is_said_of_files_that_are_there():
    with (ROOT / "pyproject.toml").open("rb") as file:
        listed = tomllib.load(file)["tool"]["basedpyright"]["executionEnvironments"]
    assert all((ROOT / one["root"]).exists() and len(one) > 1 for one in listed)
