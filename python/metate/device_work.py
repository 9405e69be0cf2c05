"""Kernels for what Python does to whole fields and levels on a device (fields/again.py)."""

from __future__ import annotations

from . import intrinsics as mt
from .fields.again import by_kernel
from .frontend.function import template
from .kernel import kernel


@by_kernel("deactivate_all")
@kernel
def _deactivate_all(level: template()):
    level.deactivate_all()


@by_kernel("copy_from")
@kernel
def _copy_from(to: template(), source: template()):
    for I in mt.grouped(to):
        to[I] = source[I]
