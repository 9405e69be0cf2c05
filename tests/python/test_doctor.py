"""`metate doctor`: each line is tried, what is broken decides the exit status, and the JSON says the same."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from metate import cli, doctor


def test_this_checkout_is_well(capsys):
    assert cli.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    states = dict(line.split()[:2] for line in lines if not line.startswith((" ", "everything")))
    assert {states[name] for name in ("package", "python", "runtime", "cpu", "compiler", "jit", "aot", "simt", "hosts")} == {"ok"}
    assert lines[-1] == "everything that is required works"


def test_json_has_every_check(capsys):
    assert cli.main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [check["name"] for check in report["checks"]] == [check.name for check in doctor.CHECKS]
    assert report["ok"] is True
    assert all(check["advice"] for check in report["checks"] if check["state"] != "ok")


# ---- devices

LAVAPIPE = pathlib.Path("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")
LIBRARIES = pathlib.Path(__file__).resolve().parents[2] / "build" / "lib"


def found_with(**environment):
    """(exit status, name -> finding) of a process of its own, in whose environment loaders and drivers are named."""
    done = subprocess.run(
        [sys.executable, "-m", "metate.cli", "doctor", "--json"],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_devices_are_described():
    status, found = found_with(METATE_CUDA_LIBRARY="libnone.so", METATE_VULKAN_LIBRARY="libnone.so")
    assert status == 0
    wanted = (
        r"simt \(1 threads\), \d+\.\d GiB; f64, f16, i16, i8, 64-bit atomics; without .*; a kernel compiled and ran in \d+ ms"
    )
    assert re.fullmatch(wanted, found["simt"]["detail"]) and found["simt"]["state"] == "ok"
    for name, reason in (
        ("cuda", "this machine has no driver of NVIDIA's"),
        ("vulkan", "this machine has no loader of Vulkan's"),
    ):
        assert found[name]["state"] == "missing" and "install" in found[name]["advice"]
        assert found[name]["detail"].startswith(f"there is no device for '{name}': {reason}: cannot load 'libnone.so'")


@pytest.mark.skipif(not LAVAPIPE.exists(), reason="Mesa's CPU device is not installed")
def test_vulkans_device_is_described():
    status, found = found_with(VK_DRIVER_FILES=str(LAVAPIPE), VK_ICD_FILENAMES=str(LAVAPIPE), METATE_CUDA_LIBRARY="libnone.so")
    assert status == 0 and found["vulkan"]["state"] == "ok"
    wanted = (
        r"llvmpipe .*, \d+\.\d GiB, Vulkan 1\.\d; f64, .*64-bit atomics.*; Mesa's lavapipe, for tests: 65,535 turns of all .*; "
        r"a kernel compiled and ran in \d+ ms"
    )
    assert re.fullmatch(wanted, found["vulkan"]["detail"])


def test_a_gpu_whose_kernels_do_not_run_is_broken():
    """The tests' stand-in for NVIDIA's library: it opens a device, and has no compiler of PTX."""
    status, found = found_with(METATE_CUDA_LIBRARY=str(LIBRARIES / "libmetate_fake_cuda.so"))
    assert status == 1 and found["cuda"]["state"] == "broken"
    wanted = "Fake GPU 0, 2.0 GiB, CUDA 12.4, compute capability 8.6; f64, f16, i16, i8, 64-bit atomics, atomic sums of f32; "
    assert found["cuda"]["detail"].startswith(wanted + "a kernel does not run: ")


def test_an_old_driver_is_named():
    path = LIBRARIES / "libmetate_fake_cuda_incomplete.so"
    status, found = found_with(METATE_CUDA_LIBRARY=str(path))
    assert status == 0 and found["cuda"]["state"] == "missing"
    assert f"'{path}' has no function cuLaunchKernel: install a newer driver" in found["cuda"]["detail"]


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
