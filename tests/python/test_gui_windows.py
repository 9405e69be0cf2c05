"""mt.GUI with windows: SDL's dummy driver makes them, and nobody sees them. What a display would show is in their surfaces."""

import time

import pytest

import metate as mt
from metate.ui import libraries

pygame = pytest.importorskip("pygame", reason="pygame-ce is not installed")


@pytest.fixture
def make(monkeypatch):
    """GUIs that open windows whether or not there is a display."""
    libraries.pygame()
    monkeypatch.setattr(libraries, "shows_windows", lambda library: True)
    pygame.event.clear()
    made = []

    def make_window(*arguments, **options):
        made.append(mt.GUI(*arguments, **options))
        return made[-1]

    yield make_window
    for gui in made:
        gui.close()


def test_the_window_shows_the_picture(make):
    gui = make("test", (64, 48))
    gui.circle((0.25, 0.75), 0xFF8000, 6)
    gui.show()
    shown = gui._window.get_surface()
    assert tuple(shown.get_at((16, 12)))[:3] == (0xFF, 0x80, 0x00)
    assert tuple(shown.get_at((16, 36)))[:3] == (0, 0, 0)


def test_a_picture_is_scaled_to_the_screen(make):
    gui = make("test", (20, 20), fullscreen=True)
    width, height = gui._window.size
    assert (width, height) != (20, 20)
    gui.clear(0x00FF00)
    gui.show()
    assert tuple(gui._window.get_surface().get_at((width - 1, height - 1)))[:3] == (0, 255, 0)


def test_each_window_gets_its_own_events(make):
    first, second = make("first", 32), make("second", 32)
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_a, window=second._window))
    assert not first.get_event(first.PRESS)
    assert second.get_event((second.PRESS, "a"))
    pygame.event.post(pygame.event.Event(pygame.WINDOWCLOSE, window=first._window))
    assert second.running and not first.running


def test_frames_come_at_their_pace(make):
    gui = make("test", 16)
    gui.fps_limit = 50
    gui.show()
    started = time.perf_counter()
    for _ in range(5):
        gui.show()
    assert time.perf_counter() - started > 0.08
    gui.fps_limit = None
    assert gui.fps_limit is None


def test_imshow_goes_on_until_escape(make, monkeypatch):
    import numpy as np

    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_ESCAPE))
    mt.imshow(np.zeros((8, 8)))
    monkeypatch.setenv("METATE_GUI_FRAMES", "3")
    mt.imshow(np.zeros((8, 8)))
