"""Objects with a C header: the three call levels agree with each other and with NumPy, and misuse is named.

levels_*.c are compiled here, with and without libmetate, by gcc and under AddressSanitizer.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import metate as mt
from metate import cli
from metate.errors import CompilationError, RuntimeValueError_

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import level_kernels as kernels  # noqa: E402

PARTICLE = np.dtype([("pos", "f4", 3), ("mass", "f8"), ("kind", "i4")], align=True)
INPUTS = [("x", "f4", 100), ("y", "f4", 100), ("matrix", "f8", (6, 5)), ("m", "f8", (2, 2)), ("by", "f4", 3),
          ("points", "f4", (50, 3)), ("scale", "f4", 1)]  # fmt: skip
OUTPUTS = [("y", "f4", 100), ("turned", "f4", (50, 3)), ("weight", "f4"), ("total", "f8"), ("scalars", "f8", 7),
           ("untouched", "f8", 7), ("positive", "i4"), ("rotated", "i4", 10),
           ("particles", PARTICLE, 6), ("heaviest", PARTICLE)]  # fmt: skip
HOST = [HERE / f"levels_{part}.c" for part in ("host", "packed", "standard")]
SANITIZE = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
ABI = [f"-I{ROOT / 'abi'}"]
SESSION = ("bytes", "open", "set_input", "run", "get_output", "close")
COMPILERS = [name for name in ("gcc", "clang-22") if shutil.which(name)]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("levels")
    assert kernels.module().save(folder / "levels.o") == folder / "levels.o"
    return folder


def structs():
    """The host's structs, with C's alignment."""
    return np.dtype(INPUTS, align=True), np.dtype(OUTPUTS, align=True)


def expected(given):
    i, j = np.indices((30, 30))
    painted = (i // 10 == j // 10) & (i >= 10)
    scale = given["scale"][0]
    moved = given["points"] + given["by"]
    turned = np.concatenate([moved[:, :2] @ given["m"].T, moved[:, 2:]], axis=1)
    return {
        "y": 2.5 * given["x"] + given["y"],
        "turned": turned,
        "weight": np.float64((scale * (i + 0.5 * j) + scale)[painted].sum()),
        "total": given["matrix"].sum(),
        "scalars": [1, -100, 65535, -(2.0**40), 4000000000, 0.1, 1.5],
        "untouched": np.full(7, -2.5),
        "positive": 17,
    }


def run_host(host, folder, rng):
    inputs, outputs = structs()
    given = np.zeros((), inputs)
    for name, _, *_ in INPUTS:
        given[name] = rng.normal(size=given[name].shape)
    given.tofile(folder / "inputs")
    run(host, folder / "inputs", folder / "outputs")
    got = np.fromfile(folder / "outputs", outputs)
    assert got.shape == (1,)
    for name, wanted in expected(given).items():
        np.testing.assert_allclose(got[0][name], wanted, rtol=2e-5, atol=1e-5, err_msg=name)
    particles, heaviest = got[0]["particles"], got[0]["heaviest"]
    np.testing.assert_allclose(particles["pos"], given["points"][:6] + 0.25 * given["by"], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(particles["kind"], np.arange(6) + 1)
    masses = given["matrix"].ravel()[:6]
    np.testing.assert_array_equal(particles["mass"], masses)
    best = particles[masses.argmax()] if masses.max() > 0.25 else np.array((given["by"], 0.25, 1), PARTICLE)
    assert all(np.array_equal(heaviest[name], best[name]) for name in PARTICLE.names)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_direct_and_packed_levels_need_the_c_library_only(built, rng, compiler):
    host = built / f"host-{compiler}"
    run(
        compiler,
        "-std=c11",
        "-O1",
        *WARNINGS,
        f"-I{built}",
        *HOST,
        built / "levels.o",
        "-static",
        "-lm",
        "-o",
        host,
    )
    run_host(host, built, rng)
    run(
        compiler,
        "-std=c11",
        "-DWITHOUT_ERRORS",
        *WARNINGS,
        f"-I{built}",
        *HOST,
        built / "levels.o",
        "-lm",
        "-o",
        host,
    )
    run_host(host, built, rng)


def test_the_standard_level_gives_the_same(built, rng):
    host = built / "host-metate"
    library = ROOT / "build" / "lib"
    run("gcc", "-std=c11", "-DWITH_METATE", *WARNINGS, f"-I{built}", f"-I{ROOT / 'include'}", *ABI, *HOST,
        built / "levels.o", f"-L{library}", "-lmetate", f"-Wl,-rpath,{library}", "-lm", "-o", host)  # fmt: skip
    run_host(host, built, rng)


def test_the_levels_under_address_sanitizer(tmp_path, rng):
    kernels.module(sanitizer="address").save(tmp_path / "levels.o")
    host = tmp_path / "host"
    run("clang-22", "-std=c11", *SANITIZE, f"-I{tmp_path}", *HOST,
        tmp_path / "levels.o", "-lm", "-o", host)  # fmt: skip
    run_host(host, tmp_path, rng)


def test_the_support_code_under_address_sanitizer(built, tmp_path, rng):
    """The packed level's own code, compiled with the sanitizer instead of linked from the object."""
    support = ROOT / "compiler" / "metate" / "Module" / "Support"
    objects = []
    for name in ("Block", "Packed", "Session"):
        objects.append(tmp_path / f"{name}.o")
        run("clang-22", "-std=c11", "-O1", *SANITIZE, "-Wall", "-Wextra", "-Werror",
            f"-I{ROOT / 'compiler'}", *ABI, f"-I{ROOT / 'protocol'}", "-c", support / f"{name}.c", "-o", objects[-1])  # fmt: skip
    host = tmp_path / "host"
    run("clang-22", "-std=c11", *SANITIZE, f"-I{ROOT / 'compiler'}",
        *ABI, f"-I{built}", HERE / "support_test.c", *objects, built / "levels.o", "-lm", "-o", host)  # fmt: skip
    assert run(host, rng.integers(1, 2**60)).startswith("ok: ")


@pytest.mark.parametrize("compiler, standard", [(c, s) for c in COMPILERS for s in ("c99", "c11", "c++20")])
def test_the_header_compiles_alone(built, tmp_path, compiler, standard):
    language = "c++" if "+" in standard else "c"
    source = tmp_path / "twice.c"
    source.write_text('#include "levels.h"\n#include "levels.h"\n')
    run(compiler, f"-std={standard}", "-x", language, *WARNINGS, f"-I{built}", "-fsyntax-only", source)


def test_the_header_beside_the_c_api(built, tmp_path):
    for first, second in (("levels.h", "metate/metate.h"), ("metate/metate.h", "levels.h")):
        source = tmp_path / "both.c"
        source.write_text(f'#include "{first}"\n#include "{second}"\n')
        for language, standard in (("c", "c11"), ("c++", "c++20")):
            run("gcc", f"-std={standard}", "-x", language, *WARNINGS, f"-I{built}", f"-I{ROOT / 'include'}", *ABI,
                "-fsyntax-only", source)  # fmt: skip


def test_the_header_says_what_each_parameter_is(built):
    header = (built / "levels.h").read_text()
    line = (HERE / "level_kernels.py").read_text().split("def turn")[0].count("\n") + 1
    place = re.search(r"Kernel 'turn', \S*level_kernels\.py:(\d+)\.", header)
    assert place and abs(int(place[1]) - line) <= 1  # the decorator's line or the function's
    assert "m: f64 matrix of 2 x 2, row after row" in header
    assert "points: f32 array [points_shape0, 3], row-major without gaps; read\n" in header
    assert "static inline float *levels_nested_v_at(void *block, int64_t i, int64_t j, int64_t k) {" in header
    assert "levels_nested_sometimes_at" not in header and "levels_sparse_a_at" not in header  # they may not be there
    assert "block of a tree 'sparse' (levels_sparse_BYTES bytes); written, cells are activated" in header
    assert "Kernel 'rotate'" in header and "Arguments may overlap." in header
    assert "int32_t levels_positive(int32_t x, int32_t int_, int32_t *result, void *const *pools," in header
    assert "-lm" not in header  # none of these kernels calls libm


def test_odd_names_and_types(tmp_path):
    """Names that C does not have or keeps for itself; half-sized floats, booleans, matrices; no kernel, no argument."""
    mt.aot.Module(name="odd").add_kernel(kernels.nothing).add_kernel(kernels.odd).save(tmp_path / "odd.o")
    mt.aot.Module(name="empty").add_type(kernels.Filled, "t").save(tmp_path / "empty.o")
    source = tmp_path / "main.c"
    source.write_text("""#include "odd.h"
#include "empty.h"
int main(void) {
  const uint16_t m[6] = {0x3f80, 0x4000, 0, 0, 0, 0x40a0};
  uint16_t h[4] = {0}, b[12];
  uint8_t flags[3];
  float result[2];
  unsigned char few[8];
  if (odd_odd(1.5f, 1, 2, 3, 4.0f, 1, m, h, 2, 2, b, 2, flags, 3, result, 0, 0) || odd_nothing(0, 0))
    return 2;
  return !(h[0] == 0x4200 && h[1] == 0 && b[6] == 0x3f80 && b[11] == 0x40a0 && flags[2] == 1 && result[0] == 1.5f &&
           result[1] == 10 && empty_module.entry_count == 0 && empty_t_reset(few, 8) != 0);
}
""")
    for compiler in ("gcc", "g++"):
        standard, language = ("c++20", "c++") if compiler == "g++" else ("c99", "c")
        objects = ["-x", "none", tmp_path / "odd.o", tmp_path / "empty.o"]
        run(compiler, f"-std={standard}", "-x", language, *WARNINGS, f"-I{tmp_path}", source, *objects, "-o", tmp_path / "main")
        run(tmp_path / "main")


def test_only_the_entries_are_visible(built):
    symbols = run("llvm-nm-22", "--defined-only", "--extern-only", "-P", built / "levels.o").split("\n")
    names = {line.split()[0] for line in symbols if line}
    own = {"axpy", "total", "scalars", "turn", "paint", "weight", "positive", "untouched", "rotate", "push", "report"}
    types = {"sparse", "filled", "large", "nested"}
    sessions = {f"__tvm_ffi_levels_session_{k}" for k in SESSION}
    assert names == {"levels_module"} | sessions | {f"levels_{k}" for k in own} | {f"__tvm_ffi_levels_{k}" for k in own} | {
        f"levels_{t}_reset" for t in types
    }
    undefined = [line.split()[:2] for line in run("llvm-nm-22", "--undefined-only", "-P", built / "levels.o").splitlines()]
    assert {name for name, letter in undefined if letter == "U"} == {"memcpy", "memset"}
    assert {name for name, letter in undefined if letter == "w"} == {
        "TVMFFIErrorSetRaisedFromCStr", "TVMFFIObjectIncRef", "TVMFFIObjectDecRef", "dlsym"}  # fmt: skip


def test_two_modules_in_one_program(built, tmp_path):
    """Kernels of one name in two modules do not meet."""
    other = mt.aot.Module().add_kernel(kernels.axpy)
    other.save(tmp_path / "other.o")
    source = tmp_path / "main.c"
    source.write_text("""#include "levels.h"
#include "other.h"
int main(void) {
  float x[1] = {1}, y[1] = {1};
  if (levels_axpy(2, x, 1, y, 1, 0, 0) || other_axpy(10, x, 1, y, 1, 0, 0))
    return 2;
  return y[0] != 13;
}
""")
    run(
        "gcc",
        "-std=c99",
        *WARNINGS,
        f"-I{built}",
        f"-I{tmp_path}",
        source,
        built / "levels.o",
        tmp_path / "other.o",
        "-o",
        tmp_path / "two",
    )
    run(tmp_path / "two")


def test_the_same_bytes_for_the_same_input(built, tmp_path):
    kernels.module().save(tmp_path / "levels.o")
    for name in ("levels.o", "levels.h"):
        assert (tmp_path / name).read_bytes() == (built / name).read_bytes()


def test_libraries_and_several_targets(tmp_path):
    module = (
        mt.aot.Module(targets=["x86-64-v3", "aarch64:cortex-a72"], name="two")
        .add_kernel(kernels.axpy)
        .add_kernel(kernels.positive)
    )
    first = module.save(tmp_path / "two.a")
    assert first == tmp_path / "two.x86-64-v3.a"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["two.aarch64-cortex-a72.a", "two.h", "two.x86-64-v3.a"]
    seen = run("llvm-readobj-22", "--file-header", tmp_path / "two.aarch64-cortex-a72.a")
    assert "two.o" in seen and "EM_AARCH64" in seen and "Relocatable" in seen
    assert "two_axpy" in run("llvm-objdump-22", "-d", tmp_path / "two.aarch64-cortex-a72.a")
    source = tmp_path / "main.c"
    source.write_text('#include "two.h"\nint main(void) { int32_t r; return two_positive(1, 2, &r, 0, 0) || r != 5; }\n')
    run("gcc", source, f"-I{tmp_path}", first, "-o", tmp_path / "main")
    run(tmp_path / "main")


def test_what_cannot_be_saved_is_named(tmp_path):
    module = mt.aot.Module().add_kernel(kernels.axpy)
    with pytest.raises(CompilationError, match=r"module 'my-module': its name begins the name of every C function.*pass name="):
        module.save(tmp_path / "my-module.o")
    with pytest.raises(RuntimeValueError_, match=r"save: emit: expected one of metate, so, o, a, c, wasm, got 'exe'"):
        module.save(tmp_path / "ab", emit="exe")
    with pytest.raises(RuntimeValueError_, match=r"emit: expected 'o' for a \.o file, got 'metate'"):
        module.save(tmp_path / "ab.o", emit="metate")
    with pytest.raises(
        RuntimeValueError_, match=r"save: \.dll files cannot be made: expected \.metate, \.so, \.o, \.a, \.c or \.wasm"
    ):
        module.save(tmp_path / "ab.dll")
    with pytest.raises(CompilationError, match="kernel 'module': the C name 'clash_module' stands for something else already"):
        mt.aot.Module(name="clash").add_kernel(kernels.axpy, "module").save(tmp_path / "clash.o")
    assert list(tmp_path.iterdir()) == []


def test_an_object_for_another_machine_is_refused(tmp_path):
    """What the standard level checks before anything of the code runs."""
    kernels_of = mt.aot.Module(targets=["x86-64:znver5"], name="new").add_kernel(kernels.axpy)
    kernels_of.save(tmp_path / "new.o")
    source = tmp_path / "main.c"
    source.write_text("""#include "metate/metate.h"
#include "new.h"
#include <stdio.h>
int main(void) {
  metate_device *device;
  metate_module *module;
  metate_device_open(0, &device);
  metate_status code = metate_module_open_static(device, new_module.descriptor, new_module.bytes, new_module.entries,
                                                 new_module.entry_count, &module);
  printf("%s %s", metate_status_name(code), metate_last_error());
  return 0;
}
""")
    library = ROOT / "build" / "lib"
    run("gcc", f"-I{tmp_path}", f"-I{ROOT / 'include'}", *ABI, source, tmp_path / "new.o", f"-L{library}", "-lmetate",
        f"-Wl,-rpath,{library}", "-o", tmp_path / "main")  # fmt: skip
    said = run(tmp_path / "main")
    if "METATE_OK" in said:
        pytest.skip("this machine runs code for znver5")
    assert re.search(r"METATE_E_UNSUPPORTED module 'new'.*(this CPU lacks|it needs x86-64-v4)", said), said


def test_the_command_line_makes_objects(tmp_path, capsys):
    source = tmp_path / "app.py"
    source.write_text("""import metate as ti

x = ti.field(ti.f32, shape=8)

@ti.kernel
def grow(by: ti.f32):
    for i in x:
        x[i] += by
""")
    assert cli.main(["build", str(source), "-o", str(tmp_path / "app.o"), "--target", "aarch64"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{tmp_path / 'app.o'}: ") and said[1] == f"{tmp_path / 'app.h'}: its C header"
    assert (
        "int32_t app_grow(float by, void *x, void *const *pools, const struct metate_host *host);"
        in (tmp_path / "app.h").read_text()
    )
    assert cli.main(["build", str(source), "-o", f"{tmp_path}/out/", "--emit", "a"]) == 0
    assert (tmp_path / "out" / "module.a").read_bytes().startswith(b"!<arch>") and (tmp_path / "out" / "module.h").exists()
    assert cli.main(["build", str(source), "-o", str(tmp_path / "app.o"), "--emit", "metate"]) == 2
    assert "metate build: save: emit: expected 'o' for a .o file, got 'metate'" in capsys.readouterr().err


@mt.kernel
def steepness(x: mt.types.ndarray(mt.f32, 1)) -> mt.f32:
    total, squares = 0.0, 0.0
    for i in x:
        total += x[i]
        squares += x[i] * x[i]
    return squares / total


def test_what_loops_accumulate_in_is_told_from_the_result(tmp_path):
    mt.aot.Module(name="steep", targets=["x86-64"]).add_kernel(steepness).save(tmp_path / "steep.o")
    header = (tmp_path / "steep.h").read_text()
    assert " *   result: one f32; the result\n" in header
    for name in ("total", "squares"):
        assert f": one f32; memory for the kernel's variable '{name}', which its loops accumulate in\n" in header
