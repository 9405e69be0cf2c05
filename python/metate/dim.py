"""`mt.Dim`: extents of arrays that have a name, with bounds that every call checks."""

from __future__ import annotations

from .record import Record

MOST = 2**31 - 1  # as large as an extent may be that nothing is said of
LARGEST = 2**62 - 1  # of one that is bounded


class Dim(Record):
    """A named extent: ``mt.types.ndarray(mt.f32, shape=(mt.Dim("n", min=1, max=4096, multiple=8), 3))``.

    All dimensions of a kernel's arrays that are the same Dim have the same extent; a kernel is compiled once for all of them.

    Attributes:
        name: by which errors, modules and headers call it.
        min: the least extent.
        max: the largest one; without it memory that is planned has no bound. Beyond 2^31 - 1 the kernel has the extent, and
            variables of loops over it, as i64.
        multiple: what each extent is a multiple of.
    Raises ValueError, TypeError.
    """

    name: str
    min: int = 0
    max: int = MOST
    multiple: int = 1

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name.isidentifier() or not self.name.isascii():
            raise ValueError(f"Dim: name: expected an identifier, got {self.name!r}")
        for bound in ("min", "max", "multiple"):
            value = getattr(self, bound)
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                raise TypeError(f"Dim '{self.name}': {bound}: expected an integer, got {value!r}")
            self.__dict__[bound] = value.__index__()
        if not 1 <= self.multiple <= MOST:
            raise ValueError(f"Dim '{self.name}': multiple: expected 1 to {MOST}, got {self.multiple}")
        least = -(-self.min // self.multiple) * self.multiple
        if not 0 <= self.min <= least <= self.max <= LARGEST:
            what = f"expected 0 <= min <= max < 2**62 with a multiple of {self.multiple} between them"
            raise ValueError(f"Dim '{self.name}': {what}, got min={self.min}, max={self.max}")

    @property
    def is_bounded(self) -> bool:
        """Is there a largest extent that memory can be planned for?"""
        return self.max != MOST

    @property
    def bounds(self) -> str:
        """As signatures show them: ``1..4096 by 8``."""
        return f"{self.min}..{self.max if self.is_bounded else ''}" + (f" by {self.multiple}" if self.multiple > 1 else "")

    def includes(self, other: int | Dim) -> bool:
        """Are all extents of the other one, or the number, extents of this one?"""
        if isinstance(other, Dim):
            return self.min <= other.min and other.max <= self.max and other.multiple % self.multiple == 0
        return self.min <= other <= self.max and other % self.multiple == 0


Extent = int | Dim | None  # of one dimension; None: any


def checked_shape(shape: tuple, ndim: int | None, what: str) -> tuple[Extent, ...] | None:
    """The shape that an annotation asks for; None where it leaves all dimensions open. Raises TypeError, ValueError."""
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if ndim not in (None, len(shape)):
        raise ValueError(f"{what}: shape: expected {ndim} dimensions, got {shape!r}")
    dims: dict[str, Dim] = {}
    found: list[Extent] = []
    for extent in shape:
        if isinstance(extent, Dim):
            if dims.setdefault(extent.name, extent) != extent:
                raise ValueError(f"{what}: shape: '{extent.name}' means two things: {dims[extent.name]!r} and {extent!r}")
        elif extent is not None:
            if isinstance(extent, bool) or not hasattr(extent, "__index__"):
                raise TypeError(f"{what}: shape: expected integers, Dims and None, got {extent!r}")
            extent = extent.__index__()
            if not 0 <= extent <= LARGEST:
                raise ValueError(f"{what}: shape: expected extents from 0 to {LARGEST}, got {extent}")
        found.append(extent)
    return tuple(found) if any(extent is not None for extent in found) else None


def shape_text(shape: tuple[Extent, ...]) -> str:
    """``n, 3`` as signatures show it."""
    return ", ".join(":" if extent is None else extent.name if isinstance(extent, Dim) else str(extent) for extent in shape)


def native_shape(shape: tuple[Extent, ...] | None) -> list:
    """As the compiler's KernelBuilder takes it."""
    plain = lambda extent: -1 if extent is None else extent
    return [(e.name, e.min, e.max, e.multiple) if isinstance(e, Dim) else plain(e) for e in shape or ()]
