"""mt.ui.Window off-screen, in two dimensions: what each call of the canvas does to the pixels, and which way is up."""

import sys
import types

import numpy as np
import pytest
import seeded
from ui_windows import color_at, picture, window

import metate as mt

RED, GREEN, BLUE, BLACK = (255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 0, 0)


def field_of(values, dtype=mt.f32):
    values = np.asarray(values)
    made = mt.Vector.field(values.shape[-1], dtype, shape=values.shape[:-1])
    made.from_numpy(values)
    return made


def test_an_image_is_shown_pixel_by_pixel():
    pixels = seeded.generator("test_an_image_is_shown_pixel_by_pixel").integers(0, 256, (64, 48, 3)).astype(np.uint8)
    with window() as made:
        canvas = made.get_canvas()
        canvas.set_image(pixels)
        np.testing.assert_array_equal(picture(made), pixels)
        buffer = made.get_image_buffer_as_numpy()
        assert buffer.shape == (64, 48, 4) and buffer.dtype == np.float32 and (buffer[..., 3] == 1).all()
        made.show()
        canvas.set_image(field_of(pixels / np.float32(255)))
        np.testing.assert_array_equal(picture(made), pixels)
        made.show()
        grey = mt.field(mt.f32, shape=(64, 48))
        grey.from_numpy(pixels[..., 0] / np.float32(255))
        canvas.set_image(grey)
        np.testing.assert_array_equal(picture(made), np.repeat(pixels[..., :1], 3, axis=2))


def test_the_first_axis_goes_right_and_the_second_one_up(tmp_path):
    pixels = np.zeros((64, 48, 4), np.uint8)
    pixels[60:, :4] = 255, 0, 0, 255  # lower right
    pixels[:4, 44:] = 0, 255, 0, 255  # upper left
    with window() as made:
        made.get_canvas().set_image(pixels)
        assert color_at(made, 0.99, 0.01) == RED and color_at(made, 0.01, 0.99) == GREEN
        made.save_image(tmp_path / "picture.png")
    from PIL import Image

    with Image.open(tmp_path / "picture.png") as file:
        assert file.size == (64, 48) and file.getpixel((63, 47)) == RED and file.getpixel((0, 0)) == GREEN
    np.testing.assert_array_equal(mt.imread(tmp_path / "picture.png"), pixels[..., :3])


def test_an_image_of_another_size_is_scaled():
    pixels = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]], np.uint8)
    with window() as made:
        made.get_canvas().set_image(pixels)
        corners = [color_at(made, *at) for at in ((0.01, 0.01), (0.01, 0.99), (0.99, 0.01), (0.99, 0.99))]
        assert corners == [RED, GREEN, BLUE, (255, 255, 255)]
        assert color_at(made, 0.5, 0.01)[0] == pytest.approx(126, abs=3)  # between red and blue


@pytest.mark.parametrize(
    "make", [np.asarray, field_of, lambda v: field_of(v, mt.f64), np.ndarray.tolist], ids="numpy f32 f64 lists".split()
)
def test_circles_have_their_places_colours_and_radii(make):
    at, colors = np.array([[0.25, 0.25], [0.75, 0.7]]), np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    with window(160, 120) as made:
        made.get_canvas().circles(make(at), radius=0.1, per_vertex_color=make(colors), per_vertex_radius=np.array([0.05, 0.2]))
        assert color_at(made, 0.25, 0.25) == RED and color_at(made, 0.75, 0.7) == GREEN
        shown = picture(made)
        for channel, radius, (x, y) in ((0, 0.05 * 120, at[0]), (1, 0.2 * 120, at[1])):
            inside = np.argwhere(shown[..., channel] == 255)
            assert len(inside) == pytest.approx(np.pi * radius**2, rel=0.03)
            assert inside.mean(axis=0) + 0.5 == pytest.approx((x * 160, y * 120), abs=0.6)


def test_lines_are_as_wide_as_they_say():
    ends = np.array([[0.25, 0.5], [0.75, 0.5], [0.5, 0.1], [0.5, 0.9]], np.float32)
    with window(100, 100) as made:
        made.get_canvas().lines(ends, width=0.06, indices=np.array([0, 1], np.int32), color=(0, 1, 0))
        lit = picture(made)[..., 1] == 255
        assert lit[25:75, 47:53].all() and lit.sum() == 50 * 6
        made.show()
        made.get_canvas().lines(ends, width=0.02, per_vertex_color=np.array([RED, BLUE, GREEN, GREEN], np.uint8))
        shown = picture(made).astype(int)
        assert shown[26, 50, 0] > 245 and shown[73, 50, 2] > 240 and tuple(shown[50, 20]) == GREEN
        np.testing.assert_allclose(shown[26:48, 50, 0] + shown[26:48, 50, 2], 255, atol=1)


def test_triangles_mix_their_corners_colours():
    corners = np.array([[0.1, 0.1], [0.9, 0.1], [0.5, 0.9]])
    with window(80, 80) as made:
        made.get_canvas().triangles(corners.astype(np.float32), per_vertex_color=np.eye(3, dtype=np.float32))
        shown = picture(made)
    x, y = np.meshgrid((np.arange(80) + 0.5) / 80, (np.arange(80) + 0.5) / 80, indexing="ij")
    weights = np.stack([x, y, np.ones_like(x)], -1) @ np.linalg.inv(np.c_[corners, np.ones(3)])
    inside = (weights > 0.01).all(axis=-1)
    np.testing.assert_allclose(shown[inside], weights[inside] * 255, atol=1.5)
    assert (shown[(weights < -0.01).any(axis=-1)] == 0).all()


def test_later_calls_cover_earlier_ones_and_the_background_is_behind_all():
    middle = np.array([[0.5, 0.5]], np.float32)
    with window(40, 40) as made:
        canvas = made.get_canvas()
        canvas.circles(middle, 0.4, color=(1, 0, 0))
        canvas.triangles(
            np.array([[0.4, 0.4], [0.6, 0.4], [0.5, 0.6]], np.float32), indices=np.array([0, 1, 2], np.uint32), color=(0, 1, 0)
        )
        canvas.set_background_color((0.0, 0.0, 1.0))
        assert [color_at(made, 0.5, 0.5), color_at(made, 0.2, 0.5), color_at(made, 0.02, 0.02)] == [GREEN, RED, BLUE]


def test_a_frame_begins_with_the_background_and_stays_readable_after_show():
    middle = np.array([[0.5, 0.5]], np.float32)
    with window(40, 40) as made:
        canvas = made.get_canvas()
        canvas.circles(middle, 0.2, color=(1, 0, 0))
        assert color_at(made, 0.5, 0.5) == RED  # before show ...
        made.show()
        assert color_at(made, 0.5, 0.5) == RED and made.frame == 1  # ... and after it
        canvas.circles(np.array([[0.1, 0.1]], np.float32), 0.1, color=(0, 1, 0))
        assert color_at(made, 0.5, 0.5) == BLACK and color_at(made, 0.1, 0.1) == GREEN
        made.show()
        made.show()
        assert not picture(made).any()


def test_a_call_keeps_the_values_that_its_data_had():
    pixels, at, colors = (
        np.full((8, 8, 3), 255, np.uint8),
        np.array([[0.5, 0.5]], np.float32),
        np.array([[1, 0, 0, 1]], np.float32),
    )
    with window(8, 8) as made:
        for _ in range(2):
            made.get_canvas().set_image(pixels)
            made.get_canvas().circles(at, 0.2, per_vertex_color=colors)
            at[:], colors[:], before = 0, 0, int(pixels[0, 0, 0])
            pixels[:] = 7
            assert color_at(made, 0.5, 0.5) == RED and color_at(made, 0.1, 0.9) == (before,) * 3
            made.show()
            at[:], colors[:] = 0.5, (1, 0, 0, 1)


def test_vector_fields_are_arrows_of_at_most_the_scale():
    vectors = np.zeros((21, 21, 2), np.float32)
    vectors[..., 0] = 1
    vectors[10, 10] = 0, -2
    with window(200, 200) as made:
        made.get_canvas().set_background_color((1, 1, 1))
        made.get_canvas().vector_field(vectors, arrow_spacing=10, scale=0.2, width=0.02)
        dark = picture(made)[..., 0] == 0
        assert dark[100, 62:98].all() and not dark[100, 101:115].any()  # the longest one, down
        assert dark[2:18, 100].all() and not dark[22:90, 100].any()  # half of it, to the right


def test_contours_use_matplotlibs_maps(monkeypatch):
    with window(4, 4) as made:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(mt.MetateError, match=r"canvas.contour: expected Matplotlib to be installed.*pip install matplotlib"):
            made.get_canvas().contour(np.zeros((4, 4)))
        fake = types.ModuleType("matplotlib")
        fake.colormaps = {"grey": lambda v: np.repeat(np.clip(v, 0, 1)[..., None], 4, axis=-1)}
        monkeypatch.setitem(sys.modules, "matplotlib", fake)
        made.get_canvas().contour(np.arange(16.0).reshape(4, 4), "grey", normalize=True)
        np.testing.assert_array_equal(picture(made)[..., 0], (np.arange(16).reshape(4, 4) * 17).astype(np.uint8))


def test_nothing_is_drawn_of_nothing():
    with window(8, 8) as made:
        made.get_canvas().circles(np.zeros((0, 2), np.float32), 0.1)
        made.get_canvas().lines(np.zeros((0, 2), np.float32), 0.1)
        assert not picture(made).any()


def points(n, size=2, dtype=np.float32):
    return np.zeros((n, size), dtype)


WRONG = {
    "size": (
        lambda c: c.circles(points(3, 4), 0.1),
        r"canvas.circles: centers: expected vectors of 2 or 3 components.*got \(3, 4\)",
    ),
    "rank": (lambda c: c.circles(np.zeros(3, np.float32), 0.1), r"canvas.circles: centers: expected vectors.*got \(3,\)"),
    "whole": (lambda c: c.circles(points(3, 2, np.int32), 0.1), "canvas.circles: centers: expected vectors of floats, got int32"),
    "kind": (lambda c: c.circles("here", 0.1), "canvas.circles: centers: expected a field, an array or numbers, got str"),
    "radius": (lambda c: c.circles(points(3), "big"), "canvas.circles: radius: expected a number, got 'big'"),
    "nan": (lambda c: c.circles(points(3), np.nan), "canvas.circles: radius: expected a finite number, got nan"),
    "radii": (
        lambda c: c.circles(points(3), 1, per_vertex_radius=np.zeros(2)),
        r"per_vertex_radius: expected one number for each of 3 vertices, got shape \(2,\)",
    ),
    "color": (
        lambda c: c.circles(points(3), 1, color=(1, 0)),
        r"canvas.circles: color: expected red, green and blue.*got \(1, 0\)",
    ),
    "colors": (
        lambda c: c.circles(points(3), 1, per_vertex_color=np.zeros((2, 3))),
        "canvas.circles: per_vertex_color: expected one colour for each of 3 vertices, got 2",
    ),
    "colors' type": (
        lambda c: c.circles(points(3), 1, per_vertex_color=np.zeros((3, 3), np.int32)),
        "canvas.circles: per_vertex_color: expected vectors of floats, got int32",
    ),
    "odd": (lambda c: c.lines(points(3), 0.1), "canvas.lines: vertices: expected an even number without indices, got 3"),
    "odd indices": (
        lambda c: c.lines(points(3), 0.1, np.arange(3)),
        "canvas.lines: indices: expected a multiple of 2 indices, got 3",
    ),
    "outside": (
        lambda c: c.lines(points(3), 0.1, np.array([0, 3])),
        "canvas.lines: indices: expected indices of 3 vertices, got 3",
    ),
    "negative": (
        lambda c: c.triangles(points(3), indices=np.array([0, 1, -2])),
        "indices: expected indices of 3 vertices, got -2",
    ),
    "float indices": (
        lambda c: c.triangles(points(3), indices=np.zeros(3)),
        "indices: expected integers such as i32, got float64",
    ),
    "corners": (lambda c: c.triangles(points(4)), "canvas.triangles: vertices: expected a multiple of 3 without indices, got 4"),
    "image": (lambda c: c.set_image(np.zeros((4, 4, 5), np.float32)), r"canvas.set_image: img: expected shape.*got \(4, 4, 5\)"),
    "no pixels": (
        lambda c: c.set_image(np.zeros((0, 4), np.float32)),
        r"img: expected a picture with pixels, got shape \(0, 4\)",
    ),
    "arrows": (
        lambda c: c.vector_field(points(3)),
        "canvas.vector_field: vector_field: expected shape .width, height. of vectors",
    ),
    "spacing": (lambda c: c.vector_field(np.zeros((3, 3, 2)), 0), "arrow_spacing: expected at least 1, got 0"),
    "contour": (lambda c: c.contour(np.zeros(3)), "canvas.contour: scalar_field: expected two dimensions"),
    "scene": (lambda c: c.scene(3), "canvas.scene: scene: expected a ui.Scene, got int"),
}


@pytest.fixture(scope="module")
def canvas():
    with window(8, 8) as made:
        yield made.get_canvas()


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_say_what_was_expected(case, canvas):
    call, message = WRONG[case]
    with pytest.raises(mt.MetateError, match=message):
        call(canvas)
