"""B15: launches of kernels that do nothing, and graphs of them, from Python and from C; one element from Python."""

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
    "graph of 1 kernel": "graph1",
    "graph of 16 kernels": "graph16",
    "write an element of a field": "element_write",
    "read an element of a field": "element_read",
}
NAMES = {
    "empty0": "C, 0 scalars",
    "empty5": "C, 5 scalars",
    "empty20": "C, 20 scalars",
    "graph1": "C, graph of 1 kernel of 5 scalars",
    "graph16": "C, graph of 16 kernels of 5 scalars",
    "arrays1": "C, graph of 1 kernel over arrays of 8 elements",
    "arrays16": "C, graph of 16 kernels over arrays of 8 elements",
}
ASKED = {"empty5": "asked: at most 100 ns"}


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
    all_samples = samples()
    for name, taken in all_samples.items():
        if name != "open":
            seconds = [1e-9 * nanoseconds for nanoseconds in taken]
            yield rows.given(NAMES[name], {"metate": seconds}, note=ASKED.get(name, ""))
    # What a kernel more costs, its work on 8 elements included: the least of both, since differences of noise are noise.
    for one, many, what in (("graph1", "graph16", "5 scalars"), ("arrays1", "arrays16", "arrays of 8 elements")):
        node = 1e-9 * max(min(all_samples[many]) - min(all_samples[one]), 0.01) / 15
        yield rows.given(f"C, a node of a graph, {what}", {"metate": [node]}, unit="node", note="asked: at most 50 ns")
