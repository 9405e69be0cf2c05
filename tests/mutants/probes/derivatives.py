"""Probes of the faults of kernels' derivatives."""

import numpy as np

import metate as mt

from . import expect, probe

array = mt.types.ndarray


def gradient(kernel, values, *more):
    """Of the sum of the kernel's second argument, with respect to the first, which holds `values`."""
    x = mt.ndarray(mt.f64, shape=len(values), needs_grad=True)
    y = mt.ndarray(mt.f64, shape=len(values), needs_grad=True)
    x.from_numpy(np.array(values, np.float64))
    kept = kernel.grad.call_primal((x, y, *more))[1]
    y.grad.fill(1)
    if kept is None:
        kernel.grad(x, y, *more)
    else:
        kept.put_back({})
        kernel.grad.restored(x, y, *more)
    return x.grad.to_numpy()


@probe("SecondUseForgotten")
def second_use_forgotten():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1)):
        for i in range(x.shape[0]):
            a = x[i]
            y[i] = a * a + 3 * a

    expect(gradient(run, [1, 2, 3]), [5, 7, 9])


@probe("CosineKeepsSign")
def cosine_keeps_sign():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1)):
        for i in range(x.shape[0]):
            y[i] = mt.cos(x[i])

    expect(np.sign(gradient(run, [-1, 0.5, 1])), [1, -1, -1])


@probe("StaleReadTrusted")
def stale_read_trusted():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1)):
        for i in range(x.shape[0]):
            y[i] += x[i] * x[i]
            x[i] = 0

    expect(gradient(run, [1, 2, 3]), [2, 4, 6])


@probe("WriteBetweenForgotten")
def write_between_forgotten():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1)):
        for i in range(x.shape[0]):
            x[i] = 3 * x[i]
        for i in range(x.shape[0]):
            y[i] = x[i] * x[i]
        for i in range(x.shape[0]):
            x[i] = 0

    refused = False
    try:
        gradient(run, [1, 2, 3])
    except mt.CompilationError as error:
        refused = "may have been overwritten" in str(error)
    expect(refused, True)


@probe("OwnSumNotFollowed")
def own_sum_not_followed():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1)):
        for i in range(x.shape[0]):
            x[i] += 1
            y[i] = x[i] * x[i]
            x[i] = 0

    expect(gradient(run, [1, 2, 3]), [4, 6, 8])


@probe("CarriedInactive")
def carried_inactive():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1), n: mt.i32):
        for i in range(x.shape[0]):
            a = mt.f64(1)
            for _ in range(n):
                a *= x[i]
            y[i] = a

    expect(gradient(run, [1, 2, 3], 3), [3, 12, 27])


@probe("CheckpointOfNextTurn")
def checkpoint_of_next_turn():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1), n: mt.i32):
        for i in range(x.shape[0]):
            a = x[i]
            for _ in range(n):
                a = a * a
            y[i] = a

    expect(gradient(run, [1, 2, 3], 2), [4, 32, 108])


@probe("NeighbourFromOtherSide")
def neighbour_from_other_side():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1)):
        for i in range(1, x.shape[0] - 1):
            y[i] = 2 * x[i - 1] + 3 * x[i + 1] * x[i + 1]

    expect(gradient(run, [1, 1, 2, 3, 1, 1]), [2, 2, 14, 20, 6, 6])


def validated(write, kind=mt.f64):
    """What a tape with validation says of a kernel that squares what `write` changes afterwards; "": nothing."""
    with mt.Context(debug=True):
        x, loss = mt.field(kind), mt.field(mt.f64, (), needs_grad=True)
        mt.root.pointer(mt.i, 4).place(x, x.grad)

        @mt.kernel
        def begin():
            for i in range(4):
                x[i] += 1

        @mt.kernel
        def read():
            for i in range(4):
                loss[None] += mt.math.dot(x[i], x[i]) if mt.static(kind is not mt.f64) else x[i] * x[i]

        begin()
        try:
            with mt.ad.Tape(loss, validation=True):
                read()
                write(x)
        except AssertionError as error:
            return str(error)
        return ""


@probe("AdditionUnnumbered")
def addition_unnumbered():
    @mt.kernel
    def write(x: mt.template()):
        x[2] += 1

    expect("overwritten since by kernel 'write'" in validated(write), True)


@probe("DeactivationUnnumbered")
def deactivation_unnumbered():
    @mt.kernel
    def write(x: mt.template()):
        mt.deactivate(x.parent(), [2])

    expect("overwritten since by kernel 'write'" in validated(write), True)


@probe("NumberOfOneComponent")
def number_of_one_component():
    @mt.kernel
    def write(x: mt.template()):
        x[2].y = 5

    expect("overwritten since by kernel 'write'" in validated(write, mt.types.vector(2, mt.f64)), True)
