"""Programs that walk levels, and activate or give up cells meanwhile; as cases_sparse.py."""


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
