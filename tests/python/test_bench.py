"""bench/run judges results before it times them: these tests give it wrong ones."""

import dataclasses
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import seeded

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from definitions import b1  # noqa: E402
from harness import digest, junit, measure, report, rows  # noqa: E402

RNG = seeded.generator("test_bench")


@pytest.fixture
def runner(tmp_path):
    with (tmp_path / "log").open("w") as log:
        made = rows.Runner(1, ("metate",), ("g++",), 2, log)
        yield made
        made.stop()


def small(**changes):
    case = next(iter(b1.cases()))
    return dataclasses.replace(case, parameters=case.smoke, **changes)


def one_value_wrong(inputs, steps, n):
    right = b1.MODELS["saxpy"](inputs["x"], inputs["y"])
    right[n // 3] += 0.01
    return {"out": right}


def test_a_smoke_run_passes_right_results_and_names_the_first_wrong_value(runner):
    assert set(rows.smoke(runner, small()).values()) == {None}
    verdicts = rows.smoke(runner, small(model=one_value_wrong))
    assert set(verdicts) == {"plain by g++", "stores around the caches by g++", "metate"}
    assert all("value 1365: expected" in wrong for wrong in verdicts.values())


def test_a_side_with_another_result_is_not_timed_and_fails_the_row(runner):
    row = rows.run(runner, small(reference=None, model=one_value_wrong, limit=None))
    assert "seconds" not in row["sides"]["metate"]
    assert row["failed"] and "value 1365" in row["failed"][0]
    assert report.side_text(row, "metate") == "WRONG RESULT"


def test_a_right_row_has_times_ratios_and_shares(runner):
    row = rows.run(runner, small())
    assert not row["failed"]
    assert row["sides"]["metate"]["seconds"]["samples"] == 2
    ours, hand = (row["sides"][name]["seconds"]["median"] for name in ("metate", "hand"))
    assert row["ratio"]["hand"] == pytest.approx(hand / ours)
    assert row["sides"]["metate"]["share_of_limit"] == pytest.approx(hand / ours)
    json.dumps(row)


def test_a_program_that_fails_says_why_and_the_worker_lives_on(runner):
    row = rows.run(runner, small(program="stream:no_such_program", limit=None))
    assert "no_such_program" in row["sides"]["metate"]["failed"]
    assert rows.smoke(runner, small())["metate"] is None


def test_of_large_arrays_samples_and_sums_of_blocks_are_compared():
    array = RNG.random(digest.WHOLE + 12345, np.float32)
    expected = digest.take(array)
    assert digest.difference(expected, digest.take(array.copy()), 1e-6, 0) is None
    wrong = array.copy()
    at = RNG.integers(0, len(wrong))
    wrong[at] += 100
    assert digest.difference(expected, digest.take(wrong), 1e-6, 0) is not None
    assert "values, got" in digest.difference(expected, digest.take(array[: digest.WHOLE]), 1e-6, 0)


def test_values_that_are_no_numbers_differ():
    values = np.zeros(10, np.float32)
    wrong = values.copy()
    wrong[3] = np.nan
    assert "value 3" in digest.difference(digest.take(values), digest.take(wrong), 1, 1)


def test_a_summary_has_median_least_and_ninetieth_percentile():
    figures = measure.summary([3, 1, 2, 5, 4], 10)
    assert (figures["median"], figures["min"], figures["samples"]) == (30, 10, 5)
    assert figures["p90"] == pytest.approx(46)


def test_the_hand_written_side_is_the_fastest_of_the_samples():
    sides = {"hand": {"is": "a", "seconds": {"median": 2}}, "hand, plain": {"is": "b", "seconds": {"median": 1}}}
    rows.settle_hand(sides)
    assert sides["hand"]["is"] == "b" and sides["hand, other"]["is"] == "a"


def test_readme_gets_the_table_between_its_markers(tmp_path, monkeypatch):
    row = rows.given("a row", {"metate": [1.0], "taichi": [2.0]})
    about = {
        "model": "a CPU",
        "cpus": 2,
        "caches": "L2 1 MiB",
        "commit": "abc",
        "versions": {"g++": "1"},
        "limits": {"read": 70.0, "copy": 60.0, "fma": 500.0},
    }
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "README", tmp_path / "README.md")
    report.save("B1", "title", about, [row])
    report.write_markdown()
    assert "| a row | 1 s |  | - | 2 s (2.00x) |" not in (tmp_path / "README.md").read_text()  # columns in their order
    assert "| a row | 1 s |  | 2 s (2.00x) | - | - |" in (tmp_path / "README.md").read_text()
    (tmp_path / "README.md").write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.write_readme()
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| B1 a row | 1 s |  | 2 s (2.00x) | - | - |" in text


def test_junit_counts_what_failed(tmp_path):
    junit.write(tmp_path / "x.xml", [("B1", "a", "metate", None), ("B1", "a", "g++", "wrong")])
    text = (tmp_path / "x.xml").read_text()
    assert text.count("<testcase") == 2 and text.count("<failure") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["B99"], "no workload 'B99'"), (["--sides", "numba"], "no side 'numba'"), (["--nonsense"], "unrecognized arguments")],
)
def test_what_the_command_does_not_know_it_names(arguments, message):
    result = subprocess.run([ROOT / "bench" / "run", *arguments], capture_output=True, text=True)
    assert result.returncode == 2 and message in result.stderr


def test_list_names_every_workload():
    result = subprocess.run([ROOT / "bench" / "run", "--list"], capture_output=True, text=True, check=True)
    names = [line.split()[0] for line in result.stdout.splitlines()]
    assert names[:4] == ["B1", "B2", "B3", "B4"] and {"B15", "B16", "B17"} < set(names)
