"""A graph's IR: the kernels that it runs, each once for each specialisation, and a kernel that runs them.

What the kernels use from outside becomes the graph's: a tree that several of them use is one hidden argument, the key
of random numbers one number of which each run gets its own (as if each had been launched by itself). What calls ask
and launches need is as of any other kernel (requirements.py).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

from metate_native import _compiler

from .. import value_types as _types
from ..context import STEP
from ..dim import native_shape
from ..dtypes import scalar_of
from ..errors import CompilationError
from ..triplets import TripletsType
from .annotations import leaf_types
from .graph_parts import Number, Repeat, Run, Taken, numbers_of, runs_of
from .native import native_type
from .options import FrontendOptions
from .requirements import CapturedField, Guard, HiddenTree, HiddenValue, Path, Requirements
from .specialize import (
    ArrayParameter,
    StaticParameter,
    StructArrayParameter,
    TreeParameter,
    ValueParameter,
    annotation_of,
    array_of,
)
from .walker import Walker

RANDOM = "random_seed"  # the name of the hidden argument that random numbers come from


@dataclass
class _Written:
    """A kernel of the graph in the module."""

    symbol: str
    arguments: list  # (name, type of a result or None) of each of its arguments
    trees: dict  # name of a hidden argument -> the id of the tree
    draws: bool  # does it use random numbers?


class GraphWriter:
    """Writes one graph. Use once.

    Args:
        module: a SourceModule.
        source: of the graph: name, file, first_line.
        languages: the front end's options for a kernel with options of its own.
        parameters: what each of the graph's parameters is specialised on, by name.
        intermediates: the types of the graph's own arrays, by name.
        words: makes, of the numbers of the runs that use random numbers, what gives a launch their word.
    """

    def __init__(
        self,
        module,
        source,
        languages: Callable[[dict], FrontendOptions],
        may_alias: bool,
        parameters: dict,
        words: Callable[[tuple[int, ...]], Callable],
        intermediates: dict,
    ):
        self._module, self._source, self._languages, self._options = module, source, languages, languages({})
        self._may_alias, self._parameters, self._words = may_alias, parameters, words
        self._numbers = {name: number for number, name in enumerate(parameters)}
        self._intermediates = {
            name: array_of(one._replace(contiguous=True), self._options) for name, one in intermediates.items()
        }
        self._written = {}  # what a kernel was written for -> _Written
        self._runs = {}  # id of a Run -> _Written
        self._trees = {}  # id of a tree -> (name, number of the hidden argument)
        self._taken = {name for name, one in parameters.items() if not isinstance(one, StaticParameter)}
        self._natives = {}  # name of an argument in the IR, or id of a tree -> what stands for it
        self._results = {}  # (symbol, name) -> the place that receives what a kernel accumulates
        self._drawn = 0, None  # runs before that use random numbers: a number and a value, or None, of their sum
        self.requirements = Requirements()

    def write(self, steps) -> None:
        """Writes the steps. Raises CompilationError, with the place of the dispatch as a note."""
        numbers, random = numbers_of(steps), set()
        for run in runs_of(steps):
            try:
                self._write_kernel(run)
                if self._runs[id(run)].draws:
                    random.add(numbers[run.key])
            except CompilationError as error:
                error.notes += (
                    (f"dispatched here, in graph '{self._source.name}'", run.place.file, run.place.line, run.place.column),
                )
                error.msg = str(error)
                raise
        self._builder = builder = _compiler.KernelBuilder(
            self._module, self._source.name, self._source.file, self._source.first_line, 1,
            self._options.default_ip.code, self._options.default_fp.code, self._may_alias, False, False,
        )  # fmt: skip
        try:
            for name, parameter in self._parameters.items():
                self._declare(name, parameter)
            self._declare_hidden(tuple(sorted(random)))
            for name, one in self._intermediates.items():
                self._natives[name] = builder.intermediate(name, native_type(one.element), native_shape(one.shape))
            self._write_steps(steps)
            builder.finish()
        except BaseException:
            builder.abandon()
            raise

    #  -- kernels ----------------------------------------------------------------------------------

    def _write_kernel(self, run):
        specialised = {name: self._specialised(run, name, given) for name, given in run.given.items()}
        arrays = [given.name for name, given in run.given.items() if isinstance(given, Taken) and _may_overlap(specialised[name])]
        overlaps = self._may_alias or len(set(arrays)) != len(arrays)
        of_what = tuple((name, id(p.value) if isinstance(p, StaticParameter) else p) for name, p in specialised.items())
        key = run.source.function, run.own, of_what, overlaps
        if key not in self._written:
            options = self._languages(dict(run.own))
            symbol = f"{self._source.name}.{len(self._written)}.{run.source.name}"
            source = _renamed(run.source, symbol)
            walker = Walker(self._module, source, options, overlaps)
            walker.make_node()
            walker.walk(specialised)
            self._written[key] = self._adopt(run, symbol, specialised, walker.captures.requirements)
        self._runs[id(run)] = self._written[key]

    def _specialised(self, run, name, given):
        """What a kernel's parameter is specialised on."""
        annotation = annotation_of(run.source, name)
        if isinstance(given, Number):
            return _number_parameter(annotation, self._options)
        parameter = self._intermediates.get(given.name) or self._parameters[given.name]
        if isinstance(parameter, (ArrayParameter, StructArrayParameter)):
            return parameter._replace(boundary=getattr(annotation, "boundary", "unsafe"))
        return parameter

    def _adopt(self, run, symbol, specialised, needed):
        """Makes what a kernel requires what the graph requires."""
        roots = [self._numbers.get(given.name) if isinstance(given, Taken) else None for given in run.given.values()]
        values = [p.value if isinstance(p, StaticParameter) else None for p in specialised.values()]
        own, requirements = lambda path: _moved(path, roots), self.requirements
        for guard in needed.guards:
            moved = Guard(own(guard.path), guard.key)
            if moved not in requirements.guards:
                requirements.guards.append(moved)
        for one, other in needed.same:
            requirements.require_same(own(one), own(other))
        requirements.warnings += needed.warnings
        requirements.said += needed.said
        trees = {}
        for captured in needed.fields:
            tree, hidden = captured.path.find(values)._tree, needed.hidden[captured.slot]
            trees[hidden.name] = id(tree)
            root = captured.path.root
            name = hidden.name if root is None or not captured.path.is_argument else list(run.given.values())[root].name
            slot = self._hidden_tree(tree, name, hidden.type)
            moved = CapturedField(own(captured.path), captured.placement, slot)
            if moved not in requirements.fields or captured.path.root is None:
                requirements.fields.append(moved)
        draws = any(isinstance(one, HiddenValue) for one in needed.hidden)
        return _Written(symbol, self._module.arguments_of(symbol), trees, draws)

    def _hidden_tree(self, tree, name, type_):
        """The number of the graph's hidden argument that is the tree."""
        if id(tree) not in self._trees:
            name = self._unique(name)
            self._trees[id(tree)] = name, len(self.requirements.hidden)
            self.requirements.hidden.append(HiddenTree(name, type_))
        return self._trees[id(tree)][1]

    def _unique(self, name):
        number, candidate = 0, name
        while candidate in self._taken:
            number += 1
            candidate = f"{name}{number}"
        self._taken.add(candidate)
        return candidate

    #  -- arguments --------------------------------------------------------------------------------

    def _declare(self, name, parameter):
        """A parameter as arguments of the graph in the IR, called as Interface calls those of kernels."""
        natives, builder = self._natives, self._builder
        if isinstance(parameter, StaticParameter):
            return
        if isinstance(parameter, TreeParameter):
            natives[name] = builder.tree_argument(name, str(parameter.type))
        elif isinstance(parameter, ArrayParameter):
            element, shape = native_type(parameter.element), native_shape(parameter.shape)
            natives[name] = builder.array_argument(name, element, parameter.ndim, parameter.contiguous, shape)
        elif isinstance(parameter, StructArrayParameter):
            shape = native_shape(parameter.shape)
            for number, ((path, leaf), contiguous) in enumerate(zip(leaf_types(parameter.type), parameter.contiguous)):
                full, beside = f"{name}.{path}", number > 0 and not isinstance(parameter.type, TripletsType)
                natives[full] = builder.array_argument(full, native_type(leaf), parameter.ndim, contiguous, shape, beside)
        elif isinstance(parameter.type, _types.StructType):
            for path, leaf in leaf_types(parameter.type):
                natives[f"{name}.{path}"] = builder.value_argument(f"{name}.{path}", native_type(leaf))
        else:
            natives[name] = builder.value_argument(name, native_type(parameter.type))

    def _declare_hidden(self, random):
        for tree, (name, number) in self._trees.items():
            self._natives[tree] = self._builder.tree_argument(name, str(self.requirements.hidden[number].type))
        if random:
            name = self._unique(RANDOM)
            self.requirements.hidden.append(HiddenValue(name, _types.u64, self._words(random)))
            self._word = self._builder.value_argument(name, native_type(_types.u64))
        for written in self._written.values():
            for name, result in written.arguments:
                if result is not None:
                    self._results[written.symbol, name] = self._builder.local_result(result)

    def _operand(self, run, written, name, result):
        if result is not None:
            return self._results[written.symbol, name]
        if name in written.trees:
            return self._natives[written.trees[name]]
        taken = next((one for one in run.given if name == one or name.startswith(f"{one}.")), None)
        if taken is None:
            return self._key()
        given = run.given[taken]
        if isinstance(given, Taken):
            return self._natives[given.name + name[len(taken) :]]
        type_ = _number_parameter(annotation_of(run.source, taken), self._options).type
        constant = self._builder.float_constant if type_.is_float else self._builder.integer_constant
        return constant(given.value, type_.code)

    #  -- steps ------------------------------------------------------------------------------------

    def _write_steps(self, steps):
        for step in steps:
            if isinstance(step, Repeat):
                self._write_repeat(step)
                continue
            written = self._runs[id(step)]
            self._builder.set_location(step.place.file, step.place.line, step.place.column)
            operands = [self._operand(step, written, name, result) for name, result in written.arguments]
            self._builder.run(written.symbol, operands)
            if written.draws:
                self._drawn = self._drawn[0] + 1, self._drawn[1]

    def _write_repeat(self, repeat):
        builder = self._builder
        place = next(runs_of(repeat.steps)).place
        builder.set_location(place.file, place.line, place.column)
        wide = lambda number: builder.integer_constant(number, _types.i64.code)
        count = repeat.count
        count = wide(count) if isinstance(count, int) else builder.cast(self._natives[count.name], _types.i64.code)
        each = self._draws_of(repeat.steps)
        before = self._drawn
        turn = builder.begin_serial(wide(0), count, None, None)
        if each is not None:
            self._drawn = self._plus(before, self._times(turn, each))
        self._write_steps(repeat.steps)
        builder.end_loop()
        if each is not None:
            count = builder.binary("max", count, wide(0))
            self._drawn = self._plus(before, self._times(count, each))

    #  -- random numbers ---------------------------------------------------------------------------

    def _u64(self, number):
        return self._builder.integer_constant(number, _types.u64.code)

    def _draws_of(self, steps):
        """How many runs of steps use random numbers, as a value; None: none."""
        total = 0, None
        for step in steps:
            if isinstance(step, Run):
                total = total[0] + self._runs[id(step)].draws, total[1]
                continue
            inner = self._draws_of(step.steps)
            if inner is None:
                continue
            count = step.count
            if isinstance(count, int):
                count = self._builder.integer_constant(count, _types.i64.code)
            else:
                count = self._builder.cast(self._natives[count.name], _types.i64.code)
                count = self._builder.binary("max", count, self._builder.integer_constant(0, _types.i64.code))
            total = self._plus(total, self._times(count, inner))
        return None if total == (0, None) else self._sum(total)

    def _times(self, count, each):
        return self._builder.binary("*", self._builder.cast(count, _types.u64.code), each)

    def _plus(self, drawn, value):
        return drawn[0], value if drawn[1] is None else self._builder.binary("+", drawn[1], value)

    def _sum(self, drawn):
        number = self._u64(drawn[0])
        return number if drawn[1] is None else self._builder.binary("+", drawn[1], number)

    def _key(self):
        """The key of the run at hand, as RandomKeys has it."""
        binary = self._builder.binary
        number = binary("+", self._word, binary("*", self._sum(self._drawn), self._u64(STEP)))
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            number = binary("*", binary("^", number, binary("bit_shr", number, self._u64(shift))), self._u64(factor))
        return binary("^", number, binary("bit_shr", number, self._u64(31)))


def _renamed(source, name):
    source.tree  # noqa: B018  (parsed once, not by each copy)
    twin = copy.copy(source)
    twin.name = name
    return twin


def _may_overlap(parameter) -> bool:
    return isinstance(parameter, (ArrayParameter, StructArrayParameter, TreeParameter))


def _number_parameter(annotation, options):
    return ValueParameter(scalar_of(annotation, options))


def _moved(path, roots):
    """The path from a kernel's arguments as one from the graph's."""
    return path if path.root is None else Path(roots[path.root], path.steps, path.fixed)
