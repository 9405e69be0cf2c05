"""The Galton board: each ball is in one list, the one where its turns lead; emptied lists leave nothing behind."""

import numpy as np


def test_every_ball_is_in_the_bin_where_its_turns_lead(load):
    program = load("sparse/dynamic", "--size", 9)
    program["drop"](0, 700)
    bins, balls = program["bins"], program["balls"]
    lengths = [bins.length(i) for i in range(10)]
    seen = []
    for i, length in enumerate(lengths):
        for k in range(length):
            ball = balls[i, k]
            assert int(ball.turns).bit_count() == i
            seen.append(int(ball.number))
    assert sorted(seen) == list(range(700))
    mean = np.average(range(10), weights=lengths)
    assert abs(mean - 4.5) < 5 * 1.5 / np.sqrt(700)  # five standard deviations


def test_full_lists_are_emptied_and_their_memory_is_had_again(load):
    program = load("sparse/dynamic", "--size", 3)
    bins, highest = program["bins"], program["highest"]
    last = 0
    for round in range(40):
        program["drop"](200 * round, 200)
        before = [bins.length(i) for i in range(4)]
        program["empty"]()
        lengths, emptied = [bins.length(i) for i in range(4)], program["emptied"].to_numpy()
        assert lengths == [0 if n >= highest else n for n in before]
        assert sum(lengths) + emptied.sum() == 200 * (round + 1)
        last = max(last, emptied.min())
    assert last >= highest, "a list was never emptied"
    bins.deactivate(0)
    assert bins.length(0) == 0 and program["balls"][0, 0].number == 0
