"""The RFC's program, Python side: two tree types over one struct, kernels over them, one module.

    python examples/rfc/rfc.py                 runs the kernels here, on two instances of each type
    python examples/rfc/rfc.py --save [FOLDER]  builds aot_module/ and ab.metate in FOLDER (out/), for the hosts

Spelled as in the RFC, with `ti` for metate; `save_in_our_names` says the same in Metate's own names.
"""

import pathlib
import sys

import metate as ti

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


def save_as_in_the_rfc(folder):
    m = ti.aot.ModuleBuilder(arch=ti.x64)
    m.add_type(sn1, name="ab_aos")
    m.add_type(sn2, name="ab_soa")
    for kernel in (fill1, fill2, run1, run2):
        m.add_kernel(kernel)
    m.run_optimizations(level=2)
    m.save(output_dir=str(folder / "aot_module"))


def save_in_our_names(folder):
    module = ti.aot.Module(targets=["x86-64-v3", "x86-64-v2"])
    module.add_type(sn1, "ab_aos")
    module.add_type(sn2, "ab_soa")
    for kernel in (fill1, fill2, run1, run2):
        module.add_kernel(kernel)
    module.save(str(folder / "ab.metate"))


def run_here():
    """Two instances with different data go through one compiled kernel."""
    for name, tree_type, fill, run in (("ab_aos", sn1, fill1, run1), ("ab_soa", sn2, fill2, run2)):
        instances = tree_type.new(), tree_type.new()
        fill(instances[0], 1.0)
        fill(instances[1], 10.0)
        for number, instance in enumerate(instances):
            print("==", name, run.__name__, number)
            run(instance)
        assert len(run.instances()) == 1


def main(arguments):
    if arguments[:1] == ["--save"]:
        folder = pathlib.Path(arguments[1] if arguments[1:] else "out")
        folder.mkdir(parents=True, exist_ok=True)
        save_as_in_the_rfc(folder)
        save_in_our_names(folder)
    else:
        run_here()


if __name__ == "__main__":
    main(sys.argv[1:])
