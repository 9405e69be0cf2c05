"""What memory graphs take beside the lower bound: as the manual's table says; and the graphs compute what they should with it."""

import pathlib
import sys

import numpy as np
import pytest

import metate as mt

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import planned_graphs  # noqa: E402

PAGE = HERE.parents[1] / "docs" / "manual" / "graphs.md"


def test_the_manual_has_the_table():
    found = planned_graphs.table()
    assert found in PAGE.read_text(), (
        f"docs/manual/graphs.md: expected the table that tests/aot/planned_graphs.py prints:\n{found}"
    )
    for _, arrays, taken, bound, apart in planned_graphs.rows():
        assert arrays > 3 and bound <= taken <= 1.05 * bound < apart


TWINS = {
    planned_graphs.square: lambda x, y: x * x,
    planned_graphs.slope: lambda x, k: -x * x,
    planned_graphs.ahead: lambda x, k, dt, y: x + np.float32(dt) * k,
    planned_graphs.weigh: lambda x, k1, k2, k3, k4, y: x + (k1 + 2 * k2 + 2 * k3 + k4) / 60,
    planned_graphs.coarser: lambda x, y: 0.25 * (x[::2, ::2] + x[1::2, ::2] + x[::2, 1::2] + x[1::2, 1::2]),
    planned_graphs.finer: lambda x, skip, y: np.kron(x, np.ones((2, 2), "f4")) + skip,
    planned_graphs.smooth: lambda x, y: 0.5 * x + 0.5 * np.concatenate((x[:1], x[:-1])),
    planned_graphs.residual: lambda x, b, r: b - x + 0.25 * np.concatenate((x[:1], x[:-1])),
}


class Twin:
    """A builder that does in NumPy what is dispatched, at once, or where a sequential is appended; arrays lie apart."""

    def __init__(self, steps=None):
        self.steps = steps

    def intermediate(self, name, dtype, shape):
        return np.full([37 if one is planned_graphs.n else one for one in shape], np.nan, "f4")

    def create_sequential(self):
        return Twin([])

    def dispatch(self, kernel, *arguments):
        if self.steps is None:
            arguments[-1][:] = TWINS[kernel](*arguments)
        else:
            self.steps.append((kernel, arguments))

    def append(self, sequential, count):
        for step in sequential.steps * count:
            self.dispatch(step[0], *step[1])


@pytest.mark.parametrize("drawing", planned_graphs.GRAPHS, ids=lambda drawing: drawing.__name__)
def test_sharing_changes_nothing(rng, drawing):
    shape = [37 if one is planned_graphs.n else one for one in planned_graphs.GRAPHS[drawing]]
    x, y = (rng.random(shape, dtype="f4") for _ in range(2))
    found = [x.copy(), y.copy()]
    with mt.Context():
        planned_graphs.compiled(drawing).run(dict(zip("xy", found, strict=True)))
    drawing(Twin(), x, y)
    for one, other in zip(found, (x, y), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)
