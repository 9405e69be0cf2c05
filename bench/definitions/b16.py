"""B16: from a new process to the first result, and what compiling costs; each sample in a process of its own."""

import json
import pathlib
import subprocess
import tempfile

from harness import rows
from harness.side import BENCH, environment, interpreter

TITLE = "from a new process to the first result; compiling"
STARTS = BENCH / "programs" / "start.py"
KINDS = {
    "import, init, first kernel": "cold",
    "the same, from the package's own cache": "warm",
    "the same for mpm88's first positions": "frame",
    "the same for mpm88's first positions in NumPy": "frame-numpy",
    "compile the mpm88 substep": "mpm88",
    "compile mpm3d's P2G": "mpm3d",
    "compile B14's wave": "wave",
    "compile B14's wave and its gradient": "wave-gradient",
    "compile B14's mpm": "mpm",
    "compile B14's mpm and its gradient": "mpm-gradient",
}


def sample(package, kind, threads, folder):
    """Seconds that programs/start.py reports for one package, in a new process."""
    # Python's compiled files are kept, as an installed package's are: this measures packages, not Python's parser.
    given = {name: value for name, value in environment(threads).items() if name != "PYTHONDONTWRITEBYTECODE"}
    result = subprocess.run(
        [str(interpreter(package)), str(STARTS), package, kind, str(threads), str(folder)],
        capture_output=True, text=True, env=given, cwd=BENCH,
    )  # fmt: skip
    if result.returncode:
        raise RuntimeError((result.stderr.strip().splitlines() or [f"exit code {result.returncode}"])[-1])
    return json.loads(result.stdout.strip().splitlines()[-1])


def measured(runner):
    with tempfile.TemporaryDirectory(prefix="metate-bench-cache-") as folder:
        for case, kind in KINDS.items():
            taken, failed = take(runner, kind, folder, list(runner.packages))
            yield rows.given(case, taken, **failed)


def take(runner, kind, folder, packages):
    """({package: seconds of each sample}, {package: why it has none}), in turns."""
    taken, failed = {name: [] for name in packages}, {}
    for turn in range(runner.samples + 1):  # the first one fills caches and is not counted
        for package in list(taken):
            try:
                seconds = sample(package, kind, runner.threads, pathlib.Path(folder) / package)
            except RuntimeError as error:
                failed[package] = {"failed": str(error)}
                del taken[package]
            else:
                taken[package] += [seconds] if turn else []
    return taken, failed
