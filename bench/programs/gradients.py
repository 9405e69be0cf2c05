"""B14: gradients. Each program runs a simulation forward, or forward and its gradient backward."""

import ti


def _stepper(forward, loss, backward):
    """step(): the forward run alone, or with a Tape the gradient as well."""

    def tape():
        with ti.ad.Tape(loss=loss):
            forward()

    return tape if backward else forward


def wave(inputs, n, turns, backward):
    """A wave equation whose field has time as its first dimension; the loss is the squared distance to a target."""
    u = ti.field(ti.f32, shape=(turns + 2, n, n), needs_grad=True)
    target = ti.field(ti.f32, shape=(n, n))
    loss = ti.field(ti.f32, shape=(), needs_grad=True)
    target.from_numpy(inputs["target"])

    @ti.kernel
    def load(a: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i, j in ti.ndrange(n, n):
            u[0, i, j] = a[i, j]
            u[1, i, j] = a[i, j]

    @ti.kernel
    def step(t: ti.i32):
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            around = u[t - 1, i + 1, j] + u[t - 1, i - 1, j] + u[t - 1, i, j + 1] + u[t - 1, i, j - 1]
            u[t, i, j] = 2 * u[t - 1, i, j] - u[t - 2, i, j] + 0.1 * (around - 4 * u[t - 1, i, j])

    @ti.kernel
    def measure():
        for i, j in target:
            loss[None] += (u[turns + 1, i, j] - target[i, j]) ** 2

    def forward():
        loss[None] = 0
        for t in range(2, turns + 2):
            step(t)
        measure()

    @ti.kernel
    def first(a: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i, j in ti.ndrange(n, n):
            a[i, j] = u.grad[0, i, j]

    def outputs():
        import numpy as np

        found = {"loss": np.array([loss[None]], np.float32)}
        if backward:
            found["gradient"] = np.zeros((n, n), np.float32)
            first(found["gradient"])
        return found

    load(inputs["u"])
    return {"step": _stepper(forward, loss, backward), "outputs": outputs}


def mpm(inputs, particles, n, turns, backward):
    """Moving least squares MPM in two dimensions whose particles have time as their first dimension, after difftaichi's."""
    dim, dt, dx, p_mass, p_vol, stiffness = 2, 3e-4, 1 / n, 1.0, 1.0, 5.0
    vector = lambda *shape: ti.Vector.field(dim, ti.f32, shape=shape, needs_grad=True)
    matrix = lambda *shape: ti.Matrix.field(dim, dim, ti.f32, shape=shape, needs_grad=True)
    x, v = vector(turns + 1, particles), vector(turns + 1, particles)
    C, F = matrix(turns + 1, particles), matrix(turns + 1, particles)
    grid_v_in, grid_v_out = vector(n, n), vector(n, n)
    grid_m_in = ti.field(ti.f32, shape=(n, n), needs_grad=True)
    start = vector()
    loss = ti.field(ti.f32, shape=(), needs_grad=True)

    @ti.kernel
    def load(a: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for p in range(particles):
            x[0, p] = ti.Vector([a[p, 0], a[p, 1]])
            F[0, p] = ti.Matrix([[1.0, 0.0], [0.0, 1.0]])

    @ti.kernel
    def push():
        for p in range(particles):
            v[0, p] = start[None]

    @ti.kernel
    def clear():
        for i, j in grid_m_in:
            grid_v_in[i, j] = [0, 0]
            grid_m_in[i, j] = 0
            grid_v_in.grad[i, j] = [0, 0]
            grid_m_in.grad[i, j] = 0
            grid_v_out.grad[i, j] = [0, 0]

    @ti.kernel
    def p2g(f: ti.i32):
        for p in range(particles):
            base = ti.cast(x[f, p] / dx - 0.5, ti.i32)
            fx = x[f, p] / dx - ti.cast(base, ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_F = (ti.Matrix([[1.0, 0.0], [0.0, 1.0]]) + dt * C[f, p]) @ F[f, p]
            F[f + 1, p] = new_F
            J = new_F.determinant()
            cauchy = stiffness * (new_F @ new_F.transpose() - ti.Matrix([[1.0, 0.0], [0.0, 1.0]])) + stiffness * J * (
                J - 1
            ) * ti.Matrix([[1.0, 0.0], [0.0, 1.0]])
            affine = -(dt * p_vol * 4 / dx**2) * cauchy * 1e-4 + p_mass * C[f, p]
            for i in ti.static(range(3)):
                for j in ti.static(range(3)):
                    offset = ti.Vector([i, j])
                    dpos = (ti.cast(offset, ti.f32) - fx) * dx
                    weight = w[i][0] * w[j][1]
                    grid_v_in[base + offset] += weight * (p_mass * v[f, p] + affine @ dpos)
                    grid_m_in[base + offset] += weight * p_mass

    @ti.kernel
    def grid_op():
        for i, j in grid_m_in:
            v_out = grid_v_in[i, j] / (grid_m_in[i, j] + 1e-10)
            v_out[1] -= dt * 9.8
            if i < 3 and v_out[0] < 0:
                v_out[0] = 0
            if i > n - 3 and v_out[0] > 0:
                v_out[0] = 0
            if j < 3 and v_out[1] < 0:
                v_out[1] = 0
            if j > n - 3 and v_out[1] > 0:
                v_out[1] = 0
            grid_v_out[i, j] = v_out

    @ti.kernel
    def g2p(f: ti.i32):
        for p in range(particles):
            base = ti.cast(x[f, p] / dx - 0.5, ti.i32)
            fx = x[f, p] / dx - ti.cast(base, ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_v = ti.Vector([0.0, 0.0])
            new_C = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i in ti.static(range(3)):
                for j in ti.static(range(3)):
                    dpos = ti.cast(ti.Vector([i, j]), ti.f32) - fx
                    g_v = grid_v_out[base[0] + i, base[1] + j]
                    weight = w[i][0] * w[j][1]
                    new_v += weight * g_v
                    new_C += 4 * weight * g_v.outer_product(dpos) / dx
            v[f + 1, p] = new_v
            x[f + 1, p] = x[f, p] + dt * new_v
            C[f + 1, p] = new_C

    @ti.kernel
    def measure():
        for p in range(particles):
            loss[None] += (x[turns, p] - ti.Vector([0.7, 0.5])).norm_sqr() / particles

    @ti.ad.grad_replaced
    def advance(f):
        clear()
        p2g(f)
        grid_op()
        g2p(f)

    @ti.ad.grad_for(advance)
    def advance_back(f):
        clear()
        p2g(f)
        grid_op()
        g2p.grad(f)
        grid_op.grad()
        p2g.grad(f)

    def forward():
        loss[None] = 0
        push()
        for f in range(turns):
            advance(f)
        measure()

    def outputs():
        import numpy as np

        found = {"loss": np.array([loss[None]], np.float32)}
        if backward:
            found["gradient"] = start.grad.to_numpy()
        return found

    load(inputs["x"])
    start[None] = [0.5, 1.0]
    return {"step": _stepper(forward, loss, backward), "outputs": outputs}
