"""lit's configuration: the compiler's FileCheck tests.

`.venv/bin/lit tests/lit` runs them. METATE_BUILD names a build folder other than ./build.
"""

import os
import shutil
import sys
from pathlib import Path

import lit.formats

root = Path(__file__).resolve().parents[2]
build = Path(os.environ.get("METATE_BUILD", root / "build")).resolve()
llvm = Path(os.environ.get("METATE_LLVM", "/usr/lib/llvm-22"))

config.name = "metate"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".ll"]
config.substitutions.append(("%python", sys.executable))
config.excludes = ["Inputs"]
config.test_source_root = str(Path(__file__).resolve().parent)
config.test_exec_root = str(build / "tests" / "lit")
# No tool may come from elsewhere: a missing one is an error, not another version.
tools = [build / "bin", llvm / "bin"]
for folder, name in (
    (tools[0], "metate-opt"),
    (tools[0], "metate-null-opt"),
    (tools[0], "metate-run"),
    (tools[0], "metate-spirv"),
    (tools[0], "metate-c"),
    (tools[1], "FileCheck"),
    (tools[1], "not"),
    (tools[1], "split-file"),
):
    if not (folder / name).exists():
        lit_config.fatal(f"{name} is missing in {folder}: build first")
for name in ("spirv-dis", "spirv-val"):
    if not shutil.which(name):
        lit_config.fatal(f"{name} is missing: scripts/setup installs it (spirv-tools)")
config.environment["PATH"] = os.pathsep.join([str(tool) for tool in tools] + [os.environ["PATH"]])
# What glibc takes back is overwritten: a pass that reads an operation after it has erased it fails here, each time.
config.environment["MALLOC_PERTURB_"] = "85"
