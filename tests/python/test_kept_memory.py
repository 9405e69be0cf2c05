"""Large memory of a launch is kept for the next one, and is the program's own: results do not depend on what it held."""

import resource
import threading

import numpy as np

import metate as mt

PARTICLES, SHAPE = 1 << 19, (256, 128, 128)


def scatter_in(context):
    """(a call, its result): particles that are put in order in a pool of 38 MB."""
    with context:
        x, w = mt.Vector.field(3, mt.i32, shape=PARTICLES), mt.Vector.field(12, mt.f32, shape=PARTICLES)
        m = mt.field(mt.f32, shape=SHAPE)

    @mt.kernel
    def add():
        for i in x:
            for k in mt.static(range(12)):
                m[x[i] + mt.Vector([0, k // 4, k % 4])] += w[i][k]
                m[x[i] + mt.Vector([1, k // 4, k % 4])] += w[i][k]

    rng = np.random.default_rng(5)
    with context:
        x.from_numpy(rng.integers(0, 120, (PARTICLES, 3)).astype(np.int32))
        w.from_numpy(rng.integers(-4, 5, (PARTICLES, 12)).astype(np.float32))  # sums are exact

    def run():
        with context:
            m.fill(0)
            add()
            return m.to_numpy()

    return run, add


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def test_launches_get_no_new_pages():
    context = mt.Context(threads=2)
    run, add = scatter_in(context)
    first = run()
    with context:
        assert "in the order of" in str(add.report())
        add()
        begin = faults()
        for _ in range(5):
            add()
        met = faults() - begin
    assert met < 45  # 19 pages of 2 MiB, or 9,700 small ones, in each launch that gets new ones
    np.testing.assert_array_equal(run(), first)


def test_two_threads_launch_at_once():
    context = mt.Context(threads=2)
    runs = [scatter_in(context)[0] for _ in range(2)]
    want = [run() for run in runs]
    got = [[], []]

    def repeat(k):
        for _ in range(4):
            got[k].append(runs[k]())

    threads = [threading.Thread(target=repeat, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(2):
        assert len(got[k]) == 4
        for one in got[k]:
            np.testing.assert_array_equal(one, want[k])
