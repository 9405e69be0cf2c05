"""What hosts are compiled against: abi.txt has the layouts of the public structs on two machines, the values of the public
enumerators, and the symbols of each library.

Run as a program it writes the file anew; read the difference before it is committed. What is there already does not change: hosts
and modules that exist were compiled with it. What comes new is behind it, or has a name of its own.
"""

import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = pathlib.Path(__file__).with_name("abi.txt")
MACHINES = ["x86_64-linux-gnu", "thumbv7em-none-eabi"]
LIBRARIES = ["cuda", "signature", "simt", "tbb", "threads", "vulkan"]
_RECORD = re.compile(r"^\*\*\* Dumping AST Record Layout\n((?:.+\n)+)", re.MULTILINE)
_PLACE = re.compile(r"\((unnamed|anonymous) at [^)]*\)")
_ENUMERATOR = re.compile(
    r"\(DW_TAG_enumerator\)\n.*DW_AT_name +: (?:\(.*\): )?(METATE_\w+).*\n.*DW_AT_const_value *: (?:\(.*\) )?(-?\w+)"
)

pytestmark = pytest.mark.skipif(not shutil.which("clang-22"), reason="clang-22 says where members are, and is not there")


def headers():
    """Of abi/, then of include/; those of devices and drivers are of machines with a system."""
    for folder in ("abi", "include"):
        yield from (path.relative_to(ROOT / folder).as_posix() for path in sorted((ROOT / folder).rglob("*.h")))


def layouts(machine):
    """The public structs and unions, by name, with the offsets of their members."""
    program = "".join(f'#include "{header}"\n' for header in headers())
    command = [
        "clang-22",
        f"--target={machine}",
        "-x",
        "c",
        "-std=c11",
        "-I",
        ROOT / "abi",
        "-I",
        ROOT / "include",
        "-fsyntax-only",
    ]
    if machine.endswith("eabi"):
        command += ["-ffreestanding", "-nostdlibinc"]
    dump = ["-Xclang", "-fdump-record-layouts-complete", "-"]
    done = subprocess.run([*command, *dump], input=program, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found = {}
    for record in _RECORD.finditer(done.stdout):
        lines = [_PLACE.sub(r"\1", line).rstrip() for line in record[1].splitlines()]
        name = re.search(r"(?:struct|union) (\w+)", lines[0])
        if name and name[1].startswith("metate"):
            found[name[1]] = "\n".join(lines)
    return [found[name] for name in sorted(found)]


def enumerators(folder):
    """NAME VALUE of each, as debug information has them."""
    program, made = "".join(f'#include "{header}"\n' for header in headers()), folder / "enumerators.o"
    command = ["gcc", "-x", "c", "-std=c11", "-g", "-gdwarf-4", "-fno-eliminate-unused-debug-types", "-I", ROOT / "abi"]
    subprocess.run([*command, "-I", ROOT / "include", "-c", "-", "-o", made], input=program, text=True, check=True)
    done = subprocess.run(["readelf", "-wi", made], capture_output=True, text=True, check=True)
    return sorted({f"{name} {int(value, 0)}" for name, value in _ENUMERATOR.findall(done.stdout)})


def symbols(library):
    path = ROOT / "build" / "lib" / f"libmetate{library}.so"
    if not path.exists():
        pytest.skip(f"{path.name} is not built here")
    done = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True)
    return sorted(line.split()[-1] for line in done.stdout.splitlines())


def sections():
    parts = FILE.read_text().split("=== ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1].strip("\n") for part in parts}


@pytest.mark.parametrize("machine", MACHINES)
def test_structs_are_where_hosts_expect_them(machine):
    assert "\n\n".join(layouts(machine)) == sections()[f"structs, {machine}"]


def test_enumerators_keep_their_values(tmp_path):
    assert "\n".join(enumerators(tmp_path)) == sections()["enumerators"]


@pytest.mark.parametrize("library", ["", *(f"_{library}" for library in LIBRARIES)])
def test_libraries_have_the_symbols_of_their_headers(library):
    assert "\n".join(symbols(library)) == sections()[f"symbols, libmetate{library}"]


def write_anew():
    parts = [f"=== structs, {machine}\n" + "\n\n".join(layouts(machine)) + "\n" for machine in MACHINES]
    with tempfile.TemporaryDirectory() as folder:
        parts.append("=== enumerators\n" + "\n".join(enumerators(pathlib.Path(folder))) + "\n")
    for library in ["", *(f"_{library}" for library in LIBRARIES)]:
        parts.append(f"=== symbols, libmetate{library}\n" + "\n".join(symbols(library)) + "\n")
    FILE.write_text("\n".join(parts))


if __name__ == "__main__":
    write_anew()
