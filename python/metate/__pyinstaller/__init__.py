"""What PyInstaller needs to know of the package; it finds this through the entry point `pyinstaller40`."""

from __future__ import annotations

import pathlib


def get_hook_dirs() -> list[str]:
    """The folder of hook-metate.py."""
    return [str(pathlib.Path(__file__).parent)]
