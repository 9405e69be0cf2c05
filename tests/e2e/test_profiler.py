"""mt.profiler: times of kernels and tasks, traces, names for perf. A context's own, and nothing where it is off."""

import json
import os
import struct
import subprocess
import sys

import numpy as np
import pytest

import metate as mt


@mt.kernel
def step(x: mt.types.ndarray(mt.f32, 1), y: mt.types.ndarray(mt.f32, 1)) -> mt.f32:
    total = 0.0
    for i in x:
        x[i] = x[i] * 0.5 + y[i]
    for i in range(x.shape[0]):
        total += x[i]
    return total


@mt.kernel
def stop(n: mt.i32):
    for i in range(n):
        assert i < 3, "stopped"


LINE = step.source.first_line + 1  # of the definition; the decorator is the first


@pytest.fixture
def profiled():
    with mt.Context(profile=True, opt_level=0, offline_cache=False, asserts=True) as context:
        yield context


def test_launches_and_tasks_are_counted(profiled):
    arrays = np.ones(50_000, np.float32), np.ones(50_000, np.float32)
    for _ in range(3):
        step(*arrays)
    whole, *tasks = mt.profiler.kernel_profiles()
    assert (whole.name, whole.task, whole.counter) == ("step", None, 3)
    assert whole.bytes == 3 * (3 * 50_000 + 2) * 4  # x is read and written, y read; the result, too
    loops = [one for one in tasks if one.line in (LINE + 2, LINE + 4)]
    assert [one.counter for one in loops] == [3, 3]
    assert 0 < whole.min <= whole.avg <= whole.max <= whole.total
    assert sum(one.total for one in tasks) <= whole.total
    assert mt.profiler.query_kernel_profiler_info("step") == whole
    assert mt.profiler.get_kernel_profiler_total_time() == pytest.approx(whole.total / 1e3)
    mt.profiler.clear_kernel_profiler_info()
    assert mt.profiler.query_kernel_profiler_info("step").counter == 0
    assert mt.profiler.get_kernel_profiler_total_time() == 0


def test_tables_name_kernels_tasks_and_lines(profiled, capsys):
    step(np.ones(10, np.float32), np.ones(10, np.float32))
    capsys.readouterr()
    mt.profiler.print_kernel_profiler_info()
    printed = capsys.readouterr().out
    assert f"  step:{LINE}" in printed and f":{LINE + 4}" in printed and "GB/s" in printed
    mt.profiler.print_kernel_profiler_info("trace")
    assert capsys.readouterr().out.splitlines()[-1].endswith("  step")
    mt.profiler.print_scoped_profiler_info()
    assert capsys.readouterr().out.splitlines()[-1].endswith("  step")
    mt.profiler.clear_scoped_profiler_info()
    mt.profiler.print_scoped_profiler_info()
    assert "step" not in capsys.readouterr().out


def test_memory_of_fields(profiled, capsys):
    field = mt.field(mt.f32, shape=1000, name="height")
    field.fill(1)
    mt.profiler.print_memory_profiler_info()
    printed = capsys.readouterr().out
    assert f"{field._tree.bytes:14}  height" in printed and printed.endswith(" in all\n")


def test_a_failed_launch_is_counted(profiled):
    with pytest.raises(mt.AssertionError_):
        stop(10)
    assert mt.profiler.query_kernel_profiler_info("stop").counter == 1


def test_traces_are_chromes(profiled, tmp_path):
    step(np.ones(10, np.float32), np.ones(10, np.float32))
    mt.profiler.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["cat"] for event in events} == {"launch", "task", "compile"}
    assert all(event["ph"] == "X" and event["pid"] == os.getpid() and event["dur"] >= 0 for event in events)
    (launch,) = (event for event in events if event["cat"] == "launch")
    (compiled,) = (event for event in events if event["cat"] == "compile")
    assert compiled["ts"] + compiled["dur"] <= launch["ts"] + 1
    for task in (event for event in events if event["cat"] == "task"):
        assert launch["ts"] <= task["ts"] and task["ts"] + task["dur"] <= launch["ts"] + launch["dur"]


def test_contexts_have_profiles_of_their_own(profiled):
    step(np.ones(10, np.float32), np.ones(10, np.float32))
    with mt.Context(profile=True, opt_level=0):
        assert mt.profiler.kernel_profiles() == []


def test_without_it_a_warning_says_how():
    with mt.Context():
        with pytest.warns(UserWarning, match="kernel_profiler=True"):
            mt.profiler.print_kernel_profiler_info()
        with pytest.raises(mt.MetateError, match="expected a context that is profiled"):
            mt.profiler.save_trace("never.json")
        step(np.ones(10, np.float32), np.ones(10, np.float32))
        assert "metate_begin_task" not in step.stages(np.ones(1, np.float32), np.ones(1, np.float32))["map"]


def test_shipped_modules_tell_of_tasks(profiled, tmp_path):
    for name, profile in (("told", True), ("silent", False)):
        module = mt.aot.Module(profile=profile).add_kernel(step, name=name)
        loaded = mt.aot.load(module.save(tmp_path / f"{name}.metate"))
        getattr(loaded, name)(np.ones(10, np.float32), np.ones(10, np.float32))
    tasks = {one.name for one in mt.profiler.kernel_profiles() if one.task is not None}
    assert {one.name for one in mt.profiler.kernel_profiles()} == {"told", "silent"} and tasks == {"told"}


def test_the_interpreter_is_timed():
    with mt.Context(arch=mt.interp, profile=True):
        step(np.ones(10, np.float32), np.ones(10, np.float32))
        assert [one.name for one in mt.profiler.kernel_profiles()] == ["step"]


def test_taichis_cupti_says_that_there_is_no_gpu():
    assert mt.profiler.set_kernel_profiler_toolkit("default")
    with pytest.warns(UserWarning, match="kernels run on the CPU"):
        assert not mt.profiler.set_kernel_profiler_toolkit("cupti")
    with pytest.raises(mt.MetateError, match="no GPU's counters on the CPU"):
        mt.profiler.set_kernel_profiler_metrics(["dram__bytes.sum"])
    assert mt.profiler.get_predefined_cupti_metrics("global_access") == []
    with pytest.raises(mt.MetateError, match="mode: expected 'count' or 'trace', got 'all'"):
        mt.profiler.print_kernel_profiler_info("all")


PERF = """
import os
import numpy as np
import metate as mt
mt.init(kernel_profiler=True, perf_map=True)
@mt.kernel
def brighten(x: mt.types.ndarray(mt.f32, 1)):
    for i in x:
        x[i] += 1
brighten(np.zeros(10, np.float32))
with open(f"/tmp/perf-{os.getpid()}.map") as lines:
    print(*(line.split()[2] for line in lines))
os.remove(f"/tmp/perf-{os.getpid()}.map")
print(mt.profiler.query_kernel_profiler_info("brighten").counter)
"""


def test_perf_is_told_the_names(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PERF)
    printed = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True).stdout.split()
    assert {"metate::brighten", "metate::brighten_task0"} <= set(printed) and printed[-1] == "1"


JITDUMP = """
import numpy as np
import metate as mt
def run():
    with mt.Context(perf_map="jitdump"):
        @mt.kernel
        def darken(x: mt.types.ndarray(mt.f32, 1)):
            for i in x:
                x[i] -= 1
        x = np.zeros(10, np.float32)
        darken(x)
        assert (x == -1).all()
run()
run()  # the first one's file may be closed
"""


def test_perf_is_told_the_lines(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(JITDUMP)
    environment = {**os.environ, "JITDUMPDIR": str(tmp_path), "METATE_OFFLINE_CACHE": "0"}
    subprocess.run([sys.executable, str(program)], check=True, env=environment)
    (first, *_) = tmp_path.glob(".debug/jit/*/jit-*.dump")
    content = first.read_bytes()
    assert content[:4] == b"DTiJ" and b"metate_entry_darken" in content
    assert lines_of(content)[str(program)] >= {8, 9}


def lines_of(content):
    """{file: lines} of the records JIT_CODE_DEBUG_INFO (2) of a jitdump file; see jitdump-specification.txt of perf."""
    found, at = {}, struct.unpack_from("<I", content, 8)[0]
    while at + 16 <= len(content):
        kind, size = struct.unpack_from("<II", content, at)
        if kind == 2:
            (count,) = struct.unpack_from("<Q", content, at + 24)
            entry = at + 32
            for _ in range(count):
                (line,) = struct.unpack_from("<i", content, entry + 8)
                end = content.index(b"\0", entry + 16)
                found.setdefault(content[entry + 16 : end].decode(), set()).add(line)
                entry = end + 1
        at += size
    return found


def test_perf_is_told_nothing_where_no_file_can_be_made(tmp_path):
    (tmp_path / "file").touch()
    program = tmp_path / "program.py"
    program.write_text(JITDUMP)
    environment = {**os.environ, "JITDUMPDIR": str(tmp_path / "file"), "METATE_OFFLINE_CACHE": "0"}
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=environment)
    assert done.returncode == 1 and "perf_map='jitdump': no file can be made in .debug/jit of" in done.stderr
    with pytest.raises(mt.errors.RuntimeValueError_, match="perf_map: expected True, False or 'jitdump', got 'lines'"):
        mt.Context(perf_map="lines")
