"""Contexts: what kernels are compiled for and run with, and everything that was made for that.

A context holds its options and, once they are needed, a device and a home for code; kernels and tree
types keep what they became in it for as long as it lives. Each thread has
its current context: the innermost `with`, else the process' *default context*, which `init` sets and
which is the only state that contexts share. Nothing here knows the compiler or the runtime: kernel.py
and runtime.py put what they make into the holdings. Only the device of another machine than the CPU is opened here: whether there
is one, and what code it runs, is a question of making the context.
"""

from __future__ import annotations

import contextlib
import contextvars
import gc
import os
import threading
import weakref
from typing import TYPE_CHECKING

from . import compile_options, devices
from . import dtypes as _types
from .compile_options import CompilerOptions, one_of
from .errors import RuntimeError_, RuntimeTypeError_, RuntimeValueError_

if TYPE_CHECKING:
    from typing import Unpack

    from .compile_options import CompilerKeywords

# Architectures, as Context(arch=) and aot.Module(arch=) take them: names of targets.
cpu = "native"
x64 = "x86-64"
arm64 = "aarch64"
x86_64 = x64
interp = "interp"  # the reference interpreter
cuda, vulkan, gpu = devices.CUDA, devices.VULKAN, devices.GPU
_MACHINES = {x64: ("x86_64", "AMD64"), arm64: ("aarch64", "arm64")}

CHECKS = (
    "inactive-read", "unwritten-read", "outside", "overflow", "lossy-cast", "quant-range", "division", "nan", "conflict",
    "order",
)  # fmt: skip
_WORD = (1 << 64) - 1
CLEANING_POLICIES = ("lru", "fifo", "version", "never")  # of the cache of compiled objects
_SEED_STEP, STEP = 0xD1342543DE82EF95, 0x9E3779B97F4A7C15  # odd, so that no launch has the number of another one
INTERP_STAGES = ("import", "simplify", "activate", "offload")


class Options(CompilerOptions):
    """A context's options, checked; see Context."""

    arch: str
    cpu: str
    threads: int | None  # None: the environment's
    default_ip: _types.DType
    default_fp: _types.DType
    fast_math: bool | None
    random_seed: int
    offline_cache: bool | None  # None: the environment's
    offline_cache_file_path: str | None
    offline_cache_max_size_of_files: int
    offline_cache_cleaning_policy: str
    offline_cache_cleaning_factor: float
    interp_stage: str
    checks: tuple[str, ...]
    stop: bool
    print_ir: bool
    perf_map: str
    reports: bool | str
    launch_timeout: float  # seconds; 0: none
    device_target: str | None = None  # the target of a device's code; None: kernels run on the CPU

    @property
    def target(self) -> str:
        """The target that kernels are compiled for."""
        return self.device_target or self.cpu


class RandomKeys:
    """What keys the random numbers of a context's launches: one number for each launch, from the seed and a counter."""

    def __init__(self, seed):
        self._seed = seed
        self._launches = 0
        self._lock = threading.Lock()

    def next(self) -> int:
        """A number of 64 bits: another one at each call, the same ones after a reset."""
        with self._lock:
            launch = self._launches
            self._launches += 1
        return self._key(launch)

    def foreseen(self) -> int:
        """What the next call of `next` will give."""
        return self._key(self._launches)

    def word(self, launches: int) -> int:
        """What the keys of that many launches in a row are made of: of the k-th `word + k * STEP`, mixed as `_key` does."""
        with self._lock:
            launch = self._launches
            self._launches += launches
        return self._seed * _SEED_STEP + launch * STEP & _WORD

    def _key(self, launch) -> int:
        """Steele's SplitMix64. A graph does the same for each of its kernels (frontend/graph_writer.py)."""
        number = self._seed * _SEED_STEP + launch * STEP & _WORD
        number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _WORD
        number = (number ^ number >> 27) * 0x94D049BB133111EB & _WORD
        return number ^ number >> 31


class Holdings:
    """What a context has made since it was made or reset; kernels and tree types refer to it weakly."""

    def __init__(self, random_seed=0):
        self.key = object()  # kernels find their code by it: an object of its own, so that they do not keep the holdings
        self.lock = threading.Lock()
        self.device = None  # runtime.py, of other machines than the CPU the context: _runtime.Device
        self.compiler = None  # kernel.py: _compiler.Jit or _compiler.Interpreter
        self.object_cache: tuple = ()  # object_cache: its Folder, or None where nothing is kept; () before it is asked for
        self.root = None  # fields: the FieldsBuilder behind mt.root
        self.tree_types = weakref.WeakValueDictionary()  # fields: text -> TreeType, so that equal trees share a layout
        self.partners = weakref.WeakSet()  # fields: the gradients and duals that have a place
        self.shaped = weakref.WeakKeyDictionary()  # fields: those made with a shape -> how they were laid out
        self.interpreted = []  # kernel.py: _compiler.InterpretedModule; kept for their findings
        self.zero_gradients = []  # derivative.py: findings of metate check
        self.random_keys = RandomKeys(random_seed)
        self.field_memory = weakref.WeakSet()  # fields: the trees that its fields are views of, for the profiler
        self.reports = []  # kernel.py: (kernel, report.Compilation) of each instance, where the context keeps them
        self.compilations = []  # kernel.py: (kernel, when it began in s, ms of the front end, ms of the rest), for the profiler


class _WithoutCollection:
    """Holdings go without a garbage collection meanwhile, in whatever threads.

    CPython 3.11 has a segmentation fault where a collection frees a weak reference to what is just being freed.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._inside, self._was_enabled = 0, False

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._was_enabled:
                gc.enable()


_without_collection = _WithoutCollection()


class Context:
    """A set of options with all that is made under it: devices, code, threads. Several live side by side.

    ``with context:`` makes it the calling thread's current one; kernels called there are compiled in it
    and run on its device, trees made there belong to it. A context that nothing refers to frees its code.

    Args:
        arch: ``mt.cpu`` (the default), the architecture that this machine has; ``mt.cuda``, ``mt.vulkan`` or ``mt.gpu``, the
            first of these two that is there; ``mt.simt``, which runs a GPU's kernels on the CPU; or ``mt.interp``: the reference
            interpreter.
        cpu: name of the CPU to compile kernels for, such as ``"x86-64-v3"``; default: this machine's.
        threads: how many threads kernels may use at once; 0, or more than the machine has: as many as it
            has; default: the environment's METATE_NUM_THREADS, else 0.
        default_ip, default_fp: types of integer and floating-point literals.
        fast_math: True lets floating-point operations be reordered, False keeps the order that is written; default: what a loop
            only accumulates may be combined in any order, all else stays IEEE's.
        random_seed: an integer; equal seeds give equal random numbers, launch by launch.
        interp_stage: the stage after which ``mt.interp`` runs a kernel: import, simplify, activate, offload.
        checks: what ``mt.interp`` looks for besides accesses outside: names of CHECKS.
        stop: True makes the interpreter's first finding an error of the launch.
        print_ir: True prints the IR of each kernel when it is compiled, as it is after the import stage.
        offline_cache: False compiles everything anew; True keeps compiled kernels in files, so that the next start of a program
            does not compile them; default: the environment's METATE_OFFLINE_CACHE, else True.
        offline_cache_file_path: the folder of these files; default: METATE_OFFLINE_CACHE_FILE_PATH, else `metate` in the user's
            folder for caches.
        offline_cache_max_size_of_files: bytes; when they are more, some are deleted:
        offline_cache_cleaning_policy: ``"lru"``: those that were not used for longest, until `offline_cache_cleaning_factor`
            of the size is free; ``"fifo"``: the oldest ones; ``"version"``: all that other compilers made; ``"never"``.
        perf_map: True tells Linux's perf the names of kernels: /tmp/perf-PID.map gets a line for each function;
            ``"jitdump"``: names, code and source lines, in .debug/jit of $JITDUMPDIR or the home folder, for
            ``perf inject --jit``.
        reports: True keeps, of each kernel that is compiled, what the compiler did and declined: `kernel.report()`; a target's
            name the same of code for that target, which is made besides. Nothing comes from the cache of compiled kernels then.
        launch_timeout: seconds that a launch may take; one that takes longer is stopped and raises TimeoutError_. It needs
            ``debug=True``, whose kernels ask in their loops whether they shall end; default: no limit.
        options: the compiler's, as the manual's table has them: ``debug=True``, ``opt_level=0``, ``scan_masks=False``, ...
            With ``mt.interp``, `debug` adds `division`, `outside` and `quant-range` to the checks.
    Raises RuntimeValueError_, RuntimeTypeError_; NoDeviceError, a RuntimeValueError_, where there is no device for the arch.
    """

    __slots__ = ("__weakref__", "_holdings", "_options", "key")

    def __init__(
        self, arch=None, *, cpu=None, threads=None, default_ip=_types.i32, default_fp=_types.f32, fast_math=None,
        random_seed=0, offline_cache=None, offline_cache_file_path=None, offline_cache_max_size_of_files=100 << 20,
        offline_cache_cleaning_policy="lru", offline_cache_cleaning_factor=0.25, interp_stage="import", checks=(), stop=True,
        print_ir=False, perf_map=False, reports=False, launch_timeout=None, **options: Unpack[CompilerKeywords],
    ):  # fmt: skip
        self._options = Options(
            arch=arch if arch == interp or arch in devices.ARCHS else "cpu",
            cpu=_cpu_of(arch, cpu),
            threads=_threads(threads),
            default_ip=_literal_type("default_ip", default_ip, "an integer", _types.DType.is_integer),
            default_fp=_literal_type("default_fp", default_fp, "a float", _types.DType.is_float),
            fast_math=None if fast_math is None else bool(fast_math),
            random_seed=_seed(random_seed),
            offline_cache=None if offline_cache is None else bool(offline_cache),
            offline_cache_file_path=None if offline_cache_file_path is None else os.fspath(offline_cache_file_path),
            offline_cache_max_size_of_files=_size("offline_cache_max_size_of_files", offline_cache_max_size_of_files),
            offline_cache_cleaning_policy=one_of(
                "offline_cache_cleaning_policy", offline_cache_cleaning_policy, CLEANING_POLICIES
            ),
            offline_cache_cleaning_factor=_part("offline_cache_cleaning_factor", offline_cache_cleaning_factor),
            interp_stage=one_of("interp_stage", interp_stage, INTERP_STAGES),
            checks=_checks(checks),
            stop=bool(stop),
            print_ir=bool(print_ir),
            perf_map=_perf_output(perf_map),
            reports=reports if isinstance(reports, str) else bool(reports),
            launch_timeout=_timeout(launch_timeout),
            **compile_options.checked(options, "Context.__init__"),
        )
        if self._options.arch == interp and self._options.sanitizer:
            raise RuntimeValueError_(
                f"sanitizer: expected none with mt.interp, which runs no code of kernels, got {self._options.sanitizer!r}"
            )
        if self._options.launch_timeout and not self._options.debug:
            raise RuntimeValueError_(
                f"launch_timeout: expected debug=True with it, got {self._options.launch_timeout:g} without: only kernels of "
                "debug mode ask in their loops whether they shall end"
            )
        if self._options.launch_timeout and self._options.arch == interp:
            raise RuntimeValueError_("launch_timeout: expected none with mt.interp, which takes long for anything")
        if _imposed:
            self._options = self._options._replace(**_imposed[-1].options)
        device = None
        if self._options.arch in devices.ARCHS:
            device = self._open_device()
        self.reset()
        self._holdings.device = device

    def _open_device(self):
        """Opens the device that the options ask for; they say then which one it is."""
        if self._options.sanitizer:
            raise RuntimeValueError_(
                f"sanitizer: expected none with mt.{self._options.arch}, got {self._options.sanitizer!r}; use mt.cpu"
            )
        options = self._options
        device = devices.open_device(options.arch, options.threads, options.profile, options.launch_timeout)
        self._options = self._options._replace(arch=device.driver, device_target=devices.target_of(device))
        return device

    @property
    def options(self) -> Options:
        """The options it was made with; they never change."""
        return self._options

    @property
    def holdings(self) -> Holdings:
        """What it has made so far."""
        return self._holdings

    def __del__(self) -> None:
        with _without_collection, contextlib.suppress(AttributeError):  # options that were refused have made nothing
            del self._holdings

    def reset(self) -> None:
        """Frees everything that was made in it: code, device, threads; it can be used again.

        What the program still holds stays usable: a tree and a loaded module keep their device, a kernel
        that runs keeps its code until it returns.
        """
        with _without_collection:
            self._holdings = Holdings(self._options.random_seed)
        self.key = self._holdings.key
        if _imposed:
            _imposed[-1].holdings.append(self._holdings)

    def take_findings(self) -> list:
        """What ``mt.interp`` has found in kernels of this context since the last call, in the order of their places.

        Each has kind, file, line, column, kernel, iteration, message and count. Findings that end a launch
        (`stop`) are its error as well.
        """
        return _findings_of([self._holdings])

    def __enter__(self) -> Context:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *_):
        entered = _entered.get()
        if entered and entered[-1] is self:
            _entered.set(entered[:-1])
            return
        # It must not stay current behind the back of whoever left it, a generator that was closed late, say.
        last = max((k for k, one in enumerate(entered) if one is self), default=None)
        if last is not None:
            _entered.set(entered[:last] + entered[last + 1 :])
        raise RuntimeError_("context: expected it to be left by the thread that entered it, innermost first")

    def __repr__(self) -> str:
        names = [name for name in option_names() if name != "arch" and getattr(self._options, name) != getattr(_PLAIN, name)]
        parts = "".join(f", {name}={getattr(self._options, name)!r}" for name in names)
        return f"<context {self._options.arch}{parts}>"


def option_names() -> list[str]:
    """Names of what Context takes."""
    return ["arch", *Context.__init__.__kwdefaults__, *compile_options.DEFAULTS]


def current() -> Context:
    """The calling thread's context: the innermost `with`, else the default one."""
    return (_entered.get() or _default)[-1]


def set_default(context: Context) -> None:
    """Makes a context the one of threads that have entered none. The one before lives on while it is referred to."""
    if not isinstance(context, Context):
        raise RuntimeTypeError_(f"context: expected a Context, got {context!r}")
    _default[-1] = context


def reset() -> None:
    """Frees everything that the default context has made and gives it the default options again."""
    before = _default[-1]
    _default[-1] = Context()
    before.reset()


class Imposed:
    """What `impose` gives: the options in force, and what the contexts made under them hold."""

    def __init__(self, options):
        self.options = options
        self.holdings = []  # also of contexts that are gone or were reset

    def take_findings(self) -> list:
        """Context.take_findings of all of these contexts together."""
        return _findings_of(self.holdings)

    def kernel_count(self) -> int:
        """How many instances of kernels the interpreter has got."""
        return sum(len(holdings.interpreted) for holdings in self.holdings)


@contextlib.contextmanager
def impose(**options):
    """Within the `with`, every new context of the process has these options (fields of Options) instead of its own.

    For running a program that chooses its own options, as `metate check` does; the default context is a new one
    meanwhile. Yields an Imposed.
    """
    imposed = Imposed(options)
    before = _default[-1]
    _imposed.append(imposed)
    try:
        _default[-1] = Context()
        yield imposed
    finally:
        _imposed.remove(imposed)
        _default[-1] = before


def _findings_of(holdings) -> list:
    found = [finding for one in holdings for module in list(one.interpreted) for finding in module.take_findings()]
    found += [finding for one in holdings for finding in one.zero_gradients]
    return sorted(found, key=lambda finding: (finding.file, finding.line, finding.column))


def _cpu_of(arch, name) -> str:
    if arch not in (None, cpu, "cpu", interp, *_MACHINES, *devices.ARCHS):
        known = ("cpu", "x64", "arm64", *devices.ARCHS)
        raise RuntimeValueError_(f"arch: expected {', '.join(f'mt.{name}' for name in known)} or mt.interp, got {arch!r}")
    if arch in _MACHINES:
        import platform

        if platform.machine() not in _MACHINES[arch]:
            raise RuntimeValueError_(
                f"arch: expected this machine's, {platform.machine()}, got {arch!r}; mt.aot.Module builds for other machines"
            )
    if name is not None and (not isinstance(name, str) or not name):
        raise RuntimeValueError_(f"cpu: expected a CPU's name such as 'x86-64-v3', got {name!r}")
    return name or cpu


def _threads(count) -> int | None:
    if count is None:
        return None
    if isinstance(count, bool) or not hasattr(count, "__index__") or not 0 <= count.__index__() < 1 << 32:
        raise RuntimeValueError_(f"threads: expected a number of threads, or 0 for all of the machine, got {count!r}")
    return count.__index__()


def _timeout(seconds) -> float:
    if seconds is None:
        return 0.0
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < float("inf"):
        raise RuntimeValueError_(f"launch_timeout: expected a positive number of seconds or None, got {seconds!r}")
    return float(seconds)


def _seed(number) -> int:
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise RuntimeTypeError_(f"random_seed: expected an integer, got {number!r}")
    return number.__index__()


def _size(name, value) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 0:
        raise RuntimeValueError_(f"{name}: expected a number of bytes, got {value!r}")
    return value.__index__()


def _perf_output(value) -> str:
    """A name of the extension's PerfOutput."""
    if value is True or value is False:
        return "map" if value else "none"
    if value != "jitdump":
        raise RuntimeValueError_(f"perf_map: expected True, False or 'jitdump', got {value!r}")
    return value


def _part(name, value) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise RuntimeValueError_(f"{name}: expected a number from 0 to 1, got {value!r}")
    return float(value)


def _literal_type(name, value, expected, kind):
    found = _types.dtype(value)
    if not kind.fget(found):
        raise RuntimeTypeError_(f"{name}: expected {expected} type, got {found!r}")
    return found


def _checks(names) -> tuple[str, ...]:
    if isinstance(names, str):
        names = CHECKS if names == "all" else (names,)
    return tuple(one_of("checks", name, CHECKS) for name in names)


# The contexts that the calling thread (or asynchronous task) has entered, innermost last.
_entered: contextvars.ContextVar[tuple[Context, ...]] = contextvars.ContextVar("metate_contexts", default=())

_imposed: list[Imposed] = []  # innermost last; empty in a program that runs by itself

_PLAIN = Context()._options

# The default context, in a list so that kernels see what `init` puts there: the one thing that a process has once.
_default: list[Context] = [Context()]
