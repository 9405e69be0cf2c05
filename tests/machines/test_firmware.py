"""examples/firmware on an emulated Cortex-M4: the particles' bits, and what the program takes of RAM, flash and cycles."""

import dataclasses
import pathlib
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from machines import BOARD, HOST, MACHINES, ROOT, WARNINGS, Machine, run  # noqa: E402

EXAMPLE = ROOT / "examples" / "firmware"
M4 = MACHINES["thumbv7em-none-eabihf"]
COUNTED = dataclasses.replace(M4, emulator=(*M4.emulator[:-1], "-icount", "shift=0", "-kernel"))
HERE_TOO = dataclasses.replace(HOST, sources=("host_board.c",), compiler=(*HOST.compiler, f"-I{BOARD}"))


def from_c(machine: Machine, folder: pathlib.Path, example: str) -> pathlib.Path:
    """The kernels of water.py or shapes.py in C, compiled by the machine's compiler to an object."""
    run(sys.executable, EXAMPLE / f"{example}.py", "--save", folder, "--target", machine.target, "--emit", "c")
    run(*machine.compiler, "-std=c99", "-O2", *WARNINGS, "-Wpedantic", f"-I{folder}", "-c", folder / f"{example}.c",
        "-o", folder / f"{example}.o")  # fmt: skip
    undefined = {line.split()[-1] for line in run("arm-none-eabi-nm", "-u", folder / f"{example}.o").splitlines()}
    assert not undefined & {"malloc", "calloc", "free", "abort", "exit", "__assert_func"}
    return folder / f"{example}.o"


def printed_by(machine: Machine, folder: pathlib.Path, carrier: str = "o") -> dict[str, int]:
    machine.need()
    if carrier == "c":
        from_c(machine, folder, "water")
    else:
        run(sys.executable, EXAMPLE / "water.py", "--save", folder, "--target", machine.target)
    machine.build(folder / "water", EXAMPLE / "main.c", folder / "water.o")
    return {line.split()[0]: int(line.split()[1]) for line in machine.run(folder / "water").splitlines()}


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    return printed_by(COUNTED, tmp_path_factory.mktemp("m4"))


def test_the_particles_are_where_they_are_on_this_machine(printed, tmp_path):
    here = printed_by(HERE_TOO, tmp_path)
    assert (printed["steps"], printed["checksum"]) == (here["steps"], here["checksum"])
    program = f"""import sys
sys.path.insert(0, {str(EXAMPLE)!r})
import water
water.fill()
for k in range({here["steps"]}):
    water.substep()
print(water.x.to_numpy()[:, 1].mean())"""
    height = float(run(sys.executable, "-c", program))
    np.testing.assert_allclose([printed["height"], here["height"]], height * 1e6, atol=20)  # sums in another order


def test_ram_is_what_the_fields_need(printed):
    used = printed["variables"] + printed["stack"]
    share = used / printed["fields"]
    print(f"fields {printed['fields']}, RAM {used} ({share:.3f}), flash {printed['flash']}, cycles {printed['cycles']}")
    assert used <= 1.05 * printed["fields"]
    assert printed["flash"] < 24 << 10
    assert 0 < printed["cycles"] < 1e9


def test_of_c_source_it_is_the_same_program(printed, tmp_path):
    of_c = printed_by(COUNTED, tmp_path, "c")
    for name in ("steps", "checksum", "height", "fields", "variables"):
        assert of_c[name] == printed[name], name
    for name in ("flash", "stack", "cycles"):
        print(f"{name}: {printed[name]} of the object, {of_c[name]} of C source")
    assert of_c["flash"] < 24 << 10 and of_c["variables"] + of_c["stack"] <= 1.05 * of_c["fields"]
    assert of_c["cycles"] < 2 * printed["cycles"]


def shapes_by(machine: Machine, folder: pathlib.Path, carrier: str = "o") -> dict[str, int]:
    machine.need()
    if carrier == "c":
        from_c(machine, folder, "shapes")
    else:
        run(sys.executable, EXAMPLE / "shapes.py", "--save", folder, "--target", machine.target)
    machine.build(folder / "shapes", EXAMPLE / "shapes_main.c", folder / "shapes.o")
    return {line.split()[0]: int(line.split()[1]) for line in machine.run(folder / "shapes").splitlines()}


@pytest.mark.parametrize("carrier", ["o", "c"])
def test_a_network_tells_shapes_apart(carrier, tmp_path):
    """On the Cortex-M4 as in NumPy, score by score; in 1.1 KB of RAM, of C source 1.3."""
    sys.path.insert(0, str(EXAMPLE))
    import shapes

    filters, weights, bias = shapes.network()
    images, classes = shapes.pictures(100, np.random.default_rng(2))
    scores = shapes.seen(images, filters) @ weights.T.astype(np.int32) + bias
    total = 0
    for score in scores.astype(np.uint32).ravel():
        total = (total * 31 + int(score)) % 2**64
    printed = shapes_by(COUNTED, tmp_path, carrier)
    assert printed["right"] == (scores.argmax(1) == classes).sum() >= 90
    assert printed["checksum"] == total
    print(f"RAM {printed['variables'] + printed['stack']}, flash {printed['flash']}, cycles {printed['cycles']}")
    assert printed["variables"] + printed["stack"] < (1200 if carrier == "o" else 1400)
