"""Differential evolution: no candidate ever becomes worse, and all find the one valley that is the lowest."""

import numpy as np


def test_all_find_the_lowest_valley(filmed):
    program = filmed("differential_evolution", 64)
    program["scatter"]()
    costs = [program["cost"].to_numpy()[0]]
    for generation in range(150):
        program["evolve"](generation % 2)
        costs.append(program["cost"].to_numpy()[1 - generation % 2])
    assert (np.diff(costs, axis=0) <= 0).all()
    places = program["candidate"].to_numpy()[0].astype(float)
    exact = (places**2 - 10 * np.cos(2 * np.pi * places) + 10).sum(1)
    np.testing.assert_allclose(costs[-1], exact, atol=1e-4)
    assert costs[0].min() > 0.1 and costs[-1].max() < 1e-4 and abs(places).max() < 1e-3
