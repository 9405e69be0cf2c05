"""Names of variables: what a loop and a second annotation may not do; and rules that hold inside and outside of kernels."""

import pytest

import metate as ti


@pytest.mark.parametrize(
    "lines",
    [
        "i = 7\nfor i in range(3): pass",
        "i = 7\nfor i in ti.static(range(3)): pass",
        "for i in range(3):\n    for i in range(2): pass",
        "for i in ti.static(range(3)):\n    for i in range(2): pass",
        "i = 7\nfor i, j in ti.ndrange(2, 3): pass",
        "I = 7\nfor I in ti.grouped(ti.ndrange(2, 3)): pass",
        "for n in range(3): pass",
    ],
)
def test_a_loop_takes_no_name_in_use(lines):
    with pytest.raises(ti.SyntaxError_, match=r"loop variable '[iIn]': expected a name of its own"):
        _run(lines)


@pytest.mark.parametrize(
    "lines",
    [
        "for i in range(3): pass\nfor i in range(2): pass",
        "for i in ti.static(range(3)): pass\nfor i in range(2): pass\nfor i in ti.static(range(2)): a = i",
        "for _ in range(3):\n    for _ in range(2): pass",
        "for i in range(3):\n    def inner():\n        s = 0\n        for i in range(2): s += 1\n        return s\n    inner()",
        "a = [i for i in range(3)]\nfor i in range(2): pass",
    ],
)
def test_names_that_loops_may_share(lines):
    _run(lines)


def test_an_unrolled_loop_leaves_its_last_value():
    @ti.kernel
    def run() -> ti.i32:
        for i in ti.static(range(3)):  # noqa: B007
            pass
        for i in ti.static(range(5)):  # noqa: B007
            pass
        return i

    assert run() == 4


@pytest.mark.parametrize(
    "lines", ["a: ti.i32 = 3\na: ti.f32 = 3.75", "a = 3\na: ti.u32 = 4", "a = ti.Vector([1, 2])\na: ti.i32 = 4"]
)
def test_a_second_annotation_of_another_type(lines):
    with pytest.raises(ti.SyntaxError_, match=r"variable 'a' has the type .* since its first assignment, got"):
        _run(lines)


def test_the_same_annotation_again():
    _run("a: ti.i32 = 3\na: ti.i32 = 4\nb = ti.Vector([1, 2])\nb: ti.types.vector(2, ti.i32) = ti.Vector([3, 4])")


def test_an_integer_to_a_constant_power_below_zero():
    with pytest.raises(ti.TypeError_, match=r"operator '\*\*' of an integer: expected an exponent of at least 0, got -2"):
        _run("a = n ** -2")
    with pytest.raises(ti.TypeError_, match="at least 0, got -1"):
        _run("a = n\na **= -1")
    _run("a = 2.0 ** -n\nb = ti.f32(n) ** -2\nc = 2 ** -2 * 8")


def test_a_struct_of_structs_from_its_first_member():
    a = ti.types.struct(i=int, j=float)
    b = ti.types.struct(a1=a, a2=a)
    assert b(a(3, 1.5)).a1.i == 3 and b(a(3, 1.5)).a2.j == 0
    made = b(a(3, 1.5), a(4, 2.5))
    assert b(made).a2.i == 4 and b(a1=a(5, 0)).a1.i == 5
    outer = ti.types.struct(i=a, j=a)  # of which the first member has members of the same names
    assert outer(a(6, 1.0)).i.i == 6 and outer(outer(a(6, 1.0))).i.i == 6


def test_trace_of_what_is_not_square():
    with pytest.raises(ValueError, match=r"trace: expected a square matrix, got shape \(3, 2\)"):
        ti.Matrix([[1, 2], [3, 4], [5, 6]]).trace()
    assert ti.Matrix([[1, 2], [3, 4]]).trace() == 5


def test_a_precision_without_a_letter(capfd):
    scale = 2.0

    @ti.kernel
    def run(x: ti.f32):
        print(f"{x:.3}", f"{x:.1}", f"{ti.Vector([x, 1.0]):8.2}", f"{scale:.3}")

    run(1234.5678)
    assert capfd.readouterr().out == "1234.568 1234.6 [ 1234.57,     1.00] 2.000\n"


def _run(lines):
    text = "".join(f"    {line}\n" for line in lines.split("\n"))
    source = f"@ti.kernel\ndef run(n: ti.i32):\n{text}"
    file = f"<variables {abs(hash(source))}>"
    ti.attach_source(file, source)
    scope = {"ti": ti}
    exec(compile(source, file, "exec"), scope)
    scope["run"](3)
