"""scripts/check-layers finds each kind of forbidden edge, and only those."""

import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check-layers"

# Small and sound: every layer with the edges that it may have.
SOUND = {
    "abi/metate/abi/base.h": "#include <stdint.h>\n",
    "abi/metate/abi/tree.h": '#include "metate/abi/base.h"\n',
    "protocol/metate/protocol/view.h": '#include "metate/abi/tree.h"\n',
    "include/metate/metate.h": '#include "metate/abi/tree.h"\n',
    "runtime/device/device.h": '#include "metate/metate.h"\n#include <memory>\n',
    "runtime/driver/driver.h": '#include "metate/metate.h"\n',
    "runtime/driver/cpu/features.h": '#include "driver/driver.h"\n',
    "compiler/metate/Dialect/Ops.h": '#include "mlir/IR/OpDefinition.h"\n',
    "compiler/metate/Interp/Machine.h": '#include "metate/Dialect/Ops.h"\n',
    "compiler/metate/Transforms/Passes.h": '#include "metate/Dialect/Ops.h"\n',
    "compiler/metate/Target/Cpu/Map.h": '#include "metate/Dialect/Ops.h"\n#include "metate/abi/tree.h"\n',
    "bindings/runtime/runtime.cpp": '#include <nanobind/nanobind.h>\n#include "metate/metate.h"\n',
    "bindings/vdb/Grids.cpp": "#include <nanobind/nanobind.h>\n#include <openvdb/openvdb.h>\n",
    "bindings/sparse/Matrix.h": "#include <Eigen/SparseCore>\n",
    "python/metate/types.py": "import numpy\n",
    "python/metate/frontend/build.py": "from metate_native import _compiler\nfrom .. import types\n",
    "python/metate/runtime.py": "from metate_native import _runtime\n",
    "python/metate/ui/gui.py": "import numpy\nfrom ..errors import MetateError\nfrom . import image\n",
    "python/metate/kernel.py": "from . import runtime\nfrom .frontend import build\n",
}

# (file, line appended to it, part of the rule that must be named)
FORBIDDEN = [
    ("abi/metate/abi/base.h", "#include <stdio.h>", "abi may include of others only"),
    ("abi/metate/abi/base.h", '#include "metate/protocol/view.h"', "abi may not include protocol"),
    ("protocol/metate/protocol/view.h", "#include <string.h>", "protocol may include of others only"),
    ("protocol/metate/protocol/view.h", '#include "metate/metate.h"', "protocol may not include runtime"),
    ("protocol/metate/protocol/view.h", '#include "metate/Dialect/Ops.h"', "protocol may not include compiler"),
    ("include/metate/metate.h", '#include "metate/protocol/view.h"', "installed headers may not include protocol"),
    ("abi/metate/abi/base.h", '#include "metate/metate.h"', "abi may not include runtime"),
    ("runtime/device/device.h", '#include "llvm/ADT/StringRef.h"', "runtime may not use LLVM"),
    ("runtime/device/device.h", "#include <Python.h>", "runtime may not use Python"),
    ("runtime/device/device.h", '#include "metate/Dialect/Ops.h"', "runtime may not include compiler"),
    ("runtime/device/device.h", "#include <tbb/parallel_for.h>", "runtime may not use oneTBB"),
    ("compiler/metate/Dialect/Ops.h", '#include "metate/Transforms/Passes.h"', "Dialect may not include Transforms"),
    ("compiler/metate/Interp/Machine.h", '#include "metate/Transforms/Passes.h"', "Interp may not include Transforms"),
    ("compiler/metate/Dialect/Ops.h", '#include "metate/metate.h"', "compiler may not include runtime"),
    ("bindings/runtime/runtime.cpp", '#include "metate/Dialect/Ops.h"', "bindings/runtime may not include compiler"),
    ("bindings/runtime/runtime.cpp", "#include <openvdb/openvdb.h>", "bindings/runtime may not use OpenVDB"),
    ("bindings/vdb/Grids.cpp", "#include <Eigen/SparseCore>", "bindings/vdb may not use Eigen"),
    ("bindings/sparse/Matrix.h", '#include "metate/metate.h"', "bindings/sparse may not include runtime"),
    ("bindings/vdb/Grids.cpp", '#include "metate/metate.h"', "bindings/vdb may not include runtime"),
    ("python/metate/frontend/build.py", "from .. import runtime", "front end may not use the runtime"),
    ("python/metate/frontend/build.py", "import metate_native._runtime", "front end may not use the runtime"),
    ("python/metate/ui/gui.py", "from ..kernel import kernel", "metate.ui may use of the project only its errors"),
    ("python/metate/runtime.py", "from metate_native import _compiler", "both compiler and runtime"),
    ("python/metate/runtime.py", "def late():\n    from .frontend import build", "both compiler and runtime"),
]


def check(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return subprocess.run([sys.executable, SCRIPT, "--root", root], capture_output=True, text=True)


def test_sound_tree_passes(tmp_path):
    result = check(tmp_path, SOUND)
    assert (result.returncode, result.stdout) == (0, "ok: no forbidden edge\n")


@pytest.mark.parametrize("name, line, rule", FORBIDDEN)
def test_forbidden_edge_is_named(tmp_path, name, line, rule):
    files = dict(SOUND)
    files[name] += line + "\n"
    result = check(tmp_path, files)
    where = f"{name}:{files[name].count(chr(10))}:"
    assert result.returncode == 1
    assert any(found.startswith(where) and rule in found for found in result.stdout.splitlines()), result.stdout


def test_targets_and_drivers_do_not_know_one_another(tmp_path):
    target = {"compiler/metate/Target/Cuda/Emit.h": '#include "metate/Target/Cpu/Map.h"\n'}
    driver = {"runtime/driver/cuda/launch.h": '#include "driver/cpu/features.h"\n'}
    result = check(tmp_path, SOUND | target | driver)
    assert "compiler/metate/Target/Cuda/Emit.h:1:" in result.stdout
    assert "runtime/driver/cuda/launch.h:1:" in result.stdout


def test_targets_are_known_by_their_interface(tmp_path):
    shared = {
        "compiler/metate/Target/C/Emit.h": '#include "metate/Target/Common/Abi.h"\n',
        "compiler/metate/Target/Common/Abi.h": "",
    }
    assert check(tmp_path, SOUND | shared).returncode == 0
    family = {"compiler/metate/Pipelines/Stages.h": '#include "metate/Target/Cpu/Map.h"\n'}
    result = check(tmp_path, SOUND | family)
    assert "compiler/metate/Pipelines/Stages.h:1: compiler/Pipelines may not include compiler/Target/Cpu" in result.stdout


def test_circle_between_compiler_folders_is_named(tmp_path):
    circle = {
        "compiler/metate/Layout/Layout.h": '#include "metate/Level/Dense.h"\n',
        "compiler/metate/Level/Dense.h": '#include "metate/Layout/Layout.h"\n',
    }
    result = check(tmp_path, SOUND | circle)
    assert result.returncode == 1
    assert "Layout and Level include each other in a circle" in result.stdout


@pytest.mark.parametrize("own", ["struct Access {\n};", "constexpr int most = 3, least = 1;", "int find(Op op, int *at) {\n}"])
def test_names_of_files_that_are_compiled_as_one_differ(tmp_path, own):
    map_, rows = "compiler/metate/Target/Cpu/Map.cpp", "compiler/metate/Target/Cpu/Rows.cpp"
    text = f"namespace {{\n{own}\n}} // namespace\n"
    result = check(tmp_path, SOUND | {map_: text, rows: "\n" + text})
    assert result.returncode == 1
    assert f"{rows}:3: files of a folder may be compiled as one" in result.stdout
    assert f"{map_}:2" in result.stdout
    named = f"namespace rows {{\n{text}}} // namespace rows\n"
    elsewhere = {rows: named, "compiler/metate/Transforms/Rows.cpp": text}
    assert check(tmp_path, SOUND | {map_: text} | elsewhere).returncode == 0


def test_function_and_constant_of_one_name_in_a_folder_are_named(tmp_path):
    """Functions that take other types are overloads; a constant is no overload of a function."""
    function, constant = "compiler/metate/Emit/Files.cpp", "compiler/metate/Emit/Passes.cpp"
    texts = {function: "static int joined(int part) {\n}\n", constant: 'static constexpr StringLiteral joined = "dce";\n'}
    result = check(tmp_path, SOUND | texts)
    assert f"{constant}:1: files of a folder may be compiled as one" in result.stdout
    assert f"{function}:1" in result.stdout
    texts[constant] = "static int joined(float part) {\n}\n"
    assert check(tmp_path, SOUND | texts).returncode == 0


def test_circle_between_files_of_a_layer_is_named(tmp_path):
    circle = {
        "abi/metate/abi/base.h": '#include "metate/abi/tree.h"\n',
        "bindings/vdb/Grids.h": '#include "Files.h"\n',
        "bindings/vdb/Files.h": '#include "Grids.h"\n',
        "runtime/tree/tree.h": '#include "type/type.h"\n',
        "runtime/type/type.h": '#include "tree/tree.h"\n',
    }
    result = check(tmp_path, SOUND | circle)
    assert "base and tree include each other in a circle" in result.stdout
    assert "Grids and Files include each other in a circle" in result.stdout
    assert "tree and type include each other in a circle" in result.stdout


@pytest.mark.parametrize("late", ["from .types import f32\n", "def late():\n    from . import types\n"])
def test_circle_between_modules_is_named(tmp_path, late):
    """Also where an import stands in a function: what is bound late is bound nevertheless."""
    circle = {"python/metate/types.py": "from . import fields\n", "python/metate/fields.py": late}
    result = check(tmp_path, SOUND | circle)
    assert result.returncode == 1
    assert "modules metate.fields and metate.types import each other in a circle" in result.stdout
    assert result.stdout.count("circle") == 2  # an edge each, of these two modules only


def test_library_that_needs_more_than_the_c_library_is_named(tmp_path):
    source = tmp_path / "foreign.c"
    source.write_text("void LLVMContextCreate(void) {}\n")
    library = tmp_path / "libforeign.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-Wl,--no-as-needed", "-lz"], check=True)
    result = subprocess.run([sys.executable, SCRIPT, "--root", tmp_path, "--library", library], capture_output=True, text=True)
    assert result.returncode == 1
    assert "foreign symbol LLVMContextCreate" in result.stdout
    assert "it needs libz.so" in result.stdout
