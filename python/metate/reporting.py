"""What is kept of a kernel's compilation for its report (report.py); loads neither compiler nor reports before there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import context as _context
from .errors import CompilationError
from .frontend.requirements import HiddenTree
from .frontend.specialize import TreeParameter

if TYPE_CHECKING:
    from .instances import Compiled
    from .report import Compilation


def target_of(options) -> str | None:
    """The target of which a context keeps reports; None: it keeps none."""
    if not options.reports or options.arch == _context.interp:
        return None
    return options.target if options.reports is True else options.reports


def explained(kernel: Any, instance: Compiled, module, target: str, choices, front_end_ms: float) -> Compilation:
    """The compilation of a module for any target; the module is used up. Raises CompilationError."""
    from metate_native import _compiler

    told, choices.targets = _compiler.Report(), [target]
    try:
        _compiler.explain(module, choices, told)
    except _compiler.CompileError as error:
        raise CompilationError(f"{kernel.__name__}: {error}", file=kernel.source.file, line=kernel.source.first_line) from None
    return compilation_of(kernel, instance, target, told, front_end_ms)


def compilation_of(kernel: Any, instance: Compiled, target: str, told: Any, front_end_ms: float) -> Compilation:
    """told: the _compiler.Report that the compiler filled."""
    from .report import Compilation

    source, signature = kernel.source, kernel.signature_of(instance)
    trees = [(name, one.type) for name, one in instance.parameters.items() if isinstance(one, TreeParameter)]
    trees += [(one.name, one.type) for one in instance.requirements.hidden if isinstance(one, HiddenTree)]
    return Compilation(kernel.__name__, signature, source.file, source.first_line, target, front_end_ms, told, trees)
