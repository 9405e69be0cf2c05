"""Bytes that a sparse tree takes for each active voxel of a narrow band, with its masks, links, records and slack."""

from harness import references, rows

TITLE = "bytes per active voxel of a narrow band"
RESOLUTION = 512


def smoke():
    """(case, side, None or what is wrong) at a tiny size: every tree holds the cells, and takes more than their bytes."""
    from narrow_band import band, metate_bytes, openvdb_bytes, shapes

    resolution = 128
    _, cells, values = band(resolution)
    takers = {shape: lambda b=builder: metate_bytes(b, cells, values) for shape, builder in shapes(resolution).items()}
    if not references.missing("vdb_memory"):
        takers["OpenVDB"] = lambda: openvdb_bytes(cells, values)
    for name, take in takers.items():
        side = "openvdb" if name == "OpenVDB" else "metate"
        try:
            least, bytes_ = 4 * len(values), take()
        except AssertionError as error:
            yield name, side, str(error)
        else:
            yield name, side, None if bytes_ > least else f"expected more bytes than the {least} of the values, got {bytes_}"


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
