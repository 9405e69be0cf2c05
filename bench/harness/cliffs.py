"""The command line of bench/cliffs: every spelling of the chosen workloads, compared, timed beside the peers, and told.

Workers, sides and turns are those of bench/run (harness/rows.py); only what a run is made of and what it says differ.
"""

import argparse
import contextlib
import importlib
import pathlib
import sys
import time

from . import evenness, gpu, junit, machine, rows, side
from .main import packages, running

PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "programs" / "cliffs"
SAMPLE = 0.008  # seconds a sample takes at least
SAMPLES = 5  # of a spelling that is not in doubt
COMPILES = 3
NO_KERNEL = 0.01  # seconds of a first step: below, as of `copy_from`, nothing was compiled to compare others with


def workloads():
    """{name: Workload}. The files say `import ti`: Metate in this process, which calls none of their programs."""
    import metate

    sys.modules["ti"] = metate
    names = sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem != "__init__")
    return {name: importlib.import_module(f"programs.cliffs.{name}").WORK for name in names}


def parse(arguments, text, known):
    parser = argparse.ArgumentParser("bench/cliffs", description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="WORKLOAD", help="as --list names them; default all")
    parser.add_argument("--list", action="store_true", help="print the workloads and stop")
    parser.add_argument("--smoke", action="store_true", help="compare results at tiny sizes with NumPy's, time nothing")
    parser.add_argument("--compile", action="store_true", help="the first step's time of each spelling, at tiny sizes")
    parser.add_argument("--quick", action="store_true", help="two samples, nothing saved")
    parser.add_argument("--only", metavar="TEXT", default="", help="spellings whose title contains this")
    parser.add_argument("--first", metavar="N", type=int, help="the first N spellings of each workload")
    parser.add_argument("--sides", metavar="A,B", default=",".join(side.PACKAGES), help="of metate,taichi,quadrants; default all")
    gpu.add_options(parser)
    parser.add_argument("--junit", metavar="FILE", help="with --smoke: a JUnit file of the comparisons")
    parser.add_argument("--note", metavar="TEXT", default="", help="said below the saved page, such as what else was running")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in known:
            parser.error(f"no workload {name!r}; there are {', '.join(known)}")
    for name in options.sides.split(","):
        if name not in side.PACKAGES:
            parser.error(f"no side {name!r}; there are {', '.join(side.PACKAGES)}")
    options.names = options.names or list(known)
    return options


def cases(known, options):
    """(workload's name, [its cases]) of what was chosen. On a GPU no work that one thread does alone: it takes seconds a step."""
    for name in options.names:
        work = known[name]
        here = [spelling for spelling in work.spellings if options.arch == "cpu" or "one thread" not in spelling.family]
        here = [spelling for spelling in here if options.only in spelling.title][: options.first]
        chosen = [work.case(name, spelling, options.arch) for spelling in here]
        if chosen:
            yield name, chosen


def label(case):
    return f"{case.name} [{case.level}]" if case.level else case.name


def run_smoke(known, options):
    """Exit code: 1 when a result differs from the model's."""
    results = []
    with running(options) as runner:
        for name, chosen in cases(known, options):
            for case in chosen:
                for who, wrong in rows.smoke(runner, case).items():
                    results.append((name, label(case), who, wrong))
                    if wrong:
                        print(f"{name}, {label(case)}: {who}: {wrong}", flush=True)
    if options.junit:
        junit.write(options.junit, results, "cliffs")
    failed = sum(wrong is not None for *_, wrong in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


def first_steps(runner, package, case):
    """Seconds of the first step at tiny sizes: the least of some new programs. Raises SideError."""
    parameters = case.parameters | case.smoke
    folder, paths, _ = rows.store_inputs(runner, case, parameters)
    taken = []
    for _ in range(COMPILES):
        taken.append(rows.prepare_package(runner, package, case, parameters, paths, folder)["first"])
        runner.side(package).ask(do="drop")
    return min(taken)


def compile_times(runner, chosen):
    """{package: {label of a case: seconds of its first step}}; a program that a package refuses has none."""
    taken = {package: {} for package in runner.packages}
    for case in chosen:
        for package in runner.packages:
            with contextlib.suppress(side.SideError):
                if package not in case.absent:
                    taken[package][label(case)] = first_steps(runner, package, case)
    return taken


def compile_ratio(ours, seconds, family):
    """`seconds` over the least of the same work; `ours`: {label: seconds}, `family`: the labels of that work."""
    same = [ours[name] for name in family if name in ours]
    return seconds / min([known for known in same if known >= NO_KERNEL] or same)


def run_compile(known, options):
    """Prints each spelling's compile time and its ratio to the least of the same work."""
    over, count = 0, 0
    with running(options) as runner:
        for name, chosen in cases(known, options):
            print(f"{name}: {known[name].title}", flush=True)
            taken = compile_times(runner, chosen)
            ours = taken.get("metate", {})
            for case in [case for case in chosen if label(case) in ours]:
                ratio = compile_ratio(ours, ours[label(case)], [label(other) for other in chosen if other.level == case.level])
                peers = [f"{who} {1e3 * times[label(case)]:.0f} ms" for who, times in taken.items() if label(case) in times]
                print(f"  {label(case):<62} {ratio:6.2f}  {', '.join(peers)}", flush=True)
                over, count = over + (ratio > 2), count + 1
    print(f"{over} of {count} spellings take more than twice the compile time of the best one of the same work")
    return 0


def timed_row(runner, case):
    """The figures of a spelling; a side that dies or hangs while it is timed makes it one without times."""
    try:
        row = rows.run(runner, case)
    except side.SideError as error:
        row = {"case": case.name, "level": case.level, "sides": {"metate": {"failed": str(error)}}}
    return evenness.figures(row)


def run_timed(known, options):
    """Exit code: 1 when a side gave another result, or Metate none."""
    done, start = [], time.monotonic()
    whole = not (options.quick or options.only or options.first) and options.names == list(known)
    saved = whole and (packages(options) == side.PACKAGES or options.arch != "cpu")
    with running(options) as runner:
        runner.sample, runner.launches, runner.doubt = SAMPLE, False, evenness.LEAST_PEER
        runner.samples = min(runner.samples, SAMPLES)
        limits = rows.machine_limits(runner) if saved else None
        for name, chosen in cases(known, options):
            work = known[name]
            made = {"name": name, "title": work.title, "unit": work.unit, "parameters": work.sizes(options.arch)}
            made["spellings"] = [timed_row(runner, case) for case in chosen]
            evenness.add_own(made["spellings"])
            evenness.print_workload(made)
            done.append(made)
    print(evenness.summary_text(evenness.summary(done)), f"({time.monotonic() - start:.0f} s)")
    if saved:
        evenness.save(machine.describe(options.arch) | {"limits": limits}, done, options.note, evenness.folder(options.arch))
    bad = [
        f"{made['name']}, {found['spelling']}: {who}: {why}"
        for made in done
        for found in made["spellings"]
        for who, why in found["without"].items()
        if who == "metate" or why.startswith("another result")
    ]
    for text in bad:
        print(f"FAILED {text}", file=sys.stderr)
    return 1 if bad else 0


def main(arguments, text):
    known = workloads()
    options = parse(arguments, text, known)
    if options.list:
        for name, work in known.items():
            print(f"{name:<14} {len(work.spellings):3} spellings: {work.title}")
        return 0
    if options.smoke:
        return run_smoke(known, options)
    return run_compile(known, options) if options.compile else run_timed(known, options)
