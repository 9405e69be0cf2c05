"""Derivatives of random kernels over fields: through `k.fwd` and `k.grad`, as programs have them.

The reference interpreter computes duals of the kernel itself, in dual numbers, and knows nothing of the pass that
differentiates. Compiled forward mode must give the same duals, reverse mode gradients with <w, J v> = <J^T w, v>, and neither may
change which cells are active, or anything else, but as the kernel does.
"""

from __future__ import annotations

import importlib.util
import pathlib
import tempfile

import numpy as np

import metate as mt
from metate.kept import putting_back

from .gradient_kernels import SIZE
from .gradients import Refused

INTERPRETED = {"arch": mt.interp}
STAGES = tuple({**INTERPRETED, "interp_stage": stage} for stage in ("simplify", "offload"))
VARIANTS = (
    {"opt_level": 0, "threads": 1},
    {"opt_level": 2, "threads": 4},
    {"opt_level": 2, "threads": 4, "deterministic": True},
    {"opt_level": 2, "threads": 1, "fast_math": True},
    {"opt_level": 2, "threads": 4, "fast_math": True, "contract": False},
)


def load(text, path: pathlib.Path):
    """The module; it stays in the file, where the front end reads it."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Case:
    """One module with the values that its fields begin with, the direction, and the weights of what it writes."""

    def __init__(self, module, is_full, rng):
        self.module, self.is_full = module, is_full
        self.number = int(rng.integers(0, 9))
        with mt.Context(**INTERPRETED):
            fields = module.make()[2]
            shapes = {name: (SIZE, *getattr(one.element, "shape", ())) for name, one in fields.items() if one.dtype.is_float}
            scalars = {name: fields[name].dtype.name for name in shapes}
        self.scale = 3e-4 if "f32" in pathlib.Path(module.__file__).read_text() else 1e-9  # casts round derivatives, too
        draw = lambda name, values: values.astype(np.float32).astype(float) if scalars[name] == "f32" else values
        self.values = {name: draw(name, rng.uniform(-1.5, 1.5, shape)) for name, shape in shapes.items()}
        self.along = {name: draw(name, rng.standard_normal(shape)) for name, shape in shapes.items()}
        self.weights = {name: draw(name, rng.standard_normal(shape)) for name, shape in shapes.items()}
        active = {name: rng.random(SIZE) < 0.6 for name in shapes}
        self.active = {name: np.ones(SIZE, bool) if is_full(name) else active[name] for name in shapes}
        self.indices = rng.integers(0, SIZE, SIZE)

    def begin(self):
        """New fields in the current context, with their values: (kernel, arguments, fields)."""
        kernel, arguments, fields = self.module.make()
        for name, values in self.values.items():
            self.put(fields[name], values, self.active[name], self.is_full(name))
        fields["idx"].from_numpy(self.indices.astype(np.int32))
        return kernel, (self.number, *arguments), fields

    @staticmethod
    def put(field, values, active, is_full):
        if is_full:
            field.from_numpy(values.astype(np.float32 if field.dtype.name == "f32" else np.float64))
            return
        for i in np.flatnonzero(active):
            field[int(i)] = values[i].tolist()

    def values_of(self, field):
        """Of all cells; 0 of those that are not active."""
        if type(field.shape[0]) is int:
            return field.to_numpy().astype(float)
        return np.array([np.asarray(field[i], float) for i in range(SIZE)])

    def active_in(self, fields):
        """Of each field its cells that are active."""
        return {
            name: np.ones(SIZE, bool) if self.is_full(name) else np.array([fields[name].is_active(i) for i in range(SIZE)])
            for name in self.values
        }

    def forward(self, options):
        """(what the fields hold, their duals, which cells are active), after forward mode."""
        with mt.Context(default_fp=mt.f64, **options):
            kernel, arguments, fields = self.begin()
            active = self.active_in(fields)  # of members beside one another all are
            for name, along in self.along.items():
                self.put(fields[name].dual, along, active[name], self.is_full(name))
            _called(kernel.fwd, arguments)
            values = {name: self.values_of(one) for name, one in fields.items()}
            return values, {name: self.values_of(fields[name].dual) for name in self.values}, self.active_in(fields), active

    def reverse(self, options):
        """(gradients, what the fields hold before and after reverse mode, which cells are active then)."""
        with mt.Context(default_fp=mt.f64, **options):
            kernel, arguments, fields = self.begin()
            plain, given = kernel, arguments
            if hasattr(kernel, "__func__"):
                plain, given = kernel.__func__, (kernel.__self__, *arguments)
            kept = _called(plain.grad.call_primal, (given,))[1]
            active = self.active_in(fields)
            for name, weights in self.weights.items():
                self.put(fields[name].grad, weights, active[name], self.is_full(name))
            before = {name: self.values_of(one) for name, one in fields.items()}
            with putting_back() as latest:
                if kept is None:
                    _called(kernel.grad, arguments)
                else:
                    kept.put_back(latest)
                    _called(plain.grad.restored, given)
            after = {name: self.values_of(one) for name, one in fields.items()}
            gradients = {name: self.values_of(fields[name].grad) for name in self.values}
            return gradients, before, after, active, self.active_in(fields)


def _called(function, arguments):
    """Raises Refused where the compiler says, at a line, that there is no derivative."""
    try:
        return function(*arguments)
    except mt.CompilationError as error:
        if getattr(error, "line", None) is None or "of kernel 'k'" not in str(error):
            raise
        raise Refused(str(error).split("of kernel 'k': ")[1].splitlines()[0]) from None


def _greatest(values):
    return max([1.0, *(float(np.abs(one).max()) for one in values.values())])


def check(module, is_full, rng, variants=(*STAGES, *VARIANTS)):
    """What disagrees, as texts. Raises Refused.

    Args:
        is_full: whether all cells of the field of a name are active, always.
    """
    case = Case(module, is_full, rng)
    values, duals, active, first = case.forward(INTERPRETED)
    size = max(_greatest(values), _greatest(duals))
    if not np.isfinite(size) or size > 1e6:
        return []
    close = lambda a, b, least=1.0: np.abs(a - b).max() <= case.scale * size * least
    wrong = []
    case.reverse(INTERPRETED)  # refused or not, before anything is compared
    for options in variants:
        found, found_duals, found_active, _ = case.forward(options)
        if not all(close(found[name], values[name]) for name in values):
            if "fast_math" not in options:
                wrong.append(f"forward {options}: values {found}, interpreted {values}")
            continue  # a comparison may come out otherwise
        wrong += [
            f"forward {options}: {name}.dual {found_duals[name]}, dual numbers {duals[name]}"
            for name in duals
            if not close(found_duals[name], duals[name])
        ]
        wrong += [f"forward {options}: active cells of {name}" for name in active if (found_active[name] != active[name]).any()]
    expected = sum(float((duals[name] * case.weights[name])[active[name]].sum()) for name in duals)
    scale = sum(float(np.abs(duals[name] * case.weights[name]).sum()) for name in duals)
    for options in (INTERPRETED, *variants):
        gradients, before, after, active_before, active_after = case.reverse(options)
        if "fast_math" in options and not all(close(before[name], values[name]) for name in values):
            continue
        products = [(gradients[name] * case.along[name])[first[name]] for name in gradients]
        product = sum(float(one.sum()) for one in products)
        all_ = max(1.0, scale + sum(float(np.abs(one).sum()) for one in products))
        if not abs(product - expected) <= case.scale * all_ * size:
            wrong.append(f"reverse {options}: <J^T w, v> = {product}, <w, J v> = {expected}")
        wrong += [f"reverse {options}: changes {name}" for name in before if not np.array_equal(before[name], after[name])]
        wrong += [
            f"reverse {options}: active cells of {name}" for name in active if (active_before[name] != active_after[name]).any()
        ]
    return wrong


def wrong_in(lines, sparse):
    """What disagrees of a module with these lines; nothing if it is refused. `sparse`: names of fields with inactive cells."""
    with tempfile.TemporaryDirectory() as folder:
        module = load("\n".join(lines) + "\n", pathlib.Path(folder) / "program.py")
        try:
            return check(module, lambda name: name not in sparse, np.random.default_rng(0), (STAGES[0], *VARIANTS[:2]))
        except Refused:
            return []
