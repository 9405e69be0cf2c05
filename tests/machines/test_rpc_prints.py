"""What kernels print comes to the client of calls over a stream, in order, whatever happens to the stream."""

import pathlib
import sys

import numpy as np
import pytest
from seeded import generator

import metate as mt
from metate.errors import AssertionError_

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import rpc_kernels as kernels
from rpc_loop import Loop, built


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return built(tmp_path_factory.mktemp("prints"))


def local(capfd, n, by):
    capfd.readouterr()
    with mt.Context():
        kernels.tell(n, by)
        mt.sync()
    return capfd.readouterr().out.splitlines(keepends=True)


@pytest.mark.parametrize("frame", [160, 163, 4096])
def test_prints_are_those_of_a_local_call(library, capfd, frame):
    wanted, heard = local(capfd, 7, 0.3), []
    remote = Loop(library, generator(str(frame)), frame=frame).connect(printed=heard.append)
    remote.call("tell", 7, 0.3)
    assert heard == wanted and len(wanted) == 7 and wanted[2].startswith("  2 of 7 0.6")
    assert library.serve_heard() == 7, "the program's own sink hears them as well"
    remote.call("axpy", 1, np.ones(2, np.float32), np.ones(2, np.float32))
    assert heard == wanted
    remote.call("tell", 2, -0.0)
    assert heard[7:] == local(capfd, 2, -0.0)


def test_they_go_to_the_standard_output(library, capfd):
    wanted = local(capfd, 3, 1.5)
    Loop(library, generator("out")).connect().call("tell", 3, 1.5)
    assert capfd.readouterr().out.splitlines(keepends=True) == wanted


@pytest.mark.parametrize("damage", [(2e-3, 0, 0), (0, 2e-3, 0), (0, 0, 2e-3)], ids=str)
def test_each_comes_once_over_a_damaged_stream(library, capfd, damage):
    wanted, heard = local(capfd, 30, 0.1), []
    loop = Loop(library, generator(str(damage)), damage)
    remote = loop.connect(timeout=0.02, attempts=60, printed=heard.append)
    for _ in range(5):
        remote.call("tell", 30, 0.1)
    assert heard == 5 * wanted


def test_what_a_kernel_printed_before_it_failed(library):
    heard = []
    remote = Loop(library, generator("fails")).connect(printed=heard.append)
    with pytest.raises(AssertionError_, match="assertion failed: 40"):
        remote.call("tell", 50, 1.0)
    assert len(heard) == 41 and heard[-1].startswith(" 40 of 50 40.0")


def test_a_note_where_prints_found_no_room(library, capfd):
    wanted, heard = local(capfd, 20, 1.0), []
    remote = Loop(library, generator("room"), prints=300).connect(printed=heard.append)
    for _ in range(2):
        remote.call("tell", 20, 1.0)
        kept = len(heard) - 1
        assert 2 <= kept < 19 and heard[:kept] == wanted[:kept]
        assert heard[-1] == (
            f"[rpc: {20 - kept} prints were dropped: the server keeps 300 bytes of them (metate_rpc_options.print_bytes)]\n"
        )
        heard.clear()
    remote = Loop(library, generator("none"), prints=8).connect(printed=heard.append)
    remote.call("tell", 1, 1.0)
    assert heard == ["[rpc: a print was dropped: the server keeps 8 bytes of them (metate_rpc_options.print_bytes)]\n"]


def test_a_server_that_keeps_none(library):
    heard = []
    remote = Loop(library, generator("keeps none"), prints=0).connect(printed=heard.append)
    assert remote.call("total", np.ones(3, np.float32)) == 3 and remote.call("tell", 3, 1.0) is None
    assert not heard and library.serve_heard() == 3


def test_a_client_that_does_not_ask_for_them(library):
    """One of before there were any: answers are as it knows them."""
    loop = Loop(library, generator("old"))
    remote = loop.connect()
    remote._prints = None
    remote._ask(1, b"MRPC\1\0\0\0")  # a hello without wishes
    status, answer = remote._line.ask(10, remote.kernels["total"]._number.to_bytes(4, "little") + b"\0\0\0\0\0")
    assert status == 0 and np.frombuffer(answer, np.float64) == [10]  # of what the program names
    assert remote.call("tell", 3, 1.0) is None


def test_a_new_client_hears_nothing_of_an_earlier_one(library):
    heard, loop = [], Loop(library, generator("anew"))
    first = loop.connect()
    first._line.ask(10, first.kernels["tell"]._number.to_bytes(4, "little") + bytes((1, 3, 2, 0, 0, 0, 1, 9, 0, 0, 0, 0)))
    loop.connect(printed=heard.append).call("tell", 1, 1.0)
    assert len(heard) == 1
