"""Kernels for what Python does to whole fields and levels on a device (fields/again.py)."""

from __future__ import annotations

from . import intrinsics as mt
from .fields.again import ByKernel
from .frontend.function import template
from .kernel import kernel
from .value_types import f64, i64


@kernel
def _deactivate_all(level: template()):
    level.deactivate_all()


@kernel
def _copy_from(to: template(), source: template()):
    for I in mt.grouped(to):
        to[I] = source[I]


@kernel
def _fill_real(to: template(), value: f64):
    for I in mt.grouped(to):
        to[I] = value


@kernel
def _fill_whole(to: template(), value: i64):
    for I in mt.grouped(to):
        to[I] = value


ByKernel.fill_real, ByKernel.fill_whole = _fill_real, _fill_whole
ByKernel.deactivate_all, ByKernel.copy_from = _deactivate_all, _copy_from
