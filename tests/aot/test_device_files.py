"""Files with code of devices, as the tool shows them: their machines have names."""

import pathlib
import subprocess

import metate as mt

TOOL = pathlib.Path(__file__).resolve().parents[2] / "build/bin/metate-run"


@mt.kernel
def double(x: mt.types.ndarray(mt.f32, 1)):
    for i in x:
        x[i] *= 2


def test_machines_have_names(tmp_path):
    targets = ["x86-64-v3", "aarch64", "cuda:compute_80", "vulkan", "simt"]
    module = mt.aot.Module(targets=targets)
    module.add_kernel(double)
    file = module.save(tmp_path / "m.metate")
    shown = subprocess.run([TOOL, "inspect", file], capture_output=True, text=True, check=True).stdout
    rows = shown.partition("\nvariants\n")[2].splitlines()[: len(targets)]
    names = [row.partition(": ")[2].partition(", compiled for ")[0] for row in rows]
    assert sorted(names) == ["aarch64", "cuda 8.0", "simt", "vulkan", "x86-64-v3"]
