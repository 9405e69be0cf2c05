"""Kernels of programs that are no files: `exec`, `python -c`, standard input, the REPL, notebooks, zip archives.

Each way must run, and its errors must name file, line and column and show the line with a caret.
"""

import os
import pty
import select
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pytest

import metate as mt

# A function without a decorator, a decorated one, a kernel, a lambda, a decorator that is called; one is wrong in line 21.
TEXT = """\
import metate as ti

def twice(v):
    return 2 * v

@ti.func
def inc(v):
    return twice(v) + 1

@ti.kernel
def run(a: ti.i32) -> ti.i32:
    return inc(a)

def plain(a: ti.i32) -> ti.i32:
    return ti.static(lambda x: x * 3)(a)

also = ti.kernel(plain)

@ti.kernel
def bad(a: ti.i32) -> ti.i32:
    return nosuch(a)

results = [run(3), also(4)]
try:
    bad(1)
except ti.CompilationError as error:
    results.append(str(error))
"""
SHOWN = TEXT + "print(*results, sep='\\n')\n"
WRONG = "{}:21:12: name 'nosuch' is not defined\n    return nosuch(a)\n           ^~~~~~"


def expected(file):
    return [7, 12, WRONG.replace("{}", file).replace("\n    ", "\n        ", 1).replace("\n           ^", "\n               ^")]


def shown(file):
    return "\n".join(map(str, expected(file))) + "\n"


def python(*arguments, **options):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120, **options)
    return done.stdout, done.stderr


def test_exec_of_a_variable():
    text = TEXT
    names = {}
    exec(text, names)
    assert names["results"] == expected("<string>")


def test_exec_of_a_constant_and_two_texts_of_one_name():
    one, other = {"mt": mt}, {"mt": mt}
    exec("@mt.kernel\ndef run() -> mt.i32:\n    return 1\n", one)
    exec("@mt.kernel\ndef run() -> mt.i32:\n    return 2\n", other)
    assert (one["run"](), other["run"]()) == (1, 2)


def test_exec_of_a_files_text(tmp_path):
    (tmp_path / "program.py").write_text(TEXT)
    names = {}
    path = tmp_path / "program.py"
    exec(path.read_text(), names)
    assert names["results"] == expected("<string>")


def test_exec_with_annotations_as_texts_and_in_a_class():
    text = textwrap.dedent(
        """
        from __future__ import annotations
        @mt.data_oriented
        class Grid:
            n = 4
            @mt.kernel
            def total(self, x: mt.types.ndarray(dtype=mt.f32, ndim=1)) -> mt.f32:
                s = 0.0
                for i in range(self.n):
                    s += x[i]
                return s
        """
    )
    names = {"mt": mt}
    exec(text, names)
    assert names["Grid"]().total(np.arange(8, dtype=np.float32)) == 6


def test_a_text_that_is_nowhere_is_an_error_that_says_what_to_do():
    names = {"mt": mt}
    exec("".join(["@mt.kernel\n", "def run() -> mt.i32:\n", "    return 1\n"]), names)
    with pytest.raises(mt.SyntaxError_, match="the source of 'run' is not available") as caught:
        names["run"]()
    assert (
        caught.value.hint
        == "put it in a file, keep its text in a variable until its kernels are made, or call attach_source(file, text)"
    )


def test_a_text_that_has_changed_is_not_taken():
    text = "".join(["@mt.kernel\n", "def run() -> mt.i32:\n", "    return 1\n"])
    code = compile(text, "<string>", "exec")
    text = text.replace("1", "2")
    names = {"mt": mt}
    exec(code, names)
    with pytest.raises(mt.SyntaxError_, match="the source of 'run' is not available"):
        names["run"]()
    assert "2" in text


def test_the_command_line():
    assert python("-c", SHOWN) == (shown("<string>"), "")


def test_standard_input(tmp_path):
    program = tmp_path / "program"
    program.write_text(SHOWN)
    with program.open() as file:
        assert python("-", stdin=file) == (shown("<stdin>"), "")
    out, error = python("-", input=SHOWN)  # a pipe is read once
    assert out == "" and "the source of 'run' is not available" in error
    assert "hint: put it in a file, or use IPython or Python 3.13" in error


def typed(lines):
    """What a REPL on a terminal writes when these lines are typed."""
    master, slave = pty.openpty()
    environment = os.environ | {"TERM": "dumb", "PYTHON_HISTORY": os.devnull, "HOME": "/nonexistent"}
    process = subprocess.Popen(
        [sys.executable, "-q"], stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
    )
    os.close(slave)
    out = b""

    def read_until(*prompts):
        nonlocal out
        got = b""
        while not got.endswith(prompts):
            if not select.select([master], [], [], 60)[0]:
                raise AssertionError(f"no prompt after {out + got!r}")
            try:
                part = os.read(master, 4096)
            except OSError:
                break
            if not part:
                break
            got += part
        out += got

    read_until(b">>> ")
    for line in lines:
        os.write(master, line.encode() + b"\n")
        read_until(b">>> ", b"... ")
    os.write(master, b"exit()\n")
    process.wait(60)
    os.close(master)
    return out.decode().replace("\r", "")


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="its prompt keeps what was typed")
def test_the_repl():
    out = typed(
        [
            "import metate as ti",
            "@ti.func",
            "def inc(v):",
            "    return v + 1",
            "",
            "@ti.kernel",
            "def run(a: ti.i32) -> ti.i32:",
            "    return inc(a)",
            "",
            "run(41)",
            "@ti.kernel",
            "def bad(a: ti.i32) -> ti.i32:",
            "    return nosuch(a)",
            "",
            "bad(1)",
        ]
    )
    assert "\n42\n" in out
    assert "<stdin>:3:12: name 'nosuch' is not defined\n        return nosuch(a)\n               ^~~~~~" in out


@pytest.mark.parametrize("kind", ["program", "module"])
def test_zip_archives(tmp_path, kind):
    archive = tmp_path / "program.pyz"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("__main__.py" if kind == "program" else "inner.py", SHOWN)
        if kind == "module":
            file.writestr("__main__.py", "import inner")
    out, error = python(str(archive))
    assert (out, error) == (shown(f"{archive}/{'__main__' if kind == 'program' else 'inner'}.py"), "")


def test_notebooks():
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install nbclient ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install nbclient ipykernel")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install nbclient ipykernel")
    cells = [TEXT, "results", "%%time\n@ti.kernel\ndef timed() -> ti.i32:\n    return 5\nprint(timed())"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = notebook.cells[1].outputs[0]["data"]["text/plain"]
    assert shown.startswith("[7,\n 12,") and ":21:12: name 'nosuch' is not defined" in shown and "^~~~~~" in shown
    assert notebook.cells[2].outputs[0]["text"].startswith("5\n")
