"""Marching squares: lines are closed, also where a cell can be read in two ways; a circle has its radius and length."""

from collections import Counter

import numpy as np
import seeded


def line_of(program, values):
    program["value"].from_numpy(values.astype(np.float32))
    program["march"]()
    found = program["segments"][None]
    return program["begin"].to_numpy()[:found], program["end"].to_numpy()[:found]


def loose_ends(begin, end):
    """Ends of segments that no other one has."""
    counts = Counter(map(tuple, np.concatenate([begin, end]).tolist()))
    assert max(counts.values()) <= 2
    return [place for place, count in counts.items() if count == 1]


def test_lines(filmed):
    program = filmed("marching_squares", 32)
    n = program["n"]
    i, j = np.meshgrid(np.arange(n + 1) / n, np.arange(n + 1) / n, indexing="ij")

    radius = 0.3
    begin, end = line_of(program, radius - np.hypot(i - 0.51, j - 0.487))
    assert loose_ends(begin, end) == []
    away = np.linalg.norm(np.concatenate([begin, end]) - [0.51, 0.487], axis=1)
    np.testing.assert_allclose(away, radius, atol=1 / (4 * n**2 * radius))
    assert abs(np.linalg.norm(end - begin, axis=1).sum() / (2 * np.pi * radius) - 1) < 2e-3

    values = seeded.generator("lines").uniform(-1, 1, (n + 1, n + 1))
    inside = values > 0
    begin, end = line_of(program, values)
    corners = inside[:-1, :-1] + 2 * inside[1:, :-1] + 4 * inside[1:, 1:] + 8 * inside[:-1, 1:]
    assert {5, 10} <= set(corners.flat) and len(begin) == sum(2 if case in (5, 10) else 0 < case < 15 for case in corners.flat)
    assert all(min(place) < 1e-6 or max(place) > 1 - 1e-6 for place in loose_ends(begin, end)), "a line ends within"
