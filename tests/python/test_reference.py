"""docs/manual/reference/functions.md has every function and method of kernels, and is what its script writes."""

import pathlib
import sys

import pytest

import metate as mt
from metate import intrinsics
from metate.frontend.component_access import METHODS, WHOLE_METHODS
from metate.frontend.function import Function

pytest.importorskip("metate_native._compiler")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/lib"))

import reference


def test_the_page_is_what_the_script_writes():
    assert reference.PAGE.read_text() == reference.page(), "run .venv/bin/python scripts/lib/reference.py"


def test_every_function_and_method_has_a_row():
    rows = {where: {n for g in reference.GROUPS if g.where is where for n in g.rows} for where in (mt, mt.math, None)}
    assert set(intrinsics.__all__) <= rows[mt]
    assert {*METHODS, *WHOLE_METHODS} == rows[None]
    callables = {n for n in mt.math.__all__ if isinstance(getattr(mt.math, n), (Function, intrinsics.Intrinsic))}
    assert callables <= rows[mt] | rows[mt.math]
