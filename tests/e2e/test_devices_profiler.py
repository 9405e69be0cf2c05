"""The profiler on a device, mt.simt or METATE_TEST_ARCH: rows of tasks, by the device's clock."""

import json

import device_tests
import numpy as np
import pytest

import metate as mt

ARCH = device_tests.ARCH or mt.simt
array = mt.types.ndarray


@mt.kernel
def step(x: array(mt.f32, 1), y: array(mt.f32, 1)) -> mt.f32:
    total = 0.0
    for i in x:
        y[i] = 2 * x[i]
    for i in y:
        total += y[i]
    return total


@mt.kernel
def stops(x: array(mt.f32, 1)):
    for i in x:
        assert x[i] >= 0, "negative"
    for i in x:
        x[i] += 1


@pytest.fixture
def profiled():
    with mt.Context(arch=ARCH, profile=True, asserts=True) as context:
        yield context


def rows(kernel):
    found = mt.profiler.kernel_profiles()
    assert {one.name for one in found} == {kernel.__name__}
    return found[0], found[1:]


def test_tasks_have_rows(profiled):
    x = np.ones(50000, np.float32)
    assert all(step(x, np.zeros_like(x)) == 100000 for _ in range(3))
    launch, tasks = rows(step)
    first = step.source.first_line
    assert launch.task is None and launch.counter == 3
    assert [one.task for one in tasks] == list(range(len(tasks))) and {one.counter for one in tasks} == {3}
    assert {first + 3, first + 5} <= {one.line for one in tasks}
    assert all(0 <= one.min <= one.avg <= one.max for one in tasks)
    assert 0 < sum(one.total for one in tasks) <= launch.total


def test_a_longer_task_takes_longer(profiled):
    @mt.kernel
    def work(x: array(mt.f32, 1), n: mt.i32):
        for i in x:
            x[i] += 1
        for i in x:
            for k in range(n):
                x[i] = x[i] * 0.5 + k

    for _ in range(20):  # the least of them counts: other processes may use the device
        work(np.ones(20000, np.float32), 200)
    _, tasks = rows(work)
    first = work.source.first_line
    short, long = (sum(one.min for one in tasks if one.line == line) for line in (first + 2, first + 4))
    assert long > short


def test_the_trace_has_tasks_inside_of_their_launches(profiled, tmp_path):
    step(np.ones(1000, np.float32), np.zeros(1000, np.float32))
    mt.profiler.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    [launch] = [event for event in events if event["cat"] == "launch"]
    tasks = [event for event in events if event["cat"] == "task"]
    assert len(tasks) >= 2 and {1000} <= {task["args"]["iterations"] for task in tasks}
    ends = [(task["ts"], task["ts"] + task["dur"]) for task in tasks]
    assert ends == sorted(ends)
    for begin, end in ends:
        assert launch["ts"] <= begin <= end <= launch["ts"] + launch["dur"]


def test_trees_have_rows(profiled):
    f = mt.field(mt.i32)
    mt.root.pointer(mt.i, 64).dense(mt.i, 16).place(f)

    @mt.kernel
    def grow(n: mt.i32):
        for i in range(n):
            f[i] = i
        for i in f:
            f[i] += 1

    grow(500)
    _, tasks = rows(grow)
    assert {grow.source.first_line + line for line in (2, 4)} <= {one.line for one in tasks}


def test_of_a_launch_that_fails_there_are_no_tasks(profiled):
    with pytest.raises(mt.AssertionError_, match="negative"):
        stops(np.full(10, -1, np.float32))
    launch, tasks = rows(stops)
    assert launch.counter == 1 and tasks == []
    stops(np.ones(10, np.float32))
    assert rows(stops)[0].counter == 2 and {one.counter for one in rows(stops)[1]} == {1}


def test_a_module_of_another_context_is_timed(tmp_path):
    """Times are the device's to measure: code needs no option for them."""
    with mt.Context(arch=ARCH):
        path = mt.aot.Module().add_kernel(step).save(tmp_path / "m.metate")
    with mt.Context(arch=ARCH, profile=True):
        loaded = mt.aot.load(path)
        assert loaded.step(np.ones(100, np.float32), np.zeros(100, np.float32)) == 200
        assert len(rows(step)[1]) >= 2
