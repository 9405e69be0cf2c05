"""Vectors as C: functions of whole vectors against the same functions that LLVM takes apart into numbers, bit for bit.

In vectors of the machine that the file is compiled for, and in arrays of numbers (METATE_NO_VECTORS).
"""

import ctypes
import os
import pathlib
import shutil
import subprocess

import c_code
import numpy as np
import pytest

SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}
INTEGERS, FLOATS = ("i8", "i16", "i32", "i64"), ("float", "double")
WAYS = [
    ("gcc", "-O1"),
    ("gcc", "-O3", "-march=native"),
    ("gcc", "-O2", "-DMETATE_NO_VECTORS"),
    ("clang", "-O2", "-march=native"),
    ("clang", "-O0"),
]


def bodies():
    """Name: (numbers of a vector, LLVM IR between the loads of %a, %b, %c, %m and what is stored, its type)."""
    found = {}
    for n in (3, 16):
        for t in INTEGERS if n == 16 else ("i32",):
            v = f"<{n} x {t}>"
            for op in ("add", "sub", "mul", "and", "or", "xor"):
                found[f"{op}_{t}_{n}"] = n, t, f"%r = {op} {v} %a, %b", v
            for op in ("shl", "lshr", "ashr"):
                count = f"%s = and {v} %b, splat ({t} 7)"
                found[f"{op}_{t}_{n}"] = n, t, f"{count}\n %r = {op} {v} %a, %s", v
            for test in ("eq", "ne", "ult", "uge", "slt", "sle", "sgt", "sge"):
                body = f"%t = icmp {test} {v} %a, %b\n %r = select <{n} x i1> %t, {v} %b, {v} %c"
                found[f"icmp_{test}_{t}_{n}"] = n, t, body, v
            for op in ("smin", "umax"):
                body = f"%r = call {v} @llvm.{op}.v{n}{t}({v} %a, {v} %b)"
                found[f"{op}_{t}_{n}"] = n, t, body, v
            for op in ("add", "xor", "smax", "umin", "and"):
                found[f"reduce_{op}_{t}_{n}"] = n, t, f"%r = call {t} @llvm.vector.reduce.{op}.v{n}{t}({v} %a)", t
        for t in FLOATS if n == 16 else ("float",):
            v, short = f"<{n} x {t}>", "f32" if t == "float" else "f64"
            for op in ("fadd", "fsub", "fmul", "fdiv"):
                found[f"{op}_{t}_{n}"] = n, t, f"%r = {op} {v} %a, %b", v
            found[f"fneg_{t}_{n}"] = n, t, f"%r = fneg {v} %a", v
            for test in ("oeq", "une", "olt", "oge", "ult", "ord", "uno", "one", "ueq"):
                body = f"%t = fcmp {test} {v} %a, %b\n %r = select <{n} x i1> %t, {v} %b, {v} %c"
                found[f"fcmp_{test}_{t}_{n}"] = n, t, body, v
            for op in ("minnum", "maxnum", "minimum", "maximum"):
                found[f"{op}_{t}_{n}"] = n, t, f"%r = call {v} @llvm.{op}.v{n}{short}({v} %a, {v} %b)", v
            for op in ("sqrt", "fabs", "floor"):
                found[f"{op}_{t}_{n}"] = n, t, f"%r = call {v} @llvm.{op}.v{n}{short}({v} %a)", v
            found[f"fma_{t}_{n}"] = n, t, f"%r = call {v} @llvm.fma.v{n}{short}({v} %a, {v} %b, {v} %c)", v
            start = f"%r = call {t} @llvm.vector.reduce.fadd.v{n}{short}({t} 1.0, {v} %a)"
            found[f"reduce_fadd_{t}_{n}"] = n, t, start, t
            bits = "i32" if t == "float" else "i64"
            found[f"bits_{t}_{n}"] = n, t, f"%r = bitcast {v} %a to <{n} x {bits}>", f"<{n} x {bits}>"
            found[f"round_trip_{t}_{n}"] = n, t, f"%s = fptosi {v} %c to <{n} x i32>\n %r = sitofp <{n} x i32> %s to {v}", v
        v, at = f"<{n} x float>", f"<{n} x i64>"
        found[f"splat_{n}"] = (
            n,
            "float",
            f"%x = load float, ptr %pb\n %i = insertelement {v} poison, float %x, i32 0\n "
            + (f"%s = shufflevector {v} %i, {v} poison, <{n} x i32> zeroinitializer\n %r = fadd {v} %s, %a"),
            v,
        )
        order = ", ".join(f"i32 {(7 * k + 3) % (2 * n)}" for k in range(n))
        found[f"shuffle_{n}"] = n, "float", f"%r = shufflevector {v} %a, {v} %b, <{n} x i32> <{order}>", v
        found[f"insert_{n}"] = n, "float", f"%x = extractelement {v} %b, i32 1\n %r = insertelement {v} %a, float %x, i32 2", v
        numbers = ", ".join(f"i64 {k * 5 % n}" for k in range(n))
        places = f"%g = getelementptr float, ptr %pb, {at} <{numbers}>"
        mask = f"%m = fcmp olt {v} %a, %c"
        gather = f"%r = call {v} @llvm.masked.gather.v{n}f32.v{n}p0(<{n} x ptr> align 4 %g, <{n} x i1> %m, {v} %a)"
        found[f"gather_{n}"] = n, "float", f"{places}\n {mask}\n {gather}", v
        scatter = f"call void @llvm.masked.scatter.v{n}f32.v{n}p0({v} %a, <{n} x ptr> align 4 %g, <{n} x i1> %m)"
        found[f"scatter_{n}"] = n, "float", f"{places}\n {mask}\n {scatter}\n %r = load {v}, ptr %pb, align 4", v
        load = f"%r = call {v} @llvm.masked.load.v{n}f32.p0(ptr align 4 %pb, <{n} x i1> %m, {v} %a)"
        found[f"load_{n}"] = n, "float", f"{mask}\n {load}", v
        store = f"call void @llvm.masked.store.v{n}f32.p0({v} %a, ptr align 4 %pb, <{n} x i1> %m)"
        found[f"store_{n}"] = n, "float", f"{mask}\n {store}\n %r = load {v}, ptr %pb, align 4", v
        logic = f"{mask}\n %n = fcmp ogt {v} %b, %c\n %x = xor <{n} x i1> %m, %n\n %y = and <{n} x i1> %x, %m"
        found[f"logic_{n}"] = n, "float", f"{logic}\n %r = sext <{n} x i1> %y to <{n} x i32>", f"<{n} x i32>"
        found[f"wider_{n}"] = n, "float", f"{logic}\n %r = zext <{n} x i1> %y to <{n} x i64>", f"<{n} x i64>"
        found[f"any_{n}"] = (
            n,
            "float",
            f"{mask}\n %w = call i1 @llvm.vector.reduce.or.v{n}i1(<{n} x i1> %m)\n" + (" %r = zext i1 %w to i32"),
            "i32",
        )
    return found


def functions(name, n, t, body, result):
    """The same function twice: its vectors stay, and are taken apart."""
    v = f"<{n} x {t}>"
    loads = "".join(f" %{x} = load {v}, ptr %p{x}, align {SIZES[t]}\n" for x in "abc")
    text = f"(ptr %pa, ptr %pb, ptr %pc, ptr %o) ATTRIBUTE {{\n{loads} {body}\n"
    text += f" store {result} %r, ptr %o, align 1\n ret void\n}}\n"
    whole = f"define void @{name}_whole" + text.replace("ATTRIBUTE", '"metate-lanes"')
    return whole + f"define void @{name}_apart" + text.replace("ATTRIBUTE", "")


def data(rng, n, t):
    """Three vectors; floats with zeros of both signs, infinities, NaNs and numbers that are equal."""
    if t in INTEGERS:
        return [rng.integers(-40, 40, n).astype(f"i{SIZES[t]}") << (8 * SIZES[t] - 8) * int(rng.integers(0, 2)) for _ in range(3)]
    some = np.array([0.0, -0.0, 1.5, -2.25, 3e9, np.inf, -np.inf, np.nan, 1e-40])
    return [np.where(rng.random(n) < 0.3, rng.choice(some, n), rng.normal(size=n) * 9).astype(f"f{SIZES[t]}") for _ in range(3)]


def numbers(bits, result):
    """What must agree: of a NaN that it is one."""
    if "float" in result or "double" in result:
        values = bits.view("f8" if "double" in result else "f4")
        return np.where(np.isnan(values), np.nan, values).tobytes()
    return bits.tobytes()


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vectors")
    build = pathlib.Path(os.environ.get("METATE_BUILD", "build"))
    (folder / "vectors.ll").write_text("".join(functions(name, *row) for name, row in bodies().items()))
    subprocess.run([build / "bin" / "metate-c", folder / "vectors.ll", folder / "vectors.c"], check=True)
    text = (folder / "vectors.c").read_text()
    assert "metate_vadd_f32_16" in text
    return folder / "vectors.c"


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_whole_vectors_are_their_numbers(source, tmp_path, rng, way):
    compiler, *options = way
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    made = c_code.compile_file(source, tmp_path / "vectors.so", *options, "-shared", "-fPIC", "-lm", compiler=compiler)
    library = ctypes.CDLL(str(made))
    for name, (n, t, _, result) in bodies().items():
        for _ in range(3):
            given = data(rng, n, t)
            found = []
            for kind in ("apart", "whole"):
                copies = [one.copy() for one in given]
                out = np.zeros(8 * n, np.uint8)
                getattr(library, f"{name}_{kind}")(*(ctypes.c_void_p(one.ctypes.data) for one in [*copies, out]))
                found.append(numbers(out, result))
            assert found[0] == found[1], (name, given)
