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
        kept.run_back(kernel.grad, (x, y, *more), {})
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

    expect(gradient(run, [1, 2, 3]), [18, 36, 54])


@probe("LastPartTwice")
def last_part_twice():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1)):
        for i in range(x.shape[0]):
            y[i] = x[i] * x[i]
        for i in range(x.shape[0]):
            x[i] = y[i] * y[i]
        for i in range(x.shape[0]):
            y[i] = 2 * y[i] * x[i]

    expect(gradient(run, [1, 2]), [12, 384])


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


@probe("GivenGradientsReversed")
def given_gradients_reversed():
    matrices = array(mt.types.matrix(2, 2, mt.f64), 1)

    @mt.kernel
    def run(x: matrices, y: matrices):
        for i in range(x.shape[0]):
            U, S, V = mt.svd(x[i])
            y[i] = 2 * U * U + V * V + 0 * S  # of signs nothing depends

    x = mt.ndarray(mt.types.matrix(2, 2, mt.f64), 1, needs_grad=True)
    y = mt.ndarray(mt.types.matrix(2, 2, mt.f64), 1, needs_grad=True)
    x.from_numpy(np.array([[[2.0, 1.0], [0.0, 1.0]]]))
    run(x, y)
    y.grad.from_numpy(np.array([[[1.0, 0.0], [0.0, 0.0]]]))
    run.grad(x, y)
    value = lambda a: (lambda U, _, Vt: 2 * U[0, 0] ** 2 + Vt[0, 0] ** 2)(*np.linalg.svd(a))
    slopes = np.zeros((2, 2))
    for k in np.ndindex(2, 2):
        step = np.zeros((2, 2))
        step[k] = 1e-6
        a = x.to_numpy()[0]
        slopes[k] = (value(a + step) - value(a - step)) / 2e-6
    expect(np.abs(x.grad.to_numpy()[0] - slopes).max() < 1e-6, True)


@probe("EqualsTakeAll")
def equals_take_all():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1)):
        for i in range(64):
            mt.atomic_max(y[0], x[i % 3])

    expect(gradient(run, [1, 3, 2]), [0, 1, 0])


@probe("FactorNotPassedOn")
def factor_not_passed_on():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1)):
        for i in range(x.shape[0]):
            y[0] *= x[i]

    x, y = (mt.ndarray(mt.f64, shape=3, needs_grad=True) for _ in range(2))
    x.from_numpy(np.array([2.0, 3.0, 4.0]))
    y.fill(1)
    run(x, y)
    y.grad.fill(1)
    run.grad(x, y)
    expect(y.grad.to_numpy(), [24, 1, 1])


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

        @mt.ad.no_grad
        def change(of):
            write(of)

        begin()
        try:
            with mt.ad.Tape(loss, validation=True):
                read()
                change(x)
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


def refusal(kernel, *arguments):
    """What the gradient of a kernel is refused for; empty: it is not."""
    try:
        kernel.grad(*arguments)
    except mt.CompilationError as error:
        return str(error)
    return ""


@probe("UnusedArmCounts")
def unused_arm_counts():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1)):
        for i in range(x.shape[0]):
            y[i] = mt.select(x[i] > 0, x[i] * mt.log(x[i]), 0.0)

    expect(gradient(run, [0, 1]), [0, 1])


@probe("GradientActivates")
def gradient_activates():
    x, s = mt.field(mt.f64), mt.field(mt.f64, (), needs_grad=True)
    mt.root.pointer(mt.i, 4).place(x, x.grad)
    x[1] = 2

    @mt.kernel
    def run():
        for i in x:
            s[None] += x[i] * x[i + 1]

    s.grad[None] = 1
    run.grad()
    expect([x.is_active(i) for i in range(4)], [False, True, False, False])


@probe("ConditionReadTrusted")
def condition_read_trusted():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1)):
        while y[0] < 1:
            y[0] += x[0]
        for i in range(x.shape[0]):
            x[i] += 2 * y[i]

    x, y = (mt.ndarray(mt.f64, 2, needs_grad=True) for _ in range(2))
    y.fill(2)  # as the kernel leaves it
    expect("may have been overwritten" in refusal(run, x, y), True)


@probe("VisitedCellsTrusted")
def visited_cells_trusted():
    x, y, s = mt.field(mt.f64), mt.field(mt.f64), mt.field(mt.f64, (), needs_grad=True)
    mt.root.pointer(mt.i, 4).place(x, x.grad, y)

    @mt.kernel
    def run():
        for i in x:
            s[None] += 2 * x[i]
            y[(i + 1) % 4] = 1.0

    expect("are active is asked here" in refusal(run), True)


@probe("DeactivationTrusted")
def deactivation_trusted():
    x, s = mt.field(mt.f64), mt.field(mt.f64, (), needs_grad=True)
    level = mt.root.pointer(mt.i, 4)
    level.place(x, x.grad)

    @mt.kernel
    def run():
        for i in range(4):
            s[None] += 2 * x[i]
            mt.deactivate(level, i)

    expect("cells are deactivated here" in refusal(run), True)


@probe("StoreKeepsGradient")
def store_keeps_gradient():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1)):
        for i in range(x.shape[0]):
            y[i] = 2 * x[i]
            y[i] = 3 * x[i]

    expect(gradient(run, [1, 2]), [3, 3])


@probe("ReplayForgotten")
def replay_forgotten():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1)):
        total = mt.f64(0)
        for i in range(x.shape[0]):
            total += x[i]
        for i in range(x.shape[0]):
            y[i] = total * x[i]

    expect(gradient(run, [1, 2]), [6, 6])


@probe("LastTurnNotCounted")
def last_turn_not_counted():
    @mt.kernel
    def run(x: array(mt.f64, 1), y: array(mt.f64, 1), n: mt.i32):
        for i in range(x.shape[0]):
            for k in range(0, n, 2):
                y[i] += x[k] * k

    expect(gradient(run, [1, 1, 1, 1, 1], 5), [0, 0, 10, 0, 20])


@probe("ConstantKeepsDual")
def constant_keeps_dual():
    @mt.kernel
    def run(y: array(mt.f64, 1)):
        for i in range(y.shape[0]):
            y[i] = 3.0

    y = mt.ndarray(mt.f64, 2)
    y.dual = mt.ndarray(mt.f64, 2)
    y.dual.fill(5)
    run.fwd(y)
    expect(y.dual.to_numpy(), [0, 0])
