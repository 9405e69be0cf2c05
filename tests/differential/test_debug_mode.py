"""Debug kernels against the interpreter: random kernels, many with an array cut short, stop at the same place.

With one thread both run the iterations of a loop over a range in order: then what they leave must be the same to
the bit, up to the write that was not done. The cells of a sparse tree have no order: of such a kernel both must stop,
or neither.
"""

import random
import re

from ways import UNOPTIMISED, without

import metate as mt
from differential.compare import difference
from differential.generate import generate
from differential.run import Prepared, Variant

OVER_CELLS = re.compile(r"for .* in (mt\.grouped\()?(f\d|h\d|x\d\d)")  # a tree, an object's field, a field
PLACE = re.compile(r":(\d+):(\d+): ")


def cut_short(case, choose):
    """Takes the last row of one array away: accesses that were inside may not be any more. Declared extents stay."""
    arrays = [a for a in case.arguments if a.kind == "array" and a.extents and a.extents[0] > 1]
    arrays = [a for a in arrays if "shape=(" not in a.annotation]
    if arrays:
        array = choose.choice(arrays)
        del array.data[len(array.data) - len(array.data) // array.extents[0] :]
        array.extents = (array.extents[0] - 1, *array.extents[1:])


NEGATIVE_POWER = "Negative exponent in pow(int, int) is not allowed"
NOT_HELD = "does not fit quant."
ATOMIC = re.compile(r"mt\.atomic_|[-+*&|^]= ")
CALLED = Variant("in debug mode", is_called=True)


def run(prepared, context):
    return prepared.called(context, CALLED)


def kind(found):
    return found["status"] and found["status"].partition(":")[0]


def without_status(found):
    return {name: value for name, value in found.items() if name != "return"} | {"status": None}


def test_debug_kernels_stop_where_the_interpreter_does(rng):
    seed = int(rng.integers(1 << 24))
    ways = (*without("hoist_leaves", "demote_atomics"), UNOPTIMISED, {"opt_level": 3})
    debug = [mt.Context(debug=True, threads=1, contract=False, fast_math=False, **way) for way in ways]
    release = mt.Context(threads=1, contract=False, fast_math=False, asserts=True)
    interpreter = mt.Context(mt.interp, asserts=True, checks=("division", "outside", "quant-range"))
    stopped = finished = 0
    for number in range(seed, seed + 36):
        case = generate(number, f"k{number}")
        if number % 2:
            cut_short(case, random.Random(number))
        if case.overlaps:
            continue
        prepared = Prepared(case)
        found, expected = run(prepared, debug[number % len(debug)]), run(prepared, interpreter)
        where = f"{case.name} (seed {number}): {found['status']} | {expected['status']}\n{case.kernel}"
        if found["status"] and NEGATIVE_POWER in found["status"]:
            stopped += 1
            continue  # the front end asks for this in debug mode alone: the interpreter goes on with 0
        if NOT_HELD in str(expected["status"]) and ATOMIC.search(case.kernel):
            stopped += 1
            continue  # of atomics it looks at the operand, debug kernels at what they leave
        assert (found["status"] is None) == (expected["status"] is None), where
        if kind(found) == kind(expected) == "CapacityError":
            continue  # test_differential.py compares these
        if found["status"] is None:
            finished += 1
            assert difference(case, expected, found) is None, where
            assert difference(case, found, run(prepared, release)) is None, where
            continue
        assert kind(found) in ("RuntimeIndexError_", "ZeroDivisionError_", "AssertionError_"), where
        stopped += 1
        if not OVER_CELLS.search(case.kernel):
            assert kind(found) == kind(expected), where
            assert PLACE.search(found["status"]).groups() == PLACE.search(expected["status"]).groups(), where
            if NOT_HELD not in expected["status"]:  # the interpreter says so of a store that it has done
                assert difference(case, without_status(expected), without_status(found)) is None, where
    assert stopped > 5, "kernels stop"
    assert finished > 5, "kernels finish"
