"""Headers of abi/ and include/ are standard C and C++, each for itself: hosts include them with any warnings."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ABI, INCLUDE = ROOT / "abi", ROOT / "include"
HEADERS = sorted(path.relative_to(ABI).as_posix() for path in ABI.rglob("*.h"))
API = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.h"))
WRAPPERS = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.hpp"))  # of C++20
COMPILERS = [name for name in ("gcc", "clang-22") if shutil.which(name)]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


@pytest.mark.parametrize("language", ["c99", "c11", "c++17", "c++20"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_each_compiles_for_itself(compiler, language, tmp_path):
    assert "metate/abi/grid.h" in HEADERS and "metate/core.h" in API and "metate/metate.hpp" in WRAPPERS
    source = tmp_path / "host"
    for header in [*HEADERS, *API, *(WRAPPERS if language == "c++20" else [])]:
        source.write_text(f'#include "{header}"\n#include "{header}"\nint main(void) {{ return 0; }}\n')
        command = [compiler, "-x", "c++" if "+" in language else "c", f"-std={language}", *WARNINGS, f"-I{ABI}", f"-I{INCLUDE}"]
        done = subprocess.run([*command, "-fsyntax-only", source], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
