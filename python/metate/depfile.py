"""`metate build --depfile FILE`: what a module was made of, as make, ninja and CMake read it."""

from __future__ import annotations

import pathlib
import sys
import sysconfig

_STARTED = ("__main__", "sitecustomize", "usercustomize")  # what the interpreter ran by itself


def dependencies(file: pathlib.Path) -> list[pathlib.Path]:
    """The kernels' file, whatever of the user's it has imported, and the compiler: Metate's own modules.

    Python's library and installed packages are left out.
    """
    installed = [pathlib.Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    found = {file.resolve()}
    for name, module in list(sys.modules.items()):
        source = getattr(module, "__file__", None)
        if not source or name in _STARTED:
            continue
        path = pathlib.Path(source).resolve()
        is_own = name.partition(".")[0] in ("metate", "metate_native")
        if path.is_file() and (is_own or not any(path.is_relative_to(folder) for folder in installed)):
            found.add(path)
    return sorted(found)


def write(file: pathlib.Path, targets: list[pathlib.Path], sources: list[pathlib.Path]) -> None:
    """Writes the rule `targets: sources`, and an empty rule for each source, so that one that went is no error."""
    names = [_escaped(source) for source in sources]
    rule = f"{' '.join(map(_escaped, targets))}: \\\n  " + " \\\n  ".join(names)
    file.write_text("\n".join([rule, *(f"{name}:" for name in names)]) + "\n")


def _escaped(path: pathlib.Path) -> str:
    return str(path).replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")
