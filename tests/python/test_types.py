"""Types are values: spelled as in programs, printed as in IR, equal iff structurally equal."""

import copy
import pathlib
import pickle
import re

import numpy as np
import pytest

import metate as mt
from metate import types
from metate.dtypes import bf16_bits, bf16_values
from metate.errors import TreeError
from metate.types import SNodeTreeBuilder, TreeType
from metate_native import _compiler

ROOT = pathlib.Path(__file__).resolve().parents[2]


def ab_struct():
    return types.Struct({"a": types.f32, "b": types.Vector(types.f32, 3)})


def aos():
    return SNodeTreeBuilder().pointer(mt.ij, 3).dense(mt.ij, 5).place(ab_struct()).build()


def soa():
    s, b = ab_struct(), SNodeTreeBuilder()
    b.pointer(mt.ij, 3).dense(mt.ij, 5).place(s.a)
    b.pointer(mt.ij, 3).dense(mt.ij, 5).place(s.b)
    return b.build()


@pytest.mark.parametrize("scalar", types.DTYPES, ids=lambda t: t.name)
def test_scalar_types_are_singletons(scalar):
    assert getattr(mt, scalar.name) is scalar
    assert types.dtype(scalar.name) is scalar
    assert types.dtype(scalar.code) is scalar
    assert copy.deepcopy(scalar) is scalar and pickle.loads(pickle.dumps(scalar)) is scalar
    if scalar.numpy is not None:
        assert types.dtype(scalar.numpy) is scalar
        assert scalar.numpy.itemsize == scalar.bytes


def test_scalar_types_are_the_borders_and_the_compilers():
    """One table on each side of the border: names, numbers and bits agree."""
    table = (ROOT / "abi/metate/abi/dtypes.h").read_text()
    rows = re.findall(r"X\((\w+), (\d+), (\w+), (\d+), (\w+), \w+\)", table)
    kinds = {"BOOL": "bool", "INT": "int", "UINT": "uint", "FLOAT": "float", "BFLOAT": "float"}
    assert [(upper, name, int(code), int(bits), kinds[kind]) for upper, code, name, bits, kind in rows] == [
        (t.name.upper(), t.name, t.code, t.bits, t.kind) for t in types.DTYPES
    ]
    assert [_compiler.DataType(t.code, []).name for t in types.DTYPES] == [t.name for t in types.DTYPES]
    widths = {t.name: int(re.sub(r"\D", "", t.name.removeprefix("bf"))) for t in types.DTYPES}
    assert {t.name: t.bits for t in types.DTYPES} == widths


def test_bf16_is_the_nearest(rng):
    values = np.concatenate([rng.normal(size=1000), [0.0, -0.0, np.inf, -np.inf, np.nan, 1e40, 1 + 2**-8, 1 + 3 * 2**-8]])
    near = bf16_values(bf16_bits(values))
    assert near.dtype == np.float32 and bf16_bits(1.5).shape == ()
    finite = np.isfinite(near)
    assert np.all(np.abs(near[finite] - values[finite]) <= np.abs(values[finite]) * 2.0**-8)
    assert np.isnan(near[-4]) and near[-3] == np.inf
    assert [bf16_values(bf16_bits(v)).item() for v in near[finite]] == near[finite].tolist()


def test_scalar_types_convert_like_a_cast(rng):
    for scalar in types.DTYPES:
        value = float(rng.normal() * 1000)
        if scalar.numpy is None or scalar.kind == "bool":
            continue
        with np.errstate(all="ignore"):
            wide = np.float64(value) if scalar.is_float else np.int64(int(value))
            expected = wide.astype(scalar.numpy).item()
        assert scalar(value if scalar.is_float else int(value)) == expected
    assert types.bf16(1.0 + 2**-8) == 1.0 and types.bf16(1.0 + 3 * 2**-8) == 1.0 + 2**-6


@pytest.mark.parametrize("wrong", ["f33", float, np.dtype("complex64"), 99, None])
def test_unknown_scalar_type_says_what_was_expected(wrong):
    with pytest.raises(TypeError, match=r"expected a scalar type such as mt.f32, got"):
        types.dtype(wrong)


def test_vectors_and_matrices_in_both_orders():
    assert types.Vector(mt.f32, 3) == types.vector(3, mt.f32) == types.vector(n=3, dtype=mt.f32)
    assert types.Matrix(mt.f64, 2, 3) == types.matrix(2, 3, mt.f64)
    assert types.vector(3, mt.f32) != types.vector(3, mt.f64)
    assert str(types.matrix(2, 2, mt.u32)) == "vector<2x2xui32>"
    assert hash(types.vector(3, mt.f32)) == hash(types.Vector(mt.f32, 3))
    np.testing.assert_array_equal(types.vector(3, mt.i32)(1, 2, 3), np.array([1, 2, 3], np.int32))
    for wrong in [(3,), (mt.f32,), (3, 3), (mt.f32, mt.f32)]:
        with pytest.raises(TypeError):
            types.vector(*wrong)
    with pytest.raises(ValueError, match=r"vector length: expected at most 65536, got 65537: use an array"):
        mt.types.vector(65537, mt.f32)
    with pytest.raises(ValueError, match=r"matrix elements: expected at most 65536, got 66048: use an array"):
        mt.types.matrix(256, 258, mt.f32)
    with pytest.raises(ValueError, match=r"vector length: expected at least 1, got 0"):
        types.vector(0, mt.f32)


def test_struct_members_are_handles():
    s = ab_struct()
    assert s.a.type is mt.f32 and s.b.type == types.vector(3, mt.f32)
    assert s == ab_struct() and hash(s) == hash(ab_struct())
    assert s != types.Struct({"b": types.vector(3, mt.f32), "a": mt.f32})
    assert pickle.loads(pickle.dumps(s)) == s
    with pytest.raises(AttributeError, match=r"struct has no member 'c': it has a, b"):
        s.c  # noqa: B018
    with pytest.raises(AttributeError, match=r"frozen"):
        s.a = mt.f64


def test_ndarray_annotations_are_values():
    assert types.ndarray(dtype=mt.f32, ndim=2) == types.ndarray(mt.f32, 2)
    assert types.ndarray() != types.ndarray(ndim=1)
    assert types.ndarray(dtype=types.vector(3, mt.f32), ndim=1).dtype.n == 3
    with pytest.raises(ValueError, match=r"ndim: expected 0 to 12, got 13"):
        types.ndarray(ndim=13)
    assert types.ndarray(dtype=ab_struct()) == types.ndarray(ab_struct())
    with pytest.raises(TypeError, match=r"ndarray dtype: expected a scalar, vector, matrix or struct type, got 'f33'"):
        types.ndarray(dtype="f33")


def test_axes():
    assert mt.ij == types.axes(0, 1) == types.axes("ij") == types.axes(mt.i, mt.j)
    assert mt.ijk.letters == "ijk" and len(mt.ijklmnopqrst) == 12
    with pytest.raises(ValueError, match=r"each once"):
        types.axes(0, 0)
    with pytest.raises(TypeError, match=r"from 0 to 11"):
        types.axes(12)


def test_text_of_the_rfc_types():
    assert str(aos()) == (
        '!metate.tree<#metate.pointer<"ij", [3, 3], [#metate.dense<"ij", [5, 5], '
        '[#metate.place<"a" : f32>, #metate.place<"b" : vector<3xf32>>]>]>>'
    )
    assert str(soa()) == (
        '!metate.tree<#metate.pointer<"ij", [3, 3], [#metate.dense<"ij", [5, 5], [#metate.place<"a" : f32>]>]>, '
        '#metate.pointer<"ij", [3, 3], [#metate.dense<"ij", [5, 5], [#metate.place<"b" : vector<3xf32>>]>]>>'
    )


def test_equal_iff_structurally_equal():
    assert aos() == aos() and hash(aos()) == hash(aos()) and aos() is not aos()
    assert aos() != soa()
    assert {aos(): 1}[aos()] == 1
    assert pickle.loads(pickle.dumps(soa())) == soa()
    builder = SNodeTreeBuilder()
    named = builder.pointer(mt.ij, 3, name="pointer0").dense(mt.ij, 5).place(ab_struct()).build()
    assert named == aos(), "naming a level as it would be named anyway is no difference"
    other = SNodeTreeBuilder().pointer(mt.ij, 3, name="blocks").dense(mt.ij, 5).place(ab_struct()).build()
    assert other != aos() and 'name = "blocks"' in str(other)
    with pytest.raises(AttributeError, match=r"frozen"):
        other._text = ""


def test_order_of_axes_pairs_with_extents():
    s = types.Struct(a=mt.i32)
    swapped = SNodeTreeBuilder().dense(types.axes(1, 0), [7, 2]).place(s).build()
    assert swapped == SNodeTreeBuilder().dense(mt.ij, [2, 7]).place(s).build()
    assert swapped.members["a"].shape == (2, 7)


def test_levels_and_members():
    tree = SNodeTreeBuilder().pointer(mt.ik, [4, 6]).pointer(mt.ij, [2, 3]).dense(mt.k, 8).place(x=mt.f64).build()
    assert [(l.name, l.kind, l.axes, l.extents, l.parent) for l in tree.levels] == [
        ("pointer0", "pointer", "ik", (4, 6), None),
        ("pointer1", "pointer", "ij", (2, 3), "pointer0"),
        ("dense2", "dense", "k", (8,), "pointer1"),
    ]
    member = tree.members["x"]
    assert (member.axes, member.shape, member.background) == ("ijk", (8, 3, 48), 0.0)


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (mt.f32, 3, "3.000000e+00 : f32"),
        (mt.f32, 0.25, "2.500000e-01 : f32"),
        (mt.f64, 0.123456789012, "1.23456789012e-01 : f64"),
        (mt.f32, float("inf"), "0x7F800000 : f32"),
        (mt.f32, -0.0, "-0.000000e+00 : f32"),
        (mt.bf16, 1.5, "1.500000e+00 : bf16"),
        (mt.f16, -2, "-2.000000e+00 : f16"),
        (mt.u32, 7, "7 : ui32"),
        (mt.i64, -7, "-7 : i64"),
        (mt.u1, True, "true"),
        (types.vector(3, mt.f32), [1, 2, 3], "dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : vector<3xf32>"),
        (types.vector(3, mt.f32), 2, "dense<2.000000e+00> : vector<3xf32>"),
        (types.matrix(2, 2, mt.i32), [[1, 2], [3, 4]], "dense<[[1, 2], [3, 4]]> : vector<2x2xi32>"),
    ],
)
def test_background_text(type_, value, text):
    tree = SNodeTreeBuilder().dense(mt.i, 2).place(a=type_, background=value).build()
    assert str(tree) == f'!metate.tree<#metate.dense<"i", [2], [#metate.place<"a" : {type_}, background = {text}>]>>'
    np.testing.assert_array_equal(tree.members["a"].background, np.broadcast_to(value, getattr(type_, "shape", ())))


def test_zero_background_is_no_background():
    with_zero = SNodeTreeBuilder().dense(mt.i, 2).place(a=mt.f32, background=0.0).build()
    assert with_zero == SNodeTreeBuilder().dense(mt.i, 2).place(a=mt.f32).build()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda b: b.build(), "expected at least one member in the tree, got an empty tree"),
        (lambda b: b.dense(mt.i, 3) and b.build(), "dense level \\[3\\] at depth 0: expected a member or a level under it"),
        (lambda b: b.dense(mt.i, 0).place(a=mt.f32), "expected extents of at least 1, got 0"),
        (lambda b: b.dense(mt.ij, [3, 4, 5]).place(a=mt.f32), "expected one extent or 2 of them for axes ij, got \\[3, 4, 5\\]"),
        (lambda b: b.dense(mt.ij, 2.5), "expected one extent or 2"),
        (lambda b: b.dense("xy", 2), "expected axes such as mt.ij, got 'xy'"),
        (lambda b: b.dense(mt.i, 2**16).dense(mt.i, 2**16), "expected at most 2147483647 cells along axis i, got 4294967296"),
        (lambda b: b.dense(mt.i, 2).place(a=mt.f32).place(a=mt.i32), "got 'a' twice; rename"),
        (lambda b: b.dense(mt.i, 2).place(), "expected at least one member, got none"),
        (lambda b: b.dense(mt.i, 2).place(mt.f32), "give a type alone a name: place\\(a=f32\\)"),
        (lambda b: b.dense(mt.i, 2).place(a=ab_struct()), "member 'a': expected a scalar, vector or matrix type"),
        (lambda b: b.dense(mt.i, 2).place(a=mt.i32, background=0.5), "integers from -2147483648 to 2147483647, got 0.5"),
        (lambda b: b.dense(mt.i, 2).place(a=mt.u8, background=256), "integers from 0 to 255, got 256"),
        (lambda b: b.dense(mt.i, 2).place(a=mt.f32, background="x"), "background of 'a': expected f32, got 'x'"),
        (lambda b: b.dense(mt.i, 2).place(a=mt.f32, background={"b": 1}), "expected names of placed members, got 'b'"),
        (lambda b: b.dense(mt.i, 2, name="x").dense(mt.i, 2, name="x"), "got 'x' twice"),
        (lambda b: b.dense(mt.i, 2, name="dense1").dense(mt.i, 2).place(a=mt.f32).build(), "got 'dense1' at depths 0 and 1"),
        (lambda b: b.dense(mt.i, 2, name="not a name"), "expected an identifier, got 'not a name'"),
    ],
)
def test_wrong_trees_say_expected_and_got(make, text):
    with pytest.raises(TreeError, match=text):
        make(SNodeTreeBuilder())


def test_tree_error_is_a_runtime_error():
    with pytest.raises(RuntimeError):
        SNodeTreeBuilder().build()
    assert isinstance(aos(), TreeType)
