"""Records kernels' IR after import and hashes what the compiler makes of it: see scripts/same-bytes.

A record is a file a kernel, `HASH.mlir`, with the options it was compiled with on its first line. Hashes are of the dumps
without places, which moves of Python code in the programs would change, and of a module's bytes for one named CPU, so that they
are the same on every machine. Must not know any kernel.
"""

import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPU = "x86-64-v3"

# Put into the programs' processes as `sitecustomize`: keeps what the front end hands to the compiler.
HOOK = """
import hashlib, json, os, pathlib, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != "metate.kernel":
            return None
        sys.meta_path.remove(self)
        import importlib.util
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module
        def exec_module(module):
            load(module)
            lower = module.Kernel._lower
            def keep(self, compiler, source, options, counts, told=None):
                text = source.text(True)
                kept = {name: getattr(options, name) for name in KEPT if hasattr(options, name)}
                head = json.dumps(kept | {"counts": bool(counts)})
                name = hashlib.sha256((head + text).encode()).hexdigest()[:20]
                file = pathlib.Path(os.environ["METATE_RECORD"]) / f"{name}.mlir"
                file.write_text("// " + head + "\\n" + text)
                return lower(self, compiler, source, options, counts, told)
            module.Kernel._lower = keep
        spec.loader.exec_module = exec_module
        return spec

KEPT = ("opt_level", "debug", "deterministic", "contract", "chunk_ns")
sys.meta_path.insert(0, Finder())
"""

PROGRAMS = (
    ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/examples", "tests/golden"),
    ("bench/run", "--smoke"),
)


def record(folder):
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as hooks:
        pathlib.Path(hooks, "sitecustomize.py").write_text(HOOK)
        environment = dict(os.environ, METATE_RECORD=str(folder.resolve()), METATE_TEST_SEED="1")
        environment["PYTHONPATH"] = os.pathsep.join([hooks, environment.get("PYTHONPATH", "")])
        for program in PROGRAMS:
            print(*program, flush=True)
            subprocess.run([sys.executable, *program], cwd=ROOT, env=environment, check=True)
    print(f"{len(list(folder.glob('*.mlir')))} kernels in {folder}")


def hash_text(data):
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()[:16]


def without_places(text):
    """Nor the comment on what a dump is."""
    return re.sub(r"^// after .*\n|^#loc.*\n|\s*loc\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "", text, flags=re.MULTILINE)


def lines_of(file):
    """`kernel stage hash` of each stage of one record."""
    from metate_native import _compiler

    head, text = file.read_text().split("\n", 1)
    given = json.loads(head.removeprefix("// "))
    choices = _compiler.Choices()
    choices.targets = [CPU]
    choices.reserve = "only" if given.pop("counts") else ""
    for name, value in given.items():
        setattr(choices, name, value)
    lines = []
    names = _compiler.stage_names()
    try:
        for before, stage in itertools.pairwise(names[:-2]):
            text = _compiler.run_stages(text, before, stage, choices)
            lines.append(f"{file.stem} {stage} {hash_text(without_places(text))}")
        packed = _compiler.run_stages(file.read_text().split("\n", 1)[1], names[0], names[-1], choices)
        lines.append(f"{file.stem} {names[-1]} {hash_text(packed)}")
    except _compiler.CompileError as error:
        lines.append(f"{file.stem} error {hash_text(re.sub(r'loc.*', '', str(error)))}")
    return lines


def hash_all(folder, output):
    files = sorted(folder.glob("*.mlir"))
    if not files:
        sys.exit(f"same-bytes: no records in {folder}")
    with concurrent.futures.ProcessPoolExecutor(2) as workers:
        output.write_text("".join("\n".join(lines) + "\n" for lines in workers.map(lines_of, files, chunksize=8)))
    print(f"{len(files)} kernels hashed into {output}")


def compare(first, second):
    """Folders by their records; files of hashes line by line, the first stage that differs of each kernel."""
    if first.is_dir():
        a, b = ({file.name for file in folder.glob("*.mlir")} for folder in (first, second))
        different = [f"only in {first}: {name}" for name in sorted(a - b)] + [
            f"only in {second}: {name}" for name in sorted(b - a)
        ]
        count = len(a | b)
    else:
        a, b = (dict(line.rsplit(" ", 1) for line in file.read_text().splitlines()) for file in (first, second))
        seen, different = set(), []
        for key in [*a, *(key for key in b if key not in a)]:
            kernel = key.split()[0]
            if a.get(key) != b.get(key) and kernel not in seen:
                seen.add(kernel)
                different.append(key)
        count = len({key.split()[0] for key in a | b})
    print(*different, f"{count} kernels, {len(different)} differ", sep="\n")
    return 1 if different else 0


def main():
    verb, *paths = sys.argv[1:] or [""]
    paths = [pathlib.Path(path) for path in paths]
    if verb == "record" and len(paths) == 1:
        return record(paths[0])
    if verb in ("hash", "compare") and len(paths) == 2:
        return {"hash": hash_all, "compare": compare}[verb](*paths)
    return subprocess.run(["sed", "-n", "2,9s/^# *//p", str(ROOT / "scripts" / "same-bytes")]).returncode or 2


if __name__ == "__main__":
    sys.exit(main())
