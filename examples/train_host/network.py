"""A small network that learns a curve, for a host without Python: its kernels, with their derivatives, as a module.

    python examples/train_host/network.py --save [FOLDER]    FOLDER (out/) gets network.metate, which host.cpp opens
    python examples/train_host/network.py                    trains in this process instead: the same kernels, the same losses

The network has one number in, one hidden layer, one number out. A row of `neurons` is one of the layer: the weight and the offset
of its input, and the weight of its output.
"""

import pathlib
import sys

import numpy as np

import metate as mt

array = mt.types.ndarray
NEURONS, POINTS, RATE = 24, 200, 0.05


@mt.kernel
def predict(x: array(mt.f32, 1, needs_grad=False), neurons: array(mt.f32, 2), y: array(mt.f32, 1)):
    for i in x:
        total = 0.0
        for k in range(neurons.shape[0]):
            total += neurons[k, 2] * mt.tanh(neurons[k, 0] * x[i] + neurons[k, 1])
        y[i] = total


@mt.kernel
def measure(y: array(mt.f32, 1), wanted: array(mt.f32, 1, needs_grad=False), loss: array(mt.f32, 0)):
    for i in y:
        loss[None] += (y[i] - wanted[i]) ** 2 / y.shape[0]


@mt.kernel
def descend(rate: mt.f32, neurons: array(mt.f32, 2), gradient: array(mt.f32, 2), momentum: array(mt.f32, 2)):
    for k, j in neurons:
        momentum[k, j] = 0.9 * momentum[k, j] - rate * gradient[k, j]
        neurons[k, j] += momentum[k, j]


def save(folder):
    module = mt.aot.Module(targets=["native"])
    module.add_kernel(predict, grad=True)
    module.add_kernel(measure, grad=True)
    module.add_kernel(descend)
    return module.save(folder / "network.metate")


def beginning():
    """Points of the curve, and neurons that bend here and there: as host.cpp makes them."""
    x = np.linspace(-1, 1, POINTS, dtype=np.float32)
    wanted = np.sin(5 * x) * np.exp(-x)
    neurons = np.array([(6, -6 * (2 * k / (NEURONS - 1) - 1), 0) for k in range(NEURONS)], np.float32)
    return x, wanted.astype(np.float32), neurons


def train(steps):
    """The losses, one before each step."""
    x, wanted, neurons = beginning()
    net, y, loss = (mt.ndarray(mt.f32, shape, needs_grad=True) for shape in ((NEURONS, 3), POINTS, ()))
    momentum, losses = np.zeros_like(neurons), []
    net.from_numpy(neurons)
    for _ in range(steps):
        net.grad.fill(0)
        y.grad.fill(0)
        with mt.ad.Tape(loss):
            predict(x, net, y)
            measure(y, wanted, loss)
        descend(RATE, net, net.grad, momentum)
        losses.append(loss[None])
    return losses


if __name__ == "__main__":
    if sys.argv[1:2] == ["--save"]:
        folder = pathlib.Path(sys.argv[2] if sys.argv[2:] else "out")
        folder.mkdir(parents=True, exist_ok=True)
        print(save(folder))
    else:
        for step, loss in enumerate(train(400)):
            if step % 20 == 0 or step == 399:
                print(f"step {step:4} loss {loss:.6f}")
