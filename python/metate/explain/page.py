"""The page of `metate explain`: one HTML file with everything in it, made of reports."""

from __future__ import annotations

import html
import importlib.resources
import json
import os
from dataclasses import asdict

from .._version import __version__
from ..report import Report, numbers_of
from .dump_lines import dump_lines
from .limits import Limits
from .times import TaskTime


def page_of(program: str, reports: list[Report], times: list[TaskTime], limits: Limits | None, failure: str) -> str:
    """The page's text.

    Args:
        program: its name, for the title.
        reports: of the kernels, in the order in which they are shown.
        times: of tasks; empty where nothing was timed.
        failure: how the program failed, or "".
    """
    data = {
        "program": program, "version": __version__, "failure": failure,
        "limits": asdict(limits) if limits else None,
        "kernels": [_kernel(one, [t for t in times if t.kernel == one.kernel]) for one in reports],
    }  # fmt: skip
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/").replace("<!--", "<\\!--")
    template = importlib.resources.files("metate.explain").joinpath("page.html").read_text(encoding="utf-8")
    return template.replace("{{title}}", html.escape(f"metate explain {program}")).replace("{{data}}", text)


class _Places:
    """Numbers of places: `f:line`, with the file as its number in `files`."""

    def __init__(self):
        self.files: list[str] = []
        self.lines: set[tuple[str, int]] = set()

    def key(self, file: str, line: int) -> str:
        if not file or not line:
            return ""
        if file not in self.files:
            self.files.append(file)
        self.lines.add((file, line))
        return f"{self.files.index(file)}:{line}"


def _kernel(report: Report, times) -> dict:
    places = _Places()
    places.key(report.file, report.first_line)
    shown = lambda place: places.key(*place) if place else ""
    stages = [
        {"name": one.name, "ms": one.milliseconds, "lines": [[text, shown(place)] for text, place in dump_lines(one.dump)]}
        for one in report.stages
    ]
    code = [
        {
            "name": function.name, "bytes": function.bytes,
            "lines": [[one.label, one.text, places.key(one.file, one.line)] for one in function.instructions]
            or [["", text, ""] for text in numbers_of(function)],
        }
        for function in report.code
    ]  # fmt: skip
    loops = [_loop(loop, places, times) for loop in report.loops]
    return {
        "name": report.kernel, "signature": report.signature, "target": report.target,
        "file": os.path.basename(report.file), "line": report.first_line, "ms": report.compile_ms,
        "bytes": sum(one.bytes for one in report.code),
        "trees": [asdict(one) for one in report.trees],
        "stages": stages, "code": code, "loops": loops,
        "blocks": _blocks(report, places),
        "times": [asdict(one) | {"key": places.key(report.file, one.line)} for one in times],
    }  # fmt: skip


def _loop(loop, places, times) -> dict:
    time = next((one for one in times if one.line == loop.line), None)
    return {
        "key": places.key(loop.file, loop.line), "last": loop.last_line, "kind": loop.kind, "width": loop.vector_width,
        "remarks": [
            {"subject": one.subject, "outcome": one.outcome, "text": one.text, "pass": one.pass_name,
             "key": places.key(one.file, one.line), "numbers": one.numbers}
            for one in loop.remarks
        ],
        "time": asdict(time) if time else None,
    }  # fmt: skip


def _blocks(report: Report, places: _Places) -> list[dict]:
    """The functions that the code is from, the kernel's first: each with its lines as [key, number, text]."""
    sources = report.sources
    found: dict[tuple[str, int], dict] = {}
    for file, line in sorted(places.lines, key=lambda place: (place[0] != report.file, place)):
        function = sources.function_around(file, line)
        first, last = (function.line, function.last_line) if function else (line, line)
        lines = [[places.key(file, number), number, sources.text(file, number)] for number in range(first, last + 1)]
        is_kernel = file == report.file and first <= report.first_line <= last
        block = {"file": os.path.basename(file), "name": function.name if function else "", "lines": lines, "own": is_kernel}
        found.setdefault((file, first), block)
    return sorted(found.values(), key=lambda block: not block["own"])
