"""The headers of abi/ are standard C and C++, each for itself: hosts include them with any warnings."""

import pathlib
import shutil
import subprocess

import pytest

ABI = pathlib.Path(__file__).resolve().parents[2] / "abi"
HEADERS = sorted(path.relative_to(ABI).as_posix() for path in ABI.rglob("*.h"))
COMPILERS = [name for name in ("gcc", "clang-22") if shutil.which(name)]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


@pytest.mark.parametrize("language", ["c99", "c11", "c++20"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_each_compiles_for_itself(compiler, language, tmp_path):
    assert "metate/abi/grid.h" in HEADERS
    source = tmp_path / "host"
    for header in HEADERS:
        source.write_text(f'#include "{header}"\n#include "{header}"\nint main(void) {{ return 0; }}\n')
        command = [compiler, "-x", "c++" if "+" in language else "c", f"-std={language}", *WARNINGS, f"-I{ABI}", "-fsyntax-only"]
        done = subprocess.run([*command, source], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
