"""A light field in packed colours: a picture from each of 9 x 9 places of a lens, 32 bits a pixel, which are then focused.

The scene is seen through each place of a lens, and the pictures are kept; a photograph is their mean, each shifted by as much
as the distance asks that is to be sharp. The film moves the focus from front to back. So the light, of which there is much,
is stored once and read often. Three formats of a colour are compared with f32:

    rgb9e5     three floats of 9 digits that share an exponent of 5 bits: 32 bits, for lights of any brightness
    rgb10      three fixed-point numbers of 10 bits: 32 bits, for brightness from 0 to 1; what is more is cut before it is stored
    f32        three floats of 32 bits

At the end the program prints, of both packed formats, bytes and how far photographs are from those in f32.

python examples/light_field.py --size 192 --frames 80 --out focus.gif
python examples/light_field.py --format rgb10        lights are as bright as paper
"""

import argparse

import numpy as np
from example import Window, options

import metate as ti

FORMATS = ("rgb9e5", "rgb10", "f32")


def more(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=FORMATS, default="rgb9e5", help="of what is shown (default rgb9e5)")


chosen = options(__doc__, size=192, frames=80, size_help="pixels along each side", more=more)
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
views = 9  # along each side of the lens
aperture = 0.16  # of the lens
spheres = 24
lights = 5  # the last spheres glow

vec3 = ti.math.vec3
center = ti.Vector.field(3, ti.f32, shape=spheres)
color = ti.Vector.field(3, ti.f32, shape=spheres)
radius = ti.field(ti.f32, shape=spheres)
photograph = ti.Vector.field(3, ti.f32, shape=(n, n))


class LightField:
    """Colours by place on the lens and by pixel.

    Args:
        name: of the format.
        given: the field in f32 whose light it stores; None: the scene's is computed.
    """

    def __init__(self, name, given=None):
        of = {
            "rgb9e5": ti.types.quant.float(exp=5, frac=9, signed=False),
            "rgb10": ti.types.quant.fixed(bits=10, signed=False, scale=1 / 1023),
            "f32": ti.f32,
        }
        self.name = name
        self.light = ti.Vector.field(3, of[name])
        what = self.light
        if name != "f32":
            what = ti.BitpackedFields(max_num_bits=32)
            what.place(self.light, shared_exponent=name == "rgb9e5")
        builder = ti.FieldsBuilder()
        builder.dense(ti.ijkl, (views, views, n, n)).place(what)
        self.bytes = sum(type_.bytes() for type_ in builder.finalize().types)
        if given:
            pack(given.light, self.light, 1.0 if name == "rgb10" else 1e4)
        else:
            render(self.light)

    def focus(self, distance):
        """Takes a photograph in which what is at a distance is sharp."""
        expose(self.light, distance)


def scene():
    """Balls on a floor from front to back; the last ones are small and bright."""
    random = np.random.default_rng(12)
    depth = np.linspace(1.6, 9, spheres)
    random.shuffle(depth)
    size = random.uniform(0.12, 0.3, spheres)
    size[-lights:] = 0.03
    side = random.uniform(-0.42, 0.42, spheres) * depth
    height = np.where(np.arange(spheres) < spheres - lights, size - 0.8, random.uniform(0.0, 0.3, spheres) * depth)
    hue = random.uniform(0, 2 * np.pi, (spheres, 1)) + np.array([0, 2.1, 4.2])
    shade = 0.55 + 0.4 * np.cos(hue)
    shade[-lights:] *= 60
    center.from_numpy(np.stack([side, height, depth], 1).astype(np.float32))
    color.from_numpy(shade.astype(np.float32))
    radius.from_numpy(size.astype(np.float32))


@ti.func
def ahead(origin, way, k):
    """How far along a ray a ball is; far away where the ray misses it."""
    to = center[k] - origin
    along = to.dot(way)
    room = radius[k] ** 2 - (to.dot(to) - along * along)
    found = 1e9
    if room > 0:
        found = along - ti.sqrt(room)
    return found


@ti.func
def seen(origin, way):
    """The light that comes along a ray: of glowing balls, of lit ones, of the floor or of the sky."""
    nearest, hit = 1e8, -1
    for k in range(spheres):
        distance = ahead(origin, way, k)
        if 1e-3 < distance < nearest:
            nearest, hit = distance, k
    light = vec3(0.02, 0.03, 0.06) + 0.1 * ti.max(way.y, 0.0)
    floor = (-0.8 - origin.y) / ti.min(way.y, -1e-4)
    if hit < 0 or floor < nearest:
        if way.y < 0:
            at = origin + floor * way
            squares = (ti.floor(2 * at.x) + ti.floor(2 * at.z)) % 2
            light = (0.12 + 0.3 * squares) * vec3(1.0, 0.95, 0.85) / (1 + 0.03 * at.z * at.z)
    elif hit >= spheres - lights:
        light = color[hit]
    else:
        normal = (origin + nearest * way - center[hit]) / radius[hit]
        light = color[hit] * (0.15 + 0.75 * ti.max(normal.dot(vec3(0.5, 0.7, -0.5)), 0.0))
    return light


@ti.kernel
def render(light: ti.template()):
    for a, b, x, y in light:
        lens = aperture * vec3((a + 0.5) / views - 0.5, (b + 0.5) / views - 0.5, 0)
        way = vec3((x + 0.5) / n - 0.5, (y + 0.5) / n - 0.5, 1)  # cameras that all look straight ahead
        light[a, b, x, y] = seen(lens, way.normalized())


@ti.kernel
def pack(light: ti.template(), packed: ti.template(), most: ti.f32):
    """Stores colours, cut to what the format holds: a fixed-point number beyond its range would begin anew at 0."""
    for I in ti.grouped(light):
        packed[I] = ti.min(light[I], most)


@ti.func
def mixed(light: ti.template(), a, b, x, y):
    """The light of a picture at a place between four pixels."""
    left, low = int(ti.floor(x)), int(ti.floor(y))
    total = vec3(0)
    for i, j in ti.static(ti.ndrange(2, 2)):
        share = (1 - abs(x - left - i)) * (1 - abs(y - low - j))
        total += share * light[a, b, ti.math.clamp(left + i, 0, n - 1), ti.math.clamp(low + j, 0, n - 1)]
    return total


@ti.kernel
def expose(light: ti.template(), distance: ti.f32):
    """The mean over the lens: a point at this distance moves from picture to picture by its share of aperture / distance."""
    for x, y in photograph:
        total = vec3(0)
        for a, b in ti.ndrange(views, views):
            shift = vec3((a + 0.5) / views - 0.5, (b + 0.5) / views - 0.5, 0) * (aperture / distance * n)
            total += mixed(light, a, b, x - shift.x, y - shift.y)
        photograph[x, y] = total / (views * views)


def compared(fields, distance):
    """What the program prints: of each packed format, against the last one, which is in f32."""
    *packed, plain = fields
    plain.focus(distance)
    wanted = photograph.to_numpy()
    lines = [f"f32: {plain.bytes} bytes, brightness up to {plain.light.to_numpy().max():.3g}"]
    for field in packed:
        field.focus(distance)
        difference = photograph.to_numpy() - wanted
        usual, greatest = np.sqrt((difference**2).mean()), np.abs(difference).max()
        lines.append(f"{field.name}: {field.bytes} bytes, a photograph's error {greatest:.2e} at most, {usual:.2e} rms")
    return "\n".join(lines)


def main():
    scene()
    plain = LightField("f32")
    fields = [LightField("rgb9e5", plain), LightField("rgb10", plain), plain]
    shown = fields[FORMATS.index(chosen.format)]
    zoom = max(384 // n, 1)
    gui = Window("Light field", n * zoom, chosen)
    while gui.running:
        turn = 0.5 - 0.5 * np.cos(2 * np.pi * gui.frame / 80)
        shown.focus(1 / (1 / 1.6 + turn * (1 / 9 - 1 / 1.6)))
        picture = photograph.to_numpy()
        gui.set_image(np.clip(picture / (0.3 + picture), 0, 1).repeat(zoom, axis=0).repeat(zoom, axis=1))
        gui.show()
    print(compared(fields, 3.0))


if __name__ == "__main__":
    main()
