"""Records: values by named fields, as dataclasses that are frozen make them."""

import copy
import pickle
from typing import Any

import pytest

from metate.record import Record


class Point(Record):
    x: float
    y: float = 0.0


class Named(Point):
    name: str = "p"
    note: Any = None
    _compared = ("x", "y", "name")

    def __post_init__(self):
        object.__setattr__(self, "name", self.name.upper())


class Other(Record):
    x: float
    y: float = 0.0


def test_fields_and_defaults():
    assert (Point(1).x, Point(1).y, Point(y=2, x=1).y) == (1, 0.0, 2)
    assert repr(Named(1, 2, note=[3])) == "Named(x=1, y=2, name='P', note=[3])"
    assert vars(Named(y=2, x=1)) == {"x": 1, "y": 2, "name": "P", "note": None}
    assert list(vars(Point(y=2, x=1))) == ["x", "y"]
    assert Named(1)._replace(y=5, name="q") == Named(1, 5, "q")
    for wrong in (lambda: Point(), lambda: Point(1, 2, 3), lambda: Point(1, x=2), lambda: Point(1, z=2)):
        with pytest.raises(TypeError, match="Point: expected"):
            wrong()


def test_equality_is_of_class_and_fields():
    assert Point(1, 2) == Point(1, 2) != Point(1, 3)
    assert Point(1, 2) != Other(1, 2) and Point(1, 2) != (1, 2)
    assert len({Point(1), Point(1.0), Named(1), Named(1, note="left out"), Other(1)}) == 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point([]))


def test_they_are_frozen_and_copied_as_others():
    point = Named(1, 2)
    with pytest.raises(AttributeError, match="'x'"):
        point.x = 3
    with pytest.raises(AttributeError, match="'y'"):
        del point.y
    for other in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert other == point and other.name == "P"
