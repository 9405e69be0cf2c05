"""A deterministic module in a C host: the same bits on 1, 2 and 4 threads, run after run, and as the JIT has them."""

import pathlib
import subprocess

import pytest

import metate as mt

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent

Cloud = mt.types.SNodeTreeBuilder().hash(mt.ij).dense(mt.ij, 4).place(a=mt.f32).build()


@mt.kernel
def scatter(f: Cloud, at: mt.types.ndarray(dtype=mt.i32, ndim=2), v: mt.types.ndarray(dtype=mt.f32, ndim=1)):
    for k in range(v.shape[0]):
        f.a[at[k, 0], at[k, 1]] = v[k]


@mt.kernel
def total(f: Cloud, out: mt.types.ndarray(dtype=mt.f32, ndim=1)):
    for I in mt.grouped(f.a):
        out[0] += f.a[I]


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    folder = tmp_path_factory.mktemp("order")
    command = ["gcc", "-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", f"-I{ROOT / 'abi'}",
               HERE / "order_host.c", f"-L{ROOT / 'build/lib'}", f"-Wl,-rpath,{ROOT / 'build/lib'}", "-lmetate",
               "-lmetate_threads", "-o", folder / "host"]  # fmt: skip
    subprocess.run([str(word) for word in command], check=True)
    return folder


def module(folder, deterministic):
    built = mt.aot.Module(deterministic=deterministic)
    built.add_type(Cloud, "cloud")
    built.add_kernel(scatter)
    built.add_kernel(total)
    return built.save(folder / f"order{deterministic}.metate")


def results(host, path, repeat):
    return {
        subprocess.run([host / "host", path, str(threads)], capture_output=True, text=True, check=True).stdout
        for threads in (1, 2, 4)
        for _ in range(repeat)
    }


def test_the_same_bits_on_any_number_of_threads(host):
    (only,) = results(host, module(host, True), 4)
    first, again, used, high = only.split()
    assert first == again and used == high


def test_without_the_option_the_bits_differ(host):
    """Or the test above would say nothing: one thread cuts the sum in another way than four."""
    assert len(results(host, module(host, False), 3)) > 1
