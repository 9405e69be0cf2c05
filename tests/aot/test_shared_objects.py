"""Modules as shared objects: what they export, programs that load and link them, libmetate, and what it refuses.

The kernels and the C program are those of test_static.py: the three levels agree with each other and with NumPy.
"""

import ctypes
import pathlib
import random
import subprocess
import sys

import numpy as np
import pytest
import tvm_ffi

import metate as mt
from metate import cli, runtime
from metate.errors import CompilationError, RuntimeError_, RuntimeValueError_
from metate_native import _runtime

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import level_kernels as kernels
from test_static import ABI, HERE, HOST, ROOT, SESSION, WARNINGS, run, run_host

TOOL = ROOT / "build/bin/metate-run"
LIBRARY = ROOT / "build/lib"
NAMES = ("axpy", "total", "scalars", "turn", "paint", "weight", "positive", "untouched", "rotate", "push", "report")
TYPES = ("sparse", "filled", "large", "nested")
# Packed entries have their kernels' names here, those of the object the module's before it.
RENAMED = [f"-D__tvm_ffi_levels_{name}=__tvm_ffi_{name}" for name in NAMES]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    assert kernels.module().save(folder / "levels.so") == folder / "levels.so"
    assert sorted(path.name for path in folder.iterdir()) == ["levels.h", "levels.so"]
    return folder


def symbols(file):
    """{name: letter} of what a shared object shows to others and takes from them, without versions."""
    lines = run("llvm-nm-22", "--dynamic", "-P", file).splitlines()
    return {name.partition("@")[0]: letter for name, letter, *_ in map(str.split, lines)}


@pytest.mark.parametrize("target", ["native", "aarch64", "riscv64"])
def test_the_symbols_are_these_and_no_others(target, tmp_path):
    """The ABI of a shared object: a symbol that comes or goes is a change for its users."""
    found = symbols(kernels.module(targets=[target]).save(tmp_path / "levels.so"))
    assert {name for name, letter in found.items() if letter in "TD"} == (
        {"levels_module"}
        | {f"levels_{name}" for name in NAMES}
        | {f"levels_{name}_reset" for name in TYPES}
        | {f"__tvm_ffi_{name}" for name in NAMES}
        | {f"__tvm_ffi__metadata_{name}" for name in NAMES}
        | {"__tvm_ffi__doc_axpy"}
        | {f"__tvm_ffi_session_{call}" for call in SESSION}
    )
    rest = {name: letter for name, letter in found.items() if letter not in "TD"}
    weak = {"TVMFFIErrorSetRaisedFromCStr", "TVMFFIObjectIncRef", "TVMFFIObjectDecRef", "TVMFFIStringFromByteArray", "dlsym"}
    assert {name for name, letter in rest.items() if letter == "w"} == weak
    assert rest.keys() - weak == {"memcpy", "memset"}
    needed = run("llvm-readelf-22", "--needed-libs", tmp_path / "levels.so").split()
    assert needed == ["NeededLibraries", "[", "libc.so.6", "]"]


@pytest.mark.parametrize("with_metate", [False, True])
def test_a_program_that_links_it(built, rng, with_metate):
    host = built / f"host{with_metate:d}"
    library = ["-DWITH_METATE", f"-I{ROOT / 'include'}", f"-L{LIBRARY}", "-lmetate", f"-Wl,-rpath,{LIBRARY}"]
    run("gcc", "-std=c11", "-O1", *WARNINGS, *RENAMED, f"-I{built}", *ABI, *HOST, built / "levels.so", f"-Wl,-rpath,{built}",
        *(library if with_metate else ()), "-lm", "-o", host)  # fmt: skip
    run_host(host, built, rng)


def test_a_program_that_loads_it(built):
    """First without libtvm_ffi, then with one that comes after the module."""
    ffi = pathlib.Path(tvm_ffi.__file__).parent
    words = ["gcc", "-std=c11", *WARNINGS, "-DWITH_TVM_FFI", f"-I{ffi / 'include'}", HERE / "loaded_host.c", "-ldl"]
    run(*words, "-o", built / "loaded")
    assert run(built / "loaded", built / "levels.so") == ""
    said = run(built / "loaded", built / "levels.so", ffi / "lib/libtvm_ffi.so")
    assert said == "TypeError: kernel 'axpy': expected 3 arguments (a, x, y), got 2\n"


def test_ctypes(built, rng):
    library = ctypes.CDLL(built / "levels.so")
    x, y = rng.normal(size=(2, 100)).astype(np.float32)
    wanted = np.float32(2) * x + y
    at = [ctypes.c_void_p(array.ctypes.data) for array in (x, y)]
    code = library.levels_axpy(ctypes.c_float(2), at[0], ctypes.c_int64(100), at[1], ctypes.c_int64(100), None, None)
    assert code == 0
    np.testing.assert_allclose(y, wanted, rtol=1e-6)


def test_metate_opens_it(built, tmp_path):
    """As a file: the same types, kernels and signatures; read from anywhere, also while the system has it loaded."""
    kept = ctypes.CDLL(built / "levels.so")
    module = mt.aot.load(built / "levels.so")
    assert module.name == "levels" and set(module.types) == set(TYPES)
    kernels.module().save(tmp_path / "levels.metate")
    other = mt.aot.load(tmp_path / "levels.metate")
    assert {name: kernel.signature() for name, kernel in module.kernels.items()} == {
        name: kernel.signature() for name, kernel in other.kernels.items()
    }
    tree, same = module.types["sparse"].new(), other.types["sparse"].new()
    for opened, block in ((module, tree), (other, same)):
        opened.paint(block, 2.0)
    assert module.weight(tree) == other.weight(same) != 0
    del kept


def test_the_tool_reads_and_runs_it(built):
    shown = run(TOOL, "inspect", built / "levels.so")
    assert "module levels:" in shown and "section .metate: descriptor" in shown and "axpy: 1 task" in shown
    assert run(TOOL, "verify", built / "levels.so").startswith(f"{built / 'levels.so'}: sound")
    said = run(TOOL, "run", built / "levels.so", "axpy", "a=2", "x=iota:[5]", "y=ones:[5]")
    assert "y: f32 [5]: min 1, max 9, mean 5" in said


def test_the_same_bytes_for_the_same_input(built, tmp_path):
    kernels.module().save(tmp_path / "levels.so")
    for name in ("levels.so", "levels.h"):
        assert (tmp_path / name).read_bytes() == (built / name).read_bytes()


def test_the_descriptor_is_the_files(built, tmp_path):
    """Byte for byte: one compile says the same, whatever carries it."""
    file = kernels.module().save(tmp_path / "levels.metate")
    one, other = (_runtime.Module.open_file(runtime.device(), str(path)) for path in (file, built / "levels.so"))
    assert one.descriptor == other.descriptor
    assert other.variants[0]["payload_bytes"] == (built / "levels.so").stat().st_size
    data = (built / "levels.so").read_bytes()
    assert _runtime.Module.open_bytes(runtime.device(), data).descriptor == one.descriptor


def test_nothing_is_needed_where_it_is_made(tmp_path, monkeypatch):
    """No linker, no compiler of C, nothing of the target: the search path is empty."""
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    for target in ("x86-64-v3", "aarch64", "riscv64"):
        assert kernels.module(targets=[target]).save(tmp_path / f"{target}.so").stat().st_size > 10000
    with pytest.raises(CompilationError, match=r"a linker takes objects of CPUs.* for 'vulkan': make a \.metate file"):
        mt.aot.Module(targets=["vulkan"]).add_kernel(kernels.axpy).save(tmp_path / "gpu.so")


def test_the_command_line(tmp_path, capsys):
    source = tmp_path / "app.py"
    source.write_text(
        "import metate as ti\n\nx = ti.field(ti.f32, shape=8)\n\n\n"
        "@ti.kernel\ndef grow(by: ti.f32):\n    for i in x:\n        x[i] += by\n"
    )
    assert cli.main(["build", str(source), "-o", str(tmp_path / "app.so")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{tmp_path / 'app.so'}: ") and said[1] == f"{tmp_path / 'app.h'}: its C header"
    assert cli.main(["build", str(source), "-o", f"{tmp_path}/out/", "--emit", "so"]) == 0
    capsys.readouterr()
    assert mt.aot.load(tmp_path / "out").grow.signature() == "grow(by: f32, x: x)"
    both = ["--target", "x86-64-v3", "--target", "aarch64"]
    assert cli.main(["build", str(source), "-o", f"{tmp_path}/two.so", *both]) == 0
    assert {path.name for path in tmp_path.glob("two.*")} == {"two.x86-64-v3.so", "two.aarch64.so", "two.h"}


def test_names_that_tvm_ffi_keeps(tmp_path):
    for name in ("_library_bin", "_metadata_axpy", "session_run"):
        module = mt.aot.Module().add_kernel(kernels.axpy).add_kernel(kernels.axpy, name)
        with pytest.raises(CompilationError, match=f"kernel '{name}': the C name '__tvm_ffi_{name}' stands for something else"):
            module.save(tmp_path / "names.so")
    with pytest.raises(RuntimeValueError_, match=r"save: \.dylib files cannot be made: expected \.metate, \.so, "):
        kernels.module().save(tmp_path / "names.dylib")


# ---- what libmetate refuses


def refusal(file):
    """What is said of a file that is not opened; the tool says the same."""
    with pytest.raises(RuntimeError_) as refused:
        mt.aot.load(file)
    done = subprocess.run([TOOL, "verify", file], capture_output=True, text=True)
    assert done.returncode == 1 and str(refused.value).splitlines()[0] in done.stderr, done.stderr
    return str(refused.value)


def test_a_changed_file_is_refused(built, tmp_path):
    """Whatever byte it is, also in code, where only the hash can know."""
    whole = (built / "levels.so").read_bytes()
    file = tmp_path / "levels.so"
    draw = random.Random(1)
    places = [*range(0, 64, 7), *(draw.randrange(len(whole)) for _ in range(100))]
    for at in places:
        changed = bytearray(whole)
        changed[at] ^= 1 << draw.randrange(8)
        file.write_bytes(changed)
        with pytest.raises(RuntimeError_):
            mt.aot.load(file)
    for data in (whole[:-1], whole + b"\0", whole[:63], whole[: len(whole) // 2]):
        file.write_bytes(data)
        with pytest.raises(RuntimeError_):
            mt.aot.load(file)
    changed = bytearray(whole)
    changed[whole.index(b"levels_axpy\0")] ^= 1
    file.write_bytes(changed)
    assert "its hash does not match: the file is damaged, or was changed after it was built" in refusal(file)


def test_other_shared_objects_are_refused(built, tmp_path):
    assert "it has no section .metate with a module in it: Metate has not made it" in refusal(LIBRARY / "libmetate.so")
    run("strip", "-o", tmp_path / "stripped.so", built / "levels.so")
    assert "truncated or extended" in refusal(tmp_path / "stripped.so")
    kernels.module().save(tmp_path / "levels.o")
    assert "an object or a program is no module" in refusal(tmp_path / "levels.o")
    kernels.module(targets=["aarch64"]).save(tmp_path / "arm.so")
    with pytest.raises(RuntimeError_, match="another architecture"):
        mt.aot.load(tmp_path / "arm.so")
    assert run(TOOL, "verify", tmp_path / "arm.so")


def test_nothing_of_a_refused_file_runs(built, tmp_path):
    """Its constructor does, once anybody lets the system load it."""
    trace, section, source = tmp_path / "trace", tmp_path / "section", tmp_path / "eager.c"
    run("llvm-objcopy-22", f"--dump-section=.metate={section}", built / "levels.so", tmp_path / "unused.so")
    record = bytearray(section.read_bytes())
    for _ in range(2):  # the record says how long the file is
        source.write_text(f"""#include <stdio.h>
const unsigned char record[] __attribute__((section(".metate"), aligned(64))) = {{{", ".join(map(str, record))}}};
__attribute__((constructor)) static void run(void) {{
  FILE *file = fopen("{trace}", "w");
  if (file)
    fclose(file);
}}
""")
        run("gcc", "-shared", "-fPIC", source, "-o", tmp_path / "levels.so")
        record[16:24] = (tmp_path / "levels.so").stat().st_size.to_bytes(8, "little")
    assert "its hash does not match" in refusal(tmp_path / "levels.so")
    assert not trace.exists()
    ctypes.CDLL(tmp_path / "levels.so")
    assert trace.exists()


def test_a_sanitized_module_is_refused_by_a_plain_process(tmp_path):
    made = mt.aot.Module(sanitizer="thread").add_kernel(kernels.axpy).save(tmp_path / "watched.so")
    with pytest.raises(RuntimeError_, match="instrumented for the thread sanitizer"):
        mt.aot.load(made)


# ---- a stripped build, for the size


def test_strip_leaves_a_module(built, tmp_path):
    """Line tables may go when it is built, not afterwards."""
    from metate_native import _compiler

    source = kernels.module()
    header, (data,) = _compiler.build_library(source.source_module("levels"), source.choices(), strip=True)
    assert header == (built / "levels.h").read_text() and len(data) < (built / "levels.so").stat().st_size
    (tmp_path / "levels.so").write_bytes(data)
    assert mt.aot.load(tmp_path / "levels.so").positive(5, 2) == 17
    assert "debug_line" not in run("llvm-readelf-22", "-S", tmp_path / "levels.so")
