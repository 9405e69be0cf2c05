"""How each source of the build is compiled, also where several are compiled as one (METATE_UNITY): for tools that look at one."""

import json
import pathlib
import re

INCLUDED = re.compile(r'^#include "(.*)"$', re.MULTILINE)


def entries(build: pathlib.Path) -> dict[str, dict]:
    """{source: its first entry of compile_commands.json, not that of its twin with faults}; a source of a unity file has that
    one's, with its own name."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = entry["file"]
        sources = INCLUDED.findall(pathlib.Path(file).read_text()) if "/Unity/unity_" in file else [file]
        for source in sources:
            found.setdefault(source, {**entry, "file": source, "command": entry["command"].replace(file, source)})
    return found
