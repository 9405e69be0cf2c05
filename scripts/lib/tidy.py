"""clang-tidy over the C++ files that were changed since the last landed state, and prints which.

Their flags come from build/compile_commands.json, so build first. Usage: tidy.py [--since REVISION] [FILE...]
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from changes import ROOT, changed, landed
from compile_commands import entries

BUILD = ROOT / "build"
FOLDERS = ("runtime/", "compiler/", "bindings/", "tools/")


def check(file: str, folder: str) -> tuple[str, int, str]:
    command = ["clang-tidy-22", "-p", folder, "--quiet", "--warnings-as-errors=*", str(ROOT / file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return file, done.returncode, done.stdout + ("" if done.returncode == 0 else done.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--since", help="a revision")
    options = parser.parse_args()
    known = entries(BUILD)
    files = options.files or [path for path in changed(options.since) if path.startswith(FOLDERS) and path.endswith(".cpp")]
    files = [path for path in files if str(ROOT / path) in known]
    print(f"{len(files)} changed files that are compiled, since {options.since or landed() or 'no commit'}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        named = [known[str(ROOT / path)] for path in files]
        pathlib.Path(folder, "compile_commands.json").write_text(json.dumps(named))
        for file, code, output in pool.map(lambda path: check(path, folder), files):
            print(f"{'ok    ' if code == 0 else 'FAILED'} {file}", flush=True)
            if code:
                failed += 1
                print(output)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
