"""Error texts of the front end: place, line, caret, expected and got, hint; one case a message."""

import re
import textwrap

import error_cases
import error_cases_odd
import error_cases_values
import error_names
import numpy as np
import pytest
from error_names import X, twice

import metate as ti
from metate.frontend.source import attach_source

pytest.importorskip("metate_native._compiler")

CASES = error_cases.CASES | error_cases_odd.CASES | error_cases_values.CASES


def compile_case(name):
    text = textwrap.dedent(CASES[name][0])
    file = f"<case {name}>"
    attach_source(file, text)
    names = dict(vars(error_names))
    exec(compile(text, file, "exec"), names)
    return ti.kernel(names["k"]), text, file


def expected_place(text):
    """(line, column, length) from the marker line, which stands right below the wrong line."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        marker = re.fullmatch(r"\s*#\s*(\^~*)", line)
        if marker:
            return number, line.index("^") + 1, len(marker[1])
    return None


@pytest.mark.parametrize("name", CASES)
def test_error(name):
    _, kind, message, hint = CASES[name]
    kernel, text, file = compile_case(name)
    with pytest.raises(getattr(ti, kind)) as caught:
        kernel.import_module()
    error = caught.value
    assert error.message == message
    assert error.hint == hint
    place = expected_place(text)
    if place:
        line, column, length = place
        assert (error.line, error.column, error.length) == (line, column, length)
        wrong = text.splitlines()[line - 1]
        shown = f"{file}:{line}:{column}: {message}\n    {wrong}\n    {' ' * (column - 1)}^{'~' * (length - 1)}"
        assert str(error).startswith(shown)
    assert message[0].islower() or message[0] == "'", "lower case"
    assert not message.endswith("."), "no period"


def test_errors_derive_from_pythons():
    kernel, _, _ = compile_case("unknown name")
    with pytest.raises(NameError):
        kernel.import_module()
    kernel, _, _ = compile_case("float index")
    with pytest.raises(TypeError):
        kernel.import_module()


def test_error_in_a_func_names_the_call():
    @ti.kernel
    def k(x: X):
        x[0] = twice(x[1])

    with pytest.raises(ti.NameError_) as caught:
        k.import_module()
    error = caught.value
    assert "undefined_inside" in error.source
    text = str(error)
    assert f"note: {__file__}:{k.source.first_line + 2}:16: called from here, by 'k'" in text


def test_lossy_assignment_warns():
    @ti.kernel
    def k(x: X):
        n = 0
        n += x[0]
        x[1] = n

    with pytest.warns(UserWarning, match="variable 'n': a value of type f32 is cast to the variable's type i32") as caught:
        k.import_module()
    assert caught[0].lineno == k.source.first_line + 3
    assert caught[0].filename == __file__


def test_nothing_is_compiled_at_decoration():
    @ti.kernel
    def k(x: X, n):
        nonsense  # noqa: B018, F821

    assert k.instances() == []
    with pytest.raises(ti.TypeError_, match="parameter 'n' has no annotation"):
        k(None, 1)


def test_source_that_is_not_available():
    names = {"ti": ti, "X": X}
    exec("".join(["def k(x: X):\n", "    x[0] = 1.0\n"]), names)
    with pytest.raises(ti.SyntaxError_, match="the source of 'k' is not available") as caught:
        ti.kernel(names["k"]).import_module()
    assert "attach_source" in caught.value.hint


def test_the_traceback_is_the_users():
    """A wrong kernel shows the call and the place in the source, not the compiler's frames."""

    @ti.kernel
    def wrong(x: ti.types.ndarray(ti.f32, 1)):
        x[0] = undefined_name  # noqa: F821

    with pytest.raises(ti.CompilationError) as caught:
        wrong(np.zeros(1, np.float32))
    frames = [frame.path.name for frame in caught.traceback]
    assert frames[0] == "test_frontend_errors.py"
    assert set(frames[1:]) == {"kernel.py"} and len(frames) <= 3
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
