"""B5: lists that grow: a million appends, in random order, into many dynamic lists, and into a long one."""

import numpy as np
import ti


def many(inputs, lists, count, capacity, chunk):
    x = ti.field(ti.i32)
    level = ti.root.dense(ti.i, lists).dynamic(ti.j, capacity, chunk_size=chunk)
    level.place(x)

    @ti.kernel
    def fill(keys: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for p in range(keys.shape[0]):
            x[keys[p]].append(p)

    @ti.kernel
    def add_up(length: ti.types.ndarray(dtype=ti.i32, ndim=1), total: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in range(lists):
            length[i] = x[i].length()
            for j in range(x[i].length()):
                total[i] += x[i, j]

    keys = np.ascontiguousarray(inputs["keys"])

    def step():
        level.deactivate_all()
        fill(keys)

    def outputs():
        length, total = np.zeros(lists, np.int32), np.zeros(lists, np.int32)
        add_up(length, total)
        return {"length": length, "total": total}

    return {"step": step, "outputs": outputs}


def one(inputs, lists, count, capacity, chunk):
    x = ti.field(ti.i32)
    level = ti.root.dynamic(ti.i, capacity, chunk_size=chunk)
    level.place(x)

    @ti.kernel
    def fill(keys: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for p in range(keys.shape[0]):
            ti.append(level, [], keys[p])

    @ti.kernel
    def add_up(length: ti.types.ndarray(dtype=ti.i32, ndim=1), total: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        length[0] = ti.length(level, [])
        for i in x:
            total[x[i] % lists] += 1

    keys = np.ascontiguousarray(inputs["keys"])

    def step():
        level.deactivate_all()
        fill(keys)

    def outputs():
        length, total = np.zeros(1, np.int32), np.zeros(lists, np.int32)
        add_up(length, total)
        return {"length": length, "total": total}

    return {"step": step, "outputs": outputs}
