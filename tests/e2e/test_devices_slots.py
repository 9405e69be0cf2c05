"""Slots of pools on a device: what is collected is handed out again, by many invocations at once, and no slot more."""

import device_tests
import numpy as np
import pytest

import metate as mt

ARCH = device_tests.ARCH or mt.simt
CAPACITY = 300


@pytest.fixture(params=["1"] if device_tests.ARCH else ["1", "4"])
def device(request, monkeypatch):
    """With invocations one after the other, and with four threads of them."""
    monkeypatch.setenv("METATE_SIMT_THREADS", request.param)
    with mt.Context(arch=ARCH) as context:
        yield context


def types():
    builder = mt.types.SNodeTreeBuilder
    return {
        "pointer": builder().pointer(mt.ij, 64).dense(mt.ij, 2).place(a=mt.i32).build(),
        "hash": builder().hash(mt.ij).dense(mt.ij, 2).place(a=mt.i32).build(),
    }


TYPES = types()


def kernels(tree_type):
    @mt.kernel
    def fill(t: tree_type, at: mt.types.ndarray(mt.i32, 2), value: mt.i32):
        for k in range(at.shape[0]):  # several invocations want each cell
            t.a[2 * at[k, 0], 2 * at[k, 1]] = value

    @mt.kernel
    def clear(t: tree_type):
        for i, j in t.a:
            if i % 2 == 0 and j % 2 == 0:
                mt.deactivate(t.a.parent().parent(), [i // 2, j // 2])

    return fill, clear


def cells(rng, count, repeat=4):
    flat = np.tile(rng.choice(64 * 64, count, replace=False), repeat)
    rng.shuffle(flat)
    return np.stack([flat // 64, flat % 64], 1).astype(np.int32)


@pytest.mark.parametrize("level", TYPES)
def test_slots_are_handed_out_again(device, rng, level):
    fill, clear = kernels(TYPES[level])
    t = TYPES[level].new(capacity=CAPACITY)
    for turn in range(3):
        at = cells(rng, CAPACITY)
        fill(t, at, turn + 1)
        t.check()
        found = {(i, j) for i, j in np.unique(at, axis=0).tolist()}
        assert len(found) == CAPACITY and all(t.a[2 * i, 2 * j] == turn + 1 for i, j in list(found)[::10])
        clear(t)
        t.check()
    fill(t, cells(rng, CAPACITY), 9)
    with pytest.raises(mt.errors.CapacityError):
        fill(t, cells(rng, 2 * CAPACITY), 10)
    t.check()


@pytest.mark.parametrize("level", TYPES)
def test_the_cpu_takes_over_what_a_device_collected(device, rng, level, tmp_path):
    fill, clear = kernels(TYPES[level])
    t = TYPES[level].new(capacity=CAPACITY)
    fill(t, cells(rng, CAPACITY), 1)
    clear(t)
    fill(t, cells(rng, CAPACITY // 2), 2)
    t.save(tmp_path / "tree")
    with mt.Context():
        there = TYPES[level].load(tmp_path / "tree")
        there.check()
        clear(there)
        fill(there, cells(rng, CAPACITY), 3)
        there.check()
        there.save(tmp_path / "back")
    back = TYPES[level].load(tmp_path / "back")
    clear(back)
    fill(back, cells(rng, CAPACITY), 4)
    back.check()


# ---- many cells at once

Grid = mt.types.SNodeTreeBuilder().pointer(mt.ijk, 32).bitmasked(mt.ijk, 8).place(a=mt.f32).build()


@pytest.mark.parametrize("share", [1, 0.25])
def test_no_cell_is_lost(device, share):
    """Invocations that stand side by side claim leaves, some of them one and some another, again and again."""
    rng = np.random.default_rng(3)
    blocks = 32**3 if device_tests.ARCH == "cuda" else 100  # lavapipe takes 65,535 turns
    leaves = np.stack(np.unravel_index(np.sort(rng.choice(32**3, blocks, replace=False)), (32, 32, 32)), 1)
    local = np.stack(np.unravel_index(np.arange(512), (8, 8, 8)), 1)
    cells = (8 * leaves[:, None] + local).reshape(-1, 3).astype(np.int32)
    cells = np.ascontiguousarray(cells[rng.random(len(cells)) < share])
    values = rng.random(len(cells), np.float32) + 1

    @mt.kernel
    def write(f: Grid, at: mt.types.ndarray(mt.i32, 2), values: mt.types.ndarray(mt.f32, 1)):
        for k in range(at.shape[0]):
            f.a[at[k, 0], at[k, 1], at[k, 2]] = values[k]

    @mt.kernel
    def read(f: Grid, at: mt.types.ndarray(mt.i32, 2), values: mt.types.ndarray(mt.f32, 1)):
        for k in range(at.shape[0]):
            values[k] = f.a[at[k, 0], at[k, 1], at[k, 2]]

    for _ in range(3):
        tree, found = Grid.new(), np.zeros_like(values)
        write(tree, cells, values)
        read(tree, cells, found)
        np.testing.assert_array_equal(found, values)
