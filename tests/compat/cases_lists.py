"""Programs about dynamic levels, as a Taichi user writes them; as cases_sparse.py."""

import numpy as np


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
