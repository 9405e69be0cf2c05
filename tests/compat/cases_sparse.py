"""Programs about sparse levels, as a Taichi user writes them: each takes the module `ti` and returns what it computed.

Where this data model differs on purpose, the case says so and has what is computed here as its attribute `ours`: a cell
that was deactivated reads as its background, whatever kind of level it is in.
"""

import numpy as np


def _in_order(coordinates):
    """Rows of an array in an order that does not depend on that of a loop."""
    return coordinates[np.lexsort(coordinates.T[::-1])]


def bitmasked_cells(ti):
    x = ti.field(ti.i32)
    block = ti.root.bitmasked(ti.ij, (6, 5))
    block.place(x)
    seen = ti.field(ti.i32, shape=(6, 5))

    @ti.kernel
    def write():
        x[1, 2] = 7
        x[5, 4] = 8
        ti.activate(block, [3, 3])

    @ti.kernel
    def visit() -> ti.i32:
        total = 0
        for i, j in x:
            seen[i, j] += 1
            total += 1
        return total

    write()
    return visit(), seen.to_numpy(), x.to_numpy()


def bitmasked_activity(ti):
    x = ti.field(ti.f32)
    block = ti.root.bitmasked(ti.i, 40)
    block.place(x)
    asked = ti.field(ti.i32, shape=(3, 40))

    @ti.kernel
    def ask(k: ti.i32):
        for i in range(40):
            asked[k, i] = ti.is_active(block, [i])

    @ti.kernel
    def write():
        for i in range(40):
            if i % 3 == 0:
                x[i] = i

    @ti.kernel
    def take_back():
        for i in range(40):
            if i % 2 == 0:
                ti.deactivate(block, [i])

    ask(0)
    write()
    ask(1)
    take_back()
    ask(2)
    return asked.to_numpy()


def bitmasked_reads_after_deactivation(ti):
    """Differs: Taichi leaves what was written in a cell whose bit is cleared."""
    x = ti.field(ti.i32)
    block = ti.root.bitmasked(ti.i, 4)
    block.place(x)

    @ti.kernel
    def write():
        for i in range(4):
            x[i] = i + 10

    @ti.kernel
    def take_back():
        ti.deactivate(block, [1])
        ti.deactivate(block, [2])

    write()
    take_back()
    return [x[i] for i in range(4)]


bitmasked_reads_after_deactivation.ours = [10, 0, 0, 13]


def bitmasked_again(ti):
    """Differs: Taichi brings the value of before back where the cell is activated again."""
    x = ti.field(ti.i32)
    block = ti.root.bitmasked(ti.i, 4)
    block.place(x)
    found = ti.field(ti.i32, shape=4)

    @ti.kernel
    def write():
        for i in range(4):
            x[i] = 5

    @ti.kernel
    def take_back():
        for i in range(4):
            if i < 3:
                ti.deactivate(block, [i])

    @ti.kernel
    def again():
        ti.activate(block, [0])
        x[1] += 1

    @ti.kernel
    def visit():
        for i in x:
            found[i] = x[i] + 100

    write()
    take_back()
    again()
    visit()
    return found.to_numpy()


bitmasked_again.ours = {"dtype": "int32", "shape": [4], "values": [100, 101, 0, 105]}


def bitmasked_below_pointer(ti):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.ij, 4)
    cells = block.bitmasked(ti.ij, 4)
    cells.place(x)
    count = ti.field(ti.i32, shape=3)

    @ti.kernel
    def go():
        x[0, 0] = 1
        x[5, 6] = 2
        x[5, 7] = 3
        x[15, 15] = 0

    @ti.kernel
    def visit():
        for i, j in x:
            count[0] += 1
        for i, j in cells:
            count[1] += 1
        for i, j in block:
            count[2] += 1

    go()
    visit()
    return count.to_numpy(), x.to_numpy()


def activation_below_what_is_inactive(ti):
    """Differs: Taichi activates no cell below a pointer cell that is not active; here the whole path is activated."""
    x = ti.field(ti.i32)
    cells = ti.root.pointer(ti.i, 4).bitmasked(ti.i, 4)
    cells.place(x)

    @ti.kernel
    def go():
        ti.activate(cells, [9])

    @ti.kernel
    def count() -> ti.i32:
        total = 0
        for i in x:
            total += i
        return total

    go()
    return count()


activation_below_what_is_inactive.ours = 9


def pointer_activity(ti):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.ij, (4, 3))
    block.dense(ti.ij, (2, 2)).place(x)
    asked = ti.field(ti.i32, shape=(4, 3))

    @ti.kernel
    def go():
        x[2, 3] = 1
        ti.activate(block, [3, 0])

    @ti.kernel
    def ask():
        for i, j in ti.ndrange(4, 3):
            asked[i, j] = ti.is_active(block, [i, j])

    go()
    ask()
    return asked.to_numpy()


def pointer_deactivated(ti):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 8)
    block.dense(ti.i, 4).place(x)
    count = ti.field(ti.i32, shape=2)

    @ti.kernel
    def write():
        for i in range(32):
            x[i] = i

    @ti.kernel
    def take_back():
        for i in range(8):
            if i % 2 == 1:
                ti.deactivate(block, [i])

    @ti.kernel
    def visit(k: ti.i32):
        for i in x:
            count[k] += 1

    write()
    visit(0)
    take_back()
    visit(1)
    return count.to_numpy(), x.to_numpy()


def pointer_again(ti):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 4)
    block.dense(ti.i, 4).place(x)

    @ti.kernel
    def write():
        for i in range(16):
            x[i] = i + 1

    @ti.kernel
    def take_back():
        for i in block:
            ti.deactivate(block, [i])

    @ti.kernel
    def again():
        x[5] += 1
        x[15] += 2

    write()
    take_back()
    again()
    return x.to_numpy()


def nested_pointers(ti):
    x = ti.field(ti.f32)
    outer = ti.root.pointer(ti.ij, 2)
    inner = outer.pointer(ti.ij, 3)
    inner.dense(ti.ij, 2).place(x)
    count = ti.field(ti.i32, shape=3)

    @ti.kernel
    def write():
        x[0, 0] = 1.5
        x[11, 11] = 2.5
        x[4, 5] = 3.5

    @ti.kernel
    def visit():
        for I in ti.grouped(x):
            count[0] += 1
        for i, j in inner:
            count[1] += 1
        for i, j in outer:
            count[2] += 1

    write()
    visit()
    first = count.to_numpy()

    @ti.kernel
    def take_back():
        ti.deactivate(outer, [0, 0])

    take_back()
    visit()
    return first, count.to_numpy(), x.to_numpy()


def axes_apart(ti):
    x = ti.field(ti.i32)
    rows = ti.root.pointer(ti.i, 5)
    rows.pointer(ti.j, 4).dense(ti.ij, (2, 3)).place(x)

    @ti.kernel
    def write():
        x[0, 0] = 1
        x[9, 11] = 2
        x[3, 7] = 3

    @ti.kernel
    def visit() -> ti.i32:
        total = 0
        for i, j in x:
            total += i * 100 + j
        return total

    write()
    return visit(), x.to_numpy(), list(x.shape), list(rows.shape)


def fields_on_several_branches(ti):
    x, y, z = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 4)
    block.dense(ti.i, 4).place(x)
    block.bitmasked(ti.i, 2).place(y)
    block.place(z)
    count = ti.field(ti.i32, shape=(2, 3))

    @ti.kernel
    def write():
        x[5] = 1
        y[7] = 2

    @ti.kernel
    def visit(k: ti.i32):
        for i in x:
            count[k, 0] += 1
        for i in y:
            count[k, 1] += 1
        for i in z:
            count[k, 2] += 1
            z[i] = i + 1

    @ti.kernel
    def take_back():
        ti.deactivate(block, [1])

    write()
    visit(0)
    take_back()
    visit(1)
    return count.to_numpy(), x.to_numpy(), y.to_numpy(), z.to_numpy()


def offsets(ti):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.ij, 4)
    block.dense(ti.ij, 4).place(x, offset=(-8, -8))
    found = ti.field(ti.i32, shape=5)

    @ti.kernel
    def write():
        x[-8, -8] = 1
        x[0, -1] = 2
        x[7, 7] = 3

    @ti.kernel
    def visit():
        for i, j in x:
            found[0] += 1
            found[1] += i
            found[2] += j
            if x[i, j] > 0:
                found[3] += i * 100 + j
        for i, j in block:
            found[4] += 1

    write()
    visit()
    return found.to_numpy(), x.to_numpy()


def from_python(ti):
    x = ti.field(ti.f32)
    block = ti.root.pointer(ti.i, 4)
    block.bitmasked(ti.i, 4).place(x)
    count = ti.field(ti.i32, shape=())

    @ti.kernel
    def visit():
        for i in x:
            count[None] += 1

    x[3] = 2.5
    x[12] = 1.5
    before = x[7]
    visit()
    return before, x[3], count[None], x.to_numpy()


def whole_fields(ti):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x)
    count = ti.field(ti.i32, shape=2)

    @ti.kernel
    def visit(k: ti.i32):
        for i in x:
            count[k] += 1

    x[3] = 1
    visit(0)
    x.from_numpy(np.arange(8, dtype=np.int32))
    visit(1)
    return count.to_numpy(), x.to_numpy()


def atomics_activate(ti):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 8).bitmasked(ti.i, 4).place(x)
    count = ti.field(ti.i32, shape=())

    @ti.kernel
    def go():
        for i in range(100):
            x[i * 7 % 20] += 1
            ti.atomic_max(x[31], i)

    @ti.kernel
    def visit():
        for i in x:
            count[None] += 1

    go()
    visit()
    return count[None], x.to_numpy()


def reads_do_not_activate(ti):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 8)
    block.dense(ti.i, 4).place(x)
    found = ti.field(ti.i32, shape=2)

    @ti.kernel
    def go():
        for i in range(32):
            found[0] += x[i] + 1
        for i in range(8):
            found[1] += ti.is_active(block, [i])

    go()
    return found.to_numpy()


def vectors_and_structs(ti):
    v = ti.Vector.field(3, ti.f32)
    m = ti.Matrix.field(2, 2, ti.i32)
    s = ti.Struct.field({"a": ti.i32, "b": ti.types.vector(2, ti.f32)})
    block = ti.root.pointer(ti.i, 4).bitmasked(ti.i, 2)
    block.place(v, m)
    block.place(s)

    @ti.kernel
    def write():
        v[3] = [1.0, 2.0, 3.0]
        m[4] = ti.Matrix([[1, 2], [3, 4]])
        s[7].a = 9
        s[3].b = [0.5, 0.25]

    @ti.kernel
    def visit() -> ti.i32:
        count = 0
        for i in v:
            count += 1
            v[i] += 1.0
        return count

    write()
    return visit(), v.to_numpy(), m.to_numpy(), s.a.to_numpy(), s.b.to_numpy()


def built_apart(ti):
    builder = ti.FieldsBuilder()
    x = ti.field(ti.i32)
    builder.pointer(ti.i, 4).dense(ti.i, 4).place(x)
    tree = builder.finalize()

    @ti.kernel
    def visit() -> ti.i32:
        count = 0
        for i in x:
            count += 1
        return count

    x[9] = 3
    found = visit()
    builder.deactivate_all()
    after = visit()
    tree.destroy()
    return found, after
