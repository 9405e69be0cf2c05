"""Random automata on small integers against NumPy: a short run. scripts/fuzz-kernels --automata is the long one."""

import numpy as np

from differential import fuzz_automata
from differential.automata import Automaton


def test_random_automata_agree_with_numpy(rng):
    report = fuzz_automata.run(int(rng.integers(1 << 20)), 30)
    assert not report.wrong
    assert report.sliced > report.count / 2, "most loops are on planes of bits"


def test_the_same_seed_gives_the_same_automaton():
    for seed in range(5):
        a, b = Automaton(seed), Automaton(seed)
        assert a.text() == b.text() and a.bounds == b.bounds
        assert all((values == b.expected()[name]).all() for name, values in a.expected().items())


def stores(automaton):
    return any("] = " in line for line in automaton.text().splitlines())


def test_what_fails_is_made_smaller():
    """Of automata that store something, one statement is left that does."""
    for seed in range(20):
        smaller = fuzz_automata.reduced(Automaton(seed), stores)
        lines = smaller.text().partition("def run")[2].splitlines()[1:]
        assert stores(smaller) and len(lines) <= 4, smaller.text()


def test_a_fault_is_found(monkeypatch):
    """NumPy's sum is another one: some automaton differs."""
    from differential import automata

    monkeypatch.setitem(automata._BINARY, "+", np.subtract)
    assert any(Automaton(seed).run(fuzz_automata.contexts_of(0)[:1])[0] for seed in range(20))
