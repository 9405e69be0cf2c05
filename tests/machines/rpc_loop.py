"""A server in this process as a stream, whose bytes are cut at random, and damaged where a test wants that; and its calls."""

import ctypes
import pathlib

import numpy as np
import rpc_kernels
from machines import HOST, ROOT

import metate as mt

HERE = pathlib.Path(__file__).parent
SOURCES = sorted([*(ROOT / "runtime" / "core").glob("*.c"), *(ROOT / "runtime" / "rpc").glob("*.c")])
INCLUDES = [f"-I{ROOT / folder}" for folder in ("include", "abi", "protocol", "runtime")]
WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


def built(folder):
    """The server of rpc_kernels.py as a shared object."""
    rpc_kernels.module(HOST.target).save(folder / "service.o")
    HOST.build(folder / "service.so", HERE / "rpc_loopback.c", *SOURCES, folder / "service.o",
               flags=(*INCLUDES, "-Wpedantic", "-shared", "-fPIC"))  # fmt: skip
    return ctypes.CDLL(folder / "service.so")


class Loop:
    """The stream.

    Attributes:
        damage: probabilities that a byte is changed, left out, and said twice; sent, received: how many bytes went each way.
    """

    def __init__(self, library, draw, damage=(0, 0, 0), *, memory=1 << 18, frame=0, values=0, prints=1 << 14):
        self._library, self._draw, self.damage = library, draw, damage
        self._answers, self.sent, self.received = bytearray(), 0, 0
        self._callback = WRITE(lambda _, data, count: self._answers.extend(ctypes.string_at(data, count)))
        library.serve_open.argtypes = [ctypes.c_size_t, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32, WRITE]
        library.serve_receive.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        self.status = library.serve_open(memory, frame, values, prints, self._callback)

    def write(self, data):
        self.sent += len(data)
        data = self.damaged(data)
        while data:
            count = int(self._draw.integers(1, 40))
            self._library.serve_receive(data[:count], len(data[:count]))
            data = data[count:]

    def read(self, most):
        count = min(most, int(self._draw.integers(1, 40)))
        data, self._answers = self._answers[:count], self._answers[count:]
        self.received += len(data)
        return self.damaged(bytes(data))

    def damaged(self, data):
        changed, dropped, doubled = self.damage
        if not any(self.damage):
            return data
        out = bytearray()
        for byte, luck in zip(data, self._draw.random(len(data)), strict=True):
            if luck < changed:
                out.append(int(self._draw.integers(256)))
            elif luck < changed + doubled:
                out += bytes((byte, byte))
            elif luck >= changed + doubled + dropped:
                out.append(byte)
        return bytes(out)

    def connect(self, **options):
        assert self.status == 0
        return mt.rpc.connect(self, **{"timeout": 0.05, **options})


def exercise(remote, draw):
    """Calls of every kind; a list of what they gave."""
    x, y = draw.normal(size=(2, 300)).astype(np.float32)
    out, counted = np.zeros(8), np.arange(5, dtype=np.int32)
    points = draw.normal(size=(4, 3)).astype(np.float32)
    assert remote.call("axpy", 2.5, x, y) is None
    remote.call("count", counted)
    remote.call("numbers", True, -5, 65535, -(2**40), 2**63, 0.1, 0.3, 0.1, out)
    moved = remote.call("shift", [[0, 2], [3, 0]], (1, 2, 3), points)
    four = np.zeros(8, np.float32)
    remote.call("twice", x[:8].copy(), four, counted)
    return [y, counted, out, moved, points, remote.call("total", x), four]


def expected(draw):
    """The same of this process."""

    class Here:
        def call(self, name, *arguments):
            kernel = next((kernel for kernel in rpc_kernels.KERNELS if kernel.__name__ == name), None)
            if kernel is None:
                names = ("x", "y", "limits")
                return rpc_kernels.twice().run(dict(zip(names, arguments, strict=True)))
            if name == "shift":
                points = mt.Vector.ndarray(3, mt.f32, len(arguments[2]))
                points.from_numpy(arguments[2])
                result = kernel(mt.Matrix(arguments[0]), mt.Vector(arguments[1]), points)
                arguments[2][...] = points.to_numpy()
                return np.array(result, np.float32)
            return kernel(*arguments)

    with mt.Context(contract=False):
        return exercise(Here(), draw)
