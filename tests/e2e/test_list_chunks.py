"""Loops over the cells of lists, which go chunk by chunk: lengths around those of chunks, against NumPy."""

import numpy as np
import pytest

import metate as ti

LISTS, MOST, CHUNK = 40, 64, 8


def filled(lengths, parent="dense"):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, LISTS // 4).dense(ti.i, 4) if parent == "pointer" else ti.root.dense(ti.i, LISTS)
    level = block.dynamic(ti.j, MOST, chunk_size=CHUNK)
    level.place(x)

    @ti.kernel
    def fill(lengths: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in range(LISTS):
            for k in range(lengths[i]):
                x[i].append(i * 100 + k)

    fill(lengths)
    return x, level


def lengths_of(rng):
    lengths = rng.integers(0, MOST + 1, LISTS).astype(np.int32)
    lengths[:8] = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, MOST - 1, MOST]
    lengths[20:24] = 0  # no slot of the pointer level
    return lengths


def sums(lengths, low=0):
    return np.array([sum(i * 100 + k for k in range(n) if k >= low) for i, n in enumerate(lengths)], np.int32)


@pytest.mark.parametrize("parent", ["dense", "pointer"])
def test_sums_of_lists_and_of_their_neighbours(parent):
    ti.init(arch=ti.cpu)
    lengths = lengths_of(np.random.default_rng(5))
    x, _ = filled(lengths, parent)
    own, near = np.zeros(LISTS, np.int32), np.zeros(LISTS, np.int32)

    @ti.kernel
    def add_up(own: ti.types.ndarray(dtype=ti.i32, ndim=1), near: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in range(LISTS):
            s, t = 0, 0
            for k in range(x[i].length()):
                s += x[i, k]
            for j in range(i - 1, i + 2):  # outside there is nothing
                for k in range(x[j].length()):
                    if k >= 3:
                        t += x[j, k]
            own[i], near[i] = s, t

    add_up(own, near)
    np.testing.assert_array_equal(own, sums(lengths))
    late = np.pad(sums(lengths, 3), 1)
    np.testing.assert_array_equal(near, late[:-2] + late[1:-1] + late[2:])


def test_lists_that_grow_in_the_loop_over_them():
    ti.init(arch=ti.cpu)
    lengths = (lengths_of(np.random.default_rng(6)) // 2).astype(np.int32)
    x, _ = filled(lengths)
    out = np.zeros(LISTS, np.int32)

    @ti.kernel
    def double(out: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in range(LISTS):
            for k in range(x[i].length()):
                x[i].append(x[i, k])
            for k in range(x[i].length()):
                out[i] += x[i, k]

    double(out)
    np.testing.assert_array_equal(out, 2 * sums(lengths))


def test_a_list_that_the_loop_empties_is_read_as_before():
    ti.init(arch=ti.cpu)
    lengths = lengths_of(np.random.default_rng(7))
    x, level = filled(lengths)
    out = np.zeros(LISTS, np.int32)

    @ti.kernel
    def empty(out: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in range(LISTS):
            for k in range(x[i].length()):
                out[i] += x[i, k]
                if k == 2:
                    ti.deactivate(level, [i])

    empty(out)
    first = np.array([sum(i * 100 + k for k in range(min(n, 3))) for i, n in enumerate(lengths)], np.int32)
    np.testing.assert_array_equal(out, first)
