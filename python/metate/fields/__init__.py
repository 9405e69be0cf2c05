"""Fields: Taichi's named arrays as views of trees' members.

A field owns no memory and no type of its own: it names a member of a tree instance (or one member per component)
and where its indices begin. Nothing here knows the compiler; the runtime is loaded when a field is first used.
"""

from .bitpacked import BitpackedFields
from .builder import FieldsBuilder, SNode, SNodeTree, root
from .field import Field, MatrixField, ScalarField
from .make import field, matrix_field, struct_field, vector_field
from .placement import AOS, SOA, Layout, Placement
from .struct_field import StructField

__all__ = [
    "AOS",
    "SOA",
    "BitpackedFields",
    "Field",
    "FieldsBuilder",
    "Layout",
    "MatrixField",
    "Placement",
    "SNode",
    "SNodeTree",
    "ScalarField",
    "StructField",
    "field",
    "matrix_field",
    "root",
    "struct_field",
    "vector_field",
]  # fmt: skip
