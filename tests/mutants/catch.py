"""Runs kernels through the differential tester until two variants disagree.

First the cases that are known to show the fault, in the variants that showed it (shown_by.json) and, with --everywhere,
in all (of a kernel's gradient, in all that differential/gradients.py or gradient_fields.py compares; of a program under a tape,
in what differential/tape_programs.py looks at; of an automaton against NumPy); then some random automata, and random kernels,
compiled in one variant only, optimised or not. Prints one line of JSON: how the fault was found ("by"), after how many kernels,
the seed and the text. Exit code 3: found; 0: nothing in all kernels. A kernel that does not compile is no find.
"""

import argparse
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from differential import fuzz_automata, gradient_fields, gradients, tape_programs
from differential.automata import Automaton
from differential.case import Case
from differential.generate import generate
from differential.reduce import Reducer, same_failure
from differential.run import VARIANTS, Session

HERE = pathlib.Path(__file__).resolve().parent
SHOWN_BY = HERE / "shown_by.json"  # the variants that differed: {fault: [name, name]}; run.py --record writes it
BATCH = 8
IN_TURNS = ("O0", "O2")  # each against the interpreter and the twin
REDUCE_SECONDS = 15
AUTOMATA = 24


def is_find(mismatch) -> bool:
    """Two that differ, or one that could not run; what does not compile is no find."""
    return mismatch.variants[0] != "front end" and not mismatch.text.startswith("CompileError")


def session_of(names):
    return Session(tuple(v for v in VARIANTS if v.name in names))


class AutomatonMismatch:
    """As run.Mismatch, of an automaton."""

    variants = ("NumPy", "an automaton")

    def __init__(self, number, text):
        self.number, self.text = number, text


class Search:
    """What was run so far."""

    def __init__(self):
        self.kernels = 0

    def check(self, session, cases):
        self.kernels += len(cases)
        return next(filter(is_find, session.check(cases)), None)

    def known(self, paths, everywhere):
        """One by one: cases of several finds may have one name."""
        shown_by = json.loads(SHOWN_BY.read_text())
        for path in paths:
            saved = json.loads(path.read_text())
            if "automaton" in saved:
                if mismatch := self.automata([saved["automaton"]]):
                    return mismatch
                continue
            if "tape" in saved:
                self.kernels += 1
                if wrong := tape_programs.wrong_in(saved["tape"]):
                    return gradients.Mismatch(path.stem, wrong)
                continue
            if "gradient" in saved or "program" in saved:
                self.kernels += 1
                if "gradient" in saved:
                    wrong = gradients.wrong_in(saved["gradient"])
                else:
                    wrong = gradient_fields.wrong_in(saved["program"], saved["sparse"])
                if wrong:
                    return gradients.Mismatch(path.stem, wrong)
                continue
            names = shown_by.get(path.stem)
            for session in ([session_of(names)] if names else []) + ([Session()] if everywhere or not names else []):
                with session:
                    mismatch = self.check(session, [Case.load(path)])
                if mismatch:
                    return mismatch
        return None

    def automata(self, numbers):
        """Against NumPy; what does not compile is no find."""
        for number in numbers:
            self.kernels += 1
            wrong, _ = fuzz_automata.checked(Automaton(number), fuzz_automata.contexts_of(number))
            if wrong and not wrong.startswith("CompileError"):
                return AutomatonMismatch(number, wrong)
        return None

    def random(self, seeds, turns):
        """`turns`: the variants of each batch, in turns."""
        for batch, first in enumerate(range(0, len(seeds), BATCH)):
            with session_of(turns[batch % len(turns)]) as session:
                mismatch = self.check(session, [generate(seed, f"k{seed}") for seed in seeds[first : first + BATCH]])
            if mismatch:
                return mismatch
        return None


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--known", type=pathlib.Path, nargs="*", default=[], help="files of cases to begin with")
    parser.add_argument("--everywhere", action="store_true", help="those that agree in the variants of shown_by.json, in all")
    parser.add_argument("--seed", type=int, default=0, help="where the search begins")
    parser.add_argument("--count", type=int, default=0, help="kernels in one variant, then an eighth of them in all")
    parser.add_argument("--save", type=pathlib.Path, help="where a find goes, reduced")
    arguments = parser.parse_args(words)
    search = Search()
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    mismatch = (
        search.known(arguments.known, arguments.everywhere)
        or search.automata(seeds[:AUTOMATA])
        or search.random(seeds, [(name, "interpreter after import") for name in IN_TURNS])
        or search.random(seeds[: arguments.count // 8], [tuple(v.name for v in VARIANTS)])
    )
    answer = {"by": None, "kernels": search.kernels}
    if isinstance(mismatch, AutomatonMismatch):
        answer |= {"by": " against ".join(mismatch.variants), "seed": mismatch.number, "text": mismatch.text}
        if arguments.save:
            arguments.save.write_text(json.dumps({"automaton": mismatch.number}) + "\n")
    elif mismatch:
        by = " against ".join(mismatch.variants) if mismatch.variants[0] != mismatch.variants[1] else mismatch.variants[0]
        answer |= {"by": by, "variants": mismatch.variants, "seed": mismatch.case.seed, "text": mismatch.text}
        if arguments.save and mismatch.case.program:
            mismatch.case.save(arguments.save.with_suffix(".whole"))
            Reducer(same_failure(mismatch, session_of), REDUCE_SECONDS).reduce(mismatch.case).save(arguments.save)
    print(json.dumps(answer), flush=True)
    # No tear-down: the process may hold memory that the fault has written over.
    os._exit(3 if mismatch else 0)


if __name__ == "__main__":
    main()
