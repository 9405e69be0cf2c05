"""Derivatives and random numbers, for machines that have neither a system nor this one's arithmetic."""

import metate as mt

line = mt.types.ndarray(dtype=mt.f32, ndim=1)
places = mt.types.ndarray(dtype=mt.i32, ndim=1, needs_grad=False)


@mt.kernel
def loss(x: line, at: places, out: line):
    """Of places that memory says, with a loop in order and a branch."""
    for i in range(at.shape[0]):
        y = x[at[i]]
        for _ in range(3):
            y = mt.sin(y) * y + 0.25 * x[i]
        if y > 0.5:
            y *= y
        out[i] = y


@mt.kernel
def dice(x: line, whole: mt.types.ndarray(dtype=mt.u32, ndim=1), normal: line):
    for i in x:
        x[i] = mt.random()
        whole[i] = mt.random(mt.u32)
        normal[i] = mt.randn()


def module(target: str) -> mt.aot.Module:
    made = mt.aot.Module(targets=[target], name="pair", contract=False)
    return made.add_kernel(loss, grad=True, fwd=True).add_kernel(dice)
