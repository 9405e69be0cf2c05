"""Every deliberate fault must be caught: by its probe, and by the differential tester on random kernels.

For each row of Mutants.def (but those that only the thread sanitizer sees) one process with the fault runs
its probe and one runs kernels until two variants disagree: first the one in cases/, which a search found before,
then random ones; a process without a fault must find nothing where those cases showed theirs. Faults that are
marked Probe have a probe alone, unless there is a case. Needs the twin of the compiler (`scripts/build dev mutants`).
Prints a table; exit code 1 unless all are caught.
"""

import argparse
import concurrent.futures
import importlib
import json
import multiprocessing
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "mutants"
CASES = HERE / "cases"  # the kernel that showed each fault, reduced; --record writes those of the faults it finds
SHOWN_BY = HERE / "shown_by.json"  # the variants that differed: {fault: [name, name]}; --record writes them too
CATCH_SECONDS = 1200


UNREAD = 255  # what multiprocessing gives where a child's exit code was lost on the way


def _run(script, words, fault, output, told):
    """In the child: a script of this folder, with a fault."""
    os.environ["METATE_MUTANT"] = fault  # read when the compiler first asks
    os.dup2(os.open(output, os.O_WRONLY), 1)
    os.dup2(1, 2)
    code = importlib.import_module(script).main(words)
    pathlib.Path(told).write_text(str(code or 0))
    sys.exit(code)


class Children:
    """Processes with a fault each: copies of one that has imported everything."""

    def __init__(self):
        os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT / "python", BUILD / "python", ROOT, HERE)))
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # no thread is copied
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["catch", "run_probe"])

    def run(self, script, *words, fault="", seconds=CATCH_SECONDS):
        """(exit code, output); the code of one that did not end in time is None."""
        with tempfile.NamedTemporaryFile() as output, tempfile.NamedTemporaryFile() as told:
            given = script, list(map(str, words)), fault, output.name, told.name
            process = self.context.Process(target=_run, args=given)
            process.start()
            process.join(seconds)
            code = process.exitcode
            if code is None:
                process.kill()
                process.join()
            elif code == UNREAD:
                code = self.waited_for(told.name)
            return code, output.read().decode(errors="replace")

    @staticmethod
    def waited_for(told, seconds=60):
        """What the child wrote itself, which may still be running."""
        end = time.monotonic() + seconds
        while not (text := pathlib.Path(told).read_text()) and time.monotonic() < end:
            time.sleep(0.1)
        return int(text or UNREAD)


def faults():
    """(name, file, seen by, what is wrong), as the extension itself lists them."""
    text = "import json; from metate_native import _compiler; print(json.dumps(_compiler.mutants()))"
    environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"))
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"tests/mutants: build/mutants is missing or stale; run scripts/build dev mutants\n{done.stderr}")
    return [tuple(row) for row in json.loads(done.stdout)]


def probe(name, children):
    """None when the probe is right without the fault and wrong with it, else what went wrong."""
    code, output = children.run("run_probe", *([name] if name else []), fault=name, seconds=120)
    if name == "":
        return None if code == 0 else f"without a fault: exit code {code}\n{output}"
    return None if code == 3 else f"the probe does not see it (exit code {code})\n{output}"


def catch(name, arguments, children):
    """(how it was caught or None, kernels, seconds, the tester's answer)."""
    start = time.monotonic()
    known = [] if arguments.fresh and name else sorted(CASES.glob(f"{name or '*'}.json"))
    # Without a fault nothing is looked for, but where a case showed its fault.
    more = ["--everywhere", "--seed", arguments.seed, "--count", arguments.count] if name else []
    save = ["--save", CASES / f"{name}.json"] if name and arguments.record else []
    code, output = children.run("catch", "--known", *known, *more, *save, fault=name)
    if save and not keep(save[1], children):
        return None, 0, time.monotonic() - start, {}
    seconds = time.monotonic() - start
    if code is None:
        return "does not end", 0, seconds, {}
    if code in (0, 3):
        answer = json.loads(output.strip().splitlines()[-1])
        return answer["by"], answer["kernels"], seconds, answer
    if code < 0:
        return f"ends with signal {-code}", 0, seconds, {}
    sys.exit(f"tests/mutants: catch.py failed with {name or 'no fault'} (exit code {code})\n{output}")


def keep(path, children):
    """The reduced case, unless it shows something without the fault; then the whole one. False if that does so
    too: a fault of the compiler itself was in the way."""
    whole = path.with_suffix(".whole")
    found = [file for file in (path, whole) if file.exists()]
    right = next((file for file in found if children.run("catch", "--known", file, "--everywhere")[0] == 0), None)
    if right:
        right.replace(path)
    elif found:
        print(f"{path.stem}: what was found shows without the fault as well: nothing is recorded", flush=True)
        path.unlink(missing_ok=True)
    whole.unlink(missing_ok=True)
    return right is not None or not found


def add_case(suite, name, problem):
    case = ElementTree.SubElement(suite, "testcase", classname="mutants", name=name)
    if problem:
        ElementTree.SubElement(case, "failure", message=problem.splitlines()[0]).text = problem


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="faults; all without one")
    parser.add_argument("--count", type=int, default=2000, help="random kernels at most for each fault")
    parser.add_argument("--seed", type=int, default=None, help="where they begin; default: anywhere")
    parser.add_argument("--fresh", action="store_true", help="without the cases that are known")
    parser.add_argument("--record", action="store_true", help="write what random kernels find to cases/, reduced")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--probes", action="store_true", help="only the probes")
    parser.add_argument("--junit", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(1, 2**31)
        print(f"--seed {arguments.seed}")
    rows = [row for row in faults() if row[2] != "Race" and (not arguments.names or row[0] in arguments.names)]
    suite, children = ElementTree.Element("testsuite", name="mutants"), Children()
    start, missed, shown_by = time.monotonic(), [], {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        names = ["", *(row[0] for row in rows)]
        for name, problem in zip(names, pool.map(lambda name: probe(name, children), names)):
            add_case(suite, f"probe {name or 'without a fault'}", problem)
            if problem:
                missed.append(name)
                print(f"probe {name}: {problem}")
        print(f"{len(names)} probes, {time.monotonic() - start:.1f} s", flush=True)
        by_kernels = [
            "",
            *(row[0] for row in rows if row[2] != "Probe" or arguments.record or (CASES / f"{row[0]}.json").exists()),
        ]
        found = {} if arguments.probes else {pool.submit(catch, name, arguments, children): name for name in by_kernels}
        for future in concurrent.futures.as_completed(found):
            name, (how, kernels, seconds, answer) = found[future], future.result()
            problem = report(name, how, kernels, seconds, answer)
            add_case(suite, f"catch {name or 'nothing without a fault'}", problem)
            if problem:
                missed.append(name)
            elif answer.get("variants"):
                shown_by[name] = answer["variants"]
    if arguments.record:
        SHOWN_BY.write_text(json.dumps(json.loads(SHOWN_BY.read_text()) | shown_by, indent=2, sort_keys=True) + "\n")
    if arguments.junit:
        ElementTree.ElementTree(suite).write(arguments.junit)
    caught = len(rows) - len({name for name in missed if name})
    how = "seen by their probes" if arguments.probes else "caught"
    print(f"{caught} of {len(rows)} faults {how}, {time.monotonic() - start:.1f} s")
    return 1 if missed else 0


def report(name, how, kernels, seconds, answer):
    """Prints one row of the table; returns the problem, if it is one."""
    wanted = bool(name)
    print(f"{name or '(no fault)':<32}{how or 'nothing found':<40}{kernels:6d} kernels {seconds:6.1f} s", flush=True)
    if wanted == bool(how):
        return None
    return "not caught" if wanted else f"reported without a fault: {how}\n{answer.get('text')} (seed {answer.get('seed')})"


if __name__ == "__main__":
    sys.exit(main())
