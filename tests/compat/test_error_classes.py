"""What both packages refuse, Taichi with one class and Metate with another: programs catch either."""

import numpy as np
import pytest

import metate as ti

CASES = {}


def case(*classes):
    """Registers a program that must raise an exception which is of all these classes."""

    def add(function):
        CASES[function.__name__] = (function, classes)
        return function

    return add


@ti.func
def pair(a, b):
    return a + b


@ti.func
def length_of(v: ti.types.vector(3, ti.f32)):
    return v[0]


def in_kernel(name, text):
    """A kernel of no arguments with this body."""
    from metate.frontend.source import attach_source

    code = f"@ti.kernel\ndef run():\n    {text}\n"
    attach_source(f"<{name}>", code)
    scope = {"ti": ti, "pair": pair, "length_of": length_of}
    exec(compile(code, f"<{name}>", "exec"), scope)
    scope["run"]()


CALLS = ["pair(1)", "pair(1, 2, 3)", "pair(1, c=2)", "pair(1, 2, b=3)"]
for text in CALLS:
    case(ti.TaichiSyntaxError, TypeError)(lambda text=text: in_kernel("call", f"print({text})"))
    CASES[f"function called as {text}"] = CASES.pop("<lambda>")


@ti.kernel
def two(a: ti.i32, b: ti.i32) -> ti.i32:
    return a + b


for name, call in {
    "missing": lambda: two(1),
    "too many": lambda: two(1, 2, 3),
    "unknown": lambda: two(1, 2, c=3),
    "double": lambda: two(1, 2, b=3),
}.items():
    CASES[f"kernel with an argument {name}"] = (call, (ti.TaichiSyntaxError, TypeError, RuntimeError))


@case(AssertionError, ti.TaichiAssertionError, IndexError)
def index_of_a_field():
    x = ti.field(ti.f32, 4)
    x[4] = 1


@case(AssertionError, ti.TaichiAssertionError, IndexError)
def index_of_an_array():
    x = ti.ndarray(ti.f32, 4)
    x[4] = 1


@case(AssertionError, ti.TaichiAssertionError, IndexError)
def index_of_a_field_in_a_debug_kernel():
    with ti.Context(debug=True):
        x = ti.field(ti.f32, 4)

        @ti.kernel
        def run(n: ti.i32):
            x[n] = 1

        run(4)


@case(AssertionError, IndexError)
def too_few_indices():
    x = ti.field(ti.f32, (4, 4))
    x[0] = 1


for text in ("a = 1", "a += 1", "a: ti.i32 = 1"):

    def assign(text=text):
        from metate.frontend.source import attach_source

        code = f"@ti.kernel\ndef run(a: ti.i32):\n    {text}\n"
        attach_source("<assign>", code)
        scope = {"ti": ti}
        exec(compile(code, "<assign>", "exec"), scope)
        scope["run"](1)

    CASES[f"kernel argument assigned by {text}"] = (assign, (ti.TaichiSyntaxError, TypeError))


@ti.kernel
def of_f32(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for i in x:
        x[i] = 1


@ti.kernel
def of_vec2(x: ti.types.ndarray(dtype=ti.types.vector(2, ti.f32), ndim=1)):
    for i in x:
        x[i] = [1, 2]


@case(ValueError, TypeError)
def array_of_another_dtype():
    of_f32(np.zeros(3, "i4"))


@case(ValueError, TypeError)
def array_of_another_rank():
    of_f32(np.zeros((3, 3), "f4"))


@case(ValueError, TypeError)
def array_of_other_elements():
    of_vec2(ti.ndarray(ti.types.vector(3, ti.f32), 3))


@case(ti.TaichiSyntaxError, ti.TaichiRuntimeError)
def offset_of_another_rank():
    ti.field(ti.f32, (4, 4), offset=(1,))


@case(ti.TaichiSyntaxError, ValueError)
def order_of_another_rank():
    ti.field(ti.f32, (4, 4), order="i")


@case(ti.TaichiSyntaxError, ValueError)
def order_with_an_unknown_letter():
    ti.field(ti.f32, (4, 4), order="ix")


@case(ti.TaichiSyntaxError, ValueError)
def order_without_a_shape():
    ti.field(ti.f32, order="ij")


for text in (
    "for i in ti.ndrange(3, 4): pass",
    "for i in ti.ndrange((0, 9, 2)): pass",
    "print(ti.i64(1, 2))",
    "print(ti.f64(1, x=2))",
):
    CASES[text] = (lambda text=text: in_kernel("words", text), (ti.TaichiSyntaxError, TypeError))

CASES["a vector as a condition"] = (
    lambda: in_kernel("words", "v = ti.Vector([1, 0]); print(1 if v else 2)"),
    (ti.TaichiSyntaxError, TypeError),
)
CASES["vector of another length for a function"] = (
    lambda: in_kernel("words", "print(length_of(ti.Vector([1.0, 2.0])))"),
    (ti.TaichiSyntaxError, TypeError),
)
CASES["component that a vector has not"] = (
    lambda: in_kernel("words", "v = ti.math.vec2(1, 2); v.z = 3"),
    (ti.TaichiSyntaxError, NameError),
)


@case(NotImplementedError, TypeError)
def loop_over_a_field_in_python():
    for _ in ti.field(ti.f32, 4):
        pass


@case(ti.TaichiRuntimeError, ValueError)
def components_of_another_number_in_python():
    v = ti.math.vec2(1, 2)
    v.xy = [1, 2, 3]


class Undecorated:
    @ti.kernel
    def run(self):
        print(1)


@case(ti.TaichiSyntaxError, TypeError)
def method_of_an_undecorated_class():
    Undecorated().run()


@pytest.mark.parametrize("name", CASES)
def test_the_exception_is_of_both(name):
    program, classes = CASES[name]
    with pytest.raises(Exception) as raised:
        program()
    assert isinstance(raised.value, classes[0]), f"{type(raised.value).__mro__}: {raised.value}"
    for one in classes:
        assert isinstance(raised.value, one), f"expected a {one.__name__}, got {type(raised.value).__mro__}"
