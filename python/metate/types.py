"""`mt.types`: every type a program names, whichever file defines it.

Values' types are value_types.py's, tree types tree_type.py's; this file only offers them together.
"""

from . import not_here as _not_here
from .tree_type import SNodeTreeBuilder, TreeType  # noqa: F401
from .value_types import *  # noqa: F403


def __getattr__(name: str):
    raise _not_here.error(__name__, name, _not_here.OF_TYPES)
