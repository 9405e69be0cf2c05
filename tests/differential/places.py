"""Elements of arrays and cells of trees: where a statement may read and write without a race.

In a task each array or member is used in one way only, which `claim` remembers: read anywhere, written by
every iteration in a place of its own, or changed by one commutative atomic operation.
"""

from __future__ import annotations

import math

from . import numbers as n
from . import table
from .expressions import Source
from .program import Expr
from .program import holes as holes_of
from .rules import Type
from .statements import Place

I32 = Type("i32")


def tuple_of(holes) -> str:
    """The twin's coordinates of a cell."""
    return f"({holes},)" if holes else "()"


def moved(text, by) -> str:
    """An index plus a constant."""
    return text if not by else f"({text} {'+' if by > 0 else '-'} {abs(by)})"


class Task:
    """What is known of the loop being written: how each array or member is used in it, which trees it grows."""

    def __init__(self, number, level, extents):
        self.number = number
        self.level = level
        self.extents = tuple(extents)
        self.coordinates: list[Source] = []
        self.first = ()  # the least coordinates, where they are not zeros
        self.numbers = None  # extents that make one number of its coordinates; None: it counts itself
        self.is_single = False  # one iteration, which runs in order with what is around it
        self.modes: dict = {}
        self.grown: set[str] = set()
        self.asked: set[str] = set()
        self.dropped: set[str] = set()  # trees that lose cells, or grow at the ends of lists: nothing else may look at them
        self.still: set = set()  # (tree, member) of whose inactive cells stores leave as they are
        self.appended: dict[str, str] = {}  # of trees whose lists are appended to: is each list an iteration's own?

    def all_used(self) -> set[str]:
        """Trees that something was said of besides their cells' values."""
        return self.grown | self.asked | self.dropped


class Places:
    """Methods of `generate.Generator`."""

    # -- elements and cells that can be read -------------------------------------------------------------------------

    def claim(self, key, mode) -> bool:
        """May this array or member be used so in the current task? Serial statements may do anything."""
        if self.is_serial:
            return True
        if key[0] in self.task.dropped:
            return False
        return self.task.modes.setdefault(key, mode) == mode

    def readers(self):
        """Makers of sources for the scope: elements of arrays and cells, at random places."""
        found = []
        for array in (*self.inputs, *self.mutable):
            found.append((Type(array.scalar, array.shape), lambda array=array: self.element(array)))
        for name, tree in self.trees.items():
            for member in self.types[tree.type].members.values():
                found += [(member.type, lambda name=name, member=member: self.cell(name, member))] * 2
        return found

    def element(self, array) -> Source | None:
        if array.name[0] == "y" and not self.claim(array.name, "read"):
            return self._again(self.own_element(array, Type(array.scalar, array.shape)))
        indices = [self.index(extent) for extent in array.extents]
        holes = ", ".join(f"{{{k}}}" for k in range(len(indices)))
        type_ = Type(array.scalar, array.shape)
        counts = (("element", type_.label),)
        signless = array.name[0] == "y" and n.is_float(array.scalar)
        return Source(type_, f"{array.name}[{holes}]", f"{array.name}[{holes},]", indices, signless, counts=counts)

    @staticmethod
    def _again(place: Place | None) -> Source | None:
        """The iteration's own place, which it may have written before."""
        if place is None:
            return None
        return Source(place.type, place.kernel, place.twin_read, list(place.indices), n.is_float(place.type.scalar))

    def coordinates(self, member):
        """Indices of a cell: near the loop's own, or anywhere; outside only where that has a meaning."""
        rng, task = self.rng, self.task
        found = []
        loop = task.coordinates if task and rng.random() < 0.8 else []
        for k, extent in enumerate(member.shape):
            if k < len(loop) and rng.random() < 0.9:
                found.append(self.near(loop[k], extent, member.has_outside))
            elif member.has_outside and rng.random() < 0.3:
                inner = self._no_literal(self.leaf(I32))
                found.append(Expr(I32, f"({{0}} % {extent + 5} - 2)", f"({{0}} % {extent + 5} - 2)", [inner]))
            else:
                found.append(self.index(extent))
        return found

    def near(self, source: Source, extent, has_outside) -> Expr:
        """A neighbour at a constant offset, held inside where there is nothing outside."""
        offset = self.rng.choice((0, 0, 0, 1, -1, 1, -1, 2, -2, 3, -5))
        own = self.read(source)
        text = "{0}" if not offset else f"({{0}} {'+' if offset > 0 else '-'} {abs(offset)})"
        low, high = source.index[0] + offset, source.index[1] + offset
        if has_outside or (0 <= low and high < extent):
            return Expr(I32, text, text, [own])
        if self.rng.random() < 0.5:
            return Expr(I32, f"({text} % {extent})", f"({text} % {extent})", [own])
        kernel = f"mt.max(mt.min({text}, {extent - 1}), 0)"
        return Expr(I32, kernel, f"max(min({text}, {extent - 1}), 0)", [own])

    def cell(self, tree, member) -> Source | None:
        if (tree, member.name) in self.shuffled or tree in self.unread:
            return None
        if not self.claim((tree, member.used_as), "read"):
            indices = self._own_coordinates(tree, member, False)
            return self._again(indices and self.place_of(tree, member, indices))
        indices = self.coordinates(member)
        holes = ", ".join(f"{{{k}}}" for k in range(len(indices)))
        kernel = self.spelled(tree, member, holes)
        counts = (("cell", member.type.label), *((("load of quantised", member.kind),) if member.kind else ()))
        twin = f'{tree}.get("{member.name}", {tuple_of(holes)})'
        return Source(member.type, kernel, twin, indices, n.is_float(member.type.scalar), counts=counts)

    def spelled(self, tree, member, holes):
        """f.a[i, j] or f[i, j].a; of a field x[i, j], its indices with the offset."""
        form = self.trees[tree].form
        if form == "records":
            return f"{tree}[{holes}].{member.name}"
        if form == "fields":
            indices = ", ".join(moved(hole, first) for hole, first in zip(holes.split(", "), member.shift)) or "None"
            whole, _, part = member.handle.rpartition(".")
            if member.is_part and self.rng.random() < 0.5:
                return f"{whole}[{indices}].{part}"
            return f"{member.handle}[{indices}]"
        holes = ", ".join(moved(hole, first) for hole, first in zip(holes.split(", "), member.shift))
        return self.rng.choice((f"{tree}.{member.name}[{holes}]", f"{tree}[{holes}].{member.name}"))

    # -- places that can be written -----------------------------------------------------------------------------------

    def output(self, type_, signless, inexact=False) -> Place | None:
        """An element of an output array, of this iteration's own."""
        scalar = type_.scalar if type_.scalar != "bf16" else "f32"
        task = self.task
        key = (task and task.number, scalar, type_.shape, bool(signless), inexact)
        if key not in self.outputs:
            self.outputs[key] = [f"o{len(self.outputs)}", Type(scalar, type_.shape), task.extents if task else (), 0]
        entry = self.outputs[key]
        slot, entry[3] = entry[3], entry[3] + 1
        indices = [self.read(source) for source in task.coordinates] if task else []
        holes = ", ".join([*(f"{{{k}}}" for k in range(len(indices))), str(slot)])
        return Place(
            entry[0], entry[1], f"{entry[0]}[{holes}]", f"{entry[0]}[{holes},]", f"{entry[0]}[{holes},] = {{v}}", indices
        )

    def own_place(self, shaped=False, inside=False, quantised=False) -> Place | None:
        """A place of this iteration's own in an array or tree that was there before."""
        candidates = [(None, array) for array in self.mutable]
        candidates += [
            (name, member) for name, tree in self.trees.items() for member in self.types[tree.type].members.values()
        ] * 2
        self.rng.shuffle(candidates)
        for name, thing in candidates:
            type_ = Type(thing.scalar, thing.shape) if name is None else thing.type
            if (shaped and not type_.shape) or (quantised and (name is None or not thing.kind)):
                continue
            place = self.own_element(thing, type_) if name is None else self.own_cell(name, thing, inside)
            if place is not None:
                return place
        return None

    def own_element(self, array, type_):
        if self.is_serial:
            indices = [self.index(extent) for extent in array.extents]
        else:
            task = self.task
            if len(task.extents) != len(array.extents) or any(a > b for a, b in zip(task.extents, array.extents)):
                return None
            if not self.claim(array.name, ("own", ())):
                return None
            indices = [self.read(source) for source in task.coordinates]
        holes = ", ".join(f"{{{k}}}" for k in range(len(indices)))
        text = f"{array.name}[{holes}]"
        return Place(array.name, type_, text, f"{array.name}[{holes},]", f"{array.name}[{holes},] = {{v}}", indices)

    def own_cell(self, tree, member, inside):
        if not self._may_store(tree, member):
            return None
        if self.is_serial:
            indices = [self.index(extent) for extent in member.shape]
        else:
            indices = self._own_coordinates(tree, member, inside)
            if indices is None:
                return None
        self._grows(tree, member)
        return self.place_of(tree, member, indices)

    def _own_coordinates(self, tree, member, inside):
        """The loop's coordinates plus an offset that is the same throughout the task."""
        task, key = self.task, (tree, member.used_as)
        if len(task.extents) != len(member.shape) or tree in task.dropped:
            return None
        fits = all(a <= b for a, b in zip(task.extents, member.shape))
        if not fits and not (member.has_outside and not inside):
            return None
        known = task.modes.get(key)
        if known is None:
            offset = (0,) * len(member.shape)
            if member.has_outside and not inside and self.rng.random() < 0.4:
                offset = tuple(self.rng.choice((0, 0, 1, -1, 2, -4)) for _ in member.shape)
            known = task.modes[key] = ("own", offset)
        if known[0] != "own" or (inside and any(known[1])):
            return None
        found = []
        for source, offset in zip(task.coordinates, known[1]):
            text = "{0}" if not offset else f"({{0}} {'+' if offset > 0 else '-'} {abs(offset)})"
            found.append(Expr(I32, text, text, [self.read(source)]))
        return found

    def place_of(self, tree, member, indices) -> Place:
        holes = ", ".join(f"{{{k}}}" for k in range(len(indices)))
        at = f'"{member.name}", {tuple_of(holes)}'
        kernel = self.spelled(tree, member, holes)
        name, cell = f"{tree}.{member.name}", f"{tree}.place({at})" if member.kind else ""
        read, write = f"{tree}.get({at})", f"{tree}.put({at}, {{v}})"
        return Place(name, member.type, kernel, read, write, indices, member.level, member.kind, cell)

    def _may_grow(self, tree, member):
        if (tree, member.name) in self.shuffled:
            return False
        return self.is_serial or (tree not in self.task.dropped and (not member.is_sparse or tree not in self.task.asked))

    def _may_store(self, tree, member):
        is_still = self.task and (tree, member.name) in self.task.still and (tree, member.name) not in self.shuffled
        return is_still or self._may_grow(tree, member)

    def _grows(self, tree, member):
        if self.task and member.is_sparse and (tree, member.name) not in self.task.still:
            self.task.grown.add(tree)

    def atomic_place(self):
        """(a place that several iterations may change, the operation)."""
        if self.is_serial and not self.task:
            return None
        if self.trees and self.rng.random() < 0.6:
            found = self._atomic_cell()
            if found is not None:
                return found
        op = self.rng.choice(list(table.ATOMICS))
        kinds = [s for s in table.ATOMICS[op][2] if s != "bf16" and self._is_determined(op, s)]
        type_ = Type(self.rng.choice(kinds), self.rng.choice(((), (), (), (2,))))
        key = (op, type_)
        if key not in self.collectors:
            self.collectors[key] = self.array(f"c{len(self.collectors)}", type_, (self.rng.randint(1, 4),))
        array = self.collectors[key]
        indices = [self.index(array.extents[0])]
        return Place(
            array.name, type_, f"{array.name}[{{0}}]", f"{array.name}[{{0}},]", f"{array.name}[{{0}},] = {{v}}", indices
        ), op

    def _is_determined(self, op, scalar, kind=None):
        """Is the result the same in any order, and held exactly? `kind`: of a quantised member."""
        if kind == "shared float":  # what the others are rounded to in between is not
            return False
        if not n.is_float(scalar) or (kind == "fixed" and op in ("add", "sub") and not self.is_whole):
            return True
        return op in ("min", "max") or (op in ("add", "sub") and self.is_whole and scalar in ("f32", "f64"))

    def _atomic_cell(self):
        tree = self.rng.choice(list(self.trees))
        member = self.rng.choice(list(self.types[self.trees[tree].type].members.values()))
        key = (tree, member.used_as)
        known = self.task.modes.get(key) if not self.is_serial else None
        if known is None:
            kinds = [op for op in table.ATOMICS if member.type.scalar in table.ATOMICS[op][2]]
            op = self.rng.choice([op for op in kinds if self._is_determined(op, member.type.scalar, member.kind)] or [None])
            if op is None or (n.is_float(member.type.scalar) and op in ("add", "sub") and member.kind != "fixed"):
                return None  # a sum that later statements read would not stay small
            known = ("atomic", op)
        if known[0] != "atomic" or not self._may_store(tree, member):
            return None
        indices = self.coordinates(member)
        if not self.claim(key, known):
            return None  # an index has read it meanwhile
        if not self._may_store(tree, member):
            return None
        self._grows(tree, member)
        return self.place_of(tree, member, indices), known[1]

    def growing_place(self):
        found = self._cell_for(lambda tree, member: member.is_sparse and self._may_grow(tree, member))
        if found is None:
            return None
        tree, member = found
        indices = self.coordinates(member)
        if not self._may_grow(tree, member):
            return None
        self._grows(tree, member)
        return self._asked(tree, member, indices, "activate")

    def asked_place(self):
        found = self._cell_for(lambda tree, _: tree not in self.unread and (self.is_serial or tree not in self.task.grown))
        if found is None:
            return None
        tree, member = found
        indices = self.coordinates(member)
        if not self.is_serial:
            if tree in self.task.grown | self.task.dropped:
                return None
            self.task.asked.add(tree)
        return self._asked(tree, member, indices, "is_active")

    def measured_place(self):
        """The length of a list."""
        is_list = lambda tree, member: (
            tree not in self.unread and self.types[self.trees[tree].type].list_of(member.name) is not None
        )
        found = self._cell_for(lambda tree, member: is_list(tree, member) and (self.is_serial or tree not in self.task.grown))
        if found is None:
            return None
        tree, member = found
        indices = self.coordinates(member)
        if not self.is_serial:
            if tree in self.task.grown | self.task.dropped:
                return None
            self.task.asked.add(tree)
        return self._in_list(tree, member, indices, "length")

    def counted_slots(self):
        """(kernel, twin, kind of tree) of the number of slots of a level: in a task that takes none and gives none up."""
        changed = self.given_up if self.is_serial else self.given_up | self.task.grown | self.task.dropped
        found = self._cell_for(lambda tree, member: member.pools and tree not in self.unread | changed)
        if found is None:
            return None
        tree, member = found
        if not self.is_serial:
            self.task.asked.add(tree)
        depth, is_field = member.pools[-1], self.trees[tree].form == "fields"
        where = member.handle if is_field else f"{tree}.{member.name}"
        named = [depth for depth in member.pools if is_field or member.levels[depth][4].startswith("level")]
        if named and self.rng.random() < 0.5:
            depth = self.rng.choice(named)
            above = f"{where}.parent({len(member.levels) - depth})"
            where = above if is_field else f"{tree}.{member.levels[depth][4]}"
        return f"mt.used({where})", f"{tree}.used({member.levels[depth][0]})", member.level

    def stilled(self):
        """(tree, members, how a kernel names them, kind of tree): of which stores leave inactive cells alone from here on."""
        task = self.task
        found = self._cell_for(lambda tree, member: member.is_sparse and tree not in self.unread | task.grown | task.dropped)
        if found is None:
            return None
        tree, member = found
        task.asked.add(tree)
        is_field, names, where = self.trees[tree].form == "fields", [member.name], f"{tree}.{member.name}"
        if not is_field and self.rng.random() < 0.4:
            names, where = list(self.types[self.trees[tree].type].members), tree
        task.still.update((tree, name) for name in names)
        return tree, names, member.handle if is_field else where, member.level

    def dropped_place(self):
        """A cell that is deactivated: in a parallel task, of a tree that nothing else there looks at."""

        def fits(tree, member):
            used = {key[0] for key in self.task.modes} if self.task else set()
            if not member.is_sparse or tree in self.unread:
                return False
            # Each turn of a loop in order may take slots anew that the ones before it gave up, which count until it ends.
            if self.is_serial and self.task is not None and math.prod(self.task.extents) > 24:
                return False
            # Whether a list is appended to before it is emptied or after it would show in which order iterations run.
            return self.is_serial or tree not in self.task.grown | self.task.asked | used | set(self.task.appended)

        found = self._cell_for(fits)
        if found is None:
            return None
        tree, member = found
        if not self.is_serial:
            self.task.dropped.add(tree)
        if self.is_serial or self.task.is_single:
            self.given_up.add(tree)
        return self._in_list(tree, member, self.coordinates(member), "deactivate")

    def appended_place(self):
        """(tree, member, coordinates of a cell in a list, whose list it is): where values are appended.

        Serial statements and iterations that have the list to themselves append in an order that is known. Others shuffle
        it: from then on nothing reads it, and which of several lists of one tree is whose is not asked.
        """

        def fits(tree, member):
            if not member.levels or member.levels[-1][1] != "dynamic" or tree in self.unread:
                return False
            used = {key[0] for key in self.task.modes} if self.task else set()
            return self.is_serial or tree in self.task.appended or tree not in self.task.all_used() | used

        found = self._cell_for(fits)
        if found is None:
            return None
        tree, member = found
        shown = self.types[self.trees[tree].type].list_of(member.name)
        zero = Expr(I32, "0", "0")
        if self.is_serial:
            indices = self.coordinates(member)
            return tree, member, [index if k in shown else zero for k, index in enumerate(indices)], "serial"
        extents = tuple(member.shape[k] for k in shown)
        own = len(self.task.extents) == len(shown) and all(a <= b for a, b in zip(self.task.extents, extents))
        way = self.task.appended.get(tree) or ("own" if own and self.rng.random() < 0.6 else "shuffled")
        if way == "shuffled" and n.is_float(member.type.scalar):
            return None
        if way == "own":
            own = iter([self.read(source) for source in self.task.coordinates])
            indices = [next(own) if k in shown else zero for k in range(len(member.shape))]
        else:
            indices = [index if k in shown else zero for k, index in enumerate(self.coordinates(member))]
            if tree in {key[0] for key in self.task.modes} | self.task.all_used() - self.task.dropped:
                return None  # an index has read it meanwhile
            self.shuffled.add((tree, member.name))
        self.task.dropped.add(tree)
        self.task.appended[tree] = way
        return tree, member, indices, way

    def appending(self, tree, member, indices, value):
        """(kernel, twin, operands) of an append at the list that the cell is in."""
        shown, count = self.types[self.trees[tree].type].list_of(member.name), len(indices)
        is_field, hole = self.trees[tree].form == "fields", f"{{{count}}}"
        at = ", ".join(moved(f"{{{k}}}", member.shift[k]) for k in shown)
        where = member.handle if is_field else f"{tree}.{member.name}"
        kernel = f"mt.append({where}, [{at}], {hole})"
        if is_field and shown and self.rng.random() < 0.6:
            kernel = f"{where}[{at}].append({hole})"
        along = member.shift[member.axes.index(member.levels[-1][2][0])]
        offset = f", {along}" if along else ""
        twin = f'{tree}.append("{member.name}", {tuple_of(", ".join(holes_of(count)))}, {hole}{offset})'
        return kernel, twin, [*indices, value]

    def _in_list(self, tree, member, indices, name):
        """A call at a cell, or at the list that it is in: without the coordinate along it."""
        shown = self.types[self.trees[tree].type].list_of(member.name)
        shown = list(range(len(indices))) if shown is None else shown
        holes = ", ".join(f"{{{k}}}" if k in shown else "0" for k in range(len(indices)))
        twin = f'{tree}.{name}("{member.name}", {tuple_of(holes)})'
        is_field = self.trees[tree].form == "fields"
        at = ", ".join(moved(f"{{{k}}}", member.shift[k]) for k in shown)
        where = member.handle if is_field else f"{tree}.{member.name}"
        kernel = f"mt.{name}({where}, [{at}])" if self.rng.random() < 0.5 else f"{where}.{name}({at})"
        return kernel, twin, indices, member.level

    def _cell_for(self, fits):
        found = [
            (name, member)
            for name, tree in self.trees.items()
            if tree.form != "records"
            for member in self.types[tree.type].members.values()
            if member.shape and fits(name, member)
        ]
        return self.rng.choice(found) if found else None

    def _asked(self, tree, member, indices, name):
        twin = f'{tree}.{name.replace("is_", "")}("{member.name}", ({", ".join(holes_of(len(indices)))},))'
        holes = ", ".join(moved(hole, first) for hole, first in zip(holes_of(len(indices)), member.origin))
        if self.trees[tree].form == "fields":  # a level's coordinates have no offset
            return f"mt.{name}({member.handle}.{self.rng.choice(('parent()', 'snode'))}, [{holes}])", twin, indices, member.level
        return f"mt.{name}({tree}.{member.name}, [{holes}])", twin, indices, member.level
