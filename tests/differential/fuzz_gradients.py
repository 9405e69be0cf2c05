"""`scripts/fuzz-kernels --gradients`: many random kernels, their derivatives compared (gradients.py)."""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import random
import tempfile
import time

import numpy as np

import metate as mt

from . import gradient_kernels, gradients

_STRIDE = 1_000_003  # between the kernels of two seeds


@dataclasses.dataclass
class Report:
    count: int = 0
    refused: int = 0
    wrong: list = dataclasses.field(default_factory=list)  # (seed, texts)
    reasons: dict = dataclasses.field(default_factory=dict)


def run(seed, count, folder, variants=gradients.VARIANTS, seconds=None):
    """Checks `count` kernels; the text of what is wrong is left in the folder."""
    report, derivatives, begin = Report(), gradients.Derivatives(), time.monotonic()
    with mt.Context(default_fp=mt.f64):
        for number in range(count):
            if seconds is not None and time.monotonic() - begin > seconds:
                break
            this = seed * _STRIDE + number
            rng = np.random.default_rng(this)
            path = pathlib.Path(folder) / f"gradient_{this}.py"
            kernel = gradient_kernels.load(gradient_kernels.Writer(this).kernel(), path)
            report.count += 1
            try:
                found = gradients.check(derivatives, kernel, gradient_kernels.arguments(rng), rng, variants=variants)
            except gradients.Refused as refused:
                report.refused += 1
                reason = str(refused).split("; ")[0][:60]
                report.reasons[reason] = report.reasons.get(reason, 0) + 1
                found = []
            if found:
                report.wrong.append((this, found))
                print(f"{path}:\n  " + "\n  ".join(found), flush=True)
    return report


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="scripts/fuzz-kernels --gradients", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many kernels (default 200)")
    parser.add_argument("--seed", type=int, default=None, help="repeats a run; default: a fresh one, printed")
    parser.add_argument("--time", type=float, default=None, metavar="SECONDS", help="stop after that time")
    options = parser.parse_args(arguments)
    seed = random.randrange(1 << 20) if options.seed is None else options.seed
    folder = tempfile.mkdtemp(prefix="gradients")
    report = run(seed, options.count, folder, seconds=options.time)
    for reason, times in sorted(report.reasons.items()):
        print(f"  refused {times}: {reason}")
    print(f"seed {seed}: {report.count} kernels, {len(report.wrong)} mismatches, {report.refused} refused")
    return bool(report.wrong)


if __name__ == "__main__":
    raise SystemExit(main())
