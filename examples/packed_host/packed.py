"""Numbers of few bits, shipped: kernels on packed trees as a module, which the hosts beside this file run.

    python examples/packed_host/packed.py --save [FOLDER]    FOLDER (out/) gets packed.metate, packed.so, packed.o and packed.h

A cell of the world is one bit: 32 cells of a row are a word. A particle's numbers, 20 bytes in f32 and i32, take 12: two
fixed-point coordinates and what kind it is share a word of 64 bits, and the two components of its velocity one of 32, with one
exponent.
"""

import pathlib
import sys

import metate as mt

quant = mt.types.quant
ROWS, COLUMNS, PARTICLES, KINDS = 24, 64, 5000, 16
GRAVITY = 9.8

World = (
    mt.types.SNodeTreeBuilder().dense(mt.ij, (ROWS, COLUMNS // 32)).quant_array(mt.j, 32, max_num_bits=32)
    .place(alive=quant.int(1, signed=False)).build()
)  # fmt: skip

_particles = mt.types.SNodeTreeBuilder()
_particles.dense(mt.i, PARTICLES).bit_struct(max_num_bits=64).place(
    x=quant.fixed(24, signed=False, max_value=1.0),
    y=quant.fixed(24, signed=False, max_value=1.0),
    kind=quant.int(4, signed=False),
)
_particles.dense(mt.i, PARTICLES).bit_struct(max_num_bits=32).place(
    vx=quant.float(6, 13), vy=quant.float(6, 13), shared_exponent=True
)
Particles = _particles.build()


@mt.kernel
def generation(now: World, next: World):
    """On a torus."""
    for i, j in now.alive:
        around = mt.u32(0)
        for di, dj in mt.static(mt.ndrange((-1, 2), (-1, 2))):
            if mt.static(di != 0 or dj != 0):
                around += now.alive[(i + di) % ROWS, (j + dj) % COLUMNS]
        next.alive[i, j] = (around == 3) | ((around == 2) & (now.alive[i, j] == 1))


@mt.kernel
def living(now: World) -> mt.i32:
    total = 0
    for i, j in now.alive:
        total += now.alive[i, j]
    return total


@mt.func
def bounced(x, v):
    """What a wall leaves of a coordinate and its velocity."""
    inside = mt.math.clamp(x, 0.01, 0.99)
    return inside, mt.select(x == inside, v, -0.9 * v)


@mt.kernel
def advance(particles: Particles, dt: mt.f32):
    for i in particles.x:
        vx, vy = particles.vx[i], particles.vy[i] - GRAVITY * dt
        x, vx = bounced(particles.x[i] + dt * vx, vx)
        y, vy = bounced(particles.y[i] + dt * vy, vy)
        particles.x[i], particles.y[i] = x, y
        particles.vx[i], particles.vy[i] = vx, vy


@mt.kernel
def energy(particles: Particles) -> mt.f64:
    """Of all particles, each of mass 1."""
    total = mt.cast(0.0, mt.f64)
    for i in particles.x:
        total += 0.5 * (particles.vx[i] ** 2 + particles.vy[i] ** 2) + GRAVITY * particles.y[i]
    return total


@mt.kernel
def heights(particles: Particles, sums: mt.types.ndarray(mt.f64, 1), counts: mt.types.ndarray(mt.i64, 1)):
    """Of each kind."""
    for i in particles.x:
        sums[particles.kind[i]] += particles.y[i]
        counts[particles.kind[i]] += 1


def save(folder):
    module = mt.aot.Module(targets=["native"], name="packed").add_type(World, "world").add_type(Particles, "particles")
    for kernel in (generation, living, advance, energy, heights):
        module.add_kernel(kernel)
    return [module.save(folder / name) for name in ("packed.metate", "packed.so", "packed.o")]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--save"] and len(sys.argv) < 4:
        folder = pathlib.Path(sys.argv[2] if sys.argv[2:] else "out")
        folder.mkdir(parents=True, exist_ok=True)
        print(*save(folder), folder / "packed.h")
    else:
        sys.exit(__doc__)
