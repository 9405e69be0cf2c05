"""Bytes that a sparse tree takes for each active voxel of a narrow band, with its masks, links, records and slack."""

from harness import references, rows

TITLE = "bytes per active voxel of a narrow band"
RESOLUTION = 512


def measured(runner):
    from narrow_band import band, metate_bytes, openvdb_bytes, shapes

    import metate as mt

    mt.init(arch=mt.cpu, cpu_max_num_threads=runner.threads)
    name, cells, values = band(RESOLUTION)
    why = references.missing("vdb_memory")
    peer = {} if why else {"openvdb": openvdb_bytes(cells, values)}
    absent = {"openvdb": {"absent": why}} if why else {}
    for shape, builder in shapes(RESOLUTION).items():
        yield rows.amounts(
            f"{name} at {RESOLUTION}^3, {len(values):,} voxels, {shape}",
            {"metate": metate_bytes(builder, cells, values)} | peer,
            unit="active voxel",
            work=len(values),
            **absent,
        )
