"""Names of Taichi that are not here say what is missing, in programs and in kernels; levels are deactivated from Python."""

import numpy as np
import pytest
import seeded

import metate as mt
from metate import not_here


@pytest.mark.parametrize(
    "owner, name, said",
    [
        (mt, "global_thread_idx", "iterations have no thread"),
        (mt.types, "texture", "there are no textures"),
        (mt.tools, "write_vtk", "VTK"),
    ],
)
def test_a_name_that_is_not_here_says_why(owner, name, said):
    with pytest.raises(AttributeError, match=f"no attribute '{name}': ") as caught:
        getattr(owner, name)
    assert said in str(caught.value)


def test_every_name_is_really_missing():
    for owner, texts in ((mt, not_here.TEXTS), (mt.types, not_here.OF_TYPES), (mt.tools, not_here.OF_TOOLS)):
        assert [name for name in texts if hasattr(owner, name)] == []
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        _ = mt.nonsense


def test_a_kernel_that_names_one_gets_the_text_at_its_line():
    x = mt.field(mt.i32, shape=3)

    @mt.kernel
    def drop():
        for i in x:
            mt.get_addr(x, i)

    with pytest.raises(mt.CompilationError, match="fields have no addresses") as caught:
        drop()
    assert "mt.get_addr(x, i)" in str(caught.value)


def test_a_template_that_is_a_field_is_not_none():
    x = mt.field(mt.i32, shape=3)
    extra = mt.field(mt.i32, shape=3)
    extra.fill(5)

    @mt.kernel
    def run(more: mt.template()):
        for i in x:
            x[i] = i
            if mt.static(more is not None):
                x[i] += more[i]
            if more is None:
                x[i] -= 1

    run(None)
    assert x.to_numpy().tolist() == [-1, 0, 1]
    run(extra)
    assert x.to_numpy().tolist() == [5, 6, 7]


def test_levels_are_deactivated_from_python():
    rng = seeded.generator("test_levels_are_deactivated_from_python")
    x, v = mt.field(mt.f32), mt.Vector.field(2, mt.i32)
    block = mt.root.pointer(mt.i, 16)
    block.dense(mt.i, 4).place(x, v)
    kept = mt.field(mt.i32, shape=4)
    kept.fill(3)
    for at in rng.choice(64, 9, replace=False).tolist():
        x[at] = at + 1
        v[at] = [at, 1]
    assert x.to_numpy().any()
    block.deactivate_all()
    assert not x.to_numpy().any() and not v.to_numpy().any() and not x.is_active(5)
    x[7] = 2
    assert x.to_numpy().sum() == 2 and x.is_active(7) and not x.is_active(20)
    mt.root.deactivate_all()
    assert not x.to_numpy().any() and kept.to_numpy().tolist() == [3] * 4


def test_deactivating_leaves_what_is_always_active():
    x, y = mt.field(mt.f32), mt.field(mt.f32)
    level = mt.root.dense(mt.i, 4)
    below = level.pointer(mt.i, 4)
    below.dense(mt.i, 2).place(x)
    level.place(y)
    for node in (level, below, mt.root):
        x[3] = 2
        y.fill(1)
        node.deactivate_all()
        assert y.to_numpy().tolist() == [1] * 4 and not x.to_numpy().any() and not x.is_active(3)


def test_meshes_are_checked_before_they_are_written(tmp_path):
    writer = mt.tools.PLYWriter(num_vertices=3, num_faces=1)
    with pytest.raises(mt.MetateError, match="export: vertices have no channel x, y, z"):
        writer.export(str(tmp_path / "mesh.ply"))
    for wrong, said in (
        (lambda: writer.add_vertex_channel("a", "complex", np.ones(3)), "expected one of char"),
        (lambda: writer.add_vertex_channel("a", "int", np.ones(2)), "expected 3 numbers, got 2"),
        (lambda: writer.add_faces(np.array([0, 1, 3])), "expected indices from 0 to 2, got 0 to 3"),
        (lambda: writer.add_faces(np.array([0, 1])), "expected 3 indices for each of 1 faces, got 2"),
        (lambda: mt.tools.PLYWriter(0), "expected num_vertices > 0"),
        (lambda: mt.tools.PLYWriter(3, 1, "hexagon"), "expected 'tri' or 'quad', got 'hexagon'"),
    ):
        with pytest.raises(mt.MetateError) as caught:
            wrong()
        assert said in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_programs_ask_the_core_for_backends_and_windows():
    from metate._lib import core

    assert mt._lib.core is core and not core.with_metal() and mt._lib.core.with_cuda() in (False, True)
    assert isinstance(core.GGUI_AVAILABLE, bool)
    with pytest.raises(AttributeError, match=r"no attribute 'Program': Taichi's own core is not here"):
        _ = core.Program


def test_names_of_windows_are_uis_alone():
    assert mt.GUI is mt.ui.GUI and "Window" in mt.ui.__all__
    for name in ("Window", "UP", "Scene"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(mt, name)
