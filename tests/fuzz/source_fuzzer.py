"""What source.cpp calls: the target with its counters, the mutator with its pool, a tally at the end."""

import pathlib
import sys

import source_coverage

CORPUS = pathlib.Path(__file__).parent / "corpus" / "source"


def start(counters):
    """(run, mutate, report) for source.cpp."""
    source_coverage.install(counters)
    import source_mutator
    import source_target

    target = source_target.Target()
    texts = [path.read_text(errors="replace") for path in sorted(CORPUS.iterdir())]
    tally = {True: 0, False: 0, None: 0}

    mutator = source_mutator.Mutator(texts)

    def run(data):
        result = target.run(data)
        tally[result] += 1
        if result:
            mutator.keep(data)
        return result

    def report():
        total = sum(tally.values())
        print(f"{total - tally[None]} of {total} inputs were accepted ({tally[True]} compiled)", file=sys.stderr, flush=True)

    return run, mutator.mutate, report
