"""examples/rfc: every spelling, from Python and from C and C++ hosts, prints the same expected lines."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RFC = ROOT / "examples" / "rfc" / "rfc.py"
PROGRAMS = ROOT / "build" / "examples"


def run(*command, check=True):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert result.returncode == 0 or not check, f"{command}: {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def expected_lines(scale):
    """What run1 and run2 print for one instance: the three 5 x 5 blocks on the diagonal, in any order."""
    lines = []
    for i in range(15):
        for j in range(15):
            if i // 5 == j // 5:
                a = np.float32(scale) * (np.float32(i) + np.float32(0.5) * np.float32(j))
                lines.append(f"I= [{i}, {j}]  a*b= {[float(a * np.float32(b)) for b in (i, j, 1)]}")
    return sorted(lines)


def check_output(text):
    """Splits at the `== type kernel number` lines and compares each part with what is expected."""
    parts = re.split(r"^== (\S+ \S+ \d)\n", text, flags=re.MULTILINE)
    assert parts[1::2] == ["ab_aos run1 0", "ab_aos run1 1", "ab_soa run2 0", "ab_soa run2 1"]
    for title, body in zip(parts[1::2], parts[2::2]):
        lines = [line for line in body.splitlines() if not line.startswith("-- ")]
        assert sorted(lines) == expected_lines(10.0 if title.endswith("1") else 1.0), title


@pytest.fixture(scope="module")
def programs():
    """The example's hosts, built as the demo builds them."""
    if not (PROGRAMS / "build.ninja").exists():
        run("cmake", "-S", "examples", "-B", PROGRAMS, "-G", "Ninja", f"-DMETATE_BUILD={ROOT / 'build'}")
    run("ninja", "-C", PROGRAMS)
    return PROGRAMS


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """A folder with aot_module/ (the RFC's spelling) and ab.metate (ours)."""
    folder = tmp_path_factory.mktemp("rfc")
    run(sys.executable, RFC, "--save", folder)
    return folder


def test_python_runs_two_instances_through_one_kernel():
    check_output(run(sys.executable, RFC))


def test_rfc_spelling_in_cpp(programs, modules):
    text = run(programs / "rfc_names", modules / "aot_module")
    assert text.startswith("-- arch x64\n-- run1 {args: {ab_aos}, returns: {}}\n")
    assert "-- run2 {args: {ab_soa}, returns: {}}\n" in text
    check_output(text)


@pytest.mark.parametrize("program", ["rfc_cpp", "rfc_c"])
@pytest.mark.parametrize("module", ["ab.metate", "aot_module/module.metate"])
def test_our_names_in_c_and_cpp(programs, modules, program, module):
    check_output(run(programs / program, modules / module))


WITHOUT_COMPILER = """
import sys
sys.modules["metate_native._compiler"] = None  # its import raises ImportError
import metate as mt
module = mt.aot.load(sys.argv[1])
for name, fill, run in (("ab_aos", "fill1", "run1"), ("ab_soa", "fill2", "run2")):
    instances = module.types[name].new(), module.types[name].new()
    for number, scale in ((0, 1.0), (1, 10.0)):
        module.kernels[fill](instances[number], scale)
    for number in range(2):
        print("==", name, run, number, flush=True)
        module.kernels[run](instances[number])
assert "LLVM" not in open("/proc/self/maps").read()
"""


def test_module_runs_in_python_without_the_compiler(modules):
    check_output(run(sys.executable, "-c", WITHOUT_COMPILER, modules / "ab.metate"))


# What each mistake must answer: its status, and words that its text must contain.
MISTAKES = {
    "wrong type": ("METATE_E_TYPE_MISMATCH", "'f'", "ab_aos", "ab_soa"),
    "wrong kind": ("METATE_E_TYPE_MISMATCH", "'f'", "tree"),
    "null tree": ("METATE_E_NULL", "'f'"),
    "null arguments": ("METATE_E_NULL", "arguments"),
    "too few arguments": ("METATE_E_INVALID_ARGUMENT", "expected 1", "got 0"),
    "double bind": ("METATE_E_ALREADY_BOUND", "memory"),
    "too small": ("METATE_E_TOO_SMALL", "expected", "got 64"),
    "misaligned": ("METATE_E_MISALIGNED", "64", "got"),
    "null memory": ("METATE_E_NULL", "memory"),
    "unknown type": ("METATE_E_NOT_FOUND", "ab_aso", "ab_aos"),
    "unknown kernel": ("METATE_E_NOT_FOUND", "run3", "run1"),
    "null name": ("METATE_E_NULL", "name"),
    "exception": ("METATE_E_NOT_FOUND", "run3"),
}


@pytest.mark.parametrize("program", ["rfc_c", "rfc_cpp"])
def test_mistakes_are_named(programs, modules, program):
    answers = dict(line.split(": ", 1) for line in run(programs / program, modules / "ab.metate", "--errors").splitlines())
    assert len(answers) >= 10 and answers.keys() <= MISTAKES.keys()
    for mistake, answer in answers.items():
        status, *words = MISTAKES[mistake]
        name, text = answer.split(": ", 1)
        assert name == status, f"{mistake}: {answer}"
        assert all(word in text for word in words), f"{mistake}: expected {words} in: {text}"


def test_hosts_link_libmetate_and_the_languages_runtime_only(programs):
    for program in ("rfc_c", "rfc_cpp", "rfc_names"):
        needed = re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-dW", programs / program))
        assert "libmetate.so" in [name[:12] for name in needed]
        foreign = [name for name in needed if not re.match(r"lib(metate|stdc\+\+|m|gcc_s|c)\.so|ld-linux", name)]
        assert foreign == [], program
