"""The folder of cached objects: damage, room, other users' files, and the command `metate cache`."""

import os
import pathlib
import resource

import pytest

import metate as mt
from metate import cli
from metate.errors import RuntimeValueError_
from metate.object_cache.folder import Folder
from metate.object_cache.identity import compiler_identity, is_still_there


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "cache", "c0", 1 << 20)


def used_at(folder, *seconds):
    for (_, _, path), time in zip(sorted(folder.entries(), key=lambda one: one[2]), seconds):
        os.utime(path, (time, time))


def only_entry(folder):
    ((_, _, path),) = folder.entries()
    return pathlib.Path(path)


def names(folder):
    return sorted(pathlib.Path(path).stem.partition("-")[2] for _, _, path in folder.entries())


def test_what_was_written_is_read(folder):
    assert folder.read("a") is None
    assert folder.write("a", b"one") and folder.write("a", b"two") and folder.write("b", b"")
    assert (folder.read("a"), folder.read("b"), folder.read("c")) == (b"two", b"", None)
    assert folder.problem is None
    assert [path.name for path in pathlib.Path(folder.path).iterdir() if not path.name.endswith(".entry")] == []


def test_every_damaged_byte_is_noticed(folder):
    folder.write("a", bytes(range(64)))
    path = only_entry(folder)
    good = path.read_bytes()
    for position in range(len(good)):
        path.write_bytes(good[:position] + bytes([good[position] ^ 0x10]) + good[position + 1 :])
        assert folder.read("a") is None
        assert not path.exists()  # it is of no use any more
        path.write_bytes(good[:position])
        path.chmod(0o600)
        assert folder.read("a") is None
    path.write_bytes(good)
    path.chmod(0o600)
    assert folder.read("a") == bytes(range(64))


def test_what_was_not_used_for_longest_goes(tmp_path):
    folder = Folder(tmp_path, "c0", 5000, "lru", 0.5)
    tmp_path.chmod(0o700)
    for name in "abcd":
        folder.write(name, bytes(1000))
    used_at(folder, 10, 20, 30, 40)
    assert folder.read("a")  # now it is the last one
    folder.write("e", bytes(1000))
    assert names(folder) == ["a", "e"]


def test_the_oldest_go(tmp_path):
    folder = Folder(tmp_path, "c0", 5000, "fifo", 0.5)
    tmp_path.chmod(0o700)
    for name in "abcd":
        folder.write(name, bytes(1000))
    used_at(folder, 10, 20, 30, 40)
    assert folder.read("a")
    folder.write("e", bytes(1000))
    assert names(folder) == ["d", "e"]


def test_other_compilers_entries_go_or_nothing_does(tmp_path):
    tmp_path.chmod(0o700)
    Folder(tmp_path, "c1", 100).write("old", b"x")
    Folder(tmp_path, "c0", 100, "never").write("new", bytes(1000))
    assert len(Folder(tmp_path, "c0", 100).entries()) == 2
    Folder(tmp_path, "c0", 100, "version").write("newer", b"")
    assert names(Folder(tmp_path, "c0", 100)) == ["new", "newer"]


def test_what_others_may_write_is_not_read(folder):
    folder.write("a", b"one")
    path = only_entry(folder)
    path.chmod(0o666)
    assert folder.read("a") is None and "others may write it" in folder.problem
    path.chmod(0o600)
    assert folder.read("a") == b"one"
    pathlib.Path(folder.path).chmod(0o777)
    assert not folder.write("b", b"two") and "chmod 700" in folder.problem
    pathlib.Path(folder.path).chmod(0o700)
    link = path.with_name("c0-link.entry")
    link.symlink_to(path)
    assert folder.read("link") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")
def test_what_belongs_to_another_user_is_not_read(folder):
    folder.write("a", b"one")
    path = only_entry(folder)
    os.chown(path, 12345, 12345)
    assert folder.read("a") is None and "another user" in folder.problem


def test_a_full_disk(folder):
    """The limit of a file's size is what a process can have of a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        assert not folder.write("a", bytes(5000)) and folder.problem
        assert folder.write("b", b"small")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert folder.read("a") is None and folder.read("b") == b"small"
    assert [path.name for path in pathlib.Path(folder.path).iterdir()] == ["c0-b.entry"]


@pytest.mark.parametrize("place", ["/proc/metate", "/dev/null/metate"])
def test_a_place_that_cannot_be_written(place):
    import pathlib

    folder = Folder(pathlib.Path(place), "c0", 100)
    assert folder.read("a") is None and not folder.write("a", b"") and place in folder.problem
    assert folder.entries() == [] and folder.clean() == 0


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("METATE_OFFLINE_CACHE_FILE_PATH", str(tmp_path / "cache"))
    assert cli.main(["cache", "path"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'cache'}\n"
    assert cli.main(["cache", "info"]) == 0
    assert "no entries" in capsys.readouterr().out
    folder = Folder(tmp_path / "cache", "c0", 1 << 20)
    folder.write("a", bytes(952))
    folder.write("b", bytes(952))
    assert cli.main(["cache", "info"]) == 0
    out = capsys.readouterr().out
    assert "2 entries" in out and "1,984 bytes" in out and str(tmp_path / "cache") in out
    assert cli.main(["cache", "clean"]) == 0
    assert "2 entries" in capsys.readouterr().out
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"offline_cache_cleaning_policy": "old"}, "expected one of lru, fifo, version, never, got 'old'"),
        ({"offline_cache_max_size_of_files": -1}, "expected a number of bytes, got -1"),
        ({"offline_cache_cleaning_factor": 2}, "expected a number from 0 to 1, got 2"),
    ],
)
def test_options_are_checked(option, text):
    with pytest.raises(RuntimeValueError_, match=text):
        mt.Context(**option)


def test_the_compiler_is_known_without_loading_it():
    assert compiler_identity() == compiler_identity() and len(compiler_identity()) == 16
    assert not is_still_there((__file__, 0, 0))
