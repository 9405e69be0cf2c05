"""Compiled kernels in the cache: what one is asked for by, what an entry holds, how one is used again.

The key is a digest of all that compiling could read (description.py), of the types that the kernel is specialised on and of the
options that code depends on. An entry holds the module, as ahead-of-time modules are, and what the front end found the
code to require of arguments (frontend/requirements.py): paths from arguments, which are followed anew, and numbers of
objects that the description met. What compiling warned of stands there, too, and is said again. A kernel with texts that name
lines of its source (assertions, debug mode, warnings) has where it stands in its key as well; others stay cached when lines move.
"""

from __future__ import annotations

import ast
import struct
from collections.abc import Callable, Sequence
from typing import Any

from ..frontend import keys
from ..frontend.providers import PROVIDERS
from ..frontend.requirements import CapturedField, Guard, HiddenPartner, HiddenTree, HiddenValue, Path, Requirements
from ..frontend.specialize import StaticParameter
from ..record import Record
from .description import describe
from .digest import blake2b
from .folder import Folder
from .identity import is_still_there, loaded_libraries
from .writer import Undescribable

_TABLES = struct.Struct("<32x10I")  # metate_descriptor (abi/metate/abi/module.h): offset and count of types, kernels, ..., texts
_QUESTIONS = {"Has": keys.Has, "HasPartner": keys.HasPartner, "Hides": keys.Hides, "Whole": keys.Whole}


class Subject(Record):
    """What is compiled.

    Attributes:
        sources: of a kernel its own, of a graph those of its kernels.
        texts: of a graph what it runs.
        places: file and line of what stands in no source.
        words: of a graph: makes what gives launches their random numbers, of numbers of runs (graph_kernel.Words).
    """

    sources: list[Any]
    texts: Sequence[str] = ()
    places: Sequence[tuple[str, int]] = ()
    words: Callable[[tuple[int, ...]], Any] | None = None


class Question:
    """One instance of a kernel, as the cache is asked for it; made before it is compiled.

    Args:
        folder: the context's.
        subject: what is compiled.
        parameters: what it is specialised on.
        arguments: of the call, one for each parameter.
        others: texts of all else that the code depends on.
    Raises Undescribable.
    """

    def __init__(self, folder: Folder, subject: Subject, parameters: dict, arguments, others: list[str]):
        self._folder, self._subject, self._arguments, self._names = folder, subject, arguments, list(parameters)
        described = [_described(one) for one in parameters.values()]
        self._description = describe(subject.sources, described, [*others, *subject.texts], subject.places)

    def find(self) -> tuple[bytes, Requirements] | None:
        """A module with the kernel, and what it requires; None where it is to be compiled."""
        for key in (self._key(False), self._key(True)):
            content = self._folder.read(key)
            found = content and self._decoded(content)
            if found:
                return found
        return None

    def keep(self, module: bytes, descriptor: bytes, requirements: Requirements) -> str:
        """Stores what was compiled, and says so, or why it cannot be.

        Args:
            module: the bytes of a module file with the kernel.
            descriptor: of the module, which holds its texts.
        """
        try:
            head = repr((loaded_libraries(), *self._encoded(requirements)))
        except Undescribable as error:
            return f"not cached: {error}"
        content = len(head.encode()).to_bytes(8, "little") + head.encode() + module
        if not self._folder.write(self._key(_has_places(descriptor) or bool(requirements.warnings)), content):
            return f"not cached: {self._folder.problem}"
        return "compiled and cached"

    def _key(self, with_places):
        if not with_places:
            return self._description.digest
        both = self._description.digest + self._description.places
        return blake2b(both.encode(), digest_size=20).hexdigest()

    # ---- requirements as text

    def _encoded(self, requirements):
        """(guards, pairs of one object, fields, hidden arguments, warnings, before, brief extent, scatters), of literals."""
        if requirements.said:
            raise Undescribable(f"compiling it says something each time: {requirements.said[0]}")
        hidden = []
        for one in requirements.hidden:
            if isinstance(one, HiddenTree):
                hidden.append(("tree", one.name))
            elif isinstance(one, HiddenPartner):
                hidden.append(("partner", one.name, one.argument, one.kind, one.part))
            else:
                names = [name for name, provider in PROVIDERS.items() if provider is one.provider]
                hidden.append(("value", one.name, one.dtype.name, names[0] if names else one.provider.runs))
        self._check_guards(requirements.guards)
        return (
            [self._path(guard.path) for guard in requirements.guards],
            [(self._path(one), self._path(other)) for one, other in requirements.same],
            [(self._path(field.path), field.slot) for field in requirements.fields],
            hidden,
            requirements.warnings,
            requirements.before,
            requirements.brief_extent,
            requirements.scatters,
        )

    def _path(self, path):
        steps = []
        for kind, name in path.steps:
            if kind == "asked":
                name = (type(name).__name__, getattr(name, "name", None))
            if not _is_literal(name):
                raise Undescribable(f"it reads an element under the key {name!r}")
            steps.append((kind, name))
        if path.root is not None:
            return (path.root, None, steps)
        number = self._description.number_of(path.fixed)
        if number is None:
            raise Undescribable("it uses a field that its source does not name")
        return (None, number, steps)

    def _check_guards(self, guards):
        """What was read through arguments must be in the description."""
        for guard in guards:
            path = guard.path
            if not path.steps:
                continue
            (kind, name), above = path.steps[-1], Path(path.root, path.steps[:-1], path.fixed)
            owner = above.find(self._arguments)
            if kind == "asked":
                kind, name = "attribute", getattr(name, "name", None)
                if name is None and self._description.number_of(owner) is not None:
                    continue
            if not self._description.knows(owner, kind, name):
                raise Undescribable(f"{path.text(self._names)} is read, but no source names it")

    def _decoded(self, content) -> tuple[bytes, Requirements] | None:
        """What `keep` wrote, for these arguments; None where it does not fit them or the compiler."""
        try:
            size = int.from_bytes(content[:8], "little")
            libraries, guards, same, fields, hidden, told, before, *numbers = ast.literal_eval(content[8 : 8 + size].decode())
            if not all(map(is_still_there, libraries)):
                return None
            return content[8 + size :], self._requirements(guards, same, fields, hidden, told, before, *numbers)
        except (ValueError, SyntaxError, TypeError, KeyError, LookupError, AttributeError):
            return None

    def _requirements(self, guards, same, fields, hidden, told, before, brief, scatters):
        from ..dtypes import dtype

        made = Requirements()
        made.warnings += told
        made.before += before
        made.brief_extent, made.scatters = brief, scatters
        for path in map(self._path_of, guards):
            made.guards.append(Guard(path, keys.key_of(path.find(self._arguments))))
        for one, other in same:
            made.require_same(self._path_of(one), self._path_of(other))
        types: dict[int, Any] = {}
        for path, slot in fields:
            path = self._path_of(path)
            place = keys.place_of(path.find(self._arguments))
            types[slot] = place[0] if isinstance(place, tuple) else place.tree
            made.fields.append(CapturedField(path, place, slot))
        for slot, (kind, name, *rest) in enumerate(hidden):
            if kind == "tree":
                made.hidden.append(HiddenTree(name, types[slot]))
            elif kind == "partner":
                made.hidden.append(HiddenPartner(name, *rest))
            else:
                made.hidden.append(HiddenValue(name, dtype(rest[0]), self._provider_of(rest[1])))
        return made

    def _provider_of(self, literal):
        if isinstance(literal, str) or self._subject.words is None:
            return PROVIDERS[literal]
        return self._subject.words(literal)

    def _path_of(self, literal):
        root, number, steps = literal
        asked = lambda question: _QUESTIONS[question[0]](*(question[1:] if question[1] is not None else ()))
        steps = tuple((kind, asked(name) if kind == "asked" else name) for kind, name in steps)
        return Path(root, steps, None if number is None else self._description.objects[number])


def _has_places(descriptor) -> bool:
    """Are there texts with places (metate_text) besides the one that says where each kernel is defined?"""
    _, _, _, kernels, *_, texts = _TABLES.unpack_from(descriptor)
    return texts > kernels


def _described(parameter) -> Any:
    """A parameter of a specialisation as something that descriptions know."""
    if isinstance(parameter, StaticParameter):
        return "static", parameter.value
    return type(parameter).__name__, tuple(vars(parameter).items())


def _is_literal(name) -> bool:
    if isinstance(name, tuple):
        return all(map(_is_literal, name))
    return name is None or (type(name) in (bool, int, str, bytes, float) and name == name)
