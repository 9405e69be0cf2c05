"""`metate build --bundle` and `--depfile`: a host is built from the bundle alone; what was written is what is listed."""

import hashlib
import os
import pathlib
import platform
import subprocess
import sys

import pytest

from metate import cli

KERNELS = """
import metate as mt

from amounts import AMOUNT

@mt.kernel
def grow(x: mt.types.ndarray(dtype=mt.i32, ndim=1)):
    for i in x:
        x[i] += AMOUNT
"""
STANDARD = """
#include "metate/metate.h"
#include <stdio.h>
int main(void) {
  metate_device *device;
  metate_module *module;
  const metate_kernel *kernel;
  int32_t x[3] = {1, 2, 3};
  int64_t shape[1] = {3};
  metate_array array = {.data = x, .dtype = METATE_I32, .rank = 1, .shape = shape};
  metate_argument argument = {.kind = METATE_ARGUMENT_NDARRAY, .dtype = METATE_I32, .rows = 1, .columns = 1};
  argument.value.array = &array;
  if (metate_device_open(0, &device) || metate_module_open_file(device, "grow.metate", 0, &module) ||
      metate_module_find_kernel(module, "grow", &kernel) || metate_kernel_launch(kernel, &argument, 1))
    return puts(metate_last_error()), 1;
  printf("%d %d %d\\n", x[0], x[1], x[2]);
}
"""
STANDARD_CPP = """
#include "metate/metate.hpp"
#include <cstdio>
int main() {
  auto device = metate::Device::open();
  auto module = metate::Module::open("grow.metate", device);
  int32_t x[3] = {1, 2, 3};
  module.kernel("grow")(std::span(x));
  std::printf("%d %d %d\\n", x[0], x[1], x[2]);
}
"""
DIRECT = """
#include "grow.h"
#include <stdio.h>
int main(void) {
  int32_t x[3] = {1, 2, 3};
  if (grow_grow(x, 3, 0, 0))
    return 1;
  printf("%d %d %d\\n", x[0], x[1], x[2]);
}
"""


@pytest.fixture
def source(tmp_path, monkeypatch):
    (tmp_path / "amounts.py").write_text("AMOUNT = 41\n")
    (tmp_path / "grow.py").write_text(KERNELS)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path / "grow.py"
    for name in ("amounts", "grow"):
        sys.modules.pop(name, None)


def build(*words):
    return cli.main(["build", *map(str, words)])


def run(*command, folder):
    """In an environment that knows of no other headers and libraries."""
    clean = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(folder / "lib")}
    done = subprocess.run([str(word) for word in command], cwd=folder, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def listed(bundle):
    """path -> purpose, of a list whose hashes and sizes are right and whose folder has nothing else."""
    rows = [line.split("\t") for line in (bundle / "FILES.txt").read_text().splitlines() if not line.startswith("#")]
    for digest, size, path, _ in rows:
        data = (bundle / path).read_bytes()
        assert (hashlib.sha256(data).hexdigest(), str(len(data))) == (digest, size), path
    files = {path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if path.is_file()}
    assert files == {path for _, _, path, _ in rows} | {"FILES.txt"}
    return {path: purpose for _, _, path, purpose in rows}


def hint(bundle, begin):
    """The command that a line of the list's head tells."""
    (line,) = [line for line in (bundle / "FILES.txt").read_text().splitlines() if line.startswith(f"# {begin}: ")]
    return line.partition(": ")[2]


def test_hosts_of_the_standard_level_are_built_from_the_bundle_alone(source, tmp_path, capsys):
    bundle = tmp_path / "host"
    assert build(source, "--bundle", bundle) == 0
    assert f"{bundle}/FILES.txt: " in capsys.readouterr().out
    files = listed(bundle)
    run("sh", "-c", hint(bundle, "To check"), folder=bundle)
    used = set()
    for name, text in (("host.c", STANDARD), ("host.cpp", STANDARD_CPP)):
        (bundle / name).write_text(text)
        words = hint(bundle, "A host").replace("host.c", name).split()
        words[0] = "gcc" if name == "host.c" else "g++"
        standard = ["-std=c11"] if name == "host.c" else ["-std=c++20"]
        run(*words, *standard, "-o", "host", "-MMD", "-MF", "used.d", folder=bundle)
        used |= {word for word in (bundle / "used.d").read_text().split() if word.startswith("include/")}
        assert run("./host", folder=bundle) == "42 43 44\n"
    assert used == {path for path in files if path.startswith("include/")}  # nothing less, nothing more
    assert {path for path in files if not path.startswith("include/")} == {"grow.metate", "lib/libmetate.so"}


@pytest.mark.parametrize("emit", ["o", "a"])
def test_hosts_of_the_direct_level_need_the_generated_header_only(source, tmp_path, emit):
    bundle = tmp_path / "host"
    assert build(source, "--bundle", bundle, "--emit", emit) == 0
    assert set(listed(bundle)) == {f"grow.{emit}", "grow.h"}
    (bundle / "host.c").write_text(DIRECT)
    run(*hint(bundle, "A host").replace("cc", "gcc", 1).split(), "-o", "host", folder=bundle)
    assert run("./host", folder=bundle) == "42 43 44\n"


def test_objects_with_the_standard_level(source, tmp_path):
    bundle = tmp_path / "host"
    assert build(source, "--bundle", bundle, "--emit", "o", "--level", "standard", "--name", "big") == 0
    files = listed(bundle)
    assert {"big.o", "big.h", "lib/libmetate.so", "include/metate/metate.hpp"} <= set(files)
    assert files["include/metate/metate.h"] == "the C API: #include it"


def test_a_bundle_for_another_machine_says_what_is_not_there(source, tmp_path):
    other = "aarch64" if platform.machine() == "x86_64" else "x86-64-v2"
    assert build(source, "--bundle", tmp_path / "host", "--target", other, "--target", "cuda:sm_80") == 0
    files = listed(tmp_path / "host")
    assert "lib/libmetate.so" not in files and "include/metate/metate_cuda.h" in files
    assert hint(tmp_path / "host", "Not here").startswith("libmetate.so for ")


def test_a_folder_is_a_bundle_or_empty(source, tmp_path, capsys):
    bundle = tmp_path / "host"
    assert build(source, "--bundle", bundle) == 0
    assert build(source, "--bundle", bundle, "--emit", "o") == 0  # the other bundle's files went
    assert set(listed(bundle)) == {"grow.o", "grow.h"}
    (bundle / "mine.c").write_text("")
    assert build(source, "--bundle", bundle) == 2
    assert f"metate build: --bundle: {bundle} has files that no bundle wrote there: mine.c" in capsys.readouterr().err
    assert (bundle / "grow.o").exists() and (bundle / "mine.c").exists()
    (tmp_path / "file").write_text("")
    assert build(source, "--bundle", tmp_path / "file") == 2
    assert "--bundle: expected a folder, got the file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "expected either -o OUT or --bundle DIR"),
        (("-o", "x.metate", "--bundle", "host"), "expected either -o OUT or --bundle DIR"),
        (("-o", "x.metate", "--level", "direct"), "--level: belongs to --bundle"),
        (("--bundle", "host", "--level", "direct"), "--level: expected standard for a .metate file, got 'direct'"),
    ],
)
def test_what_does_not_go_together_is_named(source, monkeypatch, tmp_path, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    assert build(source, *words) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "host").exists()


def test_the_depfile_names_what_was_imported(source, tmp_path):
    (tmp_path / "with space").mkdir()
    out = tmp_path / "with space" / "grow.o"
    assert build(source, "-o", out, "--depfile", tmp_path / "grow.d") == 0
    rule = (tmp_path / "grow.d").read_text()
    assert rule.startswith(f"{tmp_path}/with\\ space/grow.o {tmp_path}/with\\ space/grow.h: \\\n")
    sources = rule.partition("\n\n")[0].replace("\\\n", "").split()
    assert str(source) in sources and str(tmp_path / "amounts.py") in sources
    assert any("_compiler" in name for name in sources)  # another compiler, other code
    assert not [name for name in sources if "/numpy/" in name or "/lib/python3" in name]
    # make believes it.
    (tmp_path / "Makefile").write_text("with\\ space/grow.o:\n\ttouch again\ninclude grow.d\n")
    (tmp_path / "grow.d").write_text(rule.replace(f"{tmp_path}/with\\ space", "with\\ space"))
    make = ["make", "-s", "with space/grow.o"]
    run(*make, folder=tmp_path)
    assert not (tmp_path / "again").exists()
    newer = out.stat().st_mtime + 2
    os.utime(tmp_path / "amounts.py", (newer, newer))
    run(*make, folder=tmp_path)
    assert (tmp_path / "again").exists()


def test_the_depfile_names_the_files_of_all_targets(source, tmp_path):
    targets = ("--target", "x86-64-v2", "--target", "aarch64:cortex-a72")
    assert build(source, "-o", tmp_path / "grow.o", *targets, "--depfile", tmp_path / "grow.d") == 0
    listed = (tmp_path / "grow.d").read_text().partition(":")[0].split()
    assert [pathlib.Path(path).name for path in listed] == ["grow.x86-64-v2.o", "grow.aarch64-cortex-a72.o", "grow.h"]
    assert all(pathlib.Path(path).is_file() for path in listed)


def test_config_tells_build_systems_where_files_are(capsys):
    assert cli.main(["config", "--libdir", "--includedir", "--cflags", "--libs"]) == 0
    libraries, includes, flags, libs = capsys.readouterr().out.splitlines()
    assert (pathlib.Path(libraries) / "libmetate.so").exists()
    assert any((pathlib.Path(folder) / "metate" / "metate.h").exists() for folder in includes.split())
    assert flags.split() == [f"-I{folder}" for folder in includes.split()]
    assert libs == f"-L{libraries} -lmetate -Wl,-rpath,{libraries}"
    assert cli.main(["config"]) == 2
    assert "metate config: expected at least one of --cmakedir, --pkgconfigdir" in capsys.readouterr().err
