"""mt.GUI off-screen: what each shape does to the pixels, and which way is up."""

import subprocess
import sys

import numpy as np
import pytest
import seeded

import metate as mt

pytest.importorskip("pygame", reason="pygame-ce is not installed")


@pytest.fixture
def gui():
    with mt.GUI("test", (160, 120), show_gui=False) as made:
        yield made


def color_at(gui, x, y):
    """0xRRGGBB of the pixel that (x, y) from 0 to 1 lies in."""
    red, green, blue, _ = (gui.get_image()[int(x * gui.res[0]), int(y * gui.res[1])] * 255).round().astype(int)
    return red << 16 | green << 8 | blue


def test_circle_has_its_colour_place_and_size(gui):
    gui.circle((0.25, 0.75), color=0x336699, radius=12)
    assert color_at(gui, 0.25, 0.75) == 0x336699
    assert color_at(gui, 0.25, 0.25) == color_at(gui, 0.75, 0.75) == 0
    covered = (gui.get_image()[..., 2] > 0.3).sum()
    assert covered == pytest.approx(np.pi * 11.5**2, rel=0.03)
    x, y = np.nonzero(gui.get_image()[..., 2] > 0.3)
    assert (x.mean() + 0.5, y.mean() + 0.5) == pytest.approx((0.25 * 160, 0.75 * 120), abs=0.6)


@pytest.mark.parametrize("count, radius", [(5, 1), (5, 4), (300, 1), (300, 2.5), (300, 5)])
def test_circles_each_have_their_own_colour(gui, count, radius):
    grid = np.stack(np.meshgrid(np.arange(20), np.arange(15), indexing="ij"), -1).reshape(-1, 2)[:count]
    at = (grid * 8 + 4.001) / gui.res
    colors = seeded.generator("test_circles_each_have_their_own_colour").integers(1, 1 << 24, count)
    gui.circles(at, radius=min(radius, 3.9), color=colors)
    assert [color_at(gui, *one) for one in at] == colors.tolist()


def test_many_small_circles_equal_a_loop_over_pixels(gui):
    random = seeded.generator("test_many_small_circles_equal_a_loop_over_pixels")
    at = random.uniform(-0.1, 1.1, (400, 2))
    colors = random.integers(1, 1 << 24, 400)
    gui.circles(at, radius=2, color=colors)
    expected = np.zeros(gui.res, int)
    for (x, y), color in zip(np.floor(at * gui.res).astype(int), colors):
        for i in range(-2, 3):
            for j in range(-2, 3):
                if i * i + j * j <= 1.5**2 and 0 <= x + i < 160 and 0 <= y + j < 120:
                    expected[x + i, y + j] = color
    rgb = (gui.get_image()[..., :3] * 255).round().astype(int)
    np.testing.assert_array_equal(rgb[..., 0] << 16 | rgb[..., 1] << 8 | rgb[..., 2], expected)


def test_circles_of_a_palette(gui):
    at = np.array([[0.2, 0.5], [0.5, 0.5], [0.8, 0.5]])
    gui.circles(at, radius=4, palette=[0xFF0000, 0x00FF00], palette_indices=[1, 0, 1])
    assert [color_at(gui, *one) for one in at] == [0x00FF00, 0xFF0000, 0x00FF00]


@pytest.mark.parametrize("radius, pixels", [(1, 1), (1.5, 5), (2, 9), (3, 21)])
def test_small_circles_have_as_many_pixels_as_taichis(gui, radius, pixels):
    gui.circles(np.full((256, 2), 0.5), radius=radius, color=0xFFFFFF)
    assert (gui.get_image()[..., 0] > 0).sum() == pixels
    gui.clear()
    gui.circle((0.5, 0.5), radius=radius, color=0xFFFFFF)
    assert gui.get_image()[80, 60, 0] == 1
    assert gui.get_image()[..., 0].sum() == pytest.approx(np.pi * (radius - 0.5) ** 2, abs=0.6)


def test_a_circle_larger_than_the_window_covers_it(gui):
    gui.circle((0.5, 0.5), 0xFFFFFF, 5000)
    assert gui.get_image().min() == 1


def test_circles_that_are_nowhere_are_left_out(gui):
    gui.circles(np.array([[np.nan, 0.5], [np.inf, 0.5], [1e30, 0.5], [0.5, 0.5]]), radius=3, color=0xFFFFFF)
    gui.lines(np.array([[np.nan, 0.0]]), np.array([[1.0, 1e20]]))
    x, y = np.nonzero(gui.get_image()[..., 0])
    assert len(x) and abs(x - 80).max() <= 4 and abs(y - 60).max() <= 4


def test_line_reaches_both_ends_and_has_its_width(gui):
    gui.line((0.1, 0.2), (0.9, 0.2), radius=3, color=0x00FF00)
    rows = gui.get_image()[80, :, 1]
    assert (rows > 0.5).sum() == 5
    assert np.nonzero(rows > 0.5)[0].mean() + 0.5 == pytest.approx(0.2 * 120, abs=1.01)
    across = np.nonzero(gui.get_image()[:, 23, 1] > 0.5)[0]
    assert (across[0], across[-1]) == pytest.approx((16, 144), abs=1)


def test_lines_have_colours_and_widths_of_their_own(gui):
    begin = np.array([[0.1, 0.2], [0.1, 0.5], [0.1, 0.8]])
    gui.lines(begin, begin + [0.8, 0], radius=[2, 1, 3], color=[0xFF0000, 0x00FF00, 0x0000FF])
    assert [color_at(gui, 0.5, y) for y in (0.2, 0.5, 0.8)] == [0xFF0000, 0x00FF00, 0x0000FF]
    widths = [(gui.get_image()[80, :, k] > 0.5).sum() for k in range(3)]
    assert widths == [3, 1, 5]


def test_triangle_fills_its_area_and_nothing_else(gui):
    gui.triangle((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), color=0xFF0000)
    assert color_at(gui, 0.1, 0.1) == 0xFF0000 and color_at(gui, 0.9, 0.9) == 0
    assert (gui.get_image()[..., 0] > 0).mean() == pytest.approx(0.5, abs=0.02)


def test_triangles_each_have_a_colour(gui):
    a = np.array([[0.1, 0.1], [0.6, 0.6]])
    gui.triangles(a, a + [0.3, 0], a + [0, 0.3], color=np.array([0x0000FF, 0x00FF00]))
    assert (color_at(gui, 0.15, 0.15), color_at(gui, 0.65, 0.65)) == (0x0000FF, 0x00FF00)


def test_rect_is_an_outline(gui):
    gui.rect((0.25, 0.75), (0.75, 0.25), radius=1, color=0xFFFFFF)
    lit = gui.get_image()[..., 0] > 0.5
    assert not lit[80, 60] and not lit[10, 10]
    x, y = np.nonzero(lit)
    assert (x.min(), x.max(), y.min(), y.max()) == pytest.approx((40, 120, 30, 90), abs=2)


def test_text_stands_below_and_right_of_its_place(gui):
    gui.text("Metate\nline", (0.25, 0.75), font_size=20, color=0xFFFF00)
    x, y = np.nonzero(gui.get_image()[..., 0] > 0.5)
    assert len(x) > 50
    assert x.min() >= 40 and y.max() < 90 and y.min() > 90 - 2 * 24
    assert set(np.unique((gui.get_image()[..., 2] * 255).astype(int))) == {0}


def test_arrow_has_a_shaft_and_a_tip(gui):
    gui.arrow((0.2, 0.5), (0.5, 0.0), color=0xFF0000, tip_scale=0.4)
    lit = gui.get_image()[..., 0] > 0.5
    assert lit[36:108, 60].all()
    assert lit[95, 64:].any() and lit[95, :55].any()  # the two lines of the tip, above and below
    assert not lit[50, 65:].any()


def test_fields_of_arrows_and_points_stand_in_the_middle_of_cells(gui):
    gui.point_field(np.array([[4.0, 0.0], [0.0, 4.0]]), color=0xFF0000)
    assert [color_at(gui, x, y) for x, y in ((0.25, 0.25), (0.75, 0.75), (0.25, 0.75))] == [0xFF0000, 0xFF0000, 0]
    gui.clear()
    directions = np.zeros((2, 2, 2))
    directions[1, 0] = (0.1, 0.0)
    gui.arrow_field(directions, color=0x00FF00)
    lit = gui.get_image()[..., 1] > 0.5
    assert lit[122:134, 28:31].any(axis=1).all()


def test_vector_field_scales_to_the_longest(gui):
    vectors = np.zeros((10, 10, 2))
    vectors[5, 5] = (1000.0, 0.0)
    gui.vector_field(vectors, arrow_spacing=5)
    x, _ = np.nonzero(gui.get_image()[..., 0] > 0.5)
    assert x.max() - x.min() > 0.04 * 160


def test_contour_is_stretched_and_normalised_and_has_colours(gui):
    gui.contour(np.array([[2.0, 4.0], [3.0, 6.0]]), normalize=True)
    colors = [(gui.get_image()[x, y, :3] * 255).round().tolist() for x, y in ((0, 0), (0, 119), (159, 0), (159, 119))]
    quarter = [(106 + 143) / 2, 6.5, 166]
    np.testing.assert_allclose(colors, [[13, 8, 135], [204, 71, 120], quarter, [240, 249, 33]], atol=1.01)
    between = gui.get_image()[80, 0, :3] * 255  # 0.125 of the way
    np.testing.assert_allclose(between, [75.25, 3, 159.75], atol=2)


@pytest.mark.parametrize("channels", [(), (1,), (2,), (3,), (4,)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.float32, np.float64])
def test_set_image_is_exact(gui, channels, dtype):
    bytes_ = seeded.generator("test_set_image_is_exact").integers(0, 256, (160, 120, *channels), dtype=np.uint8)
    if np.dtype(dtype).kind == "f":
        image = bytes_.astype(dtype) / 255
    else:
        image = bytes_.astype(dtype) << (8 * (np.dtype(dtype).itemsize - 1))
    gui.set_image(image)
    shown = (gui.get_image() * 255).round().astype(np.uint8)
    expected = np.zeros((160, 120, 3), np.uint8)
    colored = bytes_.reshape(160, 120, -1)
    expected[...] = colored if colored.shape[2] == 1 else np.pad(colored, ((0, 0), (0, 0), (0, 2)))[..., :3]
    np.testing.assert_array_equal(shown[..., :3], expected)
    assert (shown[..., 3] == 255).all()


def test_set_image_clamps_and_takes_booleans(gui):
    image = np.zeros((160, 120), np.float32)
    image[0, 0], image[1, 0], image[2, 0] = 7, -7, np.nan
    gui.set_image(image)
    assert gui.get_image()[:3, 0, 0].tolist() == [1, 0, 0]
    gui.set_image(image > 0)
    assert gui.get_image()[:3, 0, 0].tolist() == [1, 0, 0]
    gui.set_image(np.uint8(image > 0) * np.uint8(9))
    assert gui.get_image()[0, 0, 0] == pytest.approx(9 / 255)


def test_show_writes_the_frame_and_begins_the_next(gui, tmp_path):
    gui.background_color = 0x102030
    gui.clear()
    gui.circle((0.9, 0.9), 0xFF0000, 6)
    gui.show(tmp_path / "frame.png")
    image = mt.imread(tmp_path / "frame.png")
    assert image.shape == (160, 120, 3)
    assert image[144, 108].tolist() == [255, 0, 0] and image[10, 10].tolist() == [0x10, 0x20, 0x30]
    assert gui.frame == 1
    assert color_at(gui, 0.9, 0.9) == 0x102030


WRONG = {
    "res": (lambda: mt.GUI("x", (10, 0)), "res: expected a size in pixels"),
    "background": (lambda: mt.GUI("x", 10, background_color=1 << 24), "background_color: expected a colour such as 0xRRGGBB"),
    "size": (lambda: mt.GUI("x", 10).set_image(np.zeros((10, 11))), r"expected the window's size \(10, 10\), got \(10, 11\)"),
    "rank": (lambda: mt.GUI("x", 10).set_image(np.zeros(10)), r"expected shape \(width, height\) or"),
    "channels": (lambda: mt.GUI("x", 10).set_image(np.zeros((10, 10, 5))), "1 to 4"),
    "signed": (lambda: mt.GUI("x", 10).set_image(np.zeros((10, 10), np.int32)), "floats from 0 to 1 or unsigned integers"),
    "kind": (lambda: mt.GUI("x", 10).set_image("picture.png"), "expected a field, an array or numbers, got str"),
    "points": (lambda: mt.GUI("x", 10).circles(np.zeros((3, 3))), r"pos: expected points of shape \(n, 2\), got \(3, 3\)"),
    "radii": (lambda: mt.GUI("x", 10).circles(np.zeros((3, 2)), radius=[1, 2]), "one for each of 3 points, got 2"),
    "palette": (lambda: mt.GUI("x", 10).circles(np.zeros((1, 2)), palette=[1]), "palette_indices: expected which colour"),
    "index": (lambda: mt.GUI("x", 10).circles(np.zeros((1, 2)), palette=[1], palette_indices=[1]), "expected 0 to 0, got 1"),
    "pairs": (lambda: mt.GUI("x", 10).lines(np.zeros((1, 2)), np.zeros((2, 2))), "equally many points, got 1 and 2"),
    "fps": (lambda: setattr(mt.GUI("x", 10), "fps_limit", 0), "fps_limit: expected frames a second, or None, got 0"),
    "slider": (lambda: mt.GUI("x", 10).slider("s", 1, 1), "slider: expected minimum < maximum"),
    "contour": (lambda: mt.GUI("x", 10).contour(np.zeros(3)), "contour: scalar_field: expected rank 2"),
    "ending": (lambda: mt.imwrite(np.zeros((4, 4)), "picture.unknown"), "expected an ending such as .png"),
    "folder": (lambda: mt.imwrite(np.zeros((4, 4)), "/no/such/folder/x.png"), "expected a file that can be written"),
    "reading": (lambda: mt.imread(__file__), "expected a picture"),
    "size of a copy": (lambda: mt.tools.imresize(np.zeros((4, 4)), 0), "a size of at least 1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_say_what_was_expected(case):
    call, message = WRONG[case]
    with pytest.raises((mt.MetateError, AttributeError), match=message):
        call()


def test_import_loads_no_library_that_draws():
    names = {"pygame", "PIL", "moderngl", "slimgui", "metate.ui.gui", "metate.ui.ggui"}
    code = f"import sys, metate; bad = {names} & set(sys.modules); sys.exit(str(bad) if bad else 0)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("library, call", [("pygame", "mt.GUI('x')"), ("PIL", "mt.imread('x.png')")])
def test_a_library_that_is_missing_is_named(library, call):
    code = f"import sys; sys.modules['{library}'] = None; import metate as mt\ntry: {call}\nexcept ImportError as e: print(e)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "to be installed" in done.stdout and "pip install 'metate[gui]'" in done.stdout
