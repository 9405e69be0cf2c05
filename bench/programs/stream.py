"""B1: one pass over f32 arrays, over fields and over ndarrays."""

import numpy as np
import ti

Array = ti.types.ndarray(dtype=ti.f32, ndim=1)
A = 0.25


def made_of_field(values):
    field = ti.field(ti.f32, shape=len(values))
    field.from_numpy(np.ascontiguousarray(values))
    return field


def made_of_array(values):
    array = ti.ndarray(ti.f32, shape=len(values))
    array.from_numpy(np.ascontiguousarray(values))
    return array


def saxpy_field(inputs, n):
    x, y = made_of_field(inputs["x"]), made_of_field(inputs["y"])

    @ti.kernel
    def saxpy(a: ti.f32):
        for i in x:
            y[i] += a * x[i]

    return {"step": lambda: saxpy(A), "outputs": lambda: {"out": y.to_numpy()}}


def fill_field(inputs, n):
    y = ti.field(ti.f32, shape=n)

    @ti.kernel
    def fill(a: ti.f32):
        for i in y:
            y[i] = a

    return {"step": lambda: fill(A), "outputs": lambda: {"out": y.to_numpy()}}


def copy_field(inputs, n):
    x, y = made_of_field(inputs["x"]), ti.field(ti.f32, shape=n)

    @ti.kernel
    def copy():
        for i in x:
            y[i] = x[i]

    return {"step": copy, "outputs": lambda: {"out": y.to_numpy()}}


def triad_field(inputs, n):
    x, y, z = made_of_field(inputs["x"]), made_of_field(inputs["y"]), ti.field(ti.f32, shape=n)

    @ti.kernel
    def triad(a: ti.f32):
        for i in x:
            z[i] = x[i] + a * y[i]

    return {"step": lambda: triad(A), "outputs": lambda: {"out": z.to_numpy()}}


def saxpy_array(inputs, n):
    x, y = made_of_array(inputs["x"]), made_of_array(inputs["y"])

    @ti.kernel
    def saxpy(a: ti.f32, x: Array, y: Array):
        for i in range(x.shape[0]):
            y[i] += a * x[i]

    return {"step": lambda: saxpy(A, x, y), "outputs": lambda: {"out": y.to_numpy()}, "empty": empty_of(x, y)}


def fill_array(inputs, n):
    y = ti.ndarray(ti.f32, shape=n)

    @ti.kernel
    def fill(a: ti.f32, y: Array):
        for i in range(y.shape[0]):
            y[i] = a

    return {"step": lambda: fill(A, y), "outputs": lambda: {"out": y.to_numpy()}, "empty": empty_of(y, y)}


def copy_array(inputs, n):
    x, y = made_of_array(inputs["x"]), ti.ndarray(ti.f32, shape=n)

    @ti.kernel
    def copy(x: Array, y: Array):
        for i in range(x.shape[0]):
            y[i] = x[i]

    return {"step": lambda: copy(x, y), "outputs": lambda: {"out": y.to_numpy()}, "empty": empty_of(x, y)}


def triad_array(inputs, n):
    x, y, z = made_of_array(inputs["x"]), made_of_array(inputs["y"]), ti.ndarray(ti.f32, shape=n)

    @ti.kernel
    def triad(a: ti.f32, x: Array, y: Array, z: Array):
        for i in range(x.shape[0]):
            z[i] = x[i] + a * y[i]

    return {"step": lambda: triad(A, x, y, z), "outputs": lambda: {"out": z.to_numpy()}, "empty": empty_of(x, y)}


def empty_of(x, y):
    @ti.kernel
    def empty(a: ti.f32, x: Array, y: Array):
        pass

    empty(A, x, y)
    return lambda: empty(A, x, y)
