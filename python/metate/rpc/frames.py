"""Frames on a stream of bytes: COBS between zero bytes, with a CRC-32, as runtime/rpc/frames.c has them."""

from __future__ import annotations

import struct
import zlib

HEADER = struct.Struct("<HBB")  # sequence, kind, status
CRC = struct.Struct("<I")
OVERHEAD = HEADER.size + CRC.size
ANSWER = 0x80
DAMAGED = 0x7F


def encoded(sequence: int, kind: int, payload: bytes) -> bytes:
    """A request's frame as it goes over the stream."""
    body = HEADER.pack(sequence, kind, 0) + payload
    body += CRC.pack(zlib.crc32(body))
    out = bytearray(1)  # ends whatever noise stands before it
    for piece in body.split(b"\0"):
        while len(piece) >= 254:
            out += b"\xff" + piece[:254]
            piece = piece[254:]
        out.append(len(piece) + 1)
        out += piece
    return bytes(out + b"\0")


def decoded(raw: bytes) -> tuple[int, int, int, bytes] | None:
    """(sequence, kind, status, payload) of what stood between two zero bytes; None where it is damaged."""
    body, at = bytearray(), 0
    while at < len(raw):
        code = raw[at]
        if at + code > len(raw):
            return None
        body += raw[at + 1 : at + code]
        at += code
        if code < 255 and at < len(raw):
            body.append(0)
    if len(body) < OVERHEAD or zlib.crc32(body[: -CRC.size]) != CRC.unpack(body[-CRC.size :])[0]:
        return None
    return (*HEADER.unpack(body[: HEADER.size]), bytes(body[HEADER.size : -CRC.size]))
