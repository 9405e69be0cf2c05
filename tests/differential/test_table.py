"""The table against the front end's own lists: what a kernel can say without a row here fails."""

import ast

from differential import numbers, table
from differential import statements as written
from differential.generate import Generator
from metate import intrinsics, math
from metate.frontend import calls, expressions, statements
from metate.frontend.function import Function
from metate.tree_type import _Draft
from metate.types import DTYPES
from metate_native import _compiler

SPELLED = " ".join(text for op in table.OPS for text in op.texts)
# Not in a row of an operation: said by statements and loops, or about the compilation only.
STATED = {"static", "loop_config", "ndrange", "grouped", "Vector", "Matrix", "is_active", "activate"}
COMPILE_TIME = {"static_print", "static_assert"}


def test_every_intrinsic_has_a_row():
    missing = {
        name
        for name in intrinsics.__all__
        if f"mt.{name}(" not in SPELLED
        and name.removeprefix("atomic_") not in table.ATOMICS
        and name not in STATED | COMPILE_TIME
    }
    assert not missing, f"no row in tests/differential/table.py says {sorted(missing)}"


def test_every_elementwise_function_has_a_row():
    missing = {name for name in _compiler.KernelBuilder.function_names() if f"mt.{name}(" not in SPELLED}
    assert not missing, sorted(missing)


def test_every_operator_has_a_row():
    symbols = {*expressions.BINARY.values(), "<", "<=", ">", ">=", "==", "!="}
    missing = {symbol for symbol in symbols if f" {symbol} " not in SPELLED}
    assert not missing, sorted(missing)
    assert {ast.UAdd: "+{0}", ast.USub: "-{0}", ast.Invert: "~{0}", ast.Not: "not {0}"}.keys() == expressions._UNARY.keys()
    assert all(text in SPELLED for text in ("(+{0})", "(-{0})", "(~{0})", "(not {0})"))


def test_every_method_has_a_row():
    missing = {name for name in calls.Calls.methods if f"{{0}}.{name}(" not in SPELLED and name != "cast"}
    assert not missing, sorted(missing)


def test_every_function_of_math_has_a_row():
    names = {name for name, value in vars(math).items() if isinstance(value, (Function, intrinsics.Intrinsic))}
    missing = {name for name in names if f"mt.math.{name}(" not in SPELLED and f"mt.{name}(" not in SPELLED}
    assert not missing, sorted(missing)


def test_every_scalar_type_has_a_column():
    assert set(table.ALL) == {dtype.name for dtype in DTYPES}
    assert set(numbers.SCALARS) == set(table.ALL)


def test_every_kind_of_level_has_a_row():
    functions = {name: value.__code__ for name, value in vars(_Draft).items() if hasattr(value, "__code__")}
    kinds = {name for name, code in functions.items() if "_add" in code.co_names}
    assert kinds and kinds <= {kind for chain in table.LEVELS for kind in chain}


def test_every_statement_of_the_front_end_is_written():
    known = {name.removeprefix("statement_") for name in dir(statements.Statements) if name.startswith("statement_")}
    known |= {"For", "While"}
    assert known == {
        "Pass", "Expr", "Assign", "AnnAssign", "AugAssign", "If", "Return", "Break", "Continue", "Assert", "For", "While",
    }, "a new kind of statement: write it in tests/differential/statements.py"  # fmt: skip
    assert all(hasattr(Generator, "make_" + name.replace(" ", "_")) for name in written.STATEMENTS)
    assert {"+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "**"} == set(written.AUGMENTED)


def test_atomics_are_the_builders():
    from metate.frontend.intrinsic_calls import _ATOMICS

    assert set(_ATOMICS) == set(table.ATOMICS)
