"""B5: appending to dynamic lists, which are given up before each step."""

import numpy as np
from harness.case import Case, Reference

TITLE = "appending to dynamic lists"


def inputs(rng, lists, count, capacity, chunk):
    return {"keys": rng.integers(0, lists, count, np.int32)}


def lengths(keys, lists):
    return np.bincount(keys, minlength=lists).astype(np.int32)


def many(inputs, steps, lists, count, capacity, chunk):
    total = np.bincount(inputs["keys"], weights=np.arange(count), minlength=lists)
    return {"length": lengths(inputs["keys"], lists), "total": total.astype(np.int64).astype(np.int32)}


def one(inputs, steps, lists, count, capacity, chunk):
    return {"length": np.array([count], np.int32), "total": lengths(inputs["keys"], lists)}


def case(name, program, model, capacity, chunk, variants):
    return Case(
        name=f"clear, then append, {name}",
        program=f"append:{program}",
        parameters={"lists": 4096, "count": 1 << 20, "capacity": capacity, "chunk": chunk},
        smoke={"lists": 16, "count": 1000},
        inputs=inputs,
        model=model,
        outputs=lambda lists, **_: {"length": ((lists if program == "many" else 1,), "int32"), "total": ((lists,), "int32")},
        reference=Reference("append", program, lambda lists, count, capacity, chunk: (lists, count, capacity), variants),
        unit="append",
        work=lambda count, **_: count,
        tolerance=(0.0, 0.0),
    )


def cases():
    yield case("1 Mi values to 4,096 lists", "many", many, 1024, 32, ("a counter a list", "counted, then placed"))
    yield case("1 Mi values to one list", "one", one, 1 << 21, 1 << 14, ("one counter", "room for a block at once"))
