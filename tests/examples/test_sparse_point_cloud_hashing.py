"""Neighbours within a radius, found through hashed bins, against NumPy's over all pairs."""

import numpy as np
import pytest

import metate as ti


def among_all_pairs(points, radius):
    """How many points are nearer than the radius, and how many distances are so near to it that rounding decides."""
    away = points[None].astype(float) - points[:, None]
    distance = np.sqrt((away**2).sum(-1)) + np.where(np.eye(len(points)), 1e9, 0)
    return (distance < radius).sum(1), (abs(distance / radius - 1) < 1e-5).sum(1)


@pytest.mark.parametrize("radius", [0.1, 0.37, 2.5])
def test_neighbours_equal_those_among_all_pairs(load, rng, radius):
    program = load("sparse/point_cloud_hashing")
    middles = np.concatenate([np.zeros((1, 3)), rng.uniform(-2000, 2000, (4, 3))])
    points = (middles[rng.integers(0, 5, 600)] + rng.normal(0, 1.5 * radius, (600, 3))).astype(np.float32)
    bins, found = program["Bins"].new(capacity=4000), np.zeros(600, np.int32)
    for _ in range(3):
        program["neighbours"](bins, points, radius, found)
        expected, unsure = among_all_pairs(points, radius)
        assert expected.max() > 2 and (abs(found - expected) <= unsure).all()
        there = np.floor(points / (np.float32(1.01) * np.float32(radius)))
        assert bins.stats()["bins"].used == len(np.unique(there, axis=0))
        assert bins.check() is None
        points += rng.normal(0, radius, (600, 3)).astype(np.float32)


def test_the_flow_takes_points_beyond_any_box(load):
    program = load("sparse/point_cloud_hashing", "--size", 500)
    points, found = np.zeros((500, 3), np.float32), np.zeros(500, np.int32)
    program["init"](points)
    for _ in range(600):
        program["carry"](points, 0.1)
    assert abs(points).max() > 10
    bins = program["Bins"].new(capacity=1000)
    program["neighbours"](bins, points, 0.5, found)
    expected, unsure = among_all_pairs(points, 0.5)
    assert (abs(found - expected) <= unsure).all()


def test_a_bin_that_is_full_is_an_error(load):
    program = load("sparse/point_cloud_hashing")
    bins, found = program["Bins"].new(capacity=2000), np.zeros(5000, np.int32)
    with pytest.raises(ti.CapacityError):
        program["neighbours"](bins, np.ones((5000, 3), np.float32), 0.5, found)
