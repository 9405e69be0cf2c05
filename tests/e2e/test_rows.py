"""Neighbours read a row at a time (metate-stage-leaves, rows): every offset, shape and type against NumPy."""

import itertools

import numpy as np
import pytest

import metate as mt

SHAPES = {  # cells of the pointer level, of a leaf
    "line": ((5,), (8,)),
    "short rows": ((3, 3), (8, 4)),
    "plane": ((4, 3), (4, 16)),
    "volume": ((2, 3, 3), (4, 2, 8)),
}
TYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i16": np.int16, "u8": np.uint8, "i64": np.int64}
BACKGROUND = 3


def tree_of(shape, dtype, leaf):
    blocks, extents = SHAPES[shape]
    axes = (mt.i, mt.ij, mt.ijk)[len(blocks) - 1]
    builder = mt.types.SNodeTreeBuilder()
    node = builder.pointer(axes, blocks)
    getattr(node, leaf)(axes, extents).place(a=getattr(mt, dtype), background=BACKGROUND)
    getattr(node, leaf)(axes, extents).place(b=getattr(mt, dtype))
    return builder.build(), tuple(n * m for n, m in zip(blocks, extents, strict=True))


def kernel_of(tree_type, offsets, rank):
    first, second, third = offsets
    if rank == 1:

        @mt.kernel
        def run(f: tree_type):
            for i in f.a:
                f.b[i] = f.a[i + first[0]] + 2 * f.a[i + second[0]] - f.a[i + third[0]] + f.a[i]

    elif rank == 2:

        @mt.kernel
        def run(f: tree_type):
            for i, j in f.a:
                far = f.a[i + first[0], j + first[1]] + 2 * f.a[i + second[0], j + second[1]]
                f.b[i, j] = far - f.a[i + third[0], j + third[1]] + f.a[i, j]

    else:

        @mt.kernel
        def run(f: tree_type):
            for i, j, k in f.a:
                far = f.a[i + first[0], j + first[1], k + first[2]] + 2 * f.a[i + second[0], j + second[1], k + second[2]]
                f.b[i, j, k] = far - f.a[i + third[0], j + third[1], k + third[2]] + f.a[i, j, k]

    return run


def moved(values, offset):
    """The values at an offset; beyond the tree the background."""
    reach = 64
    wide = np.pad(values, reach, constant_values=BACKGROUND)
    return wide[tuple(slice(reach + o, reach + o + n) for o, n in zip(offset, values.shape, strict=True))]


@pytest.mark.parametrize("leaf", ["dense", "bitmasked"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_offsets(rng, shape, dtype, leaf):
    tree_type, size = tree_of(shape, dtype, leaf)
    extents = SHAPES[shape][1]
    tree = tree_type.new()
    values = np.full(size, BACKGROUND, TYPES[dtype])
    cells = rng.random(size) < 0.4
    # Some leaves full, some empty, the rest mixed.
    for block in itertools.product(*(range(n // m) for n, m in zip(size, extents, strict=True))):
        where = tuple(slice(b * m, (b + 1) * m) for b, m in zip(block, extents, strict=True))
        kind = rng.integers(4)
        if kind < 2:
            cells[where] = kind == 1
    active = np.zeros(size, bool)
    for cell in np.argwhere(cells):
        values[tuple(cell)] = rng.integers(1, 12)
        tree.a[tuple(cell)] = values[tuple(cell)]
        where = tuple(slice(c // m * m, (c // m + 1) * m) for c, m in zip(cell, extents, strict=True))
        active[where if leaf == "dense" else tuple(cell)] = True
    for _ in range(4):
        offsets = [tuple(int(rng.integers(-m, m + 1)) for m in extents) for _ in range(3)]
        offsets[0] = (*(0 for _ in extents[:-1]), int(rng.choice([-1, 1])))
        kernel_of(tree_type, offsets, len(size))(tree)
        with np.errstate(over="ignore"):
            far = moved(values, offsets[0]) + 2 * moved(values, offsets[1]) - moved(values, offsets[2]) + values
        expected = np.where(active, far.astype(TYPES[dtype]), 0)
        np.testing.assert_array_equal(tree.b.to_numpy(), expected, err_msg=f"offsets {offsets}")


def test_rows_are_staged():
    """The test above is about rows indeed: where they stop being staged, it would say nothing."""
    tree_type, _ = tree_of("plane", "f32", "bitmasked")
    run = kernel_of(tree_type, [(0, 1), (1, 0), (-1, -1)], 2)
    assert "vector.shuffle" in run.stages(tree_type.new(), stop_after="layout")["layout"]
