"""Heat on active blocks against NumPy's on all cells, and the blocks that there must be."""

import numpy as np


def spread(heat, rate):
    padded = np.pad(heat, 1)
    around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    return (heat + rate * (around - 4 * heat)) * 0.995


def test_active_blocks_hold_the_heat_of_the_whole_plane(load):
    program = load("sparse/explicit_activation", "--size", 96)
    plate, block, coldest = program["Plate"].new(), program["block"], program["coldest"]
    heat = np.zeros((96, 96))
    made, most = set(), 0
    for step in range(90):
        if step < 20:
            x, y = 30 + step, 40 + 2 * step
            program["warm"](plate, x + 0.5, y + 0.5)
            heat[x, y] = 50
        program["step"](plate)
        heat = spread(heat, program["rate"])
        got = plate.now.to_numpy()
        assert abs(got - heat).max() < 5 * coldest  # what given up blocks had, what had not reached a block
        active = np.array([[plate.now.is_active(block * i, block * j) for j in range(6)] for i in range(6)])
        np.testing.assert_array_equal(active, (got > coldest).reshape(6, block, 6, block).any((1, 3)))
        made |= {tuple(at) for at in np.argwhere(active)}
        most = max(most, active.sum())
    assert 4 < most < 36 and len(made) > 4
    assert plate.stats()["blocks"].used == active.sum()


def test_a_cold_plate_has_no_blocks(load):
    program = load("sparse/explicit_activation", "--size", 64)
    plate = program["Plate"].new()
    program["warm"](plate, 20.5, 31.5)
    assert plate.stats()["blocks"].used == 1
    program["step"](plate)
    assert plate.stats()["blocks"].used == 2  # the point is at its block's edge
    for _ in range(3000):
        program["step"](plate)
    assert plate.stats()["blocks"].used == 0 and not plate.now.to_numpy().any()
