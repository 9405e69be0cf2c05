"""Windows of mt.ui without a display, and what their pictures have where. Skips its importers where there is no OpenGL."""

import contextlib

import numpy as np
import pytest

import metate as mt

for library in ("pygame", "moderngl", "slimgui"):
    pytest.importorskip(library, reason=f"{library} is not installed", exc_type=ImportError)


@contextlib.contextmanager
def window(width=64, height=48):
    """A window that is closed afterwards. Skips the test where there is no OpenGL."""
    try:
        made = mt.ui.Window("test", (width, height), show_window=False)
    except mt.MetateError as error:
        if "expected OpenGL" not in str(error):
            raise
        pytest.skip(str(error))
    try:
        yield made
    finally:
        made.destroy()


def picture(made):
    """u8 of shape (width, height, 3), y up."""
    return (made.get_image_buffer_as_numpy()[..., :3] * 255).round().astype(np.uint8)


def color_at(made, x, y):
    """(red, green, blue) of the pixel that (x, y) from 0 to 1 lies in."""
    width, height = made.get_window_shape()
    return tuple(picture(made)[int(x * width), int(y * height)].tolist())


def seen(camera, made, points):
    """Where points of a scene are in the picture, from 0 to 1, and their depth: (n, 3) by NumPy."""
    width, height = made.get_window_shape()
    points = np.atleast_2d(points)
    clip = np.c_[points, np.ones(len(points))] @ camera.get_view_matrix() @ camera.get_projection_matrix(width / height)
    return np.c_[(clip[:, :2] / clip[:, 3:] + 1) / 2, clip[:, 2] / clip[:, 3]]


def camera(position=(0, 0, 3), lookat=(0, 0, 0), **options):
    """A camera; options are calls: fov=60."""
    made = mt.ui.Camera()
    made.position(*position)
    made.lookat(*lookat)
    for name, value in options.items():
        getattr(made, name)(value)
    return made
