"""Methods of fields in kernels that are written in the language: inlined where they are called."""

from __future__ import annotations

from ..intrinsics import grouped
from .function import func, template


@func
def fill(field: template(), value: template()):
    for indices in grouped(field):
        field[indices] = value


@func
def fill_components(field: template(), value: template()):
    for indices in grouped(field):
        field[indices].fill(value)
