"""The source of a kernel, whose argument packs are taken apart."""

from __future__ import annotations

import functools

from ..argument_packs import ArgPackType, flat_parameters
from ..parameters import Parameter
from .source import SourceFunction


class KernelSource(SourceFunction):
    """The source of a kernel: of an argument pack `p` its parameters are the members, `p.a`.

    Attributes:
        part: the number of the part of the kernel that it stands for (parts.py); None: all of it.
    """

    part: int | None = None

    @functools.cached_property
    def parameters(self) -> dict[str, Parameter]:
        return flat_parameters(self.declared)

    @functools.cached_property
    def packs(self) -> dict[str, ArgPackType]:
        """Types of the parameters that are argument packs."""
        annotations = {name: parameter.annotation for name, parameter in self.declared.items()}
        return {name: one for name, one in annotations.items() if isinstance(one, ArgPackType)}
