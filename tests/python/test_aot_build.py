"""Modules built from Python kernels: saved, opened again, run; and the command line that does the same."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import metate as mt
from metate import cli
from metate.errors import CompilationError, RuntimeTypeError_, RuntimeValueError_

vec3 = mt.types.Vector(mt.f32, 3)
s = mt.types.Struct({"a": mt.f32, "b": vec3})
AOS = mt.types.SNodeTreeBuilder().pointer(mt.ij, 3).dense(mt.ij, 5).place(s).build()
_b = mt.types.SNodeTreeBuilder()
_b.pointer(mt.ij, 3).dense(mt.ij, 5).place(s.a)
_b.pointer(mt.ij, 3).dense(mt.ij, 5).place(s.b)
SOA = _b.build()
Line = mt.types.ndarray(dtype=mt.f32, ndim=1)


@mt.kernel
def saxpy(a: mt.f32, x: Line, y: Line):
    for i in range(x.shape[0]):
        y[i] = a * x[i] + y[i]


@mt.kernel
def fill(f: AOS, scale: mt.f32):
    for i, j in mt.ndrange(15, 15):
        if i // 5 == j // 5:
            f[i, j].a = scale * (i + 0.5 * j)
            f[i, j].b = vec3(i, j, 1.0)


@mt.kernel
def total(f: AOS) -> mt.f64:
    result = mt.cast(0.0, mt.f64)
    for i in range(15):
        for j in range(15):
            result += mt.cast(f[i, j].a, mt.f64)
    return result


@mt.kernel
def loose(x: mt.types.ndarray()):
    for i in range(x.shape[0]):
        x[i] = x[i] + 1


def built(tmp_path, name="ab", **options):
    module = mt.aot.Module(**options)
    module.add_type(AOS, "ab_aos").add_type(SOA, "ab_soa")
    for kernel in (saxpy, fill, total):
        module.add_kernel(kernel)
    return module.save(tmp_path / f"{name}.metate")


def expected_a(scale):
    i, j = np.indices((15, 15))
    return np.where(i // 5 == j // 5, np.float32(scale) * (i + 0.5 * j).astype(np.float32), np.float32(0))


def test_a_saved_module_does_what_its_kernels_do(tmp_path, rng):
    module = mt.aot.load(built(tmp_path))
    assert module.name == "ab" and list(module.types)[:2] == ["ab_aos", "ab_soa"]
    assert module.ab_aos == AOS and module.ab_soa == SOA and module.ab_aos.hash == AOS.hash
    assert module.saxpy.signature() == "saxpy(a: f32, x: ndarray(f32, 1), y: ndarray(f32, 1))"
    assert module.fill.signature() == "fill(f: ab_aos, scale: f32)"
    x, y = rng.normal(size=(2, 1000)).astype(np.float32)
    ahead, now = y.copy(), y.copy()
    module.saxpy(2.5, x, ahead)
    saxpy(2.5, x, now)
    np.testing.assert_allclose(ahead, 2.5 * x + y, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(ahead, now)
    trees = [AOS.new(), module.ab_aos.new()]
    for tree, scale in zip(trees, (1.0, 10.0)):
        module.fill(tree, scale)
        np.testing.assert_array_equal(tree.a.to_numpy(), expected_a(scale))
    assert module.total(trees[1]) == total(trees[1]) == pytest.approx(10 * expected_a(1.0).sum())


def test_the_rfc_spellings(tmp_path):
    assert mt.aot.ModuleBilder is mt.aot.ModuleBuilder
    module = mt.aot.ModuleBuilder(arch=mt.x64)
    module.add_type(AOS, name="ab_aos")
    module.add_kernel(fill, name="run1")
    module.run_optimizations(level=2)
    module.save(output_dir=str(tmp_path / "deep" / "aot_module"))
    opened = mt.aot.load(tmp_path / "deep" / "aot_module")
    assert list(opened.kernels) == ["run1"] and opened.variants[0]["cpu"] == "x86-64"
    tree = opened.ab_aos.new()
    opened.run1(tree, 2.0)
    np.testing.assert_array_equal(tree.a.to_numpy(), expected_a(2.0))


def test_the_same_input_gives_the_same_bytes(tmp_path):
    first = built(tmp_path, targets=["x86-64-v2"]).read_bytes()
    assert built(tmp_path, targets=["x86-64-v2"]).read_bytes() == first


def test_several_targets_in_one_file(tmp_path):
    path = built(tmp_path, targets=["x86-64", "x86-64-v3", "aarch64"])
    opened = mt.aot.load(path)
    assert [(v["arch"], v["level"]) for v in opened.variants] == [(1, 1), (1, 3), (2, 0)]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: mt.aot.Module(mt.x64, targets=["native"]), RuntimeValueError_, "expected arch or targets, got both"),
        (lambda: mt.aot.Module(targets=[]), RuntimeValueError_, "targets: expected names"),
        (lambda: mt.aot.Module(targets=["a", "a"]), RuntimeValueError_, "expected each once"),
        (lambda: mt.aot.Module(targets=["vax"]).add_kernel(saxpy).build(), CompilationError, "vax"),
        (lambda: mt.aot.Module().add_type(s), RuntimeTypeError_, "add_type: expected a tree type, got struct"),
        (lambda: mt.aot.Module().add_type(AOS, "a b"), RuntimeValueError_, "name: expected an identifier, got 'a b'"),
        (lambda: mt.aot.Module().add_type(AOS, "t").add_type(SOA, "t"), RuntimeValueError_, "got 't' twice"),
        (lambda: mt.aot.Module().add_kernel(len), RuntimeTypeError_, "add_kernel: expected a kernel, got <built-in"),
        (lambda: mt.aot.Module().add_kernel(fill).add_kernel(saxpy, "fill"), RuntimeValueError_, "got 'fill' twice"),
        (lambda: mt.aot.Module().run_optimizations(level=4), RuntimeValueError_, "expected 0 to 3, got 4"),
        (lambda: mt.aot.Module().save(), RuntimeValueError_, "expected either path or output_dir"),
        (lambda: mt.aot.Module().add_kernel(loose).build(), TypeError, "parameter 'x': expected a type that is complete"),
    ],
)
def test_wrong_modules_say_expected_and_got(make, error, text):
    with pytest.raises(error, match=text):
        make()


KERNELS = """
import metate as mt
T = mt.types.SNodeTreeBuilder().pointer(mt.i, 8).dense(mt.i, 4).place(x=mt.f32).build()

@mt.kernel
def fill(t: T, value: mt.f32):
    for i in range(16):
        t.x[i] = value * i

@mt.kernel
def loose(x: mt.types.ndarray()):
    for i in range(x.shape[0]):
        x[i] = x[i] + 1

if __name__ == "__main__":
    raise SystemExit("the command line never runs a file as a program")
"""


@pytest.fixture
def kernels(tmp_path):
    file = tmp_path / "some_kernels.py"
    file.write_text(KERNELS)
    return file


def run_cli(*arguments):
    return subprocess.run([sys.executable, "-m", "metate.cli", *map(str, arguments)], capture_output=True, text=True, timeout=120)


def check_module(path):
    opened = mt.aot.load(path)
    tree = opened["T"].new()
    opened["fill"](tree, 2.0)
    np.testing.assert_array_equal(tree.x.to_numpy(), np.where(np.arange(32) < 16, 2.0 * np.arange(32), 0))


def test_build_command(kernels, tmp_path):
    done = run_cli("build", kernels, "-o", tmp_path / "out.metate", "--target", "x86-64-v2")
    assert done.returncode == 0, done.stderr
    assert "left out: loose(x: ndarray())" in done.stderr and "kernels fill, for x86-64-v2" in done.stdout
    check_module(tmp_path / "out.metate")
    assert run_cli("build", kernels, "-o", f"{tmp_path}/folder/").returncode == 0
    check_module(tmp_path / "folder")


def test_every_dump_gives_the_same_module(kernels, tmp_path):
    done = run_cli("stages", kernels, "-o", tmp_path / "all", "--target", "x86-64-v2")
    assert done.returncode == 0, done.stderr
    stages = "import simplify activate offload layout.x86-64-v2 map.x86-64-v2 emit pack".split()
    dumps = [tmp_path / "all" / f"some_kernels.{stage}" for stage in stages]
    assert [pathlib.Path(line) for line in done.stdout.split()] == dumps
    check_module(dumps[-1])
    for stage, dump in zip(stages[:-1], dumps):
        again = tmp_path / "again" / stage
        done = run_cli("stages", "--start-from", stage.partition(".")[0], "--input", dump, "-o", again, "--target", "x86-64-v2")
        assert done.returncode == 0, done.stderr
        assert (again / "some_kernels.pack").read_bytes() == dumps[-1].read_bytes(), f"the dump of {stage}"


def test_dumps_of_two_targets(kernels, tmp_path):
    two = ("--target", "x86-64-v2", "--target", "x86-64-v3")
    assert run_cli("stages", kernels, "-o", tmp_path / "all", *two).returncode == 0
    names = "import simplify activate offload layout.x86-64-v2 layout.x86-64-v3 map.x86-64-v2 map.x86-64-v3 emit pack".split()
    assert {file.name for file in (tmp_path / "all").iterdir()} == {f"some_kernels.{name}" for name in names}
    (tmp_path / "built").mkdir()
    assert run_cli("build", kernels, "-o", tmp_path / "built/some_kernels.metate", *two).returncode == 0
    assert (tmp_path / "built/some_kernels.metate").read_bytes() == (tmp_path / "all/some_kernels.pack").read_bytes()
    dump = tmp_path / "all/some_kernels.map.x86-64-v3"
    assert dump.read_text().startswith("// after map for x86-64-v3: reserve=beside\n")
    refused = run_cli("stages", "--start-from", "map", "--input", dump, "-o", tmp_path / "again", *two)
    assert refused.returncode == 2 and "a dump after map is one target's: expected one --target, got 2" in refused.stderr
    printed = run_cli("stages", kernels, "--stop-after", "layout", *two, "--no-scan-masks").stdout
    assert printed.count("// after layout for x86-64-v") == 2 and "x86-64-v3: scan_masks=false" in printed


def test_stop_after_prints_the_dump(kernels, capsys):
    assert cli.main(["stages", str(kernels), "--stop-after=import", "--kernel", "fill"]) == 0
    assert "metate.kernel @fill" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["stages", "{kernels}", "--stop-after=link"], "--stop-after: expected one of import, simplify, .* got 'link'"),
        (["stages", "{kernels}", "--stop-after=pack"], "say where with -o DIR"),
        (["stages"], "expected either FILE.py or --start-from"),
        (["stages", "--start-from=layout"], "--start-from and --input belong together"),
        (["build", "{kernels}", "-o", "x", "--kernel", "fil"], "has no kernel 'fil'; it has fill, loose"),
        (["build", "absent.py", "-o", "x"], "absent.py: no such file"),
    ],
)
def test_wrong_calls_say_what_to_do(kernels, capsys, arguments, text):
    import re

    assert cli.main([part.replace("{kernels}", str(kernels)) for part in arguments]) == 2
    assert re.search(text, capsys.readouterr().err)


def test_a_wrong_kernel_shows_its_place(kernels, capsys):
    kernels.write_text(KERNELS.replace("value * i", "value * k"))
    assert cli.main(["build", str(kernels), "-o", str(kernels.parent / "x.metate")]) == 1
    shown = capsys.readouterr().err
    assert f"{kernels}:8:" in shown and "t.x[i] = value * k" in shown and "^" in shown
    assert not (kernels.parent / "x.metate").exists()


def test_help_teaches(capsys):
    for command in ("build", "stages"):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        assert "examples:" in capsys.readouterr().out


def test_overlapping_arguments_of_a_module(tmp_path, rng):
    """Without being asked for it, a module refuses arguments that overlap; a kernel added for them runs."""
    module = mt.aot.Module()
    module.add_kernel(saxpy)
    module.add_kernel(saxpy, "saxpy_in_place", may_alias=True)
    loaded = mt.aot.load(module.save(tmp_path / "alias.metate"))
    x = rng.standard_normal(100).astype(np.float32)
    with pytest.raises(mt.RuntimeError_, match=r"'y' is written and overlaps argument 1 'x'"):
        loaded.saxpy(2.0, x, x)
    expected = np.float32(2) * x + x
    loaded.saxpy_in_place(2.0, x, x)
    np.testing.assert_allclose(x, expected, rtol=1e-6)
