"""The table against the front end's own lists: what a kernel can say without a row here fails."""

import ast

from differential import numbers, table
from differential import statements as written
from differential.generate import Generator, generate
from metate import intrinsics, math, quant
from metate.drawn_levels import Drawn
from metate.frontend import component_access, operators, walker
from metate.frontend.function import Function
from metate.types import DTYPES
from metate_native import _compiler

SPELLED = " ".join(text for op in table.OPS for text in op.texts)
# Not in a row of an operation: said by statements and loops, or about the compilation only.
STATED = {"static", "loop_config", "ndrange", "grouped", "Vector", "Matrix", "append", "length"}
STATED |= {"is_active", "activate", "deactivate"}
# What no_activate keeps from being written is in the cells' own activity, rescaling is arithmetic on constants, and a twin
# has no slots that are in use: e2e/test_levels*.py have these.
ELSEWHERE = {"no_activate", "rescale_index", "used"}
ELSEWHERE |= {"stop_grad"}  # is its argument but to derivatives: e2e/test_gradients_in_kernels.py
# Vectors and sums of the C library's results, whose number of wrong places has no bound; test_math_library.py has them.
SEVERAL_ROUNDINGS = {"cexp", "clog", "cpow", "eye", "rotation2d", "vdir", "rot_by_axis", "rot_yaw_pitch_roll", "rotation3d"}
COMPILE_TIME = {"block_local", "cache_read_only", "assume_in_range", "static_print", "static_assert"}
# `random` is a statement of patterns.py, for a number depends on those drawn before; functions of the C library make
# `randn` of such numbers; it is one of patterns.py, too.
DRAWN = {"random", "randn"}


def test_every_intrinsic_has_a_row():
    missing = {
        name
        for name in intrinsics.__all__
        if f"mt.{name}(" not in SPELLED
        and name.removeprefix("atomic_") not in (*table.ATOMICS, *table.EXCHANGES)
        and name not in STATED | COMPILE_TIME | DRAWN | ELSEWHERE
    }
    assert not missing, f"no row in tests/differential/table.py says {sorted(missing)}"


def test_every_elementwise_function_has_a_row():
    missing = {name for name in _compiler.KernelBuilder.function_names() if f"mt.{name}(" not in SPELLED}
    assert not missing, sorted(missing)


def test_every_operator_has_a_row():
    symbols = {*operators.BINARY.values(), "<", "<=", ">", ">=", "==", "!="}
    missing = {symbol for symbol in symbols if f" {symbol} " not in SPELLED}
    assert not missing, sorted(missing)
    assert {ast.UAdd: "+{0}", ast.USub: "-{0}", ast.Invert: "~{0}", ast.Not: "not {0}"}.keys() == operators._UNARY.keys()
    assert all(text in SPELLED for text in ("(+{0})", "(-{0})", "(~{0})", "(not {0})"))


def test_every_method_has_a_row():
    missing = {name for name in component_access.METHODS if f"{{0}}.{name}(" not in SPELLED and name != "cast"}
    assert not missing, sorted(missing)


def test_every_function_of_math_has_a_row():
    names = {name for name in math.__all__ if isinstance(getattr(math, name), (Function, intrinsics.Intrinsic))}
    names -= SEVERAL_ROUNDINGS
    missing = {name for name in names if f"mt.math.{name}(" not in SPELLED and f"mt.{name}(" not in SPELLED}
    assert not missing, sorted(missing)


def test_every_scalar_type_has_a_column():
    assert set(table.ALL) == {dtype.name for dtype in DTYPES}
    assert set(numbers.SCALARS) == set(table.ALL)


def test_every_kind_of_level_has_a_row():
    functions = {name: value.__code__ for name, value in vars(Drawn).items() if hasattr(value, "__code__")}
    kinds = {name for name, code in functions.items() if "_add" in code.co_names}
    assert kinds and kinds <= {kind for chain in table.LEVELS for kind in chain}


def test_every_statement_of_the_front_end_is_written():
    names = {name for part in vars(walker).values() if isinstance(part, type) for name in dir(part)}
    known = {name.removeprefix("statement_") for name in names if name.startswith("statement_")}
    assert known == {
        "Pass", "Expr", "Assign", "AnnAssign", "AugAssign", "If", "Return", "Break", "Continue", "Assert", "For", "While",
        "FunctionDef",  # of closures, which e2e/test_functions.py has
    }, "a new kind of statement: write it in tests/differential/statements.py"  # fmt: skip
    assert all(hasattr(Generator, "make_" + name.replace(" ", "_")) for name in written.STATEMENTS)
    assert {"+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "**"} == set(written.AUGMENTED)


def test_atomics_are_the_builders():
    from metate.frontend.intrinsic_calls import _ATOMICS

    assert set(_ATOMICS) == set(table.ATOMICS)


def test_random_numbers_of_every_type_are_drawn():
    """A short run need not draw all of them; together many do, in loops, in branches and outside."""
    columns = {"random": set(), "randn": set()}
    for seed in range(800):
        for name, column, _ in generate(seed).covered:
            columns.get(name, set()).add(column)
    assert columns == {"random": set(table.ALL), "randn": set(table.FLOATS)}


def test_every_quantised_type_has_a_row():
    known = {name for name in quant.__all__ if name != "QuantType"}
    assert known == {kind.split()[-1] for kind in table.QUANTISED}


def test_quantised_members_are_used_in_every_way():
    """By themselves, in words, with shared exponents, in quant_arrays; loaded, stored, changed by every atomic operation."""
    expected = {(f"{access} of quantised", kind) for kind, accesses in table.QUANTISED.items() for access in accesses}
    found = set()
    for seed in range(600):
        found |= {(name, column) for name, column, _ in generate(seed, quantised_share=1).covered} & expected
        if found == expected:
            return
    assert not sorted(expected - found)


def test_fields_are_reached_in_every_way():
    ways = {name for seed in range(60) for name, _, _ in generate(seed).covered if name.startswith("fields: ")}
    assert ways == {f"fields: {way}" for way in table.FIELD_ACCESS}
