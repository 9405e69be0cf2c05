"""B9: reads of sparse grids of 512^3: at random places, 27 neighbours at a time, along rays."""

import functools

import numpy as np
from harness.case import Case, Reference

from definitions import b7

TITLE = "reads of sparse grids"


def inputs(rng, n, share, count, masked, anywhere):
    made = b7.inputs(rng, n, share, 1)
    if anywhere:
        return made | {"at": rng.integers(0, n, (count, 3), np.int32)}
    return made | {"at": made["cells"][rng.integers(0, len(made["cells"]), count)]}


def grid_of(inputs, n):
    x = np.zeros((n, n, n), np.float32)
    x[tuple(inputs["cells"].T)] = inputs["values"]
    return x


def single(inputs, steps, n, **_):
    return {"out": grid_of(inputs, n)[tuple(inputs["at"].T)]}


def gathered(inputs, steps, n, **_):
    x, at = grid_of(inputs, n), inputs["at"]
    return {"out": sum(x[tuple((at + (np.array(offset) - 1)).T)] for offset in np.ndindex(3, 3, 3))}


@functools.cache
def active(n, share):
    return b7.count(n, share, 1)


def random_case(what, program, model, share, count, masked, anywhere, variants, unit):
    where = "anywhere" if anywhere else "of active cells"
    numbers = lambda n, share, count, masked, anywhere: (n, active(n, share), count)
    return Case(
        name=f"{what} {where}, {share:.0%} of 512^3, pointer - {'bitmasked' if masked else 'dense'}",
        program=f"reads:{program}",
        parameters={"n": 512, "share": share, "count": count, "masked": masked, "anywhere": anywhere},
        smoke={"n": 64, "share": 0.1, "count": 1000},
        inputs=inputs,
        model=model,
        outputs=lambda count, **_: {"out": ((count,), "float32")},
        reference=Reference("reads", program, numbers, variants),
        vdb=Reference("vdb_reads", program, numbers, ("accessor", "tree")),
        unit=unit,
        work=lambda count, **_: count,
        headline=not masked,
    )


def sphere(rng, n, band, image, masked):
    """The cells nearer than `band` to a sphere, with their signed distance less `band`."""
    radius, axis = 0.34 * n, np.arange(n) - (n - 1) / 2
    distance = np.sqrt(axis[:, None, None] ** 2 + axis[:, None] ** 2 + axis**2, dtype=np.float32) - np.float32(radius)
    at = np.nonzero(np.abs(distance) < band)
    values = (distance[at] - np.float32(band)).astype(np.float32)
    # A leaf's cells one after the other.
    leaf, local = [part >> 3 for part in at], [part & 7 for part in at]
    order = np.lexsort((*local[::-1], *leaf[::-1]))
    return {"cells": np.stack(at, axis=1).astype(np.int32)[order], "values": values[order]}


@functools.cache
def sphere_count(n, band):
    return len(sphere(None, n, band, 0, True)["values"])


def marched(inputs, steps, n, band, image, masked):
    x, side = grid_of(inputs, n), 2 * np.arange(image) - image + 1
    u, v = np.meshgrid(side, side, indexing="ij")
    depth, k, going = np.full((image, image), -1, np.int32), np.zeros((image, image), np.int64), np.ones((image, image), bool)
    while going.any():
        inside = np.minimum(k, n - 1)
        distance = x[n // 2 + u * inside // (2 * image), n // 2 + v * inside // (2 * image), inside] + np.float32(band)
        hit = going & (distance < 0.5)
        depth[hit] = k[hit]
        k = np.where(going & ~hit, k + np.maximum(1, distance.astype(np.int64)), k)
        going &= ~hit & (k < n)
    return {"depth": depth}


def march(masked):
    numbers = lambda n, band, image, masked: (n, sphere_count(n, band), band, image)
    return Case(
        name=f"rays through a sphere's narrow band, 512^3, pointer - {'bitmasked' if masked else 'dense'}",
        program="reads:march",
        parameters={"n": 512, "band": 4, "image": 1024, "masked": masked},
        smoke={"n": 64, "image": 64},
        inputs=sphere,
        model=marched,
        outputs=lambda image, **_: {"depth": ((image, image), "int32")},
        reference=Reference("reads", "march", numbers),
        vdb=Reference("vdb_reads", "march", numbers, ("accessor",)),
        unit="ray",
        work=lambda image, **_: image * image,
        tolerance=(0.0, 0.0),
        headline=not masked,
    )


def cases():
    singles, gathers = ("plain", "addresses some reads ahead"), ("plain", "leaves looked up once")
    for masked in (False, True):
        for share in (0.01, 0.10):
            yield random_case("random read", "single", single, share, 1 << 22, masked, False, singles, "read")
        yield random_case("random read", "single", single, 0.10, 1 << 22, masked, True, singles, "read")
    for masked in (False, True):
        yield random_case("27 neighbours", "gather", gathered, 0.10, 1 << 20, masked, False, gathers, "gather")
    yield march(False)
    yield march(True)
