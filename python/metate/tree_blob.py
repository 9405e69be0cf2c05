"""Reads the structure of a tree type out of its blob (abi/metate/abi/tree.h).

Only called on blobs that the runtime or the compiler has checked: offsets are believed here.
"""

from __future__ import annotations

import itertools
import struct

from . import value_types as _types
from .quant_types import QuantType
from .record import Record
from .tree_type import BitStructNode, LevelNode, PlaceNode, SharedExponentNode

_HEADER = struct.Struct("<IIQQIIIIQII8x")
_LEVEL = struct.Struct("<6I12s12s12IQQQ8IQQII")
_QUANT = struct.Struct("<8Id8x")
_ROOT, _DENSE, _POINTER, _PLACE, _BITMASKED, _DYNAMIC, _HASH, _BIT_STRUCT, _QUANT_ARRAY = range(1, 10)
_KINDS = {
    _DENSE: "dense", _POINTER: "pointer", _BITMASKED: "bitmasked", _DYNAMIC: "dynamic", _HASH: "hash",
    _QUANT_ARRAY: "quant_array",
}  # fmt: skip
_QUANT_KINDS = {1: "int", 2: "fixed", 3: "float"}
_SIGNED, _SHARED = 1, 2  # flags of a quantised place
_NONE = 0xFFFFFFFF
assert _HEADER.size == 64 and _LEVEL.size == 176 and _QUANT.size == 48


class _LevelRecord(Record):
    kind: int
    parent: int
    name: str
    axes: tuple[int, ...]
    extents: tuple[int, ...]
    cell_bytes: int
    dtype: int
    rows: int
    columns: int
    element_rank: int
    background: int
    offset: int
    cells: int
    slot_cells: int
    quant: int


def _text_at(blob: bytes, offset: int) -> str:
    return blob[offset : blob.index(b"\0", offset)].decode()


def _record(blob: bytes, index: int) -> _LevelRecord:
    fields = _LEVEL.unpack_from(blob, _HEADER.size + index * _LEVEL.size)
    kind, _, parent, _, name, axis_count, axes = fields[:7]
    extents, (offset, cells, cell_bytes), rest = fields[8:20], fields[20:23], fields[23:31]
    _, _, dtype, rows, columns, element_rank, background, _ = rest
    return _LevelRecord(
        kind, parent, _text_at(blob, name), tuple(axes[:axis_count]), tuple(extents[:axis_count]),
        cell_bytes, dtype, rows, columns, element_rank, background, offset, cells, *fields[33:],
    )  # fmt: skip


def branches_of(blob: bytes) -> tuple:
    """The root's children as LevelNode, PlaceNode and BitStructNode values."""
    blob = bytes(blob)
    count = _HEADER.unpack_from(blob)[5]
    records = [_record(blob, index) for index in range(count)]

    def children(parent: int, depth: int) -> tuple:
        return tuple(node(i, depth) for i, record in enumerate(records) if i and record.parent == parent)

    def node(index: int, depth: int):
        record = records[index]
        if record.kind == _PLACE:
            data = blob[record.background : record.background + record.cell_bytes]
            return PlaceNode(record.name, _quant(blob, record) or _element(record), data if any(data) else None)
        if record.kind == _BIT_STRUCT:
            return BitStructNode(8 * record.cell_bytes, tuple(parts(index, depth)))
        extents = () if record.kind == _HASH else record.extents
        chunk = record.slot_cells if record.kind == _DYNAMIC else 0
        word = 8 * record.cell_bytes if record.kind == _QUANT_ARRAY else 0
        below = children(index, depth + 1)
        return LevelNode(_KINDS[record.kind], record.axes, extents, record.name, depth, below, chunk, word)

    def parts(word: int, depth: int):
        group = lambda place: _quant_record(blob, records[place])[6]
        members = (i for i, record in enumerate(records) if i and record.parent == word)
        for first, places in itertools.groupby(members, lambda place: place if group(place) == _NONE else group(place)):
            nodes = tuple(node(place, depth) for place in places)
            yield nodes[0] if group(first) == _NONE else SharedExponentNode(nodes)

    return children(0, 0)


def _quant_record(blob: bytes, record: _LevelRecord) -> tuple:
    return _QUANT.unpack_from(blob, record.quant)


def _quant(blob: bytes, record: _LevelRecord) -> QuantType | None:
    """The type of a quantised place; None of others."""
    if not record.quant:
        return None
    kind, flags, bits, _, exponent, _, _, _, scale = _quant_record(blob, record)
    signed, compute = bool(flags & _SIGNED), _types.dtype(record.dtype)
    if _QUANT_KINDS[kind] == "float":
        fraction = bits if flags & _SHARED else bits - exponent
        return QuantType("float", 0, signed, compute, None, exponent, fraction)
    return QuantType(_QUANT_KINDS[kind], bits, signed, compute, scale if _QUANT_KINDS[kind] == "fixed" else None)


def cell_bytes(blob: bytes) -> dict[str, int]:
    """Bytes of one cell of each level, by the level's name; of a quant_array those of a word."""
    blob = bytes(blob)
    records = [_record(blob, index) for index in range(1, _HEADER.unpack_from(blob)[5])]
    return {record.name: record.cell_bytes for record in records if record.kind in _KINDS}


def dense_form(blob: bytes, member: int):
    """Where a member's values are below the root cell: (offset, [(axis, extent, stride)] outermost first), in bytes.

    None below a level whose cells may be inactive: not all of its values are there, or not in the root cell. None of a
    quantised member as well, whose values are bits.
    """
    path = _path(blob, member)
    if any(record.kind not in (_DENSE, _PLACE) for record in path):
        return None
    dimensions = []
    for record in reversed(path):
        stride = record.cells * record.cell_bytes
        for axis, extent in zip(record.axes, record.extents):
            stride //= extent
            dimensions.append((axis, extent, stride))
    return sum(record.offset for record in path), dimensions


def is_always_active(blob: bytes, member: int) -> bool:
    """Whether no cell above a member can be inactive."""
    return all(record.kind in (_DENSE, _QUANT_ARRAY, _BIT_STRUCT, _PLACE) for record in _path(blob, member))


def _path(blob, member):
    """The records from a member up to a branch of the root."""
    path, at = [], member
    while at:
        path.append(_record(blob, at))
        at = path[-1].parent
    return path


def _element(record: _LevelRecord):
    scalar = _types.dtype(record.dtype)
    if record.element_rank == 0:
        return scalar
    if record.element_rank == 1:
        return _types.VectorType(record.rows, scalar)
    return _types.MatrixType(record.rows, record.columns, scalar)
