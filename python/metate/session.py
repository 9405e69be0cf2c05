"""A kernel or a graph of an opened module run by steps: `module.session("steps")`.

session = module.session("steps")
session.set_input("x", x)
session.set_input("turns", 3)
session.run()
session.get_output("x")  # the same array
"""

from __future__ import annotations

from typing import Any

from .errors import CallError_, RuntimeLookupError_

RESULT = "return"  # what get_output calls a kernel's result


class Session:
    """What a kernel's arguments are now, by name. Arrays and trees stay where they are: `run` works on the caller's own.

    Attributes:
        kernel: what it runs.
        names: of the kernel's arguments.
    """

    def __init__(self, kernel: Any):
        self.kernel = kernel
        self.names: tuple[str, ...] = tuple(kernel.names)
        self._values: dict[str, Any] = {}
        self._result: list[Any] = []  # of the last run; none before

    def set_input(self, name: str, value: Any) -> None:
        """Sets an argument, until it is set again. Raises RuntimeLookupError_ where the kernel has none of that name."""
        self._check(name)
        self._values[name] = value

    def run(self) -> None:
        """Calls the kernel with what is set. Raises CallError_ where an argument is not set, and as the call does."""
        missing = [name for name in self.names if name not in self._values]
        if missing:
            raise CallError_(f"kernel '{self.kernel.name}': argument '{missing[0]}' is not set: call set_input")
        self._result = [self.kernel(*(self._values[name] for name in self.names))]

    def get_output(self, name: str = RESULT) -> Any:
        """An argument that was set, or "return": what the kernel returned in the last run.

        Raises RuntimeLookupError_ where there is none.
        """
        if name == RESULT and name not in self.names:
            if not self._result:
                raise RuntimeLookupError_(f"kernel '{self.kernel.name}': it has no result yet: call run")
            return self._result[0]
        self._check(name)
        if name not in self._values:
            raise RuntimeLookupError_(f"kernel '{self.kernel.name}': argument '{name}' is not set")
        return self._values[name]

    def _check(self, name):
        if name not in self.names:
            known = ", ".join(self.names) or "none"
            raise RuntimeLookupError_(f"kernel '{self.kernel.name}' has no argument '{name}'; it has {known}")

    def __repr__(self) -> str:
        return f"<session of {self.kernel!r}>"
