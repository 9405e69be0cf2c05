"""Memory that kernels plan, brought by the caller or by the device's allocator, at each call level.

No part of the language plans memory yet, so the kernel is IR of the import stage (pools.mlir).
"""

import pathlib
import subprocess

import numpy as np
import pytest

from metate import loaded
from metate.errors import RuntimeTypeError_, RuntimeValueError_, TreeError

_compiler = pytest.importorskip("metate_native._compiler")

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
TEXT = (HERE / "pools.mlir").read_text()
N = 1000


def mirrored(x):
    k = np.arange(16)
    return (np.arange(len(x))[:, None] + k).sum(axis=1).astype("f4") + x[::-1]


def choices():
    made = _compiler.Choices()
    made.chunk_ns = 0
    return made


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    file = tmp_path_factory.mktemp("pools") / "pools.metate"
    file.write_bytes(_compiler.run_stages(TEXT, "import", "pack", choices()))
    return loaded.load(file)


@pytest.mark.parametrize("n", [1, 7, N])
def test_the_devices_allocator_gives_the_memory(module, rng, n):
    x, y = rng.random(n, dtype="f4"), np.zeros(n, "f4")
    module.mirror(n, x, y)
    np.testing.assert_array_equal(y, mirrored(x))


def test_a_plan_says_exact_bytes(module):
    x, y = np.zeros(N, "f4"), np.zeros(N, "f4")
    plan = module.mirror.plan(N, x, y)
    copy, tile = plan.pools
    assert (copy.name, copy.bytes, copy.align, copy.kind) == ("copy", 4032, 64, "launch")
    assert (tile.name, tile.bytes, tile.align, tile.kind) == ("tile", 64 * plan.max_workers, 64, "worker")
    assert plan.max_workers >= 1
    assert module.mirror.plan(17, x, y).pools[0].bytes == 128
    assert module.mirror.plan(-5, x, y).pools[0].bytes == 0


def aligned(size, align=64):
    memory = np.zeros(size + align, "u1")
    start = -memory.ctypes.data % align
    return memory[start : start + size]


def test_python_brings_the_memory(module, rng):
    x, y = rng.random(N, dtype="f4"), np.zeros(N, "f4")
    plan = module.mirror.plan(N, x, y)
    pools = {pool.name: aligned(pool.bytes) for pool in plan.pools}
    module.mirror.launch_with(pools, N, x, y)
    np.testing.assert_array_equal(y, mirrored(x))
    assert all(memory.any() for memory in pools.values()), "it was not used"
    y[:] = 0
    module.mirror.launch_with({"tile": pools["tile"]}, N, x=x, y=y)  # the other one from the allocator
    np.testing.assert_array_equal(y, mirrored(x))


def test_pools_that_do_not_fit_are_refused(module):
    x, y = np.zeros(N, "f4"), np.full(N, 7, "f4")
    mirror = module.mirror
    both, grown = aligned(5000), bytearray(5000)
    for kind, text, pools in (
        (TreeError, "pool 'copy': expected at least 4032 bytes, got 100", {"copy": aligned(100)}),
        (TreeError, "pool 'copy': expected an address aligned to 64 bytes", {"copy": aligned(5000)[4:]}),
        (RuntimeValueError_, "pool 'copy' overlaps argument 2 'y'", {"copy": y.view("u1")}),
        (RuntimeValueError_, "pool 'tile' overlaps pool 'copy'", {"copy": both, "tile": both}),
        (RuntimeTypeError_, "expected pools 'copy', 'tile'; got 'tiles'", {"tiles": aligned(100)}),
        (RuntimeTypeError_, "pool 'tile': expected a writable contiguous buffer, got bytes", {"copy": grown, "tile": bytes(99)}),
        (RuntimeTypeError_, "pool 'copy': expected a writable contiguous buffer, got ndarray", {"copy": aligned(9000)[::2]}),
        (RuntimeTypeError_, "pool 'copy': expected a writable contiguous buffer, got int", {"copy": 3}),
    ):
        with pytest.raises(kind, match=text):
            mirror.launch_with(pools, N, x, aligned(4 * N).view("f4") if "argument" not in text else y)
    grown.extend(b"not lent any more")
    assert (y == 7).all(), "nothing ran"


def test_a_size_beyond_all_memory_is_refused(module):
    x = np.zeros(4, "f4")
    with pytest.raises(Exception, match="the allocator refused 18446744073709551615 bytes for pool 'copy'"):
        module.mirror(2**63 - 1, x, x.copy())


def test_inspect_shows_pools(tmp_path):
    file = tmp_path / "pools.metate"
    file.write_bytes(_compiler.run_stages(TEXT, "import", "pack", choices()))
    shown = subprocess.run([ROOT / "build/bin/metate-run", "inspect", file], capture_output=True, text=True, check=True).stdout
    assert "pool copy      4 * n bytes, aligned to 64\n" in shown
    assert "pool tile      64 bytes, aligned to 64, for each worker\n" in shown


def test_null_in_place_of_the_pools_of_c_source(tmp_path):
    source = _compiler.SourceModule("pools")
    source.parse(f"module @pools {{\n{TEXT}\n}}")
    made = choices()
    made.targets = ["c"]
    header, texts = _compiler.build_static(source, made)
    (tmp_path / "pools.h").write_text(header)
    (tmp_path / "pools.c").write_bytes(texts[0])
    (tmp_path / "host.c").write_text('#include "pools.h"\nint main(void) { return pools_mirror(0, 0, 0, 0, 0, 0, 0); }\n')
    subprocess.run(["gcc", f"-I{tmp_path}", "-w", "pools.c", "host.c", "-lm", "-o", "host"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "host"]).returncode == 1  # METATE_E_NULL


@pytest.mark.parametrize("flags", [[], ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]], ids=["", "asan"])
def test_a_host_brings_the_memory(tmp_path, flags):
    source = _compiler.SourceModule("pools")
    source.parse(f"module @pools {{\n{TEXT}\n}}")
    header, objects = _compiler.build_static(source, choices())
    (tmp_path / "pools.h").write_text(header)
    (tmp_path / "pools.o").write_bytes(objects[0])
    program = tmp_path / "host"
    warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(
        [
            "gcc",
            *warnings,
            *flags,
            f"-I{ROOT / 'abi'}",
            f"-I{tmp_path}",
            HERE / "pools_host.c",
            tmp_path / "pools.o",
            "-o",
            program,
        ],
        check=True,
    )
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    x = np.float32(0.25) * (np.arange(N) ** 2 % 97).astype("f4")
    for way, line in zip(("serial", "workers", "unbounded", "packed"), lines[:4]):
        name, status, *values = line.split()
        assert (name, status) == (way, "0")
        np.testing.assert_array_equal(np.array([float.fromhex(value) for value in values], "f4"), mirrored(x))
    assert lines[4:] == [
        "-1 ValueError: kernel 'mirror' pool 'copy': expected at least 4032 bytes",
        "-1 ValueError: kernel 'mirror' pool 'copy': expected an address aligned to 64 bytes",
        "-1 ValueError: kernel 'mirror' pool 'copy': it overlaps argument 2: pass memory of its own",
        "-1 ValueError: kernel 'mirror' pool 'tile': it overlaps pool 0: pass memory of its own",
        "1 1 kernel 'mirror': pools: expected the addresses of 'copy', 'tile', got NULL: bring memory of the sizes that the "
        "module's header says, or launch it by metate_kernel_launch or metate_core_launch",
        "1 1",
    ]
