"""Methods of fields in kernels that are written in the language: inlined where they are called."""

from __future__ import annotations

from ..intrinsics import deactivate, grouped
from .function import func, template


@func
def fill(field: template(), value: template()):
    for indices in grouped(field):
        field[indices] = value


@func
def fill_components(field: template(), value: template()):
    for indices in grouped(field):
        field[indices].fill(value)


@func
def deactivate_cells(level: template()):
    for indices in grouped(level):
        deactivate(level, indices)


@func
def deactivate_lists(level: template(), above: template()):
    for indices in grouped(above):
        deactivate(level, indices)


@func
def deactivate_list(level: template()):
    deactivate(level, [])
