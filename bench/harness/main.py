"""The command line of bench/run: which workloads, which sides, what for."""

import argparse
import concurrent.futures
import contextlib
import importlib
import os
import pathlib
import sys
import time

from . import gpu, junit, machine, measure, references, report, rows, side

DEFINITIONS = pathlib.Path(__file__).resolve().parents[1] / "definitions"


def workloads():
    """{id: module} in the order of their numbers."""
    names = sorted((path.stem for path in DEFINITIONS.glob("*.py") if path.stem != "__init__"), key=order)
    return {name.upper() if name[1:].isdigit() else name: name for name in names}


def order(name):
    return (0, int(name[1:]), "") if name[1:].isdigit() else (1, 0, name)


def parse(arguments, text):
    parser = argparse.ArgumentParser("bench/run", description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", metavar="ID", help="workloads, as --list names them")
    parser.add_argument("--list", action="store_true", help="print the workloads and stop")
    parser.add_argument("--smoke", action="store_true", help="compare results at tiny sizes with NumPy's, time nothing")
    parser.add_argument("--quick", action="store_true", help="two samples, nothing saved")
    parser.add_argument("--readme", action="store_true", help="write the saved results into README.md and stop")
    parser.add_argument("--only", metavar="TEXT", default="", help="rows whose name contains this")
    parser.add_argument("--sides", metavar="A,B", default=",".join(side.PACKAGES), help="of metate,taichi,quadrants; default all")
    parser.add_argument("--details", action="store_true", help="min, p90, GB/s and work/s of every side")
    gpu.add_options(parser)
    parser.add_argument("--junit", metavar="FILE", help="with --smoke: a JUnit file of the comparisons")
    options = parser.parse_args(arguments)
    known = workloads()
    for name in options.ids:
        if name not in known:
            parser.error(f"no workload {name!r}; there are {', '.join(known)}")
    for name in options.sides.split(","):
        if name not in side.PACKAGES:
            parser.error(f"no side {name!r}; there are {', '.join(side.PACKAGES)}")
    options.ids = options.ids or list(known)
    return options


def packages(options):
    """The packages that take part; says so when a peer is not installed."""
    names = tuple(options.sides.split(","))
    if options.smoke and options.sides == ",".join(side.PACKAGES):
        return ("metate",)
    if not side.PEERS.exists() and set(names) - {"metate"}:
        print("without Taichi and Quadrants: bench/setup-peers has not been run", file=sys.stderr)
        names = tuple(name for name in names if name == "metate")
    return names


@contextlib.contextmanager
def running(options):
    """A Runner whose workers end with the block; what they print goes to a log in the build folder."""
    references.FOLDER.mkdir(parents=True, exist_ok=True)
    compilers = (references.UNTIMED,) if options.smoke else tuple(references.COMPILERS)
    compilers = compilers if options.arch == "cpu" else compilers[:1]  # of one program, for its result
    with (references.FOLDER / "workers.log").open("w") as log:
        samples = 2 if options.quick else measure.LEAST_SAMPLES
        runner = rows.Runner(len(os.sched_getaffinity(0)), packages(options), compilers, samples, log)
        runner.arch, runner.keep, runner.copy = options.arch, options.keep, gpu.copy_rate(options.arch)
        try:
            yield runner
        finally:
            runner.stop()


def cases_of(module, options):
    return [case for case in module.cases() if options.only in case.name] if hasattr(module, "cases") else []


def build_references(runner, chosen):
    """Builds what the chosen cases need, as many at once as there are CPUs."""
    made = [made for case in chosen for made in (case.reference, case.vdb) if made and not references.missing(made.file)]
    files = sorted({reference.file for reference in made} | {"stream", "reduce", "peak"})
    with concurrent.futures.ThreadPoolExecutor(runner.threads) as pool:
        list(pool.map(lambda pair: references.build(*pair), [(file, c) for file in files for c in runner.compilers]))


def run_smoke(options):
    """Exit code: 1 when a comparison failed. Prints one line a case, and the JUnit file if asked."""
    known, results = workloads(), []
    with running(options) as runner:
        modules = {name: importlib.import_module(f"definitions.{known[name]}") for name in options.ids}
        build_references(runner, [case for module in modules.values() for case in cases_of(module, options)])
        for name, module in modules.items():
            for case in cases_of(module, options):
                verdicts = rows.smoke(runner, case)
                results += [(name, f"{case.name} {case.level}".strip(), who, wrong) for who, wrong in verdicts.items()]
                bad = [f"{who}: {wrong}" for who, wrong in verdicts.items() if wrong]
                print(
                    f"{name} {case.name} {case.level}: {'ok' if not bad else ''}", *bad, sep="\n    " if bad else "", flush=True
                )
            for case, who, wrong in module.smoke() if hasattr(module, "smoke") else ():
                results.append((name, case, who, wrong))
                print(f"{name} {case}: {wrong or 'ok'}", flush=True)
    if options.junit:
        junit.write(options.junit, results)
    failed = sum(wrong is not None for *_, wrong in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


def run_timed(options):
    known, failed = workloads(), []
    about = machine.describe(options.arch)
    with running(options) as runner:
        modules = {name: importlib.import_module(f"definitions.{known[name]}") for name in options.ids}
        build_references(runner, [case for module in modules.values() for case in cases_of(module, options)])
        about["limits"] = rows.machine_limits(runner)
        print(report.machine_text(about), flush=True)
        for name, module in modules.items():
            start = time.monotonic()
            print(f"{name}: {module.TITLE}", flush=True)
            report.print_header()
            done, cases = [], cases_of(module, options)
            for case in cases:
                done.append(rows.run(runner, case))
                show(done[-1], options)
            if hasattr(module, "measured") and not (options.only and cases) and options.arch == "cpu":
                for row in module.measured(runner):
                    done.append(row)
                    show(row, options)
            failed += [f"{name} {row['case']}: {text}" for row in done for text in row.get("failed", ())]
            report.print_notes(done)
            print(f"  ({time.monotonic() - start:.0f} s)", flush=True)
            if not options.quick and not options.only:
                report.save(name, module.TITLE, about, done, options.arch)
                report.write_markdown(options.arch)
    for text in failed:
        print(f"FAILED {text}", file=sys.stderr)
    return 1 if failed else 0


def show(row, options):
    report.print_row(row)
    if options.details:
        report.print_details(row)


def main(arguments, text):
    options = parse(arguments, text)
    if options.list:
        for name, stem in workloads().items():
            print(f"{name:<8} {importlib.import_module(f'definitions.{stem}').TITLE}")
        return 0
    if options.readme:
        report.write_readme()
        return 0
    return run_smoke(options) if options.smoke else run_timed(options)
