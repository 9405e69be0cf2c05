"""`mt.types.compound_types`: types made of scalar types, under the name that Taichi has for them."""

from .types import matrix, struct, vector

__all__ = ["matrix", "struct", "vector"]
