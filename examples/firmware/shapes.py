"""A small convolutional network for a microcontroller: it tells four shapes apart in pictures of 12 x 12, in integers of 8 bits.

python examples/firmware/shapes.py --save build/firmware        shapes.o · shapes.h · shapes_data.h, for a Cortex-M4

The filters are drawn at random, the last layer is fitted to a thousand made-up pictures (ridge regression on what the filters
see), then both are rounded to 8 bits.
"""

import argparse
import pathlib

import numpy as np

import metate as ti

SIZE, FILTERS, POOLED, CLASSES, SHIFT = 12, 8, 5, 4, 8
NAMES = ("bars that lie", "bars that stand", "a cross", "a frame")
FEATURES = FILTERS * POOLED * POOLED
bytes2, bytes3 = ti.types.ndarray(dtype=ti.i8, ndim=2), ti.types.ndarray(dtype=ti.i8, ndim=3)


@ti.kernel
def classify(
    image: bytes2,
    filters: bytes3,
    weights: bytes2,
    bias: ti.types.ndarray(dtype=ti.i32, ndim=1),
    features: ti.types.ndarray(dtype=ti.i8, ndim=1),
    scores: ti.types.ndarray(dtype=ti.i32, ndim=1),
):
    """Convolution 3 x 3, the largest of each 2 x 2, cut to 0..127; then a score for each class."""
    for c, i, j in ti.ndrange(FILTERS, POOLED, POOLED):
        best = 0
        for a, b in ti.static(ti.ndrange(2, 2)):
            total = 0
            for u, v in ti.static(ti.ndrange(3, 3)):
                total += ti.cast(filters[c, u, v], ti.i32) * ti.cast(image[2 * i + a + u, 2 * j + b + v], ti.i32)
            best = ti.max(best, total)
        features[(c * POOLED + i) * POOLED + j] = ti.cast(ti.min(best >> SHIFT, 127), ti.i8)
    for k in scores:
        total = bias[k]
        for f in range(FEATURES):
            total += ti.cast(weights[k, f], ti.i32) * ti.cast(features[f], ti.i32)
        scores[k] = total


def pictures(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(pictures of shapes at random places, with noise; the class of each)"""
    classes = rng.integers(0, CLASSES, count)
    images = rng.normal(0, 12, (count, SIZE, SIZE))
    for image, class_ in zip(images, classes, strict=True):
        x, y, long = (int(n) for n in rng.integers([1, 1, 5], [4, 4, 8]))
        ink = rng.uniform(60, 110)
        if class_ == 0:
            image[y : y + long : 3, x : x + long] += ink
        elif class_ == 1:
            image[y : y + long, x : x + long : 3] += ink
        elif class_ == 2:
            image[y + long // 2, x : x + long] += ink
            image[y : y + long, x + long // 2] += ink
        else:
            image[[y, y + long - 1], x : x + long] += ink
            image[y : y + long, [x, x + long - 1]] += ink
    return np.clip(np.round(images), -128, 127).astype(np.int8), classes


def seen(images: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """What classify computes before its last layer, for many pictures."""
    windows = np.lib.stride_tricks.sliding_window_view(images.astype(np.int32), (3, 3), (1, 2))
    sums = np.einsum("nijuv,cuv->ncij", windows, filters.astype(np.int32))
    pooled = sums.reshape(len(images), FILTERS, POOLED, 2, POOLED, 2).max((3, 5))
    return np.minimum(np.maximum(pooled, 0) >> SHIFT, 127).reshape(len(images), -1)


def network(seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(filters, weights, bias)"""
    rng = np.random.default_rng(seed)
    filters = np.round(rng.normal(0, 40, (FILTERS, 3, 3))).clip(-128, 127)
    filters = (filters - np.round(filters.mean((1, 2), keepdims=True))).astype(np.int8)
    images, classes = pictures(1000, rng)
    features = np.c_[seen(images, filters), np.ones(len(images))].astype(float)
    wanted = np.eye(CLASSES)[classes]
    fitted = np.linalg.solve(features.T @ features + 300 * np.eye(FEATURES + 1), features.T @ wanted)
    scale = 127 / np.abs(fitted[:-1]).max()
    return filters, np.round(scale * fitted[:-1].T).astype(np.int8), np.round(scale * fitted[-1]).astype(np.int32)


def c_array(name: str, data: np.ndarray) -> str:
    kind = "int32_t" if data.dtype == np.int32 else "int8_t"
    return f"static const {kind} {name}[{data.size}] = {{{', '.join(map(str, data.ravel()))}}};\n"


def save(folder: pathlib.Path, target: str, carrier: str = "o") -> pathlib.Path:
    """Writes shapes.o with its header, and shapes_data.h: the network and a hundred pictures that it has not seen."""
    folder.mkdir(parents=True, exist_ok=True)
    filters, weights, bias = network()
    images, classes = pictures(100, np.random.default_rng(2))
    text = "#include <stdint.h>\n" + "".join(
        c_array(name, data)
        for name, data in (
            ("filters", filters),
            ("weights", weights),
            ("bias", bias),
            ("images", images),
            ("classes", classes.astype(np.int8)),
        )
    )
    sizes = {"SIZE": SIZE, "FILTERS": FILTERS, "FEATURES": FEATURES, "CLASSES": CLASSES, "IMAGES": len(images)}
    enums = "enum { " + ", ".join(f"{name} = {size}" for name, size in sizes.items()) + " };\n"
    (folder / "shapes_data.h").write_text(enums + text)
    return ti.aot.Module(targets=[target], name="shapes").add_kernel(classify).save(folder / f"shapes.{carrier}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", metavar="FOLDER", type=pathlib.Path, required=True)
    parser.add_argument("--target", default="thumbv7em-none-eabihf", help="default: %(default)s")
    parser.add_argument("--emit", choices=["o", "c"], default="o", help="an object, or C source; default: %(default)s")
    parsed = parser.parse_args()
    print(save(parsed.save, parsed.target, parsed.emit), parsed.save / "shapes.h", parsed.save / "shapes_data.h", sep="\n")
