"""Kernels: what @kernel makes, when it is compiled, and where compiled code meets the runtime.

Nothing is compiled at decoration. The first call with arguments of new types compiles one instance for
those types; later calls go straight through the runtime's dispatcher. This is one of the three modules
that see both the compiler and the runtime.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
import threading
import time
import weakref
from dataclasses import dataclass

import numpy as np

from . import context as _context
from . import types as _types
from .errors import CompilationError, RuntimeError_, RuntimeTypeError_
from .frontend.function import Function, Template, func, template  # noqa: F401  (offered from here)
from .frontend.source import SourceFunction, attach_source  # noqa: F401

_ALIAS = 15  # METATE_E_ALIAS: a written argument overlaps another one

_DEBUG_CHECKS = ("division", "outside")  # of the interpreter: what debug mode looks for besides what it always does

# context.current() in pieces, for the one call that counts nanoseconds.
_entered, _default = _context._entered.get, _context._default


@dataclass(frozen=True)
class Instance:
    """One compilation of a kernel.

    Attributes:
        signature: what it was compiled for, as text.
        may_alias: compiled for arguments that overlap.
        compile_ms: how long compiling took, in milliseconds.
        hits: how often it was launched.
    """

    signature: str
    may_alias: bool
    compile_ms: float
    hits: int


class _Compiled:
    """An instance while it is compiled, then its code; `kernel` is None until that is done."""

    def __init__(self, parameters, may_alias, dispatcher):
        self.parameters = parameters
        self.may_alias = may_alias
        self.dispatcher = dispatcher
        self.lock = threading.RLock()  # held while it is compiled: a second thread waits for the first one's code
        self.compile_ms = 0.0
        self.code = None  # of the compiler: CompiledModule
        self.kernel = None  # of the runtime: _runtime.Kernel


class _Home:
    """What one kernel has been compiled to in one context. It must not keep the context's holdings alive."""

    def __init__(self, options, holdings):
        self.options = options
        self.key = holdings.key
        self.holdings = weakref.ref(holdings)
        self.lock = threading.Lock()
        self.dispatchers = {}  # (may_alias, values of template parameters) -> dispatcher
        self.compiled = {}  # specialisation -> _Compiled

    def holder(self):
        """The context's holdings, which live while one of its calls runs unless it is reset meanwhile."""
        holdings = self.holdings()
        if holdings is None:
            raise RuntimeError_("the context was reset while a kernel was being compiled in it; call the kernel again")
        return holdings


def _language(options, fast_math=None):
    from .frontend.walker import FrontendOptions

    return FrontendOptions(options.default_ip, options.default_fp, options.fast_math if fast_math is None else fast_math)


def _choices(options, debug=None):
    """A context's options as the compiler takes them; debug: None as the context says."""
    from metate_native import _compiler

    choices = _compiler.Choices()
    choices.targets = [options.cpu]
    choices.opt_level = options.opt_level
    choices.hoist_leaves = options.hoist_leaves
    choices.demote_atomics = options.demote_atomics
    choices.debug = options.debug if debug is None else debug
    choices.contract = options.contract
    choices.sanitizer = options.sanitizer
    return choices


def _compiler_of(holdings, options):
    """The home of a context's code, made when it is first needed."""
    if holdings.compiler is None:
        from metate_native import _compiler

        with holdings.lock:
            if holdings.compiler is None:
                holdings.compiler = _compiler.Interpreter() if options.arch == _context.interp else _compiler.Jit()
    return holdings.compiler


class Kernel:
    """A kernel. Call it with one argument per parameter; defaults and keywords work.

    Arguments of types that were not seen before are compiled for, once. Arrays that overlap another
    argument which the kernel writes are compiled for separately: the result is then that of one of the
    orders in which the iterations could run.
    """

    __metate_kernel__ = True

    def __init__(self, function, annotation_scope=None, fast_math=None, debug=None):
        functools.update_wrapper(self, function)
        self.source = SourceFunction(function, annotation_scope)
        self._fast_math = fast_math
        self._debug = debug
        self._lock = threading.Lock()
        self._plain = {}  # a context's key -> its dispatcher, once it is known that no parameter is a template
        self._homes = {}  # a context's key -> (_Home, weak reference that removes the entry with the context's holdings)

    def __call__(self, *arguments, **keywords):
        launch = self._plain.get((_entered() or _default)[-1].key)
        if launch is None or keywords or len(arguments) != self._count:
            return self._call(arguments, keywords)
        try:
            return launch(*arguments)
        except CompilationError as error:
            raise _at_the_users_line(error) from None
        except RuntimeError_ as error:
            if error.status != _ALIAS:
                raise
        return self._launch_aliased(arguments)

    def _call(self, arguments, keywords):
        """The way for everything but plain positional calls, and for the first call."""
        try:
            parameters = self._parameters
        except CompilationError as error:
            raise _at_the_users_line(error) from None
        try:
            bound = inspect.Signature(list(parameters.values())).bind(*arguments, **keywords)
        except TypeError as error:
            raise RuntimeTypeError_(f"{self.__name__}: {error}; the kernel is {self.signature()}") from None
        bound.apply_defaults()
        arguments = tuple(bound.arguments[name] for name in parameters)
        try:
            launch, arguments = self._dispatcher_for(arguments, False)
            return launch(*arguments)
        except CompilationError as error:
            raise _at_the_users_line(error) from None
        except RuntimeError_ as error:
            if error.status != _ALIAS:
                raise
        return self._launch_aliased(arguments)

    @functools.cached_property
    def _parameters(self):
        from .frontend.specialize import check_annotations

        check_annotations(self.source)
        return {name: p.replace(annotation=inspect.Parameter.empty) for name, p in self.source.parameters.items()}

    @functools.cached_property
    def _count(self):
        return len(self._parameters)

    @functools.cached_property
    def _templates(self):
        return [k for k, p in enumerate(self.source.parameters.values()) if isinstance(p.annotation, Template)]

    def _launch_aliased(self, arguments):
        launch, arguments = self._dispatcher_for(arguments, True)
        return launch(*arguments)

    def _home(self):
        """The home of this kernel's code in the current context."""
        context = _context.current()
        holdings = context.holdings
        with self._lock:
            found = self._homes.get(holdings.key)
            if found is None:
                forget = functools.partial(_forget, weakref.ref(self), holdings.key)
                found = self._homes[holdings.key] = _Home(context.options, holdings), weakref.ref(holdings, forget)
            return found[0]

    def _dispatcher_for(self, arguments, may_alias):
        """(dispatcher, the arguments that go through it): values of template parameters stay behind."""
        templates = [k for k in self._templates if not _is_passed(arguments[k])]
        static = {k: arguments[k] for k in templates}
        key = (may_alias, tuple((k, type(value), value) for k, value in static.items()))
        home = self._home()
        with home.lock:
            try:
                dispatcher = home.dispatchers.get(key)
            except TypeError:
                raise RuntimeTypeError_(
                    f"{self.__name__}: values of template parameters must be hashable, got {tuple(static.values())!r}"
                ) from None
            if dispatcher is None:
                from metate_native import _runtime

                dispatcher = _runtime.Dispatcher(functools.partial(self._instance_for, home, key, static))
                home.dispatchers[key] = dispatcher
                if not self._templates and not may_alias:
                    self._plain[home.key] = dispatcher
        return dispatcher, tuple(a for k, a in enumerate(arguments) if k not in static)

    def _instance_for(self, home, key, static, passed):
        """The dispatcher's slow path: compiles for arguments that fit no instance yet; returns a `_runtime.Kernel`."""
        rest = iter(passed)
        arguments = [static[k] if k in static else next(rest) for k in range(self._count)]
        parameters = self._specialisation(home.options, arguments)
        compiled = (tuple(parameters.items()), key[0])
        with home.lock:
            instance = home.compiled.setdefault(compiled, _Compiled(parameters, key[0], home.dispatchers[key]))
        with instance.lock:
            if instance.kernel is None:
                self._compile(home, instance)
            return instance.kernel

    def _specialisation(self, options, arguments):
        from .frontend.specialize import from_arguments

        try:
            return from_arguments(self.source, arguments, _language(options, self._fast_math), _describe_array, _tree_type)
        except TypeError as error:
            raise RuntimeTypeError_(f"{self.__name__}: {error}") from None

    def _compile(self, home, instance):
        from metate_native import _runtime

        from . import runtime

        start = time.perf_counter()
        holdings, options = home.holder(), home.options
        module = self._import(options, instance.parameters, instance.may_alias)
        instance.code = self._lower(_compiler_of(holdings, options), module, options)
        device = runtime.device_of(holdings, options.threads)
        opened = _runtime.Module.open_static(device, instance.code.descriptor, instance.code.entries, instance.code)
        instance.compile_ms = (time.perf_counter() - start) * 1e3
        instance.kernel = opened.kernels[0]
        if options.arch == _context.interp:
            holdings.interpreted.append(instance.code)

    def _lower(self, compiler, module, options):
        from metate_native import _compiler

        choices = _choices(options, self._debug)
        try:
            if options.arch != _context.interp:
                return compiler.compile(module, choices)
            checks = {*options.checks, *(_DEBUG_CHECKS if choices.debug else ())}
            if not options.stop:
                choices.debug = False  # its checks would end a launch that is to go on
            return compiler.compile(module, choices, stage=options.interp_stage, checks=sorted(checks), stop=options.stop)
        except _compiler.CompileError as error:
            raise CompilationError(f"{self.__name__}: {error}", file=self.source.file, line=self.source.first_line) from None

    def import_module(self, parameters=None, may_alias=False, module=None):
        """The import stage: this kernel's IR.

        Args:
            parameters: a specialisation; None takes what the annotations say, which must then be complete.
            may_alias: for arguments that overlap.
            module: a `_compiler.SourceModule` to add the kernel to; None makes one.
        Returns the SourceModule. Raises CompilationError at the place in the source.
        """
        return self._import(_context.current().options, parameters, may_alias, module)

    def _import(self, options, parameters=None, may_alias=False, module=None):
        from metate_native import _compiler

        from .frontend import specialize
        from .frontend.walker import Walker

        language = _language(options, self._fast_math)
        if parameters is None:
            parameters = specialize.from_annotations(self.source, language)
        if module is None:
            module = _compiler.SourceModule(self.__name__)
        try:
            Walker(module, self.source, language, may_alias).walk(parameters)
        except CompilationError as error:
            raise error.with_traceback(None) from None  # the user's place is in the text, not in the walker's frames
        return module

    def instances(self) -> list[Instance]:
        """What was compiled in the current context: signatures, compile times, number of launches."""
        home = self._home()
        with home.lock:
            compiled = [one for one in home.compiled.values() if one.kernel is not None]
        found = []
        for one in compiled:
            hits = {id(kernel): count for kernel, count in one.dispatcher.instances}
            found.append(Instance(self._signature_of(one.parameters), one.may_alias, one.compile_ms, hits.get(id(one.kernel), 0)))
        return found

    def signature(self) -> str:
        """The kernel's name and parameters with their annotations, as text."""
        parts = [f"{name}: {_annotation_text(p.annotation)}" for name, p in self.source.parameters.items()]
        returns = self.source.returns
        return f"{self.__name__}({', '.join(parts)})" + (f" -> {_annotation_text(returns)}" if returns is not None else "")

    def _signature_of(self, parameters):
        return f"{self.__name__}({', '.join(f'{name}: {_parameter_text(p)}' for name, p in parameters.items())})"

    def stages(self, *arguments, stop_after=None, target=None) -> dict[str, str]:
        """The IR after each stage, by the stage's name, up to `stop_after` ("import" to "emit").

        Args:
            arguments: what the kernel would be called with; without them the annotations must be complete.
            target: the CPU that code is made for; None: the current context's.
        """
        from metate_native import _compiler

        options = _context.current().options
        parameters = self._specialisation(options, arguments) if arguments else None
        text = self._import(options, parameters).text(True)
        names = _compiler.stage_names()
        choices = _choices(options, self._debug)
        if target is not None:
            choices.targets = [target]
        dumps = {names[0]: text}
        for before, name in itertools.pairwise(names[:-1]):
            if stop_after in dumps:
                break
            dumps[name] = text = _compiler.run_stages(text, before, name, choices)
        return dumps

    def __repr__(self):
        return f"<kernel {self.__name__}>"


def kernel(function=None, *, fast_math=None, debug=None):
    """Makes a kernel of a function whose parameters are annotated with types.

    Args:
        fast_math: True lets floating-point operations of this kernel be reordered, False keeps IEEE's
            order; None: as the context says.
        debug: True makes this kernel stop at wrong accesses, divisions and activations, False leaves the
            checks out; None: as the context says.

    >>> import metate as mt
    >>> @mt.kernel
    ... def scale(a: mt.f32, x: mt.types.ndarray(dtype=mt.f32, ndim=1)):
    ...     for i in range(x.shape[0]):
    ...         x[i] *= a
    """
    scope = dict(sys._getframe(1).f_locals)
    if function is None:
        return lambda wrapped: _checked_kernel(wrapped, scope, fast_math, debug)
    return _checked_kernel(function, scope, fast_math, debug)


def _checked_kernel(function, scope, fast_math, debug):
    if not inspect.isfunction(function):
        raise RuntimeTypeError_(f"kernel: expected a function, got {function!r}")
    return Kernel(function, scope, fast_math, None if debug is None else bool(debug))


def _at_the_users_line(error: CompilationError) -> CompilationError:
    """The same error without the compiler's own frames: its text names the user's place."""
    return error.with_traceback(None)


def _forget(kernel, key, _):
    """Drops a kernel's code when the context that it was compiled in has dropped its holdings."""
    kernel = kernel()
    if kernel is not None:
        kernel._plain.pop(key, None)
        kernel._homes.pop(key, None)


def _is_passed(argument) -> bool:
    """Does an argument of a template parameter go to the kernel, rather than into its compilation?"""
    return _tree_type(argument) is not None or _describe_array(argument) is not None


def _tree_type(argument):
    type_ = getattr(argument, "type", None)
    return type_ if isinstance(type_, _types.TreeType) else None


def _describe_array(argument):
    """(dtype, shape, has no gaps) of anything that is an array, else None."""
    if isinstance(argument, np.ndarray):
        array = argument
    elif isinstance(argument, np.generic):
        return None
    elif hasattr(argument, "__dlpack__"):
        try:
            array = np.from_dlpack(argument)
        except (BufferError, RuntimeError, TypeError, ValueError):  # memory of another device, a type NumPy lacks
            return None
    elif isinstance(argument, (memoryview, bytearray)) or hasattr(argument, "__array_interface__"):
        array = np.asarray(argument)
    else:
        return None
    try:
        dtype = _types.dtype(array.dtype)
    except TypeError:
        return None
    return dtype, array.shape, array.flags.c_contiguous


def _annotation_text(annotation) -> str:
    return annotation.__name__ if isinstance(annotation, type) else repr(annotation)


def _parameter_text(parameter) -> str:
    name = type(parameter).__name__
    if name == "ArrayParameter":
        return f"{parameter.element!r}[{', '.join(':' * parameter.ndim)}]" + ("" if parameter.contiguous else " strided")
    if name == "StaticParameter":
        return repr(parameter.value)
    return repr(parameter.type)
