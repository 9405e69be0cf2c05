"""Probes of faults in C source: compiled by this machine's C compiler, and called by direct entries."""

import ctypes
import pathlib
import subprocess
import tempfile

import numpy as np

import metate as mt

from . import expect, probe

POOLS = pathlib.Path(__file__).parents[2] / "aot" / "pools.mlir"
array = mt.types.ndarray


def loaded(header: str, source: bytes, name: str) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        for suffix, data in (("h", header.encode()), ("c", source)):
            pathlib.Path(folder, f"{name}.{suffix}").write_bytes(data)
        made = pathlib.Path(folder, f"{name}.so")
        subprocess.run(["gcc", "-std=c99", "-O1", "-shared", "-fPIC", made.with_suffix(".c"), "-lm", "-o", made], check=True)
        return ctypes.CDLL(str(made))


def address(data: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(data.ctypes.data)


Body = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint32)


@ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p
)
def in_two_chunks(own, count, grain, workers, body, context):
    return Body(body)(context, 0, count // 2, 0) or Body(body)(context, count // 2, count, 1)


class Host(ctypes.Structure):
    """metate_host; with an executor, operations are atomic."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("max_workers", ctypes.c_uint32),
        ("executor_self", ctypes.c_void_p),
        ("parallel_for", ctypes.c_void_p),
        ("rest", ctypes.c_void_p * 5),
    ]


@probe("CMinimumIsMaximum")
def c_minimum_is_maximum():
    @mt.kernel
    def lowest(x: array(mt.i32, 1), least: array(mt.i32, 1), was: array(mt.i32, 1)):
        for i in x:
            was[i] = mt.atomic_min(least[x[i] % 2], x[i])

    header, (source,) = mt.aot.Module(targets=["c"], name="probe").add_kernel(lowest).build_static("probe", "c")
    n = 200_000  # as many as are shared out
    x, least, was = (
        (np.arange(n) * 7919 % 100_003).astype(np.int32),
        np.array([100, 100_000], np.int32),
        np.zeros(n, np.int32),
    )
    arguments = [word for data in (x, least, was) for word in (address(data), ctypes.c_int64(len(data)))]
    host = Host(ctypes.sizeof(Host), 0, None, ctypes.cast(in_two_chunks, ctypes.c_void_p))
    status = loaded(header, source, "probe").probe_lowest(*arguments, None, ctypes.byref(host))
    expect([status, *least], [0, 0, 1])


@probe("CPoolsExchanged")
def c_pools_exchanged():
    from metate_native import _compiler

    module, choices = _compiler.SourceModule("pools"), _compiler.Choices()
    module.parse(f"module @pools {{\n{POOLS.read_text()}\n}}")
    choices.chunk_ns, choices.targets = 0, ["c"]
    header, (source,) = _compiler.build_static(module, choices)
    n, size = 40, ctypes.c_int64(40)
    x, y = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    memory = np.zeros(2 * 4096 + 64, np.uint8)
    start = memory.ctypes.data + -memory.ctypes.data % 64
    pools = (ctypes.c_void_p * 2)(start, start + 4096)
    status = loaded(header, source, "pools").pools_mirror(size, address(x), size, address(y), size, pools, None)
    k = np.arange(16)
    expect([status, *y], [0, *((np.arange(n)[:, None] + k).sum(axis=1) + x[::-1])])
