"""The tree protocol compiles for devices: freestanding, without recursion, calls through pointers or a library."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "compiler/metate/Emit/Support/Tree.c"
CLANG = ("clang-22", "-std=c11", "-ffreestanding", "-g0", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/abi", f"-I{ROOT}/protocol")
PTX = ("-Xclang", "-target-cpu", "-Xclang", "sm_80", "-Xclang", "-target-feature", "-Xclang", "+ptx80")
DEVICES = ("nvptx64-nvidia-cuda", "spirv64")
HOSTS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")


def compile_ir(target, *flags, source=SOURCE):
    machine = PTX if target.startswith("nvptx") else ()
    command = [*CLANG, f"--target={target}", *machine, "-S", "-emit-llvm", *flags, source, "-o", "-"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def calls_of(ir):
    """{function: called names} of a module's definitions; a call through a pointer is the name `*`."""
    calls, own = {}, None
    for line in ir.splitlines():
        if line.startswith("define"):
            own = calls.setdefault(re.search(r"@([\w.]+)\(", line)[1], set())
        elif own is not None and re.search(r"\b(call|invoke)\b(?!.* asm )", line):
            found = re.search(r"@([\w.]+)\(", line)
            own.add(found[1] if found else "*")
    return calls


def find_circle(calls):
    """Functions that call one another in a circle; empty: there is none."""
    done = set()

    def visit(name, path):
        if name in path:
            return path[path.index(name) :]
        if name in done:
            return []
        for called in calls.get(name, ()):
            circle = visit(called, [*path, name])
            if circle:
                return circle
        done.add(name)
        return []

    return next((circle for name in calls if (circle := visit(name, []))), [])


@pytest.mark.parametrize("target", DEVICES)
def test_device_code_has_no_recursion_and_no_calls_through_pointers(target):
    calls = calls_of(compile_ir(target, "-O0"))
    assert len([name for name in calls if name.startswith("metate_rt_")]) >= 13
    assert find_circle(calls) == []
    assert [name for name, called in calls.items() if "*" in called] == []
    outside = {name for called in calls.values() for name in called if name not in calls}
    assert {name for name in outside if not name.startswith("llvm.")} == set()


@pytest.mark.parametrize("target", HOSTS)
def test_host_code_calls_its_executor_alone_through_a_pointer(target):
    calls = calls_of(compile_ir(target, "-O0"))
    assert find_circle(calls) == []
    assert [name for name, called in calls.items() if "*" in called] == ["over_slots"]


def test_circles_and_calls_through_pointers_are_seen(tmp_path):
    source = tmp_path / "wrong.c"
    source.write_text("int g(int);\nint f(int n) { return n ? g(n - 1) : 0; }\nint g(int n) { return f(n); }\n"
                      "int h(int (*p)(int)) { return p(1); }\n")  # fmt: skip
    calls = calls_of(compile_ir("nvptx64-nvidia-cuda", "-O0", source=source))
    assert sorted(find_circle(calls)) == ["f", "g"]
    assert "*" in calls["h"]


def test_blocks_lie_in_global_memory():
    for target in DEVICES:
        ir = compile_ir(target, "-O1")
        assert re.search(r"define .*@metate_rt_claim\(ptr addrspace\(1\)", ir), target
        assert not re.search(r"(atomicrmw|cmpxchg)( weak)? (\w+ )?ptr %", ir.split("@metate_rt_reserve")[0]), target


def test_ptx_orders_read_modify_writes_by_fences():
    """LLVM 22 emits each atomicrmw of NVPTX relaxed: the orders that the protocol needs are fences around it."""
    ir = compile_ir("nvptx64-nvidia-cuda", "-O1")
    assert set(re.findall(r"atomicrmw .* (monotonic|acquire|release|acq_rel|seq_cst)", ir)) == {"monotonic"}
    command = [*CLANG, "--target=nvptx64-nvidia-cuda", *PTX, "-O2", "-S", SOURCE, "-o", "-"]
    ptx = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "fence.acq_rel" in ptx and ".func" in ptx and "call.uni (retval0), %rd" not in ptx
