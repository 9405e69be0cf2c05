"""The options that the front end knows."""

from __future__ import annotations

from .. import value_types as _types
from ..record import Record


class FrontendOptions(Record):
    """What a kernel's meaning depends on besides its source and its types."""

    default_ip: _types.DType = _types.i32
    default_fp: _types.DType = _types.f32
    fast_math: bool | None = None  # None: accumulations alone may be reordered
    debug: bool = False
    asserts: bool = False


def language_of(options, own):
    """What a kernel means in a context. own: the options that were given to the kernel itself, or to its module."""
    chosen = lambda name: getattr(options, name) if own.get(name) is None else own[name]
    debug = bool(chosen("debug"))
    asserts = chosen("asserts") or (debug and own.get("asserts") is None)
    return FrontendOptions(options.default_ip, options.default_fp, chosen("fast_math"), debug, bool(asserts))
