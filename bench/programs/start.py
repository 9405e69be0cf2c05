"""B16: start.py PACKAGE KIND THREADS FOLDER prints the seconds that one thing took in this process.

cold, warm: from before the import to the first result of a small kernel, without and with the package's cache
on disk (in FOLDER); frame, frame-numpy: to the first positions of mpm88, with the cache, read as single cells or as an array;
mpm88, mpm3d, wave, mpm: the first call of kernels, less a later one, in a process that has run another; wave-gradient,
mpm-gradient: with the kernels of their gradients.
"""

import time

START = time.perf_counter()  # before modules that packages may load as well

import os  # noqa: E402
import sys  # noqa: E402

CACHED = ("warm", "frame", "frame-numpy")


def options(ti, package, threads, cache):
    chosen = {"arch": ti.cpu, "cpu_max_num_threads": threads, "fast_math": True}
    chosen |= {"offline_cache": cache is not None, "log_level": ti.ERROR}
    if cache:
        chosen["offline_cache_file_path"] = cache
    return chosen


def first_result(ti):
    import numpy as np

    @ti.kernel
    def saxpy(a: ti.f32, x: ti.types.ndarray(dtype=ti.f32, ndim=1), y: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in range(x.shape[0]):
            y[i] += a * x[i]

    x, y = np.ones(64, np.float32), np.ones(64, np.float32)
    saxpy(2.0, x, y)
    assert (y == 3.0).all()


def first_frame(ti, kind):
    """Fields, kernels and a step of examples/mpm88.py, whose `metate` is the package that is measured."""
    sys.modules["metate"] = ti
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples"))
    import mpm88

    water = mpm88.Water(8192)
    water.fill()
    water.substep()
    if kind == "frame-numpy":
        positions = water.x.to_numpy()[:4].tolist()
    else:
        components = [water.x.get_scalar_field(k) for k in range(2)]
        positions = [[component[p] for component in components] for p in range(4)]
    seconds = time.perf_counter() - START
    assert all(0.1 < coordinate < 0.7 for position in positions for coordinate in position)
    return seconds


def compiling(kind):
    """Seconds of the first step of a program beyond those of later ones."""
    import numpy as np

    from programs import empty, gradients, mpm

    empty.make()
    rng = np.random.default_rng(7)
    if kind == "mpm88":
        program = mpm.mpm88({"x": rng.random((8192, 2), np.float32) * 0.4 + 0.2}, particles=8192, grid=128, dt=2e-4)
    elif kind.startswith("wave"):
        inputs = {"u": rng.random((64, 64), np.float32), "target": rng.random((64, 64), np.float32)}
        program = gradients.wave(inputs, n=64, turns=2, backward=kind.endswith("gradient"))
    elif kind in ("mpm", "mpm-gradient"):
        inputs = {"x": (0.3 + 0.3 * rng.random((8192, 2))).astype(np.float32)}
        program = gradients.mpm(inputs, particles=8192, n=64, turns=2, backward=kind.endswith("gradient"))
    else:
        program = mpm.p2g3(mpm.random_particles3(rng, 8192), particles=8192, grid=128)
    times = []
    for _ in range(4):
        start = time.perf_counter()
        program["step"]()
        times.append(time.perf_counter() - start)
    return times[0] - min(times[1:])


def main(package, kind, threads, folder):
    ti = __import__(package)
    ti.init(**options(ti, package, int(threads), folder if kind in CACHED else None))
    if kind.startswith("frame"):
        return first_frame(ti, kind)
    if kind in ("cold", "warm"):
        first_result(ti)
        return time.perf_counter() - START
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.modules["ti"] = ti
    return compiling(kind)


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
