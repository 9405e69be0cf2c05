"""What a kernel has been compiled to: its instances in one context, and which of them fits a call.

An instance is found in two steps: by the specialisation (types, keys of template arguments), which is hashed, then by
what the code came to depend on while it was compiled (frontend.requirements). Compiling is kernel.py's.
"""

from __future__ import annotations

import functools
import threading
import time
import weakref
from typing import Any

from .by_shape import ByShape
from .errors import RuntimeError_, TreeError
from .frontend import specialize
from .frontend.requirements import Requirements
from .record import Record
from .remembered_call import DrawnKeys


class Instance(Record):
    """One compilation of a kernel.

    Attributes:
        signature: what it was compiled for, as text; arguments that the kernel takes from outside stand last, in brackets.
        may_alias: compiled for arguments that overlap.
        compile_ms: how long compiling took, in milliseconds.
        hits: how often it was launched.
        reason: why it was compiled: "first call", or what is different from the instance that is most alike.
        cache: "loaded": its code came from the cache of compiled objects; "compiled and cached"; "not cached: " and why.
    """

    signature: str
    may_alias: bool
    compile_ms: float
    hits: int
    reason: str
    cache: str = "not cached: the cache is off"


class Compiled:
    """An instance while it is compiled, then its code; `kernel` is None until that is done."""

    def __init__(self, parameters, may_alias, reason, by_shape):
        self.parameters = parameters_to_keep(parameters)
        self.by_shape = by_shape  # of its bucket
        self.may_alias = may_alias
        self.reason = reason
        self.requirements = Requirements()
        self.began = time.perf_counter()
        self.compile_ms = 0.0
        self.cache = "not cached: the cache is off"
        self.code = None  # of the compiler: CompiledModule, InterpretedModule; packed_code.Packed
        self.kernel = None  # of the runtime: _runtime.Kernel

    def difference(self, arguments):
        """None if it fits the arguments, else what is different. What fields do not have a place is different as well."""
        try:
            return self.requirements.difference(arguments, list(self.parameters))
        except TreeError as error:
            return str(error)


def parameters_to_keep(parameters) -> dict:
    """A specialisation that does not keep template arguments alive."""
    return {name: one.without_value() if isinstance(one, specialize.StaticParameter) else one for name, one in parameters.items()}


class Bucket:
    """The instances of one specialisation. The lock is held while one is compiled: a second thread waits for its code.

    Attributes:
        in_parts: of a derivative that the compiler refuses: the parts.InParts that are called instead; None: no such thing.
        by_shape: which extents have instances of their own, of another specialisation.
    """

    def __init__(self):
        self.by_shape = ByShape()
        self.lock = threading.RLock()
        self.instances: list[Compiled] = []
        self.in_parts: Any = None


class Home:
    """What one kernel has been compiled to in one context. It must not keep the context's holdings alive.

    Attributes:
        reserves: what is compiled is the slice alone, for `reserve_for`: it counts the slots that the kernel would take.
    """

    def __init__(self, options, holdings, reserves=False):
        self.reserves = reserves
        self.options = options
        self.key = holdings.key
        self.holdings = weakref.ref(holdings)
        self.lock = threading.Lock()
        self.dispatchers = {}  # may_alias, or a name of other launches -> dispatcher
        self.buckets = {}  # (specialisation, may_alias) -> Bucket

    def holder(self):
        """The context's holdings, which live while one of its calls runs unless it is reset meanwhile."""
        holdings = self.holdings()
        if holdings is None:
            raise RuntimeError_("the context was reset while a kernel was being compiled in it; call the kernel again")
        return holdings

    @functools.cached_property
    def random_keys(self) -> DrawnKeys:
        """What gives the kernel's launches in the context their keys."""
        return DrawnKeys(self.holder().random_keys)

    @functools.cached_property
    def reserving(self) -> Home:
        """The home of the slice that `reserve_for` runs."""
        return Home(self.options, self.holder(), reserves=True)

    def bucket(self, parameters, may_alias) -> Bucket:
        with self.lock:
            return self.buckets.setdefault((tuple(parameters_to_keep(parameters).items()), may_alias), Bucket())

    def instances(self) -> list[Compiled]:
        """Those that are compiled, in the order in which they were begun."""
        with self.lock:
            buckets = list(self.buckets.values())
        found = [one for bucket in buckets for one in bucket.instances if one.kernel is not None]
        return sorted(found, key=lambda one: one.began)

    def begun(self, parameters, may_alias, arguments) -> Compiled:
        """An instance that is to be compiled now."""
        by_shape = self.bucket(parameters, may_alias).by_shape
        return Compiled(parameters, may_alias, self.reason_for(parameters, may_alias, arguments), by_shape)

    def reason_for(self, parameters, may_alias, arguments) -> str:
        """Why an instance for these arguments is none of those that there are."""
        reasons = []
        for one in self.instances():
            found = [
                f"{name}: {specialize.text_of(parameter)} instead of {specialize.text_of(one.parameters[name])}"
                for name, parameter in parameters.items()
                if one.parameters[name] != parameter
            ]
            if may_alias != one.may_alias:
                found.append("arguments overlap" if may_alias else "arguments do not overlap")
            reasons.append((len(found), "; ".join(found) or one.difference(arguments) or "other globals"))
        return min(reversed(reasons), key=lambda reason: reason[0])[1] if reasons else "first call"
