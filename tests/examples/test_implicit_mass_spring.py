"""The implicit sheet: forces against differences of the energy, the matrix against differences of the forces, large steps."""

import numpy as np
import pytest
import seeded

from metate.linalg.sparse_native import available

pytestmark = pytest.mark.skipif(not available(), reason="this build has no Eigen (libeigen3-dev)")


def energy(program, x):
    """Of springs, gravity and what holds the corner."""
    ends, rest, start = program["ends"], program["rest"].to_numpy(), program["start"].to_numpy().astype(float)
    length = np.linalg.norm(x[ends[:, 0]] - x[ends[:, 1]], axis=1)
    held = x[program["pinned"]] - start[program["pinned"]]
    springs = 0.5 * program["stiffness"] * ((length - rest) ** 2).sum() + 0.5 * program["pinning"] * (held**2).sum()
    return springs + 9.8 * program["mass"] * x[:, 1].sum()


def gradient(program, x):
    found, h = np.zeros(x.size), 1e-6
    for k in range(x.size):
        shift = np.zeros(x.size)
        shift[k] = h
        found[k] = (energy(program, x + shift.reshape(x.shape)) - energy(program, x - shift.reshape(x.shape))) / (2 * h)
    return found


def stretched(program):
    """A state in which every spring is pulled, so that the matrix leaves out nothing."""
    program["prepare"]()
    rng = seeded.generator("sheet")
    x = (1.2 * program["start"].to_numpy() + rng.normal(0, 0.005, (program["masses"], 2))).astype(np.float32)
    program["x"].from_numpy(x)
    return x.astype(float)


def test_forces_and_matrix_are_derivatives_of_the_energy(load):
    program = load("implicit_mass_spring", "--size", 4)
    x = stretched(program)
    program["pull"]()
    slope = gradient(program, x)
    np.testing.assert_allclose(program["force"].to_numpy().ravel(), -slope, atol=1e-4 * np.abs(slope).max())
    A = program["matrix"]().to_numpy().astype(float)
    expected, h = np.zeros_like(A), 1e-3
    for k in range(x.size):
        shift = np.zeros(x.size)
        shift[k] = h
        expected[:, k] = (gradient(program, x + shift.reshape(x.shape)) - gradient(program, x - shift.reshape(x.shape))) / (2 * h)
    expected = program["mass"] * np.eye(x.size) + program["dt"] ** 2 * expected
    free = slice(2, None)  # the corner's spring is thousands of times stiffer
    np.testing.assert_allclose(A[free, free], expected[free, free], atol=2e-3 * np.abs(expected[free, free]).max())
    assert np.array_equal(A, A.T) and np.linalg.eigvalsh(A).min() > 0


def test_steps_solve_their_system_and_the_sheet_comes_to_rest_below_its_corner(load):
    program = load("implicit_mass_spring", "--size", 6)
    program["prepare"]()
    program["step"]()
    A, right = program["matrix"], program["right"]
    program["pull"]()
    program["weigh"]()
    system = A()
    program["solver"].factorize(system)
    found = program["solver"].solve(right)
    np.testing.assert_allclose(system @ found, right.to_numpy(), atol=1e-4 * np.abs(right.to_numpy()).max())
    for _ in range(600):
        program["step"]()
    x, start = program["x"].to_numpy(), program["start"].to_numpy()
    assert np.linalg.norm(x[0] - start[0]) < 1e-3
    assert abs(x[:, 0].mean() - start[0, 0]) < 0.05 and x[1:, 1].max() < start[0, 1] + 0.1, "it hangs"
    assert np.abs(program["v"].to_numpy()).max() < 0.2
