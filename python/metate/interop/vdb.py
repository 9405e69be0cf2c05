"""Trees to and from files of OpenVDB (.vdb) and NanoVDB (.nvdb), for viewers and other programs.

    from metate.interop import vdb

    vdb.write("smoke.vdb", {"density": t.density}, voxel_size=0.1)
    vdb.load("bunny.vdb", "ls_bunny", into=u.distance)

The libraries themselves read and write; a build without them has everything else. Voxels travel in arrays: active cells
become active voxels, active voxels active cells, and the background stays the background.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import Vector as _Vector
from .. import kernel as _kernel
from .. import template as _template
from .. import types as _types
from ..errors import RuntimeImportError_, RuntimeIndexError_, RuntimeIOError_, RuntimeLookupError_
from ..errors import RuntimeTypeError_ as _TypeError
from ..errors import RuntimeValueError_ as _ValueError
from ..quant_types import QuantType
from ..tree import Member

__all__ = ["CLASSES", "Grid", "available", "grids", "load", "read", "write"]

CLASSES = ("unknown", "level set", "fog volume", "staggered")
# What a grid's voxels are: (dtype, components) by the name that _vdb has for them.
_DTYPES = {
    "f32": (np.float32, ()),
    "f64": (np.float64, ()),
    "i32": (np.int32, ()),
    "i64": (np.int64, ()),
    "u1": (np.bool_, ()),
    "mask": (np.bool_, ()),
    "v3f32": (np.float32, (3,)),
    "v3f64": (np.float64, (3,)),
    "v3i32": (np.int32, (3,)),
}
_EXPECTED = "f32, f64, i32, i64, u1 or a vector of three f32, f64 or i32"


class Grid(NamedTuple):
    """A grid that was read.

    Attributes:
        coordinates: int32[n, 3], of the active voxels; those of a tile stand one by one. In no order.
        values: [n], of vectors [n, 3]; f32, f64, i32, i64 or bool. A mask's values are all True.
        background: value of the voxels that are not active.
        voxel_size: extents of a voxel in the world, along each axis; None where the grid lies in a frustum.
        origin: where index (0, 0, 0) is in the world; None for a frustum.
        transform: float64[4, 4], from index coordinates (a column) to the world; None for a frustum.
        grid_class: "unknown", "level set", "fog volume" or "staggered".
        metadata: what the file says beside that, by name.
    """

    coordinates: np.ndarray
    values: np.ndarray
    background: Any
    voxel_size: tuple[float, float, float] | None
    origin: tuple[float, float, float] | None
    transform: np.ndarray | None
    grid_class: str
    metadata: dict[str, Any]


def available() -> bool:
    """Whether this build of Metate can read and write these files."""
    try:
        _library()
    except RuntimeImportError_:
        return False
    return True


def write(
    path: Any,
    grids: Mapping[str, Member],
    voxel_size: Any = 1.0,
    origin: Any = (0.0, 0.0, 0.0),
    grid_class: str = "unknown",
    half: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Writes members of trees as grids of one file, in which active cells are active voxels.

    Args:
        path: of the file: its ending chooses OpenVDB (.vdb) or NanoVDB (.nvdb).
        grids: members over three axes by the names of their grids: `{"density": t.density}`. Of f32, f64, i32, i64, u1 or
            vectors of three f32, f64 or i32 (.nvdb: of f32 only). A grid's background is its member's.
        voxel_size: extent of a cell in the world, or three of them.
        origin: where cell (0, 0, 0) is in the world.
        grid_class: "unknown", "level set", "fog volume" or "staggered"; viewers choose by it how to draw.
        half: stores floating-point values in 16 bits (.vdb).
        metadata: further entries (.vdb): text, bool, int, float or three floats by name.
    Raises RuntimeTypeError_, RuntimeValueError_, RuntimeIndexError_ (coordinates beyond 32 bits), RuntimeIOError_,
    RuntimeImportError_.
    """
    library = _library()
    nano = _is_nano(path, "write")
    if not isinstance(grids, Mapping) or not grids:
        raise _TypeError(f"vdb.write: grids: expected members by names, such as {{'density': t.density}}, got {grids!r}")
    if grid_class not in CLASSES:
        raise _ValueError(f"vdb.write: grid_class: expected one of {', '.join(CLASSES)}, got {grid_class!r}")
    if nano and (half or metadata):
        raise _ValueError(f"vdb.write: {'half' if half else 'metadata'}: expected a .vdb file, for .nvdb has none, got {path}")
    entries = {name: _metadata_value(name, value) for name, value in (metadata or {}).items()}
    given = [_written(name, member, grid_class, entries, nano) for name, member in grids.items()]
    size, at = _three(voxel_size, "voxel_size"), _three(origin, "origin")
    if not all(extent > 0 for extent in size):
        raise _ValueError(f"vdb.write: voxel_size: expected positive extents, got {voxel_size!r}")
    matrix = np.diag([*size, 1.0])
    matrix[:3, 3] = at
    try:
        library.write(os.fspath(path), given, matrix.ravel().tolist(), bool(half), nano)
    except (RuntimeError, ValueError) as error:
        raise RuntimeIOError_(f"vdb.write: {os.fspath(path)}: {error}") from None


def grids(path: Any) -> dict[str, str]:
    """The grids of a file: their values' types by their names. Raises RuntimeIOError_, RuntimeImportError_."""
    library = _library()
    nano = _is_nano(path, "grids")
    try:
        return dict(library.grids(os.fspath(path), nano))
    except RuntimeError as error:
        raise RuntimeIOError_(f"vdb.grids: {os.fspath(path)}: {error}") from None


def read(path: Any, name: str, limit: int = 1 << 28) -> Grid:
    """The active voxels of one grid of a file, as arrays.

    Args:
        path: of a .vdb or .nvdb file.
        name: of the grid.
        limit: more active voxels than this are an error; a small file can have very many.
    Raises RuntimeLookupError_ (no such grid), RuntimeTypeError_ (other values), RuntimeValueError_ (more than `limit`),
    RuntimeIOError_, RuntimeImportError_.
    """
    library = _library()
    nano = _is_nano(path, "read")
    try:
        found = library.read(os.fspath(path), name, limit, nano)
    except IndexError:
        names = ", ".join(grids(path)) or "none"
        raise RuntimeLookupError_(f"vdb.read: {os.fspath(path)}: expected a grid of the file ({names}), got {name!r}") from None
    except ValueError as error:
        raise _ValueError(
            f"vdb.read: {os.fspath(path)}: {name}: expected at most limit={limit} active voxels, got {error}"
        ) from None
    except RuntimeError as error:
        raise RuntimeIOError_(f"vdb.read: {os.fspath(path)}: {error}") from None
    type_, coordinates, values, background, class_, metadata, matrix = found
    if type_ not in _DTYPES:
        raise _TypeError(f"vdb.read: {os.fspath(path)}: {name}: expected voxels of {_EXPECTED}, got {type_}")
    dtype, shape = _DTYPES[type_]
    values = values.view(dtype).reshape(len(coordinates), *shape)
    value = np.frombuffer(background, dtype)
    background = tuple(value.tolist()) if shape else value[0].item()
    transform = None if matrix is None else np.array(matrix).reshape(4, 4)
    size = None if transform is None else tuple(np.linalg.norm(transform[:3, :3], axis=0).tolist())
    origin = None if transform is None else tuple(transform[:3, 3].tolist())
    return Grid(coordinates, values, background, size, origin, transform, class_, metadata)


def load(path: Any, name: str, into: Member, offset: Any = (0, 0, 0), any_background: bool = False) -> Grid:
    """Activates the cells of a grid's active voxels in a tree and writes their values; other cells stay as they are.

    Args:
        path, name: as for `read`.
        into: a member over three axes whose type holds the values exactly (f64 may become f32, numbers be quantised).
        offset: added to the voxels' coordinates: where voxel (0, 0, 0) lies in the tree.
        any_background: True takes a grid with another background than the member's: inactive cells then read otherwise.
    Returns what was read. Raises what `read` raises, RuntimeTypeError_, RuntimeValueError_, RuntimeIndexError_ (voxels
    outside of the tree: nothing is written), CapacityError.
    """
    _check_member(into, "load: into")
    found = read(path, name)
    element = getattr(into.type, "dtype", into.type)
    dtype, shape = _DTYPES[_kind(into.type, "load: into")]
    if found.values.shape[1:] != shape or not _holds(dtype, found.values) or not _are_in_range(into.type, found.values):
        shown = f"{found.values.dtype}{list(found.values.shape[1:]) or ''}"
        raise _TypeError(f"vdb.load: into: expected a member that holds {shown}, got {into.type!r}")
    expected = np.asarray(into.background, dtype)
    if not any_background and not np.array_equal(
        expected, np.asarray(found.background).astype(dtype), equal_nan=element != _types.u1
    ):
        raise _ValueError(
            f"vdb.load: into: expected a member with the grid's background {found.background}, got {into.background}; "
            "any_background=True takes the values alone"
        )
    coordinates = _within(found.coordinates, offset, into)
    values = np.ascontiguousarray(found.values, dtype)
    if len(coordinates):
        (_scatter_vectors if shape else _scatter)(into.field(), coordinates, values)
    return found


@_kernel
def _scatter(member: _template(), coordinates: _types.ndarray(), values: _types.ndarray()):
    for n in range(coordinates.shape[0]):
        member[coordinates[n, 0], coordinates[n, 1], coordinates[n, 2]] = values[n]


@_kernel
def _scatter_vectors(member: _template(), coordinates: _types.ndarray(), values: _types.ndarray()):
    for n in range(coordinates.shape[0]):
        value = _Vector([values[n, 0], values[n, 1], values[n, 2]])
        member[coordinates[n, 0], coordinates[n, 1], coordinates[n, 2]] = value


def _library():
    try:
        from metate_native import _vdb
    except ImportError as error:
        raise RuntimeImportError_(
            f"metate.interop.vdb: expected a build with OpenVDB, got {error}; install OpenVDB's and NanoVDB's headers "
            "(Debian: libopenvdb-dev libnanovdb-dev libboost-dev) and build Metate again"
        ) from None
    return _vdb


def _is_nano(path, what: str) -> bool:
    ending = os.path.splitext(os.fspath(path))[1]
    if ending not in (".vdb", ".nvdb"):
        raise _ValueError(f"vdb.{what}: path: expected a file that ends in .vdb or .nvdb, got {os.fspath(path)!r}")
    return ending == ".nvdb"


def _check_member(member, what: str) -> None:
    if not isinstance(member, Member):
        raise _TypeError(f"vdb.{what}: expected a member of a tree, such as t.density, got {member!r}")
    if len(member.shape) != 3:
        raise _ValueError(f"vdb.{what}: expected a member over three axes, got {len(member.shape)}")


def _kind(type_, what: str) -> str:
    """The name that _vdb has for a member's type."""
    scalar, shape = getattr(type_, "dtype", type_), tuple(getattr(type_, "shape", ()))
    name = {(): "", (3,): "v3"}.get(shape, "no ") + getattr(scalar, "name", "")
    if name not in _DTYPES:
        raise _TypeError(f"vdb.{what}: expected a member of {_EXPECTED}, got {type_!r}")
    return name


def _written(name, member, grid_class, metadata, nano):
    """A grid as _vdb.write takes it."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise _ValueError(f"vdb.write: grids: expected names of at least one character, got {name!r}")
    what = f"write: {name}"
    _check_member(member, what)
    kind = _kind(member.type, what)
    if nano and kind in ("v3f64", "v3i32"):
        raise _TypeError(f"vdb.{what}: expected what NanoVDB makes grids of, got {member.type!r}; write a .vdb file")
    coordinates, values = member.cells()
    dtype = _DTYPES[kind][0]
    narrow = coordinates.astype(np.int32)
    if not np.array_equal(narrow, coordinates):
        raise RuntimeIndexError_(
            f"vdb.{what}: expected coordinates of 32 bits, got {coordinates[(narrow != coordinates).any(1)][0]}"
        )
    bytes_ = np.ascontiguousarray(values, dtype).reshape(-1).view(np.uint8)
    return name, kind, narrow, bytes_, np.asarray(member.background, dtype).tobytes(), grid_class, metadata


def _holds(dtype, values: np.ndarray) -> bool:
    """Whether members of this dtype hold the values: exactly, or rounded where both are floating-point numbers."""
    if np.can_cast(values.dtype, dtype) or (values.dtype.kind == "f" and np.dtype(dtype).kind == "f"):
        return True
    return (
        values.dtype.kind == "i"
        and np.dtype(dtype).kind in "if"
        and np.array_equal(values.astype(dtype).astype(values.dtype), values)
    )


def _within(coordinates: np.ndarray, offset, member: Member) -> np.ndarray:
    """The coordinates in the tree, int32[n, 3]; all within its extents."""
    wide = coordinates.astype(np.int64) + np.array(_three(offset, "offset", int), np.int64)
    limits = [(0, extent) if extent is not None else (-(1 << 31), 1 << 31) for extent in member.shape]
    low, high = np.array(limits, np.int64).T
    outside = ((wide < low) | (wide >= high)).any(1)
    if outside.any():
        first = tuple(wide[outside][0].tolist())
        raise RuntimeIndexError_(
            f"vdb.load: expected voxels within the member's extents {member.shape}, got {first} and "
            f"{int(outside.sum()) - 1} others; offset= moves them"
        )
    return np.ascontiguousarray(wide, np.int32)


def _are_in_range(type_, values: np.ndarray) -> bool:
    """Whether a quantised member has numbers as small and as large as the values; True of others."""
    if not isinstance(type_, QuantType) or not values.size:
        return True
    low, high = type_.range()
    return bool(low <= values.min() and values.max() <= high)


def _three(given, what: str, type_=float) -> tuple:
    values = (given,) * 3 if np.isscalar(given) else tuple(given)
    if len(values) != 3 or not all(np.isfinite(value) and value == type_(value) for value in values):
        raise _ValueError(f"vdb: {what}: expected three finite {type_.__name__}s, got {given!r}")
    return tuple(type_(value) for value in values)


def _metadata_value(name, value):
    own = ("class", "name", "is_saved_as_half_float", "is_local_space")
    if not isinstance(name, str) or not name or name in own or name.startswith("file_"):
        raise _ValueError(f"vdb.write: metadata: expected a name that OpenVDB does not use itself, got {name!r}")
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)) and -(1 << 63) <= value < 1 << 63:
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    try:
        return list(_three(value, f"metadata {name!r}"))
    except TypeError:
        raise _TypeError(
            f"vdb.write: metadata {name!r}: expected text, bool, int, float or three floats, got {value!r}"
        ) from None
