"""Heat on a plate whose border keeps its temperature: kernels that CMake compiles for two programs."""

from amounts import ALPHA

import metate as ti

plate = ti.types.ndarray(dtype=ti.f32, ndim=2)


@ti.kernel
def diffuse(old: plate, new: plate):
    for i, j in old:
        if 0 < i < old.shape[0] - 1 and 0 < j < old.shape[1] - 1:
            new[i, j] = old[i, j] + ALPHA * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1] - 4.0 * old[i, j])
        else:
            new[i, j] = old[i, j]


@ti.kernel
def warmth(t: plate) -> ti.f64:
    total = ti.f64(0.0)
    for i, j in t:
        total += t[i, j]
    return total
