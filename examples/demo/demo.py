"""A triangle mesh, voxelised into a sparse tree, smoothed and drawn: once through the JIT, twice from C++.

`./scripts/demo` runs this. It only launches kernels (kernels.py), starts the C++ host and compares:
    out/jit.png   Python, compiled just in time for a named CPU
    out/aot.png   C++, from the ahead-of-time module for the same CPU: the same bytes
    out/host.png  C++, from a module for this machine's own CPU: the same up to rounding
    out/demo.json the figures of the table that it prints
"""

import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

import kernels
import knot
import mesh_kernels
import numpy as np

import metate as mt

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build" / "examples"
BUNNY = "/usr/share/glmark2/models/bunny.obj"
TUBE_LIMITS = {"initial": 0.005, "smoothed": 0.01}  # relative error of area and volume of the tube


class Progress:
    """One line a stage: its name, then how long it took."""

    def __init__(self, stages):
        self.stages, self.number, self.start = stages, 0, time.perf_counter()

    def __call__(self, title):
        self.done()
        self.number += 1
        print(f"[{self.number}/{self.stages}] {title:<62}", end="", flush=True)
        self.start = time.perf_counter()

    def done(self):
        if self.number:
            print(f"{time.perf_counter() - self.start:7.2f} s", flush=True)


def build_programs():
    """Builds the example's C++ programs against build/lib/libmetate.so, as a user's project is built."""
    if not (PROGRAMS / "build.ninja").exists():
        run("cmake", "-S", ROOT / "examples", "-B", PROGRAMS, "-G", "Ninja", f"-DMETATE_BUILD={ROOT / 'build'}")
    run("ninja", "-C", PROGRAMS)


def run(*command, **environment):
    """Runs a program and returns what it printed; on failure shows that and stops."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, env={**os.environ, **environment})
    if result.returncode:
        sys.exit(f"\n{command[0]} failed with {result.returncode}:\n{result.stdout[-4000:]}{result.stderr[-4000:]}")
    return result.stdout


def load_mesh(name, out):
    """vertices f32[n, 3] and faces i32[m, 3], left as vertices.npy and faces.npy for the C++ host."""
    files = out / "vertices.npy", out / "faces.npy"
    if name == "knot":
        tube = knot.knotted_tube()
        np.save(files[0], tube.vertices)
        np.save(files[1], tube.faces)
    else:
        run(PROGRAMS / "mesh_to_npy", BUNNY if name == "bunny" else name, *files)
    return tuple(np.load(file) for file in files)


def prepare_mesh(ks, vertices, faces, resolution):
    """The mesh in the grid: (points, vertex normals, edge normals, scale)."""
    count = len(vertices)
    bounds = np.array([np.inf] * 3 + [-np.inf] * 3, np.float32)
    points = np.empty_like(vertices)
    ks.find_bounds(vertices, bounds)
    ks.normalise(vertices, bounds, resolution, points)
    starts, cursors = np.zeros(count + 1, np.int32), np.zeros(count, np.int32)
    incident = np.zeros(3 * len(faces), np.int32)
    ks.count_incident(faces, starts)
    ks.sum_starts(starts, cursors)
    ks.list_incident(faces, cursors, incident)
    vertex_normals, edge_normals = np.empty_like(vertices), np.empty((3 * len(faces), 3), np.float32)
    ks.find_vertex_normals(points, faces, starts, incident, vertex_normals)
    ks.find_edge_normals(points, faces, starts, incident, edge_normals)
    scale = (1.0 - 2.0 * mesh_kernels.MARGIN) * (resolution - 1) / float((bounds[3:] - bounds[:3]).max())
    return points, vertex_normals, edge_normals, scale


def run_in_python(ks, vertices, faces, arguments):
    """The whole job through the JIT; returns (image, figures)."""
    points, vertex_normals, edge_normals, scale = prepare_mesh(ks, vertices, faces, arguments.resolution)
    keys, phi, other = ks.Keys.new(), ks.Phi.new(), ks.Phi.new()
    ks.voxelise(points, faces, keys)
    ks.sign(points, faces, vertex_normals, edge_normals, keys, phi)
    figures = {"scale": scale, "initial": measure(ks, phi)}
    seconds = []
    for _ in range(arguments.steps):
        start = time.perf_counter()
        ks.smooth(phi, other)
        seconds.append(time.perf_counter() - start)
        phi, other = other, phi
    figures["ms_per_step"] = 1e3 * float(np.median(seconds))
    figures["smoothed"] = measure(ks, phi)
    blocks = phi.stats()["blocks"].used
    figures["active_voxels"] = int(blocks) * kernels.LEAF**3
    figures["tree_bytes"] = ks.Phi.bytes({"blocks": int(blocks)})
    image = np.zeros((arguments.size, arguments.size, 3), np.uint8)
    ks.render(phi, image)
    return image, figures


def measure(ks, phi):
    totals = np.zeros(2)
    ks.measure(phi, totals)
    return {"area": float(totals[0]), "volume": float(totals[1])}


def build_module(ks, target, path):
    module = mt.aot.Module(targets=[target])
    module.add_type(ks.Phi, "phi")
    module.add_type(ks.Keys, "keys")
    for name, kernel in vars(ks).items():
        if name not in ("Phi", "Keys"):
            module.add_kernel(kernel)
    module.save(str(path))
    return path.stat().st_size


def run_in_cpp(module, out, name, arguments):
    """The whole job in the C++ host; returns (image, figures); the picture is out/NAME.png."""
    text = run(
        PROGRAMS / "demo_host", module, out / "vertices.npy", out / "faces.npy", arguments.steps, arguments.size, out / name
    )
    return np.load(out / f"{name}.npy"), json.loads(text)


def named_cpu():
    """The CPU that the module is built for by name: x86-64-v3 where this machine runs it."""
    if platform.machine() != "x86_64":
        return "generic"
    flags = set(re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)[1].split())
    return "x86-64-v3" if {"avx2", "bmi2", "fma", "movbe"} <= flags else "x86-64-v2"


def needed_libraries(program):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-dW", program))


def check_tube(report):
    """Area and volume of the tube, before and after, against the analytic values; returns problems.

    Under mean-curvature flow a thin tube's radius obeys r' = -1/r: r^2 shrinks by 2 t.
    """
    tube = knot.knotted_tube()
    scale, problems = report["jit"]["scale"], []
    length, radius = tube.length * scale, tube.radius * scale
    after = (radius**2 - 2.0 * kernels.TIME_STEP * report["steps"]) ** 0.5
    for side in ("jit", "aot"):
        for stage, r in (("initial", radius), ("smoothed", after)):
            for quantity, expected in (("area", 2 * np.pi * r * length), ("volume", np.pi * r * r * length)):
                got = report[side][stage][quantity]
                error = got / expected - 1.0
                line = f"{side} {stage} {quantity}: expected {expected:.0f}, got {got:.0f}, {100 * error:+.2f} %"
                print("  " + line)
                if not abs(error) <= TUBE_LIMITS[stage]:
                    problems.append(line)
    return problems


def compare(images, out, report):
    """What must hold between the three pictures and in the host's memory; returns problems."""
    problems = []
    if (out / "jit.png").read_bytes() != (out / "aot.png").read_bytes():
        count = int((images["jit"] != images["aot"]).any(axis=2).sum())
        problems.append(f"jit.png and aot.png: expected the same bytes, got {count} different pixels")
    difference = np.abs(images["jit"].astype(int) - images["host"].astype(int)).max(axis=2)
    report["host_pixels_different"] = int((difference > 0).sum())
    report["host_grey_levels"] = int(difference.max())
    if difference.max() > 1 or (difference > 0).mean() > 0.001:
        problems.append(
            f"host.png: expected at most 1 grey level in at most 0.1 % of the pixels, "
            f"got {difference.max()} in {100 * (difference > 0).mean():.3f} %"
        )
    if len(np.unique(images["jit"])) < 32:
        problems.append("jit.png: expected a shaded surface, got fewer than 32 grey levels")
    if report["jit"]["active_voxels"] != report["aot"]["active_voxels"]:
        problems.append(f"active voxels: {report['jit']['active_voxels']} in Python, {report['aot']['active_voxels']} in C++")
    if report["aot"]["allocated_bytes"] != report["aot"]["tree_memory_bytes"]:
        problems.append("the counting allocator saw other bytes than the trees use")
    foreign = [n for n in report["links"] if not re.match(r"lib(metate|png\d*|stdc\+\+|m|gcc_s|c)\.so|ld-linux", n)]
    if foreign:
        problems.append(f"the C++ host links {', '.join(foreign)}")
    return problems


def print_table(report):
    jit, aot = report["jit"], report["aot"]
    rows = [
        ("triangles", f"{report['triangles']:,}"),
        ("active voxels", f"{jit['active_voxels']:,} of {report['resolution']}^3"),
        ("tree bytes", f"{jit['tree_bytes']:,}"),
        ("ms per smoothing step, (a) Python, JIT", f"{jit['ms_per_step']:.2f}"),
        ("ms per smoothing step, (b) C++, AOT", f"{aot['ms_per_step']:.2f}"),
        ("module size, bytes", f"{report['module_bytes']:,} ({report['cpu']})"),
        ("bytes seen by the counting allocator", f"{aot['allocated_bytes']:,}"),
        ("pixels of host.png that differ", f"{report['host_pixels_different']} by {report['host_grey_levels']} level"),
        ("the C++ program links", ", ".join(report["links"])),
        ("seconds", f"{report['seconds']:.1f}"),
    ]
    print()
    for name, value in rows:
        print(f"  {name:<42} {value}")
    print()


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/demo", description="from a mesh to a picture through a sparse tree, by JIT and by AOT module"
    )
    parser.add_argument("file", nargs="?", help="a mesh file that assimp reads: OBJ, PLY, STL, 3DS, ...")
    parser.add_argument("--mesh", choices=("bunny", "knot"), default="bunny", help="a built-in mesh, when no file is given")
    parser.add_argument("--resolution", type=int, default=512, help="voxels along each axis, a multiple of 8 (default 512)")
    parser.add_argument("--steps", type=int, default=20, help="smoothing steps (default 20)")
    parser.add_argument("--size", type=int, default=640, help="pixels along the picture's edges (default 640)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out", help="folder for the results (default out/)")
    parser.add_argument("--check", action="store_true", help="with --mesh=knot: compare area and volume with the analytic values")
    arguments = parser.parse_args()
    if arguments.resolution < 64 or arguments.resolution % kernels.LEAF:
        parser.error(f"--resolution: expected a multiple of {kernels.LEAF} from 64 on, got {arguments.resolution}")
    if arguments.check and arguments.mesh != "knot":
        parser.error("--check needs --mesh=knot: only the tube's area and volume are known exactly")
    return arguments


def main():
    arguments = parse_arguments()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    cpu = named_cpu()
    start = time.perf_counter()
    progress = Progress(6)
    progress("building the example's C++ programs")
    build_programs()
    progress(f"reading the mesh {arguments.file or arguments.mesh}")
    vertices, faces = load_mesh(arguments.file or arguments.mesh, out)
    images, report = {}, {"mesh": arguments.file or arguments.mesh, "triangles": len(faces), "cpu": cpu}
    report |= {"resolution": arguments.resolution, "steps": arguments.steps}

    progress(f"(a) Python: voxelise, smooth and draw, compiled for {cpu}")
    mt.init(arch=mt.cpu, cpu=cpu)
    ks = kernels.kernels_for(arguments.resolution)
    images["jit"], report["jit"] = run_in_python(ks, vertices, faces, arguments)
    np.save(out / "jit.npy", images["jit"])
    run(PROGRAMS / "npy_to_png", out / "jit.npy", out / "jit.png")

    progress(f"compiling the modules for {cpu} and for this machine's CPU")
    report["module_bytes"] = build_module(ks, cpu, out / "demo.metate")
    report["host_module_bytes"] = build_module(ks, "host", out / "demo-host.metate")
    progress(f"(b) C++: the same from the module for {cpu}")
    images["aot"], report["aot"] = run_in_cpp(out / "demo.metate", out, "aot", arguments)
    progress("(b) C++: the same from the module for this machine's CPU")
    images["host"], report["host"] = run_in_cpp(out / "demo-host.metate", out, "host", arguments)
    progress.done()

    report["links"] = needed_libraries(PROGRAMS / "demo_host")
    report["seconds"] = time.perf_counter() - start
    problems = compare(images, out, report)
    print_table(report)
    if arguments.check:
        problems += check_tube(report)
    report["problems"] = problems
    (out / "demo.json").write_text(json.dumps(report, indent=2) + "\n")
    for problem in problems:
        print(f"problem: {problem}")
    if not problems:
        shown = out.relative_to(ROOT) if out.is_relative_to(ROOT) else out
        print(f"pictures: {shown}/jit.png {shown}/aot.png {shown}/host.png; figures: {shown}/demo.json")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
