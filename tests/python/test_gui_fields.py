"""Fields and ndarrays go into mt.GUI and mt.imwrite as they are; torch tensors too, where torch is installed."""

import numpy as np
import pytest
import seeded

import metate as mt

pytest.importorskip("pygame", reason="pygame-ce is not installed")


@pytest.fixture
def gui():
    with mt.GUI("test", (24, 16), show_gui=False) as made:
        yield made


@mt.kernel
def paint(image: mt.template()):
    for x, y in image:
        image[x, y] = mt.cast(x * 16 + y, mt.f32) / 383


def test_a_scalar_field_is_grey(gui):
    field = mt.field(mt.f32, shape=(24, 16))
    paint(field)
    gui.set_image(field)
    expected = np.arange(24 * 16).reshape(24, 16) / 383
    np.testing.assert_allclose(gui.get_image()[..., 0], expected, atol=0.5 / 255 + 1e-6)


@pytest.mark.parametrize("make", [mt.Vector.field, mt.Vector.ndarray], ids=["field", "ndarray"])
@pytest.mark.parametrize("dtype", [mt.f32, mt.u8])
def test_vectors_are_channels(gui, make, dtype, tmp_path):
    image = seeded.generator("test_vectors_are_channels").integers(0, 256, (24, 16, 3))
    made = make(3, dtype, shape=(24, 16))
    made.from_numpy((image / 255).astype(np.float32) if dtype is mt.f32 else image.astype(np.uint8))
    gui.set_image(made)
    np.testing.assert_array_equal((gui.get_image()[..., :3] * 255).round(), image)
    mt.imwrite(made, tmp_path / "x.png")
    np.testing.assert_array_equal(mt.imread(tmp_path / "x.png"), image)


def test_points_and_palette_indices_are_fields(gui):
    points = mt.Vector.field(2, mt.f32, shape=3)
    material = mt.field(mt.i32, shape=3)
    points.from_numpy(np.array([[0.1, 0.5], [0.5, 0.5], [0.9, 0.5]], np.float32))
    material.from_numpy(np.array([2, 0, 1], np.int32))
    gui.circles(points, radius=1.5, palette=[0xFF0000, 0x00FF00, 0x0000FF], palette_indices=material)
    colors = [(gui.get_image()[int(x * 24), 8, :3] * 255).astype(int).tolist() for x in (0.1, 0.5, 0.9)]
    assert colors == [[0, 0, 255], [255, 0, 0], [0, 255, 0]]


def test_a_torch_tensor_is_taken(gui):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    gui.set_image(torch.ones(24, 16, requires_grad=True))
    assert gui.get_image().min() == 1
