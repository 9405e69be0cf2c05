"""Tensors as arguments of kernels, and `mt.ad.torch_function`, under a real PyTorch.

Debian's (python3-torch) is for the system's interpreter and its NumPy: torch_program.py runs there, once, and prints how each of
its cases ended. Without PyTorch the tests fail; scripts/setup installs it.
"""

import ast
import itertools
import json
import os
import pathlib
import subprocess

import pytest

import metate
import metate_native

PYTHON = "/usr/bin/python3"
PROGRAM = pathlib.Path(__file__).with_name("torch_program.py")
CASES = [PROGRAM.with_name(name) for name in ("torch_gradients.py", "torch_tensors.py")]


def cases():
    """Names of the program's cases, which cannot be imported here."""
    nodes = itertools.chain.from_iterable(ast.parse(path.read_text()).body for path in CASES)
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef))
    return [one.name for one in functions if any(isinstance(mark, ast.Name) and mark.id == "case" for mark in one.decorator_list)]


@pytest.fixture(scope="module")
def run():
    """(For each case that ended the traceback of its failure, or None; what the program said besides)."""
    paths = [str(pathlib.Path(module.__file__).parents[1]) for module in (metate, metate_native)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [PYTHON, "-X", "faulthandler", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    return dict(
        map(json.loads, done.stdout.splitlines())
    ), f"{PYTHON} {PROGRAM.name} ended with {done.returncode}:\n{done.stderr}"


def test_pytorch_is_installed(run):
    assert run[0], f"expected PyTorch for {PYTHON}: scripts/setup installs python3-torch\n{run[1]}"


@pytest.mark.parametrize("case", cases())
def test_under_pytorch(case, run):
    outcomes, ending = run
    assert case in outcomes, ending
    assert outcomes[case] is None, outcomes[case]
