"""Fields and arrays of twelve dimensions, the most that there are: dense, sparse, in modules, and their errors."""

import numpy as np
import pytest

import metate as mt


@pytest.mark.parametrize("arch", [mt.cpu, mt.interp], ids=["cpu", "interp"])
def test_fields_and_arrays(arch, rng, tmp_path):
    shape = (2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 3)
    with mt.Context(arch):
        x, y, s = mt.field(mt.i32, shape), mt.Vector.field(2, mt.i32, shape[:9]), mt.field(mt.i32)
        mt.root.pointer(mt.ijklmnopqrst, shape).dense(mt.axes("jlt"), (2, 3, 1)).place(s)

        @mt.kernel
        def run(a: mt.types.ndarray(mt.i32, 12), out: mt.types.ndarray(mt.i32, 12)):
            for I in mt.grouped(x):
                x[I] = 2 * a[I] + I[10]
            for i, j, k, l, m, n, o, p, q in y:
                y[i, j, k, l, m, n, o, p, q] = [q, i + o]
            for i, j, k, l, m, n, o, p, q, r, s_, t in a:
                if a[i, j, k, l, m, n, o, p, q, r, s_, t] % 3 == 0:
                    s[i, j, k, l, m, n, o, p, q, r, s_, t] += t + 1
            for I in mt.grouped(s):
                out[I[0], 0, I[2], 0, I[4], 0, I[6], 0, I[8], 0, I[10], I[11]] += s[I] * 10 + I[1] + I[3]

        @mt.kernel
        def outside(i: mt.i32):
            x[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, i, 2] = 1

        a, out = rng.integers(0, 100, shape, dtype=np.int32), np.zeros(shape, np.int32)
        run(a, out)
        at = np.indices(shape)
        np.testing.assert_array_equal(x.to_numpy(), 2 * a + at[10])
        np.testing.assert_array_equal(y.to_numpy()[..., 0], np.indices(shape[:9])[8])
        hit = a % 3 == 0
        # Of an active block its two cells along j and three along l are visited: 3 * (0 + 1) + 2 * (0 + 1 + 2).
        np.testing.assert_array_equal(out, np.where(hit, 10 * (at[11] + 1) + 9, 0))
        assert x[(1, 0) * 5 + (1, 2)] == 2 * a[(1, 0) * 5 + (1, 2)] + 1
        with mt.Context(arch, debug=True), pytest.raises(mt.errors.RuntimeIndexError_, match=r"x\[(0, ){10}2, 2\] of shape"):
            outside(2)
        if arch is mt.cpu:
            module = mt.aot.Module()
            module.add_kernel(run)
            loaded = mt.aot.load(module.save(tmp_path / "many.metate"))
            assert loaded.run is not None
            assert "12" in str(module.header()) if hasattr(module, "header") else True
