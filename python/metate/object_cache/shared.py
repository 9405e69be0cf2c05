"""The cache of a context, and the layouts of tree types in it. Knows no kernels: kernels.py does."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .. import context as _context
from .digest import blake2b
from .folder import Folder
from .identity import compiler_identity

if TYPE_CHECKING:
    from ..context import Holdings, Options

ENABLED, PATH = "METATE_OFFLINE_CACHE", "METATE_OFFLINE_CACHE_FILE_PATH"
_OFF = ("0", "false", "off", "no")


def default_path() -> str:
    """Where entries are if nobody says another folder: METATE_OFFLINE_CACHE_FILE_PATH, else the user's folder for caches.

    Raises RuntimeError for a user without a home.
    """
    given = os.environ.get(PATH)
    if given:
        return absolute(given)
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    if root.startswith("~"):
        raise RuntimeError("the home folder of this user is not known")
    return absolute(os.path.join(root, "metate"))


def absolute(path: str) -> str:
    """A path that holds when the process goes to another folder."""
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)


def folder_of(holdings: Holdings, options: Options) -> Folder | None:
    """The folder that a context keeps compiled objects in; None: it keeps none."""
    if not holdings.object_cache:
        with holdings.lock:
            if not holdings.object_cache:
                holdings.object_cache = (_folder(options),)
    return holdings.object_cache[0]


def _folder(options):
    is_on = options.offline_cache
    if is_on is None:
        is_on = os.environ.get(ENABLED, "1").lower() not in _OFF
    # A compiler that is wrong on purpose, and code that other tools watch, are compiled anew.
    if not is_on or options.arch == _context.interp or options.sanitizer or "METATE_MUTANT" in os.environ:
        return None
    try:
        path = absolute(options.offline_cache_file_path or default_path())
    except RuntimeError:  # a user without a home
        return None
    compiler = compiler_identity()
    if compiler is None:
        return None
    limits = options.offline_cache_max_size_of_files, options.offline_cache_cleaning_policy, options.offline_cache_cleaning_factor
    return Folder(path, compiler, *limits)


def layout_of(text: str) -> bytes:
    """The blob of a tree type's text: from the cache of the current context, else the compiler's."""
    context = _context.current()
    folder = folder_of(context.holdings, context.options)
    key = blake2b(b"tree type " + text.encode(), digest_size=20).hexdigest()
    found = folder.read(key) if folder is not None else None
    if found is None:
        from metate_native import _compiler

        found = bytes(_compiler.tree_type_blob(text))
        if folder is not None:
            folder.write(key, found)
    return found
