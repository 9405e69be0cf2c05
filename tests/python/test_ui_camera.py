"""Cameras of mt.ui: their matrices against NumPy, and how keys and the mouse move them."""

import numpy as np
import pytest

import metate as mt
from metate.ui.ggui import camera as camera_module


def made(**options):
    camera = mt.ui.Camera()
    for name, value in options.items():
        getattr(camera, name)(*np.atleast_1d(value))
    return camera


def test_a_new_camera_looks_along_z():
    np.testing.assert_allclose(made().get_view_matrix(), np.diag([-1, 1, -1, 1]), atol=1e-7)


def test_the_view_matrix_turns_and_shifts_points():
    camera = made(position=(1, 2, 3), lookat=(0.2, 0.5, 0), up=(0.1, 1, 0))
    view = camera.get_view_matrix()
    assert view.dtype == np.float32 and view.shape == (4, 4)
    np.testing.assert_allclose(view[:3, :3] @ view[:3, :3].T, np.eye(3), atol=1e-6)
    np.testing.assert_allclose([1, 2, 3, 1] @ view, [0, 0, 0, 1], atol=1e-6)
    np.testing.assert_allclose([0.2, 0.5, 0, 1] @ view, [0, 0, -np.sqrt(0.64 + 2.25 + 9), 1], atol=1e-6)
    up = [0.1, 1, 0, 0] @ view
    assert up[0] == pytest.approx(0, abs=1e-6) and up[1] > 0
    assert np.linalg.det(view) == pytest.approx(1, abs=1e-5)


def test_perspective_keeps_the_planes_and_the_angle():
    projection = made(fov=60, z_near=0.5, z_far=50).get_projection_matrix(1.5)
    assert projection.dtype == np.float32
    for z, depth in ((-0.5, 1), (-50, 0), (-2, 0.5 * 48 / (2 * 49.5))):
        clip = [0, 0, z, 1] @ projection.astype(np.float64)
        assert clip[2] / clip[3] == pytest.approx(depth, abs=1e-6) and clip[3] == -z
    edge = np.tan(np.radians(30)) * 2
    clip = [1.5 * edge, edge, -2, 1] @ projection
    np.testing.assert_allclose(clip[:2] / clip[3], [1, 1], rtol=1e-6)


def test_orthogonal_maps_its_box():
    camera = made(z_near=0.5, z_far=50, left=-2, right=3, bottom=-1, top=1.5)
    camera.projection_mode(mt.ui.ProjectionMode.Orthogonal)
    projection = camera.get_projection_matrix(7)
    np.testing.assert_allclose([-2, -1, -0.5, 1] @ projection, [-1, -1, 1, 1], atol=1e-6)
    np.testing.assert_allclose([3, 1.5, -50, 1] @ projection, [1, 1, 0, 1], atol=1e-6)


class Keys:
    """A window whose keys and mouse a test moves."""

    def __init__(self):
        self.held, self.mouse = set(), (0.5, 0.5)

    def is_pressed(self, *keys):
        return not self.held.isdisjoint(keys)

    def get_cursor_pos(self):
        return self.mouse


@pytest.fixture
def second(monkeypatch):
    """Advances the clock of cameras by a sixtieth of a second for each reading."""
    now = iter(range(1000))
    monkeypatch.setattr(camera_module.time, "perf_counter", lambda: next(now) / 60)


@pytest.mark.parametrize(
    "key, way", [("w", (0, 0, -1)), ("s", (0, 0, 1)), ("a", (-1, 0, 0)), ("d", (1, 0, 0)), ("e", (0, 1, 0)), ("q", (0, -1, 0))]
)
def test_keys_move_the_camera(second, key, way):
    camera, keys = made(position=(0, 0, 3), lookat=(0, 0, 0)), Keys()
    camera.track_user_inputs(keys, movement_speed=0.5)
    keys.held.add(key)
    camera.track_user_inputs(keys, movement_speed=0.5)
    np.testing.assert_allclose(camera.curr_position, np.array([0, 0, 3]) + 0.5 * np.array(way), atol=1e-9)
    np.testing.assert_allclose(camera.curr_lookat - camera.curr_position, [0, 0, -1], atol=1e-9)


def test_the_mouse_turns_the_camera_while_the_key_is_held(second):
    camera, keys = made(position=(0, 0, 3), lookat=(0, 0, 0)), Keys()
    for held, x in ((False, 0.5), (False, 0.6), (True, 0.7)):
        keys.held, keys.mouse = {mt.ui.RMB} if held else set(), (x, 0.5)
        camera.track_user_inputs(keys, yaw_speed=2.0, hold_key=mt.ui.RMB)
        turned = camera.curr_lookat - camera.curr_position
        if not held:
            np.testing.assert_allclose(turned, [0, 0, -1], atol=1e-9)
    np.testing.assert_allclose(turned, [np.sin(0.2), 0, -np.cos(0.2)], atol=1e-9)
    keys.mouse = (0.7, 1.0)
    for _ in range(3):
        keys.mouse = (0.7, keys.mouse[1] + 1)
        camera.track_user_inputs(keys, pitch_speed=5.0, hold_key=mt.ui.RMB)
    assert 0.99 < camera.curr_lookat[1] - camera.curr_position[1] < 1  # up, but not over


def test_constants_are_taichis():
    ui = mt.ui
    assert (ui.PRESS, ui.RELEASE) == ("Press", "Release")
    assert (ui.SHIFT, ui.ALT, ui.CTRL, ui.CAPSLOCK, ui.SPACE) == ("Shift", "Alt", "Control", "CapsLock", " ")
    assert (ui.LMB, ui.MMB, ui.RMB, ui.ESCAPE, ui.RETURN, ui.UP) == ("LMB", "MMB", "RMB", "Escape", "Return", "Up")
