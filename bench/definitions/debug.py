"""debug: kernels compiled with checks against the same without, on right programs."""

import numpy as np
from harness import measure, rows

TITLE = "debug mode against release"
COUNT = 1 << 20


def measured(runner):
    import small_kernels

    import metate as mt

    rng = np.random.default_rng(7)
    at = rng.permutation(COUNT).astype(np.int32)
    x = rng.random(COUNT).astype(np.float32)
    contexts = {"release": mt.Context(), "debug": mt.Context(debug=True)}
    actions, results = {}, {}
    for name, context in contexts.items():
        for kernel, arguments in (("scale", lambda out: (1.0, out)), ("scatter", lambda out: (at, x, out))):
            out = np.ones(COUNT, np.float32)
            passed = arguments(out)

            def run_in(context=context, kernel=kernel, passed=passed):
                with context:
                    getattr(small_kernels, kernel)(*passed)

            run_in()
            results.setdefault(kernel, []).append(out.copy())
            actions[f"{kernel}, {name}"] = run_in
    for a, b in results.values():
        np.testing.assert_array_equal(a, b)
    for name, taken in measure.interleaved(actions).items():
        yield rows.given(name, {"metate": taken}, unit="value", work=COUNT)
