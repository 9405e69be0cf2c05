"""Rows on a GPU: the options of the command lines, and the bandwidth of its own copy, by the driver's interface alone."""

import contextlib
import ctypes
import subprocess
import time

ARCHS = ("cpu", "cuda", "vulkan")
COPIED = 1 << 29  # bytes
TIMES = 16


def add_options(parser):
    parser.add_argument(
        "--arch",
        choices=ARCHS,
        default="cpu",
        help="where all sides run: on a GPU sizes are larger, and hand-written code only compares",
    )
    parser.add_argument(
        "--keep", action="store_true", help="peers keep what they compiled for the next run, as METATE_OFFLINE_CACHE=1 has us"
    )


def names():
    """What NVIDIA's tool calls the GPUs."""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        return subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=True
        ).stdout.strip()
    return "unknown GPU"


def copy_rate(arch):
    """Bytes a second that a copy in the GPU's memory reads and writes, the best of some tries; None on a CPU and where CUDA's
    driver is not there."""
    if arch == "cpu":
        return None
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    context, one, other = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_uint64()

    def call(name, *arguments):
        code = getattr(driver, name)(*arguments)
        if code:
            raise SystemExit(f"bench: {name} answers {code}")

    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    for place in (one, other):
        call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(COPIED))
    best = float("inf")
    for _ in range(5):
        call("cuCtxSynchronize")
        start = time.perf_counter()
        for _ in range(TIMES):
            call("cuMemcpyDtoDAsync_v2", other, one, ctypes.c_size_t(COPIED), None)
        call("cuCtxSynchronize")
        best = min(best, (time.perf_counter() - start) / TIMES)
    for place in (one, other):
        call("cuMemFree_v2", place)
    call("cuDevicePrimaryCtxRelease_v2", 0)
    return 2 * COPIED / best
