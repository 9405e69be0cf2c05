"""What tests of `Tape(validation=True)` share: lines of kernels, the error that is expected."""

import inspect
import re

import pytest

import metate as mt


def line_of(function, text):
    """The line of a kernel's statement."""
    lines, first = inspect.getsourcelines(function)
    (found,) = [first + k for k, line in enumerate(lines) if text in line]
    return found


def stale(*parts):
    """The error, which says all of this."""
    return pytest.raises(mt.TaichiAssertionError, match=".*".join(map(re.escape, parts)))
