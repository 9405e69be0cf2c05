"""Concurrent activation by compiled kernels: the ambient slot mapped read-only, pools at exactly their capacity.

The programs run in processes of their own: a write to the ambient slot ends one with SIGSEGV.
"""

import subprocess
import sys
import textwrap

import pytest

PROLOGUE = """
import ctypes, mmap, struct, sys
import numpy as np
import metate as mt

seed = int(sys.argv[1])
rng = np.random.default_rng(seed)
mt.init(arch=mt.cpu, threads=8)
libc = ctypes.CDLL(None, use_errno=True)

def bind(tree_type, capacity):
    memory = mmap.mmap(-1, tree_type.bytes(capacity) + mmap.PAGESIZE)
    return memory, tree_type.bind(memory, capacity)

def protect_ambient(memory, pool, slot_bytes):
    # metate_pool number `pool` stands after the 128-byte header; its slots_offset is its second word.
    (offset,) = struct.unpack_from("<Q", memory, 128 + 1152 * pool + 8)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    page = mmap.PAGESIZE
    first = -(-(address + offset) // page) * page
    last = (address + offset + slot_bytes) // page * page
    assert last > first, "the ambient slot must hold a whole page"
    assert libc.mprotect(ctypes.c_void_p(first), ctypes.c_size_t(last - first), 1) == 0
"""


def run_file(tmp_path, program, seed):
    # Kernels take their source from a file.
    file = tmp_path / "program.py"
    file.write_text(PROLOGUE + textwrap.dedent(program))
    done = subprocess.run([sys.executable, str(file), str(seed)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"seed {seed}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("round_", range(3))
def test_ambient_slot_is_never_written(tmp_path, rng, round_):
    run_file(
        tmp_path,
        """
        T = mt.types.SNodeTreeBuilder().pointer(mt.i, 512).dense(mt.i, 4096).place(a=mt.f32, background=2.0).build()
        # Half of what the kernel wants: activations succeed, race and fail, all at once.
        memory, tree = bind(T, {"pointer0": 256})
        protect_ambient(memory, 0, 4 * 4096)

        @mt.kernel
        def scatter(f: T, at: mt.types.ndarray(mt.i32, 1), seen: mt.types.ndarray(mt.f32, 1)):
            for n in range(at.shape[0]):
                f.a[at[n]] += 1.0
                seen[n] = f.a[(at[n] * 7) % (512 * 4096)]

        at = rng.integers(0, 512 * 4096, 200_000).astype(np.int32)
        seen = np.zeros(len(at), np.float32)
        try:
            scatter(tree, at, seen)
            failed = False
        except mt.CapacityError as error:
            failed = True
            assert error.needed > 256
        assert failed
        tree.check()
        assert (seen >= 2.0).all()
        cells, values = tree.a.cells()
        leaves = np.unique(cells[:, 0] // 4096)
        assert 256 <= len(leaves) <= 256 + 64
        # What got a slot early enough holds its count; nothing holds more.
        full = np.bincount(at, minlength=512 * 4096)
        assert (values - 2.0 <= full[cells[:, 0]]).all()
        """,
        int(rng.integers(2**31)),
    )


@pytest.mark.parametrize("round_", range(3))
def test_nested_pools_at_exactly_their_capacity(tmp_path, rng, round_):
    run_file(
        tmp_path,
        """
        T = (mt.types.SNodeTreeBuilder().pointer(mt.ij, (8, 8)).pointer(mt.ij, (4, 4)).dense(mt.ij, (4, 4))
             .place(a=mt.i32, b=mt.f32, background=0).build())
        wanted = np.argwhere(rng.random((32, 32)) < 0.3)
        capacity = {"pointer0": len(np.unique(wanted // 4, axis=0)), "pointer1": len(wanted)}
        memory, tree = bind(T, capacity)

        @mt.kernel
        def touch(f: T, leaves: mt.types.ndarray(mt.i32, 2), order: mt.types.ndarray(mt.i32, 1)):
            for n in range(order.shape[0]):
                k = order[n]
                f.a[leaves[k, 0] * 4 + n % 4, leaves[k, 1] * 4 + (n // 4) % 4] += 1

        leaves = wanted.astype(np.int32)
        order = rng.integers(0, len(wanted), 100_000).astype(np.int32)
        order[: len(wanted)] = np.arange(len(wanted))
        for _ in range(5):
            tree.reset()
            touch(tree, leaves, order)
            stats = tree.stats()
            assert stats["pointer0"].used == capacity["pointer0"]
            assert stats["pointer1"].used == capacity["pointer1"]
            tree.check()
            expected = np.zeros((128, 128), np.int64)
            n = np.arange(len(order))
            np.add.at(expected, (wanted[order, 0] * 4 + n % 4, wanted[order, 1] * 4 + (n // 4) % 4), 1)
            assert (tree.a.to_numpy() == expected).all()
        """,
        int(rng.integers(2**31)),
    )


def test_blocks_move_between_addresses(tmp_path, rng):
    run_file(
        tmp_path,
        """
        T = mt.types.SNodeTreeBuilder().pointer(mt.ij, (16, 16)).dense(mt.ij, (8, 8)).place(a=mt.f32).build()
        memory, tree = bind(T, {"pointer0": 40})

        @mt.kernel
        def fill(f: T, at: mt.types.ndarray(mt.i32, 2)):
            for n in range(at.shape[0]):
                f.a[at[n, 0], at[n, 1]] = n

        @mt.kernel
        def total(f: T, out: mt.types.ndarray(mt.f64, 1)):
            for i, j in f:
                out[0] += f.a[i, j]

        at = rng.integers(0, 48, (60, 2)).astype(np.int32)
        fill(tree, at)
        copy = mmap.mmap(-1, len(memory))
        copy[:] = memory[:]
        moved = T.bind(copy, reset=False)
        one, two = np.zeros(1), np.zeros(1)
        total(tree, one)
        total(moved, two)
        assert one[0] == two[0] != 0
        assert (tree.a.to_numpy() == moved.a.to_numpy()).all()
        """,
        int(rng.integers(2**31)),
    )
