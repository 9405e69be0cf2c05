"""Names of Taichi that this version does not have, each with what is missing and what to do instead.

Programs and kernels that say one get this text instead of a guess at another name. It must import nothing.
"""

_TEXTURES = "there are no textures: use a field, or an array"
_THREADS = "iterations have no thread: kernels say nothing of blocks and warps; use a parallel loop, and its index"

TEXTS = {
    "get_addr": "fields have no addresses: `kernel.stages(...)` and `tree.type` show where they lie",
    "Texture": _TEXTURES,
    "Format": _TEXTURES,
    "global_thread_idx": "iterations have no thread: use the loop's index",
    "Mesh": "meshes are not supported yet: relations are fields of indices",
    "frexp": "use mt.log and mt.floor, or bits by mt.bit_cast",
}  # fmt: skip
OF_TYPES = {
    "texture": _TEXTURES,
    "rw_texture": _TEXTURES,
}  # fmt: skip
OF_TOOLS = {
    "write_vtk": "use a library for VTK files with field.to_numpy()",
    "vtk": "use a library for VTK files with field.to_numpy()",
    "diagnose": "run the program metate doctor",
}


class NotHereError(AttributeError):
    """A name of Taichi's; the text says what is missing."""


class Arch(str):
    """An arch whose name is that of a module in Taichi."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"'str' object has no attribute {name!r}")
        raise NotHereError(f"module 'metate.{self}' has no attribute {name!r}: {_THREADS}")


def error(module: str, name: str, texts: dict[str, str] = TEXTS) -> AttributeError:
    """What reading `module.name` raises."""
    if name in texts:
        return NotHereError(f"module {module!r} has no attribute {name!r}: {texts[name]}")
    return AttributeError(f"module {module!r} has no attribute {name!r}")
