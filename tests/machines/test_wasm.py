"""WebAssembly: a .wasm file run by wasmtime gives this machine's bits; memory is the embedder's, exports are the header's."""

import pathlib
import shutil
import sys

import numpy as np
import pytest

import metate as mt
from metate.errors import CompilationError

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import machine_kernels as kernels  # noqa: E402
import test_firmware  # noqa: E402
from machines import ROOT, run  # noqa: E402
from test_machines import expected_to_fail  # noqa: E402

wasmtime = pytest.importorskip("wasmtime", reason="wasmtime is not installed: scripts/setup installs it")


class Embedder:
    """One instance with a memory of its own; arrays are put behind what the module keeps for itself."""

    def __init__(self, file: pathlib.Path):
        engine = wasmtime.Engine()
        self.store = wasmtime.Store(engine)
        module = wasmtime.Module.from_file(engine, str(file))
        self.imports = [(entry.module, entry.name) for entry in module.imports]
        least = next(entry.type.limits.min for entry in module.imports if entry.name == "memory")
        self.memory = wasmtime.Memory(self.store, wasmtime.MemoryType(wasmtime.Limits(least + 8, None)))
        assert self.imports == [("env", "memory")]  # nothing else is asked for
        given = [self.memory]
        self.exports = wasmtime.Instance(self.store, module, given).exports(self.store)
        self.free = (self.exports["__heap_base"].value(self.store) + 63) // 64 * 64

    def put(self, array: np.ndarray) -> int:
        at, self.free = self.free, self.free + (array.nbytes + 63) // 64 * 64
        self.memory.write(self.store, array.tobytes(), at)
        return at

    def get(self, at: int, like: np.ndarray) -> np.ndarray:
        return np.frombuffer(self.memory.read(self.store, at, at + like.nbytes), like.dtype).reshape(like.shape)

    def call(self, name: str, *arguments) -> int:
        return self.exports[name](self.store, *arguments)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    file = tmp_path_factory.mktemp("wasm") / "machine.wasm"
    failing = [getattr(kernels, name) for name in expected_to_fail("wasm32")]
    assert kernels.module("wasm32", without=failing).save(file) == file
    assert file.with_suffix(".h").is_file()
    return Embedder(file)


def test_only_functions_of_the_header_are_exports(machine):
    names = list(machine.exports)
    assert {name for name in names if not name.startswith(("machine_", "__tvm_ffi_machine_"))} == {"__heap_base"}


def compiled():
    return mt.Context(contract=False)


def test_dense_arrays(machine, rng):
    x, y = (rng.normal(size=50).astype("f4") for _ in range(2))
    at, to = machine.put(x), machine.put(y)
    assert machine.call("machine_dense", 2.5, at, 50, to, 50, 0, 0) == 0
    with compiled():
        kernels.dense(2.5, x, y)
    np.testing.assert_array_equal(machine.get(to, y).view("u4"), y.view("u4"))


def test_doubles_integers_and_halves(machine, rng):
    d, total = rng.normal(size=20), np.zeros(1)
    at, result = machine.put(d), machine.put(total)
    assert machine.call("machine_doubles", at, 20, result, 0, 0) == 0
    p, q = rng.integers(-(2**60), 2**60, 24), rng.integers(-(2**30), 2**30, 24)
    first, second = machine.put(p), machine.put(q)
    assert machine.call("machine_integers", first, 24, second, 24, 0, 0) == 0
    with compiled():
        total = kernels.doubles(d)
        kernels.integers(p, q)
    np.testing.assert_array_equal(machine.get(at, d).view("u8"), d.view("u8"))
    assert machine.get(result, np.zeros(1))[0] == total
    np.testing.assert_array_equal(machine.get(first, p), p)
    np.testing.assert_array_equal(machine.get(second, q), q)


def test_trees_in_the_embedders_memory(machine, rng):
    points, sums = rng.integers(0, 5000, 40, dtype=np.int32), np.zeros(4, np.int64)
    block, at, result = machine.put(np.zeros(128 << 10, "u1")), machine.put(points), machine.put(sums)
    assert machine.call("machine_sparse_reset", block, 128 << 10) == 0
    assert machine.call("machine_sparse_reset", block, 64) == 5  # too small
    assert machine.call("machine_paint", block, at, 40, 0, 0) == 0
    assert machine.call("machine_gather", block, result, 4, 0, 0) == 0
    with compiled():
        tree = kernels.Sparse.new()
        kernels.paint(tree, points)
        kernels.gather(tree, sums)
    np.testing.assert_array_equal(machine.get(result, sums), sums)


def test_functions_and_statuses(machine):
    few = machine.put(np.zeros(3, np.int32))
    assert machine.call("machine_recurse", few, 3, 0, 0) == 0
    np.testing.assert_array_equal(machine.get(few, np.zeros(3, np.int32)), [5, 7, 9])
    large = machine.put(np.array([1, 5000, 2], np.int32))
    assert machine.call("machine_stop", large, 3, 0, 0) == 14  # METATE_E_ASSERT


def test_debug_mode(tmp_path):
    kernels.careful("wasm32").save(tmp_path / "careful.wasm")
    careful = Embedder(tmp_path / "careful.wasm")
    few = careful.put(np.zeros(3, np.int32))
    assert careful.call("careful_beyond", few, 3, 2, 0, 0) == 0
    assert careful.call("careful_beyond", few, 3, 3, 0, 0) == 16  # METATE_E_OUT_OF_RANGE
    np.testing.assert_array_equal(careful.get(few, np.zeros(3, np.int32)), [0, 0, 7])


def test_the_functions_that_it_brings_along_are_exact(tmp_path):
    run("clang-22", "-std=c11", "-O1", "-w", f"-I{ROOT / 'compiler'}", HERE / "library_test.c", "-lm", "-o", tmp_path / "library")
    assert run(tmp_path / "library") == "0\n"


def test_two_modules_in_one_program_do_not_meet(tmp_path):
    """Their kernels have the same names; an object keeps what is not in its header to itself."""
    for name in ("one", "two"):
        mt.aot.Module(targets=["wasm32"], name=name).add_type(kernels.Packed, "packed").add_kernel(kernels.dense).save(
            tmp_path / f"{name}.o"
        )
    run(
        "wasm-ld-22",
        "--no-entry",
        "--export-dynamic",
        "--import-undefined",
        tmp_path / "one.o",
        tmp_path / "two.o",
        "-o",
        tmp_path / "both.wasm",
    )


@pytest.mark.parametrize("name", expected_to_fail("wasm32"))
def test_what_llvm_has_no_code_for_is_an_error(name, tmp_path):
    module = mt.aot.Module(targets=["wasm32"]).add_kernel(getattr(kernels, name))
    with pytest.raises(CompilationError, match=r"machine_kernels.py:\d+: bf16 has no code for 'wasm32-unknown-unknown': use f16"):
        module.save(tmp_path / "machine.wasm")


def test_a_wasm_file_is_of_wasm32(tmp_path):
    with pytest.raises(CompilationError, match="expected the target wasm32"):
        mt.aot.Module(targets=["aarch64"]).add_kernel(kernels.dense).save(tmp_path / "x.wasm")


def test_the_page_of_the_gallery_in_a_browser(tmp_path):
    """The same particles, to the bit, as from the object that this machine's C compiler links."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium: the page is not looked at (Debian's package chromium)")
    page = tmp_path / "water.html"
    run(sys.executable, ROOT / "examples" / "browser" / "page.py", "-o", page)
    seen = run(browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
               "--virtual-time-budget=20000", "--dump-dom", f"{page.as_uri()}#steps=200")  # fmt: skip
    here = test_firmware.printed_by(test_firmware.HERE_TOO, tmp_path)
    assert f"steps 200\nchecksum {here['checksum']}\n" in seen
