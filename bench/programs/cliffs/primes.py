"""Which numbers are prime: trial division, which ends at another turn for each."""

import numpy as np
import ti
from harness.workload import Workload


def model(inputs, n):
    found = np.ones(n, np.int32)
    found[:2] = 0
    for d in range(2, int(n**0.5) + 1):
        found[d * d :: d] = 0
    return {"prime": found}


WORK = Workload(
    title="trial division of each number",
    unit="number",
    parameters={"n": 100_003},
    device={"n": 1_000_003},
    smoke={"n": 1003},
    items=lambda n: n,
    inputs=lambda rng, n: {},
    model=model,
    tolerance=(0, 0),
)


def made(step, out):
    return {"step": step, "outputs": lambda: {"prime": out if isinstance(out, np.ndarray) else out.to_numpy()}}


@WORK.spelling("while with a condition")
def by_while(inputs, n):
    out = ti.field(ti.i32, shape=n)

    @ti.kernel
    def divide():
        for i in out:
            prime, d = int(i >= 2), 2
            while prime == 1 and d * d <= i:
                if i % d == 0:
                    prime = 0
                d += 1
            out[i] = prime

    return made(divide, out)


@WORK.spelling("for up to the root, with break")
def by_break(inputs, n):
    out = ti.field(ti.i32, shape=n)

    @ti.kernel
    def divide():
        for i in range(n):
            prime = 1
            if i < 2:
                prime = 0
            for d in range(2, int(ti.sqrt(i)) + 1):
                if i % d == 0:
                    prime = 0
                    break
            out[i] = prime

    return made(divide, out)


@WORK.spelling("a func, while with break")
def by_func(inputs, n):
    out = ti.field(ti.i32, shape=n)

    @ti.func
    def is_prime(k: int):
        result = k > 1
        d = 2
        while d * d <= k:
            if k % d == 0:
                result = False
                break
            d += 1
        return result

    @ti.kernel
    def divide():
        for i in range(n):
            if is_prime(i):
                out[i] = 1
            else:
                out[i] = 0

    return made(divide, out)


@WORK.spelling("NumPy array, two first, then odd divisors")
def numpy(inputs, n):
    out = np.zeros(n, np.int32)

    @ti.kernel
    def divide(out: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in range(out.shape[0]):
            prime = 1 if i > 1 and (i == 2 or i % 2 == 1) else 0
            d = 3
            while d * d <= i and prime:
                prime = i % d != 0
                d += 2
            out[i] = prime

    return made(lambda: divide(out), out)


@WORK.spelling("remainder by //, while with break")
def quotient(inputs, n):
    out = ti.field(ti.i32, shape=n)

    @ti.kernel
    def divide():
        for i in range(n):
            prime = 1
            if i < 2:
                prime = 0
            d = 2
            while d * d <= i:
                if i // d * d == i:
                    prime = 0
                    break
                d += 1
            out[i] = prime

    return made(divide, out)
