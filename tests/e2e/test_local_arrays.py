"""Local vectors and matrices that loops index at run time are arrays in memory: they do what selections of components would."""

import numpy as np
import pytest

import metate as mt

INDEX_TYPES = [mt.i8, mt.u8, mt.i16, mt.u16, mt.i32, mt.u32, mt.i64, mt.u64]
VALUES = mt.types.ndarray(mt.i32, 2)


def arrays_of(kernel, *arguments):
    """How many of the kernel's variables are arrays."""
    text = kernel.stages(*arguments, stop_after="simplify")["simplify"]
    return text.count("memref.alloca() : memref<")


@pytest.mark.parametrize("index", INDEX_TYPES, ids=lambda index: index.name)
def test_indices_of_every_type(index):
    """Of a vector: what is read out of range is the last component, what is stored there is lost."""

    @mt.kernel
    def run(at: mt.types.ndarray(index, 1), out: VALUES):
        for i in range(out.shape[0]):
            v = mt.Vector([0] * 9)
            for k in range(at.shape[0]):
                v[at[k]] += k + i
                v[2] = k
                out[i, k] = v[at[k]] + 100 * v[8]

    given = [0, 8, 3, 3, 9, 2, 100, 8, 127] + ([] if index.name.startswith("u") else [-1, -9])
    at = np.array(given, ("uint" if index.name.startswith("u") else "int") + index.name[1:])
    out = np.zeros((5, len(given)), np.int32)
    assert arrays_of(run, at, out) == 1
    run(at, out)
    for i in range(5):
        v = [0] * 9
        for k, place in enumerate(given):
            found = v[place] if 0 <= place < 9 else v[8]
            if 0 <= place < 9:
                v[place] = found + k + i
            v[2] = k
            assert out[i, k] == (v[place] if 0 <= place < 9 else v[8]) + 100 * v[8], (i, k)


def test_rows_columns_and_elements_of_matrices(rng):
    @mt.kernel
    def run(rows: mt.types.ndarray(mt.i32, 1), columns: mt.types.ndarray(mt.i32, 1), out: VALUES):
        for i in range(out.shape[0]):
            m = mt.Matrix([[i, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]])
            for k in range(rows.shape[0]):
                r, c = rows[k], columns[k]
                m[r, c] = m[c, r] + 1
                m[2, c] -= m[r, 1]
                m[r, 2] *= 3
                m[c, c] += m[r, r]
                out[i, k] = m[r, c] + m.sum()

    rows, columns = rng.integers(-1, 5, (2, 60)).astype(np.int32)
    out = np.zeros((3, 60), np.int32)
    assert arrays_of(run, rows, columns, out) == 1
    run(rows, columns, out)

    class Twin(dict):
        def __missing__(self, place):
            return self[3, 2]

        def put(self, r, c, value):
            if 0 <= r < 4 and 0 <= c < 3:
                self[r, c] = np.int32(value)

    with np.errstate(over="ignore"):
        for i in range(3):
            m = Twin({(r, c): np.int32(3 * r + c) for r in range(4) for c in range(3)})
            m[0, 0] = np.int32(i)
            for k in range(60):
                r, c = int(rows[k]), int(columns[k])
                m.put(r, c, m[c, r] + np.int32(1))
                m.put(2, c, m[2, c] - m[r, 1])
                m.put(r, 2, m[r, 2] * np.int32(3))
                m.put(c, c, m[c, c] + m[r, r])
                assert out[i, k] == m[r, c] + np.sum(list(m.values()), dtype=np.int32), (i, k)


def test_exchanges_whole_values_and_indices_that_are_components(rng):
    @mt.func
    def turned(v):
        return mt.Vector([v[k] for k in mt.static([8, 0, 1, 2, 3, 4, 5, 6, 7])])

    @mt.kernel
    def run(at: VALUES, out: VALUES):
        for i in range(out.shape[0]):
            order, value = mt.Vector([0, 1, 2, 3, 4, 5, 6, 7, 8]), mt.Vector([0] * 9)
            for k in range(at.shape[1]):
                a, b = at[i, k], at[i, k] * 5 % 9
                order[a], order[b] = order[b], order[a]
                value[order[order[a]]] += k
                if k % 7 == 3:
                    order = turned(order)
                if k % 11 == 5:
                    value += order
            for k in mt.static(range(9)):
                out[i, k] = value[k]

    at = rng.integers(0, 9, (20, 50)).astype(np.int32)
    out = np.zeros((20, 9), np.int32)
    assert arrays_of(run, at, out) == 2
    run(at, out)
    for i in range(20):
        order, value = list(range(9)), np.zeros(9, np.int32)
        for k in range(50):
            a = int(at[i, k])
            b = a * 5 % 9
            order[a], order[b] = order[b], order[a]
            value[order[order[a]]] += k
            if k % 7 == 3:
                order = order[-1:] + order[:-1]
            if k % 11 == 5:
                value += order
        assert (out[i] == value).all(), i


@mt.real_func
def median(x: VALUES, i: mt.i32) -> mt.i32:
    kept = mt.Vector([0] * 31)
    for k in range(31):
        j = k
        while j > 0 and kept[j - 1] > x[i, k]:
            kept[j] = kept[j - 1]
            j -= 1
        kept[j] = x[i, k]
    return kept[15]


@pytest.mark.parametrize("debug", [False, True], ids=["release", "debug"])
def test_a_function_that_sorts(rng, debug):
    with mt.Context(debug=debug):

        @mt.kernel
        def run(x: VALUES, out: VALUES):
            for i in range(x.shape[0]):
                out[i, 0] = median(x, i)

        x = rng.integers(-1000, 1000, (200, 31)).astype(np.int32)
        out = np.zeros((200, 1), np.int32)
        assert arrays_of(run, x, out) == 1
        run(x, out)
        assert (out[:, 0] == np.median(x, axis=1)).all()


def test_debug_mode_tells_a_component_that_is_not_there():
    with mt.Context(debug=True):

        @mt.kernel
        def run(out: VALUES, n: mt.i32):
            for i in range(out.shape[0]):
                v = mt.Vector([1] * 20)
                for k in range(n):
                    out[i, 0] += v[k]

        out = np.zeros((1, 1), np.int32)
        run(out, 20)
        assert out[0, 0] == 20
        with pytest.raises(mt.MetateError, match=r"index out of range: component\[20\] of shape \(20,\)"):
            run(out, 21)


def test_loops_that_are_written_out_keep_registers():
    @mt.kernel
    def run(x: VALUES, out: VALUES):
        for i in range(out.shape[0]):
            a = mt.Matrix.zero(mt.i32, 3, 3)
            for j, k in mt.ndrange(3, 3):
                a[j, k] = x[j, k]
            for j in range(3):
                for k in range(3):
                    out[i, j] += a[j, k] * a[k, j]

    x, out = np.arange(9, dtype=np.int32).reshape(3, 3), np.zeros((2, 3), np.int32)
    assert arrays_of(run, x, out) == 0
    run(x, out)
    assert (out == (x * x.T).sum(axis=1)).all()


def test_a_table_of_the_kernel_that_parallel_loops_read():
    @mt.kernel
    def run(at: VALUES, out: VALUES):
        table = mt.Vector([3, 1, 4, 1, 5, 9, 2, 6, 5])
        for i in range(out.shape[0]):
            for k in range(at.shape[1]):
                out[i, 0] += table[at[i, k]]

    at = np.arange(60, dtype=np.int32).reshape(3, 20) % 9
    out = np.zeros((3, 1), np.int32)
    run(at, out)
    assert (out[:, 0] == np.array([3, 1, 4, 1, 5, 9, 2, 6, 5])[at].sum(axis=1)).all()


def test_a_loop_in_order_at_the_kernels_top(rng):
    @mt.kernel
    def run(x: VALUES) -> mt.i32:
        counts, most = mt.Vector([0] * 12), 0
        mt.loop_config(serialize=True)
        for k in range(12):
            counts[k] = k % 2
        mt.loop_config(serialize=True)
        for k in range(x.shape[1]):
            counts[x[0, k]] += 1
        for k in mt.static(range(12)):
            most = mt.max(most, counts[k])
        return most

    x = rng.integers(0, 12, (1, 500)).astype(np.int32)
    assert run(x) == (np.bincount(x[0], minlength=12) + np.arange(12) % 2).max()
