"""Derivatives of kernels: `k.grad`, and what FwdMode calls instead of `k`.

A derivative is a kernel of the same source, with code and instances of its own. It takes the primal's arguments and finds the
gradients (or duals) of fields, arrays and trees where these have theirs; what has none is a constant. The compiler makes its
code of the primal's (`metate-differentiate`).
"""

from __future__ import annotations

import copy
import functools
import linecache
import re
import types as python_types
from typing import Any

from . import context as _context
from .errors import CompilationError, DerivativeError_, RuntimeError_
from .frontend.annotations import leaf_types
from .frontend.specialize import ArrayParameter, StructArrayParameter, TreeParameter
from .kept import ArrayPlace, Kept, MemberPlace, Overwritten
from .kernel import _ALIAS, Kernel, _at_the_users_line
from .kernel_views import choices_of
from .overlaps import refuse as refuse_overlaps
from .record import Record
from .remembered_call import KeysAgain
from .value_types import DType, is_python_scalar

_IS_NEEDED_AGAIN = re.compile(r"' that is read here is needed again, but may have been overwritten by then")
_REFUSAL = re.compile(r'loc\("([^"]+)":(\d+):(\d+)\): (?:error: )?((?:gradient|derivative) of .+)')


class _Overwrites(Exception):
    """A launch that would overwrite what is needed."""

    def __init__(self, found: Overwritten):
        super().__init__(found)
        self.found = found


class ZeroGradient(Record):
    """A finding of `metate check`, as those of the interpreter are: see `_note_zeros`."""

    file: str
    line: int
    column: int
    kernel: str
    message: str
    kind: str = "gradient"
    iteration: str = ""
    callers: tuple = ()
    count: int = 1


class _RunsInParts(Exception):
    """A kernel is to be called in parts."""

    def __init__(self, parts):
        super().__init__(parts)
        self.parts = parts


class Derivative(Kernel):
    """The derivative of one kernel.

    Attributes:
        primal: the kernel.
        kind: "grad": in reverse mode, from the gradients of what the kernel writes to those of what it reads; "dual": in
            forward mode, the kernel itself, with the duals of what it writes from those of what it reads.
    """

    is_brief = False  # bounds are of the primal's work

    def __init__(self, primal: Kernel, kind: str):
        self.__name__, self.__qualname__ = (f"{name}.{kind}" for name in (primal.__name__, primal.__qualname__))
        self.__module__, self.__doc__ = primal.__module__, f"The derivative of {primal.__name__}: see metate.derivative."
        self.primal, self.kind = primal, kind
        source = copy.copy(primal.source)
        source.name = f"{source.name}_{kind}"
        self._begin(source, primal.own_options)

    def __copy__(self):
        return Derivative(copy.copy(self.primal), self.kind)

    @property
    def grad(self):
        """Raises DerivativeError_: a derivative has none."""
        raise DerivativeError_(f"{self.__name__}: a derivative has no derivative itself", file=self.source.file)

    def restored(self, *arguments, **keywords):
        """Calls it where what the primal overwrote, and this needs, is there again: fields and arrays hold what they held before.

        A tape keeps that and puts it back by itself.
        """
        bound = self._bind(arguments, keywords)
        return self.call_restored(bound)

    def call_restored(self, arguments: tuple) -> None:
        """`restored` with one argument for each parameter."""
        home = self._home()
        launch = self._dispatcher_for(home, "restored", functools.partial(self._target, home, False, is_restored=True))
        self._launcher_of(launch)(*arguments)

    def call_primal(self, arguments: tuple, known: dict[Any, Overwritten] | None = None) -> tuple[Any, Kept | None]:
        """Calls the primal with one argument for each parameter, for a derivative that will be called with the same ones.

        known: by derivative, what earlier calls found out, for this and later ones.
        Returns (what the primal returns, what it overwrote that the derivative needs). The second one calls the derivative (its
        `run_back`); None: there is no such thing.
        Raises CompilationError where the primal has no derivative.
        """
        last = known.get(self) if known else None
        if last is not None and last.fits(arguments):
            kept = Kept(last.places)
            return self.primal.call_bound(arguments), kept
        home = self.primal._home()
        launch = self._dispatcher_for(home, "followed", functools.partial(self._primal_target, home))
        kept = None
        try:
            return self.primal._launcher_of(launch)(*arguments), None
        except _RunsInParts as error:
            return error.parts.run(arguments)
        except _Overwrites as error:
            kept = Kept(error.found.places)
            if known is not None and self._shape is None and not self.source.packs:
                known[self] = error.found
        except CompilationError as error:
            raise _at_the_users_line(error) from None
        except RuntimeError_ as error:
            if error.status != _ALIAS:
                raise
        return self.primal.call_bound(arguments), kept

    def derivative(self, kind):
        """Raises DerivativeError_."""
        return self.grad

    def specialise(self, template_args=None) -> dict:
        """As of kernels; each array of a float type has a gradient, unless its annotation says needs_grad=False, and so has each
        tree with members of float types."""
        return self._with_partners(super().specialise(template_args))

    def _with_partners(self, parameters):
        found = dict(parameters)
        for name, one in parameters.items():
            annotation = self.source.parameters[name].annotation
            if isinstance(one, ArrayParameter) and getattr(one.element, "dtype", one.element).is_float:
                is_constant = getattr(annotation, "needs_grad", None) is False
                found[name] = one._replace(partners=() if is_constant else ((self.kind, one.contiguous),))
            if isinstance(one, StructArrayParameter) and getattr(annotation, "needs_grad", None) is not False:
                is_float = [getattr(leaf, "dtype", leaf).is_float for _, leaf in leaf_types(one.type)]
                partners = tuple(((self.kind, gapless),) if floats else () for floats, gapless in zip(is_float, one.contiguous))
                found[name] = one._replace(partners=partners if any(is_float) else ())
            if isinstance(one, TreeParameter) and _has_floats(one.type):
                found[name] = one._replace(partners=(self.kind,))
        return found

    def _make(self, home, instance, parameters, arguments):
        super()._make(home, instance, parameters, arguments)
        for captured in instance.requirements.fields:  # those without a partner are constants for good
            field = captured.path.find(arguments)
            if hasattr(field, "_is_constant_now"):
                field._is_constant_now(self.kind)

    def _lower(self, compiler, module, options, reserves, told=None):
        try:
            return super()._lower(compiler, module, options, reserves, told)
        except CompilationError as error:
            raise self._at_its_line(error) from None

    def _at_its_line(self, error):
        """What the compiler refuses to differentiate, at the line of the source that it names."""
        found = _REFUSAL.search(error.message)
        if found is None:
            return error
        file, line, column, text = found.groups()
        text = text.replace(f"kernel '{self.source.name}'", f"kernel '{self.primal.__name__}'")
        source = linecache.getline(file, int(line)) or None
        return DerivativeError_(text, file=file, line=int(line), column=int(column), source=source)

    def _launcher(self, home, may_alias):
        """As of kernels. In reverse mode what the kernel writes is only read: nobody else would see that it overlaps another
        array."""
        launch = super()._launcher(home, may_alias)
        annotations = [parameter.annotation for parameter in self.source.parameters.values()]
        may_overlap = sum(not isinstance(one, DType) and not is_python_scalar(one) for one in annotations) > 1
        if self.kind == "dual" or not may_overlap:
            return launch

        def checked(*arguments):
            refuse_overlaps(self.primal, arguments)
            launch(*arguments)

        return checked

    def _target(self, home, may_alias, arguments, is_restored=False):
        """As of kernels; an array or tree without a gradient is a constant, which another one with a gradient is not."""
        kernel, statics, keys, guards, hidden, brief = super()._target(home, may_alias, arguments)
        parameters, places = self._needed_before(home, may_alias, self._gathered(arguments))
        if places and not is_restored:
            names = ", ".join(f"'{place.name}'" for place in places)
            raise DerivativeError_(
                f"{self.__name__}: the kernel overwrites {names}, and its derivative needs what was there before: call the "
                f"kernel in the block of an mt.ad.Tape, which keeps it, or put it back and call {self.__name__}.restored(...)",
                file=self.source.file,
                line=self.source.first_line,
            )
        return kernel, statics, keys, guards + self._guards_of_partners(parameters, both=False), hidden, brief

    def _primal_target(self, home, arguments):
        """The slow path of `call_primal`: an instance that overwrites nothing which is needed. Raises _Overwrites."""
        kernel, statics, keys, guards, hidden, brief = self.primal._target(home, False, arguments)
        given = self._gathered(arguments)
        parts = self._in_parts(given)
        if parts is not None:
            raise _RunsInParts(parts)
        parameters, places = self._needed_before(self._home(), False, given)
        more = self._guards_of_partners(parameters, both=True)
        if places:
            requirements = self._instance_for(self._home(), False, parameters, given).requirements
            raise _Overwrites(Overwritten(given, tuple(parameters), frozenset(statics), requirements, more, places))
        return kernel, statics, keys, guards + more, hidden, brief

    def _gathered(self, arguments):
        """One argument for each parameter, of those that a dispatcher has."""
        return arguments if self._shape is None else self._shape.gathered(arguments)

    def keep(self, arguments: tuple) -> Kept | None:
        """What a call of the primal, with one argument for each parameter, will overwrite and this needs; None: nothing."""
        try:
            places = self._needed_before(self._home(), False, self._without_packs(arguments))[1]
        except CompilationError as error:
            raise _at_the_users_line(error) from None
        return Kept(places) if places else None

    def in_parts(self, arguments: tuple) -> Any:
        """What the primal is called by, with one argument for each parameter, where its derivative is one of parts (parts.py).
        None: it is called itself. Raises CompilationError where it has no derivative."""
        try:
            return self._in_parts(self._without_packs(arguments))
        except CompilationError as error:
            raise _at_the_users_line(error) from None

    def _in_parts(self, given):
        home = self._home()
        parameters = self._specialisation(home.options, given)
        bucket = home.bucket(parameters, False)
        if bucket.in_parts is not None:
            return bucket.in_parts
        try:
            self._instance_for(home, False, parameters, given)
        except DerivativeError_ as error:
            if not _IS_NEEDED_AGAIN.search(str(error)) or self.source.part is not None:
                raise
            bucket.in_parts = self._parts(home.options, given)
            if bucket.in_parts is None:
                raise
        return bucket.in_parts

    def _parts(self, options, given):
        """The primal's parts for these arguments; None: there is one."""
        from metate_native import _compiler

        from .parts import InParts

        module = self.primal._walk(options, self.primal._specialisation(options, given))[0]
        accesses = _compiler.parts_of(module)
        return InParts(self.primal, accesses) if len(accesses) > 1 else None

    def places(self, arguments: tuple, names: list[tuple[str, str, str]]) -> tuple[list, list]:
        """(what the derivative reads as it was before the primal ran, places with the names), of one argument for each
        parameter."""
        try:
            home, given = self._home(), self._without_packs(arguments)
            parameters = self._specialisation(home.options, given)
            requirements = self._instance_for(home, False, parameters, given).requirements
        except CompilationError as error:
            raise _at_the_users_line(error) from None
        find = functools.partial(self._places, requirements, parameters, given)
        return find(requirements.before), find(names)

    def _needed_before(self, home, may_alias, given):
        """(specialisation, places): what the derivative for these arguments reads as it was before the primal ran."""
        parameters = self._specialisation(home.options, given)
        requirements = self._instance_for(home, may_alias, parameters, given).requirements
        return parameters, self._places(requirements, parameters, given, requirements.before)

    def _places(self, requirements, parameters, given, names):
        """Places of arguments, by (argument, member, what users call it)."""
        if not names:
            return []
        things, places = dict(zip(parameters, given)), []
        hidden = zip(requirements.hidden, requirements.trees(given))
        things |= {one.name: tree for one, tree in hidden if tree is not None}  # a field that is an argument has its name
        for name, member, shown in names:
            whole = name if name in things else name.partition(".")[0]  # of a member of a struct the array
            places += self._places_of(things[whole], shown, member)
        return places

    def _places_of(self, thing, name, member):
        return [MemberPlace(thing, member, name) if member else ArrayPlace(thing, name)]

    def _guards_of_partners(self, parameters, both):
        """That arrays have no gradients, where the code takes them for constants; `both`: and that others have some."""
        starts = range(len(parameters)) if self._shape is None else self._shape.starts
        guards = []
        for start, (name, one) in zip(starts, parameters.items()):
            is_constant = getattr(self.source.parameters[name].annotation, "needs_grad", None) is False
            kinds = (ArrayParameter, StructArrayParameter, TreeParameter)
            if isinstance(one, kinds) and not is_constant:
                lacks = self._could_have_more(one)
                if both or lacks:
                    guards.append((start, (), (self._has_none if lacks else self._has_one,)))
        return tuple(guards)

    def _given_by(self, home):
        """In reverse the random numbers that the kernel drew; in forward mode, which is the kernel, ones of its own."""
        if self.kind != "grad":
            return super()._given_by(home)
        return python_types.SimpleNamespace(random_keys=KeysAgain(self.__name__, functools.partial(self._drawn, home.key)))

    def _drawn(self, key):
        """What has given the kernel's launches in a context their keys; None: it was not called there."""
        kernels = [self.primal, self.primal.__dict__.get("numbered")]
        homes = [kernel._homes[key][0] for kernel in kernels if kernel is not None and key in kernel._homes]
        return max((home.random_keys for home in homes), key=lambda keys: keys.order, default=None)

    def _could_have_more(self, parameter) -> bool:
        """Is it for arguments without gradients, or duals, of a kind that may have them?"""
        if isinstance(parameter, ArrayParameter):
            return self.kind not in dict(parameter.partners)
        if isinstance(parameter, StructArrayParameter):
            return not any(self.kind in dict(one) for one in parameter.partners)
        return isinstance(parameter, TreeParameter) and self.kind not in parameter.partners

    def _has_none(self, argument) -> bool:
        return getattr(argument, self.kind, None) is None

    def _has_one(self, array) -> bool:
        return not self._has_none(array)

    def _walk(self, options, parameters=None, may_alias=False, module=None, given=None):
        from metate_native import _compiler

        is_own = module is None
        module, requirements = super()._walk(options, parameters, may_alias, module, given)
        if is_own and self.kind == "grad":
            choices = choices_of(options, self._own.get("debug"))
            try:
                requirements.before = list(map(tuple, _compiler.read_before(module, choices)))
            except _compiler.CompileError as error:
                if not _REFUSAL.search(str(error)):  # else compiling says so
                    text = f"{self.__name__}: {error}"
                    raise CompilationError(text, file=self.source.file, line=self.source.first_line) from None
            if options.arch == _context.interp and not options.stop:  # metate check
                self._note_zeros(_compiler.zero_gradients(module, choices))
        return module, requirements

    def _note_zeros(self, found):
        """What `metate check` says of derivatives that are zero where a user may have meant otherwise."""
        noted = _context.current().holdings.zero_gradients
        for file, line, column, text in found:
            finding = ZeroGradient(file=file, line=line, column=column, kernel=self.primal.__name__, message=text)
            if finding not in noted:
                noted.append(finding)

    def _subject(self):
        subject = super()._subject()
        return subject._replace(texts=[*subject.texts, f"derivative {self.kind}"])

    def _write(self, module, options, parameters, may_alias, given):
        return self._write_walked(module, options, parameters, may_alias, given, self.kind)

    @property
    def __signature__(self):
        import inspect

        return inspect.signature(self.primal)

    def _reduced_method(self, receiver):
        primal = self.primal.__get__(receiver, type(receiver))
        return getattr, (primal, "grad" if self.kind == "grad" else "fwd")

    def __repr__(self):
        return f"<derivative {self.__name__}>"


def _has_floats(type_) -> bool:
    return any(getattr(member.type, "dtype", member.type).is_float for member in type_.members.values())


Kernel.derivative_class = Derivative
