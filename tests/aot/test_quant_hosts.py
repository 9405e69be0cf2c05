"""Quantised members of shipped modules: accessors of generated headers, libmetate from C and C++, and Python."""

import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import metate as mt

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import quant_kernels as kernels  # noqa: E402

ROUNDS = 4
COMPILERS = [name for name in ("gcc", "clang-22") if shutil.which(name)]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wcast-qual", "-Werror"]
METATE = [f"-I{ROOT / 'include'}", f"-I{ROOT / 'abi'}", f"-L{ROOT / 'build/lib'}", f"-Wl,-rpath,{ROOT / 'build/lib'}", "-lmetate"]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quant")
    kernels.module().save(folder / "quant.o")
    kernels.module().save(folder / "quant.metate")
    (folder / "members.h").write_text(kernels.members())
    return folder


@pytest.fixture
def values(rng):
    """One dict of arrays for each round."""
    return [{name: kernels.numbers(rng, name) for name in kernels.names()} for _ in range(ROUNDS)]


def expected(values):
    """All members after each round, and after the kernel."""
    tree, found = kernels.Numbers.new(), []
    for given in values:
        for name, array in given.items():
            tree[name].from_numpy(array)
        found.append({name: tree[name].to_numpy() for name in given})
    kernels.mix(tree, 0.375)
    return [*found, {name: tree[name].to_numpy() for name in values[0]}]


def packed(rounds):
    return b"".join(array.tobytes() for given in rounds for array in given.values())


def unpacked(data):
    row = np.dtype([(name, kernels.compute(name), kernels.COUNT) for name in kernels.names()])
    return np.frombuffer(data, row)


def same(found, wanted):
    """To the bit, zeros' signs too."""
    rows = unpacked(found)
    assert len(rows) == len(wanted)
    for number, (row, given) in enumerate(zip(rows, wanted)):
        for name, array in given.items():
            differ = row[name].view(f"u{array.itemsize}") != array.view(f"u{array.itemsize}")
            assert not differ.any(), (number, name, np.flatnonzero(differ), row[name][differ], array[differ])


# Contraction and reassociation are C's own affair: what is stored must not depend on them.
CASES = {
    "c99": ["-std=c99", "-O2"],
    "c11 at O0": ["-std=c11", "-O0"],
    "fast contraction": ["-std=gnu11", "-O3", "-march=native", "-ffp-contract=fast"],
    "sanitized": ["-std=c99", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "c++17": ["-x", "c++", "-std=c++17", "-O2"],
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("case", CASES)
def test_the_header_has_the_same_numbers(built, tmp_path, values, compiler, case):
    (tmp_path / "values").write_bytes(packed(values))
    link = ["-x", "none", built / "quant.o", *(["-lstdc++"] if "c++" in case else []), "-lm"]
    run(compiler, *CASES[case], *WARNINGS, f"-I{built}", HERE / "quant_host.c", *link, "-o", tmp_path / "host")
    run(tmp_path / "host", tmp_path / "values", tmp_path / "found")
    same((tmp_path / "found").read_bytes(), expected(values))


def test_libmetate_stores_the_same_bytes(built, tmp_path, values):
    (tmp_path / "values").write_bytes(packed(values))
    run("gcc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-DWITH_METATE", f"-I{built}", HERE / "quant_host.c",
        built / "quant.o", *METATE, "-lm", "-o", tmp_path / "host")  # fmt: skip
    run(tmp_path / "host", tmp_path / "values", tmp_path / "found")
    same((tmp_path / "found").read_bytes(), expected(values))


@pytest.mark.parametrize("compiler, standard", [(c, s) for c in COMPILERS for s in ("c99", "c11", "c++17", "c++20")])
def test_the_header_compiles_alone(built, tmp_path, compiler, standard):
    kernels.module("other").save(tmp_path / "other.o")
    source = tmp_path / "twice.c"
    source.write_text('#include "quant.h"\n#include "other.h"\n#include "quant.h"\n')
    for options in ([], ["-ffreestanding"]):
        run(compiler, f"-std={standard}", "-x", "c++" if "+" in standard else "c", *WARNINGS, *options, f"-I{built}",
            f"-I{tmp_path}", "-fsyntax-only", source)  # fmt: skip


def test_the_header_says_how_members_are_stored(built):
    header = (built / "quant.h").read_text()
    assert "/* Member 'x13' (f32 in 13 bits, in steps of 0.1; i < 64). */" in header
    assert "/* Member 'q_g19' (f32 in 19 bits without sign, its exponent 6; i < 64). */" in header
    assert "/* Member 's1' (f32 in 14 bits without sign and a shared exponent of 6; i < 64). */" in header
    assert "static inline int32_t quant_nested_c_get(const void *block, int64_t i, int64_t j, int64_t k) {" in header
    assert "static inline void quant_numbers_s1_set(void *block, int64_t i, float value) {" in header
    assert "static inline float *quant_numbers_plain_at(void *block, int64_t i) {" in header
    # Cells that may be inactive are read, those that may have no memory not even that; none is an array's element.
    assert "quant_nested_m_get" in header and "quant_nested_m_set" not in header and "quant_nested_p_get" not in header
    assert "quant_sparse_mass" not in header and re.findall(r"(\w+)_at\(", header) == ["quant_numbers_plain"]
    assert max(len(line) for line in header.split("\n") if not line.startswith(("/*", " *"))) <= 100


def test_a_header_without_quantised_members_has_none_of_this(tmp_path):
    plain = mt.types.SNodeTreeBuilder().dense(mt.i, 4).place(a=mt.f32).build()
    sparse = mt.types.SNodeTreeBuilder().pointer(mt.i, 4).quant_array(mt.i, 4, max_num_bits=32).place(a=kernels.quant.int(3))
    mt.aot.Module(name="few").add_type(plain, "plain").add_type(sparse.build(), "sparse").save(tmp_path / "few.o")
    header = (tmp_path / "few.h").read_text()
    assert "few_plain_a_at" in header and "metate_quant" not in header and "sparse_a" not in header
