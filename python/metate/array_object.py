"""NDArray and StructNDArray: arrays that kernels take, over NumPy's memory.

An array is a `_runtime.Array`, a view that kernels read without asking Python, and the NumPy array whose memory it is.
This module loads the runtime's extension; ndarray.py, which makes arrays, does so when the first one is made.
"""

from __future__ import annotations

import functools

import numpy as np

from metate_native import _runtime

from . import runtime as _run
from . import value_types as _types
from .borrowed_memory import borrowed
from .dtypes import bf16_bits, bf16_values
from .errors import RuntimeTypeError_, RuntimeValueError_
from .fields.values import StructElement, write_struct
from .matrix_value import MatrixValue
from .struct_types import float_members
from .whole_writes import COPY_FROM, FILL, FROM_NUMPY, FROM_TORCH
from .write_numbers import element_of_numbers

_ALIGNMENT = 64  # bytes: a cache line, a vector register
_MANY = 1 << 20  # bytes that are worth several threads


def storage_type(dtype: _types.DType) -> np.dtype:
    """NumPy's type for a scalar's bytes; bf16, which NumPy has not, is kept as u16."""
    return dtype.numpy if dtype.numpy is not None else np.dtype(np.uint16)


def memory(element, shape) -> np.ndarray:
    """New zeroed memory for elements of a scalar, vector or matrix type."""
    scalar = getattr(element, "dtype", element)
    return _zeros(shape + tuple(getattr(element, "shape", ())), storage_type(scalar))


def struct_memory(type_, shape) -> np.ndarray:
    """New zeroed memory for structs, each in one piece and laid out as C lays out a struct."""
    return _zeros(shape, _struct_dtype(type_))


def new_array(element, shape) -> NDArray:
    """An array of zeros of a scalar, vector or matrix type, in memory of the package."""
    return owned(memory(element, shape), element)


def owned(values: np.ndarray, element) -> NDArray:
    """An array in memory that is the package's from now on: whoever else has `values` must not use it any more."""
    return NDArray(values, element, _runtime.ArrayMemory(values))


def _zeros(shape, dtype):
    count = int(np.prod(shape, dtype=object))
    try:
        raw = np.zeros(count * dtype.itemsize + _ALIGNMENT, np.uint8)
    except (MemoryError, ValueError):
        raise RuntimeValueError_(f"ndarray: no memory for an array of shape {shape}") from None
    first = -raw.ctypes.data % _ALIGNMENT
    return raw[first : first + count * dtype.itemsize].view(dtype).reshape(shape)


def _struct_dtype(type_) -> np.dtype:
    fields = []
    for name, member in type_.members.items():
        if isinstance(member, _types.StructType):
            fields.append((name, _struct_dtype(member)))
        else:
            fields.append((name, storage_type(getattr(member, "dtype", member)), tuple(getattr(member, "shape", ()))))
    return np.dtype(fields, align=True)


class NDArray(_runtime.Array):
    """An array of scalars, vectors or matrices.

    ``x[i, j]`` reads an element, ``x[i, j] = ...`` writes one; ``x[None]`` is the element of an array of shape ().
    A vector that was read (a MatrixValue) writes through: ``x[i][0] = 1``, ``x[i].y = 2`` change the array.

    Attributes:
        shape: extents, those of the elements not counted.
        dtype: scalar type of the elements; element_type: their whole type.
        element_shape: (), (n,) or (n, m).
        grad, dual: NDArrays of the same shape and type, the derivatives in reverse and in forward mode, or None.
    """

    def __init__(self, owner: np.ndarray, element, home: _runtime.ArrayMemory | None = None):
        # `home`: the package's memory that it lies in, which kernels on a device have there; None: somebody else's.
        self._home = home
        self.element_type = element
        self.dtype = getattr(element, "dtype", element)
        self._grad = self._dual = None
        self._is_partner = False  # is it the gradient or dual of another one?
        super().__init__(owner, self.dtype.code, len(self.element_shape_of(element)), home)

    @staticmethod
    def element_shape_of(element) -> tuple[int, ...]:
        """Extents of an element of a type: (), (n,) or (n, m)."""
        return tuple(getattr(element, "shape", ()))

    @property
    def grad(self):
        """The gradient: an NDArray of the same shape and type, or None."""
        return self._grad

    @grad.setter
    def grad(self, array):
        self._grad = self._as_partner(array, "grad")

    @property
    def dual(self):
        """The dual, the derivative in forward mode: an NDArray of the same shape and type, or None."""
        return self._dual

    @dual.setter
    def dual(self, array):
        self._dual = self._as_partner(array, "dual")

    @functools.cached_property
    def _numbers(self) -> NDArray:
        """The array of the numbers of its last writes (write_numbers.py), made when it is first asked for."""
        return new_array(element_of_numbers(self.element_type), self.shape)

    def _partner(self, kind):
        """Its gradient ("grad") or dual, or None."""
        return self._grad if kind == "grad" else self._dual

    def _as_partner(self, array, what):
        if array is None:
            return None
        fits = isinstance(array, NDArray) and array.element_type == self.element_type and array.shape == self.shape
        if not fits or array is self:
            raise RuntimeTypeError_(f"{what}: expected an array of {self.element_type!r}, shape {self.shape}, got {array!r}")
        array._is_partner = True
        return array

    def _describe(self):
        """(element type, shape, has no gaps), for kernels."""
        return self.element_type, self.shape, self.is_contiguous

    # ---- elements ----

    def __getitem__(self, key):
        found = self._read(key)
        if isinstance(found, np.ndarray):
            found = found.view(MatrixValue)
            found._home = (self, key)
        return found

    def __setitem__(self, key, value):
        if self.element_shape and np.ndim(value) == 0:
            value = np.full(self.element_shape, value)
        self._write(key, value)

    def __len__(self):
        if not self.shape:
            raise TypeError("an array of shape () has no length")
        return self.shape[0]

    def __iter__(self):
        if len(self.shape) != 1:
            raise TypeError(f"expected an array of one dimension to iterate over, got shape {self.shape}: use to_numpy()")
        return (self[k] for k in range(self.shape[0]))

    # ---- whole arrays ----

    @property
    def n(self) -> int:
        """Rows of an element; 1 of a scalar."""
        return ([*self.element_shape, 1, 1])[0]

    @property
    def m(self) -> int:
        """Columns of an element; 1 of a scalar or vector."""
        return ([*self.element_shape, 1, 1])[1]

    def _values(self) -> np.ndarray:
        """The memory as NumPy sees it, no copy; bf16 as its bits. As long as it is there, the array stays the host's."""
        if self._home is None:
            return self._owner
        if self.dtype is _types.bf16:
            self._home.begin_view()
            return self._owner
        return np.asarray(memoryview(self))

    def _read_values(self) -> np.ndarray:
        """As _values, for someone who reads them at once."""
        if self._home is not None:
            self._home.to_host()
        return self._owner

    def _changing_values(self) -> np.ndarray:
        """As _values, for someone who changes all of them at once."""
        if self._home is not None:
            self._home.change_at_host(is_whole=self._home.bytes == self._owner.nbytes)
        return self._owner

    def to_numpy(self) -> np.ndarray:
        """A copy: shape + element_shape; bf16 as float32."""
        values = self._read_values()
        if self.dtype is _types.bf16:
            return bf16_values(values)
        found = np.empty(values.shape, values.dtype)
        _assign(found, values)
        return found

    def from_numpy(self, array) -> None:
        """Copies an array of the same shape (elements' dimensions last) into this one, converted to its type."""
        self._take(array)
        FROM_NUMPY.done(self, array)

    def _take(self, array):
        array = np.asarray(array)
        expected = self.shape + self.element_shape
        if array.shape != expected:
            raise RuntimeValueError_(f"from_numpy: expected an array of shape {expected}, got {array.shape}")
        self._check_writable("from_numpy")
        _assign(
            self._changing_values(), bf16_bits(array) if self.dtype is _types.bf16 else array.astype(self.dtype.numpy, copy=False)
        )

    def fill(self, value) -> None:
        """Sets every element to a number, or to a vector or matrix of the elements' shape.

        Integers of n bits are given as -2^(n-1) to 2^n - 1. Raises RuntimeValueError_ for others, and for another shape.
        """
        array = np.asarray(value) if self.dtype.is_float else np.asarray(value, object)  # of integers NumPy may make floats
        if array.shape not in ((), self.element_shape):
            expected = f"a number or an element of shape {self.element_shape}" if self.element_shape else "a number"
            raise RuntimeValueError_(f"fill: expected {expected}, got {value!r}")
        if not self.dtype.is_float:
            if not all(map(self.dtype.holds, array.flat)):
                raise RuntimeValueError_(f"fill: expected {self.dtype!r} within its range, got {value!r}")
            array = np.array([self.dtype(number) for number in array.flat], self.dtype.numpy).reshape(array.shape)
        self._take(np.broadcast_to(array, self.shape + self.element_shape))
        FILL.done(self, value)

    def copy_from(self, other) -> None:
        """Copies the elements of an array of the same shape and element shape."""
        if not isinstance(other, NDArray):
            raise RuntimeTypeError_(f"copy_from: expected an ndarray, got {other!r}")
        if other.shape != self.shape or other.element_shape != self.element_shape:
            mine = f"shape {self.shape} and element shape {self.element_shape}"
            raise RuntimeValueError_(f"copy_from: expected {mine}, got {other.shape} and {other.element_shape}")
        self._take(other._read_values() if other.dtype is not _types.bf16 else other.to_numpy())
        COPY_FROM.done(self, other)

    def _check_writable(self, what):
        if self.is_read_only:
            raise RuntimeTypeError_(f"{what}: the array's memory is read-only: make a copy")

    # ---- the same memory elsewhere ----

    def __array__(self, dtype=None, copy=None):
        if self.dtype is _types.bf16:
            values = self.to_numpy()
            return values if dtype is None else values.astype(dtype)
        values = self._values()
        if dtype is not None and np.dtype(dtype) != values.dtype:
            if copy is False:
                raise ValueError(f"an array of {self.dtype!r} is no array of {np.dtype(dtype)} without a copy")
            return values.astype(dtype)
        return values.copy() if copy else values

    @property
    def __array_interface__(self):
        if self.dtype is _types.bf16:
            raise AttributeError("bf16 has no array interface: use DLPack or to_numpy()")
        if self._home is not None:
            self._home.begin_view()  # which nobody says the end of
        return self._owner.__array_interface__

    def __dlpack__(self, **options):
        return self._exported() if self.dtype is _types.bf16 else self._values().__dlpack__(**options)

    def __dlpack_device__(self):
        return 1, 0  # kDLCPU

    def to_torch(self, device=None):
        """A tensor with a copy of the elements; `torch.from_dlpack(x)` shares the memory instead."""
        import torch

        tensor = torch.from_dlpack(self).clone()
        return tensor if device is None else tensor.to(device)

    def from_torch(self, tensor) -> None:
        """Copies a tensor of the same shape, of any device, into this array."""
        import torch

        tensor = tensor.detach()
        expected = self.shape + self.element_shape
        if tuple(tensor.shape) != expected:
            raise RuntimeValueError_(f"from_torch: expected a tensor of shape {expected}, got {tuple(tensor.shape)}")
        self._check_writable("from_torch")
        torch.from_dlpack(self).copy_(tensor)
        FROM_TORCH.done(self, tensor)

    # ---- Python's own ----

    def __deepcopy__(self, memo):
        made = new_array(self.element_type, self.shape)
        made._changing_values()[...] = self._read_values()
        if self.grad is not None:
            made.grad = self.grad.__deepcopy__(memo)
        return made

    def __copy__(self):
        return self.__deepcopy__({})

    def __reduce__(self):
        return _rebuilt, (self.element_type, self.shape, self._read_values().copy())

    def __repr__(self):
        return f"<metate.ndarray of {self.element_type!r}, shape {self.shape}>"


class StructNDArray:
    """An array of structs, each in one piece of memory. ``x[i]`` reads a Struct that writes through: ``x[i].pos = ...``.

    Attributes:
        shape: extents.
        type: the StructType of the elements.
        grad, dual: StructNDArrays of the same shape, of those members that are of a float type; or None.
    """

    def __init__(self, type_, owner: np.ndarray, home: _runtime.ArrayMemory | None = None):
        self.type, self._home = type_, _runtime.ArrayMemory(owner) if home is None else home
        self._grad = self._dual = None
        self.shape = owner.shape
        self._owner = owner
        self._members = {}
        for name, member in type_.members.items():
            is_struct = isinstance(member, _types.StructType)
            self._members[name] = (
                StructNDArray(member, owner[name], self._home) if is_struct else NDArray(owner[name], member, self._home)
            )

    @property
    def grad(self):
        """The gradient: a StructNDArray of the same shape, of the members of a float type; or None. Each of these members has
        its own, a view of it."""
        return self._grad

    @grad.setter
    def grad(self, array):
        self._grad = self._partner(array, "grad")

    @property
    def dual(self):
        """The dual, the derivative in forward mode, as `grad` is the gradient."""
        return self._dual

    @dual.setter
    def dual(self, array):
        self._dual = self._partner(array, "dual")

    def _partner(self, array, what):
        wanted = float_members(self.type)
        if array is not None:
            fits = isinstance(array, StructNDArray) and wanted is not None and array.type.has_members_of(wanted)
            if not fits or array.shape != self.shape or array is self:
                raise RuntimeTypeError_(f"{what}: expected an array of {wanted!r}, shape {self.shape}, got {array!r}")
        for name in wanted.members if wanted is not None else ():
            setattr(self._members[name], what, None if array is None else array._members[name])
        return array

    @property
    def keys(self) -> list[str]:
        """The members' names."""
        return list(self._members)

    def get_member(self, name):
        """One member over the whole array, a strided view: an NDArray, or a StructNDArray."""
        if name not in self._members:
            raise RuntimeTypeError_(f"no member '{name}': it has {', '.join(self._members)}")
        return self._members[name]

    def _describe(self):
        """(element type, shape, which members have no gaps), for kernels."""
        return self.type, self.shape, tuple(leaf.is_contiguous for leaf in self._metate_parts)

    @functools.cached_property
    def _metate_parts(self) -> tuple:
        """The arrays of all members, members of members included, in order: what a kernel takes instead of this."""
        parts = []
        for member in self._members.values():
            parts.extend(member._metate_parts if isinstance(member, StructNDArray) else [member])
        return tuple(parts)

    def __getitem__(self, key):
        return StructElement.read(self, key)

    def __setitem__(self, key, value):
        write_struct(self, key, value)

    def __len__(self):
        if not self.shape:
            raise TypeError("an array of shape () has no length")
        return self.shape[0]

    def fill(self, value) -> None:
        """Sets every element to a number, or to a struct or dict of values for each member."""
        for name, member in self._members.items():
            member.fill(value if np.ndim(value) == 0 and not hasattr(value, "items") else value[name])

    def to_numpy(self) -> dict:
        """A dict of copies, one array for each member."""
        return {name: member.to_numpy() for name, member in self._members.items()}

    def from_numpy(self, arrays) -> None:
        """Copies a dict of arrays, one for each member."""
        if set(arrays) != set(self._members):
            raise RuntimeValueError_(f"from_numpy: expected members {', '.join(self._members)}, got {', '.join(arrays)}")
        for name, member in self._members.items():
            member.from_numpy(arrays[name])

    def copy_from(self, other) -> None:
        """Copies the elements of an array of the same struct type and shape."""
        if not isinstance(other, StructNDArray) or not self.type.has_members_of(other.type):
            raise RuntimeTypeError_(f"copy_from: expected an ndarray of {self.type!r}, got {other!r}")
        for name, member in self._members.items():
            member.copy_from(other._members[name])

    def __array__(self, dtype=None, copy=None):
        if dtype is not None or copy:
            self._home.to_host()
            return np.array(self._owner, dtype)
        self._home.begin_view()
        return self._owner

    def __deepcopy__(self, memo):
        self._home.to_host()
        made = StructNDArray(self.type, self._owner.copy())
        if self.grad is not None:
            made.grad = self.grad.__deepcopy__(memo)
        return made

    def _described(self):
        return repr(self)

    def __repr__(self):
        return f"<metate.ndarray of {self.type!r}, shape {self.shape}>"


def _assign(to, array):
    """to[...] = array, by all threads where that is a copy of many bytes."""
    is_copy = array.dtype == to.dtype and array.shape == to.shape and to.nbytes >= _MANY
    if not (is_copy and _run.device().copy(to, array)):
        to[...] = array


def adopt(source, element):
    """See ndarray.from_dlpack."""
    if isinstance(source, NDArray):
        owner, scalar = source._values(), source.dtype
    else:
        owner, scalar = borrowed(source)
    if isinstance(element, _types.StructType):
        raise RuntimeTypeError_("from_dlpack: expected a scalar, vector or matrix type, got a struct type")
    wanted = scalar if element is None else getattr(element, "dtype", element)
    if wanted is not scalar:
        raise RuntimeTypeError_(f"from_dlpack: expected an array of {wanted!r}, got one of {scalar!r}")
    element = wanted if element is None else element
    inner = NDArray.element_shape_of(element)
    if owner.shape[max(owner.ndim - len(inner), 0) :] != inner:
        raise RuntimeValueError_(f"from_dlpack: expected last dimensions {inner} for elements {element!r}, got {owner.shape}")
    return NDArray(owner, element)


def _rebuilt(element, shape, values):
    made = new_array(element, shape)
    made._changing_values()[...] = values
    return made
