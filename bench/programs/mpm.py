"""B6: material point methods: mpm88 (water, 2-D), mpm99 (three materials, 2-D), mpm3d (water; the two transfers apart)."""

import numpy as np
import ti


def mpm88(inputs, particles, grid, dt):
    dx, inverse = 1.0 / grid, float(grid)
    volume = (dx * 0.5) ** 2
    mass, stiffness, gravity = volume * 1.0, 400.0, 9.8
    x, v = ti.Vector.field(2, ti.f32, shape=particles), ti.Vector.field(2, ti.f32, shape=particles)
    C, J = ti.Matrix.field(2, 2, ti.f32, shape=particles), ti.field(ti.f32, shape=particles)
    grid_v, grid_m = ti.Vector.field(2, ti.f32, shape=(grid, grid)), ti.field(ti.f32, shape=(grid, grid))

    @ti.kernel
    def substep():
        for i, j in grid_m:
            grid_v[i, j] = [0.0, 0.0]
            grid_m[i, j] = 0.0
        for p in x:
            base = (x[p] * inverse - 0.5).cast(int)
            fx = x[p] * inverse - base.cast(ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            stress = -dt * 4.0 * stiffness * volume * (J[p] - 1.0) * inverse * inverse
            affine = ti.Matrix([[stress, 0.0], [0.0, stress]]) + mass * C[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                dpos = (offset.cast(ti.f32) - fx) * dx
                weight = w[i][0] * w[j][1]
                grid_v[base + offset] += weight * (mass * v[p] + affine @ dpos)
                grid_m[base + offset] += weight * mass
        for i, j in grid_m:
            if grid_m[i, j] > 0.0:
                grid_v[i, j] /= grid_m[i, j]
            grid_v[i, j][1] -= dt * gravity
            if i < 3 and grid_v[i, j][0] < 0.0:
                grid_v[i, j][0] = 0.0
            if i > grid - 3 and grid_v[i, j][0] > 0.0:
                grid_v[i, j][0] = 0.0
            if j < 3 and grid_v[i, j][1] < 0.0:
                grid_v[i, j][1] = 0.0
            if j > grid - 3 and grid_v[i, j][1] > 0.0:
                grid_v[i, j][1] = 0.0
        for p in x:
            base = (x[p] * inverse - 0.5).cast(int)
            fx = x[p] * inverse - base.cast(ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_v = ti.Vector.zero(ti.f32, 2)
            new_C = ti.Matrix.zero(ti.f32, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                dpos = (offset.cast(ti.f32) - fx) * dx
                weight = w[i][0] * w[j][1]
                g_v = grid_v[base + offset]
                new_v += weight * g_v
                new_C += 4.0 * weight * g_v.outer_product(dpos) * inverse * inverse
            v[p] = new_v
            x[p] += dt * v[p]
            J[p] *= 1.0 + dt * new_C.trace()
            C[p] = new_C

    start = np.ascontiguousarray(inputs["x"])

    def reset():
        x.from_numpy(start)
        v.from_numpy(np.tile(np.float32([0.0, -1.0]), (particles, 1)))
        C.from_numpy(np.zeros((particles, 2, 2), np.float32))
        J.from_numpy(np.ones(particles, np.float32))

    reset()
    return {"step": substep, "reset": reset, "outputs": lambda: {"x": x.to_numpy(), "v": v.to_numpy()}}


def mpm99(inputs, particles, grid, dt):
    dx, inverse = 1.0 / grid, float(grid)
    volume = (dx * 0.5) ** 2
    mass, hardness, poisson = volume * 1.0, 1000.0, 0.2
    mu_0, lambda_0 = hardness / (2 * (1 + poisson)), hardness * poisson / ((1 + poisson) * (1 - 2 * poisson))
    x, v = ti.Vector.field(2, ti.f32, shape=particles), ti.Vector.field(2, ti.f32, shape=particles)
    C, F = ti.Matrix.field(2, 2, ti.f32, shape=particles), ti.Matrix.field(2, 2, ti.f32, shape=particles)
    material, Jp = ti.field(ti.i32, shape=particles), ti.field(ti.f32, shape=particles)
    grid_v, grid_m = ti.Vector.field(2, ti.f32, shape=(grid, grid)), ti.field(ti.f32, shape=(grid, grid))

    @ti.kernel
    def substep():
        for i, j in grid_m:
            grid_v[i, j] = [0.0, 0.0]
            grid_m[i, j] = 0.0
        for p in x:
            base = (x[p] * inverse - 0.5).cast(int)
            fx = x[p] * inverse - base.cast(ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            F[p] = (ti.Matrix.identity(ti.f32, 2) + dt * C[p]) @ F[p]
            h = ti.exp(10.0 * (1.0 - Jp[p]))
            if material[p] == 1:
                h = 0.3
            mu, la = mu_0 * h, lambda_0 * h
            if material[p] == 0:
                mu = 0.0
            U, sig, V = ti.svd(F[p])
            J = 1.0
            for d in ti.static(range(2)):
                new_sig = sig[d, d]
                if material[p] == 2:
                    new_sig = ti.min(ti.max(sig[d, d], 1.0 - 2.5e-2), 1.0 + 4.5e-3)
                Jp[p] *= sig[d, d] / new_sig
                sig[d, d] = new_sig
                J *= new_sig
            if material[p] == 0:
                F[p] = ti.Matrix.identity(ti.f32, 2) * ti.sqrt(J)
            elif material[p] == 2:
                F[p] = U @ sig @ V.transpose()
            stress = 2.0 * mu * (F[p] - U @ V.transpose()) @ F[p].transpose() + ti.Matrix.identity(ti.f32, 2) * la * J * (J - 1.0)
            stress = (-dt * volume * 4.0 * inverse * inverse) * stress
            affine = stress + mass * C[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                dpos = (offset.cast(ti.f32) - fx) * dx
                weight = w[i][0] * w[j][1]
                grid_v[base + offset] += weight * (mass * v[p] + affine @ dpos)
                grid_m[base + offset] += weight * mass
        for i, j in grid_m:
            if grid_m[i, j] > 0.0:
                grid_v[i, j] = (1.0 / grid_m[i, j]) * grid_v[i, j]
                grid_v[i, j][1] -= dt * 50.0
                if i < 3 and grid_v[i, j][0] < 0.0:
                    grid_v[i, j][0] = 0.0
                if i > grid - 3 and grid_v[i, j][0] > 0.0:
                    grid_v[i, j][0] = 0.0
                if j < 3 and grid_v[i, j][1] < 0.0:
                    grid_v[i, j][1] = 0.0
                if j > grid - 3 and grid_v[i, j][1] > 0.0:
                    grid_v[i, j][1] = 0.0
        for p in x:
            base = (x[p] * inverse - 0.5).cast(int)
            fx = x[p] * inverse - base.cast(ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_v = ti.Vector.zero(ti.f32, 2)
            new_C = ti.Matrix.zero(ti.f32, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                dpos = ti.Vector([i, j]).cast(ti.f32) - fx
                g_v = grid_v[base + ti.Vector([i, j])]
                weight = w[i][0] * w[j][1]
                new_v += weight * g_v
                new_C += 4.0 * inverse * weight * g_v.outer_product(dpos)
            v[p], C[p] = new_v, new_C
            x[p] += dt * v[p]

    start, kinds = np.ascontiguousarray(inputs["x"]), np.ascontiguousarray(inputs["material"])

    def reset():
        x.from_numpy(start)
        v.from_numpy(np.zeros((particles, 2), np.float32))
        C.from_numpy(np.zeros((particles, 2, 2), np.float32))
        F.from_numpy(np.tile(np.eye(2, dtype=np.float32), (particles, 1, 1)))
        Jp.from_numpy(np.ones(particles, np.float32))
        material.from_numpy(kinds)

    reset()
    return {"step": substep, "reset": reset, "outputs": lambda: {"x": x.to_numpy(), "v": v.to_numpy()}}


def random_particles3(rng, particles):
    return {
        "x": rng.random((particles, 3), np.float32) * 0.4 + 0.2,
        "v": rng.random((particles, 3), np.float32) - 0.5,
        "C": rng.random((particles, 3, 3), np.float32) - 0.5,
        "J": rng.random(particles, np.float32) * 0.2 + 0.9,
    }


def p2g3(inputs, particles, grid):
    dx, inverse, dt = 1.0 / grid, float(grid), 1e-4
    volume = (dx * 0.5) ** 2
    mass, stiffness = volume * 1.0, 400.0
    x, v = ti.Vector.field(3, ti.f32, shape=particles), ti.Vector.field(3, ti.f32, shape=particles)
    C, J = ti.Matrix.field(3, 3, ti.f32, shape=particles), ti.field(ti.f32, shape=particles)
    grid_v, grid_m = ti.Vector.field(3, ti.f32, shape=(grid,) * 3), ti.field(ti.f32, shape=(grid,) * 3)
    for field, name in ((x, "x"), (v, "v"), (C, "C"), (J, "J")):
        field.from_numpy(np.ascontiguousarray(inputs[name]))

    @ti.kernel
    def p2g():
        for I in ti.grouped(grid_m):
            grid_v[I] = ti.Vector.zero(ti.f32, 3)
            grid_m[I] = 0.0
        for p in x:
            at = x[p] * inverse
            base = int(at - 0.5)
            fx = at - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            stress = -dt * 4.0 * stiffness * volume * (J[p] - 1.0) * inverse * inverse
            affine = ti.Matrix.identity(ti.f32, 3) * stress + mass * C[p]
            for offset in ti.static(ti.grouped(ti.ndrange(3, 3, 3))):
                dpos = (offset - fx) * dx
                weight = 1.0
                for d in ti.static(range(3)):
                    weight *= w[offset[d]][d]
                grid_v[base + offset] += weight * (mass * v[p] + affine @ dpos)
                grid_m[base + offset] += weight * mass

    # In units in which a cell's values are around one.
    return {"step": p2g, "outputs": lambda: {"m": grid_m.to_numpy() / mass, "v": grid_v.to_numpy() / mass}}


def g2p3(inputs, particles, grid):
    dx, inverse = 1.0 / grid, float(grid)
    x, v = ti.Vector.field(3, ti.f32, shape=particles), ti.Vector.field(3, ti.f32, shape=particles)
    C = ti.Matrix.field(3, 3, ti.f32, shape=particles)
    grid_v = ti.Vector.field(3, ti.f32, shape=(grid,) * 3)
    x.from_numpy(np.ascontiguousarray(inputs["x"]))
    grid_v.from_numpy(np.ascontiguousarray(inputs["grid_v"]))

    @ti.kernel
    def g2p():
        for p in x:
            at = x[p] * inverse
            base = int(at - 0.5)
            fx = at - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_v = ti.Vector.zero(ti.f32, 3)
            new_C = ti.Matrix.zero(ti.f32, 3, 3)
            for offset in ti.static(ti.grouped(ti.ndrange(3, 3, 3))):
                dpos = (offset - fx) * dx
                weight = 1.0
                for d in ti.static(range(3)):
                    weight *= w[offset[d]][d]
                g_v = grid_v[base + offset]
                new_v += weight * g_v
                new_C += 4.0 * weight * g_v.outer_product(dpos) * inverse * inverse
            v[p] = new_v
            C[p] = new_C

    return {"step": g2p, "outputs": lambda: {"v": v.to_numpy(), "C": C.to_numpy() / inverse}}
