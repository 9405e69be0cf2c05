"""`metate build --sign KEY`: signatures of a module's files, by metate-run, the one program that makes and checks them."""

from __future__ import annotations

import pathlib
import subprocess

from . import native
from .errors import RuntimeValueError_


def sign(file: pathlib.Path, key: pathlib.Path) -> pathlib.Path:
    """Writes the signature of a file beside it. Raises RuntimeValueError_ with what metate-run says."""
    done = subprocess.run([native.metate_run(), "sign", file, f"--key={key}"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeValueError_(f"--sign: {done.stderr.strip().removeprefix('metate-run: ')}")
    return file.with_name(f"{file.name}.sig")
