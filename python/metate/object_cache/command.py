"""`metate cache`: where the cache of compiled objects is, what it holds, and how to empty it."""

from __future__ import annotations

from .folder import Folder
from .shared import default_path


def run(action: str) -> int:
    """`path`, `info` or `clean`, of the folder that contexts use by default."""
    folder = Folder(default_path(), "", 0)
    if action == "path":
        print(folder.path)
    elif action == "clean":
        print(f"{folder.path}: deleted {_count(folder.clean())}")
    else:
        entries = folder.entries()
        print(f"{folder.path}: {_count(len(entries))}, {sum(size for _, size, _ in entries):,} bytes")
    return 0


def _count(number: int) -> str:
    return "no entries" if not number else "1 entry" if number == 1 else f"{number} entries"
