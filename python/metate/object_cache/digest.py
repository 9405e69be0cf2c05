"""BLAKE2b as hashlib has it, taken from its extension: hashlib loads OpenSSL, 3 ms of a program's start."""

from __future__ import annotations

try:
    from _blake2 import blake2b as blake2b
except ImportError:  # another Python than CPython
    from hashlib import blake2b as blake2b
