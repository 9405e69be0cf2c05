"""Scenes of mt.ui off-screen: where shapes are, which one is in front, and how light falls on them, against NumPy."""

import numpy as np
import pytest
import seeded
from ui_windows import camera, color_at, picture, seen, window

import metate as mt

TRIANGLE = np.array([[-0.8, -0.6, 0], [0.8, -0.6, 0], [0, 0.8, 0]], np.float32)


def scene_of(made, eye=None, ambient=(1, 1, 1)):
    scene = made.get_scene()
    scene.set_camera(eye or camera())
    scene.ambient_light(ambient)
    return scene


def drawn(made, scene):
    """The picture of the scene alone."""
    made.get_canvas().scene(scene)
    shown = picture(made)
    made.show()
    return shown


@pytest.mark.parametrize("shape", [(100, 100), (160, 80), (60, 120)])
def test_particles_are_where_the_camera_sees_them_and_as_large(shape):
    eye = camera((0.4, 0.7, 3), (0.1, 0, 0), fov=50)
    at = np.array([[0.3, 0.2, 0.1], [-0.4, -0.3, -0.5]], np.float32)
    radii = np.array([0.12, 0.2], np.float32)
    with window(*shape) as made:
        scene = scene_of(made, eye)
        scene.particles(at, 1, per_vertex_color=np.eye(3, dtype=np.float32)[:2], per_vertex_radius=radii)
        shown = drawn(made, scene)
        places = seen(eye, made, at)
    for channel in (0, 1):
        inside = np.argwhere(shown[..., channel] == 255)
        assert inside.mean(axis=0) + 0.5 == pytest.approx(places[channel, :2] * shape, abs=0.7)
        far = -(np.append(at[channel], 1) @ eye.get_view_matrix())[2]
        radius = radii[channel] / far / np.tan(np.radians(25)) * shape[1] / 2
        assert len(inside) == pytest.approx(np.pi * radius**2, rel=0.08)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_nearer_particle_is_in_front_whatever_the_order(order):
    at = np.array([[0, 0, 0.5], [0.05, 0, -0.5]], np.float32)
    colors = np.array([[1, 0, 0], [0, 1, 0]], np.float32)
    with window(60, 60) as made:
        scene = scene_of(made)
        for i in order:
            scene.particles(at[i : i + 1], 0.2, color=colors[i])
        made.get_canvas().scene(scene)
        assert color_at(made, 0.5, 0.5) == (255, 0, 0)
        depth = made.get_depth_buffer_as_numpy()
        assert depth.shape == (60, 60) and depth[0, 0] == 0
        assert depth[30, 30] == pytest.approx(seen(camera(), made, [0, 0, 0.7])[0, 2], rel=0.02)
        field = mt.field(mt.f32, shape=(60, 60))
        made.get_depth_buffer(field)
        np.testing.assert_array_equal(field.to_numpy(), depth)


def test_spheres_are_lit_by_lamberts_law():
    """The side that faces the light is bright, the other one has the ambient light alone; each pixel as NumPy has it."""
    light, radius = np.array([2.0, 1.5, 2.0]), 0.8
    with window(80, 80) as made:
        scene = scene_of(made, ambient=(0.1, 0.2, 0.1))
        scene.point_light(light, (0.7, 0.6, 0.5))
        scene.particles(np.zeros((1, 3), np.float32), radius, color=(1, 0.5, 0.25))
        shown = drawn(made, scene)
    step = 3 * np.tan(np.radians(22.5)) / 40 / radius
    x, y = np.meshgrid((np.arange(80) - 39.5) * step, (np.arange(80) - 39.5) * step, indexing="ij")
    inside = x * x + y * y < 0.98
    normal = np.stack([x, y, np.sqrt(np.maximum(1 - x * x - y * y, 0))], axis=-1)[inside]
    to_light = light - normal * radius
    cosine = np.maximum((to_light / np.linalg.norm(to_light, axis=-1, keepdims=True) * normal).sum(-1, keepdims=True), 0)
    expected = ([0.1, 0.2, 0.1] + cosine * [0.7, 0.6, 0.5]) * [1, 0.5, 0.25]
    np.testing.assert_allclose(shown[inside], np.minimum(expected, 1) * 255, atol=2)
    assert shown[60, 55, 0] > 150 and shown[24, 28].tolist() == [26, 26, 6]


def test_meshes_mix_their_vertices_colours():
    with window(80, 80) as made:
        scene = scene_of(made)
        scene.mesh(TRIANGLE, indices=np.array([0, 1, 2], np.int32), per_vertex_color=np.eye(4, dtype=np.float32)[:3, :3])
        shown = drawn(made, scene)
        corners = seen(camera(), made, TRIANGLE)[:, :2]
    x, y = np.meshgrid((np.arange(80) + 0.5) / 80, (np.arange(80) + 0.5) / 80, indexing="ij")
    weights = np.stack([x, y, np.ones_like(x)], -1) @ np.linalg.inv(np.c_[corners, np.ones(3)])
    inside = (weights > 0.02).all(axis=-1)
    np.testing.assert_allclose(shown[inside], weights[inside] * 255, atol=1.5)
    assert (shown[(weights < -0.02).any(axis=-1)] == 0).all()


def sphere(n=12):
    """Vertices and indices of a sphere of radius 1; its triangles are counter-clockwise from outside."""
    up, round_ = np.linspace(0, np.pi, n), np.linspace(0, 2 * np.pi, 2 * n)
    a, b = np.meshgrid(up, round_, indexing="ij")
    vertices = np.stack([np.sin(a) * np.cos(b), np.cos(a), np.sin(a) * np.sin(b)], -1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(n - 1) * 2 * n, np.arange(2 * n - 1), indexing="ij")
    k = (i + j).reshape(-1)
    return vertices.astype(np.float32), np.stack([k, k + 1, k + 2 * n, k + 1, k + 2 * n + 1, k + 2 * n], -1).reshape(-1)


def test_normals_are_computed_where_there_are_none():
    vertices, indices = sphere(24)
    with window(80, 80) as made:
        shown = []
        for normals in (None, vertices):
            scene = scene_of(made, ambient=(0.1, 0.1, 0.1))
            scene.point_light((3, 3, 3), (0.8, 0.8, 0.8))
            scene.mesh(vertices, indices, normals)
            shown.append(drawn(made, scene).astype(int))
        lit = shown[1].any(axis=-1)
        assert lit.sum() > 2500 and shown[1][52, 52, 0] > 85
        assert np.abs(shown[0] - shown[1])[lit].mean() < 1.5  # smooth over the faces, a seam apart
        scene = scene_of(made, ambient=(0, 0, 0))
        scene.point_light((0, 0, 3), (1, 1, 1))
        scene.mesh(np.concatenate([TRIANGLE, TRIANGLE[::-1] * [0.3, 0.3, 1] + [0, 0, 0.1]]).astype(np.float32), color=(1, 1, 1))
        flat = drawn(made, scene)
        assert flat[40, 28, 0] > 250 and flat[40, 40, 0] == 0  # the one that turns its back is dark


def test_two_sided_meshes_are_lit_from_both_sides():
    with window(40, 40) as made:
        for two_sided, lit in ((False, 51), (True, 255)):
            scene = scene_of(made, ambient=(0.2, 0.2, 0.2))
            scene.point_light((0, 0, 3), (0.9, 0.9, 0.9))
            scene.mesh(TRIANGLE[::-1], color=(1, 1, 1), two_sided=two_sided)
            assert drawn(made, scene)[20, 20].tolist() == [lit] * 3


def test_wireframes_are_edges():
    with window(80, 80) as made:
        scene = scene_of(made)
        scene.mesh(TRIANGLE, color=(1, 1, 1), show_wireframe=True)
        shown = drawn(made, scene)[..., 0]
        assert shown[40, 40] == 0 and shown[:, 20:30].any() and 100 < (shown == 255).sum() < 300


def test_instances_are_the_mesh_at_each_transform():
    random = seeded.generator("test_instances_are_the_mesh_at_each_transform")
    transforms = np.tile(np.eye(4, dtype=np.float32), (3, 1, 1))
    transforms[:, :3, 3] = random.uniform(-0.5, 0.5, (3, 3))
    transforms[:, :3, :3] *= random.uniform(0.2, 0.6, (3, 1, 1))
    transforms[2, 0, 1] = 0.3  # sheared
    field = mt.Matrix.field(4, 4, mt.f32, shape=3)
    field.from_numpy(transforms)
    with window(80, 80) as made:
        for options, chosen in (
            ({}, [0, 1, 2]),
            ({"instance_offset": 1}, [1, 2]),
            ({"instance_offset": 1, "instance_count": 1}, [1]),
        ):
            scene = scene_of(made)
            scene.mesh_instance(TRIANGLE, color=(1, 1, 0), transforms=field, **options)
            shown = drawn(made, scene)
            for one in transforms[chosen]:
                scene.mesh(np.asarray(TRIANGLE @ one[:3, :3].T + one[:3, 3], np.float32), color=(1, 1, 0))
            np.testing.assert_array_equal(drawn(made, scene), shown)
            assert shown.any()


def test_parts_of_meshes_particles_and_lines():
    vertices = np.concatenate([TRIANGLE * 0.4 - [0.5, 0, 0], TRIANGLE * 0.4 + [0.5, 0, 0]]).astype(np.float32)
    halves = {"left": (slice(0, 40), slice(40, 80)), "right": (slice(40, 80), slice(0, 40))}
    parts = [
        (lambda s: s.mesh(vertices, vertex_offset=3), "right"),
        (lambda s: s.mesh(vertices, vertex_count=3), "left"),
        (lambda s: s.mesh(vertices, np.arange(6), index_offset=3, index_count=3), "right"),
        (lambda s: s.mesh(vertices, np.arange(3), vertex_offset=3), "right"),
        (lambda s: s.particles(vertices, 0.1, index_offset=3), "right"),
        (
            lambda s: s.particles(
                vertices, 0.1, per_vertex_color=np.ones((6, 3)), per_vertex_radius=np.full(6, 0.1), index_count=2
            ),
            "left",
        ),
        (lambda s: s.lines(vertices, 2, np.array([0, 1, 3, 4]), index_offset=2), "right"),
        (lambda s: s.lines(vertices, 2, vertex_count=2), "left"),
    ]
    with window(80, 80) as made:
        for call, side in parts:
            scene = scene_of(made)
            call(scene)
            shown = drawn(made, scene)
            there, nothing = halves[side]
            assert shown[there].any() and not shown[nothing].any()


def test_lines_of_a_scene_are_in_pixels_and_cut_at_the_viewer():
    with window(100, 100) as made:
        scene = scene_of(made)
        scene.lines(np.array([[-0.5, 0, 0], [0.5, 0, 0]], np.float32), width=4, color=(0, 1, 0))
        shown = drawn(made, scene)[..., 1]
        assert (shown[40:60] == 255).sum(axis=1).tolist() == [4] * 20
        # From behind the camera to before it: the part that can be seen, from the lower edge to the middle.
        scene.lines(np.array([[0, -0.5, 5], [0, -0.5, -50]], np.float32), width=2, color=(0, 1, 0))
        shown = drawn(made, scene)[..., 1]
        assert shown[50, :45].all() and not shown[:, 52:].any() and not shown[:48].any()


def test_shapes_and_lights_are_given_anew_and_the_rest_stays():
    with window(40, 40) as made:
        scene = scene_of(made, ambient=(0.2, 0.2, 0.2))
        scene.point_light((0, 0, 3), (0.8, 0.8, 0.8))
        scene.particles(np.zeros((1, 3), np.float32), 0.5, color=(1, 1, 1))
        assert drawn(made, scene)[20, 20, 0] >= 254
        assert not drawn(made, scene).any()
        scene.particles(np.zeros((1, 3), np.float32), 0.5, color=(1, 1, 1))
        assert drawn(made, scene)[20, 20, 0] == 51


def test_a_scene_of_ones_own_is_drawn_over_an_image():
    with window(40, 40) as made:
        made.get_canvas().set_image(np.full((40, 40, 3), 0.2, np.float32))
        scene = mt.ui.Scene()
        scene.set_camera(mt.ui.make_camera())
        scene.ambient_light((1, 1, 1))
        scene.particles(np.array([[0, 0, 3.0]]), 0.5, per_vertex_color=np.array([[1.0, 0, 0, 0.5]]))
        made.get_canvas().scene(scene)
        shown = picture(made)
        assert shown[2, 2].tolist() == [51] * 3 and shown[20, 20].tolist() == pytest.approx([153, 26, 26], abs=1)


def points(n, dtype=np.float32):
    return np.zeros((n, 3), dtype)


WRONG = {
    "centers": (
        lambda s: s.particles(np.zeros((2, 2)), 1),
        r"scene.particles: centers: expected vectors of 3 components.*got \(2, 2\)",
    ),
    "part": (lambda s: s.particles(points(3), 1, index_offset=4), "scene.particles: index_offset: expected 0 to 3, got 4"),
    "count": (lambda s: s.particles(points(3), 1, index_offset=1, index_count=3), "index_count: expected 0 to 2 from .* got 3"),
    "triangles": (lambda s: s.mesh(points(4)), "scene.mesh: expected a multiple of 3 vertices, got 4"),
    "indices": (lambda s: s.mesh(points(3), np.array([0, 1, 3])), "scene.mesh: indices: expected indices of 3 vertices, got 3"),
    "normals": (
        lambda s: s.mesh(points(3), normals=points(2)),
        "scene.mesh: normals: expected one for each of 3 vertices, got 2",
    ),
    "transforms": (
        lambda s: s.mesh_instance(points(3), transforms=np.zeros((2, 3, 3))),
        r"scene.mesh_instance: transforms: expected matrices of 4 x 4.*got \(2, 3, 3\)",
    ),
    "instances": (
        lambda s: s.mesh_instance(points(3), transforms=np.zeros((2, 4, 4)), instance_count=3),
        "scene.mesh_instance: instance_count: expected 0 to 2 from instance_offset on, got 3",
    ),
    "lines": (lambda s: s.lines(points(3), 1), "scene.lines: expected a multiple of 2 vertices, got 3"),
    "width": (lambda s: s.lines(points(2), None), "scene.lines: width: expected a number, got None"),
    "camera": (lambda s: s.set_camera(3), "scene.set_camera: camera: expected a ui.Camera, got int"),
    "light": (lambda s: s.point_light((1, 2), (1, 1, 1)), r"scene.point_light: pos: expected three finite numbers, got \(1, 2\)"),
    "lights": (lambda s: [s.point_light((1, 2, 3), (1, 1, 1)) for _ in range(65)], "expected at most 64 lights, got one more"),
    "no camera": (lambda s: s.take(1.0), "expected one with a camera, got none; scene.set_camera"),
    "lookat": (lambda s: camera((1, 1, 1), (1, 1, 1)).get_view_matrix(), "expected lookat to be another point than position"),
    "up": (lambda s: camera((0, 1, 0), (0, 0, 0)).get_view_matrix(), "expected up to be another direction"),
    "planes": (lambda s: camera(z_far=0.1).get_projection_matrix(1), "expected z_near before z_far, got 0.1 and 0.1"),
    "fov": (lambda s: camera(fov=180), "camera.fov: expected degrees between 0 and 180, got 180"),
    "near": (lambda s: camera(z_near=0), "camera.z_near: expected a finite number above 0, got 0"),
    "mode": (lambda s: camera(projection_mode=2), "camera.projection_mode: expected a ui.ProjectionMode, got 2"),
    "place": (lambda s: camera((0, 0, np.inf)), "camera.position: expected three finite numbers"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_say_what_was_expected(case):
    call, message = WRONG[case]
    with pytest.raises(mt.MetateError, match=message):
        call(mt.ui.Scene())
