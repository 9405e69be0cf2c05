"""The RFC's program, Python side: two tree types over one struct, kernels over them, one module.

    python examples/rfc/rfc.py          runs the kernels here, on two instances of each type
    python examples/rfc/rfc.py --save   builds out/aot_module and out/ab.metate, for the hosts

Spelled as in the RFC, with `ti` for metate; `save_in_our_names` says the same in Metate's own names.
"""

import pathlib
import sys

import metate as ti

OUT = pathlib.Path(__file__).resolve().parents[2] / "out"

vec3 = ti.types.Vector(ti.f32, 3)
s = ti.types.Struct({"a": ti.f32, "b": vec3})
sn1 = ti.types.SNodeTreeBuilder().pointer(ti.ij, 3).dense(ti.ij, 5).place(s).build()  # AOS
b = ti.types.SNodeTreeBuilder()  # SOA: two branches in one tree
b.pointer(ti.ij, 3).dense(ti.ij, 5).place(s.a)
b.pointer(ti.ij, 3).dense(ti.ij, 5).place(s.b)
sn2 = b.build()


@ti.kernel
def fill1(f: sn1, scale: ti.f32):
    for i, j in ti.ndrange(15, 15):
        if i // 5 == j // 5:
            f[i, j].a = scale * (i + 0.5 * j)
            f[i, j].b = vec3(i, j, 1.0)


@ti.kernel
def fill2(f: sn2, scale: ti.f32):
    for i, j in ti.ndrange(15, 15):
        if i // 5 == j // 5:
            f[i, j].a = scale * (i + 0.5 * j)
            f[i, j].b = vec3(i, j, 1.0)


@ti.kernel
def run1(f: sn1):
    for I in ti.grouped(f):
        v = f[I].a * f[I].b
        print("I=", I, " a*b=", v)


@ti.kernel
def run2(f: sn2):
    for I in ti.grouped(f.a):  # the branches' active sets may differ: one of them is named
        v = f[I].a * f[I].b
        print("I=", I, " a*b=", v)


def save_as_in_the_rfc():
    m = ti.aot.ModuleBuilder(arch=ti.x64)
    m.add_type(sn1, name="ab_aos")
    m.add_type(sn2, name="ab_soa")
    for kernel in (fill1, fill2, run1, run2):
        m.add_kernel(kernel)
    m.run_optimizations(level=2)
    m.save(output_dir=str(OUT / "aot_module"))


def save_in_our_names():
    module = ti.aot.Module(targets=["x86-64-v3", "x86-64-v2"])
    module.add_type(sn1, "ab_aos")
    module.add_type(sn2, "ab_soa")
    for kernel in (fill1, fill2, run1, run2):
        module.add_kernel(kernel)
    module.save(str(OUT / "ab.metate"))


def run_here():
    """Two instances with different data go through one compiled kernel."""
    for tree_type, fill, run in ((sn1, fill1, run1), (sn2, fill2, run2)):
        first, second = tree_type.new(), tree_type.new()
        fill(first, 1.0)
        fill(second, 10.0)
        run(first)
        run(second)
        assert len(run.instances()) == 1


if __name__ == "__main__":
    if sys.argv[1:] == ["--save"]:
        OUT.mkdir(exist_ok=True)
        save_as_in_the_rfc()
        save_in_our_names()
    else:
        run_here()
