"""Calls over the serial line of an emulated board (runtime/rpc there, mt.rpc here): as local ones."""

import contextlib
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from seeded import generator

import metate as mt
from metate.errors import AssertionError_, RuntimeValueError_

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import rpc_kernels as kernels  # noqa: E402
from machines import BOARD, MACHINES, run  # noqa: E402
from rpc_loop import INCLUDES, ROOT, SOURCES, exercise, expected  # noqa: E402

EXAMPLE = ROOT / "examples" / "firmware"
UART = BOARD / "uart.c"
M4 = MACHINES["thumbv7em-none-eabihf"]


@contextlib.contextmanager
def running(machine, program):
    """A client of the program's server."""
    *emulator, _ = machine.emulator
    emulator[emulator.index("-serial") + 1] = "stdio"
    emulator[emulator.index("-chardev") + 1] = f"file,id=text,path={program.with_suffix('.txt')}"
    command = [*emulator, "-kernel", str(program)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield mt.rpc.connect((process.stdout, process.stdin), timeout=10, attempts=3)
        finally:
            process.kill()


@pytest.mark.parametrize("target", ["thumbv7em-none-eabihf", "thumbv8m.main-none-eabi"])
def test_calls_over_a_serial_line_give_what_they_give_here(target, tmp_path):
    machine = MACHINES[target]
    machine.need()
    kernels.module(target).save(tmp_path / "service.o")
    machine.build(tmp_path / "server", HERE / "rpc_board.c", UART, *SOURCES, tmp_path / "service.o",
                  flags=(*INCLUDES, "-Os", "-DMETATE_ONE_THREAD"))  # fmt: skip
    with running(machine, tmp_path / "server") as remote:
        for there, here in zip(exercise(remote, generator(target)), expected(generator(target)), strict=True):
            np.testing.assert_array_equal(there, here)
        x = np.array([1, 1500], np.int32)
        with pytest.raises(AssertionError_, match=r"x\[1\] is 1500, 750\.0 is half of it") as there:
            remote.call("stop", x)
        with pytest.raises(AssertionError_) as here, mt.Context():
            kernels.stop(x)
        assert str(there.value) == str(here.value)
        tree = remote.tree("cells", kernels.Cells.new(capacity=4))
        remote.call("fill", tree, 4, 0.5)
        assert remote.call("weigh", tree) == 24
        np.testing.assert_array_equal(tree.fetch(kernels.Cells).level.to_numpy()[4:8], [4.5, 5.5, 6.5, 7.5])


@pytest.fixture(scope="module")
def shapes_server(tmp_path_factory):
    M4.need()
    folder = tmp_path_factory.mktemp("shapes")
    run(sys.executable, EXAMPLE / "shapes.py", "--save", folder)
    M4.build(folder / "server.elf", EXAMPLE / "shapes_server.c", UART, *SOURCES, folder / "shapes.o",
             flags=(*INCLUDES, "-Os", "-DMETATE_ONE_THREAD"))  # fmt: skip
    return folder / "server.elf"


def test_a_network_on_a_board_is_asked(shapes_server):
    """Scores as in NumPy; weights stay in flash."""
    sys.path.insert(0, str(EXAMPLE))
    import shapes
    import shapes_client

    images, _ = shapes.pictures(20, np.random.default_rng(2))
    filters, weights, bias = shapes.network()
    with running(M4, shapes_server) as remote:
        scores = shapes_client.seen_by(remote, images)
        np.testing.assert_array_equal(scores, shapes.seen(images, filters) @ weights.T.astype(np.int32) + bias)
        np.testing.assert_array_equal(remote.values["filters"].numpy(), filters)
        with pytest.raises(RuntimeValueError_, match="the value is read-only"):
            remote.values["bias"].write(np.zeros(shapes.CLASSES, np.int32))


def test_the_example_shows_what_it_says(shapes_server):
    lines = run(sys.executable, EXAMPLE / "shapes_client.py", "--emulate", shapes_server).splitlines()
    assert len(lines) == 10 and sum("seen" in line for line in lines) >= 8, lines
