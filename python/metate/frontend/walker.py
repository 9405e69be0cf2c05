"""The walker: one kernel from its syntax tree into a SourceModule, for given parameter types.

Here the parts of a walk are put together, those that others use first; and here stands which part's rule
is for which node of the syntax tree.
"""

from __future__ import annotations

import ast

from metate_native import _compiler

from . import analysis, handles
from .access import Access
from .arguments import Arguments
from .array_access import ArrayAccess
from .assignment import Assignment
from .blocks import Blocks
from .branches import Branches
from .calls import Calls
from .capture import Captures
from .cell_loops import CellLoops
from .closures import Closures
from .component_access import ComponentAccess
from .components import ComponentGroups
from .constant_reads import ConstantReads
from .constants import Constants
from .construction import Construction
from .containers import Containers
from .diagnostics import located
from .evaluator import Evaluator
from .field_access import FieldAccess
from .fields import Fields
from .flags import Flags, StaticReturn
from .foreign_calls import ForeignCalls
from .inlining import Inlining
from .interface import Interface
from .intrinsic_calls import IntrinsicCalls
from .jumps import Jumps
from .lists import Lists
from .loop_bounds import LoopBounds
from .loop_targets import LoopTargets
from .loops import Loops
from .method_calls import MethodCalls
from .names import Names
from .numbering import Numbering
from .operators import Operators
from .options import FrontendOptions
from .outside import Outside
from .places import Places
from .private_variables import PrivateVariables
from .python_calls import PythonCalls
from .random_calls import RandomCalls
from .real_arguments import RealArguments
from .real_calls import RealCalls
from .results import Results
from .sparse import SparseCalls
from .specialize import ArrayParameter, StaticParameter, TreeParameter
from .struct_ops import StructOperations
from .texts import Texts
from .triplets import Triplets
from .unrolling import Unrolling
from .values import Values
from .variables import Variables
from .walk import Walk

MODES = {"grad": "reverse", "dual": "forward"}  # what a kernel's derivative is called -> the builder's word


class Walker:
    """Walks one kernel. Use once.

    Attributes:
        captures: what the kernel uses from outside, once it is walked.
    """

    def __init__(self, module, source, options: FrontendOptions, may_alias: bool):
        definition = source.tree
        builder = _compiler.KernelBuilder(
            module, source.name, source.file, definition.lineno, definition.col_offset + 1,
            options.default_ip.code, options.default_fp.code, may_alias, options.fast_math,
            options.asserts,
        )  # fmt: skip
        accumulated = frozenset(analysis.accumulated_names(definition.body))
        frame = handles.Frame(source, handles.Scope("function"), accumulated=accumulated)
        self._walk = Walk(builder, options, frame, definition)
        self._interface, self._blocks = _parts(self._walk)
        self._are_derivatives_declared = False

    @property
    def captures(self) -> Captures:
        return self._walk.captures

    def make_node(self):
        """Makes the kernel one that only graphs run."""
        self._walk.builder.make_node()

    def walk(self, parameters, derivative=None, numbers=None):
        """Walks it.

        Args:
            parameters: what each one is specialised on, by name (specialize.py).
            derivative: "grad" or "dual": the kernel in the IR is to become its derivative, in reverse or in forward mode.
            numbers: gives launches the number of their call (remembered_call.CallNumbers); writes have numbers, which
                a derivative looks at. None: they have none.
        """
        walk = self._walk
        walk.captures = Captures(walk, [name for name, one in parameters.items() if not isinstance(one, StaticParameter)])
        if numbers is not None:
            walk.captures.numbering = Numbering(walk, numbers)
        try:
            if derivative is not None:
                walk.captures.derivative = derivative
                walk.builder.differentiate(MODES[derivative])
            self._declare(parameters)
            self._run()
            walk.builder.finish()
        except RecursionError:
            walk.builder.abandon()
            hint = "make several statements of the expression, or a @func of the inner branches"
            raise located("syntax", "nested too deeply to be compiled", *walk.current, hint) from None
        except BaseException:
            walk.builder.abandon()
            raise

    def _declare(self, parameters):
        """The kernel's arguments and results in the IR."""
        arguments = self._walk.frame.source.tree.args
        nodes = {one.arg: one for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        # What template arguments bring along comes after the kernel's own arguments.
        ordered = sorted(enumerate(parameters.items()), key=lambda item: isinstance(item[1][1], StaticParameter))
        for index, (name, parameter) in ordered:
            if isinstance(parameter, StaticParameter):
                self._walk.captures.argument(index, parameter.value)
            if isinstance(parameter, StaticParameter):
                self._declare_derivatives(parameters, nodes)
            self._interface.declare_parameter(name, parameter, nodes[name.partition(".")[0]], index)
        self._declare_derivatives(parameters, nodes)
        for name, type_ in self._walk.frame.source.packs.items():
            self._interface.declare_pack(name, type_)
        self._interface.declare_result(self._walk.frame.source.tree)

    def _declare_derivatives(self, parameters, nodes):
        """Of array parameters, after all that callers write and before what template arguments bring along."""
        is_wanted, self._are_derivatives_declared = not self._are_derivatives_declared, True
        captures = self._walk.captures
        for number, (name, parameter) in enumerate(parameters.items() if is_wanted else ()):
            node = nodes[name.partition(".")[0]]
            if captures.derivative is not None and not isinstance(parameter, StaticParameter):
                self._interface.declare_derivative(name, node)
            if captures.numbering is not None and isinstance(parameter, (ArrayParameter, TreeParameter)):
                self._interface.declare_numbers(name, parameter, number, node)

    def _run(self):
        definition = self._walk.frame.source.tree
        try:
            self._blocks.block(definition.body)
        except StaticReturn:
            return
        if self._interface.result is not None:
            text = "expected a return statement at the kernel's end, as its annotation says"
            raise self._walk.error("syntax", text, definition.returns)


def _parts(walk: Walk) -> tuple[Interface, Blocks]:
    """Makes the parts of a walk."""
    groups, constants = ComponentGroups(walk), Constants(walk)
    values, outside = Values(walk, groups, constants), Outside(walk)
    evaluator = Evaluator(walk, values, outside)
    arguments = Arguments(walk, values, evaluator)
    structs = StructOperations(walk, values, evaluator, arguments)
    places = Places(walk, groups, values, evaluator, structs)
    texts = Texts(walk, values, evaluator, arguments)
    random_calls = RandomCalls(walk, values, arguments)
    operators = Operators(walk, constants, values, evaluator, structs, places, texts)
    interface = Interface(walk, values, structs, outside)
    names = Names(walk)
    variables = Variables(walk, values, structs, places, interface)
    unrolling = Unrolling(walk, evaluator, values, outside)
    containers = Containers(walk, evaluator, values, unrolling)
    flags = Flags(walk)
    blocks = Blocks(walk, evaluator, flags)
    results = Results(walk, evaluator, values, structs, flags)
    closures = Closures(walk, evaluator, values)
    inlining = Inlining(walk, arguments, values, structs, blocks, flags, results)
    triplets = Triplets(walk, evaluator, values, inlining)
    assignment = Assignment(walk, evaluator, names, values, outside, structs, places, operators, interface, variables, triplets)
    fields = Fields(walk, values)
    lists = Lists(walk, values, places, fields)
    sparse = SparseCalls(walk, values, arguments, fields, lists, inlining)
    field_access = FieldAccess(walk, evaluator, values, outside, arguments, fields, lists, sparse, inlining)
    arrays = ArrayAccess(walk, values, evaluator)
    component_access = ComponentAccess(walk, groups, evaluator)
    access = Access(walk, evaluator, values, structs, field_access, arrays, component_access, lists, triplets)
    constant_reads = ConstantReads(walk, values, fields, arguments)
    construction = Construction(walk, evaluator, values, arguments)
    intrinsics = IntrinsicCalls(
        walk, evaluator, values, arguments, structs, places, operators, construction, random_calls, sparse, constant_reads
    )
    methods = MethodCalls(walk, values, arguments, places, inlining, field_access, sparse)
    foreign = ForeignCalls(walk, arguments, operators, inlining)
    python_calls = PythonCalls(walk, values, arguments, outside, operators, texts, inlining, construction, intrinsics, foreign)
    real_calls = RealCalls(walk, inlining, values, blocks, flags, results, RealArguments(walk, values, results))
    calls = Calls(walk, evaluator, arguments, structs, inlining, construction, intrinsics, methods, python_calls, real_calls)
    branches = Branches(walk, evaluator, values, blocks)
    jumps = Jumps(walk, evaluator, values, flags, interface, results)
    bounds, targets = LoopBounds(walk, arguments, values), LoopTargets(walk)
    cells = CellLoops(walk, values)
    privates = PrivateVariables(walk, structs)
    loops = Loops(walk, evaluator, bounds, targets, values, blocks, flags, fields, cells, operators, unrolling, privates)
    ruled = (names, containers, operators, access, calls, closures, texts, assignment, branches, jumps, loops, blocks)
    evaluator.rules.update({node: getattr(ruled[k], name) for node, k, name in _EXPRESSIONS})
    evaluator.truths.update({node: getattr(ruled[k], name) for node, k, name in _TRUTHS})
    blocks.rules.update({node: getattr(ruled[k], name) for node, k, name in _STATEMENTS})
    return interface, blocks


_RULED = (Names, Containers, Operators, Access, Calls, Closures, Texts, Assignment, Branches, Jumps, Loops, Blocks)


def _rules(prefix):
    """(class of node, number of the part in _RULED, name of its rule): a method `expr_Call` is for nodes of class ast.Call."""
    names = [(k, name) for k, part in enumerate(_RULED) for name in vars(part) if name.startswith(prefix)]
    return tuple((getattr(ast, name.removeprefix(prefix)), k, name) for k, name in names)


_EXPRESSIONS, _TRUTHS, _STATEMENTS = _rules("expr_"), _rules("truth_"), _rules("statement_")
