"""Implicit finite elements: forces are the energy's derivative, the stiffness is theirs, and what falls freely falls by g."""

import numpy as np
import seeded


def test_a_bar(filmed):
    program = filmed("implicit_fem", 6)
    assert program["x"].to_numpy()[:, 1].min() < -0.002
    x, v, force, product, way = (program[name] for name in ("x", "v", "force", "product", "way"))
    program["start"]()
    rest = x.to_numpy()
    assert abs(program["volume"].to_numpy().sum() - program["thick"] ** 2 * program["side"] ** 2) < 1e-6
    assert abs(program["energy"]()) < 1e-3

    random = seeded.generator("a_bar")
    bent = rest + random.normal(0, 0.02 * program["side"], rest.shape).astype(np.float32)
    along = random.normal(0, 1, (2, *rest.shape)).astype(np.float32)

    def state(scale, k=0):
        x.from_numpy(bent + np.float32(scale) * along[k])
        program["pull"]([0.0, 0.0, 0.0])
        return program["energy"](), force.to_numpy().astype(float)

    h = 1e-3 * program["side"]
    slope = (state(h)[0] - state(-h)[0]) / (2 * h)
    _, pulled = state(0)
    np.testing.assert_allclose(-(pulled * along[0]).sum(), slope, rtol=0.01)
    assert abs(pulled.sum(0)).max() < 1e-4 * abs(pulled).sum(), "rubber pulls itself nowhere"

    # The product with the stiffness, less the mass, is how forces change; it is symmetric.
    program["held"].fill(0)
    products = []
    for k in range(2):
        change = (state(-h, k)[1] - state(h, k)[1]) / (2 * h)
        state(0)
        way.from_numpy(along[k])
        program["stiff"](way, product, 1.0)
        products.append(product.to_numpy() - program["mass"].to_numpy()[:, None] * along[k])
        np.testing.assert_allclose(products[k], change, atol=0.01 * abs(change).max())
    np.testing.assert_allclose((products[0] * along[1]).sum(), (products[1] * along[0]).sum(), rtol=1e-3)

    x.from_numpy(rest)
    program["step"]()
    np.testing.assert_allclose(v.to_numpy(), np.tile([0, -9.8 / 60, 0], (len(rest), 1)), atol=1e-5)

    program["start"]()
    assert all(program["step"]() < 200 for _ in range(5))
    at_end = rest[:, 0] < 1e-6
    np.testing.assert_allclose(x.to_numpy()[at_end], rest[at_end], atol=1e-6)
    assert x.to_numpy()[:, 1].min() < -0.01
