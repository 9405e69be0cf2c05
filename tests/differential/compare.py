"""Do two runs agree? Bit for bit, but for NaNs (all alike), zeros whose sign is not determined, and what is
only known to some units in the last place."""

from __future__ import annotations

import math

import numpy as np

from . import numbers as n

_WORDS = {2: (np.int16, np.float16), 4: (np.int32, np.float32), 8: (np.int64, np.float64)}


def difference(case, expected: dict, found: dict, is_twin: bool = False, is_exact: bool = False) -> str | None:
    """The first difference as text, None when they agree.

    Args:
        is_twin: what is expected is the twin's, which has no bounds.
        is_exact: nothing is allowed to differ, in any order, unless both ran out of slots.
    """
    if (expected["status"] is None) != (found["status"] is None) or _kind(expected["status"]) != _kind(found["status"]):
        return f"status: {expected['status']!r} and {found['status']!r}"
    if expected["status"] is not None and _kind(expected["status"]) != "CapacityError":
        return None  # which iterations had run is not determined
    if expected["printed"] != found["printed"]:
        return f"printed: {expected['printed']!r} and {found['printed']!r}"
    if is_exact and expected["status"] is not None:
        return None
    for argument in case.arguments if expected["status"] is not None else ():
        if getattr(argument, "capacity", None):
            text = _beyond(argument.name, expected, found) if is_twin else None
            if text is not None:
                return text
            expected, found = _common(argument.name, expected, found)
    for name, values in expected.items():
        if name in ("status", "printed", "counted"):
            continue
        other = found.get(name)
        tolerance = {} if is_exact else case.tolerances.get(name, {})
        shuffled = tolerance.get("shuffled")
        if shuffled is not None and other is not None and values.shape == other.shape:
            if expected["status"] is not None:
                continue  # which values a full list took is not determined
            values, other = _sorted(values, expected, name, shuffled), _sorted(other, found, name, shuffled)
        if other is None or values.shape != other.shape:
            return f"{name}: shapes {values.shape} and {None if other is None else other.shape}"
        if values.dtype == other.dtype and values.tobytes() == other.tobytes():
            continue
        text = _differing(values, other, tolerance, _is_bf16(case, name))
        if text is not None:
            return f"{name}{text}"
    return None


def _kind(status):
    return None if status is None else status.split(":")[0]


def _sorted(values, results, name, lists):
    """The values of each list in ascending order. `lists`: positions of a list's coordinates among a cell's."""
    cells = results[f"{name} cells"]
    columns = [*(cells[:, k] for k in lists), *values.reshape(len(values), math.prod(values.shape[1:])).T]
    return values[np.lexsort(columns[::-1])]


def _cells_of(name, results):
    return {tuple(cell): k for k, cell in enumerate(results[f"{name} cells"].tolist())}


def _members_of(tree, results):
    return [name.removesuffix(" cells") for name in results if name.startswith(f"{tree}.") and name.endswith(" cells")]


def _beyond(tree, expected, found) -> str | None:
    """Of a tree whose slots did not suffice: a cell that is active although nothing activated it."""
    for name in _members_of(tree, expected):
        more = _cells_of(name, found).keys() - _cells_of(name, expected).keys()
        if more:
            return f"{name}: the cell at {min(more)} is active"
    return None


def _common(tree, expected, found):
    """Both results with those cells of a tree only that are active in both: who gets the last slots is not determined."""
    expected, found = dict(expected), dict(found)
    for name in _members_of(tree, expected):
        mine, other = _cells_of(name, expected), _cells_of(name, found)
        both = sorted(mine.keys() & other.keys())
        for results, places in ((expected, mine), (found, other)):
            kept = np.array([places[cell] for cell in both], np.int64)
            results[f"{name} cells"], results[name] = results[f"{name} cells"][kept], results[name][kept]
    return expected, found


def _is_bf16(case, name) -> bool:
    tree, _, member = name.partition(".")
    for argument in case.arguments:
        if argument.kind == "tree" and argument.name == tree:
            return any(given[0] == member and given[1] == "bf16" for given in case.members[argument.type])
    return any(given == name and scalar == "bf16" for given, scalar, _ in case.returns or ())


def _differing(a, b, tolerance, is_bf16):
    if a.dtype.kind != "f":
        wrong = a != b
    else:
        wrong = ~((a == b) | (np.isnan(a) & np.isnan(b)))
        if not tolerance.get("signless"):
            wrong |= (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
        allowed = tolerance.get("ulp", 0) << (16 if is_bf16 else 0)
        if allowed and wrong.any():
            wrong &= ~_within(a, b, allowed)
    if not wrong.any():
        return None
    at = tuple(np.argwhere(wrong)[0])
    return f"[{', '.join(map(str, at))}]: {a[at]!r} and {b[at]!r} ({int(wrong.sum())} of {wrong.size} differ)"


def _within(a, b, allowed):
    """At most so many representable values apart; infinity is the one after the greatest."""
    word, kind = _WORDS[a.dtype.itemsize]
    mask = (1 << (8 * a.dtype.itemsize - 1)) - 1

    def place(values):
        """Numbers such that neighbouring floats are neighbours: Python's, for they must not overflow."""
        bits = np.ascontiguousarray(values.astype(kind)).view(word).astype(object)
        return np.where(bits < 0, -(bits & mask), bits)

    return (np.abs(place(a) - place(b)) <= allowed) & ~(np.isnan(a) | np.isnan(b))


def twin_results(case) -> dict:
    """What the twin computes, in the form of `execute.launch`."""
    result, arguments, lines, status = case.run_twin()
    found = {"status": status, "printed": sorted(lines)}
    if _kind(status) == "AssertionError_":
        return found
    if case.returns is not None and status is None:
        given = case.results_of(result)
        found |= {name: np.atleast_1d(_array(given[name], scalar, tuple(shape))) for name, scalar, shape in case.returns}
    for argument, value in zip(case.arguments, arguments):
        if argument.kind == "array":
            flat = [value[at] for at in np.ndindex(*argument.extents)]
            found[argument.name] = _array(flat, argument.scalar, (*argument.extents, *argument.shape))
        elif argument.kind == "tree":
            for name, member in value.type.members.items():
                cells = value.cells(name)
                coordinates = np.array(cells, np.int64).reshape(len(cells), len(member.shape))
                found[f"{argument.name}.{name} cells"] = coordinates + np.array(member.origin, np.int64)
                values = [value.get(name, at) for at in cells]
                found[f"{argument.name}.{name}"] = _array(values, member.type.scalar, (len(cells), *member.type.shape))
    return found


def _array(values, scalar, shape):
    kind = {"u1": np.bool_, "f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64}.get(scalar)
    if kind is None:
        kind = np.dtype(("int" if scalar[0] == "i" else "uint") + str(n.bits_of(scalar)))
    return np.array(values, kind).reshape(shape)
