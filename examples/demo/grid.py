"""What the demo's kernels share: the grid's measures and the types of their arrays."""

import metate as mt

LEAF = 8  # voxels along a leaf's edge
BAND = 3.0  # half width of the narrow band, the tree's background
# Triangles fill this far, so that each voxel inside the band has all its 26 neighbours: sqrt(3) more.
FILL = BAND + 1.75

vec3 = mt.types.vector(3, mt.f32)


def array(dtype, ndim):
    """Arrays without gaps: the same code then, whether it is compiled at a call or ahead of time."""
    return mt.types.ndarray(dtype=dtype, ndim=ndim, contiguous=True)


Points, Faces, Indices = array(vec3, 1), array(mt.i32, 2), array(mt.i32, 1)
Bounds, Totals, Image = array(mt.f32, 1), array(mt.f64, 1), array(mt.u8, 3)
