"""What a kernel tells of itself: its signature, what was compiled, the stages of a compilation, reports. Launches nothing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from . import compile_options, reporting
from . import context as _context
from .by_shape import ByShape, extents_of, with_extents
from .frontend.options import language_of
from .frontend.specialize import text_of
from .instances import Compiled, Instance

if TYPE_CHECKING:
    from .report import Report


def choices_of(options, debug=None):
    """A context's options as the compiler takes them; debug: None as the context says."""
    choices = compile_options.choices(options, [options.target])
    if debug is not None:
        choices.debug = debug
    return choices


class KernelViews:
    """Of a Kernel, whose base class it is."""

    def instances(self) -> list[Instance]:
        """What was compiled in the current context: signatures, compile times, number of launches, and why."""
        home = self._home()
        hits = {id(kernel): count for dispatcher in list(home.dispatchers.values()) for kernel, count in dispatcher.instances}
        return [
            Instance(self.signature_of(one), one.may_alias, one.compile_ms, hits.get(id(one.kernel), 0), one.reason, one.cache)
            for one in home.instances()
        ]

    def ahead(self, may_alias: bool = False) -> Compiled:
        """What it is compiled to for the types of its annotations, in the current context.

        Raises CompilationError where the annotations leave something open.
        """
        parameters = self.specialise()
        return self._instance_for(self._home(), may_alias, parameters, (None,) * len(parameters))

    def packed(self, may_alias: bool = False) -> Any:
        """The kernel as a `tvm_ffi.Function`, compiled for the types of its annotations in the current context.

        It takes the parameters of its code one by one, members of structs among them: numbers, tensors, trees as the bytes of
        their block. Fields that it uses are the process's own, which stay as long as the function; a call after one was
        destroyed is a ValueError. Random numbers are those that an ordinary call at that point would get.

        Args:
            may_alias: as of `aot.Module.add_kernel`: without it overlapping arguments are refused.
        Raises CompilationError where the annotations leave a type
        open, RuntimeTypeError_ where the kernel is a derivative that takes gradients of its arguments, RuntimeImportError_
        without tvm-ffi.
        """
        return self._packed(may_alias, False)

    def packed_session(self, may_alias: bool = False) -> Any:
        """A session of the kernel as a `tvm_ffi.Function`; as `packed` otherwise.

        It is called with ("set_input", name, value), ("run") and ("get_output", name).
        """
        return self._packed(may_alias, True)

    def _packed(self, may_alias, by_steps):
        from .packed_functions import function
        from .packed_hidden import HiddenArguments

        instance = self.ahead(may_alias)
        hidden = HiddenArguments(self, instance) if instance.requirements.hidden else None
        return function(instance.kernel, instance.code, by_steps, hidden)

    def signature(self) -> str:
        """The kernel's name and parameters with their annotations, as text."""
        parts = [
            name if p.annotation is p.empty else f"{name}: {_annotation_text(p.annotation)}"
            for name, p in self.source.declared.items()
        ]
        returns = self.source.returns
        return f"{self.__name__}({', '.join(parts)})" + (f" -> {_annotation_text(returns)}" if returns is not None else "")

    def _signature_of_method(self):
        """inspect's signature of the kernel as a method of an object (bindings/runtime/BoundCallable.cpp)."""
        import inspect

        kernel: Any = self
        found = inspect.signature(kernel)
        return found.replace(parameters=list(found.parameters.values())[1:])

    def _reduced_method(self, receiver):
        """What pickle makes the kernel as a method of an object of: its name in the object, as of methods in Python."""
        return getattr, (receiver, self.__name__)

    def signature_of(self, instance: Compiled) -> str:
        """The types that an instance is for, hidden arguments included, as text."""
        parts = [f"{name}: {text_of(parameter)}" for name, parameter in instance.parameters.items()]
        hidden = [f"{name}: {text}" for name, text in instance.requirements.texts()]
        return f"{self.__name__}({', '.join(parts)})" + (f" [{', '.join(hidden)}]" if hidden else "")

    def stages(self, *arguments, stop_after=None, target=None) -> dict[str, str]:
        """The IR after each stage, by the stage's name, up to `stop_after` ("import" to "emit").

        After the stages layout and map a module is one target's: their names are ``layout.x86-64-v3`` and the like. For one
        target `["layout"]` finds them as well.

        Args:
            arguments: what the kernel would be called with; without them the annotations must be complete.
            target: the target that code is made for, or several; None: the current context's.
        """
        from .stages import dumps_of

        options = _context.current().options
        parameters = self._specialised_on(options, arguments) if arguments else None
        text = self._walk(options, parameters)[0].text(True)
        choices = choices_of(options, self._own.get("debug"))
        if target is not None:
            choices.targets = [target] if isinstance(target, str) else list(target)
        return dumps_of(text, choices, stop_after=stop_after or "emit")

    def _specialised_on(self, options, arguments):
        """The specialisation that a call with these arguments would be compiled for."""
        arguments = self._without_packs(self._bind(arguments, {}))
        parameters = self._specialisation(options, arguments)
        if self._has_code_for_extents(options) and extents_of(parameters, arguments):
            if self._walk(options, parameters)[0].scatters_to_arrays():
                return with_extents(parameters, arguments)
        return parameters

    def _has_code_for_extents(self, options):
        """May it be compiled for the extents of a call's arrays (by_shape.py)?"""
        return options.arch == "cpu" and self.is_brief and not language_of(options, self.own_options).debug

    def report(self, *arguments: Any, target: str | None = None) -> Report:
        """What the compiler did of this kernel's loops and why it declined, stages, trees, code, to print or to read.

        Args:
            arguments: what the kernel would be called with: it is compiled for them, once more. Without them: what was compiled
                last in a context with ``reports=True``, else what the annotations say, which must then be complete.
            target: the target that code is made for; None: the one whose reports the current context keeps, else its own.
        Raises CompilationError, RuntimeTypeError_.
        """
        from .report import Report

        context = _context.current()
        kept = [told for kernel, told in context.holdings.reports if kernel is self]
        if kept and not arguments and target is None:
            return Report(kept[-1])
        options, start = context.options, time.perf_counter()
        parameters = self._specialised_on(options, arguments) if arguments else self.specialise()
        module, requirements = self._walk(options, parameters)
        walked, instance = (time.perf_counter() - start) * 1e3, Compiled(parameters, False, "", ByShape())
        instance.requirements = requirements
        return Report(self._explained(module, target or reporting.target_of(options) or options.target, instance, walked))

    def _explained(self, module, target, instance, front_end_ms):
        choices = choices_of(_context.current().options, self._own.get("debug"))
        return reporting.explained(self, instance, module, target, choices, front_end_ms)


def _annotation_text(annotation) -> str:
    return annotation.__name__ if isinstance(annotation, type) else repr(annotation)
