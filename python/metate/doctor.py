"""`metate doctor`: what is installed and what works, each as one line, found by trying it.

A required part that fails makes the exit status 1; an optional one that is missing does not, unless it is there and does
not work. Each check is a function that returns what it found or raises; none may change anything outside of a
temporary folder.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

OK, MISSING, BROKEN = "ok", "missing", "broken"
_FEATURES = {"avx", "avx2", "fma", "f16c", "avx512f", "avx512_bf16", "avx512_fp16", "amx_tile", "asimd", "asimdhp", "sve"}
_INTERFACES = {"cuda": "CUDA", "vulkan": "Vulkan"}  # of drivers, whose versions are told
_CACHES = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        name: what was looked at.
        state: "ok", "missing" (optional) or "broken" (required).
        detail: what was found, or the error.
        advice: what to do when the state is not "ok".
    """

    name: str
    state: str
    detail: str
    advice: str = ""


class BrokenError(Exception):
    """It is there and does not work: broken even where it may be missing."""


@dataclass(frozen=True)
class Check:
    """A name, what finds it out, whether Metate works without it, and what to do when it fails."""

    name: str
    run: Callable[[], str]
    advice: str
    optional: bool = False


def run(as_json: bool = False) -> int:
    """Runs all checks and prints them; returns the exit status: 0, or 1 when something required does not work."""
    findings = []
    for check in CHECKS:
        findings.append(examine(check))
        if not as_json:
            print(_line(findings[-1]), flush=True)
    broken = [finding.name for finding in findings if finding.state == BROKEN]
    if as_json:
        print(json.dumps({"ok": not broken, "checks": [asdict(finding) for finding in findings]}, indent=2))
    else:
        print(f"broken: {', '.join(broken)}" if broken else "everything that is required works")
    return 1 if broken else 0


def examine(check: Check) -> Finding:
    """What a check finds; whatever it raises becomes a line of the report."""
    try:
        return Finding(check.name, OK, check.run())
    except Exception as error:
        text = f"{error}" or type(error).__name__
        may_be_missing = check.optional and not isinstance(error, BrokenError)
        return Finding(check.name, MISSING if may_be_missing else BROKEN, text.splitlines()[0], check.advice)


def _line(finding: Finding) -> str:
    text = f"{finding.name:<11} {finding.state:<8} {finding.detail}"
    return text if finding.state == OK else f"{text}\n{'':<21}-> {finding.advice}"


def _package() -> str:
    import metate

    return f"metate {metate.__version__} in {pathlib.Path(__file__).parent}"


def _python() -> str:
    return f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.system()} {platform.machine()}"


def _runtime() -> str:
    from . import native
    from .runtime import device

    executor = device().executor or "none, kernels run serially"
    return f"libmetate in {native.library_directory()}; executor {executor}, {device().threads} threads"


def _cpu() -> str:
    from .runtime import device

    machine = device()
    features = _cpu_flags() & _FEATURES
    return f"{machine.name}, {os.cpu_count()} CPUs; {' '.join(sorted(features))}"


def _caches() -> str:
    found = []
    for index in sorted(_CACHES.glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    if not found:
        raise RuntimeError(f"{_CACHES}: this system does not tell")
    return ", ".join(found)


def _compiler() -> str:
    started = time.perf_counter()
    extension = importlib.import_module("metate_native._compiler")
    elapsed = 1e3 * (time.perf_counter() - started)
    folder = pathlib.Path(extension.__file__ or "").parent
    return f"{len(extension.stage_names())} stages, loaded in {elapsed:.0f} ms from {folder}"


def _jit() -> str:
    from .probe import scale

    values = np.arange(1 << 16, dtype=np.float32)
    expected = values * 2 + 1
    times = []
    for _ in range(2):
        data = values.copy()
        started = time.perf_counter()
        scale(data, 2.0)
        times.append(time.perf_counter() - started)
        np.testing.assert_array_equal(data, expected)
    return f"a kernel compiled and ran in {times[0] * 1e3:.0f} ms, then {times[1] * 1e6:.0f} µs; its result is right"


def _aot() -> str:
    from . import aot, native
    from .probe import scale

    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        file = aot.Module().add_kernel(scale).save(os.path.join(folder, "probe.metate"))
        elapsed = 1e3 * (time.perf_counter() - started)
        module = aot.load(file)
        data = np.ones(100, np.float32)
        module.scale(data, 3.0)
        np.testing.assert_array_equal(data, 4)
        subprocess.run([native.metate_run(), "verify", file], check=True, capture_output=True)
        return f"a module of {file.stat().st_size:,} bytes built in {elapsed:.0f} ms, loaded, verified by metate-run, run"


def _device(arch: str) -> Callable[[], str]:
    def check() -> str:
        from . import devices

        device = devices.open_device(arch, None, False)
        limits = devices.limits_of(device)
        what = _described(device) + (f"; {limits}" if limits else "")
        try:
            return f"{what}; {_scaled_on(arch)}"
        except Exception as error:
            raise BrokenError(f"{what}; a kernel does not run: {str(error) or type(error).__name__}") from error

    return check


def _described(device) -> str:
    """A device's name, memory, driver, and which types and atomics its kernels may use."""
    found = device.inspect()
    parts = [device.name, f"{found['memory_bytes'] / (1 << 30):.1f} GiB"]
    if any(found["version"]):
        parts.append(f"{_INTERFACES[device.driver]} {'.'.join(map(str, found['version']))}")
    if device.driver == "cuda":
        parts.append(f"compute capability {device.level // 10}.{device.level % 10}")
    named = {is_there: [name for name, has in found["features"].items() if has is is_there] for is_there in (True, False)}
    features = f"{', '.join(named[True]) or 'none of the types that may be missing'}"
    return f"{', '.join(parts)}; {features}" + (f"; without {', '.join(named[False])}" if named[False] else "")


def _scaled_on(arch: str) -> str:
    from . import context
    from .probe import scale

    with context.Context(arch=arch):
        data = np.arange(1 << 16, dtype=np.float32)
        expected = data * 2 + 1
        started = time.perf_counter()
        scale(data, 2.0)
        elapsed = time.perf_counter() - started
        np.testing.assert_array_equal(data, expected)
    return f"a kernel compiled and ran in {elapsed * 1e3:.0f} ms"


def _hosts() -> str:
    from . import native

    where = native.cmake_directory()
    cmake = f"; metate_DIR={where}" if where else "; a checkout: CMake's package is in installed ones"
    return f"headers in {', '.join(map(str, native.include_directories()))}{cmake}"


def _distribution(name: str, module: str) -> Callable[[], str]:
    def check() -> str:
        if importlib.util.find_spec(module) is None:
            raise ImportError(f"{name} is not installed")
        return f"{name} {importlib.metadata.version(name)}"

    return check


def _eigen() -> str:
    from metate_native import _sparse

    return f"sparse matrices and solvers, Eigen {_sparse.eigen}"


def _gui() -> str:
    from .ui import libraries

    library, pillow = libraries.pygame(), libraries.pillow("pictures")
    return f"pygame-ce {library.version.ver}, SDL {'.'.join(map(str, library.get_sdl_version()))}, Pillow {pillow.__version__}"


def _opengl() -> str:
    from .ui import libraries
    from .ui.ggui.device import Device

    controls = libraries.imgui("ui.Window")
    device = Device((8, 8), "ui.Window")
    try:
        return f"{device.name}; Dear ImGui {controls.get_version()}"
    finally:
        device.release()


def _display() -> str:
    from .ui import libraries

    if not libraries.has_display():
        raise RuntimeError("none: mt.GUI draws off-screen, show(file) writes pictures")
    return f"windows by SDL's driver {libraries.pygame().display.get_driver()}"


def _ffmpeg() -> str:
    program = shutil.which("ffmpeg")
    if program is None:
        raise RuntimeError("not on PATH: videos are GIF only")
    return program


def _cpu_flags() -> set[str]:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return {flag for line in lines if line.startswith(("flags", "Features")) for flag in line.split(":", 1)[1].split()}


_REINSTALL = "install Metate again (pip install .), or build the checkout (scripts/build)"
CHECKS = (
    Check("package", _package, _REINSTALL),
    Check("python", _python, "install NumPy: pip install numpy"),
    Check("runtime", _runtime, _REINSTALL),
    Check("cpu", _cpu, _REINSTALL),
    Check("caches", _caches, "nothing: for information only", optional=True),
    Check("compiler", _compiler, f"install LLVM 22's shared library (libllvm22); {_REINSTALL}"),
    Check("jit", _jit, "see the compiler's line; else report this with its text"),
    Check("aot", _aot, "see the compiler's line; else report this with its text"),
    Check("simt", _device("simt"), _REINSTALL),
    Check("cuda", _device("cuda"), "install NVIDIA's driver where there is a GPU of theirs, for mt.cuda", optional=True),
    Check("vulkan", _device("vulkan"), "install a Vulkan driver (Debian: mesa-vulkan-drivers), for mt.vulkan", optional=True),
    Check("hosts", _hosts, _REINSTALL),
    Check("eigen", _eigen, "install libeigen3-dev and build again, for mt.linalg's sparse matrices", optional=True),
    Check("gui", _gui, "pip install 'metate[gui]', for mt.GUI, imread, imwrite", optional=True),
    Check("opengl", _opengl, "pip install 'metate[gui]', for mt.ui.Window; on Debian libegl1, libgl1-mesa-dri", optional=True),
    Check("display", _display, "set DISPLAY or WAYLAND_DISPLAY where windows are wanted", optional=True),
    Check("ffmpeg", _ffmpeg, "install ffmpeg, for MP4 videos", optional=True),
    Check("torch", _distribution("torch", "torch"), "pip install torch, for kernels on its tensors", optional=True),
    Check(
        "tvm-ffi", _distribution("apache-tvm-ffi", "tvm_ffi"), "pip install apache-tvm-ffi, to load packed modules", optional=True
    ),
)
