"""What the machine is that figures come from; measures nothing."""

import contextlib
import importlib.metadata
import os
import pathlib
import re
import subprocess

from . import gpu
from .side import PEERS, ROOT


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def caches():
    """'L1d 48 KiB, L2 1 MiB, L3 32 MiB': of the first CPU, as the kernel tells."""
    texts = []
    for folder in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        with contextlib.suppress(OSError):
            level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
            if kind != "Instruction":
                texts.append(f"L{level}{'d' if kind == 'Data' else ''} {size[:-1]} {size[-1]}iB")
    return ", ".join(texts) or "caches unknown"


def versions():
    found = {"g++": output("g++", "-dumpfullversion").strip()}
    match = re.search(r"version (\d+\.\d+\.\d+)", output("clang++-22", "--version"))
    found["clang"] = match[1] if match else "none"
    if PEERS.exists():
        code = "import importlib.metadata as m; print(m.version('taichi'), m.version('quadrants'))"
        found |= dict(zip(("Taichi", "Quadrants"), output(str(PEERS), "-c", code).split()))
    found["NumPy"] = importlib.metadata.version("numpy")
    return found


def describe(arch="cpu"):
    info = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*:\s*(.*)", info)
    flags = re.search(r"flags\s*:\s*(.*)", info)
    widest = "AVX-512" if flags and " avx512f" in flags[1] else "AVX2" if flags and " avx2" in flags[1] else "no AVX2"
    changed = " with changes" if output("git", "status", "--porcelain", "--untracked-files=no").strip() else ""
    gpu_names = "" if arch == "cpu" else f"{gpu.names()} by {arch}, "
    return {
        "model": f"{gpu_names}{model[1] if model else 'unknown CPU'} ({widest})",
        "cpus": len(os.sched_getaffinity(0)),
        "caches": caches(),
        "commit": output("git", "rev-parse", "--short=12", "HEAD").strip() + changed,
        "versions": versions(),
    }
