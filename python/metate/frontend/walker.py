"""The walker: one kernel from its syntax tree into a SourceModule, for given parameter types."""

from __future__ import annotations

from dataclasses import dataclass

from metate_native import _compiler

from .. import types as _types
from . import analysis, handles
from .calls import Calls
from .capture import Captures
from .components import ComponentGroups
from .containers import Containers
from .diagnostics import located
from .interface import Interface
from .loops import Loops
from .specialize import StaticParameter
from .statements import StaticReturn
from .struct_ops import StructOperations


@dataclass(frozen=True)
class FrontendOptions:
    """What a kernel's meaning depends on besides its source and its types."""

    default_ip: _types.DType = _types.i32
    default_fp: _types.DType = _types.f32
    fast_math: bool = False


class Walker(Interface, Calls, StructOperations, ComponentGroups, Containers, Loops):
    """Walks one kernel. Use once."""

    flag_type = _compiler.DataType(_types.u1.code, [])

    def __init__(self, module, source, options: FrontendOptions, may_alias: bool):
        definition = source.tree
        self.options = options
        self.builder = _compiler.KernelBuilder(
            module, source.name, source.file, definition.lineno, definition.col_offset + 1,
            options.default_ip.code, options.default_fp.code, may_alias, options.fast_math,
        )  # fmt: skip
        self.frame = handles.Frame(source, handles.Scope("function"))
        self.captures = None
        self.parameters = {}
        self.result = None
        self.accumulated = analysis.accumulated_names(definition.body)
        self.containers = {}  # id -> list, dict or set that the kernel made
        self.accumulators = {}  # (name, type's name) -> the place of a variable that parallel loops accumulate in
        self.result_name = None
        self.inlined = []  # (function, its arguments known while compiling) of each call being walked
        self.depth = 0  # run-time regions around the current statement
        self.static_depth = 0  # inside static(...)
        self.serialize_next = False
        self.current = source, definition  # the statement being walked, and where it stands

    def walk(self, parameters):
        """parameters: what each one is specialised on, by name (specialize.py)."""
        source = self.frame.source
        definition = source.tree
        nodes = {
            argument.arg: argument
            for argument in (*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs)
        }
        self.captures = Captures(self, [name for name, one in parameters.items() if not isinstance(one, StaticParameter)])
        try:
            # What template arguments bring along comes after the kernel's own arguments.
            ordered = sorted(enumerate(parameters.items()), key=lambda item: isinstance(item[1][1], StaticParameter))
            for index, (name, parameter) in ordered:
                if isinstance(parameter, StaticParameter):
                    self.captures.argument(index, parameter.value)
                binding = self.declare_parameter(name, parameter, nodes[name])
                self.frame.scope.names[name] = self.parameters[name] = binding
            self.declare_result(definition)
            has_returned = False
            try:
                self.block(definition.body)
            except StaticReturn:
                has_returned = True
            if self.result is not None and not has_returned:
                raise self.error(
                    "syntax", "expected a return statement at the kernel's end, as its annotation says", definition.returns
                )
            self.builder.finish()
        except RecursionError:
            self.builder.abandon()
            hint = "make several statements of the expression, or a @func of the inner branches"
            raise located("syntax", "nested too deeply to be compiled", *self.current, hint) from None
        except BaseException:
            self.builder.abandon()
            raise
