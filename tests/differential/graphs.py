"""A random kernel as a graph: what it is called with are the graph's arguments, and it stands in loops."""

from __future__ import annotations

import metate as mt
from metate import value_types
from metate.frontend.function import Template
from metate.frontend.specialize import ArrayParameter, StructArrayParameter, TreeParameter, annotation_of
from metate.graph import Arg, ArgKind, GraphBuilder

from .packs import packed


def as_graph(kernel):
    """What is called as the kernel is, and runs a graph of it; a kernel that returns a value, which no graph takes, itself."""
    if kernel.source.returns is not None:
        return kernel
    made = []

    def call(*arguments):
        if not made:
            given = _given(kernel, arguments)
            made.append((_drawn(kernel, given), {one.name for one in given if isinstance(one, Arg)}))
        graph, names = made[0]
        given = {name: value for name, value in zip(kernel.source.parameters, arguments) if name in names}
        graph.run({**given, "once": 1, "never": 0})

    return call


def as_graph_of_packs(kernel, namespace):
    """The same of a kernel of a pack: the graph's argument is the pack, or it makes the pack of its arguments."""
    source = kernel.source
    if source.returns is not None or not source.parameters:
        return kernel
    of_pack, pack = packed(kernel, namespace)
    made = []

    def call(*arguments):
        is_made_there = sum(map(ord, kernel.__name__)) % 2 == 0
        given = _given(kernel, arguments)
        if not made:
            made.append(_drawn(of_pack, [pack(*given) if is_made_there else Arg(ArgKind.ARGPACK, "pack", pack)]))
        run = {"pack": pack(*arguments)}
        if is_made_there:
            run = {one.name: value for one, value in zip(given, arguments) if isinstance(one, Arg)}
        made[0].run({**run, "once": 1, "never": 0})

    return call


def _given(kernel, arguments):
    """What the graph gives the kernel."""
    shape = kernel._shape
    gathered = arguments if shape is None else shape.gathered(shape.flattened(arguments, kernel.__name__))
    parameters = kernel._specialisation(mt.context.current().options, gathered)
    return [_argument(kernel, name, parameters[name], value) for name, value in zip(parameters, arguments)]


def _drawn(kernel, given):
    """The graph, which runs the kernel once, in a loop, and a second time never."""
    once, never = (Arg(ArgKind.SCALAR, name, mt.i32) for name in ("once", "never"))
    builder = GraphBuilder()
    turn, skipped = builder.create_sequential(), builder.create_sequential()
    skipped.dispatch(kernel, *given)
    turn.append(skipped, count=never)
    turn.dispatch(kernel, *given)
    builder.append(turn, count=once)
    return builder.compile()


def _argument(kernel, name, parameter, value):
    """An Arg; of template parameters what the kernel is given."""
    if isinstance(annotation_of(kernel.source, name), Template):
        return value
    if isinstance(parameter, TreeParameter):
        return Arg(ArgKind.TREE, name, parameter.type)
    if isinstance(parameter, StructArrayParameter):
        return Arg(ArgKind.NDARRAY, name, parameter.type, ndim=parameter.ndim, shape=parameter.shape)
    if isinstance(parameter, ArrayParameter):
        return Arg(ArgKind.NDARRAY, name, parameter.element, ndim=parameter.ndim, shape=parameter.shape)
    is_scalar = isinstance(parameter.type, (value_types.DType, value_types.StructType))
    return Arg(ArgKind.SCALAR if is_scalar else ArgKind.MATRIX, name, parameter.type)
