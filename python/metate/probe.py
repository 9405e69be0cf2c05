"""The kernel that `metate doctor` compiles: small, parallel, its result known. Nothing else belongs here."""

from .kernel import kernel
from .types import f32, ndarray


@kernel
def scale(x: ndarray(dtype=f32, ndim=1), factor: f32):
    for i in range(x.shape[0]):
        x[i] = x[i] * factor + 1
