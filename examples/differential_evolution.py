"""Differential evolution: a population looks for the least of Rastrigin's function, which has a valley at every whole place.

Each candidate meets a mixture of three others, a + F (b - c), of which some coordinates are its own; the better of the two
lives on (R. Storn and K. Price, Differential Evolution, 1997). All of a generation are computed side by side.

python examples/differential_evolution.py --size 256 --frames 100 --out evolution.gif
"""

from example import Window, options

import metate as ti

chosen = options(__doc__, size=256, frames=100, size_help="candidates")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = max(chosen.size, 4)
dimensions = 2
bound = 5.12
weight, crossover = 0.6, 0.8
pixels = 384
generations = 50  # then a new population begins

candidate = ti.Vector.field(dimensions, ti.f32, shape=(2, n))  # this generation's and the next one's
cost = ti.field(ti.f32, shape=(2, n))
landscape = ti.Vector.field(3, ti.f32, shape=(pixels, pixels))


@ti.func
def rastrigin(x):
    """0 at 0, its least value."""
    return (x * x - 10 * ti.cos(2 * ti.math.pi * x) + 10).sum()


@ti.kernel
def scatter():
    for k in range(n):
        x = ti.Vector([bound * (2 * ti.random() - 1) for _ in range(dimensions)])
        candidate[0, k] = x
        cost[0, k] = rastrigin(x)


@ti.func
def another(k):
    """Any candidate but k."""
    return (k + 1 + int(ti.random() * (n - 1))) % n


@ti.kernel
def evolve(now: ti.i32):
    for k in range(n):
        mine = candidate[now, k]
        mixed = candidate[now, another(k)] + weight * (candidate[now, another(k)] - candidate[now, another(k)])
        trial = mine
        certain = int(ti.random() * dimensions)
        for d in ti.static(range(dimensions)):
            if d == certain or ti.random() < crossover:
                trial[d] = ti.math.clamp(mixed[d], -bound, bound)
        its = rastrigin(trial)
        better = its <= cost[now, k]
        candidate[1 - now, k] = trial if better else mine
        cost[1 - now, k] = ti.min(its, cost[now, k])


@ti.kernel
def paint():
    for i, j in landscape:
        x = bound * (2 * ti.Vector([i + 0.5, j + 0.5]) / pixels - 1)
        height = rastrigin(x) / 80
        landscape[i, j] = ti.math.mix(ti.Vector([0.05, 0.09, 0.25]), ti.Vector([0.55, 0.75, 0.85]), height)


def main():
    paint()
    gui = Window("Differential evolution", pixels, chosen)
    while gui.running:
        generation = gui.frame % generations
        if generation == 0:
            scatter()
        gui.set_image(landscape)
        gui.circles(candidate.to_numpy()[generation % 2] / (2 * bound) + 0.5, radius=3.5, color=0xFFB703)
        gui.show()
        evolve(generation % 2)


if __name__ == "__main__":
    main()
