"""One request after another over a stream: sent again until its answer comes, or the time is over."""

from __future__ import annotations

import random
import time
from collections import deque
from typing import Any

from ..errors import RuntimeIOError_, TimeoutError_
from . import frames, streams

MOST_NOISE = 1 << 20  # bytes without a frame's end that are kept
QUIET = 0.01  # seconds in which nothing comes: what was damaged is over


class Line:
    """Requests over a stream.

    Attributes:
        timeout: seconds until a request is sent again, attempts: how often it is sent at most.
    """

    def __init__(self, stream: Any, timeout: float, attempts: int):
        self._stream = streams.opened(stream)
        self.timeout, self.attempts = timeout, attempts
        self._sequence = random.SystemRandom().randrange(1 << 16)  # another one than an earlier client's
        self._rest = bytearray()
        self._frames: deque[tuple[int, int, int, bytes] | None] = deque()

    def ask(self, kind: int, payload: bytes = b"", timeout: float | None = None) -> tuple[int, bytes]:
        """(status, payload) of the answer. Raises TimeoutError_ where none comes, RuntimeIOError_ where the stream fails."""
        seconds = self.timeout if timeout is None else timeout
        self._sequence = (self._sequence + 1) & 0xFFFF
        frame = frames.encoded(self._sequence, kind, payload)
        try:
            for _ in range(self.attempts):
                self._stream.write(frame, seconds)
                answer = self._answer(kind | frames.ANSWER, time.monotonic() + seconds)
                if answer:
                    return answer
        except EOFError:
            raise RuntimeIOError_("rpc: the other side has closed the stream") from None
        except TimeoutError:
            raise TimeoutError_(f"rpc: the stream takes no bytes for {seconds:g} s: does the other side read?") from None
        except OSError as error:
            raise RuntimeIOError_(f"rpc: {error}") from error
        raise TimeoutError_(
            f"rpc: no answer after {self.attempts} attempts of {seconds:g} s: is a server there, or does the call take longer "
            "(timeout=)?"
        )

    def _answer(self, kind, deadline):
        """The answer to the last request; None: it is to be sent again, as soon as what is damaged has passed."""
        is_damaged = False
        while (left := deadline - time.monotonic()) > 0:
            if not self._frames:
                data = self._stream.read(min(left, QUIET) if is_damaged else left)
                if is_damaged and not data:
                    return None
                self._take(data)
                continue
            found = self._frames.popleft()
            if found is None or found[1] == frames.DAMAGED | frames.ANSWER:
                is_damaged = True
            elif found[:2] == (self._sequence, kind):
                return found[2:]
        return None

    def _take(self, data):
        *whole, rest = (self._rest + data).split(b"\0")
        self._frames.extend(frames.decoded(bytes(raw)) for raw in whole if raw)
        self._rest = bytearray() if len(rest) > MOST_NOISE else rest
