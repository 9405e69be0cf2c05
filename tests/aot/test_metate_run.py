"""metate-run: bench, merge, --json, --expect, --guard and --level, on modules that are built here."""

import json
import pathlib
import subprocess

import numpy as np
import pytest

import metate as mt

_compiler = pytest.importorskip("metate_native._compiler")

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "build" / "bin" / "metate-run"
T = mt.types.SNodeTreeBuilder().pointer(mt.ij, 4).dense(mt.ij, 4).place(h=mt.f32).build()


@mt.kernel
def axpy(s: mt.f32, x: mt.types.ndarray(dtype=mt.f32, ndim=1), y: mt.types.ndarray(dtype=mt.f32, ndim=1)):
    for i in x:
        y[i] += s * x[i]


@mt.kernel
def total(x: mt.types.ndarray(dtype=mt.f32, ndim=2)) -> mt.f64:
    s = mt.f64(0.0)
    for i, j in x:
        s += x[i, j]
    return s


@mt.kernel
def scalars(
    a: mt.i8, b: mt.u16, c: mt.i64, d: mt.f64, v: mt.types.vector(2, mt.i32), out: mt.types.ndarray(dtype=mt.f64, ndim=1)
):
    out[0], out[1], out[2], out[3] = a, b, c, d
    out[4] = v[0] - v[1]
    print("a is", a)


@mt.kernel
def paint(f: T, n: mt.i32):
    for i, j in mt.ndrange(n, n):
        f[i, j].h = i * 10 + j


@mt.kernel
def beyond(x: mt.types.ndarray(dtype=mt.f32, ndim=1), by: mt.i32):
    for i in x:
        x[i + by] = 1.0


@mt.kernel
def positive(x: mt.types.ndarray(dtype=mt.i32, ndim=1)):
    for i in x:
        assert x[i] > 0, "not positive"


@mt.kernel
def histogram(x: mt.types.ndarray(dtype=mt.i32, ndim=1), h: mt.types.ndarray(dtype=mt.i32, ndim=1)):
    for i in x:
        h[x[i] % 64] += 1


KERNELS = (histogram, axpy, total, scalars, paint, beyond, positive)


def module(*kernels, targets=("native",), name="m", **options):
    made = mt.aot.Module(targets=list(targets), name=name, **options)
    made.add_type(T, "T")
    for kernel in kernels:
        made.add_kernel(kernel)
    return made


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return module(*KERNELS, asserts=True).save(tmp_path_factory.mktemp("metate-run") / "m.metate")


def metate_run(*words, status=0):
    done = subprocess.run([str(RUN), *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done.stderr if status else done.stdout


def test_inspect_as_json(file):
    seen = json.loads(metate_run("inspect", file, "--json"))
    assert seen["name"] == "m" and seen["bytes"] == file.stat().st_size and len(seen["signature"]) == 32
    (tree,) = seen["types"]
    assert tree["name"] == "T" and [level["kind"] for level in tree["levels"]] == ["root", "pointer", "dense", "place"]
    assert (
        tree["levels"][1]["axes"] == ["i", "j"] and tree["levels"][1]["extents"] == [4, 4] and tree["levels"][0]["parent"] is None
    )
    kernels = {kernel["name"]: kernel for kernel in seen["kernels"]}
    assert set(kernels) == {kernel.__name__ for kernel in KERNELS}
    y = kernels["axpy"]["arguments"][2]
    assert y == {"name": "y", "type": "ndarray(f32, 1)", "access": ["read", "write"], "result": False}
    assert kernels["total"]["arguments"][-1]["result"] and kernels["axpy"]["file"].endswith("test_metate_run.py")
    assert seen["variants"][0]["payload_bytes"] > 0


def test_run_as_json(file):
    text = metate_run(
        "run", file, "scalars,total,paint", *SCALARS, "x=ones:[3,5]", "f=new", "n=6", "--json", "--expect=return=15"
    )
    seen = json.loads(text)  # what kernels print is elsewhere
    assert [kernel["name"] for kernel in seen["kernels"]] == ["scalars", "total", "paint"]
    assert seen["written"]["return"] == {"dtype": "f64", "shape": [], "count": 1, "min": 15, "max": 15, "mean": 15}
    assert seen["written"]["f"]["members"]["h"]["active_cells"] == 64 and seen["written"]["f"]["members"]["h"]["max"] == 55
    assert seen["expected"] == {"return": "ok"}


SCALARS = ("a=-7", "b=65535", "c=-5000000000", "d=0.1", "v=3,10", "out=zeros:[5]")


@pytest.mark.parametrize("level", ["standard", "direct"])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_levels_agree(file, tmp_path, level, threads):
    x, y = np.random.default_rng(3).random((2, 5000), np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "wanted.npy", y + np.float32(2.5) * x)
    common = (f"--level={level}", f"--threads={threads}")
    said = metate_run("run", file, "axpy", "s=2.5", f"x={tmp_path}/x.npy", f"y={tmp_path}/y.npy", *common,
                      f"--expect=y={tmp_path}/wanted.npy:1e-6")  # fmt: skip
    assert "y: as expected" in said
    said = metate_run("run", file, "scalars", *SCALARS, *common, "--expect=out=-7,65535,-5000000000,0.1,-7")
    assert "a is -7" in said
    metate_run("run", file, "total", "x=iota:[50,60]", *common, "--expect=return=4498500")
    metate_run("run", file, "paint", "f=new", "n=9", *common, f"--save=f.h={tmp_path}/h.npy") if level == "standard" else None
    metate_run("run", file, "paint", "f=new", "n=9", *common, f"--expect=f.h={grid(tmp_path, 9)}")


def grid(folder, n):
    i, j = np.indices((16, 16))
    np.save(folder / "grid.npy", np.where((i < n) & (j < n), i * 10 + j, 0).astype(np.float32))
    return folder / "grid.npy"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The module as a linker makes a library of its object."""
    folder = tmp_path_factory.mktemp("library")
    module(*KERNELS, asserts=True).save(folder / "m.o")
    subprocess.run(["gcc", "-shared", folder / "m.o", "-lm", "-o", folder / "libm.so"], check=True)
    return folder / "libm.so"


@pytest.mark.parametrize("level", ["standard", "direct", "packed"])
def test_a_shared_library_has_all_levels(library, tmp_path, level):
    common = (f"--level={level}", "--guard")
    metate_run("run", library, "axpy", "s=2.5", "x=iota:[3]", "y=ones:[3]", *common, "--expect=y=1,3.5,6")
    said = metate_run("run", library, "scalars", *SCALARS, *common, "--expect=out=-7,65535,-5000000000,0.1,-7")
    assert ("a is -7" in said) == (level != "packed")  # packed calls have no host to print on
    metate_run("run", library, "total", "x=iota:[5,6]", *common, "--expect=return=435")
    metate_run("run", library, "paint", "f=new", "n=9", *common, f"--expect=f.h={grid(tmp_path, 9)}")
    metate_run("run", library, "histogram", "x=ones:[1000]", "h=zeros:[64]", *common, "--json")
    assert "median" in metate_run("bench", library, "axpy", "s=1", "x=ones:[9]", "y=ones:[9]", "--seconds=0.01", *common)


def test_packed_errors_are_shown(library, file, tmp_path):
    said = metate_run("run", library, "positive", "x=zeros:[3]", "--level=packed", status=1)
    assert said.startswith("metate-run: AssertionError: ") and "kernel 'positive': assertion failed: not positive" in said
    other = tmp_path / "other.so"
    other.write_bytes(library.read_bytes())
    said = metate_run("run", other, "axpy", status=1)
    assert (
        f"{other}: expected the module 'other' in it, and found no symbol other_module: call the library after the module" in said
    )
    other.write_bytes(library.read_bytes()[:2000])
    assert f"cannot load {other}: it is damaged" in metate_run("run", other, "axpy", status=1)


def test_direct_calls_fail_by_status(file):
    assert "kernel 'positive': its entry returned METATE_E_ASSERT" in metate_run(
        "run", file, "positive", "x=zeros:[3]", "--level=direct", status=1
    )
    assert "ndarray(i32, 1)" not in metate_run("run", file, "positive", "x=ones:[3]", "--level=direct")
    assert "expected a 1-dimensional array" in metate_run("run", file, "positive", "x=ones:[3,3]", "--level=direct", status=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("axpy", "--expect=y=1"), "y: expected 1 (relative tolerance 0), got 2 at [1]; 3 of 4 elements differ"),
        (("axpy", "--expect=y=1,2,3"), "--expect: y: expected one number or 4 of them, got '1,2,3'"),
        (
            ("axpy", "--expect=y=1:much"),
            "--expect: y: expected FILE.npy, a number or numbers, perhaps with :RTOL behind, got '1:much'",
        ),
        (("axpy", "--expect=y"), "--expect: expected NAME=VALUE, got 'y'"),
        (("axpy", "--expect=q=1"), "--expect: no argument named 'q'"),
        (("axpy", "--expect=y={short}"), "y: expected f64 [2], got f32 [4]"),
        (
            ("axpy", "--level=packed"),
            "--level: a .metate file has no packed entries: objects and the shared libraries that are made of them have",
        ),
        (("axpy", "--level=2"), "--level: expected standard, direct or packed, got '2'"),
        (("axpy", "--elements=4"), "run: unknown option '--elements=4'"),
        (("axpy", "--threads=0"), "--threads: expected a number from 1 to 999999, got '0'"),
    ],
)
def test_wrong_words_and_results_are_named(file, tmp_path, words, message):
    np.save(tmp_path / "short.npy", np.zeros(2))
    words = [word.format(short=tmp_path / "short.npy") for word in words]
    assert message in metate_run("run", file, *words, "s=1", "x=iota:[4]", "y=ones:[4]", status=1)


def test_expectations_within_a_tolerance(file):
    words = ("axpy", "s=1", "x=ones:[4]", "y=ones:[4]")
    metate_run("run", file, *words, "--expect=y=2.001:1e-3")
    metate_run("run", file, *words, "--expect=y=2.001:1e-4", status=1)


@pytest.mark.parametrize("level", ["standard", "direct"])
def test_guards_name_what_was_touched(file, level):
    words = (file, "beyond", "x=zeros:[1000]", "--guard", f"--level={level}")
    said = metate_run("run", *words, "by=1", status=1)
    assert said == "metate-run: --guard: a kernel touched memory behind the end of array 'x', at byte 0 behind it\n"
    metate_run("run", *words, "by=0")
    metate_run("run", file, "paint", "f=new", "n=16", "--guard", "--threads=2", f"--level={level}")


def test_bench(file):
    words = (file, "axpy", "s=2", "x=random:1:[10000]", "y=zeros:[10000]", "--seconds=0.05", "--threads=2")
    assert "ns for each of 10000 elements" in metate_run("bench", *words, "--elements=x")
    seen = json.loads(metate_run("bench", *words, "--elements=20000", "--json"))
    assert seen["samples"] >= 9 and 0 < seen["min_ns"] <= seen["median_ns"] <= seen["max_ns"]
    assert seen["median_ns_per_element"] == pytest.approx(seen["median_ns"] / 20000)
    before = json.loads(metate_run("bench", file, "paint,paint", "f=new", "n=16", "--seconds=0.01", "--json"))
    assert before["kernel"] == "paint" and "elements" not in before
    wrong = {
        "--elements=s": "--elements: expected a number, or the name of an array that is not empty, got 's'",
        "--seconds=0": "--seconds: expected a number up to 3600, got '0'",
        "--expect=y=1": "bench: --expect belongs to run",
        "--repeat=2": "bench: unknown option",
    }
    for word, message in wrong.items():
        assert message in metate_run("bench", *words, word, status=1)


TARGETS = ("x86-64-v2", "x86-64-v3", "aarch64")


def test_merged_modules_are_what_one_build_makes(tmp_path):
    """Byte by byte, of kernels with trees, texts of asserts, pools and slices."""
    whole = module(*KERNELS, targets=TARGETS, asserts=True).save(tmp_path / "whole.metate")
    single = [module(*KERNELS, targets=[target], asserts=True).save(tmp_path / f"{target}.metate") for target in TARGETS]
    said = metate_run("merge", *single, "-o", tmp_path / "merged.metate")
    assert said == f"{tmp_path}/merged.metate: {whole.stat().st_size} bytes, {len(TARGETS)} variants\n"
    assert "private_copies" in metate_run("inspect", whole)
    assert (tmp_path / "merged.metate").read_bytes() == whole.read_bytes()
    pair = tmp_path / "pair.metate"
    metate_run("merge", *single[:2], "-o", pair)
    metate_run("merge", pair, *single[2:], "-o", tmp_path / "again.metate")
    assert (tmp_path / "again.metate").read_bytes() == whole.read_bytes()


def test_pools_that_differ_are_each_variants_own(tmp_path):
    text = (pathlib.Path(__file__).parent / "pools.mlir").read_text()
    for target, tile in (("x86-64-v2", 64), ("x86-64-v3", 64), ("aarch64", 256)):
        choices = _compiler.Choices()
        choices.targets = [target]
        source = text.replace('"tile" worker bytes 64', f'"tile" worker bytes {tile}')
        (tmp_path / target).write_bytes(_compiler.run_stages(source, "import", "pack", choices))
    pair, merged = tmp_path / "pair.metate", tmp_path / "merged.metate"
    metate_run("merge", tmp_path / "x86-64-v2", tmp_path / "x86-64-v3", "-o", pair)
    assert "of variant" not in metate_run("inspect", pair)
    metate_run("merge", pair, tmp_path / "aarch64", "-o", merged)
    pools = [line.split() for line in metate_run("inspect", merged).splitlines() if " pool " in line]
    assert [(line[1], line[2], line[-1]) for line in pools if line[1] == "tile"] == [
        ("tile", "64", "0"),
        ("tile", "64", "1"),
        ("tile", "256", "2"),
    ]
    wanted = tmp_path / "wanted.npy"
    x = np.arange(50, dtype=np.float32)
    np.save(wanted, (np.arange(50)[:, None] + np.arange(16)).sum(axis=1).astype("f4") + x[::-1])
    for level in ("standard", "direct"):
        words = ("mirror", "n=50", "x=iota:[50]", "y=zeros:[50]", "--threads=3", "--guard", f"--level={level}")
        metate_run("run", merged, *words, f"--expect=y={wanted}")


n = mt.Dim("n", min=1, max=4096, multiple=4)
named = mt.types.ndarray(mt.f32, shape=(n,))


@mt.kernel
def squares(x: named, y: named):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]


def fourth_powers():
    g = mt.graph.GraphBuilder()
    x, y = (mt.graph.Arg(mt.graph.ArgKind.NDARRAY, name, mt.f32, shape=(n,)) for name in "xy")
    between = g.intermediate("between", mt.f32, (n,))
    g.dispatch(squares, x, between)
    g.dispatch(squares, between, y)
    return g.compile("fourth")


def placed(targets, memory="sram"):
    place = {"place": {"intermediates": memory}} if memory else {}
    return mt.aot.Module(targets=targets, name="m").add_kernel(squares).add_graph("fourth", fourth_powers(), **place)


def test_named_extents_and_places_are_merged(tmp_path):
    whole = placed(TARGETS).save(tmp_path / "whole.metate")
    single = [placed([target]).save(tmp_path / f"{target}.metate") for target in TARGETS]
    merged = tmp_path / "merged.metate"
    metate_run("merge", *single, "-o", merged)
    assert merged.read_bytes() == whole.read_bytes()
    loaded = mt.aot.load(merged)
    x, y = np.arange(8, dtype="f4"), np.zeros(8, "f4")
    loaded.fourth(x, y)
    assert (y == x**4).all() and loaded.fourth.plan(x, y).pools[0].memory == "sram"
    with pytest.raises(ValueError, match="multiple of 4"):
        loaded.squares(x[:6].copy(), y[:6].copy())


def test_pools_of_other_places_are_each_variants_own(tmp_path):
    pair = [
        placed([target], memory).save(tmp_path / f"{target}.metate")
        for target, memory in zip(TARGETS, ("sram", ""), strict=False)
    ]
    metate_run("merge", *pair, "-o", tmp_path / "merged.metate")
    pools = [line for line in metate_run("inspect", tmp_path / "merged.metate").splitlines() if " pool " in line]
    assert len(pools) == 2 and "in sram" in pools[0] and "sram" not in pools[1]


def test_kernels_of_other_numbers_of_tasks_are_merged(tmp_path):
    """A machine cuts a kernel into the tasks that suit it: a histogram is one for a GPU, and several for a CPU."""
    targets = ("native", "cuda:sm_80")
    whole = module(histogram, targets=targets).save(tmp_path / "whole.metate")
    single = [module(histogram, targets=[target]).save(tmp_path / f"{number}.metate") for number, target in enumerate(targets)]
    tasks = [json.loads(metate_run("inspect", one, "--json"))["kernels"][0]["tasks"] for one in (*single, whole)]
    assert tasks[0] != tasks[1] and tasks[2] == max(tasks)
    for order in (single, single[::-1]):
        metate_run("merge", *order, "-o", tmp_path / "merged.metate")
        words = ("histogram", "x=iota:[4]", "h=zeros:[4]", "--expect=h=1")
        metate_run("run", tmp_path / "merged.metate", *words)
    metate_run("merge", *single, "-o", tmp_path / "merged.metate")
    assert (tmp_path / "merged.metate").read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("emit", "kind"),
    [("so", "a shared object"), ("o", "an object for a linker"), ("a", "a static library"), ("c", "C source")],
)  # fmt: skip
def test_files_of_one_machine_are_not_merged(file, tmp_path, emit, kind):
    other = module(axpy).save(tmp_path / f"one.{emit}")
    said = metate_run("merge", file, other, "-o", tmp_path / "c.metate", status=1)
    assert f"merge: {other}: expected .metate files, got {kind}, which has the code of one machine: save the module as" in said


def test_merged_modules_run(tmp_path):
    parts = [
        module(axpy, targets=[target]).save(tmp_path / f"{number}.metate")
        for number, target in enumerate(("native", "cuda:sm_80"))
    ]
    metate_run("merge", *parts, "-o", tmp_path / "both.metate")
    metate_run("run", tmp_path / "both.metate", "axpy", "s=1", "x=ones:[4]", "y=ones:[4]", "--expect=y=2")
    assert [one["machine"] for one in json.loads(metate_run("inspect", tmp_path / "both.metate", "--json"))["variants"]][
        1
    ] == "cuda 8.0"


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: module(axpy, total, targets=["aarch64"]), "the second one has more kernels"),
        (lambda: module(total, targets=["aarch64"]), "only the first one has the kernel 'axpy'"),
        (lambda: module(axpy, targets=["aarch64"], name="n"), "the module is called 'm', and 'n'"),
        (lambda: module(axpy, targets=["x86-64-v3"]), "both have code for 'x86-64-v3' (x86_64-unknown-linux-gnu)"),
        (lambda: module(axpy, targets=["aarch64"], debug=True), "the kernel 'axpy' was compiled with other options"),
        (lambda: mt.aot.Module(targets=["aarch64"], name="m").add_kernel(axpy), "only the first one has the tree type 'T'"),
        (lambda: module(targets=["aarch64"]).add_kernel(total, "axpy"), "the arguments of the kernel 'axpy' differ"),
    ],
)  # fmt: skip
def test_modules_that_do_not_belong_together_are_refused(tmp_path, other, message):
    first = module(axpy, targets=["x86-64-v3"]).save(tmp_path / "a.metate")
    second = other().save(tmp_path / "b.metate")
    said = metate_run("merge", first, second, "-o", tmp_path / "c.metate", status=1)
    assert f"metate-run: merge: {first} and {second}: {message}" in said
    assert not (tmp_path / "c.metate").exists()


def test_merge_takes_sound_files(file, tmp_path):
    (tmp_path / "broken.metate").write_bytes(file.read_bytes()[:-1])
    said = metate_run("merge", file, tmp_path / "broken.metate", "-o", tmp_path / "c.metate", status=1)
    assert f"merge: {tmp_path}/broken.metate: METATE_E_CORRUPT: module file: says" in said
    assert "merge: expected at least two files, and -o OUT.metate" in metate_run("merge", file, "-o", "x", status=1)
