"""mt.ui.Window: events, controls, frames and windows. SDL's dummy driver makes the windows, and nobody sees them."""

import gc
import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pygame
import pytest
from ui_windows import color_at, picture, window

import metate as mt
from metate.ui import libraries
from metate.ui.ggui import device

MIDDLE = np.array([[0.5, 0.5]], np.float32)


@pytest.fixture
def made():
    with window(240, 240) as one:
        pygame.event.clear()
        yield one


def post(kind, **values):
    pygame.event.post(pygame.event.Event(getattr(pygame, kind), **values))


def press(x, y, down=True, button=1):
    post("MOUSEMOTION", pos=(x, y), rel=(0, 0), buttons=(0, 0, 0))
    post("MOUSEBUTTONDOWN" if down else "MOUSEBUTTONUP", pos=(x, y), button=button)


def test_keys_and_buttons_are_events_and_states(made):
    for key in (pygame.K_a, pygame.K_CAPSLOCK, pygame.K_LSHIFT):
        post("KEYDOWN", key=key)
    post("KEYUP", key=pygame.K_a)
    press(50, 40, button=3)
    assert made.is_pressed("b", mt.ui.SHIFT) and made.is_pressed(mt.ui.RMB) and not made.is_pressed("a", mt.ui.LMB)
    assert made.get_cursor_pos() == pytest.approx((50.5 / 240, 1 - 40.5 / 240))
    assert [one.key for one in made.get_events(mt.ui.PRESS)] == ["a", mt.ui.CAPSLOCK, mt.ui.SHIFT, mt.ui.RMB]
    assert made.get_event(mt.ui.RELEASE) and (made.event.key, made.event.type) == ("a", mt.ui.RELEASE)
    assert not made.get_event() and made.get_events() == []


def test_one_event_at_a_time(made):
    post("KEYDOWN", key=pygame.K_ESCAPE)
    post("KEYDOWN", key=pygame.K_r)
    seen = []
    while made.get_event(mt.ui.PRESS):
        seen.append(made.event.key)
    assert seen == [mt.ui.ESCAPE, "r"]
    assert made.running  # Escape is the program's
    post("WINDOWCLOSE")
    assert not made.running
    made.running = True
    assert made.running


def frame(gui):
    """A frame with one of each; what they gave, and where they are."""
    found, at = {}, {}

    def note(name, value):
        low, high = gui._library.get_item_rect_min(), gui._library.get_item_rect_max()
        found[name], at[name] = value, ((low[0] + high[0]) / 2, (low[1] + high[1]) / 2)

    with gui.sub_window("Options", 0, 0, 1, 1) as same:
        assert same is gui
        gui.text("a line")
        gui.text("a red one", color=(1, 0, 0))
        note("checkbox", gui.checkbox("check", False))
        note("int", gui.slider_int("int", 3, 0, 10))
        note("float", gui.slider_float("float", 0.1, 0.0, 1.0))
        note("color", gui.color_edit_3("color", (0.1, 0.5, 1.0)))
        note("button", gui.button("press me"))
    gui._window.show()
    return found, at


def test_controls_keep_their_values_until_they_are_used(made):
    gui = made.get_gui()
    assert made.GUI is gui
    found, at = frame(gui)
    assert found == {"checkbox": False, "int": 3, "float": 0.1, "color": (0.1, 0.5, 1.0), "button": False}
    for name, changed in (("checkbox", True), ("int", 4), ("float", 0.37), ("button", True)):
        press(*at[name])
        results = [frame(gui)[0][name], frame(gui)[0][name]]
        press(*at[name], down=False)
        results += [frame(gui)[0][name] for _ in range(3)]
        assert any(one != found[name] for one in results), name
        assert results[-1] == found[name]  # the program did not take the value
        if name in ("checkbox", "button"):
            assert changed in results
    assert {one.key for one in made.get_events()} == {mt.ui.LMB}


def test_sliders_follow_the_mouse(made):
    gui, value = made.get_gui(), 0.0

    def once(value):
        with gui.sub_window("s", 0, 0, 1, 1):
            value = gui.slider_float("s", value, 0.0, 1.0)
            low, high = gui._library.get_item_rect_min(), gui._library.get_item_rect_max()
        made.show()
        return value, low, high

    value, low, high = once(value)
    right, y = low[0] + 0.65 * 240 - 12, (low[1] + high[1]) / 2  # a slider takes 65 % of its window, less its frame
    press(low[0] + 8, y)
    value = once(once(value)[0])[0]
    assert value < 0.1
    post("MOUSEMOTION", pos=(right + 30, y), rel=(0, 0), buttons=(1, 0, 0))
    value = once(once(value)[0])[0]
    assert value == 1.0


def test_controls_lie_over_the_picture_of_their_frame(made):
    made.get_canvas().set_background_color((0, 0, 1))
    with made.get_gui().sub_window("box", 0.5, 0.5, 0.4, 0.4):
        pass
    assert color_at(made, 0.2, 0.8) == (0, 0, 255) and color_at(made, 0.7, 0.2)[2] < 60  # from the upper left corner
    made.show()
    assert color_at(made, 0.7, 0.2)[2] < 60
    made.show()
    assert color_at(made, 0.7, 0.2) == (0, 0, 255)


def test_two_windows_have_pictures_and_controls_of_their_own(made):
    with window(40, 40) as other:
        other.get_gui().begin("box", 0, 0, 1, 1)
        made.get_canvas().set_background_color((1, 0, 0))
        made.get_gui().begin("box", 0, 0, 0.5, 1)
        made.get_gui().end()
        other.get_gui().end()
        assert color_at(made, 0.9, 0.5) == (255, 0, 0) and color_at(other, 0.9, 0.5)[0] < 30 and picture(other).any()


def test_windows_show_the_picture_and_follow_their_size(made, monkeypatch):
    monkeypatch.setattr(libraries, "shows_windows", lambda library: True)
    real = mt.ui.Window("real", (64, 48), fps_limit=50, pos=(10, 10), vsync=True)
    canvas = real.get_canvas()
    canvas.circles(np.array([[0.25, 0.75]], np.float32), 0.2, color=(1, 0.5, 0))
    real.show()
    shown = real._window.get_surface()
    assert tuple(shown.get_at((16, 12)))[:3] == (255, 128, 0) and tuple(shown.get_at((16, 36)))[:3] == (0, 0, 0)
    started = time.perf_counter()
    for _ in range(4):
        real.show()
    assert time.perf_counter() - started > 0.06
    real._window.size = (100, 30)
    real.show()
    assert real.get_window_shape() == (100, 30) and real.get_image_buffer_as_numpy().shape == (100, 30, 4)
    real.destroy()
    assert not real.running


@pytest.fixture
def display():
    """The name of an X display that nobody sees, such as :99."""
    program = shutil.which("Xvfb")
    if program is None:
        pytest.skip("Xvfb is not installed")
    read, write = os.pipe()
    options = ["-displayfd", str(write), "-screen", "0", "400x300x24", "-nolisten", "tcp"]
    server = subprocess.Popen([program, *options], pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        with os.fdopen(read) as file:
            number = file.readline().strip()
        assert number, "Xvfb did not start"
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()


def test_a_display_shows_the_window(display):
    """Two windows of one program; what is on the screen is taken by another way than it came there."""
    program = """
import time
import numpy as np
from PIL import ImageGrab
import metate as mt

first = mt.ui.Window("first", (64, 48), pos=(20, 30))
second = mt.ui.Window("second", (40, 40), pos=(200, 100))
assert first._window is not None
at = np.array([[0.25, 0.75]], np.float32)
for _ in range(100):
    first.get_canvas().circles(at, 0.2, color=(1, 0.5, 0))
    first.show()
    second.get_canvas().set_background_color((0, 0, 1))
    second.show()
    screen = ImageGrab.grab(xdisplay="")
    seen = [screen.getpixel(p)[:3] for p in ((20 + 16, 30 + 12), (20 + 16, 30 + 36), (220, 120))]
    if seen == [(255, 128, 0), (0, 0, 0), (0, 0, 255)]:
        break
    time.sleep(0.02)
print(seen)
"""
    environment = {**os.environ, "DISPLAY": display}
    environment.pop("SDL_VIDEODRIVER", None)
    result = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert result.stdout.strip() == "[(255, 128, 0), (0, 0, 0), (0, 0, 255)]", result.stdout + result.stderr


def test_frames_end_when_the_environment_says_so(made, monkeypatch):
    monkeypatch.setenv("METATE_GUI_FRAMES", "2")
    with window(8, 8) as short:
        while short.running:
            short.show()
        assert short.frame == 2
        with pytest.raises(SystemExit):
            short.show()


def test_windows_that_are_dropped_give_their_memory_back(made):
    mt.ui.Window("dropped", 8, show_window=False).get_canvas().circles(MIDDLE, 0.1)
    gc.collect()
    assert (8, 8) in [left.size for left in device._LEFT]  # other tests' windows may be there as well
    assert not picture(made).any()  # a context that is in use is not disturbed
    with window(8, 8):
        assert device._LEFT == []


def test_what_is_missing_is_named():
    program = """
import sys
import metate as mt
for absent in ("slimgui", "moderngl", "pygame"):
    sys.modules[absent] = None
    try:
        mt.ui.Window("x", 8, show_window=False).get_gui()
    except mt.MetateError as error:
        print(error)
    del sys.modules[absent]
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    lines = result.stdout.splitlines()
    assert len(lines) == 3
    for line, what in zip(lines, ("slimgui", "moderngl", "pygame-ce")):
        assert f"expected {what} to be installed" in line and "pip install 'metate[gui]'" in line


def after_destroy():
    with window(8, 8) as one:
        pass
    one.show()


def unbalanced():
    with window(8, 8) as one:
        one.get_gui().begin("x", 0, 0, 1, 1)
        one.show()


WRONG = {
    "res": (lambda w: mt.ui.Window("x", (10, 0)), r"ui.Window: res: expected width and height of at least 1, got \(10, 0\)"),
    "res kind": (lambda w: mt.ui.Window("x", (10, 1.5)), r"ui.Window: res: expected width and height in pixels, got \(10, 1.5\)"),
    "huge": (lambda w: mt.ui.Window("x", 1 << 20), "ui.Window: res: expected at most"),
    "pos": (lambda w: mt.ui.Window("x", 8, pos=3), "ui.Window: pos: expected x and y in pixels, got 3"),
    "fps": (lambda w: mt.ui.Window("x", 8, fps_limit=0), "ui.Window: fps_limit: expected frames a second, at least 1, got 0"),
    "tag": (lambda w: w.get_event("a"), "tag: expected ui.PRESS, ui.RELEASE or None, got 'a'"),
    "depth": (lambda w: w.get_depth_buffer(np.zeros((3, 3))), r"get_depth_buffer: depth: expected shape \(8, 8\), got \(3, 3\)"),
    "after destroy": (lambda w: after_destroy(), "expected a window that is open, got one after"),
    "no end": (lambda w: unbalanced(), "gui: expected gui.end.. for each gui.begin.. before the frame ends, got 1 without"),
    "no begin": (lambda w: w.get_gui().end(), "gui.end: expected a gui.begin before it"),
    "no name": (lambda w: w.get_gui().begin("", 0, 0, 1, 1), "gui.begin: name: expected a string that is not empty, got ''"),
    "place": (lambda w: w.get_gui().begin("x", "left", 0, 1, 1), "gui.begin: x: expected a number, got 'left'"),
    "whole": (lambda w: w.get_gui().slider_int("x", 0.5, 0, 1), "gui.slider_int: old_value: expected an integer, got 0.5"),
    "large": (lambda w: w.get_gui().slider_int("x", 0, 0, 1 << 40), r"gui.slider_int: maximum: expected -2\*\*30 to 2\*\*30"),
    "number": (lambda w: w.get_gui().slider_float("x", None, 0, 1), "gui.slider_float: old_value: expected a number, got None"),
    "color": (lambda w: w.get_gui().color_edit_3("x", (1, 2)), "gui.color_edit_3: old_value: expected three finite numbers"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_say_what_was_expected(case):
    call, message = WRONG[case]
    with window(8, 8) as one, pytest.raises(mt.MetateError, match=message):
        call(one)
