"""Kernels: what @kernel makes, when it is compiled, and where compiled code meets the runtime.

Nothing is compiled at decoration. The first call with arguments of new types compiles one instance for
those types; later calls go straight through the runtime's dispatcher. This is one of the three modules
that see both the compiler and the runtime.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
import types as python_types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from metate_native import _runtime

from . import compile_options, recording, reporting
from . import context as _context
from .argument_kinds import describe_array, is_own_array, lies_on_cuda, same_memory, tree_type_of
from .argument_packs import flat_arguments
from .by_shape import ShapesWanted
from .dtypes import dtype
from .errors import ArrayError_, CallError_, CompilationError, RuntimeError_, RuntimeTypeError_
from .frontend.diagnostics import warn
from .frontend.function import Function, Template, func, template  # noqa: F401  (offered from here)
from .frontend.kernel_source import KernelSource
from .frontend.options import language_of
from .frontend.requirements import HiddenTree
from .frontend.source import attach_source  # noqa: F401
from .frontend.specialize import StaticParameter, element_is_the_arguments
from .instances import Compiled, Home
from .kernel_views import KernelViews, choices_of
from .packed_code import Packed, Packer
from .parameters import Parameter, signature_of
from .tree_type import TreeType

_ALIAS = 15  # METATE_E_ALIAS: a written argument overlaps another one

_MANY = 16  # instances of which only values read through arguments differ: a sign that one of these is no constant

# Of the interpreter: what debug mode looks for besides what it always does.
_DEBUG_CHECKS = ("division", "outside", "quant-range")


def _compiler_of(holdings, options):
    """The home of a context's code, made when it is first needed."""
    if holdings.compiler is None:
        from metate_native import _compiler

        with holdings.lock:
            if holdings.compiler is None:
                if options.arch == _context.interp:
                    holdings.compiler = _compiler.Interpreter()
                elif options.device_target is not None:
                    holdings.compiler = Packer()
                else:
                    holdings.compiler = _compiler.Jit(_compiler.PerfOutput[options.perf_map])
    return holdings.compiler


def _describe_any_array(argument):
    """describe_array, of arrays in the memory of CUDA's devices too."""
    found = describe_array(argument)
    if found is None and lies_on_cuda(argument):
        found = _runtime.describe_array(argument.detach() if hasattr(argument, "detach") else argument)
        return found and (dtype(found[0]), *found[1:])
    return found


class Kernel(KernelViews, _runtime.Callable):
    """A kernel. Call it with one argument per parameter; defaults and keywords work.

    Arguments of types that were not seen before are compiled for, once; template arguments are looked into while
    compiling, and what was read there is part of what an instance is for. Arrays that overlap another
    argument which the kernel writes are compiled for separately: the result is then that of one of the
    orders in which the iterations could run.

    In a class that is decorated with ``mt.data_oriented`` a kernel is a method; ``self`` is a template argument.
    """

    __metate_kernel__ = True

    def __init__(self, function, annotation_scope=None, **own):
        functools.update_wrapper(self, function)
        self._begin(KernelSource(function, annotation_scope), own)

    def _begin(self, source, own):
        self.source = source
        self._own = {name: value for name, value in own.items() if value is not None}  # else as the context says
        self._lock = threading.Lock()
        # context.current() in pieces. `_plain`: a context's key -> what is called there, once it was called there.
        self._look_in(_context._entered, _context._default, _context.Context.key)
        self._homes = {}  # a context's key -> (Home, weak reference that removes the entry with the context's holdings)

    def __copy__(self):
        """Another kernel of the same source, with nothing compiled."""
        made = self.__class__.__new__(self.__class__)
        made.__dict__.update(self.__dict__)
        for name in ("grad", "fwd", "numbered"):  # are of this one
            made.__dict__.pop(name, None)
        made._begin(self.source, self._own)
        return made

    is_brief = True  # may a bound on its work be taken from what is imported?

    needs_specialising = False  # has it template parameters that no caller gives? (graph_kernel.py)

    @functools.cached_property
    def grad(self) -> Any:
        """The kernel's derivative in reverse mode, a kernel of the same arguments: it adds what the gradients of places that the
        kernel writes say to the gradients of what it reads."""
        return self.derivative("grad")

    @functools.cached_property
    def fwd(self) -> Any:
        """The kernel with its derivative in forward mode: it also writes the duals of what it writes."""
        return self.derivative("dual")

    @functools.cached_property
    def numbered(self) -> Any:
        """The kernel, or derivative, that Tape(validation=True) calls: numbered.py."""
        return self.numbered_class(self)

    def derivative(self, kind: str) -> Any:
        """A new derivative: "grad", in reverse mode, or "dual", in forward mode."""
        return Kernel.derivative_class(self, kind)

    derivative_class: Callable[[Kernel, str], Kernel]  # derivative.py says which
    numbered_class: Callable[[Kernel], Kernel]  # numbered.py says which

    @property
    def own_options(self) -> dict[str, bool]:
        """The options that it was decorated with; others are as the context says."""
        return self._own

    def _call(self, arguments, keywords):
        """The way for all calls but plain ones: those with one positional argument for each parameter, after a first call."""
        watcher = recording.innermost()
        if watcher is not None:
            return watcher.call(self, arguments, keywords)
        return self.call_bound(self._checked_bind(arguments, keywords))

    def call(self, arguments: tuple, keywords: dict[str, Any]) -> Any:
        """Calls it, whoever watches calls (recording.py)."""
        return self.call_bound(self._checked_bind(arguments, keywords))

    def _checked_bind(self, arguments, keywords):
        try:
            return self._bind(arguments, keywords)
        except CompilationError as error:
            raise _at_the_users_line(error) from None

    def call_bound(self, arguments: tuple) -> Any:
        """`call` with one argument for each parameter, as `_bind` gives them."""
        try:
            home = self._home()
            self._plain[home.key] = launch = self._launcher(home, False)
            if all(p.kind != "KEYWORD_ONLY" for p in self._parameters.values()):
                self._expect(len(self._parameters))
            return launch(*arguments)
        except CompilationError as error:
            raise _at_the_users_line(error) from None
        except RuntimeError_ as error:
            if error.status != _ALIAS:
                raise
        return self._launcher(self._home(), True)(*arguments)

    def _failed(self, error, arguments):
        """What a plain call gives that raised this; NotImplemented: it raises."""
        if isinstance(error, CompilationError):
            _at_the_users_line(error).__cause__ = None
        if not isinstance(error, RuntimeError_) or error.status != _ALIAS:
            return NotImplemented
        home = self._home()
        launch, pair = self._launcher(home, True), same_memory(arguments)
        if pair is not None:
            self._same[home.key] = (*pair, launch)
        return launch(*arguments)

    def call_apart(self, *arguments):
        """A call of one argument for each parameter, none of which may overlap one that the kernel writes.

        Raises RuntimeError_ (METATE_E_ALIAS) where one does, instead of compiling for that.
        """
        launch = self._plain.get(_context.current().key)
        if launch is None:
            home = self._home()
            self._plain[home.key] = launch = self._launcher(home, False)
        try:
            return launch(*arguments)
        except CompilationError as error:
            raise _at_the_users_line(error) from None

    def _reserve_for(self, tree, arguments, keywords):
        """(text, slots): whether a call would find room in the tree, and how many slots each of its pools needs."""
        arguments = self._bind(arguments, keywords)
        home = self._home().reserving
        shape, arguments = self._shape, self._without_packs(arguments)
        given = arguments if shape is None else shape.flattened(arguments, self.__name__)
        try:
            return self._dispatcher(home, False).reserve_for(tree, *given)
        except CompilationError as error:
            raise _at_the_users_line(error) from None
        except RuntimeError_ as error:
            if error.status != _ALIAS:
                raise
        return self._dispatcher(home, True).reserve_for(tree, *given)

    def _bind(self, arguments, keywords) -> tuple:
        """One argument for each parameter, in order."""
        parameters = self._parameters
        if not keywords and len(arguments) == len(parameters) and all(p.kind != "KEYWORD_ONLY" for p in parameters.values()):
            return arguments
        try:
            bound = signature_of(parameters).bind(*arguments, **keywords)
        except TypeError as error:
            raise CallError_(f"{self.__name__}: {error}; the kernel is {self.signature()}") from None
        bound.apply_defaults()
        return tuple(bound.arguments[name] for name in parameters)

    @functools.cached_property
    def _parameters(self):
        from .frontend.specialize import check_annotations

        check_annotations(self.source)
        return {name: p._replace(annotation=Parameter.empty) for name, p in self.source.declared.items()}

    @functools.cached_property
    def _shape(self):
        """How structs and tuples are taken apart; None: there are none."""
        from .kernel_values import Shape

        shape = Shape(self.source.parameters, self.source.returns)
        return None if shape.is_plain else shape

    def _launcher(self, home, may_alias):
        """What is called with one argument for each parameter."""
        return self._launcher_of(self._dispatcher(home, may_alias))

    def _launcher_of(self, launch):
        """What is called with one argument for each parameter, of what takes those of the code."""
        shape = self._shape
        if shape is None and not self.source.packs:
            return launch
        if shape is None:
            return lambda *arguments: launch(*self._without_packs(arguments))
        return lambda *arguments: shape.result(launch(*shape.flattened(self._without_packs(arguments), self.__name__)))

    def _without_packs(self, arguments):
        """The arguments with members of packs in place of packs: one for each of the source's parameters."""
        packs = self.source.packs
        return flat_arguments(packs, self._parameters, arguments, self.__name__) if packs else arguments

    def _home(self):
        """The home of this kernel's code in the current context."""
        context = _context.current()
        holdings = context.holdings
        with self._lock:
            found = self._homes.get(holdings.key)
            if found is None:
                forget = functools.partial(_forget, weakref.ref(self), holdings.key)
                found = self._homes[holdings.key] = Home(context.options, holdings), weakref.ref(holdings, forget)
            return found[0]

    def _dispatcher(self, home, may_alias):
        """What picks and launches the instance that fits a call's arguments."""
        return self._dispatcher_for(home, may_alias, functools.partial(self._target, home, may_alias))

    @staticmethod
    def _dispatcher_for(home, key, target):
        """The dispatcher of a home that has this key; it is made with this slow path."""
        with home.lock:
            found = home.dispatchers.get(key)
            if found is None:
                found = home.dispatchers[key] = _runtime.Dispatcher(target)
            return found

    def _target(self, home, may_alias, arguments):
        """The dispatcher's slow path: arguments that fit no instance as they were used before."""
        from .targets import Foreseen, target_of

        shape = self._shape
        if shape is not None:
            arguments = shape.gathered(arguments)
        self._check_receiver(arguments)
        parameters = self._specialisation(home.options, arguments)
        instance = self._instance_for(home, may_alias, parameters, arguments)
        statics = [k for k, parameter in enumerate(parameters.values()) if isinstance(parameter, StaticParameter)]
        starts = range(len(arguments)) if shape is None else shape.starts
        holdings = Foreseen(home.holder()) if home.reserves else self._given_by(home)
        found = target_of(instance.requirements, arguments, statics, starts, holdings)
        # Where the annotation says no element type, memory of the same shape may be scalars in a foreign array.
        open_ones = element_is_the_arguments(self.source, parameters)
        guards = tuple((start, (), (is_own_array,)) for start, is_open in zip(starts, open_ones) if is_open)
        guards += home.bucket(parameters, may_alias).by_shape.guards(parameters, instance.parameters, arguments, starts)
        return instance.kernel, *found[:2], found[2] + guards, found[3], instance.requirements.brief_extent

    def _given_by(self, home):
        """What gives launches values anew (frontend/providers.py)."""
        return home

    def _instance_for(self, home, may_alias, parameters, arguments) -> Compiled:
        """The instance for these arguments, compiled if there is none."""
        bucket = home.bucket(parameters, may_alias)
        with bucket.lock:
            shaped = bucket.by_shape.chosen(parameters, arguments)
            if shaped is not None:
                return self._instance_for(home, may_alias, shaped, arguments)
            for instance in bucket.instances:
                if instance.kernel is not None and instance.difference(arguments) is None:
                    return instance
            instance = home.begun(parameters, may_alias, arguments)
            try:
                self._make(home, instance, parameters, arguments)
            except ShapesWanted as wanted:
                return self._instance_for(home, may_alias, wanted.parameters, arguments)
            bucket.instances.append(instance)
            if len(bucket.instances) == _MANY:
                warnings.warn(
                    f"kernel '{self.__name__}' was compiled {_MANY} times for one kind of arguments, now because of "
                    f"{instance.reason}: what changes from call to call is better an argument of the kernel",
                    stacklevel=2,
                )
            return instance

    def _check_receiver(self, arguments):
        """The object of a method must be of a data-oriented class, so that one knows what to expect of it."""
        if self._is_method and not hasattr(arguments[0], "_metate_data_oriented"):
            name = type(arguments[0]).__name__
            raise CallError_(
                f"{self.__name__}: expected an object of a data-oriented class, got one of '{name}'; "
                "put @mt.data_oriented before its class"
            )

    @functools.cached_property
    def _is_method(self):
        first = next(iter(self.source.parameters.values()), None)
        return first is not None and self.source.is_in_class and first.annotation is Parameter.empty

    def _specialisation(self, options, arguments):
        from .frontend.specialize import from_arguments

        try:
            describe = _describe_any_array if options.arch == _context.cuda else describe_array
            return from_arguments(self.source, arguments, language_of(options, self._own), describe, tree_type_of)
        except TypeError as error:
            kind = ArrayError_ if isinstance(error, ArrayError_) else RuntimeTypeError_
            raise kind(f"{self.__name__}: {error}") from None

    def accesses(self, arguments: tuple) -> dict[str, int]:
        """How the code for these arguments uses each of them (metate_access), by name; it is compiled now if need be."""
        home, given = self._home(), self._without_packs(arguments)
        instance = self._instance_for(home, False, self._specialisation(home.options, given), given)
        return {one["name"]: one["access"] for one in instance.kernel.parameters}

    def _make(self, home, instance, parameters, arguments):
        """The code of an instance: from the cache of compiled objects, else compiled."""
        start = time.perf_counter()
        question = self._question(home, instance, parameters, arguments)
        found = question.find() if question is not None else None
        kernel = self._load(home, found[0]) if found is not None else None
        if found is not None and kernel is not None:
            instance.requirements, instance.cache = found[1], "loaded"
            instance.by_shape.tell(found[1].scatters, parameters, arguments)
            for told in found[1].warnings:
                warn(*told)
        else:
            kernel = self._compile(home, instance, parameters, arguments, question)
        instance.compile_ms = (time.perf_counter() - start) * 1e3
        instance.kernel = kernel

    def _question(self, home, instance, parameters, arguments):
        """What the cache is asked for an instance; None where there is no cache, or it could not hold the instance."""
        from .object_cache.shared import folder_of

        options = home.options
        anew = options.print_ir or options.perf_map != "none" or options.reports
        folder = None if anew else folder_of(home.holder(), options)
        if folder is None:
            return None
        from .object_cache import kernels

        language = language_of(options, self._own)
        code = compile_options.key(options, debug=language.debug, reserve=home.reserves)
        others = [code, options.target, repr(language), repr(instance.may_alias)]
        try:
            return kernels.Question(folder, self._subject(), parameters, arguments, others)
        except kernels.Undescribable as error:
            instance.cache = f"not cached: {error}"
            return None

    def _subject(self):
        """What the cache knows a compilation by."""
        from .object_cache.kernels import Subject

        part = self.source.part
        return Subject([self.source], [] if part is None else [f"part {part}"])

    def _load(self, home, module):
        """A kernel of a module's bytes; None where the system refuses them, for want of file numbers, say."""
        from . import runtime

        try:
            return _runtime.Module.open_bytes(runtime.device_of(home.holder(), home.options), module).kernels[0]
        except RuntimeError_:
            return None

    def _compile(self, home, instance, parameters, arguments, question):
        from metate_native import _compiler

        from . import runtime

        holdings, options, start = home.holder(), home.options, time.perf_counter()
        module, instance.requirements = self._walk(options, parameters, instance.may_alias)
        if options.arch == "cpu" and not home.reserves and self.is_brief:
            instance.requirements.brief_extent = module.brief_extent()
            instance.requirements.scatters = self._has_code_for_extents(options) and module.scatters_to_arrays()
            instance.by_shape.tell(instance.requirements.scatters, parameters, arguments)
        walked = time.perf_counter()
        if options.print_ir and not home.reserves:
            print(module.text(False))
        target = reporting.target_of(options) if not home.reserves else None
        told = _compiler.Report() if target == options.target else None
        text = module.text(True) if target not in (None, options.target) else ""
        instance.code = code = self._lower(_compiler_of(holdings, options), module, options, home.reserves, told)
        device = runtime.device_of(holdings, options)
        if isinstance(code, Packed):
            opened = _runtime.Module.open_bytes(device, code.data)
        else:
            opened = _runtime.Module.open_static(device, code.descriptor, code.entries, code)
        holdings.compilations.append((self.__name__, start, (walked - start) * 1e3, (time.perf_counter() - walked) * 1e3))
        if options.arch == _context.interp:
            holdings.interpreted.append(code)
        if told is not None:
            kept = reporting.compilation_of(self, instance, options.target, told, (walked - start) * 1e3)
            holdings.reports.append((self, kept))
        elif target is not None:
            module = _compiler.SourceModule(self.__name__)
            module.parse(text)
            holdings.reports.append((self, self._explained(module, target, instance, (walked - start) * 1e3)))
        if question is not None:
            data = code.data if isinstance(code, Packed) else _compiler.pack(module)
            instance.cache = question.keep(data, opened.descriptor, instance.requirements)
        return opened.kernels[0]

    def _lower(self, compiler, module, options, reserves, told=None):
        from metate_native import _compiler

        choices = choices_of(options, self._own.get("debug"))
        choices.reserve = "only" if reserves else ""
        try:
            if options.arch != _context.interp:
                return compiler.compile(module, choices, told)
            checks = {*options.checks, *(_DEBUG_CHECKS if choices.debug else ())}
            if not options.stop:
                choices.debug = False  # its checks would end a launch that is to go on
            return compiler.compile(
                module, choices, stage=self.interpreted_stage(options), checks=sorted(checks), stop=options.stop
            )
        except _compiler.CompileError as error:
            raise CompilationError(f"{self.__name__}: {error}", file=self.source.file, line=self.source.first_line) from None

    def interpreted_stage(self, options) -> str:
        """The stage after which the reference interpreter runs it."""
        return options.interp_stage

    def import_module(self, parameters=None, may_alias=False, module=None):
        """The import stage: this kernel's IR.

        Hidden arguments (trees of fields, values) come after the kernel's own, each with its name: see
        frontend.capture.

        Args:
            parameters: a specialisation; None takes what the annotations say, which must then be complete.
            may_alias: for arguments that overlap.
            module: a `_compiler.SourceModule` to add the kernel to; None makes one.
        Returns the SourceModule. Raises CompilationError at the place in the source.
        """
        return self._walk(_context.current().options, parameters, may_alias, module)[0]

    def import_into(self, module, parameters=None, may_alias=False, **options) -> list[tuple[str, TreeType]]:
        """`import_module`, for ahead-of-time modules: returns (name, type) of the hidden arguments that are trees.

        options: the module's `debug` and `asserts`; the kernel's own come before them.
        """
        requirements = self._walk(_context.current().options, parameters, may_alias, module, options)[1]
        return [(hidden.name, hidden.type) for hidden in requirements.hidden if isinstance(hidden, HiddenTree)]

    def specialise(self, template_args=None) -> dict:
        """A specialisation for `import_module` from template arguments alone, without a call.

        Args:
            template_args: a dict from names of template parameters (``self`` included) to what stands for them: fields,
                objects, values, functions; for a tree its type, for an array an ``mt.types.ndarray(dtype, ndim)``,
                which also completes a parameter that is an array of any dtype or ndim.
                All other parameters must be complete by their annotations.
        Raises RuntimeTypeError_ for a name that is no template parameter, CompilationError for what is left open.
        """
        from .frontend import specialize

        try:
            return specialize.from_annotations(self.source, language_of(_context.current().options, self._own), template_args)
        except CompilationError:
            raise
        except TypeError as error:
            raise RuntimeTypeError_(f"{self.__name__}: {error}") from None

    def _walk(self, options, parameters=None, may_alias=False, module=None, given=None):
        """(SourceModule, Requirements) of this kernel for a specialisation."""
        from metate_native import _compiler

        from .frontend import specialize

        if parameters is None:
            language = language_of(options, {**(given or {}), **self._own})
            parameters = specialize.from_annotations(self.source, language)
        if module is None:
            module = _compiler.SourceModule(self.__name__)
        try:
            return module, self._write(module, options, parameters, may_alias, given or {})
        except CompilationError as error:
            raise error.with_traceback(None) from None  # the user's place is in the text, not in the walker's frames

    def _write(self, module, options, parameters, may_alias, given):
        """Writes the kernel's IR into the module; its Requirements."""
        return self._write_walked(module, options, parameters, may_alias, given)

    def _write_walked(self, module, options, parameters, may_alias, given, derivative=None, numbers=None):
        """derivative: the kind of derivative that the IR is to become; None: the kernel itself. numbers: see Walker.walk."""
        from .frontend.walker import Walker

        walker = Walker(module, self.source, language_of(options, {**given, **self._own}), may_alias)
        walker.walk(parameters, derivative, numbers)
        if self.source.part is not None:
            from metate_native import _compiler

            _compiler.take_part(module, self.source.part)
        return walker.captures.requirements

    def __repr__(self):
        return f"<kernel {self.__name__}>"


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    fast_math: bool | None = None,
    debug: bool | None = None,
    asserts: bool | None = None,
) -> Any:
    """Makes a kernel of a function whose parameters are annotated with types.

    Args:
        fast_math: True lets floating-point operations of this kernel be reordered, False keeps the order that is written, of
            sums in loops too; None: as the context says.
        debug: True makes this kernel stop at wrong accesses, divisions and activations, False leaves the
            checks out; None: as the context says.
        asserts: True makes this kernel check its assert statements, False leaves them out; None: as the context says,
            and in debug mode.

    >>> import metate as mt
    >>> @mt.kernel
    ... def scale(a: mt.f32, x: mt.types.ndarray(dtype=mt.f32, ndim=1)):
    ...     for i in range(x.shape[0]):
    ...         x[i] *= a
    """
    scope = dict(sys._getframe(1).f_locals)
    given = {"fast_math": fast_math, "debug": debug, "asserts": asserts}
    own = {name: None if value is None else bool(value) for name, value in given.items()}
    if function is None:
        return lambda wrapped: _checked_kernel(wrapped, scope, own)
    return _checked_kernel(function, scope, own)


def _checked_kernel(function, scope, own):
    if isinstance(function, (staticmethod, classmethod)):  # @kernel above @staticmethod: the same as below it
        return type(function)(_checked_kernel(function.__func__, scope, own))
    if not isinstance(function, python_types.FunctionType):
        raise RuntimeTypeError_(f"kernel: expected a function, got {function!r}")
    return Kernel(function, scope, **own)


def _at_the_users_line(error: CompilationError) -> CompilationError:
    """The same error without the compiler's own frames: its text names the user's place."""
    return error.with_traceback(None)


def _forget(kernel, key, _):
    """Drops a kernel's code when the context that it was compiled in has dropped its holdings."""
    kernel = kernel()
    if kernel is not None:
        kernel._plain.pop(key, None)
        kernel._same.pop(key, None)
        kernel._homes.pop(key, None)
