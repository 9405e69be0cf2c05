"""Runs one row: every side is made, gives the same results, and only then is timed, A/B/A/B.

Nothing is timed whose result was not compared in this run; a side that gives another result fails the row.
"""

import contextlib
import dataclasses
import functools
import pathlib
import shutil
import tempfile
import time

import numpy as np

from . import digest, measure, references
from .case import Case
from .side import LIBRARIES, PACKAGES, PEERS, Side, SideError

PAUSE = 0.006  # between samples of different sides, so that the last one's threads sleep


class Mismatch(Exception):
    """A side's result differs from what was expected."""


@dataclasses.dataclass
class Runner:
    """The workers of a run, and what the command line said."""

    threads: int
    packages: tuple[str, ...]
    compilers: tuple[str, ...]
    samples: int
    log: object
    sample: float = 0.03  # seconds that a sample should take at least
    launches: bool = True  # also the time of an empty launch
    arch: str = "cpu"  # where the packages run their programs; hand-written ones are a CPU's, and then only say what is right
    keep: bool = False  # whether peers keep what they compiled for the next run
    copy: float | None = None  # bytes a second that a GPU's own copy reads and writes: the limit of rows there
    doubt: float = 0.0  # samples are taken anew, LEAST_SAMPLES of them, where a peer's time is less than this of Metate's
    sides: dict = dataclasses.field(default_factory=dict)
    stored: tuple | None = None  # the last row's inputs: its key, their folder, paths and arrays
    modelled: tuple | None = None  # what NumPy made of them: its key, and {output: digest}
    # Of the last row's hand-written program, and of OpenVDB's: its key, what was tried, outputs.
    chosen: dict = dataclasses.field(default_factory=dict)

    def side(self, name):
        """The worker of that name; a package's is kept from row to row while it lives."""
        if name not in self.sides or self.sides[name].process.poll() is not None:
            self.sides[name] = Side(name if name in PACKAGES + LIBRARIES else "reference", self.threads, self.log)
        return self.sides[name]

    def stop(self):
        for side in self.sides.values():
            side.stop()
        self.forget_inputs()

    def forget_inputs(self):
        if self.stored:
            shutil.rmtree(self.stored[1], ignore_errors=True)
        self.stored = None


def memory_folder():
    """Where files are memory, if there is such a place: inputs are as large as DRAM rows are."""
    return "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None


def store_inputs(runner, case, parameters):
    """(folder in memory, {name: path}, arrays) of a row's inputs; kept for the next row, which often has the same."""
    key = (case.inputs, repr(parameters))
    if runner.stored and runner.stored[0] == key:
        return runner.stored[1:]
    runner.forget_inputs()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="metate-bench-", dir=memory_folder()))
    arrays = case.inputs(np.random.default_rng(7), **parameters)
    paths = {}
    runner.stored = (key, folder, paths, arrays)
    for name, array in arrays.items():
        paths[name] = str(folder / f"{name}.npy")
        np.save(paths[name], np.ascontiguousarray(array))
    return folder, paths, arrays


def expectation(runner, case, arrays, parameters):
    """{output: digest} of what NumPy makes of the inputs; kept for the next row, which may be the same work."""
    key = (case.model, repr(parameters), case.check_steps)
    if not runner.modelled or runner.modelled[0] != key:
        model = case.model(arrays, steps=case.check_steps, **parameters)
        runner.modelled = (key, {name: digest.take(np.asarray(array)) for name, array in model.items()})
    return runner.modelled[1]


def compare(case, name, expected, reply):
    """Raises Mismatch when an output file of `reply` differs from `expected`, {name: digest}."""
    if set(reply["outputs"]) != set(expected):
        raise Mismatch(f"{name}: expected outputs {sorted(expected)}, got {sorted(reply['outputs'])}")
    for output, path in reply["outputs"].items():
        wrong = digest.difference(expected[output], np.load(path), *case.tolerance)
        if wrong:
            raise Mismatch(f"{name}: {output}: {wrong}")


def read(reply):
    return {output: dict(np.load(path)) for output, path in reply["outputs"].items()}


def prepare_reference(runner, side, case, reference, parameters, paths, compiler, variant, folder):
    """Makes a program of bench/reference in the worker `side` and runs it once; the reply has its outputs."""
    worker = runner.side(side)
    outputs = {name: [list(shape), dtype] for name, (shape, dtype) in case.outputs(**parameters).items()}
    worker.ask(
        do="prepare",
        library=str(references.build(reference.file, compiler)),
        program=f"{reference.file}:{reference.name}",
        variant=variant,
        numbers=[float(number) for number in reference.numbers(**parameters)],
        inputs=paths,
        outputs=outputs,
        threads=runner.threads,
    )
    return worker.ask(do="check", steps=case.check_steps, folder=str(folder))


def choose_reference(runner, side, case, reference, parameters, paths, folder, expected=None):
    """({(compiler, variant): seconds}, outputs): every variant compared, then tried, none kept."""
    key = (reference.file, reference.name, case.inputs, repr(parameters))
    if side in runner.chosen and runner.chosen[side][0] == key:
        return runner.chosen[side][1:]
    taken = {}
    for compiler in runner.compilers:
        for variant, what in enumerate(reference.variants):
            reply = prepare_reference(runner, side, case, reference, parameters, paths, compiler, variant, folder)
            expected = expected or read(reply)
            compare(case, f"{what} by {compiler}", expected, reply)
            worker = runner.side(side)
            taken[compiler, variant] = min(worker.ask(do="run", steps=case.steps or 1)["seconds"] for _ in range(3))
            worker.ask(do="drop")
    runner.chosen[side] = (key, taken, expected)
    return taken, expected


def right_result(runner, case, parameters, paths, folder):
    """What the hand-written program makes of the inputs, as `expectation`: not timed, since it runs on the CPU."""
    key = (case.reference.file, case.reference.name, case.inputs, repr(parameters))
    if not runner.modelled or runner.modelled[0] != key:
        compiler = runner.compilers[0]
        reply = prepare_reference(runner, "hand", case, case.reference, parameters, paths, compiler, 0, folder)
        runner.modelled = (key, read(reply))
        runner.side("hand").ask(do="drop")
    return runner.modelled[1]


def prepare_package(runner, package, case, parameters, paths, folder):
    worker = runner.side(package)
    program = case.others.get(package, case.program)
    where = {"arch": runner.arch, "keep": runner.keep, "threads": runner.threads}
    worker.ask(do="prepare", program=program, parameters=parameters, inputs=paths, **where)
    return worker.ask(do="check", steps=case.check_steps, folder=str(folder))


def smoke(runner, case):
    """Compares every side with NumPy's result at a tiny size; {side: None or what is wrong}."""
    parameters = case.parameters | case.smoke
    verdicts = {}
    folder, paths, arrays = store_inputs(runner, case, parameters)
    expected = expectation(runner, case, arrays, parameters)
    made = [("hand", case.reference), ("openvdb", case.vdb)]
    for side, reference in [(side, made) for side, made in made if made and not references.missing(made.file)]:
        for compiler in runner.compilers:
            for variant, what in enumerate(reference.variants):
                name = f"{what} by {compiler}" + (" with OpenVDB" if side == "openvdb" else "")
                prepare = functools.partial(
                    prepare_reference, runner, side, case, reference, parameters, paths, compiler, variant, folder
                )
                verdicts[name] = verdict(case, name, expected, prepare)
                with contextlib.suppress(SideError):
                    runner.side(side).ask(do="drop")
    for package in runner.packages:
        if package not in case.absent:
            verdicts[package] = verdict(
                case, package, expected,
                lambda p=package: prepare_package(runner, p, case, parameters, paths, folder),
            )  # fmt: skip
            with contextlib.suppress(SideError):
                runner.side(package).ask(do="drop")
    return verdicts


def verdict(case, name, expected, make):
    try:
        compare(case, name, expected, make())
    except (Mismatch, SideError) as error:
        return str(error)
    return None


def tried(reference, taken):
    return {f"{reference.variants[variant]}, {compiler}": seconds for (compiler, variant), seconds in taken.items()}


def prepare_vdb(runner, case, parameters, stored, row, expected):
    """Makes the fastest of OpenVDB's variants, each compared with `expected`; the names of sides that may be timed."""
    why = references.missing(case.vdb.file)
    if why:
        row["sides"]["openvdb"] = {"absent": why}
        return []
    folder, paths, _ = stored
    taken, _ = choose_reference(runner, "openvdb", case, case.vdb, parameters, paths, folder, expected)
    row["tried with OpenVDB"] = tried(case.vdb, taken)
    compiler, variant = min(taken, key=taken.get)
    prepare_reference(runner, "openvdb", case, case.vdb, parameters, paths, compiler, variant, folder)
    row["sides"]["openvdb"] = {"is": f"{case.vdb.variants[variant]}, {compiler}"}
    return ["openvdb"]


def prepare_all(runner, case, parameters, stored, row):
    """Makes and compares every side of a row; returns the names of those that may be timed."""
    folder, paths, arrays = stored
    ready, expected = [], None
    if not case.reference:
        expected = expectation(runner, case, arrays, parameters)
    elif runner.arch != "cpu":
        expected = right_result(runner, case, parameters, paths, folder)
    else:
        taken, expected = choose_reference(runner, "hand", case, case.reference, parameters, paths, folder)
        row["tried"] = tried(case.reference, taken)
        best = min(taken, key=taken.get)
        plain = min((key for key in taken if key[1] == 0), key=taken.get)
        for name, (compiler, variant) in {"hand": best, "hand, plain": plain}.items():
            if name == "hand" or best[1] != 0:
                prepare_reference(runner, name, case, case.reference, parameters, paths, compiler, variant, folder)
                row["sides"][name] = {"is": f"{case.reference.variants[variant]}, {compiler}"}
                ready.append(name)
    if case.vdb and runner.arch == "cpu":
        ready += prepare_vdb(runner, case, parameters, stored, row, expected)
    libraries = [name for name in LIBRARIES if name in case.others and PEERS.exists() and runner.arch == "cpu"]
    for package in (*runner.packages, *libraries):
        if package in case.absent:
            row["sides"][package] = {"absent": case.absent[package]}
            continue
        try:
            reply = prepare_package(runner, package, case, parameters, paths, folder)
            compare(case, package, expected, reply)
        except SideError as error:
            row["sides"][package] = {"failed": str(error)}
            if runner.arch != "cpu":  # after an error of the device nothing runs in this process any more
                runner.side(package).stop()
        except Mismatch as error:
            row["sides"][package] = {"mismatch": str(error)}
            runner.side(package).ask(do="drop")
        else:
            row["sides"][package] = {"first_call_s": reply["seconds"], "first_step_s": reply["first"]}
            ready.append(package)
    return ready


LIMITS = {"copy": ("stream", 8, 1), "read": ("reduce", 4, 0), "fma": ("peak", 2, 0)}  # file, bytes or operations, variant


def prepare_limit(runner, kind, count, folder):
    """The side 'limit': the machine's own bandwidth or arithmetic; returns the bytes or operations of its step."""
    file, each, variant = LIMITS[kind]
    paths = {"limit": str(folder / "limit.npy")}
    np.save(paths["limit"], np.zeros(count if kind != "fma" else 1, np.float32))
    library = str(references.build(file, runner.compilers[-1]))
    made = {"library": library, "program": f"{file}:{kind}", "variant": variant, "numbers": [count], "outputs": {}}
    runner.side("limit").ask(do="prepare", inputs=paths, threads=runner.threads, **made)
    return each * count


def machine_limits(runner):
    """{kind: bytes or operations a second, in units of 1e9}: what hand-written programs reach on 512 MiB, or in registers."""
    found = {}
    if runner.arch != "cpu":
        return {"copy": runner.copy / 1e9} if runner.copy else {}
    for kind in LIMITS:
        with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
            amount = prepare_limit(runner, kind, 1 << 27, pathlib.Path(folder))
            found[kind] = amount / min(runner.side("limit").ask(do="run", steps=1)["seconds"] for _ in range(5)) / 1e9
            runner.side("limit").ask(do="drop")
    return found


def doubtful(runner, taken):
    """Whether a peer's time is so little of Metate's that samples are to be taken anew."""
    medians = {name: float(np.median(samples)) for name, samples in taken.items() if name in PACKAGES}
    return "metate" in medians and min(medians.values()) < runner.doubt * medians["metate"]


def measure_sides(runner, case, ready, samples):
    """{side: seconds of a step, of each sample}, taken A/B/A/B."""
    steps = {}
    for name in ready:
        side = runner.side(name)
        steps[name] = case.steps or 1
        while not case.steps:
            seconds = side.ask(do="run", steps=steps[name])["seconds"]
            if seconds >= runner.sample / 2 or steps[name] >= 1 << 20:
                steps[name] = max(1, round(steps[name] * runner.sample / max(seconds, 1e-9)))
                break
            steps[name] *= 4
        if case.steps:
            side.ask(do="run", steps=case.steps)
    taken = {name: [] for name in ready}
    for _ in range(samples):
        for name in ready:
            time.sleep(PAUSE)
            taken[name].append(runner.side(name).ask(do="run", steps=steps[name])["seconds"] / steps[name])
    return taken


def run(runner, case):
    """The row as a dict for JSON: sides with their times or why they have none, rates, shares, ratios."""
    parameters = case.parameters
    row = {"case": case.name, "level": case.level, "parameters": parameters, "unit": case.unit, "sides": {}, "note": case.note}
    row["headline"] = case.headline
    row["work"] = case.work(**parameters)
    stored = store_inputs(runner, case, parameters)
    ready = prepare_all(runner, case, parameters, stored, row)
    limited = isinstance(case.limit, tuple) and ready and runner.arch == "cpu"
    limit_bytes = prepare_limit(runner, *case.limit, stored[0]) if limited else None
    if limit_bytes:
        ready.append("limit")
        row["sides"]["limit"] = {"is": f"{case.limit[0]}, {case.limit[1]:,} values"}
    taken = measure_sides(runner, case, ready, runner.samples)
    row["repeated"] = doubtful(runner, taken)
    if row["repeated"]:
        taken = measure_sides(runner, case, ready, measure.LEAST_SAMPLES)
    for name in ready:
        side = row["sides"][name]
        counted = runner.launches and name != "limit"
        side["launch_s"] = runner.side(name).ask(do="launch")["seconds"] if counted else 0.0
        side["seconds"] = measure.summary(taken[name])
        runner.side(name).ask(do="drop")
    add_figures(case, row, limit_bytes, runner.copy)
    return row


def settle_hand(sides):
    """'hand' is the fastest hand-written program of the samples, not of the few tries before them."""
    plain = sides.get("hand, plain")
    if plain and plain["seconds"]["median"] < sides["hand"]["seconds"]["median"]:
        sides["hand"], sides["hand, plain"] = plain, sides["hand"]
        sides["hand, other"] = sides.pop("hand, plain")


def add_figures(case, row, limit_bytes, copy=None):
    """Adds to each timed side: work a second, kernel only, GB/s and share of the limit, of a GPU's `copy`; ratios to Metate."""
    settle_hand(row["sides"])
    sides = {name: side for name, side in row["sides"].items() if "seconds" in side}
    traffic = case.traffic(**row["parameters"]) if case.traffic else None
    best = copy
    if limit_bytes:
        best = limit_bytes / sides["limit"]["seconds"]["median"]
    elif case.limit == "hand" and "hand" in sides:
        best = traffic / sides["hand"]["seconds"]["median"]
    for name, side in sides.items():
        median = side["seconds"]["median"]
        side["kernel_s"] = max(median - side["launch_s"], 0.0)
        if name == "limit":
            side["G/s"] = best / 1e9
            continue
        side["work_per_s"] = row["work"] / median
        side["ns_per_work"] = 1e9 * median / row["work"]
        if traffic:
            side["G/s"] = traffic / median / 1e9
            side["share_of_limit"] = traffic / median / best if best else None
    if "metate" in sides:
        ours = sides["metate"]["seconds"]["median"]
        row["ratio"] = {name: side["seconds"]["median"] / ours for name, side in sides.items() if name not in ("metate", "limit")}
    row["failed"] = [f"{name}: {side['mismatch']}" for name, side in row["sides"].items() if "mismatch" in side]


def given(case, seconds, *, level="", unit="", work=1, note="", headline=True, **sides):
    """A row of samples that a workload took itself: {side: seconds of each sample}; `sides` adds what else is known of one."""
    row = {"case": case, "level": level, "parameters": {}, "unit": unit, "work": work, "note": note, "sides": {}}
    row["headline"] = headline
    for name, samples in seconds.items():
        row["sides"][name] = {"launch_s": 0.0, "seconds": measure.summary(samples)}
    for name, more in sides.items():
        row["sides"].setdefault(name, {}).update(more)
    plain = Case(case, "", {}, {}, None, None, None, None, unit, None)
    add_figures(plain, row, None)
    return row


def amounts(case, bytes_, *, unit, work, note="", headline=True, **sides):
    """A row of {side: bytes}, of which less is better; `sides` adds what else is known of one."""
    row = {"case": case, "level": "", "parameters": {}, "unit": unit, "work": work, "note": note, "headline": headline}
    row["sides"] = {name: {"bytes": float(count)} for name, count in bytes_.items()} | sides
    row["ratio"] = {name: count / bytes_["metate"] for name, count in bytes_.items() if name != "metate"}
    return row
