"""mt.GUI's events and widgets, fed through the library's event queue; frames that end by themselves."""

import pytest

import metate as mt

pygame = pytest.importorskip("pygame", reason="pygame-ce is not installed")


@pytest.fixture
def gui():
    with mt.GUI("test", (200, 100), show_gui=False) as made:
        pygame.event.clear()
        yield made


def post(kind, **values):
    assert pygame.event.post(pygame.event.Event(kind, **values))


def press(key):
    post(pygame.KEYDOWN, key=key)


def click(x, y, kind=None, button=1):
    post(pygame.MOUSEBUTTONDOWN if kind is None else kind, pos=(x, y), button=button)


@pytest.mark.parametrize(
    "key, name",
    [
        (pygame.K_a, "a"), (pygame.K_7, "7"), (pygame.K_COMMA, ","), (pygame.K_SPACE, mt.GUI.SPACE),
        (pygame.K_ESCAPE, mt.GUI.ESCAPE), (pygame.K_RETURN, mt.GUI.RETURN), (pygame.K_UP, mt.GUI.UP),
        (pygame.K_LEFT, mt.GUI.LEFT), (pygame.K_LSHIFT, mt.GUI.SHIFT), (pygame.K_RCTRL, mt.GUI.CTRL),
        (pygame.K_TAB, mt.GUI.TAB), (pygame.K_BACKSPACE, mt.GUI.BACKSPACE), (pygame.K_F5, "F5"),
    ],
)  # fmt: skip
def test_keys_have_taichis_names(gui, key, name):
    press(key)
    assert gui.get_event() and (gui.event.type, gui.event.key) == (mt.GUI.PRESS, name)
    assert gui.is_pressed(name) and gui.is_pressed("other", name) and not gui.is_pressed("other")
    post(pygame.KEYUP, key=key)
    assert gui.get_event() and (gui.event.type, gui.event.key) == (mt.GUI.RELEASE, name)
    assert not gui.is_pressed(name) and not gui.get_event()


def test_filters_take_types_keys_and_pairs(gui):
    def arrive():
        press(pygame.K_a), post(pygame.KEYUP, key=pygame.K_a), press(pygame.K_b)

    for wanted, expected in {
        (): ["a", "a", "b"],
        (mt.GUI.PRESS,): ["a", "b"],
        ("b",): ["b"],
        ((mt.GUI.RELEASE, "a"),): ["a"],
        ((mt.GUI.RELEASE, "b"),): [],
        ("b", (mt.GUI.RELEASE, "a")): ["a", "b"],
    }.items():
        arrive()
        assert [event.key for event in gui.get_events(*wanted)] == expected, wanted
        assert not gui.has_key_event()


def test_mouse_has_its_place_y_up(gui):
    post(pygame.MOUSEMOTION, pos=(50, 10), rel=(3, 4), buttons=(0, 0, 0))
    assert gui.get_event(mt.GUI.MOTION)
    assert gui.event.pos == gui.get_cursor_pos() == pytest.approx((0.2525, 0.895))
    assert gui.event.delta == (3, -4)
    for button, name in ((1, mt.GUI.LMB), (2, mt.GUI.MMB), (3, mt.GUI.RMB)):
        click(100, 90, button=button)
        assert gui.get_event(mt.GUI.PRESS) and gui.event.key == name and gui.is_pressed(name)
        assert gui.event.pos == pytest.approx((0.5025, 0.095))
        click(100, 90, pygame.MOUSEBUTTONUP, button)
        assert gui.get_event((mt.GUI.RELEASE, name)) and not gui.is_pressed(name)


def test_wheel_and_modifiers(gui):
    press(pygame.K_LCTRL)
    post(pygame.MOUSEWHEEL, x=0, y=-2)
    assert gui.get_event(mt.GUI.WHEEL)
    assert gui.event.delta == (0, -240) and gui.event.modifier == [mt.GUI.CTRL]


def test_closing_ends_it_once(gui):
    assert gui.running
    post(pygame.QUIT)
    assert not gui.running
    post(pygame.QUIT)
    assert [event.key for event in gui.get_events()] == [mt.GUI.EXIT]
    gui.running = True
    assert gui.running


def test_events_are_kept_while_frames_are_shown(gui):
    press(pygame.K_q)
    gui.show()
    assert gui.has_key_event() and gui.get_key_event().key == "q"


def test_frames_may_be_limited(monkeypatch):
    monkeypatch.setenv("METATE_GUI_FRAMES", "3")
    gui = mt.GUI("test", 8)
    while gui.running:
        gui.show()
    assert gui.frame == 3
    assert [event.key for event in gui.get_events(mt.GUI.PRESS)] == [mt.GUI.ESCAPE, mt.GUI.EXIT]
    with pytest.raises(SystemExit):
        gui.show()
    monkeypatch.setenv("METATE_GUI_FRAMES", "many")
    with pytest.raises(mt.MetateError, match="METATE_GUI_FRAMES: expected a number of frames, got 'many'"):
        mt.GUI("test", 8)


def test_button_gives_an_event_of_its_name(gui):
    assert gui.button("Start") == "WidgetButton_Start"
    assert gui.button("Stop", event_name="stop") == "stop"
    click(20, 45)
    click(20, 45, pygame.MOUSEBUTTONUP)
    assert [(event.type, event.key) for event in gui.get_events()] == [(mt.GUI.PRESS, "stop")]
    click(150, 90)  # beside the widgets
    assert gui.get_event((mt.GUI.PRESS, mt.GUI.LMB))


def test_slider_follows_the_mouse_in_steps(gui):
    slider = gui.slider("x", 10, 20, step=2)
    assert slider.value == 10
    click(100, 20)
    assert (gui.get_event() is False and slider.value == pytest.approx(16)) or slider.value == 14
    post(pygame.MOUSEMOTION, pos=(10 + 180, 20), rel=(0, 0), buttons=(1, 0, 0))
    gui.has_key_event()
    assert slider.value == 20
    click(199, 20, pygame.MOUSEBUTTONUP)
    post(pygame.MOUSEMOTION, pos=(20, 20), rel=(0, 0), buttons=(0, 0, 0))
    gui.has_key_event()
    assert slider.value == 20
    slider.value = 12.5
    assert slider.value == 12.5


def test_widgets_are_in_the_file_and_not_in_the_picture(gui, tmp_path):
    label = gui.label("energy")
    label.value = 1.5
    picture = gui.get_image()
    assert (picture[..., :3] == 0).all()
    gui.show(tmp_path / "shown.png")
    shown = mt.imread(tmp_path / "shown.png")
    assert shown[10:190, 70:90].max() > 200 and shown[:, :60].max() == 0


def test_imshow_returns_without_a_display(monkeypatch):
    import numpy as np

    gui = mt.GUI("test", 8)
    if gui._window is not None:
        pytest.skip("this machine has a display, whose window would wait for the user")
    mt.imshow(np.zeros((8, 8)))
