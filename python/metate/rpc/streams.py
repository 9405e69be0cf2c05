"""What `connect` takes, made alike: `read(seconds)` gives what has come, `write(data, seconds)` all of the data or TimeoutError.

Sockets, files and pairs of files (the ends of pipes) are asked by poll, so that nothing waits for longer than it should. Of other
objects `read(n)` must come back: with up to n bytes, or with b"" after a time of its own, as that of a serial port does.
"""

from __future__ import annotations

import io
import os
import select
import socket
import time
from typing import Any

from ..errors import RuntimeTypeError_

AT_ONCE = 1 << 16
PAUSE = 0.001  # seconds between two looks at an object that does not wait itself


class Descriptors:
    """The descriptors of files, pipes and sockets."""

    def __init__(self, reader: int, writer: int, owners: tuple[Any, ...]):
        self._reader, self._writer, self._owners = reader, writer, owners
        self._socket = owners[1] if hasattr(owners[1], "sendall") else None
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(reader, select.POLLIN)
        self._writable.register(writer, select.POLLOUT)

    def read(self, seconds: float) -> bytes:
        """Raises EOFError where the other side is gone."""
        if not self._readable.poll(1000 * max(seconds, 0)):
            return b""
        data = os.read(self._reader, AT_ONCE)
        if not data:
            raise EOFError
        return data

    def write(self, data: bytes, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while data:
            if not self._writable.poll(1000 * max(deadline - time.monotonic(), 0)):
                raise TimeoutError
            data = data[self._put(data) :]

    def _put(self, data):
        """How many bytes went out: as many as do not wait."""
        if self._socket is None:
            return os.write(self._writer, data[: select.PIPE_BUF])
        try:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0


class Duck:
    """Any object with read and write."""

    def __init__(self, stream: Any):
        self._stream, self._read = stream, getattr(stream, "read1", stream.read)
        self._flush = getattr(stream, "flush", None)

    def read(self, seconds: float) -> bytes:
        waiting = getattr(self._stream, "in_waiting", AT_ONCE)  # a serial port waits until there are so many
        data = self._read(max(1, waiting)) or b""
        if not data:
            time.sleep(min(PAUSE, max(seconds, 0)))
        return data

    def write(self, data: bytes, seconds: float) -> None:
        while data:
            count = self._stream.write(data)
            data = data[len(data) if count is None else count :]
        if self._flush:
            self._flush()


def _number(thing):
    """The descriptor of a file or socket; None: it has none."""
    try:
        return thing.fileno()
    except (AttributeError, io.UnsupportedOperation):
        return None


def opened(stream: Any) -> Descriptors | Duck:
    """Raises RuntimeTypeError_ for what is no stream."""
    pair = stream if isinstance(stream, tuple) and len(stream) == 2 else (stream, stream)
    is_file = all(isinstance(end, io.IOBase) or hasattr(end, "sendall") for end in pair)
    reader, writer = map(_number, pair) if is_file else (None, None)
    if reader is not None and writer is not None:
        return Descriptors(reader, writer, pair)
    if pair[0] is pair[1] and hasattr(stream, "read") and hasattr(stream, "write"):
        return Duck(stream)
    raise RuntimeTypeError_(
        f"connect: expected a socket, a file, a pair (reader, writer) of files, or an object with read and write; got {stream!r}"
    )
