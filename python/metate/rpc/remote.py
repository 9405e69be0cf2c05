"""What is on the other side: kernels, tree types and values that it names, and values that are made there."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..dtypes import dtype as dtype_named
from ..errors import CallError_, RuntimeIOError_, RuntimeLookupError_, RuntimeTypeError_, RuntimeValueError_, TimeoutError_
from . import frames, prints, values
from .failures import raised
from .line import Line

MAGIC, VERSION = 0x4350524D, 1
HELLO, KERNEL, ARGUMENT, TYPE, NAMED, MAKE, WRITE, READ, FREE, CALL, CLOSE, PRINTS = range(1, 13)
WANTS_PRINTS = 1
SLICE, READ_ONLY = 8, 1
RETURN = "return"  # what get_output calls a kernel's result
PART = struct.Struct("<IQ")  # of a value: handle, offset


def connect(stream: Any, *, timeout: float = 1.0, attempts: int = 5, printed: Callable[[str], None] = prints.write) -> Remote:
    """Says hello to a server (include/metate/rpc.h), which begins anew, and reads what it has.

    Args:
        stream: a socket, a file, a pair of files (what to read, what to write), or an object with `write(data)` and `read(n)`,
            which gives up to n bytes, or b"" after a time of its own.
        timeout: seconds until a request is sent again; attempts: how often it is sent. What the server has seen it answers and
            does not run again, so a kernel that takes longer is only asked for again.
        printed: told of what kernels print there, one text for each print, once their call has returned or failed; by default
            the standard output. Servers keep prints where their program says so (metate_rpc_options.print_bytes).
    Raises TimeoutError_ where nobody answers, RuntimeIOError_, RuntimeError_ where the server speaks another version.
    """
    return Remote(Line(stream, timeout, attempts), printed)


class Remote:
    """The other side of a stream: one client at a time.

    Attributes:
        name: of its module; kernels: by name, graphs among them; types: names of tree types; values: what it names itself.
    """

    def __init__(self, line: Line, printed: Callable[[str], None] = prints.write):
        self._line = line
        self._left: list[RemoteValue] = []  # values to free, as soon as the other side answers
        hello = self._ask(HELLO, struct.pack("<III", MAGIC, VERSION, WANTS_PRINTS))
        _, _, frame, kernels, types, named, self.most_values, self.memory, *_ = struct.unpack_from("<7IQ2Q", hello)
        self._room = frame - frames.OVERHEAD
        self.name = _text(hello, 52)
        behind = hello[hello.find(b"\0", 52) + 1 :]
        kept = int.from_bytes(behind[:4], "little")
        self._prints = prints.Prints(printed, kept) if kept else None
        self.kernels: Mapping[str, RemoteKernel] = MappingProxyType(dict(self._kernels(kernels)))
        self.types: Mapping[str, int] = MappingProxyType(
            {_text(self._ask(TYPE, struct.pack("<I", k)), 24): k for k in range(types)}
        )
        self.values: Mapping[str, RemoteArray | RemoteTree] = MappingProxyType(dict(self._named(k) for k in range(named)))

    def _kernels(self, count):
        for number in range(count):
            about = self._ask(KERNEL, struct.pack("<I", number))
            flags, arguments = struct.unpack_from("<II", about)
            if not flags & SLICE:
                kernel = RemoteKernel(self, number, _text(about, 8), arguments)
                yield kernel.name, kernel

    def _named(self, number):
        about = self._ask(NAMED, struct.pack("<I", number))
        handle, kind, code, rank, flags, _, size = struct.unpack_from("<6IQ", about)
        shape, name = struct.unpack_from(f"<{rank}q", about, 32), _text(about, 32 + 8 * rank)
        if kind == values.TREE:
            return name, RemoteTree(self, handle, size, bool(flags & READ_ONLY))
        return name, RemoteArray(self, handle, dtype_named(code), shape, size, bool(flags & READ_ONLY))

    def call(self, name: str, *arguments: Any, timeout: float | None = None) -> Any:
        """A call of a kernel by its name: see RemoteKernel. Raises RuntimeLookupError_ where there is none of that name."""
        return self._kernel(name)(*arguments, timeout=timeout)

    def session(self, name: str) -> RemoteSession:
        """A kernel or a graph run by steps."""
        return RemoteSession(self._kernel(name))

    def array(self, data: Any) -> RemoteArray:
        """An array there, with the elements of a NumPy array. Raises RuntimeError_ where the server has no memory left."""
        data = np.asarray(data)
        made = self.empty(data.shape, data.dtype)
        made.write(data)
        return made

    def empty(self, shape: Any, dtype: Any) -> RemoteArray:
        """An array there, all zero; dtype: mt.f32, "f32" or NumPy's."""
        self._release([])
        of = dtype_named(np.dtype(dtype) if isinstance(dtype, type) else dtype)
        extents = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(extent) for extent in shape)
        request = struct.pack(f"<3I{len(extents)}q", values.ARRAY, of.code, len(extents), *extents)
        handle, size = struct.unpack("<IQ", self._ask(MAKE, request))
        return RemoteArray(self, handle, of, extents, size)

    def tree(self, type: str, tree: Any = None, bytes: int = 0) -> RemoteTree:
        """A tree there, of the module's type of that name: with what a tree of this process holds, or all background.

        Args:
            tree: one of that type; bytes: the memory that it takes without one, 0 for as much as it can need.
        """
        if type not in self.types:
            raise RuntimeLookupError_(f"rpc: module '{self.name}' has no type '{type}'; it has {', '.join(self.types) or 'none'}")
        size = tree.bytes if tree is not None else bytes
        request = struct.pack("<IIQ", values.TREE, self.types[type], size)
        handle, size = struct.unpack("<IQ", self._ask(MAKE, request))
        made = RemoteTree(self, handle, size)
        if tree is not None:
            made.write(tree.block)
        return made

    def _call(self, request: bytes, timeout: float | None) -> tuple[int, bytes]:
        """(status, payload) of a call, whose prints have been told of."""
        status, answer = self._line.ask(CALL, request, timeout)
        if self._prints is None:
            return status, answer
        waits = True  # where it failed
        if not status:
            answer, waits = answer[:-4], any(answer[-4:])
        while waits:
            waits = self._prints.take(self._ask(PRINTS))
        return status, answer

    def close(self) -> None:
        """Frees what was made there. The stream stays open: it is the caller's."""
        self._ask(CLOSE)

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *raised_: object) -> None:
        self.close()

    def _kernel(self, name):
        if name not in self.kernels:
            known = ", ".join(self.kernels) or "none"
            raise RuntimeLookupError_(f"rpc: module '{self.name}' has no kernel '{name}'; it has {known}")
        return self.kernels[name]

    def _ask(self, kind: int, payload: bytes = b"") -> bytes:
        status, answer = self._line.ask(kind, payload)
        if status:
            raise raised(status, answer)
        return answer

    def _release(self, some: list[RemoteArray]) -> None:
        """Frees values; where nobody answers now, later."""
        self._left += some
        try:
            while self._left:
                self._left[-1].free()
                self._left.pop()
        except (TimeoutError_, RuntimeIOError_):
            pass

    def __repr__(self) -> str:
        return f"<remote '{self.name}': {', '.join(self.kernels)}>"


class RemoteValue:
    """Memory of the other side."""

    def __init__(self, remote: Remote, handle: int, size: int, is_read_only: bool = False):
        self._remote, self._handle, self.bytes, self.is_read_only = remote, handle, size, is_read_only

    def free(self) -> None:
        """Gives its memory back; it is no value afterwards."""
        self._remote._ask(FREE, struct.pack("<I", self._handle))

    def _write_bytes(self, data: bytes | memoryview) -> None:
        step = self._remote._room - PART.size
        for at in range(0, len(data), step):
            self._remote._ask(WRITE, PART.pack(self._handle, at) + data[at : at + step])

    def _read_bytes(self) -> bytearray:
        data, step = bytearray(), self._remote._room
        while len(data) < self.bytes:
            count = min(step, self.bytes - len(data))
            data += self._remote._ask(READ, PART.pack(self._handle, len(data)) + struct.pack("<I", count))
        return data


class RemoteArray(RemoteValue):
    """An array of the other side.

    Attributes:
        dtype, shape: as of a NumPy array.
    """

    def __init__(self, remote, handle, dtype, shape, size, is_read_only=False):
        super().__init__(remote, handle, size, is_read_only)
        self.dtype, self.shape = values.array_type(dtype), tuple(shape)

    def write(self, data: Any) -> None:
        """Its elements, from a NumPy array of its dtype and shape. Raises RuntimeTypeError_ for another one."""
        data = np.asarray(data)
        if data.dtype != self.dtype or data.shape != self.shape:
            raise RuntimeTypeError_(f"rpc: expected an array of {self.dtype} {self.shape}, got {data.dtype} {data.shape}")
        self._write_bytes(data.tobytes())

    def numpy(self) -> np.ndarray:
        """A copy of its elements."""
        return np.frombuffer(self._read_bytes(), self.dtype).reshape(self.shape)

    def __repr__(self) -> str:
        return f"<remote array {self.dtype} {self.shape}>"


class RemoteTree(RemoteValue):
    """A tree of the other side."""

    def write(self, block: Any) -> None:
        """The bytes of a block of its type, of at most its bytes. What they hold is checked when a kernel takes the tree."""
        self._write_bytes(memoryview(block).cast("B"))

    def read(self) -> bytes:
        """The bytes of its block."""
        return bytes(self._read_bytes())

    def fetch(self, type: Any) -> Any:
        """A tree of this process that holds the same. Raises TreeError where its bytes are none of that type."""
        memory = np.empty(self.bytes + type.align, np.uint8)
        start = -memory.ctypes.data % type.align
        memory[start : start + self.bytes] = self._read_bytes()
        return type.bind(memory[start : start + self.bytes], reset=False)

    def __repr__(self) -> str:
        return f"<remote tree of {self.bytes} bytes>"


class RemoteKernel:
    """A kernel or a graph of the other side, called as one of this process.

    Arrays are NumPy's, which are sent there, and come back where the kernel writes them, or RemoteArrays, which stay there.
    Trees are RemoteTrees.

    Attributes:
        name: of it; parameters, names: of its arguments, in order; results: what it returns.
    """

    def __init__(self, remote: Remote, number: int, name: str, count: int):
        self._remote, self._number, self.name = remote, number, name
        asked = (remote._ask(ARGUMENT, struct.pack("<II", number, k)) for k in range(count))
        every = [values.Parameter.of(answer) for answer in asked]
        self.parameters = tuple(one for one in every if not one.is_result)
        # What its loops accumulate in is none that callers see.
        self.results = tuple(one for one in every if one.is_result and not one.name.startswith("local."))
        self.names = tuple(one.name for one in self.parameters)

    def __call__(self, *arguments: Any, timeout: float | None = None) -> Any:
        """Runs it there. Raises the errors of a local call, with the text that was made of what the other side says.

        Args:
            timeout: seconds until the call is sent again, where the connection's are too few.
        """
        if len(arguments) != len(self.parameters):
            raise CallError_(
                f"kernel '{self.name}': expected {len(self.parameters)} arguments ({', '.join(self.names)}), got {len(arguments)}"
            )
        made: list[tuple[RemoteArray, np.ndarray | None]] = []
        try:
            request = struct.pack("<I", self._number)
            for index, (parameter, value) in enumerate(zip(self.parameters, arguments, strict=True)):
                request += self._passed(index, parameter, value, made)
            result = self._run(request, timeout)
            for there, here in made:
                if here is not None:
                    here[...] = there.numpy()
            return result
        finally:
            self._remote._release([there for there, _ in made])

    def _run(self, request, timeout):
        if len(request) > self._remote._room:
            raise RuntimeValueError_(
                f"kernel '{self.name}': its arguments take {len(request)} bytes, and a frame of the other side holds "
                f"{self._remote._room}: make its frames larger (metate_rpc_options.frame_bytes)"
            )
        status, answer = self._remote._call(request, timeout)
        if status:
            raise raised(status, answer, self.name, self.names)
        return values.results(list(self.results), answer)

    def _where(self, index):
        return f"kernel '{self.name}' argument {index} '{self.names[index]}'"

    def _passed(self, index, parameter, value, made):
        """An argument in the request. What is made there for it goes into `made`, with the array that it comes back into."""
        where = self._where(index)
        if parameter.kind == values.SCALAR:
            return values.scalar(parameter, value, where)
        if parameter.kind == values.VECTOR:
            return values.vector(parameter, value, where)
        wanted = RemoteTree if parameter.kind == values.TREE else RemoteArray
        if not isinstance(value, wanted):
            if wanted is RemoteTree or not isinstance(value, np.ndarray):
                raise RuntimeTypeError_(f"{where}: expected {parameter}, got {type(value).__name__}")
            values.check_array(parameter, value.dtype, value.shape, where)
            there = self._remote.empty(value.shape, parameter.dtype)
            made.append((there, value if parameter.is_written else None))
            there.write(value)  # also where it is only written: not each kernel writes all of it
            value = there
        elif wanted is RemoteArray:
            values.check_array(parameter, value.dtype, value.shape, where)
        return struct.pack("<BI", 0, value._handle)

    def __repr__(self) -> str:
        return f"<remote kernel '{self.name}' ({', '.join(self.names)})>"


class RemoteSession:
    """A kernel's arguments, kept on the other side: set_input, run, get_output, by name.

    Attributes:
        kernel: what it runs.
    """

    def __init__(self, kernel: RemoteKernel):
        self.kernel = kernel
        self._set: dict[str, Any] = {}
        self._own: dict[str, RemoteArray] = {}  # arrays that the session has made
        self._result: list[Any] = []  # of the last run; none before

    def set_input(self, name: str, value: Any) -> None:
        """Sets an argument, until it is set again.

        Args:
            value: a number, a NumPy array, of which a copy is kept there, or a value of the other side.
        Raises RuntimeLookupError_ where the kernel has no argument of that name, RuntimeTypeError_, RuntimeValueError_.
        """
        index = self._index(name)
        parameter = self.kernel.parameters[index]
        if parameter.kind == values.ARRAY and not isinstance(value, RemoteArray):
            value = np.asarray(value)
            values.check_array(parameter, value.dtype, value.shape, self.kernel._where(index))
            value = self._copied(name, parameter, value)
        else:
            self.kernel._passed(index, parameter, value, [])
            value = np.array(value) if parameter.kind == values.VECTOR else value
        self._set[name] = value

    def _copied(self, name, parameter, data):
        own = self._own.get(name)
        if own is None or own.shape != data.shape:
            if own is not None:
                del self._own[name]
                self._set.pop(name, None)
                own.free()
            own = self._own[name] = self.kernel._remote.empty(data.shape, parameter.dtype)
        own.write(data)
        return own

    def run(self, timeout: float | None = None) -> None:
        """Calls the kernel with what is set. Raises CallError_ where an argument is not set, and as the call does."""
        missing = [name for name in self.kernel.names if name not in self._set]
        if missing:
            raise CallError_(f"kernel '{self.kernel.name}': argument '{missing[0]}' is not set: call set_input")
        self._result = [self.kernel(*(self._set[name] for name in self.kernel.names), timeout=timeout)]

    def get_output(self, name: str = RETURN) -> Any:
        """An argument as it is now, an array as a NumPy array; or "return": what the kernel returned in the last run.

        Raises RuntimeLookupError_ where there is none.
        """
        if name == RETURN and name not in self.kernel.names:
            if not self._result:
                raise RuntimeLookupError_(f"kernel '{self.kernel.name}': it has no result yet: call run")
            return self._result[0]
        self._index(name)
        if name not in self._set:
            raise RuntimeLookupError_(f"kernel '{self.kernel.name}': argument '{name}' is not set")
        value = self._set[name]
        return value.numpy() if isinstance(value, RemoteArray) else value

    def close(self) -> None:
        """Frees the arrays that it has made there."""
        while self._own:
            self._own.popitem()[1].free()
        self._set.clear()

    def _index(self, name):
        if name not in self.kernel.names:
            known = ", ".join(self.kernel.names) or "none"
            raise RuntimeLookupError_(f"kernel '{self.kernel.name}' has no argument '{name}'; it has {known}")
        return self.kernel.names.index(name)

    def __repr__(self) -> str:
        return f"<session of {self.kernel!r}>"


def _text(payload, at):
    return payload[at:].partition(b"\0")[0].decode(errors="replace")
