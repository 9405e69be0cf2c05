"""metate.math against NumPy: every function, fresh random data, both widths."""

import numpy as np
import pytest

import metate as ti

tm = ti.math
COUNT = 80
DTYPES = [(ti.f32, np.float32), (ti.f64, np.float64)]


def run(function, numpy, dtype, wanted, *inputs, tolerance=None):
    """Calls a @func on rows of inputs (COUNT, n) and compares what it returns, flattened, with `wanted`."""
    inputs = [np.asarray(x, numpy).reshape(COUNT, -1) for x in inputs]
    wanted = np.asarray(wanted, np.float64)
    wanted = wanted.reshape(COUNT, -1)
    widths = [x.shape[1] for x in inputs]
    joined = np.ascontiguousarray(np.concatenate(inputs, 1))
    out = np.zeros(wanted.shape, numpy)
    starts = [int(sum(widths[:k])) for k in range(len(widths))]

    @ti.func
    def operand(x, i, start: ti.template(), width: ti.template()):
        return x[i, start] if ti.static(width == 1) else ti.Vector([x[i, start + k] for k in ti.static(range(width))])

    @ti.kernel
    def call(x: ti.types.ndarray(dtype=dtype, ndim=2), y: ti.types.ndarray(dtype=dtype, ndim=2)):
        for i in range(COUNT):
            found = function(*[operand(x, i, start, width) for start, width in ti.static(zip(starts, widths))])
            for k, value in ti.static(enumerate(scalars(found))):
                y[i, k] = value

    @ti.func
    def scalars(found: ti.template()):
        return ti.static([found]) if ti.static(len(found.shape) == 0) else flat(found)

    @ti.func
    def flat(found: ti.template()):
        if ti.static(len(found.shape) == 1):
            return [found[k] for k in ti.static(range(found.n))]
        return [found[k, j] for k in ti.static(range(found.n)) for j in ti.static(range(found.m))]

    call(joined, out)
    tolerance = tolerance or (2e-5 if numpy == np.float32 else 1e-12)
    np.testing.assert_allclose(out, wanted, rtol=tolerance, atol=tolerance)


def column(x):
    return x[:, None]


@pytest.fixture(params=DTYPES, ids=lambda t: t[0].name)
def kind(request):
    return request.param


@pytest.mark.parametrize("width", [1, 3])
def test_glsl_functions(rng, kind, width):
    dtype, numpy = kind
    a, b, c = (rng.normal(0, 2, (COUNT, width)) for _ in range(3))
    t = rng.uniform(-0.5, 1.5, (COUNT, 1))
    low, high = np.minimum(a, b), np.maximum(a, b) + 0.1
    check = lambda function, wanted, *inputs: run(function, numpy, dtype, wanted, *inputs)
    check(tm.mix, a * (1 - t) + b * t, a, b, t)
    check(tm.clamp, np.clip(c, low, high), c, low, high)
    check(tm.step, np.where(b < a, 0, 1), a, b)
    s = np.clip((c - low) / (high - low), 0, 1)
    check(tm.smoothstep, s * s * (3 - 2 * s), low, high, c)
    whole = rng.integers(-20, 20, (COUNT, width)) + 0.5  # not where rounding decides which multiple it is
    check(tm.mod, np.mod(whole, 4), whole, np.full((COUNT, width), 4.0))
    for function, wanted in ((tm.radians, np.radians(a)), (tm.degrees, np.degrees(a))):
        run(function, numpy, dtype, wanted, a, tolerance=2e-7 if numpy == np.float64 else 2e-6)  # pi is a literal, an f32
    check(ti.func(lambda_of_fract), a - np.floor(a), a)
    check(ti.func(lambda_of_sign), np.sign(a), a)


def lambda_of_fract(x):
    return tm.fract(x)


def lambda_of_sign(x):
    return tm.sign(x)


@pytest.mark.parametrize("width", [2, 3, 4])
def test_geometry(rng, kind, width):
    dtype, numpy = kind
    a, b = rng.normal(0, 1, (COUNT, width)), rng.normal(0, 1, (COUNT, width))
    n = b / np.linalg.norm(b, axis=1)[:, None]
    v = a / np.linalg.norm(a, axis=1)[:, None]
    check = lambda function, wanted, *inputs: run(function, numpy, dtype, wanted, *inputs)
    check(tm.distance, np.linalg.norm(a - b, axis=1), a, b)
    check(tm.reflect, a - 2 * (n * a).sum(1)[:, None] * n, a, n)
    eta = rng.choice([0.7, 1.6], (COUNT, 1))
    along = (n * v).sum(1)[:, None]
    k = 1 - eta**2 * (1 - along**2)
    v = np.where(np.abs(k) < 1e-2, n, v)  # not where rounding decides whether there is a ray
    along = (n * v).sum(1)[:, None]
    k = 1 - eta**2 * (1 - along**2)
    wanted = np.where(k < 0, 0, eta * v - (eta * along + np.sqrt(np.maximum(k, 0))) * n)
    run(tm.refract, numpy, dtype, wanted, v, n, eta, tolerance=2e-4 if numpy == np.float32 else 1e-12)
    check(tm.vdir, np.stack([np.cos(a[:, 0]), np.sin(a[:, 0])], 1), a[:, 0])


def turned_by(x, y, z):
    """Matrices that turn about the axes by these angles, clockwise seen from their ends."""
    c, s = np.cos, np.sin
    about_x = np.array([[1, 0, 0], [0, c(x), s(x)], [0, -s(x), c(x)]])
    about_y = np.array([[c(y), 0, -s(y)], [0, 1, 0], [s(y), 0, c(y)]])
    about_z = np.array([[c(z), s(z), 0], [-s(z), c(z), 0], [0, 0, 1]])
    return about_x, about_y, about_z


def homogeneous(m):
    made = np.eye(4)
    made[:3, :3] = m
    return made


def test_transformations(rng, kind):
    dtype, numpy = kind
    x, y, z = rng.uniform(-3, 3, (3, COUNT))
    axis = rng.normal(0, 1, (COUNT, 3))
    check = lambda function, wanted, *inputs: run(function, numpy, dtype, np.array(wanted), *inputs)
    check(tm.rotation2d, [[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in x], x)
    moved = [np.eye(4) + np.outer([a, b, c, 0], [0, 0, 0, 1]) for a, b, c in zip(x, y, z)]
    check(tm.translate, moved, x, y, z)
    check(tm.scale, [np.diag([a, b, c, 1]) for a, b, c in zip(x, y, z)], x, y, z)

    def yaw_pitch_roll(yaw, pitch, roll):
        about_x, about_y, about_z = turned_by(pitch, yaw, roll)
        return homogeneous(about_z @ about_x @ about_y)

    check(tm.rot_yaw_pitch_roll, [yaw_pitch_roll(a, b, c) for a, b, c in zip(x, y, z)], x, y, z)
    check(tm.rotation3d, [yaw_pitch_roll(c, a, b) for a, b, c in zip(x, y, z)], x, y, z)

    def about(v, angle):
        v = v / np.linalg.norm(v)
        k = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
        return homogeneous((np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k).T)

    check(tm.rot_by_axis, [about(v, a) for v, a in zip(axis, x)], axis, x)


def of(z):
    return z[:, 0] + 1j * z[:, 1]


def pairs(z):
    return np.stack([z.real, z.imag], -1)


def test_complex_numbers(rng, kind):
    dtype, numpy = kind
    a, b = rng.normal(0, 1, (COUNT, 2)).astype(numpy).astype(float), rng.normal(0, 1, (COUNT, 2)).astype(numpy).astype(float)
    b[np.abs(of(b)) < 0.1] += 1
    a[0], a[1], a[2] = (-2, 0), (0, 3), (-1e-3, 1e-3)
    exponent = rng.uniform(0, 3, COUNT)
    check = lambda function, wanted, *inputs: run(function, numpy, dtype, pairs(wanted), *inputs)
    check(tm.cconj, of(a).conj(), a)
    check(tm.cmul, of(a) * of(b), a, b)
    check(tm.cdiv, of(a) / of(b), a, b)
    check(tm.cinv, 1 / of(b), b)
    check(tm.csqrt, np.sqrt(of(a)), a)
    check(tm.cexp, np.exp(of(a)), a)
    check(tm.clog, np.log(of(b)), b)
    check(tm.cpow, of(b) ** exponent, b, exponent)
    check(tm.csqrt, np.zeros(COUNT) * 1j, np.zeros((COUNT, 2)))
    check(tm.cpow, np.zeros(COUNT) * 1j, np.zeros((COUNT, 2)), exponent + 1)


def test_names_and_constants():
    @ti.kernel
    def call(out: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        out[0] = tm.eye(3).trace() + tm.eye(2)[0, 1]
        out[1] = tm.determinant(tm.inverse(ti.Matrix([[2.0, 0.0], [0.0, 4.0]])))
        out[2] = tm.length(tm.normalize(tm.vec3(1, 2, 3)))
        out[3] = tm.dot(tm.cross(tm.vec3(1, 0, 0), tm.vec3(0, 1, 0)), tm.vec3(0, 0, 2))
        out[4] = tm.popcnt(255) + tm.clz(16)
        out[5] = ti.select(tm.isnan(tm.nan) and tm.isinf(-tm.inf), 1, 0)
        out[6] = tm.mat2(1, 2, 3, 4)[1, 0] + tm.ivec2(5, 6).y + tm.uvec3(7).z + tm.vec4(tm.vec2(1, 2), 3, 4).w
        out[7] = tm.log2(8.0) + tm.round(2.6) + tm.sign(-3.0) + tm.pow(2.0, 3.0)
        out[8] = tm.max(1.0, 2.0) + tm.min(1.0, 2.0) + tm.ceil(0.5) + tm.floor(0.5)
        out[9] = tm.acos(1.0) + tm.asin(0.0) + tm.atan2(0.0, 1.0) + tm.tanh(0.0) + tm.exp(0.0) + tm.log(1.0) + tm.sqrt(4.0)
        out[10] = tm.tan(0.0) + tm.sin(0.0) + tm.cos(0.0)

    out = np.zeros(11)
    call(out)
    np.testing.assert_allclose(out, [3, 0.125, 1, 2, 35, 1, 20, 13, 4, 3, 1], rtol=1e-6)
    assert (tm.pi, tm.e) == (np.pi, np.e) and tm.inf > 1e308 and tm.nan != tm.nan
