"""Loops over sparse fields that run in order; as cases_sparse.py."""


def sweep(ti):
    """A sweep in place over blocks with bits: each cell sees what the cells before it have become."""
    x = ti.field(ti.i32)
    ti.root.pointer(ti.ij, 4).bitmasked(ti.ij, 4).place(x)
    order = ti.field(ti.i32, shape=(16, 16))
    turns = ti.field(ti.i32, shape=())

    @ti.kernel
    def write():
        for i, j in ti.ndrange(16, 16):
            if (7 * i + 5 * j + i * j) % 3 == 0 and i // 4 + j // 4 != 3:
                x[i, j] = i + j

    @ti.kernel
    def sweep():
        ti.loop_config(serialize=True)
        for i, j in x:
            x[i, j] += x[i - 1, j] % 11 + x[i, (j + 15) % 16] % 7
            turns[None] += 1
            order[i, j] = turns[None]

    write()
    sweep()
    return x.to_numpy(), order.to_numpy()


def over_nested_levels(ti):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.dense(ti.i, 2).pointer(ti.ij, (3, 2)).dense(ti.j, 4).place(x)
    ti.root.bitmasked(ti.i, 4).dynamic(ti.j, 16, chunk_size=4).place(y)
    order = ti.field(ti.i32, shape=(2, 6, 16))
    turns = ti.field(ti.i32, shape=2)

    @ti.kernel
    def write():
        x[4, 1] = 1
        x[0, 6] = 1
        x[3, 0] = 1
        x[5, 7] = 1
        for k in range(3):
            for n in range(5 * k):
                y[k + 1].append(n)

    @ti.kernel
    def visit():
        ti.loop_config(serialize=True)
        for i, j in x:
            turns[0] += 1
            order[0, i, j] = turns[0]
        ti.loop_config(serialize=True)
        for i, j in y:
            turns[1] += 1
            order[1, i, j] = turns[1]

    write()
    visit()
    return order.to_numpy()


def growth(ti):
    """Differs: Taichi lists blocks before the loop begins; here they are asked for when the loop comes to them, as bits are."""
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 16).dense(ti.i, 2).place(x)
    b = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).bitmasked(ti.i, 8).place(b)
    turns = ti.field(ti.i32, shape=2)

    @ti.kernel
    def run():
        x[4] = 1
        b[3] = 1
        ti.loop_config(serialize=True)
        for i in x:
            turns[0] += 1
            if i < 20:
                x[i + 2] = 1
        ti.loop_config(serialize=True)
        for i in b:
            turns[1] += 1
            if i < 20:
                b[i + 2] = 1

    run()
    return turns.to_numpy()


growth.ours = {"dtype": "int32", "shape": [2], "values": [18, 10]}


def orders_of_dense_fields(ti):
    """Cells as they lie in memory."""
    turned, blocked = ti.field(ti.i32, (2, 6), order="ji"), ti.field(ti.i32)
    ti.root.dense(ti.j, 3).dense(ti.ij, (2, 2)).place(blocked)
    order = ti.field(ti.i32, shape=(2, 2, 6))

    @ti.kernel
    def visit():
        n = 0
        ti.loop_config(serialize=True)
        for i, j in turned:
            order[0, i, j] = n
            n += 1
        ti.loop_config(serialize=True)
        for i, j in blocked:
            order[1, i, j] = n
            n += 1

    visit()
    return order.to_numpy()
