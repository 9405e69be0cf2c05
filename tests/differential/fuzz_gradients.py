"""`scripts/fuzz-kernels --gradients`: many random kernels, their derivatives compared.

Every other one is over arrays (gradients.py), the others over fields (gradient_fields.py). A kernel, and the ways in which it
runs, are known by its number alone.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import random
import re
import tempfile
import time

import numpy as np

import metate as mt

from . import gradient_fields, gradient_kernels, gradient_programs, gradients

_STRIDE = 1_000_003  # between the kernels of two seeds


@dataclasses.dataclass
class Report:
    count: int = 0
    refused: int = 0
    wrong: list = dataclasses.field(default_factory=list)  # (seed, texts)
    reasons: dict = dataclasses.field(default_factory=dict)


def is_compiled(number) -> bool:
    """One kernel in eight, which takes ten times as long. The others are interpreted, after the pass and after later stages."""
    return number // 2 % 8 == 0


def of_arrays(number, folder, derivatives):
    rng = np.random.default_rng(number)
    arch = mt.cpu if is_compiled(number) else mt.interp
    with mt.Context(arch, default_fp=mt.f64):
        path = pathlib.Path(folder) / f"gradient_{number}.py"
        kernel = gradient_kernels.load(gradient_kernels.Writer(number).kernel(), path)
        ways = gradients.VARIANTS if is_compiled(number) else gradients.STAGES
        variants = ("simplify", ways[number // 16 % len(ways)])
        return gradients.check(derivatives, kernel, gradient_kernels.arguments(rng), rng, variants=variants)


def of_fields(number, folder):
    writer = gradient_programs.Writer(number)
    ways = gradient_fields.VARIANTS if is_compiled(number) else gradient_fields.STAGES
    module = gradient_fields.load(writer.module(), pathlib.Path(folder) / f"program_{number}.py")
    variants = (gradient_fields.STAGES[0], ways[number // 16 % len(ways)])
    return gradient_fields.check(module, writer.is_full, np.random.default_rng(number), variants)


def run(seed, count, folder, seconds=None):
    """Checks `count` kernels; the text of what is wrong is left in the folder."""
    report, derivatives, begin = Report(), gradients.Derivatives(), time.monotonic()
    for number in range(seed * _STRIDE, seed * _STRIDE + count):
        if seconds is not None and time.monotonic() - begin > seconds:
            break
        report.count += 1
        try:
            found = of_fields(number, folder) if number % 2 else of_arrays(number, folder, derivatives)
        except gradients.Refused as refused:
            report.refused += 1
            reason = re.sub("'[^']*'", "'...'", str(refused)).split("; ")[0][:90]
            report.reasons[reason] = report.reasons.get(reason, 0) + 1
            found = []
        except mt.MetateError as error:
            found = [f"{type(error).__name__}: {error}"]
        if found:
            report.wrong.append((number, found))
            print(f"{folder}: {number}:\n  " + "\n  ".join(text[:2000] for text in found), flush=True)
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
