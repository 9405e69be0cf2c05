"""Kernels under a real PyTorch; test_torch.py runs this in an interpreter that has one.

`python torch_program.py` prints a line for each function marked `@case`: in JSON its name and the traceback of its failure or
null.
"""

import json
import traceback

import seeded
import torch_gradients  # noqa: F401 - its cases are marked
import torch_tensors  # noqa: F401 - the same
from torch_cases import CASES

import metate as mt


def failure(function):
    """The traceback of a case that fails, else None."""
    try:
        function(seeded.generator(f"torch {function.__name__}"))
    except Exception:
        return traceback.format_exc()
    return None


if __name__ == "__main__":
    mt.init()
    for function in CASES:
        print(json.dumps([function.__name__, failure(function)]), flush=True)
