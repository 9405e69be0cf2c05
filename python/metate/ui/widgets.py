"""`Widgets`: sliders, labels and buttons, one below another at the top left.

They are drawn over a copy of the picture, so that `get_image` has only what the program drew. Mouse
presses on them are theirs and do not become events; a button's press is an event of its name.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import RuntimeValueError_

_LEFT, _TOP, _WIDTH, _HEIGHT, _GAP = 10, 10, 180, 20, 6


@dataclass(eq=False)
class WidgetValue:
    """A slider or a label.

    Attributes:
        value: the number that it shows; may be set.
    """

    text: str
    value: float = 0.0
    minimum: float = 0.0
    maximum: float = 0.0
    step: float = 0.0
    event_name: str | None = None  # of a button

    @property
    def slides(self) -> bool:
        return self.maximum > self.minimum

    def move_to(self, share: float) -> None:
        """Sets a slider's value: `share` of the way from minimum to maximum, in whole steps."""
        value = self.minimum + min(max(share, 0.0), 1.0) * (self.maximum - self.minimum)
        if self.step:
            value = self.minimum + round((value - self.minimum) / self.step) * self.step
        self.value = min(value, self.maximum)


class Widgets:
    """What a window offers to be clicked; mixed into GUI. Expects `res`, `_pygame`, `_cursor`, `_add`, `PRESS`."""

    def _start_widgets(self) -> None:
        self._widgets: list[WidgetValue] = []
        self._dragged: WidgetValue | None = None

    def slider(self, text: str, minimum: float, maximum: float, step: float = 1) -> WidgetValue:
        """Adds a slider; its `value` begins at the minimum. Raises RuntimeValueError_."""
        if not minimum < maximum or step < 0:
            raise RuntimeValueError_(f"slider: expected minimum < maximum and a step, got {minimum}, {maximum}, {step}")
        return self._add_widget(WidgetValue(str(text), float(minimum), minimum, maximum, step))

    def label(self, text: str) -> WidgetValue:
        """Adds a text with a number beside it: its `value`."""
        return self._add_widget(WidgetValue(str(text)))

    def button(self, text: str, event_name: str | None = None) -> str:
        """Adds a button; a click is an event (GUI.PRESS, name). Returns the name, by default made of the text."""
        name = event_name or f"WidgetButton_{text}"
        self._add_widget(WidgetValue(str(text), event_name=name))
        return name

    def _add_widget(self, widget: WidgetValue) -> WidgetValue:
        self._widgets.append(widget)
        return widget

    def _take_press(self, down: bool) -> bool:
        """Gives the left button's press or release to the widget there; whether it took it."""
        if not down:
            taken, self._dragged = self._dragged is not None, None
            return taken
        x, y = self._cursor[0] * self.res[0] - _LEFT, (1 - self._cursor[1]) * self.res[1] - _TOP
        number, inside = divmod(y, _HEIGHT + _GAP)
        if not 0 <= x < _WIDTH or inside >= _HEIGHT or not 0 <= number < len(self._widgets):
            return False
        self._dragged = self._widgets[int(number)]
        if self._dragged.event_name:
            self._add(self.PRESS, self._dragged.event_name)
        self._drag_widgets()
        return True

    def _drag_widgets(self) -> None:
        if self._dragged is not None and self._dragged.slides:
            self._dragged.move_to((self._cursor[0] * self.res[0] - _LEFT) / _WIDTH)

    def _with_widgets(self, surface):
        """The picture with the widgets over it; the picture itself when there are none."""
        if not self._widgets:
            return surface
        shown, library = surface.copy(), self._pygame
        font = library.font.Font(None, 18)
        for number, widget in enumerate(self._widgets):
            box = library.Rect(_LEFT, _TOP + number * (_HEIGHT + _GAP), _WIDTH, _HEIGHT)
            library.draw.rect(shown, (70, 70, 90) if widget is self._dragged else (45, 45, 55), box)
            if widget.slides:
                share = (widget.value - widget.minimum) / (widget.maximum - widget.minimum)
                library.draw.rect(shown, (80, 110, 170), (box.x, box.y, round(share * box.width), box.height))
            text = widget.text if widget.event_name else f"{widget.text}: {widget.value:g}"
            shown.blit(font.render(text, True, (235, 235, 235)), (box.x + 6, box.y + 4))
        return shown
