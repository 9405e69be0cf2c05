"""Every way there is to run a kernel: who runs it (interpreter, JIT, each carrier), at each of the three call levels.

    way = WAYS["so packed"](module, folder, kernels, types)
    way.run("axpy", 2.0, x, y)

`run` gives the kernel's result, or a `Failure`: its status or class, and its text. Trees come from `way.tree`. A linked
carrier is a row of LINKED: a function that makes a shared object of it.
"""

import contextlib
import ctypes
import pathlib
import re
import subprocess
from dataclasses import dataclass

import numpy as np
import tvm_ffi

import metate as mt
from metate import runtime
from metate.errors import CapacityError
from metate.loaded import LoadedModule
from metate_native import _runtime

SCALAR, VECTOR, ARRAY, TREE = 1, 2, 3, 4  # metate_argument_kind
# What a status is as an exception; by its base class, since packed calls raise Python's own.
STATUS = {14: AssertionError, 8: MemoryError, 16: IndexError, 20: ZeroDivisionError}


@dataclass(frozen=True)
class Failure:
    """How a kernel failed. `text` is None where the level gives none."""

    kind: type
    text: str | None

    def __eq__(self, other):
        texts = None in (self.text, other.text) or self.text == other.text
        return isinstance(other, Failure) and self.kind is other.kind and texts


def failure_of(error: Exception) -> Failure:
    """The builtin class of an error, and its text."""
    if isinstance(error, CapacityError):  # packed calls have no class of its own
        return Failure(MemoryError, None)
    kinds = (AssertionError, MemoryError, IndexError, ZeroDivisionError, TypeError, ValueError)
    kind = next((kind for kind in kinds if isinstance(error, kind)), type(error))
    # The interpreter also says in which iteration.
    return Failure(kind, re.sub(r", in iteration \([^()]*\)$", "", str(error).partition("\n")[0]))


class Standard:
    """Kernels that are called like kernels of this process, in a context of their own where there is one."""

    is_direct = False  # are arguments taken as they are, without checks, and half-sized floats as bits?

    def __init__(self, kernels, types, context=None):
        self._kernels, self._types, self._context = kernels, types, context or contextlib.nullcontext()

    def tree(self, name, **capacity):
        with self._context:
            return self._types[name].new(**capacity)

    def run(self, name, *arguments):
        try:
            with self._context:
                return self._kernels[name](*arguments)
        except Exception as error:
            return failure_of(error)


class Linked(Standard):
    """A shared object in this process, whose module libmetate knows, too: `opened`."""

    def __init__(self, file, opened):
        super().__init__(opened.kernels, opened.types)
        self.name, self.opened, self.library = opened.name, opened, ctypes.CDLL(file)


C_TYPES = {"u1": "uint8", "f16": "uint16", "bf16": "uint16", "f32": "float", "f64": "double"} | {
    f"{sign}{bits}": f"{'u' * (sign == 'u')}int{bits}" for sign in "iu" for bits in (8, 16, 32, 64)
}


def dtype_of(row):
    """The scalar type of a parameter or a result: "f32" of "ndarray(vector(3, f32), 1)"."""
    return re.findall(r"\b(?:u1|bf16|[iuf]\d+)\b", row["text"])[-1]


def numpy_type(row):
    """The same for NumPy; half-sized floats are their bits, as in C."""
    name = dtype_of(row)
    bits = {"u1": "u1", "f16": "u2", "bf16": "u2"}
    return np.dtype(bits[name] if name in bits else f"{name[0]}{int(name[1:]) // 8}")


def results_of(kernel):
    """Arrays for a kernel's results."""
    shapes = [(row["rows"],) * (row["element_rank"] == 1) for row in kernel.results]
    return [np.zeros(shape, numpy_type(row)) for shape, row in zip(shapes, kernel.results, strict=True)]


def found_in(results):
    """What a call returns, of the arrays that it has written."""
    found = [one.item() if one.ndim == 0 else one for one in results]
    return None if not found else found[0] if len(found) == 1 else tuple(found)


def aligned(memory):
    return ctypes.c_void_p(np.frombuffer(memory, np.uint8).ctypes.data)


class Direct(Linked):
    """The C functions: no checks, a status. Arrays are contiguous, with the extents that the header asks for."""

    is_direct = True

    def run(self, name, *arguments):
        kernel = self.opened.kernels[name]._kernel
        given, kept = [], []
        for parameter, value in zip(kernel.parameters, arguments, strict=True):
            self._pass(parameter, value, given, kept)
        results = results_of(kernel)
        given += [ctypes.c_void_p(one.ctypes.data) for one in results]
        code = getattr(self.library, f"{self.name}_{name}")(*given, None, None)
        if code:
            return Failure(STATUS[code], None)
        return found_in(results)

    def _pass(self, parameter, value, given, kept):
        if parameter["kind"] == TREE:
            given.append(aligned(value.block))
        elif parameter["kind"] == SCALAR:
            given.append(getattr(ctypes, f"c_{C_TYPES[dtype_of(parameter)]}")(value))
        else:
            array = np.ascontiguousarray(value, numpy_type(parameter)) if parameter["kind"] == VECTOR else value
            kept.append(array)
            given.append(ctypes.c_void_p(array.ctypes.data))
            free = array.ndim - parameter["element_rank"] if parameter["kind"] == ARRAY else 0
            given.extend(ctypes.c_int64(extent) for extent in array.shape[:free])


LIBMETATE = pathlib.Path(__file__).resolve().parents[2] / "build/lib/libmetate.so"
ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)


class Entries(dict):
    """The bare entries of a file that libmetate opened, by metate_kernel_direct."""

    def __init__(self, file, opened):
        super().__init__()
        self._opened, self._metate, self._module = opened, ctypes.CDLL(LIBMETATE), ctypes.c_void_p()
        device = ctypes.c_void_p()
        self._expect(self._metate.metate_device_open(None, ctypes.byref(device)))
        self._expect(self._metate.metate_module_open_file(device, str(file).encode(), 0, ctypes.byref(self._module)))

    def _expect(self, code):
        self._metate.metate_last_error.restype = ctypes.c_char_p
        assert code == 0, self._metate.metate_last_error().decode()

    def __missing__(self, name):
        found, entry = ctypes.c_void_p(), ENTRY()
        self._expect(self._metate.metate_module_find_kernel(self._module, name.encode(), ctypes.byref(found)))
        signature = ctypes.c_uint64(self._opened.kernels[name]._kernel.signature)
        self._expect(self._metate.metate_kernel_direct(found, signature, ctypes.byref(entry)))
        self[name] = entry
        return entry


class Entry(Standard):
    """Bare entries: slots, no checks, a status.

    Attributes:
        described: the runtime's kernels by name; entries: by name.
    """

    is_direct = True

    def __init__(self, described, entries, types):
        super().__init__({}, types)
        self.described, self.entries = described, entries

    @classmethod
    def of_file(cls, file):
        opened = mt.aot.load(file)
        return cls({name: kernel._kernel for name, kernel in opened.kernels.items()}, Entries(file, opened), opened.types)

    def run(self, name, *arguments):
        kernel = self.described[name]
        results, slots, kept = results_of(kernel), [], []
        for parameter, value in zip(kernel.parameters, arguments, strict=True):
            slots.extend(self._slots(parameter, value, kept))
        for one in results:
            slots.extend(array_slots(one))
        code = self.entries[name]((ctypes.c_int64 * max(1, len(slots)))(*slots), None, None)
        if code:
            return Failure(STATUS[code], None)
        return found_in(results)

    def _slots(self, parameter, value, kept):
        if parameter["kind"] == TREE:
            return [aligned(value.block).value]
        if parameter["kind"] == ARRAY:
            return array_slots(value)
        values = np.ascontiguousarray(value, numpy_type(parameter)).ravel()
        whole = values.view(f"u{values.itemsize}") if values.dtype.kind == "f" else values
        return [ctypes.c_int64(int(one)).value for one in whole]


def array_slots(array):
    """An array's address, extents and strides in elements."""
    return [array.ctypes.data, *array.shape, *(stride // array.itemsize for stride in array.strides)]


class Packed(Standard):
    """tvm-ffi's calls.

    Attributes:
        described: the runtime's kernels by name, which say what arguments are; functions: tvm-ffi's, by name.
    """

    def __init__(self, described, functions, types):
        super().__init__({}, types)
        self.described, self.functions = described, functions

    def run(self, name, *arguments):
        kernel = self.described[name]
        given = [self._value(parameter, value) for parameter, value in zip(kernel.parameters, arguments)]
        results = results_of(kernel)
        returns = len(results) == 1 and results[0].ndim == 0
        try:
            result = self.functions[name](*given, *([] if returns else map(tvm_ffi.from_dlpack, results)))
        except Exception as error:
            return failure_of(error)
        return result if returns or not results else results[0] if len(results) == 1 else tuple(results)

    def _value(self, parameter, value):
        if parameter["kind"] == TREE:
            return tvm_ffi.from_dlpack(np.frombuffer(value.block, np.uint8))
        if parameter["kind"] == VECTOR:
            value = np.ascontiguousarray(value, numpy_type(parameter))
        return tvm_ffi.from_dlpack(value) if isinstance(value, np.ndarray) else value


def packed_entries(file, opened, prefix):
    """The functions of a shared object; `prefix` stands before a kernel's name."""
    module = tvm_ffi.load_module(str(file))
    described = {name: kernel._kernel for name, kernel in opened.kernels.items()}
    return Packed(described, {name: module[f"{prefix}{name}"] for name in described}, opened.types)


def packed_file(module, folder, kernels, types):
    """The kernels of a file that libmetate opened, by libmetate_packed."""
    opened = mt.aot.load(module.save(folder / "packed.metate"))
    described = {name: kernel._kernel for name, kernel in opened.kernels.items()}
    return Packed(described, {name: kernel.packed() for name, kernel in opened.kernels.items()}, opened.types)


MAY_ALIAS = {"rotate"}  # what modules have for arguments that overlap


class InProcess(dict):
    """What is made of a kernel of this process when it is first asked for: `make(kernel, may_alias)`, called in the context."""

    def __init__(self, kernels, context, make):
        super().__init__()
        self._kernels, self._context, self._make = kernels, context, make

    def __missing__(self, name):
        with self._context:
            self[name] = self._make(self._kernels[name], name in MAY_ALIAS)
        return self[name]


def in_process(level, **options):
    """Kernels of this process, compiled ahead, by a context."""

    def way(module, folder, kernels, types):
        context = mt.Context(**OPTIONS, **options)
        described = InProcess(kernels, context, lambda kernel, may_alias: kernel.ahead(may_alias).kernel)
        if level == "packed":
            return Packed(described, InProcess(kernels, context, lambda kernel, may_alias: kernel.packed(may_alias)), types)
        return Entry(described, InProcess(kernels, context, lambda kernel, may_alias: address_of(kernel.ahead(may_alias))), types)

    return way


def address_of(instance):
    """The entry of code in this process."""
    return ENTRY(instance.code.entries[0])


# ---- carriers: (module, folder) -> what its levels start from


def linked_object(module, folder):
    file = module.save(folder / "linked.o")
    subprocess.run(["gcc", "-shared", file, "-lm", "-o", folder / "linked.so"], check=True)
    return folder / "linked.so"


def c_source(module, folder):
    file, made = module.save(folder / "source.c"), folder / "source.so"
    subprocess.run(["gcc", "-std=c99", "-O2", "-fPIC", "-shared", file, "-lm", "-o", made], check=True)
    return made


def shared_object(module, folder):
    return module.save(folder / "shared.so")


# Carriers whose code programs link or load: what makes a shared object of them, and what their packed entries' names begin with.
LINKED = {"so": (shared_object, ""), "o": (linked_object, "{module}_"), "c": (c_source, "{module}_")}


class StaticModule(ctypes.Structure):
    """metate_static_module of abi/metate/abi/kernel.h."""

    _fields_ = (("descriptor", ctypes.c_void_p), ("bytes", ctypes.c_uint64), ("entries", ctypes.POINTER(ctypes.c_void_p)),
                ("entry_count", ctypes.c_uint32), ("reserved", ctypes.c_uint32))  # fmt: skip


def opened_static(file, name):
    """The module of a shared object that is in this process, through metate_module_open_static."""
    library = ctypes.CDLL(file)
    record = StaticModule.in_dll(library, f"{name}_module")
    descriptor = ctypes.string_at(record.descriptor, record.bytes)
    return LoadedModule(_runtime.Module.open_static(runtime.device(), descriptor, record.entries[: record.entry_count], library))


def at_level(carrier, level):
    make, prefix = LINKED[carrier]

    def way(module, folder, kernels, types):
        file = make(module, folder)
        opened = opened_static(file, module._name)
        if level == "direct":
            return Direct(file, opened)
        if level == "packed":
            return packed_entries(file, opened, prefix.format(module=module._name))
        return Standard(opened.kernels, opened.types)

    return way


def from_file(suffix):
    def way(module, folder, kernels, types):
        opened = mt.aot.load(module.save(folder / f"opened.{suffix}"))
        return Standard(opened.kernels, opened.types)

    return way


OPTIONS = {"contract": False}  # what makes all ways round alike; modules are made with them
# Name -> (module, folder, kernels of this process by name, tree types by name) -> Standard, Direct or Packed.
WAYS = {
    "jit": lambda module, folder, kernels, types: Standard(kernels, types, mt.Context(**OPTIONS)),
    "interpreter": lambda module, folder, kernels, types: Standard(kernels, types, mt.Context(arch=mt.interp, **OPTIONS)),
    "jit direct": in_process("direct"),
    "jit packed": in_process("packed"),
    # The interpreter has no direct level: who launches keeps its trees' counts.
    "interpreter packed": in_process("packed", arch=mt.interp),
    "metate": from_file("metate"),
    "metate direct": lambda module, folder, kernels, types: Entry.of_file(module.save(folder / "direct.metate")),
    "metate packed": packed_file,
    "so": from_file("so"),
    **{f"{carrier} {level}": at_level(carrier, level) for carrier in LINKED for level in ("direct", "standard", "packed")},
}
