"""Random programs under tapes with validation: a short run. scripts/fuzz-kernels --tapes is the long one."""

from differential.tape_programs import run


def test_stale_values_of_random_programs_are_found(rng):
    report = run(int(rng.integers(1 << 24)), 12)
    assert not report.missed
    assert 0 < report.wrong <= report.stale < report.count
