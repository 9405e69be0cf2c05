"""`Camera`: where a scene is seen from, and its two matrices. Must not draw.

Matrices are (4, 4) of f32 for row vectors, as Taichi gives them: a point p is seen at `[*p, 1] @ view @ projection`.
Depth, z over w, is 1 at the near plane and 0 at the far one.
"""

from __future__ import annotations

import enum
import math
import time

import numpy as np

from ...errors import RuntimeValueError_
from . import data
from .host import Inputs


class ProjectionMode(enum.IntEnum):
    """How a camera sees: what is far away is smaller, or not."""

    Perspective = 0
    Orthogonal = 1


class Camera:
    """A camera at (0, 0, 0) that looks at (0, 0, 1); y is up, and it sees 45 degrees from below to above.

    Attributes:
        curr_position, curr_lookat, curr_up: what `position`, `lookat` and `up` were given, arrays of three.
    """

    def __init__(self):
        self._mode = ProjectionMode.Perspective
        self._fov, self._z_near, self._z_far = 45.0, 0.1, 1000.0
        self._left, self._right, self._top, self._bottom = -1.0, 1.0, 1.0, -1.0
        self.position(0.0, 0.0, 0.0)
        self.lookat(0.0, 0.0, 1.0)
        self.up(0.0, 1.0, 0.0)
        self._last_mouse: tuple[float, float] | None = None
        self._last_time: float | None = None

    def position(self, x: float, y: float, z: float) -> None:
        """Puts the camera there."""
        self.curr_position = data.vector3("camera.position", (x, y, z))

    def lookat(self, x: float, y: float, z: float) -> None:
        """The point in the middle of the picture."""
        self.curr_lookat = data.vector3("camera.lookat", (x, y, z))

    def up(self, x: float, y: float, z: float) -> None:
        """The direction that is up in the picture."""
        self.curr_up = data.vector3("camera.up", (x, y, z))

    def projection_mode(self, mode: ProjectionMode | int) -> None:
        """ProjectionMode.Perspective (0) or ProjectionMode.Orthogonal (1)."""
        try:
            self._mode = ProjectionMode(mode)
        except ValueError:
            raise RuntimeValueError_(f"camera.projection_mode: expected a ui.ProjectionMode, got {mode!r}") from None

    def fov(self, fov: float) -> None:
        """How much a perspective camera sees from below to above, in degrees between 0 and 180."""
        value = data.number("camera.fov", fov, above=0)
        if value >= 180:
            raise RuntimeValueError_(f"camera.fov: expected degrees between 0 and 180, got {fov!r}")
        self._fov = value

    def left(self, left: float) -> None:
        """Where an orthogonal camera's picture begins, in units of the scene from its middle."""
        self._left = data.number("camera.left", left)

    def right(self, right: float) -> None:
        """Where an orthogonal camera's picture ends."""
        self._right = data.number("camera.right", right)

    def top(self, top: float) -> None:
        """Where an orthogonal camera's picture ends above."""
        self._top = data.number("camera.top", top)

    def bottom(self, bottom: float) -> None:
        """Where an orthogonal camera's picture begins below."""
        self._bottom = data.number("camera.bottom", bottom)

    def z_near(self, z_near: float) -> None:
        """How far away things begin to be seen; above 0."""
        self._z_near = data.number("camera.z_near", z_near, above=0)

    def z_far(self, z_far: float) -> None:
        """How far away things are seen."""
        self._z_far = data.number("camera.z_far", z_far, above=0)

    def get_view_matrix(self) -> np.ndarray:
        """Points of the scene as the camera sees them: it is at 0 and looks along -z.

        Raises RuntimeValueError_ when position, lookat and up give no picture.
        """
        return self._view().astype(np.float32)

    def get_projection_matrix(self, aspect: float) -> np.ndarray:
        """Points before the camera as places in the picture and depths.

        Args:
            aspect: the picture's width over its height; an orthogonal camera has its own.
        Raises RuntimeValueError_ when the planes are at one place.
        """
        near, far = self._z_near, self._z_far
        if not near < far:
            raise RuntimeValueError_(f"camera: expected z_near before z_far, got {near:g} and {far:g}")
        matrix = np.zeros((4, 4), np.float32)
        if self._mode == ProjectionMode.Perspective:
            scale = 1 / math.tan(math.radians(self._fov) / 2)
            matrix[0, 0], matrix[1, 1] = scale / data.number("camera: aspect", aspect, above=0), scale
            matrix[2, 2], matrix[2, 3], matrix[3, 2] = near / (far - near), -1, near * far / (far - near)
            return matrix
        width, height = self._right - self._left, self._top - self._bottom
        if width == 0 or height == 0:
            raise RuntimeValueError_("camera: expected left and right, top and bottom to differ")
        matrix[0, 0], matrix[3, 0] = 2 / width, -(self._right + self._left) / width
        matrix[1, 1], matrix[3, 1] = 2 / height, -(self._top + self._bottom) / height
        matrix[2, 2], matrix[3, 2], matrix[3, 3] = 1 / (far - near), far / (far - near), 1
        return matrix

    def track_user_inputs(
        self,
        window: Inputs,
        movement_speed: float = 1.0,
        yaw_speed: float = 2.0,
        pitch_speed: float = 2.0,
        hold_key: str | None = None,
    ) -> None:
        """Moves with W, A, S, D, E and Q, and looks where the mouse goes. Call it once a frame.

        Args:
            window: whose keys and mouse.
            movement_speed: units of the scene in a sixtieth of a second.
            yaw_speed, pitch_speed: radians for a mouse that crosses the window, at 60 frames a second.
            hold_key: the mouse counts only while this is held, such as ui.RMB.
        """
        now = time.perf_counter()
        frames = 0.0 if self._last_time is None else (now - self._last_time) * 60
        self._last_time = now
        front = _unit(self.curr_lookat - self.curr_position)
        left = np.cross(self.curr_up, front)
        moved = np.zeros(3)
        for key, direction in zip("wsadeq", (front, -front, left, -left, self.curr_up, -self.curr_up)):
            if window.is_pressed(key):
                moved += direction * movement_speed * frames
        mouse = window.get_cursor_pos()
        if hold_key is None or window.is_pressed(hold_key):
            x, y = self._last_mouse or mouse
            yaw = math.atan2(front[0], front[2]) - (mouse[0] - x) * yaw_speed * frames
            pitch = math.asin(max(-1.0, min(1.0, front[1]))) + (mouse[1] - y) * pitch_speed * frames
            pitch = max(-0.99 * math.pi / 2, min(0.99 * math.pi / 2, pitch))
            front = np.array([math.sin(yaw) * math.cos(pitch), math.sin(pitch), math.cos(yaw) * math.cos(pitch)])
        self._last_mouse = mouse
        self.position(*(self.curr_position + moved))
        self.lookat(*(self.curr_position + front))

    def _view(self) -> np.ndarray:
        front = _unit(self.curr_lookat - self.curr_position)
        right = np.cross(front, self.curr_up)
        if not np.linalg.norm(right) > 1e-12:
            raise RuntimeValueError_("camera: expected up to be another direction than the one it looks in")
        right = _unit(right)
        matrix = np.eye(4)
        matrix[:3, 0], matrix[:3, 1], matrix[:3, 2] = right, np.cross(right, front), -front
        matrix[3, :3] = -self.curr_position @ matrix[:3, :3]
        return matrix


def make_camera() -> Camera:
    """A new `Camera`."""
    return Camera()


def _unit(vector: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vector)
    if not length > 0:
        raise RuntimeValueError_("camera: expected lookat to be another point than position")
    return vector / length
