"""Pictures in files: `imread`, `imwrite`, `imresize`.

A picture is (width, height[, channels]), y up, as fields that hold one are; files, which have rows
from the top, are turned when read and written. Formats are Pillow's: PNG, JPEG, GIF, BMP, ...
"""

from __future__ import annotations

import os

import numpy as np

from ..errors import RuntimeIOError_, RuntimeValueError_
from . import arrays, libraries
from .arrays import Path, Values


def imread(filename: Path, channels: int = 0) -> np.ndarray:
    """Reads a picture: u8 of shape (width, height, channels), y up.

    Args:
        filename: a path.
        channels: 1, 3 or 4 converts to grey, RGB or RGBA; 0 takes what the file has.
    Raises RuntimeIOError_, RuntimeValueError_, RuntimeImportError_ (no Pillow).
    """
    modes = {0: None, 1: "L", 3: "RGB", 4: "RGBA"}
    if channels not in modes:
        raise RuntimeValueError_(f"imread: channels: expected 0, 1, 3 or 4, got {channels!r}")
    library = libraries.pillow("imread")
    try:
        with library.open(os.fspath(filename)) as file:
            mode = modes[channels] or {"1": "L", "L": "L", "RGBA": "RGBA", "LA": "RGBA"}.get(file.mode)
            rows = np.asarray(file.convert(mode or ("RGBA" if "transparency" in file.info else "RGB")))
    except OSError as error:
        raise RuntimeIOError_(f"imread: {filename}: expected a picture, got: {error}") from None
    if rows.ndim == 2:
        rows = rows[..., None]
    return np.ascontiguousarray(rows.swapaxes(0, 1)[:, ::-1])


def imwrite(img: Values, filename: Path) -> None:
    """Writes a picture; the file's name says the format.

    Args:
        img: a field or an array of shape (width, height) or (width, height, 1 to 4), y up: floats from 0 to 1,
            unsigned integers over their range, or booleans.
        filename: a path whose folder exists.
    Raises RuntimeTypeError_, RuntimeValueError_, RuntimeIOError_, RuntimeImportError_ (no Pillow).
    """
    library = libraries.pillow("imwrite")
    picture = to_pillow(library, arrays.picture_bytes("imwrite: img", img))
    name = os.fspath(filename)
    try:
        if name.lower().endswith((".jpg", ".jpeg")) and picture.mode == "RGBA":
            picture = picture.convert("RGB")
        picture.save(name)
    except ValueError:
        raise RuntimeValueError_(f"imwrite: filename: expected an ending such as .png or .jpg, got {name!r}") from None
    except OSError as error:
        raise RuntimeIOError_(f"imwrite: {name}: expected a file that can be written, got: {error}") from None


def imresize(img: Values, w: int, h: int | None = None) -> np.ndarray:
    """A picture of another size, each pixel being the nearest one of `img`.

    Args:
        img: a field or an array of shape (width, height[, channels]) of any dtype.
        w, h: the new width and height; without `h` both are `w`.
    """
    array = arrays.to_numpy("imresize: img", img)
    h = w if h is None else h
    if array.ndim not in (2, 3) or not all(hasattr(side, "__index__") and side > 0 for side in (w, h)):
        raise RuntimeValueError_(f"imresize: expected a picture and a size of at least 1, got shape {array.shape} and {(w, h)}")
    if array.shape[:2] == (w, h):
        return array
    columns, rows = (np.arange(new) * old // new for new, old in zip((w, h), array.shape))
    return array[columns[:, None], rows]


def to_pillow(library, image: np.ndarray):
    """A picture of u8 (width, height, channels) as Pillow's, rows from the top."""
    if image.shape[2] == 2:
        image = np.concatenate([image, np.zeros_like(image[..., :1])], axis=-1)
    rows = np.ascontiguousarray(image[:, ::-1].swapaxes(0, 1))
    return library.fromarray(rows[..., 0] if rows.shape[2] == 1 else rows)
