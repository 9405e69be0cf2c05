"""What of a result is compared: all of a small array; of a large one a sample of its values and sums of its blocks.

Runs on both sides of the pipe. A difference in any value of a large array changes its block's sum; values that
are sampled are compared one by one.
"""

import numpy as np

WHOLE = 1 << 22  # values up to which all are compared
SAMPLES = 1 << 16
BLOCKS = 1 << 12


def take(array):
    """{'values', 'sums', 'block'}: of a large array every so-manieth value, and the f64 sums of its blocks."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.size <= WHOLE:
        return {"values": flat, "sums": np.zeros(0), "block": np.array(1)}
    block = -(-flat.size // BLOCKS)
    starts = np.arange(0, flat.size, block)
    sums = np.add.reduceat(flat, starts, dtype=np.float64)
    return {"values": flat[:: flat.size // SAMPLES], "sums": sums, "block": np.array(block)}


def difference(expected, got, relative, absolute):
    """None when `got` agrees with `expected`, else a sentence about the first value that does not."""
    for part in ("values", "sums"):
        a, b = expected[part], got[part]
        if a.shape != b.shape:
            return f"expected {a.size} {part}, got {b.size}"
        a, b = a.astype(np.float64), b.astype(np.float64)
        # Errors of a sum's terms are independent of one another: they add up like the square root of their number.
        slack = np.sqrt(float(expected["block"])) if part == "sums" else 1.0
        scale = np.abs(a) / (slack if part == "sums" else 1.0)
        wrong = ~(np.abs(a - b) <= slack * (absolute + relative * scale))
        if wrong.any():
            at = int(np.argmax(wrong))
            what = "value" if part == "values" else f"sum of {int(expected['block'])} values"
            return f"{what} {at}: expected {a[at]:.9g}, got {b[at]:.9g} ({int(wrong.sum())} of {a.size} differ)"
    return None
