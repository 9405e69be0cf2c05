"""MPM on a grid that exists near particles: filled meshes, a step against NumPy, what steps keep, which blocks there are."""

import itertools

import numpy as np
import pytest

import metate as mt

WATER, JELLY, SNOW = range(3)


def ring(around=24, across=12, hole=2.2, tube=1.1):
    """A closed mesh with a hole: vertices f64[n, 3], triangles i32[m, 3]."""
    u, v = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    a, b = 2 * np.pi * u / around, 2 * np.pi * v / across
    far = hole + tube * np.cos(b)
    vertices = np.stack([far * np.cos(a), tube * np.sin(b), far * np.sin(a)], -1).reshape(-1, 3)
    index = lambda i, j: i % around * across + j % across
    first = np.stack([index(u, v), index(u + 1, v), index(u + 1, v + 1)], -1)
    second = np.stack([index(u, v), index(u + 1, v + 1), index(u, v + 1)], -1)
    return vertices, np.concatenate([first, second]).reshape(-1, 3).astype(np.int32)


def winding(points, vertices, triangles):
    """How often the mesh goes around each point: the solid angles of its triangles."""
    a, b, c = (vertices[triangles[:, k]][None] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(side, axis=-1) for side in (a, b, c))
    dot = lambda x, y: (x * y).sum(-1)
    below = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb
    return np.arctan2(dot(a, np.cross(b, c)), below).sum(1) / (2 * np.pi)


def test_a_mesh_is_filled_where_it_winds_around(load, rng):
    program = load("sparse/mpm", "--size", 16)
    vertices, triangles = ring()
    turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    vertices = vertices @ turned * 2 + 8.3
    inside = np.zeros((17,) * 3, np.int32)
    program["fill"](vertices, triangles, inside)
    middles = np.stack(np.indices(inside.shape), -1).reshape(-1, 3) + 0.5
    around = abs(winding(middles, vertices, triangles)).reshape(inside.shape)
    assert ((around < 0.01) | (abs(around - 1) < 0.01)).all()
    np.testing.assert_array_equal(inside, around > 0.5)
    assert 250 < inside.sum() < 500
    flipped = np.where(rng.random((len(triangles), 1)) < 0.5, triangles, triangles[:, ::-1])
    again = np.zeros_like(inside)
    program["fill"](vertices, np.ascontiguousarray(flipped), again)  # which side of a triangle is its front does not matter
    np.testing.assert_array_equal(again, inside)


def test_the_bunny_is_full(load):
    program = load("sparse/mpm", "--size", 128)
    if not program["BUNNY"].exists():
        pytest.skip("glmark2-data is not installed")
    vertices, triangles = program["read_mesh"](program["BUNNY"])
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    volume = (a * np.cross(b, c)).sum() / 6 * (program["width"] / np.ptp(vertices, 0).max()) ** 3
    places = program["places_inside"](vertices, triangles)
    assert len(places) * program["spacing"] ** 3 == pytest.approx(volume, rel=0.01)
    assert places.min() > 0 and places.max() < program["width"] + program["spacing"]


def test_faces_of_a_file(load, tmp_path):
    program = load("sparse/mpm", "--size", 16)
    corners = list(itertools.product((0, 1), repeat=3))
    faces = ["1 2 4 3", "5//1 7//1 8//1 6//1", "-8 -4 -3 -7", "3 4 8 7", "1/1 3/1 7/1 5/1", "2 6 8 4"]
    lines = ["# a cube", "o cube", *(f"v {x} {y} {z}" for x, y, z in corners), *(f"f {face}" for face in faces)]
    (tmp_path / "cube.obj").write_text("\n".join(lines))
    vertices, triangles = program["read_mesh"](tmp_path / "cube.obj")
    assert vertices.shape == (8, 3) and triangles.shape == (12, 3)
    inside = np.zeros((6,) * 3, np.int32)
    program["fill"](vertices * 4 + 1, triangles, inside)
    assert inside.sum() == 64 and inside[1:5, 1:5, 1:5].all()
    for name in ("cube.ply", "absent.obj"):
        with pytest.raises(SystemExit, match=rf"expected a file of a closed mesh, FILE.obj .*, got .*{name}"):
            program["read_mesh"](tmp_path / name)


def some_particles(program, rng, count):
    """count particles of each material that move and are deformed, as (ndarray, a view of it by names)."""
    particles = mt.ndarray(program["Particle"], 3 * count)
    data = np.asarray(particles)
    data["x"] = rng.uniform(0.3, 0.7, (3 * count, 3))
    data["v"], data["C"] = rng.normal(size=(3 * count, 3)), rng.normal(size=(3 * count, 3, 3))
    data["F"] = np.eye(3) + rng.uniform(-0.1, 0.1, (3 * count, 3, 3))
    data["J"] = rng.uniform(0.95, 1.05, 3 * count)
    data["material"] = np.arange(3 * count) % 3
    return particles, data


def deformed(program, particle):
    """Stress, F and J of a particle after a step's deformation."""
    lam, mu, one = program["lambda_0"], program["mu_0"], np.eye(3)
    C, F, J = particle["C"].astype(float), particle["F"].astype(float), float(particle["J"])
    if particle["material"] == WATER:
        J *= 1 + program["dt"] * np.trace(C)
        return lam * J * (J - 1) * one, F, J
    F = (one + program["dt"] * C) @ F
    volume = np.linalg.det(F)
    if particle["material"] == JELLY:
        return 0.3 * (mu * (F @ F.T - one) + lam * volume * (volume - 1) * one), F, J
    U, lengths, V = np.linalg.svd(F)
    kept = lengths.clip(program["crushed"], program["stretched"])
    J *= (lengths / kept).prod()
    F, volume = U @ np.diag(kept) @ V, kept.prod()
    hardening = np.exp(10 * (1 - J)).clip(0.1, 4)
    return hardening * (2 * mu * (F - U @ V) @ F.T + lam * volume * (volume - 1) * one), F, J


def shares(program, x):
    """(cells i64[27, 3], weights[27], their distances in cells [27, 3]) that a particle at x talks to."""
    place = x.astype(float) * program["n"]
    base = (place - 0.5).astype(int)
    f = place - base
    w = np.stack([0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2])
    offsets = np.array(list(itertools.product(range(3), repeat=3)))
    return base + offsets, w[offsets, range(3)].prod(1), offsets - f


def test_a_step_equals_numpys(load, rng):
    program = load("sparse/mpm", "--size", 32)
    particles, data = some_particles(program, rng, 20)
    n, dt, each, before = program["n"], program["dt"], program["mass_of_particle"], data.copy()
    mass, momentum = np.zeros((n,) * 3), np.zeros((n, n, n, 3))
    elastic = [deformed(program, particle) for particle in before]
    for particle, (stress, _, _) in zip(before, elastic, strict=True):
        affine = -dt * program["volume_of_particle"] * 4 * n * n * stress + each * particle["C"]
        cells, weights, away = shares(program, particle["x"])
        for cell, weight, distance in zip(cells, weights, away, strict=True):
            mass[tuple(cell)] += weight * each
            momentum[tuple(cell)] += weight * (each * particle["v"] + affine @ distance / n)
    grid = program["Grid"].new()
    program["scatter"](particles, grid)
    np.testing.assert_allclose(grid.m.to_numpy(), mass, atol=1e-5 * mass.max())
    np.testing.assert_allclose(grid.v.to_numpy(), momentum, atol=1e-4 * abs(momentum).max())
    np.testing.assert_allclose(data["F"], [F for _, F, _ in elastic], atol=2e-5)
    np.testing.assert_allclose(data["J"], [J for _, _, J in elastic], rtol=1e-4)
    program["move"](grid)
    program["gather"](particles, grid)
    velocity = momentum / np.where(mass > 0, mass, 1)[..., None] - [0, dt * program["gravity"], 0]
    for particle, old in zip(data, before, strict=True):
        cells, weights, away = shares(program, old["x"])
        at = velocity[tuple(cells.T)]
        v = weights @ at
        np.testing.assert_allclose(particle["v"], v, atol=1e-2)
        np.testing.assert_allclose(particle["C"], 4 * n * np.einsum("p,pi,pj->ij", weights, at, away), atol=1)
        np.testing.assert_allclose(particle["x"], old["x"] + dt * v, atol=1e-5)


def blocks_around(program, x):
    """bool[b, b, b]: blocks with cells that particles at x talk to."""
    count = program["n"] // program["leaf"]
    found = np.zeros((count,) * 3, bool)
    for place in x:
        found[tuple((shares(program, place)[0] // program["leaf"]).T)] = True
    return found


def bunnies(program):
    vertices, triangles = ring()
    return program["three_of"](program["places_inside"](vertices, triangles))


def test_steps_keep_mass_and_momentum_and_only_blocks_near_particles_exist(load):
    program = load("sparse/mpm", "--size", 32)
    particles, grid = bunnies(program), program["Grid"].new()
    data, each = np.asarray(particles), program["mass_of_particle"]
    assert set(data["material"]) == {WATER, JELLY, SNOW} and len(data) > 500
    data["v"] = [9, 2, -6]
    used = set()
    for _ in range(12):  # nothing is at a wall yet
        x, v = data["x"].copy(), data["v"].astype(float)
        program["substep"](particles, grid)
        there = np.array([grid.blocks.is_active(*at) for at in np.ndindex(8, 8, 8)]).reshape(8, 8, 8)
        np.testing.assert_array_equal(there, blocks_around(program, x))
        assert grid.stats()["blocks"].used == there.sum()
        used.add(there.tobytes())
        assert grid.m.to_numpy().astype(float).sum() == pytest.approx(each * len(data), rel=1e-5)
        fallen = v.mean(0) - [0, program["dt"] * program["gravity"], 0]
        np.testing.assert_allclose(data["v"].astype(float).mean(0), fallen, atol=1e-4)
    assert len(used) > 1, "no block came or went"
    assert grid.check() is None


def test_everything_stays_in_the_box_and_comes_down(load):
    program = load("sparse/mpm", "--size", 32)
    particles, grid = bunnies(program), program["Grid"].new()
    data = np.asarray(particles)
    first = data["x"][:, 1].mean()
    for _ in range(800):
        program["substep"](particles, grid)
    assert np.isfinite(data["x"]).all() and np.isfinite(data["F"]).all()
    cells = data["x"] * program["n"]
    assert cells.min() > 0.5 and cells.max() < program["n"] - 1.5  # all that they talk to is in the grid
    assert data["x"][:, 1].mean() < first - 0.15
    stretches = np.linalg.svd(data["F"][data["material"] == SNOW], compute_uv=False)
    assert stretches.min() > program["crushed"] - 1e-3 and stretches.max() < program["stretched"] + 1e-3
    assert abs(data["J"][data["material"] == WATER] - 1).max() < 0.5
    assert grid.check() is None


def test_what_only_turns_has_no_stress(load, rng):
    program = load("sparse/mpm", "--size", 16)
    particles, data = some_particles(program, rng, 8)
    turned = np.linalg.qr(rng.normal(size=(24, 3, 3)))[0]
    data["F"] = turned * np.linalg.det(turned)[:, None, None]
    data["C"], data["J"], data["v"] = 0, 1, 0
    grid = program["Grid"].new()
    program["scatter"](particles, grid)
    stiff = program["dt"] * program["volume_of_particle"] * 4 * program["n"] * program["lambda_0"]
    assert abs(grid.v.to_numpy()).max() < 1e-5 * stiff


def test_the_module_does_what_the_program_does(load, tmp_path):
    program = load("sparse/mpm", "--size", 16)
    program["save"](tmp_path, "native")
    loaded = mt.aot.load(tmp_path / "sparse_mpm.metate")
    kernels, results = loaded.kernels, []
    vertices, triangles = ring()
    inside = np.zeros((10,) * 3, np.int32)
    kernels["fill"](vertices + 4, triangles, inside)
    assert 0 < inside.sum() < inside.size
    for grid, run in ((program["Grid"].new(), program), (loaded.types["grid"].new(), kernels)):
        particles = bunnies(program)
        for _ in range(5):
            grid.deactivate_all()
            run["scatter"](particles, grid)
            run["move"](grid)
            run["gather"](particles, grid)
        results.append(particles.to_numpy())
    np.testing.assert_allclose(results[0]["x"], results[1]["x"], atol=1e-6)
    np.testing.assert_allclose(results[0]["v"], results[1]["v"], atol=1e-3)
