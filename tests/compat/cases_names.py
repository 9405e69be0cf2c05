"""Names beside kernels and fields: colours, meshes, levels, types."""

import os
import tempfile

import numpy as np


def colours(ti):
    many = ti.rgb_to_hex((np.array([0.0, 1.0]), np.array([0.5, 0.2]), np.array([1.0, 0.7])))
    return ti.rgb_to_hex((0.1, 0.5, 0.9)), list(ti.hex_to_rgb(0x123456)), np.asarray(many).astype(np.int64)


def a_mesh_file(ti):
    steps = np.arange(4.0)
    writer = ti.tools.PLYWriter(num_vertices=4, num_faces=2, comment="two triangles")
    writer.add_vertex_pos(steps, steps * 2, np.zeros(4))
    writer.add_vertex_normal(steps, steps * 0, np.ones(4))
    writer.add_vertex_vel(steps, steps, steps)
    writer.add_vertex_rgba(steps / 4, steps / 8, np.zeros(4), np.ones(4))
    writer.add_vertex_id()
    writer.add_vertex_piece(np.ones(4))
    writer.add_vertex_channel("pressure", "double", steps / 3)
    writer.add_faces(np.array([0, 1, 2, 1, 2, 3]))
    writer.add_face_id()
    writer.add_face_piece(np.ones(2))
    writer.add_face_channel("area", "float", np.array([0.5, 1.5]))
    with tempfile.TemporaryDirectory() as folder:
        writer.export_frame_ascii(7, os.path.join(folder, "mesh.ply"))
        writer.export(os.path.join(folder, "binary.ply"))
        writer.export_frame(12, os.path.join(folder, "frame"))
        names = sorted(os.listdir(folder))
        text = open(os.path.join(folder, names[-1])).read()
        binary = open(os.path.join(folder, "binary.ply"), "rb").read()
    return names, text, np.frombuffer(binary, np.uint8).astype(np.int32)


def a_quad_file(ti):
    writer = ti.tools.PLYWriter(num_vertices=4, num_faces=1, face_type="quad")
    writer.add_vertex_pos(np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1]), np.zeros(4))
    writer.add_vertex_color(np.ones(4), np.zeros(4), np.ones(4))
    writer.add_faces(np.array([[0, 1, 2, 3]]))
    with tempfile.TemporaryDirectory() as folder:
        writer.export_ascii(os.path.join(folder, "quad.ply"))
        return open(os.path.join(folder, "quad.ply")).read()


def log_levels(ti):
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    return [ti.TRACE, ti.DEBUG, ti.INFO, ti.WARN, ti.ERROR, ti.CRITICAL]


def names_of_types(ti):
    a = ti.ndarray(ti.f32, 4)
    return isinstance(a, ti.Ndarray), ti.uint1 == ti.u1, ti.float32 == ti.f32, ti.int64 == ti.i64


def root_deactivated(ti):
    x = ti.field(ti.i32)
    y = ti.field(ti.i32)
    ti.root.pointer(ti.i, 8).dense(ti.i, 4).place(x)
    ti.root.dense(ti.i, 4).place(y)
    count = ti.field(ti.i32, shape=2)

    @ti.kernel
    def seed():
        x[5] = 1
        x[30] = 2
        for i in y:
            y[i] = i

    @ti.kernel
    def measure(k: ti.i32):
        for i in x:
            count[k] += 1

    seed()
    measure(0)
    ti.root.deactivate_all()
    measure(1)
    return count.to_numpy(), y.to_numpy()


def real_functions_of_old(ti):
    @ti.experimental.real_func
    def last_digit(n: ti.i32) -> ti.i32:
        if n < 0:
            return -n % 10
        return n % 10

    @ti.kernel
    def go() -> ti.i32:
        return last_digit(-47) * 10 + last_digit(123)

    return go()
