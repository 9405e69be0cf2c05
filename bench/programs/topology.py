"""B8: changing which leaves of a sparse grid are active; its leaves are 8 x 8 x 8 cells, with a mask or without."""

import numpy as np
import ti

LEAF = 8


def grid(n, masked):
    """(the level whose cells are leaves, the leaves' level, a field in them)."""
    field = ti.field(ti.f32)
    block = ti.root.pointer(ti.ijk, n // LEAF)
    leaf = (block.bitmasked if masked else block.dense)(ti.ijk, LEAF)
    leaf.place(field)
    return block, leaf, field


def writing(x):
    @ti.kernel
    def write(leaves: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        for l, c in ti.ndrange(leaves.shape[0], LEAF * LEAF * LEAF):
            i, j, k = c // 64, c // 8 % 8, c % 8
            x[leaves[l, 0] * LEAF + i, leaves[l, 1] * LEAF + j, leaves[l, 2] * LEAF + k] = 1.0

    return write


def map_of(block, field, n):
    """A function that returns of each leaf u8[n, n, n], 1 where it is active, and i32[n, n, n], how many of its cells are."""

    @ti.kernel
    def fill(out: ti.types.ndarray(dtype=ti.u8, ndim=3)):
        for i, j, k in ti.ndrange(n // LEAF, n // LEAF, n // LEAF):
            if ti.is_active(block, [i, j, k]):
                out[i, j, k] = ti.cast(1, ti.u8)

    @ti.kernel
    def count(out: ti.types.ndarray(dtype=ti.i32, ndim=3)):
        for i, j, k in field:
            out[i // LEAF, j // LEAF, k // LEAF] += 1

    def outputs():
        out, cells = np.zeros((n // LEAF,) * 3, np.uint8), np.zeros((n // LEAF,) * 3, np.int32)
        fill(out)
        count(cells)
        return {"active": out, "cells": cells}

    return outputs


def refill(inputs, n, share, masked):
    block, _, x = grid(n, masked)
    write, leaves = writing(x), np.ascontiguousarray(inputs["leaves"])

    def step():
        block.deactivate_all()
        write(leaves)

    return {"step": step, "outputs": map_of(block, x, n)}


def unchanged(inputs, n, share, masked):
    block, _, x = grid(n, masked)
    write, leaves = writing(x), np.ascontiguousarray(inputs["leaves"])
    write(leaves)
    return {"step": lambda: write(leaves), "outputs": map_of(block, x, n)}


def halve(inputs, n, share, masked):
    block, leaf, x = grid(n, masked)
    write, leaves = writing(x), np.ascontiguousarray(inputs["leaves"])

    @ti.kernel
    def give_up(leaves: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        for l, c in ti.ndrange(leaves.shape[0], LEAF * LEAF * LEAF // 2):
            i, j, k = c // 64, c // 8 % 8, c % 8
            ti.deactivate(leaf, [leaves[l, 0] * LEAF + i, leaves[l, 1] * LEAF + j, leaves[l, 2] * LEAF + k])

    def step():
        write(leaves)
        give_up(leaves)

    return {"step": step, "outputs": map_of(block, x, n)}


def dilation(inputs, n, masked):
    """(the level that grows, a field in it, a kernel that activates it around each leaf of another)."""
    block, _, x = grid(n, masked)
    wider, _, y = grid(n, masked)
    writing(x)(np.ascontiguousarray(inputs["leaves"]))

    @ti.kernel
    def grow():
        for i, j, k in block:
            for a, b, c in ti.static(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
                ti.activate(wider, [i + a, j + b, k + c])

    return wider, y, grow


def dilate(inputs, n, share, masked):
    wider, y, grow = dilation(inputs, n, masked)

    def step():
        wider.deactivate_all()
        grow()

    return {"step": step, "outputs": map_of(wider, y, n)}


def dilate_unchanged(inputs, n, share, masked):
    wider, y, grow = dilation(inputs, n, masked)
    grow()
    return {"step": grow, "outputs": map_of(wider, y, n)}
