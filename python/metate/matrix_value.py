"""Vectors and matrices outside kernels: small NumPy arrays with Taichi's component names and methods.

What `mt.Vector([...])` and `mt.Matrix([[...]])` make in Python and what an element of a field is read as. Arithmetic
is NumPy's. A value without a scalar type of its own (Python's numbers: int64 and float64 here) has the context's
default types in a kernel, as literals have. Nothing here touches memory of trees: a value that was read from a field
gives its changes to the field, which stores them.
"""

from __future__ import annotations

import numpy as np

from . import dtypes as _types
from .errors import ComponentValueError_

_COMPONENTS = {letter: k for letters in ("xyzw", "rgba", "stpq") for k, letter in enumerate(letters)}


class MatrixValue(np.ndarray):
    """A vector (n,) or a matrix (n, m).

    ``v.x``, ``v.xy``, ``v.rgb`` are components and can be assigned; items are Python numbers. A value that was read from
    a field is a copy; assigning to its items or components, or `fill`, changes the field as well.
    """

    _home = None  # (store, key) with store[key] = value, or the MatrixValue whose part this is

    def __new__(cls, elements, dtype=None):
        return np.array(elements, dtype).view(cls)

    @property
    def is_untyped(self) -> bool:
        """Were its elements Python's numbers? In a kernel they are literals then."""
        return self.dtype in (np.int64, np.float64)

    @property
    def n(self) -> int:
        """Rows."""
        return self.shape[0] if self.ndim else 1

    @property
    def m(self) -> int:
        """Columns; 1 of a vector."""
        return self.shape[1] if self.ndim > 1 else 1

    def __getitem__(self, key):
        if key.__class__ is tuple and len(key) == 1:
            key = key[0]
        found = super().__getitem__(key)
        if not isinstance(found, np.ndarray):
            return found.item()
        if self._home is not None and found.base is not None:
            found.__dict__["_home"] = self  # a view: a row, a slice
        return found

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if self._home is not None:
            self._store()

    def __bool__(self):
        """Of a comparison: do all components have it? Of other values as NumPy says."""
        return bool(np.asarray(self).all()) if self.dtype == bool else super().__bool__()

    def __iter__(self):
        return iter(self.tolist()) if self.ndim == 1 else iter([self[k] for k in range(len(self))])

    def fill(self, value) -> None:
        """Sets every component."""
        self[...] = value

    def _store(self):
        home = self._home
        if isinstance(home, MatrixValue):
            home._store()
        else:
            home[0][home[1]] = self

    def __getattr__(self, name):
        places = _places(self, name)
        if places is None:
            raise AttributeError(f"{_described(self)} has no component or method '{name}'")
        return self[places[0]] if len(places) == 1 else np.array(self)[places].view(MatrixValue)

    def __setattr__(self, name, value):
        places = None if name.startswith("_") else _places(self, name)
        if places is None:
            if not hasattr(type(self), name):
                raise AttributeError(f"{_described(self)} has no component '{name}'")
            super().__setattr__(name, value)
        elif np.ndim(value) and np.shape(value) != (len(places),):
            got = f"an array of shape {np.shape(value)}" if np.ndim(value) > 1 else f"{len(value)} values"
            raise ComponentValueError_(f"{_described(self)}: '{name}': expected {len(places)} values, got {got}")
        else:
            self[places[0] if len(places) == 1 else places] = value

    # ---- what kernels' vectors and matrices can do ----

    def to_numpy(self) -> np.ndarray:
        """A plain array with the same elements."""
        return np.array(self)

    @property
    def entries(self) -> np.ndarray:
        """Taichi's name for the elements, as a plain array."""
        return self.to_numpy()

    def to_list(self) -> list:
        """Elements as (nested) lists of Python numbers."""
        return self.tolist()

    def cast(self, dtype) -> MatrixValue:
        """The elements converted to a scalar type; integers wrap."""
        return _of(self.astype(_types.dtype(dtype).numpy))

    def norm_sqr(self):
        """The square of the Euclidean (Frobenius) length."""
        return np.asarray(self * self).sum().item()

    def norm(self, eps=0):
        """The Euclidean (Frobenius) length, of norm_sqr() + eps."""
        return float(np.sqrt(self.norm_sqr() + eps))

    def norm_inv(self, eps=0):
        """1 / norm(eps)."""
        return 1.0 / self.norm(eps)

    def normalized(self, eps=0) -> MatrixValue:
        """The value divided by its length + eps."""
        return self / (self.norm() + eps)

    def dot(self, other):
        """The sum of products of two vectors; of matrices, the matrix product."""
        found = np.dot(np.asarray(self), np.asarray(other))
        return found.item() if np.ndim(found) == 0 else _of(found)

    def cross(self, other):
        """The cross product of vectors of length 3; of length 2, a number."""
        a, b = np.asarray(self), np.asarray(other)
        if a.shape == (2,):
            return (a[0] * b[1] - a[1] * b[0]).item()
        return _of(np.cross(a, b))

    def outer_product(self, other) -> MatrixValue:
        """The matrix of products of two vectors."""
        return _of(np.outer(np.asarray(self), np.asarray(other)))

    def transpose(self, *axes) -> MatrixValue:
        """Rows and columns exchanged."""
        return _of(np.array(self).transpose(*axes))

    def trace(self):
        """The sum of the diagonal of a square matrix. Raises ValueError."""
        if self.ndim != 2 or self.shape[0] != self.shape[1]:
            raise ValueError(f"trace: expected a square matrix, got shape {self.shape}")
        return np.trace(np.asarray(self)).item()

    def determinant(self):
        """The determinant of a square matrix."""
        return float(np.linalg.det(_wide(self)))

    def inverse(self) -> MatrixValue:
        """The inverse of a square matrix. Raises numpy.linalg.LinAlgError where there is none."""
        found = np.linalg.inv(_wide(self))
        return _of(found.astype(self.dtype) if self.dtype.kind == "f" else found)


def matrix_value(elements, dt=None) -> MatrixValue:
    """What `mt.Vector` and `mt.Matrix` make outside kernels, of (nested) sequences and arrays."""
    if dt is None:
        return MatrixValue(elements)
    if _types.is_python_scalar(dt):
        return MatrixValue(elements, dt)
    return MatrixValue(elements, _types.dtype(dt).numpy or np.float32)  # NumPy has no bf16


def _of(array) -> MatrixValue:
    return np.asarray(array).view(MatrixValue)


def _wide(value):
    return np.asarray(value, value.dtype if value.dtype in (np.float32, np.float64) else np.float64)


def _places(value, name):
    """Numbers of the components that a name such as `xy` means, or None."""
    places = [_COMPONENTS.get(letter) for letter in name]
    if value.ndim != 1 or not places or None in places or max(places) >= len(value):
        return None
    return places


def _described(value):
    return f"vector of {len(value)}" if value.ndim == 1 else f"matrix of shape {value.shape}"
