"""The potential in a cave: the solution and a V-cycle against NumPy's, and how fast the residual falls."""

import numpy as np
import pytest

import metate as mt


def cave(n, dim):
    """bool[n, ...]: the cells that is_cave of the program means."""
    at = (np.stack(np.indices((n,) * dim), -1) + 0.5) / n
    away = at - 0.5
    radius = 0.36 + 0.06 * np.sin(5 * np.arctan2(away[..., 1], away[..., 0]))
    return (np.linalg.norm(away, axis=-1) < radius) & (np.linalg.norm(at - 0.35, axis=-1) > 0.07)


def halves(f, reduced):
    """Each 2^dim cells as one."""
    m, dim = len(f) // 2, f.ndim
    return reduced(f.reshape((m, 2) * dim), tuple(range(1, 2 * dim, 2)))


def grids(n, dim, count):
    found = [cave(n, dim)]
    while len(found) < count:
        found.append(halves(found[-1], np.any))
    return found


def around(f):
    padded, middle = np.pad(f, 1), [slice(1, -1)] * f.ndim
    total = np.zeros_like(f)
    for axis in range(f.ndim):
        for side in (slice(0, -2), slice(2, None)):
            total += padded[tuple([*middle[:axis], side, *middle[axis + 1 :]])]
    return total


def applied(f, cells):
    """A f on the cells."""
    return (2 * f.ndim * f - around(f)) * cells


def smooth(z, r, cells, first, rounds):
    colours = np.indices(z.shape).sum(0) % 2
    for k in range(2 * rounds):
        chosen = cells & (colours == (first + k) % 2)
        z[chosen] = ((r + around(z)) / (2 * z.ndim))[chosen]


def cycle(program, levels, r, level=0):
    """z of a V-cycle for the right side r."""
    cells, z, dim = levels[level], np.zeros_like(r), r.ndim
    if level == len(levels) - 1:
        smooth(z, r, cells, 0, program["bottom"])
        smooth(z, r, cells, 1, program["bottom"])
        return z
    rounds = program["smoothing"] << level
    smooth(z, r, cells, 0, rounds)
    coarse = cycle(program, levels, halves((r - applied(z, cells)) * cells, np.sum) * 4 / 2**dim, level + 1)
    for axis in range(dim):
        coarse = coarse.repeat(2, axis)
    z += coarse * cells
    smooth(z, r, cells, 1, rounds)
    return z


@mt.kernel
def set_active(f: mt.template(), values: mt.types.ndarray(dtype=mt.f32)):
    for I in mt.grouped(f):
        f[I] = values[I]


@pytest.mark.parametrize("dim", [2, 3])
def test_each_grid_has_the_cells_of_the_cave(load, dim):
    potential = load("sparse/mgpcg", "--size", 64, "--dim", dim)["Potential"]()
    expected = grids(64, dim, 3)
    assert potential.grids == 3
    for r, cells in zip(potential.r, expected, strict=True):
        set_active(r, np.ones(cells.shape, np.float32))
        np.testing.assert_array_equal(r.to_numpy(), cells)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_v_cycle_equals_numpys(load, rng, dim):
    program = load("sparse/mgpcg", "--size", 64, "--dim", dim)
    potential, levels = program["Potential"](), grids(64, dim, 3)
    r = (rng.normal(size=(64,) * dim) * levels[0]).astype(np.float32)
    set_active(potential.r[0], r)
    potential.precondition()
    expected = cycle(program, levels, r.astype(float))
    np.testing.assert_allclose(potential.z[0].to_numpy(), expected, atol=2e-5 * abs(expected).max())


def test_the_preconditioner_is_symmetric_and_positive(load, rng):
    program = load("sparse/mgpcg", "--size", 64)
    potential, cells = program["Potential"](), cave(64, 2)
    sides, results = [], []
    for _ in range(4):
        sides.append((rng.normal(size=cells.shape) * cells).astype(np.float32))
        set_active(potential.r[0], sides[-1])
        potential.precondition()
        results.append(potential.z[0].to_numpy().astype(float))
    products = np.array([[(side * result).sum() for result in results] for side in sides])
    np.testing.assert_allclose(products, products.T, atol=1e-4 * abs(products).max())
    assert (np.linalg.eigvalsh((products + products.T) / 2) > 0).all()


def test_the_solution_equals_numpys(load):
    program = load("sparse/mgpcg", "--size", 32)
    potential, cells = program["Potential"](), cave(32, 2)
    potential.charge(0.4)
    b = potential.b.to_numpy().astype(float)
    assert b[cells].min() < -0.5 and b[cells].max() > 0.5 and not b[~cells].any()
    places = np.argwhere(cells)
    apart = abs(places[:, None] - places[None]).sum(-1)
    solution = np.linalg.solve(4.0 * (apart == 0) - (apart == 1), b[cells])
    residuals = potential.solve()
    got = potential.x.to_numpy()
    assert residuals[-1] <= program["accuracy"] and not got[~cells].any()
    np.testing.assert_allclose(got[cells], solution, atol=1e-4 * abs(solution).max())


@pytest.mark.parametrize("dim, sizes", [(2, (64, 256)), (3, (32, 64))])
def test_the_residual_falls_fast_at_any_resolution(load, dim, sizes):
    taken = []
    for n in sizes:
        potential, cells = load("sparse/mgpcg", "--size", n, "--dim", dim)["Potential"](), cave(n, dim)
        potential.charge(1)
        residuals = potential.solve()
        x, b = (field.to_numpy().astype(float) for field in (potential.x, potential.b))
        left = np.linalg.norm((b - applied(x, cells))[cells]) / np.linalg.norm(b)
        assert left < 1e-4, "the residual that it computes is not the one that there is"
        assert residuals[-1] < residuals[0] * 10 ** (-(len(residuals) - 1) / 3), "ten times in three iterations"
        taken.append(len(residuals) - 1)
        mt.reset()
    assert taken[1] <= taken[0] + 3


def test_charges_that_move_start_from_where_they_were(load):
    potential = load("sparse/mgpcg", "--size", 64)["Potential"]()
    potential.charge(0)
    first = potential.solve()
    again = potential.solve()
    assert first[0] == 1 and again[0] == pytest.approx(first[-1], rel=0.5, abs=1e-5) and len(again) == 1
    potential.charge(0.02)
    assert potential.solve()[0] < 0.4
