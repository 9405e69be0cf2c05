"""`metate doctor`: each line is tried, what is broken decides the exit status, and the JSON says the same."""

import json

import pytest

from metate import cli, doctor


def test_this_checkout_is_well(capsys):
    assert cli.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    states = dict(line.split()[:2] for line in lines if not line.startswith((" ", "everything")))
    assert {states[name] for name in ("package", "python", "runtime", "cpu", "compiler", "jit", "aot", "hosts")} == {"ok"}
    assert lines[-1] == "everything that is required works"


def test_json_has_every_check(capsys):
    assert cli.main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [check["name"] for check in report["checks"]] == [check.name for check in doctor.CHECKS]
    assert report["ok"] is True
    assert all(check["advice"] for check in report["checks"] if check["state"] != "ok")


def fail() -> str:
    raise OSError("libmetate.so: cannot open shared object file\nand more")


@pytest.mark.parametrize("optional, state, status", [(True, "missing", 0), (False, "broken", 1)])
def test_what_fails_says_what_to_do(monkeypatch, capsys, optional, state, status):
    monkeypatch.setattr(doctor, "CHECKS", (doctor.Check("part", fail, "install it", optional),))
    assert doctor.run() == status
    first, second, last = capsys.readouterr().out.splitlines()
    assert first.split(None, 2) == ["part", state, "libmetate.so: cannot open shared object file"]
    assert second.strip() == "-> install it"
    assert last == ("everything that is required works" if optional else "broken: part")
    assert doctor.run(as_json=True) == status
    assert json.loads(capsys.readouterr().out)["ok"] is optional


def test_a_wrong_result_of_a_kernel_is_broken(monkeypatch):
    monkeypatch.setattr("metate.probe.scale", lambda x, factor: None)
    (jit,) = [doctor.examine(check) for check in doctor.CHECKS if check.name == "jit"]
    assert jit.state == "broken"
