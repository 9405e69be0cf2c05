"""The folder of cached objects: files that many processes read and write at once.

An entry is a file `COMPILER-KEY.entry`, both in hexadecimal digits: magic, checksum, contents. It is written beside its
place and renamed, so that a reader finds all of it or nothing; what is damaged nevertheless (a full disk, a power cut) does
not fit its checksum and counts as absent. Nothing here raises for what the file system does: a cache that cannot be used
is as good as an empty one, and `problem` says why.

The folder is this user's own, as are the entries: their code runs in this process. It holds nothing else of value, so that
anything in it may be deleted at any time.
"""

from __future__ import annotations

import os
import stat
import time

from .digest import blake2b

SUFFIX = ".entry"

_MAGIC = b"METATEC1"
_SUM_BYTES = 32
_WRITING = ".writing-"  # how names of files begin that are being written
_ABANDONED = 3600  # seconds after which such a file's writer is gone
_SWEPT_AFTER = 16  # the folder's size is looked at when this part of its limit was written


def checksum(content: bytes) -> bytes:
    """Of an entry's contents."""
    return blake2b(content, digest_size=_SUM_BYTES).digest()


class Folder:
    """Entries in one folder.

    Args:
        path: the folder; it is made when something is first written.
        compiler: what entries of this compiler begin with (identity.py).
        most_bytes: size of all entries; what was not used for longest goes when it is passed.
        policy: "lru"; "fifo": what was written first goes; "version": entries of other compilers go; "never".
        factor: the part of `most_bytes` that is free after that.

    Attributes:
        problem: why the folder is not used, as text; None as long as nothing went wrong.
    """

    def __init__(self, path: str, compiler: str, most_bytes: int, policy: str = "lru", factor: float = 0.25):
        self.path, self._compiler = os.fspath(path), compiler
        self._most, self._policy, self._factor = most_bytes, policy, factor
        self._written = None  # bytes since the size was looked at; None: not yet
        self.problem: str | None = None

    def read(self, key: str) -> bytes | None:
        """The contents of an entry; None where there is none that can be trusted."""
        path = self._place(key)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            with open(descriptor, "rb") as file:
                if not _is_own(os.fstat(descriptor), stat.S_ISREG):
                    self.problem = f"{path} belongs to another user, or others may write it"
                    return None
                data = file.read()
        except OSError:
            return None
        head = len(_MAGIC) + _SUM_BYTES
        content = data[head:]
        if data[:head] != _MAGIC + checksum(content):
            _remove(path)
            return None
        if self._policy != "fifo":
            _touch(path)
        return content

    def write(self, key: str, content: bytes) -> bool:
        """Makes an entry, or replaces it; False where it could not be written."""
        if not self._make():
            return False
        writing = os.path.join(self.path, f"{_WRITING}{os.getpid()}-{os.urandom(8).hex()}")
        try:
            descriptor = os.open(writing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(_MAGIC + checksum(content) + content)
            os.replace(writing, self._place(key))
        except OSError as error:
            self.problem = f"{self.path}: {error.strerror or error}"
            _remove(writing)
            return False
        self._sweep(len(content))
        return True

    def entries(self) -> list[tuple[float, int, str]]:
        """(last use, bytes, path) of each, oldest first."""
        found = []
        try:
            with os.scandir(self.path) as files:
                for file in files:
                    if file.name.endswith(SUFFIX) and file.is_file(follow_symlinks=False):
                        state = file.stat(follow_symlinks=False)
                        found.append((state.st_mtime, state.st_size, file.path))
        except OSError:
            pass
        return sorted(found)

    def clean(self) -> int:
        """Deletes all entries and gives their number."""
        entries = self.entries()
        for _, _, path in entries:
            _remove(path)
        self._remove_abandoned(0)
        return len(entries)

    def _place(self, key):
        return os.path.join(self.path, f"{self._compiler}-{key}{SUFFIX}")

    def _make(self):
        try:
            os.makedirs(self.path, mode=0o700, exist_ok=True)
            if not _is_own(os.stat(self.path), stat.S_ISDIR):
                self.problem = (
                    f"{self.path} belongs to another user, or others may write it: chmod 700 makes it this user's alone"
                )
                return False
        except OSError as error:
            self.problem = f"{self.path}: {error.strerror or error}"
            return False
        return True

    def _sweep(self, written):
        """Makes room where too much was written. Processes that do so at once delete the same files."""
        if self._policy == "never":
            return
        if self._written is not None and self._written + written < self._most // _SWEPT_AFTER:
            self._written += written
            return
        self._written = 0
        self._remove_abandoned(_ABANDONED)
        entries = self.entries()
        if self._policy == "version":
            entries = [one for one in entries if not os.path.basename(one[2]).startswith(self._compiler + "-")]
            for _, _, path in entries:
                _remove(path)
            return
        total = sum(size for _, size, _ in entries)
        if total <= self._most:
            return
        for _, size, path in entries:
            if total <= self._most * (1 - self._factor):
                break
            _remove(path)
            total -= size

    def _remove_abandoned(self, seconds):
        try:
            with os.scandir(self.path) as files:
                for file in files:
                    if file.name.startswith(_WRITING) and time.time() - file.stat(follow_symlinks=False).st_mtime >= seconds:
                        _remove(file.path)
        except OSError:
            pass


def _is_own(state, kind) -> bool:
    return kind(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o022


def _touch(path):
    try:
        os.utime(path)
    except OSError:  # a folder that can be read only
        pass


def _remove(path):
    try:
        os.unlink(path)
    except OSError:  # another process was first
        pass
