"""A graph as a kernel: its parameters are the graph's arguments, its code runs the kernels that were dispatched."""

from __future__ import annotations

import ast
import functools
import linecache
import threading
from collections.abc import Iterator
from typing import Any

from . import context as _context
from .argument_packs import ArgPackType, flat_parameters
from .errors import CallError_, DerivativeError_
from .frontend.annotations import leaf_types
from .frontend.function import Template
from .frontend.graph_parts import Repeat, Run, draws_of, numbers_of, runs_of, text_of
from .frontend.options import language_of
from .frontend.specialize import from_annotations, is_fully_typed
from .graph_calls import calls_of
from .graph_match import Parameter, Place
from .kernel import Kernel
from .parameters import Parameter as Declared


class GraphSource:
    """What a kernel's source is to its kernel.

    Attributes:
        declared: the parameters.
        parameters: the same with members of packs in place of packs.
        packs: types of the parameters that are argument packs.
    """

    returns = None
    is_in_class = False
    part = None

    def __init__(self, name: str, parameters: dict[str, Parameter], place: Place):
        self.name, self.file, self.first_line = name, place.file, place.line
        annotations = {one: parameter.annotation for one, parameter in parameters.items()}
        self.declared = {one: Declared(one, annotation=annotation) for one, annotation in annotations.items()}
        self.parameters = flat_parameters(self.declared)
        self.packs = {one: annotation for one, annotation in annotations.items() if isinstance(annotation, ArgPackType)}

    @property
    def tree(self) -> ast.FunctionDef:
        """A definition with the parameters, at the place where the graph was compiled."""
        definition = ast.parse(f"def {self.name}({', '.join(self.declared)}): pass").body[0]
        for node in ast.walk(definition):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = self.first_line
                node.col_offset = node.end_col_offset = 0
        assert isinstance(definition, ast.FunctionDef)
        return definition

    def line(self, number: int) -> str:
        """The text of a line."""
        return linecache.getline(self.file, number)


class GraphKernel(Kernel):
    """One graph.

    Args:
        name: of the graph.
        parameters: a Parameter for each name, those that callers give first.
        steps: what it runs.
        place: where it was compiled.

    Attributes:
        names: of the arguments that callers give.
        intermediates: types of its own arrays, by name.
        steps: what it runs.
        draws: `args`, those of the launch at hand, of the thread.
    """

    def __init__(self, name: str, parameters: dict[str, Parameter], steps: tuple[Run | Repeat, ...], place: Place):
        self.__name__ = self.__qualname__ = name
        debug = [dict(run.own).get("debug") for run in runs_of(steps)]
        given = {one: parameter for one, parameter in parameters.items() if not parameter.is_intermediate}
        self.intermediates = {one: parameter.annotation for one, parameter in parameters.items() if parameter.is_intermediate}
        parameters = given
        self._begin(GraphSource(name, parameters, place), {"debug": True} if any(debug) else {})
        self.steps = steps
        self._bound = {one: parameter.value for one, parameter in parameters.items() if parameter.is_bound}
        self.needs_specialising = bool(self.bound_template_args())
        self.names = tuple(one for one in parameters if one not in self._bound)
        self.draws = threading.local()  # args: of the launch at hand

    @property
    def is_fully_typed(self) -> bool:
        """Do its arguments say all that compiling needs? Template arguments do not."""
        return is_fully_typed(self.source, self._bound)

    def compile(self) -> None:
        """Writes and checks it and, where its arguments say all types, compiles it for arrays without gaps."""
        template_args = self.bound_template_args()
        if not self.is_fully_typed:
            return
        language = language_of(_context.current().options, {})
        parameters = from_annotations(self.source, language, template_args)
        parameters = {name: _without_gaps(one) for name, one in parameters.items()}
        arguments = tuple(self._bound.get(name) for name in parameters)
        self._instance_for(self._home(), False, parameters, arguments)

    def run(self, args: dict[str, Any]) -> None:
        """`Graph.run`."""
        given = self._given(args)
        self.draws.args = args
        try:
            self(*given)
        finally:
            self.draws.args = None  # it keeps no arrays

    def _reserve_for(self, tree, arguments, keywords):
        """As kernels do; arguments: one dict as for `run`."""
        args = arguments[0] if len(arguments) == 1 and not keywords else {**dict(zip(self.names, arguments)), **keywords}
        given = self._given(args)
        self.draws.args = args
        try:
            return super()._reserve_for(tree, given, {})
        finally:
            self.draws.args = None

    def _given(self, args):
        """What the kernel is called with."""
        try:
            given = [args[name] for name in self.names]
        except (KeyError, TypeError, IndexError):
            given = None
        if given is None or len(args) != len(given):
            raise self._unfit(args)
        return *given, *self._bound.values()

    def bound_template_args(self) -> dict[str, Any]:
        """What stands for the template parameters that no caller gives."""
        return {name: value for name, value in self._bound.items() if isinstance(self._annotation(name), Template)}

    def specialise(self, template_args=None) -> dict:
        return super().specialise({**self.bound_template_args(), **(template_args or {})})

    def parts(self, bound: tuple) -> Iterator[tuple[Kernel, tuple]]:
        """Its kernels in the order in which they run, each with its arguments, for one argument for each parameter."""
        if self.intermediates:
            text = f"graph '{self.__name__}': its intermediates ({', '.join(self.intermediates)}) have no gradients"
            raise DerivativeError_(f"{text}: make them arguments", file=self.source.file)
        return calls_of(self.steps, dict(zip(self.source.parameters, self._without_packs(bound))))

    def derivative(self, kind):
        """Raises DerivativeError_: kernels that are dispatched have derivatives, graphs have none."""
        text = f"graph '{self.__name__}': a graph has no derivative of its own; run it under mt.ad.Tape or mt.ad.FwdMode"
        raise DerivativeError_(text, file=self.source.file)

    def _annotation(self, name):
        return self.source.parameters[name].annotation

    def _unfit(self, args):
        expected = ", ".join(f"'{name}'" for name in self.names) or "none"
        what = f"graph '{self.__name__}': expected a dict with the arguments {expected}"
        if not isinstance(args, dict):
            return CallError_(f"{what}, got {args!r}")
        missing = [name for name in self.names if name not in args]
        if missing:
            return CallError_(f"{what}; '{missing[0]}' is missing: {self.signature()}")
        unknown = next(name for name in args if name not in self.names)
        return CallError_(f"{what}, got {unknown!r} as well")

    def _subject(self):
        from .object_cache.kernels import Subject

        runs = list(runs_of(self.steps))
        sources = list({id(run.source): run.source for run in runs}.values())
        texts = [repr((self.__name__, list(self.source.parameters), self.intermediates)), text_of(self.steps, sources)]
        places = [(self.source.file, self.source.first_line), *((run.place.file, run.place.line) for run in runs)]
        return Subject(sources, texts, places, functools.partial(Words, self))

    def _write(self, module, options, parameters, may_alias, given):
        from .frontend.graph_writer import GraphWriter

        languages = lambda own: language_of(options, {**given, **self._own, **own})
        words = functools.partial(Words, self)
        writer = GraphWriter(module, self.source, languages, may_alias, parameters, words, self.intermediates)
        writer.write(self.steps)
        return writer.requirements

    @property
    def _parameters(self):
        return {name: one._replace(annotation=Declared.empty) for name, one in self.source.declared.items()}

    def __repr__(self):
        return f"<graph {self.signature()}>"


class Words:
    """What gives each launch of a graph its word of random numbers.

    Args:
        kernel: of the graph.
        runs: the numbers (graph_parts.numbers_of) of those that use random numbers.
    """

    def __init__(self, kernel: GraphKernel, runs: tuple[int, ...]):
        self._kernel, self.runs = kernel, runs
        numbers = numbers_of(kernel.steps)
        self._random = frozenset(id(run) for run in runs_of(kernel.steps) if numbers[run.key] in runs)

    def __call__(self, holdings):
        """The callable that is asked at each launch."""
        kernel = self._kernel
        return lambda: holdings.random_keys.word(draws_of(kernel.steps, self._random, kernel.draws.args))


def _without_gaps(parameter):
    """The specialisation of the arrays that programs mostly give."""
    contiguous = getattr(parameter, "contiguous", None)
    if contiguous is None:
        return parameter
    if isinstance(contiguous, tuple):
        return parameter._replace(contiguous=tuple(True for _ in leaf_types(parameter.type)))
    return parameter._replace(contiguous=True)
