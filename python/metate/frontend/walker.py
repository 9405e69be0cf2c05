"""The walker: one kernel from its syntax tree into a SourceModule, for given parameter types."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from metate_native import _compiler

from .. import types as _types
from . import analysis, handles
from .calls import Calls
from .diagnostics import located
from .loops import Loops
from .native import native_type
from .specialize import ArrayParameter, StaticParameter, TreeParameter


@dataclass(frozen=True)
class FrontendOptions:
    """What a kernel's meaning depends on besides its source and its types."""

    default_ip: _types.DType = _types.i32
    default_fp: _types.DType = _types.f32
    fast_math: bool = False


class Walker(Calls, Loops):
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
        self.parameters = {}
        self.result = None
        self.result_name = None
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
        try:
            for name, parameter in parameters.items():
                binding = self._declare(name, parameter, nodes[name])
                self.frame.scope.names[name] = self.parameters[name] = binding
            self._declare_result(definition)
            self.block(definition.body)
            if self.result is not None and not isinstance(definition.body[-1], ast.Return):
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

    def _declare(self, name, parameter, node):
        if isinstance(parameter, StaticParameter):
            return handles.Constant(parameter.value)
        if isinstance(parameter, TreeParameter):
            native = self.emit(node, self.builder.tree_argument, name, str(parameter.type))
            return handles.Constant(handles.TreeHandle(native, parameter.type, name))
        if isinstance(parameter, ArrayParameter):
            native = self.emit(
                node, self.builder.array_argument, name, native_type(parameter.element), parameter.ndim, parameter.contiguous
            )
            return handles.Constant(handles.ArrayHandle(native, name))
        return handles.Constant(self.emit(node, self.builder.value_argument, name, native_type(parameter.type)))

    def _declare_result(self, definition):
        annotation = self.frame.source.returns
        if annotation is None:
            return
        if _types.is_python_scalar(annotation):
            annotation = self.scalar_type(annotation, definition.returns)
        if not isinstance(annotation, (_types.DType, _types.VectorType, _types.MatrixType)):
            raise self.error(
                "type", f"return annotation: expected a scalar, vector or matrix type, got {annotation!r}", definition.returns
            )
        self.result = self.emit(definition, self.builder.result_argument, native_type(annotation))
        last = definition.body[-1]
        if isinstance(last, ast.Return) and isinstance(last.value, ast.Name):
            self.result_name = last.value.id

    #  -- @func bodies -------------------------------------------------------------------------------

    def walk_function_body(self, statements):
        """The body of an inlined function, in its own frame."""
        if self._has_early_return(statements):
            self.frame.live = self._new_flag(statements[0])
        self.block(statements)

    def _has_early_return(self, statements):
        return analysis.contains_return(statements[:-1]) or (
            not isinstance(statements[-1], ast.Return) and analysis.contains_return(statements[-1:])
        )

    def result_of(self, frame, node):
        """What a call of the function that `frame` walked stands for."""
        if not frame.returns:
            return frame.result
        if not analysis.always_returns(frame.source.tree.body):
            raise located(
                "type", f"'{frame.source.name}' returns a value on some paths and none on others", frame.source, frame.source.tree
            )
        values = [self.emit(node, self.builder.load, place) for place in frame.returns[0]]
        for number, places in enumerate(frame.returns[1:], 1):  # returns of other types: the one that was taken
            which = self.emit(node, self.builder.load, frame.which)
            is_it = self.emit(node, self.builder.compare, "==", which, self.typed_constant(number, _types.i32, node))
            others = [self.emit(node, self.builder.load, place) for place in places]
            values = [self.emit(node, self.builder.select, is_it, b, a) for a, b in zip(values, others)]
        return tuple(values) if frame.is_tuple else values[0]
