"""Fields below levels beside dense and pointer, as in Taichi, and the slots of their levels."""

import pytest

import metate as ti


def test_fields_as_in_taichi():
    x, y = ti.field(ti.i32), ti.field(ti.f32)
    block = ti.root.pointer(ti.ij, 4)
    pixel = block.bitmasked(ti.ij, (4, 4))
    pixel.place(x, y)
    listed = ti.field(ti.i32)
    rows = ti.root.dense(ti.i, 8).dynamic(ti.j, 64, chunk_size=16)
    rows.place(listed)

    @ti.kernel
    def activate():
        for i, j in ti.ndrange(4, 4):
            if (i + j) % 2:
                ti.activate(pixel, [2 * i, 3 * j])

    @ti.kernel
    def count(node: ti.template()) -> ti.i32:
        total = 0
        for _ in ti.grouped(node):
            total += 1
        return total

    @ti.kernel
    def clear():
        for i, j in block:
            if i < 2:
                ti.deactivate(block, [i, j])

    @ti.kernel
    def blocks_of() -> ti.i32:
        total = 0
        for i, j in x:
            total += ti.is_active(block, ti.rescale_index(x, block, [i, j]))
        return total

    @ti.kernel
    def fill():
        for i in range(8):
            for k in range(i):
                listed[i].append(10 * i + k)

    @ti.kernel
    def lengths() -> ti.i32:
        total = 0
        for i in range(8):
            total += listed[i].length()
        return total

    @ti.kernel
    def drop():
        for i in range(4):
            listed[i].deactivate()

    activate()
    assert count(x) == count(pixel) == blocks_of() == 8 and count(block) > 2
    assert x.parent() is pixel and x.parent(2) is block and block.get_children() == [pixel] == block.children()
    clear()
    assert count(x) == sum((i + j) % 2 for i in range(4) for j in range(4) if 2 * i >= 8) + sum(
        (i + j) % 2 for i in range(4) for j in range(4) if 2 * i < 8 and 2 * i // 4 >= 2
    )
    x[3, 3] = 5
    assert x.is_active(3, 3) and pixel.is_active(3, 3) and block.is_active(0, 0)
    x.deactivate(3, 3)
    assert not x.is_active(3, 3) and x[3, 3] == 0 and block.is_active(0, 0)
    fill()
    assert lengths() == 28 and rows.length(5) == 5 == listed.length(5)
    assert [listed[7, k] for k in range(7)] == [70 + k for k in range(7)]
    drop()
    assert lengths() == 22
    rows.deactivate(7)
    assert listed.append(7, 3) == 0 and rows.append(7, 4) == 1 and listed[7, 1] == 4
    ti.root.deactivate_all()
    assert lengths() == 0 and count(block) == 0


def test_structs_and_vectors_are_appended_whole():
    Particle = ti.types.struct(pos=ti.math.vec2, id=ti.i32)
    particles = Particle.field()
    ti.root.dynamic(ti.i, 100, chunk_size=10).place(particles)

    @ti.kernel
    def fill(n: ti.i32):
        for k in range(n):
            particles.append(Particle(pos=ti.math.vec2(k, -k), id=k))

    @ti.kernel
    def total() -> ti.i32:
        sum = 0
        for k in particles:
            sum += particles[k].id + ti.i32(particles[k].pos.x + particles[k].pos.y)
        return sum * 1000 + particles.length()

    fill(37)
    assert total() == 37 * 36 // 2 * 1000 + 37
    assert sorted(particles[k].id for k in range(37)) == list(range(37))


def test_slots_in_use_of_fields():
    x = ti.field(ti.i32)
    blocks = ti.root.pointer(ti.i, 8)
    cells = blocks.bitmasked(ti.i, 4)
    cells.place(x)

    @ti.kernel
    def count() -> ti.i64:
        return ti.used(x) * 10 + ti.used(blocks)

    x[5] = x[6] = x[31] = 1
    assert count() == 22 and blocks.stats().used == 2 and blocks.stats().capacity >= 8
    with pytest.raises(ti.TreeError, match=r"level with slots \(pointer, dynamic, hash\), got a bitmasked level"):
        cells.stats()

    @ti.kernel
    def wrong() -> ti.i64:
        return ti.used(cells)

    with pytest.raises(ti.CompilationError, match=r"used: expected a level with slots .* a bitmasked level"):
        wrong()
