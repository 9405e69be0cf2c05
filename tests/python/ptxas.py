"""The ptxas of this machine: METATE_PTXAS, the toolkit's, else that of NVIDIA's package, which scripts/setup installs."""

import importlib.util
import os
import pathlib
import shutil

USUAL = "/usr/local/cuda/bin/ptxas"


def packaged():
    """Where the package nvidia-cuda-nvcc-cu12 has it; None without."""
    try:
        found = importlib.util.find_spec("nvidia.cuda_nvcc")
    except ModuleNotFoundError:
        return None
    files = [pathlib.Path(folder, "bin", "ptxas") for folder in found.submodule_search_locations] if found else []
    return next((str(file) for file in files if file.is_file()), None)


def find():
    """Its path; None where there is none at all."""
    named = os.environ.get("METATE_PTXAS") or shutil.which("ptxas")
    return named or (USUAL if os.access(USUAL, os.X_OK) else packaged())


def settle():
    """The compiler asks the environment and the toolkit: it is told of the package's."""
    if found := find():
        os.environ.setdefault("METATE_PTXAS", found)
