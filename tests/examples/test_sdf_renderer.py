"""The path tracer: rays against exact spheres, directions against their law, and light against its conservation."""

import numpy as np
import pytest
import seeded

import metate as ti

Vectors = ti.types.ndarray(dtype=ti.types.vector(3, ti.f32), ndim=1)
Scalars = ti.types.ndarray(dtype=ti.f32, ndim=1)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_rays_meet_the_ball_where_the_sphere_is(load):
    program = load("sdf_renderer", "--size", 8)
    march = program["march"]

    @ti.kernel
    def run(origin: Vectors, direction: Vectors, found: Scalars):
        for i in range(found.shape[0]):
            found[i] = march(origin[i], direction[i])

    center, radius = np.array([0.0, 0.22, 0.05]), 0.32
    random = seeded.generator("test_rays_meet_the_ball_where_the_sphere_is")
    origin = np.array([0.0, 0.4, 3.0]) + random.uniform(-0.1, 0.1, (200, 3))
    direction = unit(center + random.uniform(-0.15, 0.15, (200, 3)) - origin)
    found = np.zeros(200, np.float32)
    run(origin.astype(np.float32), direction.astype(np.float32), found)
    away = origin - center
    b = (away * direction).sum(-1)
    exact = -b - np.sqrt(b * b - (away**2).sum(-1) + radius**2)
    np.testing.assert_allclose(found, exact, atol=2e-4)


def test_distances_never_reach_through_a_surface(load):
    program = load("sdf_renderer", "--size", 8)
    distance = program["distance"]

    @ti.kernel
    def run(p: Vectors, found: Scalars):
        for i in range(found.shape[0]):
            found[i] = distance(p[i])

    random = seeded.generator("test_distances_never_reach_through_a_surface")
    a = random.uniform([-1.5, -0.1, -0.6], [1.5, 1, 1], (20000, 3)).astype(np.float32)
    b = (a + random.normal(0, 0.05, a.shape)).astype(np.float32)
    at_a, at_b = np.zeros(len(a), np.float32), np.zeros(len(a), np.float32)
    run(a, at_a)
    run(b, at_b)
    assert (np.abs(at_a - at_b) <= np.linalg.norm(a - b, axis=1) + 1e-5).all()
    assert (at_a < 0).any() and (at_a > 0).any()


def test_matt_surfaces_scatter_by_the_cosine(load):
    program = load("sdf_renderer", "--size", 8)
    scatter = program["scatter"]

    @ti.kernel
    def run(n: ti.types.vector(3, ti.f32), found: Vectors):
        for i in range(found.shape[0]):
            found[i] = scatter(n)

    for n in (*unit(seeded.generator("test_matt_surfaces_scatter_by_the_cosine").normal(size=(3, 3))), np.array([0.0, 1.0, 0.0])):
        found = np.zeros((100000, 3), np.float32)
        run(ti.Vector(n.tolist()), found)
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-4)
        cosine = found @ n
        assert cosine.min() > -1e-4
        np.testing.assert_allclose(found.mean(0), 2 / 3 * n, atol=0.01)  # of a density of cosine / pi
        assert (cosine**2).mean() == pytest.approx(0.5, abs=0.01)


def test_where_all_light_is_alike_everything_looks_alike(load):
    """A white furnace: lamp and sky of radiance 1, surfaces that swallow nothing."""
    program = load("sdf_renderer", "--size", 24)

    @ti.func
    def white(p):
        return ti.Vector([1.0, 1.0, 1.0])

    program.update(color=white, sky_light=ti.Vector([1.0] * 3), lamp_light=ti.Vector([1.0] * 3), max_bounces=40)
    for _ in range(24):
        program["sample"]()
    mean = program["light"].to_numpy() / 24
    assert mean.mean() == pytest.approx(1, abs=0.02)
    blocks = mean[:40, :24].reshape(5, 8, 3, 8, 3).mean((1, 3, 4))
    np.testing.assert_allclose(blocks, 1, atol=0.1)


def test_samples_add_up_to_less_noise(load):
    program = load("sdf_renderer", "--size", 24)
    program["sample"]()
    first = program["light"].to_numpy().copy()
    for _ in range(15):
        program["sample"]()
    mean = program["light"].to_numpy() / 16
    assert mean.mean() == pytest.approx(first.mean(), rel=0.1)
    rough = lambda image: np.abs(np.diff(image, axis=0)).mean()
    assert rough(mean) < 0.5 * rough(first)
