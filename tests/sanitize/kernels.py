"""The kernels that the sanitizer tests run: every way in which iterations of a kernel meet.

Correct ones must be silent under ThreadSanitizer, whatever shares a tree; `racy_*` must be reported.
`make_modules.py` compiles them; sanitized_test.cpp is the host.
"""

import metate as mt

Array = mt.types.ndarray(dtype=mt.f32, ndim=1)
Counts = mt.types.ndarray(dtype=mt.i32, ndim=1)
vec3 = mt.types.vector(3, mt.f32)

sparse = mt.types.SNodeTreeBuilder().pointer(mt.ij, 8).dense(mt.ij, 8).place(a=mt.f32, n=mt.i32, v=vec3).build()
deep = mt.types.SNodeTreeBuilder().pointer(mt.i, 16).pointer(mt.i, 8).dense(mt.i, 8).place(x=mt.f32, background=1.5).build()


@mt.kernel
def fill(t: sparse):  # activation and plain stores; many iterations open one leaf
    for i, j in mt.ndrange(64, 64):
        if (i // 8 + j // 8) % 3 == 0:
            t.a[i, j] = i * 64 + j
            t.v[i, j] = vec3(i, j, 1.0)


@mt.kernel
def count(t: sparse, times: mt.i32):  # activation by atomics, all workers on the same leaves
    for k in range(times):
        t.n[k % 64, (k * 7) % 64] += 1


@mt.kernel
def scale(t: sparse, factor: mt.f32):  # struct-for, each iteration its own cell
    for i, j in t:
        t.a[i, j] *= factor


@mt.kernel
def renumber(t: sparse):  # struct-for over the same cells, another member
    for i, j in t:
        t.n[i, j] = i - j


@mt.kernel
def reduce(t: sparse, out: Array, counts: Counts):  # atomics of many kinds on shared elements
    for i, j in t:
        out[0] += t.a[i, j]
        mt.atomic_max(out[1], t.a[i, j])
        mt.atomic_min(out[2], t.v[i, j].x)
        counts[0] += 1
        mt.atomic_max(counts[1], i)
        mt.atomic_xor(counts[2], j)
        mt.atomic_mul(counts[3], 1)


@mt.kernel
def laplace(src: sparse, dst: sparse):  # neighbours of one tree into another, which grows
    for i, j in src:
        dst.a[i, j] = src.a[i - 1, j] + src.a[i + 1, j] + src.a[i, j - 1] + src.a[i, j + 1] - 4 * src.a[i, j]


@mt.kernel
def laplace_inside(src: sparse, dst: sparse):  # as debug mode wants it
    for i, j in src:
        if 0 < i and i < 63 and 0 < j and j < 63:
            dst.a[i, j] = src.a[i - 1, j] + src.a[i + 1, j] + src.a[i, j - 1] + src.a[i, j + 1] - 4 * src.a[i, j]


@mt.kernel
def grow(t: sparse):  # struct-for over a tree that the loop changes
    for i, j in t:
        if i % 8 == 0 and j % 8 == 0:
            t.n[(i + 8) % 64, j] += 1


@mt.kernel
def open_deep(t: deep, times: mt.i32):  # two pools, few cells, many workers
    for k in range(times):
        mt.activate(t, [(k * 64) % 1024])
        t.x[(k * 64 + k // 16) % 1024] += 1.0


@mt.kernel
def read_deep(t: deep, out: Array):  # reads of active and inactive cells, a store of one's own
    for i in range(1024):
        out[i] = t.x[i] + t.x[1023 - i]


@mt.kernel
def axpy(a: mt.f32, x: Array, y: Array):
    for i in range(x.shape[0]):
        y[i] += a * x[i]


@mt.kernel(asserts=True)
def check_all(x: Array, limit: mt.f32):  # asserts that many workers fail at once
    for i in range(x.shape[0]):
        assert x[i] < limit, "too large"


@mt.kernel
def print_some(x: Array):  # prints of many workers
    for i in range(x.shape[0]):
        if i % 100 == 0:
            print("x", i, "=", x[i])


@mt.kernel
def count_down(x: Array, rounds: mt.i32):  # long enough to be interrupted
    for i in range(x.shape[0]):
        for _ in range(rounds):
            x[i] -= mt.sqrt(x[i] * x[i]) * 1e-6


@mt.kernel
def racy_element(x: Array):  # every iteration stores one element
    for i in range(x.shape[0]):
        x[0] = i


@mt.kernel
def racy_cell(t: sparse):
    for i in range(1000):
        t.a[3, 3] = i


@mt.kernel
def racy_mixed(x: Array):  # an atomic one way, a plain store the other
    for i in range(x.shape[0]):
        if i % 2 == 0:
            x[0] += 1.0
        else:
            x[0] = 2.0


@mt.kernel
def store_at(x: Array, at: mt.i32):
    for i in range(1):
        x[at + i] = 1.0


@mt.kernel
def load_at(x: Array, at: mt.i32) -> mt.f32:
    return x[at]


@mt.kernel
def scale_at(t: sparse, at: mt.i32):
    for i in range(1):
        t.a[at + i, at] *= 2.0


# Every level: iterations that share words of masks, lists, buckets and pools, but no cell.
masked = mt.types.SNodeTreeBuilder().pointer(mt.i, 16).bitmasked(mt.i, 64).place(m=mt.i32, background=5).build()
lists = mt.types.SNodeTreeBuilder().dense(mt.i, 64).dynamic(mt.j, 512, 8).place(item=mt.i32).build()
bins = mt.types.SNodeTreeBuilder().hash(mt.ij).dense(mt.ij, 2).place(h=mt.i32).build()


@mt.kernel
def mix_masked(t: masked, sums: Counts):  # bits of one word set, cleared and read by all workers
    for k in range(1024):
        i = (k * 37) % 1024
        if i % 4 == 0:
            t.m[i] += 1
        elif i % 4 == 1:
            t.m[i] += 1
            mt.deactivate(t.m, [i])
        elif i % 4 == 2:
            sums[0] += mt.cast(mt.is_active(t.m, [i]), mt.i32)
        else:
            sums[1] += t.m[i]


@mt.kernel
def all_masked(t: masked, sums: Counts):
    for _i in t.m:
        sums[2] += 1


@mt.kernel
def drop_blocks(t: masked):  # slots given up while others take some
    for i in range(16):
        if i % 2 == 0:
            mt.deactivate(t.pointer0, [i])
        else:
            t.m[i * 64] = i


@mt.kernel
def mix_lists(t: lists, sums: Counts):  # all workers append to all lists; half of the lists are emptied
    for k in range(8192):
        if k % 64 < 32:
            mt.append(t.dynamic1, [k % 32], k)
        elif k % 64 == 63:
            mt.deactivate(t.dynamic1, [32 + k % 32])
        else:
            sums[0] += mt.length(t.dynamic1, [k % 64])


@mt.kernel
def mix_one(t: lists, count: Counts, out: Counts):  # all workers append runs to one list; places by one counter
    for k in range(2048):
        if k % 8 == 3:
            mt.append(t.dynamic1, [5], k)
    for k in range(2048):
        if k % 8 == 5:
            out[mt.atomic_add(count[0], 1)] = k


@mt.kernel
def all_lists(t: lists, sums: Counts):
    for _i, _j in t.item:
        sums[2] += 1


@mt.kernel
def mix_bins(t: bins, sums: Counts):  # the same bins opened by many, others given up, others read
    for k in range(4096):
        i, j = (k * 7) % 61 - 30, (k * 11) % 53 - 26
        if i % 6 < 2:
            t.h[i, j] += 1
        elif i % 6 < 4:
            t.h[i, j] += 1
            mt.deactivate(t.hash0, [i // 2, j // 2])
        else:
            sums[0] += t.h[i, j]


@mt.kernel
def all_bins(t: bins, sums: Counts):
    for i, j in t.h:
        sums[2] += t.h[i, j]


# Levels below levels that are given up while others use what is in them: what a slot links goes with it.
piles = mt.types.SNodeTreeBuilder().pointer(mt.i, 16).dynamic(mt.j, 512, 8).place(w=mt.i32, background=3).build()
gates = mt.types.SNodeTreeBuilder().bitmasked(mt.i, 16).pointer(mt.i, 8).dense(mt.i, 8).place(g=mt.i32).build()
towers = mt.types.SNodeTreeBuilder().pointer(mt.i, 16).pointer(mt.i, 8).bitmasked(mt.i, 8).place(u=mt.i32).build()
grids = mt.types.SNodeTreeBuilder().hash(mt.i).bitmasked(mt.i, 32).place(q=mt.i32, background=7).build()
nests = mt.types.SNodeTreeBuilder().pointer(mt.i, 16).hash(mt.j).dense(mt.j, 4).place(s=mt.i32).build()


@mt.kernel
def mix_piles(t: piles, sums: Counts):  # lists that go with their pointer cells: others extend them, or append to those that stay
    for k in range(4096):
        if k % 8 == 7:
            mt.deactivate(t.pointer0, [k // 8 % 8])
        elif k % 16 < 5:  # an append's store could meet that of the list which comes after
            mt.atomic_add(t.w[k % 16, k // 16 % 24], 1)
        elif k % 8 < 5:
            mt.append(t.dynamic1, [k % 16], k)
        else:
            sums[0] += mt.length(t.dynamic1, [k % 16]) + t.w[k % 16, k % 5]


@mt.kernel
def mix_gates(t: gates, sums: Counts):  # pointer cells that go with a bit
    for k in range(4096):
        i = (k * 37) % 1024
        if k % 8 == 7:
            mt.deactivate(t.bitmasked0, [i // 64])
        elif k % 8 == 6:
            mt.deactivate(t.pointer1, [i // 8])
        elif k % 8 < 4:
            mt.atomic_add(t.g[i], 1)
        else:
            sums[0] += t.g[i] + mt.cast(mt.is_active(t.g, [i]), mt.i32)


@mt.kernel
def mix_towers(t: towers, sums: Counts):  # three levels, each given up by some
    for k in range(4096):
        i = (k * 37) % 1024
        if k % 16 == 15:
            mt.deactivate(t.pointer0, [i // 64])
        elif k % 16 == 14:
            mt.deactivate(t.pointer1, [i // 8])
        elif k % 16 == 13:
            mt.deactivate(t.u, [i])
        elif k % 16 == 12:
            mt.activate(t.u, [i])
        elif k % 2 == 0:
            mt.atomic_add(t.u[i], 1)
        else:
            sums[0] += t.u[i]


@mt.kernel
def mix_grids(t: grids, sums: Counts):  # bits in slots that are found by coordinates
    for k in range(4096):
        i = (k * 37) % 1024 - 512
        if k % 8 == 7:
            mt.deactivate(t.hash0, [i // 32])
        elif k % 8 == 6:
            mt.deactivate(t.q, [i])
        elif k % 8 < 4:
            mt.atomic_add(t.q[i], 1)
        else:
            sums[0] += t.q[i]


@mt.kernel
def mix_nests(t: nests, sums: Counts):  # a table's entries that go with pointer cells
    for k in range(4096):
        i, j = k % 16, (k * 37) % 200 - 100
        if k % 32 == 31:
            mt.deactivate(t.pointer0, [k // 32 % 16])
        elif k % 8 == 6:
            mt.deactivate(t.hash1, [i, j // 4])
        elif k % 8 < 4:
            mt.atomic_add(t.s[i, j], 1)
        else:
            sums[0] += t.s[i, j]


@mt.kernel
def all_nested(a: piles, b: gates, c: towers, d: grids, e: nests, sums: Counts):  # each active cell once
    for _i, _j in a.w:
        sums[1] += 1
    for _i in b.g:
        sums[1] += 1
    for _i in c.u:
        sums[1] += 1
    for _i in d.q:
        sums[1] += 1
    for _i, _j in e.s:
        sums[1] += 1
