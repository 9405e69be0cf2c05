"""Functions that draw the zero level of a distance tree: camera, ray march, light."""

import math

from grid import BAND, vec3

import metate as mt

# The camera looks at the grid's middle; constants of the module, so that every host draws the same.
YAW, PITCH = 0.45, 0.28
FORWARD = (-math.sin(YAW) * math.cos(PITCH), -math.sin(PITCH), -math.cos(YAW) * math.cos(PITCH))
RIGHT = (math.cos(YAW), 0.0, -math.sin(YAW))
UP = (
    RIGHT[1] * FORWARD[2] - RIGHT[2] * FORWARD[1],
    RIGHT[2] * FORWARD[0] - RIGHT[0] * FORWARD[2],
    RIGHT[0] * FORWARD[1] - RIGHT[1] * FORWARD[0],
)
LIGHT = (0.48, 0.72, 0.50)  # unit vector towards the light
DISTANCE = 2.4  # of the camera from the middle, in grid widths
ZOOM = 0.235  # half the picture's width at distance 1
COLOUR = (0.86, 0.74, 0.60)


@mt.func
def mix(a, b, t):
    return a + (b - a) * t


@mt.func
def sample(phi: mt.template(), p):
    """Trilinear interpolation of phi at p, which must lie at least one voxel inside the grid."""
    base = mt.floor(p)
    f = p - base
    i, j, k = mt.cast(base[0], mt.i32), mt.cast(base[1], mt.i32), mt.cast(base[2], mt.i32)
    low = mix(
        mix(phi.phi[i, j, k], phi.phi[i + 1, j, k], f[0]),
        mix(phi.phi[i, j + 1, k], phi.phi[i + 1, j + 1, k], f[0]),
        f[1],
    )
    high = mix(
        mix(phi.phi[i, j, k + 1], phi.phi[i + 1, j, k + 1], f[0]),
        mix(phi.phi[i, j + 1, k + 1], phi.phi[i + 1, j + 1, k + 1], f[0]),
        f[1],
    )
    return mix(low, high, f[2])


@mt.func
def march(phi: mt.template(), origin, direction, start, end):
    """The first t in [start, end] at which phi falls below zero along the ray, or -1."""
    t = start
    found = -1.0
    step = 0.0
    while t < end and found < 0.0:
        p = origin + direction * t
        i, j, k = mt.cast(p[0] + 0.5, mt.i32), mt.cast(p[1] + 0.5, mt.i32), mt.cast(p[2] + 0.5, mt.i32)
        if phi.phi[i, j, k] >= BAND:
            step = BAND - 1.0
            t += step
        else:
            d = sample(phi, p)
            if d < 0.0:
                found = t
            else:
                step = mt.max(0.8 * d, 0.05)
                t += step
    if found >= 0.0:
        low, high = mt.max(found - step, start), found
        for _ in range(8):
            middle = 0.5 * (low + high)
            if sample(phi, origin + direction * middle) < 0.0:
                high = middle
            else:
                low = middle
        found = high
    return found


@mt.func
def gradient(phi: mt.template(), p):
    x, y, z = vec3(1.0, 0.0, 0.0), vec3(0.0, 1.0, 0.0), vec3(0.0, 0.0, 1.0)
    return vec3(
        sample(phi, p + x) - sample(phi, p - x),
        sample(phi, p + y) - sample(phi, p - y),
        sample(phi, p + z) - sample(phi, p - z),
    )


@mt.func
def box_entry(origin, direction, size):
    """Where the ray enters and leaves the cube [2, size - 3]^3: (t_near, t_far)."""
    a = (2.0 - origin) / direction
    b = (size - 3.0 - origin) / direction
    near, far = mt.min(a, b), mt.max(a, b)
    return mt.max(mt.max(near[0], near[1]), near[2]), mt.min(mt.min(far[0], far[1]), far[2])


@mt.func
def shade(phi: mt.template(), p, direction, size):
    """The colour of the surface at p: diffuse and sky light, a shadow ray, a rim."""
    g = gradient(phi, p)
    n = g / mt.sqrt(mt.max(g.dot(g), 1e-12))
    light = vec3(LIGHT[0], LIGHT[1], LIGHT[2])
    diffuse = mt.max(n.dot(light), 0.0)
    if diffuse > 0.0:
        start = p + n * 1.5
        _, far = box_entry(start, light, size)
        if march(phi, start, light, 0.0, far) >= 0.0:
            diffuse = 0.0
    sky = 0.5 + 0.5 * n[1]
    facing = 1.0 + n.dot(direction)
    rim = facing * facing * facing * 0.12
    return vec3(COLOUR[0], COLOUR[1], COLOUR[2]) * (0.85 * diffuse + 0.22 * sky + 0.05) + rim


@mt.func
def pixel_colour(phi: mt.template(), x, y, resolution):
    """The colour seen at (x, y) of the picture, both in [0, 1] from its upper left corner."""
    size = mt.cast(resolution, mt.f32)
    forward = vec3(FORWARD[0], FORWARD[1], FORWARD[2])
    right = vec3(RIGHT[0], RIGHT[1], RIGHT[2])
    up = vec3(UP[0], UP[1], UP[2])
    origin = vec3(1.0, 1.0, 1.0) * (0.5 * (size - 1.0)) - forward * (DISTANCE * size)
    ray = forward + right * ((2.0 * x - 1.0) * ZOOM) + up * ((1.0 - 2.0 * y) * ZOOM)
    direction = ray / mt.sqrt(ray.dot(ray))
    near, far = box_entry(origin, direction, size)
    colour = mix(vec3(0.10, 0.11, 0.13), vec3(0.24, 0.26, 0.30), y)
    if near < far:
        t = march(phi, origin, direction, near, far)
        if t >= 0.0:
            colour = shade(phi, origin + direction * t, direction, size)
    return colour
