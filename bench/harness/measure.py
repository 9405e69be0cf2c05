"""How a figure is taken: interleaved samples, median, minimum, 90th percentile."""

import time

import numpy as np

LEAST_SAMPLES = 9


def summary(samples, scale=1.0):
    """{'median', 'min', 'p90', 'samples'} of the samples, times `scale`."""
    values = np.asarray(samples, float) * scale
    return {
        "median": float(np.median(values)),
        "min": float(values.min()),
        "p90": float(np.percentile(values, 90)),
        "samples": len(values),
    }


def interleaved(actions, samples=LEAST_SAMPLES):
    """Seconds per call of each action (a dict of callables), taken A/B/C/A/B/C; one warm-up each."""
    for action in actions.values():
        action()
    taken = {name: [] for name in actions}
    for _ in range(max(samples, LEAST_SAMPLES)):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            taken[name].append(time.perf_counter() - start)
    return taken


def print_row(name, figures, unit, note=""):
    print(
        f"  {name:<44} {figures['median']:10.3f} {unit:<3} (min {figures['min']:.3f}, p90 {figures['p90']:.3f}) {note}",
        flush=True,
    )
