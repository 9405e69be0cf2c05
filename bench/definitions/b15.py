"""B15: launches of kernels that do nothing, from Python and from C; one element from Python."""

import numpy as np
from harness import rows
from harness.c_host import samples
from harness.case import Case

TITLE = "a launch of a kernel that does nothing"
KINDS = {
    "no arguments": "no_arguments",
    "5 scalars": "scalars5",
    "20 ndarrays": "ndarrays20",
    "5 NumPy arrays": "numpy5",
    "5 fields": "fields5",
    "write an element of a field": "element_write",
    "read an element of a field": "element_read",
}


def cases():
    for kind, program in KINDS.items():
        yield Case(
            name=f"Python, {kind}",
            program=f"launch:{program}",
            parameters={},
            smoke={},
            inputs=lambda rng: {},
            model=lambda inputs, steps: {"out": np.zeros(1, np.float32)},
            outputs=lambda: {"out": ((1,), "float32")},
            reference=None,
            unit="launch",
            work=lambda: 1,
            headline=kind in ("no arguments", "20 ndarrays", "5 NumPy arrays", "write an element of a field"),
        )


def measured(runner):
    for name, taken in samples().items():
        if name != "open":
            yield rows.given(
                f"C, {name.removeprefix('empty')} scalars", {"metate": [1e-9 * nanoseconds for nanoseconds in taken]}
            )
