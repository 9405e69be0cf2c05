"""The lines of a dump with their places in the source.

MLIR prints a place behind its operation, mostly by an alias that stands at the end (`loc(#loc5)`), and that of an operation with
a body behind the body's last line. Here the places leave the text.
"""

from __future__ import annotations

import re

_LOCATION = re.compile(r'"(?:[^"\\]|\\.)*"| ?\bloc\(((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*")*\))*\))*)\)')
_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_PLACE = re.compile(r'"([^"]*)":(\d+):\d+|(#loc\d*)\b')
Place = tuple[str, int]


def dump_lines(dump: str) -> list[tuple[str, Place | None]]:
    """(text, (file, line) or None) for each line of the dump that is not about places alone."""
    lines = dump.splitlines()
    aliases = {match[1]: match[2] for match in map(_ALIAS.match, lines) if match}
    found: list[tuple[str, Place | None]] = []
    opened: dict[int, list[int]] = {}  # indentation -> lines with an open body, the latest last
    for line in lines:
        if _ALIAS.match(line):
            continue
        places = [place for place in _LOCATION.findall(line) if place]
        text = _LOCATION.sub(lambda found: found[0] if found[1] is None else "", line).rstrip()  # texts stay
        if not text:
            continue
        indent = len(text) - len(text.lstrip())
        place = _place_of(places[-1], aliases) if places and line.rstrip().endswith(")") else None
        if text.lstrip().startswith("}") and opened.get(indent):
            opener = opened[indent].pop()
            found[opener] = found[opener][0], place or found[opener][1]
        if text.endswith("{"):
            opened.setdefault(indent, []).append(len(found))
        found.append((text, place))
    return found


def _place_of(location: str, aliases: dict[str, str], depth: int = 16) -> Place | None:
    """The innermost place: of an inlined call the function's, of several the first that is one."""
    for file, line, alias in _PLACE.findall(location):
        if file:
            return (file, int(line)) if int(line) else None
        if depth and alias in aliases and (found := _place_of(aliases[alias], aliases, depth - 1)):
            return found
    return None
