"""Particles that add to nodes around them: cells of copies and tiles whose numbers are one vector, against NumPy."""

import device_tests
import numpy as np
import pytest

import metate as mt

f32, i32 = mt.f32, mt.i32
SPELLINGS = ("static", "run-time loops", "components", "a struct", "apart")


def weights_of(x, extents):
    """(first node, weights[3, n, d]) of particles in the unit cube."""
    at = x * np.array(extents, np.float32)
    base = np.floor(at - 0.5).astype(np.int32)
    fx = at - base
    return base, np.stack([0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2])


def expected(x, v, extents):
    d = len(extents)
    base, w = weights_of(x, extents)
    m, p = np.zeros(extents), np.zeros((*extents, d))
    for offset in np.ndindex(*(3,) * d):
        weight = np.prod([w[offset[k], :, k] for k in range(d)], axis=0)
        at = base + offset
        inside = np.all((at >= 0) & (at < extents), axis=1)
        place = tuple(at[inside].T)
        np.add.at(m, place, 2.0 * weight[inside])
        np.add.at(p, place, (weight[:, None] * (v - 0.25 * (at - x * np.array(extents))))[inside])
    return m, p


def scatter_of(spelling, extents, particles):
    """(kernel, mass, momentum): the kernel adds what lies outside of the grid nowhere."""
    d = len(extents)
    x, v = (mt.Vector.field(d, f32, shape=particles) for _ in range(2))
    if spelling == "a struct":
        cells = mt.Struct.field({"m": f32, "p": mt.types.vector(d, f32)}, shape=extents)
        m, p = cells.m, cells.p
    else:
        m, p = mt.field(f32, shape=extents), mt.Vector.field(d, f32, shape=extents)
    size = mt.Vector([float(extent) for extent in extents])

    @mt.func
    def add_momentum(node, momentum):
        if mt.static(spelling == "components"):
            for k in mt.static(range(d)):
                p[node][k] += momentum[k]
        else:
            p[node] += momentum

    @mt.func
    def weight_of(fx, offset):
        weight = 1.0
        for k in mt.static(range(d)):
            away = abs(fx[k] - offset[k])
            weight *= 0.75 - away**2 if offset[k] == 1 else 0.5 * (1.5 - away) ** 2
        return weight

    @mt.func
    def is_inside(node):
        inside = True
        for k in mt.static(range(d)):
            inside = inside and 0 <= node[k] < extents[k]
        return inside

    @mt.kernel
    def scatter():
        for i in x:
            at = x[i] * size
            base = mt.floor(at - 0.5, i32)
            fx = at - base
            if mt.static(spelling == "run-time loops"):
                for offset in mt.grouped(mt.ndrange(*(3,) * d)):
                    node, weight = base + offset, weight_of(fx, offset)
                    if is_inside(node):
                        m[node] += weight * 2.0
                        add_momentum(node, weight * (v[i] - 0.25 * (node - at)))
            else:
                for offset in mt.static(mt.grouped(mt.ndrange(*(3,) * d))):
                    node, weight = base + offset, weight_of(fx, offset)
                    if is_inside(node):
                        add_momentum(node, weight * (v[i] - 0.25 * (node - at)))
                        if mt.static(spelling != "apart"):
                            m[node] += 2.0 * weight
            if mt.static(spelling == "apart"):
                for offset in mt.static(mt.grouped(mt.ndrange(*(3,) * d))):
                    if is_inside(base + offset):
                        m[base + offset] += 2.0 * weight_of(fx, offset)

    return scatter, x, v, m, p


def check(rng, spelling, extents, particles, **options):
    """Particles anywhere, at the edges too; in the order of the nodes; all in one place. The kernel's report."""
    with mt.Context(threads=2, **options):
        scatter, x, v, m, p = scatter_of(spelling, extents, particles)
        speed = rng.random((particles, len(extents)), np.float32) - 0.5
        v.from_numpy(speed)
        for low, high, ordered in ((0.0, 1.0, False), (0.0, 1.0, True), (0.5, 0.51, False)):
            at = (rng.random((particles, len(extents))) * (high - low) + low).astype(np.float32)
            if ordered:
                at = at[np.lexsort(weights_of(at, extents)[0].T[::-1])]
            x.from_numpy(at)
            m.fill(1.0)
            p.fill(-1.0)
            scatter()
            mass, momentum = expected(at.astype(np.float64), speed.astype(np.float64), extents)
            np.testing.assert_allclose(m.to_numpy() - 1.0, mass, rtol=2e-4, atol=2e-4)
            np.testing.assert_allclose(p.to_numpy() + 1.0, momentum, rtol=2e-4, atol=1e-3)
        return str(scatter.report())


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_copies_of_a_plane(rng, spelling):
    report = check(rng, spelling, (16, 12), 20_000)
    assert device_tests.ARCH or "each of which adds to a copy of its own" in report


BINNED = "blocks of what they add to"


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_blocks_of_a_plane(rng, spelling):
    report = check(rng, spelling, (256, 190), 20_000)
    assert device_tests.ARCH or BINNED in report


@pytest.mark.parametrize("options", [{}, {"deterministic": True}], ids=str)
def test_blocks_of_space(rng, options):
    report = check(rng, "run-time loops", (40, 50, 44), 20_000, **options)
    assert device_tests.ARCH or BINNED in report


def test_a_line_in_whole_numbers(rng):
    """Numbers of iterations from a place that is not 0; what is added is exact."""
    at, context = rng.integers(-9, 5000, 30_000).astype(np.int32), mt.Context(threads=2)
    with context:
        out, places = mt.field(i32, shape=5000), mt.field(i32, shape=30_000)
        places.from_numpy(at)

    @mt.kernel
    def add():
        for i in range(7, 29_990):
            for k in range(20):
                if 0 <= places[i] + k < 5000:
                    out[places[i] + k] += i

    want = np.zeros(5000, np.int64)
    with context:
        add()
    for k in range(20):
        node = at[7:29_990] + k
        inside = (node >= 0) & (node < 5000)
        np.add.at(want, node[inside], np.arange(7, 29_990)[inside])
    np.testing.assert_array_equal(out.to_numpy(), want.astype(np.int32))


def test_the_same_bits_of_tiles_for_any_number_of_workers(rng):
    x, v = rng.random((20_000, 2), np.float32), rng.standard_normal((20_000, 2)).astype(np.float32)
    seen = set()
    for threads in (1, 2, 4):
        with mt.Context(threads=threads, deterministic=True):
            scatter, xs, vs, m, p = scatter_of("static", (256, 190), 20_000)
            xs.from_numpy(x)
            vs.from_numpy(v)
            scatter()
            seen.add(p.to_numpy().tobytes() + m.to_numpy().tobytes())
    assert len(seen) == 1


def test_particles_that_move_in_the_loop_stay_where_they_are(rng):
    """What says where an iteration adds must not change while it is put in order."""
    n, context = 40_000, mt.Context(threads=2)
    start = rng.random(n, np.float32) * 290
    with context:
        x, out = mt.field(f32, shape=n), mt.field(f32, shape=(300, 300))
        x.from_numpy(start)

    @mt.kernel
    def move():
        for i in range(n):
            base = mt.cast(x[i], i32)
            for a, b in mt.static(mt.ndrange(4, 4)):
                out[base + a, base + b] += 1.0
            x[i] += 1.0

    with context:
        move()
        assert device_tests.ARCH or "from what the loop does not write" in str(move.report())
    want = np.zeros((300, 300))
    for a, b in np.ndindex(4, 4):
        np.add.at(want, (start.astype(int) + a, start.astype(int) + b), 1)
    np.testing.assert_array_equal(out.to_numpy(), want)


@pytest.mark.parametrize(
    "options", [{"nontemporal_bytes": 0}, {"nontemporal_bytes": 0, "threads": 3, "deterministic": True}, {}], ids=str
)
@pytest.mark.parametrize("count", [20_003, 16_389])
def test_records_around_the_caches(rng, options, count):
    """Records of two lines, of three shapes of numbers; the iteration's own number is asked for besides."""
    first, shape = 5, (40, 30, 70)
    with mt.Context(**{"threads": 2} | options):
        x, w = mt.Vector.field(3, i32, shape=count), mt.Matrix.field(4, 4, f32, shape=count)
        b, m, number = mt.field(mt.u8, shape=count), mt.field(f32, shape=shape), mt.field(f32, shape=shape)
        at = rng.integers(-2, 70, (count, 3)).astype(np.int32)
        weights = rng.integers(-8, 9, (count, 4, 4)).astype(np.float32)  # sums are exact
        bits = rng.integers(0, 2, count).astype(np.uint8)
        x.from_numpy(at)
        w.from_numpy(weights)
        b.from_numpy(bits)

        @mt.kernel
        def add():
            for i in range(first, count):
                for j, k in mt.static(mt.ndrange(4, 4)):
                    node = x[i] + mt.Vector([0, j, k])
                    if 0 <= node[0] < 40 and 0 <= node[1] < 30 and 0 <= node[2] < 70:
                        m[node] += w[i][j, k]
                        number[node] += mt.cast(i % 5 + b[i], f32)

        add()
        wants = np.zeros(shape), np.zeros(shape)
        for j, k in np.ndindex(4, 4):
            node = at[first:] + np.array([0, j, k], np.int32)
            inside = np.all((node >= 0) & (node < shape), axis=1)
            place = tuple(node[inside].T)
            np.add.at(wants[0], place, weights[first:, j, k][inside])
            np.add.at(wants[1], place, (np.arange(first, count) % 5 + bits[first:])[inside])
        np.testing.assert_array_equal(m.to_numpy(), wants[0])
        np.testing.assert_array_equal(number.to_numpy(), wants[1])
        report = str(add.report())
    assert device_tests.ARCH or (BINNED in report and ("around the caches" in report) == bool(options))


@pytest.mark.parametrize("bound", ["an argument", "a field", "from another argument on"])
def test_as_many_particles_as_the_launch_says(rng, bound):
    """Fewer than there are, none, and more: those that are not there read nothing."""
    most, shape = 20_000, (64, 50)
    with mt.Context(threads=2):
        x, w, n = mt.Vector.field(2, i32, shape=most), mt.field(f32, shape=most), mt.field(i32, shape=())
        m = mt.field(f32, shape=shape)
        at = rng.integers(0, 46, (most, 2)).astype(np.int32)
        weights = rng.integers(-8, 9, most).astype(np.float32)  # sums are exact
        x.from_numpy(at)
        w.from_numpy(weights)

        @mt.func
        def add(i):
            for j, k in mt.static(mt.ndrange(4, 4)):
                m[x[i] + mt.Vector([j, k])] += w[i] * (j + 2 * k)

        @mt.kernel
        def run(first: i32, last: i32):
            if mt.static(bound == "an argument"):
                for i in range(last):
                    add(i)
            elif mt.static(bound == "a field"):
                for i in range(n[None]):
                    add(i)
            else:
                for i in range(first, last):
                    add(i)

        more = 7 if bound != "from another argument on" and not device_tests.ARCH else 0
        for first, last in ((0, 12_345), (0, 0), (0, -3), (0, 1), (0, most), (0, most + more)):
            m.fill(0)
            n[None] = last
            run(first, last)
            want = np.zeros(shape)
            for j, k in np.ndindex(4, 4):
                place = tuple((at[: max(last, 0)] + np.array([j, k])).T)
                np.add.at(want, place, weights[: max(last, 0)] * (j + 2 * k))
            np.testing.assert_array_equal(m.to_numpy(), want)
        report = str(run.report())
    assert device_tests.ARCH or (BINNED in report) == (bound != "from another argument on")


@pytest.mark.parametrize("first", [0, 1000])
@pytest.mark.parametrize("options", [{}, {"nontemporal_bytes": 0}], ids=str)
def test_those_alive_of_as_many_as_the_launch_says(rng, options, first):
    """What a test guards is read before it; matrices, bytes and doubles beside each other."""
    most, shape = 21_001, (48, 40, 44)
    with mt.Context(threads=2, **options):
        x, w = mt.Vector.field(3, i32, shape=most), mt.Matrix.field(3, 3, f32, shape=most)
        lives, scale, n = mt.field(mt.u8, shape=most), mt.field(mt.f64, shape=most), mt.field(i32, shape=())
        m = mt.field(f32, shape=shape)
        at = rng.integers(0, 38, (most, 3)).astype(np.int32)
        weights, alive = rng.integers(-8, 9, (most, 3, 3)).astype(np.float32), rng.integers(0, 2, most).astype(np.uint8)
        scales = rng.integers(1, 4, most).astype(np.float64)
        for field, values in ((x, at), (w, weights), (lives, alive), (scale, scales)):
            field.from_numpy(values)

        @mt.kernel
        def run():
            for i in range(first, n[None]):
                if lives[i] == 1:
                    for j, k in mt.static(mt.ndrange(3, 3)):
                        for o in mt.static(range(2)):
                            m[x[i] + mt.Vector([o, j, k])] += w[i][j, k] * mt.cast(scale[i], f32)

        for last in (most, 17_003, first, 0):
            m.fill(0)
            n[None] = last
            run()
            want = np.zeros(shape)
            some = slice(first, max(first, last))
            for o, j, k in np.ndindex(2, 3, 3):
                place = tuple((at[some] + np.array([o, j, k])).T)
                np.add.at(want, place, weights[some, j, k] * scales[some] * alive[some])
            np.testing.assert_array_equal(m.to_numpy(), want)
        report = str(run.report())
    assert device_tests.ARCH or (BINNED in report and ("around the caches" in report) == bool(options))
