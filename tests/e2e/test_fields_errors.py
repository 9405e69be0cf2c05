"""What fields say about wrong uses: one test per message, each names the field and says what to do."""

import re

import numpy as np
import pytest

import metate as mt
from metate.errors import CapacityError, RuntimeIndexError_, RuntimeTypeError_, RuntimeValueError_, TreeError

HERE = re.escape(__file__)


def raises(kind, text):
    """The whole message must be this (a regular expression)."""
    return pytest.raises(kind, match=f"^{text}$")


@pytest.mark.parametrize(
    ("key", "kind", "text"),
    [
        ((0,), RuntimeIndexError_, "expected 2 indices, got 1"),
        ((0, 0, 0), RuntimeIndexError_, "expected 2 indices, got more"),
        (None, RuntimeIndexError_, "expected 2 indices, got 0"),
        ((3, 0), RuntimeIndexError_, r"index 0: expected -1 to 2, got 3"),
        ((0, -1), RuntimeIndexError_, r"index 1: expected 0 to 4, got -1"),
        ((0, 1 << 70), RuntimeIndexError_, rf"index 1: expected 0 to 4, got {1 << 70}"),
        ((0, 1.0), RuntimeTypeError_, r"index 1: expected an integer, got float 1\.0"),
        (("a", 1), RuntimeTypeError_, "index 0: expected an integer, got str 'a'"),
        (
            (slice(None), 1),
            RuntimeTypeError_,
            r"index 0: expected an integer, got slice; for parts of a field write x.to_numpy\(\)\[\.\.\.\]",
        ),
        (([[1]], 1), RuntimeTypeError_, "index 0: expected an integer, got list"),
    ],
)
def test_wrong_keys(key, kind, text):
    x = mt.field(mt.f32, (4, 5), offset=(-1, 0), name="height")
    for use in (lambda: x[key], lambda: x.__setitem__(key, 1.0), lambda: x.is_active(key)):
        with raises(kind, f"field 'height': {text}"):
            use()
    endless = []
    endless.append(endless)
    with pytest.raises(RuntimeTypeError_):
        x[endless]


@pytest.mark.parametrize(
    ("element", "value", "kind", "text"),
    [
        (mt.i32, 2.5, RuntimeTypeError_, r"expected i32, got float 2\.5"),
        (mt.i8, 256, RuntimeValueError_, r"expected i8 within its range, got int 256"),
        (mt.u8, -129, RuntimeValueError_, r"expected u8 within its range, got int -129"),
        (mt.f32, "a", RuntimeTypeError_, "expected f32, got str 'a'"),
        (mt.f32, [1], RuntimeTypeError_, "expected f32, got list"),
        (mt.types.vector(2, mt.f32), 5, RuntimeTypeError_, r"expected vector\(2, f32\), got int 5"),
        (mt.types.vector(2, mt.f32), [1, 2, 3], RuntimeTypeError_, r"expected vector\(2, f32\), got list"),
        (mt.types.matrix(2, 2, mt.f32), [1, 2], RuntimeTypeError_, r"expected matrix\(2, 2, f32\), got list"),
        (mt.types.vector(2, mt.i32), np.ones(2), RuntimeTypeError_, r"expected vector\(2, i32\), got numpy\.ndarray"),
    ],
)
def test_wrong_values(element, value, kind, text):
    x = mt.field(element, 3, name="x")
    with raises(kind, f"field 'x': {text}"):
        x[1] = value
    assert not x.to_numpy().any()


def test_fields_are_not_walked_in_python():
    x = mt.field(mt.f32, 3, name="x")
    with raises(TypeError, r"field 'x': loop over it in a kernel, or over x.to_numpy\(\)"):
        iter(x)
    with raises(TypeError, r"field 'y': a field of shape \(\) has no length"):
        len(mt.field(mt.f32, (), name="y"))
    with raises(AttributeError, "field 'x' has no attribute 'heigth'"):
        x.heigth  # noqa: B018


def test_without_a_place():
    x, named = mt.field(mt.f32), mt.field(mt.f32, name="height")
    for use in (lambda: x[0], lambda: x.shape, lambda: x.to_numpy(), lambda: x.fill(1), lambda: x.parent(), lambda: x._tree):
        with raises(
            TreeError,
            rf"the field made at {HERE}:\d+ has no place: give it a shape, mt.field\(mt.f32, shape=...\), or place it, "
            r"mt.root.dense\(mt.i, n\).place\(x\)",
        ):
            use()
    with pytest.raises(TreeError, match=r"^field 'height' has no place"):
        named[0] = 1
    with pytest.raises(TreeError, match="has no place"):
        mt.Struct.field({"a": mt.f32})[0]

    @mt.kernel
    def touch():
        named[0] = 1

    with pytest.raises(Exception, match="field 'height' has no place"):
        touch()


def test_places_that_are_taken_or_closed():
    x, y, v = mt.field(mt.f32, 3, name="x"), mt.field(mt.f32, name="y"), mt.Vector.field(2, mt.f32, name="v")
    level = mt.root.dense(mt.i, 4)
    with raises(TreeError, r"place: field 'x' has a place already, in a tree of shape \[3\]; make another field"):
        level.place(x)
    with raises(TreeError, "place: field 'y' has a place already, in this call; make another field"):
        level.place(y, y)
    level.place(v.get_scalar_field(0), y)
    with raises(TreeError, r"place: component 0 of field 'v' has a place already, in a tree of shape \[4\]; make another field"):
        level.place(v.get_scalar_field(0))
    with raises(TreeError, r"place: field 'v' has a place already, in a tree of shape \[4\]; make another field"):
        level.place(v)
    with raises(TreeError, "place: expected at least one field, got none"):
        level.place()
    with raises(TreeError, r"place: expected fields such as mt.field\(mt.f32\), got 3"):
        level.place(3)
    with raises(TreeError, r"place: field 'w': offset: expected 1 integers, one for each dimension, got \(1, 2\)"):
        level.place(mt.field(mt.f32, name="w"), offset=(1, 2))
    y[0] = 1
    closed = "the tree is in use and its type is fixed; place all its fields before the first of them is used, "
    for what, use in {"place": lambda: level.place(mt.field(mt.f32)), "dense": lambda: level.dense(mt.i, 2)}.items():
        with raises(TreeError, rf"{what}: {closed}or begin another branch at mt.root"):
            use()


def test_components_that_are_missing():
    v = mt.Vector.field(3, mt.f32, name="v")
    mt.root.dense(mt.i, 4).place(v.get_scalar_field(1))
    with raises(TreeError, r"field 'v': components \[0, 2\] have no place; place them as well"):
        v[0]
    mt.root.dense(mt.i, 5).place(v.get_scalar_field(0), v.get_scalar_field(2))
    with raises(TreeError, r"field 'v': expected components of one shape, got \(5,\) and \(4,\)"):
        v[0]
    with raises(RuntimeIndexError_, r"field 'v': get_scalar_field: expected indices within \(3,\), got \(3,\)"):
        v.get_scalar_field(3)
    w = mt.Vector.field(3, mt.f32, shape=4, name="w").get_scalar_field(1)
    with raises(
        TreeError,
        r"component 1 of field 'w': it lies inside the field's elements: in a kernel write x\[i\]\[1\], "
        "or give the field layout=mt.Layout.SOA",
    ):
        w._placement  # noqa: B018


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: mt.field("f3", 4), RuntimeTypeError_, "field: expected a scalar type such as mt.f32, got 'f3'"),
        (lambda: mt.field(mt.f32, (4, 0)), RuntimeValueError_, r"shape: expected extents of at least 1, got \(4, 0\)"),
        (lambda: mt.field(mt.f32, 2.5), RuntimeTypeError_, r"shape: expected integers, got 2\.5"),
        (lambda: mt.field(mt.f32, (2, "a")), RuntimeTypeError_, r"shape: expected integers, got \(2, 'a'\)"),
        (lambda: mt.field(mt.f32, (1,) * 13), RuntimeValueError_, "shape: expected at most 12 dimensions, got 13"),
        (
            lambda: mt.field(mt.f32, 1 << 40),
            TreeError,
            "dense: expected at most 2147483647 cells along axis i, got 1099511627776 with the levels above; use smaller extents",
        ),
        (
            lambda: mt.field(mt.f32, (2, 3), order="ik"),
            RuntimeValueError_,
            "order: expected each of the letters 'ij' once for 2 dimensions, got 'ik'",
        ),
        (
            lambda: mt.field(mt.f32, order="ij"),
            RuntimeValueError_,
            "order: expected a shape with it, got order='ij' alone; give shape=, or place the field",
        ),
        (
            lambda: mt.field(mt.f32, (2, 3), offset=4.5),
            TreeError,
            r"place: the field made at .*: offset: expected 2 integers, one for each dimension, got 4\.5",
        ),
        (
            lambda: mt.Vector.field(2, mt.f32, 3, layout="soa"),
            RuntimeTypeError_,
            "layout: expected mt.Layout.AOS or mt.Layout.SOA, got 'soa'",
        ),
        (lambda: mt.Vector.field(0, mt.f32, 3), ValueError, "vector length: expected at least 1, got 0"),
        (
            lambda: mt.root.bit_array(mt.i, 4, 32),
            TreeError,
            r"bit_array: there is no level of this name; write quant_array\(axes, dimensions, max_num_bits=32\)",
        ),
        (lambda: mt.root.dens(mt.i, 4), AttributeError, "Root has no attribute 'dens'"),
        (lambda: mt.root.dense(mt.i, (2, 3)), TreeError, r"dense: expected one extent or 1 of them for axes i, got \(2, 3\)"),
        (lambda: mt.root.dense(mt.i, 3, name="a b"), TreeError, "level name: expected an identifier, got 'a b'"),
        (
            lambda: mt.FieldsBuilder().finalize(),
            TreeError,
            r"finalize: expected at least one field, got an empty builder; call place\(...\)",
        ),
        (lambda: mt.field(mt.f32, 4, nme="x"), TypeError, ".*unexpected keyword argument 'nme'.*"),
    ],
)
def test_wrong_declarations(make, kind, text):
    with raises(kind, text):
        make()


def test_levels_without_fields():
    builder, x = mt.FieldsBuilder(), mt.field(mt.f32)
    level = builder.pointer(mt.i, 4)
    level.dense(mt.i, 2).place(x)
    level.dense(mt.i, 3)
    with raises(
        TreeError, r"dense level \[12\] at depth 1: expected a field or a level under it, got none; call place\(...\) on it"
    ):
        builder.finalize()
    builder, x = mt.FieldsBuilder(), mt.field(mt.f32)
    builder.dense(mt.i, 4).place(x)
    builder.finalize()
    with raises(TreeError, r"finalize: the builder was finalized; make another one: mt.FieldsBuilder\(\)"):
        builder.finalize()


def test_a_field_that_is_gone():
    y = mt.field(mt.f32)
    mt.root.dense(mt.i, 3).place(mt.field(mt.f32), y)
    y[1] = 2
    assert y[1] == 2 and len(y._placement.tree.members) == 2


@pytest.mark.parametrize(
    ("use", "kind", "text"),
    [
        (
            lambda x: x.from_numpy(np.ones((3, 2))),
            RuntimeValueError_,
            r"from_numpy: expected an array of shape \(3, 4\), got \(3, 2\)",
        ),
        (
            lambda x: x.from_numpy(np.full((3, 4), "a")),
            RuntimeTypeError_,
            "from_numpy: expected an array of numbers, got one of <U1",
        ),
        (
            lambda x: x.from_numpy(np.ones((3, 4), complex)),
            RuntimeTypeError_,
            "from_numpy: expected an array of numbers, got one of complex128",
        ),
        (lambda x: x.copy_from(3), RuntimeTypeError_, "copy_from: expected a field, got 3"),
        (
            lambda x: x.copy_from(mt.field(mt.f32, 3, name="y")),
            RuntimeValueError_,
            r"copy_from: expected a field of shape \(3, 4\), got \(3,\)",
        ),
        (lambda x: x.fill("a"), RuntimeTypeError_, "fill: expected f32, got str 'a'"),
        (lambda x: x.fill([1, 2]), RuntimeTypeError_, "fill: expected f32, got list"),
    ],
)
def test_wrong_arrays(use, kind, text):
    with raises(kind, f"field 'x': {text}"):
        use(mt.field(mt.f32, (3, 4), name="x"))


def test_wrong_structs():
    s = mt.Struct.field({"a": mt.f32, "b": mt.i32}, shape=3, name="s")
    with raises(RuntimeTypeError_, "struct field 's': expected a struct or dict with members a, b, got {'a': 1}"):
        s[0] = {"a": 1}
    with raises(AttributeError, "struct field 's' has no member 'c'; its members: a, b"):
        s.c  # noqa: B018
    with raises(AttributeError, r"cannot assign to 'a' of a struct field; assign to an element: s.a\[i\] = value"):
        s.a = 1
    with raises(KeyError, "\"struct field 's' has no member 'c'; its members: a, b\""):
        s["c"]
    with raises(RuntimeTypeError_, r"struct field 's': a member cannot be replaced; write s.a.copy_from\(...\)"):
        s["a"] = s.b
    with raises(RuntimeValueError_, "struct field 's': from_numpy: expected a dict with a, b, got a"):
        s.from_numpy({"a": np.ones(3)})
    with raises(RuntimeTypeError_, "struct field 's': copy_from: expected a struct field with members a, b, got 1"):
        s.copy_from(1)
    with pytest.raises(AttributeError, match="no member 'c'"):
        s[0].c = 1
    with raises(RuntimeTypeError_, "field 's_b': expected i32, got float 0.5"):
        s[0].b = 0.5


def test_capacity_is_named():
    type_ = mt.types.SNodeTreeBuilder().pointer(mt.i, 8).dense(mt.i, 4).place(v0=mt.f32).build()
    with pytest.raises(CapacityError):
        tree = type_.new(capacity=1)
        for i in range(0, 32, 4):
            tree.v0[i] = 1
    x = mt.field(mt.f32)  # a field's tree has room for all
    mt.root.pointer(mt.i, 8).dense(mt.i, 4).place(x)
    for i in range(0, 32, 4):
        x[i] = 1
    assert x.to_numpy().sum() == 8
