"""The types, functions and values that the kernels of error_cases.py use."""

import numpy as np

import metate as ti

vec3 = ti.types.vector(3, ti.f32)
S = ti.types.struct({"a": ti.f32, "b": vec3})
Tree = ti.types.SNodeTreeBuilder().pointer(ti.ij, 3).dense(ti.ij, 5).place(S).build()
_split = ti.types.SNodeTreeBuilder()
_split.pointer(ti.ij, 3).place(S.a)
_split.pointer(ti.i, 3).place(S.b)
Split = _split.build()
X = ti.types.ndarray(dtype=ti.f32, ndim=1)
XY = ti.types.ndarray(dtype=ti.f32, ndim=2)


BIG = np.zeros((20, 20))


@ti.func
def twice(x):
    return x + undefined_inside  # noqa: F821


@ti.func
def again(x):
    return again(x)


@ti.func
def sometimes(x):
    if x > 0:
        return x


def plain(x):
    yield x
