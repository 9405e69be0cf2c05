"""Trees of bitmasked, dynamic and hash levels in Python: host access, lists, memory, files."""

import subprocess
import sys

import numpy as np
import pytest

import metate as mt
from metate import types
from metate.errors import CapacityError, RuntimeTypeError_, RuntimeValueError_, TreeError
from metate.types import SNodeTreeBuilder, TreeType


def masked(background=7):
    return SNodeTreeBuilder().pointer(mt.ij, 3).bitmasked(mt.ij, 5).place(a=types.i32, background=background).build()


def lists():
    return SNodeTreeBuilder().dense(mt.i, 3).dynamic(mt.j, 50, chunk_size=8).place(x=types.f32).build()


def table():
    return SNodeTreeBuilder().hash(mt.ij).dense(mt.ij, 4).place(x=types.f32).build()


@pytest.mark.parametrize("make", [masked, lists, table])
def test_types_survive_their_blobs(make):
    type_ = make()
    back = TreeType.from_blob(type_.blob)
    assert back == type_ and back.levels == type_.levels and back.members == type_.members


def test_a_bitmasked_cell_reads_background_once_it_is_deactivated():
    t = masked().new()
    t.a[4, 4] = 1
    t.a[4, 5] = 2
    assert t.is_active(4, 4) and not t.is_active(4, 3)
    assert t.a[4, 3] == 7
    version = t.topology_version
    t.deactivate(4, 4)
    assert t.topology_version == version + 1
    assert t.a[4, 4] == 7 and not t.is_active(4, 4) and t.a[4, 5] == 2
    t.deactivate(4, 4)
    assert t.topology_version == version + 1
    where, values = t.a.cells()
    assert where.tolist() == [[4, 5]] and values.tolist() == [2]
    dense = np.full((15, 15), 7)
    dense[4, 5] = 2
    assert (t.a.to_numpy() == dense).all()
    t.a.fill(9)
    assert t.a[4, 5] == 9 and t.a[4, 4] == 7
    t.a.from_numpy(np.arange(225).reshape(15, 15))
    assert t.a[4, 5] == 65 and t.a[4, 4] == 7
    t.check()
    t.deactivate_all("bitmasked1")
    assert t.stats()["pointer0"].used == 2 and len(t.a.cells()[0]) == 0
    t.deactivate_all()
    assert t.stats()["pointer0"].used == 0
    t.check()


def test_lists_grow_and_end():
    t = lists().new()
    assert [t.append(1) for _ in range(10)] == list(range(10))
    assert t.length(1) == 10 and t.length(0) == 0
    t.x[1, 20] = 3.5
    assert t.length(1) == 21 and t.x[1, 19] == 0 and t.x[1, 40] == 0
    assert t.stats()["dynamic1"].used == 3
    for _ in range(29):
        t.append(1, level="dynamic1")
    with pytest.raises(CapacityError, match="full"):
        t.append(1)
    with pytest.raises(TreeError, match="list"):
        t.x.deactivate(1, 3)
    t.deactivate_all()
    assert t.length(1) == 0 and t.stats()["dynamic1"].used == 0
    t.check()
    with pytest.raises(TreeError, match="dynamic level, for this tree has none"):
        masked().new().append(1)


def test_hash_cells_are_anywhere():
    t = table().new(capacity=100)
    t.x[-1, 2**31 - 1] = 1.5
    t.x[-(2**31), 0] = 2.5
    assert t.x[-1, 2**31 - 1] == 1.5 and t.x[-4, 2**31 - 4] == 0 and not t.is_active(0, 0)
    assert sorted(t.x.cells()[1].tolist())[-2:] == [1.5, 2.5] and len(t.x.cells()[0]) == 32
    assert t.stats()["hash0"] == (100, 2, 2, t.stats()["hash0"].bytes)
    with pytest.raises(RuntimeValueError_, match="no bounds"):
        t.x.to_numpy()
    t.deactivate(-1, 2**31 - 1)
    assert t.x[-1, 2**31 - 1] == 0 and t.stats()["hash0"].used == 1
    with pytest.raises(CapacityError) as caught:
        for k in range(200):
            t.x[k * 4, 0] = 1
    assert caught.value.level == "hash0" and caught.value.capacity == 100
    t.check()


def test_migration_goes_on_where_memory_ended(tmp_path):
    t = table().new(capacity=4)
    with pytest.raises(CapacityError):
        for k in range(200):
            t.x[k * 4, -k] = k
    used = t.stats()["hash0"].used
    with pytest.raises(CapacityError, match="larger"):
        t.migrate(capacity=4)
    buffer = np.zeros(t.type.bytes(300) + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    view = t.block
    with pytest.raises(TreeError, match="view"):
        t.migrate(capacity=300, buffer=buffer[start:])
    view.release()
    t.migrate(capacity=300, buffer=buffer[start:])
    assert t.stats()["hash0"].used == used and t.stats()["hash0"].capacity == 300
    for k in range(200):
        t.x[k * 4, -k] = k
    t.check()
    assert all(t.x[k * 4, -k] == k for k in range(200))
    t.migrate()
    buffer[:] = 1
    assert all(t.x[k * 4, -k] == k for k in range(200))
    t.save(tmp_path / "points.tree")
    for read_only in (True, False):
        again = table().load(tmp_path / "points.tree", read_only=read_only)
        assert all(again.x[k * 4, -k] == k for k in range(200))
        again.check()
    again.x[-999, 3] = 1
    with pytest.raises(RuntimeTypeError_, match="another type"):
        masked().load(tmp_path / "points.tree")


PROGRAM = """
import sys, metate as mt
from metate import types
from metate.types import SNodeTreeBuilder
T = SNodeTreeBuilder().pointer(mt.ij, 3).bitmasked(mt.ij, 5).place(a=types.i32, background=7).build()
t = T.load(sys.argv[1], read_only=True)
print(t.a[4, 5], t.a[0, 0], t.is_active(4, 4))
"""


def test_another_process_loads_the_file(tmp_path):
    t = masked().new()
    t.a[4, 5] = 11
    t.save(tmp_path / "t.tree")
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "t.tree")], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["11", "7", "False"]


def test_levels_of_an_instance():
    t = masked().new()
    t.a[4, 5] = 1
    assert t.pointer0.is_active(0, 1) and not t.pointer0.is_active(1, 1) and t.bitmasked1.is_active(4, 5)
    t.bitmasked1.deactivate(4, 5)
    assert t.pointer0.is_active(0, 1) and t.a[4, 5] == 7
    t.pointer0.activate(2, 2)
    t.pointer0.deactivate(0, 1)
    assert t.stats()["pointer0"].used == 1
    t.pointer0.deactivate_all()
    assert t.stats()["pointer0"].used == 0 and repr(t.pointer0).startswith("<level pointer0 of")
    t = lists().new()
    assert t.dynamic1.append(2) == 0 and t.dynamic1.append(2) == 1 and t.dynamic1.length(2) == 2
    t.dynamic1.deactivate(2)
    assert t.dynamic1.length(2) == 0
    with pytest.raises(AttributeError, match="no member"):
        t.pointer0  # noqa: B018


def test_trim_lowers_the_peak():
    t = masked().new()
    for k in range(9):
        t.activate(k // 3 * 5, k % 3 * 5)
    t.deactivate_all()
    assert t.stats()["pointer0"].peak == 9
    t.trim()
    assert t.stats()["pointer0"].peak == 0
    t.activate(0, 0)
    t.check()


def test_sorting_keeps_cells_and_gives_slots_back():
    t = masked().new()
    for k in (8, 3, 5, 1):
        t.a[k // 3 * 5, k % 3 * 5] = k
    t.pointer0.deactivate(1, 2)
    coordinates, values = t.a.cells()
    before = dict(zip(map(tuple, coordinates.tolist()), values.tolist(), strict=True))
    version = t.topology_version
    t.sort()
    assert t.topology_version == version + 1 and t.stats()["pointer0"].peak == 3
    coordinates, values = t.a.cells()
    assert coordinates.tolist() == [[0, 5], [5, 0], [10, 10]]
    assert dict(zip(map(tuple, coordinates.tolist()), values.tolist(), strict=True)) == before
    t.sort()
    assert t.topology_version == version + 1
    t.check()


def test_migrating_into_just_what_is_in_use():
    t = SNodeTreeBuilder().pointer(mt.i, 100).bitmasked(mt.i, 5).place(a=types.i32).build().new()
    for k in range(100):
        t.a[5 * k] = k
    for k in range(98):
        t.pointer0.deactivate(k)
    before, version = [part.tolist() for part in t.a.cells()], t.topology_version
    with pytest.raises(mt.CapacityError, match=r"level 'pointer0' has 2 slots in use; the new capacity is 1: name a larger one"):
        t.migrate({"pointer0": 1})
    assert t.stats()["pointer0"].peak == 100 and t.topology_version == version
    t.migrate({"pointer0": 2})
    assert t.topology_version != version
    assert t.stats()["pointer0"].capacity == t.stats()["pointer0"].peak == 2
    assert [part.tolist() for part in t.a.cells()] == before
    t.check()
