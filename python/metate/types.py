"""`mt.types`: every type a program names, whichever file defines it.

Values' types are value_types.py's, tree types tree_type.py's; this file only offers them together.
"""

from .tree_type import SNodeTreeBuilder, TreeType  # noqa: F401
from .value_types import *  # noqa: F403
