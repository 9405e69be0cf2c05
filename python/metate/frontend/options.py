"""The options that the front end knows."""

from __future__ import annotations

from dataclasses import dataclass

from .. import value_types as _types


@dataclass(frozen=True)
class FrontendOptions:
    """What a kernel's meaning depends on besides its source and its types."""

    default_ip: _types.DType = _types.i32
    default_fp: _types.DType = _types.f32
    fast_math: bool = False
    debug: bool = False
    asserts: bool = False
