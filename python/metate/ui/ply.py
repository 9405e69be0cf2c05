"""PLY files of points and meshes: `mt.tools.PLYWriter`. It takes arrays and knows neither fields nor kernels."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..errors import RuntimeValueError_

_TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4", "double": "f8",
    "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4", "float32": "f4",
    "float64": "f8",
}  # fmt: skip
_CORNERS = {"tri": 3, "quad": 4}


class PLYWriter:
    """Collects channels of vertices and faces, then writes them to a file.

    >>> import metate as mt, numpy as np
    >>> writer = mt.tools.PLYWriter(num_vertices=3, num_faces=1)
    >>> writer.add_vertex_pos(np.array([0, 1, 0]), np.array([0, 0, 1]), np.zeros(3))
    >>> writer.add_faces(np.array([0, 1, 2]))

    Args:
        num_vertices: at least 1.
        num_faces: how many `add_faces` gives.
        face_type: "tri" or "quad".
        comment: a line of the file's header.
    Every method raises RuntimeValueError_ for what it cannot take.
    """

    def __init__(self, num_vertices: int, num_faces: int = 0, face_type: str = "tri", comment: str = "created by PLYWriter"):
        if num_vertices < 1 or num_faces < 0:
            raise RuntimeValueError_(
                f"PLYWriter: expected num_vertices > 0 and num_faces >= 0, got {num_vertices} and {num_faces}"
            )
        if face_type not in _CORNERS:
            raise RuntimeValueError_(f"PLYWriter: face_type: expected 'tri' or 'quad', got {face_type!r}")
        self.num_vertices, self.num_faces = num_vertices, num_faces
        self.face_type, self.comment = face_type, comment
        self._vertices, self._faces = {}, {}
        self._indices = None

    def add_vertex_channel(self, key: str, data_type: str, data: Any) -> None:
        """A number for each vertex; data_type is PLY's: "float", "int", "uchar" and the like. Another of the key replaces it."""
        self._vertices[key] = _channel("add_vertex_channel", key, data_type, data, self.num_vertices)

    def add_face_channel(self, key: str, data_type: str, data: Any) -> None:
        """A number for each face; as `add_vertex_channel`."""
        self._faces[key] = _channel("add_face_channel", key, data_type, data, self.num_faces)

    def add_vertex_pos(self, x: Any, y: Any, z: Any) -> None:
        """The channels x, y and z."""
        self._add_floats(x=x, y=y, z=z)

    def add_vertex_normal(self, nx: Any, ny: Any, nz: Any) -> None:
        """The channels nx, ny and nz."""
        self._add_floats(nx=nx, ny=ny, nz=nz)

    def add_vertex_vel(self, vx: Any, vy: Any, vz: Any) -> None:
        """The channels vx, vy and vz."""
        self._add_floats(vx=vx, vy=vy, vz=vz)

    def add_vertex_color(self, r: Any, g: Any, b: Any) -> None:
        """The channels red, green and blue, from 0 to 1."""
        self._add_floats(red=r, green=g, blue=b)

    def add_vertex_alpha(self, alpha: Any) -> None:
        """The channel Alpha, from 0 to 1."""
        self._add_floats(Alpha=alpha)

    def add_vertex_rgba(self, r: Any, g: Any, b: Any, a: Any) -> None:
        """The channels red, green, blue and Alpha."""
        self._add_floats(red=r, green=g, blue=b, Alpha=a)

    def add_vertex_id(self) -> None:
        """The channel id: 0, 1, 2, ..."""
        self.add_vertex_channel("id", "int", np.arange(self.num_vertices))

    def add_vertex_piece(self, piece: Any) -> None:
        """The channel piece: of which part a vertex is."""
        self.add_vertex_channel("piece", "int", piece)

    def add_faces(self, indices: Any) -> None:
        """The vertices of each face: 3 or 4 numbers for each."""
        corners = _CORNERS[self.face_type]
        found = np.asarray(indices)
        if self.num_faces == 0 or found.size != self.num_faces * corners:
            raise RuntimeValueError_(
                f"add_faces: expected {corners} indices for each of {self.num_faces} faces, got {found.size}"
            )
        found = found.reshape(-1, corners).astype("i4")
        if found.min() < 0 or found.max() >= self.num_vertices:
            raise RuntimeValueError_(
                f"add_faces: expected indices from 0 to {self.num_vertices - 1}, got {found.min()} to {found.max()}"
            )
        self._indices = found

    def add_face_id(self) -> None:
        """The faces' channel id: 0, 1, 2, ..."""
        self.add_face_channel("id", "int", np.arange(self.num_faces))

    def add_face_piece(self, piece: Any) -> None:
        """The faces' channel piece."""
        self.add_face_channel("piece", "int", piece)

    def export(self, path: str) -> None:
        """Writes a binary file."""
        tables = self._tables()
        with open(path, "wb") as file:
            file.write(self._header("binary_little_endian").encode())
            for rows in tables:
                file.write(rows.tobytes())

    def export_ascii(self, path: str) -> None:
        """Writes a file of text."""
        tables = self._tables()
        with open(path, "w") as file:
            file.write(self._header("ascii"))
            for rows in tables:
                for row in rows.tolist():
                    cells = (part for cell in row for part in np.ravel(cell).tolist())
                    file.write(" ".join(map(str, cells)) + " \n")

    def export_frame(self, series_num: int, path: str) -> None:
        """Writes ``name_000042.ply`` for frame 42 and the path ``name`` or ``name.ply``; binary."""
        self.export(_frame(path, series_num))

    def export_frame_ascii(self, series_num: int, path: str) -> None:
        """As `export_frame`, of text."""
        self.export_ascii(_frame(path, series_num))

    def _add_floats(self, **channels):
        for key, data in channels.items():
            self.add_vertex_channel(key, "float", data)

    def _tables(self):
        """Vertices and faces as arrays of records, laid out as the file has them."""
        missing = [key for key in "xyz" if key not in self._vertices]
        if missing:
            raise RuntimeValueError_(f"export: vertices have no channel {', '.join(missing)}: call add_vertex_pos")
        if self.num_faces and self._indices is None:
            raise RuntimeValueError_(f"export: expected the indices of {self.num_faces} faces: call add_faces")
        tables = [_records({key: data for key, (_, data) in self._vertices.items()}, self.num_vertices)]
        if self.num_faces:
            corners = np.full(self.num_faces, _CORNERS[self.face_type], "u1")
            faces = {"corners": corners, "indices": self._indices, **{key: data for key, (_, data) in self._faces.items()}}
            tables.append(_records(faces, self.num_faces))
        return tables

    def _header(self, form):
        lines = ["ply", f"format {form} 1.0", f"comment {self.comment}", f"element vertex {self.num_vertices}"]
        lines += [f"property {kind} {key}" for key, (kind, _) in self._vertices.items()]
        if self.num_faces:
            lines += [f"element face {self.num_faces}", "property list uchar int vertex_indices"]
            lines += [f"property {kind} {key}" for key, (kind, _) in self._faces.items()]
        return "\n".join([*lines, "end_header"]) + "\n"


def _channel(what, key, data_type, data, count):
    if data_type not in _TYPES:
        raise RuntimeValueError_(f"{what}: type of '{key}': expected one of {', '.join(_TYPES)}, got {data_type!r}")
    found = np.asarray(data).reshape(-1)
    if found.size != count or count == 0:
        raise RuntimeValueError_(f"{what}: '{key}': expected {count} numbers, got {found.size}")
    return data_type, found.astype(f"<{_TYPES[data_type]}")


def _records(columns, count):
    records = np.zeros(count, [(key, data.dtype, data.shape[1:]) for key, data in columns.items()])
    for key, data in columns.items():
        records[key] = data
    return records


def _frame(path, number):
    stem, extension = os.path.splitext(path)
    return f"{stem if extension == '.ply' else path}_{number:06d}.ply"
