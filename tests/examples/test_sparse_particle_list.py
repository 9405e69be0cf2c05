"""Discs in lists by cell: lists, forces and contacts against NumPy over all pairs."""

import numpy as np


def test_each_disc_is_in_the_list_of_its_cell(load, rng):
    program = load("sparse/particle_list", "--size", 80)
    cells = program["n_grid"]
    for _ in range(3):
        position = rng.uniform(0, 1, (80, 2)).astype(np.float32)
        position[:2] = [[-0.01, 0.5], [1, 1]]  # beyond a wall, at a corner: in the nearest cell
        program["position"].from_numpy(position)
        program["sort"]()
        expected = [[[] for _ in range(cells)] for _ in range(cells)]
        for p, (i, j) in enumerate((position * np.float32(cells)).astype(int).clip(0, cells - 1)):
            expected[i][j].append(p)
        for i in range(cells):
            for j in range(cells):
                got = [program["disc"][i, j, k] for k in range(program["lists"].length(i, j))]
                assert sorted(got) == expected[i][j]


def test_forces_and_contacts_equal_those_among_all_pairs(load, rng):
    program = load("sparse/particle_list", "--size", 150)
    radius, stiffness, damping = (program[name] for name in ("radius", "stiffness", "damping"))
    position = rng.uniform(0, 1, (150, 2)).astype(np.float32)
    velocity = rng.normal(size=(150, 2)).astype(np.float32)
    program["position"].from_numpy(position)
    program["velocity"].from_numpy(velocity)
    program["sort"]()
    program["collide"]()
    away = position[:, None].astype(float) - position[None]
    apart = velocity[:, None].astype(float) - velocity[None]
    distance = np.sqrt((away**2).sum(-1)) + np.eye(150)
    touch = distance < 2 * radius
    direction = away / distance[..., None]
    size = stiffness * (2 * radius - distance) - damping * (apart * direction).sum(-1)
    expected = (np.where(touch, size, 0)[..., None] * direction).sum(1)
    assert touch.any()
    got = program["force"].to_numpy()
    near = abs(distance / (2 * radius) - 1) < 1e-5  # whether they touch is a matter of rounding
    sure = ~near.any(1)
    np.testing.assert_allclose(got[sure], expected[sure], rtol=1e-3, atol=1e-4 * abs(expected).max())
    assert abs(got.astype(float).sum(0)).max() < 1e-4 * abs(got).sum()  # each push has its counterpart
    assert abs(program["contacts"]() - touch.sum() // 2) <= near.sum() // 2


def test_discs_stay_in_the_box_and_come_to_rest_on_one_another(load):
    program = load("sparse/particle_list", "--size", 60)
    program["init"]()
    assert program["contacts"]() == 0  # no disc is in a list yet
    for _ in range(6000):
        program["step"]()
    position, radius = program["position"].to_numpy(), program["radius"]
    assert (position > 0.8 * radius).all() and (position < 1 - 0.8 * radius).all()
    assert position[:, 1].mean() < 0.4 and program["contacts"]() > 40
    away = position[None].astype(float) - position[:, None]
    assert (np.sqrt((away**2).sum(-1)) + np.eye(60)).min() > 1.6 * radius
