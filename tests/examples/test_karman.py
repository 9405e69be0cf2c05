"""The vortex street: vortices leave the cylinder as often as Strouhal's number says."""

import numpy as np


def test_strouhals_number(filmed):
    program = filmed("karman", 150)
    at = int(program["nx"] / 5 + 2 * program["diameter"]), program["ny"] // 2
    every, sideways = 10, []
    for _ in range(600):
        program["advance"](every)
        sideways.append(program["velocity"][at][1])
    late = np.array(sideways[300:])
    assert late.std() > 0.1 * program["inflow"], "no vortices"
    turns = np.flatnonzero((late[:-1] < 0) & (late[1:] >= 0))
    period = every * np.diff(turns).mean()
    strouhal = program["diameter"] / (program["inflow"] * period)
    assert 0.16 < strouhal < 0.24, strouhal  # 0.17 to 0.18 of a free cylinder; walls make it more
    total = program["f"].to_numpy().sum(-1)
    assert 0.9 < total[program["solid"].to_numpy() == 0].mean() < 1.1
