"""`metate explain`: the page, seen in a browser, and what it says where there is nothing to show."""

import html
import json
import platform
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

import metate as mt
from metate import cli
from metate.explain.dump_lines import dump_lines

PREAMBLE = """
import numpy as np
import metate as mt

mt.init(debug=False)
grid, sums = mt.field(mt.f32), mt.field(mt.f32)
mt.root.pointer(mt.ij, 8).dense(mt.ij, 8).place(grid, sums)
Line = mt.types.ndarray(mt.f32, 1)

@mt.func
def left(i, j):
    return grid[i, j - 1]

@mt.kernel
def add(x: Line, y: Line):
    for i in x:
        y[i] += x[i]  # </script> stays text

@mt.kernel
def stencil():
    for i, j in grid:
        sums[i, j] = grid[i, j] + left(i, j)

@mt.kernel
def open_ended(x: mt.types.ndarray()):
    for i in x:
        x[i] = 0
"""

MAIN = """
if __name__ == "__main__":
    import sys
    for _ in range(int(sys.argv[1])):
        add(np.ones(1 << 16, np.float32), np.ones(1 << 16, np.float32))
        grid[3, 3] = 1.0
        stencil()
"""


@pytest.fixture
def explain(tmp_path, monkeypatch, capfd):
    """Runs the command on a program in this process, as it is found behind; gives (status, data of the page, what it printed)."""

    def run(program, *options, preamble=PREAMBLE, arguments=()):
        file = tmp_path / "program.py"
        file.write_text(preamble + textwrap.dedent(program))
        status = cli.main(["explain", *options, str(file), *(["--", *arguments] if arguments else [])])
        page = tmp_path / "program.html"
        return status, data_of(page) if page.exists() else None, capfd.readouterr().err

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", sys.modules)
    main = sys.modules["__main__"]
    yield run
    sys.modules["__main__"] = main
    for name in ("program", "metate_file_program"):
        sys.modules.pop(name, None)
    mt.reset()


def data_of(page):
    text = page.read_text()
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_kernels_of_a_module(explain, tmp_path):
    status, data, said = explain(MAIN)
    assert status == 0
    assert said == "metate explain: 2 kernels, 2 parallel loops, 1 as vectors; the page is program.html\n"
    assert [one["name"] for one in data["kernels"]] == ["add", "stencil"]
    add, stencil = data["kernels"]
    assert [one["name"].partition(".")[0] for one in add["stages"]] == [
        "import", "simplify", "activate", "offload", "layout", "map", "emit",
    ]  # fmt: skip
    assert not any("loc(" in text for stage in add["stages"] for text, _ in stage["lines"])
    key = next(key for block in add["blocks"] for key, _, text in block["lines"] if "y[i] += x[i]" in text)
    for stage in add["stages"][:-1]:
        assert any(place == key for _, place in stage["lines"]), stage["name"]
    assert any(place == key for function in add["code"] for *_, place in function["lines"])
    assert {"atomics", "vectors", "chunks", "work", "strides"} <= {one["subject"] for one in add["loops"][0]["remarks"]}
    assert [block["name"] for block in stencil["blocks"]] == ["stencil", "left"]
    assert "staged" in " ".join(one["text"] for one in stencil["loops"][0]["remarks"])
    assert stencil["trees"][0]["members"] == ["grid", "sums"] and stencil["trees"][0]["bytes"] > 0
    page = (tmp_path / "program.html").read_text()
    assert not re.search(r"""(?:src|href)\s*=|@import|url\(|https?://""", page)  # nothing from elsewhere


def test_a_run_has_times(explain):
    status, data, said = explain(MAIN, "--run", "--kernel", "add", arguments=["3"])
    assert status == 0 and "1 kernel, 1 parallel loop" in said
    [add] = data["kernels"]
    [time] = add["times"]
    assert (time["count"], time["bytes"]) == (3, 3 * 12 << 16)
    assert time["bound"] == "memory" and time["share"] > 0
    assert data["limits"]["bandwidth"] > 1e8 and data["limits"]["operations"] > 1e8


@pytest.mark.parametrize(
    ("program", "options", "status", "text"),
    [
        ("1 / 0", (), 2, "the program raised ZeroDivisionError, before a kernel was compiled"),
        ("raise SystemExit(3)", ("--run",), 2, "the program ended with status 3, before a kernel was compiled"),
        ("print('nothing')", ("--run",), 1, "no kernel was called, so there is nothing to explain"),
        ("x = 1", ("--kernel", "add", "--kernel", "sub"), 1, "compiled no kernel 'sub'; it compiled add, stencil"),
    ],
)  # fmt: skip
def test_nothing_to_show(explain, program, options, status, text):
    got, page, said = explain(program, *options)
    assert (got, page) == (status, None)
    assert text in said


def test_a_file_without_kernels(explain):
    status, page, said = explain("x = 1", preamble="")
    assert (status, page) == (1, None)
    assert said.startswith("metate explain: ") and "expected a kernel that the program calls or whose annotations say all" in said


def test_another_target(explain):
    """What was called here and what was not are shown for a machine that this one is not."""
    status, data, _ = explain(MAIN + "\nadd(np.ones(4, np.float32), np.ones(4, np.float32))\n", "--target", "aarch64")
    assert status == 0
    for kernel in data["kernels"]:
        assert kernel["target"] == "aarch64" and kernel["stages"][-2]["name"] == "map.aarch64"
    assert sorted(one["name"] for one in data["kernels"]) == ["add", "stencil"]
    assert re.search(r"\bfadd\b", json.dumps(data["kernels"][0]["code"]))
    status, data, _ = explain(MAIN, "--run", "--target", "native", "--kernel", "add", arguments=["1"])
    assert status == 0 and data["kernels"][0]["target"] == "native" and data["kernels"][0]["times"]
    for options, text in (
        (("--target", "nowhere"), "--target: unknown target 'nowhere'; expected native, "),
        (("--run", "--target", "mips"), "--target: unknown target 'mips'"),
    ):
        status, _, said = explain(MAIN, *options)
        assert status == 2 and text in said
    foreign = "aarch64" if platform.machine() == "x86_64" else "x86-64"
    status, _, said = explain(MAIN, "--run", "--target", foreign)
    assert status == 2 and "this machine is" in said and "; without --run the code is shown" in said


def test_a_kernel_that_does_not_compile(explain):
    program = """
    @mt.kernel
    def broken(x: Line):
        for i in x:
            x[i] = nowhere
    """
    status, data, said = explain(program)
    assert status == 2
    assert "program.py" in said and "nowhere" in said and "kernel 'broken' does not compile; the page shows" in said
    assert data["failure"] == "kernel 'broken' does not compile"


def test_a_program_that_fails_after_a_kernel(explain):
    status, data, said = explain("add(np.ones(4, np.float32), np.ones(4, np.float32))\nopen('missing')", "--run")
    assert status == 2 and "FileNotFoundError" in said
    assert [one["name"] for one in data["kernels"]] == ["add"] and "FileNotFoundError" in data["failure"]


def test_wrong_calls(capfd, tmp_path, monkeypatch):
    assert cli.main(["explain", str(tmp_path / "no.py")]) == 2
    assert "no.py: no such file" in capfd.readouterr().err
    file = tmp_path / "program.py"
    file.write_text("")
    assert cli.main(["explain", "-o", str(tmp_path), str(file)]) == 2
    assert "-o: expected a file for the page, got the folder" in capfd.readouterr().err
    with pytest.raises(SystemExit) as end:
        cli.main(["explain", "--help"])
    assert end.value.code == 0
    assert "kernel.report() has the same as text" in capfd.readouterr().out


def test_places_of_a_dump():
    dump = textwrap.dedent("""\
        // after offload
        #loc = loc("a.py":0:0)
        module {
          scf.for %i = %a to %b {
            %0 = arith.addi %i, %i : index loc(#loc3)
            "x"(%0) {name = "loc(1)"} : (index) -> () loc(callsite(#loc1 at #loc2))
          } loc(#loc2)
        } loc(#loc)
        #loc1 = loc("b.py":7:1)
        #loc2 = loc("a.py":3:5)
        #loc3 = loc(fused[#loc, #loc2])
    """)
    assert [(text.strip(), place) for text, place in dump_lines(dump)] == [
        ("// after offload", None), ("module {", None), ("scf.for %i = %a to %b {", ("a.py", 3)),
        ("%0 = arith.addi %i, %i : index", ("a.py", 3)), ('"x"(%0) {name = "loc(1)"} : (index) -> ()', ("b.py", 7)),
        ("}", ("a.py", 3)), ("}", None),
    ]  # fmt: skip


# What a reader does: points at a line, clicks it, changes stage, kernel and (on a phone) pane; what is then to be seen.
VISIT = """
<script>
const shown = { errors: [] };
onerror = message => shown.errors.push(message);
const on = pane => [...document.querySelectorAll(`#${pane} .line.on`)].map(line => line.textContent);
const visible = id => getComputedStyle(document.getElementById(id)).display !== "none";
const line = text => [...document.querySelectorAll("#source .line")].find(one => one.textContent.includes(text));
shown.width = [innerWidth, document.documentElement.scrollWidth];
shown.first = on("source");
line("y[i] += x[i]").click();
shown.pinned = { source: on("source"), ir: on("ir"), code: on("code").length };
shown.pinned.said = document.querySelector("#code .found").textContent;
[...document.querySelectorAll("#ir .head button")].find(one => one.textContent === "map").click();
shown.map = on("ir").length;
line("for i in x").dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
shown.hovered = document.querySelectorAll("#code .line.hot").length;
document.querySelector("#ir .line.on").click();
shown.back = on("source");
shown.chips = [...document.querySelectorAll("#source .chip")].map(chip => chip.textContent);
shown.why = [...document.querySelectorAll("#source .why")].filter(one => !one.hidden).map(one => one.textContent).join();
shown.panes = ["source", "ir", "code"].map(visible);
const tab = [...document.querySelectorAll("#tabs button")].find(one => one.dataset.pane === "code");
tab.click();
shown.afterTab = ["source", "ir", "code"].map(visible);
document.querySelectorAll("#kernels button")[1].click();
shown.functions = [...document.querySelectorAll("#source .fn b")].map(one => one.textContent);
document.body.textContent = "SEEN" + JSON.stringify(shown) + "SEEN";
</script>
"""


@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser(explain, tmp_path, width):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium: the page is not looked at (Debian's package chromium)")
    explain(MAIN)
    page = tmp_path / "program.html"
    page.write_text(page.read_text().replace("</body>", VISIT + "</body>"))
    seen = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         f"--window-size={width},844", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip
    shown = json.loads(html.unescape(re.search(r"SEEN(.*)SEEN", seen, re.DOTALL)[1]))
    assert not shown["errors"]
    assert shown["width"][1] <= shown["width"][0]  # nothing to be pushed sideways but the panes' own text
    assert "for i in x:" in shown["first"][0]
    pinned = shown["pinned"]
    assert len(pinned["source"]) == 1 and "y[i] += x[i]  # </script> stays text" in pinned["source"][0]
    assert any("arith.addf" in line for line in pinned["ir"])
    assert pinned["code"] > 0 and pinned["said"] == f"{pinned['code']} lines"
    assert shown["map"] > 0 and shown["hovered"] > 0 and shown["back"] == pinned["source"]
    assert {"parallel task", "atomics demoted"} <= set(shown["chips"])
    assert "each iteration has a place of its own" in shown["why"]
    assert shown["panes"] == ([True, True, True] if width > 900 else [True, False, False])
    assert shown["afterTab"] == ([True, True, True] if width > 900 else [False, False, True])
    assert shown["functions"] == ["stencil", "left"]
