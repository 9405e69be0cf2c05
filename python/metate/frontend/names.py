"""Names and constants: what is in scope, what the kernel finds outside."""

from __future__ import annotations

from .. import intrinsics
from . import handles
from .diagnostics import suggestion
from .walk import Walk

_PYTHON_NAMES = (
    "range",
    "print",
    "abs",
    "min",
    "max",
    "round",
    "int",
    "float",
    "bool",
    "len",
    "pow",
    "enumerate",
    "zip",
    "True",
    "False",
)


class Names:
    """Looks names up."""

    def __init__(self, walk: Walk):
        self.walk = walk

    def expr_Constant(self, node):
        if node.value is Ellipsis or isinstance(node.value, (complex, bytes)):
            raise self.walk.error("syntax", f"kernels have no {type(node.value).__name__} constants", node)
        return node.value

    def expr_Name(self, node):
        binding = self.walk.frame.scope.lookup(node.id)
        if isinstance(binding, handles.Local):
            return binding.reference
        if isinstance(binding, handles.Constant):
            return binding.value
        reason = self.walk.frame.scope.why_absent(node.id)
        if reason:
            raise self.walk.error("name", f"'{node.id}' may have no value here: {reason}", node, "assign it before")
        found, value = self.walk.frame.source.lookup(node.id)
        if found:
            self.walk.captures.outside(value)
            return value
        hint = suggestion(node.id, self.name_candidates())
        raise self.walk.error("name", f"name '{node.id}' is not defined", node, hint)

    def name_candidates(self):
        """Names that may be meant by a misspelled one: those in scope, and the language's as they are spelled here."""
        outer = self.walk.frame.source.outer_values()
        modules = [name for name, value in outer.items() if getattr(value, "__name__", None) == "metate"]
        functions = [f"{module}.{name}" for module in modules for name in intrinsics.__all__]
        return [*self.walk.frame.scope.visible(), *outer, *functions, *_PYTHON_NAMES]
