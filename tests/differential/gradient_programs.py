"""Random kernels over fields that have derivatives: of every kind of tree, layout and value, in functions, methods and templates.

Text of a Python module with a function `make` that returns (kernel, its arguments, fields by name), from a seed. What the kernels
do is gradient_kernels' business; here are places, loops over cells, and what only fields have.
"""

from __future__ import annotations

import dataclasses

from . import gradient_kernels
from .gradient_kernels import SIZE

TREES = (  # levels below mt.root with 8 cells along i; are all cells active?
    *(("dense(mt.i, 8)", True),) * 2,
    ("dense(mt.i, 4).dense(mt.i, 2)", True),
    ("pointer(mt.i, 8)", False),
    ("pointer(mt.i, 4).dense(mt.i, 2)", False),
    ("pointer(mt.i, 2).pointer(mt.i, 2).dense(mt.i, 2)", False),
    ("bitmasked(mt.i, 8)", False),
    ("pointer(mt.i, 2).bitmasked(mt.i, 4)", False),
    ("dense(mt.i, 4).bitmasked(mt.i, 2)", False),
    ("hash(mt.i).dense(mt.i, 4)", False),
    ("hash(mt.i)", False),
    ("dynamic(mt.i, 8, 4)", False),
)
NAMES = "abcde"
STYLES = ("global", "method", "template")
EXPRESSIONS = (
    *gradient_kernels.EXPRESSIONS,
    "real0({0}, {1})",
    "mt.cast(mt.cast({0}, mt.f32), mt.f64)",
    "(float(int({0} * 3.0)) * {1})",
    "mt.math.clamp({0}, -0.6, 0.6)",
    "mt.math.mix({0}, {1}, 0.3)",
    "mt.Vector([{0}, {1}, {2}]).norm(0.1)",
    "(mt.Matrix([[{0}, {1}], [0.5, {2}]]) @ mt.Vector([{3}, 1.0])).sum()",
    "mt.select({0} > 0.3, mt.log(mt.max({0}, 0.0)), {1})",
    "mt.select({0} > 0.3, mt.sqrt({0}) * mt.sqrt({0} - 0.3), {1})",
)
REAL = """

@mt.real_func
def real0(a: mt.f64, b: mt.f64) -> mt.f64:
    c = a * b
    if c > 0.4:
        c = c * mt.cos(a)
    return c - b


"""


@dataclasses.dataclass
class Place:
    name: str
    scalar: str
    kind: str  # number, vector, matrix or struct
    tree: tuple  # of TREES
    is_soa: bool = False  # then components are named while compiling

    def declared(self, made=""):
        kind, scalar = self.kind, f"mt.{self.scalar}"
        first = {
            "number": f"mt.field({scalar}",
            "vector": f"mt.Vector.field(2, {scalar}",
            "matrix": f"mt.Matrix.field(2, 2, {scalar}",
        }
        struct = f'mt.Struct.field({{"pos": mt.types.vector(2, {scalar}), "m": {scalar}, "id": mt.i32}}'
        return f"{first.get(kind, struct)}{made})"

    def leaves(self):
        return (
            {f"{self.name}.{one}": f"{self.name}.{one}" for one in ("pos", "m")}
            if self.kind == "struct"
            else {self.name: self.name}
        )


class Writer(gradient_kernels.Writer):
    """One module."""

    expressions = EXPRESSIONS

    def __init__(self, seed):
        super().__init__(seed)
        pick = self.random
        self.style = pick.choice(STYLES)
        self.prefix = "self." if self.style == "method" else ""
        self.indices = f"{self.prefix}idx"
        self.declarations, self.places, self.lazy = [], {}, False
        while len(self.places) < len(NAMES):
            self.tree()
        names = list(self.places)
        pick.shuffle(names)
        self.constant, self.written = tuple(names[:2]), tuple(names[2:])
        self.counts = pick.random() < 0.4  # whole numbers beside

    def tree(self):
        pick, kinds = self.random, ["number", "number", "vector", "matrix", "struct"]
        scalar = pick.choice(["f64", "f64", "f32"])
        names = list(NAMES[len(self.places) :][: pick.choice([1, 1, 2])])
        levels = pick.choice(TREES)
        made = [Place(name, scalar, pick.choice(kinds), levels) for name in names]
        how = pick.choice(["shape", "beside", "apart", "lazy"]) if levels[1] else pick.choice(["beside", "apart", "lazy"])
        for place in made:
            self.places[place.name] = place
            place.is_soa = how == "shape" and pick.random() < 0.4 and place.kind in ("vector", "matrix")
            soa = ", layout=mt.Layout.SOA" if place.is_soa else ""
            shape = f", shape={SIZE}{soa}, needs_grad=True, needs_dual=True" if how == "shape" else ""
            self.declarations.append(f"{place.name} = {place.declared(shape)}")
        if how == "shape":
            return
        beside = [f"{name}.{kind}" for name in names for kind in ("grad", "dual")] if how == "beside" else []
        self.declarations.append(f"mt.root.{levels[0]}.place({', '.join(names + beside)})")
        self.lazy |= how == "lazy"
        if how == "apart":
            self.declarations += [
                f"mt.root.{levels[0]}.place({', '.join(f'{name}.{kind}' for name in names)})" for kind in ("grad", "dual")
            ]

    def module(self):
        """The text, of `make` and the functions that its kernel calls."""
        self.statements()
        functions = gradient_kernels.HEAD[: gradient_kernels.HEAD.index("@mt.kernel")].rstrip()
        names = [*self.places, "idx", "cnt"]
        declared = [*self.declarations, f"idx = mt.field(mt.i32, {SIZE})", f"cnt = mt.field(mt.i32, {SIZE})"]
        declared += ["mt.root.lazy_grad()", "mt.root.lazy_dual()"] if self.lazy else []
        body = self.lines
        if self.style == "method":
            declared = [f"self.{line}" if line.split(" = ")[0] in names else self.own(line) for line in declared]
            lines = ["    @mt.data_oriented", "    class Model:", "        def __init__(self):"]
            lines += [f"            {line}" for line in declared]
            lines += ["", "        @mt.kernel", "        def k(self, n: mt.i32):", *(f"        {line}" for line in body), ""]
            lines += ["    model = Model()", f"    fields = {self.fields('model.')}", "    return model.k, (), fields"]
        else:
            given = "".join(f", {name}: mt.template()" for name in names) if self.style == "template" else ""
            lines = [f"    {line}" for line in declared]
            lines += ["", "    @mt.kernel", f"    def k(n: mt.i32{given}):", *(f"    {line}" for line in body), ""]
            arguments = f"({', '.join(names)})" if given else "()"
            lines += [f"    fields = {self.fields('')}", f"    return k, {arguments}, fields"]
        return functions + REAL + "def make():\n" + "\n".join(lines) + "\n"

    def own(self, line):
        """A placement, with fields that are the object's."""
        before, found, after = line.partition(".place(")
        return before + found + ", ".join(f"self.{name}" for name in after.rstrip(")").split(", ")) + ")" if found else line

    def fields(self, of):
        leaves = {key: text for place in self.places.values() for key, text in place.leaves().items()}
        texts = [f'"{key}": {of}{text}' for key, text in {**leaves, "idx": "idx", "cnt": "cnt"}.items()]
        return "{" + ", ".join(texts) + "}"

    def is_full(self, name):
        """Are all cells of the field's tree active, whatever is done? By the field's name, members' too."""
        place = self.places.get(name.partition(".")[0])
        return place is None or place.tree[1]

    # ---- statements

    def element(self, name, at, scope):
        pick, place = self.random, self.places[name]
        name = self.prefix + name
        row = pick.choice([0, 1] if place.is_soa else [0, 1, "n % 2", f"{pick.choice([*scope.integers, 'n'])} % 2"])
        part = pick.choice([".x", ".y", f"[{row}]"])
        if place.kind == "vector":
            return f"{name}[{at}]{part}"
        if place.kind == "matrix":
            return f"{name}[{at}][{pick.randrange(2)}, {row}]"
        if place.kind == "struct":
            return pick.choice([f"{name}[{at}].m", f"{name}.m[{at}]", f"{name}[{at}].pos{part}", f"{name}.pos[{at}]{part}"])
        return f"{name}[{at}]"

    def head(self, variable, serial):
        place = f"{self.prefix}{self.random.choice(list(self.places))}"
        forms = [f"range({SIZE})", f"mt.ndrange({SIZE})", "grouped", "nest"] + ([] if serial else [place, place, place])
        form = self.random.choice(forms)
        if form == "grouped":
            self.emit(1, f"for I{variable} in mt.grouped(mt.ndrange({SIZE})):")
            self.emit(2, f"{variable} = I{variable}[0]")
        elif form == "nest":
            self.emit(1, f"for a{variable}, b{variable} in mt.ndrange(2, 4):")
            self.emit(2, f"{variable} = a{variable} * 4 + b{variable}")
        else:
            self.emit(1, f"for {variable} in {form}:")
        if self.counts and self.random.random() < 0.5:
            self.emit(2, f"{self.prefix}cnt[{self.indices}[{variable} % {SIZE}]] += {variable} % 3")

    def write(self, depth, scope):
        if self.random.random() > 0.2 or depth < 2:
            return super().write(depth, scope)
        place, how = self.random.choice(scope.writes)
        at, name = scope.own if how == "own" else self.index(scope), self.name("v")
        call = f"mt.atomic_{self.random.choice(['add', 'sub'])}({self.element(place, at, scope)}, {self.small(2, scope)})"
        if how == "own" and self.random.random() < 0.5:  # what was there
            self.emit(depth, f"{name} = {call}")
            self.emit(depth, f"{self.element(place, at, scope)} += 0.5 * {name}")
        else:
            self.emit(depth, call)
