"""Derivatives of random kernels: forward and reverse mode, against dual numbers, each other and differences.

`check` takes a kernel over arrays, compiles its two derivatives, and compares: forward mode with the dual-number interpretation
of the kernel itself, which knows nothing of the pass that differentiates; reverse with forward mode by <w, J v> = <J^T w, v>, and
interpreted with compiled; forward mode with central differences, where the kernel is smooth. A kernel that the pass refuses for
memory between its statements is called in parts (metate/parts.py); one that it refuses otherwise, with a line, counts as refused.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import tempfile
import types

import numpy as np

import metate as mt
from metate import context, runtime
from metate.kernel_views import choices_of
from metate_native import _compiler, _runtime

from . import gradient_kernels

REFUSED = re.compile(r"(?:gradient|derivative) of kernel '[^']*': (.*)")
STAGES = ("simplify", "offload")  # after which derivatives are interpreted
VARIANTS = tuple((level, threads) for level in (0, 2) for threads in (1, 4))
STEPS = (1e-6, 3e-6)
BEFORE = 16  # METATE_ACCESS_BEFORE


class Refused(Exception):
    """The pass says why, with a line."""


def derivative_text(kernel, arguments, mode):
    """(IR, numbers): the kernel's import, marked, with an array of the derivative for each of floats; their numbers."""
    options = context.current().options
    derivative = kernel.grad if mode == "reverse" else kernel.fwd
    parameters = derivative._with_partners(kernel._specialised_on(options, arguments))
    numbers = [k for k, value in enumerate(arguments) if isinstance(value, np.ndarray) and value.dtype.kind == "f"]
    return derivative._walk(options, parameters)[0].text(True), numbers


class Derivatives:
    """Derivative kernels, compiled in every way or interpreted."""

    def __init__(self):
        self.jit, self.interpreter = _compiler.Jit(), _compiler.Interpreter()
        self.contexts = {threads: mt.Context(threads=threads, default_fp=mt.f64) for _, threads in VARIANTS}

    def run(self, text, arguments, derivatives, variant=None, before=()):
        """Runs the derivative that `text` stands for, compiled, or interpreted after a stage; variant None: after import.

        before: what the arguments were before the primal ran, of which the derivative gets those that it asks for.
        """
        stage = None if isinstance(variant, tuple) else variant or "import"
        level, threads = (0, 1) if stage else variant
        with self.contexts[threads]:
            choices = choices_of(context.current().options)
            choices.opt_level = level
            choices.chunk_ns = 0  # chunks for all workers, however few iterations there are
            module = _compiler.SourceModule("derivative")
            module.parse(text)
            try:
                if stage:
                    code = self.interpreter.compile(module, choices, stage=stage, checks=[])
                else:
                    code = self.jit.compile(module, choices)
            except _compiler.CompileError as error:
                found = REFUSED.search(str(error))
                if not found:
                    raise
                raise Refused(found.group(1)) from None
            opened = _runtime.Module.open_static(runtime.device(), code.descriptor, code.entries, code)
            made = opened.kernels[0]
            for k, value in enumerate(before):
                if made.parameters[k]["access"] & BEFORE:
                    arguments[k] = value
            _runtime.Dispatcher(lambda values: (made, (), (), (), (), -1))(*arguments, *derivatives)


def _copies(values):
    return [value.copy() if isinstance(value, np.ndarray) else value for value in values]


def _size(arrays):
    return max([1.0, *(float(np.abs(array).max()) for array in arrays if array.size)])


def check(derivatives, kernel, arguments, rng, tolerance=1e-9, variants=(*STAGES, *VARIANTS)):
    """What disagrees, as texts. Raises Refused."""
    where = [k for k, value in enumerate(arguments) if isinstance(value, np.ndarray) and value.dtype.kind == "f"]
    along = [rng.standard_normal(arguments[k].shape).astype(arguments[k].dtype) for k in where]
    given = [rng.standard_normal(array.shape).astype(array.dtype) for array in along]

    def primal(step):
        values = _copies(arguments)
        for k, direction in zip(where, along, strict=True):
            values[k] += step * direction
        kernel(*values)
        return values

    after = primal(0)
    size = _size(after[k] for k in where)
    if not np.isfinite(size) or size > 1e8:
        return []
    forward, _ = derivative_text(kernel, arguments, "forward")
    reverse, _ = derivative_text(kernel, arguments, "reverse")
    wrong, duals, tangents = [], _copies(along), None
    for variant in (None, *variants):
        found = duals if variant is None else _copies(along)
        values = _copies(arguments)
        derivatives.run(forward, values, found, variant)
        tangents = found
        for k, (one, dual) in enumerate(zip(found, duals, strict=True)):
            if not np.abs(one - dual).max() <= tolerance * _size([dual, one]) * size:
                wrong.append(f"forward {variant}: array {k}: {one}, dual numbers {dual}")
        if not all(np.abs(values[k] - after[k]).max() <= tolerance * size for k in where):
            wrong.append(f"forward {variant}: the kernel's own results")
    wrong += _against_differences(primal, where, duals, size, arguments)
    expected = sum(float((a * b).sum()) for a, b in zip(tangents, given, strict=True))
    for variant in (None, *variants):
        gradient = _copies(given)
        try:
            derivatives.run(reverse, _copies(after), gradient, variant, _copies(arguments))
        except Refused as refused:
            if variant is not None or "may have been overwritten" not in str(refused):
                raise
            variant, gradient = "in parts", _gradient_in_parts(kernel, arguments, where, given, refused)
        product = sum(float((a * b).sum()) for a, b in zip(gradient, along, strict=True))
        scale = sum(float(np.abs(a * b).sum()) for a, b in (*zip(gradient, along), *zip(tangents, given)))
        if not abs(product - expected) <= 10 * tolerance * max(1.0, scale) * size:
            wrong.append(f"reverse {variant}: <J^T w, v> = {product}, <w, J v> = {expected}")
        if variant == "in parts":
            break
    return wrong


def _gradient_in_parts(kernel, arguments, where, given, refused):
    """As the current context compiles it; raises `refused` where there are no parts, or one of them is refused."""
    values = _copies(arguments)
    for k, cotangent in zip(where, given, strict=True):
        values[k] = mt.ndarray(mt.types.dtype(values[k].dtype), values[k].shape, needs_grad=True)
        values[k].from_numpy(arguments[k])
        values[k].grad.from_numpy(cotangent)
    try:
        kept = kernel.grad.call_primal(tuple(values))[1]
    except mt.TaichiCompilationError:
        raise refused from None
    kept.run_back(kernel.grad, tuple(values), {})
    return [values[k].grad.to_numpy() for k in where]


def _against_differences(primal, where, duals, size, arguments):
    """Nothing where two steps give two slopes, or in f32."""
    if any(arguments[k].dtype != np.float64 for k in where):
        return []
    slopes = []
    for step in STEPS:
        above, below = primal(step), primal(-step)
        slopes.append([(above[k] - below[k]) / (2 * step) for k in where])
    wrong = []
    for k, (one, other, dual) in enumerate(zip(*slopes, duals, strict=True)):
        scale = 1e-4 * max(size, _size([other]))
        if np.abs(one - other).max() < scale and not np.abs(one - dual).max() < scale:
            wrong.append(f"array {k}: dual numbers {dual}, differences {one}")
    return wrong


@dataclasses.dataclass
class Mismatch:
    """As Session's, for those who look for faults."""

    name: str
    wrong: list
    variants: tuple = ("gradients", "gradients")
    case: types.SimpleNamespace = dataclasses.field(default_factory=lambda: types.SimpleNamespace(seed=0, program=None))

    @property
    def text(self):
        return f"{self.name}: {self.wrong[0]}"


def wrong_in(body):
    """What disagrees of a kernel with these lines; nothing if it is refused."""
    with tempfile.TemporaryDirectory() as folder, mt.Context(default_fp=mt.f64):
        text = gradient_kernels.HEAD + "\n".join(body) + "\n"
        kernel = gradient_kernels.load(text, pathlib.Path(folder) / "gradient.py")
        rng = np.random.default_rng(0)
        try:
            return check(Derivatives(), kernel, gradient_kernels.arguments(rng), rng, variants=((0, 1), (2, 4)))
        except Refused:
            return []
