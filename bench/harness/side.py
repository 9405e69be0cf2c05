"""The driver's end of a worker: starts it, asks, and gives up on it when it dies or hangs."""

import contextlib
import json
import os
import pathlib
import selectors
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1]
ROOT = BENCH.parent
PEERS = BENCH / ".peers" / "bin" / "python"
PACKAGES = ("metate", "taichi", "quadrants")
LIBRARIES = ("scipy",)  # peers of the rows that have a program of their own for them: `others` of a case


class SideError(Exception):
    """A side could not do what it was asked: its own message."""


def interpreter(kind):
    return PEERS if kind in ("taichi", "quadrants", *LIBRARIES) else pathlib.Path(sys.executable)


def environment(threads):
    """Same threads for all. Peers must not ask a server for newer versions; idle OpenMP workers must not spin for long, and
    OpenBLAS's not at all: on two busy cores they made SciPy's conjugate gradients 25 times slower."""
    return dict(
        os.environ, OMP_NUM_THREADS=str(threads), OMP_PROC_BIND="true", GOMP_SPINCOUNT="30000", TI_SKIP_VERSION_CHECK="ON",
        OPENBLAS_NUM_THREADS="1",
    )  # fmt: skip


class Side:
    """A worker process of one kind (a package, or 'reference')."""

    def __init__(self, kind, threads, log):
        command = [str(interpreter(kind)), str(BENCH / "harness" / "worker.py"), kind]
        self.kind, self.log = kind, log
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT, env=environment(threads)
        )

    def ask(self, seconds=120.0, **request):
        """The reply as a dict; raises SideError with the worker's message, or that it died or took too long."""
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except OSError:
            raise SideError(f"{self.kind}: the process is gone ({self.process.poll()})") from None
        selector = selectors.DefaultSelector()
        selector.register(self.process.stdout, selectors.EVENT_READ)
        if not selector.select(seconds):
            self.stop()
            raise SideError(f"{self.kind}: no answer to {request['do']!r} within {seconds:g} s")
        line = self.process.stdout.readline()
        if not line:
            raise SideError(f"{self.kind}: died in {request['do']!r} with {self.process.wait()}")
        reply = json.loads(line)
        if "error" in reply:
            self.log.write(reply["traceback"])
            self.log.flush()
            raise SideError(reply["error"])
        return reply

    def stop(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
