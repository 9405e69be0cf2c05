"""Kernels whose writes have numbers, and derivatives that look at these: what Tape(validation=True) calls.

They are kernels of the same source with code of their own. Of each scalar that they use there is the number of its last write
(write_numbers.py); a derivative whose call is older than what it would take stops. Nothing of it is in the cache of compiled
objects: lines of writes are known where the source was walked.
"""

from __future__ import annotations

import weakref
from typing import Any

from .active_cells import cells_of
from .array_object import NDArray
from .derivative import Derivative
from .errors import AssertionError_
from .frontend.numbering import NUMBERS
from .frontend.specialize import ArrayParameter
from .kernel import Kernel
from .remembered_call import Asked, CallNumbers


class _Numbered(Kernel):
    """What both have in common.

    Attributes:
        fields: those that its instances use.
    """

    _kind: str | None = None

    def _begin(self, source, own):
        super()._begin(source, own)
        self.fields: weakref.WeakSet[Any] = weakref.WeakSet()

    def interpreted_stage(self, options) -> str:
        """Not the import stage, at which nothing has a number."""
        return "simplify" if options.interp_stage == "import" else options.interp_stage

    def _specialisation(self, options, arguments):
        found = super()._specialisation(options, arguments)
        for (name, one), argument in zip(list(found.items()), arguments):
            if isinstance(one, ArrayParameter) and isinstance(argument, NDArray):
                found[name] = one._replace(partners=(*one.partners, (NUMBERS, True)))
        return found

    def _target(self, home, may_alias, arguments, **more):
        """As of kernels; arrays of others, whose writes have no numbers, are something else."""
        kernel, statics, keys, guards, hidden, brief = super()._target(home, may_alias, arguments, **more)
        shape = self._shape
        if shape is not None:
            arguments = shape.gathered(arguments)
        starts = range(len(arguments)) if shape is None else shape.starts
        parameters = self._specialisation(home.options, arguments)
        for start, one in zip(starts, parameters.values()):
            if isinstance(one, ArrayParameter):
                guards += ((start, (), (_is_numbered if NUMBERS in dict(one.partners) else _is_not_numbered,)),)
        instance = self._instance_for(home, may_alias, parameters, arguments)
        for captured in instance.requirements.fields:
            found = captured.path.find(arguments)
            self.fields.add(getattr(found, "_field", found))  # of a component its field
        self._resolve(instance, arguments)
        return kernel, statics, keys, guards, hidden, brief

    def _resolve(self, instance, arguments):
        """Tells what gives the numbers of launches with these arguments which trees are asked for their cells."""
        requirements = instance.requirements
        found = [one.provider for one in requirements.hidden if isinstance(getattr(one, "provider", None), CallNumbers)]
        if not found or found[0].made is None:
            return
        trees = dict(zip(self.source.parameters, arguments))
        trees |= {one.name: tree for one, tree in zip(requirements.hidden, requirements.trees(arguments)) if tree is not None}
        made = found[0].made
        made.asked = [
            Asked(weakref.ref(trees[name]), path, shown, place)
            for name, path, shown, place in found[0].asked
            if self._is_asked(instance, name)
        ]
        made.look = self._look(made.asked)

    def _is_asked(self, instance, name) -> bool:
        return True

    def _look(self, asked):
        return None

    def _question(self, home, instance, parameters, arguments):
        instance.cache = "not cached: its writes have numbers"

    def _write(self, module, options, parameters, may_alias, given):
        numbers = CallNumbers()
        found = self._write_walked(module, options, parameters, may_alias, given, self._kind, numbers)
        numbers.sites, numbers.asked = module.write_sites(), module.asked_cells()
        return found


class NumberedKernel(_Numbered):
    """A kernel whose writes note their numbers."""

    is_brief = False

    def __init__(self, primal: Kernel):
        self.__name__, self.__qualname__, self.__module__ = primal.__name__, primal.__qualname__, primal.__module__
        self.__doc__ = f"{primal.__name__}, whose writes have numbers: see metate.numbered."
        self._begin(primal.source, primal.own_options)


class CheckedDerivative(_Numbered, Derivative):
    """A derivative in reverse mode that stops where it would take a value that was written after its call."""

    _kind = "grad"

    def __init__(self, derivative: Derivative):
        super().__init__(derivative.primal, "grad")

    def _places_of(self, thing, name, member):
        """The numbers, too: what is put back was written when these were."""
        places = super()._places_of(thing, name, member)
        numbers = getattr(thing, NUMBERS, None)
        return places if numbers is None else places + super()._places_of(numbers, name, member)

    def _is_asked(self, instance, name):
        """What the derivative does not ask any more is nobody's business."""
        return any(one["name"] == name and one["access"] for one in instance.kernel.parameters)

    def _look(self, asked):
        def look(call):
            for one in asked:
                tree, known = one.tree(), call.cells.get(one.key)
                if known is None or tree.topology_version == known[0]:
                    continue
                if cells_of(tree, one.path) != known[1]:
                    raise CellsChanged(one, known[0])

        return look


class CellsChanged(AssertionError_):
    """Other cells are active than a call found.

    Attributes:
        asked: where it asked for them; version: of the tree's topology then.
    """

    def __init__(self, asked: Asked, version: int):
        super().__init__(f"other cells of '{asked.shown}' are active now")
        self.asked, self.version = asked, version


Kernel.numbered_class = NumberedKernel
Derivative.numbered_class = CheckedDerivative


def _is_numbered(argument) -> bool:
    return isinstance(argument, NDArray)


def _is_not_numbered(argument) -> bool:
    return not isinstance(argument, NDArray)
