"""Kernels over every kind of level, for the sparse tests of objects with a C header and of `.metate` files."""

import metate as mt

Cells = mt.types.SNodeTreeBuilder().pointer(mt.ij, 4).bitmasked(mt.ij, 8).place(a=mt.i32, background=7).build()
Lists = mt.types.SNodeTreeBuilder().dense(mt.i, 8).dynamic(mt.j, 64, 4).place(item=mt.i32).build()
Bins = mt.types.SNodeTreeBuilder().hash(mt.ij).dense(mt.ij, 4).place(count=mt.i32).build()
Points = mt.types.ndarray(dtype=mt.i32, ndim=2)
Out = mt.types.ndarray(dtype=mt.i64, ndim=1)


@mt.kernel
def scatter(points: Points, cells: Cells, lists: Lists, bins: Bins):
    for k in range(points.shape[0]):
        i, j = points[k, 0], points[k, 1]
        cells.a[i % 32, j % 32] = i * 100 + j
        mt.append(lists.dynamic1, [i % 8], j)
        bins.count[i, j] += 1


@mt.kernel
def thin(cells: Cells, lists: Lists):
    for i, j in cells.a:
        if (i + j) % 3 == 0:
            mt.deactivate(cells.a, [i, j])
    for i in range(8):
        if i % 2 == 1:
            mt.deactivate(lists.dynamic1, [i])


@mt.kernel
def measure(cells: Cells, lists: Lists, bins: Bins, out: Out):
    for i, j in cells.a:
        out[0] += 1
        out[1] += cells.a[i, j]
    for i in range(8):
        out[2] += mt.length(lists.dynamic1, [i])
    for i, j in lists.item:
        out[3] += lists.item[i, j]
    for i, j in bins.count:
        if bins.count[i, j] > 0:
            out[4] += 1
            out[5] += bins.count[i, j] * (3 * i + 5 * j)
    for i, j in mt.ndrange(32, 32):
        out[6] += cells.a[i, j]


def module():
    module = mt.aot.Module()
    for name, type_ in (("cells", Cells), ("lists", Lists), ("bins", Bins)):
        module.add_type(type_, name)
    for kernel in (scatter, thin, measure):
        module.add_kernel(kernel)
    return module
