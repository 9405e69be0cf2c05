"""Mutations of kernels that stay Python: trees are cut and grafted, not bytes.

Every program of the corpus gives its expressions and statements to a pool; a mutation replaces, inserts, deletes,
wraps or swaps nodes, changes operators, names, constants and annotations, and unparses the result.
"""

import ast
import random

_OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr,
    ast.BitXor, ast.MatMult,
)  # fmt: skip
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn)
_CONSTANTS = (
    0, 1, 2, 3, 4, 5, 7, 8, 31, 32, 63, 64, -1, 127, 128, 255, 256, 65536, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64,
    0.0, 1.0, 0.5, -0.0, 1e38, 1e39, 1e300, 1e400, True, False, None, "", "text", ..., 1j, b"b",
)  # fmt: skip
_ANNOTATIONS = (
    "X", "XY", "V", "Any", "Tree", "Split", "vec3", "mat2", "int", "float", "bool", "ti.template()", "ti.i8", "ti.i32", "ti.i64",
    "ti.u1", "ti.u8", "ti.u32", "ti.u64", "ti.f16", "ti.bf16", "ti.f32", "ti.f64", "ti.types.ndarray(dtype=ti.f64, ndim=3)",
    "ti.types.vector(2, ti.i32)", "ti.types.matrix(3, 2, ti.f64)", "ti.types.ndarray(dtype=mat2, ndim=0)", "N", "ti",
)  # fmt: skip
_SHAPES = (
    "({a}) + ({b})", "ti.max({a}, {b})", "({a})[{b}]", "-({a})", "not ({a})", "ti.cast({a}, ti.i32)", "ti.Vector([{a}, {b}])",
    "ti.Matrix([[{a}, {b}], [{b}, {a}]])", "({a}) if ({b}) else ({a})", "({a}) < ({b}) < ({a})", "({a}) and ({b})",
    "ti.static({a})", "ti.atomic_add({a}, {b})", "({a}).x", "({a}).xy", "({a}).norm()", "({a}) @ ({b})", "({a}, {b})",
    "[{a}, {b}]", "f'{{{a}}}'", "ti.select({a}, {b}, {a})", "ti.bit_cast({a}, ti.f32)", "len({a})", "({a}).shape",
    "ti.is_active({a}, [{b}, {b}])", "(y := {a})", "[e for e in ti.static({a})]", "ti.f64({a})", "int({a})", "ti.i8({a})",
    "(*({a}), {b})", "({a})[{a}, {b}]", "ti.pow({a}, {b})", "({a}).transpose()", "({a}).dot({b})", "lambda: {a}",
    "{{{a}: {b}}}", "({a})[{a}:{b}]", "vec3({a}, {b}, {a})",
)  # fmt: skip
_FRAMES = (
    "if {a}:\n  {s}", "if {a}:\n  {s}\nelse:\n  {t}", "for q in range({a}):\n  {s}", "while {a}:\n  {s}",
    "while True:\n  {s}\n  break", "for q in ti.static(range(3)):\n  {s}", "for p, q in ti.ndrange({a}, {b}):\n  {s}",
    "for I in ti.grouped({a}):\n  {s}", "for q in {a}:\n  {s}", "for p, q in {a}:\n  {s}", "with {a}:\n  {s}",
    "try:\n  {s}\nfinally:\n  {t}", "def inner():\n  {s}", "{s}\n{t}", "v = {a}\n{s}", "ti.loop_config(serialize=True)\n{s}",
    "{s}\nassert {a}, {b}", "{s}\nprint({a}, {b})", "return {a}", "continue", "break", "pass", "del v", "v += {a}",
    "v: ti.i32 = {a}", "v, w = {a}, {b}", "for q in {a}:\n  {s}\nelse:\n  {t}", "{s}\nreturn", "if {a}:\n  return {b}\n{s}",
    "if {a}:\n  continue\n{s}", "global v\n{s}", "ti.activate({a}, [{b}, {b}])\n{s}",
)  # fmt: skip


class Mutator:
    """Keeps the pool; `mutate` is a function of the input and the seed, given the pool."""

    def __init__(self, texts):
        self.expressions, self.statements = ["x", "1", "ti.i32"], ["pass"]
        self.compiled = []  # programs that compiled: most mutations of other programs are refused at the same place
        for text in texts:
            self.learn(text)

    def learn(self, text):
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            return
        for function in tree.body:
            for node in ast.walk(function):
                if isinstance(node, ast.expr) and len(source := ast.unparse(node)) < 80:
                    self.expressions.append(source)
                elif isinstance(node, ast.stmt) and node is not function and len(source := ast.unparse(node)) < 200:
                    self.statements.append(source)

    def keep(self, data):
        """Remembers a program that compiled; of many, some."""
        if len(self.compiled) < 1000:
            self.compiled.append(data)
        else:
            self.compiled[hash(data) % 1000] = data

    def mutate(self, data, most, seed):
        """Another program of at most `most` bytes; the input itself when nothing came of it."""
        dice = random.Random(seed)
        changes = dice.choice((1, 1, 1, 2, 3))
        if self.compiled and dice.random() < 0.6:
            data, changes = dice.choice(self.compiled), 1
        try:
            tree = ast.parse(data.decode())
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return data
        for _ in range(changes):
            try:
                self._change(tree, dice)
            except (SyntaxError, ValueError, IndexError, AttributeError, RecursionError, MemoryError):
                continue  # what was grafted does not fit there
        try:
            changed = ast.unparse(tree).encode()
        except (ValueError, AttributeError, TypeError, RecursionError):
            return data
        return changed if changed and len(changed) <= most else data

    def _change(self, tree, dice):
        change = dice.choice((self._expression,) * 4 + (self._statement,) * 3 + (self._detail,) * 4 + (self._annotation,))
        change(tree, dice)

    #  -- expressions ----------------------------------------------------------------------------------

    def _expression(self, tree, dice):
        slots = [slot for slot in _slots(tree, ast.expr) if not isinstance(slot.node, ast.arguments)]
        slot = dice.choice(slots)
        if isinstance(getattr(slot.get(), "ctx", None), (ast.Store, ast.Del)):
            source = dice.choice(("v", "w", "x[0]", "v.x", "(v, w)", "[v, w]", "*v", "f[0, 0].a", ast.unparse(slot.get())))
            new = ast.parse(f"{source} = 0").body[0].targets[0]
            slot.set(new)
            return
        here = [ast.unparse(other.get()) for other in dice.sample(slots, min(2, len(slots)))]
        pool = [*here, dice.choice(self.expressions)]
        source = dice.choice(pool)
        if dice.random() < 0.5:
            source = dice.choice(_SHAPES).format(a=ast.unparse(slot.get()), b=source)
        slot.set(ast.parse(source, mode="eval").body)

    #  -- statements -------------------------------------------------------------------------------------

    def _statement(self, tree, dice):
        blocks = [getattr(node, name) for function in tree.body for node in ast.walk(function)
                  for name in ("body", "orelse") if isinstance(getattr(node, name, None), list)]  # fmt: skip
        block = dice.choice([block for block in blocks if block and isinstance(block[0], ast.stmt)])
        at = dice.randrange(len(block))
        kind = dice.randrange(6)
        if kind == 0 and len(block) > 1:
            del block[at]
        elif kind == 1 and len(block) > 1:
            other = dice.randrange(len(block))
            block[at], block[other] = block[other], block[at]
        elif kind == 2:
            block.insert(at, ast.parse(ast.unparse(dice.choice(dice.choice([b for b in blocks if b])))).body[0])
        elif kind == 3:
            block[at : at + dice.randrange(2)] = ast.parse(dice.choice(self.statements)).body
        else:
            inside = ast.unparse(block[at]).replace("\n", "\n  ")
            frame = dice.choice(_FRAMES).format(
                s=inside, t=dice.choice(self.statements).replace("\n", "\n  "), a=dice.choice(self.expressions),
                b=dice.choice(self.expressions),
            )  # fmt: skip
            block[at : at + 1] = ast.parse(frame).body

    #  -- operators, names, constants, parameters ----------------------------------------------------------

    def _detail(self, tree, dice):
        kinds = (ast.Constant, ast.Name, ast.Attribute, ast.BinOp, ast.AugAssign, ast.Compare, ast.Call)
        node = dice.choice([node for node in ast.walk(tree) if isinstance(node, kinds)])
        if isinstance(node, ast.Constant):
            node.value = dice.choice(_CONSTANTS)
        elif isinstance(node, ast.Name):
            node.id = dice.choice([n.id for n in ast.walk(tree) if isinstance(n, ast.Name)] + ["v", "N", "TABLE", "LEVELS", "y"])
        elif isinstance(node, ast.Attribute):
            source = ast.parse(dice.choice(self.expressions), mode="eval").body
            node.attr = getattr(source, "attr", None) or dice.choice(("x", "shape", "xyzz", "norm", "a", "ndim", "n", "wrong"))
        elif isinstance(node, (ast.BinOp, ast.AugAssign)):
            node.op = dice.choice(_OPERATORS)()
        elif isinstance(node, ast.Compare):
            node.ops = [dice.choice(_COMPARISONS)() for _ in node.ops]
        elif dice.random() < 0.5 and node.args:
            del node.args[dice.randrange(len(node.args))]
        elif dice.random() < 0.7:
            node.args.insert(0, ast.parse(dice.choice(self.expressions), mode="eval").body)
        else:
            name = dice.choice(("dt", "dtype", "sep", "end", "serialize", "eps", "x", "wrong"))
            node.keywords.append(ast.keyword(name, ast.parse(dice.choice(self.expressions), mode="eval").body))

    def _annotation(self, tree, dice):
        function = dice.choice(tree.body)
        kind = dice.randrange(5)
        annotation = ast.parse(dice.choice(_ANNOTATIONS), mode="eval").body
        if kind == 0:
            function.returns = None if dice.random() < 0.3 else annotation
        elif kind == 1 or not function.args.args:
            name = dice.choice(("x", "y", "f", "n", "g"))
            function.args.args.append(ast.arg(name, annotation))
        elif kind == 2 and len(function.args.args) > 1:
            del function.args.args[dice.randrange(len(function.args.args))]
            del function.args.defaults[len(function.args.args) :]
        elif kind == 3 and dice.random() < 0.2:
            function.args.defaults = [ast.Constant(dice.choice(_CONSTANTS[:30]))]
        else:
            dice.choice(function.args.args).annotation = None if dice.random() < 0.1 else annotation


class _Slot:
    """A place in a tree that holds a node."""

    def __init__(self, node, field, index):
        self.node, self.field, self.index = node, field, index

    def get(self):
        value = getattr(self.node, self.field)
        return value if self.index is None else value[self.index]

    def set(self, new):
        if self.index is None:
            setattr(self.node, self.field, new)
        else:
            getattr(self.node, self.field)[self.index] = new


def _slots(tree, kind):
    """Where nodes of a kind stand in the functions' bodies; annotations have their own mutation."""
    found = []
    for function in tree.body:
        for statement in function.body:
            for node in ast.walk(statement):
                for field, value in ast.iter_fields(node):
                    if isinstance(value, kind):
                        found.append(_Slot(node, field, None))
                    elif isinstance(value, list):
                        found.extend(_Slot(node, field, k) for k, part in enumerate(value) if isinstance(part, kind))
    return found
