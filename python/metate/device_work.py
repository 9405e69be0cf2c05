"""Kernels for what Python does to whole fields and levels on a device (fields/again.py)."""

from __future__ import annotations

from . import intrinsics as mt
from .fields.again import ByKernel
from .frontend.function import template
from .kernel import kernel


@kernel
def _deactivate_all(level: template()):
    level.deactivate_all()


@kernel
def _copy_from(to: template(), source: template()):
    for I in mt.grouped(to):
        to[I] = source[I]


ByKernel.deactivate_all, ByKernel.copy_from = _deactivate_all, _copy_from
