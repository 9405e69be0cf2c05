"""What kernels of the other side print: the bytes that the server keeps, as the texts that a local call prints."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable

from .failures import formatted

TEXT, FORMAT = 0, 6  # METATE_PRINT_*


def write(text: str) -> None:
    """To the standard output, as kernels of this process print."""
    sys.stdout.write(text)
    sys.stdout.flush()


class Prints:
    """Tells a function of each print, in order.

    Args:
        kept: bytes of prints that the server keeps. Where a print found no room in them, a line in the prints' place says so.
    """

    def __init__(self, printed: Callable[[str], None], kept: int):
        self._printed, self._kept = printed, kept
        self._rest = b""

    def take(self, answer: bytes) -> bool:
        """An answer to METATE_RPC_PRINTS. Are there more?"""
        dropped, left = struct.unpack_from("<II", answer)
        self._rest += answer[8:]
        while self._rest:
            found = _first(self._rest)
            if found is None:
                break
            text, size = found
            self._rest = self._rest[size:]
            self._printed(text)
        if dropped:
            what = "a print was" if dropped == 1 else f"{dropped} prints were"
            self._printed(
                f"[rpc: {what} dropped: the server keeps {self._kept} bytes of them (metate_rpc_options.print_bytes)]\n"
            )
        return left > 0


def _first(data):
    """(text, bytes) of the first print; None where it is not complete."""
    if len(data) < 2:
        return None
    (count,), at, text, form = struct.unpack_from("<H", data), 2, "", ""
    for _ in range(count):
        if at >= len(data):
            return None
        kind, at = data[at], at + 1
        if kind in (TEXT, FORMAT):
            end = data.find(b"\0", at)
            if end < 0:
                return None
            piece, at = data[at:end].decode(errors="replace"), end + 1
            text, form = (text, piece) if kind == FORMAT else (text + piece, "")
            continue
        if at + 8 > len(data):
            return None
        (bits,) = struct.unpack_from("<q", data, at)
        text, form, at = text + formatted(kind, form, bits), "", at + 8
    return text, at
