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


def a_list(ti):
    x = ti.field(ti.i32)
    items = ti.root.dynamic(ti.i, 64, chunk_size=8)
    items.place(x)

    @ti.kernel
    def add():
        for i in range(20):
            ti.append(items, [], i * i)

    @ti.kernel
    def length() -> ti.i32:
        return ti.length(items, [])

    @ti.kernel
    def visit() -> ti.i32:
        total = 0
        for i in x:
            total += x[i]
        return total

    add()
    return length(), visit(), np.sort(x.to_numpy())


def lists(ti):
    x = ti.field(ti.i32)
    block = ti.root.dense(ti.i, 6)
    block.dynamic(ti.j, 32, chunk_size=4).place(x)
    lengths = ti.field(ti.i32, shape=6)

    @ti.kernel
    def add():
        for i in range(6):
            for k in range(i * 3):
                x[i].append(k * 10 + i)

    @ti.kernel
    def measure():
        for i in range(6):
            lengths[i] = x[i].length()

    add()
    measure()
    return lengths.to_numpy(), x.to_numpy()


def lists_by_their_level(ti):
    x = ti.field(ti.f32)
    items = ti.root.dense(ti.ij, 3).dynamic(ti.k, 16)
    items.place(x)
    lengths = ti.field(ti.i32, shape=(3, 3))
    at = ti.field(ti.i32, shape=(3, 3))

    @ti.kernel
    def add():
        for i, j in ti.ndrange(3, 3):
            for k in range(i + j):
                at[i, j] += ti.append(x.parent(), [i, j], i + j * 0.5)

    @ti.kernel
    def measure():
        for i, j in ti.ndrange(3, 3):
            lengths[i, j] = ti.length(x.parent(), [i, j])

    add()
    measure()
    return lengths.to_numpy(), at.to_numpy(), x.to_numpy()


def lists_written_beyond_their_end(ti):
    x = ti.field(ti.i32)
    ti.root.dense(ti.i, 3).dynamic(ti.j, 32, chunk_size=8).place(x)
    lengths = ti.field(ti.i32, shape=3)

    @ti.kernel
    def write():
        x[0, 5] = 3
        x[2, 17] = 4

    @ti.kernel
    def measure():
        for i in range(3):
            lengths[i] = x[i].length()

    @ti.kernel
    def visit() -> ti.i32:
        total = 0
        for i, j in x:
            total += 1 + x[i, j] * 100
        return total

    write()
    measure()
    return lengths.to_numpy(), visit(), x.to_numpy()


def lists_emptied(ti):
    x = ti.field(ti.i32)
    ti.root.dense(ti.i, 4).dynamic(ti.j, 16, chunk_size=4).place(x)
    lengths = ti.field(ti.i32, shape=(3, 4))

    @ti.kernel
    def add(n: ti.i32):
        for i in range(4):
            for k in range(n + i):
                x[i].append(k + 1)

    @ti.kernel
    def empty():
        for i in range(4):
            if i != 1:
                x[i].deactivate()

    @ti.kernel
    def measure(k: ti.i32):
        for i in range(4):
            lengths[k, i] = x[i].length()

    add(5)
    measure(0)
    empty()
    measure(1)
    first = x.to_numpy()
    add(2)
    measure(2)
    return lengths.to_numpy(), first, x.to_numpy()


def a_list_emptied_by_its_level(ti):
    x = ti.field(ti.i32)
    items = ti.root.dynamic(ti.i, 32)
    items.place(x)

    @ti.kernel
    def add():
        for i in range(9):
            ti.append(items, [], i)

    @ti.kernel
    def empty():
        ti.deactivate(items, [])

    @ti.kernel
    def length() -> ti.i32:
        return ti.length(items, [])

    add()
    one = length()
    empty()
    return one, length()


def lists_of_vectors(ti):
    v = ti.Vector.field(2, ti.f32)
    ti.root.dense(ti.i, 3).dynamic(ti.j, 8).place(v)

    @ti.kernel
    def add():
        for i in range(3):
            for k in range(i + 1):
                v[i].append(ti.Vector([i * 1.0, k * 0.5]))

    @ti.kernel
    def total() -> ti.f32:
        found = 0.0
        for i, j in v:
            found += v[i, j][0] * 10.0 + v[i, j][1]
        return found

    add()
    return total(), v.to_numpy()


def lists_of_structs(ti):
    particle = ti.types.struct(place=ti.math.vec2, number=ti.i32)
    particles = particle.field()
    ti.root.dense(ti.i, 4).dynamic(ti.j, 8, chunk_size=2).place(particles)
    found = ti.field(ti.f32, shape=4)
    lengths = ti.field(ti.i32, shape=4)

    @ti.kernel
    def add():
        for i in range(4):
            for k in range(i):
                particles[i].append(particle(place=ti.math.vec2(i, k), number=i * 10 + k))

    @ti.kernel
    def measure():
        for i in range(4):
            lengths[i] = particles[i].length()
            for k in range(particles[i].length()):
                found[i] += particles[i, k].place.x * 100 + particles[i, k].place.y + particles[i, k].number * 0.001

    add()
    measure()
    return lengths.to_numpy(), found.to_numpy()


def pairs_found_through_lists(ti):
    n, cells = 60, 5
    place = ti.field(ti.f32, shape=n)
    ids = ti.field(ti.i32)
    ti.root.dense(ti.i, cells).dynamic(ti.j, n, chunk_size=16).place(ids)

    @ti.kernel
    def put():
        for p in place:
            place[p] = (p * 37 % n + 0.5) / n
            ids[int(place[p] * cells)].append(p)

    @ti.kernel
    def near() -> ti.i32:
        count = 0
        for p in place:
            cell = int(place[p] * cells)
            for c in range(ti.max(cell - 1, 0), ti.min(cell + 2, cells)):
                for k in range(ids[c].length()):
                    if ids[c, k] != p and ti.abs(place[ids[c, k]] - place[p]) < 0.045:
                        count += 1
        return count

    put()
    return near()


def levels_walked(ti):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.ij, 8)
    pixels = block.dense(ti.ij, 4)
    pixels.place(x)
    blocks = ti.field(ti.i32, shape=(8, 8))
    seen = ti.field(ti.i32, shape=(32, 32))

    @ti.kernel
    def write():
        x[3, 9] = 1
        x[30, 31] = 1

    @ti.kernel
    def visit():
        for i, j in block:
            blocks[i, j] += 1
        for I in ti.grouped(pixels):
            seen[I] += 1

    write()
    visit()
    return blocks.to_numpy(), seen.to_numpy()


def grouped_over_a_level(ti):
    x = ti.field(ti.f32)
    block = ti.root.pointer(ti.ijk, 4)
    block.dense(ti.ijk, 2).place(x)
    total = ti.field(ti.i32, shape=3)

    @ti.kernel
    def write():
        for k in range(8):
            x[k, 7 - k, k // 2] = k + 1

    @ti.kernel
    def visit():
        for I in ti.grouped(block):
            total[0] += 1
            total[1] += I[0] + 10 * I[1] + 100 * I[2]
        for I in ti.grouped(x):
            total[2] += I.sum()

    write()
    visit()
    return total.to_numpy()


def growing_while_walking(ti):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 16)
    block.bitmasked(ti.i, 4).place(x)
    count = ti.field(ti.i32, shape=4)

    @ti.kernel
    def write():
        x[20] = 1

    @ti.kernel
    def grow(k: ti.i32):
        for i in x:
            count[k] += 1
            if i < 52:
                x[i + 12] += 1

    write()
    for k in range(4):
        grow(k)
    return count.to_numpy(), x.to_numpy()


def growing_within_a_leaf(ti):
    """Differs: Taichi tests bits as the loop finds them; here the active set of the loop's beginning is visited."""
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).bitmasked(ti.i, 8).place(x)
    count = ti.field(ti.i32, shape=3)

    @ti.kernel
    def grow(k: ti.i32):
        for i in x:
            count[k] += 1
            if i % 8 < 7:
                x[i + 1] = 1

    x[1] = 1
    for k in range(3):
        grow(k)
    return count.to_numpy()


growing_within_a_leaf.ours = {"dtype": "int32", "shape": [3], "values": [1, 2, 3]}


def dying_while_walking(ti):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 8)
    block.dense(ti.i, 4).place(x)
    count = ti.field(ti.i32, shape=2)

    @ti.kernel
    def write():
        for i in range(32):
            x[i] = i

    @ti.kernel
    def walk(k: ti.i32):
        for i in block:
            count[k] += 1
            if i % 3 == 0:
                ti.deactivate(block, [i])

    write()
    walk(0)
    walk(1)
    return count.to_numpy(), x.to_numpy()


def activation_from_a_walk_elsewhere(ti):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.pointer(ti.i, 8).dense(ti.i, 4).place(x)
    other = ti.root.pointer(ti.i, 8)
    other.dense(ti.i, 4).place(y)
    count = ti.field(ti.i32, shape=())

    @ti.kernel
    def write():
        x[3] = 1
        x[17] = 1

    @ti.kernel
    def spread():
        for i in x:
            ti.activate(other, [(i // 4 + 1) % 8])

    @ti.kernel
    def visit():
        for i in y:
            count[None] += 1
            y[i] = i

    write()
    spread()
    visit()
    return count[None], y.to_numpy()


def rescaled(ti):
    x = ti.field(ti.i32)
    y = ti.field(ti.i32)
    block = ti.root.pointer(ti.ij, 4)
    block.dense(ti.ij, 8).place(x)
    ti.root.dense(ti.ij, 4).place(y)
    found = ti.field(ti.i32, shape=(4, 2))

    @ti.kernel
    def go():
        for i in range(1):
            a = ti.rescale_index(x, block, ti.Vector([17, 30]))
            b = ti.rescale_index(block, x, ti.Vector([2, 3]))
            c = ti.rescale_index(x, y, ti.Vector([31, 7]))
            d = ti.rescale_index(y, x, ti.Vector([1, 1]))
            for k in ti.static(range(2)):
                found[0, k] = a[k]
                found[1, k] = b[k]
                found[2, k] = c[k]
                found[3, k] = d[k]

    go()
    return found.to_numpy()


def activation_by_rescaled_indices(ti):
    x = ti.field(ti.i32)
    y = ti.field(ti.i32)
    ti.root.pointer(ti.ij, 4).dense(ti.ij, 8).place(x)
    block = ti.root.pointer(ti.ij, 4)
    block.dense(ti.ij, 8).place(y)
    count = ti.field(ti.i32, shape=())

    @ti.kernel
    def write():
        x[4, 5] = 1
        x[30, 12] = 1

    @ti.kernel
    def follow():
        for I in ti.grouped(x):
            ti.activate(block, ti.rescale_index(x, block, I))

    @ti.kernel
    def visit():
        for i, j in y:
            count[None] += 1

    write()
    follow()
    visit()
    return count[None]


def all_deactivated(ti):
    x, y, z = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 4)
    block.dense(ti.i, 4).place(x)
    ti.root.bitmasked(ti.i, 8).place(y)
    ti.root.dense(ti.i, 2).dynamic(ti.j, 8).place(z)
    count = ti.field(ti.i32, shape=(3, 3))

    @ti.kernel
    def write():
        for i in range(8):
            x[i] = 1
            y[i] = 1
        for i in range(2):
            for k in range(3):
                z[i].append(k)

    @ti.kernel
    def visit(k: ti.i32):
        for i in x:
            count[k, 0] += 1
        for i in y:
            count[k, 1] += 1
        for i, j in z:
            count[k, 2] += 1

    write()
    visit(0)
    block.deactivate_all()
    visit(1)
    ti.root.deactivate_all()
    visit(2)
    return count.to_numpy(), x.to_numpy(), z.to_numpy()


def one_level_deactivated(ti):
    x = ti.field(ti.i32)
    outer = ti.root.pointer(ti.i, 4)
    inner = outer.pointer(ti.i, 4)
    inner.dense(ti.i, 2).place(x)
    count = ti.field(ti.i32, shape=(2, 3))

    @ti.kernel
    def write():
        x[0] = 1
        x[13] = 2
        x[30] = 3

    @ti.kernel
    def visit(k: ti.i32):
        for i in outer:
            count[k, 0] += 1
        for i in inner:
            count[k, 1] += 1
        for i in x:
            count[k, 2] += 1

    write()
    visit(0)
    inner.deactivate_all()
    visit(1)
    return count.to_numpy()[:, 1:], x.to_numpy()


def levels_above(ti):
    x = ti.field(ti.f32)
    block = ti.root.pointer(ti.i, 4)
    middle = block.bitmasked(ti.i, 4)
    pixels = middle.dense(ti.i, 2)
    pixels.place(x)

    @ti.kernel
    def above() -> ti.i32:
        x[9] = 1.0
        return (
            ti.is_active(x.parent(2), [4]) * 1
            + ti.is_active(x.parent(3), [1]) * 10
            + ti.is_active(x.parent(2), [5]) * 100
            + ti.is_active(x.snode.parent(3), [1]) * 1000
            + ti.is_active(x.snode.parent().parent(), [4]) * 10000
        )

    same = [x.parent() == pixels, x.parent(2) == middle, x.parent(3) == block, x.snode.parent(2) == middle]
    shapes = [list(node.shape) for node in (x.parent(), x.parent(2), x.parent(3), x.snode.parent(2))]
    return above(), same, shapes


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


def game_of_life(ti):
    n = 16
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    for one in (x, y):
        ti.root.pointer(ti.ij, n // 4).bitmasked(ti.ij, 4).place(one)

    @ti.kernel
    def start():
        for i, j in ti.static([(1, 2), (2, 3), (3, 1), (3, 2), (3, 3)]):
            x[i, j] = 1

    @ti.kernel
    def near():
        for i, j in x:
            if x[i, j] == 1:
                for a, b in ti.static(ti.ndrange(3, 3)):
                    y[(i + a - 1 + n) % n, (j + b - 1 + n) % n] += 1

    @ti.kernel
    def step():
        for i, j in y:
            count = y[i, j] - x[i, j]
            x[i, j] = 1 if count == 3 or (count == 2 and x[i, j] == 1) else 0

    @ti.kernel
    def clear():
        for i, j in y:
            y[i, j] = 0

    start()
    for _ in range(12):
        near()
        step()
        clear()
    return x.to_numpy()


def a_narrow_band(ti):
    """Blocks where something is, grown by one, and a sum over the neighbours there."""
    n, leaf = 32, 4
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    block = ti.root.pointer(ti.ij, n // leaf)
    pixels = block.dense(ti.ij, leaf)
    pixels.place(x, y)

    @ti.kernel
    def draw():
        for i, j in ti.ndrange(n, n):
            if ti.abs((i - 16) ** 2 + (j - 14) ** 2 - 64) < 12:
                x[i, j] = i + j * 0.25

    @ti.kernel
    def grow():
        for i, j in x:
            for a, b in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                if 0 <= i // leaf + a < n // leaf and 0 <= j // leaf + b < n // leaf:
                    ti.activate(block, [i // leaf + a, j // leaf + b])

    @ti.kernel
    def smooth():
        for i, j in x:
            y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]) if 0 < i < n - 1 and 0 < j < n - 1 else 0.0

    @ti.kernel
    def count() -> ti.i32:
        total = 0
        for i, j in block:
            total += 1
        return total

    draw()
    before = count()
    grow()
    smooth()
    return before, count(), y.to_numpy()


def large_extents(ti):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.ij, 1024).pointer(ti.ij, 32).dense(ti.ij, 4).place(x)

    @ti.kernel
    def write():
        x[100000, 131071] = 5
        x[7, 70000] = 6

    @ti.kernel
    def visit() -> ti.i32:
        total = 0
        for i, j in x:
            if x[i, j] != 0:
                total += x[i, j] * (i + j)
        return total

    write()
    return visit(), x[100000, 131071], list(x.shape)


def spread_from_blocks(ti):
    """Differs: Taichi finds blocks that the loop itself activates; here those of the loop's beginning are visited."""
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 16)
    block.dense(ti.i, 4).place(x)

    @ti.kernel
    def grow():
        for i in block:
            if i < 15:
                ti.activate(block, [i + 1])

    @ti.kernel
    def count() -> ti.i32:
        total = 0
        for i in block:
            total += 1
        return total

    x[9] = 1
    grow()
    return count()


spread_from_blocks.ours = 2
