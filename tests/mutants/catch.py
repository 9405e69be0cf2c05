"""Runs random kernels through the differential tester until two variants disagree.

The seeds that are known to show the fault come first, in all variants; then others, compiled in one variant
only, optimised or not. Prints one line of JSON: how the fault was found ("by"), after how many kernels,
the seed and the text. Exit code 3: found; 0: nothing in all kernels. A kernel that does not compile is no
find.
"""

import argparse
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from differential.generate import generate
from differential.run import VARIANTS, Session

BATCH = 8
QUICK = ("O0", "O2")  # in turns, against the interpreter and the twin


def is_find(mismatch) -> bool:
    return not mismatch.text.startswith(("CompileError", "CompilationError", "FrontendError"))


class Search:
    """What was run so far."""

    def __init__(self):
        self.kernels = 0

    def run(self, seeds, names=None):
        """The first find in the cases of these seeds; `names`: variants that take turns, else all."""
        with Session() as session:
            for batch, first in enumerate(range(0, len(seeds), BATCH)):
                if names:
                    chosen = (names[batch % len(names)], "interpreter after import")
                    session.variants = tuple(v for v in VARIANTS if v.name in chosen)
                cases = [generate(seed, f"k{seed}") for seed in seeds[first : first + BATCH]]
                self.kernels += len(cases)
                for mismatch in filter(is_find, session.check(cases)):
                    return mismatch
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--known", type=int, nargs="*", default=[], help="seeds to begin with, in all variants")
    parser.add_argument("--seed", type=int, default=0, help="where the search begins")
    parser.add_argument("--count", type=int, default=0, help="kernels in few variants, then an eighth of them in all")
    arguments = parser.parse_args()
    search = Search()
    others = range(arguments.seed, arguments.seed + arguments.count)
    mismatch = (
        search.run(arguments.known, VARIANTS) or search.run(others, QUICK) or search.run(others[: arguments.count // 4], VARIANTS)
    )
    answer = {"by": None, "kernels": search.kernels}
    if mismatch:
        by = " against ".join(mismatch.variants) if mismatch.variants[0] != mismatch.variants[1] else mismatch.variants[0]
        answer |= {"by": by, "seed": mismatch.case.seed, "text": mismatch.text}
    print(json.dumps(answer), flush=True)
    # No tear-down: the process may hold memory that the fault has written over.
    os._exit(3 if mismatch else 0)


if __name__ == "__main__":
    main()
