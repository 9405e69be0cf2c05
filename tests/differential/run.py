"""Runs cases in every way there is and compares them.

Cases are compiled in batches, one module for each variant; what differs or fails is a Mismatch.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import threading
import warnings
from dataclasses import dataclass, replace

import metate as mt
from metate.context import RandomKeys
from metate.frontend.source import attach_source
from metate.loaded import LoadedKernel
from metate_native import _compiler, _runtime

from .case import Case, is_parameter
from .compare import difference, twin_results
from .draws import SEED
from .execute import arguments_of, fields_of, filled, launch, launch_kernel
from .graphs import as_graph, as_graph_of_packs
from .methods import as_a_method
from .packs import in_a_pack

ROOT = pathlib.Path(__file__).resolve().parents[2]


TWIN_SECONDS = 30  # far more than a twin takes; a reduced one may have lost what ends its loop


@contextlib.contextmanager
def time_limit(seconds):
    """Python code that works longer (CPU time) ends with TimeoutError; without a limit outside of the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_):
        raise TimeoutError(f"no end after {seconds} s")

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@dataclass(frozen=True)
class Variant:
    """One way to run a kernel; `changes` are attributes of the compiler's choices."""

    name: str
    changes: tuple = ()
    threads: int = 1
    stage: str | None = None  # interpreted after this stage
    checks: tuple = ()  # what the interpreter looks for besides
    may_alias: bool = False
    is_loaded: bool = False  # packed, and run by another process
    is_called: bool = False  # as users call kernels: with the fields, and objects, themselves
    is_graph: bool = False  # called, as a graph of it
    is_packed: bool = False  # called, with an argument pack
    is_method: bool = False  # called, as a method
    reserves: bool = False  # when its slots were counted, and trees have no others
    device: str | None = None  # packed, and run on a device of that arch
    is_source: bool = False  # as C, which gcc makes code of


VARIANTS = (
    Variant("O0", (("opt_level", 0), ("chunk_ns", 0))),  # the code of the next one, on one worker
    Variant("O0 4 workers", (("opt_level", 0), ("chunk_ns", 0)), threads=4),
    Variant("O2", (("opt_level", 2), ("chunk_ns", 0))),  # on one worker: iterations are lanes wherever they can be
    Variant("O2 4 workers", (("opt_level", 2), ("chunk_ns", 0)), threads=4),
    Variant("around the caches", (("opt_level", 2), ("nontemporal_bytes", 0))),
    Variant(
        "without leaf hoisting",
        (
            ("opt_level", 0),
            ("hoist_leaves", False),
            ("prove_activity", False),
            ("scan_masks", False),
            ("unroll_loops", False),
            ("split_borders", False),
        ),
    ),
    Variant(
        "with atomics",
        (("opt_level", 0), ("demote_atomics", False), ("promote_cells", False), ("private_reductions", False), ("chunk_ns", 0)),
        threads=4,
    ),
    Variant("without partial results", (("opt_level", 0), ("private_reductions", False), ("chunk_ns", 0)), threads=4),
    Variant("for overlapping arguments", (("opt_level", 0),), may_alias=True),
    Variant("module in another process", is_loaded=True),
    Variant("called as users do", (("opt_level", 0), ("chunk_ns", 0)), threads=4, is_called=True),
    Variant("as a graph", (("opt_level", 0), ("chunk_ns", 0)), threads=4, is_called=True, is_graph=True),
    Variant("in an argument pack", (("opt_level", 0), ("chunk_ns", 0)), threads=4, is_called=True, is_packed=True),
    Variant("as a graph of packs", (("opt_level", 0), ("chunk_ns", 0)), threads=4, is_called=True, is_graph=True, is_packed=True),
    Variant("as a method", (("opt_level", 0), ("chunk_ns", 0)), threads=4, is_called=True, is_method=True),
    Variant("as a graph, interpreted", (("arch", mt.interp),), is_called=True, is_graph=True),
    Variant("with slots reserved", (("opt_level", 0), ("chunk_ns", 0)), threads=4, is_called=True, reserves=True),
    Variant("on a grid", (("opt_level", 1),), device="simt"),
    Variant("as C", (("opt_level", 2), ("chunk_ns", 0)), threads=4, is_source=True),
    # An order is fixed before LLVM, whose work at O2 takes longer than all else of a random kernel.
    Variant("deterministic", (("opt_level", 0), ("deterministic", True), ("chunk_ns", 0))),
    Variant("deterministic 4 workers", (("opt_level", 0), ("deterministic", True), ("chunk_ns", 0)), threads=4),
    *(Variant(f"interpreter after {stage}", stage=stage) for stage in ("import", "simplify", "activate", "offload")),
    Variant("interpreter with checks", stage="import", checks=("conflict", "order")),
)


ALWAYS = ("O0", "O0 4 workers", "interpreter after import")
GROUPS = (
    (
        "O2", "without leaf hoisting", "with atomics", "for overlapping arguments",
        "module in another process", "without leaf hoisting", "with atomics", "for overlapping arguments",
    ),
    (
        "O2 4 workers", "around the caches", "called as users do", "with slots reserved", "without partial results",
        "as a graph", "deterministic", "with slots reserved", "in an argument pack",
        "as a graph of packs", "as a method", "on a grid", "as C",
    ),
    (
        "interpreter after simplify", "interpreter after activate", "interpreter after offload", "interpreter with checks",
        "as a graph, interpreted",
    ),
)  # fmt: skip
NOT_THERE = "does not run on this target"  # what the manual says of functions that call themselves on devices
REFUSED = "kernels that no device runs"
COUNTED = "trees whose slots were counted"  # what `Session.ran` calls them
SAME_BITS = {"deterministic": "deterministic 4 workers"}  # two that agree in all bits, also of what is known to some ulps only


@dataclass
class Mismatch:
    """A case that two ways of running it do not agree on."""

    case: Case
    variants: tuple[str, str]
    text: str

    def __str__(self):
        seed = "" if self.case.seed is None else f" (seed {self.case.seed})"
        return f"{self.case.name}{seed}: {' against '.join(self.variants)}: {self.text}"


class CaseError(Exception):
    """A case that one variant could not compile or run at all."""


def _fast_math(contract):
    """Sums in the order that is written, but where numbers are whole and order changes nothing."""
    return None if contract else False


class Prepared:
    """A case with its kernel object, the types of its trees, and the blocks that they begin as."""

    def __init__(self, case: Case):
        self.case = case
        text = "import math\n\n" + case.prologue() + "\n" + case.kernel
        file = f"<{case.name}>"
        attach_source(file, text)
        namespace = {"mt": mt}
        exec(compile(text, file, "exec"), namespace)
        self.kernel, self.namespace = namespace[case.name], namespace
        trees = [a for a in case.arguments if a.kind == "tree" and a.form == "tree"]
        self.types = {a.type: namespace[a.type] for a in trees}
        self.blocks = {a.name: filled(case, a, self.types[a.type]) for a in trees}
        self.fields = fields_of(case, namespace)
        self.options = mt.context.current().options
        self.arguments = arguments_of(case, self.types, self.blocks, namespace)
        self.arguments = [a for a, given in zip(self.arguments, case.arguments) if is_parameter(given)]
        shape = self.kernel._shape
        given = self.arguments if shape is None else shape.gathered(shape.flattened(self.arguments, case.name))
        self.parameters = self.kernel._specialisation(self.options, given)

    def add_to(self, module, may_alias) -> None:
        own = {"asserts": True, "fast_math": _fast_math(self.case.contract)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            requirements = self.kernel._walk(self.options, self.parameters, may_alias, module, own)[1]
        trees = requirements.trees(self.arguments)
        numbers = {id(tree): number for number, tree in enumerate(self.fields.live)}
        self.fields.hidden = [None if tree is None else numbers[id(tree)] for tree in trees]

    def launched(self, call) -> dict:
        """What the compiled kernel leaves."""
        return launch(call, self.case, self.types, self.blocks, self.fields)

    def called(self, context, variant) -> dict:
        """What the kernel leaves when it is called in this context, its first launch there with random numbers."""
        context.holdings.random_keys = RandomKeys(SEED)
        with context:
            kernel = self.kernel
            if variant.is_graph:
                kernel = as_graph_of_packs(kernel, self.namespace) if variant.is_packed else as_graph(kernel)
            elif variant.is_packed:
                kernel = in_a_pack(kernel, self.namespace)
            kernel = as_a_method(kernel, self.namespace) if variant.is_method else kernel
            return launch_kernel(kernel, self.case, self.types, self.blocks, self.fields, self.namespace, variant.reserves)


class Session:
    """The compilers, the devices and the other process; use as a context manager.

    Args:
        variants: all that there are to choose from; the first is what the others are compared with.
        rotates: True runs in each batch the first variants and one of each group of the rest (see ALWAYS,
            GROUPS): a quarter of the work, and every variant still meets every kind of kernel.
        sabotage: (name of a variant, text -> text): a planted fault in that variant's IR, for tests.
    """

    def __init__(self, variants=VARIANTS, rotates=False, sabotage=None):
        self.variants = variants
        self.rotates = rotates
        self.sabotage = sabotage
        self.batches = 0
        self.contexts = {}
        self.jit, self.interpreter = _compiler.Jit(), _compiler.Interpreter()
        self.c_compiler = None  # made when it is first asked for
        self.worker = None
        self.ran: dict[str, int] = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop_worker()

    # -- batches ------------------------------------------------------------------------------------------

    def check(self, cases: list[Case]) -> list[Mismatch]:
        """Runs the cases in all variants; returns what does not agree."""
        found = []
        for contract, overlaps in itertools.product((False, True), repeat=2):
            batch = [case for case in cases if (case.contract, case.overlaps) == (contract, overlaps)]
            if batch:
                found += self._check(batch, contract)
        return found

    def _check(self, cases, contract):
        prepared, found = [], []
        texts = {}
        for case in cases:
            try:
                prepared.append(Prepared(case))
            except Exception as error:
                found.append(Mismatch(case, ("front end", "front end"), _first_lines(error)))
        results, compiled = {}, {}
        variants = [replace(v, may_alias=v.may_alias or cases[0].overlaps) for v in self._chosen()]
        for may_alias in sorted({v.may_alias for v in variants}):
            module = _compiler.SourceModule("batch")
            for one in list(prepared):
                try:
                    one.add_to(module, may_alias)
                except Exception as error:
                    found.append(Mismatch(one.case, ("front end", "front end"), _first_lines(error)))
                    prepared.remove(one)
            texts[may_alias] = module.text(True)
        if not prepared:
            return found
        for variant in variants:
            try:
                results[variant.name] = self._run(variant, texts[variant.may_alias], prepared, contract, compiled)
            except (
                CaseError,
                _compiler.CompileError,
                mt.MetateError,
                EOFError,
                BrokenPipeError,
                pickle.UnpicklingError,
            ) as error:
                if len(prepared) > 1:  # find out which
                    for one in prepared:
                        found += self._check([one.case], contract)
                    return found
                if variant.device is not None and NOT_THERE in str(error):
                    self.ran[REFUSED] = self.ran.get(REFUSED, 0) + 1
                    continue
                return [*found, Mismatch(prepared[0].case, (variant.name, variant.name), _first_lines(error))]
        return found + self._compare(prepared, results)

    def findings(self, case) -> bool:
        """Does the interpreter find something wrong with the case itself?"""
        variant = next(v for v in VARIANTS if v.checks)
        try:
            one = Prepared(case)
            module = _compiler.SourceModule("one")
            one.add_to(module, False)
            (found,) = self._run(variant, module.text(True), [one], case.contract, {})
        except Exception:
            return True  # not even a program
        status = found["status"]
        is_own = status is None or status.startswith("CapacityError") or re.search(r"^AssertionError_.*\bwrong \d", status)
        return not is_own

    def _chosen(self):
        """The variants of this batch."""
        if not self.rotates:
            return self.variants
        self.batches += 1
        names = {*ALWAYS, *(group[self.batches % len(group)] for group in GROUPS)}
        names.update(SAME_BITS[name] for name in SAME_BITS if name in names)
        return [variant for variant in self.variants if variant.name in names]

    def _compare(self, prepared, results):
        found = []
        names = list(results)
        for k, one in enumerate(prepared):
            expected = results[names[0]][k] if names else None
            for name in names[1:]:
                text = self._against(one.case, expected, results[name][k])
                if text is not None:
                    found.append(Mismatch(one.case, (names[0], name), text))
                    break
            else:
                for name, other in SAME_BITS.items():
                    if name in results and other in results:
                        text = difference(one.case, results[name][k], results[other][k], is_exact=True)
                        if text is not None:
                            found.append(Mismatch(one.case, (name, other), text))
                if one.case.twin and names:
                    text = self._against_twin(one.case, expected)
                    if text is not None:
                        found.append(Mismatch(one.case, ("twin", names[0]), text))
        return found

    @staticmethod
    def _against(case, expected, found):
        """`counted`: slots had been reserved, of which the others had too few."""
        is_exhausted = expected["status"] is not None and expected["status"].startswith("CapacityError")
        if is_exhausted and found.get("counted") and found["status"] is None:
            return None
        return difference(case, expected, found)

    @staticmethod
    def _against_twin(case, expected):
        try:
            with time_limit(TWIN_SECONDS):
                results = twin_results(case)
            return difference(case, results, expected, is_twin=True)
        except Exception as error:
            return f"the twin failed: {type(error).__name__}: {error}"

    # -- one variant ----------------------------------------------------------------------------------------

    def _run(self, variant, text, prepared, contract, compiled):
        if self.sabotage and self.sabotage[0] == variant.name:
            text = self.sabotage[1](text)
        if variant.is_called:
            return self._run_called(variant, prepared, contract)
        module = _compiler.SourceModule("batch")
        choices = _compiler.Choices()
        choices.contract, choices.verify = contract, False  # the pipeline's own tests verify
        for name, value in variant.changes:
            setattr(choices, name, value)
        context = self.contexts.setdefault(variant.threads, mt.Context(threads=variant.threads))
        if variant.device is not None:
            return self._run_on_device(variant, module, text, choices, prepared)
        key = (variant.changes, variant.stage, variant.checks, variant.may_alias, variant.is_loaded, variant.is_source)
        code = compiled.get(key)
        if code is None:
            module.parse(text)
        if variant.is_loaded:
            return self._run_loaded(_compiler.build_module(module, choices), prepared)
        if code is None and variant.stage:
            code = self.interpreter.compile(module, choices, stage=variant.stage, checks=list(variant.checks))
        elif code is None:
            code = (self._c_compiler() if variant.is_source else self.jit).compile(module, choices)
        compiled[key] = code
        with context:
            device = mt.runtime.device()
            opened = _runtime.Module.open_static(device, code.descriptor, code.entries, code)
            kernels = {kernel.name: LoadedKernel(kernel) for kernel in opened.kernels}
            found = [one.launched(kernels[one.case.name]) for one in prepared]
        self.ran[variant.name] = self.ran.get(variant.name, 0) + len(found)
        return found

    def _c_compiler(self):
        if self.c_compiler is None:
            sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
            import c_code

            self.c_compiler = c_code.Compiler(c_code.COMPILER or "gcc")
        return self.c_compiler

    def _run_on_device(self, variant, module, text, choices, prepared):
        context = self.contexts.setdefault(variant.device, mt.Context(arch=variant.device))
        module.parse(text)
        choices.targets = [context.options.target]
        with context:
            opened = _runtime.Module.open_bytes(mt.runtime.device(), _compiler.build_module(module, choices))
            kernels = {kernel.name: LoadedKernel(kernel) for kernel in opened.kernels}
            found = [one.launched(kernels[one.case.name]) for one in prepared]
        self.ran[variant.name] = self.ran.get(variant.name, 0) + len(found)
        return found

    def _run_called(self, variant, prepared, contract):
        context = mt.Context(
            threads=variant.threads, contract=contract, fast_math=_fast_math(contract), asserts=True, **dict(variant.changes)
        )
        found = [one.called(context, variant) for one in prepared]
        if variant.reserves:
            self.ran[COUNTED] = self.ran.get(COUNTED, 0) + sum(results["counted"] for results in found)
        self.ran[variant.name] = self.ran.get(variant.name, 0) + len(found)
        return found

    def _run_loaded(self, data, prepared):
        calls = []
        for one in prepared:
            calls.append((one.case, {name: type_.blob for name, type_ in one.types.items()}, one.blocks, one.fields))
        worker = self._worker()
        try:
            pickle.dump((data, calls), worker.stdin)
            worker.stdin.flush()
            found = pickle.load(worker.stdout)
        except (EOFError, BrokenPipeError):
            code = worker.wait()
            self.stop_worker()
            raise CaseError(f"the process that loads modules ended with {code}") from None
        self.ran["module in another process"] = self.ran.get("module in another process", 0) + len(found)
        return found

    def _worker(self):
        if self.worker is None:
            path = os.pathsep.join(p for p in (str(ROOT / "tests"), *sys.path) if p)
            self.worker = subprocess.Popen(
                [sys.executable, "-m", "differential.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=dict(os.environ, PYTHONPATH=path, METATE_NUM_THREADS="1"),
            )
        return self.worker

    def stop_worker(self):
        if self.worker is not None:
            with contextlib.suppress(BrokenPipeError):
                self.worker.stdin.close()
            self.worker.wait()
            self.worker.stdout.close()
            self.worker = None


def _first_lines(error) -> str:
    lines = f"{type(error).__name__}: {error}".splitlines()
    return "\n".join(lines[:8])
