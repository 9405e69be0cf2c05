"""Trees and fields with quantised members: what their types are, and what is refused. Nothing here runs a kernel."""

import numpy as np
import pytest

import metate as mt
from metate.errors import PackingError_, RuntimeTypeError_, TreeError
from metate.tree_type import BitStructNode
from metate.types import SNodeTreeBuilder, TreeType

quant = mt.types.quant
q5, u11, fixed = quant.int(5), quant.int(11, False), quant.fixed(11, max_value=2.0)
small, wide = quant.float(5, 4), quant.float(5, 7)
Q5, FIXED = "!metate.quant_int<5, true, i32>", "!metate.quant_fixed<11, true, 0.001953125, f32>"


def tree_of(field):
    return str(field._placement.tree)


def words(type_):
    """The words of a type: (bits, names of members)."""
    found = []

    def visit(nodes):
        for node in nodes:
            if isinstance(node, BitStructNode):
                found.append((node.bits, [place.name for place in node.places]))
            visit(getattr(node, "children", ()))

    visit(type_.branches)
    return found


def in_a_word():
    level = SNodeTreeBuilder().dense(mt.i, 4)
    return level.bit_struct(max_num_bits=32).place(x=q5, y=fixed).place(u=small, v=wide, shared_exponent=True).build()


def on_their_own():
    named = {"a": q5, "b": mt.f32, "c": quant.fixed(33, max_value=1), "d": wide}
    return SNodeTreeBuilder().pointer(mt.ij, 4).place(**named, background={"a": -3, "b": 1, "c": 0.3, "d": -0.7}).build()


def arrays():
    builder = SNodeTreeBuilder()
    blocks = builder.pointer(mt.ij, 4)
    blocks.dense(mt.ij, 2).quant_array(mt.ij, (4, 8)).place(bit=quant.int(1, False))
    blocks.quant_array(mt.j, 40, max_num_bits=64, name="rows").place(row=fixed, background=0.5)
    blocks.place(plain=mt.i32)
    blocks.bit_struct(8).place(last=q5)
    return builder.build()


def shared_background():
    word = SNodeTreeBuilder().hash(mt.ij).dense(mt.ij, 4).bit_struct(64)
    return word.place(u=small, v=wide, shared_exponent=True, background={"u": -0.5, "v": 1.25}).place(k=u11, background=7).build()


def at_the_root():
    return SNodeTreeBuilder().bit_struct(16).place(x=q5, y=u11).build()


TYPES = (in_a_word, on_their_own, arrays, shared_background, at_the_root)


def test_texts_are_mlirs():
    group = "#metate.shared_exponent<[" + ", ".join(
        f'#metate.place<"{name}" : !metate.quant_float<5, {frac}, true, f32>>' for name, frac in (("u", 4), ("v", 7))
    ) + "]>"  # fmt: skip
    packed = f'#metate.place<"x" : {Q5}>, #metate.place<"y" : {FIXED}>, {group}'
    assert str(in_a_word()) == f'!metate.tree<#metate.dense<"i", [4], [#metate.bit_struct<32, [{packed}]>]>>'
    assert str(on_their_own()).startswith(
        f'!metate.tree<#metate.pointer<"ij", [4, 4], [#metate.bit_struct<8, [#metate.place<"a" : {Q5}, background = -3 : i32>]>, '
        '#metate.place<"b" : f32, background = 1.000000e+00 : f32>, #metate.bit_struct<64, [#metate.place<"c" : '
    )
    text = str(arrays())
    assert '#metate.quant_array<"ij", [4, 8], [#metate.place<"bit" : !metate.quant_int<1, false, ui32>>], word = 32>' in text
    assert f'"row" : {FIXED}, background = 5.000000e-01 : f32>], word = 64, name = "rows">' in text


@pytest.mark.parametrize("make", TYPES)
def test_types_survive_their_blobs(make):
    type_ = make()
    back = TreeType.from_blob(type_.blob)
    assert back == type_ and back.levels == type_.levels and back.members == type_.members and back.branches == type_.branches


def test_members_and_levels_are_listed():
    type_ = arrays()
    assert [(level.name, level.kind, level.word) for level in type_.levels] == [
        ("pointer0", "pointer", 0), ("dense1", "dense", 0), ("quant_array2", "quant_array", 32), ("rows", "quant_array", 64),
    ]  # fmt: skip
    members = type_.members
    assert {name: (member.type, member.shape) for name, member in members.items()} == {
        "bit": (quant.int(1, False), (32, 64)), "row": (fixed, (4, 160)), "plain": (mt.i32, (4, 4)), "last": (q5, (4, 4)),
    }  # fmt: skip
    assert members["row"].background == 0.5 and members["row"].axes == "ij" and members["bit"].background == 0
    assert words(type_) == [(8, ["last"])] and words(in_a_word()) == [(32, ["x", "y", "u", "v"])]


def test_backgrounds_are_what_is_stored():
    members = on_their_own().members
    assert members["a"].background == -3 and members["d"].background == wide(-0.7) == pytest.approx(-0.7, rel=1e-2)
    assert members["c"].background == quant.fixed(33, max_value=1)(0.3) == pytest.approx(0.3, rel=1e-9)
    place = lambda value: SNodeTreeBuilder().pointer(mt.i, 4).place(x=fixed, background=value).build()
    assert place(0.3) == place(0.3001) != place(0.31) and place(1e-9) == place(0) == place(None)


def test_gradients_are_plain_members():
    assert str(in_a_word().grad_type()) == (
        '!metate.tree<#metate.dense<"i", [4], [#metate.place<"y" : f32>, #metate.place<"u" : f32>, #metate.place<"v" : f32>]>>'
    )
    assert str(arrays().grad_type()) == (
        '!metate.tree<#metate.pointer<"ij", [4, 4], [#metate.dense<"j", [40], [#metate.place<"row" : f32>], name = "rows">]>>'
    )
    with pytest.raises(TreeError, match=r"grad_type: expected a tree with members of a float type, got x: quant\.int\(5, True\)"):
        at_the_root().grad_type()


def test_numbers_of_writes_have_a_tree_of_their_form():
    from metate.write_numbers import type_of_numbers

    numbers = type_of_numbers(arrays())
    assert {name: (member.type, member.shape) for name, member in numbers.members.items()} == {
        name: (mt.i64, member.shape) for name, member in arrays().members.items()
    }
    assert words(numbers) == [] and {level.kind for level in numbers.levels} == {"pointer", "dense"}


def build(*levels):
    node = SNodeTreeBuilder()
    for kind, *arguments in levels:
        node = getattr(node, kind)(*arguments)
    return node


@pytest.mark.parametrize(
    "make, kind, text",
    [
        (lambda: build(("bit_struct", 24)), PackingError_, "bit_struct: max_num_bits: expected 8, 16, 32 or 64, got 24"),
        (lambda: build(("bit_struct", "32")), PackingError_, "bit_struct: max_num_bits: expected 8, 16, 32 or 64, got '32'"),
        (lambda: build(("bit_struct",)).build(), PackingError_,
         "bit_struct: expected at least one member in the word of 32 bits, got none; call place(...)"),
        (lambda: build(("bit_struct", 16)).place(a=q5, b=mt.i8), PackingError_,
         "place: expected quantised types such as mt.types.quant.int(5), got 'b' of i8; place it beside the word"),
        (lambda: build(("bit_struct", 16)).place(a=q5).place(b=u11, c=q5), PackingError_,
         "place: expected members of at most 16 bits together, got 21: 'a' 5, 'b' 11, 'c' 5; write max_num_bits=32"),
        (lambda: build(("bit_struct", 64)).place(a=quant.int(60), b=q5), PackingError_,
         "place: expected members of at most 64 bits together, got 65: 'a' 60, 'b' 5; take several words"),
        (lambda: build(("bit_struct", 8)).place(u=small, v=wide, shared_exponent=True), PackingError_,
         "place: expected members of at most 8 bits together, got 16: an exponent 5, 'u' 4, 'v' 7; write max_num_bits=16"),
        (lambda: build(("bit_struct",)).place(u=small, shared_exponent=True), PackingError_,
         "place: expected at least 2 members with shared_exponent=True, got 1; leave shared_exponent out"),
        (lambda: build(("bit_struct",)).place(u=small, v=quant.float(6, 9), shared_exponent=True), PackingError_,
         "place: shared_exponent: expected quant.float with the exponent bits and compute type of 'u', quant.float(5, 4, True), "
         "got 'v' of quant.float(6, 9, True)"),
        (lambda: build(("bit_struct",)).place(u=small, v=fixed, shared_exponent=True), PackingError_,
         "place: shared_exponent: expected quant.float with the exponent bits and compute type of 'u', quant.float(5, 4, True), "
         "got 'v' of quant.fixed(11, True, scale=0.001953125)"),
        (lambda: build(("bit_struct",)).place(u=q5, v=small, shared_exponent=True), PackingError_,
         "place: shared_exponent: expected quant.float types, got 'u' of quant.int(5, True)"),
        (lambda: build(("bit_struct",)).place(u=small, v=wide, shared_exponent=True, background={"u": 2**-9, "v": 1}), TreeError,
         "place: background of 'u': expected numbers that are stored as they are with one exponent, got [0.001953125, 1.0]"),
        (lambda: build(("dense", mt.i, 4)).place(a=q5, background=16), TreeError,
         "place: background of 'a': expected quant.int(5, True), integers from -16 to 15, got 16"),
        (lambda: build(("dense", mt.i, 4)).place(a=fixed, background=2), TreeError,
         "place: background of 'a': expected quant.fixed(11, True, scale=0.001953125), a number from -2.0 to 1.998046875, got 2"),
        (lambda: build(("quant_array", mt.i, 4), ("dense", mt.i, 4)), TreeError,
         "dense: expected no level below a quant_array, which holds one quantised member; put it above"),
        (lambda: build(("quant_array", mt.i, 4), ("bit_struct",)), TreeError,
         "bit_struct: expected a place other than a quant_array, which is made of words itself"),
        (lambda: build(("quant_array", mt.i, 4)).place(a=q5, b=q5), TreeError,
         "quant_array: expected one member in it, got 'b' as well; give it a quant_array of its own"),
        (lambda: build(("quant_array", mt.i, 4)).place(a=mt.f32), TreeError,
         "quant_array: expected a quantised type such as mt.types.quant.int(1, False), got 'a' of f32"),
        (lambda: build(("quant_array", mt.i, 4, 8)).place(a=u11), TreeError,
         "quant_array: expected a type of at most 8 bits, got 'a' of 11; write max_num_bits=16"),
        (lambda: build(("quant_array", mt.i, 4, 12)), PackingError_,
         "quant_array: max_num_bits: expected 8, 16, 32 or 64, got 12"),
        (lambda: build(("quant_array", mt.i, 4)).build(), TreeError,
         "quant_array level [4] at depth 0: expected a member or a level under it, got none; call place(...) on it"),
        (lambda: build().place(q5), TreeError,
         "place: expected a struct type or a member of one, got quant.int(5, True); give a type alone a name: "
         "place(a=quant.int(5, True))"),
    ],
)  # fmt: skip
def test_types_that_cannot_be_are_refused(make, kind, text):
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value) == text


def test_struct_types_with_quantised_members():
    cell = mt.types.struct(a=q5, b=mt.types.vector(2, mt.f32), c=mt.types.struct(d=fixed))
    assert cell.members == {"a": mt.i32, "b": mt.types.vector(2, mt.f32), "c": cell.c.type} and cell.a.type == q5
    assert repr(cell) == f"struct({{'a': {q5!r}, 'b': vector(2, f32), 'c': struct({{'d': {fixed!r}}})}})"
    assert cell == mt.types.struct(a=q5, b=mt.types.vector(2, mt.f32), c=mt.types.struct(d=fixed)) != cell.of_values()
    assert cell.of_values() == mt.types.struct(a=mt.i32, b=mt.types.vector(2, mt.f32), c=mt.types.struct(d=mt.f32))
    value = cell(a=3, b=[1, 2], c={"d": 0.3})
    assert value.a == 3 and value.c.d == np.float32(0.3)  # values are not quantised
    plain = mt.types.struct(a=mt.i32)
    assert plain.of_values() is plain
    one = SNodeTreeBuilder().dense(mt.i, 2).place(mt.types.struct(a=q5, b=mt.f32)).build()
    assert one.members["a"].type == q5 and words(one) == [(8, ["a"])]


# ---- fields ----


def test_fields_share_a_word():
    x, y = mt.field(q5, name="x"), mt.field(fixed, name="y")
    u, v = mt.field(dtype=small, name="u"), mt.field(dtype=wide, name="v")
    packed = mt.BitpackedFields(max_num_bits=32)
    packed.place(x, [y])
    packed.place(u, v, shared_exponent=True)
    other = mt.field(mt.f32, name="other")
    level = mt.root.dense(mt.i, 4)
    assert level.place(packed, other) is level
    inner = str(in_a_word()).removesuffix("]>>")
    assert tree_of(x) == tree_of(v) == inner + ', #metate.place<"other" : f32>]>>'
    assert x.dtype is mt.i32 and (y.element, u.dtype) == (mt.f32, mt.f32) and x._placement.element is mt.i32
    assert x.shape == (4,) and x.parent() is level and x.snode.parent() is level and level.get_children() == [x, y, u, v, other]
    assert other._placement.tree.members["v"].type == wide


def test_placing_words_under_every_kind_of_level():
    for node in (mt.root, mt.root.dense(mt.i, 4), mt.root.pointer(mt.i, 4).dense(mt.j, 2), mt.root.bitmasked(mt.ij, 4),
                 mt.root.dynamic(mt.i, 64), mt.root.hash(mt.i).dense(mt.i, 4), mt.FieldsBuilder()):  # fmt: skip
        x, y = mt.field(q5), mt.field(u11)
        packed = mt.BitpackedFields(16)
        packed.place(x, y)
        node.place(packed)
        assert words(x._placement.tree) == [(16, ["v0", "v1"])] and x._placement.tree is y._placement.tree


def test_components_in_several_words():
    x = mt.Matrix.field(2, 2, dtype=quant.fixed(16, max_value=1.2), name="x")
    for row in range(2):
        packed = mt.BitpackedFields(max_num_bits=32)
        packed.place(x.get_scalar_field(row, 0), x.get_scalar_field(row, 1))
        mt.root.place(packed)
    placement = x._placement
    assert placement.members == ("x_0", "x_1", "x_2", "x_3") and placement.element == mt.types.matrix(2, 2, mt.f32)
    assert words(placement.tree) == [(32, ["x_0", "x_1"]), (32, ["x_2", "x_3"])]
    assert x.get_scalar_field(1, 0)._placement.members == ("x_2",) and x.get_scalar_field(1, 0).dtype is mt.f32


def test_fields_without_a_word_get_their_own():
    x = mt.field(q5, shape=(4, 3), name="x")
    assert tree_of(x) == f'!metate.tree<#metate.dense<"ij", [4, 3], [#metate.bit_struct<8, [#metate.place<"x" : {Q5}>]>]>>'
    few = mt.Vector.field(3, q5, shape=4, name="v")
    assert words(few._placement.tree) == [(16, ["v_0", "v_1", "v_2"])]
    many = mt.Vector.field(3, quant.int(30), shape=4, name="v")
    assert words(many._placement.tree) == [(32, ["v_0"]), (32, ["v_1"]), (32, ["v_2"])]
    apart = mt.Vector.field(2, q5, shape=4, name="v", layout=mt.Layout.SOA)
    assert words(apart._placement.tree) == [(8, ["v_0"]), (8, ["v_1"])] and len(apart._placement.tree.branches) == 2
    several = mt.Matrix.field(1, 3, dtype=[[q5, quant.int(20), mt.i32]], shape=(), name="m")
    assert words(several._placement.tree) == [(32, ["m_0", "m_1"])] and several._placement.tree.members["m_2"].type is mt.i32
    assert several._placement.members == ("m_0", "m_1", "m_2") and several.element == mt.types.matrix(1, 3, mt.i32)
    column = mt.Matrix.field(2, 1, dtype=[q5, q5], shape=2)
    assert column.element == mt.types.matrix(2, 1, mt.i32)
    y, z = mt.field(q5), mt.Vector.field(2, q5)
    mt.root.dense(mt.i, 4).place(y, z)
    assert words(y._placement.tree) == [(8, ["v0"]), (16, ["v1", "v2"])]
    assert mt.field(q5, shape=(2, 3), order="ji").shape == (2, 3)


def test_struct_fields_have_quantised_members():
    for make in (mt.Struct.field, mt.field, lambda type_, shape: type_.field(shape)):
        type_ = mt.types.struct(a=q5, b=mt.types.struct(c=fixed, d=mt.f32))
        s = make({"a": q5, "b": type_.b.type} if make is mt.Struct.field else type_, 4)
        assert s.a.dtype is mt.i32 and s.b.c.dtype is mt.f32 and s.type == type_.of_values()
        assert [bits for bits, _ in words(s.a._placement.tree)] == [8, 16]
        assert s.a._placement.tree is s.b.d._placement.tree


def test_quant_arrays_of_fields():
    x = mt.field(quant.int(1, False), name="x")
    level = mt.root.pointer(mt.ij, 4).dense(mt.ij, (8, 2)).quant_array(mt.j, 32, max_num_bits=32)
    assert level.place(x) is level and x.shape == (32, 256) and level.shape == (32, 256)
    assert 'quant_array<"j", [32], [#metate.place<"x" : !metate.quant_int<1, false, ui32>>], word = 32>' in tree_of(x)
    whole = mt.field(fixed)
    mt.root.quant_array(mt.ij, (4, 8), 64).place(whole)
    assert whole.shape == (4, 8) and whole._placement.tree.levels[0].word == 64
    v = mt.Vector.field(2, q5, name="v")
    mt.root.quant_array(mt.i, 8).place(v.get_scalar_field(0))
    mt.root.quant_array(mt.i, 8).place(v.get_scalar_field(1))
    assert v.shape == (8,) and v._placement.members == ("v_0", "v_1")


def test_gradients_of_quantised_fields():
    x = mt.field(fixed, shape=4, needs_grad=True)
    assert str(x.grad._placement.tree) == '!metate.tree<#metate.dense<"i", [4], [#metate.place<"v0" : f32>]>>'
    v = mt.Vector.field(2, fixed, shape=4, needs_grad=True, needs_dual=True)
    for partner in (v.grad, v.dual):
        assert partner._placement.members == ("v0", "v1") and words(partner._placement.tree) == []
    a, b = mt.field(fixed, name="a"), mt.field(fixed, name="b")
    packed = mt.BitpackedFields(32)
    packed.place(a, b)
    builder = mt.FieldsBuilder()
    builder.dense(mt.i, 4).place(packed)
    c = mt.field(fixed, name="c")
    builder.pointer(mt.i, 4).quant_array(mt.i, 8).place(c)
    builder.lazy_grad()
    assert a.grad._placement.tree is a._placement.tree and a._placement.tree.members["a_grad"].type is mt.f32
    assert c.grad.shape == c.shape == (32,) and [level.kind for level in c.grad._placement.tree.levels] == [
        "pointer", "quant_array", "dense",
    ]  # fmt: skip
    s = mt.Struct.field({"a": q5, "b": fixed}, shape=2, needs_grad=True)
    assert s.grad.keys == ["b"] and s.a.grad is None
    with pytest.raises(RuntimeTypeError_, match=r"needs_grad: expected a field of a float type, got quant\.int\(5, True\)"):
        mt.field(q5, shape=4, needs_grad=True)


def test_levels_know_their_records():
    x, y, z = mt.field(q5), mt.field(q5), mt.field(mt.f32)
    top = mt.root.pointer(mt.i, 4)
    top.place(x)
    lists = top.dynamic(mt.j, 8)
    lists.place(y)
    array = top.pointer(mt.i, 2).quant_array(mt.i, 4)
    array.place(z := mt.field(fixed))
    blob_names = ["pointer0", "bit_struct1", "v0", "dynamic1", "bit_struct2", "v1", "pointer1", "quant_array2", "v2"]
    assert [level._number() for level in (top, lists, z.parent(2), array)] == [
        1 + blob_names.index(name) for name in ("pointer0", "dynamic1", "pointer1", "quant_array2")
    ]


def packed_of(*fields, bits=32, **named):
    made = mt.BitpackedFields(bits)
    made.place(*fields, **named)
    return made


@pytest.mark.parametrize(
    "make, kind, text",
    [
        (lambda: mt.BitpackedFields(33), PackingError_, "BitpackedFields: max_num_bits: expected 8, 16, 32 or 64, got 33"),
        (lambda: packed_of(mt.field(q5, name="x"), mt.field(u11, name="y"), bits=8), PackingError_,
         "BitpackedFields.place: expected members of at most 8 bits together, got 16: field 'x' 5, field 'y' 11; "
         "write max_num_bits=16"),
        (lambda: packed_of(mt.field(mt.i32, name="x")), PackingError_,
         "BitpackedFields.place: expected quantised types such as mt.types.quant.int(5), got field 'x' of i32; "
         "place it beside the word"),
        (lambda: packed_of(mt.field(small), shared_exponent=True), mt.TaichiCompilationError,
         "BitpackedFields.place: expected at least 2 members with shared_exponent=True, got 1; leave shared_exponent out"),
        (lambda: packed_of(mt.field(q5, name="x"), mt.field(small, name="y"), shared_exponent=True), mt.TaichiCompilationError,
         "BitpackedFields.place: shared_exponent: expected quant.float types, got field 'x' of quant.int(5, True)"),
        (lambda: packed_of(mt.Vector.field(2, [small, quant.float(4, 4)], name="v"), shared_exponent=True), RuntimeError,
         "BitpackedFields.place: shared_exponent: expected quant.float with the exponent bits and compute type of component 0 of "
         "field 'v', quant.float(5, 4, True), got component 1 of field 'v' of quant.float(4, 4, True)"),
        (lambda: packed_of(*[mt.field(q5, name="x")] * 2), PackingError_,
         "BitpackedFields.place: expected each field once, got field 'x' twice"),
        (lambda: packed_of(3), TreeError, "place: expected fields such as mt.field(mt.f32), got 3"),
        (lambda: mt.root.dense(mt.i, 4).place(mt.BitpackedFields(8)), PackingError_,
         "place: expected BitpackedFields with at least one field, got an empty one; call its place(...)"),
        (lambda: mt.root.quant_array(mt.i, 4).place(packed_of(mt.field(q5))), TreeError,
         "quant_array: expected one quantised scalar field in it, got BitpackedFields; give each a quant_array of its own"),
        (lambda: mt.root.quant_array(mt.i, 4).place(mt.Vector.field(2, q5)), TreeError,
         "quant_array: expected one quantised scalar field in it, got 2 fields or components; "
         "give each a quant_array of its own"),
        (lambda: mt.root.quant_array(mt.i, 4).place(mt.field(mt.f32, name="x")), TreeError,
         "quant_array: expected a quantised type such as mt.types.quant.int(1, False), got field 'x' of f32"),
        (lambda: mt.root.quant_array(mt.i, 4).place(mt.field(q5)).place(mt.field(q5, name="x")), TreeError,
         "quant_array: expected one member in it, got field 'x' as well; give it a quant_array of its own"),
        (lambda: mt.root.quant_array(mt.i, 4, max_num_bits=8).place(mt.field(u11, name="x")), TreeError,
         "quant_array: expected a type of at most 8 bits, got field 'x' of 11; write max_num_bits=16"),
        (lambda: mt.root.quant_array(mt.i, 4).pointer(mt.i, 4), TreeError,
         "pointer: expected no level below a quant_array, which holds one quantised member; put it above"),
        (lambda: mt.Vector.field(2, [quant.int(5, compute=mt.i64), q5]), RuntimeError,
         "field: dtype: expected components of one type, or of quantised types with one compute type, got "
         "[quant.int(5, True, compute=i64), quant.int(5, True)]; give quant types compute="),
        (lambda: mt.Vector.field(3, [q5, q5]), RuntimeTypeError_,
         "field: dtype: expected a type or a list of 3 types, got [quant.int(5, True), quant.int(5, True)]"),
        (lambda: mt.Matrix.field(2, 2, [q5, q5]), RuntimeTypeError_,
         "field: dtype: expected a type or a list of 2 lists of 2 types, got [quant.int(5, True), quant.int(5, True)]"),
    ],
)  # fmt: skip
def test_placements_that_cannot_be_are_refused(make, kind, text):
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value) == text


def test_a_word_has_one_place():
    x = mt.field(q5, name="x")
    packed = packed_of(x)
    mt.root.dense(mt.i, 4).place(packed)
    with pytest.raises(TreeError, match=r"place: field 'x' has a place already, in a tree of shape \[4\]; make another field"):
        mt.root.dense(mt.i, 4).place(packed)
    with pytest.raises(PackingError_, match="expected to get fields before it is placed itself; make another one"):
        packed.place(mt.field(q5))


def test_a_list_of_plain_types_is_one_type():
    assert mt.Vector.field(2, [mt.f32, mt.f32], shape=3)._placement.members == ("v0",)
    assert mt.Matrix.field(2, 2, dtype=[[mt.f32, "f32"], [float, mt.f32]]).element == mt.types.matrix(2, 2, mt.f32)


def test_signatures_say_how_numbers_are_stored():
    from metate.frontend.keys import describe_place

    assert describe_place(mt.field(q5, shape=4)._placement) == "field(i32, (4,), as quant.int(5, True))"
    v = mt.Vector.field(2, [q5, u11 := quant.int(11, False, mt.i32)], shape=4)
    assert describe_place(v._placement) == f"field(vector(2, i32), (4,), soa, as {q5!r}, {u11!r})"


def test_options_of_taichi_are_taken():
    before = mt.context.current()
    try:
        mt.init(quant_opt_store_fusion=False, quant_opt_atomic_demotion=False)
    finally:
        mt.context.set_default(before)
