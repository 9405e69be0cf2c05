"""`metate check` as a command: what it runs, what it prints, how it ends."""

import contextlib
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import textwrap

import pytest

PREAMBLE = """
import sys
import numpy as np
import metate as mt

Line = mt.types.ndarray(dtype=mt.i32, ndim=1)

@mt.kernel
def collide(x: Line):
    for i in range(4):
        x[i // 2] = i

@mt.kernel
def fill(x: Line, value: mt.i32):
    for i in x:
        x[i] = value
"""


@pytest.fixture
def check(tmp_path):
    """Writes a program after PREAMBLE, checks it in a process of its own; options stand before the file."""

    def run(program, *arguments, options=()):
        file = tmp_path / "program.py"
        file.write_text(PREAMBLE + textwrap.dedent(program))
        return command(*options, str(file), *arguments, cwd=tmp_path)

    return run


def package_path():
    import metate

    return [str(pathlib.Path(metate.__file__).parent.parent)]


def command(*arguments, cwd=None):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [*package_path(), *sys.path]))}
    line = [sys.executable, "-m", "metate.cli", "check", *arguments]
    return subprocess.run(line, capture_output=True, text=True, env=environment, cwd=cwd, timeout=120)


def test_a_right_program_ends_with_0(check):
    done = check("x = np.zeros(3, np.int32); fill(x, 7); print(x.sum())")
    assert (done.returncode, done.stdout) == (0, "21\n")
    assert done.stderr.startswith("metate check: no findings; 1 kernel in ")
    assert done.stderr.endswith("looked for bounds, division, nan, conflict, order, quant-range\n")


def test_findings_look_like_a_compilers(check):
    done = check("collide(np.zeros(2, np.int32)); print('on')")
    assert (done.returncode, done.stdout) == (1, "on\n")
    lines = done.stderr.splitlines()
    assert lines[0].startswith("program.py:11:9: conflict: ")
    assert lines[1:3] == ["    x[i // 2] = i", "    ^"]
    assert lines[3] == "    in kernel 'collide', iteration (1), 2 times: this is the first"
    assert lines[-1].startswith("metate check: 1 finding: 1 conflict; 1 kernel in ")
    assert "\x1b" not in done.stderr


def test_the_programs_own_arguments_and_options_do_not_matter(check):
    done = check(
        """
        import pathlib
        mt.init(arch=mt.cpu, debug=True, threads=2)
        assert __name__ == "__main__" and sys.modules["__main__"].fill is fill
        assert sys.path[0] == str(pathlib.Path(__file__).parent)
        print(sys.argv)
        with mt.Context(mt.cpu):
            collide(np.zeros(2, np.int32))
        mt.reset()
        """,
        "--",
        "--all",
        "x",
    )
    assert done.stdout.endswith("program.py', '--all', 'x']\n")
    assert (done.returncode, done.stderr.count(": conflict: ")) == (1, 1)


def test_a_kernel_that_is_gone_is_still_reported(check):
    done = check(
        """
        def once():
            @mt.kernel
            def local(x: Line):
                for i in range(4):
                    x[0] = i
            local(np.zeros(2, np.int32))
        once()
        """
    )
    assert done.returncode == 1 and "in kernel 'local'" in done.stderr


def test_the_calls_of_a_function_are_shown(check):
    done = check(
        """
        @mt.func
        def third(x):
            return 3 // x
        @mt.kernel
        def outer(x: Line):
            for i in x:
                x[i] = third(i)
        outer(np.zeros(2, np.int32))
        """
    )
    lines = done.stderr.splitlines()
    assert lines[0] == "program.py:20:12: division: 3 is divided by zero; the result is 0"
    assert lines[3:5] == ["    in kernel 'outer', iteration (0)", "    called from program.py:24:16"]


def test_a_terminal_shows_colours_and_progress(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PREAMBLE + "collide(np.zeros(2, np.int32))\nimport time\ntime.sleep(2.5)\n")
    main, terminal = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [*package_path(), *sys.path])), "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    line = [sys.executable, "-m", "metate.cli", "check", str(file)]
    process = subprocess.Popen(line, stderr=terminal, stdout=subprocess.DEVNULL, env=environment)
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal ends with the process
        while piece := os.read(main, 1 << 16):
            shown += piece
    os.close(main)
    assert process.wait(60) == 1
    assert b"\x1b[1;31mconflict:\x1b[0m" in shown
    assert b"metate check: 1 s, at " in shown and shown.count(b"program.py:19") >= 1


def test_findings_of_all_calls_are_counted_at_one_place(check):
    done = check("for n in range(5): collide(np.zeros(2, np.int32))")
    assert done.stderr.count(": conflict: ") == 1 and ", 10 times: this is the first" in done.stderr


def test_json(check):
    done = check("print('said'); collide(np.zeros(2, np.int32))", options=["--json", "--checks", "bounds,conflict"])
    document = json.loads(done.stdout)
    assert done.returncode == 1 and done.stderr == "said\n"
    (finding,) = document["findings"]
    assert (finding["kind"], finding["line"], finding["iteration"], finding["count"]) == ("conflict", 11, "(1)", 2)
    assert document["checks"] == ["bounds", "conflict"] and document["failure"] is None and document["stage"] == "import"
    assert sorted(finding) == ["callers", "column", "count", "file", "iteration", "kernel", "kind", "line", "message"]


@pytest.mark.parametrize(
    ("program", "text", "failure"),
    [
        ("raise KeyError('lost')", "KeyError: 'lost'", "the program raised KeyError"),
        ("sys.exit(3)", "", "the program ended with status 3"),
        ("sys.exit('no')", "no\n", "the program ended with status 1"),
        ("fill(1)", "CallError_", "the program raised CallError_"),
    ],
)
def test_a_program_that_fails_ends_with_2(check, program, text, failure):
    done = check("collide(np.zeros(2, np.int32))\n" + program, options=["--json"])
    document = json.loads(done.stdout)
    assert (done.returncode, document["failure"]) == (2, failure)
    assert len(document["findings"]) == 1 and text in done.stderr
    assert "check.py" not in done.stderr  # the user's frames only
    shown = check("fill(np.zeros(2, np.int32), 1)\n" + program)
    assert shown.returncode == 2 and f"metate check: {failure}; until then no findings" in shown.stderr


def test_threads_that_outlive_the_program_are_part_of_it(check):
    done = check("""
        import threading, time

        def late():
            time.sleep(0.3)
            collide(np.zeros(4, np.int32))

        threading.Thread(target=late).start()
    """)
    assert done.returncode == 1 and "conflicting writes of x[0]" in done.stderr


def test_a_program_that_ends_itself_well(check):
    assert check("fill(np.zeros(2, np.int32), 1); sys.exit()").returncode == 0


def test_a_syntax_error_is_the_programs(check):
    done = check("def (")
    assert done.returncode == 2 and "SyntaxError" in done.stderr and "no kernel was called" in done.stderr


def test_a_failed_assert_is_a_finding_and_the_programs_error(check):
    done = check(
        """
        @mt.kernel
        def positive(x: Line):
            for i in x:
                assert x[i] > 0, "not positive"
        positive(np.zeros(3, np.int32))
        """
    )
    assert done.returncode == 2
    assert "AssertionError_" in done.stderr and ": assert: assertion failed: not positive" in done.stderr


def test_every_check_only_where_asked_for(check):
    program = """
        @mt.kernel
        def big(x: Line):
            for i in x:
                x[i] = x[i] * 2000000000
        big(np.full(2, 2, np.int32))
        """
    assert check(program).returncode == 0
    assert check(program, options=["--all"]).stderr.count(": overflow: ") == 1
    assert check(program, options=["--checks", "overflow", "--stage", "offload"]).returncode == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nowhere.py"], "metate check: nowhere.py: no such file"),
        (["--checks", "speed", __file__], "--checks: expected some of bounds, .*separated by commas, got 'speed'"),
        (["--stage", "map", __file__], "invalid choice: 'map'"),
        (["--all", "--checks", "nan", __file__], "not allowed with"),
    ],
)
def test_wrong_calls(arguments, text, tmp_path):
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and re.search(text, done.stderr)


def test_help_teaches():
    from metate import context

    text = command("--help").stdout
    assert all(name in text for name in ("bounds", *context.CHECKS, "exit status", "examples"))
