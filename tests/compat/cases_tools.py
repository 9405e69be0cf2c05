"""Windows and pictures, off-screen, as a Taichi user draws and writes them."""

import os
import tempfile

import numpy as np


class Picture:
    """What is drawn, as 0 and 1 for each colour of each pixel."""

    @staticmethod
    def of(ti, draw):
        gui = ti.GUI("case", (32, 24), show_gui=False)
        draw(gui)
        return (gui.get_image()[..., :3] > 0.5).astype(np.int32)


def circles_of_small_radii(ti):
    at = np.array([[8, 6], [24, 6], [8, 18], [24, 18]], np.float32) / np.array([32, 24], np.float32)
    sizes = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    colors = np.array([0xFF0000, 0x00FF00, 0x0000FF, 0xFFFFFF], np.uint32)
    return Picture.of(ti, lambda gui: gui.circles(at, radius=sizes, color=colors))


def circles_of_a_palette(ti):
    at = np.array([[0.25, 0.5], [0.5, 0.5], [0.75, 0.5]], np.float32)
    return Picture.of(ti, lambda gui: gui.circles(at, radius=2, palette=[0xFF0000, 0x0000FF], palette_indices=[1, 0, 1]))


def a_circle(ti):
    return Picture.of(ti, lambda gui: gui.circle((0.5, 0.5), color=0xFF00FF, radius=8))


def a_background(ti):
    gui = ti.GUI("case", 4, background_color=0x336699, show_gui=False)
    return (gui.get_image()[..., :3] * 255).round()


def an_image_of_floats(ti):
    gui = ti.GUI("case", (4, 3), show_gui=False)
    gui.set_image(np.array([[0.0, 0.5, 1.0], [2.0, -1.0, 0.25], [0.1, 0.2, 0.3], [0.9, 0.8, 0.7]], np.float32))
    return (gui.get_image()[..., :3] * 255).clip(0, 255).round(-1)


def an_image_of_bytes(ti):
    gui = ti.GUI("case", (4, 3), show_gui=False)
    gui.set_image(np.arange(36, dtype=np.uint8).reshape(4, 3, 3) * 7)
    return (gui.get_image()[..., :3] * 255).round().astype(np.int32)


def an_image_of_a_field(ti):
    pixels = ti.Vector.field(3, ti.f32, shape=(5, 4))

    @ti.kernel
    def paint():
        for i, j in pixels:
            pixels[i, j] = ti.Vector([i / 5, j / 4, 1.0])

    paint()
    gui = ti.GUI("case", (5, 4), show_gui=False)
    gui.set_image(pixels)
    return (gui.get_image()[..., :3] * 20).round()


def names_of_keys(ti):
    gui = ti.GUI
    names = "SHIFT ALT CTRL ESCAPE RETURN TAB BACKSPACE SPACE UP DOWN LEFT RIGHT CAPSLOCK LMB MMB RMB EXIT WHEEL MOVE"
    return [getattr(gui, name) for name in names.split()]


def a_widget_and_a_button(ti):
    gui = ti.GUI("case", 64, show_gui=False)
    slider = gui.slider("speed", 2, 10)
    before = slider.value
    slider.value = 5
    return [before, slider.value, gui.button("Start"), gui.button("Stop", event_name="halt"), gui.label("energy").value]


def resized(ti):
    image = (np.arange(5 * 7) * 5).astype(np.uint8).reshape(5, 7)
    return [ti.tools.imresize(image, 10, 14), ti.tools.imresize(image, 3, 4), ti.tools.imresize(image, 5)]


def written_and_read(ti):
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for shape in ((6, 4), (6, 4, 1), (6, 4, 3), (6, 4, 4)):
            image = (np.arange(np.prod(shape)) * 3 % 256).astype(np.uint8).reshape(shape)
            file = os.path.join(folder, f"{len(shape)}{shape[-1]}.png")
            ti.tools.imwrite(image, file)
            found.append(ti.tools.imread(file))
    return found
