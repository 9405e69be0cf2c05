"""The import stage's IR: its shape, its places, and the KernelBuilder without a syntax tree."""

import re

import pytest

import metate as ti

_compiler = pytest.importorskip("metate_native._compiler")

vec3 = ti.types.vector(3, ti.f32)
Tree = ti.types.SNodeTreeBuilder().pointer(ti.ij, 3).dense(ti.ij, 5).place(a=ti.f32, b=vec3).build()
X = ti.types.ndarray(dtype=ti.f32, ndim=1)


def text_of(kernel, locations=False, **keywords):
    module = kernel.import_module(**keywords)
    assert module.verify() == ""
    return module.text(locations)


def lines_with(text, part):
    return [line.strip() for line in text.splitlines() if part in line]


def test_parameters():
    @ti.kernel
    def k(
        f: Tree,
        x: ti.types.ndarray(dtype=vec3, ndim=2),
        y: ti.types.ndarray(dtype=ti.u16, ndim=1, contiguous=True),
        n: ti.u32,
        v: vec3,
        flag: bool,
    ) -> ti.f64:
        return ti.f64(n)

    (head,) = lines_with(text_of(k), "metate.kernel @k")
    assert f'{Tree} {{metate.name = "f"}}' in head
    strided = "memref<?x?x3xf32, strided<[?, ?, ?]>>"
    assert f'{strided} {{metate.element = array<i64: 3>, metate.name = "x"}}' in head
    assert 'memref<?xi16> {metate.name = "y", metate.type = ui16}' in head
    assert 'i32 {metate.name = "n", metate.type = ui32}' in head
    assert 'vector<3xf32> {metate.name = "v"}' in head
    assert 'i1 {metate.name = "flag"}' in head
    assert 'memref<f64> {metate.name = "return", metate.result}' in head
    assert "may_alias" not in head


def test_may_alias_is_an_attribute_of_the_kernel():
    @ti.kernel
    def k(x: X):
        x[0] = 1.0

    assert "may_alias" in text_of(k, may_alias=True)


def test_only_the_outermost_loops_are_parallel():
    @ti.func
    def inner(x: ti.template(), i):
        for j in range(3):
            x[i + j] += 1.0

    @ti.func
    def in_order(x: ti.template()):
        last = 0.0
        for j in range(3):
            last = last * 2 + x[j]
        x[0] = last

    @ti.kernel
    def k(f: Tree, x: X):
        in_order(x)
        for i, j in ti.ndrange(4, (1, 5)):
            x[i] = j
        for I in ti.grouped(f):
            for j in range(3):
                f[I].a += j
        ti.loop_config(serialize=True)
        for i in range(10):
            x[i] += 1.0
        inner(x, 2)
        for n in ti.static(range(2)):
            for i in x:
                x[i] = n
        if x[0] > 0:
            for i in range(10):
                x[i] = 1.0

    text = text_of(k)
    indents = {
        op: [len(l) - len(l.lstrip()) for l in text.splitlines() if op in l]
        for op in ("metate.range", "metate.for_each", "scf.for")
    }
    assert indents["metate.range"] == [4] * 4  # directly in the kernel, or in a function that it calls there
    assert indents["metate.for_each"] == [4]
    assert indents["scf.for"] == [4, 6, 4, 6]


def test_every_operation_has_its_place():
    @ti.func
    def half(x):
        return x / 2

    @ti.kernel
    def k(x: X):
        for i in range(x.shape[0]):
            x[i] = half(x[i])

    text = text_of(k, True)
    assert "loc(unknown)" not in text
    first = k.source.first_line
    assert f'"{__file__}":{first + 3}:' in text
    place = half.source.first_line + 2
    inlined = re.search(rf'(#loc\d*) = loc\("{re.escape(__file__)}":{place}:\d+\)', text)
    assert inlined, "the division stands at its line in the function"
    assert f"callsite({inlined[1]} at" in text


def test_augmented_assignments():
    @ti.kernel
    def k(f: Tree, x: X):
        for i in range(3):
            x[i] += 1.0
            x[i] -= 2.0
            x[i] *= 3.0
            x[i] /= 4.0
            f.a[i, i] += 1.0
            f.b[i, i] += 1.0
            local = x[i]
            local += 1.0
            x[i] = local

    text = text_of(k)
    assert len(lines_with(text, "memref.atomic_rmw addf")) == 2
    assert len(lines_with(text, "memref.atomic_rmw mulf")) == 1
    assert len(lines_with(text, "arith.divf")) == 1
    assert len(lines_with(text, "metate.atomic addf")) == 2
    assert "memref.alloca() : memref<f32>" in text


def test_struct_for_of_alike_branches_walks_the_first():
    builder = ti.types.SNodeTreeBuilder()
    builder.pointer(ti.ij, 3).dense(ti.ij, 5).place(a=ti.f32)
    builder.pointer(ti.ij, 3).dense(ti.ij, 5).place(b=vec3)
    soa = builder.build()

    @ti.kernel
    def k(f: soa):
        for i, j in f:
            f[i, j].b = f[i, j].a

    (loop,) = lines_with(text_of(k), "metate.for_each")
    assert '["a"]' in loop


def test_division_by_a_known_number_has_no_guard():
    @ti.kernel
    def known(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        x[0] = x[1] // 7

    @ti.kernel
    def unknown(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        x[0] = x[1] // x[2]

    @ti.kernel
    def power_of_two(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        x[0] = x[1] // 16 + x[2] % 16

    assert "cmpi eq" not in text_of(known)
    assert len(lines_with(text_of(unknown), "cmpi eq")) == 2
    assert "arith.shrsi" in text_of(power_of_two) and "arith.divsi" not in text_of(power_of_two)


def test_print_is_one_statement():
    @ti.kernel
    def k(n: ti.u8, v: vec3):
        print("n", n, v, sep=": ", end=";")

    (line,) = lines_with(text_of(k), "metate.print")
    assert '["n: ", unit, ": [", unit, ", ", unit, ", ", unit, "];"] unsigned [true, false, false, false]' in line


def test_kernels_of_one_module():
    @ti.kernel
    def first(x: X):
        x[0] = 1.0

    @ti.kernel
    def wrong(x: X):
        x[0] = nothing  # noqa: F821

    @ti.kernel
    def second(f: Tree):
        f.a[0, 0] = 1.0

    module = _compiler.SourceModule("several")
    module.add_named_type("grid", str(Tree))
    first.import_module(module=module)
    with pytest.raises(ti.NameError_):
        wrong.import_module(module=module)
    second.import_module(module=module)
    assert module.verify() == ""
    text = module.text(False)
    assert "metate.kernel @first" in text and "metate.kernel @second" in text
    assert "@wrong" not in text, "a kernel that fails leaves nothing behind"
    assert "metate.named_type @grid = !metate.tree" in text
    with pytest.raises(_compiler.CompileError, match="the module has 'grid' already"):
        module.add_named_type("grid", str(Tree))


def builder_for(module):
    return _compiler.KernelBuilder(module, "k", "k.cpp", 3, 1, ti.i32.code, ti.f32.code, False, False, True)


@pytest.mark.parametrize(
    "left, right, result",
    [
        (ti.i32, ti.f32, ti.f32), (ti.i64, ti.f16, ti.f16), (ti.i32, ti.i64, ti.i64), (ti.i32, ti.u32, ti.u32),
        (ti.u8, ti.i32, ti.i32), (ti.f16, ti.bf16, ti.f32), (ti.u1, ti.u1, ti.i32), (ti.u1, ti.i8, ti.i8),
        (ti.f32, ti.f64, ti.f64),
    ],
)  # fmt: skip
def test_promotion(left, right, result):
    module = _compiler.SourceModule("m")
    builder = builder_for(module)
    a, b = (builder.value_argument(name, _compiler.DataType(t.code, [])) for name, t in (("a", left), ("b", right)))
    for x, y in ((a, b), (b, a)):
        assert builder.binary("+", x, y).type == _compiler.DataType(result.code, [])
    builder.finish()
    assert module.verify() == ""


def test_builder_reports_and_goes_on():
    module = _compiler.SourceModule("m")
    builder = builder_for(module)
    x = builder.array_argument("x", _compiler.DataType(ti.f32.code, [3]), 1, True)
    one = builder.integer_literal(1)
    with pytest.raises(_compiler.FrontendError) as caught:
        builder.array_element(x, [one, one, one])
    kind, message, _hint = caught.value.args
    assert (kind, message) == ("type", "wrong number of indices: expected 1 index (or 2 for a component) for this array, got 3")
    builder.store(builder.array_element(x, [one, one]), builder.float_literal(2.0), "x")
    builder.finish()
    assert module.verify() == ""


def test_a_tree_type_that_is_none():
    module = _compiler.SourceModule("m")
    builder = builder_for(module)
    with pytest.raises(_compiler.FrontendError, match="tree type of parameter 'f'"):
        builder.tree_argument("f", "!metate.tree<nonsense>")


def test_signature_and_stages():
    @ti.kernel
    def k(n: ti.i32, x: X) -> float:
        for i in range(n):
            x[i] = 1.0
        return 2.0

    assert k.signature() == "k(n: i32, x: ndarray(dtype=f32, ndim=1)) -> float"
    stages = k.stages(stop_after="offload")
    assert list(stages) == ["import", "simplify", "activate", "offload"]
    assert "metate.serial" in stages["offload"]


@pytest.mark.parametrize("future", [False, True])
def test_annotations_as_text(future):
    from metate.frontend.source import attach_source

    text = "from __future__ import annotations\n" * future
    text += "def make(ti):\n    T = ti.types.ndarray(dtype=ti.i64, ndim=1)\n"
    text += "    @ti.kernel\n    def k(x: T):\n        x[0] = 1\n    return k\n"
    file = f"<annotations {future}>"
    attach_source(file, text)
    names = {}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    assert "memref<?xi64" in text_of(names["make"](ti))


def test_what_the_user_wrote_is_marked_for_the_interpreter():
    @ti.kernel
    def k(x: ti.types.ndarray(dtype=ti.i32, ndim=1), u: ti.types.ndarray(dtype=ti.u32, ndim=1), f: X):
        for i in x:
            x[i] = x[i] * 3 + x[i] // 7
            u[i] = u[i] - ti.u32(1)
            u[i] -= ti.u32(2)
            f[i] = x[i]
            x[i] = f[i]
            x[i] = ti.i32(f[i])
            x[i] = x[i] // x[0]

    text = text_of(k)
    assert len(lines_with(text, "{metate.signed}")) == 2  # not what `//` is made of
    assert len(lines_with(text, "{metate.unsigned}")) == 1
    assert [line.split(" ")[2] for line in lines_with(text, "metate.subtracts")] == ["memref.atomic_rmw"]
    casts = [line.partition("= ")[2] for line in lines_with(text, "metate.cast")]
    assert [cast.split(" ")[0] for cast in casts] == ["arith.sitofp", "arith.fptosi", "arith.fptosi"]
    assert ["metate.explicit" in cast for cast in casts] == [False, False, True]
    assert "metate.cast = [i32, f32]" in casts[0]
    assert len(lines_with(text, "metate.divisor")) == 1
