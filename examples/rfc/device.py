"""The RFC's program for devices: its kernels and one that draws, for hosts with memory of their own there.

    python examples/rfc/device.py --save FOLDER [TARGET...]   builds device.metate in FOLDER, for these targets

The hosts are examples/vulkan_host and examples/cuda_host.
"""

import pathlib
import sys

from rfc import fill1, run1, sn1

import metate as ti

TARGETS = ("x86-64-v2", "vulkan", "cuda:compute_80")  # Mesa's CPU device has one of its own: vulkan:lavapipe


@ti.kernel
def draw(f: sn1, picture: ti.types.ndarray(dtype=ti.i32, ndim=2)):
    """picture: i32[15, 15]; how large a * b is in active cells, from 1 on; what is inactive stays as it is."""
    for I in ti.grouped(f):
        v = f[I].a * f[I].b
        picture[I] = 1 + ti.i32(ti.min(8.0, v.norm() / 40.0))


def save(folder, targets=TARGETS):
    module = ti.aot.Module(name="device", targets=list(targets))
    module.add_type(sn1, "ab_aos")
    for kernel in (fill1, run1, draw):
        module.add_kernel(kernel)
    module.save(str(folder / "device.metate"))


if __name__ == "__main__":
    if sys.argv[1:2] != ["--save"] or len(sys.argv) < 3:
        sys.exit("usage: device.py --save FOLDER [TARGET...]")
    chosen = pathlib.Path(sys.argv[2])
    chosen.mkdir(parents=True, exist_ok=True)
    save(chosen, sys.argv[3:] or TARGETS)
