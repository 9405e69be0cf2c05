"""A C host that runs kernels whose functions call themselves: from a module's file, in debug mode, and linked."""

import pathlib
import subprocess

import numpy as np

import metate as mt

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent


@mt.real_func
def quicksort(a: mt.types.ndarray(mt.i32, 1), low: mt.i32, high: mt.i32):
    if low < high:
        pivot, i, j = a[(low + high) // 2], low, high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i += 1
                j -= 1
        quicksort(a, low, j)
        quicksort(a, i, high)


@mt.real_func
def fibonacci(n: mt.i32) -> mt.i32:
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@mt.kernel
def sort(a: mt.types.ndarray(mt.i32, 1)):
    quicksort(a, 0, a.shape[0] - 1)


@mt.kernel
def number(n: mt.i32) -> mt.i32:
    return fibonacci(n)


def test_functions_that_call_themselves_in_a_c_host(tmp_path):
    for name, options in (("calls", {}), ("debug", {"debug": True})):
        module = mt.aot.Module(**options).add_kernel(sort).add_kernel(number)
        module.save(tmp_path / f"{name}.metate")
        if not options:
            module.save(tmp_path / "calls.o")
    command = ["gcc", "-std=c11", "-g", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", f"-I{ROOT / 'abi'}",
               f"-I{tmp_path}", HERE / "recursion_host.c", tmp_path / "calls.o", f"-L{ROOT / 'build/lib'}",
               f"-Wl,-rpath,{ROOT / 'build/lib'}", "-lmetate", "-lm", "-o", tmp_path / "host"]  # fmt: skip
    subprocess.run([str(word) for word in command], check=True)
    done = subprocess.run(
        [tmp_path / "host", tmp_path / "calls.metate", tmp_path / "debug.metate"], capture_output=True, text=True, check=True
    )
    numbers, direct, checked, deep = done.stdout.splitlines()
    state, given = 1, []
    for _ in range(1000):
        state = (state * 1664525 + 1013904223) % 2**32
        given.append(state >> 12)
    assert numbers.split() == [str(value) for value in np.sort(given)]
    assert (direct, checked) == ("0 6765", "6765")
    assert deep.startswith("1 ") and "'fibonacci' is called inside itself too often" in deep
